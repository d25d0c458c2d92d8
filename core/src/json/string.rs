//! The characters of a string.

use super::token::{Fault, FaultKind};
use crate::text::{Text, push_code_point};

/// How many bytes the escape at the start of `rest` takes; `None` when `rest` ends inside it.
fn escape_width(rest: &[u8]) -> Result<Option<usize>, FaultKind> {
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

/// Continues reading a string at `at`, which must not be inside an escape. Returns whether it ends in this text: if so, `at` is
/// now just after its quote, and otherwise at the end of the text or of its last whole escape.
pub fn read_string(text: &[u8], at: &mut usize) -> Result<bool, Fault> {
    loop {
        let Some(found) = memchr::memchr2(b'"', b'\\', &text[*at..]) else {
            *at = text.len();
            return Ok(false);
        };
        *at += found;
        if text[*at] == b'"' {
            *at += 1;
            return Ok(true);
        }
        match escape_width(&text[*at..]) {
            Ok(Some(width)) => *at += width,
            Ok(None) => return Ok(false),
            Err(kind) => return Err(Fault { kind, at: *at }),
        }
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
        rest = &rest[backslash..];
        if last == Rest::GoesOn && is_first_half(rest) {
            return inner.len() - rest.len();
        }
        let (first, width) = unit(rest);
        rest = &rest[width..];
        let mut code = u32::from(first);
        if let (0xd800..0xdc00, [b'\\', b'u', ..]) = (first, rest)
            && let (second @ 0xdc00..0xe000, width) = unit(rest)
        {
            code = 0x1_0000 + ((code - 0xd800) << 10) + (u32::from(second) - 0xdc00);
            rest = &rest[width..];
        }
        push_code_point(text, code);
    }
    text.extend_from_slice(rest);
    inner.len()
}

/// Whether this is nothing but the escape of a high surrogate.
fn is_first_half(escape: &[u8]) -> bool {
    matches!(escape, [b'\\', b'u', b'd' | b'D', b'8' | b'9' | b'a'..=b'b' | b'A'..=b'B', _, _])
}

/// The unit of UTF-16 that the valid escape at the start of `rest` stands for, and how many bytes it takes.
pub fn unit(rest: &[u8]) -> (u16, usize) {
    match rest[1] {
        b'u' => {
            let digits =
                rest[2..6].iter().map(|&digit| char::from(digit).to_digit(16).unwrap_or(0));
            let unit = digits.fold(0, |unit, digit| unit << 4 | digit);
            (u16::try_from(unit).unwrap_or(0xfffd), 6)
        }
        b'b' => (0x08, 2),
        b'f' => (0x0c, 2),
        b'n' => (0x0a, 2),
        b'r' => (0x0d, 2),
        b't' => (0x09, 2),
        itself => (u16::from(itself), 2),
    }
}
