//! The text in the making, and whether all of it is sure to read back as it was.

use super::Notation;
use super::json::{Strings, Style, push_json};
use super::marks::{DialectMarks, push_reference};
use crate::dialect::{JOINER, JsonLayout};

/// Text in the making.
#[derive(Debug)]
pub struct Sink<'a> {
    pub out: Vec<u8>,
    notation: &'a Notation,
    /// Whether there is raw text that may read back as something else.
    is_doubtful: bool,
    /// Whether each of the calls has the marks in its raw text made harmless.
    guarded: Vec<bool>,
    /// How many of the calls have begun.
    begun: usize,
    is_guarded: bool,
    /// Up to where text from outside was added last.
    outside: usize,
    /// Where a name ended that may begin a mark, until what follows it is added.
    name_end: Option<usize>,
}

impl<'a> Sink<'a> {
    pub fn new(notation: &'a Notation) -> Self {
        let (out, guarded) = (Vec::new(), Vec::new());
        Self {
            out,
            notation,
            is_doubtful: false,
            guarded,
            begun: 0,
            is_guarded: false,
            outside: 0,
            name_end: None,
        }
    }

    pub fn notation(&self) -> &'a Notation {
        self.notation
    }

    /// The marks of the dialect.
    pub fn marks(&self) -> &'a DialectMarks {
        self.notation.marks()
    }

    /// Calls follow; each is guarded or not.
    pub fn begin_calls(&mut self, guarded: Vec<bool>) {
        self.is_doubtful = false;
        (self.guarded, self.begun) = (guarded, 0);
    }

    /// The text of the next call follows.
    pub fn begin_call(&mut self) {
        self.is_guarded = self.guarded.get(self.begun).is_some_and(|guarded| *guarded);
        self.begun += 1;
    }

    /// Whether any text of these calls may read back as something else.
    pub fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    /// Notes that the text may read back as something else.
    pub fn doubt(&mut self) {
        self.is_doubtful = true;
    }

    /// Adds text as it is.
    pub fn push(&mut self, text: impl AsRef<[u8]>) {
        self.out.extend_from_slice(text.as_ref());
        self.end_name();
    }

    /// Breaks up a mark that begins in the last name and goes on in what follows it: the name cannot be read back then.
    fn end_name(&mut self) {
        let Some(at) = self.name_end.filter(|at| *at < self.out.len()) else { return };
        self.name_end = None;
        let reach = self.marks().longest();
        let start = at.saturating_sub(reach);
        if self.marks().cross(&self.out[start..self.out.len().min(at + reach)], at - start) {
            self.out.splice(at..at, JOINER.bytes());
        }
    }

    /// Whether text in a form without escapes has no mark when it is written.
    pub fn shows_inert(&self, text: &[u8]) -> bool {
        !(self.notation.keeps_marks() && self.marks().stand_in(text))
    }

    /// Adds text from outside, in which no mark may count.
    pub fn push_outside(&mut self, text: &[u8]) {
        if self.notation.keeps_marks() {
            return self.push(text);
        }
        self.push_seam(&self.marks().inert(text));
    }

    /// Adds what the model wrote: only marks count that it writes with.
    pub fn push_written(&mut self, text: &[u8]) {
        if self.notation.keeps_marks() {
            return self.push(text);
        }
        self.push_seam(&self.marks().inert_turn(text));
    }

    /// Adds text in which no mark is. Neither may one be where it meets other such text.
    fn push_seam(&mut self, text: &[u8]) {
        let at = self.out.len();
        self.out.extend_from_slice(text);
        if self.outside == at {
            let reach = self.marks().longest();
            let start = at.saturating_sub(reach);
            let window = &self.out[start..self.out.len().min(at + reach)];
            if self.marks().cross(window, at - start) {
                self.out.splice(at..at, JOINER.bytes());
            }
        }
        self.outside = self.out.len();
    }

    /// How strings in JSON are written that models read with their own characters.
    pub fn strings(&self) -> Strings<'a> {
        Strings::Readable(Some(self.marks()))
    }

    /// Adds canonical JSON with the marks in its strings made harmless.
    pub fn push_json(&mut self, json: &str) {
        let style = Style { layout: JsonLayout::Compact, strings: self.strings() };
        push_json(&mut self.out, json, style, 0);
    }

    /// Adds a name or a key in a form without escapes; a plain one reads back as it is.
    pub fn push_name(&mut self, name: &[u8], is_plain: bool) {
        if is_plain {
            self.push(name);
        } else {
            self.push_raw(name, false, "");
            self.name_end = Some(self.out.len()).filter(|_| !self.notation.keeps_marks());
        }
    }

    /// Adds text in a form without escapes. `close` is what ends it, if that is not a mark of the dialect, or empty. In a guarded
    /// call each `close` in text that is not sure to read back begins with a character reference.
    pub fn push_raw(&mut self, text: &[u8], is_sure: bool, close: &str) {
        self.is_doubtful |= !is_sure;
        let text = self.marks().inert(text);
        let mut from = 0;
        if self.is_guarded && !is_sure && !close.is_empty() {
            for at in memchr::memmem::find_iter(&text, close.as_bytes()) {
                self.push(&text[from..at]);
                from = at + push_reference(&mut self.out, &text[at..]);
            }
        }
        self.push(&text[from..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::JOINER;
    use crate::dialect::presets::preset;

    /// What these texts from outside become, one after the other, with `·` for a joiner.
    fn shown(row: &str, texts: &[&str]) -> String {
        let notation = Notation::new(preset(row).expect("a row"));
        let mut sink = Sink::new(&notation);
        for text in texts {
            sink.push_outside(text.as_bytes());
        }
        String::from_utf8(sink.out).expect("UTF-8").replace(JOINER, "·")
    }

    #[test]
    fn no_mark_stands_where_two_texts_meet() {
        let long = "x".repeat(1000);
        for (texts, expected) in [
            (["<|im_", "start|>"], "<|im_·start|>".to_owned()),
            (["<", "|im_start|>"], "<·|im_start|>".to_owned()),
            (["<|im", " start|>"], "<|im start|>".to_owned()),
            (["", "<|im_start|>"], "<·|im_start|>".to_owned()),
            (
                [&format!("{long}<|im_"), &format!("start|>{long}")],
                format!("{long}<|im_·start|>{long}"),
            ),
        ] {
            assert_eq!(shown("hermes", &texts), expected, "{texts:?}");
        }
    }

    #[test]
    fn no_mark_begins_in_a_name_and_ends_behind_it() {
        for (row, name, behind, expected) in [
            ("minimax-m3", "x<think", ">", "x<think·>"),
            ("minimax-m3", "x<think", " >", "x<think >"),
            ("hermes", "x<|im_end|>", ">", "x<·|im_end|>>"),
            ("cogency", "x<execute", ">", "x<execute>"),
        ] {
            let notation = Notation::new(preset(row).expect("a row"));
            let mut sink = Sink::new(&notation);
            sink.push_name(name.as_bytes(), false);
            sink.push("");
            sink.push(behind);
            sink.push(">");
            let shown = String::from_utf8(sink.out).expect("UTF-8").replace(JOINER, "·");
            assert_eq!(shown, format!("{expected}>"), "{row}: {name}");
        }
    }

    #[test]
    fn the_first_dialect_shows_marks_as_they_are() {
        assert_eq!(shown("cogency", &["<execute>"]), "<execute>");
        assert_eq!(shown("hermes", &["<tool_call>"]), "<·tool_call>");
    }
}
