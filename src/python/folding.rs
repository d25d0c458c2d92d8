//! `to_messages`, and the fold of a growing conversation.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use pyo3::{PyTraverseError, PyVisit};

use super::convert::{bytes_of, count_of, dumps, string_of, to_str};
use super::dialect::written_of;
use super::error::ConfigError;
use super::rows::{call_of, formatted, lenient_call_of, report_of};
use cogency_rs::context::{
    self as core, Bounds, Form, Message, Passages, Role, Rules, Shown, Tags,
};
use cogency_rs::json::{Container, Scanner, Token, unescaped};
use cogency_rs::protocol::Text;
use cogency_rs::protocol::canonical::json_string;
use cogency_rs::protocol::write::Renderer;

/// Folds stored events into messages.
///
/// Events that are not rows of a log raise what they raise in cogency 3.3.0: `KeyError`, `TypeError`, `JSONDecodeError`.
#[pyfunction]
#[pyo3(signature = (events, *, escape_tags=Tags::AsStored, dialect=None))]
#[pyo3(text_signature = "(events, *, escape_tags=False, dialect='cogency')")]
pub fn to_messages<'py>(
    events: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = tags_of)] escape_tags: Tags,
    dialect: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let dialect = written_of(dialect)?;
    let options = core::FoldOptions { tags: escape_tags, dialect, ..core::FoldOptions::default() };
    let mut folding = Folding::of(options, String::new());
    folding.extend(events)?;
    folding.messages(events.py(), 0, None)
}

/// How rows become messages.
#[pyclass(frozen, eq, hash, from_py_object, module = "cogency_rs._core")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct FoldOptions {
    inner: core::FoldOptions,
    /// The service that is given back what only it can read.
    service: String,
}

#[pymethods]
impl FoldOptions {
    #[new]
    #[pyo3(signature = (
        *,
        form=Form::Text,
        rules=Rules::Own,
        escape_tags=Tags::AsStored,
        max_result_chars=None,
        tool_result_chars=None,
        tool_names=None,
        dialect=None,
        service=String::new(),
    ))]
    #[pyo3(
        text_signature = "(*, form='text', rules='own', escape_tags=False, max_result_chars=None, \
                             tool_result_chars=None, tool_names=None, dialect='cogency', service='')"
    )]
    #[allow(clippy::too_many_arguments, reason = "Python passes them by name")]
    fn new(
        #[pyo3(from_py_with = form_of)] form: Form,
        #[pyo3(from_py_with = rules_of)] rules: Rules,
        #[pyo3(from_py_with = tags_of)] escape_tags: Tags,
        max_result_chars: Option<&Bound<'_, PyAny>>,
        tool_result_chars: Option<&Bound<'_, PyDict>>,
        tool_names: Option<&Bound<'_, PyDict>>,
        dialect: Option<&Bound<'_, PyAny>>,
        service: String,
    ) -> PyResult<Self> {
        let most = max_result_chars.map(|most| count_of("max_result_chars", most));
        let mut bounds = Bounds { all: most.transpose()?, ..Bounds::default() };
        for (name, most) in tool_result_chars.into_iter().flatten() {
            bounds.tools.insert(json_name(&name)?, count_of("tool_result_chars", &most)?);
        }
        let ways = tool_names.into_iter().flatten();
        let names = ways.map(|(way, name)| Ok((json_name(&way)?, json_name(&name)?)));
        let names = names.collect::<PyResult<_>>()?;
        let dialect = written_of(dialect)?;
        let tags = escape_tags;
        let inner = core::FoldOptions { form, dialect, rules, tags, bounds, names };
        Ok(Self { inner, service })
    }

    #[getter]
    fn form(&self) -> &'static str {
        FORMS.iter().find(|(_, form)| *form == self.inner.form).map_or("text", |(name, _)| name)
    }
}

fn json_name(name: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(json_string(&bytes_of(string_of("a tool's name", name)?)?))
}

/// The forms by their names.
const FORMS: [(&str, Form); 3] =
    [("text", Form::Text), ("native", Form::Native), ("react", Form::React)];

/// A conversation that is folded while it grows.
#[pyclass(module = "cogency_rs._core")]
pub struct Folding {
    options: core::FoldOptions,
    service: String,
    renderer: Arc<Renderer>,
    passages: Passages,
    /// The complete messages.
    messages: Vec<FoldedMessage>,
    /// The indices of the messages that are the user's questions.
    questions: Vec<usize>,
    /// The calls of a form that names them, and how many of them the complete messages have.
    calls: Vec<NamedCall>,
    complete: usize,
    /// The ids of the first of these calls, as they are sent.
    ids: CallIds,
    /// Whether a call without an id came since they were named.
    lacks_ids: bool,
    /// How many pieces the assistant's open turn has.
    parts: usize,
    /// What the `TypeError` says of the open turn's first piece that is not a `str`; joining the turn will raise it.
    unjoinable: Option<String>,
}

/// A message, as far as it no longer changes.
enum FoldedMessage {
    Said(Role, Py<PyAny>),
    Calls {
        content: Py<PyString>,
        thoughts: Py<PyString>,
        arguments: Vec<Py<PyString>>,
        /// The numbers of the calls.
        calls: Range<usize>,
    },
    Result {
        call: usize,
        content: Py<PyAny>,
        is_error: bool,
    },
}

/// A call, and the ids that it may have: its own, or that of its record.
struct NamedCall {
    /// Canonical JSON.
    name: String,
    own: Option<Py<PyString>>,
    recorded: Option<Py<PyString>>,
    /// The reasoning and the rest that the service wants back with this call and those after it.
    returned: Option<(Py<PyList>, Py<PyAny>)>,
}

/// The ids of calls, from the first on. Each is different, also after what no provider takes was replaced in it.
///
/// Invariant: an id depends only on the calls before its own, so that it stays when further calls come.
#[derive(Default)]
struct CallIds {
    sent: Vec<Py<PyString>>,
    taken: HashSet<String>,
}

impl CallIds {
    /// Gives the call after these its id: that which it has, unless an earlier call has it too.
    fn give(&mut self, py: Python<'_>, call: &NamedCall) -> PyResult<()> {
        let number = self.sent.len();
        let id = match call.own.as_ref().or(call.recorded.as_ref()) {
            Some(id) if self.take(&bytes_of(id.bind(py))?) => id.clone_ref(py),
            _ => PyString::new(py, &self.made(number)).unbind(),
        };
        self.sent.push(id);
        Ok(())
    }

    /// An id that is made of the number of a call: nine letters and digits, which every provider takes.
    fn made(&mut self, number: usize) -> String {
        let mut id = format!("call{number:05}");
        let mut tries = 0;
        while !self.take(id.as_bytes()) {
            id = format!("c{tries:03}{number:05}");
            tries += 1;
        }
        id
    }

    /// Whether no earlier call has this id.
    fn take(&mut self, id: &[u8]) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let characters = String::from_utf8_lossy(id);
        let replaced = characters.chars().map(|character| match u8::try_from(character) {
            Ok(byte) if is_plain(byte) => character,
            _ => '_',
        });
        self.taken.insert(replaced.collect())
    }
}

#[pymethods]
impl Folding {
    /// A conversation at its start.
    #[new]
    fn new(options: FoldOptions) -> Self {
        Self::of(options.inner, options.service)
    }

    /// Takes further events, oldest first.
    fn extend(&mut self, events: &Bound<'_, PyAny>) -> PyResult<()> {
        for event in events.try_iter()? {
            self.event(&event?)?;
        }
        Ok(())
    }

    /// The messages of all events so far, from number `start` on, in a new list of new dicts; up to number `stop`, if that is of a
    /// complete message.
    #[pyo3(signature = (start=0, stop=None))]
    fn messages<'py>(
        &mut self,
        py: Python<'py>,
        start: usize,
        stop: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        for call in &self.calls[self.ids.sent.len()..] {
            self.ids.give(py, call)?;
        }
        let list = PyList::empty(py);
        let last_question = self.last_question();
        let complete = self.messages.len();
        let end = stop.unwrap_or(complete).min(complete);
        for (index, message) in self.messages[..end].iter().enumerate().skip(start) {
            let is_answering = last_question.is_none_or(|question| index > question);
            list.append(self.written(py, message, is_answering)?)?;
        }
        if stop.is_some_and(|stop| stop <= complete) {
            return Ok(list);
        }
        let (mut open, mut called) = (Vec::new(), self.complete);
        self.passages.open(|passage| core::show(passage, &self.options, &self.renderer, &mut open));
        self.check_joinable(&open)?;
        for shown in open {
            list.append(self.written(py, &folded(py, shown, &mut called)?, true)?)?;
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

    /// Whether a call without its own id came since `name_calls`.
    fn lacks_ids(&self) -> bool {
        self.lacks_ids
    }

    /// Gives calls the ids of their records. A history leaves out the oldest rows, so they are matched from the end.
    fn name_calls(&mut self, py: Python<'_>, records: Vec<Bound<'_, PyAny>>) -> PyResult<()> {
        self.lacks_ids = false;
        self.ids = CallIds::default();
        for (call, record) in self.calls.iter_mut().rev().zip(records.iter().rev()) {
            let text = |value: &Bound<'_, PyAny>| dumps(value);
            let name = text(&record.getattr(pyo3::intern!(py, "name"))?)?;
            let server = record.getattr(pyo3::intern!(py, "server"))?;
            let server = Some(server).filter(|server| !server.is_none());
            let server = server.as_ref().map(text).transpose()?;
            let shown = self.options.shown_name(&name, server.as_deref());
            if *shown.unwrap_or(&name) != call.name {
                break;
            }
            call.recorded = Some(record.getattr(pyo3::intern!(py, "id"))?.cast_into()?.unbind());
        }
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.messages.iter().try_for_each(|message| match message {
            FoldedMessage::Said(_, content) => visit.call(content),
            FoldedMessage::Calls { .. } | FoldedMessage::Result { .. } => Ok(()),
        })?;
        self.calls.iter().filter_map(|call| call.returned.as_ref()).try_for_each(
            |(reasoning, rest)| {
                visit.call(reasoning)?;
                visit.call(rest)
            },
        )
    }

    fn __clear__(&mut self) {
        self.messages.clear();
        self.calls.iter_mut().for_each(|call| call.returned = None);
    }
}

impl Folding {
    fn of(options: core::FoldOptions, service: String) -> Self {
        let renderer = Arc::new(Renderer::new(Arc::clone(&options.dialect)));
        let passages = Passages::new(&options, Arc::clone(&renderer));
        Self {
            options,
            service,
            renderer,
            passages,
            messages: Vec::new(),
            questions: Vec::new(),
            calls: Vec::new(),
            complete: 0,
            ids: CallIds::default(),
            lacks_ids: false,
            parts: 0,
            unjoinable: None,
        }
    }

    fn event(&mut self, event: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = event.py();
        let kind = event.get_item(pyo3::intern!(py, "type"))?;
        let Ok(kind) = kind.cast::<PyString>() else { return Ok(()) };
        let content = || event.get_item(pyo3::intern!(py, "content"));
        match kind.to_str().unwrap_or_default() {
            "user" => {
                let shown = self.showing(|passages, show| passages.user(show));
                self.add(py, shown)?;
                self.questions.push(self.messages.len());
                let content = content()?;
                let said = match parts_of(event)? {
                    Some(parts) => self.said_in_parts(&formatted(&content)?, &parts)?.into_any(),
                    None => self.said_by_user(&content)?,
                };
                self.messages.push(FoldedMessage::Said(Role::User, said.unbind()));
            }
            "think" => {
                self.passages.think(&bytes_of(&formatted(&content()?)?)?);
                self.parts += 1;
            }
            "respond" => self.respond(&content()?)?,
            "call" => self.call(event, &content()?)?,
            "result" => {
                let content = match event.cast::<PyDict>() {
                    Ok(event) => event.get_item(pyo3::intern!(py, "content"))?,
                    Err(_) => Some(event.call_method1("get", ("content", ""))?),
                };
                let first = self.result(py, content.as_ref())?;
                if let (Some(parts), Some(content)) = (parts_of(event)?, content) {
                    self.add_parts(first, &formatted(&content)?, &parts)?;
                }
            }
            "settled" => {
                let text = bytes_of(&formatted(&content()?)?)?.into_owned();
                let shown = self.showing(|passages, show| passages.settled(&text, show));
                self.add(py, shown)?;
            }
            "error" => {
                if let Some(report) = report_of(event)? {
                    self.passages.report(report);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What is shown of the passage that this step of the fold completes, if it completes one.
    fn showing(
        &mut self,
        step: impl FnOnce(&mut Passages, &mut dyn FnMut(core::Passage<'_>)),
    ) -> Vec<Shown> {
        let mut shown = Vec::new();
        let Self { options, renderer, passages, .. } = self;
        step(passages, &mut |passage| core::show(passage, options, renderer, &mut shown));
        shown
    }

    /// What a user said, as their message shows it: text, or a list of parts of which some are text. Anything else stays as it is.
    fn said_by_user<'py>(&self, content: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = content.py();
        let inert = |text: &Bound<'py, PyString>| {
            let bytes = bytes_of(text)?;
            let shown = match self.options.form {
                Form::Text => self.renderer.outside(&bytes),
                _ => self.renderer.marks().inert(&bytes),
            };
            Ok::<_, PyErr>(match shown {
                Cow::Borrowed(_) => text.clone(),
                Cow::Owned(shown) => to_str(py, &shown)?,
            })
        };
        if self.options.form != Form::Text {
            return Ok(inert(&formatted(content)?)?.into_any());
        }
        if let Ok(text) = content.cast::<PyString>() {
            return Ok(inert(text)?.into_any());
        }
        let Ok(parts) = content.cast_exact::<PyList>() else { return Ok(content.clone()) };
        let key = pyo3::intern!(py, "text");
        let (shown, mut is_changed) = (PyList::empty(py), false);
        for part in parts {
            let said = part.cast::<PyDict>().ok().map(|part| part.get_item(key)).transpose()?;
            let text = said.flatten().and_then(|said| said.cast_into::<PyString>().ok());
            let changed = text.as_ref().map(&inert).transpose()?;
            match changed.filter(|changed| !text.is_some_and(|text| text.is(changed))) {
                None => shown.append(part)?,
                Some(changed) => {
                    let part = part.cast::<PyDict>()?.copy()?;
                    part.set_item(key, changed)?;
                    shown.append(part)?;
                    is_changed = true;
                }
            }
        }
        Ok(if is_changed { shown.into_any() } else { content.clone() })
    }

    fn respond(&mut self, content: &Bound<'_, PyAny>) -> PyResult<()> {
        match (content.cast::<PyString>(), self.options.form) {
            (Ok(text), _) => self.passages.respond(&bytes_of(text)?),
            (Err(_), Form::Text) => {
                self.passages.respond(b"");
                if self.unjoinable.is_none() {
                    self.unjoinable = Some(joining_fault(content, self.parts)?);
                }
            }
            (Err(_), _) => self.passages.respond(&bytes_of(&formatted(content)?)?),
        }
        self.parts += 1;
        Ok(())
    }

    fn call(&mut self, event: &Bound<'_, PyAny>, content: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = content.py();
        if self.options.form == Form::Text {
            let call = match call_of(content) {
                // A program of another kind wrote it, or only its beginning is there: the model is shown what there is.
                Err(_)
                    if self.options.rules == Rules::Own && content.is_instance_of::<PyString>() =>
                {
                    return self.respond(content);
                }
                call => call?,
            };
            if let Some(call) = call {
                self.passages.call(call);
            }
            return Ok(());
        }
        let Some(mut call) = lenient_call_of(content)? else { return Ok(()) };
        if let Some(name) = self.options.shown_name(&call.name, call.server.as_deref()) {
            call.name.clone_from(name);
        }
        if self.options.form == Form::Native {
            let own = call.id.as_deref().map(|id| text_of(py, id)).transpose()?;
            self.lacks_ids |= own.is_none();
            let (name, own) = (call.name.clone(), own.map(Bound::unbind));
            let returned = self.returned(event)?;
            self.calls.push(NamedCall { name, own, recorded: None, returned });
        }
        self.passages.call(call);
        Ok(())
    }

    /// What the service wants back with the call of this row, if the row has that.
    fn returned(&self, row: &Bound<'_, PyAny>) -> PyResult<Option<(Py<PyList>, Py<PyAny>)>> {
        let py = row.py();
        let Some(parts) = parts_of(row)? else { return Ok(None) };
        for part in parts {
            if part.kind.eq(pyo3::intern!(py, "returned"))? {
                let module = py.import(pyo3::intern!(py, "cogency_rs.context.rows"))?;
                return module.call_method1("read_returned", (part.data, &self.service))?.extract();
            }
        }
        Ok(None)
    }

    /// Takes the results of a batch; returns the number of the first message that is new.
    fn result(&mut self, py: Python<'_>, content: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
        let text = match content {
            Some(content) if content.is_truthy()? => Some(formatted(content)?),
            _ => None,
        };
        let bytes = text.as_ref().map(|text| bytes_of(text)).transpose()?;
        let bytes = bytes.as_deref().unwrap_or_default();
        let first = self.messages.len();
        let shown = self.showing(|passages, show| passages.result(bytes, show));
        self.add(py, shown)?;
        Ok(first)
    }

    /// What a user said, with parts between its characters: text and parts in their order.
    fn said_in_parts<'py>(
        &self,
        content: &Bound<'py, PyString>,
        parts: &[RowPart<'py>],
    ) -> PyResult<Bound<'py, PyList>> {
        let (py, text) = (content.py(), bytes_of(content)?);
        let said = PyList::empty(py);
        let mut ordered: Vec<_> = parts.iter().collect();
        ordered.sort_by_key(|part| part.at);
        // Where characters begin, and after them where the text ends, for parts after all of it.
        let mut starts = character_starts(&text).chain([text.len()]).enumerate().peekable();
        let mut since = 0;
        for part in ordered {
            while starts
                .next_if(|(number, start)| *number < part.at && *start < text.len())
                .is_some()
            {}
            let end = starts.peek().map_or(text.len(), |(_, start)| *start);
            self.push_text(&said, &text[since..end])?;
            since = end;
            said.append(part.written(py)?)?;
        }
        self.push_text(&said, &text[since..])?;
        Ok(said)
    }

    /// Adds text from outside to a message of parts, unless there is none.
    fn push_text(&self, said: &Bound<'_, PyList>, text: &[u8]) -> PyResult<()> {
        if text.is_empty() {
            return Ok(());
        }
        let shown = match self.options.form {
            Form::Text => self.renderer.outside(text),
            _ => self.renderer.marks().inert(text),
        };
        said.append(text_part(to_str(said.py(), &shown)?)?)
    }

    /// Adds the parts of results to the messages from `first` on that show them: to that of each result, or to that of all.
    fn add_parts(
        &mut self,
        first: usize,
        content: &Bound<'_, PyString>,
        parts: &[RowPart<'_>],
    ) -> PyResult<()> {
        let py = content.py();
        let of_results: Vec<usize> = match self.options.form {
            Form::Native => (first..self.messages.len())
                .filter(|index| matches!(self.messages[*index], FoldedMessage::Result { .. }))
                .collect(),
            // What was found out about earlier calls comes after them.
            _ => (first..self.messages.len())
                .find(|index| matches!(self.messages[*index], FoldedMessage::Said(Role::User, _)))
                .into_iter()
                .collect(),
        };
        let Some(last) = of_results.len().checked_sub(1) else { return Ok(()) };
        let text = bytes_of(content)?;
        let begun = item_starts(&text);
        for part in parts {
            // The results of a batch are those of its last calls.
            let missing = of_results.len().saturating_sub(begun.len().max(1));
            let byte = character_starts(&text).nth(part.at).unwrap_or(text.len());
            let item = begun.partition_point(|start| *start <= byte).saturating_sub(1);
            let index = of_results[(missing + item).min(last)];
            let (FoldedMessage::Said(_, shown) | FoldedMessage::Result { content: shown, .. }) =
                &mut self.messages[index]
            else {
                continue;
            };
            let said = match shown.bind(py).cast::<PyList>() {
                Ok(said) => said.clone(),
                Err(_) => PyList::new(py, [text_part(shown.bind(py).clone().cast_into()?)?])?,
            };
            said.append(part.written(py)?)?;
            *shown = said.into_any().unbind();
        }
        Ok(())
    }

    /// Adds complete messages.
    fn add(&mut self, py: Python<'_>, shown: Vec<Shown>) -> PyResult<()> {
        self.check_joinable(&shown)?;
        for shown in shown {
            let message = folded(py, shown, &mut self.complete)?;
            if matches!(message, FoldedMessage::Said(Role::Assistant, _)) {
                self.parts = 0;
            }
            self.messages.push(message);
        }
        Ok(())
    }

    /// Fails if these messages have an assistant's turn with a piece that is not text.
    fn check_joinable(&self, shown: &[Shown]) -> PyResult<()> {
        let is_turn =
            |shown: &Shown| matches!(shown, Shown::Said(Message { role: Role::Assistant, .. }));
        match &self.unjoinable {
            Some(fault) if shown.iter().any(is_turn) => Err(PyTypeError::new_err(fault.clone())),
            _ => Ok(()),
        }
    }

    /// A message as a new dict. If it answers the last question, its calls are shown with the reasoning that led to them.
    /// What only the service can read stays with them after that.
    fn written<'py>(
        &self,
        py: Python<'py>,
        message: &FoldedMessage,
        is_answering: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let written = PyDict::new(py);
        let role = pyo3::intern!(py, "role");
        match message {
            FoldedMessage::Said(said_by, content) => {
                let name = match said_by {
                    Role::User => pyo3::intern!(py, "user"),
                    Role::Assistant => pyo3::intern!(py, "assistant"),
                };
                written.set_item(role, name)?;
                written.set_item(pyo3::intern!(py, "content"), content)?;
            }
            FoldedMessage::Calls { content, thoughts, arguments, calls } => {
                written.set_item(role, pyo3::intern!(py, "assistant"))?;
                written.set_item(pyo3::intern!(py, "content"), content)?;
                let listed = PyList::empty(py);
                for (number, arguments) in calls.clone().zip(arguments) {
                    listed.append(self.written_call(py, number, arguments)?)?;
                }
                written.set_item(pyo3::intern!(py, "tool_calls"), listed)?;
                let first = self.calls.get(calls.start).and_then(|call| call.returned.as_ref());
                if let Some((_, rest)) = first.filter(|(_, rest)| !rest.is_none(py)) {
                    written.set_item(pyo3::intern!(py, "returned"), rest)?;
                }
                if is_answering {
                    let reasoning = match first {
                        Some((reasoning, _)) => reasoning.bind(py).as_sequence().to_list()?,
                        None => PyList::empty(py),
                    };
                    if first.is_none() && !thoughts.bind(py).is_empty()? {
                        let block = PyDict::new(py);
                        block.set_item(pyo3::intern!(py, "text"), thoughts)?;
                        block.set_item(pyo3::intern!(py, "signature"), py.None())?;
                        reasoning.append(block)?;
                    }
                    written.set_item(pyo3::intern!(py, "reasoning"), reasoning)?;
                }
            }
            FoldedMessage::Result { call, content, is_error } => {
                let id = self.id(py, *call);
                written.set_item(role, pyo3::intern!(py, "tool"))?;
                written.set_item(pyo3::intern!(py, "tool_call_id"), &id)?;
                written.set_item(pyo3::intern!(py, "tool_execution_id"), id)?;
                written.set_item(pyo3::intern!(py, "is_error"), is_error)?;
                written.set_item(pyo3::intern!(py, "content"), content)?;
            }
        }
        Ok(written)
    }

    fn written_call<'py>(
        &self,
        py: Python<'py>,
        number: usize,
        arguments: &Py<PyString>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let function = PyDict::new(py);
        let name = self.calls.get(number).map(|call| sent_name(py, &call.name)).transpose()?;
        function.set_item(pyo3::intern!(py, "name"), name)?;
        function.set_item(pyo3::intern!(py, "arguments"), arguments)?;
        let call = PyDict::new(py);
        call.set_item(pyo3::intern!(py, "id"), self.id(py, number))?;
        call.set_item(pyo3::intern!(py, "type"), pyo3::intern!(py, "function"))?;
        call.set_item(pyo3::intern!(py, "function"), function)?;
        Ok(call)
    }

    /// The id of the call of this number.
    fn id<'py>(&self, py: Python<'py>, number: usize) -> Option<Bound<'py, PyString>> {
        self.ids.sent.get(number).map(|id| id.bind(py).clone())
    }
}

/// What is kept of a message. `called` is how many calls came before its own; a result is of one of the calls before it.
fn folded(py: Python<'_>, shown: Shown, called: &mut usize) -> PyResult<FoldedMessage> {
    let text = |text: Text| Ok::<_, PyErr>(to_str(py, text.as_bytes())?.unbind());
    Ok(match shown {
        Shown::Said(Message { role, content }) => {
            FoldedMessage::Said(role, text(content)?.into_any())
        }
        Shown::Calls { content, thoughts, arguments } => {
            let arguments = arguments.into_iter().map(text).collect::<PyResult<Vec<_>>>()?;
            let calls = *called..*called + arguments.len();
            let (content, thoughts) = (text(content)?, text(thoughts)?);
            FoldedMessage::Calls { content, thoughts, arguments, calls }
        }
        Shown::Result { content, is_error } => {
            *called += 1;
            FoldedMessage::Result {
                call: *called - 1,
                content: text(content)?.into_any(),
                is_error,
            }
        }
    })
}

/// What a row has besides text.
struct RowPart<'py> {
    kind: Bound<'py, PyAny>,
    media_type: Bound<'py, PyAny>,
    data: Bound<'py, PyAny>,
    /// Before which character of the row's content it is.
    at: usize,
}

impl<'py> RowPart<'py> {
    fn written(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let part = PyDict::new(py);
        part.set_item(pyo3::intern!(py, "type"), &self.kind)?;
        part.set_item(pyo3::intern!(py, "media_type"), &self.media_type)?;
        part.set_item(pyo3::intern!(py, "data"), &self.data)?;
        Ok(part)
    }
}

/// The parts of a row; `None` for most rows.
fn parts_of<'py>(row: &Bound<'py, PyAny>) -> PyResult<Option<Vec<RowPart<'py>>>> {
    let py = row.py();
    let Ok(row) = row.cast::<PyDict>() else { return Ok(None) };
    let Some(parts) = row.get_item(pyo3::intern!(py, "parts"))? else { return Ok(None) };
    if !parts.is_truthy()? {
        return Ok(None);
    }
    let part = |part: PyResult<Bound<'py, PyAny>>| {
        let (kind, media_type, data, at) = part?.extract()?;
        Ok(RowPart { kind, media_type, data, at })
    };
    parts.try_iter()?.map(part).collect::<PyResult<_>>().map(Some)
}

/// Text as a part of a message.
fn text_part(text: Bound<'_, PyString>) -> PyResult<Bound<'_, PyDict>> {
    let py = text.py();
    let part = PyDict::new(py);
    part.set_item(pyo3::intern!(py, "type"), pyo3::intern!(py, "text"))?;
    part.set_item(pyo3::intern!(py, "text"), text)?;
    Ok(part)
}

/// At which bytes the characters of a text begin.
fn character_starts(text: &[u8]) -> impl Iterator<Item = usize> + '_ {
    text.iter().enumerate().filter(|(_, byte)| **byte & 0xc0 != 0x80).map(|(start, _)| start)
}

/// At which bytes the items of the JSON array `text` begin; none for anything else.
fn item_starts(text: &[u8]) -> Vec<usize> {
    let mut scanner = Scanner::default();
    let Ok(Some(Token::Open(Container::Array))) = scanner.next(text) else { return Vec::new() };
    let (mut starts, mut depth) = (Vec::new(), 1);
    let whole = scanner.rest(text, |scanner, token| {
        let start = match token {
            Token::Close(_) => None,
            Token::String(range) | Token::Number(range) | Token::Key(range) => Some(range.start),
            Token::Open(_) => Some(scanner.position() - 1),
            Token::Word(word) => Some(scanner.position() - word.len()),
        };
        starts.extend(start.filter(|_| depth == 1));
        depth = scanner.depth();
        Some(())
    });
    whole.map(|()| starts).unwrap_or_default()
}

/// The text of a canonical JSON string.
fn text_of<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyString>> {
    to_str(py, unescaped(json.as_bytes()).as_bytes())
}

/// A call's name as it is sent. The model may have written one that no tool can have, and providers refuse such a name.
fn sent_name<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    const LONGEST: usize = 64;
    let name = &json[1..json.len() - 1];
    let is_usable = name.len() <= LONGEST
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|each| each.is_ascii_alphanumeric() || matches!(each, '_' | '-'));
    if is_usable {
        return Ok(PyString::new(py, name).into_any());
    }
    let name = text_of(py, json)?;
    py.import("cogency_rs.tools.toolbox")?.call_method1("safe_name", (&name, ("", &name)))
}

/// `escape_tags`, a `bool`.
fn tags_of(escape_tags: &Bound<'_, PyAny>) -> PyResult<Tags> {
    Ok(if escape_tags.extract::<bool>()? { Tags::Escaped } else { Tags::AsStored })
}

/// `form`, by its name.
fn form_of(form: &Bound<'_, PyAny>) -> PyResult<Form> {
    let name = form.extract::<&str>()?;
    let found = FORMS.iter().find(|(known, _)| *known == name);
    found.map(|(_, form)| *form).ok_or_else(|| {
        let names = FORMS.map(|(known, _)| format!("{known:?}")).join(", ");
        ConfigError::new_err(format!("form must be one of {names}, got {name:?}"))
    })
}

/// `rules`, by their name.
fn rules_of(rules: &Bound<'_, PyAny>) -> PyResult<Rules> {
    match rules.extract::<&str>()? {
        "own" => Ok(Rules::Own),
        "installed" => Ok(Rules::Installed),
        other => Err(ConfigError::new_err(format!(
            "rules must be \"own\" or \"installed\", got {other:?}"
        ))),
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
