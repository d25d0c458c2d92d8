//! Hands out runs of text: whole, or in pieces as they arrive.

use std::borrow::Cow;

use super::super::Event;
use super::super::run::TextRun;
use super::state::{OpenRun, State};
use super::{Parser, Stream};
use crate::text::{is_blank, leading_space, prefix};

/// Whether a run of nothing but whitespace is an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BlankRun {
    Shown,
    Hidden,
}

impl Parser {
    /// Hands out what it can of a run that goes on; returns how many bytes that was.
    pub(super) fn stream_run(
        &mut self,
        run: TextRun,
        text: &[u8],
        events: &mut Vec<Event>,
    ) -> usize {
        if self.stream == Stream::Event || run == TextRun::Result {
            return self.split_run(run, text, events);
        }
        if let OpenRun::Blank(known) = self.run {
            let blank = known + leading_space(&text[known..]);
            if blank == text.len() {
                self.run = OpenRun::Blank(blank);
                return self.split_run(run, text, events);
            }
        }
        if !text.is_empty() {
            self.run = OpenRun::Shown;
            self.say(run.event(text), events);
        }
        text.len()
    }

    /// Hands out pieces of a run while it is longer than a run may be; returns how many bytes they have.
    pub(super) fn split_run(
        &mut self,
        run: TextRun,
        text: &[u8],
        events: &mut Vec<Event>,
    ) -> usize {
        let mut used = 0;
        while text.len() - used > self.scope.limits.max_block_bytes {
            let piece = prefix(&text[used..], self.scope.limits.max_block_bytes);
            self.run = OpenRun::Shown;
            self.say(run.event(piece), events);
            used += piece.len();
        }
        used
    }

    /// The model thinks, in reasoning that its provider sends apart from the text: the text before it is handed out.
    pub fn think_apart(&mut self, events: &mut Vec<Event>) {
        self.is_thought_apart = true;
        if matches!(self.state, State::Text) && !is_blank(&self.held[..self.at]) {
            self.before.read(&self.held, self.at);
            self.before.drop(&self.held, self.at);
            let run: Vec<u8> = self.held.drain(..std::mem::take(&mut self.at)).collect();
            self.end_run(TextRun::Respond, run.into(), BlankRun::Hidden, events);
        }
    }

    /// Hands out the rest of a run.
    pub(super) fn end_run(
        &mut self,
        run: TextRun,
        text: Cow<'_, [u8]>,
        blank: BlankRun,
        events: &mut Vec<Event>,
    ) {
        let used = self.split_run(run, &text, events);
        let rest = if used == 0 { text } else { Cow::Borrowed(&text[used..]) };
        let is_shown = self.run == OpenRun::Shown || blank == BlankRun::Shown;
        if !rest.is_empty() && (is_shown || !is_blank(&rest)) {
            self.say(run.event(rest), events);
        }
        self.run = OpenRun::Blank(0);
    }
}
