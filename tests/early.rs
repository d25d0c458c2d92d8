//! A turn says which calls may begin before their batch is complete, and which of these do not count.

use cogency_rs::dialect::presets;
use cogency_rs::protocol::ReportKind;
use cogency_rs::protocol::{Call, Ending, Event, Report, Stream};
use cogency_rs::turn::{Errors, Step, Turn};

fn call(name: &str) -> Call {
    Call::of_json(&format!("\"{name}\""), "{}")
}

fn ready(name: &str) -> Event {
    Event::Ready(call(name))
}

fn error() -> Event {
    Event::Error(Box::new(Report::of_answer(ReportKind::Malformed, "wrong")))
}

/// The calls to begin, to withdraw and to run. There is one list of events for each time that steps are taken.
fn steps(taken: &[&[Event]]) -> String {
    let dialect = presets::preset("cogency").expect("a row of the table");
    let mut turn = Turn::new(Stream::Event, Errors::Event, dialect);
    let mut said = Vec::new();
    let mut take = |steps: Vec<Step>| {
        for step in steps {
            match step {
                Step::Begin(place, call) => {
                    said.push(format!("begin {place} {}", call.name_json()));
                }
                Step::Withdraw(place) => said.push(format!("withdraw {place}")),
                Step::Run(calls) => said.push(format!("run {}", calls.len())),
                Step::Save(_) | Step::Emit(..) => {}
            }
        }
    };
    for events in taken {
        let mut steps = Vec::new();
        for event in *events {
            turn.event(event.clone(), 1.0, &mut steps);
        }
        take(steps);
    }
    let mut steps = Vec::new();
    turn.finish(&Ending::Unknown, 1.0, &mut steps);
    take(steps);
    said.join(", ")
}

#[test]
fn calls_begin_in_their_places_and_run_with_their_batch() {
    let (a, b) = (Event::Call(call("a")), Event::Call(call("b")));
    for (taken, expected) in [
        // The batch is complete with its last call, so that call need not begin early.
        (
            &[&[ready("a")][..], &[ready("b"), a.clone(), b.clone(), Event::Execute]][..],
            "begin 0 \"a\", run 2",
        ),
        // Calls of several blocks are one batch.
        (
            &[
                &[ready("a"), a.clone()],
                &[Event::Respond("and".into()), ready("b"), b.clone()],
                &[Event::Execute],
            ],
            "begin 0 \"a\", begin 1 \"b\", run 2",
        ),
        (&[&[a.clone(), b.clone()], &[Event::Execute]], "run 2"),
    ] {
        assert_eq!(steps(taken), expected);
    }
}

#[test]
fn calls_whose_block_is_not_valid_are_withdrawn() {
    let (a, b) = (Event::Call(call("a")), Event::Call(call("b")));
    for (taken, expected) in [
        (&[&[ready("a")][..], &[Event::Withdrawn, error()]][..], "begin 0 \"a\", withdraw 0"),
        // A call that has not begun does not begin.
        (&[&[ready("a"), Event::Withdrawn, error()]], "withdraw 0"),
        // The calls of another block stay.
        (
            &[
                &[ready("a"), a.clone()],
                &[ready("b")],
                &[Event::Withdrawn, error()],
                &[Event::Execute],
            ],
            "begin 0 \"a\", begin 1 \"b\", withdraw 1, run 1",
        ),
        // Another parser may not report that a call was withdrawn.
        (&[&[ready("a")], &[error()]], "begin 0 \"a\", withdraw 0"),
        (&[&[ready("a")]], "begin 0 \"a\", withdraw 0"),
        (&[&[ready("a")], &[b, Event::Execute]], "begin 0 \"a\", withdraw 0, run 1"),
        (
            &[&[ready("a"), ready("b")], &[a, Event::Execute]],
            "begin 0 \"a\", begin 1 \"b\", withdraw 1, run 1",
        ),
    ] {
        assert_eq!(steps(taken), expected);
    }
}
