//! What the record of a call can say, and who may change that.
//!
//! One table is the whole state machine. The Python package has the same, and `tests/calls/transitions.jsonl` holds both equal.

use Actor::{Person, Reconcile, Run, Successor};
use CallState::{
    Blocked, Cancelled, Delegated, Denied, Early, Ended, Failure, New, Open, Saved, Success,
    Timeout, Unknown, Waiting,
};

/// The state of a call's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallState {
    /// There is no record yet.
    New,
    /// It began while the model still wrote, and does not count yet.
    Early,
    /// It is in the log, and has not begun.
    Saved,
    /// It has begun.
    Open,
    /// It has begun, and its own run waits.
    Delegated,
    /// It waits for a decision.
    Waiting,
    /// Its result is known, and the model has not read it.
    Ended,
    /// It returned.
    Success,
    /// It failed.
    Failure,
    /// A hook or a limit refused it.
    Blocked,
    /// A person or a policy refused it.
    Denied,
    /// Its time was up.
    Timeout,
    /// It was stopped, or does not count.
    Cancelled,
    /// It may have happened.
    Unknown,
}

impl CallState {
    /// All of them.
    pub const ALL: [Self; 14] = [
        New, Early, Saved, Open, Delegated, Waiting, Ended, Success, Failure, Blocked, Denied,
        Timeout, Cancelled, Unknown,
    ];

    /// Its name in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            New => "new",
            Early => "early",
            Saved => "saved",
            Open => "open",
            Delegated => "delegated",
            Waiting => "waiting",
            Ended => "ended",
            Success => "success",
            Failure => "failure",
            Blocked => "blocked",
            Denied => "denied",
            Timeout => "timeout",
            Cancelled => "cancelled",
            Unknown => "unknown",
        }
    }

    /// The state with this name; `None` for what a record cannot say.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether this actor may change a record in this state to the other.
    #[must_use]
    pub fn may_become(self, to: Self, by: Actor) -> bool {
        TRANSITIONS
            .iter()
            .any(|(from, next, actors)| *from == self && *next == to && actors.contains(&by))
    }
}

/// Who changes a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Actor {
    /// The run that the call belongs to.
    Run,
    /// A person, who decides or says what happened.
    Person,
    /// A tool's own function, which is asked what happened.
    Reconcile,
    /// A later run, which goes on where an earlier one stopped.
    Successor,
}

impl Actor {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Run => "run",
            Person => "person",
            Reconcile => "reconcile",
            Successor => "successor",
        }
    }
}

/// Each change that is allowed: from which state, to which, and by whom.
pub const TRANSITIONS: &[(CallState, CallState, &[Actor])] = &[
    (New, Early, &[Run]),
    (New, Saved, &[Run]),
    (New, Open, &[Run]),
    (Early, Open, &[Run]),
    (Early, Cancelled, &[Run, Successor]),
    (Saved, Saved, &[Successor]),
    (Saved, Open, &[Run]),
    (Saved, Waiting, &[Run, Successor]),
    (Saved, Success, &[Run]),
    (Saved, Failure, &[Run]),
    (Saved, Blocked, &[Run]),
    (Saved, Denied, &[Run]),
    (Saved, Timeout, &[Run]),
    (Saved, Cancelled, &[Run, Successor]),
    (Open, Saved, &[Person, Reconcile]),
    (Open, Open, &[Run, Successor]),
    (Open, Delegated, &[Run]),
    (Open, Waiting, &[Run]),
    (Open, Ended, &[Run, Successor, Person, Reconcile]),
    (Open, Success, &[Run]),
    (Open, Failure, &[Run]),
    (Open, Blocked, &[Run]),
    (Open, Denied, &[Run]),
    (Open, Timeout, &[Run]),
    (Open, Cancelled, &[Run]),
    (Open, Unknown, &[Run, Successor]),
    (Delegated, Saved, &[Person, Reconcile]),
    (Delegated, Open, &[Run]),
    (Delegated, Delegated, &[Successor]),
    (Delegated, Ended, &[Run, Person, Reconcile]),
    (Delegated, Success, &[Run]),
    (Delegated, Failure, &[Run]),
    (Delegated, Blocked, &[Run]),
    (Delegated, Denied, &[Run]),
    (Delegated, Timeout, &[Run]),
    (Delegated, Cancelled, &[Run]),
    (Delegated, Unknown, &[Run, Successor]),
    (Waiting, Saved, &[Successor]),
    (Waiting, Waiting, &[Successor, Person]),
    (Waiting, Denied, &[Successor]),
    (Ended, Ended, &[Successor]),
    (Ended, Success, &[Run, Successor]),
    (Ended, Failure, &[Run, Successor]),
    (Ended, Blocked, &[Run, Successor]),
    (Ended, Denied, &[Run, Successor]),
    (Ended, Timeout, &[Run, Successor]),
    (Ended, Cancelled, &[Run, Successor]),
    (Ended, Unknown, &[Run, Successor]),
    (Unknown, Success, &[Person]),
    (Unknown, Failure, &[Person]),
    (Unknown, Cancelled, &[Person]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_the_python_package() {
        let written = include_str!("../../../tests/calls/transitions.jsonl");
        let ours = TRANSITIONS.iter().map(|(from, to, by)| {
            let by: Vec<_> = by.iter().map(|actor| format!("\"{}\"", actor.name())).collect();
            let by = by.join(", ");
            format!("{{\"from\": \"{}\", \"to\": \"{}\", \"by\": [{by}]}}", from.name(), to.name())
        });
        assert_eq!(ours.collect::<Vec<_>>(), written.lines().collect::<Vec<_>>());
    }

    #[test]
    fn a_change_that_is_not_in_the_table_is_not_allowed() {
        assert!(Saved.may_become(Open, Run));
        assert!(!Saved.may_become(Open, Successor));
        for state in CallState::ALL {
            assert!(!Success.may_become(state, Run), "{state:?}");
            assert_eq!(CallState::of_name(state.name()), Some(state));
        }
        assert_eq!(CallState::of_name("perhaps"), None);
    }
}
