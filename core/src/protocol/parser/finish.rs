//! The end of a text: hands out what is still open.

use std::ops::ControlFlow;

use super::super::Event;
use super::super::advice::{self, Where};
use super::super::ending::Ending;
use super::super::problem::Problem;
use super::super::report::Report;
use super::super::run::TextRun;
use super::Parser;
use super::runs::BlankRun;
use super::state::{Perhaps, State, Written, raw};
use crate::json::FaultKind;
use crate::text::is_blank;

impl Parser {
    /// The text has ended: hands out what is still open.
    ///
    /// Open reasoning becomes a think event, open results a result event. An open block runs if only marks are missing that
    /// servers take away, and the text was not cut off; otherwise it is an error, and none of its calls is handed out. An
    /// answer that was cut off outside a block is followed by an error. Calls that wait for the end of the answer run now. If
    /// the answer was refused, no call runs, and the last event is an error.
    pub fn finish(&mut self, ending: &Ending, events: &mut Vec<Event>) {
        let mut text = std::mem::take(&mut self.held);
        self.is_whole = true;
        let report = match ending {
            Ending::Refused(_) => self.refuse(ending, &mut text, events),
            _ => {
                if matches!(self.state, State::Text | State::Quoted(_) | State::Inside(..)) {
                    // No quote follows the mark that the text ends with.
                    self.read_on(&mut text, events);
                }
                self.finish_state(ending, &mut text, events)
            }
        };
        self.say_rest(events);
        if let Some(report) = report {
            self.say(report.into(), events);
        }
        if self.is_batch_open() && !matches!(ending, Ending::Broken(_) | Ending::Refused(_)) {
            self.execute(events);
        }
        self.state = State::Done;
        self.at = 0;
    }

    /// The text is left before its end: the open run becomes an event. A mark or a block that has only begun is dropped, and
    /// nothing is reported.
    pub fn leave(&mut self, events: &mut Vec<Event>) {
        if matches!(self.state, State::Text | State::Quoted(_) | State::Inside(..)) {
            self.held.truncate(self.at);
            let first = events.len();
            self.finish(&Ending::Length, events);
            let said = events.split_off(first);
            events.extend(
                said.into_iter().filter(|e| matches!(e, Event::Think(_) | Event::Respond(_))),
            );
        }
        self.held.clear();
        self.state = State::Done;
        self.at = 0;
    }

    /// The end of an answer that was refused: its text and its reasoning are handed out, and nothing that is open counts.
    fn refuse(
        &mut self,
        ending: &Ending,
        text: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Option<Report> {
        let run = match &self.state {
            State::Done => return None,
            State::Text | State::Quoted(_) | State::Perhaps(Perhaps::Block(..), _) => {
                Some(TextRun::Respond)
            }
            State::Perhaps(Perhaps::Array(..), at) => {
                text.truncate(*at);
                Some(TextRun::Respond)
            }
            State::Inside(span, _) => Some(self.grammar.spans[*span].run),
            State::Block(..) | State::Broken(..) if self.shows_unread() => Some(TextRun::Respond),
            State::Head(_) | State::Block(..) | State::Broken(..) => None,
        };
        if let Some(run) = run {
            self.end_run(run, std::mem::take(text).into(), BlankRun::Hidden, events);
        }
        self.withdraw(events);
        advice::cut_answer(ending, Where::Answer)
    }

    fn finish_state(
        &mut self,
        ending: &Ending,
        text: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Option<Report> {
        let shows_unread = self.shows_unread();
        loop {
            match &mut self.state {
                State::Text => {
                    let report = self.cut_answer(ending, text, self.place());
                    let rest = std::mem::take(text).into();
                    let blank =
                        if self.is_batch_open() { BlankRun::Hidden } else { BlankRun::Shown };
                    self.end_run(TextRun::Respond, rest, blank, events);
                    return report;
                }
                State::Quoted(_) | State::Perhaps(Perhaps::Block(..), _) => {
                    self.state = State::Text;
                }
                State::Head(number) if self.grammar.is_headless(*number, text) => {
                    self.state = State::Text;
                }
                State::Head(_) if ending.is_cut() => {
                    return self.cut_answer(ending, text, self.place());
                }
                State::Head(number) => {
                    let (number, grammar, mut start) = (*number, self.grammar.clone(), 0);
                    self.end_head(&grammar, number, text, &mut start, text.len());
                    text.drain(..start);
                    self.at = self.at.saturating_sub(start);
                }
                State::Perhaps(Perhaps::Array(span, mark, scanner), at) => {
                    let (span, mark, at) = (*span, *mark, *at);
                    if scanner.depth() == 0 {
                        self.state = State::Text;
                        continue;
                    }
                    if self.before.is_fenced() {
                        self.before.quoted(text, at + mark);
                        (self.state, self.at) = (State::Quoted(span), at + mark);
                        self.read_on(text, events);
                        continue;
                    }
                    // As with a complete array, the first closing mark ends it, even inside a string.
                    self.end_run(TextRun::Respond, text[..at].into(), BlankRun::Hidden, events);
                    self.state = State::Inside(span, None);
                    self.before.mark(at + mark);
                    self.before.drop(text, at + mark);
                    text.drain(..at + mark);
                    self.at = 0;
                    self.read_on(text, events);
                }
                State::Inside(span, opened) => {
                    let opened = opened.take();
                    let span = &self.grammar.clone().spans[*span];
                    let report = match opened {
                        Some(mark) => Some(advice::in_reasoning(&mark, &span.close)),
                        None if span.run == TextRun::Think => {
                            self.cut_answer(ending, text, Where::Thoughts)
                        }
                        None => self.cut_answer(ending, text, Where::Answer),
                    };
                    self.end_run(span.run, std::mem::take(text).into(), BlankRun::Hidden, events);
                    return report;
                }
                State::Block(_, reader) => {
                    if reader.end_text() {
                        self.read_on(text, events);
                        continue;
                    }
                    if let ControlFlow::Break(report) = self.finish_block(ending, text, events) {
                        return report;
                    }
                }
                State::Broken(..) if shows_unread => {
                    self.say_unread(text, events);
                    return None;
                }
                State::Broken(block, Some(problem)) => {
                    let raw = raw(&self.scope.limits, &self.grammar, text, block);
                    let broken = block.broken(&self.grammar);
                    return Some(if problem.kind.is_the_end() {
                        broken.cut_off(problem, raw, ending)
                    } else {
                        broken.malformed(problem, text, raw.len())
                    });
                }
                State::Broken(_, None) | State::Done => return None,
            }
        }
    }

    /// The end of a text in a block: breaks with its report, if there is one, or goes on in another state.
    fn finish_block(
        &mut self,
        ending: &Ending,
        text: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> ControlFlow<Option<Report>> {
        let State::Block(block, reader) = &mut self.state else { return ControlFlow::Continue(()) };
        let (block, grammar) = (block.clone(), self.grammar.clone());
        let read = reader.cut_off(&text[block.mark..], ending);
        let notes: Vec<_> = reader.notes().collect();
        let shows_unread = self.shows_unread();
        match read {
            Ok(said) if !ending.is_cut() && self.may_call(&said) => {
                for (number, note) in notes {
                    self.note(number, note, events);
                }
                self.complete(&block, said, events);
                return ControlFlow::Break(None);
            }
            Ok(_) => {
                self.withdraw(events);
                if shows_unread {
                    self.say_unread(text, events);
                    return ControlFlow::Break(None);
                }
                let problem =
                    Problem { kind: FaultKind::Ended.into(), at: text.len() - block.mark };
                return ControlFlow::Break(Some(
                    block.broken(&grammar).cut_off(&problem, text, ending),
                ));
            }
            Err(problem) => {
                self.withdraw(events);
                if block.is_only_text(&grammar, &problem) {
                    self.state = State::Text;
                    return ControlFlow::Continue(());
                }
                // If the text was cut off, that is why a string has no end.
                let is_known = ending.is_cut() && problem.kind.is_the_end();
                let hides_the_end = problem.kind.may_hide_the_end() && !is_known;
                self.break_block(block, problem, text, 0..text.len());
                if hides_the_end {
                    self.read_on(text, events);
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// The report of a text that was cut off outside blocks; `rest` is text that no event holds yet.
    fn cut_answer(&self, ending: &Ending, rest: &[u8], place: Where) -> Option<Report> {
        let is_whole = match self.written {
            Written::Nothing => *ending != Ending::Length, // an empty text was not cut off
            Written::Something => false,
            Written::End => is_blank(rest),
        };
        if is_whole { None } else { advice::cut_answer(ending, place) }
    }

    /// Where the text ends that was read last, outside every mark.
    fn place(&self) -> Where {
        if self.is_thought_apart { Where::Thoughts } else { Where::Answer }
    }

    pub(super) fn read_on(&mut self, text: &mut Vec<u8>, events: &mut Vec<Event>) {
        let used = self.advance(text, events);
        text.drain(..used);
    }
}
