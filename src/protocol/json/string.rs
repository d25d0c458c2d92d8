//! The characters of a string.

use super::super::text::{Text, push_code_point};
use super::token::FaultKind;

/// The index of the first control character.
pub fn first_control(text: &[u8]) -> Option<usize> {
    // Without an early exit the compiler compares many bytes at once, and almost always there is no such byte.
    let any = text.iter().fold(0, |any, &byte| any | u8::from(byte < 0x20));
    if any > 0 { text.iter().position(|&byte| byte < 0x20) } else { None }
}

/// How many bytes the escape at the start of `rest` takes; `None` when `rest` ends inside it.
pub fn escape_width(rest: &[u8]) -> Result<Option<usize>, FaultKind> {
    match rest.get(1) {
        None => Ok(None),
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(Some(2)),
        Some(b'u') => {
            let digits = &rest[2..rest.len().min(6)];
            if !digits.iter().all(u8::is_ascii_hexdigit) {
                return Err(FaultKind::UnicodeEscape);
            }
            Ok((digits.len() == 4).then_some(6))
        }
        Some(_) => Err(FaultKind::Escape),
    }
}

/// The text of a valid JSON string, which is given with its quotes. A lone surrogate stays one.
///
/// # Complexity
/// O(quoted)
#[must_use]
pub fn unescaped(quoted: &[u8]) -> Text {
    let inner = &quoted[1..quoted.len() - 1];
    let mut text = Vec::with_capacity(inner.len());
    unescape(inner, &mut text, Rest::Ends);
    text.into()
}

/// Whether characters are the last of their string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// They are.
    Ends,
    /// More may follow: half of a surrogate pair at the end is left for later.
    GoesOn,
}

/// Adds the text of valid characters of a string to `text`; returns how many bytes of them were read.
pub fn unescape(inner: &[u8], text: &mut Vec<u8>, last: Rest) -> usize {
    let mut rest = inner;
    while let Some(backslash) = memchr::memchr(b'\\', rest) {
        text.extend_from_slice(&rest[..backslash]);
        if last == Rest::GoesOn && is_first_half(&rest[backslash..]) {
            return inner.len() - rest.len() + backslash;
        }
        rest = &rest[backslash + 1..];
        let (code, width) = match rest[0] {
            b'u' => escaped_code_point(rest),
            b'b' => (0x08, 1),
            b'f' => (0x0c, 1),
            b'n' => (u32::from(b'\n'), 1),
            b'r' => (u32::from(b'\r'), 1),
            b't' => (u32::from(b'\t'), 1),
            itself => (u32::from(itself), 1),
        };
        push_code_point(text, code);
        rest = &rest[width..];
    }
    text.extend_from_slice(rest);
    inner.len()
}

/// Whether this is nothing but the escape of a high surrogate.
fn is_first_half(escape: &[u8]) -> bool {
    matches!(escape, [b'\\', b'u', b'd' | b'D', b'8' | b'9' | b'a'..=b'b' | b'A'..=b'B', _, _])
}

/// The code point of the escape whose `u` `rest` begins with, and how many bytes it takes; a surrogate pair is two escapes.
fn escaped_code_point(rest: &[u8]) -> (u32, usize) {
    let unit = |digits: &[u8]| {
        let digits = digits.iter().map(|&digit| char::from(digit).to_digit(16).unwrap_or(0));
        digits.fold(0, |unit, digit| unit << 4 | digit)
    };
    let first = unit(&rest[1..5]);
    if let (0xd800..0xdc00, [b'\\', b'u', digits @ ..]) = (first, &rest[5..]) {
        let second = unit(&digits[..4]);
        if let 0xdc00..0xe000 = second {
            return (0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00), 11);
        }
    }
    (first, 5)
}
