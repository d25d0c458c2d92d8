//! Strings and numbers as Python's `json.dumps` writes them.

use std::num::NonZeroU8;

/// Canonical JSON is ASCII, so nothing is ever replaced here.
pub fn ascii(bytes: Vec<u8>) -> String {
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

pub fn push_text(out: &mut Vec<u8>, text: &[u8]) {
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
pub fn push_json_string(out: &mut Vec<u8>, quoted: &[u8]) {
    out.push(b'"');
    push_inside(out, &quoted[1..quoted.len() - 1]);
    out.push(b'"');
}

/// Writes whole characters and escapes of such a string.
pub fn push_inside(out: &mut Vec<u8>, inside: &[u8]) {
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
pub fn push_characters(out: &mut Vec<u8>, text: &[u8]) {
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

/// The letter of the escape for each byte that has a short one, such as `n` for a line break.
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

/// How many characters at the start of `text` need no escape in a string.
pub fn plain_length(text: &[u8]) -> usize {
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

/// Sets the highest bit of the first of eight bytes that needs an escape. The lowest byte is the first one; the bits
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
pub fn push_number(out: &mut Vec<u8>, number: &[u8]) {
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
