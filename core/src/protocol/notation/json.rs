//! Canonical JSON in the layout and with the characters that a model was trained on.

use std::borrow::Cow;

use crate::dialect::JsonLayout;

use super::super::canonical::{json_string, plain_length};
use super::marks::{DialectMarks, first_character};

/// How JSON is written.
#[derive(Clone, Copy, Debug)]
pub struct Style<'a> {
    pub layout: JsonLayout,
    pub strings: Strings<'a>,
}

/// How the strings in JSON are written.
#[derive(Clone, Copy, Debug)]
pub enum Strings<'a> {
    /// In ASCII, with escapes.
    Ascii(Option<&'a DialectMarks>),
    /// With characters outside ASCII as themselves.
    Readable(Option<&'a DialectMarks>),
}

impl<'a> Strings<'a> {
    /// The marks that are made harmless, if any are: `\u003c` for the `<` that begins one.
    fn marks(self) -> Option<&'a DialectMarks> {
        let (Self::Ascii(marks) | Self::Readable(marks)) = self;
        marks
    }
}

/// Adds canonical JSON. It is inside `outside` brackets of the same layout, which indent its lines.
///
/// # Complexity
/// O(json)
pub fn push_json(out: &mut Vec<u8>, json: &str, style: Style<'_>, outside: usize) {
    let bytes = json.as_bytes();
    // Everything before `from` is written: text that needs no change is copied in one piece.
    let (mut from, mut at, mut depth) = (0, 0, outside);
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let end = at + string_length(&bytes[at..]);
                if !matches!(style.strings, Strings::Ascii(None)) {
                    out.extend_from_slice(&bytes[from..at]);
                    push_string(out, &json[at..end], style.strings);
                    from = end;
                }
                at = end + 1;
            }
            b'[' | b'{' => {
                depth += 1;
                if breaks_lines(style.layout, depth) && !matches!(bytes.get(at), Some(b']' | b'}'))
                {
                    out.extend_from_slice(&bytes[from..at]);
                    break_line(out, style.layout, depth);
                    from = at;
                }
            }
            b']' | b'}' => {
                if breaks_lines(style.layout, depth)
                    && !matches!(bytes.get(at.wrapping_sub(2)), Some(b'[' | b'{'))
                {
                    out.extend_from_slice(&bytes[from..at - 1]);
                    break_line(out, style.layout, depth - 1);
                    from = at - 1;
                }
                depth -= 1;
            }
            b',' => {
                at += 1; // its space
                if breaks_lines(style.layout, depth) {
                    out.extend_from_slice(&bytes[from..at - 1]);
                    break_line(out, style.layout, depth);
                    from = at;
                }
            }
            _ => {}
        }
    }
    out.extend_from_slice(&bytes[from..]);
}

/// Writes brackets and the values in them, one by one.
#[derive(Debug)]
pub struct Brackets<'o, 's> {
    out: &'o mut Vec<u8>,
    style: Style<'s>,
    depth: usize,
    /// Whether the bracket that was opened last is still empty.
    is_empty: bool,
}

impl<'o, 's> Brackets<'o, 's> {
    /// No bracket is open yet.
    pub fn new(out: &'o mut Vec<u8>, style: Style<'s>) -> Self {
        Self { out, style, depth: 0, is_empty: true }
    }

    /// Writes an opening bracket.
    pub fn open(&mut self, bracket: u8) {
        self.separate();
        self.out.push(bracket);
        self.depth += 1;
        self.is_empty = true;
    }

    /// Writes a closing bracket.
    pub fn close(&mut self, bracket: u8) {
        if !self.is_empty && breaks_lines(self.style.layout, self.depth) {
            break_line(self.out, self.style.layout, self.depth - 1);
        }
        self.depth -= 1;
        self.is_empty = false;
        self.out.push(bracket);
    }

    /// Writes a key and its value. The key is plain text, the value canonical JSON.
    pub fn field(&mut self, key: &str, value: &str) {
        self.separate();
        if key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            self.out.push(b'"');
            self.out.extend_from_slice(key.as_bytes());
            self.out.push(b'"');
        } else {
            push_json(self.out, &json_string(key.as_bytes()), self.style, self.depth);
        }
        self.out.extend_from_slice(b": ");
        push_json(self.out, value, self.style, self.depth);
    }

    /// Writes the comma, and the line break or space, before the next value.
    fn separate(&mut self) {
        let is_first = std::mem::take(&mut self.is_empty);
        if self.depth == 0 {
            return;
        }
        self.out.extend_from_slice(if is_first { b"" } else { b"," });
        if breaks_lines(self.style.layout, self.depth) {
            break_line(self.out, self.style.layout, self.depth);
        } else if !is_first {
            self.out.push(b' ');
        }
    }
}

/// Values nested deeper than this are on one line, even where others have their own lines: the indentation of
/// brackets in brackets grows with the square of their number.
const MAX_INDENTED: usize = 200;

/// Whether each value in a bracket of this depth has its own line.
fn breaks_lines(layout: JsonLayout, depth: usize) -> bool {
    match layout {
        JsonLayout::Indented(_) => depth <= MAX_INDENTED,
        JsonLayout::Items(_) => depth == 1,
        JsonLayout::Compact => false,
    }
}

/// Begins a line that is indented by this many levels.
fn break_line(out: &mut Vec<u8>, layout: JsonLayout, levels: usize) {
    let width = match layout {
        JsonLayout::Indented(width) | JsonLayout::Items(width) => width,
        JsonLayout::Compact => 0,
    };
    out.push(b'\n');
    out.resize(out.len() + width * levels, b' ');
}

/// The number of bytes before the quote that ends a canonical string. `text` begins after its opening quote.
pub fn string_length(text: &[u8]) -> usize {
    let mut at = 0;
    loop {
        at += plain_length(&text[at..]);
        match text.get(at) {
            Some(b'\\') => at = (at + 2).min(text.len()),
            Some(b'"') | None => return at,
            Some(_) => at += 1,
        }
    }
}

/// The keys, with their quotes, and the values of a canonical object.
///
/// # Complexity
/// O(object)
pub fn members(object: &str) -> impl Iterator<Item = (&str, &str)> {
    items(object).map(|item| {
        let key = 2 + string_length(&item.as_bytes()[1..]);
        (&item[..key], &item[key + 2..])
    })
}

/// The values of a canonical array.
///
/// # Complexity
/// O(array)
pub fn elements(array: &str) -> impl Iterator<Item = &str> {
    items(array)
}

/// The items between the commas of a canonical array or object.
fn items(container: &str) -> impl Iterator<Item = &str> {
    let bytes = container.as_bytes();
    let mut at = 1;
    std::iter::from_fn(move || {
        let (start, mut depth) = (at, 0);
        if start + 1 >= bytes.len() {
            return None;
        }
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' => at += 1 + string_length(&bytes[at + 1..]),
                b'[' | b'{' => depth += 1,
                b']' | b'}' if depth > 0 => depth -= 1,
                b',' | b']' | b'}' if depth == 0 => break,
                _ => {}
            }
            at += 1;
        }
        let item = &container[start..at.min(bytes.len())];
        at += 2;
        Some(item)
    })
}

/// Adds the inside of a canonical string: the text between its quotes.
pub fn push_string(out: &mut Vec<u8>, inside: &str, strings: Strings<'_>) {
    let marks = strings.marks();
    let raised = marks.and_then(|marks| marks.raised_string(inside));
    let inside = raised.as_deref().unwrap_or(inside);
    let readable = match strings {
        Strings::Ascii(_) => Cow::Borrowed(inside.as_bytes()),
        Strings::Readable(_) => Cow::Owned(with_characters(inside)),
    };
    let Some(marks) = marks else { return out.extend_from_slice(&readable) };
    let mut from = 0;
    for at in marks.find_in_string(&readable) {
        if at < from || is_in_escape(&readable, at) {
            continue;
        }
        out.extend_from_slice(&readable[from..at]);
        let (code, width) = first_character(&readable[at..]);
        push_escape(out, code);
        from = at + width;
    }
    out.extend_from_slice(&readable[from..]);
}

/// Whether this byte of a string's inside is part of an escape.
fn is_in_escape(inside: &[u8], at: usize) -> bool {
    const LONGEST: usize = "\\u0000".len();
    let begins_escape = |start: usize| {
        let before = inside[..start].iter().rev().take_while(|&&byte| byte == b'\\').count();
        inside[start] == b'\\' && before % 2 == 0
    };
    let reaches = |start: usize| {
        let length = if inside.get(start + 1) == Some(&b'u') { LONGEST } else { 2 };
        at < start + length
    };
    let first = (at + 1).saturating_sub(LONGEST);
    (first..=at).any(|start| begins_escape(start) && reaches(start))
}

/// Adds a character as one JSON escape, or as two.
pub fn push_escape(out: &mut Vec<u8>, code: u32) {
    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    for unit in character.encode_utf16(&mut [0; 2]) {
        out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
    }
}

/// The inside of a canonical string with characters outside ASCII as themselves; a lone surrogate stays an escape.
fn with_characters(inside: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(backslash) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.extend_from_slice(&rest.as_bytes()[..backslash]);
        rest = &rest[backslash..];
        let (character, width) = match unit(rest) {
            None => (None, 2),
            Some(high @ 0xd800..0xdc00) => match unit(&rest[6..]) {
                Some(low @ 0xdc00..0xe000) => {
                    (char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)), 12)
                }
                _ => (None, 6),
            },
            Some(code) => (char::from_u32(code).filter(|character| !character.is_ascii()), 6),
        };
        match character {
            Some(character) => {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            None => out.extend_from_slice(&rest.as_bytes()[..width]),
        }
        rest = &rest[width..];
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

/// The UTF-16 unit that the escape at the start of `text` stands for.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::presets::preset;

    fn written(json: &str, layout: JsonLayout) -> String {
        let marks = DialectMarks::new(&preset("cogency").expect("a row"));
        let mut out = Vec::new();
        push_json(&mut out, json, Style { layout, strings: Strings::Readable(Some(&marks)) }, 0);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn json_is_laid_out_as_python_does() {
        let json = r#"[{"a": [], "b": [1, {}]}, "x, {y: 1}"]"#;
        for (layout, expected) in [
            (JsonLayout::Compact, json),
            (JsonLayout::Items(4), "[\n    {\"a\": [], \"b\": [1, {}]},\n    \"x, {y: 1}\"\n]"),
            (
                JsonLayout::Indented(2),
                "[\n  {\n    \"a\": [],\n    \"b\": [\n      1,\n      {}\n    ]\n  },\n  \"x, {y: 1}\"\n]",
            ),
        ] {
            assert_eq!(written(json, layout), expected);
        }
    }

    #[test]
    fn an_escape_has_all_of_its_characters() {
        for (inside, expected) in
            [(r"a\nb", ".xx."), (r"\\n", "xx."), (r"\u00e9f", "xxxxxx."), (r"\\\\u00", "xxxx...")]
        {
            let found = (0..inside.len()).map(|at| is_in_escape(inside.as_bytes(), at));
            let found: String = found.map(|is_in| if is_in { 'x' } else { '.' }).collect();
            assert_eq!(found, expected, "{inside}");
        }
    }

    #[test]
    fn strings_are_readable_and_hold_no_mark() {
        for (json, expected) in [
            (r#""\u00e9\u20ac\ud83d\ude00\n\"""#, "\"é€😀\\n\\\"\""),
            (r#""\ud83d\ud83d\ude00\ude00\u007f""#, "\"\\ud83d😀\\ude00\\u007f\""),
            (
                r#""</execute>\\<think> < <thinker>""#,
                "\"\\u003c/execute>\\\\\\u003cthink> < <thinker>\"",
            ),
            (r#"{"<end>": 1e+16}"#, "{\"\\u003cend>\": 1e+16}"),
        ] {
            assert_eq!(written(json, JsonLayout::Compact), expected, "{json}");
        }
    }
}
