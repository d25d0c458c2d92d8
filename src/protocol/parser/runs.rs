//! Hands out runs of text: whole, or in pieces as they arrive.

use std::borrow::Cow;

use super::super::Event;
use super::super::run::TextRun;
use super::super::text::{is_blank, leading_space, prefix};
use super::{Parser, Stream};

/// What is known of a run before it is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It begins with whitespace, at least this many bytes.
    Blank(usize),
    /// A piece of it was handed out already, so that the rest counts even if blank.
    Shown,
}

/// Whether a run of nothing but whitespace is an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Blank {
    Shown,
    Hidden,
}

impl Parser {
    /// Hands out what can be handed out of a run that goes on; returns how many bytes of it that was.
    pub(super) fn stream_run(
        &mut self,
        run: TextRun,
        text: &[u8],
        events: &mut Vec<Event>,
    ) -> usize {
        if self.stream == Stream::Event || run == TextRun::Result {
            return self.split_run(run, text, events);
        }
        if let Known::Blank(known) = self.run {
            let blank = known + leading_space(&text[known..]);
            if blank == text.len() {
                self.run = Known::Blank(blank);
                return self.split_run(run, text, events);
            }
        }
        if !text.is_empty() {
            self.run = Known::Shown;
            self.say(run.event(text), events);
        }
        text.len()
    }

    /// Hands out the pieces of a run that is longer than a run may be; returns how many bytes they hold.
    pub(super) fn split_run(
        &mut self,
        run: TextRun,
        text: &[u8],
        events: &mut Vec<Event>,
    ) -> usize {
        let mut used = 0;
        while text.len() - used > self.scope.limits.max_block_bytes {
            let piece = prefix(&text[used..], self.scope.limits.max_block_bytes);
            self.run = Known::Shown;
            self.say(run.event(piece), events);
            used += piece.len();
        }
        used
    }

    /// Hands out the rest of a run.
    pub(super) fn end_run(
        &mut self,
        run: TextRun,
        text: Cow<'_, [u8]>,
        blank: Blank,
        events: &mut Vec<Event>,
    ) {
        let used = self.split_run(run, &text, events);
        let rest = if used == 0 { text } else { Cow::Borrowed(&text[used..]) };
        let is_shown = self.run == Known::Shown || blank == Blank::Shown;
        if !rest.is_empty() && (is_shown || !is_blank(&rest)) {
            self.say(run.event(rest), events);
        }
        self.run = Known::Blank(0);
    }
}
