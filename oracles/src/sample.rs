//! Texts cut into chunks.

/// Cuts at characters, `size` of them in each chunk.
pub fn chunks(text: &str, size: usize) -> Vec<&str> {
    cut(text, size, &[])
}

/// As [`chunks`], but a mark is a chunk of its own, as a model's special tokens are on a server.
pub fn tokens<'a>(text: &'a str, size: usize, marks: &[&str]) -> Vec<&'a str> {
    cut(text, size, marks)
}

fn cut<'a>(mut text: &'a str, size: usize, marks: &[&str]) -> Vec<&'a str> {
    let mut chunks = Vec::new();
    while !text.is_empty() {
        let mark =
            marks.iter().filter(|mark| text.starts_with(**mark)).map(|mark| mark.len()).max();
        let next = mark.unwrap_or_else(|| {
            let at_mark = |at: usize| marks.iter().any(|mark| text[at..].starts_with(mark));
            let ends = text.char_indices().map(|(at, _)| at).skip(1).chain([text.len()]);
            ends.zip(1..)
                .find(|(at, count)| *count == size || at_mark(*at))
                .map_or(text.len(), |(at, _)| at)
        });
        let (chunk, rest) = text.split_at(next);
        chunks.push(chunk);
        text = rest;
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::{chunks, tokens};

    #[test]
    fn chunks_have_a_size_and_marks_stay_whole() {
        assert_eq!(chunks("añbcd", 2), ["añ", "bc", "d"]);
        assert_eq!(tokens("ab<x>c<x><y", 3, &["<x>"]), ["ab", "<x>", "c", "<x>", "<y"]);
        assert!(chunks("", 2).is_empty());
    }
}
