//! What a block may begin with.

use crate::dialect::{Body, Dialect};

/// Whether any of these is true; `None` if none is true and one is not known.
pub fn any(known: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut is_any = Some(false);
    for each in known {
        match each {
            Some(true) => return Some(true),
            Some(false) => {}
            None => is_any = None,
        }
    }
    is_any
}

/// Whether a block of this dialect may be empty.
#[must_use]
pub fn may_be_empty(dialect: &Dialect) -> bool {
    let mut bodies = dialect.calls.bodies.iter();
    bodies.any(|body| body.head().is_some() && !opens_itself(dialect, body))
}

/// Whether the mark of a block is the mark of a call of this body: then the block has no mark of its own.
#[must_use]
pub fn opens_itself(dialect: &Dialect, body: &Body) -> bool {
    body.head().is_some_and(|head| dialect.calls.open.contains(&head.open))
}
