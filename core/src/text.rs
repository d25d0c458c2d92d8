//! Text as Python holds it.
//!
//! A Python `str` may hold lone surrogates, which UTF-8 cannot. So that nothing is lost, the core works on
//! *generalised UTF-8*: UTF-8 in which a surrogate may appear as the three bytes its number gives (Python's
//! `surrogatepass`). ASCII bytes mean the same in both, and the protocol's syntax is ASCII.

use std::borrow::Cow;
use std::fmt;
use std::str::Utf8Chunk;

/// A piece of generalised UTF-8.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Text(Vec<u8>);

impl Text {
    /// The bytes, generalised UTF-8.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text. Half of a pair of surrogates, which only an escape in JSON can be, is U+FFFD in it.
    #[must_use]
    pub fn as_str(&self) -> Cow<'_, str> {
        let text = |chunk: Utf8Chunk<'_>| {
            // A surrogate is three bytes, each of them invalid.
            let is_lost = chunk.invalid().first() == Some(&0xed);
            [chunk.valid(), if is_lost { "\u{fffd}" } else { "" }].concat()
        };
        match std::str::from_utf8(&self.0) {
            Ok(text) => text.into(),
            Err(_) => self.0.utf8_chunks().map(text).collect::<String>().into(),
        }
    }

    /// The text as UTF-8, or `None` when it holds a lone surrogate.
    #[must_use]
    pub fn to_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// Whether there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is only whitespace, or no text.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        is_blank(&self.0)
    }

    /// Makes room for this many more bytes.
    pub fn reserve(&mut self, additional: usize) {
        self.0.reserve(additional);
    }

    /// Adds `more` at the end.
    pub fn push(&mut self, more: &[u8]) {
        self.0.extend_from_slice(more);
    }

    /// The text without the whitespace at both ends, as Python's `str.strip` does it.
    #[must_use]
    pub fn stripped(self) -> Self {
        self.without_end_space().without_start_space()
    }

    /// The text without the whitespace at its start.
    #[must_use]
    pub fn without_start_space(mut self) -> Self {
        self.0.drain(..leading_space(&self.0));
        self
    }

    /// The text without the whitespace at its end.
    #[must_use]
    pub fn without_end_space(mut self) -> Self {
        let start = leading_space(&self.0);
        self.0.truncate(start + trim(&self.0).len());
        self
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl From<Cow<'_, [u8]>> for Text {
    fn from(bytes: Cow<'_, [u8]>) -> Self {
        Self(bytes.into_owned())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.as_str(), f)
    }
}

/// Adds a code point; a surrogate stays one.
pub fn push_code_point(text: &mut Vec<u8>, code: u32) {
    match char::from_u32(code) {
        Some(character) => text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        None => {
            let six_bits = |shift: u32| (code >> shift & 0x3f).to_le_bytes()[0] | 0x80;
            text.extend([0xed, six_bits(6), six_bits(0)]);
        }
    }
}

/// How many bytes the whitespace character at the start of `bytes` takes; 0 when there is none.
///
/// Whitespace is what Python's `str.isspace` says, which is Unicode's `White_Space` and U+001C to U+001F.
#[must_use]
pub fn space_width(bytes: &[u8]) -> usize {
    match bytes {
        [0x09..=0x0d | 0x1c..=0x20, ..] => 1,
        [0xc2, 0x85 | 0xa0, ..] => 2,
        [0xe1, 0x9a, 0x80, ..]
        | [0xe2, 0x80, 0x80..=0x8a | 0xa8 | 0xa9 | 0xaf, ..]
        | [0xe2, 0x81, 0x9f, ..]
        | [0xe3, 0x80, 0x80, ..] => 3,
        _ => 0,
    }
}

/// How many bytes of whitespace `bytes` begins with.
#[must_use]
pub fn leading_space(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match space_width(&bytes[at..]) {
            0 => return at,
            width => at += width,
        }
    }
}

/// Whether `bytes` is only whitespace, or empty.
#[must_use]
pub fn is_blank(bytes: &[u8]) -> bool {
    leading_space(bytes) == bytes.len()
}

/// `bytes` without the whitespace at both ends.
#[must_use]
pub fn trim(bytes: &[u8]) -> &[u8] {
    trim_end(&bytes[leading_space(bytes)..])
}

/// `bytes` without the whitespace at the end.
///
/// # Complexity
/// O(whitespace at the end)
#[must_use]
pub fn trim_end(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    while let Some(width) =
        (1..=rest.len().min(3)).find(|&width| space_width(&rest[rest.len() - width..]) == width)
    {
        rest = &rest[..rest.len() - width];
    }
    rest
}

/// Where the character starts that holds byte `at`; the end of `bytes` if they are no longer than that.
#[must_use]
pub fn character_start(bytes: &[u8], at: usize) -> usize {
    let continues = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let at = at.min(bytes.len());
    (0..=at).rev().find(|at| !continues(at)).unwrap_or(0)
}

/// The longest prefix of `bytes` of at most `most` bytes that does not end inside a character.
///
/// It is empty only if `bytes` is: a first character wider than `most` is taken whole.
#[must_use]
pub fn prefix(bytes: &[u8], most: usize) -> &[u8] {
    let below = character_start(bytes, most);
    let starts = |at: &usize| bytes.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let end = if below > 0 { below } else { (1..=bytes.len()).find(starts).unwrap_or(0) };
    &bytes[..end]
}

/// Line and column of byte `at`, both from 1, columns in characters.
///
/// # Complexity
/// O(`at`); meant for the one error that is shown.
#[must_use]
pub fn line_and_column(bytes: &[u8], at: usize) -> (usize, usize) {
    let before = &bytes[..at.min(bytes.len())];
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let line = 1 + memchr::memchr_iter(b'\n', before).count();
    (line, 1 + characters(&before[line_start..]))
}

/// How many characters there are.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&byte| byte & 0xc0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whitespace_is_what_python_strips() {
        const LAST: u32 = if cfg!(miri) { 0x3001 } else { 0x10_ffff };
        let python = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\
                      \u{2004}\u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\
                      \u{205f}\u{3000}";
        for code in 0..=LAST {
            let Some(character) = char::from_u32(code) else {
                continue;
            };
            let text = character.to_string();
            let width = space_width(text.as_bytes());
            assert_eq!(width > 0, python.contains(character), "U+{code:04X}");
            assert!(width == 0 || width == text.len());
        }
    }

    #[test]
    fn stripping_takes_both_ends_and_leaves_the_middle() {
        for (text, stripped) in [
            ("", ""),
            (" \u{a0}\u{3000}\n", ""),
            ("a b", "a b"),
            ("\u{2028} a\u{85}b \u{1c}", "a\u{85}b"),
            ("é", "é"),
        ] {
            assert_eq!(Text::from(text).stripped(), Text::from(stripped));
        }
    }

    #[test]
    fn a_prefix_never_ends_inside_a_character() {
        assert_eq!(prefix("aé€".as_bytes(), 2), b"a");
        assert_eq!(prefix("aé€".as_bytes(), 3), "aé".as_bytes());
        assert_eq!(prefix("€a".as_bytes(), 1), "€".as_bytes());
        assert_eq!(prefix(b"", 4), b"");
    }

    #[test]
    fn a_character_starts_where_its_first_byte_is() {
        let text = "aé€".as_bytes();
        let starts: Vec<_> = (0..=7).map(|at| character_start(text, at)).collect();
        assert_eq!(starts, [0, 1, 1, 3, 3, 3, 6, 6]);
    }

    #[test]
    fn columns_count_characters() {
        assert_eq!(line_and_column("é€\nab".as_bytes(), 0), (1, 1));
        assert_eq!(line_and_column("é€\nab".as_bytes(), 5), (1, 3));
        assert_eq!(line_and_column("é€\nab".as_bytes(), 7), (2, 2));
        let long = "é".repeat(300);
        assert_eq!(line_and_column(long.as_bytes(), long.len()), (1, 301));
        assert_eq!(line_and_column(b"ab", 99), (1, 3));
    }
}
