//! The values in arguments that arrive as pieces of JSON: which each is, by its path, and what it says.

use std::sync::Arc;

use super::Text;
use super::canonical::Writer;
use super::event::{ArgsPath, ArgsStep};
use crate::json::{Scanner, unescaped};

/// Reads pieces of one canonical JSON value. A piece may end inside a string, between two characters or escapes, but inside no
/// other token.
#[derive(Clone, Debug, Default)]
pub struct Values {
    path: Vec<ArgsStep>,
    /// How many bytes its keys have.
    key_bytes: usize,
    /// For each bracket that is open, whether nothing is in it so far.
    open: Vec<bool>,
    in_string: bool,
    /// How many values have begun.
    begun: usize,
    /// Whether nothing of the open string was handed out.
    is_empty: bool,
    /// The path of the open string, which its pieces share.
    string_path: Option<ArgsPath>,
    /// The first of a pair of surrogates, at the end of what was read.
    half: Vec<u8>,
}

/// How many steps and how many bytes of keys the path of a value may have that is handed out: each value has its own, so a million
/// small ones at the end of a long path would take gigabytes.
const MOST_STEPS: usize = 16;
const MOST_KEY_BYTES: usize = 1 << 8;

/// How many values of a call are handed out: each is an event, and a chunk may have a million.
const MOST_VALUES: usize = 10_000;

impl Values {
    /// Reads the next piece, and gives each value in it, or the next piece of a string, to `say`, unless the path to it is too long or there
    /// were too many.
    ///
    /// # Complexity
    /// O(json)
    pub fn feed(&mut self, json: &[u8], mut say: impl FnMut(ArgsPath, Text)) {
        let mut rest = json;
        while let Some(&byte) = rest.first() {
            if self.in_string {
                rest = self.string(rest, &mut say);
                continue;
            }
            match byte {
                b'{' | b'[' => {
                    self.fill();
                    self.open.push(true);
                    self.path.push(match byte {
                        b'[' => ArgsStep::Index(0),
                        _ => ArgsStep::Key(Text::default()),
                    });
                }
                b'}' | b']' => {
                    let last = self.path.pop();
                    if let Some(ArgsStep::Key(key)) = &last {
                        self.key_bytes -= key.as_bytes().len();
                    }
                    if self.open.pop() == Some(true) && !self.path.is_empty() && self.begin() {
                        let is_array = matches!(last, Some(ArgsStep::Index(_)));
                        say(self.path(), if is_array { "[]" } else { "{}" }.into());
                    }
                }
                b',' => {
                    if let Some(ArgsStep::Index(index)) = self.path.last_mut() {
                        *index += 1;
                    }
                }
                b'"' => {
                    self.fill();
                    let end = string_end(&rest[1..]).map(|end| end + 2);
                    if let Some(ArgsStep::Key(key)) = self.path.last_mut()
                        && let Some(end) = end
                        && rest[end..].starts_with(b":")
                    {
                        self.key_bytes -= key.as_bytes().len();
                        *key = unescaped(&rest[..end]);
                        self.key_bytes += key.as_bytes().len();
                        rest = &rest[end..];
                        continue;
                    }
                    self.begin();
                    (self.in_string, self.is_empty) = (true, true);
                }
                b' ' | b':' => {}
                _ => {
                    self.fill();
                    let is_end = |byte: &u8| matches!(byte, b',' | b']' | b'}');
                    let end = rest.iter().position(is_end).unwrap_or(rest.len());
                    if self.begin() {
                        say(self.path(), rest[..end].into());
                    }
                    rest = &rest[end..];
                    continue;
                }
            }
            rest = &rest[1..];
        }
    }

    /// A value begins; gives whether it is shown.
    fn begin(&mut self) -> bool {
        self.begun += 1;
        self.is_shown()
    }

    fn is_shown(&self) -> bool {
        let is_short = self.path.len() <= MOST_STEPS && self.key_bytes <= MOST_KEY_BYTES;
        is_short && self.begun <= MOST_VALUES
    }

    fn path(&self) -> ArgsPath {
        self.path.as_slice().into()
    }

    /// There is something in the bracket that is open.
    fn fill(&mut self) {
        if let Some(is_empty) = self.open.last_mut() {
            *is_empty = false;
        }
    }

    /// Reads what is in the open string; gives what is after it.
    fn string<'j>(&mut self, rest: &'j [u8], say: &mut impl FnMut(ArgsPath, Text)) -> &'j [u8] {
        let end = string_end(rest);
        let inside = &rest[..end.unwrap_or(rest.len())];
        let mut quoted = vec![b'"'];
        quoted.append(&mut self.half);
        quoted.extend_from_slice(inside);
        if end.is_none() && ends_in_half(&quoted) {
            self.half = quoted.split_off(quoted.len() - HALF);
        }
        quoted.push(b'"');
        let text = unescaped(&quoted);
        if !text.as_bytes().is_empty() || (end.is_some() && self.is_empty) {
            self.is_empty = false;
            if self.is_shown() {
                let path = self.string_path.take().unwrap_or_else(|| self.path());
                self.string_path = Some(Arc::clone(&path));
                say(path, text);
            }
        }
        match end {
            Some(end) => {
                self.in_string = false;
                self.string_path = None;
                &rest[end + 1..]
            }
            None => &[],
        }
    }
}

/// The values in arguments that arrive as JSON, as a model or its provider writes it and in any cuts.
#[derive(Clone, Debug, Default)]
pub struct JsonValues {
    text: Vec<u8>,
    scanner: Scanner,
    writer: Writer,
    /// Up to which byte of the writer's output the values were read.
    read: usize,
    values: Values,
    is_broken: bool,
}

impl JsonValues {
    /// Reads the next piece, and gives each value, or the next piece of a string, to `say`. What is not JSON says nothing more.
    ///
    /// # Complexity
    /// O(text), however it is cut
    pub fn feed(&mut self, piece: &[u8], say: impl FnMut(ArgsPath, Text)) {
        self.text.extend_from_slice(piece);
        while !self.is_broken {
            match self.scanner.next(&self.text) {
                Ok(Some(token)) => self.writer.token(&self.text, &token),
                Ok(None) => break,
                Err(_) => self.is_broken = true,
            }
        }
        self.writer.string_up_to(&self.text, &self.scanner);
        if !self.writer.has_changed() {
            let settled = self.writer.settled();
            self.values.feed(&settled[self.read..], say);
            self.read = settled.len();
        }
    }
}

/// The width of an escape by number.
const HALF: usize = r"\ud83d".len();

/// Whether canonical JSON ends with the first of a pair of surrogates.
fn ends_in_half(json: &[u8]) -> bool {
    let Some(at) = json.len().checked_sub(HALF) else { return false };
    let escape = &json[at..];
    let backslashes = json[..at].iter().rev().take_while(|&&byte| byte == b'\\').count();
    backslashes % 2 == 0
        && escape.starts_with(br"\ud")
        && matches!(escape[3], b'8' | b'9' | b'a' | b'b')
}

/// Where the string ends whose inside `json` begins with: at its quote.
fn string_end(json: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', &json[at..])?;
        if json[at] == b'"' {
            return Some(at);
        }
        at += 2;
        if at > json.len() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each value with its path, as text.
    fn read(pieces: &[&str]) -> Vec<(String, String)> {
        let mut values = Values::default();
        let mut all: Vec<(String, String)> = Vec::new();
        for piece in pieces {
            values.feed(piece.as_bytes(), |path, text| {
                let path = path.iter().map(|step| match step {
                    ArgsStep::Key(key) => key.to_string(),
                    ArgsStep::Index(index) => index.to_string(),
                });
                let path = path.collect::<Vec<_>>().join("/");
                match all.last_mut() {
                    Some((last, said)) if *last == path => said.push_str(&text.to_string()),
                    _ => all.push((path, text.to_string())),
                }
            });
        }
        all
    }

    #[test]
    fn values_with_a_long_path_are_left_out_and_those_after_them_are_not() {
        let nested = |steps: usize| format!("{}1{}", "[".repeat(steps - 1), "]".repeat(steps - 1));
        let (deep, deepest) = (nested(MOST_STEPS), nested(MOST_STEPS + 1));
        let json = format!(
            r#"{{"a": {deepest}, "b": {deep}, "{}": ["x", {{}}], "c": 2}}"#,
            "k".repeat(2000)
        );
        let deep = ("b".to_owned() + &"/0".repeat(MOST_STEPS - 1), "1".to_owned());
        assert_eq!(read(&[&json]), [deep, ("c".to_owned(), "2".to_owned())]);
    }

    #[test]
    fn of_very_many_values_the_first_come() {
        let json = format!(r#"["{}", {}"x"]"#, "y".repeat(MOST_VALUES), "1, ".repeat(MOST_VALUES));
        let pieces: Vec<&str> = json.split_inclusive('y').collect();
        assert_eq!(read(&pieces).len(), MOST_VALUES);
    }

    #[test]
    fn values_come_with_their_path_however_they_are_cut() {
        let json = r#"{"a": "x\"\n\ud83d\ude00, ]", "b": [1, {"c": "", "d": {}}, [], true], "e": -1.5, "f": "\\"}"#;
        let expected = [
            ("a", "x\"\n\u{1f600}, ]"),
            ("b/0", "1"),
            ("b/1/c", ""),
            ("b/1/d", "{}"),
            ("b/2", "[]"),
            ("b/3", "true"),
            ("e", "-1.5"),
            ("f", "\\"),
        ];
        let expected = expected.map(|(path, text)| (path.to_owned(), text.to_owned()));
        assert_eq!(read(&[json]), expected);
        // Between the two halves of a character, inside strings, and between tokens.
        let ends = [
            "{",
            "{\"a\": ",
            "\"x",
            "x\\\"",
            "\\n",
            "\\ud83d",
            "\\ude00",
            ", ]",
            ", ]\"",
            "[1",
            "\"c\": \"",
            "\"\"",
            "[]",
        ];
        for end in ends {
            let cut = json.find(end).expect("a part of it") + end.len();
            assert_eq!(read(&[&json[..cut], &json[cut..]]), expected, "{:?}", &json[..cut]);
        }
    }
}
