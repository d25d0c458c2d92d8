//! Chunking never matters, and the pieces of a call that are shown early add up to the call.

use std::sync::Arc;

use cogency_rs::protocol::event::Note;
use cogency_rs::protocol::{CallStream, Event, Grammar, Stream};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use super::account::texts_of;
use super::read::{Setting, cut, each_grammar, joined, without_pieces};
use super::texts::{setting, text};

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
fn the_pieces_that_were_shown_of_a_call_add_up_to_it() {
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
                        Note::Start => unreachable!("matched above"),
                        other => unreachable!("the test does not know {other:?}"),
                    }
                }
                Event::Call(call) => {
                    let found = shown.iter().position(|(name, args)| {
                        name.as_deref() == Some(call.name_json()) && agrees(args, call.args_json())
                    });
                    prop_assert!(found.is_some(), "{} of {:?}", call.json(), shown);
                    // Calls that began before this one will no longer be handed out.
                    shown[..=found.unwrap_or(0)].iter_mut().for_each(|earlier| earlier.0 = None);
                }
                _ => {}
            }
        }
        Ok(())
    });
}

/// Whether the arguments that were shown can be those of the call. They are shown as the model writes them: a JSON object is
/// compared as a value, and text that is the only argument as text. Any other notation must hold what every notation
/// writes alike, the letters and digits of the call's keys and strings; it may hold more, such as a value that the model
/// writes twice.
fn agrees(shown: &str, args: &str) -> bool {
    let args: Value = serde_json::from_str(args).expect("arguments are JSON");
    if let Ok(shown @ Value::Object(_)) = serde_json::from_str(shown) {
        return shown == args;
    }
    let mut values = args.as_object().into_iter().flat_map(|members| members.values());
    if let (Some(Value::String(text)), None) = (values.next(), values.next())
        && text == shown.trim()
    {
        return true;
    }
    texts_of(args).iter().all(|text| {
        let mut parts = text.split(|character: char| !character.is_ascii_alphanumeric());
        parts.all(|part| shown.contains(part))
    })
}

#[test]
fn arguments_in_any_notation_are_told_from_others() {
    let args = r#"{"text": "w1w <b>", "n": 1}"#;
    for (shown, is_accepted) in [
        (r#"{"n": 1, "text": "w1w \u003cb>"}"#, true),
        (r#"{"n": 2, "text": "w1w \u003cb>"}"#, false),
        (r#"text="w1w <b>", n=1"#, true),
        ("<text>w1w &lt;b></text><n>1</n>", true),
        ("<text>w2w &lt;b></text><n>1</n>", false),
        ("<text>w1w &lt;b></text>", false),
        ("", false),
    ] {
        assert_eq!(agrees(shown, args), is_accepted, "{shown}");
    }
    assert!(agrees(" hello\n", r#"{"input": "hello"}"#), "the key of a text is not shown");
    assert!(!agrees("hell", r#"{"input": "hello"}"#));
}
