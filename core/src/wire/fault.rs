//! Why an answer is not complete, in one sentence.

use thiserror::Error;

use super::options::{Secret, hidden};

/// Why an answer is not complete. No text of it has a secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What the server sent: the error that it reported, as JSON or in its words; else the beginning of what could not be read.
    pub body: String,
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// The server reported an error.
    Reported,
    /// The answer is a page, JSON or text, not a stream of events.
    NotStream,
    /// The data of an event is not JSON.
    NotJson,
    /// An event, or the whole answer, is longer than the limit.
    TooLong,
    /// The stream ended before the answer did.
    Incomplete,
    /// The server said that the stream is over, and not why the answer ended, as some servers never do.
    NoReason,
    /// The caller said that the stream broke off.
    BrokenOff,
}

/// Characters of what came that a message quotes.
const QUOTED: usize = 80;

/// Characters of the server's own words in a message.
const WORDS: usize = 300;

impl Fault {
    pub(super) fn new(kind: FaultKind, message: &str, body: &str, secrets: &[Secret]) -> Self {
        Self { kind, message: hidden(message, secrets), body: hidden_json(body, secrets) }
    }

    /// A fault that quotes the beginning of what came.
    pub(super) fn quoting(kind: FaultKind, what: &str, body: &str, secrets: &[Secret]) -> Self {
        let body = hidden_json(body, secrets);
        let quoted = in_one_line(&body, QUOTED);
        let quoted = if quoted.is_empty() { quoted } else { format!(": {quoted:?}") };
        Self { kind, message: hidden(what, secrets) + &quoted, body }
    }

    /// An error that the server reported in these words.
    pub(super) fn reported(words: &str, body: &str, secrets: &[Secret]) -> Self {
        let words = in_one_line(&hidden(words, secrets), WORDS);
        let words = if words.is_empty() { words } else { format!(": {words}") };
        let message = format!("the server reported an error{words}");
        Self { kind: FaultKind::Reported, message, body: hidden_json(body, secrets) }
    }
}

/// The beginning of a text, with each run of white space as one space.
fn in_one_line(text: &str, characters: usize) -> String {
    let mut line = String::new();
    let mut left = characters;
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        for character in word.chars() {
            if left == 0 {
                line.push('…');
                return line;
            }
            line.push(character);
            left -= 1;
        }
    }
    line
}

/// JSON without secrets, in which characters may be escaped that need not be.
pub(super) fn hidden_json(text: &str, secrets: &[Secret]) -> String {
    hidden(&unescaped(text), secrets)
}

/// JSON in which no character is escaped that need not be.
fn unescaped(text: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(backslash) = rest.find('\\') {
        plain.push_str(&rest[..backslash]);
        rest = &rest[backslash..];
        let unit = rest.strip_prefix("\\u").and_then(|digits| digits.get(..4));
        let code = unit.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let (character, width) = match (code.map(char::from), rest[1..].chars().next()) {
            (Some(character @ (' '..='~')), _) if !matches!(character, '"' | '\\') => {
                (character, 6)
            }
            (_, Some('/')) => ('/', 2),
            (_, next) => {
                plain.push('\\');
                let Some(next) = next else { return plain };
                (next, 1 + next.len_utf8())
            }
        };
        plain.push(character);
        rest = &rest[width..];
    }
    plain + rest
}
