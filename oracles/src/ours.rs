//! The core, asked as the peers are.

use std::sync::Arc;

use cogency_rs::dialect::presets::preset;
use cogency_rs::protocol::stored::shown_call;
use cogency_rs::protocol::write::Renderer;
use cogency_rs::protocol::{Ending, Event, Grammar, Options, Parser, Tools};
use serde_json::Value;

use crate::Call;

/// A new parser for the dialect.
pub fn parser(dialect: &str, tools: Arc<Tools>) -> Option<Parser> {
    Some(Parser::new(
        Grammar::preset(dialect)?,
        Options { tools: Some(tools), ..Options::default() },
    ))
}

/// The tools as the core takes them.
pub fn tools(tools: &[Value]) -> Arc<Tools> {
    let tool = |tool: &Value| {
        let name = tool["function"]["name"].as_str().expect("a tool has a name");
        (name.to_owned(), tool["function"]["parameters"].clone())
    };
    Arc::new(Tools::new(tools.iter().map(tool)))
}

/// The events of a text in chunks.
pub fn events(dialect: &str, chunks: &[&str], given: &[Value]) -> Option<Vec<Event>> {
    let (mut parser, mut events) = (parser(dialect, tools(given))?, Vec::new());
    for chunk in chunks {
        parser.feed(chunk, &mut events);
    }
    parser.finish(&Ending::Unknown, &mut events);
    Some(events)
}

/// The calls among events.
pub fn calls_of(events: &[Event]) -> Vec<Call> {
    let call = |event: &Event| match event {
        Event::Call(call) => {
            let json = |text| serde_json::from_str::<Value>(text).expect("canonical JSON");
            let name = json(call.name_json());
            Some((name.as_str().expect("a name").to_owned(), json(call.arguments())))
        }
        _ => None,
    };
    events.iter().filter_map(call).collect()
}

/// The text for the user among events.
pub fn text_of(events: &[Event]) -> String {
    let text = |event: &Event| match event {
        Event::Respond(text) => text.to_str().map(str::to_owned),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

/// Writes calls, as the whole answer.
pub fn write(dialect: &str, calls: &[Call]) -> Option<String> {
    let renderer = Renderer::new(preset(dialect)?);
    let stored = |(name, args): &Call| {
        let json = serde_json::json!({ "name": name, "args": args }).to_string();
        shown_call(json.as_bytes()).expect("JSON").expect("a call")
    };
    let mut calls: Vec<_> = calls.iter().map(stored).collect();
    renderer.give_ids(&mut calls, 0);
    renderer.calls(&calls, true).to_str().map(str::to_owned)
}

/// See [`crate::Peer::calls`].
pub fn calls(dialect: &str, text: &str, tools: &[Value]) -> Option<Vec<Call>> {
    stream(dialect, &[text], tools)
}

/// See [`crate::Peer::stream`].
pub fn stream(dialect: &str, chunks: &[&str], tools: &[Value]) -> Option<Vec<Call>> {
    events(dialect, chunks, tools).map(|events| calls_of(&events))
}
