//! Anthropic's messages: a start, blocks of content with deltas, the reason for the end, a stop.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::completions::Kind;
use super::delta::{CallDelta, Delta, Finish, Info, Note, Usage};
use super::options::Extras;
use super::sink::{Channel, Sink};
use crate::json::{NotJson, Raw, lossy};

/// The events of one message so far.
#[derive(Clone, Debug, Default)]
pub struct Message {
    counts: Counts,
    /// The signature of the block of reasoning that is open.
    signature: String,
    calls: usize,
    /// The calls whose blocks are open, by the index of the block.
    open_calls: BTreeMap<u64, OpenCall>,
    reason: Option<String>,
    details: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct OpenCall {
    number: usize,
    is_empty: bool,
}

/// Each is a sum from the beginning.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    thinking: u64,
}

impl Message {
    /// Whether it is known why the message ended.
    pub fn is_complete(&self) -> bool {
        self.reason.is_some()
    }

    /// How many bytes are kept until a block ends.
    pub fn held(&self) -> usize {
        self.signature.len()
    }

    /// Reads an event.
    pub fn read<'a>(&mut self, text: &'a str, sink: &mut Sink<'_>) -> Result<Kind<'a>, NotJson> {
        let whole = Raw::of(text)?;
        let event = Fields::of(Some(whole));
        let kind = event.word("type");
        match &*kind {
            "message_start" => self.start(event.get("message"), sink),
            "content_block_start" => {
                self.end_reasoning(sink);
                self.start_block(event.index(), event.get("content_block"), sink);
            }
            "content_block_delta" => self.delta(event.index(), event.get("delta"), sink),
            "content_block_stop" => {
                self.end_reasoning(sink);
                self.end_call(event.index(), sink);
            }
            "message_delta" => self.end(&event, sink),
            "message_stop" => return Ok(Kind::Last),
            "error" => return Ok(Kind::Error(event.get("error").unwrap_or(whole))),
            "ping" => {}
            _ => match event.get("error") {
                Some(error) => return Ok(Kind::Error(error)),
                None => sink.extra("", &kind, whole),
            },
        }
        Ok(Kind::Part)
    }

    /// The end of the message.
    pub fn finish(&mut self, sink: &mut Sink<'_>) {
        self.end_reasoning(sink);
        let finish = Finish { reason: self.reason.take(), details: self.details.take() };
        sink.push(Delta::Finish(finish));
    }

    fn start(&mut self, message: Option<Raw<'_>>, sink: &mut Sink<'_>) {
        let message = Fields::of(message);
        let [id, model] = ["id", "model"].map(|name| message.get(name).and_then(Raw::text));
        sink.push(Delta::Info(Info { id, model }));
        self.count(message.get("usage"), sink);
        sink.usage(Usage { is_estimate: true, ..self.counts.usage() }); // the answer is not counted yet
    }

    fn start_block(&mut self, index: u64, block: Option<Raw<'_>>, sink: &mut Sink<'_>) {
        let Some(block) = block else { return };
        let fields = Fields::of(Some(block));
        let text = |name| fields.get(name).and_then(Raw::text);
        self.open_calls.remove(&index);
        match &*fields.word("type") {
            "text" => sink.text(Channel::Text, fields.quoted("text")),
            "thinking" => {
                sink.text(Channel::Reasoning, fields.quoted("thinking"));
                self.signature = text("signature").unwrap_or_default();
            }
            "redacted_thinking" => sink.push(Delta::Redacted(text("data").unwrap_or_default())),
            "tool_use" => {
                let number = self.calls;
                self.calls += 1;
                sink.push(Delta::Call(CallDelta {
                    number,
                    id: text("id"),
                    name: text("name"),
                    arguments: String::new(),
                }));
                let input = fields.get("input").filter(|input| !input.is_falsy());
                sink.plain(Channel::Arguments(number), input.map_or("", Raw::json));
                self.open_calls.insert(index, OpenCall { number, is_empty: input.is_none() });
            }
            _ => sink.extra("", "content_block", block),
        }
    }

    fn delta(&mut self, index: u64, delta: Option<Raw<'_>>, sink: &mut Sink<'_>) {
        let Some(delta) = delta else { return };
        let fields = Fields::of(Some(delta));
        match &*fields.word("type") {
            "text_delta" => sink.text(Channel::Text, fields.quoted("text")),
            "thinking_delta" => sink.text(Channel::Reasoning, fields.quoted("thinking")),
            "signature_delta" => {
                self.signature += &fields.word("signature");
            }
            "input_json_delta" => match self.open_calls.get_mut(&index) {
                Some(call) => {
                    let arguments = fields.quoted("partial_json");
                    call.is_empty &= arguments.is_empty();
                    sink.text(Channel::Arguments(call.number), arguments);
                }
                None => sink.extra("", "delta", delta),
            },
            _ => sink.extra("", "delta", delta),
        }
    }

    /// Adds the signature of a block of reasoning, which is whole now.
    fn end_reasoning(&mut self, sink: &mut Sink<'_>) {
        if !self.signature.is_empty() {
            sink.push(Delta::Signature(std::mem::take(&mut self.signature)));
        }
    }

    /// A call without arguments has an empty object of them.
    fn end_call(&mut self, index: u64, sink: &mut Sink<'_>) {
        if let Some(call) = self.open_calls.remove(&index)
            && call.is_empty
        {
            sink.plain(Channel::Arguments(call.number), "{}");
        }
    }

    fn end(&mut self, event: &Fields<'_>, sink: &mut Sink<'_>) {
        self.count(event.get("usage"), sink);
        sink.usage(self.counts.usage());
        let Some(delta) = event.get("delta") else { return };
        let reason = delta.field("stop_reason").and_then(Raw::text);
        if self.reason.is_some() && reason.is_some() && self.reason != reason {
            sink.note(Note::SecondFinish);
        }
        self.reason = reason.or(self.reason.take());
        let details = delta.field("stop_details");
        let parts = ["category", "explanation"].map(|name| details?.field(name)?.text());
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            self.details = Some(parts.join(": "));
        }
        if sink.extras() == Extras::Kept {
            for (name, value) in delta.fields() {
                if name != "stop_reason" {
                    sink.extra("delta", &name, value);
                }
            }
        }
    }

    fn count(&mut self, usage: Option<Raw<'_>>, sink: &mut Sink<'_>) {
        let Some(usage) = usage else { return };
        let counts = &mut self.counts;
        for (name, value) in usage.fields() {
            let counted = match &*name {
                "input_tokens" => &mut counts.input,
                "output_tokens" => &mut counts.output,
                "cache_read_input_tokens" => &mut counts.cache_read,
                "cache_creation_input_tokens" => &mut counts.cache_write,
                _ => {
                    if name == "output_tokens_details" {
                        let thinking = value.field("thinking_tokens").and_then(Raw::count);
                        counts.thinking =
                            thinking.filter(|&count| count > 0).unwrap_or(counts.thinking);
                    }
                    sink.extra("usage", &name, value);
                    continue;
                }
            };
            // Servers other than Anthropic's say 0 at the end for what they counted at the start.
            *counted = value.count().filter(|&count| count > 0).unwrap_or(*counted);
        }
    }
}

impl Counts {
    fn usage(self) -> Usage {
        Usage {
            input: self.input,
            output: self.output.saturating_sub(self.thinking),
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            reasoning: self.thinking,
            is_estimate: false,
        }
    }
}

/// The fields of an object, read once.
struct Fields<'a>(Vec<(Cow<'a, str>, Raw<'a>)>);

impl<'a> Fields<'a> {
    fn of(object: Option<Raw<'a>>) -> Self {
        Self(object.map(Raw::fields).unwrap_or_default())
    }

    /// A field, the last of that name; `None` if there is none, or it is `null`.
    fn get(&self, name: &str) -> Option<Raw<'a>> {
        let found = self.0.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| *value).filter(|value| !value.is_null())
    }

    /// The characters of a string as they are written.
    fn quoted(&self, name: &str) -> &'a str {
        self.get(name).and_then(Raw::quoted).unwrap_or_default()
    }

    /// A string.
    fn word(&self, name: &str) -> Cow<'a, str> {
        lossy(self.quoted(name))
    }

    /// The index of a block; 0 if there is none.
    fn index(&self) -> u64 {
        self.get("index").and_then(Raw::count).unwrap_or(0)
    }
}
