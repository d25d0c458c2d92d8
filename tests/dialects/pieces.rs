//! Chunking never matters, and the pieces of a call that are shown early are those of the call itself.

use std::sync::Arc;

use cogency_rs::protocol::event::Note;
use cogency_rs::protocol::{CallStream, Event, Grammar, Stream};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::read::{Setting, cut, each_grammar, joined, without_pieces};
use crate::texts::{setting, text};

const MODES: [(Stream, CallStream); 4] = [
    (Stream::Event, CallStream::Whole),
    (Stream::Token, CallStream::Whole),
    (Stream::Event, CallStream::Pieces),
    (Stream::Token, CallStream::Pieces),
];

fn inputs(grammar: &Arc<Grammar>) -> impl Strategy<Value = (String, Setting, Vec<Index>)> + use<> {
    (text(grammar), setting(), proptest::collection::vec(any::<Index>(), 0..8))
}

#[test]
fn any_way_of_cutting_gives_the_same_events() {
    each_grammar(inputs, |grammar, (text, setting, cuts)| {
        let characters: Vec<&str> = text.split_inclusive(|_| true).collect();
        let whole = setting.read(grammar, MODES[0], &[&text]);
        let runs = joined(whole.events.clone());
        for mode in MODES {
            let uncut = setting.read(grammar, mode, &[&text]);
            let shown = joined(uncut.events.clone());
            prop_assert_eq!(uncut.is_done, whole.is_done);
            prop_assert_eq!(&without_pieces(uncut.events.clone()), &runs, "{:?}", mode);
            for chunks in [&characters[..], &cut(&text, &cuts)] {
                let pieces = setting.read(grammar, mode, chunks);
                prop_assert_eq!(pieces.is_done, whole.is_done);
                if mode == MODES[0] {
                    prop_assert_eq!(&pieces.events, &whole.events, "in {:?}", chunks);
                }
                prop_assert_eq!(&joined(pieces.events), &shown, "{:?} in {:?}", mode, chunks);
            }
        }
        Ok(())
    });
}

#[test]
fn a_call_is_what_was_shown_of_it() {
    each_grammar(inputs, |grammar, (text, setting, cuts)| {
        let read = setting.read(grammar, MODES[3], &cut(&text, &cuts));
        let mut shown: Vec<(Option<String>, String)> = Vec::new();
        for event in read.events {
            match event {
                Event::Piece(number, Note::Start) => {
                    prop_assert_eq!(number, shown.len(), "calls are numbered as they begin");
                    shown.push((None, String::new()));
                }
                Event::Piece(number, note) => {
                    prop_assert_eq!(number + 1, shown.len(), "only the last call goes on");
                    match note {
                        Note::Name(name) => shown[number].0 = Some(name),
                        Note::Args(args) => shown[number].1.push_str(&args.to_string()),
                        Note::Start => unreachable!("it is above"),
                    }
                }
                Event::Call(call) => {
                    let found = shown.iter().position(|(name, args)| {
                        name.as_deref() == Some(call.name_json()) && agrees(args, call.args_json())
                    });
                    prop_assert!(found.is_some(), "{} of {:?}", call.json(), shown);
                    // The call that was begun before it is not handed out.
                    shown[..=found.unwrap_or(0)].iter_mut().for_each(|begun| begun.0 = None);
                }
                _ => {}
            }
        }
        Ok(())
    });
}

/// Whether a JSON object that was shown is that of the call. Text that is not JSON is written in another way.
fn agrees(shown: &str, args: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    match read(shown) {
        Some(shown @ serde_json::Value::Object(_)) => Some(shown) == read(args),
        _ => true,
    }
}
