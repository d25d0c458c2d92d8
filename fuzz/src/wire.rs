//! What a provider's stream says, read whole: lines, then events, then trees of JSON.
//!
//! It reads server-sent events only, and says nothing of a stream with JSON that `serde_json` does not have or writes in another way,
//! such as half of a surrogate pair. What is compared has no notes, and of a fault only its kind.

use std::collections::HashMap;

use cogency_rs::wire::{
    Api, CallDelta, Delta, Fault, FaultKind, Finish, Info, Opaque, Usage, joined,
};
use serde_json::Value;

/// The deltas of a whole stream; `None` where the reference does not know.
#[must_use]
pub fn read(api: Api, bytes: &[u8]) -> Option<Vec<Delta>> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    if text
        .trim_start_matches(['\u{feff}', '\u{fffd}', ' ', '\t', '\n', '\r', '\x0c'])
        .starts_with(['<', '{', '['])
    {
        return None;
    }
    let stream = Stream::of(&text);
    let mut answer = Answer { api, ..Answer::new() };
    for event in &stream.events {
        answer.event(event)?;
        if answer.is_over {
            break;
        }
    }
    if !answer.is_over {
        answer.end(if stream.has_begun { FaultKind::Incomplete } else { FaultKind::NotStream });
    }
    Some(comparable(answer.deltas))
}

/// Deltas without what is not compared.
#[must_use]
pub fn comparable(deltas: Vec<Delta>) -> Vec<Delta> {
    let kept = deltas.into_iter().filter(|delta| !matches!(delta, Delta::Note(_)));
    let plain = |delta| match delta {
        Delta::Fault(fault) => fault_of(fault.kind),
        delta => delta,
    };
    joined(kept.map(plain))
}

fn fault_of(kind: FaultKind) -> Delta {
    Delta::Fault(Fault { kind, message: String::new(), body: String::new() })
}

#[derive(Default)]
struct Event {
    kind: String,
    data: Vec<String>,
    is_cut_off: bool,
}

#[derive(Default)]
struct Stream {
    events: Vec<Event>,
    has_begun: bool,
}

impl Stream {
    fn of(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.replace("\r\n", "\n").replace('\r', "\n");
        let (mut stream, mut event) = (Self::default(), Event::default());
        let ends_in_line = lines.ends_with('\n');
        let mut lines: Vec<&str> = lines.split('\n').collect();
        if ends_in_line || lines.last() == Some(&"") {
            lines.pop();
        }
        for line in lines {
            if line.is_empty() {
                let whole = std::mem::take(&mut event);
                stream.events.extend((!whole.data.is_empty()).then_some(whole));
                continue;
            }
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match name {
                "data" => event.data.push(value.to_owned()),
                "event" => value.clone_into(&mut event.kind),
                _ => {}
            }
            stream.has_begun |= ["", "data", "event", "id", "retry"].contains(&name);
        }
        if !event.data.is_empty() {
            stream.events.push(Event { is_cut_off: true, ..event });
        }
        stream
    }
}

struct Answer {
    api: Api,
    deltas: Vec<Delta>,
    calls: Vec<(Option<String>, Option<String>)>,
    /// By their number, the arguments of calls so far.
    arguments: HashMap<usize, String>,
    /// The number of a call by its index.
    numbers: HashMap<u64, usize>,
    /// Of Anthropic's open calls: the number by the index of the block, and whether there are no arguments yet.
    open: HashMap<u64, (usize, bool)>,
    counts: HashMap<&'static str, u64>,
    reason: Option<String>,
    details: Option<String>,
    refusal: String,
    signature: String,
    has_choices: bool,
    is_closed: bool,
    is_named: bool,
    is_over: bool,
}

impl Answer {
    fn new() -> Self {
        Self {
            api: Api::Completions,
            deltas: Vec::new(),
            calls: Vec::new(),
            arguments: HashMap::new(),
            numbers: HashMap::new(),
            open: HashMap::new(),
            counts: HashMap::new(),
            reason: None,
            details: None,
            refusal: String::new(),
            signature: String::new(),
            has_choices: false,
            is_closed: false,
            is_named: false,
            is_over: false,
        }
    }

    fn event(&mut self, event: &Event) -> Option<()> {
        let data = event.data.join("\n");
        let data = data.trim_matches(['\n', ' ', '\t', '\x0c', '\r']);
        if data.is_empty() || event.kind == "ping" {
            return Some(());
        }
        let value: Result<Value, _> = serde_json::from_str(data);
        let is_known = match &value {
            Ok(value) => !is_rewritten(value, data),
            Err(_) => !is_beyond(data),
        };
        if !is_known {
            return None;
        }
        let is_done = data.starts_with("[DONE]");
        if event.is_cut_off && !is_done && event.kind != "error" && value.is_err() {
            return Some(());
        }
        let was_whole = (self.is_ended() || self.reason.is_some())
            && !(self.api == Api::Completions && self.reason.as_deref() == Some("error"));
        let fault = match value {
            _ if is_done => {
                let number = self.calls.len().checked_sub(1);
                let is_bare = number.is_some_and(|number| self.has_no_arguments(number));
                let is_silent = !self.deltas.iter().any(says);
                let is_cut = is_bare || is_silent;
                self.end(if is_cut { FaultKind::Incomplete } else { FaultKind::NoReason });
                return Some(());
            }
            _ if event.kind == "error" => Some(FaultKind::Reported),
            Err(_) => Some(FaultKind::NotJson),
            Ok(value) => match self.api {
                Api::Completions => self.chunk(&value)?,
                Api::Messages => self.message(&value),
                other => unreachable!("the reference does not know {other:?}"),
            },
        };
        match fault {
            Some(_) if was_whole => self.end(FaultKind::Incomplete),
            Some(kind) => self.push_last(fault_of(kind)),
            None => {}
        }
        Some(())
    }

    fn has_no_arguments(&self, number: usize) -> bool {
        self.arguments.get(&number).is_none_or(String::is_empty)
    }

    /// Whether the usage has come after all choices, which ends an answer unless it may have been cut in a call.
    fn is_ended(&self) -> bool {
        let last = self.calls.len().checked_sub(1);
        self.is_closed && !last.is_some_and(|number| self.has_no_arguments(number))
    }

    /// Ends the answer, with a fault of this kind if nothing says that it is whole.
    fn end(&mut self, otherwise: FaultKind) {
        if !self.signature.is_empty() && self.reason.is_some() {
            self.deltas.push(Delta::Signature(std::mem::take(&mut self.signature)));
        }
        let end = if !self.refusal.is_empty() {
            Delta::Finish(Finish {
                reason: Some("refusal".into()),
                details: Some(self.refusal.clone()),
            })
        } else if self.is_ended() || self.reason.is_some() {
            Delta::Finish(Finish { reason: self.reason.clone(), details: self.details.clone() })
        } else {
            fault_of(otherwise)
        };
        self.push_last(end);
    }

    fn push_last(&mut self, delta: Delta) {
        self.deltas.push(delta);
        self.is_over = true;
    }

    fn say(&mut self, kind: fn(String) -> Delta, text: Option<&str>) {
        self.deltas.extend(text.filter(|text| !text.is_empty()).map(|text| kind(text.to_owned())));
    }

    fn name(&mut self, object: &Value) {
        let info = Info { id: text(object, "id"), model: text(object, "model") };
        if !self.is_named && info != Info::default() {
            self.is_named = true;
            self.deltas.push(Delta::Info(info));
        }
    }

    /// The fault that a chunk reports, if it does; `None` where the reference does not know.
    fn chunk(&mut self, chunk: &Value) -> Option<Option<FaultKind>> {
        self.name(chunk);
        let choices = chunk["choices"].as_array().cloned().unwrap_or_default();
        self.has_choices |= !choices.is_empty();
        self.is_closed &= choices.is_empty();
        let first = choices.iter().find(|choice| is_falsy(&choice["index"]));
        let in_choice = first.map_or(&Value::Null, |choice| &choice["usage"]);
        self.is_closed |= !chunk["usage"].is_null() && self.has_choices && choices.is_empty();
        let counted = if chunk["usage"].is_null() { in_choice } else { &chunk["usage"] };
        if counted.is_object() {
            self.deltas.push(Delta::Usage(usage(counted)));
        }
        for choice in choices.iter().filter(|choice| is_falsy(&choice["index"])) {
            self.choice(choice)?;
        }
        let is_error =
            !is_falsy(&chunk["error"]) || chunk["object"] == "error" || chunk["type"] == "error";
        Some(is_error.then_some(FaultKind::Reported))
    }

    fn choice(&mut self, choice: &Value) -> Option<()> {
        let delta = &choice["delta"];
        let named = ["reasoning_content", "reasoning", "thinking"];
        let reasoning = named.into_iter().find_map(|name| text(delta, name));
        self.say(Delta::Reasoning, reasoning.as_deref());
        for detail in items(&delta["reasoning_details"]) {
            if reasoning.is_none() {
                self.say(Delta::Reasoning, detail["text"].as_str());
                self.say(Delta::Reasoning, detail["summary"].as_str());
            }
            self.opaque(None, "reasoning_details", detail);
        }
        self.say(Delta::Text, delta["content"].as_str());
        for part in items(&delta["content"]) {
            let (kind, inner): (fn(String) -> Delta, _) = match part["type"].as_str() {
                Some("thinking") => (Delta::Reasoning, &part["thinking"]),
                _ => (Delta::Text, &part["text"]),
            };
            self.say(kind, inner.as_str());
            for inner in items(inner) {
                self.say(kind, inner["text"].as_str());
            }
        }
        self.opaque(None, "extra_content", &delta["extra_content"]);
        self.refusal += delta["refusal"].as_str().unwrap_or_default();
        self.say(Delta::Refusal, delta["refusal"].as_str());
        for call in items(&delta["tool_calls"]) {
            let number = self.call(call["index"].as_u64(), text(call, "id"), &call["function"])?;
            for name in call.as_object().into_iter().flat_map(|call| call.keys()) {
                if ["extra_content", "provider_specific_fields", "thought_signature"]
                    .contains(&&**name)
                {
                    self.opaque(Some(number), name, &call[name]);
                }
            }
        }
        if delta["function_call"].is_object() {
            self.call(None, None, &delta["function_call"])?;
        }
        self.say(Delta::Text, choice["text"].as_str());
        self.reason = text(choice, "finish_reason").or(self.reason.take());
        Some(())
    }

    fn opaque(&mut self, call: Option<usize>, name: &str, value: &Value) {
        if !value.is_null() {
            let (name, json) = (name.to_owned(), value.to_string());
            self.deltas.push(Delta::Opaque(Opaque { call, name, json }));
        }
    }

    fn call(&mut self, index: Option<u64>, id: Option<String>, function: &Value) -> Option<usize> {
        let name = text(function, "name");
        let known = match index {
            Some(index) => self.numbers.get(&index).copied(),
            None => self.calls.len().checked_sub(1),
        };
        let arguments = match &function["arguments"] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let is_whole = match known.filter(|number| self.calls[*number].0.is_none()) {
            Some(number) => is_whole(&self.arguments[&number])?,
            None => false,
        };
        let is_next = |number: &usize| match (&id, &name, &self.calls[*number]) {
            (Some(id), _, (Some(known), _)) => id != known,
            (_, Some(name), (_, Some(known))) => {
                index.is_none() || name != known || (is_whole && !arguments.is_empty())
            }
            _ => false,
        };
        let number = known.filter(|number| !is_next(number)).unwrap_or(self.calls.len());
        if number == self.calls.len() {
            self.calls.push((None, None));
        }
        if let Some(index) = index {
            self.numbers.insert(index, number);
        }
        let known = &mut self.calls[number];
        let piece = CallDelta {
            number,
            id: if known.0.is_none() { id.clone() } else { None },
            name: if known.1.is_none() { name.clone() } else { None },
            arguments,
        };
        self.arguments.entry(number).or_default().push_str(&piece.arguments);
        known.0 = known.0.take().or(id);
        known.1 = known.1.take().or(name);
        if piece != (CallDelta { number, ..CallDelta::default() }) {
            self.deltas.push(Delta::Call(piece));
        }
        Some(number)
    }

    fn message(&mut self, event: &Value) -> Option<FaultKind> {
        let index = event["index"].as_u64().unwrap_or(0);
        let (delta, block) = (&event["delta"], &event["content_block"]);
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                let message = &event["message"];
                let info = Info { id: text(message, "id"), model: text(message, "model") };
                self.deltas.push(Delta::Info(info));
                self.count(&message["usage"], true);
            }
            "content_block_start" => {
                self.say_signature();
                if !block.is_null() {
                    self.start_block(index, block);
                }
            }
            "content_block_delta" => match delta["type"].as_str() {
                Some("text_delta") => self.say(Delta::Text, delta["text"].as_str()),
                Some("thinking_delta") => self.say(Delta::Reasoning, delta["thinking"].as_str()),
                Some("signature_delta") => {
                    self.signature += delta["signature"].as_str().unwrap_or_default();
                }
                Some("input_json_delta") => {
                    if let Some((number, is_empty)) = self.open.get_mut(&index) {
                        let arguments = delta["partial_json"].as_str().unwrap_or_default();
                        *is_empty &= arguments.is_empty();
                        let number = *number;
                        self.add_arguments(number, arguments);
                    }
                }
                _ => {}
            },
            "content_block_stop" => {
                self.say_signature();
                if let Some((number, true)) = self.open.remove(&index) {
                    self.add_arguments(number, "{}");
                }
            }
            "message_delta" => {
                self.count(&event["usage"], false);
                self.reason = text(delta, "stop_reason").or(self.reason.take());
                let details = ["category", "explanation"];
                let details: Vec<String> =
                    details.iter().filter_map(|name| text(&delta["stop_details"], name)).collect();
                if !details.is_empty() {
                    self.details = Some(details.join(": "));
                }
            }
            "message_stop" => self.end(FaultKind::Incomplete),
            "ping" => {}
            "error" => return Some(FaultKind::Reported),
            _ if !event["error"].is_null() => return Some(FaultKind::Reported),
            _ => {}
        }
        None
    }

    fn start_block(&mut self, index: u64, block: &Value) {
        self.open.remove(&index);
        match block["type"].as_str() {
            Some("text") => self.say(Delta::Text, block["text"].as_str()),
            Some("thinking") => {
                self.say(Delta::Reasoning, block["thinking"].as_str());
                self.signature = text(block, "signature").unwrap_or_default();
            }
            Some("redacted_thinking") => {
                self.deltas.push(Delta::Redacted(text(block, "data").unwrap_or_default()));
            }
            Some("tool_use") => {
                let number = self.calls.len();
                self.calls.push((None, None));
                let is_empty = is_falsy(&block["input"]);
                self.deltas.push(Delta::Call(CallDelta {
                    number,
                    id: text(block, "id"),
                    name: text(block, "name"),
                    arguments: if is_empty { String::new() } else { block["input"].to_string() },
                }));
                self.open.insert(index, (number, is_empty));
            }
            _ => {}
        }
    }

    fn add_arguments(&mut self, number: usize, arguments: &str) {
        if !arguments.is_empty() {
            let arguments = arguments.to_owned();
            self.deltas.push(Delta::Call(CallDelta { number, arguments, ..CallDelta::default() }));
        }
    }

    fn say_signature(&mut self) {
        if !self.signature.is_empty() {
            self.deltas.push(Delta::Signature(std::mem::take(&mut self.signature)));
        }
    }

    fn count(&mut self, usage: &Value, is_estimate: bool) {
        for name in [
            "input_tokens",
            "output_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
        ] {
            if let Some(count) = usage[name].as_u64().filter(|count| *count > 0) {
                self.counts.insert(name, count);
            }
        }
        let thinking = usage["output_tokens_details"]["thinking_tokens"].as_u64();
        if let Some(thinking) = thinking.filter(|count| *count > 0) {
            self.counts.insert("thinking", thinking);
        }
        let of = |name| self.counts.get(name).copied().unwrap_or(0);
        self.deltas.push(Delta::Usage(Usage {
            input: of("input_tokens"),
            output: of("output_tokens").saturating_sub(of("thinking")),
            cache_read: of("cache_read_input_tokens"),
            cache_write: of("cache_creation_input_tokens"),
            reasoning: of("thinking"),
            is_estimate,
        }));
    }
}

/// Whether a delta has something of what the answer says.
fn says(delta: &Delta) -> bool {
    match delta {
        Delta::Text(text) | Delta::Reasoning(text) | Delta::Refusal(text) => !text.is_empty(),
        Delta::Call(call) => !call.arguments.is_empty(),
        Delta::Opaque(_) => true,
        _ => false,
    }
}

fn usage(counts: &Value) -> Usage {
    let of = |value: &Value| value.as_u64().unwrap_or(0);
    let (prompt, written) = (of(&counts["prompt_tokens"]), of(&counts["completion_tokens"]));
    let in_prompt = &counts["prompt_tokens_details"];
    let (read, kept) = (of(&in_prompt["cached_tokens"]), of(&in_prompt["cache_write_tokens"]));
    let reasoning = of(&counts["completion_tokens_details"]["reasoning_tokens"]);
    let total = i128::from(of(&counts["total_tokens"]));
    let left = total - i128::from(prompt.saturating_add(written));
    let is_beside = reasoning > 0 && i128::from(reasoning) <= left;
    Usage {
        input: prompt.saturating_sub(read).saturating_sub(kept),
        output: if is_beside { written } else { written.saturating_sub(reasoning) },
        cache_read: read,
        cache_write: kept,
        reasoning,
        is_estimate: false,
    }
}

/// A string that is not empty.
fn text(object: &Value, name: &str) -> Option<String> {
    object[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Whether a text begins with a whole object; `None` where `serde_json` refuses what the core may read.
fn is_whole(text: &str) -> Option<bool> {
    match serde_json::Deserializer::from_str(text).into_iter::<Value>().next() {
        _ if !text.trim_start_matches([' ', '\t', '\n', '\r']).starts_with('{') => Some(false),
        Some(Ok(_)) => Some(true),
        Some(Err(error)) if !error.is_eof() && is_beyond(text) => None,
        _ => Some(false),
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn is_falsy(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is_true) => !is_true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// Whether `serde_json` writes a number of a text in another way, such as `1e9` as `1e+9`.
fn is_rewritten(value: &Value, text: &str) -> bool {
    match value {
        Value::Number(number) => !text.contains(&number.to_string()),
        Value::Array(items) => items.iter().any(|item| is_rewritten(item, text)),
        Value::Object(fields) => fields.values().any(|field| is_rewritten(field, text)),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// Whether a text may be JSON for Python, which `serde_json` refuses.
fn is_beyond(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    text.contains("NaN")
        || text.contains("Infinity")
        || lower.contains("\\ud")
        || text.chars().any(|character| character < ' ')
        || text.matches(['[', '{']).count() > 100
}
