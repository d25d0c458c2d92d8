//! The characters of names, and what comes before a string.

use crate::text::space_width;

/// The most bytes that a name may have.
pub(super) const MAX_WORD: usize = 256;

/// What comes before a string's quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefix {
    None,
    Raw,
    /// Bytes, or text that Python would compute.
    Other,
}

impl Prefix {
    /// The prefix of a string that this word is.
    pub(super) fn of(word: &[u8]) -> Option<Self> {
        match word.to_ascii_lowercase().as_slice() {
            b"u" => Some(Self::None),
            b"r" => Some(Self::Raw),
            b"b" | b"f" | b"t" | b"br" | b"rb" | b"fr" | b"rf" | b"tr" | b"rt" => Some(Self::Other),
            _ => None,
        }
    }
}

/// Whether this byte begins or ends a string.
pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'')
}

/// Whether a name may begin with this byte.
pub(super) fn begins_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

/// Where the run of characters of names that goes on at `from` ends: letters of any script, digits, `_`, `-` and `.`.
pub(super) fn word_end(text: &[u8], from: usize) -> usize {
    let is_part = |at: usize| match text[at] {
        byte if byte.is_ascii() => byte.is_ascii_alphanumeric() || b"_-.".contains(&byte),
        _ => space_width(&text[at..]) == 0,
    };
    (from..text.len()).find(|&at| !is_part(at)).unwrap_or(text.len())
}
