//! What Python's literals say, as JSON.

use super::super::super::canonical::Writer;
use super::super::super::problem::{Problem, ProblemKind};
use crate::json::Token;
use crate::text::push_code_point;

/// Digits that Python itself turns into text at most; longer integers in another base are refused.
const MAX_DIGITS: usize = 4300;

/// Where a string ends whose text goes on at `from`: the first byte of its closing quotes, or where to go on once there is
/// more text.
pub(super) fn string_end(
    text: &[u8],
    from: usize,
    quote: u8,
    triple: bool,
) -> Result<usize, usize> {
    let mut at = from;
    while let Some(found) = memchr::memchr2(quote, b'\\', &text[at..]) {
        at += found;
        let rest = &text[at..];
        match rest {
            [b'\\'] => return Err(at),
            [b'\\', ..] => at += 2,
            _ if !triple => return Ok(at),
            [_, second, third, ..] if [*second, *third] == [quote; 2] => return Ok(at),
            _ if rest.len() < 3 && rest.iter().all(|&byte| byte == quote) => return Err(at),
            _ => at += 1,
        }
    }
    Err(text.len())
}

/// The most bytes of an escape.
const LONGEST_ESCAPE: usize = 10;

/// How many of these characters of a string hold no escape that more characters may change.
pub(super) fn whole_escapes(characters: &[u8]) -> usize {
    let Some(last) = memchr::memrchr(b'\\', characters) else { return characters.len() };
    let before = characters[..last].iter().rev().take_while(|&&byte| byte == b'\\').count();
    // One of two is the other's.
    let is_open = before % 2 == 0 && characters.len() - last <= LONGEST_ESCAPE;
    if is_open { last } else { characters.len() }
}

/// Writes what the characters between the quotes of a string say, the first of which is byte `start` of the block.
///
/// # Errors
/// An escape that Python refuses, or that names a character.
pub(super) fn unescape(characters: &[u8], start: usize, out: &mut Vec<u8>) -> Result<(), Problem> {
    let mut rest = characters;
    while let Some(backslash) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..backslash]);
        rest = &rest[backslash..];
        let width = escape(rest, out).map_err(|kind| {
            let at = start + characters.len() - rest.len();
            Problem { kind, at }
        })?;
        rest = &rest[width..];
    }
    out.extend_from_slice(rest);
    Ok(())
}

/// Writes what the escape at the start of `rest` says; gives its width.
fn escape(rest: &[u8], out: &mut Vec<u8>) -> Result<usize, ProblemKind> {
    let byte = match rest.get(1) {
        Some(b'\n') => return Ok(2),
        Some(b'\r') => return Ok(if rest.get(2) == Some(&b'\n') { 3 } else { 2 }),
        Some(b'a') => 0x07,
        Some(b'b') => 0x08,
        Some(b't') => b'\t',
        Some(b'n') => b'\n',
        Some(b'v') => 0x0b,
        Some(b'f') => 0x0c,
        Some(b'r') => b'\r',
        Some(byte @ (b'\\' | b'\'' | b'"')) => *byte,
        Some(b'0'..=b'7') => {
            let digits = rest[1..].iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7'));
            let (code, width) = digits.fold((0, 1), |(code, width), digit| {
                (code << 3 | u32::from(digit - b'0'), width + 1)
            });
            push_code_point(out, code);
            return Ok(width);
        }
        Some(b'x') => return hexadecimal(rest, 2, out),
        Some(b'u') => return hexadecimal(rest, 4, out),
        Some(b'U') => return hexadecimal(rest, 8, out),
        Some(b'N') => {
            return Err(ProblemKind::Expected {
                expected: "the character itself".into(),
                found: "its name in a \\N escape".into(),
            });
        }
        // As in Python, any other backslash is one.
        _ => {
            out.push(b'\\');
            return Ok(1);
        }
    };
    out.push(byte);
    Ok(2)
}

fn hexadecimal(rest: &[u8], digits: usize, out: &mut Vec<u8>) -> Result<usize, ProblemKind> {
    let width = 2 + digits;
    let code = rest.get(2..width).and_then(|digits| {
        digits
            .iter()
            .try_fold(0_u32, |code, &digit| Some(code << 4 | char::from(digit).to_digit(16)?))
    });
    let Some(code) = code.filter(|&code| code <= 0x10_ffff) else {
        let letter = char::from(rest[1]);
        return Err(ProblemKind::Expected {
            expected: format!("a code of {digits} hexadecimal digits after \\{letter}").into(),
            found: "something else".into(),
        });
    };
    push_code_point(out, code);
    Ok(width)
}

/// The number that a literal without its sign says, as `json.dumps` writes it; `None` where it is not a number.
///
/// # Complexity
/// O(`text`).
pub(super) fn number(is_negative: bool, text: &[u8]) -> Option<String> {
    let digits = match text {
        [b'0', b'x' | b'X', digits @ ..] => integer(digits, 4)?,
        [b'0', b'o' | b'O', digits @ ..] => integer(digits, 3)?,
        [b'0', b'b' | b'B', digits @ ..] => integer(digits, 1)?,
        _ => decimal(text)?,
    };
    let number = [if is_negative { b"-" } else { &b""[..] }, &digits].concat();
    let mut writer = Writer::new(number.len());
    writer.token(&number, &Token::Number(0..number.len()));
    Some(writer.finish())
}

/// A number in base ten without what JSON does not know: underscores and needless zeros.
fn decimal(text: &[u8]) -> Option<Vec<u8>> {
    let (mantissa, exponent) = match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let (whole, fraction) = match memchr::memchr(b'.', mantissa) {
        Some(point) => (&mantissa[..point], Some(&mantissa[point + 1..])),
        None => (mantissa, None),
    };
    let digits = |part: &[u8]| if part.is_empty() { Some(Vec::new()) } else { plain_digits(part) };
    let mut out = digits(whole)?;
    if fraction.is_none() && exponent.is_none() {
        let is_zero = out.iter().all(|&digit| digit == b'0');
        return match (out.first()?, is_zero) {
            (_, true) => Some(vec![b'0']),
            (b'0', false) => None,
            _ => Some(out),
        };
    }
    let fraction = digits(fraction.unwrap_or_default())?;
    if out.is_empty() && fraction.is_empty() {
        return None;
    }
    out.push(b'.');
    out.extend(fraction);
    if let Some(exponent) = exponent {
        let (sign, exponent) = match exponent {
            [sign @ (b'+' | b'-'), rest @ ..] => (*sign, rest),
            rest => (b'+', rest),
        };
        out.extend([b'e', sign]);
        out.extend(plain_digits(exponent)?);
    }
    Some(out)
}

/// Digits without the single underscores between them; `None` where there is anything else.
fn plain_digits(text: &[u8]) -> Option<Vec<u8>> {
    let is_good = |at: usize| match text[at] {
        b'_' => at > 0 && text[at - 1] != b'_' && at + 1 < text.len(),
        byte => byte.is_ascii_digit(),
    };
    (!text.is_empty() && (0..text.len()).all(is_good))
        .then(|| text.iter().copied().filter(|&byte| byte != b'_').collect())
}

/// The decimal digits of an integer that is written with this many bits for each digit.
fn integer(text: &[u8], bits: u32) -> Option<Vec<u8>> {
    /// What one part of the result counts to.
    const PART: u64 = 1_000_000_000;
    let text = text.strip_prefix(b"_").unwrap_or(text);
    let is_good = |at: usize| match text[at] {
        b'_' => at > 0 && text[at - 1] != b'_' && at + 1 < text.len(),
        byte => char::from(byte).is_digit(1 << bits),
    };
    if text.is_empty() || !(0..text.len()).all(is_good) {
        return None;
    }
    let digits: Vec<u64> = text
        .iter()
        .filter_map(|&byte| char::from(byte).to_digit(1 << bits))
        .map(u64::from)
        .skip_while(|&digit| digit == 0)
        .collect();
    // Ten digits need more than 33 bits.
    if digits.len() * bits as usize > MAX_DIGITS / 10 * 33 {
        return None;
    }
    let mut parts = vec![0];
    for group in digits.chunks(28 / bits as usize) {
        let mut carry = group.iter().fold(0, |value, digit| value << bits | digit);
        for part in &mut parts {
            let value = (*part << (bits as usize * group.len())) + carry;
            (*part, carry) = (value % PART, value / PART);
        }
        if carry > 0 {
            parts.push(carry);
        }
    }
    let last = parts.pop().unwrap_or_default();
    let rest = parts.iter().rev().map(|part| format!("{part:09}"));
    Some(std::iter::once(last.to_string()).chain(rest).collect::<String>().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::super::super::canonical::json_string;
    use super::*;

    #[test]
    fn numbers_are_what_python_makes_of_them() {
        for (text, expected) in [
            ("0", "0"),
            ("000", "0"),
            ("1_000", "1000"),
            ("18446744073709551616", "18446744073709551616"),
            ("1.", "1.0"),
            (".5", "0.5"),
            ("1e3", "1000.0"),
            ("1E-5", "1e-05"),
            ("00.5", "0.5"),
            ("09e1", "90.0"),
            ("1_0.2_5e+1_0", "102500000000.0"),
            ("1e400", "Infinity"),
            ("0xff", "255"),
            ("0X_Ff_00", "65280"),
            ("0o17", "15"),
            ("0b1_01", "5"),
            ("0x0", "0"),
            (
                "0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
                "115792089237316195423570985008687907853269984665640564039457584007913129639935",
            ),
        ] {
            assert_eq!(number(false, text.as_bytes()).as_deref(), Some(expected), "{text}");
        }
        for (text, expected) in [("0", "0"), ("00", "0"), ("0.0", "-0.0"), ("0x10", "-16")] {
            assert_eq!(number(true, text.as_bytes()).as_deref(), Some(expected), "-{text}");
        }
        for text in [
            "012", "1__0", "1_", "0x", "0x_", "0xg", "0b2", "0o8", ".", "1e", "1e+", "1_.5",
            "1._5", "1.2.3", "1j", "1a", "e5", ".e5", "0x1__0", "1e5.0",
        ] {
            assert_eq!(number(false, text.as_bytes()), None, "{text}");
        }
        assert!(number(false, &[&b"0x"[..], &[b'f'; 3500]].concat()).is_some());
        assert_eq!(number(false, &[&b"0x"[..], &[b'f'; 3600]].concat()), None);
    }

    #[test]
    fn escapes_are_what_python_makes_of_them() {
        let said = |text: &str| {
            let mut out = Vec::new();
            unescape(text.as_bytes(), 10, &mut out).map(|()| json_string(&out))
        };
        for (text, expected) in [
            (r#"a\\\'\"b"#, r#""a\\'\"b""#),
            (r"\a\b\f\n\r\t\v", r#""\u0007\b\f\n\r\t\u000b""#),
            ("a\\\nb\\\r\nc", r#""abc""#),
            (r"\0\12\1234\7778\8", r#""\u0000\nS4\u01ff8\\8""#),
            (r"\x41\u00e9\U0001F600", r#""A\u00e9\ud83d\ude00""#),
            (r"\ud83d\ude00\udfff", r#""\ud83d\ude00\udfff""#),
            (r"\d\,\é", r#""\\d\\,\\\u00e9""#),
        ] {
            assert_eq!(said(text).as_deref(), Ok(expected), "{text}");
        }
        for text in [r"é\x4", r"é\xg0", r"é\u12", r"é\U00110000", r"é\N{DASH}", r"é\u+123"] {
            assert_eq!(said(text).map_err(|problem| problem.at), Err(12), "{text}");
        }
    }
}
