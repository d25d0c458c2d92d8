//! Any bytes as text: generalised UTF-8, cut between characters.

use arbitrary::{Arbitrary, Result, Unstructured};
use cogency_rs::text::prefix;

/// Pieces of the protocol and of its JSON: whole, in part and damaged.
const PIECES: [&str; 74] = [
    "<think>",
    "</think>",
    "<execute>",
    "</execute>",
    "<results>",
    "</results>",
    "<end>",
    "<",
    "</",
    ">",
    "<thi",
    "</exec",
    "<execute",
    "</execute",
    "<thinking>",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "\"",
    "\\",
    "\\\"",
    "\\\\",
    "\\u00e9",
    "\\ud83d",
    "\\ude00",
    "\\u12",
    "\\x",
    "\\/",
    "<execute>[",
    "<results>[",
    "<results> [{\"x\": \"",
    "```",
    "```json\n",
    "```\n",
    "\n```\n",
    "~~~\n",
    "`",
    "'",
    "`<think>`",
    "]</execute>",
    "[{\"name\": \"t\", \"args\": {\"x\": ",
    "[{\"name\": \"t\", \"args\": {\"x\": \"",
    "}}]</execute>",
    "\"}}]</execute>",
    "{\"name\":\"a\",\"args\":{}}",
    "\"n\\u0061me\":",
    "\"name\":",
    "\"args\":",
    "\"\":",
    "\"x\":{\"x\":0,",
    "0",
    "17",
    "-",
    ".5",
    "e3",
    "1e400",
    "NaN",
    "-Infinity",
    "tru",
    "null",
    " ",
    "\n",
    "\r\n",
    "\u{85}",
    "\u{a0}",
    "\u{3000}",
    "é",
    "😀",
    "a",
    "text ",
    "\0",
];

/// The text in which every byte of `choices` stands for one piece.
#[must_use]
pub fn from_pieces(choices: &[u8]) -> Vec<u8> {
    let pieces =
        choices.iter().map(|choice| PIECES[usize::from(*choice) % PIECES.len()].as_bytes());
    pieces.flatten().copied().collect()
}

/// `bytes` as generalised UTF-8: a byte that is not valid becomes the character of the same number.
#[must_use]
pub fn from_bytes(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (1..=4).find_map(|width| character(bytes.get(at..at + width)?)) {
            Some(width) => {
                text.extend_from_slice(&bytes[at..at + width]);
                at += width;
            }
            None => {
                text.extend_from_slice(char::from(bytes[at]).to_string().as_bytes());
                at += 1;
            }
        }
    }
    text
}

/// The width of `bytes` if they are exactly one character of generalised UTF-8.
fn character(bytes: &[u8]) -> Option<usize> {
    let is_surrogate = matches!(bytes, [0xed, 0xa0..=0xbf, 0x80..=0xbf]);
    let is_utf_8 = std::str::from_utf8(bytes).is_ok_and(|text| text.chars().count() == 1);
    (is_surrogate || is_utf_8).then_some(bytes.len())
}

/// The characters of a text; the last one may be cut off.
pub fn characters(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.chunk_by(|_, next| next & 0xc0 == 0x80)
}

/// How many bytes of whitespace, as Python's `str.isspace` knows it, a text begins with.
#[must_use]
pub fn leading_space(text: &[u8]) -> usize {
    let is_space = |character: &&[u8]| {
        let character = std::str::from_utf8(character).ok().and_then(|text| text.chars().next());
        character.is_some_and(|character| {
            character.is_whitespace() || ('\x1c'..='\x1f').contains(&character)
        })
    };
    characters(text).take_while(is_space).map(<[u8]>::len).sum()
}

/// Whether a text is nothing but whitespace.
#[must_use]
pub fn is_blank(text: &[u8]) -> bool {
    leading_space(text) == text.len()
}

/// `text` in chunks of as many bytes as `sizes` say, one after the other and again from the start; a chunk is
/// longer only where its first character is. Size 0 is an empty chunk.
#[must_use]
pub fn chunks<'t>(text: &'t [u8], sizes: &[u8]) -> Vec<&'t [u8]> {
    let mut rest = text;
    let mut chunks: Vec<&[u8]> = Vec::new();
    for size in sizes.iter().cycle().take(2 * text.len() + sizes.len()) {
        let chunk = if *size == 0 { &rest[..0] } else { prefix(rest, usize::from(*size)) };
        chunks.push(chunk);
        rest = &rest[chunk.len()..];
    }
    chunks.push(rest);
    chunks
}

/// JSON, in one of the ways it may be written.
///
/// # Errors
/// `input` is used up.
pub fn json(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    write_value(&mut out, input, 0)?;
    Ok(out)
}

fn write_value(out: &mut Vec<u8>, input: &mut Unstructured<'_>, depth: usize) -> Result<()> {
    let space: &[u8] = input.choose(&[&b""[..], b"", b" ", b"\n\t"])?;
    out.extend_from_slice(space);
    match input.int_in_range(0..=if depth < 12 { 9 } else { 4_u8 })? {
        0 | 1 => write_number(out, input)?,
        2 | 3 => write_string(out, input)?,
        4 => out.extend_from_slice(
            input.choose(&["null", "true", "false", "NaN", "Infinity", "-Infinity"])?.as_bytes(),
        ),
        5 | 6 => {
            out.push(b'[');
            for index in 0..input.int_in_range(0..=4)? {
                out.extend_from_slice(if index == 0 { b"" } else { b"," });
                write_value(out, input, depth + 1)?;
            }
            out.push(b']');
        }
        _ => {
            out.push(b'{');
            for index in 0..input.int_in_range(0..=12)? {
                out.extend_from_slice(if index == 0 { b"" } else { b", " });
                match input.int_in_range(0..=5_u8)? {
                    0 => out.extend_from_slice(b"\"name\""),
                    1 => out.extend_from_slice(b"\"args\""),
                    2 | 3 => out.extend_from_slice(
                        input.choose(&["\"a\"", "\"\\u0061\"", "\"b\""])?.as_bytes(),
                    ),
                    _ => write_string(out, input)?,
                }
                out.push(b':');
                write_value(out, input, depth + 1)?;
            }
            out.push(b'}');
        }
    }
    out.extend_from_slice(space);
    Ok(())
}

fn write_string(out: &mut Vec<u8>, input: &mut Unstructured<'_>) -> Result<()> {
    out.push(b'"');
    for _ in 0..input.int_in_range(0..=6)? {
        match input.int_in_range(0..=4_u8)? {
            0 => out.extend_from_slice(format!("\\u{:04x}", u16::arbitrary(input)?).as_bytes()),
            1 => out.extend_from_slice(
                format!("\\uD{:03X}", 0x800 | u16::arbitrary(input)? & 0x7ff).as_bytes(),
            ),
            2 => out.extend([b'\\', *input.choose(b"\"\\/bfnrt")?]),
            _ => match char::arbitrary(input)? {
                '"' | '\\' => out.extend_from_slice(b"</execute>"),
                character => out.extend_from_slice(character.to_string().as_bytes()),
            },
        }
    }
    out.push(b'"');
    Ok(())
}

fn write_number(out: &mut Vec<u8>, input: &mut Unstructured<'_>) -> Result<()> {
    let number = match input.int_in_range(0..=3_u8)? {
        0 => i128::arbitrary(input)?.to_string(),
        1 => {
            let value = f64::from_bits(u64::arbitrary(input)?);
            if value.is_finite() { format!("{value:e}") } else { "1e999".to_owned() }
        }
        2 => {
            let places = input.int_in_range(0..=20)?;
            format!("{}.{:0>places$}", i64::arbitrary(input)?, u32::arbitrary(input)?)
        }
        _ => format!("{}E{:+}", u32::arbitrary(input)?, i16::arbitrary(input)?),
    };
    out.extend_from_slice(number.as_bytes());
    Ok(())
}
