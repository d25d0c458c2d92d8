//! A log to messages, as cogency 3.3.0 folds it: lists of whole texts, joined at the end.

use cogency_rs::context::{Message, Role, Unanswered};
use cogency_rs::protocol::Text;
use cogency_rs::protocol::canonical::Layout;
use cogency_rs::protocol::json::Controls;
use cogency_rs::protocol::text::is_blank;

use crate::json::{self, Node, Value};

/// A row of the log.
#[derive(Clone, Debug)]
pub enum Row {
    User(Vec<u8>),
    Think(Vec<u8>),
    Respond(Vec<u8>),
    /// A call as it is stored, and its fields.
    Call {
        text: Vec<u8>,
        name: Node,
        args: Node,
    },
    Result(Vec<u8>),
}

/// The messages of a whole log.
#[must_use]
pub fn messages(rows: &[Row], unanswered: Unanswered) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut said: Vec<Vec<u8>> = Vec::new();
    let mut calls: Vec<(&Node, &Node)> = Vec::new();
    // Behind the last row as before a user's: the turn is over.
    for row in rows.iter().map(Some).chain([None]) {
        match row {
            Some(Row::Think(text)) => said.push([b"<think>", &text[..], b"</think>"].concat()),
            Some(Row::Respond(text)) => said.push(text.clone()),
            Some(Row::Call { name, args, .. }) => calls.push((name, args)),
            Some(Row::Result(results)) => {
                let results = match unanswered {
                    Unanswered::Dropped => results.clone(),
                    Unanswered::Failed => completed(&calls, results),
                };
                if !calls.is_empty() {
                    said.push(block(&std::mem::take(&mut calls)));
                    messages
                        .push(message(Role::Assistant, &std::mem::take(&mut said).join(&b'\n')));
                }
                if !results.is_empty() {
                    messages.push(message(Role::User, &results_text(&results)));
                }
            }
            Some(Row::User(_)) | None => {
                let dropped = calls.is_empty() || unanswered == Unanswered::Dropped;
                let failures = failures(&calls);
                if !dropped {
                    said.push(block(&calls));
                }
                if !said.is_empty() {
                    messages.push(message(Role::Assistant, &said.join(&b'\n')));
                }
                if !dropped {
                    messages.push(message(Role::User, &results_text(failures.as_bytes())));
                }
                said.clear();
                calls.clear();
                if let Some(Row::User(text)) = row {
                    messages.push(message(Role::User, text));
                }
            }
        }
    }
    messages
}

fn message(role: Role, content: &[u8]) -> Message {
    Message { role, content: Text::from(content) }
}

fn results_text(results: &[u8]) -> Vec<u8> {
    [b"<results>\n", results, b"\n</results>"].concat()
}

/// `results` with a failure in front for each of the first calls that has none; what is no array stays.
fn completed(calls: &[(&Node, &Node)], results: &[u8]) -> Vec<u8> {
    let Ok(reading) = json::read(results, 0, Controls::Raw) else { return results.to_vec() };
    let Value::Array(items) = &reading.node.value else { return results.to_vec() };
    if items.len() >= calls.len() || !is_blank(&results[reading.end..]) {
        return results.to_vec();
    }
    let mut array = failures(&calls[..calls.len() - items.len()]).into_bytes();
    if !items.is_empty() {
        array.pop();
        array.extend(b", ");
        array.extend(&results[reading.node.at + 1..]);
    }
    array
}

fn failures(calls: &[(&Node, &Node)]) -> String {
    let failure = |(name, _): &(&Node, &Node)| {
        let name = json::dumps(&name.value, Layout::Compact);
        format!(
            "{{\"tool\": {name}, \"status\": \"failure\", \"content\": \"Interrupted before completion\"}}"
        )
    };
    format!("[{}]", calls.iter().map(failure).collect::<Vec<_>>().join(", "))
}

fn block(calls: &[(&Node, &Node)]) -> Vec<u8> {
    let call = |(name, args): &(&Node, &Node)| {
        let entries =
            vec![(json::units("name"), (*name).clone()), (json::units("args"), (*args).clone())];
        Node { at: 0, value: Value::Object(entries) }
    };
    let calls = Value::Array(calls.iter().map(call).collect());
    format!("<execute>\n{}\n</execute>", json::dumps(&calls, Layout::Indented(0))).into_bytes()
}
