//! What a mark is where it is quoted: text, unless a call begins after it.
//!
//! A mark is quoted in two ways.
//!
//! - A *mention*: the same quote comes directly before and directly after the mark. One character after the mark
//!   decides.
//! - A *fence*, as in `CommonMark`: it opens with a line of three or more backticks or tildes and closes with a line of at
//!   least as many. Nothing after the mark decides, since a [`Fence`] is a finite automaton over the text before it.
//!
//! Models also wrap real calls in fences and quotes. So what opens a call is a mark there too, if a call begins after it.

use super::super::body::item_begins;
use super::super::limits::Strictness;
use super::super::marks::{Undecided, find_byte, starts_with};
use super::begins::any;
use super::{Entry, Grammar, Mark, Opening, may_be_empty, opens_itself};
use crate::dialect::LoneMark;
use crate::text::leading_space;

/// What else a block may begin with in lenient reading, if its mark needs nothing after it.
const LENIENT: [&str; 2] = ["{", "```"];

/// Whether this byte is a quote that a mention has on both sides.
#[must_use]
pub fn is_quote(byte: u8) -> bool {
    matches!(byte, b'`' | b'"' | b'\'')
}

/// Whether a quote after this byte ends a quotation, whatever was before: after a word, a sentence or a closing bracket.
fn ends_quotation(before: u8) -> bool {
    before.is_ascii_alphanumeric() || b".,!?)]}>".contains(&before)
}

impl Grammar {
    /// Whether the mark of this number is text between two of this quote.
    #[doc(hidden)]
    #[must_use]
    pub fn may_be_mentioned(&self, mark: usize, quote: u8) -> bool {
        match &self.marks[mark] {
            Mark::Block(openings) => {
                !openings.iter().any(|opening| self.may_begin_with(opening, quote))
            }
            Mark::Unmarked => false,
            _ => true,
        }
    }

    /// The first of `openings` that `text` follows as a call; `None` if there is none, so that the mark is text in a fence.
    ///
    /// # Errors
    /// It is not known before there is more text.
    #[doc(hidden)]
    pub fn opening_in_fence<'o>(
        &self,
        openings: &'o [Opening],
        text: &[u8],
        strictness: Strictness,
    ) -> Result<Option<&'o Opening>, Undecided> {
        let is_free = |opening: &Opening| {
            let lone_mark = self.dialects[opening.dialect].lone_mark;
            opening.entry == Entry::Block && lone_mark == LoneMark::Block
        };
        for opening in openings {
            let known = if is_free(opening) {
                self.begins_block(opening, text)
            } else {
                match self.opening(std::slice::from_ref(opening), text, strictness) {
                    Ok(found) => Some(found.is_some()),
                    Err(Undecided) => None,
                }
            };
            match known {
                Some(true) => return Ok(Some(opening)),
                Some(false) => {}
                None => return Err(Undecided),
            }
        }
        Ok(None)
    }

    /// Whether `text` is what a block may begin with whose mark needs nothing after it; `None` while that is not known.
    fn begins_block(&self, opening: &Opening, text: &[u8]) -> Option<bool> {
        let dialect = &self.dialects[opening.dialect];
        let rest = &text[leading_space(text)..];
        if rest.is_empty() {
            return None;
        }
        let bodies = dialect.calls.bodies.iter().map(|body| item_begins(body, rest));
        any(bodies.chain(LENIENT.iter().map(|mark| starts_with(rest, mark))))
    }

    /// Whether a block may begin with this quote after its mark.
    fn may_begin_with(&self, opening: &Opening, quote: u8) -> bool {
        let dialect = &self.dialects[opening.dialect];
        let bodies = dialect.calls.bodies.iter().filter(|body| !opens_itself(dialect, body));
        let closes = dialect.calls.close.iter().filter(|_| may_be_empty(dialect));
        let mut begins = bodies
            .map(|body| item_begins(body, &[quote]))
            .chain(closes.map(|close| starts_with(&[quote], close)));
        opening.entry == Entry::Block && begins.any(|begins| begins != Some(false))
    }
}

impl Mark {
    /// Whether it is a mark in a fence too: what the model's template puts around turns and messages, since a model does not
    /// quote these, and a server ends there.
    #[must_use]
    pub fn counts_in_fence(&self) -> bool {
        matches!(self, Self::Head(_) | Self::MessageEnd | Self::TurnEnd)
    }
}

/// Whether the text is in a fence, after the bytes that were read.
///
/// Lines end at a line break, and after a mark that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fence {
    line: Line,
    open: Open,
}

/// What the line is so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// This many spaces, at most three.
    Indent(u8),
    /// Indented backticks or tildes.
    Run(Run),
    /// A run that opens a fence, with words after it; or closes one, with space after it.
    Fence(Run),
    /// Any other line.
    Other,
}

impl Default for Line {
    fn default() -> Self {
        Self::Indent(0)
    }
}

/// The fence that is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Open {
    #[default]
    None,
    /// Opened by this run.
    Live(Run),
    /// The same, and there was a call in it: the model has wrapped its call, so it quotes nothing.
    Spent(Run),
}

/// Backticks or tildes in a row; at most 255 are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    byte: u8,
    length: u8,
}

impl Run {
    const SHORTEST: u8 = 3;

    fn closes(self, open: Self) -> bool {
        self.byte == open.byte && self.length >= open.length
    }
}

impl Open {
    fn run(self) -> Option<Run> {
        match self {
            Self::None => None,
            Self::Live(run) | Self::Spent(run) => Some(run),
        }
    }
}

impl Fence {
    /// Whether a mark here is in a fence. One after what closes the fence, on the same line, is not.
    #[must_use]
    pub fn is_around(self) -> bool {
        matches!(self.open, Open::Live(_)) && !self.is_closing()
    }

    /// Reads on.
    #[inline]
    pub fn read(&mut self, text: &[u8]) {
        // Most chunks are the middle of a line.
        if self.line != Line::Other || find_byte(b'\n', text).is_some() {
            self.read_lines(text);
        }
    }

    fn read_lines(&mut self, text: &[u8]) {
        let is_run = matches!(self.line, Line::Run(_) | Line::Fence(_));
        if !is_run && memchr::memchr2(b'`', b'~', text).is_none() {
            self.line = self.line.after_plain(text);
            return;
        }
        let mut rest = text;
        while let Some(end) = self.read_to_close(rest) {
            rest = &rest[end..];
        }
    }

    /// Reads on up to where the fence closes; returns where that is, or `None` if it does not.
    pub fn read_to_close(&mut self, text: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < text.len() {
            if self.line == Line::Other {
                at += memchr::memchr(b'\n', &text[at..])?;
            }
            let was_open = self.open != Open::None;
            self.step(text[at]);
            at += 1;
            if was_open && self.open == Open::None {
                return Some(at);
            }
        }
        None
    }

    /// A mark that counts is here: the line is over.
    pub fn mark(&mut self) {
        if self.is_closing() {
            self.open = Open::None;
        }
        self.line = Line::default();
    }

    /// A call begins here: a fence around it quotes nothing, even one that begins on its line.
    pub fn call(&mut self) {
        let run = match (self.open, self.line) {
            (Open::None, Line::Run(run) | Line::Fence(run)) if run.length >= Run::SHORTEST => {
                Some(run)
            }
            (open, _) if !self.is_closing() => open.run(),
            _ => None,
        };
        self.open = run.map_or(Open::None, Open::Spent);
        self.line = Line::default();
    }

    /// Whether the line closes the fence, if it ends here.
    fn is_closing(self) -> bool {
        let (Line::Run(run) | Line::Fence(run)) = self.line else { return false };
        self.open.run().is_some_and(|open| run.closes(open))
    }

    fn step(&mut self, byte: u8) {
        self.line = match (self.line, byte) {
            (Line::Run(run), _) if byte == run.byte => {
                Line::Run(Run { length: run.length.saturating_add(1), ..run })
            }
            (Line::Run(run) | Line::Fence(run), _) if run.length >= Run::SHORTEST => {
                self.step_after(run, byte)
            }
            (_, b'\n') => Line::Indent(0),
            (Line::Indent(width @ 0..=2), b' ') => Line::Indent(width + 1),
            (Line::Indent(_), b'`' | b'~') => Line::Run(Run { byte, length: 1 }),
            _ => Line::Other,
        };
    }

    /// The line after a run that is long enough, and this byte.
    fn step_after(&mut self, run: Run, byte: u8) -> Line {
        let goes_on = match self.open.run() {
            // The words after backticks contain no backtick, or this is code within a line.
            None => byte != b'`' || run.byte != b'`',
            Some(open) => run.closes(open) && b" \t\r\n".contains(&byte),
        };
        match byte {
            b'\n' if goes_on => {
                let is_open = self.open != Open::None;
                self.open = if is_open { Open::None } else { Open::Live(run) };
                Line::Indent(0)
            }
            b'\n' => Line::Indent(0),
            _ if goes_on => Line::Fence(run),
            _ => Line::Other,
        }
    }
}

impl Line {
    /// The line after `text` that has neither backticks nor tildes, where it was no run before.
    fn after_plain(self, text: &[u8]) -> Self {
        let spaces = text.iter().rev().take(4).take_while(|byte| **byte == b' ').count();
        let before = match text[..text.len() - spaces].last() {
            Some(b'\n') => 0,
            Some(_) => return Self::Other,
            None => match self {
                Self::Indent(width) => usize::from(width),
                _ => return Self::Other,
            },
        };
        match before + spaces {
            width @ 0..=3 => Self::Indent(u8::try_from(width).unwrap_or(3)),
            _ => Self::Other,
        }
    }
}

/// Which quotes are open in a stretch of reasoning or results, after the bytes that were read.
///
/// A `"` or `'` ends a quotation if one is open, or after a word, a sentence or a closing bracket; else it begins one. Backticks
/// do the same, where as many as began the code end it, as in `CommonMark`. At a blank line nothing is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotations {
    /// Whether a `"` is open, and a `'`.
    open: [bool; 2],
    /// How many backticks the code began with that is open; 0 if none is.
    code: u8,
    /// How many backticks were read last, with nothing after them.
    ticks: u8,
    /// Whether these backticks are the first of their line, but for space.
    is_fence: bool,
    /// The last byte that is not one of these backticks.
    last: u8,
    /// Whether the line is nothing but space so far.
    is_blank: bool,
}

impl Default for Quotations {
    fn default() -> Self {
        Self { open: [false; 2], code: 0, ticks: 0, is_fence: false, last: b'\n', is_blank: true }
    }
}

impl Quotations {
    /// Whether this quote, which was read last, ends a quotation. A line of three or more backticks does: no mark is mentioned
    /// between two of them, and a fence may end the reasoning.
    #[must_use]
    pub fn end_with(self, quote: u8) -> bool {
        match quote {
            b'`' => {
                let is_fence = self.is_fence && self.ticks >= Run::SHORTEST;
                is_fence || self.ticks == self.code || ends_quotation(self.last)
            }
            _ => !self.open[usize::from(quote == b'\'')],
        }
    }

    /// Reads on.
    #[inline]
    pub fn read(&mut self, text: &[u8]) {
        let has_quote = self.ticks > 0 || memchr::memchr3(b'"', b'\'', b'`', text).is_some();
        if has_quote || find_byte(b'\n', text).is_some() {
            for byte in text {
                self.step(*byte);
            }
        } else if let Some(last) = text.last() {
            self.last = *last;
            self.is_blank &= text.iter().all(|byte| b" \t\r".contains(byte));
        }
    }

    fn step(&mut self, byte: u8) {
        if byte == b'`' {
            self.is_fence = if self.ticks == 0 { self.is_blank } else { self.is_fence };
            self.ticks = self.ticks.saturating_add(1);
            self.is_blank = false;
            return;
        }
        if self.ticks > 0 {
            let begins = self.code == 0 && !ends_quotation(self.last);
            self.code = match std::mem::take(&mut self.ticks) {
                ticks if begins => ticks,
                ticks if ticks == self.code => 0,
                _ => self.code,
            };
            self.last = b'`';
        }
        match byte {
            b'"' | b'\'' => {
                let is_open = &mut self.open[usize::from(byte == b'\'')];
                *is_open = !*is_open && !ends_quotation(self.last);
            }
            b'\n' if self.is_blank => *self = Self::default(),
            _ => {}
        }
        self.is_blank = byte == b'\n' || self.is_blank && b" \t\r".contains(&byte);
        self.last = byte;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a byte at a time.
    fn stepped(text: &str) -> Fence {
        let mut fence = Fence::default();
        text.bytes().for_each(|byte| fence.step(byte));
        fence
    }

    #[test]
    fn a_fence_is_a_line_of_backticks_or_tildes() {
        for (text, is_around) in [
            ("", false),
            ("```\n", true),
            ("```", false),
            ("~~~\n", true),
            ("``\n", false),
            ("```xml\n", true),
            ("```xml a=\"b\"\r\nx", true),
            ("``` `` \n", false),
            ("~~~ `` \n", true),
            ("   ```\n", true),
            ("    ```\n", false),
            ("a\n```\nb", true),
            ("a ```\nb", false),
            ("```\n```\n", false),
            ("```\na\n  ```` \t\r\nb", false),
            ("```\n```", false),
            ("```\n``` ", false),
            ("```\n```x", true),
            ("```\n```x\n", true),
            ("```\n``\n", true),
            ("````\n```\n", true),
            ("```\n~~~\n", true),
            ("```\n    ```\n", true),
            ("```\n```\n```\n", true),
        ] {
            assert_eq!(stepped(text).is_around(), is_around, "{text:?}");
        }
    }

    #[test]
    fn a_text_is_read_alike_in_one_piece_and_in_bytes() {
        const LENGTH: u32 = if cfg!(miri) { 2 } else { 5 };
        let pieces = ["`", "```", "~~~", " ", "   ", "\n", "a", "\r\n", "b c\n"];
        // Every text of this many pieces.
        for number in 0..pieces.len().pow(LENGTH) {
            let choices = (0..LENGTH).map(|place| number / pieces.len().pow(place) % pieces.len());
            let text: Vec<&str> = choices.map(|choice| pieces[choice]).collect();
            let (mut whole, mut parts) = (Fence::default(), Fence::default());
            whole.read(text.concat().as_bytes());
            for part in &text {
                parts.read(part.as_bytes());
            }
            let expected = stepped(&text.concat());
            assert_eq!((whole, parts), (expected, expected), "{text:?}");
        }
    }

    #[test]
    fn a_fence_around_a_call_quotes_nothing_more_up_to_its_end() {
        for before in ["```\n", "```", "``` \n```\n```\n", "```json"] {
            let mut fence = stepped(before);
            fence.call();
            assert!(!fence.is_around(), "{before:?}");
            fence.read(b"\n<end>\n");
            assert!(!fence.is_around(), "{before:?}");
            fence.read(b"```\n");
            assert_eq!(fence, Fence::default(), "{before:?}");
        }
        let mut fence = stepped("```\n```");
        fence.call();
        assert_eq!(fence, Fence::default(), "the call comes after the fence");
    }

    #[test]
    fn a_quote_ends_a_quotation_or_begins_one() {
        for (text, ends) in [
            ("`", false),
            ("a `", false),
            ("a `b; `", true),
            ("a `b; ` `", false),
            ("`f()`", true),
            ("``a ` b``", true),
            ("``a `", false),
            ("``a` `` `", false),
            ("\u{8a9e}`", false),
            ("`\u{8a9e}`", true),
            ("a ```", false),
            ("a ```b;```", true),
            ("```py\n\nf();\n  ```", true),
            ("`a\nb;`", true),
            ("`a\n \n;`", false),
            ("\"a\nb;\"", true),
            ("\"a\n\n;\"", false),
            ("5\" and \"", false),
            ("don't; '", false),
            ("(it's)'", true),
            ("'\u{8a9e}'", true),
            ("\"`\"", true),
        ] {
            let quote = *text.as_bytes().last().expect("a quote");
            let (mut whole, mut bytes) = (Quotations::default(), Quotations::default());
            whole.read(text.as_bytes());
            text.bytes().for_each(|byte| bytes.read(&[byte]));
            assert_eq!((whole.end_with(quote), bytes), (ends, whole), "{text:?}");
        }
    }

    #[test]
    fn a_mark_ends_its_line() {
        let mut fence = stepped("```\n```");
        fence.mark();
        assert_eq!(fence, Fence::default());
        let mut fence = stepped("a");
        fence.mark();
        fence.read(b"```\n");
        assert!(fence.is_around());
    }
}
