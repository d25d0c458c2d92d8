//! What the model is told about output that could not be read: a block that does not hold calls, or an answer that was cut off.

use std::borrow::Cow;

use super::Text;

/// How a model's text ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// It is not known.
    #[default]
    Unknown,
    /// The model stopped by itself.
    Stopped,
    /// The answer reached its greatest length.
    Length,
    /// The stream broke off, for this reason.
    Broken(String),
}

impl Ending {
    /// The ending that a provider's finish reason means; [`Unknown`](Self::Unknown) for a reason that is not known.
    #[must_use]
    pub fn of_reason(reason: &str) -> Self {
        match reason.to_ascii_lowercase().as_str() {
            "length" | "max_tokens" | "max_output_tokens" | "model_length" => Self::Length,
            "stop" | "end_turn" | "stop_sequence" | "tool_calls" | "tool_use" | "function_call" => {
                Self::Stopped
            }
            _ => Self::Unknown,
        }
    }

    /// Whether text is missing at the end.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        matches!(self, Self::Length | Self::Broken(_))
    }
}

/// What kind of output could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// A block that does not hold calls.
    Malformed,
    /// A block in which the model stopped by itself.
    Unfinished,
    /// Output that was cut off: by its length, with its stream, or for an unknown reason.
    Truncated,
}

impl ReportKind {
    /// Its name in events and in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Unfinished => "unfinished",
            Self::Truncated => "truncated",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Malformed, Self::Unfinished, Self::Truncated]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// A piece of output, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The kind of problem.
    pub kind: ReportKind,
    /// What the model is told: what is wrong, where, and what to do.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_s_finish_reason_tells_how_a_text_ended() {
        for (reason, ending) in [
            ("length", Ending::Length),
            ("MAX_TOKENS", Ending::Length),
            ("stop", Ending::Stopped),
            ("tool_use", Ending::Stopped),
            ("content_filter", Ending::Unknown),
            ("", Ending::Unknown),
        ] {
            assert_eq!(Ending::of_reason(reason), ending, "{reason}");
        }
    }
}
