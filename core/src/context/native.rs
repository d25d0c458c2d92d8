//! Passages as providers of tool calls want them back: calls and results are separate messages.

use crate::protocol::write::Renderer;
use crate::text::{is_blank, trim};

use super::conversation::Role;
use super::options::FoldOptions;
use super::outcomes::{Outcome, Value, outcomes};
use super::passages::{Passage, PassageEnd};
use super::shown::{Shown, say, tell, texts, thoughts};

/// Adds the messages of a passage. Output that could not be used is shown as text.
pub fn show(
    Passage { parts, end }: Passage<'_>,
    options: &FoldOptions,
    renderer: &Renderer,
    shown: &mut Vec<Shown>,
) {
    let texts = texts(parts, renderer);
    match end {
        PassageEnd::Nothing => say(shown, Role::Assistant, texts),
        PassageEnd::Report(report) => {
            let raw = renderer.marks().inert(report.raw.as_bytes());
            let texts = [&texts[..], &raw].into_iter().filter(|text| !is_blank(text));
            say(shown, Role::Assistant, texts.collect::<Vec<_>>().join(&b'\n'));
            let told = report.told(options.form, renderer);
            tell(shown, renderer.marks().inert(told.as_bytes()).into_owned());
        }
        PassageEnd::Settled(text) => {
            say(shown, Role::Assistant, texts);
            tell(shown, renderer.marks().inert(text).into_owned());
        }
        PassageEnd::Results(calls, results) => {
            shown.push(Shown::Calls {
                content: texts.into(),
                thoughts: trim(&thoughts(parts, renderer).join(&b'\n')).into(),
                arguments: calls.iter().map(|call| renderer.compact(&call.args)).collect(),
            });
            let outcomes = outcomes(calls, results, &options.bounds, renderer);
            shown.extend(outcomes.into_iter().map(|outcome| {
                let (is_error, content) = (outcome.is_error, content(outcome, renderer).into());
                Shown::Result { content, is_error }
            }));
        }
    }
}

fn content(Outcome { happened, value, is_error }: Outcome, renderer: &Renderer) -> Vec<u8> {
    let mut text = Vec::new();
    if is_error {
        text.extend_from_slice(b"Error in tool call: ");
    }
    if !happened.is_empty() {
        text.extend_from_slice(&renderer.marks().inert(&happened));
        text.push(b'\n');
    }
    match value {
        Value::Text(value) => text.extend_from_slice(&renderer.marks().inert(&value)),
        Value::Json(value) => text.extend_from_slice(renderer.compact(&value).as_bytes()),
    }
    text
}
