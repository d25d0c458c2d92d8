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
pub enum FaultKind {
    /// The server reported an error.
    Reported,
    /// The answer is a page, JSON or text, not a stream of events.
    NotStream,
    /// The data of an event is not JSON.
    NotJson,
    /// An event is longer than the limit.
    TooLong,
    /// The stream ended before the answer did.
    Incomplete,
    /// The caller said that the stream broke off.
    BrokenOff,
}

/// Characters of what came that a message quotes.
const QUOTED: usize = 80;

/// Characters of the server's own words in a message.
const WORDS: usize = 300;

impl Fault {
    pub(super) fn new(kind: FaultKind, message: &str, body: &str, secrets: &[Secret]) -> Self {
        Self { kind, message: hidden(message, secrets), body: hidden(body, secrets) }
    }

    /// A fault that quotes the beginning of what came.
    pub(super) fn quoting(kind: FaultKind, what: &str, body: &str, secrets: &[Secret]) -> Self {
        let body = hidden(body, secrets);
        let quoted = in_one_line(&body, QUOTED);
        let message = match quoted.is_empty() {
            true => hidden(what, secrets),
            false => format!("{}: {quoted:?}", hidden(what, secrets)),
        };
        Self { kind, message, body }
    }

    /// An error that the server reported in these words.
    pub(super) fn reported(words: &str, body: &str, secrets: &[Secret]) -> Self {
        let words = in_one_line(&hidden(words, secrets), WORDS);
        let message = match words.is_empty() {
            true => "the server reported an error".to_owned(),
            false => format!("the server reported an error: {words}"),
        };
        Self { kind: FaultKind::Reported, message, body: hidden(body, secrets) }
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
