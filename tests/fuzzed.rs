//! Texts that fuzzing found, each of which was read wrong once. However they are cut, the events must be the same.

use std::sync::Arc;

use cogency_rs::dialect::presets;
use cogency_rs::protocol::event::Note;
use cogency_rs::protocol::stored::ShownCall;
use cogency_rs::protocol::write::Renderer;
use cogency_rs::protocol::{Call, CallStream, Ending, Event, Grammar, Options, Parser, Stream};

use crate::dialects::joined::joined;

fn read(
    name: &str,
    stream: Stream,
    calls: CallStream,
    ending: &Ending,
    chunks: &[&str],
) -> Vec<Event> {
    let grammar = Grammar::preset(name).unwrap_or_else(|| panic!("{name} is a preset"));
    let options = Options { stream, calls, ..Options::default() };
    let (mut parser, mut events) = (Parser::new(Arc::clone(&grammar), options), Vec::new());
    for chunk in chunks {
        parser.feed(chunk, &mut events);
    }
    parser.finish(ending, &mut events);
    joined(events)
}

/// The kinds of events, in short.
fn kinds(events: &[Event]) -> String {
    let kind = |event: &Event| match event {
        Event::Think(_) => "think",
        Event::Respond(_) => "respond",
        Event::Piece(..) => "piece",
        Event::Ready(_) => "ready",
        Event::Withdrawn => "withdrawn",
        Event::Call(_) => "call",
        Event::Execute => "execute",
        Event::Result(_) => "result",
        Event::Error(_) => "error",
        Event::End => "end",
        other => unreachable!("the test does not know {other:?}"),
    };
    events.iter().map(kind).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_was_read_wrong_once_is_read_right() {
    for (name, text, ending, expected) in [
        // How much space had arrived after a call decided where its block ended.
        ("react", "Action: a\nAction Input: {}\n\nb", Ending::Unknown, "call respond execute"),
        // What was shown of a call that runs over its end depended on how much had arrived.
        (
            "glm47",
            "<tool_call>a<arg_key>k</arg_key><arg_value>b</tool_call>\
             <tool_call>c<arg_key>d</arg_key><arg_value>e</arg_value></tool_call>",
            Ending::Unknown,
            "error",
        ),
        // A tag that only begins like the one that closes the block was taken for its beginning.
        (
            "forge-xml",
            "<tool><tool_name>a</tool_name><arguments></arguments></tooll",
            Ending::Unknown,
            "error",
        ),
        (
            "forge-xml",
            "<tool><tool_name>a</tool_name><arguments></arguments>\n</too",
            Ending::Unknown,
            "call execute",
        ),
    ] {
        let whole = read(name, Stream::Event, CallStream::Whole, &ending, &[text]);
        assert_eq!(kinds(&whole), expected, "{name}: {text}");
        let characters: Vec<&str> = text.split_inclusive(|_| true).collect();
        for stream in [Stream::Event, Stream::Token] {
            for calls in [CallStream::Whole, CallStream::Values] {
                // How much is shown of a call that breaks depends on the cuts.
                let is_value = |event: &Event| matches!(event, Event::Piece(_, Note::Value(..)));
                let [whole, cut] = [&[text][..], &characters].map(|chunks| {
                    let mut events = read(name, stream, calls, &ending, chunks);
                    events.retain(|event| !is_value(event));
                    events
                });
                assert_eq!(cut, whole, "{name}: {text}");
            }
        }
    }
}

/// A vertical tab, or a space that is not ASCII, was in the name.
#[test]
fn any_whitespace_ends_the_name_in_the_head_of_a_message() {
    for space in [" ", "\n", "\u{b}", "\u{1d}", "\u{85}", "\u{3000}"] {
        let text = format!(
            "<|channel|>commentary to=functions.a{space}b<|constrain|>json<|message|>{{}}<|call|>"
        );
        let events = read("harmony", Stream::Event, CallStream::Whole, &Ending::Stopped, &[&text]);
        let names: Vec<_> = events
            .into_iter()
            .filter_map(Event::into_call)
            .map(|call| call.name_json().to_owned())
            .collect();
        assert_eq!(names, ["\"a\""], "{text:?}");
    }
}

/// Many readers take the word `Infinity` for text.
#[test]
fn a_number_that_is_too_large_reads_back_as_it_was_written() {
    let args = "{\"x\": Infinity, \"y\": -Infinity, \"z\": [Infinity]}";
    for name in ["gemma4", "functiongemma", "deepseek-v32-dsml", "kimi-k3", "hermes", "lfm2"] {
        let renderer = Renderer::new(presets::preset(name).expect("a preset"));
        let call = |args: &str| ShownCall {
            name: "\"tool\"".into(),
            args: args.into(),
            id: None,
            server: None,
        };
        let text = renderer.calls(&[call(args)], true).to_string();
        assert!(renderer.can_write(&call(args)), "{text}");
        let events = read(name, Stream::Event, CallStream::Whole, &Ending::Stopped, &[&text]);
        let calls: Vec<_> = events.into_iter().filter_map(Event::into_call).collect();
        assert_eq!(calls.iter().map(Call::arguments).collect::<Vec<_>>(), [args], "{text}");
    }
    let gemma = Renderer::new(presets::preset("gemma4").expect("a preset"));
    let args = "{\"x\": NaN}".to_owned();
    let call = ShownCall { name: "\"tool\"".into(), args, id: None, server: None };
    assert!(gemma.can_write(&call), "a tool that wants a number gets it back, by its schema");
    let lfm2 = Renderer::new(presets::preset("lfm2").expect("a preset"));
    assert!(!lfm2.can_write(&call), "Python has no word for it");
}
