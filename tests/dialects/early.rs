//! A call is handed out as soon as it is complete, and counts only if it comes again with its block.

use std::collections::VecDeque;
use std::sync::Arc;

use cogency_rs::protocol::{CallStart, CallStream, Event, Grammar, Stream};
use proptest::prelude::*;
use proptest::sample::Index;

use super::read::{Setting, cut, each_grammar, grammars, joined};
use super::texts::{setting, text};
use super::write::{Written, blocks};

const MODE: (Stream, CallStream) = (Stream::Token, CallStream::Whole);

fn inputs(grammar: &Arc<Grammar>) -> impl Strategy<Value = (String, Setting, Vec<Index>)> + use<> {
    (text(grammar), setting(), proptest::collection::vec(any::<Index>(), 0..8))
}

fn is_early(event: &Event) -> bool {
    matches!(event, Event::Ready(_) | Event::Withdrawn)
}

#[test]
fn early_calls_change_no_other_event_however_the_text_is_cut() {
    each_grammar(inputs, |grammar, (text, setting, cuts)| {
        let late = setting.read(grammar, MODE, &[&text]);
        let setting = Setting { start: CallStart::Early, ..setting };
        let uncut = setting.read(grammar, MODE, &[&text]);
        let rest = uncut.events.iter().filter(|event| !is_early(event)).cloned();
        prop_assert_eq!(joined(rest), joined(late.events));
        prop_assert_eq!(uncut.is_done, late.is_done);
        let characters: Vec<&str> = text.split_inclusive(|_| true).collect();
        let uncut = joined(uncut.events);
        for chunks in [&characters[..], &cut(&text, &cuts)] {
            let read = setting.read(grammar, MODE, chunks);
            prop_assert_eq!(&joined(read.events), &uncut, "in {:?}", chunks);
        }
        Ok(())
    });
}

#[test]
fn a_call_that_was_ready_comes_again_or_is_withdrawn() {
    each_grammar(inputs, |grammar, (text, setting, cuts)| {
        let setting = Setting { start: CallStart::Early, ..setting };
        let mut ready = VecDeque::new();
        for event in setting.read(grammar, MODE, &cut(&text, &cuts)).events {
            match event {
                Event::Ready(call) => ready.push_back(call),
                Event::Withdrawn => {
                    prop_assert!(!ready.is_empty(), "there is something to withdraw");
                    ready.clear();
                }
                Event::Call(call) => {
                    if let Some(first) = ready.pop_front() {
                        prop_assert_eq!(first, call);
                    }
                }
                Event::Error(_) | Event::Execute => prop_assert!(ready.is_empty(), "{:?}", ready),
                _ => {}
            }
        }
        prop_assert!(ready.is_empty(), "{:?}", ready);
        Ok(())
    });
}

#[test]
fn in_every_dialect_the_first_call_is_ready_before_the_second_is_named() {
    let setting = Setting { start: CallStart::Early, ..Setting::default() };
    for (name, grammar) in grammars() {
        let calls = ["first", "second"].map(|tool| Written::new(tool, &[("text", "a")]));
        let text = blocks(&grammar.dialects[0], &calls).concat();
        let calls = setting.whole(&grammar, &text).into_iter().filter_map(Event::into_call).count();
        assert_eq!(calls, 2, "{name}: {text}");
        let before = text.find("second").map_or(&text[..], |second| &text[..second]);
        let is_ready =
            |event: &Event| matches!(event, Event::Ready(call) if call.name_json() == "\"first\"");
        let read = setting.read(&grammar, MODE, &[before]);
        assert!(read.events.iter().any(is_ready), "{name}: {:?} of {before:?}", read.events);
    }
}
