//! What has come of an answer, until it is taken.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;

use super::failure::Failure;
use super::wake::Inbox;
use cogency_rs::wire::{Delta, append};

/// What has come since it was last taken.
#[derive(Debug, Default)]
pub struct Arrived {
    /// The status and the headers; comes once, first.
    pub head: Option<Head>,
    /// The next deltas of the answer; neighbours of one kind are one.
    pub deltas: Vec<Delta>,
    /// The end; nothing comes after it.
    pub end: Option<End>,
}

/// The status of an answer, and its headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status.
    pub status: u16,
    /// The headers, their names in small letters.
    pub headers: Vec<(String, String)>,
}

/// How an exchange ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// The last delta of the answer is its end, or says what is wrong with it.
    Answered,
    /// The body of an answer that is not read as deltas, or its beginning.
    Body(Vec<u8>),
    /// There was no answer, or it broke off.
    Failed(Failure),
}

/// The most bytes of deltas that wait to be taken. An answer's socket is not read until there is room again.
const ROOM: usize = 256 << 10;

#[derive(Debug)]
pub struct Channel {
    /// What the inbox calls this exchange.
    pub number: u64,
    /// Told when there is something to take, unless a task of Tokio awaits it.
    inbox: Option<Arc<Inbox>>,
    state: Mutex<State>,
    room: Notify,
}

/// When the loop is notified of deltas. It is always notified of the first, of the end, and when half of the room is full.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Watch {
    /// Of each.
    #[default]
    Each,
    /// Only when a program may have something to do: a call begins or has ended, one of these marks has come, or a bracket after
    /// it, with which every dialect ends a call.
    From(Vec<String>),
}

#[derive(Debug, Default)]
struct State {
    arrived: Arrived,
    bytes: usize,
    watch: Watch,
    /// The end of the text, as long as the longest mark, which may be the beginning of one.
    tail: String,
    /// What may end a call in text, once one of the marks has come.
    closers: &'static [char],
    /// The call whose pieces come.
    call: Option<usize>,
    has_begun: bool,
    is_over: bool,
    /// Whether the loop found nothing, and waits to be notified.
    is_awaited: bool,
    /// The task that found nothing, and waits.
    waker: Option<Waker>,
}

impl Channel {
    pub fn new(inbox: Option<Arc<Inbox>>, watch: Watch) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let state = Mutex::new(State { watch, ..State::default() });
        Self { number, inbox, state, room: Notify::new() }
    }

    /// What has come, or `None`: then the inbox is notified when something does.
    pub fn take(&self) -> Option<Arrived> {
        self.take_or(|state| state.is_awaited = true)
    }

    /// What has come, awaited by a task.
    pub fn poll_take(&self, context: &Context<'_>) -> Poll<Arrived> {
        let arrived = self.take_or(|state| state.waker = Some(context.waker().clone()));
        arrived.map_or(Poll::Pending, Poll::Ready)
    }

    fn take_or(&self, wait: impl FnOnce(&mut State)) -> Option<Arrived> {
        let mut state = self.lock();
        let arrived = std::mem::take(&mut state.arrived);
        let is_empty = arrived.head.is_none() && arrived.deltas.is_empty() && arrived.end.is_none();
        (state.is_awaited, state.bytes) = (false, 0);
        if is_empty {
            wait(&mut state);
        }
        drop(state);
        self.room.notify_one();
        (!is_empty).then_some(arrived)
    }

    pub fn put_head(&self, head: Head) {
        self.put(|arrived| arrived.head = Some(head));
    }

    /// Hands over the last deltas, and the end.
    pub fn put_end(&self, deltas: &mut Vec<Delta>, end: End) {
        self.lock().is_over = true;
        self.put(|arrived| {
            append(&mut arrived.deltas, deltas);
            arrived.end = Some(end);
        });
    }

    /// Whether the end has come, taken or not.
    pub fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// Hands over the deltas, which leaves none of them.
    pub fn put_deltas(&self, deltas: &mut Vec<Delta>) {
        if deltas.is_empty() {
            return;
        }
        let bytes: usize = deltas.iter().map(Delta::bytes).sum();
        let mut state = self.lock();
        state.bytes += bytes;
        let is_told = state.tells(deltas);
        append(&mut state.arrived.deltas, deltas);
        if is_told {
            self.tell(state);
        }
    }

    /// Waits until there is room for more.
    pub async fn room(&self) {
        while self.lock().bytes > ROOM {
            self.room.notified().await;
        }
    }

    fn put(&self, change: impl FnOnce(&mut Arrived)) {
        let mut state = self.lock();
        change(&mut state.arrived);
        self.tell(state);
    }

    fn tell(&self, mut state: MutexGuard<'_, State>) {
        let is_awaited = std::mem::take(&mut state.is_awaited);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        if let (true, Some(inbox)) = (is_awaited, &self.inbox) {
            inbox.put(self.number);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether the loop is notified of these deltas.
    fn tells(&mut self, deltas: &[Delta]) -> bool {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let is_full = self.bytes > ROOM / 2;
        let mut acts = false;
        for delta in deltas {
            acts |= self.is_acted_on(delta);
        }
        acts || is_first || is_full
    }

    /// Whether a program may act on what this delta says.
    fn is_acted_on(&mut self, delta: &Delta) -> bool {
        if self.watch == Watch::Each {
            return true;
        }
        let call = match delta {
            Delta::Call(call) => Some(call.number),
            Delta::Usage(_) | Delta::Opaque(_) | Delta::Extra(_) | Delta::Note(_) => self.call,
            _ => None,
        };
        let ends = std::mem::replace(&mut self.call, call) != call;
        ends || matches!(delta, Delta::Text(text) if self.turns(text))
    }

    /// Whether a call may begin in this text, or end.
    fn turns(&mut self, text: &str) -> bool {
        let Watch::From(marks) = &self.watch else { return true };
        self.tail.push_str(text);
        let turns = marks.iter().any(|mark| self.tail.contains(mark));
        let longest = marks.iter().map(String::len).max().unwrap_or_default();
        let mut cut = if turns { self.tail.len() } else { self.tail.len().saturating_sub(longest) };
        while !self.tail.is_char_boundary(cut) {
            cut -= 1;
        }
        self.tail.drain(..cut);
        if turns {
            self.closers = &['>', '}', ']', ')'];
        }
        turns || text.contains(self.closers)
    }
}

#[cfg(test)]
mod tests;
