//! A turn of the model: its thoughts, its words and its calls.

use crate::dialect::{Body, Dialect, Frame, JsonLayout, Pair};

use super::super::Text;
use super::super::text::trim;
use super::ShownCall;
use super::calls::{answer, push_calls};
use super::json::{Strings, Style, push_json};
use super::marks::push_reference;
use super::sink::Sink;

/// A part of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Reasoning.
    Thought(Text),
    /// Words for the user.
    Words(Text),
    /// Calls of one batch.
    Calls(Vec<ShownCall>),
    /// What the model wrote, as it wrote it.
    Raw(Text),
}

/// Adds a turn, and tells whether anything of it is shown.
pub fn push_turn(sink: &mut Sink<'_>, dialect: &Dialect, parts: &[Part]) -> bool {
    let form = &dialect.prompt.turn;
    let decision = match dialect.bodies.first() {
        Some(Body::Json(body)) => body.decision.as_ref(),
        _ => None,
    };
    let mut last: Option<&Part> = None;
    let mut thought: Option<&Text> = None;
    let mut is_begun = false;
    for (index, part) in parts.iter().enumerate() {
        if is_left_out(dialect, part) {
            continue;
        }
        let has_decision = matches!(parts.get(index + 1), Some(Part::Words(_) | Part::Calls(_)));
        if let (Part::Thought(text), Some(_), true) = (part, decision, has_decision) {
            thought = Some(text);
            continue;
        }
        if let Some(last) = last {
            push_joint(sink, dialect, last, part);
        }
        match part {
            Part::Thought(text) => push_thought(sink, dialect, text),
            Part::Words(text) => match decision {
                Some(decision) => {
                    let thought = thought.take().map_or(&[][..], Text::as_bytes);
                    push_decision(sink, &answer(decision, thought, text.as_bytes()));
                }
                None => {
                    let has_calls = |part: &Part| matches!(part, Part::Calls(_));
                    let frame = match &form.preamble {
                        Some(frame) if parts[index..].iter().any(has_calls) => frame,
                        _ => &form.text,
                    };
                    push_framed(sink, frame, kept(dialect, text));
                }
            },
            Part::Calls(calls) => {
                let thought = thought.take().map(Text::as_bytes);
                push_calls(sink, dialect, calls, !is_begun, thought);
            }
            Part::Raw(text) => sink.push(text.as_bytes()),
        }
        is_begun |= !matches!(part, Part::Thought(_));
        last = Some(part);
    }
    last.is_some()
}

/// Whether nothing can be shown of a part: thoughts where a dialect has no marks for them, and no words at all.
fn is_left_out(dialect: &Dialect, part: &Part) -> bool {
    if dialect.prompt.turn.joints.is_none() && !dialect.reasoning.is_empty() {
        return false;
    }
    match part {
        Part::Thought(text) => {
            let is_marked =
                !dialect.reasoning.is_empty() || has_frame(&dialect.prompt.turn.thought);
            !(is_marked || has_thought_key(dialect)) || text.is_blank()
        }
        Part::Words(text) => text.is_blank(),
        Part::Calls(_) | Part::Raw(_) => false,
    }
}

fn has_frame(frame: &Frame) -> bool {
    !(frame.before.is_empty() && frame.behind.is_empty())
}

fn has_thought_key(dialect: &Dialect) -> bool {
    let body = dialect.bodies.first();
    matches!(body, Some(Body::Json(body)) if body.decision.is_some())
}

/// Text as it is shown: where the space around it is the dialect's, without its own.
fn kept<'t>(dialect: &Dialect, text: &'t Text) -> &'t [u8] {
    match dialect.prompt.turn.joints {
        None => text.as_bytes(),
        Some(_) => trim(text.as_bytes()),
    }
}

fn push_joint(sink: &mut Sink<'_>, dialect: &Dialect, last: &Part, next: &Part) {
    let Some(joints) = &dialect.prompt.turn.joints else { return sink.push("\n") };
    sink.push(&**match (last, next) {
        (Part::Thought(_), _) => &joints.thought,
        (_, Part::Calls(_) | Part::Raw(_)) => &joints.calls,
        _ => &joints.other,
    });
}

fn push_framed(sink: &mut Sink<'_>, frame: &Frame, text: &[u8]) {
    sink.push(&*frame.before);
    sink.push(text);
    sink.push(&*frame.behind);
}

fn push_thought(sink: &mut Sink<'_>, dialect: &Dialect, text: &Text) {
    let frame = &dialect.prompt.turn.thought;
    let text = kept(dialect, text);
    let Some(Pair { open, close }) = dialect.reasoning.first() else {
        return push_framed(sink, frame, text);
    };
    sink.push(&**open);
    sink.push(&*frame.before);
    // A thought that was read in another dialect may hold the mark that ends one in this.
    let ends = memchr::memmem::find_iter(text, close.as_bytes());
    let mut from = 0;
    for at in ends.filter(|_| dialect.prompt.turn.joints.is_some() && !close.is_empty()) {
        sink.push(&text[from..at]);
        from = at + push_reference(&mut sink.out, &text[at..]);
    }
    sink.push(&text[from..]);
    sink.push(&*frame.behind);
    sink.push(&**close);
}

fn push_decision(sink: &mut Sink<'_>, json: &str) {
    let style = Style { layout: JsonLayout::Compact, strings: Strings::Readable(sink.marks()) };
    push_json(&mut sink.out, json, style, 0);
}
