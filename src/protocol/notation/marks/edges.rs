//! The ends of a text where another text may complete half of a mark.
//!
//! `]~!b` is harmless at the end of a message until a template adds `[e~[`: then `]~!b[` is a mark. Halves that no text of the
//! dialect's own prompts can complete are left alone, since almost every text ends in half of some mark.

use std::collections::HashSet;

/// Halves of marks that the texts next to them can complete.
#[derive(Clone, Debug)]
pub struct Edges {
    /// First halves, which are dangerous at the end of a text.
    ends: Halves,
    /// Second halves, which are dangerous at its beginning.
    beginnings: Halves,
}

/// Halves of marks, and the bytes that the texts have next to their edge.
#[derive(Clone, Debug)]
struct Halves {
    texts: Vec<Vec<u8>>,
    outermost: Box<[bool; 256]>,
}

impl Edges {
    /// The halves of `marks` that one of `neighbours` can complete, or begin to complete.
    pub fn new<'m>(marks: impl Iterator<Item = &'m [u8]>, neighbours: &[&str]) -> Self {
        let whole: HashSet<&[u8]> =
            neighbours.iter().map(|text| text.as_bytes()).filter(|text| !text.is_empty()).collect();
        let begins: HashSet<&[u8]> = whole.iter().copied().flat_map(prefixes).collect();
        let ended: HashSet<&[u8]> = whole.iter().copied().flat_map(suffixes).collect();
        // Most halves have another byte next to the cut: that is seen sooner than each of their ends is looked up.
        let [mut first_bytes, mut last_bytes] = [[false; 256]; 2];
        for text in &whole {
            first_bytes[usize::from(text[0])] = true;
            last_bytes[usize::from(text[text.len() - 1])] = true;
        }
        let [mut ends, mut beginnings] = [const { Vec::new() }; 2];
        let is_cut = |mark: &[u8], at: usize| mark[at] & 0xc0 != 0x80;
        for mark in marks {
            for at in (1..mark.len()).filter(|&at| is_cut(mark, at)) {
                let (first, second) = mark.split_at(at);
                if first_bytes[usize::from(second[0])]
                    && (begins.contains(second)
                        || prefixes(second).any(|text| whole.contains(text)))
                {
                    ends.push(first.to_vec());
                }
                if last_bytes[usize::from(first[first.len() - 1])]
                    && (ended.contains(first) || suffixes(first).any(|text| whole.contains(text)))
                {
                    beginnings.push(second.to_vec());
                }
            }
        }
        Self {
            ends: Halves::new(ends, |half| half[half.len() - 1]),
            beginnings: Halves::new(beginnings, |half| half[0]),
        }
    }

    /// Whether `text` begins with the second half of a mark.
    pub fn begin(&self, text: &[u8]) -> bool {
        self.beginnings.any(text.first(), |half| text.starts_with(half))
    }

    /// Whether `text` ends with the first half of a mark.
    pub fn end(&self, text: &[u8]) -> bool {
        self.ends.any(text.last(), |half| text.ends_with(half))
    }
}

fn prefixes(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    (1..=text.len()).map(|length| &text[..length])
}

fn suffixes(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    (0..text.len()).map(|start| &text[start..])
}

impl Halves {
    fn new(mut texts: Vec<Vec<u8>>, outermost: impl Fn(&[u8]) -> u8) -> Self {
        texts.sort_unstable();
        texts.dedup();
        let mut bytes = Box::new([false; 256]);
        for half in &texts {
            bytes[usize::from(outermost(half))] = true;
        }
        Self { texts, outermost: bytes }
    }

    fn any(&self, byte: Option<&u8>, is_there: impl Fn(&[u8]) -> bool) -> bool {
        byte.is_some_and(|&byte| self.outermost[usize::from(byte)])
            && self.texts.iter().any(|half| is_there(half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_halves_that_a_neighbour_completes_are_dangerous() {
        let marks = ["]~!b[", "[e~[", "<|im_start|>"];
        let edges = Edges::new(marks.iter().map(|mark| mark.as_bytes()), &["]~!b[", "[e~[", "\n"]);
        for (text, ends, begins) in [
            ("", false, false),
            ("a]~!b", true, false),
            ("e~[a", false, true),
            ("<|im_start|", false, false),
            ("a <", false, false),
            ("|im_start|>", false, false),
        ] {
            let found = (edges.end(text.as_bytes()), edges.begin(text.as_bytes()));
            assert_eq!(found, (ends, begins), "{text}");
        }
    }
}
