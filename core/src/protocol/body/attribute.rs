//! Attributes of a tag: `key="value"`, with the entities of XML in the value.

use super::super::Text;
use crate::text::{leading_space, trim};

/// The value of the attribute `key` in the text of a tag.
#[must_use]
pub fn attribute(tag: &[u8], key: &str) -> Option<Text> {
    let mut rest = tag;
    loop {
        rest = &rest[leading_space(rest)..];
        let equals = memchr::memchr(b'=', rest)?;
        let name = trim(&rest[..equals]);
        rest = &rest[equals + 1..];
        rest = &rest[leading_space(rest)..];
        let quote = *rest.first().filter(|byte| matches!(byte, b'"' | b'\''))?;
        let end = 1 + memchr::memchr(quote, &rest[1..])?;
        if name == key.as_bytes() {
            return Some(unescaped(&rest[1..end]));
        }
        rest = &rest[end + 1..];
    }
}

/// How long the attribute is that `text` begins with, whether it has a value or not; 0 where there is none, and `None` while
/// it may go on.
#[must_use]
pub fn attribute_width(text: &[u8]) -> Option<usize> {
    let is_part = |byte: &u8| !b"=<>\"'".contains(byte) && !byte.is_ascii_whitespace();
    let word = |from: usize| Some(from + text[from..].iter().position(|byte| !is_part(byte))?);
    let name = word(0)?;
    let equals = name + leading_space(&text[name..]);
    if name == 0 || *text.get(equals)? != b'=' {
        return Some(name);
    }
    let value = equals + 1;
    let value = value + leading_space(&text[value..]);
    match *text.get(value)? {
        quote @ (b'"' | b'\'') => Some(value + 2 + memchr::memchr(quote, &text[value + 1..])?),
        _ => word(value),
    }
}

/// The entities that have names.
const ENTITIES: [(&str, char); 5] =
    [("&quot;", '"'), ("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>'), ("&apos;", '\'')];

/// The character that the entity with a name at the start of `text` stands for, and its width.
#[must_use]
pub fn named_entity(text: &[u8]) -> Option<(char, usize)> {
    let is_here = |(entity, _): &(&str, char)| text.starts_with(entity.as_bytes());
    let (entity, character) = ENTITIES.into_iter().find(is_here)?;
    Some((character, entity.len()))
}

/// The text of an attribute.
pub fn unescaped(mut value: &[u8]) -> Text {
    let mut text = Text::default();
    while let Some(at) = memchr::memchr(b'&', value) {
        text.push(&value[..at]);
        value = &value[at..];
        let (character, width) = named_entity(value).unwrap_or(('&', 1));
        text.push(character.encode_utf8(&mut [0; 4]).as_bytes());
        value = &value[width..];
    }
    text.push(value);
    text
}
