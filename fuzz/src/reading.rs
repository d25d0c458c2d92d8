//! What a parser reads of a text that is cut in pieces, in a form in which two readings can be compared.

use std::sync::{Arc, LazyLock};

use cogency_rs::protocol::event::Note;
use cogency_rs::protocol::{CallStream, Ending, Event, Grammar, Options, Parser, Stream, Tools};

/// Every way in which text and calls are shown.
pub const MODES: [(Stream, CallStream); 4] = [
    (Stream::Event, CallStream::Whole),
    (Stream::Token, CallStream::Whole),
    (Stream::Event, CallStream::Json),
    (Stream::Token, CallStream::Values),
];

/// A tool with a parameter of each type.
pub static TOOLS: LazyLock<Arc<Tools>> = LazyLock::new(|| {
    let schema = serde_json::json!({"type": "object", "properties": {
        "text": {"type": "string"},
        "n": {"type": "integer"},
        "x": {"type": ["number", "null"]},
        "flag": {"type": "boolean"},
        "list": {"type": "array", "items": {"type": "string"}},
        "object": {"type": "object", "properties": {"text": {"type": "string"}}},
        "any": {},
    }});
    Arc::new(Tools::new([("tool".to_owned(), schema.clone()), ("a.b".to_owned(), schema)]))
});

/// The events of a text that arrives in these pieces.
#[must_use]
pub fn read(
    grammar: &Arc<Grammar>,
    options: Options,
    chunks: &[&[u8]],
    ending: &Ending,
) -> Vec<Event> {
    let (mut parser, mut events) = (Parser::new(Arc::clone(grammar), options), Vec::new());
    for chunk in chunks {
        parser.feed_bytes(chunk, &mut events);
    }
    parser.finish(ending, &mut events);
    assert!(parser.is_done());
    events
}

/// Joins neighbouring events of one kind, which a way of cutting may part.
#[must_use]
pub fn joined(events: Vec<Event>) -> Vec<Event> {
    let mut runs: Vec<Event> = Vec::new();
    for event in events {
        match (runs.last_mut(), event) {
            (Some(Event::Think(run)), Event::Think(text))
            | (Some(Event::Respond(run)), Event::Respond(text)) => run.push(text.as_bytes()),
            (_, event) => runs.push(event),
        }
    }
    runs
}

/// The events without the pieces of calls that are not complete, and without what takes back those that came.
#[must_use]
pub fn without_pieces(events: Vec<Event>) -> Vec<Event> {
    let is_shown = events.iter().any(|event| matches!(event, Event::Piece(..)));
    let kept = events.into_iter().filter(|event| match event {
        Event::Withdrawn => !is_shown,
        event => !matches!(event, Event::Piece(..)),
    });
    joined(kept.collect())
}

/// The calls that were shown to begin, and where they were taken back.
#[must_use]
pub fn begun(events: &[Event]) -> Vec<Event> {
    let is_one =
        |event: &&Event| matches!(event, Event::Piece(_, Note::Start { .. }) | Event::Withdrawn);
    events.iter().filter(is_one).cloned().collect()
}
