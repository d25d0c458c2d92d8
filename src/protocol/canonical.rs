//! Writes JSON the one way the log holds it: byte for byte what Python's `json.dumps(json.loads(text))` gives.
//!
//! ASCII only, one space behind `,` and `:`, floats as `repr` writes them, and of equal keys in an object the
//! last value at the first one's place, as a `dict` has it.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use super::json::{Container, Token};

/// How the brackets are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `json.dumps(value)`
    Compact,
    /// `json.dumps(value, indent=2)`, as it stands inside so many brackets.
    Indented(usize),
}

/// Writes tokens as canonical JSON.
///
/// # Complexity
/// O(text) in all, for equal keys too: an object is never rewritten, its repeated entries are noted and left
/// out once, at the end.
#[derive(Clone, Debug)]
pub struct Writer {
    out: Vec<u8>,
    layout: Layout,
    levels: Vec<Level>,
    edits: Vec<Edit>,
    behind_key: bool,
}

/// An open bracket.
#[derive(Clone, Debug)]
struct Level {
    container: Container,
    /// Where its bracket stands in `out`.
    start: usize,
    items: usize,
    /// Of an object; ranges are bytes of `out`.
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    /// Where the separator in front of the entry begins.
    start: usize,
    key: Range<usize>,
    /// Where the value begins; it ends where the next entry starts.
    value: usize,
}

/// A range of `out` that is to be left out, or to be filled from another one.
#[derive(Clone, Debug)]
struct Edit {
    range: Range<usize>,
    instead: Option<Range<usize>>,
}

impl Writer {
    /// A writer with nothing written, and room for so many bytes.
    #[must_use]
    pub fn new(layout: Layout, capacity: usize) -> Self {
        let (out, levels) = (Vec::with_capacity(capacity), Vec::with_capacity(4));
        Self { out, layout, levels, edits: Vec::new(), behind_key: false }
    }

    /// Writes one token of `text`.
    pub fn token(&mut self, text: &[u8], token: &Token) {
        match token {
            Token::Open(container) => self.open(*container),
            Token::Close(_) => self.close(),
            Token::Key(range) => self.key(|out| push_json_string(out, &text[range.clone()])),
            Token::String(range) => {
                self.separate();
                push_json_string(&mut self.out, &text[range.clone()]);
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

    /// Writes an opening bracket.
    pub fn open(&mut self, container: Container) {
        self.separate();
        let start = self.out.len();
        self.out.push(match container {
            Container::Array => b'[',
            Container::Object => b'{',
        });
        self.levels.push(Level { container, start, items: 0, entries: Vec::new() });
    }

    /// Closes the array that was opened last so that its only item stands in its place: there was no array after all. For
    /// [`Layout::Compact`] only, where an item stands right behind the bracket.
    pub fn close_around(&mut self) {
        if let Some(level) = self.levels.pop() {
            self.edits.push(Edit { range: level.start..level.start + 1, instead: None });
        }
    }

    /// Writes the bracket that closes what was opened last.
    pub fn close(&mut self) {
        let Some(level) = self.levels.pop() else {
            return;
        };
        self.note_repeated_keys(&level);
        if level.items > 0 {
            self.break_line();
        }
        self.out.push(match level.container {
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
        self.out.extend_from_slice(scalar.as_bytes());
    }

    /// All that was written.
    #[must_use]
    pub fn finish(self) -> String {
        let Self { out, mut edits, .. } = self;
        let bytes = if edits.is_empty() {
            out
        } else {
            // Of two that begin together the outer one comes first: the inner one is in what it leaves out.
            edits.sort_unstable_by_key(|edit| (edit.range.start, Reverse(edit.range.end)));
            let mut kept = Vec::with_capacity(out.len());
            copy_edited(&out, 0..out.len(), &edits, &mut kept);
            kept
        };
        ascii(bytes)
    }

    fn key(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.out.len();
        self.separate();
        let key = self.out.len();
        write(&mut self.out);
        let key = key..self.out.len();
        self.out.extend_from_slice(b": ");
        let value = self.out.len();
        if let Some(level) = self.levels.last_mut() {
            level.entries.push(Entry { start, key, value });
        }
        self.behind_key = true;
    }

    /// Writes what stands in front of the next item.
    fn separate(&mut self) {
        if std::mem::take(&mut self.behind_key) {
            return;
        }
        let Some(level) = self.levels.last_mut() else {
            return;
        };
        level.items += 1;
        let first = level.items == 1;
        match (self.layout, first) {
            (Layout::Compact, true) => {}
            (Layout::Compact, false) => self.out.extend_from_slice(b", "),
            (Layout::Indented(_), true) => self.break_line(),
            (Layout::Indented(_), false) => {
                self.out.push(b',');
                self.break_line();
            }
        }
    }

    fn break_line(&mut self) {
        if let Layout::Indented(outside) = self.layout {
            self.out.push(b'\n');
            let levels = outside + self.levels.len();
            self.out.resize(self.out.len() + 2 * levels, b' ');
        }
    }

    fn note_repeated_keys(&mut self, level: &Level) {
        let entries = &level.entries;
        if !has_repeated_keys(&self.out, entries) {
            return;
        }
        let end = |index: usize| entries.get(index + 1).map_or(self.out.len(), |next| next.start);
        // The first and the last entry of each key.
        let mut spans: HashMap<&[u8], (usize, usize)> = HashMap::new();
        for (index, entry) in entries.iter().enumerate() {
            let (first, last) = spans.entry(&self.out[entry.key.clone()]).or_insert((index, index));
            *last = index;
            if *first != index {
                self.edits.push(Edit { range: entry.start..end(index), instead: None });
            }
        }
        for (first, last) in spans.into_values().filter(|(first, last)| first != last) {
            self.edits.push(Edit {
                range: entries[first].value..end(first),
                instead: Some(entries[last].value..end(last)),
            });
        }
    }
}

fn has_repeated_keys(out: &[u8], entries: &[Entry]) -> bool {
    /// Up to here comparing all pairs is cheaper than hashing.
    const FEW: usize = 8;
    let key = |entry: &Entry| &out[entry.key.clone()];
    if entries.len() <= FEW {
        (1..entries.len()).any(|n| entries[..n].iter().any(|entry| key(entry) == key(&entries[n])))
    } else {
        let mut seen = std::collections::HashSet::with_capacity(entries.len());
        !entries.iter().all(|entry| seen.insert(key(entry)))
    }
}

/// Copies `range` of `from`, applying the edits in it, which are sorted by where they start.
fn copy_edited(from: &[u8], range: Range<usize>, edits: &[Edit], to: &mut Vec<u8>) {
    // Ranges lie inside each other as deep as the JSON is nested, which may be deeper than the stack.
    let mut open = vec![range];
    while let Some(range) = open.pop() {
        let next = edits.partition_point(|edit| edit.range.start < range.start);
        match edits.get(next).filter(|edit| edit.range.start < range.end) {
            Some(edit) => {
                to.extend_from_slice(&from[range.start..edit.range.start]);
                open.push(edit.range.end..range.end);
                open.extend(edit.instead.clone());
            }
            None => to.extend_from_slice(&from[range]),
        }
    }
}

/// Canonical JSON is ASCII, so nothing is ever replaced here.
fn ascii(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// `text` as a canonical JSON string.
#[must_use]
pub fn json_string(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    out.push(b'"');
    push_characters(&mut out, text);
    out.push(b'"');
    ascii(out)
}

/// A valid JSON string, given with its quotes, in its canonical form.
#[must_use]
pub fn canonical_string(quoted: &[u8]) -> String {
    let mut out = Vec::with_capacity(quoted.len());
    push_json_string(&mut out, quoted);
    ascii(out)
}

/// Writes a JSON string, given with its quotes, whose escapes are known to be valid.
fn push_json_string(out: &mut Vec<u8>, quoted: &[u8]) {
    let inside = &quoted[1..quoted.len() - 1];
    out.push(b'"');
    // What is canonical as it stands is copied in one piece, from here on.
    let (mut from, mut at) = (0, 0);
    loop {
        at += plain_length(&inside[at..]);
        let Some(&byte) = inside.get(at) else { break };
        match (byte, inside.get(at + 1)) {
            (b'\\', Some(b'u')) => {
                out.extend_from_slice(&inside[from..at]);
                let digits = inside[at + 2..at + 6].iter();
                push_unit(out, digits.fold(0, |unit, &digit| unit << 4 | hex_value(digit)));
                at += 6;
                from = at;
            }
            (b'\\', Some(b'/')) => {
                out.extend_from_slice(&inside[from..at]);
                from = at + 1;
                at += 2;
            }
            (b'\\', _) => at += 2,
            _ => {
                out.extend_from_slice(&inside[from..at]);
                at += push_code_point(out, &inside[at..]);
                from = at;
            }
        }
    }
    out.extend_from_slice(&inside[from..]);
    out.push(b'"');
}

fn hex_value(digit: u8) -> u16 {
    u16::from(match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    })
}

/// Writes characters of a string, escaping what `ensure_ascii` escapes.
fn push_characters(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    loop {
        let plain = plain_length(rest);
        out.extend_from_slice(&rest[..plain]);
        rest = &rest[plain..];
        if rest.is_empty() {
            return;
        }
        rest = &rest[push_code_point(out, rest)..];
    }
}

/// Writes the first code point of `text`, which is not empty, and gives its width.
fn push_code_point(out: &mut Vec<u8>, text: &[u8]) -> usize {
    let (code, width) = code_point(text);
    match char::from_u32(code) {
        Some(character) => {
            for unit in character.encode_utf16(&mut [0; 2]) {
                push_unit(out, *unit);
            }
        }
        // A lone surrogate.
        None => push_unit(out, u16::try_from(code).unwrap_or(0xfffd)),
    }
    width
}

/// How many characters at the start of `text` stand for themselves in a string.
pub(super) fn plain_length(text: &[u8]) -> usize {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
    let mut rest = text;
    while let Some((word, behind)) = rest.split_first_chunk() {
        let marks = not_plain(u64::from_le_bytes(*word));
        if marks != 0 {
            return text.len() - rest.len() + marks.trailing_zeros() as usize / 8;
        }
        rest = behind;
    }
    let more = rest.iter().position(|&byte| !is_plain(byte)).unwrap_or(rest.len());
    text.len() - rest.len() + more
}

/// Of eight bytes, the first of which is the lowest, marks the first one that does not stand for itself by its highest bit.
/// Bits above that one say nothing.
fn not_plain(bytes: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHEST: u64 = ONES << 7;
    // A byte is less than another if taking that away borrows; the borrow reaches only bytes above.
    let less = |bytes: u64, than: u64| bytes.wrapping_sub(ONES * than) & !bytes;
    let equal = |to: u64| less(bytes ^ (ONES * to), 1);
    let marks = less(bytes, 0x20) | equal(0x22) | equal(0x5c) | equal(0x7f) | bytes;
    marks & HIGHEST
}

/// The first code point of generalised UTF-8 and its width; U+FFFD for a byte that begins none.
fn code_point(bytes: &[u8]) -> (u32, usize) {
    let width = match bytes[0] {
        0..=0x7f => return (bytes[0].into(), 1),
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return (0xfffd, 1),
    };
    let lead = u32::from(bytes[0]) & (0x7f >> width);
    match bytes.get(1..width) {
        Some(tail) if tail.iter().all(|byte| byte & 0xc0 == 0x80) => {
            let code = tail.iter().fold(lead, |code, byte| code << 6 | u32::from(byte & 0x3f));
            if code > 0x10_ffff { (0xfffd, 1) } else { (code, width) }
        }
        _ => (0xfffd, 1),
    }
}

/// Writes one UTF-16 unit.
fn push_unit(out: &mut Vec<u8>, unit: u16) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match unit {
        0x08 => b'b',
        0x09 => b't',
        0x0a => b'n',
        0x0c => b'f',
        0x0d => b'r',
        0x22 => b'"',
        0x5c => b'\\',
        0x20..=0x7e => return out.push(unit.to_le_bytes()[0]),
        _ => {
            let digit = |shift: u16| HEX[usize::from(unit >> shift & 0xf)];
            return out.extend([b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
        }
    };
    out.extend([b'\\', short]);
}

/// Writes a number as Python prints it after reading it.
fn push_number(out: &mut Vec<u8>, number: &[u8]) {
    if number == b"-0" {
        return out.push(b'0');
    }
    if number.iter().all(|byte| matches!(byte, b'-' | b'0'..=b'9')) {
        return out.extend_from_slice(number);
    }
    let value = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
    out.extend_from_slice(float_repr(value.unwrap_or(f64::NAN)).as_bytes());
}

/// Python's `repr` of a float, in JSON's words for what is not a number.
pub(crate) fn float_repr(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return format!("{sign}Infinity");
    }
    let (digits, exponent) = shortest_digits(value.abs());
    match (exponent, usize::try_from(exponent)) {
        (-4..0, _) => {
            let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
            format!("{sign}0.{zeros}{digits}")
        }
        (_, Ok(exponent @ 0..16)) => {
            let whole = exponent + 1;
            let padded = format!("{digits:0<whole$}");
            let (integer, fraction) = padded.split_at(whole);
            format!("{sign}{integer}.{}", if fraction.is_empty() { "0" } else { fraction })
        }
        _ => {
            let exponent_sign = if exponent < 0 { '-' } else { '+' };
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            format!("{sign}{first}{point}{rest}e{exponent_sign}{:02}", exponent.abs())
        }
    }
}

/// The fewest digits that read back as `value`, and the power of ten of the first one.
///
/// Of two that are as near, Python takes the even one, and so does ryu (Rust's own formatting does not).
fn shortest_digits(value: f64) -> (String, i32) {
    let mut buffer = ryu::Buffer::new();
    let text = buffer.format_finite(value);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = [integer, fraction].concat();
    let digits = all.trim_start_matches('0');
    if digits.is_empty() {
        return ("0".into(), 0);
    }
    let length = |text: &str| i32::try_from(text.len()).unwrap_or(i32::MAX);
    let exponent = exponent.parse().unwrap_or(0) + length(integer) - 1;
    let leading_zeros = length(&all) - length(digits);
    (digits.trim_end_matches('0').into(), exponent - leading_zeros)
}

#[cfg(test)]
mod tests {
    use super::super::json::Scanner;
    use super::*;

    fn rewrite(text: &str, layout: Layout) -> String {
        let (mut scanner, mut writer) = (Scanner::default(), Writer::new(layout, 0));
        let text = text.as_bytes();
        while let Some(token) = scanner.next(text).expect("valid JSON") {
            writer.token(text, &token);
        }
        if let Some(token) = scanner.end(text).expect("complete JSON") {
            writer.token(text, &token);
        }
        writer.finish()
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
            assert_eq!(rewrite(text, Layout::Compact), expected, "{text}");
        }
    }

    #[test]
    fn of_equal_keys_the_last_value_stands_at_the_first_place() {
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
            assert_eq!(rewrite(text, Layout::Compact), expected, "{text}");
        }
        assert_eq!(
            rewrite("{\"a\":1,\"b\":[],\"a\":[2]}", Layout::Indented(0)),
            "{\n  \"a\": [\n    2\n  ],\n  \"b\": []\n}"
        );
    }

    #[test]
    fn equal_keys_may_be_nested_deeper_than_the_stack() {
        const DEPTH: usize = if cfg!(miri) { 100 } else { 100_000 };
        let [open, close, written] =
            ["{\"a\":0,\"a\":", "}", "{\"a\": "].map(|text| text.repeat(DEPTH));
        assert!(
            rewrite(&format!("{open}1{close}"), Layout::Compact) == format!("{written}1{close}")
        );
    }

    #[test]
    fn indented_json_is_laid_out_as_python_does() {
        assert_eq!(
            rewrite("[{\"a\":[],\"b\":[1,2]},{}]", Layout::Indented(0)),
            "[\n  {\n    \"a\": [],\n    \"b\": [\n      1,\n      2\n    ]\n  },\n  {}\n]"
        );
    }

    #[test]
    fn the_first_byte_that_does_not_stand_for_itself_is_found() {
        for byte in 0..=255 {
            let is_plain = matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
            for at in 0..20 {
                for behind in [b' ', 0, b'!', b'"', b'#', b'[', b']', 0x7f, 0x80, 0xff] {
                    let mut text = [b'~'; 20];
                    text[at] = byte;
                    text[at + 1..].fill(behind);
                    let plain = !matches!(behind, 0 | b'"' | 0x7f..);
                    let expected = if !is_plain {
                        at
                    } else if plain {
                        20
                    } else {
                        at + 1
                    };
                    assert_eq!(plain_length(&text), expected, "{byte} at {at}, then {behind}");
                }
            }
        }
    }

    #[test]
    fn bytes_that_are_no_text_become_replacement_characters() {
        assert_eq!(json_string(b"a\xff\xc3"), "\"a\\ufffd\\ufffd\"");
        assert_eq!(json_string(b"\xed\xa0\xbd"), "\"\\ud83d\"");
    }
}
