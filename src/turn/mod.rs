//! Events to steps: what to emit, what to save, what to run.
//!
//! [`Turn`] is the state machine behind the accumulator. It is handed the parser's events and, after a batch, the
//! outcomes of its calls; whoever holds it carries out the [`Step`]s in order. It reads no clock: the time comes
//! with the input.
//!
//! Invariants: text that stands before a call is saved and emitted before it; every batch that is handed out as
//! [`Step::Run`] takes exactly one results row; what the model wrote as `<results>` is dropped.

mod breaker;
mod step;

pub use breaker::Breaker;
pub use step::{Emission, Row, RowKind, Step, Tally};

use crate::protocol::results::{Outcome, ResultItem, results_array};
use crate::protocol::{self, Call, Event, Stream, Text};

/// One turn of the model.
#[derive(Debug)]
pub struct Turn {
    stream: Stream,
    /// Text of one kind that is not saved yet.
    run: Option<Run>,
    /// Calls that are not saved yet, and when each came.
    calls: Vec<(Call, f64)>,
    /// Calls that are saved and have no results yet.
    batch: Vec<Call>,
    /// When the batch was last added to, or closed by its execute event; its results carry this time.
    executed: f64,
    ended: bool,
}

#[derive(Debug)]
struct Run {
    kind: RunKind,
    content: Text,
    started: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunKind {
    Think,
    Respond,
}

impl RunKind {
    fn row(self) -> RowKind {
        match self {
            Self::Think => RowKind::Think,
            Self::Respond => RowKind::Respond,
        }
    }

    fn emission(self, content: Text) -> Emission {
        match self {
            Self::Think => Emission::Think(content),
            Self::Respond => Emission::Respond(content),
        }
    }
}

impl Turn {
    /// A turn at its start. In [`Stream::Token`] mode text is emitted as it comes and saved once, as it was;
    /// in [`Stream::Event`] mode it is joined, stripped, saved and then emitted.
    #[must_use]
    pub fn new(stream: Stream) -> Self {
        Self {
            stream,
            run: None,
            calls: Vec::new(),
            batch: Vec::new(),
            executed: 0.0,
            ended: false,
        }
    }

    /// Whether the model said it is done, or the breaker opened. Later events are not wanted.
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
            Event::Result(_) => self.flush(now, steps),
            Event::Call(call) => self.calls.push((call, now)),
            Event::Execute => {
                self.flush(now, steps);
                self.executed = now;
                steps.push(Step::Emit(Emission::Execute, now));
                if !self.batch.is_empty() {
                    steps.push(Step::Run(self.batch.clone()));
                }
            }
            Event::End => {
                self.flush(now, steps);
                self.end(now, steps);
            }
        }
    }

    /// Takes a chunk that is one event just as it stands ([`Parser::pass`]): whoever has it emits it, behind `steps`.
    ///
    /// [`Parser::pass`]: crate::protocol::Parser::pass
    pub fn pass(&mut self, run: protocol::Run, chunk: &[u8], now: f64, steps: &mut Vec<Step>) {
        match run {
            protocol::Run::Think => self.keep(RunKind::Think, chunk, now, steps),
            protocol::Run::Respond => self.keep(RunKind::Respond, chunk, now, steps),
            protocol::Run::Result => self.flush(now, steps),
        }
    }

    /// The model's output is over: saves and emits what is still open.
    pub fn finish(&mut self, now: f64, steps: &mut Vec<Step>) {
        self.flush(now, steps);
    }

    /// Takes the outcomes of the batch, one for each of [`open_calls`](Self::open_calls) and in their order.
    ///
    /// All of them are saved and emitted, whatever the breaker says; if it opens, the turn ends behind them.
    pub fn results(
        &mut self,
        outcomes: Vec<Outcome>,
        breaker: &mut Breaker,
        steps: &mut Vec<Step>,
    ) {
        let mut tally = Tally::default();
        for outcome in &outcomes {
            match outcome {
                Outcome::Success { .. } => {
                    tally.succeeded += 1;
                    breaker.record_success();
                }
                Outcome::Failure { .. } => {
                    tally.failed += 1;
                    breaker.record_failure();
                }
            }
        }
        let items: Vec<_> = std::mem::take(&mut self.batch)
            .into_iter()
            .zip(outcomes)
            .map(|(call, outcome)| ResultItem { tool: call.name_json().to_owned(), outcome })
            .collect();
        let content = Text::from(results_array(&items));
        let timestamp = self.executed;
        steps.push(Step::Save(vec![Row {
            kind: RowKind::Result,
            content: content.clone(),
            timestamp,
        }]));
        steps.push(Step::Emit(Emission::Results(content, tally), timestamp));
        if breaker.is_open() {
            steps.push(Step::Emit(Emission::BreakerOpened, timestamp));
            self.end(timestamp, steps);
        }
    }

    fn text(&mut self, kind: RunKind, text: Text, now: f64, steps: &mut Vec<Step>) {
        self.keep(kind, text.as_bytes(), now, steps);
        if self.stream == Stream::Token {
            steps.push(Step::Emit(kind.emission(text), now));
        }
    }

    /// Adds text to the open run, or begins one.
    fn keep(&mut self, kind: RunKind, text: &[u8], now: f64, steps: &mut Vec<Step>) {
        let goes_on =
            self.run.as_ref().is_some_and(|run| run.kind == kind) && self.calls.is_empty();
        if !goes_on {
            self.flush(now, steps);
        }
        let run =
            self.run.get_or_insert_with(|| Run { kind, content: Text::default(), started: now });
        run.content.push(text);
    }

    fn end(&mut self, now: f64, steps: &mut Vec<Step>) {
        self.ended = true;
        steps.push(Step::Emit(Emission::End, now));
    }

    /// Saves what is not saved yet, the open run and the calls behind it, in one step; then emits it.
    fn flush(&mut self, now: f64, steps: &mut Vec<Step>) {
        let (mut rows, mut emissions) = (Vec::new(), Vec::new());
        if let Some(Run { kind, content, started }) = self.run.take()
            && !content.is_blank()
        {
            let content = match self.stream {
                Stream::Token => content,
                Stream::Event => {
                    let content = content.stripped();
                    emissions.push(Step::Emit(kind.emission(content.clone()), now));
                    content
                }
            };
            rows.push(Row { kind: kind.row(), content, timestamp: started });
        }
        for (call, timestamp) in std::mem::take(&mut self.calls) {
            self.executed = now; // unless they run, their results are as old as they are
            let content = Text::from(call.json());
            rows.push(Row { kind: RowKind::Call, content: content.clone(), timestamp });
            emissions.push(Step::Emit(Emission::Call(content), timestamp));
            self.batch.push(call);
        }
        if !rows.is_empty() {
            steps.push(Step::Save(rows));
            steps.extend(emissions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str) -> Call {
        Call::new(&format!("\"{name}\""), "{}")
    }

    fn success() -> Outcome {
        Outcome::success("\"ok\"".into(), None)
    }

    fn failure() -> Outcome {
        Outcome::Failure { message: "\"no\"".into() }
    }

    /// Steps in short: what is saved in brackets, what is emitted as it is.
    fn short(steps: &[Step]) -> Vec<String> {
        let short = |step: &Step| match step {
            Step::Save(rows) => {
                let rows = rows.iter().map(|row| format!("{}:{}", row.kind.name(), row.content));
                format!("[{}]", rows.collect::<Vec<_>>().join(" "))
            }
            Step::Emit(Emission::Think(text), _) => format!("think:{text}"),
            Step::Emit(Emission::Respond(text), _) => format!("respond:{text}"),
            Step::Emit(Emission::Call(_), _) => "call".into(),
            Step::Emit(Emission::Execute, _) => "execute".into(),
            Step::Emit(Emission::Results(_, tally), _) => {
                format!("results {}+{}", tally.succeeded, tally.failed)
            }
            Step::Emit(Emission::BreakerOpened, _) => "breaker".into(),
            Step::Emit(Emission::End, _) => "end".into(),
            Step::Run(calls) => format!("run {}", calls.len()),
        };
        steps.iter().map(short).collect()
    }

    fn run(stream: Stream, events: Vec<Event>) -> Vec<String> {
        let (mut turn, mut steps) = (Turn::new(stream), Vec::new());
        for event in events {
            turn.event(event, 1.0, &mut steps);
        }
        turn.finish(2.0, &mut steps);
        short(&steps)
    }

    #[test]
    fn in_event_mode_text_is_joined_stripped_saved_and_then_emitted() {
        let events =
            vec![Event::Think(" a".into()), Event::Think("b ".into()), Event::Respond(" ".into())];
        assert_eq!(run(Stream::Event, events), ["[think:ab]", "think:ab"]);
    }

    #[test]
    fn in_token_mode_text_is_emitted_at_once_and_saved_as_it_was() {
        let events = vec![Event::Respond(" a".into()), Event::Respond("b ".into()), Event::End];
        assert_eq!(
            run(Stream::Token, events),
            ["respond: a", "respond:b ", "[respond: ab ]", "end"]
        );
    }

    #[test]
    fn text_comes_before_the_calls_it_precedes_and_is_saved_together_with_them() {
        let events = vec![
            Event::Think("hm".into()),
            Event::Respond("so".into()),
            Event::Call(call("a")),
            Event::Call(call("b")),
            Event::Execute,
        ];
        let steps = run(Stream::Event, events);
        assert_eq!(steps[..2], ["[think:hm]", "think:hm"]);
        assert!(
            steps[2].starts_with("[respond:so call:") && steps[2].matches("call:").count() == 2
        );
        assert_eq!(steps[3..], ["respond:so", "call", "call", "execute", "run 2"]);
    }

    #[test]
    fn text_behind_a_call_is_a_run_of_its_own() {
        let events =
            vec![Event::Respond("a".into()), Event::Call(call("t")), Event::Respond("b".into())];
        let steps = run(Stream::Event, events);
        assert!(steps[0].starts_with("[respond:a call:"));
        assert_eq!(steps[1..], ["respond:a", "call", "[respond:b]", "respond:b"]);
    }

    #[test]
    fn an_empty_batch_runs_nothing() {
        assert_eq!(run(Stream::Event, vec![Event::Execute]), ["execute"]);
    }

    #[test]
    fn results_that_the_model_wrote_are_neither_saved_nor_emitted() {
        let events = vec![
            Event::Respond("a".into()),
            Event::Result("[forged]".into()),
            Event::Respond("b".into()),
        ];
        assert_eq!(
            run(Stream::Event, events),
            ["[respond:a]", "respond:a", "[respond:b]", "respond:b"]
        );
    }

    #[test]
    fn all_results_are_saved_and_emitted_before_the_breaker_ends_the_turn() {
        let (mut turn, mut steps) = (Turn::new(Stream::Event), Vec::new());
        let mut breaker = Breaker::new(2.0);
        for name in ["a", "b", "c"] {
            turn.event(Event::Call(call(name)), 1.0, &mut steps);
        }
        turn.event(Event::Execute, 1.0, &mut steps);
        steps.clear();
        turn.results(vec![success(), failure(), failure()], &mut breaker, &mut steps);
        let steps = short(&steps);
        assert_eq!(steps[1..], ["results 1+2", "breaker", "end"]);
        assert_eq!(steps[0].matches("\"status\"").count(), 3);
        assert!(turn.has_ended() && turn.open_calls().is_empty());
    }
}
