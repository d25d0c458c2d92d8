//! Design B: a reader is straight-line `async` code over a cursor, which waits where the text ends.

mod braces;
mod json;
mod params;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use cogency_rs::dialect::{Body, Dialect};
use cogency_rs::protocol::body::{Calls, Scope};
use cogency_rs::protocol::problem::Problem;
use cogency_rs::text::leading_space;

use crate::item::Item;

/// What the reader and who feeds it share.
#[derive(Debug, Default)]
pub struct Shared {
    pub text: Vec<u8>,
    pub calls: Calls,
    /// Whether the text ends here.
    pub is_cut: bool,
}

/// A handle on the text that arrives, and on the calls that are read from it.
#[derive(Clone, Debug)]
pub struct Cursor(Arc<Mutex<Shared>>);

/// The text has ended.
#[derive(Debug)]
pub struct Cut;

impl Cursor {
    /// What is known now. A guard is never held while the reader waits.
    pub fn now(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Waits until there is more text.
    ///
    /// # Errors
    /// There is none.
    pub async fn more(&self) -> Result<(), Cut> {
        if self.now().is_cut {
            return Err(Cut);
        }
        let mut is_first = true;
        poll_fn(|_| match std::mem::take(&mut is_first) {
            true => Poll::Pending,
            false => Poll::Ready(()),
        })
        .await;
        Ok(())
    }

    /// The first byte from `at` on that is not space; the end of a text that ends in space.
    pub async fn space(&self, mut at: usize) -> usize {
        loop {
            {
                let text = &self.now().text;
                at += leading_space(&text[at..]);
                if at < text.len() {
                    return at;
                }
            }
            if self.more().await.is_err() {
                return at;
            }
        }
    }
}

type Reader = Pin<Box<dyn Future<Output = Result<usize, Problem>> + Send + Sync>>;

/// An item that is being read.
pub struct Task {
    cursor: Cursor,
    reader: Reader,
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task").field("cursor", &self.cursor).finish_non_exhaustive()
    }
}

impl Task {
    fn poll(
        &mut self,
        text: &[u8],
        calls: &mut Calls,
        is_cut: bool,
    ) -> Poll<Result<usize, Problem>> {
        {
            let shared = &mut *self.cursor.now();
            let known = shared.text.len();
            shared.text.extend_from_slice(&text[known..]);
            shared.is_cut = is_cut;
            std::mem::swap(&mut shared.calls, calls);
        }
        let read = self.reader.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        std::mem::swap(&mut self.cursor.now().calls, calls);
        read
    }
}

impl Item for Task {
    fn new(dialect: &Arc<Dialect>, body: usize, start: usize, _: &Scope) -> Self {
        let cursor = Cursor(Arc::default());
        let reader: Reader = match &dialect.calls.bodies[body] {
            Body::Json(_) => Box::pin(json::read(cursor.clone(), dialect.clone(), body, start)),
            Body::Head(_) => Box::pin(params::read(cursor.clone(), dialect.clone(), body, start)),
            _ => unimplemented!(),
        };
        Self { cursor, reader }
    }

    fn read(
        &mut self,
        _: &Dialect,
        _: usize,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem> {
        match self.poll(text, calls, false) {
            Poll::Ready(read) => read.map(Some),
            Poll::Pending => Ok(None),
        }
    }

    fn cut_off(
        &mut self,
        _: &Dialect,
        _: usize,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<(), Problem> {
        match self.poll(text, calls, true) {
            Poll::Ready(read) => read.map(|_| ()),
            Poll::Pending => unreachable!("nothing waits for a text that has ended"),
        }
    }
}

/// How many bytes the readers of both shapes hold, once for each. For the trial's figures.
pub fn sizes(dialect: &Arc<Dialect>) -> (usize, usize, usize) {
    let cursor = Cursor(Arc::default());
    let json = size_of_val(&json::read(cursor.clone(), dialect.clone(), 0, 0));
    let params = size_of_val(&params::read(cursor, dialect.clone(), 0, 0));
    (json, params, size_of::<Shared>())
}
