//! `ChatReader`: a model's text in the shape of `OpenAI`'s chat completions.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use pyo3::{PyTraverseError, PyVisit};

use super::convert::{bytes_of, string_of, to_str};
use super::dialect::{grammar_of, tools_of};
use super::error::{ConfigError, refused};
use super::ids::uuid7;
use super::options::{Finish, chat_calls_of, limits_of, reason_of};
use cogency_rs::chat::{self as core, ChatCalls, ChatOptions, Delta, FinishReason, strict_json};
use cogency_rs::json::unescaped;
use cogency_rs::protocol::canonical::json_string;
use cogency_rs::protocol::{Call, Callable, Ending, Grammar, Limits, Strictness, TextRun};

/// Turns a model's text into the messages and deltas of a chat API.
#[pyclass(module = "cogency_rs.reader")]
pub struct ChatReader {
    grammar: Arc<Grammar>,
    options: ChatOptions,
    /// Makes the id of a call without one.
    ids: Option<Py<PyAny>>,
    /// The text of tokens.
    marks: HashMap<i64, String>,
    open: Answer,
}

/// An answer that is read.
struct Answer {
    reader: core::ChatReader,
    deltas: Vec<Delta>,
    /// The ids of its calls.
    ids: HashSet<String>,
}

#[pymethods]
impl ChatReader {
    #[new]
    #[pyo3(signature = (
        dialect,
        tools=None,
        *,
        tool_choice=None,
        ids=None,
        marks=None,
        limits=None,
        lenient=false,
        begins_in_think=None,
        calls=None,
    ))]
    #[pyo3(
        text_signature = "(dialect, tools=None, *, tool_choice=\"auto\", ids=None, marks=None, limits=None, \
                          lenient=False, begins_in_think=None, calls=\"whole\")"
    )]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn new(
        dialect: &Bound<'_, PyAny>,
        tools: Option<&Bound<'_, PyAny>>,
        tool_choice: Option<&Bound<'_, PyAny>>,
        ids: Option<Py<PyAny>>,
        marks: Option<HashMap<i64, String>>,
        limits: Option<&Bound<'_, PyAny>>,
        lenient: bool,
        begins_in_think: Option<bool>,
        calls: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let grammar = grammar_of(Some(dialect))?;
        let tools = tools_of(tools)?;
        let callable = callable_of(tool_choice, tools.is_some())?;
        if let (Callable::Only(name), Some(tools)) = (&callable, &tools)
            && tools.schema(name).is_none()
        {
            let why = format!("tool_choice names {name}, but there is no such tool");
            return Err(ConfigError::new_err(why));
        }
        let options = ChatOptions {
            tools,
            callable,
            limits: limits.map_or(Ok(Limits::default()), limits_of)?,
            strictness: if lenient { Strictness::Lenient } else { Strictness::Strict },
            begins_in_think: begins_in_think.unwrap_or(grammar.dialects[0].begins_in_reasoning),
            calls: calls.map_or(Ok(ChatCalls::Whole), chat_calls_of)?,
        };
        let open = Answer::new(&grammar, &options);
        Ok(Self { grammar, options, ids, marks: marks.unwrap_or_default(), open })
    }

    #[pyo3(signature = (text, reason=None))]
    fn read<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        reason: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = text.py();
        let options = ChatOptions { calls: ChatCalls::Whole, ..self.options.clone() };
        let mut answer = Answer::new(&self.grammar, &options);
        let text = bytes_of(string_of("text", text)?)?;
        answer.reader.feed_bytes(&text, &mut answer.deltas);
        answer.reader.finish(&ending_of(reason)?, &mut answer.deltas);
        answer.message(py, self.ids.as_ref())
    }

    #[pyo3(signature = (chunk, token_ids=None))]
    fn feed<'py>(
        &mut self,
        chunk: &Bound<'py, PyAny>,
        token_ids: Option<Vec<Bound<'py, PyAny>>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = chunk.py();
        let chunk = string_of("chunk", chunk)?;
        let text = bytes_of(chunk)?;
        if let Some(ids) = token_ids.filter(|_| !self.marks.is_empty()) {
            let ids: Vec<_> = ids.iter().map(|id| id.extract().ok()).collect();
            let text = with_marks(&text, &ids, &self.marks);
            self.open.reader.feed_bytes(&text, &mut self.open.deltas);
        } else if let Some(run) = self.open.reader.pass(&text) {
            let is_itself = chunk.is_exact_instance_of::<PyString>();
            let content = if is_itself { chunk.clone() } else { to_str(py, &text)? };
            return passed(run, content);
        } else {
            self.open.reader.feed_bytes(&text, &mut self.open.deltas);
        }
        self.open.take(py, self.ids.as_ref())
    }

    #[pyo3(signature = (reason=None))]
    fn finish<'py>(
        &mut self,
        py: Python<'py>,
        reason: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyList>, Option<&'static str>)> {
        let ending = ending_of(reason)?;
        let finished = self.open.reader.finish(&ending, &mut self.open.deltas);
        let deltas = self.open.take(py, self.ids.as_ref())?;
        self.open = Answer::new(&self.grammar, &self.options);
        Ok((deltas, finished.map(FinishReason::name)))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.ids)
    }

    fn __clear__(&mut self) {
        self.ids = None;
    }
}

/// How an answer ended, by a provider's word.
fn ending_of(reason: Option<&Bound<'_, PyAny>>) -> PyResult<Ending> {
    let reason = reason_of(reason)?.map(|word| Finish { reason: Some(word), details: None });
    Ok(reason.map_or(Ending::Stopped, |finish| finish.ending()))
}

/// What a client is told of a call that began and is not valid.
const BROKEN: &str = "the model's call cannot be read: it began, and broke off or went on wrongly. None of this answer's \
                      calls that are not complete may be run; ask again";

/// Which tools may be called, by the API's `tool_choice`.
fn callable_of(choice: Option<&Bound<'_, PyAny>>, has_tools: bool) -> PyResult<Callable> {
    let any = if has_tools { Callable::Declared } else { Callable::Any };
    let Some(choice) = choice else { return Ok(any) };
    let wanted = "\"auto\", \"none\", \"required\", or {\"type\": \"function\", \"function\": {\"name\": ...}}";
    if let Ok(word) = choice.cast::<PyString>() {
        return match &*word.to_string_lossy() {
            "auto" | "required" => Ok(any),
            "none" => Ok(Callable::Nothing),
            _ => Err(refused("tool_choice", choice, wanted)),
        };
    }
    let name = choice.cast::<PyDict>().ok().and_then(|choice| {
        let function = choice.get_item("function").ok().flatten();
        let function = function.and_then(|function| function.cast_into::<PyDict>().ok());
        function.as_ref().unwrap_or(choice).get_item("name").ok().flatten()
    });
    let name = name.and_then(|name| name.cast_into::<PyString>().ok());
    let name = name.ok_or_else(|| refused("tool_choice", choice, wanted))?;
    Ok(Callable::Only(json_string(&bytes_of(&name)?)))
}

/// The text of a chunk with the marks of its tokens where the server has left them out. `None` is an id of no token.
fn with_marks<'t>(
    text: &'t [u8],
    ids: &[Option<i64>],
    marks: &HashMap<i64, String>,
) -> Cow<'t, [u8]> {
    let known = |id: &Option<i64>| id.and_then(|id| marks.get(&id)).map(String::as_bytes);
    let mut out = Vec::new();
    let mut rest = text;
    for (index, id) in ids.iter().enumerate() {
        let Some(mark) = known(id) else {
            // A token of unknown text: what is left is the text of such tokens, up to a mark that the server has left in.
            let next = ids[index + 1..].iter().find_map(known);
            let end = next.and_then(|mark| memchr::memmem::find(rest, mark)).unwrap_or(rest.len());
            out.extend_from_slice(&rest[..end]);
            rest = &rest[end..];
            continue;
        };
        out.extend_from_slice(mark);
        rest = rest.strip_prefix(mark).unwrap_or(rest);
    }
    if out == text {
        return Cow::Borrowed(text);
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

impl Answer {
    fn new(grammar: &Arc<Grammar>, options: &ChatOptions) -> Self {
        let reader = core::ChatReader::new(Arc::clone(grammar), options.clone());
        Self { reader, deltas: Vec::new(), ids: HashSet::new() }
    }

    fn take<'py>(
        &mut self,
        py: Python<'py>,
        ids: Option<&Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for delta in std::mem::take(&mut self.deltas) {
            let dict = PyDict::new(py);
            match delta {
                Delta::Content(text) => {
                    dict.set_item(pyo3::intern!(py, "content"), to_str(py, text.as_bytes())?)?;
                }
                Delta::Reasoning(text) => {
                    let text = to_str(py, text.as_bytes())?;
                    dict.set_item(pyo3::intern!(py, "reasoning_content"), text)?;
                }
                Delta::Call(index, call) => {
                    let made = self.call(py, ids, &call)?;
                    dict.set_item("tool_calls", numbered(index, &made)?)?;
                }
                Delta::Begin { index, name, id, args } => {
                    let made = self.made(py, ids, &name, id.as_deref(), &args)?;
                    dict.set_item("tool_calls", numbered(index, &made)?)?;
                }
                Delta::Args(index, args) => {
                    let function = PyDict::new(py);
                    function.set_item("arguments", args)?;
                    let made = PyDict::new(py);
                    made.set_item("function", function)?;
                    dict.set_item("tool_calls", numbered(index, &made)?)?;
                }
                Delta::Broken => {
                    let error = PyDict::new(py);
                    error.set_item("message", BROKEN)?;
                    error.set_item("type", "invalid_model_output")?;
                    error.set_item("code", "broken_call")?;
                    dict.set_item("error", error)?;
                }
                _ => unreachable!("the core has no other"),
            }
            list.append(dict)?;
        }
        Ok(list)
    }

    /// The whole message.
    fn message<'py>(
        &mut self,
        py: Python<'py>,
        ids: Option<&Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (mut content, mut reasoning) = (Vec::new(), Vec::new());
        let calls = PyList::empty(py);
        for delta in std::mem::take(&mut self.deltas) {
            match delta {
                Delta::Content(text) => content.extend_from_slice(text.as_bytes()),
                Delta::Reasoning(text) => reasoning.extend_from_slice(text.as_bytes()),
                Delta::Call(_, call) => calls.append(self.call(py, ids, &call)?)?,
                // A whole text is read without the others.
                _ => {}
            }
        }
        let message = PyDict::new(py);
        message.set_item("role", "assistant")?;
        let content = (!content.is_empty()).then(|| to_str(py, &content)).transpose()?;
        message.set_item("content", content)?;
        if !reasoning.is_empty() {
            message.set_item("reasoning_content", to_str(py, &reasoning)?)?;
        }
        if !calls.is_empty() {
            message.set_item("tool_calls", calls)?;
        }
        Ok(message)
    }

    fn call<'py>(
        &mut self,
        py: Python<'py>,
        ids: Option<&Py<PyAny>>,
        call: &Call,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.made(py, ids, call.name_json(), call.id_json(), &strict_json(call.arguments()))
    }

    /// A call with this name and id, which are JSON strings, and these arguments.
    fn made<'py>(
        &mut self,
        py: Python<'py>,
        ids: Option<&Py<PyAny>>,
        name: &str,
        id: Option<&str>,
        args: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        let own = id.map(|id| unescaped(id.as_bytes()).to_string());
        let id = match own.filter(|id| !self.ids.contains(id)) {
            Some(id) => id,
            None => match ids {
                Some(make) => make.bind(py).call0()?.extract()?,
                None => format!("call_{}", uuid7(py)?.replace('-', "")),
            },
        };
        self.ids.insert(id.clone());
        let function = PyDict::new(py);
        let name = unescaped(name.as_bytes());
        function.set_item("name", to_str(py, name.as_bytes())?)?;
        function.set_item("arguments", args)?;
        let dict = PyDict::new(py);
        dict.set_item("id", id)?;
        dict.set_item("type", "function")?;
        dict.set_item("function", function)?;
        Ok(dict)
    }
}

/// The list that a delta has of one call.
fn numbered<'py>(index: usize, call: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyList>> {
    let py = call.py();
    let shown = PyDict::new(py);
    shown.set_item("index", index)?;
    shown.update(call.as_mapping())?;
    PyList::new(py, [shown])
}

/// The delta of a chunk that is one just as it is.
fn passed(run: TextRun, text: Bound<'_, PyString>) -> PyResult<Bound<'_, PyList>> {
    let py = text.py();
    let dict = PyDict::new(py);
    let key = match run {
        TextRun::Think => pyo3::intern!(py, "reasoning_content"),
        TextRun::Respond | TextRun::Result => pyo3::intern!(py, "content"),
    };
    dict.set_item(key, text)?;
    PyList::new(py, [dict])
}
