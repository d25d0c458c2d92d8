//! The search for the next mark in text that arrives in pieces.

use aho_corasick::{AhoCorasick, MatchKind};

use crate::dialect::Str;

/// Where a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// None of the marks is there, and none has begun.
    Absent,
    /// From here on, the end of the text may be the beginning of a mark.
    Pending(usize),
    /// The mark with this number is at `start..end`.
    Found {
        /// Which mark.
        mark: usize,
        /// Its first byte.
        start: usize,
        /// One past its last byte.
        end: usize,
    },
}

impl Search {
    /// Up to where `text` was searched, if nothing was found.
    #[must_use]
    pub fn or_end(self, text: &[u8]) -> usize {
        match self {
            Self::Pending(start) => start,
            _ => text.len(),
        }
    }
}

/// More text decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecided;

/// Finds the first of several marks.
#[derive(Clone, Debug)]
pub struct Marks {
    automaton: AhoCorasick,
    texts: Vec<Vec<u8>>,
    first: FirstBytes,
    longest: usize,
}

/// The bytes that a mark may begin with.
#[derive(Clone, Debug)]
pub enum FirstBytes {
    /// There are no marks.
    None,
    /// All begin with this byte.
    One(u8),
    /// All begin with one of these two.
    Two(u8, u8),
    /// All begin with one of these three.
    Three(u8, u8, u8),
    /// They begin with the bytes that are true here.
    Many(Box<[bool; 256]>),
}

impl FirstBytes {
    /// These bytes.
    pub fn of(bytes: impl IntoIterator<Item = u8>) -> Self {
        let mut bytes: Vec<u8> = bytes.into_iter().collect();
        bytes.sort_unstable();
        bytes.dedup();
        match bytes[..] {
            [] => Self::None,
            [a] => Self::One(a),
            [a, b] => Self::Two(a, b),
            [a, b, c] => Self::Three(a, b, c),
            _ => {
                let mut table = Box::new([false; 256]);
                for byte in bytes {
                    table[usize::from(byte)] = true;
                }
                Self::Many(table)
            }
        }
    }

    /// Where the first of them is in `text`.
    #[must_use]
    pub fn find(&self, text: &[u8]) -> Option<usize> {
        match self {
            Self::None => None,
            Self::One(a) => find_byte(*a, text),
            Self::Two(a, b) => memchr::memchr2(*a, *b, text),
            Self::Three(a, b, c) => memchr::memchr3(*a, *b, *c, text),
            Self::Many(table) => text.iter().position(|&byte| table[usize::from(byte)]),
        }
    }
}

/// Where `byte` is in `text`.
#[must_use]
pub fn find_byte(byte: u8, text: &[u8]) -> Option<usize> {
    /// Looking at many bytes at once takes longer to begin than a chunk of a few characters takes one by one.
    const FEW: usize = 16;
    if text.len() < FEW {
        text.iter().position(|&each| each == byte)
    } else {
        memchr::memchr(byte, text)
    }
}

impl Marks {
    /// A search for these marks, none of which is empty. Of several that begin at the same place, the longest is found.
    ///
    /// # Panics
    /// An automaton cannot hold the marks; that takes many megabytes of them.
    #[must_use]
    pub fn new<'a>(marks: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let marks: Vec<Vec<u8>> = marks.into_iter().map(<[u8]>::to_vec).collect();
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&marks);
        let automaton = automaton.expect("an automaton of a few marks");
        let longest = marks.iter().map(Vec::len).max().unwrap_or(0);
        Self {
            automaton,
            first: FirstBytes::of(marks.iter().map(|mark| mark[0])),
            texts: marks,
            longest,
        }
    }

    /// The marks.
    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.texts.iter().map(Vec::as_slice)
    }

    /// Whether a mark may begin anywhere in `text`.
    #[must_use]
    pub fn may_begin_in(&self, text: &[u8]) -> bool {
        self.first.find(text).is_some()
    }

    /// Finds the first mark in `text`, from byte `from` on.
    ///
    /// When more text has arrived, a search goes on from [`Search::Pending`], or from where the shorter text ended.
    ///
    /// # Complexity
    /// O(n + m²): n bytes after `from`, the longest mark m bytes
    #[must_use]
    pub fn search(&self, text: &[u8], from: usize) -> Search {
        let Some(first) = self.first.find(&text[from..]) else { return Search::Absent };
        let from = from + first;
        let found = self.automaton.find(&text[from..]);
        // A mark that begins before the found one, or is longer, needs more text.
        let tail = from.max((text.len() + 1).saturating_sub(self.longest));
        let found_at = found.map_or(text.len(), |found| from + found.start());
        let end = text.len().min(found_at + 1);
        let mut start = tail;
        let mut pending = None;
        while let Some(first) = text.get(start..end).and_then(|tail| self.first.find(tail)) {
            let rest = &text[start + first..];
            if self.texts.iter().any(|mark| mark.len() > rest.len() && mark.starts_with(rest)) {
                pending = Some(start + first);
                break;
            }
            start += first + 1;
        }
        match (pending, found) {
            (Some(start), _) => Search::Pending(start),
            (None, None) => Search::Absent,
            (None, Some(found)) => Search::Found {
                mark: found.pattern().as_usize(),
                start: from + found.start(),
                end: from + found.end(),
            },
        }
    }
}

/// Whether `text` begins with `mark`; `None` if more text decides it.
#[must_use]
pub fn starts_with(text: &[u8], mark: &str) -> Option<bool> {
    begins(text, mark.as_bytes())
}

/// Whether `text` begins with `mark`, which may be any text; `None` if more text decides it.
#[must_use]
pub fn begins(text: &[u8], mark: &[u8]) -> Option<bool> {
    match text.starts_with(mark) {
        true => Some(true),
        false if mark.starts_with(text) => None,
        false => Some(false),
    }
}

/// Whether `text` begins with any of `marks`; `None` if more text decides it.
#[must_use]
pub fn any_starts(text: &[u8], marks: &[Str]) -> Option<bool> {
    let mut is_any = Some(false);
    for mark in marks {
        match starts_with(text, mark) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => is_any = None,
        }
    }
    is_any
}

/// Finds `mark` in `text`, from byte `from` on.
///
/// # Errors
/// It is not there; the byte from which the search goes on when more text has arrived.
pub fn find(text: &[u8], from: usize, mark: &str) -> Result<usize, usize> {
    let mark = mark.as_bytes();
    if let Some(found) = memchr::memmem::find(&text[from..], mark) {
        return Ok(from + found);
    }
    let tail = from.max((text.len() + 1).saturating_sub(mark.len()));
    Err((tail..text.len()).find(|&start| mark.starts_with(&text[start..])).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_finds_the_first_mark_or_where_one_may_begin() {
        let marks = ["<think>", "<end>", "[CALL]", "[CALL]x", "<a[CALL]z"];
        let marks = Marks::new(marks.map(str::as_bytes));
        for (text, expected) in [
            ("", Search::Absent),
            ("a < b", Search::Absent),
            ("<thinking>", Search::Absent),
            ("a<thin", Search::Pending(1)),
            ("<<", Search::Pending(1)),
            ("x<end><think>", Search::Found { mark: 1, start: 1, end: 6 }),
            ("<thi<think>", Search::Found { mark: 0, start: 4, end: 11 }),
            ("[CALL]", Search::Pending(0)),
            ("[CALL]y", Search::Found { mark: 2, start: 0, end: 6 }),
            ("[CALL]x", Search::Found { mark: 3, start: 0, end: 7 }),
            ("<a[CALL]", Search::Pending(0)),
            ("<a[CALL]y", Search::Found { mark: 2, start: 2, end: 8 }),
        ] {
            assert_eq!(marks.search(text.as_bytes(), 0), expected, "{text}");
        }
        assert_eq!(Marks::new([]).search(b"<think>", 0), Search::Absent);
    }

    #[test]
    fn one_mark_is_found_or_where_it_may_begin() {
        for (text, expected) in
            [("", Err(0)), ("ab", Err(2)), ("a</", Err(1)), ("a</x>", Ok(1)), ("</</x>", Ok(2))]
        {
            assert_eq!(find(text.as_bytes(), 0, "</x>"), expected, "{text}");
        }
        assert_eq!(starts_with(b"</", "</x>"), None);
        assert_eq!(starts_with(b"</x>y", "</x>"), Some(true));
        assert_eq!(starts_with(b"</y", "</x>"), Some(false));
    }
}
