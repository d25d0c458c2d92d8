//! Which calls of a batch may run now, and which have run out of time.
//!
//! A plain state machine: it is told what happens and when, and answers what may begin and what must stop. The caller
//! starts, stops and waits.
//!
//! Invariants: calls begin in call order; no more run at once than the limit allows; a sequential call begins when all calls
//! before it are over, and runs alone; a schedule that was closed lets nothing begin.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::time::Duration;

use thiserror::Error;

/// A moment: the time since an origin that the caller chooses and keeps.
pub type Moment = Duration;

/// What may begin, in which order, and for how long.
#[derive(Debug)]
pub struct Schedule {
    calls: Vec<ScheduledCall>,
    /// How many calls may run at once.
    concurrency: Option<NonZeroUsize>,
    running: usize,
    /// All calls before this one are over.
    first_open: usize,
    /// The sequential calls that are not over.
    barriers: BTreeSet<usize>,
    /// The calls that asked and may not run yet.
    waiting: BTreeSet<Ticket>,
    asked: u64,
    /// When the time of each call whose clock runs is up.
    deadlines: BTreeSet<(Moment, usize)>,
    /// When the time of the batch is up.
    deadline: Option<Moment>,
    closed: bool,
}

/// A call that waits until it may run: its index, and a number that no other has.
pub type Ticket = (usize, u64);

/// Whether a call may run. These are all within a major version: a program must follow each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may run now.
    Now,
    /// It waits; its ticket is handed out when it may run.
    Later(Ticket),
    /// It may not run at all: the schedule is closed.
    Closed,
}

/// What a schedule is told of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It asks to run, or something about it is set or timed.
    Open,
    /// It has stopped running.
    Left,
}

/// Something that cannot be true was told to a schedule, whose counts would be wrong from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Misuse {
    /// There is no such call.
    #[error("there is no call {index}: the schedule has {count}")]
    Unknown {
        /// The call's index.
        index: usize,
        /// How many calls there are.
        count: usize,
    },
    /// It does not run, so it cannot stop running.
    #[error("the call {0} does not run, so it cannot leave: it was not admitted, or has left")]
    NotRunning(usize),
    /// It is over, and was told not to ask again.
    #[error("the call {0} is over, so nothing more can happen to it")]
    Over(usize),
    /// Calls that are forgotten are not over.
    #[error("the call {0} is not over, so it cannot be forgotten")]
    NotOver(usize),
}

/// Whose time is up. These are all within a major version: a program must follow each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    /// The time of these calls.
    Calls(Vec<usize>),
    /// The time of the whole batch, and so of these calls, which are not over.
    Batch(Vec<usize>),
}

#[derive(Clone, Copy, Debug, Default)]
struct ScheduledCall {
    /// How many of its attempts run.
    running: usize,
    over: bool,
    clock: Clock,
}

/// The time that a call has left.
#[derive(Clone, Copy, Debug, Default)]
enum Clock {
    /// It has no limit, or the limit was reached.
    #[default]
    Off,
    /// The clock runs, and the time is up at this moment.
    Runs(Moment),
    /// The clock is held; so much is left when it goes on.
    Held(Duration),
}

impl Schedule {
    /// A schedule for `count` calls, none of which has begun.
    #[must_use]
    pub fn new(count: usize, concurrency: Option<NonZeroUsize>, deadline: Option<Moment>) -> Self {
        Self {
            calls: vec![ScheduledCall::default(); count],
            concurrency,
            running: 0,
            first_open: 0,
            barriers: BTreeSet::new(),
            waiting: BTreeSet::new(),
            asked: 0,
            deadlines: BTreeSet::new(),
            deadline,
            closed: false,
        }
    }

    /// How many calls there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.calls.len()
    }

    /// Adds calls at the end.
    pub fn add(&mut self, count: usize) {
        self.calls.resize(self.calls.len() + count, ScheduledCall::default());
    }

    /// Whether something can be told of a call. The methods that are given an index panic where it cannot: a program that does not
    /// know its calls asks here first.
    ///
    /// # Errors
    /// It cannot, and why.
    pub fn check(&self, index: usize, told: Told) -> Result<(), Misuse> {
        let count = self.calls.len();
        let call = self.calls.get(index).ok_or(Misuse::Unknown { index, count })?;
        match told {
            Told::Open if call.over && !self.closed => Err(Misuse::Over(index)),
            Told::Left if call.running == 0 => Err(Misuse::NotRunning(index)),
            Told::Open | Told::Left => Ok(()),
        }
    }

    /// Whether the calls from this index on can be forgotten.
    ///
    /// # Errors
    /// One of them is not over.
    pub fn check_truncate(&self, count: usize) -> Result<(), Misuse> {
        let mut rest = self.calls.iter().enumerate().skip(count);
        let open = rest.find(|(_, call)| !call.over || call.running > 0);
        open.map_or(Ok(()), |(index, _)| Err(Misuse::NotOver(index)))
    }

    /// Forgets the calls from this index on, all of which are over.
    ///
    /// # Panics
    /// One is not; see [`check_truncate`](Self::check_truncate).
    pub fn truncate(&mut self, count: usize) {
        demand(self.check_truncate(count));
        self.calls.truncate(count);
        self.first_open = self.first_open.min(count);
    }

    /// Sets when the time of the batch is up.
    pub fn set_deadline(&mut self, deadline: Moment) {
        self.deadline = Some(deadline);
    }

    /// Makes a call sequential: it begins when all calls before it are over, runs alone, and those after it wait for it.
    /// A call after it that runs already ends first.
    ///
    /// # Panics
    /// There is no such call.
    pub fn set_sequential(&mut self, index: usize) {
        self.demand_known(index);
        if !self.calls[index].over {
            self.barriers.insert(index);
        }
    }

    /// A call asks to run. If it may, the caller must report its end with [`leave`](Self::leave).
    ///
    /// # Complexity
    /// O(log n) in the number of calls that wait; O(1) if none does.
    ///
    /// # Panics
    /// There is no such call, or it is over; see [`check`](Self::check).
    pub fn ask(&mut self, index: usize) -> Admission {
        demand(self.check(index, Told::Open));
        if self.closed {
            return Admission::Closed;
        }
        // What keeps the first that waits from running keeps all after it too.
        let is_first = self.waiting.first().is_none_or(|first| index <= first.0);
        if is_first && self.may_run(index) {
            self.begin(index);
            return Admission::Now;
        }
        let ticket = (index, self.asked);
        self.asked += 1;
        self.waiting.insert(ticket);
        Admission::Later(ticket)
    }

    /// A call that waits gives up.
    pub fn withdraw(&mut self, ticket: Ticket) {
        self.waiting.remove(&ticket);
    }

    /// A call has stopped running; it may ask again. Returns the calls that may run now.
    ///
    /// # Panics
    /// There is no such call, or it does not run; see [`check`](Self::check).
    pub fn leave(&mut self, index: usize) -> Vec<Ticket> {
        demand(self.check(index, Told::Left));
        self.calls[index].running -= 1;
        self.running -= 1;
        self.admit()
    }

    /// A call is over, whether it ran or not, and will not ask again. Returns the calls that may run now.
    ///
    /// # Panics
    /// There is no such call.
    pub fn over(&mut self, index: usize) -> Vec<Ticket> {
        self.demand_known(index);
        self.set_clock(index, Clock::Off);
        self.calls[index].over = true;
        self.barriers.remove(&index);
        while self.calls.get(self.first_open).is_some_and(|call| call.over) {
            self.first_open += 1;
        }
        self.admit()
    }

    /// Lets no further call run.
    pub fn close(&mut self) {
        self.closed = true;
        self.waiting.clear();
    }

    /// Gives a call this much time from now on.
    ///
    /// # Panics
    /// There is no such call.
    pub fn start_clock(&mut self, index: usize, now: Moment, limit: Duration) {
        self.demand_known(index);
        self.set_clock(index, Clock::Runs(now.saturating_add(limit)));
    }

    /// Stops a call's clock while it waits for something that its limit does not count, such as an approval.
    ///
    /// # Panics
    /// There is no such call.
    pub fn hold_clock(&mut self, index: usize, now: Moment) {
        self.demand_known(index);
        if let Clock::Runs(deadline) = self.calls[index].clock {
            self.set_clock(index, Clock::Held(deadline.saturating_sub(now)));
        }
    }

    /// Lets a held clock go on.
    ///
    /// # Panics
    /// There is no such call.
    pub fn resume_clock(&mut self, index: usize, now: Moment) {
        self.demand_known(index);
        if let Clock::Held(left) = self.calls[index].clock {
            self.set_clock(index, Clock::Runs(now.saturating_add(left)));
        }
    }

    /// When [`due`](Self::due) must be asked next.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Moment> {
        let first = self.deadlines.first().map(|(deadline, _)| *deadline);
        first.into_iter().chain(self.deadline).min()
    }

    /// The calls whose time is up; each is named once. When the batch's time is up, the schedule is closed.
    pub fn due(&mut self, now: Moment) -> Due {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.deadline = None;
            self.close();
            self.deadlines.clear();
            let open = |index: &usize| !self.calls[*index].over;
            return Due::Batch((self.first_open..self.calls.len()).filter(open).collect());
        }
        let mut due = Vec::new();
        while let Some(&(deadline, index)) = self.deadlines.first()
            && deadline <= now
        {
            self.set_clock(index, Clock::Off);
            due.push(index);
        }
        Due::Calls(due)
    }

    fn demand_known(&self, index: usize) {
        let count = self.calls.len();
        demand((index < count).then_some(()).ok_or(Misuse::Unknown { index, count }));
    }

    fn set_clock(&mut self, index: usize, clock: Clock) {
        if let Clock::Runs(deadline) = self.calls[index].clock {
            self.deadlines.remove(&(deadline, index));
        }
        if let Clock::Runs(deadline) = clock {
            self.deadlines.insert((deadline, index));
        }
        self.calls[index].clock = clock;
    }

    fn may_run(&self, index: usize) -> bool {
        let is_free = self.concurrency.is_none_or(|most| self.running < most.get());
        is_free
            && match self.barriers.first() {
                None => true,
                Some(&barrier) if barrier == index => {
                    self.first_open == index && self.running == self.calls[index].running
                }
                Some(&barrier) => index < barrier,
            }
    }

    fn begin(&mut self, index: usize) {
        self.calls[index].running += 1;
        self.running += 1;
    }

    /// Lets waiting calls begin. If the first one may not, none after it may either.
    fn admit(&mut self) -> Vec<Ticket> {
        let mut admitted = Vec::new();
        while let Some(&ticket) = self.waiting.first()
            && self.may_run(ticket.0)
        {
            self.waiting.pop_first();
            self.begin(ticket.0);
            admitted.push(ticket);
        }
        admitted
    }
}

/// Panics with the words of a misuse: to go on would keep calls waiting for ever.
#[track_caller]
fn demand(checked: Result<(), Misuse>) {
    if let Err(misuse) = checked {
        panic!("{misuse}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Moment {
        Duration::from_secs(seconds)
    }

    fn at_once(most: usize, count: usize) -> Schedule {
        Schedule::new(count, NonZeroUsize::new(most), None)
    }

    /// The calls among `indices` that may run at once; the others wait.
    fn ask(schedule: &mut Schedule, indices: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut asked: Vec<_> = indices.into_iter().collect();
        asked.retain(|&index| schedule.ask(index) == Admission::Now);
        asked
    }

    /// Ends a call that ran; the calls that begin in its place.
    fn end(schedule: &mut Schedule, index: usize) -> Vec<usize> {
        let admitted = [schedule.leave(index), schedule.over(index)].concat();
        admitted.into_iter().map(|(index, _)| index).collect()
    }

    type Misused = fn(&mut Schedule);

    #[test]
    fn what_cannot_be_true_is_refused_and_changes_nothing() {
        let mut schedule = at_once(1, 2);
        assert_eq!(schedule.check(0, Told::Left), Err(Misuse::NotRunning(0)));
        assert_eq!(schedule.check(2, Told::Open), Err(Misuse::Unknown { index: 2, count: 2 }));
        assert_eq!(schedule.check(2, Told::Left), Err(Misuse::Unknown { index: 2, count: 2 }));
        assert_eq!(ask(&mut schedule, 0..2), [0]);
        assert_eq!(schedule.check_truncate(0), Err(Misuse::NotOver(0)));
        assert_eq!(end(&mut schedule, 0), [1]);
        assert_eq!(schedule.check(0, Told::Left), Err(Misuse::NotRunning(0)));
        assert_eq!(schedule.check(0, Told::Open), Err(Misuse::Over(0)));
        assert_eq!(schedule.check(1, Told::Left), Ok(()));
        let misused: [(Misused, &str); 9] = [
            (|it| drop(it.leave(0)), "the call 0 does not run"),
            (|it| _ = it.ask(0), "the call 0 is over"),
            (|it| _ = it.ask(5), "there is no call 5: the schedule has 2"),
            (|it| drop(it.leave(5)), "there is no call 5"),
            (|it| drop(it.over(5)), "there is no call 5"),
            (|it| it.set_sequential(5), "there is no call 5"),
            (|it| it.start_clock(5, seconds(0), seconds(1)), "there is no call 5"),
            (|it| it.hold_clock(5, seconds(0)), "there is no call 5"),
            (|it| it.truncate(1), "the call 1 is not over"),
        ];
        for (misuse, words) in misused {
            let told = std::panic::AssertUnwindSafe(|| misuse(&mut schedule));
            let panic = std::panic::catch_unwind(told).expect_err(words);
            let said = panic.downcast_ref::<String>().expect("it says why");
            assert!(said.contains(words), "{said}");
        }
        assert!(end(&mut schedule, 1).is_empty());
        schedule.add(1);
        assert_eq!(ask(&mut schedule, [2]), [2], "the counts are right");
    }

    #[test]
    fn without_a_limit_all_calls_run_at_once() {
        let mut schedule = Schedule::new(3, None, None);
        assert_eq!(ask(&mut schedule, 0..3), [0, 1, 2]);
        assert!(end(&mut schedule, 1).is_empty());
    }

    #[test]
    fn no_more_calls_run_at_once_than_the_limit_and_they_begin_in_call_order() {
        let mut schedule = at_once(2, 5);
        assert_eq!(ask(&mut schedule, [0, 1, 4, 2, 3]), [0, 1]);
        assert_eq!(end(&mut schedule, 1), [2]);
        assert_eq!(end(&mut schedule, 0), [3]);
        assert_eq!(end(&mut schedule, 3), [4]);
    }

    #[test]
    fn a_call_between_two_attempts_makes_room_for_another() {
        let mut schedule = at_once(1, 2);
        assert_eq!(ask(&mut schedule, 0..2), [0]);
        assert_eq!(schedule.leave(0).len(), 1);
        assert!(matches!(schedule.ask(0), Admission::Later(_)));
        assert_eq!(end(&mut schedule, 1), [0]);
    }

    #[test]
    fn a_call_that_gives_up_is_passed_over() {
        let mut schedule = at_once(1, 3);
        assert_eq!(ask(&mut schedule, [0]), [0]);
        let Admission::Later(ticket) = schedule.ask(1) else { panic!("it must wait") };
        assert!(ask(&mut schedule, [2]).is_empty());
        schedule.withdraw(ticket);
        assert!(schedule.over(1).is_empty());
        assert_eq!(end(&mut schedule, 0), [2]);
    }

    #[test]
    fn a_sequential_call_runs_alone_after_the_calls_before_it_and_before_the_rest() {
        let mut schedule = Schedule::new(5, None, None);
        schedule.set_sequential(2);
        assert_eq!(ask(&mut schedule, [4, 3, 2, 1, 0]), [1, 0]);
        assert!(end(&mut schedule, 0).is_empty());
        assert_eq!(end(&mut schedule, 1), [2]);
        assert_eq!(end(&mut schedule, 2), [3, 4]);
    }

    #[test]
    fn a_call_that_becomes_sequential_waits_for_those_after_it_that_run_already() {
        let mut schedule = Schedule::new(3, None, None);
        assert_eq!(ask(&mut schedule, [1]), [1]);
        schedule.set_sequential(0);
        assert!(ask(&mut schedule, [0, 2]).is_empty());
        assert_eq!(end(&mut schedule, 1), [0]);
        assert_eq!(end(&mut schedule, 0), [2]);
    }

    #[test]
    fn sequential_calls_run_one_after_the_other() {
        let mut schedule = Schedule::new(3, None, None);
        (0..3).for_each(|index| schedule.set_sequential(index));
        assert_eq!(ask(&mut schedule, 0..3), [0]);
        assert!(schedule.leave(0).is_empty(), "it may ask again, and so is not over");
        assert_eq!(schedule.over(0), [(1, 0)]);
        assert_eq!(end(&mut schedule, 1), [2]);
    }

    #[test]
    fn a_call_that_is_over_without_having_run_holds_up_no_other() {
        let mut schedule = Schedule::new(3, None, None);
        schedule.set_sequential(1);
        assert!(ask(&mut schedule, [1, 2]).is_empty());
        assert_eq!(schedule.over(0), [(1, 0)]);
        let mut schedule = Schedule::new(2, None, None);
        schedule.set_sequential(0);
        assert!(ask(&mut schedule, [1]).is_empty());
        assert_eq!(schedule.over(0), [(1, 0)]);
    }

    #[test]
    fn a_sequential_call_that_waits_does_not_hold_up_the_calls_before_it() {
        let mut schedule = Schedule::new(3, None, None);
        schedule.set_sequential(2);
        assert_eq!(ask(&mut schedule, [2, 0, 1]), [0, 1]);
    }

    #[test]
    fn added_calls_come_last() {
        let mut schedule = at_once(2, 0);
        schedule.add(1);
        assert_eq!(ask(&mut schedule, [0]), [0]);
        schedule.add(3);
        schedule.set_sequential(2);
        assert_eq!(ask(&mut schedule, 1..4), [1]);
        assert!(
            end(&mut schedule, 0).is_empty(),
            "the sequential call waits for the one before it"
        );
        assert_eq!(end(&mut schedule, 1), [2]);
        assert_eq!(end(&mut schedule, 2), [3]);
    }

    #[test]
    fn the_place_of_a_forgotten_call_is_used_again() {
        let mut schedule = at_once(1, 2);
        assert_eq!(ask(&mut schedule, 0..2), [0]);
        assert_eq!(schedule.leave(0), [(1, 0)]);
        schedule.leave(1);
        schedule.over(0);
        schedule.over(1);
        schedule.truncate(1);
        schedule.add(1);
        schedule.set_deadline(seconds(5));
        assert_eq!(ask(&mut schedule, [1]), [1]);
        assert_eq!(schedule.due(seconds(5)), Due::Batch(vec![1]));
    }

    #[test]
    fn a_closed_schedule_lets_nothing_begin() {
        let mut schedule = at_once(1, 3);
        assert_eq!(ask(&mut schedule, 0..2), [0]);
        schedule.close();
        assert_eq!(schedule.ask(2), Admission::Closed);
        assert!(end(&mut schedule, 0).is_empty());
    }

    #[test]
    fn a_call_s_time_is_reported_as_up_once() {
        let mut schedule = Schedule::new(3, None, None);
        schedule.start_clock(0, seconds(1), seconds(5));
        schedule.start_clock(2, seconds(1), seconds(3));
        assert_eq!(schedule.next_deadline(), Some(seconds(4)));
        assert_eq!(schedule.due(seconds(3)), Due::Calls(vec![]));
        assert_eq!(schedule.due(seconds(9)), Due::Calls(vec![2, 0]));
        assert_eq!(schedule.due(seconds(99)), Due::Calls(vec![]));
        assert_eq!(schedule.next_deadline(), None);
    }

    #[test]
    fn a_clock_that_is_held_keeps_what_is_left_and_a_new_start_gives_all_of_it() {
        let mut schedule = Schedule::new(1, None, None);
        schedule.start_clock(0, seconds(0), seconds(5));
        schedule.hold_clock(0, seconds(3));
        assert_eq!(schedule.next_deadline(), None);
        schedule.resume_clock(0, seconds(100));
        assert_eq!(schedule.next_deadline(), Some(seconds(102)));
        schedule.start_clock(0, seconds(101), seconds(5));
        assert_eq!(schedule.next_deadline(), Some(seconds(106)));
        schedule.over(0);
        assert_eq!(schedule.next_deadline(), None);
    }

    #[test]
    fn a_clock_that_never_started_is_neither_held_nor_resumed() {
        let mut schedule = Schedule::new(1, None, None);
        schedule.hold_clock(0, seconds(1));
        schedule.resume_clock(0, seconds(2));
        assert_eq!(schedule.next_deadline(), None);
    }

    #[test]
    fn the_batch_s_time_is_that_of_all_its_open_calls_and_closes_it() {
        let mut schedule = Schedule::new(4, NonZeroUsize::new(2), Some(seconds(5)));
        assert_eq!(ask(&mut schedule, 0..4), [0, 1]);
        schedule.start_clock(1, seconds(0), seconds(9));
        end(&mut schedule, 0);
        assert_eq!(schedule.next_deadline(), Some(seconds(5)));
        assert_eq!(schedule.due(seconds(5)), Due::Batch(vec![1, 2, 3]));
        assert_eq!(schedule.next_deadline(), None);
        assert_eq!(schedule.ask(3), Admission::Closed);
    }
}
