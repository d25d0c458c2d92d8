//! `Dialect`, and the dialects and tools that a reader is given.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock};

use pyo3::exceptions::{PyRecursionError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyType};
use serde_json::Value;

use super::convert::{bytes_of, count_of, dumps, json, to_str};
use super::declared::{ListedTool, with_tools};
use super::error::{ConfigError, refused, wrong_type};
use super::grammar::{self, CallGrammar, Wanted};
use super::json::value_of;
use super::results::outcome_of;
use cogency_rs::context::{Tags, declared, shown_results};
use cogency_rs::detect::{Detected, Source, detect, detect_path};
use cogency_rs::dialect as core;
use cogency_rs::dialect::presets;
use cogency_rs::dialect::template::from_response_template;
use cogency_rs::execution::arguments::as_json_schema;
use cogency_rs::protocol::results::{ResultItem, results_array};
use cogency_rs::protocol::stored::ShownCall;
use cogency_rs::protocol::write::{Renderer, TurnPart, marks_of};
use cogency_rs::protocol::{Grammar, Tools};

/// How a model writes its calls.
#[pyclass(frozen, eq, hash, module = "cogency_rs")]
pub struct Dialect {
    inner: Arc<core::Dialect>,
    /// The grammar, made when the dialect is first read.
    grammar: OnceLock<Arc<Grammar>>,
}

impl PartialEq for Dialect {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl Hash for Dialect {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.name.hash(state);
    }
}

#[pymethods]
impl Dialect {
    #[new]
    #[pyo3(signature = (name))]
    fn new(name: &Bound<'_, PyAny>) -> PyResult<Self> {
        let wrong = |_| refused("name", name, "the name of a dialect (a str)");
        preset(&name.cast::<PyString>().map_err(wrong)?.to_string_lossy()).map(Self::of)
    }

    /// Lets pydantic take a dialect as a field.
    #[classmethod]
    fn __get_pydantic_core_schema__<'py>(
        cls: &Bound<'py, PyType>,
        source: &Bound<'py, PyAny>,
        handler: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = (source, handler);
        let fields = cls.py().import("cogency_rs.loading")?;
        fields.call_method1("dialect_field", (cls,))
    }

    /// The names of the presets.
    #[staticmethod]
    fn presets() -> Vec<&'static str> {
        presets::names().collect()
    }

    #[staticmethod]
    fn from_dict(fields: &Bound<'_, PyAny>) -> PyResult<Self> {
        let wrong = |_| refused("fields", fields, "a dict, as to_dict() gives it");
        let fields = fields.cast::<PyDict>().map_err(wrong)?;
        let wrong = |fault: String| ConfigError::new_err(format!("this is not a dialect: {fault}"));
        let value = written_value(fields, wrong)?;
        let inner = core::Dialect::from_json(value).map_err(|error| wrong(error.to_string()))?;
        Ok(Self::of(Arc::new(inner)))
    }

    #[staticmethod]
    fn from_response_template(template: &Bound<'_, PyAny>) -> PyResult<Self> {
        let wrong = |_| refused("template", template, "a dict");
        let template = template.cast::<PyDict>().map_err(wrong)?;
        let wrong = |fault| ConfigError::new_err(format!("this is not a template: {fault}"));
        let dialect = from_response_template(&written_value(template, wrong)?);
        let dialect = dialect.map_err(|error| ConfigError::new_err(error.to_string()))?;
        Ok(Self::of(Arc::new(dialect)))
    }

    #[staticmethod]
    fn detect(source: &Bound<'_, PyAny>) -> PyResult<Option<Detection>> {
        detected(source)
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = serde_json::to_string(&*self.inner)
            .map_err(|error| ConfigError::new_err(error.to_string()))?;
        json(py)?.call_method1("loads", (to_str(py, text.as_bytes())?,))
    }

    fn call_marks(&self) -> (Vec<&str>, Vec<&str>) {
        let [open, close] = self.inner.calls.marks().map(|marks| {
            let texts: Vec<&str> = marks.into_iter().map(|mark| &**mark).collect();
            texts
        });
        (open, close)
    }

    #[pyo3(signature = (calls, *, tools=None))]
    fn write_calls<'py>(
        &self,
        calls: &Bound<'py, PyAny>,
        tools: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyString>> {
        let renderer = Renderer::new(Arc::clone(&self.inner));
        let shown = shown_calls(Some(calls), &renderer, 0)?;
        let written = renderer.exactly(&shown, true, tools_of(tools)?.as_ref());
        let written = written.map_err(|fault| ConfigError::new_err(fault.to_string()))?;
        to_str(calls.py(), written.as_bytes())
    }

    #[pyo3(signature = (content=None, *, reasoning=None, calls=None, tools=None, first=None))]
    #[pyo3(
        text_signature = "($self, content=None, *, reasoning=None, calls=None, tools=None, first=0)"
    )]
    fn write_turn<'py>(
        &self,
        py: Python<'py>,
        content: Option<&Bound<'py, PyString>>,
        reasoning: Option<&Bound<'py, PyString>>,
        calls: Option<&Bound<'py, PyAny>>,
        tools: Option<&Bound<'py, PyAny>>,
        first: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyString>> {
        let first = number_of_first(first)?;
        let renderer = Renderer::new(Arc::clone(&self.inner));
        let calls = shown_calls(calls, &renderer, first)?;
        if let Err(fault) = renderer.exactly(&calls, true, tools_of(tools)?.as_ref()) {
            return Err(ConfigError::new_err(fault.to_string()));
        }
        let text = |text: Option<&Bound<'py, PyString>>| {
            text.map_or(Ok(Vec::new()), |text| Ok::<_, PyErr>(bytes_of(text)?.into_owned()))
        };
        let (content, reasoning) = (text(content)?, text(reasoning)?);
        let parts = [
            (!reasoning.is_empty()).then_some(TurnPart::Thought(&reasoning)),
            (!content.is_empty()).then_some(TurnPart::Words(&content)),
            (!calls.is_empty()).then_some(TurnPart::Calls(&calls)),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        to_str(py, renderer.turn(&parts).unwrap_or_default().as_bytes())
    }

    #[pyo3(signature = (results, *, calls=None, first=None))]
    #[pyo3(text_signature = "($self, results, *, calls=None, first=0)")]
    fn write_results<'py>(
        &self,
        results: &Bound<'py, PyAny>,
        calls: Option<&Bound<'py, PyAny>>,
        first: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyString>> {
        let first = number_of_first(first)?;
        let renderer = Renderer::new(Arc::clone(&self.inner));
        let calls = shown_calls(calls, &renderer, first)?;
        let mut names = calls.iter().map(|call| call.name.clone());
        let items: PyResult<Vec<_>> = results
            .try_iter()?
            .map(|result| {
                let tool = names.next().unwrap_or_else(|| "\"\"".into());
                Ok(ResultItem { tool, outcome: outcome_of(&result?)? })
            })
            .collect();
        let array = results_array(&items?).into_bytes();
        let shown = shown_results(&[Cow::Owned(array)], &calls, &renderer, Tags::Escaped);
        to_str(results.py(), shown.as_bytes())
    }

    fn declare(&self, tools: &Bound<'_, PyAny>) -> PyResult<String> {
        let listed = tools.py().import("cogency_rs.context.assembly")?.getattr("listed_tool")?;
        let listed: PyResult<Vec<ListedTool<'_>>> =
            tools.try_iter()?.map(|tool| listed.call1((tool?,))?.extract()).collect();
        let renderer = Renderer::new(Arc::clone(&self.inner));
        with_tools(tools.py(), &renderer, &listed?, |tools| declared(&renderer, tools))
    }

    #[pyo3(signature = (tools, *, form="gbnf", calls="auto", parallel=true, reasoning="auto"))]
    fn grammar(
        &self,
        tools: &Bound<'_, PyAny>,
        form: &str,
        calls: &str,
        parallel: bool,
        reasoning: &str,
    ) -> PyResult<CallGrammar> {
        // What cogency's flat form says of arguments is less than the JSON Schema of a tool that has both.
        let full = tools.py().import("cogency_rs.tools.registry")?.getattr("json_schema_of")?;
        let declared: PyResult<Vec<_>> = (tools.try_iter()?)
            .map(|tool| {
                let tool = tool?;
                let (name, schema) = tool_of(&tool)?;
                let full = full.call1((tool,))?;
                let schema = if full.is_none() { schema } else { schema_of(&name, &full)? };
                Ok((name, schema))
            })
            .collect();
        let wanted = Wanted { form, calls, parallel, reasoning };
        grammar::made(tools.py(), &self.reading(), &declared?, &wanted)
    }

    fn inert<'py>(&self, text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
        match marks_of(&self.inner).inert(&bytes_of(text)?) {
            Cow::Borrowed(_) => Ok(text.clone()),
            Cow::Owned(shown) => to_str(text.py(), &shown),
        }
    }

    fn exact<'py>(&self, text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
        match marks_of(&self.inner).exact(&bytes_of(text)?) {
            Cow::Borrowed(_) => Ok(text.clone()),
            Cow::Owned(meant) => to_str(text.py(), &meant),
        }
    }

    #[pyo3(signature = (**changes))]
    fn replace(&self, py: Python<'_>, changes: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let fields = self.to_dict(py)?.cast_into::<PyDict>()?;
        if let Some(changes) = changes {
            for field in SHOWN_IN_A_WORDING {
                if changes.contains(field)? {
                    let prompt = fields.as_any().get_item("prompt")?;
                    prompt.set_item("wording", py.None())?;
                }
            }
            fields.update(changes.as_mapping())?;
        }
        Self::from_dict(&fields)
    }

    #[pyo3(signature = (**changes))]
    fn __replace__(&self, py: Python<'_>, changes: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        self.replace(py, changes)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    #[getter]
    fn models(&self) -> &str {
        &self.inner.models
    }

    #[getter]
    fn stop(&self) -> Vec<&str> {
        self.inner.stop.iter().map(|stop| &**stop).collect()
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let make = py.get_type::<Self>().getattr("from_dict")?;
        Ok((make, PyTuple::new(py, [self.to_dict(py)?])?))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let is_preset =
            presets::preset(&self.inner.name).is_some_and(|preset| preset == self.inner);
        if is_preset {
            return Ok(format!("Dialect({:?})", self.inner.name));
        }
        Ok(format!("Dialect.from_dict({})", self.to_dict(py)?.repr()?))
    }
}

/// What the words of a template show of a dialect: where it is another, they would be wrong.
const SHOWN_IN_A_WORDING: [&str; 2] = ["calls", "heads"];

impl Dialect {
    fn of(inner: Arc<core::Dialect>) -> Self {
        Self { inner, grammar: OnceLock::new() }
    }

    fn reading(&self) -> Arc<Grammar> {
        let make = || Arc::new(Grammar::new(vec![Arc::clone(&self.inner)]));
        Arc::clone(self.grammar.get_or_init(make))
    }
}

/// The dialect of a chat template, and the evidence for it.
#[pyclass(frozen, module = "cogency_rs")]
pub struct Detection {
    #[pyo3(get)]
    dialect: Py<Dialect>,
    #[pyo3(get)]
    evidence: Vec<String>,
    #[pyo3(get)]
    doubts: Vec<String>,
}

#[pymethods]
impl Detection {
    fn __repr__(&self) -> String {
        let name = &self.dialect.get().inner.name;
        format!("Detection({name:?}, evidence={:?}, doubts={:?})", self.evidence, self.doubts)
    }
}

/// The dialect of a template's text, a tokenizer's configuration, or a file or folder. The interpreter is free meanwhile.
fn detected(source: &Bound<'_, PyAny>) -> PyResult<Option<Detection>> {
    let py = source.py();
    let found: Option<Detected> = if let Ok(text) = source.cast::<PyString>() {
        let source = Source::of(text.to_string_lossy());
        if !source.has_tags() {
            let why = "this is not a chat template, since it has no tag; give the path of a file as a pathlib.Path";
            return Err(ConfigError::new_err(why));
        }
        py.detach(|| detect(&source))
    } else if let Ok(configuration) = source.cast::<PyDict>() {
        let wrong =
            |fault| ConfigError::new_err(format!("this is not a tokenizer_config.json: {fault}"));
        let configuration = written_value(configuration, wrong)?;
        let source = Source::of_configuration(&configuration).ok_or_else(|| {
            ConfigError::new_err("this tokenizer_config.json has no chat_template")
        })?;
        py.detach(|| detect(&source))
    } else {
        let expected = "the text of a chat template, a dict as in tokenizer_config.json, or a path";
        let path: std::path::PathBuf =
            source.extract().map_err(|_| refused("source", source, expected))?;
        let found = py.detach(|| detect_path(&path));
        found.map_err(|error| ConfigError::new_err(error.to_string()))?
    };
    let Some(Detected { dialect, evidence, doubts, .. }) = found else { return Ok(None) };
    Ok(Some(Detection { dialect: Py::new(py, Dialect::of(dialect))?, evidence, doubts }))
}

fn preset(name: &str) -> PyResult<Arc<core::Dialect>> {
    presets::preset(name).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> PyErr {
    let error = Python::attach(|py| {
        let dialects = py.import("cogency_rs.guards.arguments")?;
        dialects.call_method1("unknown", (name,)).map(PyErr::from_value)
    });
    error.unwrap_or_else(|error| error)
}

/// The number of the first call in its conversation.
fn number_of_first(first: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
    first.map_or(Ok(0), |first| count_of("first", first))
}

/// The grammar of `dialect`: a name, a [`Dialect`], or several of these; cogency's if it is left out.
pub fn grammar_of(dialect: Option<&Bound<'_, PyAny>>) -> PyResult<Arc<Grammar>> {
    let Some(dialect) = dialect else { return grammar_named("cogency") };
    if let Ok(name) = dialect.cast::<PyString>() {
        return grammar_named(&name.to_string_lossy());
    }
    if let Ok(dialect) = dialect.cast::<Dialect>() {
        return Ok(dialect.get().reading());
    }
    let dialects = dialects_of(dialect)?;
    Ok(kept(dialects))
}

/// The marks at which a call may begin, or the answer end.
#[pyfunction]
pub fn turning_marks(dialect: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let grammar = grammar_of(Some(dialect))?;
    Ok(grammar.turning_marks().iter().map(ToString::to_string).collect())
}

fn grammar_named(name: &str) -> PyResult<Arc<Grammar>> {
    Grammar::preset(name).ok_or_else(|| unknown(name))
}

/// The dialect to write in: the first that `dialect` names; cogency's if it is left out.
pub fn written_of(dialect: Option<&Bound<'_, PyAny>>) -> PyResult<Arc<core::Dialect>> {
    let Some(dialect) = dialect else { return preset("cogency") };
    Ok(Arc::clone(&dialects_of(dialect)?[0]))
}

/// The dialects that an argument names. The first of them is the one that is written.
pub fn dialects_of(dialect: &Bound<'_, PyAny>) -> PyResult<Vec<Arc<core::Dialect>>> {
    if let Ok(name) = dialect.cast::<PyString>() {
        return Ok(vec![preset(&name.to_string_lossy())?]);
    }
    if let Ok(dialect) = dialect.cast::<Dialect>() {
        return Ok(vec![Arc::clone(&dialect.get().inner)]);
    }
    let wanted = "a dialect's name, a Dialect, or a tuple of these";
    let wrong = || refused("dialect", dialect, wanted);
    if !dialect.is_instance_of::<PyTuple>() && !dialect.is_instance_of::<PyList>() {
        return Err(wrong());
    }
    let mut dialects = Vec::new();
    for item in dialect.try_iter()? {
        let item = item?;
        if item.is_instance_of::<PyTuple>() || item.is_instance_of::<PyList>() {
            return Err(wrong());
        }
        dialects.extend(dialects_of(&item)?);
    }
    if dialects.is_empty() {
        return Err(ConfigError::new_err("dialect must name at least one"));
    }
    Ok(dialects)
}

/// How many grammars of several dialects are kept.
const KEPT: usize = 32;

/// The grammar of these dialects, from the last [`KEPT`] that were made.
fn kept(dialects: Vec<Arc<core::Dialect>>) -> Arc<Grammar> {
    static GRAMMARS: Mutex<Vec<Arc<Grammar>>> = Mutex::new(Vec::new());
    let mut grammars = GRAMMARS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = grammars.iter().find(|known| known.dialects == dialects) {
        return Arc::clone(known);
    }
    let grammar = Arc::new(Grammar::new(dialects));
    if grammars.len() == KEPT {
        grammars.remove(0);
    }
    grammars.push(Arc::clone(&grammar));
    grammar
}

/// The schemas of tools, read once.
#[pyclass(frozen, module = "cogency_rs._core")]
pub struct ToolSchemas {
    inner: Arc<Tools>,
}

#[pymethods]
impl ToolSchemas {
    #[new]
    fn new(tools: &Bound<'_, PyAny>) -> PyResult<Self> {
        let read: PyResult<Vec<_>> = tools.try_iter()?.map(|tool| tool_of(&tool?)).collect();
        let read = read?;
        Ok(Self { inner: tools.py().detach(|| Arc::new(Tools::new(read))) })
    }
}

/// The tools that a parser is given: a `ToolSchemas`, or tools.
pub fn tools_of(tools: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Arc<Tools>>> {
    let Some(tools) = tools else { return Ok(None) };
    if let Ok(schemas) = tools.cast::<ToolSchemas>() {
        return Ok(Some(Arc::clone(&schemas.get().inner)));
    }
    ToolSchemas::new(tools).map(|schemas| Some(schemas.inner))
}

/// A tool's name and the JSON Schema of its parameters. `tool` is a tool object, or a declaration in one of the usual forms.
fn tool_of(tool: &Bound<'_, PyAny>) -> PyResult<(String, Value)> {
    let wanted = "tools, or dicts with a \"name\" and \"parameters\"";
    if let Ok(declared) = tool.cast::<PyDict>() {
        let inner = declared.get_item("function")?;
        let inner =
            inner.as_ref().and_then(|inner| inner.cast::<PyDict>().ok()).unwrap_or(declared);
        let name = inner.get_item("name")?.ok_or_else(|| wrong_type("tools", wanted, tool))?;
        let schema = ["parameters", "input_schema", "inputSchema"];
        let schema = schema.into_iter().find_map(|key| inner.get_item(key).ok().flatten());
        let name = tool_name(&name)?;
        let schema = schema.map_or(Ok(Value::Null), |schema| schema_of(&name, &schema))?;
        return Ok((name, schema));
    }
    let name = tool.getattr("name").map_err(|_| wrong_type("tools", wanted, tool))?;
    let schema = tool.getattr("schema").map_err(|_| wrong_type("tools", wanted, tool))?;
    let name = tool_name(&name)?;
    let schema = as_json_schema(schema_of(&name, &schema)?);
    Ok((name, schema))
}

/// The schema of the tool of this name; an error says whose it is.
fn schema_of(name: &str, schema: &Bound<'_, PyAny>) -> PyResult<Value> {
    value_of(schema).map_err(|error| {
        let py = schema.py();
        if !error.is_instance_of::<ConfigError>(py) {
            return error;
        }
        ConfigError::new_err(format!("the schema of tool {name:?}: {}", error.value(py)))
    })
}

fn tool_name(name: &Bound<'_, PyAny>) -> PyResult<String> {
    name.extract().map_err(|_| refused("a tool's name", name, "text without lone surrogates"))
}

/// `ToolCall`s, ready to be written, of which the first has this number in the conversation; each has an id, if the dialect
/// needs ids.
fn shown_calls(
    calls: Option<&Bound<'_, PyAny>>,
    renderer: &Renderer,
    first: usize,
) -> PyResult<Vec<ShownCall>> {
    let Some(calls) = calls else { return Ok(Vec::new()) };
    let shown: PyResult<Vec<_>> = calls.try_iter()?.map(|call| shown(&call?)).collect();
    let mut shown = shown?;
    renderer.give_ids(&mut shown, first);
    Ok(shown)
}

/// A `ToolCall`, ready to be written.
///
/// # Errors
/// Whatever `json.dumps` raises for arguments that JSON cannot hold.
fn shown(call: &Bound<'_, PyAny>) -> PyResult<ShownCall> {
    let text = |field: &str, value: &Bound<'_, PyAny>| {
        let is_text = value.is_instance_of::<PyString>();
        let wrong = || wrong_type(&format!("the {field} of a call"), "str", value);
        if is_text { dumps(value) } else { Err(wrong()) }
    };
    let optional = |field: &str| {
        let value = call.getattr(field)?;
        (!value.is_none()).then(|| text(field, &value)).transpose()
    };
    let wrong = |_| refused("calls", call, "a list of ToolCalls");
    let args = call.getattr("args").map_err(wrong)?;
    if !args.is_instance_of::<PyDict>() {
        return Err(wrong_type("the args of a call", "dict", &args));
    }
    Ok(ShownCall {
        name: text("name", &call.getattr("name")?)?,
        args: dumps(&args)?,
        id: optional("id")?,
        server: optional("server")?,
    })
}

/// A Python value as JSON; `wrong` makes the error for what JSON cannot hold.
fn written_value(value: &Bound<'_, PyAny>, wrong: impl Fn(String) -> PyErr) -> PyResult<Value> {
    value_of(value).map_err(|error| {
        let py = value.py();
        let is_about_value = error.is_instance_of::<PyTypeError>(py)
            || error.is_instance_of::<PyValueError>(py)
            || error.is_instance_of::<PyRecursionError>(py)
            || error.is_instance_of::<ConfigError>(py);
        if is_about_value { wrong(error.value(py).to_string()) } else { error }
    })
}
