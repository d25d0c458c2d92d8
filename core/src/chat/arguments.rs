//! The arguments of a call as JSON that every reader takes.

use std::borrow::Cow;

/// Canonical JSON in which each `NaN` and infinity, which JSON does not have, is `null`, as `JSON.stringify` writes them.
///
/// # Complexity
/// O(json)
#[must_use]
pub fn strict_json(json: &str) -> Cow<'_, str> {
    StrictJson::default().read(json)
}

/// The same of JSON that comes in pieces, which may end inside a string, but not inside an escape or a word.
#[derive(Clone, Copy, Debug, Default)]
pub struct StrictJson {
    in_string: bool,
}

impl StrictJson {
    /// The next piece.
    ///
    /// # Complexity
    /// O(piece)
    pub fn read<'j>(&mut self, piece: &'j str) -> Cow<'j, str> {
        const WORDS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];
        let mut strict = String::new();
        let (mut copied, mut at) = (0, 0);
        loop {
            if self.in_string {
                match string_width(&piece[at..]) {
                    None => break,
                    Some(width) => (self.in_string, at) = (false, at + width),
                }
            }
            let Some(found) = piece[at..].find(['"', 'N', 'I', '-']) else { break };
            at += found;
            if let Some(word) = WORDS.iter().find(|word| piece[at..].starts_with(**word)) {
                strict.push_str(&piece[copied..at]);
                strict.push_str("null");
                at += word.len();
                copied = at;
            } else {
                self.in_string = piece[at..].starts_with('"');
                at += 1;
            }
        }
        if copied == 0 {
            return Cow::Borrowed(piece);
        }
        strict.push_str(&piece[copied..]);
        Cow::Owned(strict)
    }
}

/// How wide the rest of a string is that `json` begins inside of, with its quote; `None` if it ends later.
fn string_width(json: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', json.as_bytes().get(at..)?)?;
        if json.as_bytes()[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_does_not_have_is_null() {
        for (json, strict) in [
            ("{}", "{}"),
            (
                r#"{"a": NaN, "b": [Infinity, -Infinity, -1, -0.5e-3]}"#,
                r#"{"a": null, "b": [null, null, -1, -0.5e-3]}"#,
            ),
            (
                r#"{"NaN": "Infinity \" NaN \\", "x": NaN}"#,
                r#"{"NaN": "Infinity \" NaN \\", "x": null}"#,
            ),
        ] {
            assert_eq!(strict_json(json), strict);
            let mut reader = StrictJson::default();
            let cuts = ["NaN", "Infinity", "\\"].map(|part| json.find(part).unwrap_or(0));
            for cut in cuts {
                let (first, rest) = json.split_at(cut);
                let pieces = [reader.read(first), reader.read(rest)].concat();
                assert_eq!(pieces, strict);
            }
        }
    }
}
