//! Which API an answer comes from, and how it is read.

/// The API that an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Api {
    /// `OpenAI`'s chat completions and completions, and Ollama's own API.
    Completions,
    /// Anthropic's messages.
    Messages,
}

/// What becomes of fields that have no delta of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extras {
    /// They are left out.
    #[default]
    Dropped,
    /// Each is a [`Delta::Extra`](super::Delta::Extra).
    Kept,
}

/// A text that must not be shown, such as a key.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    text: String,
    instead: String,
}

impl Secret {
    /// A secret, and what is shown in its place.
    #[must_use]
    pub fn new(text: impl Into<String>, instead: impl Into<String>) -> Self {
        Self { text: text.into(), instead: instead.into() }
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Secret").field(&self.instead).finish()
    }
}

/// How an answer is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// What becomes of fields that have no delta of their own.
    pub extras: Extras,
    /// The most bytes that one line or event may have.
    pub max_bytes: usize,
    /// The most bytes of an answer in all, once decompressed.
    pub max_stream: usize,
    /// The most bytes of what an answer says: its text, its reasoning and its calls.
    pub max_answer: usize,
    /// What is part of no fault, and of nothing else that the server says but the model's text, reasoning and arguments.
    pub secrets: Vec<Secret>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            extras: Extras::Dropped,
            max_bytes: 16 << 20,
            max_stream: 512 << 20,
            max_answer: 64 << 20,
            secrets: Vec::new(),
        }
    }
}

/// `text` with what is shown in the place of each secret; the longest secrets first, since one may be a part of another.
#[must_use]
pub fn hidden(text: &str, secrets: &[Secret]) -> String {
    let mut secrets: Vec<&Secret> =
        secrets.iter().filter(|secret| !secret.text.is_empty()).collect();
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.text.len()));
    let mut text = text.to_owned();
    for secret in secrets {
        if text.contains(&secret.text) {
            text = text.replace(&secret.text, &secret.instead);
        }
    }
    text
}

/// Hides secrets in a word with a meaning, such as an id or a reason. A short one is left alone: a key may be the word `stop`.
pub(super) fn hide_in_word(word: &mut String, secrets: &[Secret]) {
    let is_key = |secret: &&Secret| secret.text.len() >= SHORTEST_IN_WORD;
    if secrets.iter().filter(is_key).any(|secret| word.contains(&secret.text)) {
        let keys: Vec<Secret> = secrets.iter().filter(is_key).cloned().collect();
        *word = hidden(word, &keys);
    }
}

/// Bytes of the shortest secret that is looked for in a word with a meaning.
const SHORTEST_IN_WORD: usize = 8;

/// The beginning of a text that was cut, without the beginning of a secret at its end.
pub(super) fn without_begun_secret<'a>(text: &'a str, secrets: &[Secret]) -> &'a str {
    let begun = |secret: &Secret| {
        let lengths = secret.text.char_indices().map(|(at, _)| at).rev();
        lengths.into_iter().find(|&length| text.ends_with(&secret.text[..length])).unwrap_or(0)
    };
    &text[..text.len() - secrets.iter().map(begun).max().unwrap_or(0)]
}
