//! When a channel wakes its reader.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};

use super::{Channel, End, ROOM, Watch};
use cogency_rs::wire::{CallDelta, Delta};

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether each of these deltas wakes who waits, where each is taken before the next comes.
fn wakes(watch: Watch, deltas: &[Delta]) -> Vec<bool> {
    let (channel, count) = (Channel::new(None, watch), Arc::new(Count::default()));
    let waker = Waker::from(Arc::clone(&count));
    let mut context = Context::from_waker(&waker);
    let waits = |context: &mut Context<'_>| while channel.poll_take(context).is_ready() {};
    waits(&mut context);
    let mut woken = Vec::new();
    for delta in deltas {
        let before = count.0.load(Ordering::Relaxed);
        channel.put_deltas(&mut vec![delta.clone()]);
        woken.push(count.0.load(Ordering::Relaxed) > before);
        waits(&mut context);
    }
    let before = count.0.load(Ordering::Relaxed);
    channel.put_end(&mut Vec::new(), End::Answered);
    assert!(count.0.load(Ordering::Relaxed) > before, "the end always does");
    woken
}

fn text(text: &str) -> Delta {
    Delta::Text(text.to_owned())
}

fn arguments(number: usize, name: Option<&str>, arguments: &str) -> Delta {
    let name = name.map(str::to_owned);
    Delta::Call(CallDelta { number, id: None, name, arguments: arguments.to_owned() })
}

fn nobody(marks: &[&str]) -> Watch {
    Watch::From(marks.iter().map(ToString::to_string).collect())
}

#[test]
fn who_watches_is_told_of_each() {
    assert_eq!(wakes(Watch::Each, &[text("a"), text("b"), text("c")]), [true; 3]);
}

#[test]
fn where_nobody_watches_only_the_first_piece_of_text_is_told() {
    let deltas = [text("a"), text("b"), Delta::Reasoning("c".into()), text("d")];
    assert_eq!(wakes(nobody(&["<call>"]), &deltas), [true, false, false, false]);
}

#[test]
fn a_call_is_told_when_it_begins_and_when_it_has_ended_and_not_in_between() {
    let deltas = [
        text("a"),
        arguments(0, Some("f"), "{"),
        arguments(0, None, "\"a\": \"}"),
        arguments(0, None, "\"}"),
        arguments(1, Some("g"), "{"),
        arguments(1, None, "}"),
        text("b"),
        text("c"),
    ];
    assert_eq!(wakes(nobody(&[]), &deltas), [true, true, false, false, true, false, true, false]);
}

#[test]
fn a_call_in_text_is_told_from_its_mark_on_where_it_may_end() {
    let deltas = ["a", "b <ca", "ll>{", "\"a\"", ": 1", "}", "</call", ">", "and", "<call>", "x"];
    let deltas: Vec<Delta> = deltas.into_iter().map(text).collect();
    assert_eq!(
        wakes(nobody(&["<call>"]), &deltas),
        [true, false, true, false, false, true, false, true, false, true, false]
    );
}

#[test]
fn a_mark_without_a_bracket_is_told_however_it_is_cut() {
    let deltas = ["a", "Action", ": f", " x", "Obser", "vation", ": y", "z"];
    let deltas: Vec<Delta> = deltas.into_iter().map(text).collect();
    assert_eq!(
        wakes(nobody(&["Action:", "Observation:"]), &deltas),
        [true, false, true, false, false, false, true, false]
    );
}

#[test]
fn what_fills_half_of_the_room_is_told() {
    let deltas = [text("a"), text(&"b".repeat(ROOM / 2)), text("c")];
    assert_eq!(wakes(nobody(&[]), &deltas), [true, true, false]);
}
