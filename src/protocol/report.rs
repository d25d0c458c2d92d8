//! What the model is told about output that could not be read: a block that does not hold calls, or an answer that was cut off.

use std::borrow::Cow;

use super::Text;
use super::advice::{again, block_name};
use super::problem::{Problem, ProblemKind};
use super::text::line_and_column;
use crate::dialect::Dialect;

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

/// The dialect of a block that could not be read, and the length of the mark that opened it.
pub type Broken<'d> = (&'d Dialect, usize);

impl Report {
    /// The report of a block that has an end but does not hold calls. The block is the first `length` bytes of `text`, with its
    /// opening mark. The place of `problem` is counted from the end of that mark, and may be after the block.
    #[must_use]
    pub fn malformed(problem: &Problem, text: &[u8], length: usize, broken: Broken<'_>) -> Self {
        let (dialect, mark) = broken;
        let raw = &text[..length];
        let (line, column) = line_and_column(raw, mark + problem.at);
        let (kind, block, again) = (&problem.kind, block_name(dialect), again(dialect));
        Self {
            kind: ReportKind::Malformed,
            content: format!(
                "Malformed tool call syntax. In the {block}: {kind} at line {line}, column {column}. No call \
                 was run. {again}"
            )
            .into(),
            raw: raw.into(),
            place: Some((line, column)),
            code: Some(problem.kind.code().into()),
            // Where something is missing, the problem is at the end of the text: counting lines up to there for each block
            // would take quadratic time.
            respond: Some(match problem.kind {
                ProblemKind::Missing(_) => malformed(problem, raw, broken),
                _ => malformed(problem, text, broken),
            }),
        }
    }

    /// The report of a block that the text ended in.
    #[must_use]
    pub fn cut_off(problem: &Problem, raw: &[u8], broken: Broken<'_>, ending: &Ending) -> Self {
        let (dialect, mark) = broken;
        let (line, column) = line_and_column(raw, mark + problem.at);
        let (block, again) = (block_name(dialect), again(dialect));
        let at = format!("inside the {block}, at line {line}, column {column}");
        let (kind, content) = match ending {
            Ending::Stopped => (
                ReportKind::Unfinished,
                format!("You stopped {at}: {}. No call was run. {again}", problem.kind),
            ),
            Ending::Unknown => (
                ReportKind::Truncated,
                format!("Your output ended {at}. No call was run. {again} Put less into one call."),
            ),
            Ending::Length => (
                ReportKind::Truncated,
                format!(
                    "Your output reached the length that is allowed and was cut {at}. No call was run. Put less into \
                     one call, and split what is long over several."
                ),
            ),
            Ending::Broken(why) => (
                ReportKind::Truncated,
                format!(
                    "The stream broke off {at} ({why}). No call was run, and you did nothing wrong. {again}"
                ),
            ),
        };
        let respond = match ending {
            Ending::Broken(why) => {
                let article = if block.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
                format!(
                    "Error: The stream broke off inside {article} {block} ({why}). No call was run."
                )
                .into()
            }
            _ => malformed(problem, raw, broken),
        };
        Self {
            kind,
            content: content.into(),
            raw: raw.into(),
            place: Some((line, column)),
            code: Some(problem.kind.code().into()),
            respond: Some(respond),
        }
    }

    /// The report of reasoning that never ended, with `mark` in it, which would open a block of calls. `close` would have
    /// ended the reasoning.
    #[must_use]
    pub fn in_reasoning(mark: &str, close: &str) -> Self {
        let content = format!(
            "You wrote {mark} while you were still thinking, and nothing in your thoughts is a call. No call was run. \
             End your thoughts with {close}, then write the call."
        );
        let kind = ReportKind::Unfinished;
        Self {
            kind,
            content: content.into(),
            raw: Text::default(),
            place: None,
            code: None,
            respond: None,
        }
    }

    /// The report of an answer that was cut off outside every block; `None` if nothing is missing.
    #[must_use]
    pub fn cut_answer(ending: &Ending) -> Option<Self> {
        let content = match ending {
            Ending::Unknown | Ending::Stopped => return None,
            Ending::Length => "Your answer reached the length that is allowed and was cut. Go on where it stopped, \
                               or say it in fewer words."
                .into(),
            Ending::Broken(why) => format!(
                "The stream broke off while you wrote ({why}), and you did nothing wrong. Go on where your \
                 answer stopped."
            )
            .into(),
        };
        let kind = ReportKind::Truncated;
        Some(Self { kind, content, raw: Text::default(), place: None, code: None, respond: None })
    }
}

/// The report of a malformed block as text of the answer. It begins with the words of cogency 3.3.0.
fn malformed(problem: &Problem, text: &[u8], (dialect, mark): Broken<'_>) -> Text {
    let problem = problem.located(&text[mark..]);
    let (block, again) = (block_name(dialect), again(dialect));
    format!("Error: Malformed tool call syntax. In the {block}: {problem} No call was run. {again}")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::presets::cogency;
    use crate::protocol::json::FaultKind;

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

    #[test]
    fn line_and_column_are_those_in_the_raw_text() {
        let problem = Problem { kind: FaultKind::Value.into(), at: 3 };
        let grammar = cogency();
        let broken = (&*grammar.dialects[0], "<execute>".len());
        let report =
            |text: &str, length| Report::malformed(&problem, text.as_bytes(), length, broken);
        let found = report("<execute>\n[7x</execute>", 23);
        assert_eq!(found.place, Some((2, 3)));
        assert!(found.content.to_string().contains("at line 2, column 3."));
        let found = report("<execute>[7,x</execute>", 23);
        assert_eq!(found.place, Some((1, 13)));
        let respond = found.respond.map(|text| text.to_string()).unwrap_or_default();
        assert!(respond.contains("at line 1, column 4."), "{respond}");
        // A problem may be after the block's end; then the place is that end.
        let found = report("<execute>[7,x", 10);
        assert_eq!(found.place, Some((1, 11)));
        let respond = found.respond.map(|text| text.to_string()).unwrap_or_default();
        assert!(respond.contains("at line 1, column 4."), "{respond}");
    }
}
