//! Passages in the form that the options name.

use crate::protocol::write::Renderer;

use super::conversation::written;
use super::options::{FoldOptions, Form};
use super::passages::Passage;
use super::shown::Shown;
use super::{native, react};

/// Adds the messages of a passage, in the form that the options name.
///
/// # Complexity
/// O(passage)
pub fn show(
    passage: Passage<'_>,
    options: &FoldOptions,
    renderer: &Renderer,
    shown: &mut Vec<Shown>,
) {
    match options.form {
        Form::Text => {
            let messages = written(passage, options, renderer).into_iter().flatten();
            shown.extend(messages.map(Shown::Said));
        }
        Form::Native => native::show(passage, options, renderer, shown),
        Form::React => react::show(passage, options, renderer, shown),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::{Bounds, Message, Passages, Role, ShownReport, Tags};
    use crate::protocol::stored::shown_call;

    /// The messages of two calls, of which one has a result that is too long, and of a report on what followed.
    fn shown(form: Form) -> Vec<Shown> {
        let bounds = Bounds { all: Some(2), ..Bounds::default() };
        let options = FoldOptions { form, bounds, tags: Tags::Escaped, ..FoldOptions::default() };
        let renderer = Arc::new(Renderer::new(Arc::clone(&options.dialect)));
        let mut passages = Passages::new(&options, Arc::clone(&renderer));
        let mut shown = Vec::new();
        let mut add = |passage: Passage<'_>| show(passage, &options, &renderer, &mut shown);
        passages.think(b" hm ");
        passages.respond(b"So.");
        for name in ["a", "b"] {
            let call = format!("{{\"name\": \"{name}\", \"args\": {{\"x\": [1, \"\\u00e9\"]}}}}");
            let call = shown_call(call.as_bytes()).ok().flatten();
            passages.call(call.expect("it is a call"));
        }
        passages.result(b"[{\"status\": \"success\", \"content\": \"three\"}]", &mut add);
        passages.respond(b"Well");
        passages.report(ShownReport::new("{", "That was no call."));
        passages.open(add);
        shown
    }

    fn said(role: Role, text: &str) -> Shown {
        Shown::Said(Message { role, content: text.into() })
    }

    #[test]
    fn a_call_and_a_result_are_messages_of_their_own() {
        let result = |content: &str, is_error| Shown::Result { content: content.into(), is_error };
        assert_eq!(
            shown(Form::Native),
            [
                Shown::Calls {
                    content: "So.".into(),
                    thoughts: "hm".into(),
                    arguments: vec!["{\"x\":[1,\"é\"]}".into(); 2],
                },
                result("Error in tool call: Interrupted before completion", true),
                result("th\n[… 3 of 5 characters are not shown]", false),
                said(Role::Assistant, "Well\n{"),
                said(Role::User, "That was no call."),
            ]
        );
    }

    #[test]
    fn calls_are_actions_and_results_observations() {
        assert_eq!(
            shown(Form::React),
            [
                said(
                    Role::Assistant,
                    "So.\nThought: hm\nAction: a\nAction Input: {\"x\":[1,\"é\"]}\n\
                     Action: b\nAction Input: {\"x\":[1,\"é\"]}"
                ),
                said(
                    Role::User,
                    "Observation: ERROR - Interrupted before completion\n\
                     Observation: \"th\\n[… 3 of 5 characters are not shown]\""
                ),
                said(Role::Assistant, "Final Answer: Well"),
                said(Role::Assistant, "{"),
                said(Role::User, "That was no call."),
            ]
        );
    }

    #[test]
    fn text_is_one_message_for_a_turn() {
        let roles = shown(Form::Text).into_iter().map(|shown| match shown {
            Shown::Said(message) => message.role,
            other => panic!("{other:?} is not text"),
        });
        let turn = [Role::Assistant, Role::User];
        // The report is not shown by cogency's rules, and calls without results are dropped where there are others.
        assert_eq!(roles.collect::<Vec<_>>(), [&turn[..], &[Role::Assistant]].concat());
    }
}
