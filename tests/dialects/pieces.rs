//! Chunking never matters, and the pieces of a call that are shown early add up to the call.

use std::sync::Arc;

use cogency_rs::protocol::event::{ArgsStep, Note};
use cogency_rs::protocol::{CallStream, Event, Grammar, Stream};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use super::read::{Setting, cut, each_grammar, joined, without_pieces};
use super::texts::{setting, text};

const MODES: [(Stream, CallStream); 4] = [
    (Stream::Event, CallStream::Whole),
    (Stream::Token, CallStream::Whole),
    (Stream::Event, CallStream::Json),
    (Stream::Token, CallStream::Values),
];

fn inputs(grammar: &Arc<Grammar>) -> impl Strategy<Value = (String, Setting, Vec<Index>)> + use<> {
    (text(grammar), setting(), proptest::collection::vec(any::<Index>(), 0..8))
}

#[test]
fn any_way_of_cutting_gives_the_same_events() {
    each_grammar(inputs, |grammar, (text, setting, cuts)| {
        let characters: Vec<&str> = text.split_inclusive(|_| true).collect();
        let whole = setting.read(grammar, MODES[0], &[&text]);
        let runs = without_pieces(whole.events.clone());
        for mode in MODES {
            let uncut = setting.read(grammar, mode, &[&text]);
            let begun = begun(&uncut.events);
            prop_assert_eq!(uncut.is_done, whole.is_done);
            prop_assert_eq!(&without_pieces(uncut.events.clone()), &runs, "{:?}", mode);
            for chunks in [&characters[..], &cut(&text, &cuts)] {
                let pieces = setting.read(grammar, mode, chunks);
                prop_assert_eq!(pieces.is_done, whole.is_done);
                if mode == MODES[0] {
                    prop_assert_eq!(&pieces.events, &whole.events, "in {:?}", chunks);
                }
                let read = without_pieces(pieces.events.clone());
                prop_assert_eq!(read, &runs[..], "{:?} in {:?}", mode, chunks);
                prop_assert_eq!(self::begun(&pieces.events), &begun[..], "in {:?}", chunks);
            }
        }
        Ok(())
    });
}

/// The calls that were shown to begin, and where they were taken back.
fn begun(events: &[Event]) -> Vec<Event> {
    let is_one =
        |event: &&Event| matches!(event, Event::Piece(_, Note::Start { .. }) | Event::Withdrawn);
    events.iter().filter(is_one).cloned().collect()
}

#[test]
fn the_pieces_that_were_shown_of_a_call_add_up_to_it() {
    each_grammar(inputs, |grammar, (text, setting, cuts)| {
        for chunks in [cut(&text, &cuts), text.split_inclusive(|_| true).collect()] {
            let mut shown: Vec<(usize, String, String)> = Vec::new();
            let mut called = 0;
            for event in setting.read(grammar, MODES[2], &chunks).events {
                match event {
                    Event::Piece(number, Note::Start { name, .. }) => {
                        prop_assert!(
                            number >= called + shown.len(),
                            "calls are numbered in their order"
                        );
                        shown.push((number, name, String::new()));
                    }
                    Event::Piece(number, Note::Args(json)) => {
                        let last = shown.last_mut().filter(|(last, ..)| *last == number);
                        prop_assert!(last.is_some(), "only the last call goes on");
                        last.expect("asserted").2.push_str(&json);
                    }
                    Event::Call(call) => {
                        if let Some((_, name, args)) = shown.iter().find(|(of, ..)| *of == called) {
                            prop_assert_eq!(name, call.name_json());
                            // Of equal keys the last counts, which comes too late.
                            prop_assert!(
                                call.arguments().starts_with(args) || has_repeated_key(args, &text),
                                "{} of {}",
                                args,
                                call.json()
                            );
                        }
                        shown.retain(|(number, ..)| *number != called);
                        called += 1;
                    }
                    Event::Withdrawn => shown.clear(),
                    _ => {}
                }
            }
            prop_assert!(shown.is_empty(), "{:?} is neither a call nor withdrawn", shown);
        }
        Ok(())
    });
}

/// Whether some key is there twice in arguments, or twice in the text around them.
fn has_repeated_key(args: &str, text: &str) -> bool {
    let keys = args.split('"').filter(|part| !part.is_empty());
    keys.clone().any(|key| {
        keys.clone().filter(|other| *other == key).count() > 1 || text.matches(key).count() > 1
    })
}

#[test]
fn values_come_with_their_path() {
    each_grammar(inputs, |grammar, (whole, setting, cuts)| {
        let read = setting.read(grammar, MODES[3], &cut(&whole, &cuts));
        let mut shown: Vec<(String, String)> = Vec::new();
        for event in joined(read.events) {
            match event {
                Event::Piece(_, Note::Start { .. }) => shown.clear(),
                Event::Piece(_, Note::Value(path, text)) => {
                    shown.push((pointer(&path), text.to_string()));
                }
                Event::Call(call) if !shown.is_empty() => {
                    let args: Value = serde_json::from_str(call.arguments()).expect("JSON");
                    for (path, text) in shown.drain(..) {
                        let found = args.pointer(&path).map(|value| match value {
                            Value::String(said) => said.clone(),
                            value => value.to_string(),
                        });
                        let number = |text: &str| text.parse::<f64>().ok();
                        let is_same = found.as_deref() == Some(&text)
                            || found.as_deref().and_then(number) == number(&text)
                            || has_repeated_key(call.arguments(), &whole);
                        prop_assert!(is_same, "{} {:?} of {}", path, text, call.json());
                    }
                }
                _ => {}
            }
        }
        Ok(())
    });
}

fn pointer(path: &[ArgsStep]) -> String {
    let steps = path.iter().map(|step| match step {
        ArgsStep::Key(key) => format!("/{}", key.to_string().replace('~', "~0").replace('/', "~1")),
        ArgsStep::Index(index) => format!("/{index}"),
    });
    steps.collect()
}
