//! The network: one request and its answer, on Tokio.
//!
//! An answer is read, decoded and taken apart into deltas on Tokio's thread. What has come stays here until it is taken:
//! an event loop is only told that there is something to take, so a wait that is cancelled loses nothing. An answer that
//! nobody takes stops the reading of its own socket, and of no other.
//!
//! No thread of Tokio knows Python, so none waits for the interpreter. After a fork the child makes a runtime and
//! connections of its own, and leaves those of its parent alone.

#![forbid(unsafe_code)]

mod certificates;
mod channel;
mod client;
mod exchange;
mod failure;
mod per_process;
mod runtime;
mod wake;

pub use channel::{Arrived, End, Head, Watch};
pub use client::{Client, NotMade, Settings};
pub use exchange::{Elsewhere, Exchange, NotSent, Reading, Request, Timeouts};
pub use failure::{Failure, FailureKind};
pub use wake::{Inbox, Socket};
