//! A log to messages, by the rules of cogency 3.3.0 and by ours: lists of whole texts, joined at the end.

use crate::json::Layout;
use cogency_rs::context::{Message, Role, Rules, ShownReport, Tags};
use cogency_rs::json::{Controls, Fault, FaultKind};
use cogency_rs::protocol::Text;

use crate::json::{self, Node, Reading, Value};
use crate::text::{is_blank, leading_space};

/// A row of the log.
#[derive(Clone, Debug)]
pub enum Row {
    User(Vec<u8>),
    Think(Vec<u8>),
    Respond(Vec<u8>),
    /// A call as it is stored, and what it says.
    Call(Vec<u8>, StoredCall),
    Result(Vec<u8>),
    Error(ShownReport),
}

/// A call in the log. A call without arguments has empty ones.
#[derive(Clone, Debug)]
pub struct StoredCall {
    pub name: Value,
    pub args: Value,
}

/// Reads a row of the log as a call; `None` for JSON that is not a call.
///
/// # Errors
/// The row is not JSON.
pub fn stored_call(text: &[u8]) -> Result<Option<StoredCall>, Fault> {
    let Reading { node, end, .. } = json::read(text, 0, Controls::Escaped)?;
    if let Some(at) = (end..text.len()).find(|at| !b" \t\n\r".contains(&text[*at])) {
        return Err(Fault { kind: FaultKind::Trailing, at });
    }
    let Value::Object(entries) = node.value else { return Ok(None) };
    let dict = json::as_dict(&entries);
    let field = |name| {
        let entry = dict.iter().find(|(key, _)| **key == json::units(name));
        entry.map(|(_, value)| (*value).clone())
    };
    Ok(match (field("name"), field("args").unwrap_or(Value::Object(Vec::new()))) {
        (Some(name @ Value::String(_)), args @ Value::Object(_)) => Some(StoredCall { name, args }),
        _ => None,
    })
}

/// The messages of a whole log.
#[must_use]
pub fn messages(rows: &[Row], rules: Rules, tags: Tags) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut said = Said::default();
    let mut calls: Vec<&StoredCall> = Vec::new();
    let mut behind: Vec<&ShownReport> = Vec::new();
    // The turn is over after the last row, as it is before a user's.
    for (index, row) in rows.iter().map(Some).chain([None]).enumerate() {
        if let Some(Row::Error(report)) = row {
            // Words that were cut are one text with those that go on with them, once the report is no longer shown.
            said.is_cut |= rules == Rules::Own
                && report.is_of_cut_answer
                && is_forgotten_in_its_turn(rows, index)
                && said.ends_in_words();
        }
        match row {
            Some(Row::Error(_)) if rules != Rules::Own || fate(rows, index) == Fate::Dropped => {}
            Some(Row::Error(report)) if fate(rows, index) == Fate::BehindResults => {
                behind.push(report);
            }
            Some(Row::Error(ShownReport { raw, content, .. })) => {
                if !calls.is_empty() {
                    let failures = failures(&calls);
                    said.push(block(&std::mem::take(&mut calls)));
                    messages.push(message(Role::Assistant, &said.take()));
                    messages.push(results_message(failures.as_bytes(), tags));
                }
                if !raw.is_empty() {
                    said.push(raw.as_bytes().to_vec());
                }
                if !said.is_empty() {
                    messages.push(message(Role::Assistant, &said.take()));
                }
                messages.push(message(Role::User, content.as_bytes()));
            }
            Some(Row::Result(_)) if rules == Rules::Own && calls.is_empty() => said.is_cut = false,
            Some(Row::Think(text)) => said.push([b"<think>", &text[..], b"</think>"].concat()),
            Some(Row::Respond(text)) => said.words(text),
            Some(Row::Call(_, call)) => {
                said.is_cut = false;
                calls.push(call);
            }
            Some(Row::Result(results)) => {
                let results = match rules {
                    Rules::Cogency => results.clone(),
                    Rules::Installed | Rules::Own => completed(&calls, results),
                    other => unreachable!("the reference does not know {other:?}"),
                };
                if !calls.is_empty() {
                    said.push(block(&std::mem::take(&mut calls)));
                    messages.push(message(Role::Assistant, &said.take()));
                }
                if !results.is_empty() {
                    messages.push(results_message(&results, tags));
                }
                for ShownReport { raw, content, .. } in behind.drain(..) {
                    if !raw.is_empty() {
                        messages.push(message(Role::Assistant, raw.as_bytes()));
                    }
                    messages.push(message(Role::User, content.as_bytes()));
                }
            }
            Some(Row::User(_)) | None => {
                let dropped = calls.is_empty() || rules == Rules::Cogency;
                let failures = failures(&calls);
                if !dropped {
                    said.push(block(&calls));
                }
                if !said.is_empty() {
                    messages.push(message(Role::Assistant, &said.take()));
                }
                if !dropped {
                    messages.push(results_message(failures.as_bytes(), tags));
                }
                said = Said::default();
                calls.clear();
                if let Some(Row::User(text)) = row {
                    messages.push(message(Role::User, text));
                }
            }
        }
    }
    messages
}

/// The pieces of the assistant's turn, and whether each is words for the user.
#[derive(Default)]
struct Said {
    pieces: Vec<(Vec<u8>, bool)>,
    /// Whether the last words were cut, so that the next are joined to them.
    is_cut: bool,
}

impl Said {
    fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    fn ends_in_words(&self) -> bool {
        self.pieces.last().is_some_and(|(_, is_words)| *is_words)
    }

    fn push(&mut self, piece: Vec<u8>) {
        self.pieces.push((piece, false));
    }

    /// Words. If they go on with words that were cut, both come after the thoughts between them, whose end they do not have.
    fn words(&mut self, text: &[u8]) {
        let cut = self.pieces.iter().rposition(|(_, is_words)| *is_words);
        match cut.filter(|_| std::mem::take(&mut self.is_cut)) {
            Some(cut) => {
                let follows_thought = cut + 1 < self.pieces.len();
                let (mut words, _) = self.pieces.remove(cut);
                words.extend(&text[if follows_thought { leading_space(text) } else { 0 }..]);
                self.pieces.push((words, true));
            }
            None => self.pieces.push((text.to_vec(), true)),
        }
    }

    /// All of them, a line each.
    fn take(&mut self) -> Vec<u8> {
        let pieces: Vec<Vec<u8>> = self.pieces.drain(..).map(|(piece, _)| piece).collect();
        self.is_cut = false;
        pieces.join(&b'\n')
    }
}

/// What becomes of a report.
#[derive(PartialEq, Eq)]
enum Fate {
    /// The model did better, or its turn is over.
    Dropped,
    /// It is shown in its place.
    Shown,
    /// It is shown after the results of the calls of its answer.
    BehindResults,
}

/// Whether a report is dropped before the results of its turn's calls, with which the assistant's message is complete.
fn is_forgotten_in_its_turn(rows: &[Row], index: usize) -> bool {
    let before = rows[..index].iter().rfind(ends);
    match rows[index..].iter().find(ends) {
        Some(Row::Call(..)) => true,
        next => next.is_some() && !matches!(before, Some(Row::Call(..))),
    }
}

/// Whether a row ends what reports are about.
fn ends(row: &&Row) -> bool {
    matches!(row, Row::User(_) | Row::Call(..) | Row::Result(_))
}

fn fate(rows: &[Row], index: usize) -> Fate {
    let followers: Vec<&Row> = rows[index..].iter().filter(ends).collect();
    let before = rows[..index].iter().rfind(ends);
    match (&followers[..], before) {
        ([], _) => Fate::Shown,
        ([Row::Result(_)], Some(Row::Call(..))) => Fate::BehindResults,
        _ => Fate::Dropped,
    }
}

fn message(role: Role, content: &[u8]) -> Message {
    Message { role, content: Text::from(content) }
}

/// Results between their tags, as the model is shown them: no tag can be where there is no `<`.
fn results_message(results: &[u8], tags: Tags) -> Message {
    let shown = |byte: &u8| match (byte, tags) {
        (b'<', Tags::Escaped) => b"\\u003c".to_vec(),
        (byte, _) => vec![*byte],
    };
    let shown: Vec<u8> = results.iter().flat_map(shown).collect();
    message(Role::User, &[b"<results>\n", &shown[..], b"\n</results>"].concat())
}

/// `results` with a failure before them for each of the first calls that does not have a result; text that is not an array
/// stays.
fn completed(calls: &[&StoredCall], results: &[u8]) -> Vec<u8> {
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

fn failures(calls: &[&StoredCall]) -> String {
    let failure = |call: &&StoredCall| {
        let name = json::dumps(&call.name, Layout::Compact);
        format!(
            "{{\"tool\": {name}, \"status\": \"failure\", \"content\": \"Interrupted before completion\"}}"
        )
    };
    format!("[{}]", calls.iter().map(failure).collect::<Vec<_>>().join(", "))
}

fn block(calls: &[&StoredCall]) -> Vec<u8> {
    let node = |value: &Value| Node { at: 0, value: value.clone() };
    let call = |call: &&StoredCall| {
        let fields = [("name", &call.name), ("args", &call.args)];
        let entries = fields.map(|(key, value)| (json::units(key), node(value)));
        node(&Value::Object(entries.into()))
    };
    let calls = Value::Array(calls.iter().map(call).collect());
    format!("<execute>\n{}\n</execute>", json::dumps(&calls, Layout::Indented)).into_bytes()
}
