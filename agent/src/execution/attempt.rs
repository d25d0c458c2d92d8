//! One attempt of a call, as a Tokio task runs it.

use std::mem::replace;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::task::{JoinHandle, spawn_blocking};

use super::output::{ToolError, ToolOutput};
use super::tool::{Invocation, Tool, Work};

/// How an attempt ended, if it was neither stopped nor panicked.
pub type Returned = Result<ToolOutput, ToolError>;

/// One attempt; its output is the call's index in its batch, and what the tool returned.
///
/// Written by hand, since an `async fn` has its arguments twice, and there is one of these for each call.
pub struct Attempt {
    index: usize,
    stage: Stage,
}

enum Stage {
    /// The tool is started in the call's task, so that a panic at its very start is the call's own.
    New(Arc<dyn Tool>, Invocation),
    Async(Pin<Box<dyn Future<Output = Returned> + Send>>),
    Blocking(Thread),
    Over,
}

impl Attempt {
    pub fn new(index: usize, tool: Arc<dyn Tool>, invocation: Invocation) -> Self {
        Self { index, stage: Stage::New(tool, invocation) }
    }
}

impl Future for Attempt {
    type Output = (usize, Returned);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { index, stage } = &mut *self;
        if let Stage::New(..) = stage
            && let Stage::New(tool, invocation) = replace(stage, Stage::Over)
        {
            *stage = match tool.start(invocation) {
                Work::Async(future) => Stage::Async(future),
                Work::Blocking(function) => Stage::Blocking(Thread(spawn_blocking(function))),
            };
        }
        let returned = match stage {
            Stage::Async(future) => ready!(future.as_mut().poll(context)),
            Stage::Blocking(thread) => ready!(thread.poll(context)),
            Stage::New(..) | Stage::Over => unreachable!("it is polled once it has begun"),
        };
        Poll::Ready((*index, returned))
    }
}

/// A function that blocks. One that still waits for a thread does not begin once nobody wants its result.
struct Thread(JoinHandle<Returned>);

impl Thread {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Returned> {
        Poll::Ready(match ready!(Pin::new(&mut self.0).poll(context)) {
            Ok(returned) => returned,
            Err(error) => match error.try_into_panic() {
                Ok(payload) => resume_unwind(payload),
                Err(_) => Err(ToolError::new("the runtime was shut down before it began")),
            },
        })
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.0.abort();
    }
}
