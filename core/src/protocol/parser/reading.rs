//! Reads on in a text, from the state that the parser is in.

use std::ops::Range;
use std::sync::Arc;

use super::super::Event;
use super::super::block::{BlockReader, Progress};
use super::super::body::{Early, Scope};
use super::super::grammar::{Grammar, Inner, Mark, Span};
use super::super::marks::{Search, Undecided, starts_with};
use super::super::problem::Problem;
use super::super::run::TextRun;
use super::Parser;
use super::runs::BlankRun;
use super::state::{Lookahead, OpenBlock, Perhaps, Start, State, raw};
use crate::json::Scanner;

impl Parser {
    /// Reads on in `text`, whose first `self.at` bytes have been searched; returns how many of its bytes are
    /// no longer needed.
    pub(super) fn advance(&mut self, text: &[u8], events: &mut Vec<Event>) -> usize {
        let grammar = Arc::clone(&self.grammar);
        let mut start = 0;
        while match self.state {
            State::Text => self.read_text(&grammar, text, &mut start, events),
            State::Perhaps(Perhaps::Array(..), _) => {
                self.read_array(&grammar, text, &mut start, events)
            }
            State::Perhaps(Perhaps::Block(..), _) => {
                self.read_opening(&grammar, text, &mut start, events)
            }
            State::Head(number) => self.read_head(&grammar, number, text, &mut start),
            State::Inside(span, _) => {
                self.read_inside((span, &grammar.spans[span]), &grammar, text, &mut start, events)
            }
            State::Quoted(span) => {
                self.read_quoted(&grammar.spans[span], &grammar, text, &mut start, events)
            }
            State::Block(..) => self.read_block(&grammar, text, &mut start, events),
            State::Broken(..) => self.read_broken(&grammar, text, &mut start, events),
            State::Done => {
                (start, self.at) = (text.len(), text.len());
                false
            }
        } {}
        self.at = self.at.saturating_sub(start);
        self.before.drop(text, start);
        start
    }

    // Each of these methods reads on in one state, and returns whether there is more to read. `start` is the first byte of
    // `text` that is still needed.

    fn read_text(
        &mut self,
        grammar: &Grammar,
        text: &[u8],
        start: &mut usize,
        events: &mut Vec<Event>,
    ) -> bool {
        if let Start::Space(known, ahead) = self.start
            && let Some(is_more) = self.read_start(grammar, text, start, (known, ahead), events)
        {
            return is_more;
        }
        let search = grammar.outside.search(text, self.at);
        let Search::Found { mark, start: at, end } = search else {
            self.at = search.or_end(text);
            let used = self.stream_run(TextRun::Respond, &text[*start..self.at], events);
            *start += used;
            // What is held is read when a mark comes.
            self.before.read(text, *start);
            if let Start::Space(known, _) = &mut self.start {
                *known -= used;
            }
            return false;
        };
        self.at = end;
        if grammar.at_line_start && !self.before.is_line(text, at) {
            return true;
        }
        match self.is_mentioned(grammar, mark, text, (at, end)) {
            Ok(false) => {}
            Ok(true) => return true,
            Err(Undecided) => {
                self.before.read(text, at);
                return self.wait_at(TextRun::Respond, at, text, start, events);
            }
        }
        self.before.read(text, at);
        let is_quoted = self.before.is_fenced() && !grammar.marks[mark].counts_in_fence();
        match &grammar.marks[mark] {
            Mark::Span(number) if grammar.spans[*number].needs_array => {
                let perhaps = Perhaps::Array(*number, end - at, Box::default());
                self.state = State::Perhaps(perhaps, at - *start);
            }
            Mark::Block(_) => {
                self.state = State::Perhaps(
                    Perhaps::Block(mark, end - at, Lookahead::default()),
                    at - *start,
                );
            }
            Mark::Head(number) => {
                self.end_run(TextRun::Respond, text[*start..at].into(), BlankRun::Hidden, events);
                *start = at;
                self.state = State::Head(*number);
            }
            Mark::Unmarked => {
                self.state =
                    State::Perhaps(Perhaps::Block(mark, 0, Lookahead::default()), at - *start);
            }
            Mark::Span(span) if is_quoted => {
                self.before.quoted(text, end);
                self.state = State::Quoted(*span);
            }
            _ if is_quoted => {}
            meaning => {
                self.end_run(TextRun::Respond, text[*start..at].into(), BlankRun::Hidden, events);
                *start = end;
                self.before.mark(end);
                match meaning {
                    Mark::Span(span) => self.state = State::Inside(*span, None),
                    Mark::End => self.say(Event::End, events),
                    Mark::TurnEnd => self.end_turn(events),
                    Mark::MessageEnd
                    | Mark::Ignored
                    | Mark::Head(_)
                    | Mark::Block(_)
                    | Mark::Unmarked => {}
                }
            }
        }
        true
    }

    /// After a mark that may open a block.
    fn read_opening(
        &mut self,
        grammar: &Grammar,
        text: &[u8],
        start: &mut usize,
        events: &mut Vec<Event>,
    ) -> bool {
        let State::Perhaps(Perhaps::Block(mark, length, mut ahead), at) = self.state else {
            return true;
        };
        let openings = match &grammar.marks[mark] {
            Mark::Block(openings) => openings,
            _ => &grammar.unmarked,
        };
        let at = *start + at;
        let rest = &text[at + length..];
        let may_decide = ahead.may_decide(rest);
        let most = self.longest_opening();
        let within = &rest[..rest.len().min(most)];
        let is_fenced = self.before.is_fenced();
        let opening = match (may_decide, is_fenced) {
            (false, _) => Err(Undecided),
            (true, false) => grammar.opening(openings, within, self.scope.strictness),
            (true, true) => grammar.opening_in_fence(openings, within, self.scope.strictness),
        };
        match opening {
            Ok(Some(opening)) => {
                let block = OpenBlock { opening: opening.clone(), mark: length };
                self.open_block(grammar, block, text, (start, at), events);
                true
            }
            Err(Undecided) if rest.len() <= most => {
                let used = self.stream_run(TextRun::Respond, &text[*start..at], events);
                *start += used;
                self.state = State::Perhaps(Perhaps::Block(mark, length, ahead), at - *start);
                self.at = text.len();
                false
            }
            Ok(None) | Err(Undecided) => {
                (self.state, self.at) = (State::Text, at + length.max(1));
                if !is_fenced && grammar.leaves_out(openings) {
                    self.end_run(
                        TextRun::Respond,
                        text[*start..at].into(),
                        BlankRun::Hidden,
                        events,
                    );
                    *start = self.at;
                    self.before.mark(*start);
                }
                true
            }
        }
    }

    /// What the reader knows of a block that begins at this byte of the whole text. One in text that was read before shows nothing
    /// before it is complete: one that does not end would show all of the text, and so would the next.
    pub(super) fn scope_at(&self, begins: usize) -> Scope {
        let early = if self.broke.covers(begins) { Early::Nothing } else { self.scope.early };
        Scope { early, ..self.scope.clone() }
    }

    /// Ends the open run and opens a block, both at byte `at`.
    pub(super) fn open_block(
        &mut self,
        grammar: &Grammar,
        block: OpenBlock,
        text: &[u8],
        (start, at): (&mut usize, usize),
        events: &mut Vec<Event>,
    ) {
        self.before.read(text, at);
        self.end_run(TextRun::Respond, text[*start..at].into(), BlankRun::Hidden, events);
        // The report of a broken block holds its text, so the text is kept.
        (*start, self.at) = (at, at + block.mark);
        let dialect = Arc::clone(&grammar.dialects[block.opening.dialect]);
        let scope = self.scope_at(self.fed - text.len() + at);
        let reader = BlockReader::new(dialect, block.opening.entry, scope);
        self.start = Start::Past;
        self.state = State::Block(block, Box::new(reader));
    }

    fn read_array(
        &mut self,
        grammar: &Grammar,
        text: &[u8],
        start: &mut usize,
        events: &mut Vec<Event>,
    ) -> bool {
        let most = self.limits().max_block_bytes;
        let State::Perhaps(Perhaps::Array(span, mark, scanner), at) = &mut self.state else {
            return true;
        };
        let (span, end) = (*span, *start + *at);
        let after = end + *mark;
        let rest = &text[after..];
        let is_array = follows(scanner, &rest[..rest.len().min(most)], &grammar.spans[span].close)
            .or_else(|| (rest.len() > most).then(|| scanner.depth() > 0));
        match is_array {
            Some(true) if self.before.is_fenced() => {
                self.before.quoted(text, after);
                (self.state, self.at) = (State::Quoted(span), after);
            }
            Some(true) => {
                self.end_run(TextRun::Respond, text[*start..end].into(), BlankRun::Hidden, events);
                self.before.mark(after);
                self.state = State::Inside(span, None);
                (*start, self.at) = (after, after);
            }
            Some(false) => (self.state, self.at) = (State::Text, after),
            None => {
                let used = self.stream_run(TextRun::Respond, &text[*start..end], events);
                if let State::Perhaps(_, at) = &mut self.state {
                    *at -= used;
                }
                *start += used;
                self.at = text.len();
            }
        }
        is_array.is_some()
    }

    fn read_inside(
        &mut self,
        (number, span): (usize, &Span),
        grammar: &Grammar,
        text: &[u8],
        start: &mut usize,
        events: &mut Vec<Event>,
    ) -> bool {
        if self.may_reopen
            && let Some(is_more) = self.read_reopened(grammar, text, start)
        {
            return is_more;
        }
        let marks = span.inside.as_ref().unwrap_or(&grammar.outside);
        let search = marks.search(text, self.at);
        let Search::Found { mark, start: end, end: after } = search else {
            self.at = search.or_end(text);
            *start += self.stream_run(span.run, &text[*start..self.at], events);
            self.before.read_inside(text, *start);
            return false;
        };
        self.before.read_inside(text, end);
        let inner = if span.inside.is_some() { Some(span.marks[mark]) } else { None };
        if inner.is_none() && grammar.at_line_start && !self.before.is_line(text, end) {
            self.at = after;
            return true;
        }
        let is_mentioned = match inner {
            Some(inner) => self.is_mentioned_inside(inner, text, (end, after)),
            None => self.is_mentioned(grammar, mark, text, (end, after)),
        };
        match is_mentioned {
            Ok(false) => {}
            Ok(true) => {
                self.at = after;
                return true;
            }
            Err(Undecided) => return self.wait_at(span.run, end, text, start, events),
        }
        if inner == Some(Inner::Block) {
            let is_line_start = self.before.is_line(text, end);
            if let State::Inside(_, opened @ None) = &mut self.state
                && is_line_start
            {
                *opened = Some(String::from_utf8_lossy(&text[end..after]).into_owned());
            }
            self.at = after;
            return true;
        }
        if let (Some(Inner::Open(span)), State::Inside(number, _)) = (inner, &mut self.state) {
            (*number, self.at) = (span, after);
            return true;
        }
        let head = match inner {
            Some(Inner::Recipient(head)) => match grammar.begins_head(head, &text[after..]) {
                Some(true) => Some(head),
                Some(false) => {
                    self.at = after;
                    return true;
                }
                None => {
                    self.at = end;
                    *start += self.stream_run(span.run, &text[*start..end], events);
                    return false;
                }
            },
            _ => None,
        };
        self.end_run(span.run, text[*start..end].into(), BlankRun::Hidden, events);
        self.state = head.map_or(State::Text, State::Head);
        (*start, self.at) = match inner {
            Some(Inner::Close | Inner::TurnEnd | Inner::Block | Inner::Open(_)) => (after, after),
            // The mark begins something else.
            Some(Inner::Next | Inner::Recipient(_)) | None => (end, end),
        };
        self.before.mark(*start);
        if grammar.spans[number].run == TextRun::Think && self.start == Start::Else {
            self.start = Start::Space(0, Lookahead::default());
        }
        if inner == Some(Inner::TurnEnd) {
            self.end_turn(events);
        }
        true
    }

    fn read_block(
        &mut self,
        grammar: &Grammar,
        text: &[u8],
        start: &mut usize,
        events: &mut Vec<Event>,
    ) -> bool {
        let State::Block(block, reader) = &mut self.state else { return true };
        let body = *start + block.mark;
        let progress = reader.read(&text[body..]);
        // No call of a block in text that was read before is ready before it is complete either.
        let is_hidden = self.broke.covers(self.fed - text.len() + *start)
            && !matches!(progress, Progress::Complete { events: Ok(_), .. });
        if matches!(progress, Progress::More) && (is_hidden || !reader.has_news()) {
            return false;
        }
        let notes: Vec<_> = reader.notes().collect();
        let ready: Vec<_> = reader.ready().collect();
        let block = block.clone();
        for (number, note) in notes {
            self.note(number, note, events);
        }
        if !is_hidden {
            for call in ready {
                self.ready(&block.opening, call, events);
            }
        }
        if matches!(progress, Progress::Complete { events: Err(_), .. } | Progress::Broken(_)) {
            self.withdraw(events);
        }
        match progress {
            Progress::More => return false,
            Progress::Complete { end, events: Ok(said) } if !self.may_call(&said) => {
                let end = body + end;
                self.withdraw(events);
                self.say_unread(&text[*start..end], events);
                (*start, self.at) = (end, end);
                self.before.call(end);
                self.state = State::Text;
            }
            Progress::Complete { end, events: Ok(said) } => {
                (*start, self.at) = (body + end, body + end);
                self.before.call(*start);
                self.state = State::Text;
                self.complete(&block, said, events);
            }
            Progress::Complete { end, events: Err(problem) }
                if block.is_only_text(grammar, &problem) =>
            {
                (self.state, self.at) = (State::Text, body + end);
            }
            Progress::Complete { end, events: Err(problem) } => {
                let end = body + end;
                let text = &text[*start..];
                let length = end - *start;
                self.say_malformed(grammar, &block, &problem, (text, length), events);
                self.state = State::Text;
                (*start, self.at) = (end, end);
                self.before.call(end);
            }
            Progress::Broken(problem) if block.is_only_text(grammar, &problem) => {
                (self.state, self.at) = (State::Text, body + problem.at.max(1));
            }
            Progress::Broken(problem) => {
                let end = text.len().min(body + problem.at);
                self.break_block(block, problem, text, *start..end);
            }
        }
        true
    }

    /// A block cannot be read, because of this problem; so much of `text` was read of it.
    pub(super) fn break_block(
        &mut self,
        block: OpenBlock,
        problem: Problem,
        text: &[u8],
        read: Range<usize>,
    ) {
        let before = self.fed - text.len();
        let may_again = self.broke.add(before + read.start, before + read.end);
        self.at = if may_again { read.start + block.mark } else { read.end };
        self.state = State::Broken(block, Some(problem));
    }

    fn read_broken(
        &mut self,
        grammar: &Grammar,
        text: &[u8],
        start: &mut usize,
        events: &mut Vec<Event>,
    ) -> bool {
        let shows_unread = self.shows_unread();
        let State::Broken(block, problem) = &mut self.state else { return true };
        let recovery = &grammar.recovery[block.opening.dialect];
        let search = recovery.marks.search(text, self.at);
        let found = match search {
            Search::Found { mark, start: begin, end } => {
                Some(if recovery.closes(mark) { end } else { begin })
            }
            _ => None,
        };
        if shows_unread {
            let end = found.unwrap_or_else(|| search.or_end(text));
            *problem = None;
            self.say_unread(&text[*start..end], events);
            (*start, self.at) = (end, end);
            if found.is_some() {
                self.state = State::Text;
                self.before.call(end);
            }
            return found.is_some();
        }
        let held = &text[*start..];
        let most = raw(&self.scope.limits, grammar, held, block).len();
        let length = match found {
            Some(end) => Some(most.min(end - *start)),
            // A mark that has begun may end the block before that.
            None => (most < search.or_end(text) - *start).then_some(most),
        };
        if let Some(length) = length
            && let Some(problem) = problem.take()
        {
            let block = block.clone();
            self.say_malformed(grammar, &block, &problem, (held, length), events);
        }
        match found {
            Some(end) => {
                self.state = State::Text;
                (*start, self.at) = (end, end);
                self.before.call(end);
                true
            }
            None => {
                self.at = search.or_end(text);
                if let State::Broken(_, None) = self.state {
                    *start = self.at;
                }
                false
            }
        }
    }
}

/// Whether `text` begins with a JSON array or with the tag `close`; `None` while that is not known.
fn follows(scanner: &mut Scanner, text: &[u8], close: &str) -> Option<bool> {
    if scanner.depth() == 0 {
        scanner.skip_space(text);
        let rest = &text[scanner.position()..];
        match rest.first() {
            Some(b'[') => {}
            _ => return starts_with(rest, close),
        }
    }
    loop {
        match scanner.next(text) {
            Ok(Some(_)) if scanner.depth() > 0 => {}
            Ok(Some(_)) => return Some(true),
            Ok(None) => return None,
            Err(_) => return Some(false),
        }
    }
}
