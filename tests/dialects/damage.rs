//! A block that breaks runs nothing, and hides nothing after it.

use std::sync::Arc;

use cogency_rs::dialect::{Args, Body, Dialect, Head, JsonShape, Unmarked};
use cogency_rs::protocol::{CallStream, Event, Grammar, ReportKind, Stream};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::account::times;
use crate::read::{Setting, each_grammar, grammars};
use crate::texts::{TextWriter, damaged};
use crate::write::{Written, blocks, opens_itself};

/// What is wrong with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// The call has no name.
    NoName,
    /// The arguments are not an object.
    NoObject,
    /// Text that may not be there stands before the first argument.
    Junk,
}

const VALUE: &str = "V1V";

fn good() -> Written {
    Written::new("tool", &[("text", "w2w")])
}

/// A block with this fault; `None` if the dialect cannot have it.
fn broken(dialect: &Dialect, wrong: Wrong) -> Option<String> {
    let written = |name: &str| blocks(dialect, &[Written::new(name, &[("text", VALUE)])]).concat();
    let body = &dialect.bodies[0];
    let holds_json = match body {
        Body::Json(_) => true,
        Body::Head(head) => head.args == Args::Json,
        Body::Python(_) | Body::Xml(_) => false,
    };
    match (wrong, body) {
        // Without its name a Python call is text.
        (Wrong::NoName, Body::Python(_)) => None,
        // An empty recipient is not a tool.
        (Wrong::NoName, _) if dialect.heads.is_some() => None,
        // cogency 3.3.0 takes any string for a name.
        (Wrong::NoName, _) if dialect.name == "cogency" => None,
        (Wrong::NoName, _) => Some(written("")),
        (Wrong::NoObject, _) if holds_json => {
            Some(written("x").replace(&format!("{{\"text\": \"{VALUE}\"}}"), "[1]"))
        }
        (Wrong::NoObject, _) => None,
        // It would be part of the name.
        (Wrong::Junk, Body::Head(Head { args: Args::Parameters(form), ends, .. }))
            if ends.contains(&form.open) =>
        {
            None
        }
        (Wrong::Junk, _) => {
            let block = written("x");
            let value = block.find(VALUE).expect("it is written");
            let key = block[..value].rfind("text").expect("so is its key");
            let start = argument_start(body, &block[..key]);
            Some(format!("{}:{}", &block[..start], &block[start..]))
        }
    }
}

/// Where the argument begins whose key comes after `before`.
fn argument_start(body: &Body, before: &str) -> usize {
    let open = match body {
        Body::Head(head) => match &head.args {
            Args::Parameters(form) => form.open.len(),
            Args::Xml(xml) => xml.prefix.len() + 1,
            Args::Braces(_) => 0,
            Args::Json | Args::Text(_) => 1,
        },
        Body::Json(_) | Body::Xml(_) => 1,
        Body::Python(_) => 0,
    };
    before.len() - open
}

/// Whether a call stands outside blocks, after a mark and before text that cannot be part of a name.
fn begins_with_a_head(dialect: &Dialect) -> bool {
    let is_unmarked = dialect.open.is_empty() && !dialect.at_line_start;
    matches!(&dialect.bodies[0], Body::Head(form) if is_unmarked || opens_itself(dialect, form))
}

/// Whether a block of this dialect with this fault still has an end.
fn has_an_end(dialect: &Dialect, wrong: Wrong) -> bool {
    let head_closes = dialect.bodies.iter().any(|body| match body {
        Body::Head(head) => !head.close.is_empty(),
        _ => false,
    });
    let is_json = matches!(&dialect.bodies[0], Body::Json(_));
    !dialect.close.is_empty()
        || head_closes
        || dialect.heads.is_some()
        || (is_json && wrong != Wrong::Junk)
}

#[test]
fn all_text_after_a_block_that_breaks_is_read() {
    let mut tried = 0;
    for (name, grammar) in grammars() {
        let dialect = &grammar.dialects[0];
        for wrong in [Wrong::NoName, Wrong::NoObject, Wrong::Junk] {
            let Some(broken) = broken(dialect, wrong) else { continue };
            if dialect.unmarked == Unmarked::AtStart && dialect.open.is_empty() {
                continue; // then nothing after it is a block
            }
            let text = format!("{broken} w1w {}", blocks(dialect, &[good()]).concat());
            let events = Setting::default().whole(&grammar, &text);
            let case = format!("{name}, {wrong:?}: {text:?}: {events:#?}");
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
            let is_unmarked = dialect.unmarked == Unmarked::Anywhere && dialect.open.is_empty();
            // A mark without a name after it does not open a call.
            let is_text = is_unmarked || (wrong == Wrong::NoName && begins_with_a_head(dialect));
            assert_eq!(errors.len(), usize::from(!is_text), "{case}");
            assert!(errors.iter().all(|report| report.kind == ReportKind::Malformed), "{case}");
            let in_raw = errors.iter().any(|report| report.raw.to_string().contains("w1w"));
            if is_text || has_an_end(dialect, wrong) {
                assert!(answer.contains("w1w") && !in_raw, "{case}");
            } else {
                assert!(answer.contains("w1w") != in_raw, "{case}");
            }
            let [call] = calls[..] else { panic!("{case}") };
            assert_eq!(
                (call.name_json(), call.args_json()),
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
        let good = Written::new("tool", &[("text", BEHIND)]);
        format!("{damaged}\n {BETWEEN} \n{}", blocks(dialect, &[good]).concat())
    });
    (text, any::<bool>())
}

const BETWEEN: &str = "w1000w";
const BEHIND: &str = "w2000w";

/// Whatever is wrong with a block: all text after it is shown, called or reported.
#[test]
fn nothing_after_a_damaged_block_is_lost() {
    each_grammar(inputs, |grammar, (text, typed)| {
        let setting = Setting { typed, ..Setting::default() };
        let read = setting.read(grammar, (Stream::Event, CallStream::Whole), &[&text]);
        for (word, times) in times(grammar, &text, &read, [BETWEEN, BEHIND]) {
            prop_assert!(times.is_none_or(|times| times == 1), "{}: {:?}", word, read);
        }
        Ok(())
    });
}

#[test]
fn an_array_of_calls_with_a_wrong_one_runs_none_of_them() {
    for (name, grammar) in grammars() {
        let dialect = &grammar.dialects[0];
        let Body::Json(json) = &dialect.bodies[0] else { continue };
        if json.shape == JsonShape::Object || json.skips_others || name.starts_with("cogency") {
            continue;
        }
        let text = blocks(dialect, &[good(), Written::new("", &[]), good()]).concat();
        let events = Setting::default().whole(&grammar, &text);
        assert!(matches!(events[..], [Event::Error(_)]), "{name}: {text}: {events:?}");
    }
}
