//! What the reports say: written once more, apart from the core.

use cogency_rs::protocol::problem::ProblemKind;
use cogency_rs::protocol::report::{Advice, BlockEnd, BlockFault, Finding};
use cogency_rs::protocol::{Ending, Event, Report, ReportKind, Text};

use super::syntax::{OPEN, TextRun};
use crate::text::characters;

/// Line and column of byte `at`, both from 1; those of the end if `text` is shorter.
pub fn line_and_column(text: &[u8], at: usize) -> (usize, usize) {
    let (mut line, mut column, mut passed) = (1, 1, 0);
    for character in characters(text) {
        if passed >= at {
            break;
        }
        passed += character.len();
        (line, column) = if character == b"\n" { (line + 1, 1) } else { (line, column + 1) };
    }
    (line, column)
}

const AGAIN: &str =
    "Write the whole block again, as one JSON array: [{\"name\": \"...\", \"args\": {...}}].";

/// The report of a block that is malformed at byte `at` of `body`, as text of the answer.
pub fn respond(kind: &ProblemKind, at: usize, body: &[u8]) -> String {
    let (line, column) = line_and_column(body, at);
    format!(
        "Error: Malformed tool call syntax. In the execute block: {kind} at line {line}, column {column}. No \
         call in it was run. {AGAIN}"
    )
}

/// What is wrong, as a word for programs.
pub fn code(kind: &ProblemKind) -> Option<&'static str> {
    match kind {
        ProblemKind::Name { .. } => Some("missing_tool_name"),
        _ => Some("invalid_payload"),
    }
}

/// What is wrong, without the marks and keys of the protocol.
fn plain(kind: &ProblemKind) -> String {
    match kind {
        ProblemKind::Expected { .. } => {
            "other text is found where a part of a call is expected".into()
        }
        ProblemKind::Missing(_) => "the text ended before the call did".into(),
        ProblemKind::Unclosed { .. } => "a part of a call was never closed".into(),
        ProblemKind::Name { index, found, .. } => {
            format!("call {index} needs a name that is a string, found {found}")
        }
        ProblemKind::Args { index, found, .. } => {
            format!("call {index} needs arguments that are an object, found {found}")
        }
        other => other.to_string(),
    }
}

fn why_of(ending: &Ending) -> Option<String> {
    match ending {
        Ending::Broken(why) => Some(why.clone()),
        _ => None,
    }
}

fn finding(
    kind: &ProblemKind,
    content: String,
    ended: Option<BlockEnd>,
    advice: Option<Advice>,
) -> Finding {
    let fault = BlockFault { dialect: "cogency".into(), problem: kind.to_string(), ended };
    Finding { content: content.into(), advice, block: Some(fault), ..Finding::default() }
}

/// The report of a block that has ended. `body` goes on after it.
pub fn malformed(kind: &ProblemKind, at: usize, body: &[u8], raw: &[u8]) -> Report {
    let (line, column) = line_and_column(raw, OPEN.len() + at);
    Report {
        kind: ReportKind::Malformed,
        content: format!(
            "Malformed tool call syntax. In the execute block: {kind} at line {line}, column {column}. No call in \
             it was run. {AGAIN}"
        )
        .into(),
        raw: raw.into(),
        place: Some((line, column)),
        code: code(kind).map(Into::into),
        respond: Some(respond(kind, at, body).into()),
        finding: finding(
            kind,
            format!(
                "Malformed tool call syntax: {} at line {line}, column {column}. No call in it was run.",
                plain(kind)
            ),
            None,
            Some(Advice::Again),
        ),
    }
}

/// The report that the remaining blocks share; `None` if every block has its own.
pub fn more_unread(more: &mut Vec<Text>) -> Option<Event> {
    let raw = std::mem::take(more);
    if raw.is_empty() {
        return None;
    }
    let count = raw.len();
    let (blocks, them) = if count == 1 { ("block", "it") } else { ("blocks", "them") };
    let found =
        format!("Malformed tool call syntax in {count} more {blocks}. No call in {them} was run.");
    let content = format!("{found} {AGAIN}");
    Some(Event::Error(Box::new(Report {
        kind: ReportKind::Malformed,
        respond: Some(format!("Error: {content}").into()),
        content: content.into(),
        raw: raw.iter().map(Text::as_bytes).collect::<Vec<_>>().join(&b'\n').into(),
        place: None,
        code: Some("invalid_payload".into()),
        finding: Finding {
            content: found.into(),
            advice: Some(Advice::Again),
            ..Finding::default()
        },
    })))
}

/// The report of a block in which the text ended.
pub fn cut_off(kind: &ProblemKind, at: usize, body: &[u8], raw: &[u8], ending: &Ending) -> Report {
    let (line, column) = line_and_column(raw, OPEN.len() + at);
    let place = format!("inside the execute block, at line {line}, column {column}");
    let content = match ending {
        Ending::Stopped => format!("You stopped {place}: {kind}. No call in it was run. {AGAIN}"),
        Ending::Unknown => {
            format!(
                "Your output ended {place}. No call in it was run. {AGAIN} Put less into one call."
            )
        }
        Ending::Length => format!(
            "Your output reached the length that is allowed and was cut {place}. No call in it was run. Put less into one \
             call, and split what is long over several."
        ),
        Ending::Broken(why) => format!(
            "The stream broke off {place} ({why}). No call in it was run, and you did nothing wrong. {AGAIN}"
        ),
        Ending::Refused(_) => unreachable!("{NOT_REFUSED}"),
        other => unreachable!("the reference does not know {other:?}"),
    };
    let respond = match ending {
        Ending::Broken(why) => {
            format!(
                "Error: The stream broke off inside an execute block ({why}). No call in it was run."
            )
        }
        _ => respond(kind, at, body),
    };
    let place_of_call = format!("inside a tool call, at line {line}, column {column}");
    let (found, end, advice) = match ending {
        Ending::Stopped => (
            format!("You stopped {place_of_call}: {}. No call in it was run.", plain(kind)),
            BlockEnd::Stopped,
            Some(Advice::Again),
        ),
        Ending::Length => (
            format!(
                "Your output reached the length that is allowed and was cut {place_of_call}. No call in it was run. Put less \
                 into one call, and split what is long over several."
            ),
            BlockEnd::Length,
            None,
        ),
        Ending::Broken(_) => (
            format!(
                "The stream broke off {place_of_call}. No call in it was run, and you did nothing wrong."
            ),
            BlockEnd::Broken,
            Some(Advice::Again),
        ),
        _ => (
            format!("Your output ended {place_of_call}. No call in it was run."),
            BlockEnd::Unknown,
            Some(Advice::AgainWithLess),
        ),
    };
    Report {
        kind: if *ending == Ending::Stopped {
            ReportKind::Unfinished
        } else {
            ReportKind::Truncated
        },
        content: content.into(),
        raw: raw.into(),
        place: Some((line, column)),
        code: code(kind).map(Into::into),
        respond: Some(respond.into()),
        finding: Finding { why: why_of(ending), ..finding(kind, found, Some(end), advice) },
    }
}

const NOT_REFUSED: &str =
    "no text of this target is refused: what becomes of one is in the core's own tests";

const GO_ON: &str = "Go on exactly where it stopped: what you write now is joined to it as it is. Repeat nothing, and say \
                     nothing about this.";

/// The report of an answer that was cut outside every block, in a run of this kind.
pub fn cut_answer(ending: &Ending, run: TextRun) -> Option<Report> {
    let is_thought = run == TextRun::Think;
    let found = match ending {
        Ending::Length if is_thought => {
            "Your output reached the length that is allowed and was cut while you were still thinking. Think less, and write \
             the answer."
        }
        Ending::Length => "Your answer reached the length that is allowed and was cut.",
        _ if is_thought => {
            "The stream broke off while you were still thinking, and you did nothing wrong. Write the answer."
        }
        _ => "The stream broke off while you wrote your answer, and you did nothing wrong.",
    };
    let content = match ending {
        Ending::Unknown | Ending::Stopped => return None,
        Ending::Length if is_thought => {
            "Your output reached the length that is allowed and was cut while you were still \
                                         thinking. Think less, and write the answer."
                .into()
        }
        Ending::Length => {
            format!("Your answer reached the length that is allowed and was cut. {GO_ON}")
        }
        Ending::Broken(why) if is_thought => format!(
            "The stream broke off while you were still thinking ({why}), and you did nothing wrong. Write the answer."
        ),
        Ending::Broken(why) => format!(
            "The stream broke off while you wrote your answer ({why}), and you did nothing wrong. {GO_ON}"
        ),
        Ending::Refused(_) => unreachable!("{NOT_REFUSED}"),
        other => unreachable!("the reference does not know {other:?}"),
    };
    let finding = Finding {
        content: found.into(),
        advice: (!is_thought).then_some(Advice::GoOn),
        why: why_of(ending),
        ..Finding::default()
    };
    Some(Report { finding, ..Report::of_answer(ReportKind::Truncated, content) })
}

/// Reasoning that never ends, with a call in it.
pub fn call_in_reasoning() -> Report {
    let content = "You wrote <execute> while you were still thinking, and nothing in your thoughts is a call. No call was \
                   run. End your thoughts with </think>, then write the call.";
    let found = "You began a call while you were still thinking, and nothing in your thoughts is a call. No call was run.";
    let finding = Finding {
        content: found.into(),
        advice: Some(Advice::AfterThoughts),
        ..Finding::default()
    };
    Report { finding, ..Report::of_answer(ReportKind::Unfinished, content) }
}
