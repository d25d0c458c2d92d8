//! Bytes of a provider's answer to deltas: text, reasoning, calls, usage, and how it ended.
//!
//! [`Reader`] is fed bytes as the network brings them, cut anywhere, and gives [`Delta`]s. It reads `OpenAI`'s chat completions
//! and completions, and what other servers add to them; Anthropic's messages; and the lines of JSON of Ollama's own API. [`Events`],
//! beneath it, reads server-sent events of any kind.
//!
//! ```
//! use cogency_rs::wire::{Api, Delta, Options, Reader};
//!
//! let (mut reader, mut deltas) = (Reader::new(Api::Completions, Options::default()), Vec::new());
//! for bytes in [
//!     "data: {\"choices\": [{\"delta\": {\"content\": \"Hel\"}}]}\n\nda",
//!     "ta: {\"choices\": [{\"delta\": {\"content\": \"lo\"}, \"finish_reason\": \"stop\"}]}\n\ndata: [DONE]\n\n",
//! ] {
//!     reader.feed(bytes.as_bytes(), &mut deltas);
//! }
//! reader.finish(&mut deltas);
//! assert_eq!(deltas[..2], [Delta::Text("Hel".into()), Delta::Text("lo".into())]);
//! assert!(matches!(&deltas[2], Delta::Finish(end) if end.reason.as_deref() == Some("stop")));
//! ```
//!
//! Invariants: however the bytes are cut, the deltas are the same, once neighbours of one kind are joined ([`joined`]); what
//! came before a [`Fault`] is kept, and nothing comes after it; no text of a fault or a note has a secret in it; and of one
//! line or event, [`Options::max_bytes`] are held at most; no more is read of an answer than [`Options::max_stream`] and
//! [`Options::max_answer`] allow.
//!
//! The room reads no clock and no socket, and of the others it knows only `json`.

mod calls;
mod completions;
mod delta;
mod events;
mod fault;
mod messages;
mod not_stream;
mod ollama;
mod options;
mod reader;
mod sink;
#[cfg(test)]
mod tests;
mod usage;

pub use delta::{CallDelta, Delta, Extra, Finish, Info, Note, Opaque, Usage, append, joined};
pub use events::{Event, Events, TooLong};
pub use fault::{Fault, FaultKind};
pub use options::{Api, Extras, Options, Secret, hidden};
pub use reader::Reader;
