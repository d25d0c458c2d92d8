//! Writes JSON the one way the log holds it: byte for byte what Python's `json.dumps(json.loads(text))` gives.
//!
//! ASCII only, one space after `,` and `:`, floats as `repr` writes them. Equal keys in an object become one, with the last
//! value at the first one's place, as in a `dict`.

use crate::json::{Container, Scanner, Token};
use members::{COLON, Members, Object, SEPARATOR, copy};
pub(super) use scalar::plain_length;
use scalar::{ascii, push_characters, push_inside, push_json_string, push_number, push_text};
pub use scalar::{canonical_string, json_string, json_string_length};

mod members;
mod scalar;

/// Writes tokens as canonical JSON.
///
/// # Complexity
/// O(text) in all, also with equal keys: only a small object is written again when it is closed. The repeated members of others are
/// noted, and left out once, at the end.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    out: Vec<u8>,
    brackets: Vec<OpenBracket>,
    /// Those in which a key was written twice.
    objects: Vec<Object>,
    has_holes: bool,
    is_after_key: bool,
    /// The first key that an object has twice.
    repeated: Option<String>,
    /// Where a value begins that is written in parts.
    parted: Option<usize>,
    /// Whether such a value was written again.
    has_changed: bool,
    /// Up to which byte of the text a string was written that has not ended; 0 if there is none.
    part: usize,
}

/// An open bracket.
#[derive(Clone, Debug)]
struct OpenBracket {
    container: Container,
    /// Where its bracket is in `out`.
    start: usize,
    is_empty: bool,
    /// Whether the bracket may be left out in the end ([`Writer::close_around`]).
    may_go: bool,
    /// The members of an object; empty for an array.
    members: Members,
}

/// The character that breaks up the marks of a dialect in a prompt (U+2060), as canonical JSON has it.
pub const ESCAPED_JOINER: &str = "\\u2060";

/// Up to this many bytes, an object with equal keys is written again when it is closed. There may be a million of them.
const SMALL: usize = 4 << 10;

/// How many bytes of a string that has not ended are written at once.
const PART: usize = 4 << 10;

/// How much room may be left after what is written.
const MOST_SPARE: usize = 64 << 10;

/// The text as canonical JSON; `None` if it is not one JSON value.
///
/// # Complexity
/// O(text)
#[must_use]
pub fn canonical(text: &[u8]) -> Option<String> {
    let mut writer = Writer::new(text.len());
    Scanner::default().rest(text, |_, token| {
        writer.token(text, &token);
        Some(())
    })?;
    Some(writer.finish())
}

impl Writer {
    /// What is left out at the end: a byte that canonical JSON does not have.
    pub const HOLE: u8 = 0xff;

    /// An empty writer with room for this many bytes.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let (out, brackets) = (Vec::with_capacity(capacity), Vec::with_capacity(4));
        Self { out, brackets, ..Self::default() }
    }

    /// Writes one token of `text`.
    pub fn token(&mut self, text: &[u8], token: &Token) {
        match token {
            Token::Open(container) => self.open(*container),
            Token::Close(_) => self.close(),
            Token::Key(range) => self.key(|out| push_json_string(out, &text[range.clone()])),
            Token::String(range) => {
                self.string(text, range.start, range.end - 1);
                self.out.push(b'"');
                self.part = 0;
            }
            Token::Number(range) => {
                self.separate();
                push_number(&mut self.out, &text[range.clone()]);
            }
            Token::Word(word) => {
                self.separate();
                self.out.extend_from_slice(word.as_bytes());
            }
        }
    }

    /// Writes what is known of a long string that the scanner is in, so that its end has little to write.
    pub fn string_so_far(&mut self, text: &[u8], scanner: &Scanner) {
        if let Some(start) = scanner.open_string()
            && scanner.position() - self.part.max(start) > PART
        {
            self.string(text, start, scanner.position());
        }
    }

    /// The same of any string: its beginning is shown before it ends.
    pub fn string_up_to(&mut self, text: &[u8], scanner: &Scanner) {
        if let Some(start) = scanner.open_string()
            && scanner.position() > self.part.max(start)
        {
            self.string(text, start, scanner.position());
        }
    }

    /// What was written so far and stays as it is, but for keys that are there twice. Bytes that no JSON has are left out of it
    /// in the end ([`Writer::HOLE`]).
    #[must_use]
    pub fn settled(&self) -> &[u8] {
        let first = self.brackets.iter().find(|bracket| bracket.may_go);
        &self.out[..first.map_or(self.out.len(), |bracket| bracket.start)]
    }

    /// Whether something that was written is not what it was when it was [`settled`](Self::settled): a key is there twice, or a value
    /// was not what its parts said.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.has_changed || self.repeated.is_some()
    }

    /// The first key that an object has twice.
    #[must_use]
    pub fn repeated(&self) -> Option<&str> {
        self.repeated.as_deref()
    }

    /// Writes the next part of a text as a string, which [`Writer::end_parts`] ends.
    pub fn text_part(&mut self, text: &[u8]) {
        if self.parted.is_none() {
            self.begin_parts();
            self.out.push(b'"');
        }
        push_characters(&mut self.out, text);
    }

    /// Writes the next part of a value that is canonical JSON already.
    pub fn raw_part(&mut self, json: &[u8]) {
        self.begin_parts();
        self.out.extend_from_slice(json);
    }

    /// How much was written of the value in parts.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.parted.map_or(0, |start| self.out.len() - start)
    }

    /// The text in parts has been written: ends its string, if it has begun.
    pub fn end_text(&mut self) {
        if self.parted.take().is_some() {
            self.out.push(b'"');
        } else {
            self.raw_scalar("\"\"");
        }
    }

    /// The value in parts is this one: writes the rest of it, or all of it again if it began in another way.
    pub fn end_parts(&mut self, json: &str) {
        let Some(start) = self.parted.take() else { return self.raw_scalar(json) };
        let written = self.out.len() - start;
        let rest = json.as_bytes().strip_prefix(&self.out[start..]);
        if rest.is_none() {
            self.out.truncate(start);
            self.has_changed = true;
        }
        self.out.reserve(json.len() - rest.map_or(0, |_| written) + self.brackets.len());
        self.out.extend_from_slice(rest.unwrap_or(json.as_bytes()));
    }

    fn begin_parts(&mut self) {
        if self.parted.is_none() {
            self.separate();
            self.parted = Some(self.out.len());
        }
    }

    /// Writes an opening bracket.
    pub fn open(&mut self, container: Container) {
        self.separate();
        let start = self.out.len();
        self.out.push(match container {
            Container::Array => b'[',
            Container::Object => b'{',
        });
        self.brackets.push(OpenBracket {
            container,
            start,
            is_empty: true,
            may_go: false,
            members: Members::default(),
        });
    }

    /// Writes the bracket of an array that is perhaps none, if it is closed with [`Writer::close_around`].
    pub fn open_perhaps(&mut self) {
        self.open(Container::Array);
        self.may_go(true);
    }

    /// The array that was opened last is one.
    pub fn keep(&mut self) {
        self.may_go(false);
    }

    fn may_go(&mut self, may_go: bool) {
        if let Some(bracket) = self.brackets.last_mut() {
            bracket.may_go = may_go;
        }
    }

    /// Closes the array that was opened last and leaves its brackets out, so that its only item takes its place.
    pub fn close_around(&mut self) {
        if let Some(bracket) = self.brackets.pop() {
            self.out[bracket.start] = Self::HOLE;
            self.has_holes = true;
        }
    }

    /// Writes the bracket that closes what was opened last.
    pub fn close(&mut self) {
        let Some(bracket) = self.brackets.pop() else {
            return;
        };
        if let Some(object) = bracket.members.repeated(bracket.start..self.out.len()) {
            self.close_repeated(object);
        }
        self.out.push(match bracket.container {
            Container::Array => b']',
            Container::Object => b'}',
        });
    }

    /// Writes a key that is canonical JSON already.
    pub fn raw_key(&mut self, key: &str) {
        self.key(|out| out.extend_from_slice(key.as_bytes()));
    }

    /// Writes a scalar that is canonical JSON already.
    pub fn raw_scalar(&mut self, scalar: &str) {
        self.separate();
        // With the brackets that are open: a long scalar fits, and closing them must not double the room.
        self.out.reserve(scalar.len() + self.brackets.len());
        self.out.extend_from_slice(scalar.as_bytes());
    }

    /// Writes text as a string.
    pub fn text(&mut self, text: &[u8]) {
        self.separate();
        self.out.reserve(text.len() + 2 + self.brackets.len());
        push_text(&mut self.out, text);
    }

    /// All that was written.
    #[must_use]
    pub fn finish(self) -> String {
        let Self { out: mut bytes, mut objects, has_holes, .. } = self;
        if !objects.is_empty() {
            objects.sort_unstable_by_key(|object| object.range.start);
            let mut kept = Vec::with_capacity(bytes.len());
            copy(&bytes, 0..bytes.len(), &objects, &mut kept);
            bytes = kept;
        }
        if has_holes {
            bytes.retain(|&byte| byte != Self::HOLE);
        }
        if bytes.capacity() - bytes.len() > MOST_SPARE {
            bytes.shrink_to_fit();
        }
        ascii(bytes)
    }

    fn key(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.separate();
        let key = self.out.len();
        write(&mut self.out);
        if let Some(bracket) = self.brackets.last_mut()
            && bracket.members.add(&self.out, key)
        {
            self.repeated.get_or_insert_with(|| String::from_utf8_lossy(&self.out[key..]).into());
        }
        self.out.extend_from_slice(COLON.as_bytes());
        self.is_after_key = true;
    }

    fn close_repeated(&mut self, object: Object) {
        let range = object.range.clone();
        if range.len() > SMALL {
            self.objects.push(object);
            return;
        }
        // Those in it are small as well, so they were written again before.
        let mut kept = Vec::with_capacity(range.len());
        copy(&self.out, range.clone(), &[object], &mut kept);
        self.out.truncate(range.start);
        self.out.extend_from_slice(&kept);
    }

    /// Writes the string whose quote is byte `start`, up to byte `end`.
    fn string(&mut self, text: &[u8], start: usize, end: usize) {
        if self.part == 0 {
            self.separate();
            self.out.push(b'"');
            self.part = start + 1;
        }
        push_inside(&mut self.out, &text[self.part..end]);
        self.part = end;
    }

    /// Writes what comes before the next item.
    fn separate(&mut self) {
        if std::mem::take(&mut self.is_after_key) {
            return;
        }
        let Some(bracket) = self.brackets.last_mut() else {
            return;
        };
        if !std::mem::replace(&mut bracket.is_empty, false) {
            self.out.extend_from_slice(SEPARATOR.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewrite(text: &str) -> String {
        canonical(text.as_bytes()).expect("valid JSON")
    }

    #[test]
    fn values_are_written_as_python_writes_them() {
        for (text, expected) in [
            ("[ ]", "[]"),
            ("{\"a\":[1,{}]}", "{\"a\": [1, {}]}"),
            ("-0", "0"),
            ("-0.0", "-0.0"),
            ("9007199254740993", "9007199254740993"),
            ("1e400", "Infinity"),
            ("-1e400", "-Infinity"),
            ("1e-400", "0.0"),
            ("1E5", "100000.0"),
            ("1e15", "1000000000000000.0"),
            ("600000000000000.2", "600000000000000.2"),
            ("1e16", "1e+16"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("123.456e1", "1234.56"),
            ("1.5e300", "1.5e+300"),
            ("5e-324", "5e-324"),
            ("NaN", "NaN"),
            (
                "\"\\/\\u0041\\u00E9é😀\\ud800\u{7f}\n\\b\"",
                "\"/A\\u00e9\\u00e9\\ud83d\\ude00\\ud800\\u007f\\n\\b\"",
            ),
        ] {
            assert_eq!(rewrite(text), expected, "{text}");
        }
    }

    #[test]
    fn equal_keys_become_one_with_the_last_value_at_the_first_place() {
        for (text, expected) in [
            ("{\"a\":1,\"b\":2,\"a\":3}", "{\"a\": 3, \"b\": 2}"),
            ("{\"a\":1,\"\\u0061\":2,\"a\":3}", "{\"a\": 3}"),
            (
                "{\"a\":{\"x\":1,\"x\":2},\"b\":0,\"a\":{\"y\":1,\"y\":{\"z\":3,\"z\":4}}}",
                "{\"a\": {\"y\": {\"z\": 4}}, \"b\": 0}",
            ),
            (
                "{\"0\":0,\"1\":1,\"2\":2,\"3\":3,\"4\":4,\"5\":5,\"6\":6,\"7\":7,\"8\":8,\"1\":[]}",
                "{\"0\": 0, \"1\": [], \"2\": 2, \"3\": 3, \"4\": 4, \"5\": 5, \"6\": 6, \"7\": 7, \"8\": 8}",
            ),
        ] {
            assert_eq!(rewrite(text), expected, "{text}");
        }
    }

    #[test]
    fn equal_keys_may_be_nested_deeper_than_the_stack() {
        const DEPTH: usize = if cfg!(miri) { 100 } else { 100_000 };
        let [open, close, written] =
            ["{\"a\":0,\"a\":", "}", "{\"a\": "].map(|text| text.repeat(DEPTH));
        assert!(rewrite(&format!("{open}1{close}")) == format!("{written}1{close}"));
    }
}
