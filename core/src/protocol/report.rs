//! The message to the model about output that could not be read: a block that does not hold calls, or an answer that was cut off.

use std::borrow::Cow;

use super::Text;
use super::canonical::json_string;
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
    #[doc(hidden)]
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
    /// What is wrong, where, and what to do, in the dialect of the text that could not be read.
    pub content: Text,
    /// The block as the model wrote it, from its opening mark on; empty if the problem is not in a block.
    pub raw: Text,
    /// Line and column in `raw`, from 1.
    pub place: Option<(usize, usize)>,
    /// The problem of a block as a word for programs ([`ProblemKind::code`](super::problem::ProblemKind::code)).
    pub code: Option<Cow<'static, str>>,
    /// The report as text of the answer, as cogency 3.3.0 has it; `None` if cogency 3.3.0 reports nothing.
    pub respond: Option<Text>,
    /// The same as `content`, free of the form of any dialect.
    pub finding: Finding,
}

impl Report {
    /// A report that is not about a block. It says the same to every reader.
    #[doc(hidden)]
    #[must_use]
    pub fn of_answer(kind: ReportKind, content: impl Into<Text>) -> Self {
        let content = content.into();
        let finding = Finding { content: content.clone(), ..Finding::default() };
        Self {
            kind,
            content,
            raw: Text::default(),
            place: None,
            code: None,
            respond: None,
            finding,
        }
    }

    /// The report as the log stores it: what was found, as JSON. `raw` is the report's own, and may go on after it.
    #[doc(hidden)]
    #[must_use]
    pub fn row(&self, raw: &Text) -> String {
        let Self { kind, place, code, finding, .. } = self;
        let text = |text: &str| json_string(text.as_bytes());
        let mut row = format!("{{\"kind\": \"{}\"", kind.name());
        let mut add = |key: &str, value: &str| row.extend([", \"", key, "\": ", value]);
        if let Some(code) = code {
            add("code", &text(code));
        }
        add("content", &json_string(finding.content.as_bytes()));
        if let Some(advice) = finding.advice {
            add("advice", &text(advice.name()));
        }
        if let Some(BlockFault { dialect, problem, ended }) = &finding.block {
            add("dialect", &text(dialect));
            add("problem", &text(problem));
            if let Some(end) = ended {
                add("ended", &text(end.name()));
            }
        }
        if let Some(call) = &finding.call {
            add("call", &text(call));
        }
        if let Some(why) = &finding.why {
            add("why", &text(why));
        }
        add("raw", &json_string(raw.as_bytes()));
        if let Some((line, column)) = place {
            add("line", &line.to_string());
            add("column", &column.to_string());
        }
        row.push('}');
        row
    }

    /// Whether it is about an answer that was cut or refused outside every block, so that its text is not whole.
    #[doc(hidden)]
    #[must_use]
    pub fn is_of_cut_answer(&self) -> bool {
        matches!(self.kind, ReportKind::Truncated | ReportKind::Refused) && self.raw.is_empty()
    }
}

/// What is wrong, free of the form of any dialect. A log keeps it, and a model that reads the log is told it in its own form,
/// which need not be that of the model it is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong and where, in plain words.
    pub content: Text,
    /// What to do instead, where the words for that depend on the reader's form.
    pub advice: Option<Advice>,
    /// The block that it is about.
    pub block: Option<BlockFault>,
    /// The call to write, with [`Advice::Call`], as the log stores one.
    pub call: Option<String>,
    /// Why the stream broke off, for people. No model is told: it may name a server.
    pub why: Option<String>,
}

/// What the model should do instead. Each form has its own words for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// Write the whole call again.
    Again,
    /// The same, with less in it.
    AgainWithLess,
    /// Go on where the answer was cut.
    GoOn,
    /// End the reasoning, and write the call after it.
    AfterThoughts,
    /// Write this call, or one like it, since each answer must call a tool.
    Call,
}

impl Advice {
    const NAMES: [(Self, &'static str); 5] = [
        (Self::Again, "again"),
        (Self::AgainWithLess, "again_with_less"),
        (Self::GoOn, "go_on"),
        (Self::AfterThoughts, "after_thoughts"),
        (Self::Call, "call"),
    ];

    /// Its name in the log.
    #[doc(hidden)]
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(advice, _)| *advice == self).map_or("", |(_, name)| name)
    }

    /// The advice with this name.
    #[doc(hidden)]
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(advice, _)| *advice)
    }
}

/// What is wrong with a block. Only a reader of the same dialect is told it in the words of the dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockFault {
    /// The name of the dialect that it is written in.
    pub dialect: Str,
    /// The problem; it may quote the dialect's marks.
    pub problem: String,
    /// How the text ended in the block; `None` for a block that has an end.
    pub ended: Option<BlockEnd>,
}

/// How a text ended in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockEnd {
    /// The model stopped by itself.
    Stopped,
    /// The answer reached its greatest length.
    Length,
    /// The stream broke off.
    Broken,
    /// It is not known how.
    Unknown,
}

impl BlockEnd {
    const NAMES: [(Self, &'static str); 4] = [
        (Self::Stopped, "stopped"),
        (Self::Length, "length"),
        (Self::Broken, "broken"),
        (Self::Unknown, "unknown"),
    ];

    /// Its name in the log.
    #[doc(hidden)]
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(end, _)| *end == self).map_or("", |(_, name)| name)
    }

    /// The end with this name.
    #[doc(hidden)]
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(end, _)| *end)
    }
}

/// The words that every report of a dialect's blocks has.
#[derive(Clone, Debug)]
pub struct Words {
    /// The name of the dialect.
    pub dialect: Str,
    /// The name of a block of calls.
    pub block: Str,
    /// What the model should do instead.
    pub again: Str,
}
