//! JSON the slow way: recursive descent over a whole text into a tree, and the tree written again.
//!
//! It reads what Python's `json.loads` reads, and writes it as `json.dumps` does. Faults have the core's names, so
//! that they can be compared: what is wrong, and at which byte.

use std::fmt::Write;

use cogency_rs::json::{Controls, Fault, FaultKind};

use crate::text::characters;

/// A value, and the byte at which it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub at: usize,
    pub value: Value,
}

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Word(&'static str),
    /// As it was written.
    Number(String),
    String(Units),
    Array(Vec<Node>),
    /// As it was written: keys may be equal.
    Object(Vec<(Units, Node)>),
}

/// A string's UTF-16 units, which `json.dumps` writes. Keys of the same units are equal.
pub type Units = Vec<u16>;

/// A text's first value.
#[derive(Debug)]
pub struct Reading {
    pub node: Node,
    /// One past the value's last byte.
    pub end: usize,
    /// Whether RFC 8259 or `serde_json` does not have such a text: a word or a raw control character that only
    /// Python reads, a lone surrogate, or the key under which `serde_json` hides numbers.
    pub beyond_rfc: bool,
}

/// Reads the value that begins at byte `at` of `text`, or after the whitespace there.
///
/// # Errors
/// There is not a value.
pub fn read(text: &[u8], at: usize, controls: Controls) -> Result<Reading, Fault> {
    let mut reader = Reader { text, at, controls, beyond_rfc: std::str::from_utf8(text).is_err() };
    let node = reader.value()?;
    Ok(Reading { node, end: reader.at, beyond_rfc: reader.beyond_rfc })
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    controls: Controls,
    beyond_rfc: bool,
}

impl Reader<'_> {
    fn value(&mut self) -> Result<Node, Fault> {
        self.skip_space();
        let at = self.at;
        let value = match self.peek()? {
            b'[' => self.array()?,
            b'{' => self.object()?,
            b'"' => Value::String(self.string()?),
            b'-' if self.text.get(at + 1) != Some(&b'I') => self.number()?,
            b'0'..=b'9' => self.number()?,
            _ => self.word()?,
        };
        Ok(Node { at, value })
    }

    fn array(&mut self) -> Result<Value, Fault> {
        self.at += 1;
        self.skip_space();
        let mut items = Vec::new();
        if self.peek()? == b']' {
            self.at += 1;
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value()?);
            self.skip_space();
            match self.peek()? {
                b',' => self.at += 1,
                b']' => break,
                _ => return self.fault(FaultKind::ArrayComma),
            }
        }
        self.at += 1;
        Ok(Value::Array(items))
    }

    fn object(&mut self) -> Result<Value, Fault> {
        self.at += 1;
        self.skip_space();
        let mut entries = Vec::new();
        if self.peek()? == b'}' {
            self.at += 1;
            return Ok(Value::Object(entries));
        }
        loop {
            self.skip_space();
            if self.peek()? != b'"' {
                return self.fault(FaultKind::Key);
            }
            let key = self.string()?;
            self.beyond_rfc |= key == units("$serde_json::private::Number");
            self.skip_space();
            if self.peek()? != b':' {
                return self.fault(FaultKind::Colon);
            }
            self.at += 1;
            entries.push((key, self.value()?));
            self.skip_space();
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => break,
                _ => return self.fault(FaultKind::ObjectComma),
            }
        }
        self.at += 1;
        Ok(Value::Object(entries))
    }

    fn string(&mut self) -> Result<Units, Fault> {
        let start = self.at;
        let cut_off = Fault { kind: FaultKind::EndedInString, at: start };
        let mut control = None;
        let mut units = Units::new();
        self.at += 1;
        loop {
            match self.text.get(self.at).ok_or(cut_off)? {
                b'"' => break,
                b'\\' => units.push(self.escape()?.ok_or(cut_off)?),
                byte => {
                    if *byte < 0x20 {
                        control = control.or(Some(self.at));
                    }
                    units.extend(self.character());
                }
            }
        }
        self.at += 1;
        self.beyond_rfc |= control.is_some() || String::from_utf16(&units).is_err();
        match (self.controls, control) {
            (Controls::Escaped, Some(at)) => Err(Fault { kind: FaultKind::Control, at }),
            _ => Ok(units),
        }
    }

    /// The unit that the escape here stands for; `None` if the text ends inside it.
    fn escape(&mut self) -> Result<Option<u16>, Fault> {
        let Some(letter) = self.text.get(self.at + 1) else { return Ok(None) };
        let (width, unit) = match letter {
            b'"' | b'\\' | b'/' => (2, Some(u16::from(*letter))),
            b'b' => (2, Some(0x08)),
            b'f' => (2, Some(0x0c)),
            b'n' => (2, Some(0x0a)),
            b'r' => (2, Some(0x0d)),
            b't' => (2, Some(0x09)),
            b'u' => {
                let digits = &self.text[self.at + 2..self.text.len().min(self.at + 6)];
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return self.fault(FaultKind::UnicodeEscape);
                }
                let digits = std::str::from_utf8(digits).expect("ASCII");
                (6, u16::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 4))
            }
            _ => return self.fault(FaultKind::Escape),
        };
        self.at += width;
        Ok(unit)
    }

    fn character(&mut self) -> Units {
        let character = characters(&self.text[self.at..]).next();
        self.at += character.map_or(0, <[u8]>::len);
        character.map(units_of).unwrap_or_default()
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        self.skip(b"-");
        if !self.skip(b"0") {
            self.digits()?;
        }
        if self.skip(b".") {
            self.digits()?;
        }
        if self.skip(b"eE") {
            self.skip(b"+-");
            self.digits()?;
        }
        let number = std::str::from_utf8(&self.text[start..self.at]).expect("ASCII");
        Ok(Value::Number(number.to_owned()))
    }

    /// Passes over one or more digits.
    fn digits(&mut self) -> Result<(), Fault> {
        if !self.peek()?.is_ascii_digit() {
            return self.fault(FaultKind::Digit);
        }
        while self.skip(b"0123456789") {}
        Ok(())
    }

    fn word(&mut self) -> Result<Value, Fault> {
        let rest = &self.text[self.at..];
        for word in ["null", "true", "false", "NaN", "Infinity", "-Infinity"] {
            if rest.starts_with(word.as_bytes()) {
                self.at += word.len();
                self.beyond_rfc |= word.contains('N') || word.contains('I');
                return Ok(Value::Word(word));
            }
            if word.as_bytes().starts_with(rest) {
                return Err(self.ended());
            }
        }
        self.fault(FaultKind::Value)
    }

    fn skip_space(&mut self) {
        while self.skip(b" \t\n\r") {}
    }

    /// Passes over one byte, if it is one of `bytes`.
    fn skip(&mut self, bytes: &[u8]) -> bool {
        let found = self.text.get(self.at).is_some_and(|byte| bytes.contains(byte));
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Result<u8, Fault> {
        self.text.get(self.at).copied().ok_or(self.ended())
    }

    fn ended(&self) -> Fault {
        Fault { kind: FaultKind::Ended, at: self.text.len() }
    }

    fn fault<T>(&self, kind: FaultKind) -> Result<T, Fault> {
        Err(Fault { kind, at: self.at })
    }
}

/// The UTF-16 units of `text`.
#[must_use]
pub fn units(text: &str) -> Units {
    text.encode_utf16().collect()
}

/// The UTF-16 units of one character, which may be a surrogate; none if it is cut off.
#[must_use]
pub fn units_of(character: &[u8]) -> Units {
    match (std::str::from_utf8(character), character) {
        (Ok(character), _) => units(character),
        (Err(_), [0xed, high, low]) => {
            vec![0xd000 | u16::from(high & 0x3f) << 6 | u16::from(low & 0x3f)]
        }
        (Err(_), _) => Units::new(),
    }
}

/// The entries of an object as a `dict` holds them: of equal keys the first one's place and the last value.
#[must_use]
pub fn as_dict(entries: &[(Units, Node)]) -> Vec<(&Units, &Value)> {
    let mut dict: Vec<(&Units, &Value)> = Vec::new();
    for (key, node) in entries {
        match dict.iter_mut().find(|(known, _)| *known == key) {
            Some((_, value)) => *value = &node.value,
            None => dict.push((key, &node.value)),
        }
    }
    dict
}

/// How JSON is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `json.dumps(value)`
    Compact,
    /// `json.dumps(value, indent=2)`
    Indented,
}

/// The text of a value.
#[must_use]
pub fn dumps(value: &Value, layout: Layout) -> String {
    let mut out = String::new();
    write_value(&mut out, value, layout, "\n");
    out
}

/// `line` is the line break before an item at this level.
fn write_value(out: &mut String, value: &Value, layout: Layout, line: &str) {
    let inner = format!("{line}  ");
    let bracketed =
        |out: &mut String, brackets: [char; 2], count: usize, item: &dyn Fn(&mut String, usize)| {
            out.push(brackets[0]);
            for index in 0..count {
                match (layout, index) {
                    (Layout::Compact, 0) => {}
                    (Layout::Compact, _) => out.push_str(", "),
                    (Layout::Indented, 0) => out.push_str(&inner),
                    (Layout::Indented, _) => out.extend([",", &inner]),
                }
                item(out, index);
            }
            if layout != Layout::Compact && count > 0 {
                out.push_str(line);
            }
            out.push(brackets[1]);
        };
    match value {
        Value::Word(word) => out.push_str(word),
        Value::Number(number) => out.push_str(&number_repr(number)),
        Value::String(units) => out.push_str(&quoted(units)),
        Value::Array(items) => bracketed(out, ['[', ']'], items.len(), &|out, index| {
            write_value(out, &items[index].value, layout, &inner);
        }),
        Value::Object(entries) => {
            let dict = as_dict(entries);
            bracketed(out, ['{', '}'], dict.len(), &|out, index| {
                let (key, value) = dict[index];
                out.extend([&quoted(key), ": "]);
                write_value(out, value, layout, &inner);
            });
        }
    }
}

/// `json.dumps` of a string.
#[must_use]
pub fn quoted(units: &[u16]) -> String {
    let mut out = String::from("\"");
    for unit in units {
        match char::from_u32(u32::from(*unit)) {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some('\x08') => out.push_str("\\b"),
            Some('\x0c') => out.push_str("\\f"),
            Some(character @ ' '..='~') => out.push(character),
            _ => write!(out, "\\u{unit:04x}").expect("a string takes anything"),
        }
    }
    out.push('"');
    out
}

/// `repr(json.loads(number))`
fn number_repr(number: &str) -> String {
    if !number.contains(['.', 'e', 'E']) {
        return if number == "-0" { "0".to_owned() } else { number.to_owned() };
    }
    let value: f64 = number.parse().expect("Rust reads every JSON number");
    if value.is_infinite() {
        return if value > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() };
    }
    let (sign, digits, exponent) = shortest(value);
    let point = exponent + 1;
    let count = i32::try_from(digits.len()).expect("at most 17");
    let zeros = |count: i32| "0".repeat(usize::try_from(count).expect("no negative count"));
    if (-3..=0).contains(&point) {
        format!("{sign}0.{}{digits}", zeros(-point))
    } else if (1..=16).contains(&point) {
        if count <= point {
            format!("{sign}{digits}{}.0", zeros(point - count))
        } else {
            let (integer, fraction) = digits.split_at(usize::try_from(point).expect("above 0"));
            format!("{sign}{integer}.{fraction}")
        }
    } else {
        let fraction = if count > 1 { format!(".{}", &digits[1..]) } else { String::new() };
        let sign_of_exponent = if exponent < 0 { '-' } else { '+' };
        format!("{sign}{}{fraction}e{sign_of_exponent}{:02}", &digits[..1], exponent.abs())
    }
}

/// Sign, digits and decimal exponent of the shortest decimal number that reads back as `value`: every length
/// is tried. The nearest decimal of a length may read back as a neighbour of `value` while the one above it,
/// which is a little farther away, does not: above a power of two floats lie twice as far apart.
fn shortest(value: f64) -> (&'static str, String, i32) {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let value = value.abs();
    for decimals in 0..17 {
        let nearest = format!("{value:.decimals$e}");
        let (mantissa, exponent) = nearest.split_once('e').expect("scientific notation");
        let digits: u64 = mantissa.replace('.', "").parse().expect("digits");
        let scale =
            exponent.parse::<i32>().expect("an exponent") - i32::try_from(decimals).expect("small");
        for digits in [digits, digits + 1] {
            if format!("{digits}e{scale}").parse() == Ok(value) {
                let exponent = scale + i32::try_from(digits.to_string().len()).expect("small") - 1;
                let digits = digits.to_string();
                let trimmed = digits.trim_end_matches('0');
                return (sign, if trimmed.is_empty() { "0" } else { trimmed }.to_owned(), exponent);
            }
        }
    }
    unreachable!("17 digits tell every float from every other")
}
