//! What a batch promises, under a clock that only moves when everything waits.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::time::Duration;

use cogency_rs::execution::{Admission, Due, Moment, Schedule, Ticket};
use proptest::prelude::*;

/// How a call of a simulated batch ended, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Returned(u64),
    TimedOut(u64),
    BatchTimedOut(u64),
}

/// A batch whose calls sleep, and take `stopping` seconds to stop once their time is up.
#[derive(Clone, Debug, Default)]
struct Sleepers {
    seconds: Vec<u64>,
    sequential: BTreeSet<usize>,
    concurrency: Option<usize>,
    call_timeout: Option<u64>,
    batch_timeout: Option<u64>,
    stopping: u64,
}

/// What a batch did.
#[derive(Debug, Default)]
struct Journal {
    /// The calls in the order in which they began, and how many ran then, with the call itself.
    began: Vec<(usize, BTreeSet<usize>)>,
    ends: BTreeMap<usize, End>,
}

impl Journal {
    fn order(&self) -> Vec<usize> {
        self.began.iter().map(|(index, _)| *index).collect()
    }

    fn most_at_once(&self) -> usize {
        self.began.iter().map(|(_, running)| running.len()).max().unwrap_or(0)
    }

    fn ends(&self) -> Vec<End> {
        self.ends.values().copied().collect()
    }

    /// When the last call was over.
    fn took(&self) -> u64 {
        let when = |end: &End| match *end {
            End::Returned(when) | End::TimedOut(when) | End::BatchTimedOut(when) => when,
        };
        self.ends.values().map(when).max().unwrap_or(0)
    }
}

struct Simulation<'a> {
    sleepers: &'a Sleepers,
    schedule: Schedule,
    now: Moment,
    waiting: BTreeSet<Ticket>,
    /// The running calls: when each ends by itself or has stopped, and as what.
    running: BTreeMap<usize, (Moment, Option<End>)>,
    journal: Journal,
}

const fn seconds(seconds: u64) -> Moment {
    Duration::from_secs(seconds)
}

impl Sleepers {
    fn new(seconds: &[u64]) -> Self {
        Self { seconds: seconds.to_vec(), ..Self::default() }
    }

    /// Runs the batch; all its calls ask at once, in this order.
    fn run(&self, order: impl IntoIterator<Item = usize>) -> Journal {
        let mut schedule = Schedule::new(
            self.seconds.len(),
            self.concurrency.and_then(NonZeroUsize::new),
            self.batch_timeout.map(seconds),
        );
        self.sequential.iter().for_each(|&index| schedule.set_sequential(index));
        let mut simulation = Simulation {
            sleepers: self,
            schedule,
            now: Moment::ZERO,
            waiting: BTreeSet::new(),
            running: BTreeMap::new(),
            journal: Journal::default(),
        };
        for index in order {
            match simulation.schedule.ask(index) {
                Admission::Now => simulation.begin(index),
                Admission::Later(ticket) => assert!(simulation.waiting.insert(ticket)),
                Admission::Closed => panic!("it is open"),
            }
        }
        while simulation.step() {}
        assert!(simulation.waiting.is_empty(), "{:?} wait for ever", simulation.waiting);
        simulation.journal
    }
}

impl Simulation<'_> {
    fn begin(&mut self, index: usize) {
        if let Some(limit) = self.sleepers.call_timeout {
            self.schedule.start_clock(index, self.now, seconds(limit));
        }
        let end = self.now + seconds(self.sleepers.seconds[index]);
        assert!(self.running.insert(index, (end, None)).is_none(), "{index} runs already");
        self.journal.began.push((index, self.running.keys().copied().collect()));
    }

    /// Goes on to the next thing that happens; returns whether there was one.
    fn step(&mut self) -> bool {
        let next = self.running.iter().map(|(index, (end, _))| (*end, *index)).min();
        let deadline = self.schedule.next_deadline();
        match next {
            Some((end, index)) if deadline.is_none_or(|deadline| end <= deadline) => {
                self.now = end;
                self.end(index);
            }
            _ => match deadline {
                Some(deadline) => {
                    self.now = deadline;
                    let due = self.schedule.due(deadline);
                    self.stop(&due);
                }
                None => return false,
            },
        }
        true
    }

    fn end(&mut self, index: usize) {
        let (_, late) = self.running.remove(&index).expect("it runs");
        let now = self.now.as_secs();
        let end = match late {
            None => End::Returned(now),
            Some(End::BatchTimedOut(_)) => End::BatchTimedOut(now),
            Some(_) => End::TimedOut(now),
        };
        self.journal.ends.insert(index, end);
        let admitted = [self.schedule.leave(index), self.schedule.over(index)].concat();
        for ticket in admitted {
            assert!(self.waiting.remove(&ticket), "{ticket:?} did not wait");
            self.begin(ticket.0);
        }
    }

    fn stop(&mut self, due: &Due) {
        let (late, as_what) = match due {
            Due::Calls(calls) => (calls, End::TimedOut(0)),
            Due::Batch(calls) => {
                self.waiting.clear();
                (calls, End::BatchTimedOut(0))
            }
        };
        for &index in late {
            match self.running.get_mut(&index) {
                Some(running) => {
                    *running = (self.now + seconds(self.sleepers.stopping), Some(as_what));
                }
                None => {
                    self.journal.ends.insert(index, End::BatchTimedOut(self.now.as_secs()));
                    assert_eq!(self.schedule.over(index), [], "the batch is closed");
                }
            }
        }
    }
}

#[test]
fn a_batch_takes_as_long_as_its_slowest_call() {
    let journal = Sleepers::new(&[3, 2, 1, 0]).run(0..4);
    assert_eq!(journal.ends(), [3, 2, 1, 0].map(End::Returned));
    assert_eq!(journal.took(), 3);
}

#[test]
fn an_empty_batch_is_over_at_once() {
    assert_eq!(Sleepers::new(&[]).run([]).took(), 0);
}

#[test]
fn no_more_calls_run_at_once_than_may_and_they_begin_in_call_order() {
    let sleepers = Sleepers { concurrency: Some(8), ..Sleepers::new(&[1; 100]) };
    let journal = sleepers.run(0..100);
    assert_eq!(journal.most_at_once(), 8);
    assert_eq!(journal.order(), (0..100).collect::<Vec<_>>());
    assert_eq!(journal.took(), 13);
}

#[test]
fn a_timeout_fails_its_call_alone_which_is_waited_for_until_it_has_stopped() {
    let sleepers = Sleepers { call_timeout: Some(5), stopping: 2, ..Sleepers::new(&[1, 60, 4]) };
    let journal = sleepers.run(0..3);
    assert_eq!(journal.ends(), [End::Returned(1), End::TimedOut(7), End::Returned(4)]);
}

#[test]
fn the_time_a_call_may_take_begins_when_it_runs() {
    let sleepers =
        Sleepers { call_timeout: Some(5), concurrency: Some(1), ..Sleepers::new(&[4, 4, 4]) };
    assert_eq!(sleepers.run(0..3).ends(), [4, 8, 12].map(End::Returned));
}

#[test]
fn a_batch_timeout_stops_what_runs_and_what_waits_to_run() {
    let sleepers = Sleepers {
        batch_timeout: Some(5),
        concurrency: Some(2),
        ..Sleepers::new(&[1, 60, 60, 60])
    };
    let journal = sleepers.run(0..4);
    let late = End::BatchTimedOut(5);
    assert_eq!(journal.ends(), [End::Returned(1), late, late, late]);
    assert_eq!(journal.order(), [0, 1, 2]);
}

#[test]
fn a_sequential_call_parts_a_batch() {
    let sleepers = Sleepers { sequential: [2].into(), ..Sleepers::new(&[3, 1, 2, 1, 5]) };
    let journal = sleepers.run(0..5);
    assert_eq!(journal.ends(), [3, 1, 5, 6, 10].map(End::Returned));
}

proptest! {
    /// Whatever the calls do and whenever they ask: each is over once, no more run at once than may, and a sequential
    /// one runs alone, after all before it and before all after it.
    #[test]
    fn every_batch_keeps_what_it_promises(
        calls in prop::collection::vec((0u64..5, prop::bool::weighted(0.2)), 0..12),
        concurrency in prop::option::of(1usize..4),
        call_timeout in prop::option::of(1u64..5),
        batch_timeout in prop::option::of(1u64..20),
        shuffle in any::<prop::sample::Index>(),
    ) {
        let sequential: BTreeSet<_> = (0..calls.len()).filter(|&index| calls[index].1).collect();
        let sleepers = Sleepers {
            seconds: calls.iter().map(|call| call.0).collect(),
            sequential: sequential.clone(),
            concurrency,
            call_timeout,
            batch_timeout,
            stopping: 1,
        };
        let turned = if calls.is_empty() { 0 } else { shuffle.index(calls.len()) };
        let journal = sleepers.run((turned..calls.len()).chain(0..turned));
        prop_assert_eq!(journal.ends.len(), calls.len());
        prop_assert!(journal.most_at_once() <= concurrency.unwrap_or(usize::MAX));
        let mut seen = BTreeSet::new();
        for (index, running) in &journal.began {
            prop_assert!(seen.insert(*index), "it began once");
            if sequential.contains(index) {
                prop_assert_eq!(running, &BTreeSet::from([*index]));
            }
            let barriers_around = |other: &usize| {
                let (low, high) = (index.min(other), index.max(other));
                sequential.range(low..=high).next().is_some() && index != other
            };
            prop_assert!(!running.iter().any(barriers_around), "a barrier is between them");
        }
    }
}
