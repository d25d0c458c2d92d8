//! `Reader`: the core's parser, with the chunks of a Python source made whole before they reach it.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::convert::bytes_of;
use cogency_rs::protocol::characters::Characters;
use cogency_rs::protocol::{Ending, Event, Parser, Text, TextRun};

/// Reads a model's text, and reasoning that comes apart from it.
pub struct Reader {
    pub parser: Parser,
    /// What was read and not taken yet.
    pub events: Vec<Event>,
    characters: Characters,
    /// What the last piece was, if it came apart from the text that is parsed.
    apart: Option<TextRun>,
}

impl Reader {
    pub fn new(parser: Parser) -> Self {
        Self { parser, events: Vec::new(), characters: Characters::default(), apart: None }
    }

    /// How many halves of characters became U+FFFD.
    pub fn replaced_characters(&self) -> usize {
        self.characters.replaced()
    }

    /// The next chunk of the text in whole characters; borrowed, if it is one by itself. It is not read yet.
    #[inline]
    pub fn whole<'a>(&mut self, chunk: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, [u8]>> {
        if self.apart.is_none()
            && !self.characters.is_open()
            && let Ok(text) = chunk.to_str()
        {
            return Ok(Cow::Borrowed(text.as_bytes()));
        }
        self.made_whole(chunk).map(Cow::Owned)
    }

    #[cold]
    fn made_whole(&mut self, chunk: &Bound<'_, PyString>) -> PyResult<Vec<u8>> {
        if self.apart.is_some() {
            self.begin(None);
        }
        Ok(self.characters.whole(&bytes_of(chunk)?).into_owned())
    }

    /// Reads the next chunk of the text.
    pub fn feed(&mut self, chunk: &Bound<'_, PyString>) -> PyResult<()> {
        let text = self.whole(chunk)?;
        self.parser.feed_bytes(&text, &mut self.events);
        Ok(())
    }

    /// Reads the next piece of reasoning that came apart from the text.
    pub fn think(&mut self, thought: &Text) {
        self.begin(Some(TextRun::Think));
        self.parser.think_apart(&mut self.events);
        self.say(TextRun::Think, thought.as_bytes());
    }

    /// Takes a piece of text that another parser has read.
    pub fn say(&mut self, run: TextRun, text: &[u8]) {
        self.begin(Some(run));
        let whole = self.characters.whole(text);
        if text.is_empty() || !whole.is_empty() {
            self.events.push(run.event(&*whole));
        }
    }

    /// Takes anything else that another parser has read.
    pub fn enter(&mut self, event: Event) {
        self.end_character();
        self.events.push(event);
    }

    /// The text has ended.
    pub fn finish(&mut self, ending: &Ending) {
        self.end_character();
        self.parser.finish(ending, &mut self.events);
    }

    /// Leaves the text while the model still writes.
    pub fn leave(&mut self) {
        self.end_character();
        self.parser.leave(&mut self.events);
    }

    /// A piece of another kind than the last one does not go on with its last character.
    fn begin(&mut self, apart: Option<TextRun>) {
        if self.apart != apart {
            self.end_character();
            self.apart = apart;
        }
    }

    fn end_character(&mut self) {
        match (self.characters.end(), self.apart) {
            ("", _) => {}
            (rest, Some(run)) => self.events.push(run.event(rest.as_bytes())),
            (rest, None) => self.parser.feed(rest, &mut self.events),
        }
    }
}
