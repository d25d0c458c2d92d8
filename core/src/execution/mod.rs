//! Calls to outcomes: which calls of a batch may run now, in which order and for how long; and what their arguments
//! must be.
//!
//! No call is run by [`Schedule`]: it is a state machine that is told what happens, so that order, limits, barriers and
//! time are tested with no clock and no thread. Two programs drive it: the Python package on asyncio, and the crate
//! `cogency-agent` on Tokio.

pub mod record;
mod schedule;

#[cfg(feature = "arguments")]
#[doc(inline)]
pub use cogency_rs_arguments as arguments;
pub use record::{Actor, CallState};
pub use schedule::{Admission, Due, Misuse, Moment, Schedule, Ticket, Told};
