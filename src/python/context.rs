//! `to_messages` and `system_prompt`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use super::convert::{bytes_of, dumps, json, to_str};
use crate::context::prompt::ToolLine;
use crate::context::{self as core, Conversation, Message, Role};
use crate::protocol::Call;
use crate::protocol::call::stored_call;

/// Folds stored events into messages.
///
/// Raises what cogency 3.3.0 raises for rows that are no rows: `KeyError`, `TypeError`, `JSONDecodeError`.
#[pyfunction]
pub fn to_messages<'py>(events: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let mut fold = Fold {
        conversation: Conversation::default(),
        messages: PyList::empty(events.py()),
        parts: 0,
        unjoinable: None,
    };
    for event in events.try_iter()? {
        fold.event(&event?)?;
    }
    let last = fold.conversation.finish();
    fold.assistant(last)?;
    Ok(fold.messages)
}

struct Fold<'py> {
    conversation: Conversation,
    messages: Bound<'py, PyList>,
    /// How many pieces the assistant's open turn has.
    parts: usize,
    /// The first piece of the open turn that is no `str`; joining the turn will fail on it.
    unjoinable: Option<PyErr>,
}

impl<'py> Fold<'py> {
    fn event(&mut self, event: &Bound<'py, PyAny>) -> PyResult<()> {
        let py = event.py();
        let kind = event.get_item(pyo3::intern!(py, "type"))?;
        let Ok(kind) = kind.cast::<PyString>() else {
            return Ok(());
        };
        let content = || event.get_item(pyo3::intern!(py, "content"));
        match kind.to_str().unwrap_or_default() {
            "user" => {
                let turn = self.conversation.user();
                self.assistant(turn)?;
                self.message("user", &content()?)?;
            }
            "think" => {
                self.conversation.think(&bytes_of(&formatted(&content()?)?)?);
                self.parts += 1;
            }
            "respond" => self.respond(&content()?)?,
            "call" => {
                if let Some(call) = call_of(&content()?)? {
                    self.conversation.call(call);
                }
            }
            "result" => {
                let content = match event.cast::<PyDict>() {
                    Ok(event) => event.get_item(pyo3::intern!(py, "content"))?,
                    Err(_) => Some(event.call_method1("get", ("content", ""))?),
                };
                self.result(content)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn respond(&mut self, content: &Bound<'py, PyAny>) -> PyResult<()> {
        match content.cast::<PyString>() {
            Ok(text) => self.conversation.respond(&bytes_of(text)?),
            Err(_) => {
                self.conversation.respond(b"");
                let (index, found) = (self.parts, content.get_type().name()?);
                self.unjoinable.get_or_insert_with(|| {
                    PyTypeError::new_err(format!(
                        "sequence item {index}: expected str instance, {found} found"
                    ))
                });
            }
        }
        self.parts += 1;
        Ok(())
    }

    fn result(&mut self, content: Option<Bound<'py, PyAny>>) -> PyResult<()> {
        let text = match content {
            Some(content) if content.is_truthy()? => Some(formatted(&content)?),
            _ => None,
        };
        let bytes = text.as_ref().map(|text| bytes_of(text)).transpose()?;
        let [turn, results] = self.conversation.result(bytes.as_deref().unwrap_or_default());
        self.assistant(turn)?;
        self.core_message(results)
    }

    /// Adds the assistant's turn, which is over.
    fn assistant(&mut self, turn: Option<Message>) -> PyResult<()> {
        if turn.is_some() {
            self.parts = 0;
            if let Some(error) = self.unjoinable.take() {
                return Err(error);
            }
        }
        self.core_message(turn)
    }

    fn core_message(&self, message: Option<Message>) -> PyResult<()> {
        let Some(Message { role, content }) = message else {
            return Ok(());
        };
        let role = match role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        self.message(role, to_str(self.messages.py(), content.as_bytes())?.as_any())
    }

    fn message(&self, role: &str, content: &Bound<'py, PyAny>) -> PyResult<()> {
        let py = self.messages.py();
        let message = PyDict::new(py);
        message.set_item(pyo3::intern!(py, "role"), PyString::intern(py, role))?;
        message.set_item(pyo3::intern!(py, "content"), content)?;
        self.messages.append(message)
    }
}

/// `f"{value}"`
fn formatted<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    match value.cast::<PyString>() {
        Ok(text) => Ok(text.clone()),
        Err(_) => {
            let text = value.call_method1(pyo3::intern!(value.py(), "__format__"), ("",))?;
            Ok(text.cast_into::<PyString>()?)
        }
    }
}

/// The call in a stored row, or `None` for JSON that is none. What is no JSON raises what `json.loads` raises.
fn call_of(content: &Bound<'_, PyAny>) -> PyResult<Option<Call>> {
    if let Ok(text) = content.cast::<PyString>()
        && let Ok(call) = stored_call(&bytes_of(text)?)
    {
        return Ok(call);
    }
    let py = content.py();
    let value = json(py)?.call_method1(pyo3::intern!(py, "loads"), (content,))?;
    Ok(stored_call(dumps(&value)?.as_bytes()).ok().flatten())
}

/// The system prompt for tools given as `(name, line)`.
#[pyfunction]
#[pyo3(signature = (tools, identity=None, instructions=None))]
pub fn system_prompt(
    tools: Vec<(String, String)>,
    identity: Option<&str>,
    instructions: Option<&str>,
) -> String {
    let lines: Vec<_> = tools.iter().map(|(name, text)| ToolLine { name, text }).collect();
    core::system_prompt(&lines, identity, instructions)
}
