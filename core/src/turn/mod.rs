//! Events to steps: what to emit, what to save, what to run.
//!
//! [`Turn`] is the state machine of the accumulator. It is handed the parser's events and, after a batch, the outcomes of
//! its calls; the caller carries out the [`Step`]s in order. It reads no clock: the time comes with the input.
//!
//! In [`Stream::Event`] mode text is stripped, but not where it was cut: what follows is joined to it as it is.
//!
//! Output that cannot be read is saved as the model wrote it, so that the model can be shown its own text. The text after it
//! belongs to it too, unless a call follows. Where all blocks of an answer are one batch ([`BatchEnd::Answer`]), a report of
//! an answer that has calls is saved after the calls: they run, and the model reads both.
//!
//! Invariants: text that comes before a call is saved and emitted before it; every batch that is handed out as
//! [`Step::Run`] takes exactly one results row; what the model wrote as `<results>` is dropped.
//!
//! # A turn and what is around it
//!
//! This is a whole turn of an agent: a text in the dialect `hermes` arrives in pieces, its two calls run one at a time,
//! and the log becomes the messages that the model is sent next.
//!
//! ```
//! use std::num::NonZeroUsize;
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use cogency_rs::context::{Conversation, FoldOptions, Message, Role, Rules};
//! use cogency_rs::dialect::presets;
//! use cogency_rs::execution::{Admission, Due, Schedule};
//! use cogency_rs::protocol::{CallOutcome, Ending, Event, Grammar, Options, Parser, Stream, shown_call};
//! use cogency_rs::turn::{Breaker, Emission, Errors, Row, RowKind, Step, Turn, TurnOutcome};
//!
//! let dialect = presets::preset("hermes").expect("a row of the table");
//! let grammar = Grammar::preset("hermes").expect("a row of the table");
//!
//! // Text to events. However the text is cut, the events are the same.
//! let mut parser = Parser::new(grammar, Options::default());
//! let mut events = Vec::new();
//! for chunk in [
//!     "Both sums.<tool",
//!     "_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}}\n</tool_call>\n<tool_call>\n",
//!     "{\"name\": \"add\", \"arguments\": {\"a\": \"x\"}}\n</tool_call>",
//! ] {
//!     parser.feed(chunk, &mut events);
//! }
//! parser.finish(&Ending::Stopped, &mut events);
//!
//! // Events to steps, which are carried out in their order.
//! let (mut log, mut shown, mut batch) = (Vec::<Row>::new(), Vec::new(), Vec::new());
//! let mut turn = Turn::new(Stream::Event, Errors::Event, Arc::clone(&dialect));
//! let mut steps = Vec::new();
//! for event in events {
//!     turn.event(event, 1.0, &mut steps); // the time is the caller's: seconds since the epoch
//! }
//! for step in steps.drain(..) {
//!     match step {
//!         Step::Save(rows) => log.extend(rows),
//!         Step::Emit(emission, _) => shown.push(emission),
//!         Step::Run(calls) => batch = calls,
//!         Step::Begin(..) | Step::Withdraw(_) => {} // with `CallStart::Early` only
//!     }
//! }
//! assert_eq!(shown[0], Emission::Event(Event::Respond("Both sums.".into())));
//! assert_eq!((&*batch[0].name(), batch[0].arguments()), ("add", r#"{"a": 2, "b": 3}"#));
//!
//! // Calls to outcomes: one at a time, each for two seconds. The schedule says what may begin and whose time is up.
//! let mut schedule = Schedule::new(batch.len(), NonZeroUsize::new(1), None);
//! assert_eq!(schedule.ask(0), Admission::Now);
//! assert!(matches!(schedule.ask(1), Admission::Later(_)));
//! schedule.start_clock(0, Duration::ZERO, Duration::from_secs(2));
//! assert_eq!(schedule.next_deadline(), Some(Duration::from_secs(2)));
//! let sum = CallOutcome::returned(&5).expect("it can be written");
//! assert_eq!(schedule.leave(0), [(1, 0)], "the second call begins");
//! schedule.over(0);
//! schedule.start_clock(1, Duration::from_secs(1), Duration::from_secs(2));
//! assert_eq!(schedule.due(Duration::from_secs(3)), Due::Calls(vec![1]), "and runs out of time");
//! let late = CallOutcome::failed("no answer within 2 s");
//!
//! turn.results(vec![sum, late], &mut Breaker::new(3.0), &mut steps);
//! turn.finish(&Ending::Stopped, 4.0, &mut steps);
//! for step in steps {
//!     if let Step::Save(rows) = step {
//!         log.extend(rows);
//!     }
//! }
//! assert_eq!(turn.outcome(), TurnOutcome::Acted);
//!
//! // Log to messages, in the model's own dialect.
//! let mut conversation =
//!     Conversation::new(FoldOptions { dialect, rules: Rules::Own, ..FoldOptions::default() });
//! let mut messages: Vec<Message> = Vec::new();
//! for row in log {
//!     let content = row.content.as_bytes();
//!     match row.kind {
//!         RowKind::Think => conversation.think(content),
//!         RowKind::Respond => conversation.respond(content),
//!         RowKind::Call => conversation.call(shown_call(content).unwrap().expect("a call")),
//!         RowKind::Result => messages.extend(conversation.result(content)),
//!         RowKind::Error => unreachable!("all of it could be read"),
//!     }
//! }
//! messages.extend(conversation.open());
//! assert_eq!((messages[0].role, messages[1].role), (Role::Assistant, Role::User));
//! assert_eq!(
//!     messages[1].content.as_str(),
//!     "<tool_response>\n5\n</tool_response>\n\
//!      <tool_response>\nError: no answer within 2 s\n</tool_response>"
//! );
//! ```

mod breaker;
mod decision;
mod outcome;
mod run;
mod step;
mod unread;

use std::collections::VecDeque;
use std::sync::Arc;

pub use breaker::{Breaker, Counts};
pub use decision::{Decision, Situation, decide};
pub use outcome::TurnOutcome;
pub use step::{Emission, Row, RowKind, Step, Tally};

use crate::dialect::{BatchEnd, Dialect};
use crate::protocol::results::{CallOutcome, ResultItem, results_array};
use crate::protocol::{self, Call, Ending, Event, Report, Stream, Text};
use run::{Edges, RunKind, UnsavedRun};
use unread::Unread;

/// How output that cannot be read is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Errors {
    /// As text of the answer, as in cogency 3.3.0.
    #[default]
    Respond,
    /// As its own error, joined to no other text.
    Event,
}

impl Errors {
    /// An event as it is reported so; `None` for output whose fault is not shown.
    #[must_use]
    pub fn reported(self, event: Event) -> Option<Event> {
        match (self, event) {
            (Self::Respond, Event::Error(report)) => report.respond.map(Event::Respond),
            (_, event) => Some(event),
        }
    }
}

/// One turn of the model.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the answer so far"
)]
pub struct Turn {
    stream: Stream,
    errors: Errors,
    /// Output that could not be read and is not saved yet.
    unread: Vec<Unread>,
    /// What could not be read in an answer that has calls; it is saved after them.
    late: Vec<Unread>,
    dialect: Arc<Dialect>,
    /// Whether the answer has calls.
    has_called: bool,
    /// Text of one kind that is not saved yet.
    run: Option<UnsavedRun>,
    /// Calls that are not saved yet, and when each arrived.
    calls: Vec<(Call, f64)>,
    /// Calls that were handed out to begin early and do not count yet.
    ready: VecDeque<Call>,
    /// Calls that are saved and have no results yet.
    batch: Vec<Call>,
    /// When the batch was last added to, or closed by its execute event; its results carry this time.
    executed: f64,
    ended: bool,
    /// Whether the next text goes on where an earlier turn was cut.
    goes_on: bool,
    /// Whether the open run is cut at its end.
    is_cut: bool,
    /// The time of the last row that was saved.
    saved: f64,
    outcome: TurnOutcome,
}

impl Turn {
    /// A turn of a model that writes this dialect, at its start. In [`Stream::Token`] mode text is emitted as it arrives and
    /// saved once, unchanged; in [`Stream::Event`] mode it is joined, stripped, saved and then emitted.
    #[must_use]
    pub fn new(stream: Stream, errors: Errors, dialect: Arc<Dialect>) -> Self {
        Self {
            stream,
            errors,
            unread: Vec::new(),
            late: Vec::new(),
            dialect,
            has_called: false,
            run: None,
            calls: Vec::new(),
            ready: VecDeque::new(),
            batch: Vec::new(),
            executed: 0.0,
            ended: false,
            goes_on: false,
            is_cut: false,
            saved: 0.0,
            outcome: TurnOutcome::Answered,
        }
    }

    /// The same turn, whose text goes on where an earlier turn was cut: the space that it begins with is kept.
    #[must_use]
    pub fn going_on(self) -> Self {
        Self { goes_on: true, ..self }
    }

    /// How the turn came out so far.
    #[must_use]
    pub fn outcome(&self) -> TurnOutcome {
        self.outcome
    }

    /// Whether the model said that it is done, or the breaker opened. No more events are wanted.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The calls that are saved and wait for their results.
    #[must_use]
    pub fn open_calls(&self) -> &[Call] {
        &self.batch
    }

    /// Takes the next event, at `now` (seconds since the epoch).
    pub fn event(&mut self, event: Event, now: f64, steps: &mut Vec<Step>) {
        match event {
            Event::Think(text) => self.text(RunKind::Think, text, now, steps),
            Event::Respond(text) => self.text(RunKind::Respond, text, now, steps),
            Event::Result(_) => self.pause(now, steps),
            Event::Piece(number, note) => {
                self.show(now, steps);
                steps.push(Step::event(Event::Piece(number, note), now));
            }
            Event::Ready(call) => {
                steps.push(Step::Begin(self.counted() + self.ready.len(), call.clone()));
                self.ready.push_back(call);
            }
            Event::Withdrawn => self.withdraw(steps),
            Event::Call(call) => {
                if self.ready.front().is_some_and(|ready| *ready != call) {
                    self.withdraw(steps);
                }
                self.ready.pop_front();
                self.calls.push((call, now));
            }
            Event::Execute => {
                self.withdraw(steps);
                // A call that has not begun yet begins with the batch.
                steps.retain(|step| !matches!(step, Step::Begin(..)));
                self.flush_all(now, steps);
                self.executed = now;
                steps.push(Step::event(Event::Execute, now));
                if !self.batch.is_empty() {
                    steps.push(Step::Run(self.batch.clone()));
                }
            }
            Event::Error(report) => {
                self.withdraw(steps);
                self.error(*report, now, steps);
            }
            Event::End => {
                self.flush(now, steps);
                self.outcome = self.outcome.and_end();
                self.end(now, steps);
            }
        }
    }

    /// Takes a chunk that is one event just as it is ([`Parser::pass`]). The caller emits it, after `steps`.
    ///
    /// [`Parser::pass`]: crate::protocol::Parser::pass
    pub fn pass(&mut self, run: protocol::TextRun, chunk: &[u8], now: f64, steps: &mut Vec<Step>) {
        match run {
            protocol::TextRun::Think => self.keep(RunKind::Think, chunk, now, steps),
            protocol::TextRun::Respond => self.keep(RunKind::Respond, chunk, now, steps),
            protocol::TextRun::Result => self.pause(now, steps),
        }
    }

    /// The model's output has ended in this way: saves and emits what is still open.
    pub fn finish(&mut self, ending: &Ending, now: f64, steps: &mut Vec<Step>) {
        self.withdraw(steps);
        self.is_cut |= ending.is_cut();
        self.flush_all(now, steps);
        if ending.is_cut() {
            self.outcome = self.outcome.and_cut();
        }
    }

    /// Takes the outcomes of the batch, one for each of [`open_calls`](Self::open_calls) and in their order.
    ///
    /// All of them are saved and emitted, whatever the breaker says; if it opens, the turn ends after them.
    pub fn results(
        &mut self,
        outcomes: Vec<CallOutcome>,
        breaker: &mut Breaker,
        steps: &mut Vec<Step>,
    ) {
        let succeeded = outcomes
            .iter()
            .filter(|outcome| matches!(outcome, CallOutcome::Success { .. }))
            .count();
        let tally = Tally { succeeded, failed: outcomes.len() - succeeded };
        breaker.record(&outcomes);
        self.outcome = TurnOutcome::Acted;
        let items: Vec<_> = std::mem::take(&mut self.batch)
            .into_iter()
            .zip(outcomes)
            .map(|(call, outcome)| ResultItem { tool: call.name_json().to_owned(), outcome })
            .collect();
        let content = Text::from(results_array(&items));
        let timestamp = self.executed;
        let row = Row { kind: RowKind::Result, content: content.clone(), timestamp };
        steps.push(Step::Save(self.in_order(vec![row])));
        steps.push(Step::Emit(Emission::Results(content, tally), timestamp));
        if breaker.is_open() {
            self.outcome = TurnOutcome::Failed;
            steps.push(Step::Emit(Emission::BreakerOpened, timestamp));
            self.end(timestamp, steps);
        }
    }

    /// How many calls of the batch the model has confirmed.
    fn counted(&self) -> usize {
        self.batch.len() + self.calls.len()
    }

    /// Takes back the calls that were ready: those that began are withdrawn, the others do not begin.
    fn withdraw(&mut self, steps: &mut Vec<Step>) {
        if self.ready.is_empty() {
            return;
        }
        self.ready.clear();
        let first = self.counted();
        steps.retain(|step| !matches!(step, Step::Begin(place, _) if *place >= first));
        steps.push(Step::Withdraw(first));
    }

    fn text(&mut self, kind: RunKind, text: Text, now: f64, steps: &mut Vec<Step>) {
        if kind == RunKind::Respond && !text.is_blank() {
            self.outcome = self.outcome.and_answer();
        }
        self.write(kind, text, now, steps);
    }

    fn write(&mut self, kind: RunKind, text: Text, now: f64, steps: &mut Vec<Step>) {
        self.keep(kind, text.as_bytes(), now, steps);
        if self.stream == Stream::Token {
            steps.push(Step::event(kind.event(text), now));
        }
    }

    /// Takes output that cannot be read.
    fn error(&mut self, report: Report, now: f64, steps: &mut Vec<Step>) {
        self.outcome = TurnOutcome::of_error(report.kind);
        match self.errors {
            Errors::Respond => {
                if let Some(text) = report.respond {
                    self.write(RunKind::Respond, text, now, steps);
                }
            }
            Errors::Event if report.is_of_cut_answer() => self.cut(report, now, steps),
            Errors::Event => {
                self.pause(now, steps);
                if self.stream == Stream::Token {
                    steps.push(Step::event(report.clone(), now));
                }
                self.unread.push(Unread::new(report, now));
            }
        }
    }

    /// The answer was cut. Its text and the report are saved together: without the report the text would be an answer.
    fn cut(&mut self, report: Report, now: f64, steps: &mut Vec<Step>) {
        self.is_cut = true;
        let mut flushed = Vec::new();
        self.flush(now, &mut flushed);
        let emission = Step::event(report.clone(), now);
        let unread = Unread::new(report, now);
        if self.has_called && self.dialect.batch == BatchEnd::Answer {
            self.late.push(unread);
        } else {
            let row = self.in_order(vec![unread.row(&self.dialect)]);
            match flushed.first_mut() {
                Some(Step::Save(rows)) => rows.extend(row),
                _ => flushed.insert(0, Step::Save(row)),
            }
        }
        steps.append(&mut flushed);
        steps.push(emission);
    }

    /// Adds text to the open run, or begins one.
    fn keep(&mut self, kind: RunKind, text: &[u8], now: f64, steps: &mut Vec<Step>) {
        let is_open = |run: &UnsavedRun| run.kind == kind && !run.is_shown;
        let goes_on = self.run.as_ref().is_some_and(is_open) && self.calls.is_empty();
        if !goes_on {
            self.pause(now, steps);
        }
        let run = self.run.get_or_insert_with(|| UnsavedRun {
            kind,
            content: Text::default(),
            started: now,
            is_shown: false,
        });
        run.content.push(text);
    }

    /// Ends the open run. After output that could not be read it is kept, since a call may still follow.
    fn pause(&mut self, now: f64, steps: &mut Vec<Step>) {
        if self.unread.is_empty() || !self.calls.is_empty() || self.has_called {
            self.flush(now, steps);
        } else {
            self.pause_unread();
        }
    }

    /// Emits what is not saved yet, because a piece of a call follows it. It is still saved together with the call.
    pub fn show(&mut self, now: f64, steps: &mut Vec<Step>) {
        if self.stream == Stream::Token {
            return;
        }
        let start = self.goes_on && self.errors == Errors::Event && self.unread.is_empty();
        for unread in &mut self.unread {
            if !std::mem::replace(&mut unread.is_shown, true) {
                steps.push(Step::event(unread.report.clone(), now));
            }
            steps
                .extend(unread.after.iter_mut().filter_map(|run| run.shown(Edges::default(), now)));
        }
        let edges = |run: &UnsavedRun| match run.kind {
            RunKind::Respond => Edges { start, end: false },
            RunKind::Think => Edges::default(),
        };
        steps.extend(self.run.as_mut().and_then(|run| {
            let edges = edges(run);
            run.shown(edges, now)
        }));
    }

    fn end(&mut self, now: f64, steps: &mut Vec<Step>) {
        self.ended = true;
        steps.push(Step::event(Event::End, now));
    }

    /// Saves what is not saved yet, in one step: output that could not be read, the open run, and the calls after it. Then
    /// emits them.
    fn flush(&mut self, now: f64, steps: &mut Vec<Step>) {
        let (mut rows, mut emissions) = (Vec::new(), Vec::new());
        self.pause_unread();
        self.has_called |= !self.calls.is_empty();
        for mut unread in std::mem::take(&mut self.unread) {
            if self.stream == Stream::Event && !unread.is_shown {
                emissions.push(Step::event(unread.report.clone(), now));
            }
            let after = if self.has_called {
                std::mem::take(&mut unread.after)
            } else {
                unread.after.clone()
            };
            if self.has_called && self.dialect.batch == BatchEnd::Answer {
                self.late.push(unread);
            } else {
                rows.push(unread.row(&self.dialect));
            }
            self.goes_on = false;
            for run in after {
                let rows = self.has_called.then_some(&mut rows);
                self.say(run, Edges::default(), now, rows, &mut emissions);
            }
        }
        if let Some(run) = self.run.take() {
            let edges = self.edges(run.kind);
            self.say(run, edges, now, Some(&mut rows), &mut emissions);
        }
        for (call, timestamp) in std::mem::take(&mut self.calls) {
            self.executed = now; // if they never run, their results carry this time
            rows.push(Row { kind: RowKind::Call, content: call.json().into(), timestamp });
            emissions.push(Step::event(Event::Call(call.clone()), timestamp));
            self.batch.push(call);
        }
        if !rows.is_empty() {
            steps.push(Step::Save(self.in_order(rows)));
            steps.extend(emissions);
        }
    }

    /// The next rows to save. Text has the time at which it began, and a late report that of its block; but who sorts by time
    /// must find the same order, so none is earlier than the row before it.
    fn in_order(&mut self, mut rows: Vec<Row>) -> Vec<Row> {
        for row in &mut rows {
            self.saved = self.saved.max(row.timestamp);
            row.timestamp = self.saved;
        }
        rows
    }

    /// Does the same, and saves what could not be read in an answer that has calls.
    fn flush_all(&mut self, now: f64, steps: &mut Vec<Step>) {
        self.flush(now, steps);
        if !self.late.is_empty() {
            let late = std::mem::take(&mut self.late);
            let rows = late.iter().map(|unread| unread.row(&self.dialect)).collect();
            steps.push(Step::Save(self.in_order(rows)));
        }
    }

    /// Adds the open run to the output that could not be read before it, if there is any.
    fn pause_unread(&mut self) {
        if let Some(unread) = self.unread.last_mut() {
            unread.after.extend(self.run.take());
        }
    }

    /// Where the open run was cut. Under [`Errors::Respond`] it is stripped as in cogency 3.3.0.
    fn edges(&mut self, kind: RunKind) -> Edges {
        if self.errors == Errors::Respond || kind == RunKind::Think {
            return Edges::default();
        }
        let end = self.is_cut && self.calls.is_empty(); // before a call nothing was cut
        Edges { start: std::mem::take(&mut self.goes_on), end }
    }

    /// Adds a run to `rows`, where these are given, and to `emissions` unless it was emitted as it arrived.
    fn say(
        &self,
        run: UnsavedRun,
        edges: Edges,
        now: f64,
        rows: Option<&mut Vec<Row>>,
        emissions: &mut Vec<Step>,
    ) {
        let UnsavedRun { kind, content, started, is_shown } = run;
        if content.is_blank() {
            return;
        }
        let content = match self.stream {
            Stream::Token => content,
            Stream::Event => {
                let content = edges.stripped(content);
                if !is_shown {
                    emissions.push(Step::event(kind.event(content.clone()), now));
                }
                content
            }
        };
        if let Some(rows) = rows {
            rows.push(Row { kind: kind.row(), content, timestamp: started });
        }
    }
}

#[cfg(test)]
mod tests;
