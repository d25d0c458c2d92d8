//! A malformed block does not run anything, and does not hide any text after it.

use std::sync::Arc;

use cogency_rs::dialect::{Args, Body, Dialect, Head, JsonShape, Unmarked};
use cogency_rs::protocol::{CallStream, Event, Grammar, ReportKind, Stream};
use proptest::prelude::*;
use proptest::sample::Index;

use super::account::places;
use super::read::{Setting, each_grammar, grammars};
use super::texts::{TextWriter, damaged};
use super::write::{Written, blocks, opens_itself};

/// What is wrong with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The call has no name.
    NoName,
    /// The arguments are not an object.
    NotAnObject,
    /// Before the first argument is text that is not allowed there.
    Junk,
}

const VALUE: &str = "V1V";

fn good() -> Written {
    Written::new("tool", &[("text", "w2w")])
}

/// A block with this fault; `None` if the dialect cannot have it.
fn malformed(dialect: &Dialect, fault: Fault) -> Option<String> {
    let written = |name: &str| blocks(dialect, &[Written::new(name, &[("text", VALUE)])]).concat();
    let body = &dialect.calls.bodies[0];
    let holds_json = match body {
        Body::Json(_) => true,
        Body::Head(head) => head.args == Args::Json,
        Body::Python(_) | Body::Xml(_) => false,
        other => unreachable!("the test does not know {other:?}"),
    };
    match (fault, body) {
        // A Python call without its name is text.
        (Fault::NoName, Body::Python(_)) => None,
        // An empty recipient is not a tool.
        (Fault::NoName, _) if dialect.heads.is_some() => None,
        // cogency 3.3.0 takes any string for a name.
        (Fault::NoName, _) if dialect.name == "cogency" => None,
        (Fault::NoName, _) => Some(written("")),
        (Fault::NotAnObject, _) if holds_json => {
            Some(written("x").replace(&format!("{{\"text\": \"{VALUE}\"}}"), "[1]"))
        }
        (Fault::NotAnObject, _) => None,
        // The junk would be part of the name.
        (Fault::Junk, Body::Head(Head { args: Args::Parameters(form), ends, .. }))
            if ends.contains(&form.open) =>
        {
            None
        }
        (Fault::Junk, _) => {
            let block = written("x");
            let value = block.find(VALUE).expect("the block has the value");
            let key = block[..value].rfind("text").expect("the block has its key");
            let start = argument_start(body, &block[..key]);
            Some(format!("{}:{}", &block[..start], &block[start..]))
        }
    }
}

/// The start of the argument whose key comes after `before`.
fn argument_start(body: &Body, before: &str) -> usize {
    let open = match body {
        Body::Head(head) => match &head.args {
            Args::Parameters(form) => form.open.len(),
            Args::Xml(xml) => xml.prefix.len() + 1,
            Args::Braces(_) => 0,
            Args::Json | Args::Text(_) => 1,
            other => unreachable!("the test does not know {other:?}"),
        },
        Body::Json(_) | Body::Xml(_) => 1,
        Body::Python(_) => 0,
        other => unreachable!("the test does not know {other:?}"),
    };
    before.len() - open
}

/// Whether a call begins with a mark of its own, which opens a call only if a name follows.
fn begins_with_a_head(dialect: &Dialect) -> bool {
    let is_unmarked = dialect.calls.open.is_empty() && !dialect.at_line_start;
    matches!(&dialect.calls.bodies[0], Body::Head(form) if is_unmarked || opens_itself(dialect, form))
}

/// Whether a block of this dialect with this fault still has an end.
fn has_an_end(dialect: &Dialect, fault: Fault) -> bool {
    let head_closes = dialect.calls.bodies.iter().any(|body| match body {
        Body::Head(head) => !head.close.is_empty(),
        _ => false,
    });
    let is_json = matches!(&dialect.calls.bodies[0], Body::Json(_));
    !dialect.calls.close.is_empty()
        || head_closes
        || dialect.heads.is_some()
        || (is_json && fault != Fault::Junk)
}

#[test]
fn all_text_after_a_malformed_block_is_read() {
    let mut tried = 0;
    for (name, grammar) in grammars() {
        let dialect = &grammar.dialects[0];
        for fault in [Fault::NoName, Fault::NotAnObject, Fault::Junk] {
            let Some(malformed) = malformed(dialect, fault) else { continue };
            if dialect.unmarked == Unmarked::AtStart && dialect.calls.open.is_empty() {
                continue; // a block counts only at the start
            }
            let text = format!("{malformed} w1w {}", blocks(dialect, &[good()]).concat());
            let events = Setting::default().whole(&grammar, &text);
            let case = format!("{name}, {fault:?}: {text:?}: {events:#?}");
            let errors: Vec<_> = events
                .iter()
                .filter_map(|event| match event {
                    Event::Error(report) => Some(report),
                    _ => None,
                })
                .collect();
            let calls: Vec<_> = events
                .iter()
                .filter_map(|event| match event {
                    Event::Call(call) => Some(call),
                    _ => None,
                })
                .collect();
            let answer: String = events
                .iter()
                .filter_map(|event| match event {
                    Event::Respond(text) => Some(text.to_string()),
                    _ => None,
                })
                .collect();
            let is_unmarked =
                dialect.unmarked == Unmarked::Anywhere && dialect.calls.open.is_empty();
            // A mark without a name after it does not open a call.
            let is_text = is_unmarked || (fault == Fault::NoName && begins_with_a_head(dialect));
            assert_eq!(errors.len(), usize::from(!is_text), "{case}");
            assert!(errors.iter().all(|report| report.kind == ReportKind::Malformed), "{case}");
            let in_raw = errors.iter().any(|report| report.raw.to_string().contains("w1w"));
            if is_text || has_an_end(dialect, fault) {
                assert!(answer.contains("w1w") && !in_raw, "{case}");
            } else {
                assert!(answer.contains("w1w") != in_raw, "{case}");
            }
            let [call] = calls[..] else { panic!("{case}") };
            assert_eq!(
                (call.name_json(), call.arguments()),
                ("\"tool\"", "{\"text\": \"w2w\"}"),
                "{case}"
            );
            assert_eq!(events.last(), Some(&Event::Execute), "{case}");
            tried += 1;
        }
    }
    assert!(tried > 60, "{tried}");
}

fn inputs(grammar: &Arc<Grammar>) -> impl Strategy<Value = (String, bool)> + use<> {
    let grammar = Arc::clone(grammar);
    let text = (damaged(), any::<Index>()).prop_map(move |(piece, index)| {
        let dialect = &grammar.dialects[index.index(grammar.dialects.len())];
        let damaged = TextWriter::new(&grammar).piece(&piece);
        let good = Written::new("tool", &[("text", AFTER)]);
        format!("{damaged}\n {BETWEEN} \n{}", blocks(dialect, &[good]).concat())
    });
    (text, any::<bool>())
}

const BETWEEN: &str = "w1000w";
const AFTER: &str = "w2000w";

/// Whatever is wrong with a block, all text after it is shown, called or reported.
#[test]
fn nothing_after_a_damaged_block_is_lost() {
    each_grammar(inputs, |grammar, (text, typed)| {
        let setting = Setting { typed, ..Setting::default() };
        let read = setting.read(grammar, (Stream::Event, CallStream::Whole), &[&text]);
        for (word, place) in places(grammar, &text, &read, [BETWEEN, AFTER]) {
            prop_assert!(place.is_right(), "{}: {:?}: {:?}", word, place, read);
        }
        Ok(())
    });
}

#[test]
fn an_array_with_one_wrong_call_runs_none_of_its_calls() {
    for (name, grammar) in grammars() {
        let dialect = &grammar.dialects[0];
        let Body::Json(json) = &dialect.calls.bodies[0] else { continue };
        if json.shape == JsonShape::Object || json.skips_others || name.starts_with("cogency") {
            continue;
        }
        let text = blocks(dialect, &[good(), Written::new("", &[]), good()]).concat();
        let events = Setting::default().whole(&grammar, &text);
        assert!(matches!(events[..], [Event::Error(_)]), "{name}: {text}: {events:?}");
    }
}
