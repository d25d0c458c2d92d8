//! Makes whole characters of a text that arrives in pieces of UTF-16.
//!
//! A source that counts in UTF-16 may cut a character between the two halves of its surrogate pair. Neither half can be stored or
//! sent. The halves are joined, wherever they are cut; a half without the other becomes U+FFFD.
//!
//! Invariant: what is handed out depends on the text alone, never on how it was cut.

use std::borrow::Cow;

const REPLACEMENT: &str = "\u{fffd}";

/// The width in bytes of half a pair, in generalised UTF-8.
const WIDTH: usize = 3;

/// The state between two pieces of one text.
///
/// ```
/// use cogency_rs::protocol::characters::Characters;
///
/// let mut characters = Characters::default();
/// assert_eq!(&*characters.whole(b"a\xed\xa0\xbd"), b"a");
/// assert_eq!(&*characters.whole(b"\xed\xb8\x80b"), "😀b".as_bytes());
/// assert_eq!((characters.end(), characters.replaced()), ("", 0));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Characters {
    /// The first half of a pair, which the text so far ends with.
    first: Option<u32>,
    replaced: usize,
}

impl Characters {
    /// Whether the text so far ends with the first half of a pair, so that the next piece is not whole by itself.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.first.is_some()
    }

    /// How many halves became U+FFFD.
    #[must_use]
    pub fn replaced(&self) -> usize {
        self.replaced
    }

    /// The next piece, generalised UTF-8, in whole characters. The first half of a pair at its end waits for the next piece.
    ///
    /// # Complexity
    /// O(`piece`)
    pub fn whole<'a>(&mut self, piece: &'a [u8]) -> Cow<'a, [u8]> {
        if piece.is_empty() || (!self.is_open() && std::str::from_utf8(piece).is_ok()) {
            return Cow::Borrowed(piece);
        }
        let mut whole = Vec::with_capacity(piece.len() + WIDTH);
        let mut rest = piece;
        while !rest.is_empty() {
            let half = half(rest);
            let end = half.map_or_else(|| next_half(rest), |_| WIDTH);
            match (self.first.take(), half) {
                (Some(first), Some(second @ 0xdc00..)) => {
                    let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                    whole.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                (before, half) => {
                    if before.is_some() {
                        self.replace(&mut whole);
                    }
                    match half {
                        Some(first @ ..0xdc00) => self.first = Some(first),
                        Some(_) => self.replace(&mut whole),
                        None => whole.extend_from_slice(&rest[..end]),
                    }
                }
            }
            rest = &rest[end..];
        }
        Cow::Owned(whole)
    }

    /// The text has ended: what is left of it.
    pub fn end(&mut self) -> &'static str {
        if self.first.take().is_none() {
            return "";
        }
        self.replaced += 1;
        REPLACEMENT
    }

    fn replace(&mut self, whole: &mut Vec<u8>) {
        self.replaced += 1;
        whole.extend_from_slice(REPLACEMENT.as_bytes());
    }
}

/// The half of a pair that `text` begins with.
fn half(text: &[u8]) -> Option<u32> {
    let &[0xed, second @ 0xa0..=0xbf, third, ..] = text else { return None };
    Some(0xd000 | (u32::from(second) & 0x3f) << 6 | (u32::from(third) & 0x3f))
}

/// Where the next half of a pair begins in `text`, or where it ends.
fn next_half(text: &[u8]) -> usize {
    let mut starts = memchr::memchr_iter(0xed, text);
    starts.find(|&at| half(&text[at..]).is_some()).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "\\1";
    const SECOND: &str = "\\2";

    /// A text in which `\1` and `\2` stand for the halves of 😀, as generalised UTF-8 in characters.
    fn characters(text: &str) -> Vec<Vec<u8>> {
        let mut rest = text;
        let mut characters = Vec::new();
        while let Some(character) = rest.chars().next() {
            let (bytes, width) = if rest.starts_with(FIRST) {
                (vec![0xed, 0xa0, 0xbd], 2)
            } else if rest.starts_with(SECOND) {
                (vec![0xed, 0xb8, 0x80], 2)
            } else {
                (character.to_string().into_bytes(), character.len_utf8())
            };
            characters.push(bytes);
            rest = &rest[width..];
        }
        characters
    }

    #[test]
    fn halves_are_joined_and_a_lone_one_is_replaced_however_the_text_is_cut() {
        for (text, expected, replaced) in [
            ("", "", 0),
            ("a퟿é\u{e000}😀", "a퟿é\u{e000}😀", 0),
            (r"\1\2", "😀", 0),
            (r"a\1\2b\1\2", "a😀b😀", 0),
            (r"\1", "\u{fffd}", 1),
            (r"\2", "\u{fffd}", 1),
            (r"\2\1", "\u{fffd}\u{fffd}", 2),
            (r"\1\1\2\2", "\u{fffd}😀\u{fffd}", 2),
            (r"\1a\2", "\u{fffd}a\u{fffd}", 2),
            (r"\1😀\2", "\u{fffd}😀\u{fffd}", 2),
        ] {
            let characters = characters(text);
            for cuts in 0..1_u32 << characters.len().saturating_sub(1) {
                let mut state = Characters::default();
                let (mut read, mut piece) = (Vec::new(), Vec::new());
                for (at, character) in characters.iter().enumerate() {
                    piece.extend_from_slice(character);
                    if cuts >> at & 1 == 1 {
                        read.extend_from_slice(&state.whole(&piece));
                        piece.clear();
                    }
                }
                read.extend_from_slice(&state.whole(&piece));
                read.extend_from_slice(state.end().as_bytes());
                assert_eq!(String::from_utf8(read).as_deref(), Ok(expected), "{text}, {cuts:b}");
                assert_eq!((state.replaced(), state.is_open()), (replaced, false), "{text}");
            }
        }
    }

    #[test]
    fn text_without_halves_is_not_copied() {
        let mut state = Characters::default();
        assert!(matches!(state.whole("a퟿é😀".as_bytes()), Cow::Borrowed(_)));
    }
}
