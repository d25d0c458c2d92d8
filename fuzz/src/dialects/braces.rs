//! Arguments in braces: `{key:value,…}`, with a mark around strings.

use cogency_rs::json::Controls;

use super::cursor::{Cursor, No, Read, trimmed};
use super::values::{array, object, scalar, string, units};
use crate::json::{Units, Value, read};

/// The arguments that begin here.
///
/// # Errors
/// These are not arguments.
pub fn arguments(mark: &str, cursor: &mut Cursor<'_>) -> Read<Value> {
    cursor.skip_space();
    if cursor.peek()? == b'{' { value(mark, cursor) } else { Err(No::Call) }
}

fn value(mark: &str, cursor: &mut Cursor<'_>) -> Read<Value> {
    cursor.skip_space();
    if cursor.take(mark)? {
        return Ok(string(cursor.until(mark)?));
    }
    match cursor.peek()? {
        b'{' => {
            let mut entries = Vec::new();
            items(cursor, b'}', |cursor| {
                let key = key(mark, cursor)?;
                entries.push((key, value(mark, cursor)?));
                Ok(())
            })?;
            Ok(object(entries))
        }
        b'[' => {
            let mut values = Vec::new();
            items(cursor, b']', |cursor| {
                values.push(value(mark, cursor)?);
                Ok(())
            })?;
            Ok(array(values))
        }
        b'"' => quoted(cursor).map(Value::String),
        _ => bare(cursor),
    }
}

/// Items between brackets, the first of which is here, with commas between them.
fn items(
    cursor: &mut Cursor<'_>,
    close: u8,
    mut item: impl FnMut(&mut Cursor<'_>) -> Read<()>,
) -> Read<()> {
    cursor.at += 1;
    cursor.skip_space();
    if cursor.peek()? == close {
        cursor.at += 1;
        return Ok(());
    }
    loop {
        item(cursor)?;
        cursor.skip_space();
        let byte = cursor.peek()?;
        cursor.at += 1;
        match byte {
            b',' => {}
            byte if byte == close => return Ok(()),
            _ => return Err(No::Call),
        }
        // Readers may differ in whether a comma may follow the last item.
        cursor.skip_space();
        if cursor.peek()? == close {
            return Err(No::Certainty);
        }
    }
}

/// A key, and the colon after it.
fn key(mark: &str, cursor: &mut Cursor<'_>) -> Read<Units> {
    cursor.skip_space();
    let key = if cursor.take(mark)? {
        units(cursor.until(mark)?)
    } else if cursor.peek()? == b'"' {
        quoted(cursor)?
    } else {
        let length = cursor.rest().iter().position(|byte| !is_plain(*byte)).ok_or(No::Certainty)?;
        let key = units(&cursor.rest()[..length]);
        cursor.at += length;
        key
    };
    cursor.skip_space();
    // Keys with other characters may be read too.
    if cursor.peek()? != b':' || key.is_empty() {
        return Err(No::Certainty);
    }
    cursor.at += 1;
    Ok(key)
}

fn quoted(cursor: &mut Cursor<'_>) -> Read<Units> {
    let reading = read(cursor.text, cursor.at, Controls::Raw).map_err(|_| No::Certainty)?;
    cursor.at = reading.end;
    match reading.node.value {
        Value::String(units) => Ok(units),
        _ => Err(No::Certainty),
    }
}

/// A literal without quotes: a number, a word that JSON or Python has for a value, or text.
fn bare(cursor: &mut Cursor<'_>) -> Read<Value> {
    let end = cursor.rest().iter().position(|byte| b",]}".contains(byte)).ok_or(No::Certainty)?;
    let raw = trimmed(&cursor.rest()[..end]);
    if raw.is_empty() || !raw.iter().all(|byte| is_plain(*byte) || b" +/".contains(byte)) {
        return Err(No::Certainty);
    }
    cursor.at += end;
    Ok(scalar(raw).unwrap_or_else(|| string(raw)))
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}
