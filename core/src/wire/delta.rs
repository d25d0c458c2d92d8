//! The pieces of an answer while it streams.

use thiserror::Error;

use super::Fault;

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta {
    /// What the answer is called; comes once, first.
    Info(Info),
    /// The next piece of the text.
    Text(String),
    /// The next piece of the reasoning.
    Reasoning(String),
    /// What the provider wants back with the block of reasoning before it, whole.
    Signature(String),
    /// A block of reasoning that only the provider can read, whole.
    Redacted(String),
    /// The next piece of a call.
    Call(CallDelta),
    /// The next piece of the words with which the model refuses to answer.
    Refusal(String),
    /// How many tokens were used so far. The last one counts: providers report sums.
    Usage(Usage),
    /// The end of the answer.
    Finish(Finish),
    /// A field that the server wants back.
    Opaque(Opaque),
    /// A field that has no delta of its own.
    Extra(Extra),
    /// What was wrong but could still be read.
    Note(Note),
    /// Why the answer is not complete; nothing comes after it.
    Fault(Fault),
}

/// What the answer is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// The provider's id of the answer.
    pub id: Option<String>,
    /// The model that answers, in the server's words.
    pub model: Option<String>,
}

/// A piece of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallDelta {
    /// The call's place in the answer, from 0, whatever numbers the server gave.
    pub number: usize,
    /// The server's id of the call; comes once.
    pub id: Option<String>,
    /// The tool's name; comes once.
    pub name: Option<String>,
    /// The next piece of the arguments, JSON text.
    pub arguments: String,
}

/// How many tokens were used. The parts do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read by the model, and not from a cache.
    pub input: u64,
    /// Written by the model, without its reasoning.
    pub output: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
    /// Written to the provider's cache.
    pub cache_write: u64,
    /// Written as reasoning, if the provider counts it apart.
    pub reasoning: u64,
    /// Whether the answer is not counted yet.
    pub is_estimate: bool,
}

/// The end of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finish {
    /// The provider's word for why it ended, as it is; `None` if the provider said that it is complete, and no more. The word may
    /// also mean that the server gave up, as `abort` does.
    pub reason: Option<String>,
    /// What the provider or the model said about it: the words of a refusal.
    pub details: Option<String>,
}

/// A field that only the server can read, and that it wants back with the answer, such as the signature of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// The number of the call that it is a field of; `None` if it is one of the answer itself.
    pub call: Option<usize>,
    /// Its name.
    pub name: String,
    /// Its value, as the server wrote it; of a list that comes in pieces, one item.
    pub json: String,
}

/// A field that has no delta of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    /// Where it is, such as `choices.logprobs` or `usage.cost`: its name, and those of what it is in.
    pub path: String,
    /// Its value, as the server wrote it.
    pub json: String,
}

/// What was wrong but could still be read. Each kind comes once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Note {
    /// Bytes are not UTF-8.
    #[error("the stream has bytes that are not UTF-8; each of them was read as U+FFFD")]
    NotUtf8,
    /// Half of a surrogate pair, whose other half is missing.
    #[error("the stream has half of a surrogate pair without the other; it was read as U+FFFD")]
    LoneSurrogate,
    /// Two different finish reasons.
    #[error("the stream has two different finish reasons; the last one counts")]
    SecondFinish,
    /// An event after the end of the answer.
    #[error("something came after the end of the answer; it was not read")]
    AfterEnd,
}

impl Delta {
    /// Adds a neighbour of the same kind to this delta, or gives it back.
    fn join(&mut self, next: Delta) -> Option<Delta> {
        match (self, next) {
            (Delta::Text(text), Delta::Text(more))
            | (Delta::Reasoning(text), Delta::Reasoning(more))
            | (Delta::Refusal(text), Delta::Refusal(more)) => text.push_str(&more),
            (Delta::Call(call), Delta::Call(more)) if call.number == more.number => {
                call.id = call.id.take().or(more.id);
                call.name = call.name.take().or(more.name);
                call.arguments.push_str(&more.arguments);
            }
            (_, next) => return Some(next),
        }
        None
    }
}

impl Delta {
    /// About how many bytes it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let texts = match self {
            Delta::Text(text)
            | Delta::Reasoning(text)
            | Delta::Signature(text)
            | Delta::Redacted(text)
            | Delta::Refusal(text) => text.len(),
            Delta::Call(call) => call.arguments.len(),
            Delta::Opaque(opaque) => opaque.name.len() + opaque.json.len(),
            Delta::Extra(extra) => extra.path.len() + extra.json.len(),
            Delta::Fault(fault) => fault.body.len(),
            Delta::Info(_) | Delta::Usage(_) | Delta::Finish(_) | Delta::Note(_) => 0,
        };
        texts + size_of::<Self>()
    }
}

/// Adds the deltas of a later feed, which leaves none of them. Neighbours of one kind are joined. A usage between two pieces of one
/// text comes before the text: code that acts on the text knows the usage. Of two usages one after the other, the last is kept.
pub fn append(deltas: &mut Vec<Delta>, later: &mut Vec<Delta>) {
    let is_usage = |delta: &mut Delta| matches!(delta, Delta::Usage(_));
    for delta in later.drain(..) {
        let usage = deltas.pop_if(is_usage);
        if matches!(delta, Delta::Usage(_)) {
            deltas.push(delta);
            continue;
        }
        let unlike = match deltas.last_mut() {
            Some(last) => last.join(delta),
            None => Some(delta),
        };
        match (unlike, usage) {
            (None, Some(usage)) => {
                let text = deltas.pop();
                deltas.pop_if(is_usage);
                deltas.push(usage);
                deltas.extend(text);
            }
            (unlike, usage) => deltas.extend(usage.into_iter().chain(unlike)),
        }
    }
}

/// Deltas with neighbours of one kind as one delta, and with the last usage alone, before the end: the same for every way in
/// which the bytes of an answer were cut.
#[must_use]
pub fn joined(deltas: impl IntoIterator<Item = Delta>) -> Vec<Delta> {
    let (mut joined, mut usage): (Vec<Delta>, _) = (Vec::new(), None);
    for delta in deltas {
        if let Delta::Usage(last) = delta {
            usage = Some(last);
            continue;
        }
        let unlike = match joined.last_mut() {
            Some(last) => last.join(delta),
            None => Some(delta),
        };
        joined.extend(unlike);
    }
    let end = joined.iter().position(|delta| matches!(delta, Delta::Finish(_) | Delta::Fault(_)));
    if let Some(usage) = usage {
        joined.insert(end.unwrap_or(joined.len()), Delta::Usage(usage));
    }
    joined
}
