//! Well-formed text that the peers are known to read wrongly; `tests/known_wrong.rs` has an example of each kind.

use serde_json::Value;

use crate::{Call, notation::schema};

/// A kind of text that a peer reads wrongly.
pub struct Fault {
    /// The peer, by [`crate::Peer::name`].
    pub peer: &'static str,
    /// The dialects in which it does.
    pub dialects: &'static [&'static str],
    /// Whether it does with whole texts, in a stream, or in both.
    pub when: When,
    /// Whether the fault shows with these calls, written as this text.
    pub shows: fn(text: &str, calls: &[Call]) -> bool,
}

/// How the peer was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// A whole text and a stream.
    Always,
    /// A whole text only.
    Whole,
    /// A stream only.
    Streamed,
}

/// Every fault that generated calls have shown.
pub const FAULTS: &[Fault] = &[
    // These dialects do not have entities: the text is verbatim.
    Fault {
        peer: "tool-parser",
        dialects: &["minimax-m2", "minimax-m3"],
        when: When::Always,
        shows: |text, _| text.contains('&'),
    },
    Fault {
        peer: "dynamo-parsers",
        dialects: &["qwen3-coder", "minimax-m2", "minimax-m3"],
        when: When::Always,
        shows: |text, _| text.contains('&'),
    },
    Fault {
        peer: "dynamo-parsers-v2",
        dialects: &["minimax-m2"],
        when: When::Always,
        shows: |text, _| text.contains('&'),
    },
    // Gives the items of a list one type.
    Fault {
        peer: "tool-parser",
        dialects: &["gemma4"],
        when: When::Always,
        shows: |_, calls| calls.iter().any(|(_, args)| has_mixed_list(args)),
    },
    // Counts bytes as characters, and panics if that cuts a character.
    Fault {
        peer: "tool-parser",
        dialects: &["pythonic"],
        when: When::Streamed,
        shows: |text, _| !text.is_ascii(),
    },
    // Wants a space after the mark, which not every model writes.
    Fault {
        peer: "tool-parser",
        dialects: &["mistral"],
        when: When::Always,
        shows: |text, _| text.contains("[TOOL_CALLS]["),
    },
    // Wants the line break after the name, which the model's template has even for a call without arguments.
    Fault {
        peer: "tool-parser",
        dialects: &["glm45"],
        when: When::Always,
        shows: |text, calls| {
            calls.iter().any(|(name, _)| text.contains(&format!("<tool_call>{name}</tool_call>")))
        },
    },
    // Never finds the end of its section.
    Fault { peer: "tool-parser", dialects: &["cohere"], when: When::Streamed, shows: |_, _| true },
    // Takes one object only.
    Fault {
        peer: "dynamo-parsers",
        dialects: &["llama3-json"],
        when: When::Always,
        shows: |_, calls| calls.len() > 1,
    },
    // Drops arguments below zero.
    Fault {
        peer: "dynamo-parsers",
        dialects: &["pythonic"],
        when: When::Always,
        shows: |_, calls| calls.iter().any(|(_, args)| has_negative(args)),
    },
];

/// Whether a peer is known to read this wrongly.
pub fn known(peer: &str, dialect: &str, how: When, text: &str, calls: &[Call]) -> bool {
    FAULTS.iter().any(|fault| {
        fault.peer == peer
            && fault.dialects.contains(&dialect)
            && (fault.when == When::Always || fault.when == how)
            && (fault.shows)(text, calls)
    })
}

fn has_mixed_list(value: &Value) -> bool {
    match value {
        Value::Array(items) => {
            items.iter().any(|item| has_mixed_list(item) || schema(item) != schema(&items[0]))
        }
        Value::Object(members) => members.values().any(has_mixed_list),
        _ => false,
    }
}

fn has_negative(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_some_and(f64::is_sign_negative),
        Value::Array(items) => items.iter().any(has_negative),
        Value::Object(members) => members.values().any(has_negative),
        _ => false,
    }
}
