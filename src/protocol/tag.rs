//! The protocol's tags, and the search for the next one in text that arrives in pieces.
//!
//! A dialect of the protocol is a table like [`TAGS`] and a reader for the body of a call block
//! ([`CallReader`](super::call::CallReader)); nothing else in this room names a tag.

/// What stands between a tag and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reasoning.
    Think,
    /// Tool calls.
    Calls,
    /// Results that the model wrote itself.
    Results,
    /// Nothing: the tag is the whole message.
    End,
}

/// One tag: exact text, no attributes, no spaces, no other case.
#[derive(Debug)]
pub struct Tag {
    /// What it opens.
    pub kind: Kind,
    /// The opening text; begins with `<` and has no other `<`.
    pub open: &'static str,
    /// The closing text, likewise; empty for a tag that stands alone.
    pub close: &'static str,
}

/// The tags of cogency's protocol.
pub const TAGS: [Tag; 4] = [
    Tag { kind: Kind::Think, open: "<think>", close: "</think>" },
    Tag { kind: Kind::Calls, open: "<execute>", close: "</execute>" },
    Tag { kind: Kind::Results, open: "<results>", close: "</results>" },
    Tag { kind: Kind::End, open: "<end>", close: "" },
];

/// Where a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// None of the needles is there, and none has begun.
    Absent,
    /// The text ends in what may become a needle, from here on.
    Pending(usize),
    /// The needle with this number stands at `start..end`.
    Found {
        /// Which needle.
        needle: usize,
        /// Its first byte.
        start: usize,
        /// One past its last byte.
        end: usize,
    },
}

/// Finds the first of `needles` in `text`, from byte `from` on.
///
/// Each needle begins with `<` and has no other `<`, so at most one place can be pending and a search may
/// be resumed at [`Search::Pending`]'s position, or at the end of the text, once more has arrived.
///
/// # Complexity
/// O(bytes behind `from`).
pub fn search<'n, N>(text: &[u8], from: usize, needles: &N) -> Search
where
    N: Iterator<Item = &'n str> + Clone,
{
    for angle in memchr::memchr_iter(b'<', &text[from..]) {
        let start = from + angle;
        let rest = &text[start..];
        for (needle, tag) in needles.clone().enumerate() {
            if rest.starts_with(tag.as_bytes()) {
                return Search::Found { needle, start, end: start + tag.len() };
            }
            if tag.as_bytes().starts_with(rest) {
                return Search::Pending(start);
            }
        }
    }
    Search::Absent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tag_begins_with_the_only_angle_it_has() {
        for tag in TAGS {
            for text in [tag.open, tag.close] {
                assert!(text.is_empty() || text.rfind('<') == Some(0));
            }
        }
    }

    #[test]
    fn a_search_finds_the_first_tag_or_where_one_may_begin() {
        let opening = || TAGS.iter().map(|tag| tag.open);
        for (text, expected) in [
            ("", Search::Absent),
            ("a < b", Search::Absent),
            ("<thinking>", Search::Absent),
            ("a<thin", Search::Pending(1)),
            ("<<", Search::Pending(1)),
            ("x<end><think>", Search::Found { needle: 3, start: 1, end: 6 }),
            ("<thi<think>", Search::Found { needle: 0, start: 4, end: 11 }),
        ] {
            assert_eq!(search(text.as_bytes(), 0, &opening()), expected, "{text}");
        }
    }
}
