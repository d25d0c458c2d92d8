//! The text of an element that is a string and nothing else: everything up to its own closing tag.
//!
//! Tags in it are text. What looks like its closing tag is one only if something follows that may: the next element, or the
//! end of the element around it.

use std::borrow::Cow;
use std::ops::Range;

use super::super::super::marks::begins;
use super::super::attribute::named_entity;
use super::tag::{Lexed, Markup, TagReader, next_mark};
use crate::dialect::Xml;
use crate::text::leading_space;

/// What opens and closes a CDATA section.
const SECTION: &[u8] = b"<![CDATA[";
pub const SECTION_END: &[u8] = b"]]>";

/// Reads such a text.
#[derive(Clone, Debug)]
pub struct StringReader {
    /// The element's name.
    key: Range<usize>,
    state: State,
    has_cdata: bool,
}

#[derive(Clone, Debug)]
enum State {
    /// In the text, up to this byte.
    Text(usize),
    Cdata(TagReader),
    /// In a closing tag that begins at the first byte, after its name.
    Closing(usize, usize),
    /// After a closing tag; what follows decides whether it is one.
    Behind(Range<usize>, TagReader),
}

impl StringReader {
    /// A reader of the text of the element with this name that begins at byte `start`.
    #[must_use]
    pub fn new(key: Range<usize>, start: usize) -> Self {
        Self { key, state: State::Text(start), has_cdata: false }
    }

    /// Reads on; gives the closing tag once it is known to be one. `around` closes the element around this one; any closing
    /// tag does where that is not given.
    pub fn read(&mut self, form: &Xml, around: Option<&[u8]>, text: &[u8]) -> Option<Range<usize>> {
        let key = &text[self.key.clone()];
        let mark = form.prefix.len() + 1;
        loop {
            self.state = match &mut self.state {
                State::Text(at) => {
                    *at = match next_mark(form, text, *at) {
                        Ok(found) => found,
                        Err(end) => {
                            *at = end;
                            return None;
                        }
                    };
                    let rest = &text[*at + mark..];
                    if form.entities && begins(rest, &SECTION[1..])? {
                        State::Cdata(TagReader::new(*at))
                    } else if begins_closing(rest, key)? {
                        State::Closing(*at, *at + mark + 1 + key.len())
                    } else {
                        State::Text(*at + 1)
                    }
                }
                State::Cdata(tag) => match tag.read(form, text) {
                    Lexed::Unknown => return None,
                    Lexed::Text => State::Text(tag.start + 1),
                    Lexed::Markup(_, end) => {
                        self.has_cdata = true;
                        State::Text(end)
                    }
                },
                State::Closing(start, at) => {
                    if form.prefix.is_empty() {
                        *at += leading_space(&text[*at..]);
                    }
                    match text.get(*at)? {
                        b'>' => State::Behind(*start..*at + 1, TagReader::new(*at + 1)),
                        _ => State::Text(*start + 1),
                    }
                }
                State::Behind(tag, follower) => {
                    let space = leading_space(&text[follower.start..]);
                    if space > 0 {
                        *follower = TagReader::new(follower.start + space);
                    }
                    let may_follow = match follower.read(form, text) {
                        Lexed::Unknown => return None,
                        Lexed::Markup(Markup::Close(name), _) => {
                            around.is_none_or(|around| text[name] == *around)
                        }
                        Lexed::Markup(Markup::Cdata, _) | Lexed::Text => false,
                        Lexed::Markup(..) => true,
                    };
                    if may_follow {
                        return Some(tag.clone());
                    }
                    State::Text(tag.end)
                }
            };
        }
    }

    /// Up to where the text is known to be the element's.
    #[must_use]
    pub fn position(&self) -> usize {
        match &self.state {
            State::Text(at) | State::Closing(at, _) => *at,
            State::Cdata(tag) => tag.start,
            State::Behind(tag, _) => tag.start,
        }
    }

    /// The closing tag, if nothing but space comes after it at the end of the text.
    #[must_use]
    pub fn last(&self, text: &[u8]) -> Option<Range<usize>> {
        match &self.state {
            State::Behind(tag, follower) if follower.start == text.len() => Some(tag.clone()),
            _ => None,
        }
    }

    /// Whether a section of CDATA is part of the text.
    #[must_use]
    pub fn has_cdata(&self) -> bool {
        self.has_cdata
    }

    /// Where the inside of the CDATA section begins that is open.
    #[must_use]
    pub fn section(&self) -> Option<usize> {
        match &self.state {
            State::Cdata(tag) => Some(tag.start + SECTION.len()),
            _ => None,
        }
    }

    /// Whether the text ends in a CDATA section.
    #[must_use]
    pub fn is_in_cdata(&self) -> bool {
        matches!(self.state, State::Cdata(_))
    }
}

/// Whether the rest of a tag begins with a slash and this name; `None` while it may yet.
fn begins_closing(rest: &[u8], name: &[u8]) -> Option<bool> {
    Some(begins(rest, b"/")? && begins(&rest[1..], name)?)
}

/// Whether comments are part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comments {
    /// As everything else is.
    Kept,
    /// They are left out.
    Dropped,
}

/// What the text of an element says: entities replaced and CDATA sections opened, where the dialect has them.
///
/// # Complexity
/// O(`raw`)
#[must_use]
pub fn decoded<'t>(form: &Xml, raw: &'t [u8], comments: Comments) -> Cow<'t, [u8]> {
    if !form.entities || memchr::memchr2(b'&', b'<', raw).is_none() {
        return raw.into();
    }
    let mut said = Vec::with_capacity(raw.len());
    let mut rest = raw;
    // What is searched for its end in vain once, need not be again.
    let (mut may_be_cdata, mut may_be_comment) = (true, comments == Comments::Dropped);
    while let Some(at) = memchr::memchr2(b'&', b'<', rest) {
        said.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        if may_be_cdata && let Some(inside) = rest.strip_prefix(SECTION) {
            if let Some(end) = memchr::memmem::find(inside, SECTION_END) {
                said.extend_from_slice(&inside[..end]);
                rest = &inside[end + SECTION_END.len()..];
                continue;
            }
            may_be_cdata = false;
        }
        if may_be_comment && let Some(inside) = rest.strip_prefix(b"<!--") {
            if let Some(end) = memchr::memmem::find(inside, b"-->") {
                rest = &inside[end + 3..];
                continue;
            }
            may_be_comment = false;
        }
        let width = match named_entity(rest).or_else(|| numbered_entity(rest)) {
            Some((character, width)) => {
                said.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                width
            }
            None => {
                said.push(rest[0]);
                1
            }
        };
        rest = &rest[width..];
    }
    said.extend_from_slice(rest);
    said.into()
}

/// Up to where `text` between these bytes holds no entity that more text may complete.
pub fn whole_entities(form: &Xml, text: &[u8], from: usize, to: usize) -> usize {
    let from = from.max(to.saturating_sub(LONGEST + 2)).min(to);
    let is_part = |byte: &u8| *byte == b'#' || byte.is_ascii_alphanumeric();
    match memchr::memrchr(b'&', &text[from..to]) {
        Some(at) if form.entities && text[from + at + 1..to].iter().all(is_part) => from + at,
        _ => to,
    }
}

/// The longest number of an entity that is read, in bytes: with some zeros before it.
const LONGEST: usize = 15;

/// The character whose number the entity at the start of `text` has, and its width.
fn numbered_entity(text: &[u8]) -> Option<(char, usize)> {
    let inside = text.strip_prefix(b"&#")?;
    let end = memchr::memchr(b';', &inside[..inside.len().min(LONGEST)])?;
    let number = std::str::from_utf8(&inside[..end]).ok()?;
    let (digits, base) = match number.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    let is_number = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let code = u32::from_str_radix(digits, base).ok().filter(|code| is_number && *code > 0)?;
    Some((char::from_u32(code)?, end + 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_and_sections_say_what_they_stand_for() {
        let form = Xml { prefix: "".into(), entities: true, parts: None };
        for (raw, said) in [
            ("plain", "plain"),
            ("a && b &", "a && b &"),
            ("&amp;&lt;&gt;&quot;&apos;", "&<>\"'"),
            ("&amp;lt;", "&lt;"),
            ("a&nbsp;b&;&#;&#x;&#+1;", "a&nbsp;b&;&#;&#x;&#+1;"),
            ("&#65;&#x1F600;&#xe9;&#10;", "A\u{1f600}\u{e9}\n"),
            ("&#0;&#xD800;&#x110000;", "&#0;&#xD800;&#x110000;"),
            ("<![CDATA[x &amp; y]]> &amp; z", "x &amp; y & z"),
            ("<![CDATA[a]]]]><![CDATA[>b]]>", "a]]>b"),
            ("<b>&lt;<!--c--></b>", "<b><<!--c--></b>"),
            ("a <![CDATA[b", "a <![CDATA[b"),
        ] {
            assert_eq!(*decoded(&form, raw.as_bytes(), Comments::Kept), *said.as_bytes(), "{raw}");
        }
        assert_eq!(*decoded(&form, b"1<!-- one --> ", Comments::Dropped), *b"1 ");
        let form = Xml { entities: false, ..form };
        let raw = b"&amp;<![CDATA[]]>";
        assert_eq!(*decoded(&form, raw, Comments::Dropped), *raw);
    }
}
