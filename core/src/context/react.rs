//! Passages as thoughts, actions and observations.

use crate::json::unescaped;
use crate::protocol::canonical::json_string;
use crate::protocol::write::{Renderer, TurnPart};
use crate::text::{is_blank, trim};

use super::conversation::Role;
use super::options::FoldOptions;
use super::outcomes::{Outcome, Value, outcomes};
use super::passages::{Passage, PassageEnd};
use super::shown::{Shown, say, tell, texts, thoughts};

/// Adds the messages of a passage.
///
/// A call is shown after the last thought before it; earlier thoughts did not lead to a call. Output that could not be used is
/// shown as the model wrote it.
pub fn show(
    Passage { parts, end }: Passage<'_>,
    options: &FoldOptions,
    renderer: &Renderer,
    shown: &mut Vec<Shown>,
) {
    let (texts, thought) = (texts(parts, renderer), thought(parts, renderer));
    match end {
        PassageEnd::Results(calls, results) => {
            let mut text = texts;
            if !text.is_empty() {
                text.push(b'\n');
            }
            text.extend_from_slice(&thought);
            for (index, call) in calls.iter().enumerate() {
                text.extend_from_slice(if index > 0 { b"\nAction: " } else { b"Action: " });
                let name = unescaped(call.name.as_bytes());
                text.extend_from_slice(&renderer.marks().inert(name.as_bytes()));
                text.extend_from_slice(b"\nAction Input: ");
                text.extend_from_slice(renderer.compact(&call.args).as_bytes());
            }
            say(shown, Role::Assistant, text);
            let outcomes = outcomes(calls, results, &options.bounds, renderer);
            let each = outcomes.into_iter().map(|outcome| observation(outcome, renderer));
            tell(shown, each.collect::<Vec<_>>().join(&b'\n'));
        }
        PassageEnd::Nothing | PassageEnd::Report(_) | PassageEnd::Settled(_) => {
            if !texts.is_empty() {
                say(shown, Role::Assistant, [&thought[..], b"Final Answer: ", &texts].concat());
            }
        }
    }
    let inert = |text| renderer.marks().inert(text).into_owned();
    match end {
        PassageEnd::Report(report) => {
            say(shown, Role::Assistant, inert(report.raw.as_bytes()));
            tell(shown, inert(report.told(options.form, renderer).as_bytes()));
        }
        PassageEnd::Settled(text) => tell(shown, inert(text)),
        PassageEnd::Nothing | PassageEnd::Results(..) => {}
    }
}

/// The last thought that is not blank, on its own line.
fn thought(parts: &[TurnPart<'_>], renderer: &Renderer) -> Vec<u8> {
    match thoughts(parts, renderer).iter().rev().find(|text| !is_blank(text)) {
        Some(text) => [b"Thought: ", trim(text), b"\n"].concat(),
        None => Vec::new(),
    }
}

fn observation(Outcome { happened, value, is_error }: Outcome, renderer: &Renderer) -> Vec<u8> {
    let mut text = b"Observation: ".to_vec();
    if is_error {
        text.extend_from_slice(b"ERROR - ");
    } else if !happened.is_empty() {
        text.extend_from_slice(&renderer.marks().inert(&happened));
        text.push(b'\n');
    }
    match value {
        Value::Text(value) if is_error => {
            text.extend_from_slice(&renderer.marks().inert(&value));
        }
        Value::Text(value) => {
            text.extend_from_slice(renderer.compact(&json_string(&value)).as_bytes());
        }
        Value::Json(value) => text.extend_from_slice(renderer.compact(&value).as_bytes()),
    }
    text
}
