//! No text is lost: every character is in one event, in a mark, or in a part that is left out on purpose (see [`LeftOut`]).
//!
//! The bookkeeping knows marks and events, but not how the parser works.

use std::sync::Arc;

use cogency_rs::dialect::{BatchEnd, Body, MessageHeads, Str};
use cogency_rs::protocol::{CallStream, Event, Grammar, Stream};
use proptest::prelude::*;
use serde_json::Value;

use super::read::{Read, Setting, each_grammar, is_space};
use super::texts::{ending, whole_text};
use super::write::marks;

/// The part of the text that an event holds.
fn content(event: &Event) -> Option<String> {
    match event {
        Event::Think(text) | Event::Respond(text) | Event::Result(text) => Some(text.to_string()),
        Event::Error(report) => Some(report.raw.to_string()).filter(|raw| !raw.is_empty()),
        Event::Ready(_)
        | Event::Withdrawn
        | Event::Call(_)
        | Event::Execute
        | Event::End
        | Event::Piece(..) => None,
        other => unreachable!("the test does not know {other:?}"),
    }
}

/// The words of the form `w…w` in a text; the tests write each of them into their text once.
fn words(text: &str) -> Vec<&str> {
    let parts = text.split(|character: char| !character.is_ascii_alphanumeric());
    parts.filter(|part| part.len() > 2 && part.starts_with('w') && part.ends_with('w')).collect()
}

/// The strings in a JSON value, and the keys of its objects.
pub fn texts_of(value: Value) -> Vec<String> {
    let (mut texts, mut values) = (Vec::new(), vec![value]);
    while let Some(value) = values.pop() {
        match value {
            Value::String(text) => texts.push(text),
            Value::Array(items) => values.extend(items),
            Value::Object(members) => members.into_iter().for_each(|(key, value)| {
                texts.push(key);
                values.push(value);
            }),
            _ => {}
        }
    }
    texts
}

/// The words that an event holds, including those in a call's name and arguments.
pub fn words_of(event: &Event) -> Vec<String> {
    let mut texts = match event {
        Event::Call(call) => texts_of(serde_json::from_str(call.json()).expect("a call is JSON")),
        _ => Vec::new(),
    };
    texts.extend(content(event));
    let mut words: Vec<_> = texts.iter().flat_map(|text| words(text)).map(str::to_owned).collect();
    // A call's id may contain its name.
    words.sort();
    words.dedup();
    words
}

/// Where a word of the text is found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In so many events.
    Events(usize),
    /// In no event, as it may be: it may be after the end of the turn, or in the head of a message.
    LeftOut,
    /// In an event, although an earlier word was left out because the turn had ended.
    AfterEnd,
}

impl Place {
    /// Whether a word that the text has once may be there.
    pub fn is_right(self) -> bool {
        matches!(self, Self::Events(1) | Self::LeftOut)
    }
}

/// Where each of these words is; they are in the order of the text.
pub fn places<'t>(
    grammar: &Grammar,
    text: &str,
    read: &Read,
    words: impl IntoIterator<Item = &'t str>,
) -> Vec<(&'t str, Place)> {
    let held: Vec<String> = read.events.iter().flat_map(words_of).collect();
    let left_out = LeftOut::new(grammar);
    let is_one_batch = grammar.dialects.iter().any(|dialect| dialect.batch == BatchEnd::Block);
    let is_over = read.is_done || (is_one_batch && read.events.last() == Some(&Event::Execute));
    let mut is_after_end = false;
    let places = words.into_iter().map(|word| {
        let at = text.find(word).expect("the text has the word");
        let count = held.iter().filter(|held| *held == word).count();
        let is_in_head = left_out.may_be_in_head(text, at);
        is_after_end |= count == 0 && !is_in_head && (is_over || left_out.may_be_over(text, at));
        let place = match count {
            0 if is_after_end || is_in_head => Place::LeftOut,
            0 => Place::Events(0),
            // Nothing after the end of the turn is read.
            _ if is_after_end => Place::AfterEnd,
            _ => Place::Events(count),
        };
        (word, place)
    });
    places.collect()
}

/// Each word is in exactly one event, unless it is after the end of the turn or in the head of a message.
fn words_come_once(grammar: &Grammar, text: &str, read: &Read) -> Result<(), String> {
    let wrong = places(grammar, text, read, words(text)).into_iter().find(|(_, at)| !at.is_right());
    wrong.map_or(Ok(()), |(word, at)| Err(format!("{word} is not in exactly one event: {at:?}")))
}

/// What a reader may leave out, apart from space.
struct LeftOut<'g> {
    marks: Vec<String>,
    turn_ends: Vec<&'g str>,
    heads: Vec<&'g MessageHeads>,
}

impl<'g> LeftOut<'g> {
    fn new(grammar: &'g Grammar) -> Self {
        let dialects = || grammar.dialects.iter();
        Self {
            marks: dialects().flat_map(|dialect| marks(dialect)).collect(),
            turn_ends: dialects().flat_map(|dialect| &dialect.turn_end).map(|end| &**end).collect(),
            heads: dialects().filter_map(|dialect| dialect.heads.as_ref()).collect(),
        }
    }

    /// Whether byte `at` of the text is in what may be the head of a message.
    fn may_be_in_head(&self, text: &str, at: usize) -> bool {
        let before = &text[..at];
        self.heads.iter().any(|heads| {
            let opens = heads.open.iter().filter_map(|open| before.rfind(&**open)).max();
            opens
                .or_else(|| before.find(&*heads.recipient))
                .is_some_and(|start| !before[start..].contains(&*heads.end))
        })
    }

    /// Whether the text before byte `at` may have ended the model's turn.
    fn may_be_over(&self, text: &str, at: usize) -> bool {
        self.turn_ends.iter().any(|end| text[..at].contains(end))
    }

    /// Whether all of `gap` may be left out. If `is_last`, the text ends with the gap.
    fn covers(&self, gap: &str, is_last: bool) -> bool {
        let mut is_reached = vec![false; gap.len() + 1];
        is_reached[0] = true;
        for at in 0..gap.len() {
            if !is_reached[at] || !gap.is_char_boundary(at) {
                continue;
            }
            let rest = &gap[at..];
            let space = rest.chars().next().filter(|first| is_space(*first));
            if let Some(space) = space {
                is_reached[at + space.len_utf8()] = true;
            }
            if is_last && self.turn_ends.iter().any(|end| rest.starts_with(end)) {
                return true;
            }
            for mark in self.marks.iter().filter(|mark| rest.starts_with(&**mark)) {
                is_reached[at + mark.len()] = true;
            }
            for heads in &self.heads {
                let begins = heads.open.iter().any(|open| rest.starts_with(&**open));
                match rest.find(&*heads.end) {
                    // The first head of a text may lack the mark that opens it.
                    Some(end) if begins || rest.starts_with(&*heads.recipient) => {
                        is_reached[at + end + heads.end.len()] = true;
                    }
                    None if begins && is_last => return true,
                    _ => {}
                }
                // Of one without an end, the words that say who it is for are left out.
                if begins && !heads.channel.is_empty() {
                    for (channel, mark) in rest.match_indices(&*heads.channel) {
                        is_reached[at + channel + mark.len()] = true;
                    }
                }
                let is_behind = |open: &&Str| gap[..at].ends_with(&***open);
                if heads.open.iter().find(is_behind).is_some() {
                    for name in heads.answer.iter().chain(&heads.reasoning) {
                        if rest.starts_with(&**name) {
                            is_reached[at + name.len()] = true;
                        }
                    }
                }
            }
        }
        is_reached[gap.len()]
    }
}

/// The events hold parts of the text, in its order. Between these parts, the text has only calls and what may be left out.
fn characters_come_in_order(grammar: &Grammar, text: &str, read: &Read) -> Result<(), String> {
    let left_out = LeftOut::new(grammar);
    // The places in the text at which the events so far may end.
    let mut places = vec![0];
    let mut has_calls = false;
    for event in &read.events {
        let Some(content) = content(event) else {
            has_calls |= matches!(event, Event::Call(_) | Event::Execute);
            continue;
        };
        let mut next = Vec::new();
        for &place in &places {
            let rest = &text[place..];
            let found = |at: &usize| rest[*at..].starts_with(&*content);
            for at in rest.char_indices().map(|(at, _)| at).filter(found) {
                let gap = &rest[..at];
                let after = place + at + content.len();
                if !next.contains(&after) && (has_calls || left_out.covers(gap, false)) {
                    next.push(after);
                }
            }
        }
        if next.is_empty() {
            return Err(format!("{event:?} does not follow what is before it"));
        }
        (places, has_calls) = (next, false);
    }
    let is_end = |&place: &usize| left_out.covers(&text[place..], true);
    if has_calls || read.is_done || places.iter().any(is_end) {
        return Ok(());
    }
    Err(format!("the end of the text is lost, from one of {places:?} on"))
}

/// Whether an answer may be a string in a JSON object, where its characters may be written as escapes.
fn has_answers_in_json(grammar: &Grammar) -> bool {
    let bodies = grammar.dialects.iter().flat_map(|dialect| &dialect.calls.bodies);
    bodies.into_iter().any(|body| matches!(body, Body::Json(json) if json.decision.is_some()))
}

fn inputs(grammar: &Arc<Grammar>) -> impl Strategy<Value = (String, Setting)> + use<> {
    let setting = (any::<(bool, bool, bool)>(), ending()).prop_map(
        |((lenient, typed, begins_in_think), ending)| Setting {
            lenient,
            typed,
            begins_in_think,
            ending,
            ..Setting::default()
        },
    );
    (whole_text(grammar), setting)
}

#[test]
fn nothing_is_lost() {
    each_grammar(inputs, |grammar, (text, setting)| {
        let read = setting.read(grammar, (Stream::Event, CallStream::Whole), &[&text]);
        let words = words_come_once(grammar, &text, &read);
        prop_assert!(words.is_ok(), "{:?} in {:?}", words, read.events);
        if !has_answers_in_json(grammar) {
            let characters = characters_come_in_order(grammar, &text, &read);
            prop_assert!(characters.is_ok(), "{:?} in {:?}", characters, read.events);
        }
        Ok(())
    });
}

#[test]
fn the_bookkeeping_finds_what_is_lost() {
    let grammar = super::read::grammar(&["hermes"]);
    let read = |events: &[Event]| Read { events: events.to_vec(), is_done: false };
    let respond = |text: &str| Event::Respond(text.into());
    let text = "w1w <think>w2w</think> w3w";
    let think = Event::Think("w2w".into());
    for (events, is_whole) in [
        (vec![respond("w1w "), think.clone(), respond(" w3w")], true),
        (vec![respond("w1w "), think.clone()], false),
        (vec![respond("w1w"), respond(" w3w")], false),
        (vec![think.clone(), respond("w1w "), respond(" w3w")], false),
        (vec![respond("w1w "), think.clone(), think, respond(" w3w")], false),
    ] {
        let read = read(&events);
        let is_accepted = words_come_once(&grammar, text, &read).is_ok()
            && characters_come_in_order(&grammar, text, &read).is_ok();
        assert_eq!(is_accepted, is_whole, "{events:?}");
    }
    let cut = [respond("w1w "), Event::Think("w2w".into()), respond("3w")];
    assert!(characters_come_in_order(&grammar, text, &read(&cut)).is_err());
}

#[test]
fn a_word_after_one_that_the_end_of_the_turn_left_out_is_wrong() {
    let grammar = super::read::grammar(&["hermes"]);
    let end = &grammar.dialects[0].turn_end[0];
    let text = format!("w1w {end} w2w w3w");
    let respond = |text: &str| Event::Respond(text.into());
    for (events, last) in [
        (vec![respond("w1w")], Place::LeftOut),
        (vec![respond("w1w"), respond("w3w")], Place::AfterEnd),
    ] {
        let read = Read { events, is_done: true };
        let found = places(&grammar, &text, &read, words(&text));
        let expected = [("w1w", Place::Events(1)), ("w2w", Place::LeftOut), ("w3w", last)];
        assert_eq!(found, expected);
    }
}
