//! The message to the model about output that could not be read: a block that does not hold calls, or an answer that was cut off.

use std::borrow::Cow;

use super::Text;
use crate::dialect::Str;

/// What kind of output could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReportKind {
    /// A block that does not hold calls.
    Malformed,
    /// A block in which the model stopped by itself.
    Unfinished,
    /// Output that was cut off: by its length, with its stream, or for an unknown reason.
    Truncated,
    /// An answer that the model refused to give, or that its provider withheld. The model is not told.
    Refused,
}

impl ReportKind {
    /// Its name in events and in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Unfinished => "unfinished",
            Self::Truncated => "truncated",
            Self::Refused => "refused",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Malformed, Self::Unfinished, Self::Truncated, Self::Refused]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// A piece of output, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The kind of problem.
    pub kind: ReportKind,
    /// The message to the model: what is wrong, where, and what to do.
    pub content: Text,
    /// The block as the model wrote it, from its opening mark on; empty if the problem is not in a block.
    pub raw: Text,
    /// Line and column in `raw`, from 1.
    pub place: Option<(usize, usize)>,
    /// The problem of a block as a word for programs ([`ProblemKind::code`](super::problem::ProblemKind::code)).
    pub code: Option<Cow<'static, str>>,
    /// The report as text of the answer, as cogency 3.3.0 has it; `None` if cogency 3.3.0 reports nothing.
    pub respond: Option<Text>,
}

impl Report {
    /// A report that is not about a block.
    #[must_use]
    pub fn of_answer(kind: ReportKind, content: impl Into<Text>) -> Self {
        let content = content.into();
        Self { kind, content, raw: Text::default(), place: None, code: None, respond: None }
    }

    /// Whether it is about an answer that was cut or refused outside every block, so that its text is not whole.
    #[must_use]
    pub fn is_of_cut_answer(&self) -> bool {
        matches!(self.kind, ReportKind::Truncated | ReportKind::Refused) && self.raw.is_empty()
    }
}

/// The words that every report of a dialect's blocks has.
#[derive(Clone, Debug)]
pub struct Words {
    /// The name of a block of calls.
    pub block: Str,
    /// What the model should do instead.
    pub again: Str,
}
