//! Events in the form in which two readings of one text can be compared.

use cogency_rs::protocol::Event;
use cogency_rs::protocol::event::Note;

/// Joins neighbouring events of one kind: cutting a text may split an event into several.
pub fn joined(events: impl IntoIterator<Item = Event>) -> Vec<Event> {
    let mut runs: Vec<Event> = Vec::new();
    for event in events {
        match (runs.last_mut(), event) {
            (Some(Event::Think(run)), Event::Think(text))
            | (Some(Event::Respond(run)), Event::Respond(text)) => run.push(text.as_bytes()),
            (
                Some(Event::Piece(before, Note::Args(run))),
                Event::Piece(number, Note::Args(json)),
            ) if *before == number => run.push_str(&json),
            (
                Some(Event::Piece(before, Note::Value(place, run))),
                Event::Piece(number, Note::Value(path, text)),
            ) if (&*before, &*place) == (&number, &path) => run.push(text.as_bytes()),
            (_, event) => runs.push(event),
        }
    }
    runs
}
