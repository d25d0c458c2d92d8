//! Problems of readers: what was expected, and what was found.

use std::borrow::Cow;

use super::super::problem::{Problem, ProblemKind};
use crate::text::prefix;

/// Something else was found where this was expected.
pub(super) fn expected(
    expected: impl Into<Cow<'static, str>>,
    found: Cow<'static, str>,
) -> ProblemKind {
    ProblemKind::Expected { expected: expected.into(), found }
}

/// The same at this byte, where the item has no end of its own.
pub(super) fn problem(
    wanted: impl Into<Cow<'static, str>>,
    found: Cow<'static, str>,
    at: usize,
) -> Problem {
    Problem { kind: expected(wanted, found), at }
}

/// Something other than these marks is at byte `at`.
#[must_use]
pub fn unexpected(marks: &[&str], text: &[u8], at: usize) -> Problem {
    let wanted: Vec<_> = marks.iter().map(|mark| format!("{mark:?}")).collect();
    problem(wanted.join(" or "), character(text, at), at)
}

/// A word in quotes, or the beginning of one that is long.
pub(super) fn in_quotes(word: &[u8]) -> Cow<'static, str> {
    const MOST: usize = 20;
    let word = String::from_utf8_lossy(word);
    format!("\"{}\"", word.chars().take(MOST).collect::<String>()).into()
}

/// The character at byte `at`, in quotes.
pub(super) fn character(text: &[u8], at: usize) -> Cow<'static, str> {
    in_quotes(prefix(&text[at..], 1))
}
