//! Other parsers of tool calls, all asked the same way: they get a text or its chunks, and the tools, and give the calls.
//!
//! Each peer is a module with the functions of [`Peer`]; [`PEERS`] names them all. A dialect is named as
//! `Dialect::preset` of the core names it; a peer that has no parser for it answers [`None`].

use serde_json::Value;

pub mod dynamo;
pub mod dynamo_v2;
pub mod faults;
pub mod notation;
pub mod ours;
pub mod sample;
pub mod toolparser;
pub mod writers;

/// The name and the arguments of a call. Arguments that are not JSON are the string that the peer gave.
pub type Call = (String, Value);

/// Reads a whole text of a dialect, with tools as `{"type": "function", "function": {…}}`.
pub type Whole = fn(dialect: &str, text: &str, tools: &[Value]) -> Option<Vec<Call>>;

/// Reads a text of a dialect that comes in chunks.
pub type Stream = fn(dialect: &str, chunks: &[&str], tools: &[Value]) -> Option<Vec<Call>>;

/// One of the other parsers.
pub struct Peer {
    /// The crate it comes from.
    pub name: &'static str,
    /// The calls of a whole text; none if the peer fails.
    pub calls: Whole,
    /// The calls of a text in chunks; none if the peer fails.
    pub stream: Stream,
}

/// Every peer.
pub const PEERS: [Peer; 3] = [
    Peer { name: "tool-parser", calls: toolparser::calls, stream: toolparser::stream },
    Peer { name: "dynamo-parsers", calls: dynamo::calls, stream: dynamo::stream },
    Peer { name: "dynamo-parsers-v2", calls: dynamo_v2::calls, stream: dynamo_v2::stream },
];

/// What `name` stands for in a table of pairs.
fn looked_up(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(dialect, _)| *dialect == name).map(|(_, parser)| *parser)
}

/// Arguments as a peer hands them out: text that should be JSON. An empty text means no arguments.
fn arguments(text: &str) -> Value {
    let text = if text.trim().is_empty() { "{}" } else { text };
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// Whether the tokens of harmony can be had without the network: `TIKTOKEN_ENCODINGS_BASE` names the folder that
/// holds `o200k_base.tiktoken`. Both dynamo crates would download that file, and cannot read a call without it.
pub fn harmony_tokens() -> bool {
    std::env::var_os("TIKTOKEN_ENCODINGS_BASE").is_some()
}

/// The calls of a stream whose pieces name the call that they belong to.
#[derive(Default)]
struct Pieces(std::collections::BTreeMap<usize, (String, String)>);

impl Pieces {
    fn add(&mut self, index: usize, name: Option<&str>, arguments: &str) {
        let call = self.0.entry(index).or_default();
        call.0.push_str(name.unwrap_or_default());
        call.1.push_str(arguments);
    }

    fn calls(self) -> Vec<Call> {
        self.0.into_values().map(|(name, text)| (name, arguments(&text))).collect()
    }
}
