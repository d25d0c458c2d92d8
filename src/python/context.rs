//! `to_messages`, the fold of a growing conversation, the estimate of its tokens, and `system_prompt`.

use std::borrow::Cow;

use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use pyo3::{PyTraverseError, PyVisit};
use serde_json::{Map, Value, json};

use super::convert::{bytes_of, dumps, json as json_module, string_of, to_str};
use super::dialect::{value_of, written_of};
use crate::context::{
    self as core, Bounds, Conversation, Message, Role, Rules, ShownReport, Tags, Tool,
    stored_report,
};
use crate::dialect::ToolsLayout;
use crate::execution::arguments::{SchemaForm, as_json_schema};
use crate::protocol::canonical::json_string;
use crate::protocol::stored::{ShownCall, shown_call};
use crate::protocol::write::Renderer;

/// Folds stored events into messages.
///
/// Events that are not rows of a log raise what they raise in cogency 3.3.0: `KeyError`, `TypeError`, `JSONDecodeError`.
#[pyfunction]
#[pyo3(signature = (events, *, escape_tags=Tags::AsStored, dialect=None))]
#[pyo3(text_signature = "(events, *, escape_tags=False, dialect='cogency')")]
pub fn to_messages<'py>(
    events: &Bound<'py, PyAny>,
    escape_tags: Tags,
    dialect: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let dialect = written_of(dialect)?;
    let options = core::FoldOptions { tags: escape_tags, dialect, ..core::FoldOptions::default() };
    let mut folding = Folding::of(options);
    folding.extend(events)?;
    folding.messages(events.py(), 0)
}

/// The tokens of the messages of text, estimated as the package does (`estimate_tokens`): a quarter of each text's characters, rounded
/// up. And the messages that are something else.
///
/// # Complexity
/// O(messages)
#[pyfunction]
pub fn estimated_tokens<'py>(
    messages: &Bound<'py, PyAny>,
) -> PyResult<(usize, Bound<'py, PyList>)> {
    const CHARACTERS_OF_A_TOKEN: usize = 4;
    let others = PyList::empty(messages.py());
    let mut tokens = 0;
    for message in messages.try_iter()? {
        let message = message?;
        let content = match message.cast_exact::<PyDict>() {
            Ok(fields) if fields.len() == 2 => {
                fields.get_item(pyo3::intern!(messages.py(), "content"))?
            }
            _ => None,
        };
        match content.as_ref().map(|content| content.cast_exact::<PyString>()) {
            Some(Ok(text)) => tokens += text.len()?.div_ceil(CHARACTERS_OF_A_TOKEN),
            _ => others.append(message)?,
        }
    }
    Ok((tokens, others))
}

/// How rows become messages.
#[pyclass(frozen, eq, hash, from_py_object, module = "cogency_rs._core")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct FoldOptions {
    inner: core::FoldOptions,
}

#[pymethods]
impl FoldOptions {
    #[new]
    #[pyo3(signature = (
        *,
        rules=Rules::Own,
        escape_tags=Tags::AsStored,
        max_result_chars=None,
        tool_result_chars=None,
        dialect=None,
    ))]
    #[pyo3(text_signature = "(*, rules='own', escape_tags=False, max_result_chars=None, \
                             tool_result_chars=None, dialect='cogency')")]
    fn new(
        rules: Rules,
        escape_tags: Tags,
        max_result_chars: Option<usize>,
        tool_result_chars: Option<&Bound<'_, PyDict>>,
        dialect: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut bounds = Bounds { all: max_result_chars, ..Bounds::default() };
        for (name, most) in tool_result_chars.into_iter().flatten() {
            let name = json_string(&bytes_of(string_of("a tool's name", &name)?)?);
            bounds.tools.insert(name, most.extract()?);
        }
        let dialect = written_of(dialect)?;
        Ok(Self { inner: core::FoldOptions { dialect, rules, tags: escape_tags, bounds } })
    }
}

/// A conversation that is folded while it grows.
#[pyclass(module = "cogency_rs._core")]
#[derive(Default)]
pub struct Folding {
    conversation: Conversation,
    /// The complete messages: role and content.
    messages: Vec<(Role, Py<PyAny>)>,
    /// The indices of the messages that are the user's questions.
    questions: Vec<usize>,
    /// How many pieces the assistant's open turn has.
    parts: usize,
    /// What the `TypeError` says of the open turn's first piece that is not a `str`; joining the turn will raise it.
    unjoinable: Option<String>,
}

#[pymethods]
impl Folding {
    /// A conversation at its start.
    #[new]
    fn new(options: FoldOptions) -> Self {
        Self::of(options.inner)
    }

    /// Takes further events, oldest first.
    fn extend(&mut self, events: &Bound<'_, PyAny>) -> PyResult<()> {
        for event in events.try_iter()? {
            self.event(&event?)?;
        }
        Ok(())
    }

    /// The messages of all events so far, from number `start` on, in a new list of new dicts.
    #[pyo3(signature = (start=0))]
    fn messages<'py>(&self, py: Python<'py>, start: usize) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for (role, content) in self.messages.iter().skip(start) {
            list.append(message(py, *role, content.bind(py))?)?;
        }
        let open = self.conversation.open();
        self.check_joinable(&open)?;
        for Message { role, content } in open {
            list.append(message(py, role, to_str(py, content.as_bytes())?.as_any())?)?;
        }
        Ok(list)
    }

    /// The indices of the messages that are the user's questions.
    fn questions(&self) -> Vec<usize> {
        self.questions.clone()
    }

    /// The index of the last of these messages.
    fn last_question(&self) -> Option<usize> {
        self.questions.last().copied()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.messages.iter().try_for_each(|(_, content)| visit.call(content))
    }

    fn __clear__(&mut self) {
        self.messages.clear();
    }
}

impl Folding {
    fn of(options: core::FoldOptions) -> Self {
        Self { conversation: Conversation::new(options), ..Self::default() }
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
                self.questions.push(self.messages.len());
                let said = self.said_by_user(&content()?)?;
                self.messages.push((Role::User, said.unbind()));
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
            "error" => {
                if let Some(report) = report_of(event)? {
                    self.conversation.report(report);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What a user said, as their message shows it: text, or a list of parts of which some are text. Anything else stays as it is.
    fn said_by_user<'py>(&self, content: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = content.py();
        if let Ok(text) = content.cast::<PyString>() {
            return Ok(match self.conversation.said_by_user(&bytes_of(text)?) {
                Cow::Borrowed(_) => content.clone(),
                Cow::Owned(shown) => to_str(py, &shown)?.into_any(),
            });
        }
        let Ok(parts) = content.cast_exact::<PyList>() else { return Ok(content.clone()) };
        let key = pyo3::intern!(py, "text");
        let (shown, mut is_changed) = (PyList::empty(py), false);
        for part in parts {
            let said = part.cast::<PyDict>().ok().map(|part| part.get_item(key)).transpose()?;
            let text = said.flatten().filter(PyAnyMethods::is_instance_of::<PyString>);
            let inert = text.as_ref().map(|text| self.said_by_user(text)).transpose()?;
            match inert.filter(|inert| !text.is_some_and(|text| text.is(inert))) {
                None => shown.append(part)?,
                Some(inert) => {
                    let part = part.cast::<PyDict>()?.copy()?;
                    part.set_item(key, inert)?;
                    shown.append(part)?;
                    is_changed = true;
                }
            }
        }
        Ok(if is_changed { shown.into_any() } else { content.clone() })
    }

    fn respond(&mut self, content: &Bound<'_, PyAny>) -> PyResult<()> {
        match content.cast::<PyString>() {
            Ok(text) => self.conversation.respond(&bytes_of(text)?),
            Err(_) => {
                self.conversation.respond(b"");
                if self.unjoinable.is_none() {
                    self.unjoinable = Some(joining_fault(content, self.parts)?);
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

    /// Adds complete messages.
    fn add(&mut self, py: Python<'_>, messages: [Option<Message>; 2]) -> PyResult<()> {
        let messages: Vec<_> = messages.into_iter().flatten().collect();
        self.check_joinable(&messages)?;
        for Message { role, content } in messages {
            if role == Role::Assistant {
                self.parts = 0;
            }
            self.messages.push((role, to_str(py, content.as_bytes())?.into_any().unbind()));
        }
        Ok(())
    }

    /// Fails if these messages have an assistant's turn with a piece that is not text.
    fn check_joinable(&self, messages: &[Message]) -> PyResult<()> {
        let joins = messages.iter().any(|message| message.role == Role::Assistant);
        match &self.unjoinable {
            Some(fault) if joins => Err(PyTypeError::new_err(fault.clone())),
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

impl<'py> FromPyObject<'_, 'py> for Rules {
    type Error = PyErr;

    fn extract(rules: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match rules.extract::<&str>()? {
            "own" => Ok(Self::Own),
            "installed" => Ok(Self::Installed),
            other => Err(PyValueError::new_err(format!(
                "rules must be \"own\" or \"installed\", got {other:?}"
            ))),
        }
    }
}

/// What Python says when it joins pieces and the one at `index` is not text.
fn joining_fault(piece: &Bound<'_, PyAny>, index: usize) -> PyResult<String> {
    let py = piece.py();
    let pieces = PyList::new(py, std::iter::repeat_n("", index))?;
    pieces.append(piece)?;
    match PyString::new(py, "\n").call_method1("join", (pieces,)) {
        Err(error) => error.value(py).str()?.extract(),
        Ok(_) => Ok(format!("item {index} of a turn is not text")),
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

/// The call in a stored row; `None` if its JSON is not a call. Text that is not JSON raises what `json.loads` raises.
fn call_of(content: &Bound<'_, PyAny>) -> PyResult<Option<ShownCall>> {
    if let Ok(text) = content.cast::<PyString>()
        && let Ok(call) = shown_call(&bytes_of(text)?)
    {
        return Ok(call);
    }
    let py = content.py();
    let value = json_module(py)?.call_method1(pyo3::intern!(py, "loads"), (content,))?;
    Ok(shown_call(dumps(&value)?.as_bytes()).ok().flatten())
}

/// The report in a row of type `error`; `None` if its content is not one.
fn report_of(event: &Bound<'_, PyAny>) -> PyResult<Option<ShownReport>> {
    let py = event.py();
    let content = match event.get_item(pyo3::intern!(py, "content")) {
        Err(error) if error.is_instance_of::<PyKeyError>(py) => return Ok(None),
        content => content?,
    };
    let Ok(text) = content.cast::<PyString>() else { return Ok(None) };
    Ok(stored_report(&bytes_of(text)?))
}

/// The system prompt for tools given as `(name, line, description, schema)`.
#[pyfunction]
#[pyo3(signature = (tools, identity=None, instructions=None, dialect=None))]
#[pyo3(text_signature = "(tools, identity=None, instructions=None, dialect='cogency')")]
pub fn system_prompt(
    tools: Vec<(String, String, String, Bound<'_, PyAny>)>,
    identity: Option<&str>,
    instructions: Option<&str>,
    dialect: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let dialect = written_of(dialect)?;
    let is_declared = dialect.prompt.tools.layout != ToolsLayout::Signature;
    let declared: PyResult<Vec<_>> = tools
        .iter()
        .map(
            |(name, _, description, schema)| {
                if is_declared { declaration(name, description, schema) } else { Ok(Value::Null) }
            },
        )
        .collect();
    let declared = declared?;
    let tools: Vec<_> = tools
        .iter()
        .zip(&declared)
        .map(|((name, line, ..), declared)| Tool { name, line, declared })
        .collect();
    Ok(core::system_prompt(&Renderer::new(dialect), &tools, identity, instructions))
}

/// A tool in the form that servers are sent. A flat schema becomes a JSON Schema in which every parameter is required
/// unless it has `"required": False`, as in the line of the prompt that lists it.
fn declaration(name: &str, description: &str, schema: &Bound<'_, PyAny>) -> PyResult<Value> {
    let schema = value_of(schema)?;
    let parameters = match (SchemaForm::of(&schema), &schema) {
        (SchemaForm::Flat, Value::Object(fields)) => declared_fields(fields, schema.clone()),
        _ => schema,
    };
    let function = json!({"name": name, "description": description, "parameters": parameters});
    Ok(json!({"type": "function", "function": function}))
}

fn declared_fields(fields: &Map<String, Value>, schema: Value) -> Value {
    let mut parameters = as_json_schema(schema);
    let is_required = |info: &Value| info.get("required") != Some(&Value::Bool(false));
    let required = fields.iter().filter(|(_, info)| is_required(info)).map(|(name, _)| name);
    let required: Vec<_> = required.cloned().collect();
    for (name, info) in fields {
        if let Some(property) = parameters["properties"].get_mut(name) {
            *property = declared_field(info, property);
        }
    }
    parameters["required"] = required.into();
    parameters
}

/// A parameter, with its type and its description before its bounds.
fn declared_field(info: &Value, property: &Value) -> Value {
    let kind = match property.get("type") {
        Some(kinds) => kinds
            .as_array()
            .and_then(|kinds| <&[_; 1]>::try_from(&kinds[..]).ok())
            .map_or_else(|| kinds.clone(), |[kind]| kind.clone()),
        None => info.get("type").cloned().unwrap_or(Value::Null),
    };
    let description = info.get("description").cloned().unwrap_or(Value::Null);
    let front = [("type", kind), ("description", description)];
    let front = front.into_iter().filter(|(_, value)| !value.is_null());
    let rest = property.as_object().into_iter().flatten().filter(|(key, _)| *key != "type");
    let front = front.map(|(key, value)| (key.to_owned(), value));
    Value::Object(front.chain(rest.map(|(key, value)| (key.clone(), value.clone()))).collect())
}
