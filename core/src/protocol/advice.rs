//! The words of a [`Report`]: what the model reads about output that could not be read, and what to do instead.

use std::sync::Arc;

use super::Text;
use super::ending::Ending;
use super::notation::Notation;
use super::notation::calls::example;
use super::problem::{INVALID, Problem, ProblemKind};
use super::report::{Advice, BlockEnd, BlockFault, Finding, Report, ReportKind, Words};
use crate::dialect::{Body, Dialect, Str};
use crate::text::line_and_column;

/// How many broken blocks of a text have their own report. The others share one: a model does not write as many, and each
/// report is several times as long as the shortest block.
pub const MAX_REPORTS: usize = 100;

/// How to go on where an answer was cut, for a model that answers in text.
pub const GO_ON: &str = "Go on exactly where it stopped: what you write now is joined to it as it is. Repeat nothing, and say \
                         nothing about this.";

impl Words {
    /// Those for this dialect. The example in them is written by the dialect's own grammar, which is made for it.
    #[must_use]
    pub fn new(dialect: &Arc<Dialect>) -> Self {
        let block = block_name(dialect);
        Self { dialect: dialect.name.clone(), block, again: again(dialect) }
    }

    /// The report of `count` malformed blocks without their own report. `raw` is the blocks, one on each line.
    #[must_use]
    pub fn more_malformed(&self, count: usize, raw: Text) -> Report {
        let (blocks, them) = if count == 1 { ("block", "it") } else { ("blocks", "them") };
        let found = format!(
            "Malformed tool call syntax in {count} more {blocks}. No call in {them} was run."
        );
        let said = self.with_advice(&found, Some(Advice::Again));
        Report {
            kind: ReportKind::Malformed,
            respond: Some(format!("Error: {said}").into()),
            content: said.into(),
            raw,
            place: None,
            code: Some(INVALID.into()),
            finding: Finding {
                content: found.into(),
                advice: Some(Advice::Again),
                ..Finding::default()
            },
        }
    }

    /// What is wrong with a block of this dialect, at this line and column.
    #[must_use]
    pub fn sentence(&self, fault: &BlockFault, place: (usize, usize)) -> String {
        let at = format!("{} at {}", fault.problem, shown(place));
        match fault.ended {
            None => format!(
                "Malformed tool call syntax. In the {}: {at}. No call in it was run.",
                self.block
            ),
            Some(end) => ended(end, &format!("the {}", self.block), &fault.problem, place, ""),
        }
    }

    /// What is wrong, and after it what to do where that is about a call.
    fn with_advice(&self, found: &str, advice: Option<Advice>) -> String {
        match advice {
            Some(Advice::Again) => format!("{found} {}", self.again),
            Some(Advice::AgainWithLess) => format!("{found} {} {LESS}", self.again),
            _ => found.to_owned(),
        }
    }
}

/// How to write a call again that was too much for one answer.
pub const LESS: &str = "Put less into one call.";

/// What is wrong with a block that the text ended in.
fn ended(end: BlockEnd, block: &str, problem: &str, place: (usize, usize), why: &str) -> String {
    let at = format!("inside {block}, at {}", shown(place));
    match end {
        BlockEnd::Stopped => format!("You stopped {at}: {problem}. No call in it was run."),
        BlockEnd::Unknown => format!("Your output ended {at}. No call in it was run."),
        BlockEnd::Length => format!(
            "Your output reached the length that is allowed and was cut {at}. No call in it was run. Put less into \
             one call, and split what is long over several."
        ),
        BlockEnd::Broken => format!(
            "The stream broke off {at}{why}. No call in it was run, and you did nothing wrong."
        ),
    }
}

fn shown((line, column): (usize, usize)) -> String {
    format!("line {line}, column {column}")
}

/// A block that could not be read.
#[derive(Clone, Copy, Debug)]
pub struct BrokenBlock<'d> {
    /// The words of the dialect that it is written in.
    pub words: &'d Words,
    /// The length in bytes of the mark that opened it.
    pub mark: usize,
}

impl BrokenBlock<'_> {
    /// The report of a block that has an end but does not hold calls. The block is the first `length` bytes of `text`, with its
    /// opening mark. The place of `problem` is counted from the end of that mark, and may be after the block.
    #[must_use]
    pub fn malformed(self, problem: &Problem, text: &[u8], length: usize) -> Report {
        let Self { words, mark } = self;
        let raw = &text[..length];
        let place = line_and_column(raw, mark + problem.at);
        let kind = &problem.kind;
        let fault = words.fault(kind, None);
        let found = format!(
            "Malformed tool call syntax: {} at {}. No call in it was run.",
            kind.plain(),
            shown(place)
        );
        Report {
            kind: ReportKind::Malformed,
            content: words.with_advice(&words.sentence(&fault, place), Some(Advice::Again)).into(),
            raw: raw.into(),
            place: Some(place),
            code: Some(kind.code().into()),
            // Where something is missing, the problem is at the end of the text: counting lines up to there for each block
            // would take quadratic time.
            respond: Some(match kind {
                ProblemKind::Missing(_) => self.as_respond(problem, raw),
                _ => self.as_respond(problem, text),
            }),
            finding: Finding {
                content: found.into(),
                advice: Some(Advice::Again),
                block: Some(fault),
                ..Finding::default()
            },
        }
    }

    /// The report of a block that the text ended in.
    #[must_use]
    pub fn cut_off(self, problem: &Problem, raw: &[u8], ending: &Ending) -> Report {
        let Self { words, mark } = self;
        let place = line_and_column(raw, mark + problem.at);
        let (kind, end, advice, why) = match ending {
            Ending::Stopped => {
                (ReportKind::Unfinished, BlockEnd::Stopped, Some(Advice::Again), String::new())
            }
            Ending::Unknown => (
                ReportKind::Truncated,
                BlockEnd::Unknown,
                Some(Advice::AgainWithLess),
                String::new(),
            ),
            Ending::Length => (ReportKind::Truncated, BlockEnd::Length, None, String::new()),
            Ending::Broken(why) => {
                (ReportKind::Truncated, BlockEnd::Broken, Some(Advice::Again), format!(" ({why})"))
            }
            Ending::Refused(why) => {
                let respond = Some(self.as_respond(problem, raw));
                return Report {
                    raw: raw.into(),
                    place: Some(place),
                    code: Some(problem.kind.code().into()),
                    respond,
                    ..Report::of_answer(ReportKind::Refused, refusal(why))
                };
            }
        };
        let fault = words.fault(&problem.kind, Some(end));
        let block = format!("the {}", words.block);
        let said = ended(end, &block, &fault.problem, place, &why);
        let found = ended(end, "a tool call", &problem.kind.plain(), place, "");
        let respond = match end {
            BlockEnd::Broken => {
                let block = &words.block;
                let article = if block.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
                format!(
                    "Error: The stream broke off inside {article} {block}{why}. No call in it was run."
                )
                .into()
            }
            _ => self.as_respond(problem, raw),
        };
        Report {
            kind,
            content: words.with_advice(&said, advice).into(),
            raw: raw.into(),
            place: Some(place),
            code: Some(problem.kind.code().into()),
            respond: Some(respond),
            finding: Finding {
                content: found.into(),
                advice,
                block: Some(fault),
                why: reason_of(ending),
                call: None,
            },
        }
    }

    /// The report of a malformed block as text of the answer. It begins with the words of cogency 3.3.0.
    fn as_respond(self, problem: &Problem, text: &[u8]) -> Text {
        let Self { words: Words { block, again, .. }, mark } = self;
        let problem = problem.located(&text[mark..]);
        format!(
            "Error: Malformed tool call syntax. In the {block}: {problem} No call in it was run. {again}"
        )
        .into()
    }
}

impl Words {
    fn fault(&self, problem: &ProblemKind, ended: Option<BlockEnd>) -> BlockFault {
        BlockFault { dialect: self.dialect.clone(), problem: problem.to_string(), ended }
    }
}

/// The report of reasoning that never ended, with `mark` in it, which would open a block of calls. `close` would have
/// ended the reasoning.
#[must_use]
pub fn in_reasoning(mark: &str, close: &str) -> Report {
    let content = format!(
        "You wrote {mark} while you were still thinking, and nothing in your thoughts is a call. No call was run. \
         End your thoughts with {close}, then write the call."
    );
    Report {
        finding: Finding {
            content: "You began a call while you were still thinking, and nothing in your thoughts is a call. No call was run."
                .into(),
            advice: Some(Advice::AfterThoughts),
            ..Finding::default()
        },
        ..Report::of_answer(ReportKind::Unfinished, content)
    }
}

/// Where an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// In text for the user.
    Answer,
    /// In reasoning.
    Thoughts,
}

/// The report of an answer that ended outside every block; `None` if nothing is missing.
#[must_use]
pub fn cut_answer(ending: &Ending, place: Where) -> Option<Report> {
    const ANSWER: &str = "Think less, and write the answer.";
    let (found, rest, advice) = match (ending, place) {
        (Ending::Unknown | Ending::Stopped, _) => return None,
        (Ending::Refused(why), _) => {
            return Some(Report::of_answer(ReportKind::Refused, refusal(why)));
        }
        (Ending::Length, Where::Answer) => (
            "Your answer reached the length that is allowed and was cut",
            ".".to_owned(),
            Some(Advice::GoOn),
        ),
        (Ending::Length, Where::Thoughts) => (
            "Your output reached the length that is allowed and was cut while you were still thinking",
            format!(". {ANSWER}"),
            None,
        ),
        (Ending::Broken(_), Where::Answer) => (
            "The stream broke off while you wrote your answer",
            ", and you did nothing wrong.".to_owned(),
            Some(Advice::GoOn),
        ),
        (Ending::Broken(_), Where::Thoughts) => (
            "The stream broke off while you were still thinking",
            ", and you did nothing wrong. Write the answer.".to_owned(),
            None,
        ),
    };
    let go_on = if advice.is_some() { format!(" {GO_ON}") } else { String::new() };
    let why = match ending {
        Ending::Broken(why) => format!(" ({why})"),
        _ => String::new(),
    };
    let content = Text::from(format!("{found}{rest}"));
    Some(Report {
        finding: Finding { content, advice, why: reason_of(ending), ..Finding::default() },
        ..Report::of_answer(ReportKind::Truncated, format!("{found}{why}{rest}{go_on}"))
    })
}

/// Why a stream broke off.
fn reason_of(ending: &Ending) -> Option<String> {
    match ending {
        Ending::Broken(why) => Some(why.clone()),
        _ => None,
    }
}

/// The message about an answer that was refused.
fn refusal(why: &str) -> String {
    format!("The answer was refused ({why}). No call was run.")
}

/// The name of a block of calls in a message about it.
fn block_name(dialect: &Dialect) -> Str {
    let head = dialect.calls.bodies.iter().find_map(|body| match body {
        Body::Head(head) => Some(&head.open),
        _ => None,
    });
    match (&*dialect.prompt.block_name, dialect.calls.open.first().or(head)) {
        ("", Some(open)) => format!("{open} block ({})", dialect.name).into(),
        ("", None) => format!("call ({})", dialect.name).into(),
        (name, _) => name.to_owned().into(),
    }
}

/// What the model should do instead.
fn again(dialect: &Arc<Dialect>) -> Str {
    match &*dialect.prompt.again {
        "" => {
            let example = example(&Notation::new(Arc::clone(dialect)));
            format!("Write the whole call again, exactly like this:\n{example}").into()
        }
        again => again.to_owned().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Grammar;
    use super::*;
    use crate::json::FaultKind;

    #[test]
    fn line_and_column_are_those_in_the_raw_text() {
        let problem = Problem { kind: FaultKind::Value.into(), at: 3 };
        let grammar = Grammar::cogency();
        let block = BrokenBlock { words: grammar.words(0, Words::new), mark: "<execute>".len() };
        let report = |text: &str, length| block.malformed(&problem, text.as_bytes(), length);
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
