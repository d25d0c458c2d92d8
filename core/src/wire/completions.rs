//! `OpenAI`'s chat completions and completions, with what other servers add to them.
//!
//! Reasoning is in `reasoning_content` or `reasoning` (some servers fill both with the same text, so the first is enough), in
//! `reasoning_details`, or in parts of the content. The usage comes in the last chunk, or in each. Of several choices the first
//! is read, the one with the index 0 or without an index.

use std::borrow::Cow;

use super::calls::Calls;
use super::delta::{Delta, Finish, Info, Note};
use super::options::Extras;
use super::sink::{Channel, Sink};
use super::usage::{extras_of_completion, of_completion};
use crate::json::{Cursor, NotJson, Raw};

/// The chunks of one completion so far.
#[derive(Clone, Debug, Default)]
pub struct Completion {
    calls: Calls,
    pub(super) reason: Option<String>,
    refusal: String,
    choices: Choices,
    is_named: bool,
}

/// Fields of a call that are sent back with it: Google's, which an answer itself has, too, and the names that gateways have for
/// the same.
const RETURNED: [&str; 3] = ["extra_content", "provider_specific_fields", "thought_signature"];

/// Whether choices may still come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Choices {
    /// None has come.
    #[default]
    Awaited,
    Coming,
    /// The usage has come without a choice, after others: it does so after all of them. Servers that send it before them, or
    /// between them, go on.
    Closed,
}

/// A chunk. Of equal keys the last one counts.
#[derive(Default)]
struct Chunk<'a> {
    id: Option<Raw<'a>>,
    model: Option<Raw<'a>>,
    choices: Vec<Choice<'a>>,
    usage: Option<Raw<'a>>,
    error: Option<Raw<'a>>,
    object: Option<Raw<'a>>,
    kind: Option<Raw<'a>>,
    extras: Vec<(Cow<'a, str>, Raw<'a>)>,
}

#[derive(Default)]
struct Choice<'a> {
    index: Option<Raw<'a>>,
    reason: Option<Raw<'a>>,
    text: Option<Raw<'a>>,
    usage: Option<Raw<'a>>,
    parts: Parts<'a>,
    extras: Vec<(Cow<'a, str>, Raw<'a>)>,
}

/// What a choice adds: its `delta`.
#[derive(Default)]
pub(super) struct Parts<'a> {
    pub content: Option<Raw<'a>>,
    pub reasoning_content: Option<Raw<'a>>,
    pub reasoning: Option<Raw<'a>>,
    pub thinking: Option<Raw<'a>>,
    pub details: Option<Raw<'a>>,
    pub refusal: Option<Raw<'a>>,
    pub tool_calls: Option<Raw<'a>>,
    pub function_call: Option<Raw<'a>>,
    pub returned: Option<Raw<'a>>,
    pub extras: Vec<(Cow<'a, str>, Raw<'a>)>,
}

/// What a chunk turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// A part of the answer.
    Part,
    /// Its last part.
    Last,
    /// An error that the server reports.
    Error(Raw<'a>),
}

impl Completion {
    /// Whether it is known why the answer ended, or the usage has come after all choices.
    pub fn is_complete(&self) -> bool {
        // A call of which only the name has come may have been cut.
        let is_closed = self.choices == Choices::Closed && !self.ends_in_a_name();
        is_closed || self.reason.is_some()
    }

    /// Whether no arguments of its last call have come.
    pub fn ends_in_a_name(&self) -> bool {
        self.calls.ends_in_a_name()
    }

    /// Whether the model refuses to answer, which needs no reason for the end.
    pub fn is_refused(&self) -> bool {
        !self.refusal.is_empty()
    }

    /// How many bytes are kept until the end.
    pub fn held(&self) -> usize {
        self.refusal.len()
    }

    /// Reads a chunk.
    pub fn read<'a>(&mut self, text: &'a str, sink: &mut Sink<'_>) -> Result<Kind<'a>, NotJson> {
        let mut cursor = Cursor::new(text);
        if !cursor.is_at_object() {
            Raw::of(text)?;
            return Ok(Kind::Part);
        }
        let chunk = Chunk::read(&mut cursor, sink.extras())?;
        self.take(&chunk, sink);
        let is_error = [chunk.object, chunk.kind].contains(&Some(Raw::ERROR));
        match chunk.error.filter(|error| !error.is_falsy()) {
            Some(error) => Ok(Kind::Error(error)),
            None if is_error => Ok(Kind::Error(Raw::of(text)?)),
            None => Ok(Kind::Part),
        }
    }

    /// The end of the answer.
    pub fn finish(&mut self, sink: &mut Sink<'_>) {
        let reason = self.reason.take();
        let finish = if self.refusal.is_empty() {
            Finish { reason, details: None }
        } else {
            let details = Some(std::mem::take(&mut self.refusal));
            Finish { reason: Some("refusal".into()), details }
        };
        sink.push(Delta::Finish(finish));
    }

    fn take(&mut self, chunk: &Chunk<'_>, sink: &mut Sink<'_>) {
        self.name(chunk.id, chunk.model, sink);
        let usage = chunk.usage.filter(|usage| !usage.is_null());
        self.choices = match (self.choices, chunk.choices.is_empty()) {
            (_, false) => Choices::Coming,
            (Choices::Coming, true) if usage.is_some() => Choices::Closed,
            (known, true) => known,
        };
        // Moonshot has it in the choice.
        let in_choice = || chunk.choices.iter().find(|choice| choice.is_first())?.usage;
        if let Some(usage) = usage.or_else(in_choice).filter(|usage| usage.is_object()) {
            sink.usage(of_completion(usage));
            extras_of_completion(usage, sink);
        }
        for choice in chunk.choices.iter().filter(|choice| choice.is_first()) {
            self.take_parts(&choice.parts, sink);
            if let Some(text) = choice.text.and_then(Raw::quoted) {
                sink.text(Channel::Text, text);
            }
            add_extras("choices", &choice.extras, sink);
            self.end(choice.reason.and_then(Raw::text), sink);
        }
        add_extras("", &chunk.extras, sink);
    }

    /// Says what the answer is called, once it is known.
    pub(super) fn name(
        &mut self,
        id: Option<Raw<'_>>,
        model: Option<Raw<'_>>,
        sink: &mut Sink<'_>,
    ) {
        if self.is_named {
            return;
        }
        let [id, model] = [id, model].map(|raw| raw.and_then(Raw::text));
        if id.is_some() || model.is_some() {
            self.is_named = true;
            sink.push(Delta::Info(Info { id, model }));
        }
    }

    pub(super) fn take_parts(&mut self, parts: &Parts<'_>, sink: &mut Sink<'_>) {
        let named = [parts.reasoning_content, parts.reasoning, parts.thinking];
        let reasoning = named.into_iter().flatten().filter_map(Raw::quoted);
        let reasoning = reasoning.into_iter().find(|text| !text.is_empty());
        if let Some(reasoning) = reasoning {
            sink.text(Channel::Reasoning, reasoning);
        }
        for detail in parts.details.into_iter().flat_map(Raw::items) {
            take_detail(detail, reasoning.is_some(), sink);
        }
        if let Some(content) = parts.returned {
            sink.opaque(None, RETURNED[0], content);
        }
        if let Some(content) = parts.content {
            take_content(content, Channel::Text, sink);
        }
        if let Some(refusal) = parts.refusal {
            self.refusal.push_str(&refusal.text().unwrap_or_default());
            sink.text(Channel::Refusal, refusal.quoted().unwrap_or_default());
        }
        for call in parts.tool_calls.into_iter().flat_map(Raw::items) {
            let index = call.field("index").and_then(Raw::count);
            let id = call.field("id").and_then(Raw::text);
            let number = self.take_call(index, id, call.field("function"), sink);
            for (name, value) in call.fields() {
                match &*name {
                    "index" | "id" | "type" | "function" => {}
                    name if RETURNED.contains(&name) => sink.opaque(Some(number), name, value),
                    name => sink.extra("tool_calls", name, value),
                }
            }
        }
        if let Some(call) = parts.function_call.filter(|call| call.is_object()) {
            self.take_call(None, None, Some(call), sink);
        }
        add_extras("delta", &parts.extras, sink);
    }

    fn take_call(
        &mut self,
        index: Option<u64>,
        id: Option<String>,
        function: Option<Raw<'_>>,
        sink: &mut Sink<'_>,
    ) -> usize {
        let of_function = |name| function.and_then(|function| function.field(name));
        let (name, arguments) = (of_function("name").and_then(Raw::text), of_function("arguments"));
        let piece = self.calls.piece(index, id, name, arguments);
        let number = piece.number;
        sink.call(piece);
        match arguments {
            None => {}
            Some(arguments) => match arguments.quoted() {
                Some(quoted) => sink.text(Channel::Arguments(number), quoted),
                // Some servers send the object itself.
                None => sink.plain(Channel::Arguments(number), arguments.json()),
            },
        }
        number
    }

    pub(super) fn end(&mut self, reason: Option<String>, sink: &mut Sink<'_>) {
        if reason.is_none() {
            return;
        }
        if self.reason.is_some() && self.reason != reason {
            sink.note(Note::SecondFinish);
        }
        self.reason = reason;
    }
}

/// Text; or a list of parts of text and of thinking.
fn take_content(content: Raw<'_>, channel: Channel, sink: &mut Sink<'_>) {
    if let Some(text) = content.quoted() {
        return sink.text(channel, text);
    }
    for part in content.items() {
        let is_thinking = part.field("type").and_then(Raw::quoted) == Some("thinking");
        let (channel, inner) = if is_thinking {
            (Channel::Reasoning, part.field("thinking"))
        } else {
            (channel, part.field("text"))
        };
        match inner {
            Some(inner) if inner.quoted().is_some() => take_content(inner, channel, sink),
            Some(inner) => take_texts(inner, channel, sink),
            None => {}
        }
    }
}

/// The texts of a list of parts within a part.
fn take_texts(parts: Raw<'_>, channel: Channel, sink: &mut Sink<'_>) {
    for part in parts.items() {
        if let Some(text) = part.field("text").and_then(Raw::quoted) {
            sink.text(channel, text);
        }
    }
}

/// An item of `reasoning_details`, which goes back with its signature. If the delta also has its reasoning in another field, the
/// item's text is left out.
fn take_detail(detail: Raw<'_>, is_said: bool, sink: &mut Sink<'_>) {
    let texts = ["text", "summary"].map(|name| detail.field(name).and_then(Raw::quoted));
    for text in texts.into_iter().flatten().filter(|_| !is_said) {
        sink.text(Channel::Reasoning, text);
    }
    sink.opaque(None, "reasoning_details", detail);
}

fn add_extras(parent: &str, extras: &[(Cow<'_, str>, Raw<'_>)], sink: &mut Sink<'_>) {
    for (name, value) in extras {
        sink.extra(parent, name, *value);
    }
}

impl<'a> Chunk<'a> {
    fn read(cursor: &mut Cursor<'a>, extras: Extras) -> Result<Self, NotJson> {
        let mut chunk = Self::default();
        cursor.object(|cursor, key| {
            match &*key {
                "choices" if cursor.is_at_array() => {
                    chunk.choices = Vec::with_capacity(1);
                    return cursor.array(|cursor| {
                        chunk.choices.push(Choice::read(cursor, extras)?);
                        Ok(())
                    });
                }
                "choices" => chunk.choices.clear(),
                _ => {}
            }
            let raw = cursor.value()?;
            let value = Some(raw);
            match &*key {
                "id" => chunk.id = value,
                "model" => chunk.model = value,
                "usage" => chunk.usage = value,
                "error" => chunk.error = value,
                "object" => chunk.object = value,
                "type" => chunk.kind = value,
                "choices" | "created" => {}
                _ if extras == Extras::Kept => chunk.extras.push((key, raw)),
                _ => {}
            }
            Ok(())
        })?;
        cursor.end()?;
        Ok(chunk)
    }
}

impl<'a> Choice<'a> {
    fn read(cursor: &mut Cursor<'a>, extras: Extras) -> Result<Self, NotJson> {
        let mut choice = Self::default();
        if !cursor.is_at_object() {
            cursor.value()?;
            return Ok(choice);
        }
        cursor.object(|cursor, key| {
            if key == "delta" {
                choice.parts = Parts::read(cursor, extras)?;
                return Ok(());
            }
            let raw = cursor.value()?;
            let value = Some(raw);
            match &*key {
                "index" => choice.index = value,
                "finish_reason" => choice.reason = value,
                "text" => choice.text = value,
                "usage" => choice.usage = value,
                _ if extras == Extras::Kept => choice.extras.push((key, raw)),
                _ => {}
            }
            Ok(())
        })?;
        Ok(choice)
    }

    fn is_first(&self) -> bool {
        self.index.is_none_or(Raw::is_falsy)
    }
}

impl<'a> Parts<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>, extras: Extras) -> Result<Self, NotJson> {
        let mut parts = Self::default();
        if !cursor.is_at_object() {
            cursor.value()?;
            return Ok(parts);
        }
        cursor.object(|cursor, key| {
            let raw = cursor.value()?;
            let value = Some(raw);
            match &*key {
                "content" => parts.content = value,
                "reasoning_content" => parts.reasoning_content = value,
                "reasoning" => parts.reasoning = value,
                "thinking" => parts.thinking = value,
                "reasoning_details" => parts.details = value,
                "refusal" => parts.refusal = value,
                "tool_calls" => parts.tool_calls = value,
                "function_call" => parts.function_call = value,
                "extra_content" => parts.returned = value,
                "role" => {}
                _ if extras == Extras::Kept => parts.extras.push((key, raw)),
                _ => {}
            }
            Ok(())
        })?;
        Ok(parts)
    }
}
