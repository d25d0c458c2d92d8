//! The end of a block that could not be read.

use super::super::marks::Marks;
use crate::dialect::{Body, Dialect, Str};

/// Where a block that could not be read ends.
#[derive(Debug)]
pub struct Recovery {
    /// The search for the marks that end it.
    pub marks: Marks,
    /// How many of these marks, the first ones, close the block; the others begin what comes after it.
    closing: usize,
    /// The length in bytes of the longest mark that closes it.
    pub longest: usize,
}

impl Recovery {
    /// Where a block of this dialect ends.
    #[must_use]
    pub fn new(dialect: &Dialect) -> Self {
        let heads = || {
            dialect.calls.bodies.iter().filter_map(|body| match body {
                Body::Head(head) => Some(head),
                _ => None,
            })
        };
        let mut closing: Vec<&Str> = dialect.calls.close.iter().collect();
        if closing.is_empty() {
            closing.extend(heads().map(|head| &head.close));
        }
        closing.retain(|mark| !mark.is_empty());
        let mut after: Vec<&Str> = dialect.turn_end.iter().collect();
        if let Some(heads) = &dialect.heads {
            closing.extend(&heads.close);
            after.extend(&heads.open);
        }
        if closing.is_empty() {
            after.extend(dialect.calls.open.iter().chain(heads().map(|head| &head.open)));
        }
        let marks = closing.iter().chain(&after).map(|mark| mark.as_bytes());
        let longest = closing.iter().map(|mark| mark.len()).max().unwrap_or(0);
        Self { marks: Marks::new(marks), closing: closing.len(), longest }
    }

    /// Whether this mark closes the block.
    #[must_use]
    pub fn closes(&self, mark: usize) -> bool {
        mark < self.closing
    }
}
