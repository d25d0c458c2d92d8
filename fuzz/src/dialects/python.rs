//! Python calls with literals as arguments.

use cogency_rs::dialect::Python;
use cogency_rs::protocol::Call;

use super::cursor::{Cursor, No, Read};
use super::values::{array, call, number, object, units};
use crate::json::{Units, Value};
use crate::text::characters;

/// The calls of the list, or of the lines, that begin here.
///
/// # Errors
/// These are not calls.
pub fn calls(form: &Python, cursor: &mut Cursor<'_>) -> Read<Vec<Call>> {
    let mut calls = Vec::new();
    let is_list = *form == Python::List;
    cursor.skip_space();
    if is_list && !cursor.take("[")? {
        return Err(No::Call);
    }
    loop {
        cursor.skip_space();
        // An empty list is not a block, and readers may differ in whether a comma may follow the last call.
        if is_list && cursor.peek()? == b']' {
            return Err(No::Certainty);
        }
        calls.push(one(cursor)?);
        let mut next = cursor.clone();
        next.skip_space();
        match (is_list, next.peek()?) {
            (true, b']') => {
                cursor.at = next.at + 1;
                return Ok(calls);
            }
            (true, b',') => cursor.at = next.at + 1,
            (true, _) => return Err(No::Call),
            (false, b'<') => return Ok(calls),
            (false, byte) if byte.is_ascii_alphabetic() => *cursor = next,
            (false, _) => return Err(No::Certainty),
        }
    }
}

fn one(cursor: &mut Cursor<'_>) -> Read<Call> {
    let name = word(cursor, b"_-.")?;
    if cursor.peek()? != b'(' {
        return Err(if cursor.peek()?.is_ascii() { No::Call } else { No::Certainty });
    }
    cursor.at += 1;
    let mut args: Vec<(Units, Value)> = Vec::new();
    loop {
        cursor.skip_space();
        if cursor.peek()? == b')' {
            break;
        }
        let key = units(word(cursor, b"_")?);
        cursor.skip_space();
        match cursor.peek()? {
            b'=' => cursor.at += 1,
            // An argument without its name.
            b',' | b')' => return Err(No::Call),
            _ => return Err(No::Certainty),
        }
        if args.iter().any(|(known, _)| *known == key) {
            return Err(No::Certainty);
        }
        args.push((key, value(cursor)?));
        cursor.skip_space();
        match cursor.peek()? {
            b',' => cursor.at += 1,
            b')' => {}
            _ => return Err(No::Certainty),
        }
    }
    cursor.at += 1;
    call(name, args)
}

/// A word of letters, digits and these characters.
fn word<'t>(cursor: &mut Cursor<'t>, more: &[u8]) -> Read<&'t [u8]> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || more.contains(byte);
    let length = cursor.rest().iter().take_while(|byte| is_part(byte)).count();
    let word = &cursor.rest()[..length];
    cursor.at += length;
    match word.first() {
        Some(first) if (first.is_ascii_alphabetic() || *first == b'_') && length < 200 => Ok(word),
        _ => Err(No::Certainty),
    }
}

fn value(cursor: &mut Cursor<'_>) -> Read<Value> {
    cursor.skip_space();
    match cursor.peek()? {
        b'"' | b'\'' => text(cursor).map(Value::String),
        b'[' => {
            let mut values = Vec::new();
            items(cursor, b']', |cursor| {
                values.push(value(cursor)?);
                Ok(())
            })?;
            Ok(array(values))
        }
        b'{' => {
            let mut entries = Vec::new();
            items(cursor, b'}', |cursor| {
                cursor.skip_space();
                let key = match cursor.peek()? {
                    b'"' | b'\'' => text(cursor)?,
                    _ => return Err(No::Certainty),
                };
                cursor.skip_space();
                if !cursor.take(":")? {
                    return Err(No::Certainty);
                }
                entries.push((key, value(cursor)?));
                Ok(())
            })?;
            Ok(object(entries))
        }
        b'-' | b'0'..=b'9' => {
            let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-+._".contains(byte);
            let length = cursor.rest().iter().take_while(|byte| is_part(byte)).count();
            let raw = &cursor.rest()[..length];
            cursor.at += length;
            // Python has more ways to write numbers.
            number(raw).ok_or(No::Certainty)
        }
        _ => match word(cursor, b"_-.")? {
            b"True" | b"true" => Ok(Value::Word("true")),
            b"False" | b"false" => Ok(Value::Word("false")),
            b"None" | b"null" => Ok(Value::Word("null")),
            _ => Err(No::Certainty),
        },
    }
}

/// Items between brackets, the first of which is here, with commas between them and perhaps after the last.
fn items(
    cursor: &mut Cursor<'_>,
    close: u8,
    mut item: impl FnMut(&mut Cursor<'_>) -> Read<()>,
) -> Read<()> {
    cursor.at += 1;
    loop {
        cursor.skip_space();
        if cursor.peek()? == close {
            cursor.at += 1;
            return Ok(());
        }
        item(cursor)?;
        cursor.skip_space();
        match cursor.peek()? {
            b',' => cursor.at += 1,
            byte if byte == close => {}
            _ => return Err(No::Certainty),
        }
    }
}

/// A string in quotes, followed by what may follow a value.
fn text(cursor: &mut Cursor<'_>) -> Read<Units> {
    let quote = cursor.peek()?;
    cursor.at += 1;
    let mut said = Vec::new();
    loop {
        let rest = cursor.rest();
        match rest {
            [byte, ..] if *byte == quote => break,
            [b'\\', b'x', high, low, ..] => {
                let code = hexadecimal(&[*high, *low])?;
                said.extend(units(char::from(code).to_string().as_bytes()));
                cursor.at += 4;
            }
            [b'\\', letter, ..] => {
                said.push(match letter {
                    b'n' => 10,
                    b't' => 9,
                    b'r' => 13,
                    b'\\' | b'\'' | b'"' => u16::from(*letter),
                    _ => return Err(No::Certainty),
                });
                cursor.at += 2;
            }
            _ => {
                let character = characters(rest).next().ok_or(No::Certainty)?;
                said.extend(units(character));
                cursor.at += character.len();
            }
        }
    }
    cursor.at += 1;
    // `"""` begins a string of another kind.
    if said.is_empty() && cursor.peek()? == quote {
        return Err(No::Certainty);
    }
    let mut behind = cursor.clone();
    behind.skip_space();
    while behind.peek()? == b')' {
        behind.at += 1;
        behind.skip_space();
    }
    match behind.peek()? {
        b',' | b']' | b'}' | b':' => Ok(said),
        b'<' if behind.text[..behind.at].trim_ascii_end().ends_with(b")") => Ok(said),
        byte if byte.is_ascii_alphabetic() && behind.text[behind.at - 1] == b'\n' => Ok(said),
        _ => Err(No::Certainty),
    }
}

fn hexadecimal(digits: &[u8]) -> Read<u8> {
    let digits = std::str::from_utf8(digits).map_err(|_| No::Certainty)?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u8::from_str_radix(digits, 16).ok().filter(|_| is_number).ok_or(No::Certainty)
}
