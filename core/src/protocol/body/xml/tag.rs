//! Tells a tag from text, while it arrives.
//!
//! A dialect without a mark before its tags has those of XML: what only looks like one, as in `a <b && c`, is text.
//! Where every tag is marked, its name is all that it holds.
//!
//! A tag that turns out to be text is searched once more, from after its `<`. That stays linear: outside an attribute's
//! quotes a `<` ends the attempt, and at most one attempt in quotes of each kind survives it.

use std::borrow::Cow;
use std::ops::Range;

use super::super::super::marks::{begins, find};
use crate::dialect::Xml;
use crate::text::prefix;

/// What markup says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Markup {
    /// An opening tag with this name.
    Open(Range<usize>),
    /// A tag with this name that opens and closes.
    Empty(Range<usize>),
    /// A closing tag with this name.
    Close(Range<usize>),
    /// `<![CDATA[…]]>`
    Cdata,
    /// `<!--…-->`
    Comment,
}

/// What is at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lexed {
    /// More text decides it.
    Unknown,
    /// Text.
    Text,
    /// Markup, which ends before this byte.
    Markup(Markup, usize),
}

/// What a section of CDATA and a comment begin with: all that goes on past a `<`.
pub const SECTIONS: [&[u8]; 2] = [b"<![CDATA[", b"<!--"];

/// Reads the markup at one place, if there is any.
#[derive(Clone, Debug)]
pub struct TagReader {
    /// The first byte: of the mark before the tag, if there is one.
    pub start: usize,
    at: usize,
    phase: Phase,
    name: Range<usize>,
    is_closing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Start,
    /// This is not markup.
    Text,
    Cdata,
    Comment,
    /// In a name that ends with the tag.
    MarkedName,
    Name,
    /// After the name, or after an attribute and a space.
    Space,
    Attribute,
    AttributeSpace,
    Equals,
    Quoted(u8),
    Bare,
    /// After an attribute's closing quote.
    Quote,
    /// After the `/` of an empty element.
    Slash,
}

impl Phase {
    /// The phase after a byte of an XML tag; `None` if no such tag continues with it.
    fn step(self, byte: u8, is_closing: bool) -> Option<Self> {
        use Phase::{Attribute, AttributeSpace, Bare, Equals, Name, Quote, Quoted, Slash, Space};
        Some(match (self, byte) {
            (Name, byte) if is_in_name(byte) => Name,
            (Name | Space | Quote | Bare, byte) if is_space(byte) => Space,
            (Name | Space | Quote | Bare, b'/') if !is_closing => Slash,
            (Space, byte) if starts_name(byte) && !is_closing => Attribute,
            (Attribute, byte) if is_in_name(byte) => Attribute,
            (Attribute | AttributeSpace, byte) if is_space(byte) => AttributeSpace,
            (Attribute | AttributeSpace, b'=') => Equals,
            (Equals, byte) if is_space(byte) => Equals,
            (Equals, b'"' | b'\'') => Quoted(byte),
            (Quoted(quote), byte) => {
                if byte == quote {
                    Quote
                } else {
                    self
                }
            }
            (Equals | Bare, byte) if !b"<>=\"'/`".contains(&byte) => Bare,
            _ => return None,
        })
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':' | 0x80..)
}

fn is_in_name(byte: u8) -> bool {
    starts_name(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.')
}

impl TagReader {
    /// A reader of what begins at byte `start`.
    #[must_use]
    pub fn new(start: usize) -> Self {
        Self { start, at: start, phase: Phase::Start, name: 0..0, is_closing: false }
    }

    /// What is there. Where more text must decide, the reader must be asked again with that text.
    pub fn read(&mut self, form: &Xml, text: &[u8]) -> Lexed {
        if self.phase == Phase::Start {
            match self.enter(form, text) {
                Some(phase) => self.phase = phase,
                None => return Lexed::Unknown,
            }
        }
        match self.phase {
            Phase::Text => Lexed::Text,
            Phase::Cdata => self.until("]]>", Markup::Cdata, text),
            Phase::Comment => self.until("-->", Markup::Comment, text),
            Phase::MarkedName => self.marked(form, text),
            _ => self.tag(text),
        }
    }

    /// Reads what all markup begins with; `None` where more text is needed.
    fn enter(&mut self, form: &Xml, text: &[u8]) -> Option<Phase> {
        let mark = [form.prefix.as_bytes(), b"<"].concat();
        if !begins(&text[self.start..], &mark)? {
            return Some(Phase::Text);
        }
        let behind = self.start + mark.len();
        let first = *text.get(behind)?;
        if form.entities && first == b'!' {
            for (open, phase) in SECTIONS.into_iter().zip([Phase::Cdata, Phase::Comment]) {
                if begins(&text[behind - 1..], open)? {
                    self.at = behind - 1 + open.len();
                    return Some(phase);
                }
            }
        }
        self.is_closing = first == b'/';
        self.at = behind + usize::from(self.is_closing);
        self.name = self.at..self.at;
        if !form.prefix.is_empty() {
            return Some(Phase::MarkedName);
        }
        let is_name = starts_name(*text.get(self.at)?);
        Some(if is_name { Phase::Name } else { Phase::Text })
    }

    fn until(&mut self, close: &str, markup: Markup, text: &[u8]) -> Lexed {
        match find(text, self.at, close) {
            Ok(found) => Lexed::Markup(markup, found + close.len()),
            Err(at) => {
                self.at = at;
                Lexed::Unknown
            }
        }
    }

    fn marked(&mut self, form: &Xml, text: &[u8]) -> Lexed {
        let Some(found) = memchr::memchr(b'>', &text[self.at..]) else {
            self.at = text.len();
            return Lexed::Unknown;
        };
        let end = self.at + found;
        let name = &text[self.name.start..end];
        // The mark before the next tag holds a `>` as well.
        let mark = form.prefix.split_inclusive('>').next().unwrap_or_default();
        let is_next = mark.ends_with('>') && text[self.name.start..=end].ends_with(mark.as_bytes());
        if name.is_empty() || is_next {
            return Lexed::Text;
        }
        let is_empty = !self.is_closing && name.ends_with(b"/");
        self.name.end = end - usize::from(is_empty);
        self.done(is_empty, end + 1)
    }

    fn tag(&mut self, text: &[u8]) -> Lexed {
        while let Some(&byte) = text.get(self.at) {
            let ends_name = self.phase == Phase::Name && !is_in_name(byte);
            if ends_name {
                self.name.end = self.at;
            }
            self.at += 1;
            match (self.phase, byte) {
                (Phase::Name | Phase::Space | Phase::Quote | Phase::Bare, b'>') => {
                    return self.done(false, self.at);
                }
                (Phase::Slash, b'>') => return self.done(true, self.at),
                (phase, byte) => match phase.step(byte, self.is_closing) {
                    Some(phase) => self.phase = phase,
                    None => return Lexed::Text,
                },
            }
        }
        Lexed::Unknown
    }

    fn done(&self, is_empty: bool, end: usize) -> Lexed {
        let name = self.name.clone();
        let markup = match (self.is_closing, is_empty) {
            (true, _) => Markup::Close(name),
            (false, true) => Markup::Empty(name),
            (false, false) => Markup::Open(name),
        };
        Lexed::Markup(markup, end)
    }
}

/// The first place from byte `from` on where markup may begin; else the first byte that more text may make one of.
pub fn next_mark(form: &Xml, text: &[u8], from: usize) -> Result<usize, usize> {
    if form.prefix.is_empty() {
        return memchr::memchr(b'<', &text[from..]).map_or(Err(text.len()), |at| Ok(from + at));
    }
    find(text, from, &[&form.prefix, "<"].concat())
}

/// A tag as it is shown to people: `"</name>"`, without the mark before it.
pub fn shown(before: &str, name: &[u8]) -> Cow<'static, str> {
    format!("\"{before}{}>\"", String::from_utf8_lossy(prefix(name, 80))).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is at the start of `text`, which arrives whole and byte by byte.
    fn lexed(prefix: &'static str, text: &str) -> String {
        let form = Xml { prefix: prefix.into(), entities: prefix.is_empty(), parts: None };
        let text = text.as_bytes();
        let whole = TagReader::new(0).read(&form, text);
        let mut reader = TagReader::new(0);
        let mut grown = (0..=text.len()).map(|end| reader.read(&form, &text[..end]));
        assert_eq!(grown.find(|lexed| *lexed != Lexed::Unknown).unwrap_or(Lexed::Unknown), whole);
        let name = |name: Range<usize>| String::from_utf8_lossy(&text[name]).into_owned();
        match whole {
            Lexed::Unknown => "?".into(),
            Lexed::Text => "text".into(),
            Lexed::Markup(markup, end) => {
                let said = match markup {
                    Markup::Open(range) => name(range),
                    Markup::Empty(range) => name(range) + "/",
                    Markup::Close(range) => format!("/{}", name(range)),
                    Markup::Cdata => "cdata".into(),
                    Markup::Comment => "comment".into(),
                };
                format!("{said} {}", text.len() - end)
            }
        }
    }

    #[test]
    fn tags_are_told_from_text() {
        for (text, expected) in [
            ("<a>x", "a 1"),
            ("<a-b.c:é_1>", "a-b.c:é_1 0"),
            ("<a/>", "a/ 0"),
            ("<a />", "a/ 0"),
            ("<a x=\"<'>\" y = '\"' z=1>", "a 0"),
            ("<a x='1'/>", "a/ 0"),
            ("<a x-y.z=1>", "a 0"),
            ("</a >", "/a 0"),
            ("<![CDATA[]]>]]>", "cdata 3"),
            ("<!----> -->", "comment 4"),
            ("", "?"),
            ("<", "?"),
            ("<a x='>", "?"),
            ("<!-", "?"),
            ("</", "?"),
            ("< a>", "text"),
            ("<1>", "text"),
            ("<a && b>", "text"),
            ("<a b>", "text"),
            ("<a x=\"1\"y=\"2\">", "text"),
            ("<a<b>", "text"),
            ("<a/b>", "text"),
            ("</a b>", "text"),
            ("</a/>", "text"),
            ("<!DOCTYPE>", "text"),
            ("<?xml?>", "text"),
            ("<>", "text"),
            ("x<a>", "text"),
        ] {
            assert_eq!(lexed("", text), expected, "{text}");
        }
        for (text, expected) in [
            ("§>[<a b>x", "a b 1"),
            ("§>[<a<b>", "a<b 0"),
            ("§>[</ a >", "/ a  0"),
            ("§>[<a/>", "a/ 0"),
            ("§>[<", "?"),
            ("§>[<a§", "?"),
            ("§>[<a§>[</b>", "text"),
            ("§>[<>", "text"),
            ("<a>", "text"),
        ] {
            assert_eq!(lexed("§>[", text), expected, "{text}");
        }
    }
}
