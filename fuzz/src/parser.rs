//! The parser as its specification reads: a whole text is divided into parts, and each part has its meaning.
//!
//! The parts lie side by side and cover the text ([`parts`] checks it). So every byte of the text is accounted
//! for once: it is in an event, or in a tag, in blank text that is no event, in a block whose calls or whose
//! error stand for it, or behind the end of a batch.

use std::ops::Range;

use cogency_rs::protocol::call::ProblemKind;
use cogency_rs::protocol::canonical::Layout;
use cogency_rs::protocol::json::{Controls, Fault, FaultKind};
use cogency_rs::protocol::{Call, Event, Limits, Text};

use crate::json::{self, Node, Value};
use crate::text::{characters, is_blank, leading_space};

/// Whether a text may still go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Open,
    Ended,
}

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
    Run(Run),
    /// Text that no tag ends.
    LastRun(Run),
    /// Any tag but the next one.
    Tag,
    /// `<end>`
    EndTag,
    /// The body of a valid block.
    Calls(Vec<Call>),
    /// The body of a block that is none: the report of it.
    Malformed(String),
    /// The body of a block that has not ended.
    Unknown,
    /// Text behind a valid block.
    Discarded,
}

/// Text, by the event it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    Respond,
    Think,
    Result,
}

const OPENING: [&[u8]; 4] = [b"<think>", b"<results>", b"<end>", b"<execute>"];
const CLOSE: &[u8] = b"</execute>";

/// Divides a text.
///
/// # Panics
/// Where the parts do not cover the text.
#[must_use]
pub fn parts(text: &[u8], limits: Limits, source: Source) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut add = |length: usize, meaning| {
        let start = parts.last().map_or(0, |part| part.range.end);
        parts.push(Part { range: start..start + length, meaning });
    };
    let mut rest = text;
    loop {
        let Some((at, tag)) = first_of(rest, &OPENING) else {
            add(rest.len(), Meaning::LastRun(Run::Respond));
            break;
        };
        add(at, Meaning::Run(Run::Respond));
        add(tag.len(), if tag == b"<end>" { Meaning::EndTag } else { Meaning::Tag });
        rest = &rest[at + tag.len()..];
        let (run, close): (_, &[u8]) = match tag {
            b"<think>" => (Run::Think, b"</think>"),
            b"<results>" => (Run::Result, b"</results>"),
            b"<end>" => continue,
            _ => {
                let (length, meaning) = block(rest, limits, source);
                let is_valid = matches!(meaning, Meaning::Calls(_));
                let close = if rest[length..].starts_with(CLOSE) { CLOSE.len() } else { 0 };
                add(length, meaning);
                add(close, Meaning::Tag);
                rest = &rest[length + close..];
                if is_valid {
                    add(rest.len(), Meaning::Discarded);
                    break;
                }
                if close == 0 {
                    break;
                }
                continue;
            }
        };
        let Some((length, _)) = first_of(rest, &[close]) else {
            add(rest.len(), Meaning::LastRun(run));
            break;
        };
        add(length, Meaning::Run(run));
        add(close.len(), Meaning::Tag);
        rest = &rest[length + close.len()..];
    }
    assert_eq!(
        parts.last().map(|part| part.range.end),
        Some(text.len()),
        "every byte is in a part"
    );
    parts
}

/// The first place at which one of `needles` stands, and which.
fn first_of<'n>(text: &[u8], needles: &[&'n [u8]]) -> Option<(usize, &'n [u8])> {
    (0..text.len()).find_map(|at| {
        let needle = needles.iter().find(|needle| text[at..].starts_with(needle))?;
        Some((at, *needle))
    })
}

/// The length and the meaning of the block's body that `text` begins with.
fn block(text: &[u8], limits: Limits, source: Source) -> (usize, Meaning) {
    let most = limits.max_block_bytes;
    // All that a block may hold, and its closing tag: more than this is too long.
    let seen = &text[..text.len().min(most + CLOSE.len())];
    let is_too_long =
        seen.len() == most + CLOSE.len() || source == Source::Ended && text.len() > most;
    let first_close = first_of(text, &[CLOSE]).map_or(text.len(), |(at, _)| at);
    let malformed = |length, kind, at| (length, Meaning::Malformed(report(&kind, at, text)));
    let cut_off = |length, fault: Fault| match source {
        _ if is_too_long => malformed(first_close, ProblemKind::TooLong(most), most),
        Source::Open => (text.len(), Meaning::Unknown),
        Source::Ended => malformed(length, fault.kind.into(), fault.at),
    };
    let ended = Fault { kind: FaultKind::Ended, at: text.len() };

    let value = match json::read(seen, leading_space(seen), Controls::Raw) {
        Ok(value) => value,
        Err(Fault { kind: FaultKind::Ended, .. }) => return cut_off(text.len(), ended),
        Err(fault) if fault.kind == FaultKind::EndedInString => return cut_off(first_close, fault),
        Err(fault) => return malformed(first_close, fault.kind.into(), fault.at),
    };
    let end = value.end + leading_space(&seen[value.end..]);
    let behind = &seen[end..];
    if behind.starts_with(CLOSE) {
        match calls(&value.node, limits) {
            Ok(calls) => (end, Meaning::Calls(calls)),
            Err((kind, at)) => malformed(end, kind, at),
        }
    } else if CLOSE.starts_with(behind) {
        cut_off(text.len(), ended)
    } else {
        malformed(first_close, FaultKind::Trailing.into(), end)
    }
}

/// The calls in a block's value, or the first thing that is wrong with it, and where.
fn calls(value: &Node, limits: Limits) -> Result<Vec<Call>, (ProblemKind, usize)> {
    check_depth(value, 1, 1, limits)?;
    let Value::Array(items) = &value.value else {
        return Err((ProblemKind::NotAnArray(name_of(&value.value)), value.at));
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
            return Err((ProblemKind::Name { index, found: found(field("name")) }, item.at));
        };
        let Some(args @ Value::Object(_)) = field("args") else {
            return Err((ProblemKind::Args { index, found: found(field("args")) }, item.at));
        };
        let [name, args] = [name, args].map(|value| json::dumps(value, Layout::Compact));
        let call = Call::new(&name, &args);
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

/// The report of a block that is malformed at byte `at` of `body`.
fn report(kind: &ProblemKind, at: usize, body: &[u8]) -> String {
    let (mut line, mut column, mut passed) = (1, 1, 0);
    for character in characters(body) {
        if passed >= at {
            break;
        }
        passed += character.len();
        (line, column) = if character == b"\n" { (line + 1, 1) } else { (line, column + 1) };
    }
    format!(
        "Error: Malformed tool call syntax. In the execute block: {kind} at line {line}, column {column}. No \
         call was run. Write the whole block again, as one JSON array: [{{\"name\": \"...\", \"args\": {{...}}}}]."
    )
}

/// The events of a text: in event mode, piece for piece.
#[must_use]
pub fn events(text: &[u8], limits: Limits) -> Vec<Event> {
    let mut events = Vec::new();
    for Part { range, meaning } in parts(text, limits, Source::Ended) {
        let content = &text[range];
        match meaning {
            Meaning::Run(run) | Meaning::LastRun(run) => {
                let is_shown = !is_blank(content)
                    || content.len() > limits.max_block_bytes
                    || meaning == Meaning::LastRun(Run::Respond);
                let pieces = if is_shown { pieces(content, limits) } else { Vec::new() };
                events.extend(pieces.into_iter().map(|piece| run.event(piece)));
            }
            Meaning::EndTag => events.push(Event::End),
            Meaning::Calls(calls) => {
                events.extend(calls.into_iter().map(Event::Call));
                events.push(Event::Execute);
            }
            Meaning::Malformed(report) => events.push(Event::Respond(report.into())),
            Meaning::Tag | Meaning::Discarded => {}
            Meaning::Unknown => unreachable!("the text has ended"),
        }
    }
    events
}

/// What is known of a text that goes on, in token mode, where no run is longer than the limit: all but the end
/// of the open run that may be the beginning of a tag, and blank text that nothing follows yet.
#[must_use]
pub fn events_so_far(text: &[u8], limits: Limits) -> Vec<Event> {
    let mut events = Vec::new();
    for Part { range, meaning } in parts(text, limits, Source::Open) {
        let content = &text[range];
        match meaning {
            Meaning::Run(run) if !is_blank(content) => events.push(run.event(content)),
            Meaning::LastRun(run) => {
                let ends: &[&[u8]] = match run {
                    Run::Respond => &OPENING,
                    Run::Think => &[b"</think>"],
                    Run::Result => continue,
                };
                let may_begin = |end: &&[u8]| ends.iter().any(|tag| tag.starts_with(end));
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
            Meaning::Malformed(report) => events.push(Event::Respond(report.into())),
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

impl Run {
    fn event(self, content: &[u8]) -> Event {
        match self {
            Self::Respond => Event::Respond(Text::from(content)),
            Self::Think => Event::Think(Text::from(content)),
            Self::Result => Event::Result(Text::from(content)),
        }
    }
}

/// A run in pieces of as many characters as the limit lets stand in one, and of one at least.
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
