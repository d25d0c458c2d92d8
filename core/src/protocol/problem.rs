//! What can be wrong with a block of calls, and where.

use std::borrow::Cow;
use std::fmt;

use thiserror::Error;

use crate::json::{Fault, FaultKind};
use crate::text::line_and_column;

/// What is wrong with a block.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// It is not JSON.
    #[error("{0}")]
    Json(#[from] FaultKind),
    /// Other text is found where this is expected.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What is expected: words, or a mark in quotes.
        expected: Cow<'static, str>,
        /// What is found.
        found: Cow<'static, str>,
    },
    /// The text ended where this must follow.
    #[error("the text ended before {0}")]
    Missing(Cow<'static, str>),
    /// An element was never closed: another tag is found where its own is expected.
    #[error("expected {expected}, found {found}")]
    Unclosed {
        /// The tag that closes it, in quotes.
        expected: Cow<'static, str>,
        /// The tag that is found.
        found: Cow<'static, str>,
    },
    /// An item of an array of calls is not an object.
    #[error("call {index} must be an object, found {found}")]
    NotAnObject {
        /// Which call, from 0.
        index: usize,
        /// What is found.
        found: &'static str,
    },
    /// A call has no name, or one that is not a string.
    #[error("call {index} needs a {key:?} that is a string, found {found}")]
    Name {
        /// Which call, from 0.
        index: usize,
        /// The key that must hold it.
        key: Cow<'static, str>,
        /// What is found.
        found: &'static str,
    },
    /// A call's head has no name.
    #[error("call {0} needs a name")]
    NoName(usize),
    /// A call has no arguments, or some that are not an object.
    #[error("call {index} needs {key:?} that are an object, found {found}")]
    Args {
        /// Which call, from 0.
        index: usize,
        /// The key that must hold them.
        key: Cow<'static, str>,
        /// What is found.
        found: &'static str,
    },
    /// A key is there twice, where one value would have to be chosen.
    #[error("the key {0} is there twice")]
    RepeatedKey(String),
    /// Brackets or elements are nested deeper than [`Limits::max_depth`](super::Limits::max_depth).
    #[error("brackets are nested deeper than {0}")]
    TooDeep(usize),
    /// More calls than [`Limits::max_calls`](super::Limits::max_calls).
    #[error("more than {0} calls in one batch")]
    TooManyCalls(usize),
    /// More elements, and stretches of text between them, in the arguments of one call than
    /// [`MAX_ELEMENTS`](super::limits::MAX_ELEMENTS).
    #[error("more than {0} elements in one call")]
    TooManyElements(usize),
    /// The body is longer than [`Limits::max_block_bytes`](super::Limits::max_block_bytes).
    #[error("the block is longer than {0} bytes")]
    TooLong(usize),
}

/// The word for programs of a call that cannot be read.
pub const INVALID: &str = "invalid_payload";

impl ProblemKind {
    /// Whether a body with this problem may contain the block's end: in a string that was never closed, or because it has
    /// more text than a block may have.
    #[must_use]
    pub fn may_hide_the_end(&self) -> bool {
        matches!(
            self,
            Self::Json(FaultKind::EndedInString)
                | Self::TooLong(_)
                | Self::Missing(_)
                | Self::Unclosed { .. }
        )
    }

    /// The problem as a word for programs: the call has no name, or it cannot be read.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Name { .. } | Self::NoName(_) => "missing_tool_name",
            _ => INVALID,
        }
    }

    /// The problem without the marks and keys of the dialect.
    #[must_use]
    pub fn plain(&self) -> Cow<'static, str> {
        match self {
            Self::Expected { .. } => {
                "other text is found where a part of a call is expected".into()
            }
            Self::Missing(_) => "the text ended before the call did".into(),
            Self::Unclosed { .. } => "a part of a call was never closed".into(),
            Self::Name { index, found, .. } => {
                format!("call {index} needs a name that is a string, found {found}").into()
            }
            Self::Args { index, found, .. } => {
                format!("call {index} needs arguments that are an object, found {found}").into()
            }
            _ => self.to_string().into(),
        }
    }

    /// Whether the body is JSON, but not the JSON of calls.
    #[must_use]
    pub fn is_of_shape(&self) -> bool {
        matches!(self, Self::NotAnObject { .. } | Self::Name { .. } | Self::Args { .. })
    }

    /// Whether the only problem is that the text ended.
    #[must_use]
    pub fn is_the_end(&self) -> bool {
        matches!(self, Self::Json(FaultKind::EndedInString | FaultKind::Ended) | Self::Missing(_))
    }
}

/// What is wrong with a block, and at which byte of its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The kind of problem.
    pub kind: ProblemKind,
    /// At which byte.
    pub at: usize,
}

impl From<Fault> for Problem {
    fn from(Fault { kind, at }: Fault) -> Self {
        Self { kind: kind.into(), at }
    }
}

impl Problem {
    /// The problem as text, with line and column in `body`.
    #[must_use]
    pub fn located<'a>(&'a self, body: &'a [u8]) -> Located<'a> {
        Located { problem: self, body }
    }
}

/// A [`Problem`] with the text that it is in, to be shown with line and column.
#[derive(Debug)]
pub struct Located<'a> {
    problem: &'a Problem,
    body: &'a [u8],
}

impl fmt::Display for Located<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = line_and_column(self.body, self.problem.at);
        write!(f, "{} at line {line}, column {column}.", self.problem.kind)
    }
}
