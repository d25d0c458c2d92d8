use super::*;
use crate::dialect::presets;
use crate::protocol::ReportKind;

fn cogency() -> Arc<Dialect> {
    presets::preset("cogency").expect("a row of the table")
}

fn call(name: &str) -> Call {
    Call::of_json(&format!("\"{name}\""), "{}")
}

fn failure() -> CallOutcome {
    CallOutcome::Failure { message: "\"no\"".into() }
}

/// Steps in short: rows in brackets, emissions without.
fn short(steps: &[Step]) -> Vec<String> {
    let short = |step: &Step| match step {
        Step::Save(rows) => {
            let rows = rows.iter().map(|row| format!("{}:{}", row.kind.name(), row.content));
            format!("[{}]", rows.collect::<Vec<_>>().join(" "))
        }
        Step::Emit(Emission::Event(event), _) => match event {
            Event::Think(text) => format!("think:{text}"),
            Event::Respond(text) => format!("respond:{text}"),
            Event::Piece(..) => "piece".into(),
            Event::Call(_) => "call".into(),
            Event::Execute => "execute".into(),
            Event::Error(report) => format!("error:{}", report.kind.name()),
            Event::End => "end".into(),
            event => panic!("a turn does not emit {event:?}"),
        },
        Step::Emit(Emission::Results(_, tally), _) => {
            format!("results {}+{}", tally.succeeded, tally.failed)
        }
        Step::Emit(Emission::BreakerOpened, _) => "breaker".into(),
        Step::Begin(place, _) => format!("begin {place}"),
        Step::Withdraw(place) => format!("withdraw {place}"),
        Step::Run(calls) => format!("run {}", calls.len()),
    };
    steps.iter().map(short).collect()
}

fn run(stream: Stream, events: Vec<Event>) -> Vec<String> {
    let (mut turn, mut steps) = (Turn::new(stream, Errors::Event, cogency()), Vec::new());
    for event in events {
        turn.event(event, 1.0, &mut steps);
    }
    turn.finish(&Ending::Unknown, 2.0, &mut steps);
    short(&steps)
}

#[test]
fn in_event_mode_text_is_joined_stripped_saved_and_then_emitted() {
    let events =
        vec![Event::Think(" a".into()), Event::Think("b ".into()), Event::Respond(" ".into())];
    assert_eq!(run(Stream::Event, events), ["[think:ab]", "think:ab"]);
}

#[test]
fn in_token_mode_text_is_emitted_at_once_and_saved_unchanged() {
    let events = vec![Event::Respond(" a".into()), Event::Respond("b ".into()), Event::End];
    assert_eq!(run(Stream::Token, events), ["respond: a", "respond:b ", "[respond: ab ]", "end"]);
}

#[test]
fn text_before_calls_is_emitted_before_them_and_saved_together_with_them() {
    let events = vec![
        Event::Think("hm".into()),
        Event::Respond("so".into()),
        Event::Call(call("a")),
        Event::Call(call("b")),
        Event::Execute,
    ];
    let steps = run(Stream::Event, events);
    assert_eq!(steps[..2], ["[think:hm]", "think:hm"]);
    assert!(steps[2].starts_with("[respond:so call:") && steps[2].matches("call:").count() == 2);
    assert_eq!(steps[3..], ["respond:so", "call", "call", "execute", "run 2"]);
}

#[test]
fn text_after_a_call_is_a_run_of_its_own() {
    let events =
        vec![Event::Respond("a".into()), Event::Call(call("t")), Event::Respond("b".into())];
    let steps = run(Stream::Event, events);
    assert!(steps[0].starts_with("[respond:a call:"));
    assert_eq!(steps[1..], ["respond:a", "call", "[respond:b]", "respond:b"]);
}

#[test]
fn rows_are_in_the_order_of_their_times() {
    let report = Report::of_answer(ReportKind::Malformed, "no");
    let of_answer = presets::preset("hermes").expect("a row of the table");
    let (mut turn, mut steps) = (Turn::new(Stream::Event, Errors::Event, of_answer), Vec::new());
    let events = [
        Event::Respond("a".into()),
        Event::Call(call("t")),
        Event::Error(Box::new(report)), // saved after the calls that follow it
        Event::Call(call("u")),
        Event::Execute,
    ];
    for (event, now) in events.into_iter().zip([5.0, 6.0, 3.0, 9.0, 8.0]) {
        turn.event(event, now, &mut steps);
    }
    turn.results(vec![failure(), failure()], &mut Breaker::new(9.0), &mut steps);
    let rows = steps.iter().filter_map(|step| match step {
        Step::Save(rows) => Some(rows),
        _ => None,
    });
    let saved: Vec<_> = rows.flatten().map(|row| (row.kind.name(), row.timestamp)).collect();
    let kinds: Vec<_> = saved.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, ["respond", "call", "call", "error", "result"]);
    assert!(saved.is_sorted_by(|one, next| one.1 <= next.1), "{saved:?}");
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
    let (mut turn, mut steps) = (Turn::new(Stream::Event, Errors::Respond, cogency()), Vec::new());
    let mut breaker = Breaker::new(1.0);
    for name in ["a", "b", "c"] {
        turn.event(Event::Call(call(name)), 1.0, &mut steps);
    }
    turn.event(Event::Execute, 1.0, &mut steps);
    steps.clear();
    turn.results(vec![failure(), failure(), failure()], &mut breaker, &mut steps);
    let steps = short(&steps);
    assert_eq!(steps[1..], ["results 0+3", "breaker", "end"]);
    assert_eq!(steps[0].matches("\"status\"").count(), 3);
    assert!(turn.has_ended() && turn.open_calls().is_empty());
}
