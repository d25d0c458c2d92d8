//! The only room that knows Python: one file for each room of the core, as thin as it can be.
//!
//! A class has the name that Python programs know it by. If the core has a type of that name, the class holds it as `inner`.

#![allow(clippy::needless_pass_by_value, reason = "arguments of Python functions arrive by value")]

mod argument_values;
mod arguments;
#[expect(unsafe_code, reason = "it calls what is in the slots of C types")]
mod awaitable;
mod chat;
mod clock;
mod context;
mod convert;
mod declared;
mod dialect;
mod difference;
mod error;
mod events;
mod execution;
mod folding;
mod grammar;
mod ids;
mod item_sink;
mod json;
mod json_object;
mod net;
mod options;
mod protocol;
mod reader;
mod results;
mod rows;
mod source;
mod turn;
mod wire;

use pyo3::prelude::*;

/// The extension module `cogency_rs._core`.
///
/// On a free-threaded Python it re-enables the GIL, until every test has been run without it.
#[pymodule(gil_used = true)]
mod _core {
    #[pymodule_export]
    use super::argument_values::ArgumentValues;
    #[pymodule_export]
    use super::arguments::ArgumentSchema;
    #[pymodule_export]
    use super::chat::ChatReader;
    #[pymodule_export]
    use super::clock::hand_in_clock;
    #[pymodule_export]
    use super::context::{PromptParts, estimated_tokens, prompt_parts};
    #[pymodule_export]
    use super::dialect::Detection;
    #[pymodule_export]
    use super::dialect::{Dialect, ToolSchemas, turning_marks};
    #[pymodule_export]
    use super::difference::line_difference;
    #[pymodule_export]
    use super::execution::Schedule;
    #[pymodule_export]
    use super::folding::{FoldOptions, Folding, to_messages};
    #[pymodule_export]
    use super::grammar::CallGrammar;
    #[pymodule_export]
    use super::ids::{forget_random_numbers, uuid7};
    #[pymodule_export]
    use super::json::check_json;
    #[pymodule_export]
    use super::json_object::{FieldText, JsonFault, ObjectReader};
    #[pymodule_export]
    use super::net::{Exchange, HttpClient, Inbox};
    #[pymodule_export]
    use super::options::{Finish, Limits};
    #[pymodule_export]
    use super::protocol::{Parser, event_of_cut, read_block};
    #[pymodule_export]
    use super::results::format_results;
    #[pymodule_export]
    use super::source::Source;
    #[pymodule_export]
    use super::turn::{CircuitBreaker, EarlyCall, Turn, WithdrawnCalls, decide};
    #[pymodule_export]
    use super::wire::AnswerReader;

    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("BUILD", if cfg!(debug_assertions) { "debug" } else { "release" })?;
        module.add("EVENTS", super::events::kinds(module.py())?)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
