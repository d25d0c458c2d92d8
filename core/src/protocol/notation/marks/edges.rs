//! The ends of a text where another text may complete half of a mark.
//!
//! `]~!b` is harmless at the end of a message until a template adds `[e~[`: then `]~!b[` is a mark. Halves that no text of the
//! dialect's own prompts can complete are left alone, since almost every text ends in half of some mark.

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

/// Texts, none of which begins with another.
struct Beginnings(Vec<Vec<u8>>);

impl Beginnings {
    fn new(texts: impl Iterator<Item = Vec<u8>>) -> Self {
        let mut texts: Vec<Vec<u8>> = texts.filter(|text| !text.is_empty()).collect();
        texts.sort_unstable();
        texts.dedup_by(|next, kept| next.starts_with(kept));
        Self(texts)
    }

    /// Whether `half` begins with one of the texts, or one of them with `half`.
    fn complete(&self, half: &[u8]) -> bool {
        let next = self.0.partition_point(|text| &**text <= half);
        let before = next.checked_sub(1).and_then(|before| self.0.get(before));
        before.is_some_and(|text| half.starts_with(text))
            || self.0.get(next).is_some_and(|text| text.starts_with(half))
    }
}

impl Edges {
    /// The halves of `marks` that one of `neighbours` can complete, or begin to complete.
    ///
    /// # Complexity
    /// O((n + m) log n) comparisons, for n neighbours and m bytes of marks; the halves of a mark have the square of its length
    pub fn new<'m>(marks: impl Iterator<Item = &'m [u8]>, neighbours: &[&str]) -> Self {
        let reversed = |text: &[u8]| text.iter().rev().copied().collect::<Vec<u8>>();
        let behind = Beginnings::new(neighbours.iter().map(|text| text.as_bytes().to_vec()));
        let before = Beginnings::new(neighbours.iter().map(|text| reversed(text.as_bytes())));
        let [mut ends, mut beginnings] = [const { Vec::new() }; 2];
        for mark in marks {
            let backwards = reversed(mark);
            for at in (1..mark.len()).filter(|&at| mark[at] & 0xc0 != 0x80) {
                let (first, second) = mark.split_at(at);
                if behind.complete(second) {
                    ends.push(first.to_vec());
                }
                if before.complete(&backwards[mark.len() - at..]) {
                    beginnings.push(second.to_vec());
                }
            }
        }
        Self {
            ends: Halves::new(ends, |half| half[half.len() - 1]),
            beginnings: Halves::new(beginnings, |half| half[0]),
        }
    }

    /// Whether there are second halves.
    pub fn have_beginnings(&self) -> bool {
        !self.beginnings.texts.is_empty()
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
        let neighbours = ["]~!b[", "[e~[", "\n", "[e~[\n", ""];
        let edges = Edges::new(marks.iter().map(|mark| mark.as_bytes()), &neighbours);
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
