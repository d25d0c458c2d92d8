//! The system prompt, and the estimate of a prompt's tokens.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use super::convert::bytes_of;
use super::declared::{ListedTool, with_tools};
use super::dialect::written_of;
use cogency_rs::context as core;
use cogency_rs::dialect::ToolsPlace;
use cogency_rs::protocol::canonical::json_string_length;
use cogency_rs::protocol::write::Renderer;

/// The tokens of messages, estimated as the package does (`estimate_tokens`): a quarter of each text's characters, rounded up. The
/// text of a message with calls ends with these, as JSON. And the messages that are something else.
///
/// # Complexity
/// O(messages), and O(text) of their calls
#[pyfunction]
pub fn estimated_tokens<'py>(
    messages: &Bound<'py, PyAny>,
) -> PyResult<(usize, Bound<'py, PyList>)> {
    const CHARACTERS_OF_A_TOKEN: usize = 4;
    let others = PyList::empty(messages.py());
    let mut tokens = 0;
    for message in messages.try_iter()? {
        let message = message?;
        match message.cast_exact::<PyDict>().ok().map(characters).transpose()?.flatten() {
            Some(characters) => tokens += characters.div_ceil(CHARACTERS_OF_A_TOKEN),
            None => others.append(message)?,
        }
    }
    Ok((tokens, others))
}

/// How many characters the text of a message has; `None` if Python has to tell.
fn characters(message: &Bound<'_, PyDict>) -> PyResult<Option<usize>> {
    let py = message.py();
    let Some(content) = message.get_item(pyo3::intern!(py, "content"))? else { return Ok(None) };
    let Ok(content) = content.cast_exact::<PyString>() else { return Ok(None) };
    let calls = message.get_item(pyo3::intern!(py, "tool_calls"))?;
    let calls = match calls.filter(|calls| !calls.is_none()) {
        Some(calls) => json_length(&calls)?,
        None => Some(0),
    };
    let content = content.len()?;
    Ok(calls.map(|calls| content + calls))
}

/// How many characters `json.dumps` writes for lists and dicts of texts that are not empty; `None` for any other value.
fn json_length(value: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    /// Each item has two characters after it or around it.
    const FRAME: usize = 2;
    let mut length = 0;
    if let Ok(text) = value.cast_exact::<PyString>() {
        return Ok(Some(json_string_length(&bytes_of(text)?)));
    } else if let Ok(list) = value.cast_exact::<PyList>() {
        for item in list {
            let Some(item) = json_length(&item)? else { return Ok(None) };
            length += item + FRAME;
        }
    } else if let Ok(dict) = value.cast_exact::<PyDict>() {
        for (key, value) in dict {
            let (Some(key), Some(value)) = (json_length(&key)?, json_length(&value)?) else {
                return Ok(None);
            };
            length += key + FRAME + value + FRAME;
        }
    }
    Ok(Some(length).filter(|length| *length > 0))
}

/// The parts of a system prompt.
#[pyclass(frozen, module = "cogency_rs")]
pub struct PromptParts(core::PromptParts);

#[pymethods]
impl PromptParts {
    #[getter]
    fn identity(&self) -> &str {
        &self.0.identity
    }

    #[getter]
    fn calls(&self) -> &str {
        &self.0.calls
    }

    #[getter]
    fn instructions(&self) -> &str {
        &self.0.instructions
    }

    #[getter]
    fn tools(&self) -> &str {
        &self.0.tools
    }

    #[getter]
    fn place(&self) -> &'static str {
        match self.0.place {
            ToolsPlace::AfterSystem => "after_system",
            ToolsPlace::BeforeSystem => "before_system",
            ToolsPlace::OwnSystem => "own_system",
            ToolsPlace::User => "user",
            _ => unreachable!("the core has no other"),
        }
    }

    #[getter]
    fn text(&self) -> String {
        self.0.text()
    }

    fn placed(&self) -> (Vec<String>, String) {
        self.0.placed()
    }
}

/// The parts of a system prompt for tools given as `(name, line, description, schema)`.
#[pyfunction]
#[pyo3(signature = (tools, identity=None, instructions=None, dialect=None))]
#[pyo3(text_signature = "(tools, identity=None, instructions=None, dialect='cogency')")]
pub fn prompt_parts(
    py: Python<'_>,
    tools: Vec<ListedTool<'_>>,
    identity: Option<&str>,
    instructions: Option<&str>,
    dialect: Option<&Bound<'_, PyAny>>,
) -> PyResult<PromptParts> {
    let renderer = Renderer::new(written_of(dialect)?);
    with_tools(py, &renderer, &tools, |tools| {
        PromptParts(core::PromptParts::new(&renderer, tools, identity, instructions))
    })
}
