//! The deltas of a chat API: cutting never matters, the arguments of calls are JSON, and what a parser reports is text.

use std::sync::Arc;

use cogency_rs::chat::{ChatCalls, ChatOptions, ChatReader, Delta, FinishReason, strict_json};
use cogency_rs::protocol::{Callable, Event, Grammar, Strictness, TextRun};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;

use super::account::{texts_of, words_of};
use super::joined::joined;
use super::read::{Setting, cut, each_grammar, tools};
use super::texts::{setting, text, whole_text};

type Input = (String, Setting, Vec<Index>, Callable);

fn inputs<T: Strategy<Value = String>>(text: T) -> impl Strategy<Value = Input> + use<T> {
    let callable = select(vec![
        Callable::Any,
        Callable::Declared,
        Callable::Only("\"tool\"".to_owned()),
        Callable::Nothing,
    ]);
    (text, setting(), proptest::collection::vec(any::<Index>(), 0..8), callable)
}

/// The deltas of a text in these pieces, as events.
fn read(
    grammar: &Arc<Grammar>,
    setting: &Setting,
    callable: &Callable,
    chunks: &[&str],
) -> (Vec<Event>, Option<FinishReason>) {
    let (deltas, reason) = deltas(grammar, setting, (callable, ChatCalls::Whole), chunks);
    let mut calls = 0;
    let events = deltas.into_iter().map(|delta| match delta {
        Delta::Content(text) => Event::Respond(text),
        Delta::Reasoning(text) => Event::Think(text),
        Delta::Call(number, call) => {
            assert_eq!(number, calls, "calls are numbered in their order");
            calls += 1;
            Event::Call(call)
        }
        other => unreachable!("the test does not know {other:?}"),
    });
    (events.collect(), reason)
}

/// The deltas of a text in these pieces.
fn deltas(
    grammar: &Arc<Grammar>,
    setting: &Setting,
    (callable, calls): (&Callable, ChatCalls),
    chunks: &[&str],
) -> (Vec<Delta>, Option<FinishReason>) {
    let options = ChatOptions {
        calls,
        tools: Some(tools()),
        callable: callable.clone(),
        limits: setting.limits,
        strictness: if setting.lenient { Strictness::Lenient } else { Strictness::Strict },
        begins_in_think: setting.begins_in_think,
    };
    let (mut reader, mut deltas) = (ChatReader::new(Arc::clone(grammar), options), Vec::new());
    for chunk in chunks {
        match reader.pass(chunk.as_bytes()) {
            Some(TextRun::Think) => deltas.push(Delta::Reasoning((*chunk).into())),
            Some(_) => deltas.push(Delta::Content((*chunk).into())),
            None => reader.feed(chunk, &mut deltas),
        }
    }
    let reason = reader.finish(&setting.ending, &mut deltas);
    (deltas, reason)
}

/// A message: its text, and the name and arguments of each call; `None` if it broke off.
type Message = Option<(Vec<Event>, Vec<(String, String)>, FinishReason)>;

fn message((deltas, reason): (Vec<Delta>, Option<FinishReason>)) -> Message {
    let (mut texts, mut calls, mut is_broken) = (Vec::new(), Vec::new(), false);
    for delta in deltas {
        assert!(!is_broken, "{delta:?} after the answer broke off");
        match delta {
            Delta::Content(text) => texts.push(Event::Respond(text)),
            Delta::Reasoning(text) => texts.push(Event::Think(text)),
            Delta::Call(number, call) => {
                assert_eq!(number, calls.len(), "calls are numbered in their order");
                let args = strict_json(call.arguments()).into_owned();
                calls.push((call.name_json().to_owned(), args));
            }
            Delta::Begin { index, name, args, .. } => {
                assert_eq!(index, calls.len(), "calls are numbered in their order");
                assert!(args.starts_with('{'), "a name comes with the first bracket");
                calls.push((name, args));
            }
            Delta::Args(number, args) => {
                let is_open = serde_json::from_str::<Value>(&calls[number].1).is_err();
                assert!(is_open, "{args} behind the end of {:?}", calls[number]);
                calls[number].1.push_str(&args);
            }
            Delta::Broken => is_broken = true,
            other => unreachable!("the test does not know {other:?}"),
        }
    }
    assert_eq!(reason.is_none(), is_broken);
    let is_whole = |(_, args): &(String, String)| serde_json::from_str::<Value>(args).is_ok();
    if !is_broken {
        assert!(calls.iter().all(is_whole), "{calls:?}");
    }
    Some((joined(texts), calls, reason?))
}

/// A call in pieces is the call of the whole reading, or the answer has no end, and which of both does not depend on the cuts.
#[test]
fn pieces_add_up_to_what_the_whole_reading_gives_or_the_answer_breaks_off() {
    each_grammar(
        |grammar| inputs(text(grammar)),
        |grammar, (text, setting, cuts, callable)| {
            let read = |calls, chunks: &[&str]| {
                message(deltas(grammar, &setting, (&callable, calls), chunks))
            };
            let whole = read(ChatCalls::Whole, &[&text]);
            let uncut = read(ChatCalls::Stream, &[&text]);
            prop_assert!(uncut.is_none() || uncut == whole, "{:?} for {:?}", uncut, whole);
            let characters: Vec<&str> = text.split_inclusive(|_| true).collect();
            for chunks in [&characters[..], &cut(&text, &cuts)] {
                let read = read(ChatCalls::Stream, chunks);
                prop_assert!(
                    read.is_none() || read == whole,
                    "{:?} for {:?} in {:?}",
                    read,
                    whole,
                    chunks
                );
                prop_assert_eq!(read.is_none(), uncut.is_none(), "in {:?}", chunks);
            }
            Ok(())
        },
    );
}

#[test]
fn any_way_of_cutting_gives_the_same_deltas() {
    each_grammar(
        |grammar| inputs(text(grammar)),
        |grammar, (text, setting, cuts, callable)| {
            let read = |chunks: &[&str]| {
                let (deltas, reason) = read(grammar, &setting, &callable, chunks);
                (joined(deltas), reason)
            };
            let whole = read(&[&text]);
            let characters: Vec<&str> = text.split_inclusive(|_| true).collect();
            for chunks in [&characters[..], &cut(&text, &cuts)] {
                prop_assert_eq!(&read(chunks), &whole);
            }
            for event in whole.0 {
                let Event::Call(call) = event else { continue };
                let args: Result<Value, _> = serde_json::from_str(&strict_json(call.arguments()));
                prop_assert!(args.is_ok_and(|args| args.is_object()), "{}", call.json());
                prop_assert!(callable != Callable::Nothing);
            }
            Ok(())
        },
    );
}

/// Each word that a parser hands out or reports is in a delta, but for those of results.
#[test]
fn nothing_is_lost_that_a_parser_hands_out_or_reports() {
    each_grammar(
        |grammar| inputs(whole_text(grammar)),
        |grammar, (text, setting, _, callable)| {
            let setting = Setting { typed: true, ..setting };
            let reported = setting.whole(grammar, &text);
            let (deltas, _) = read(grammar, &setting, &callable, &[&text]);
            let mut found = String::new();
            for delta in joined(deltas) {
                match delta {
                    Event::Respond(text) | Event::Think(text) => found += &text.to_string(),
                    Event::Call(call) => {
                        let json = serde_json::from_str(call.json()).expect("a call is JSON");
                        found += &texts_of(json).join(" ");
                    }
                    _ => {}
                }
                found.push(' ');
            }
            let kept = reported.iter().filter(|event| !matches!(event, Event::Result(_)));
            let lost: Vec<_> =
                kept.flat_map(words_of).filter(|word| !found.contains(word)).collect();
            prop_assert!(lost.is_empty(), "{:?} in {:?}", lost, found);
            Ok(())
        },
    );
}
