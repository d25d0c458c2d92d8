//! Where deltas are put: joins neighbours, and puts surrogate pairs together that a server cut in two.

use super::delta::{CallDelta, Delta, Extra, Note, Opaque, Usage};
use super::fault::hidden_json;
use super::options::{Extras, Options, Secret, hidden, hide_in_word};
use crate::json::{Piece, Raw, pieces};

/// What a piece of text belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    Text,
    Reasoning,
    Refusal,
    /// The arguments of the call with this number.
    Arguments(usize),
}

/// What is remembered from one feed to the next.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    /// The first half of a surrogate pair, whose other half may be in the next piece.
    half: Option<(Channel, u16)>,
    noted: Vec<Note>,
    /// How many bytes the answer has said so far, as JSON writes them.
    said: usize,
}

/// The deltas of one feed.
pub struct Sink<'o> {
    deltas: &'o mut Vec<Delta>,
    /// Deltas before this one are those of earlier feeds.
    start: usize,
    usage_at: Option<usize>,
    pending: &'o mut Pending,
    options: &'o Options,
}

impl<'o> Sink<'o> {
    pub fn new(deltas: &'o mut Vec<Delta>, pending: &'o mut Pending, options: &'o Options) -> Self {
        Self { start: deltas.len(), deltas, usage_at: None, pending, options }
    }

    /// What becomes of fields that have no delta of their own.
    pub fn extras(&self) -> Extras {
        self.options.extras
    }

    /// How many bytes of text, reasoning and calls have come so far.
    pub fn said(&self) -> usize {
        self.pending.said
    }

    /// Adds a delta that is not joined to others.
    pub fn push(&mut self, mut delta: Delta) {
        hide(&mut delta, &self.options.secrets);
        if let Delta::Signature(text) | Delta::Redacted(text) = &delta {
            self.pending.said += text.len();
        }
        self.end_half();
        self.deltas.push(delta);
    }

    /// Adds a piece of text, which is given as JSON writes it, without its quotes.
    pub fn text(&mut self, channel: Channel, quoted: &str) {
        if quoted.is_empty() {
            return;
        }
        self.pending.said += quoted.len();
        if self.pending.half.is_none() && memchr::memchr(b'\\', quoted.as_bytes()).is_none() {
            return self.tail(channel).push_str(quoted);
        }
        self.escaped(channel, quoted);
    }

    /// Adds text that is not quoted.
    pub fn plain(&mut self, channel: Channel, text: &str) {
        if !text.is_empty() {
            self.pending.said += text.len();
            self.end_half();
            self.tail(channel).push_str(text);
        }
    }

    /// Begins a call, or adds to it, without arguments.
    pub fn call(&mut self, mut call: CallDelta) {
        hide_in_call(&mut call, &self.options.secrets);
        if call.id.is_none() && call.name.is_none() {
            return;
        }
        self.end_half_unless(Channel::Arguments(call.number));
        match self.last_call(call.number) {
            Some(last) => {
                last.id = last.id.take().or(call.id);
                last.name = last.name.take().or(call.name);
            }
            None => self.deltas.push(Delta::Call(call)),
        }
    }

    /// Adds the usage so far. Of those of one feed the last is kept, in the place of the first, before what it counts.
    pub fn usage(&mut self, usage: Usage) {
        match self.usage_at {
            Some(at) => self.deltas[at] = Delta::Usage(usage),
            None => {
                self.usage_at = Some(self.deltas.len());
                self.deltas.push(Delta::Usage(usage));
            }
        }
    }

    /// Adds a field that has no delta of its own, if anyone asks for it.
    pub fn extra(&mut self, parent: &str, name: &str, value: Raw<'_>) {
        if self.options.extras == Extras::Kept && !value.is_null() {
            let path = if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") };
            self.push(Delta::Extra(Extra { path, json: value.json().to_owned() }));
        }
    }

    /// Adds a field that the server wants back, unless it is `null`.
    pub fn opaque(&mut self, call: Option<usize>, name: &str, value: Raw<'_>) {
        if !value.is_null() {
            let json = value.json().to_owned();
            self.pending.said += json.len();
            self.push(Delta::Opaque(Opaque { call, name: name.to_owned(), json }));
        }
    }

    /// Adds a note, unless one of its kind was added before.
    pub fn note(&mut self, note: Note) {
        if !self.pending.noted.contains(&note) {
            self.pending.noted.push(note);
            self.deltas.push(Delta::Note(note));
        }
    }

    /// Adds U+FFFD for half of a surrogate pair, if the other half has not come.
    pub fn end_half(&mut self) {
        if let Some((channel, _)) = self.pending.half.take() {
            self.note(Note::LoneSurrogate);
            self.tail(channel).push('\u{fffd}');
        }
    }

    fn end_half_unless(&mut self, channel: Channel) {
        if self.pending.half.is_some_and(|(of, _)| of != channel) {
            self.end_half();
        }
    }

    fn escaped(&mut self, channel: Channel, quoted: &str) {
        self.end_half_unless(channel);
        for piece in pieces(quoted) {
            let half = self.pending.half.take();
            match (half, piece) {
                (Some((_, high)), Piece::Unit(low @ 0xdc00..0xe000)) => {
                    let pair = char::decode_utf16([high, low]).next();
                    let character = pair.and_then(Result::ok).unwrap_or('\u{fffd}');
                    self.tail(channel).push(character);
                    continue;
                }
                (Some(_), _) => self.lone(channel),
                (None, _) => {}
            }
            match piece {
                Piece::Plain(text) => self.tail(channel).push_str(text),
                Piece::Unit(high @ 0xd800..0xdc00) => self.pending.half = Some((channel, high)),
                Piece::Unit(unit) => match char::from_u32(u32::from(unit)) {
                    Some(character) => self.tail(channel).push(character),
                    None => self.lone(channel),
                },
            }
        }
    }

    fn lone(&mut self, channel: Channel) {
        self.note(Note::LoneSurrogate);
        self.tail(channel).push('\u{fffd}');
    }

    fn last_call(&mut self, number: usize) -> Option<&mut CallDelta> {
        match self.deltas[self.start..].last_mut() {
            Some(Delta::Call(call)) if call.number == number => Some(call),
            _ => None,
        }
    }

    /// The text that the next piece of a channel is added to: that of the last delta, if it is of this channel.
    fn tail(&mut self, channel: Channel) -> &mut String {
        let last = self.deltas[self.start..].last();
        let is_same = match (channel, last) {
            (Channel::Text, Some(Delta::Text(_)))
            | (Channel::Reasoning, Some(Delta::Reasoning(_)))
            | (Channel::Refusal, Some(Delta::Refusal(_))) => true,
            (Channel::Arguments(number), Some(Delta::Call(call))) => call.number == number,
            _ => false,
        };
        if !is_same {
            self.deltas.push(match channel {
                Channel::Text => Delta::Text(String::new()),
                Channel::Reasoning => Delta::Reasoning(String::new()),
                Channel::Refusal => Delta::Refusal(String::new()),
                Channel::Arguments(number) => {
                    Delta::Call(CallDelta { number, ..CallDelta::default() })
                }
            });
        }
        match self.deltas.last_mut() {
            Some(Delta::Text(text) | Delta::Reasoning(text) | Delta::Refusal(text)) => text,
            Some(Delta::Call(call)) => &mut call.arguments,
            _ => unreachable!("it was added above"),
        }
    }
}

/// Hides what must not be shown in all that the server says but the model's text, reasoning and arguments: those come in pieces,
/// and the model knows no key.
fn hide(delta: &mut Delta, secrets: &[Secret]) {
    if secrets.is_empty() {
        return;
    }
    match delta {
        Delta::Info(info) => {
            info.id.iter_mut().chain(&mut info.model).for_each(|word| hide_in_word(word, secrets));
        }
        Delta::Call(call) => hide_in_call(call, secrets),
        Delta::Finish(finish) => {
            finish.reason.iter_mut().for_each(|word| hide_in_word(word, secrets));
            finish.details.iter_mut().for_each(|text| *text = hidden(text, secrets));
        }
        Delta::Extra(extra) => {
            hide_in_word(&mut extra.path, secrets);
            hide_in_json(&mut extra.json, secrets);
        }
        Delta::Opaque(opaque) => hide_in_json(&mut opaque.json, secrets),
        Delta::Signature(text) | Delta::Redacted(text) => hide_in_word(text, secrets),
        Delta::Text(_)
        | Delta::Reasoning(_)
        | Delta::Refusal(_)
        | Delta::Usage(_)
        | Delta::Note(_)
        | Delta::Fault(_) => {}
    }
}

/// Nearly always there is nothing to hide, and the text stays as the server wrote it.
fn hide_in_json(json: &mut String, secrets: &[Secret]) {
    let without = hidden_json(json, secrets);
    if without != hidden_json(json, &[]) {
        *json = without;
    }
}

fn hide_in_call(call: &mut CallDelta, secrets: &[Secret]) {
    call.id.iter_mut().chain(&mut call.name).for_each(|word| hide_in_word(word, secrets));
}
