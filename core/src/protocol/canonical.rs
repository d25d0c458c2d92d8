//! Writes JSON the one way the log holds it: byte for byte what Python's `json.dumps(json.loads(text))` gives.
//!
//! ASCII only, one space after `,` and `:`, floats as `repr` writes them. Equal keys in an object become one, with the last
//! value at the first one's place, as in a `dict`.

use std::num::NonZeroU8;

use crate::json::{Container, Scanner, Token};
use members::{COLON, Members, Object, SEPARATOR, copy};

mod members;

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

/// Canonical JSON is ASCII, so nothing is ever replaced here.
fn ascii(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// `text` as a canonical JSON string.
#[must_use]
pub fn json_string(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    push_text(&mut out, text);
    ascii(out)
}

/// How many characters [`json_string`] has.
///
/// # Complexity
/// O(text); plain text is not copied
#[must_use]
pub fn json_string_length(text: &[u8]) -> usize {
    const QUOTES: usize = 2;
    if plain_length(text) == text.len() { text.len() + QUOTES } else { json_string(text).len() }
}

fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    push_characters(out, text);
    out.push(b'"');
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
    out.push(b'"');
    push_inside(out, &quoted[1..quoted.len() - 1]);
    out.push(b'"');
}

/// Writes whole characters and escapes of such a string.
fn push_inside(out: &mut Vec<u8>, inside: &[u8]) {
    // From here on, the text is canonical as it is, and is copied in one piece.
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
                at += match push_short(out, &inside[at..], |byte| byte < b' ') {
                    0 => push_as_escape(out, &inside[at..]),
                    breaks => breaks,
                };
                from = at;
            }
        }
    }
    out.extend_from_slice(&inside[from..]);
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
        rest = &rest[push_short(out, rest, |_| true)..];
        match rest.first() {
            None => return,
            Some(b' '..=b'~') => {}
            Some(_) => rest = &rest[push_as_escape(out, rest)..],
        }
    }
}

/// Writes the characters with a short escape that `text` begins with, as long as `is_meant` says so: quotes and breaks come in
/// rows. Gives how many there are.
fn push_short(out: &mut Vec<u8>, text: &[u8], is_meant: impl Fn(u8) -> bool) -> usize {
    let mut count = 0;
    while let Some(&byte) = text.get(count)
        && let Some(letter) = SHORT[usize::from(byte)].filter(|_| is_meant(byte))
    {
        out.extend_from_slice(&[b'\\', letter.get()]);
        count += 1;
    }
    count
}

/// The letter after the backslash of a short escape, by the byte that it stands for.
const SHORT: [Option<NonZeroU8>; 256] = {
    let mut letters = [None; 256];
    let short = [
        (0x08, b'b'),
        (b'\t', b't'),
        (b'\n', b'n'),
        (0x0c, b'f'),
        (b'\r', b'r'),
        (b'"', b'"'),
        (b'\\', b'\\'),
    ];
    let mut at = 0;
    while at < short.len() {
        let (byte, letter) = short[at];
        letters[byte as usize] = NonZeroU8::new(letter);
        at += 1;
    }
    letters
};

/// Writes the first code point of `text`, which is not empty, as an escape, and gives its width.
fn push_as_escape(out: &mut Vec<u8>, text: &[u8]) -> usize {
    if text[0].is_ascii() {
        push_unit(out, text[0].into());
        return 1;
    }
    let (code, width) = code_point(text);
    if let Some(above) = code.checked_sub(0x1_0000) {
        push_escape(out, 0xd800 | above >> 10);
        push_escape(out, 0xdc00 | above & 0x3ff);
    } else {
        push_escape(out, code);
    }
    width
}

/// How many characters at the start of `text` stand for themselves in a string.
pub(super) fn plain_length(text: &[u8]) -> usize {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
    let mut rest = text;
    while let Some((word, after)) = rest.split_first_chunk() {
        let marks = not_plain(u64::from_le_bytes(*word));
        if marks != 0 {
            return text.len() - rest.len() + marks.trailing_zeros() as usize / 8;
        }
        rest = after;
    }
    let more = rest.iter().position(|&byte| !is_plain(byte)).unwrap_or(rest.len());
    text.len() - rest.len() + more
}

/// Sets the highest bit of the first of eight bytes that does not stand for itself. The lowest byte is the first one; the bits
/// above the first that is set mean nothing.
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
    let letter = u8::try_from(unit).ok().and_then(|byte| SHORT[usize::from(byte)]);
    match (letter, unit) {
        (Some(letter), _) => out.extend([b'\\', letter.get()]),
        (None, 0x20..=0x7e) => out.push(unit.to_le_bytes()[0]),
        (None, _) => push_escape(out, unit.into()),
    }
}

/// Writes one UTF-16 unit by its number.
fn push_escape(out: &mut Vec<u8>, unit: u32) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let digit = |shift: u32| HEX[(unit >> shift & 0xf) as usize];
    out.extend_from_slice(&[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
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

/// Python's `repr` of a float, or `NaN`, `Infinity` or `-Infinity`.
fn float_repr(value: f64) -> String {
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
/// Between two that are equally near, Python takes the even one, and so does ryu (Rust's own formatting does not).
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

    #[test]
    fn the_first_byte_that_does_not_stand_for_itself_is_found() {
        for byte in 0..=255 {
            let is_plain = matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
            for at in 0..20 {
                for after in [b' ', 0, b'!', b'"', b'#', b'[', b']', 0x7f, 0x80, 0xff] {
                    let mut text = [b'~'; 20];
                    text[at] = byte;
                    text[at + 1..].fill(after);
                    let plain = !matches!(after, 0 | b'"' | 0x7f..);
                    let expected = if !is_plain {
                        at
                    } else if plain {
                        20
                    } else {
                        at + 1
                    };
                    assert_eq!(plain_length(&text), expected, "{byte} at {at}, then {after}");
                }
            }
        }
    }

    #[test]
    fn bytes_that_are_not_text_become_replacement_characters() {
        assert_eq!(json_string(b"a\xff\xc3"), "\"a\\ufffd\\ufffd\"");
        assert_eq!(json_string(b"\xed\xa0\xbd"), "\"\\ud83d\"");
    }
}
