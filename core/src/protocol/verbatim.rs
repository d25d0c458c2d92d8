//! Recognises canonical JSON in one pass.
//!
//! The log holds calls as [`canonical`](super::canonical) writes them. Such a text is taken as it is; any other is read
//! and written again.

use super::canonical::plain_length;

/// How deep brackets may be nested.
const DEPTH: usize = 16;

/// How many keys an object may have: each is compared with all before it.
const KEYS: usize = 8;

/// The keys, with their quotes, and the values of an object that is canonical as it is.
///
/// `None` if the text has to be read: it is not canonical, or it has fractions, more than 8 keys in an object, or brackets
/// nested deeper than 16.
///
/// # Complexity
/// O(json)
#[must_use]
pub fn members(json: &str) -> Option<Vec<(&str, &str)>> {
    let mut cursor = Cursor { json: json.as_bytes(), at: 0 };
    let mut members = Vec::with_capacity(4);
    cursor.byte(b'{')?;
    cursor.object(1, |key, value| members.push((&json[key.0..key.1], &json[value.0..value.1])))?;
    (cursor.at == json.len()).then_some(members)
}

/// Whether the text is an array that is canonical as it is. `false` also for one that has to be read; see [`members`].
///
/// # Complexity
/// O(json)
#[must_use]
pub fn is_array(json: &str) -> bool {
    let mut cursor = Cursor { json: json.as_bytes(), at: 0 };
    let is_whole = cursor.byte(b'[').and_then(|()| cursor.array(1));
    is_whole.is_some() && cursor.at == json.len()
}

/// The first byte of something, and one past its last.
type Ends = (usize, usize);

/// Reads a text; it has come to the byte `at`.
struct Cursor<'a> {
    json: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    /// Passes over this byte.
    fn byte(&mut self, expected: u8) -> Option<()> {
        (self.next()? == expected).then_some(())
    }

    fn next(&mut self) -> Option<u8> {
        let byte = *self.json.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn peek(&self) -> Option<u8> {
        self.json.get(self.at).copied()
    }

    /// Passes over a value inside this many brackets.
    fn value(&mut self, depth: usize) -> Option<()> {
        match self.next()? {
            b'"' => self.string(),
            b'{' if depth < DEPTH => self.object(depth + 1, |_, _| ()),
            b'[' if depth < DEPTH => self.array(depth + 1),
            b'-' => matches!(self.next()?, b'1'..=b'9').then(|| self.digits()),
            b'1'..=b'9' => {
                self.digits();
                Some(())
            }
            b'0' => Some(()),
            b't' => self.rest_of(b"rue"),
            b'f' => self.rest_of(b"alse"),
            b'n' => self.rest_of(b"ull"),
            _ => None,
        }
    }

    /// Passes over an object whose bracket is open.
    fn object(&mut self, depth: usize, mut member: impl FnMut(Ends, Ends)) -> Option<()> {
        if self.peek()? == b'}' {
            return self.byte(b'}');
        }
        let mut keys = [(0, 0); KEYS];
        for count in 0..KEYS {
            let start = self.at;
            self.byte(b'"')?;
            self.string()?;
            let key = (start, self.at);
            let text = |(start, end): Ends| &self.json[start..end];
            if keys[..count].iter().any(|&earlier| text(earlier) == text(key)) {
                return None;
            }
            keys[count] = key;
            self.rest_of(b": ")?;
            let start = self.at;
            self.value(depth)?;
            member(key, (start, self.at));
            match self.next()? {
                b',' => self.byte(b' ')?,
                b'}' => return Some(()),
                _ => return None,
            }
        }
        None
    }

    /// Passes over an array whose bracket is open.
    fn array(&mut self, depth: usize) -> Option<()> {
        if self.peek()? == b']' {
            return self.byte(b']');
        }
        loop {
            self.value(depth)?;
            match self.next()? {
                b',' => self.byte(b' ')?,
                b']' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Passes over a string whose quote is open.
    fn string(&mut self) -> Option<()> {
        loop {
            self.at += plain_length(&self.json[self.at..]);
            match self.next()? {
                b'"' => return Some(()),
                b'\\' => match self.next()? {
                    b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                    b'u' => self.unit()?,
                    _ => return None,
                },
                _ => return None,
            }
        }
    }

    /// Passes over the digits of an escape, of a unit that has no shorter form.
    fn unit(&mut self) -> Option<()> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = match self.next()? {
                digit @ b'0'..=b'9' => digit - b'0',
                digit @ b'a'..=b'f' => digit - b'a' + 10,
                _ => return None,
            };
            unit = unit << 4 | u16::from(digit);
        }
        (!matches!(unit, 0x08..=0x0a | 0x0c | 0x0d | 0x20..=0x7e)).then_some(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn rest_of(&mut self, word: &[u8]) -> Option<()> {
        self.json[self.at..].starts_with(word).then(|| self.at += word.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::canonical::canonical;
    use super::*;

    #[test]
    fn the_members_of_canonical_objects_stand_as_they_are() {
        for (text, expected) in [
            ("{}", &[][..]),
            ("{\"a\": 1}", &[("\"a\"", "1")]),
            (
                "{\"a\": \"x\\n\\\"\\u00e9\\ud83d\", \"b\": {\"a\": [], \"b\": [0, -12, {}]}}",
                &[
                    ("\"a\"", "\"x\\n\\\"\\u00e9\\ud83d\""),
                    ("\"b\"", "{\"a\": [], \"b\": [0, -12, {}]}"),
                ],
            ),
            (
                "{\"a\": true, \"b\": false, \"c\": null}",
                &[("\"a\"", "true"), ("\"b\"", "false"), ("\"c\"", "null")],
            ),
        ] {
            assert_eq!(members(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_canonical_array_is_taken_as_it_stands() {
        for (text, expected) in [
            ("[]", true),
            ("[{\"a\": [1, \"x\\n\"]}, null]", true),
            ("[1,2]", false),
            ("[1.50]", false),
            ("[1] ", false),
            ("[1", false),
            ("{}", false),
        ] {
            assert_eq!(is_array(text), expected, "{text}");
        }
    }

    #[test]
    fn text_that_would_be_written_in_another_way_is_not_taken() {
        let deep = |depth| format!("{{\"a\": {}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(members(&deep(DEPTH - 1)).is_some());
        assert_eq!(members(&deep(DEPTH)), None);
        let wide = |keys| {
            let fields: Vec<_> = (0..keys).map(|key| format!("\"{key}\": 0")).collect();
            format!("{{{}}}", fields.join(", "))
        };
        assert!(members(&wide(KEYS)).is_some());
        assert_eq!(members(&wide(KEYS + 1)), None);
        for text in [
            "",
            "[]",
            "1",
            "{",
            "{\"a\"",
            "{\"a\": 1} ",
            "{\"a\": 1}{}",
            "{\"a\": \"é\"}",
            "{\"a\": \"\u{7f}\"}",
        ] {
            assert_eq!(members(text), None, "{text}");
        }
    }

    #[test]
    fn text_that_is_taken_is_what_would_be_written() {
        const PIECES: [&str; 23] = [
            "{",
            "{\"a\": ",
            ", \"a\": ",
            ", \"b\": ",
            ",\"b\": ",
            ", \"b\":",
            "}",
            "[",
            "]",
            ", ",
            ",",
            "\"a\"",
            "\"\\n\"",
            "\"\\u000a\"",
            "\"\\u00E9\"",
            "\"\\u00e9\"",
            "\"\\/\"",
            "\"\n\"",
            "1",
            "-0",
            "01",
            "1.5",
            "NaN",
        ];
        let mut taken = 0;
        let mut texts = vec![String::from("{\"a\": ")];
        for _ in 0..4 {
            let longer = texts.iter().flat_map(|text| PIECES.map(|piece| format!("{text}{piece}")));
            texts = longer.collect();
            for text in &texts {
                if members(text).is_some() {
                    taken += 1;
                    assert_eq!(canonical(text.as_bytes()).as_ref(), Some(text));
                }
            }
        }
        assert!(taken > 30, "only {taken} texts were taken");
    }
}
