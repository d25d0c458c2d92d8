//! `Dialect.grammar`: the answers that a model may write, for a server that holds it to a grammar.

use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::Value;

use super::error::{ConfigError, refused};
use cogency_rs::constrain::{self, CallChoice, GrammarError, GrammarOptions, Parallel, Reasoning};
use cogency_rs::protocol::Grammar;

/// A grammar of answers.
#[pyclass(frozen, module = "cogency_rs")]
pub struct CallGrammar {
    inner: constrain::CallGrammar,
    text: String,
}

#[pymethods]
impl CallGrammar {
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    #[getter]
    fn widened(&self) -> Vec<&str> {
        self.inner.widened().iter().map(String::as_str).collect()
    }

    fn __str__(&self) -> &str {
        &self.text
    }
}

/// The words of a program for which answers it wants.
pub struct Wanted<'a> {
    pub form: &'a str,
    pub calls: &'a str,
    pub parallel: bool,
    pub reasoning: &'a str,
}

/// The grammar of these tools in the dialect that `grammar` writes.
pub fn made(
    py: Python<'_>,
    grammar: &Grammar,
    tools: &[(String, Value)],
    wanted: &Wanted<'_>,
) -> PyResult<CallGrammar> {
    let wrong =
        |name, given, accepted| Err(refused(name, PyString::new(py, given).as_any(), accepted));
    if wanted.form != "gbnf" {
        return wrong("form", wanted.form, "\"gbnf\"");
    }
    let calls = match wanted.calls {
        "auto" => CallChoice::Auto,
        "required" => CallChoice::Required,
        "none" => CallChoice::None,
        name => CallChoice::Tool(name.to_owned()),
    };
    let reasoning = match wanted.reasoning {
        "auto" => Reasoning::Auto,
        "open" => Reasoning::Open,
        "none" => Reasoning::None,
        other => return wrong("reasoning", other, "\"auto\", \"open\" or \"none\""),
    };
    let parallel = if wanted.parallel { Parallel::Many } else { Parallel::One };
    let options = GrammarOptions { calls, parallel, reasoning };
    // Schemas may be long, and other threads run meanwhile.
    let made = py.detach(|| {
        let inner = constrain::CallGrammar::new(grammar, tools, &options)?;
        Ok(CallGrammar { text: inner.gbnf(), inner })
    });
    made.map_err(|error: GrammarError| ConfigError::new_err(error.to_string()))
}
