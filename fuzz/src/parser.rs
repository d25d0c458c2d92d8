//! The parser as its specification reads: a whole text is divided into parts, and each part has its meaning.
//!
//! The parts lie side by side and cover the text ([`parts`] checks it). So every byte of the text is accounted
//! for once: it is in an event, or in a tag, in blank text that is not an event, in a block whose calls or whose
//! error stand for it, or after the end of a batch.

mod reports;
mod syntax;
mod tags;

use std::ops::Range;

use crate::json::Layout;
use cogency_rs::json::{Controls, Fault, FaultKind};
use cogency_rs::protocol::advice::MAX_REPORTS;
use cogency_rs::protocol::problem::ProblemKind;
use cogency_rs::protocol::{Call, Ending, Event, Limits, Report, ReportKind};

use crate::json::{self, Node, Value};
use crate::quotes::Fences;
use crate::text::{characters, is_blank, leading_space};
use cogency_rs::text::prefix;
use reports::{call_in_reasoning, cut_answer, cut_off, malformed, more_unread};
use syntax::{CLOSE, END_OF_RESULTS, OPEN, OPENING, closes};
use tags::{Answer, Next, closing_tag, first_of, next_tag};

pub use syntax::{Source, TextRun};

/// A part of a text.
#[derive(Debug)]
pub struct Part {
    pub range: Range<usize>,
    pub meaning: Meaning,
}

/// What a part of a text becomes.
#[derive(Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Text between two tags.
    Run(TextRun),
    /// Text that no tag ends.
    LastRun(TextRun),
    /// Text that no tag ends, where one in a fence has opened text that only its closing tag ends.
    LastQuoted(TextRun),
    /// Any tag but the next one.
    Tag,
    /// `<end>`
    EndTag,
    /// The body of a valid block.
    Calls(Vec<Call>),
    /// The body of a block that is not valid: its report.
    Unread(Box<Report>),
    /// The body of a block that has not ended, or what may or may not be a tag, and all after it.
    Unknown,
    /// Text after a valid block.
    Discarded,
}

/// Divides a text.
///
/// # Panics
/// The parts do not cover the text.
#[must_use]
pub fn parts(text: &[u8], limits: Limits, source: &Source) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut add = |length: usize, meaning| {
        let start = parts.last().map_or(0, |part| part.range.end);
        parts.push(Part { range: start..start + length, meaning });
    };
    let mut fences = Fences::default();
    let mut start = 0;
    loop {
        let (at, tag) = match next_tag(text, start, &mut fences, limits, source) {
            Next::Tag(at, tag) => (at, tag),
            Next::Unknown(at) => {
                add(at - start, Meaning::Run(TextRun::Respond));
                add(text.len() - at, Meaning::Unknown);
                break;
            }
            Next::Nothing(None) => {
                add(text.len() - start, Meaning::LastRun(TextRun::Respond));
                break;
            }
            Next::Nothing(Some(run)) => {
                add(text.len() - start, Meaning::LastQuoted(run));
                break;
            }
        };
        add(at - start, Meaning::Run(TextRun::Respond));
        add(tag.len(), if tag == b"<end>" { Meaning::EndTag } else { Meaning::Tag });
        start = at + tag.len();
        let rest = &text[start..];
        let run = match tag {
            b"<think>" => TextRun::Think,
            b"<results>" => TextRun::Result,
            b"<end>" => {
                fences.tag();
                continue;
            }
            _ => {
                let (length, meaning) = block(rest, limits, source);
                let is_valid = matches!(meaning, Meaning::Calls(_));
                let close = if rest[length..].starts_with(CLOSE) { CLOSE.len() } else { 0 };
                add(length, meaning);
                add(close, Meaning::Tag);
                start += length + close;
                if is_valid {
                    add(text.len() - start, Meaning::Discarded);
                    break;
                }
                if close == 0 {
                    break;
                }
                fences.block();
                continue;
            }
        };
        match closing_tag(text, start, run, source) {
            None => {
                add(rest.len(), Meaning::LastRun(run));
                break;
            }
            Some((at, Answer::Unknown)) => {
                // Results are shown once they end.
                let is_shown = run != TextRun::Result;
                add(at - start, if is_shown { Meaning::Run(run) } else { Meaning::Unknown });
                add(text.len() - at, Meaning::Unknown);
                break;
            }
            Some((at, _)) => {
                add(at - start, Meaning::Run(run));
                add(closes(run).len(), Meaning::Tag);
                start = at + closes(run).len();
                fences.tag();
            }
        }
    }
    assert_eq!(
        parts.last().map(|part| part.range.end),
        Some(text.len()),
        "every byte is in a part"
    );
    parts
}

/// The length and the meaning of the block's body that `text` begins with.
fn block(text: &[u8], limits: Limits, source: &Source) -> (usize, Meaning) {
    let most = limits.max_block_bytes;
    // All that a block may hold, and its closing tag: more than this is too long.
    let seen = prefix(text, most + CLOSE.len());
    let is_more = text.len() >= most + CLOSE.len();
    let first_close = first_of(text, &[CLOSE]).map(|(at, _)| at);

    // A block that ends at `end`: at its closing tag, or with the text.
    let unread = |end: Option<usize>, kind: ProblemKind, at: usize| {
        let length = end.map_or(text.len(), |end| end + CLOSE.len());
        let is_over = end.is_some() || length > most + CLOSE.len();
        if !is_over && *source == Source::Open {
            return (text.len(), Meaning::Unknown);
        }
        let raw = [OPEN, &text[..length]].concat();
        let raw = prefix(&raw, OPEN.len() + most + CLOSE.len());
        let report = match (source, &kind) {
            (
                Source::Ended(ending),
                ProblemKind::Json(FaultKind::Ended | FaultKind::EndedInString),
            ) if end.is_none() => cut_off(&kind, at, text, raw, ending),
            _ => malformed(&kind, at, text, raw),
        };
        (end.unwrap_or(text.len()), Meaning::Unread(Box::new(report)))
    };
    let ended = || (FaultKind::Ended.into(), text.len());

    let start = leading_space(seen);
    let value =
        if start < seen.len() && CLOSE.starts_with(&seen[start..]) && seen[start..] != *CLOSE {
            // It is not known whether this is the tag.
            Err(Fault { kind: FaultKind::Ended, at: seen.len() })
        } else {
            json::read(seen, start, Controls::Raw)
        };
    let value = match value {
        Ok(value) => value,
        Err(Fault { kind: kind @ (FaultKind::Ended | FaultKind::EndedInString), at }) => {
            return match source {
                Source::Open if !is_more => (text.len(), Meaning::Unknown),
                _ if text.len() > most => unread(first_close, ProblemKind::TooLong(most), most),
                _ if kind == FaultKind::Ended => unread(None, kind.into(), text.len()),
                Source::Ended(ending) if ending.is_cut() => unread(None, kind.into(), at),
                _ => unread(first_close, kind.into(), at),
            };
        }
        Err(fault) => return unread(first_close, fault.kind.into(), fault.at),
    };
    let end = value.end + leading_space(&seen[value.end..]);
    let behind = &seen[end..];
    let calls = calls(&value.node, limits);
    if behind.starts_with(CLOSE) {
        match calls {
            Ok(calls) => (end, Meaning::Calls(calls)),
            Err((kind, at)) => unread(Some(end), kind, at),
        }
    } else if !CLOSE.starts_with(behind) {
        unread(first_close, FaultKind::Trailing.into(), end)
    } else {
        match (source, calls) {
            (Source::Open, _) if !is_more => (text.len(), Meaning::Unknown),
            _ if is_more || end > most => unread(first_close, ProblemKind::TooLong(most), most),
            (Source::Ended(ending), Ok(_)) if ending.is_cut() => {
                let (kind, at) = ended();
                unread(None, kind, at)
            }
            (_, Ok(calls)) => (text.len(), Meaning::Calls(calls)),
            (_, Err((kind, at))) => unread(None, kind, at),
        }
    }
}

/// The calls in a block's value, or the first thing that is wrong with it, and where.
fn calls(value: &Node, limits: Limits) -> Result<Vec<Call>, (ProblemKind, usize)> {
    check_depth(value, 1, 1, limits)?;
    let Value::Array(items) = &value.value else {
        let found = name_of(&value.value).into();
        let expected = "a JSON array of calls".into();
        return Err((ProblemKind::Expected { expected, found }, value.at));
    };
    let mut calls = Vec::new();
    for (index, item) in items.iter().enumerate() {
        check_depth(item, 2, 2, limits)?;
        let Value::Object(entries) = &item.value else {
            return Err((ProblemKind::NotAnObject { index, found: name_of(&item.value) }, item.at));
        };
        if index == limits.max_calls {
            return Err((ProblemKind::TooManyCalls(limits.max_calls), item.at));
        }
        check_depth(item, 2, usize::MAX, limits)?;
        let dict = json::as_dict(entries);
        let field =
            |name| dict.iter().find(|(key, _)| **key == json::units(name)).map(|(_, value)| *value);
        let found = |value: Option<&Value>| value.map_or("nothing", name_of);
        let Some(name @ Value::String(_)) = field("name") else {
            let found = found(field("name"));
            return Err((ProblemKind::Name { index, key: "name".into(), found }, item.at));
        };
        let Some(args @ Value::Object(_)) = field("args") else {
            let found = match field("args") {
                Some(Value::String(text)) if text.is_empty() => "an empty string",
                args => found(args),
            };
            return Err((ProblemKind::Args { index, key: "args".into(), found }, item.at));
        };
        let [name, args] = [name, args].map(|value| json::dumps(value, Layout::Compact));
        let call = Call::of_json(&name, &args);
        assert_eq!(call.json(), format!("{{\"name\": {name}, \"args\": {args}}}"));
        calls.push(call);
    }
    Ok(calls)
}

/// Looks for the first bracket in `node`, itself at level `depth`, that is nested too deep; not below `deepest`.
fn check_depth(
    node: &Node,
    depth: usize,
    deepest: usize,
    limits: Limits,
) -> Result<(), (ProblemKind, usize)> {
    let inner: Vec<&Node> = match &node.value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(entries) => entries.iter().map(|(_, node)| node).collect(),
        _ => return Ok(()),
    };
    if depth > limits.max_depth {
        return Err((ProblemKind::TooDeep(limits.max_depth), node.at));
    }
    if depth < deepest {
        inner.into_iter().try_for_each(|node| check_depth(node, depth + 1, deepest, limits))?;
    }
    Ok(())
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
        Value::String(_) => "a string",
        Value::Number(_) | Value::Word("NaN" | "Infinity" | "-Infinity") => "a number",
        Value::Word("null") => "null",
        Value::Word(_) => "a boolean",
    }
}

/// Whether the tag of a block is at the start of a line of `thoughts`, whose first line may have begun before them.
fn opens_a_block(thoughts: &[u8], begins_line: bool) -> bool {
    let mut lines = thoughts.split(|byte| *byte == b'\n');
    let first = lines.next().is_some_and(|line| begins_line && line.starts_with(OPEN));
    first || lines.any(|line| line.starts_with(OPEN))
}

/// A text that begins in reasoning, with the tag that opens it; it may have that tag itself, after space.
#[must_use]
pub fn in_reasoning(text: &[u8], limits: Limits) -> (Vec<u8>, bool) {
    let space = leading_space(text);
    let reopens = space <= limits.max_block_bytes && text[space..].starts_with(b"<think>");
    (if reopens { text[space..].to_vec() } else { [b"<think>", text].concat() }, !reopens)
}

/// The events of a text that ended so: in event mode, piece for piece. Where the prompt has opened reasoning, the tag that does
/// so is put before the text.
#[must_use]
pub fn events(text: &[u8], limits: Limits, ending: &Ending, begins_in_think: bool) -> Vec<Event> {
    let mut events = Vec::new();
    let mut report = None;
    let (mut reports, mut more) = (0, Vec::new());
    for Part { range, meaning } in parts(text, limits, &Source::Ended(ending.clone())) {
        let begins_line = begins_in_think && range.start == b"<think>".len();
        let content = &text[range];
        match meaning {
            Meaning::Run(_) | Meaning::LastRun(_) | Meaning::LastQuoted(_) => {
                let (run, is_last) = match meaning {
                    Meaning::LastRun(run) => (run, true),
                    Meaning::LastQuoted(_) => (TextRun::Respond, true),
                    Meaning::Run(run) => (run, false),
                    _ => unreachable!("these are runs"),
                };
                let says = !is_blank(content) || content.len() > limits.max_block_bytes;
                if is_last {
                    // Nothing is missing if the model had said that it is done, or if there is no text at all.
                    let is_whole = match events.last() {
                        Some(Event::End) => !says,
                        _ => text.is_empty() && *ending != Ending::Length,
                    };
                    report = if is_whole { None } else { cut_answer(ending, run) };
                    if meaning == Meaning::LastRun(TextRun::Think)
                        && opens_a_block(content, begins_line)
                    {
                        report = Some(call_in_reasoning());
                    }
                }
                let is_shown = says || (is_last && run == TextRun::Respond);
                let pieces = if is_shown { pieces(content, limits) } else { Vec::new() };
                events.extend(pieces.into_iter().map(|piece| run.event(piece)));
            }
            Meaning::EndTag => events.push(Event::End),
            Meaning::Calls(calls) => {
                events.extend(more_unread(&mut more));
                events.extend(calls.into_iter().map(Event::Call));
                events.push(Event::Execute);
            }
            Meaning::Unread(report) if report.kind == ReportKind::Malformed => {
                reports += 1;
                if reports <= MAX_REPORTS {
                    events.push(Event::Error(report));
                } else {
                    more.push(report.raw);
                }
            }
            Meaning::Unread(report) => {
                events.extend(more_unread(&mut more));
                events.push(Event::Error(report));
            }
            Meaning::Tag | Meaning::Discarded => {}
            Meaning::Unknown => unreachable!("the text has ended"),
        }
    }
    events.extend(more_unread(&mut more));
    events.extend(report.map(|report| Event::Error(Box::new(report))));
    events
}

/// What is known of a text that goes on, in token mode, where no run is longer than the limit: all but the end
/// of the open run that may be the beginning of a tag, and blank text that nothing follows yet.
#[must_use]
pub fn events_so_far(text: &[u8], limits: Limits) -> Vec<Event> {
    let mut events = Vec::new();
    for Part { range, meaning } in parts(text, limits, &Source::Open) {
        let content = &text[range];
        match meaning {
            Meaning::Run(run) if !is_blank(content) => events.push(run.event(content)),
            Meaning::LastRun(_) | Meaning::LastQuoted(_) => {
                let (run, within) = match meaning {
                    Meaning::LastRun(run) => (run, run),
                    Meaning::LastQuoted(within) => (TextRun::Respond, within),
                    _ => unreachable!("these are runs"),
                };
                let ends: &[&[u8]] = match within {
                    TextRun::Respond => &OPENING,
                    // A block that opens in reasoning is reported if the reasoning never ends.
                    TextRun::Think => &[b"</think>", OPEN],
                    TextRun::Result if run == TextRun::Result => continue,
                    TextRun::Result => &[END_OF_RESULTS],
                };
                let may_begin = |end: &&[u8]| {
                    ends.iter().any(|tag| tag.len() > end.len() && tag.starts_with(end))
                };
                let held =
                    (0..content.len()).map(|at| &content[at..]).find(may_begin).unwrap_or(b"");
                let shown = &content[..content.len() - held.len()];
                if !is_blank(shown) {
                    events.push(run.event(shown));
                }
            }
            Meaning::EndTag => events.push(Event::End),
            Meaning::Calls(calls) => {
                events.extend(calls.into_iter().map(Event::Call));
                events.push(Event::Execute);
            }
            Meaning::Unread(report) => events.push(Event::Error(report)),
            Meaning::Run(_) | Meaning::Tag | Meaning::Discarded | Meaning::Unknown => {}
        }
    }
    events
}

/// Neighbours of one kind joined: what token mode promises to keep.
#[must_use]
pub fn joined(events: Vec<Event>) -> Vec<Event> {
    let mut runs: Vec<Event> = Vec::new();
    for event in events {
        match (runs.last_mut(), event) {
            (Some(Event::Think(run)), Event::Think(text))
            | (Some(Event::Respond(run)), Event::Respond(text)) => run.push(text.as_bytes()),
            (_, event) => runs.push(event),
        }
    }
    runs
}

/// A run in pieces of as many characters as the limit allows in one, and of at least one.
fn pieces(run: &[u8], limits: Limits) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for character in characters(run) {
        if at > start && at + character.len() - start > limits.max_block_bytes {
            pieces.push(&run[start..at]);
            start = at;
        }
        at += character.len();
    }
    if start < run.len() {
        pieces.push(&run[start..]);
    }
    pieces
}
