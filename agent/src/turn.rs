//! One turn: read, run, fold.
//!
//! Invariants: the rows of calls are in the log before a call with an effect runs, and their results before they are
//! emitted; a turn that is dropped stops its calls.

use std::fmt::Display;
use std::future::poll_fn;
use std::mem::take;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use futures_core::Stream;

use super::fold::fold;
use super::log::{Log, LogRow};
use super::output::ModelOutput;
use super::outside::Outside;
use crate::execution::{Batch, BatchOptions, Toolbox};
use cogency_rs::context::{FoldOptions, Message, Rules};
use cogency_rs::protocol::{Call, CallStart, Ending, Event, Grammar, Options, Parser};
use cogency_rs::turn::{Breaker, Emission, Errors, Step, Turn, TurnOutcome};

/// How turns are read, run and folded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TurnSetup {
    /// The dialects that are read. The first is that of the messages.
    pub grammar: Arc<Grammar>,
    /// How text is read. By default calls of tools without an effect begin while the model still writes.
    pub reading: Options,
    /// The tools that calls may mean.
    pub tools: Toolbox,
    /// How batches are carried out.
    pub batch: BatchOptions,
    /// How the log becomes messages.
    pub folding: FoldOptions,
    /// What is outside of the program: the clock.
    pub outside: Outside,
}

impl TurnSetup {
    /// A setup for a model that writes this dialect, and has these tools.
    #[must_use]
    pub fn new(grammar: Arc<Grammar>, tools: Toolbox) -> Self {
        let dialect = Arc::clone(&grammar.dialects[0]);
        Self {
            grammar,
            reading: Options { start: CallStart::Early, ..Options::default() },
            tools,
            batch: BatchOptions::new(),
            folding: FoldOptions { dialect, rules: Rules::Own, ..FoldOptions::default() },
            outside: Outside::default(),
        }
    }
}

/// How a turn went.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnReport {
    /// How it came out; [`decide`](cogency_rs::turn::decide) says what follows.
    pub outcome: TurnOutcome,
    /// Why the model's output broke off, in the words of its error: a service may have refused the request.
    pub broken: Option<String>,
    /// The whole conversation, as the model is sent it next.
    pub messages: Vec<Message>,
}

/// Takes a turn: reads the model's `output`, saves it in the log's `conversation`, runs its calls, and folds the log into the
/// messages that the model is sent next. `emit` gets what a user may see, in order, once it is saved.
///
/// The turn ends with the output, after a batch of calls, or when the model says that it is done. An error of the stream ends
/// the output: what arrived is saved, with a report that it was cut.
///
/// If the future is dropped, the calls are stopped. The log has their rows and no results; [`BatchOptions::on_abandoned`] is
/// told more.
///
/// # Errors
/// The log's own. Nothing after that is saved, and calls that run are stopped.
///
/// # Panics
/// As [`execute`](crate::execution::execute).
pub async fn take_turn<S, E, L>(
    output: S,
    setup: &TurnSetup,
    log: &L,
    conversation: &str,
    breaker: &mut Breaker,
    mut emit: impl FnMut(Emission),
) -> Result<TurnReport, L::Error>
where
    S: Stream<Item = Result<ModelOutput, E>>,
    E: Display,
    L: Log,
{
    let mut output = pin!(output);
    let dialect = Arc::clone(&setup.grammar.dialects[0]);
    let reading = setup.reading.clone();
    let mut parser = Parser::new(Arc::clone(&setup.grammar), reading.clone());
    let mut carrier = Carrier {
        turn: Turn::new(reading.stream, Errors::Event, dialect),
        batch: None,
        setup,
        log,
        conversation,
        breaker,
    };
    let mut events = Vec::new();
    let mut ending = Ending::Unknown;
    while !(parser.is_done() || carrier.turn.has_ended()) {
        match carrier.next(output.as_mut()).await {
            Some(Ok(ModelOutput::Text(text))) => parser.feed(&text, &mut events),
            Some(Ok(ModelOutput::Thought(text))) => {
                parser.think_apart(&mut events);
                events.push(Event::Think(text.into()));
            }
            Some(Ok(ModelOutput::Ended(how))) => {
                ending = how;
                break;
            }
            Some(Err(error)) => {
                ending = Ending::Broken(error.to_string());
                break;
            }
            None => break,
        }
        carrier.take(take(&mut events), &mut emit).await?;
    }
    if !carrier.turn.has_ended() {
        parser.finish(&ending, &mut events);
        carrier.take(events, &mut emit).await?;
    }
    let mut steps = Vec::new();
    carrier.turn.finish(&ending, setup.outside.now(), &mut steps);
    carrier.carry_out(steps, &mut emit).await?;
    let outcome = carrier.turn.outcome();
    drop(carrier);
    let rows = log.rows(conversation).await?;
    let broken = match ending {
        Ending::Broken(why) => Some(why),
        _ => None,
    };
    Ok(TurnReport { outcome, broken, messages: fold(&rows, setup.folding.clone()) })
}

/// Carries out the steps of a turn.
struct Carrier<'a, L> {
    turn: Turn,
    /// The batch that the model writes, from its first call that began early on.
    batch: Option<Batch>,
    setup: &'a TurnSetup,
    log: &'a L,
    conversation: &'a str,
    breaker: &'a mut Breaker,
}

impl<L: Log> Carrier<'_, L> {
    /// The next of the output. Meanwhile the calls that began early go on.
    async fn next<S: Stream>(&mut self, mut output: Pin<&mut S>) -> Option<S::Item> {
        poll_fn(|context| {
            if let Some(batch) = &mut self.batch {
                // It is polled for what it does, and goes on with the next poll: whether it is over is of no interest here.
                let _: Poll<()> = pin!(batch.drive()).poll(context);
            }
            output.as_mut().poll_next(context)
        })
        .await
    }

    async fn take(
        &mut self,
        events: Vec<Event>,
        emit: &mut impl FnMut(Emission),
    ) -> Result<(), L::Error> {
        let mut steps = Vec::new();
        for event in events {
            // What follows a batch is taken when it has its results.
            let is_last = event == Event::Execute;
            self.turn.event(event, self.setup.outside.now(), &mut steps);
            if is_last {
                self.carry_out(take(&mut steps), emit).await?;
            }
            if self.turn.has_ended() {
                break;
            }
        }
        self.carry_out(steps, emit).await
    }

    async fn carry_out(
        &mut self,
        steps: Vec<Step>,
        emit: &mut impl FnMut(Emission),
    ) -> Result<(), L::Error> {
        for step in steps {
            match step {
                Step::Run(calls) => {
                    for step in self.run(calls).await {
                        self.save_or_emit(step, emit).await?;
                    }
                }
                Step::Begin(place, call) => {
                    let batch = self.batch.get_or_insert_with(|| new_batch(self.setup));
                    // A call after one that did not begin early may have to see what that one does.
                    if place == batch.len() {
                        batch.begin_early(call);
                    }
                }
                Step::Withdraw(place) => {
                    if let Some(batch) = &mut self.batch {
                        batch.withdraw(place).await;
                    }
                }
                other => self.save_or_emit(other, emit).await?,
            }
        }
        Ok(())
    }

    async fn save_or_emit(
        &mut self,
        step: Step,
        emit: &mut impl FnMut(Emission),
    ) -> Result<(), L::Error> {
        match step {
            Step::Save(rows) => {
                let rows = rows.into_iter().map(LogRow::from).collect();
                self.log.append(self.conversation, rows).await?;
            }
            Step::Emit(emission, _) => emit(emission),
            Step::Begin(..) | Step::Withdraw(_) | Step::Run(_) => {
                unreachable!("results are only saved and emitted")
            }
        }
        Ok(())
    }

    /// Runs the calls of a batch; the steps are those of its results.
    async fn run(&mut self, calls: Vec<Call>) -> Vec<Step> {
        let mut batch = self.batch.take().unwrap_or_else(|| new_batch(self.setup));
        let begun = batch.len();
        batch.complete(calls.into_iter().skip(begun));
        let executions = batch.join().await;
        let outcomes = executions.into_iter().map(|execution| execution.outcome).collect();
        let mut steps = Vec::new();
        self.turn.results(outcomes, self.breaker, &mut steps);
        steps
    }
}

fn new_batch(setup: &TurnSetup) -> Batch {
    Batch::new(setup.tools.clone(), setup.batch.clone())
}
