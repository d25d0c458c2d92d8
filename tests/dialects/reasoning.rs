//! Nothing in reasoning is a call, and a call in reasoning that never ends is reported.

use std::sync::Arc;

use cogency_rs::dialect::{Body, Dialect};
use cogency_rs::protocol::{CallStream, Ending, Event, Grammar, ReportKind, Stream};
use proptest::prelude::*;
use proptest::sample::Index;

use super::read::{Setting, cut, each_grammar, grammars, is_space, joined, without_pieces};
use super::texts::{endings, text};
use super::write::{Written, blocks, message_to};

/// How reasoning is opened and closed, and the marks that would end it.
#[derive(Clone, Debug)]
struct Frame {
    open: String,
    close: String,
    ends: Vec<String>,
}

/// The frames of reasoning in a dialect, except those without a mark at their end.
fn frames(dialect: &Dialect) -> Vec<Frame> {
    let pairs = dialect.reasoning.iter().filter(|pair| !pair.close.is_empty());
    let mut frames: Vec<Frame> = pairs
        .map(|pair| Frame {
            open: pair.open.to_string(),
            close: pair.close.to_string(),
            ends: vec![pair.close.to_string()],
        })
        .collect();
    if let Some(heads) = &dialect.heads {
        let message = message_to(heads, Some(&heads.reasoning[0]), "\0");
        let (open, close) = message.split_once('\0').expect("it is in the middle");
        frames.push(Frame {
            open: open.to_owned(),
            close: close.to_owned(),
            ends: heads.open.iter().chain(&heads.close).map(ToString::to_string).collect(),
        });
    }
    frames
}

fn all_frames(grammar: &Grammar) -> Vec<Frame> {
    let mut frames: Vec<Frame> =
        grammar.dialects.iter().flat_map(|dialect| frames(dialect)).collect();
    let turn_ends = || grammar.dialects.iter().flat_map(|dialect| &dialect.turn_end);
    for frame in &mut frames {
        frame.ends.extend(turn_ends().map(ToString::to_string));
    }
    frames
}

/// The marks that open a block, or a call outside a block.
fn openers(dialect: &Dialect) -> Vec<String> {
    let heads = dialect.calls.bodies.iter().filter_map(|body| match body {
        Body::Head(head) if head.bare || dialect.calls.open.is_empty() => Some(&head.open),
        _ => None,
    });
    let names_call = dialect.heads.as_ref().is_some_and(|heads| heads.names_call);
    let heads = heads.filter(|_| !names_call);
    dialect.calls.open.iter().chain(heads).map(ToString::to_string).collect()
}

fn call() -> Written {
    Written::new("tool", &[("text", "value")])
}

/// Whether this text in a frame ends the reasoning before the frame's own closing mark does.
fn ends_early(frame: &Frame, text: &str) -> bool {
    // A mark that has begun at the end of the text may be completed by what follows.
    let with_close = format!("{text}{}", frame.close);
    let first = frame.ends.iter().filter_map(|end| with_close.find(&**end)).min();
    first != Some(text.len())
}

fn inputs(grammar: &Arc<Grammar>) -> impl Strategy<Value = (Index, String, Vec<Index>)> + use<> {
    let cuts = proptest::collection::vec(any::<Index>(), 0..6);
    (any::<Index>(), text(grammar), cuts)
}

#[test]
fn nothing_in_reasoning_is_a_call() {
    each_grammar(inputs, |grammar, (index, inner, cuts)| {
        let frames = all_frames(grammar);
        if frames.is_empty() {
            return Ok(());
        }
        let frame = index.get(&frames);
        let blocks = blocks(&grammar.dialects[0], &[call()]).concat();
        for inner in [inner.clone(), format!("{inner}\n{blocks}\n")] {
            if ends_early(frame, &inner) {
                continue;
            }
            let text = format!("{}{inner}{}word", frame.open, frame.close);
            let mode = (Stream::Token, CallStream::Values);
            let read = Setting::default().read(grammar, mode, &cut(&text, &cuts));
            let mut expected = vec![Event::Think(inner.as_str().into())];
            if inner.chars().all(is_space) {
                expected.clear();
            }
            expected.push(Event::Respond("word".into()));
            prop_assert_eq!(without_pieces(joined(read.events)), expected);
        }
        Ok(())
    });
}

#[test]
fn a_call_in_reasoning_that_never_ends_is_reported() {
    let mut tried = 0;
    for (name, grammar) in grammars() {
        for (opener, frame, ending) in cases(&grammar) {
            let unfinished = format!("so\n{opener} and more");
            for (text, begins_in_think) in
                [(format!("{}{unfinished}", frame.open), false), (unfinished.clone(), true)]
            {
                let setting =
                    Setting { begins_in_think, ending: ending.clone(), ..Setting::default() };
                let events = setting.whole(&grammar, &text);
                let case = format!("{name}: {text:?}, {ending:?}: {events:?}");
                let [Event::Think(thought), Event::Error(report)] = &events[..] else {
                    panic!("{case}")
                };
                assert_eq!(thought.to_string(), unfinished, "{case}");
                assert_eq!(report.kind, ReportKind::Unfinished, "{case}");
                assert!(report.content.to_string().contains(opener.trim()), "{case}");
                tried += 1;
            }
        }
    }
    assert!(tried > 100);
}

#[test]
fn an_opener_within_a_line_or_in_reasoning_that_ends_is_not_reported() {
    for (name, grammar) in grammars() {
        for (opener, frame, _) in cases(&grammar) {
            for text in [
                format!("{}so {opener} and more", frame.open),
                format!("{}so\n{opener} and more{}", frame.open, frame.close),
            ] {
                let events = Setting::default().whole(&grammar, &text);
                let [Event::Think(_)] = &events[..] else { panic!("{name}: {text}: {events:?}") };
            }
        }
    }
}

/// Each opener in each kind of reasoning, with each way in which the text may end.
fn cases(grammar: &Grammar) -> Vec<(String, Frame, Ending)> {
    let frames = all_frames(grammar);
    let openers: Vec<String> =
        grammar.dialects.iter().flat_map(|dialect| openers(dialect)).collect();
    let mut cases = Vec::new();
    for opener in openers {
        for frame in &frames {
            for ending in endings() {
                cases.push((opener.clone(), frame.clone(), ending));
            }
        }
    }
    cases
}
