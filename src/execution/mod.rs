//! Calls to outcomes: which calls of a batch may run now, in which order and for how long; and what their arguments
//! must be.
//!
//! No call is run here: [`Schedule`] is a state machine that is told what happens, so that order, limits, barriers and
//! time are tested with no clock and no thread.

pub mod arguments;
mod schedule;

pub use schedule::{Admission, Due, Moment, Schedule, Ticket};
