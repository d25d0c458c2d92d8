//! `to_messages` and `system_prompt`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use super::convert::{bytes_of, dumps, json, to_str};
use crate::context::prompt::ToolLine;
use crate::context::{self as core, Conversation, Message, Role, Tags, Unanswered};
use crate::protocol::call::{ShownCall, shown_call};

/// Folds stored events into messages.
///
/// Raises what cogency 3.3.0 raises for rows that are no rows: `KeyError`, `TypeError`, `JSONDecodeError`.
#[pyfunction]
#[pyo3(signature = (events, *, escape_tags=Tags::AsStored))]
#[pyo3(text_signature = "(events, *, escape_tags=False)")]
pub fn to_messages<'py>(
    events: &Bound<'py, PyAny>,
    escape_tags: Tags,
) -> PyResult<Bound<'py, PyList>> {
    let mut folding = Folding::of(Unanswered::Dropped, escape_tags);
    folding.extend(events)?;
    folding.messages(events.py())
}

/// A conversation that is folded while it grows.
#[pyclass(module = "cogency_rs._core")]
#[derive(Default)]
pub struct Folding {
    conversation: Conversation,
    /// Messages that are complete: who speaks, and what.
    messages: Vec<(Role, Py<PyAny>)>,
    /// How many pieces the assistant's open turn has.
    parts: usize,
    /// The first piece of the open turn that is no `str`; joining the turn will fail on it.
    unjoinable: Option<PyErr>,
}

#[pymethods]
impl Folding {
    /// A conversation at its start, in which calls without results are shown as failed.
    #[new]
    #[pyo3(signature = (*, escape_tags=Tags::AsStored))]
    #[pyo3(text_signature = "(*, escape_tags=False)")]
    fn new(escape_tags: Tags) -> Self {
        Self::of(Unanswered::Failed, escape_tags)
    }

    /// Takes further events, oldest first.
    fn extend(&mut self, events: &Bound<'_, PyAny>) -> PyResult<()> {
        for event in events.try_iter()? {
            self.event(&event?)?;
        }
        Ok(())
    }

    /// The messages of all events so far, in a new list of new dicts.
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for (role, content) in &self.messages {
            list.append(message(py, *role, content.bind(py))?)?;
        }
        let open = self.conversation.open();
        self.check_joinable(py, &open)?;
        for Message { role, content } in open.into_iter().flatten() {
            list.append(message(py, role, to_str(py, content.as_bytes())?.as_any())?)?;
        }
        Ok(list)
    }
}

impl Folding {
    fn of(unanswered: Unanswered, tags: Tags) -> Self {
        Self { conversation: Conversation::new(unanswered, tags), ..Self::default() }
    }

    fn event(&mut self, event: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = event.py();
        let kind = event.get_item(pyo3::intern!(py, "type"))?;
        let Ok(kind) = kind.cast::<PyString>() else { return Ok(()) };
        let content = || event.get_item(pyo3::intern!(py, "content"));
        match kind.to_str().unwrap_or_default() {
            "user" => {
                let turn = self.conversation.user();
                self.add(py, turn)?;
                self.messages.push((Role::User, content()?.unbind()));
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
                self.result(py, content.as_ref())?;
            }
            _ => {}
        }
        Ok(())
    }

    fn respond(&mut self, content: &Bound<'_, PyAny>) -> PyResult<()> {
        match content.cast::<PyString>() {
            Ok(text) => self.conversation.respond(&bytes_of(text)?),
            Err(_) => {
                self.conversation.respond(b"");
                if self.unjoinable.is_none() {
                    self.unjoinable = Some(joining_error(content, self.parts)?);
                }
            }
        }
        self.parts += 1;
        Ok(())
    }

    fn result(&mut self, py: Python<'_>, content: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let text = match content {
            Some(content) if content.is_truthy()? => Some(formatted(content)?),
            _ => None,
        };
        let bytes = text.as_ref().map(|text| bytes_of(text)).transpose()?;
        let messages = self.conversation.result(bytes.as_deref().unwrap_or_default());
        self.add(py, messages)
    }

    /// Adds messages that are complete.
    fn add(&mut self, py: Python<'_>, messages: [Option<Message>; 2]) -> PyResult<()> {
        self.check_joinable(py, &messages)?;
        for Message { role, content } in messages.into_iter().flatten() {
            if role == Role::Assistant {
                self.parts = 0;
            }
            self.messages.push((role, to_str(py, content.as_bytes())?.into_any().unbind()));
        }
        Ok(())
    }

    /// The assistant's turn, which is over, can be joined only if all its pieces are text.
    fn check_joinable(&self, py: Python<'_>, messages: &[Option<Message>; 2]) -> PyResult<()> {
        let joins = messages.iter().flatten().any(|message| message.role == Role::Assistant);
        match &self.unjoinable {
            Some(error) if joins => Err(error.clone_ref(py)),
            _ => Ok(()),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Tags {
    type Error = PyErr;

    /// From `escape_tags`, a `bool`.
    fn extract(escape_tags: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(if escape_tags.extract::<bool>()? { Self::Escaped } else { Self::AsStored })
    }
}

/// What Python says when it joins pieces of which number `index` is no text.
fn joining_error(piece: &Bound<'_, PyAny>, index: usize) -> PyResult<PyErr> {
    let py = piece.py();
    let pieces = PyList::new(py, std::iter::repeat_n("", index))?;
    pieces.append(piece)?;
    match PyString::new(py, "\n").call_method1("join", (pieces,)) {
        Err(error) => Ok(error),
        Ok(_) => Ok(PyTypeError::new_err(format!("item {index} of a turn is no text"))),
    }
}

fn message<'py>(
    py: Python<'py>,
    role: Role,
    content: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let role = match role {
        Role::User => pyo3::intern!(py, "user"),
        Role::Assistant => pyo3::intern!(py, "assistant"),
    };
    let message = PyDict::new(py);
    message.set_item(pyo3::intern!(py, "role"), role)?;
    message.set_item(pyo3::intern!(py, "content"), content)?;
    Ok(message)
}

/// `f"{value}"`
fn formatted<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    if let Ok(text) = value.cast_exact::<PyString>() {
        return Ok(text.clone());
    }
    let format = value.py().import("builtins")?.getattr("format")?;
    Ok(format.call1((value,))?.cast_into::<PyString>()?)
}

/// The call in a stored row, or `None` for JSON that is none. What is no JSON raises what `json.loads` raises.
fn call_of(content: &Bound<'_, PyAny>) -> PyResult<Option<ShownCall>> {
    if let Ok(text) = content.cast::<PyString>()
        && let Ok(call) = shown_call(&bytes_of(text)?)
    {
        return Ok(call);
    }
    let py = content.py();
    let value = json(py)?.call_method1(pyo3::intern!(py, "loads"), (content,))?;
    Ok(shown_call(dumps(&value)?.as_bytes()).ok().flatten())
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
