//! A line of JSON of Ollama's own API, `/api/chat` or `/api/generate`.

use super::completions::{Completion, Kind, Parts};
use super::delta::Usage;
use super::sink::{Channel, Sink};
use super::usage::count;
use crate::json::{Cursor, NotJson, Raw};

/// Fields that have a delta, or are about the line alone.
const READ: [&str; 10] = [
    "model",
    "created_at",
    "message",
    "response",
    "thinking",
    "done",
    "done_reason",
    "prompt_eval_count",
    "eval_count",
    "error",
];

/// Whether a text is such a line: every one says whether it is the last, or reports an error.
pub fn is_line(text: &str) -> bool {
    Raw::of(text).is_ok_and(|line| line.field("done").is_some())
}

/// Reads a line.
pub fn read<'a>(
    answer: &mut Completion,
    text: &'a str,
    sink: &mut Sink<'_>,
) -> Result<Kind<'a>, NotJson> {
    let line = Raw::of(text)?;
    if let Some(error) = line.field("error").filter(|error| !error.is_falsy()) {
        return Ok(Kind::Error(error));
    }
    answer.name(None, line.field("model"), sink);
    let is_done = line.field("done").is_some_and(|done| !done.is_falsy());
    if is_done {
        sink.usage(Usage {
            input: count(line, "prompt_eval_count"),
            output: count(line, "eval_count"),
            ..Usage::default()
        });
    }
    let parts = match line.field("message") {
        Some(message) => Parts::read(&mut Cursor::new(message.json()), sink.extras())?,
        None => Parts { thinking: line.field("thinking"), ..Parts::default() },
    };
    answer.take_parts(&parts, sink);
    if let Some(text) = line.field("response").and_then(Raw::quoted) {
        sink.text(Channel::Text, text);
    }
    for (name, value) in line.fields() {
        if !READ.contains(&&*name) {
            sink.extra("", &name, value);
        }
    }
    if is_done {
        let reason = line.field("done_reason").and_then(Raw::text);
        answer.end(Some(reason.unwrap_or_else(|| "stop".into())), sink);
        return Ok(Kind::Last);
    }
    Ok(Kind::Part)
}
