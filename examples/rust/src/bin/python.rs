//! A conversation over HTTP whose tools are Python's: `BASE_URL=… MODEL=… cargo run --features python --bin python`.

use std::error::Error;
use std::ffi::CString;

use cogency_agent::TurnSetup;
use cogency_agent::execution::{FunctionTool, Toolbox};
use cogency_agent::python::LoopThread;
use cogency_rs::context::{Tool, system_prompt};
use cogency_rs::execution::arguments::{ArgumentSchema, SchemaForm};
use cogency_rs::protocol::Grammar;
use cogency_rs::protocol::write::Renderer;
use cogency_rs_examples::Service;
use pyo3::prelude::*;
use serde_json::{Value, json};

/// A tool of the module, and its declaration for the model.
struct Declared {
    tool: FunctionTool,
    line: String,
    declaration: Value,
}

/// The tools in `TOOLS` of `tools.py`, which is next to this file.
fn load(py: Python<'_>, asyncio: &LoopThread) -> Result<Vec<Declared>, Box<dyn Error>> {
    let code = CString::new(include_str!("tools.py"))?;
    let module = PyModule::from_code(py, &code, c"tools.py", c"tools")?;
    let json = py.import("json")?;
    let mut declared = Vec::new();
    for entry in module.getattr("TOOLS")?.try_iter()? {
        let (function, parameters): (Bound<'_, PyAny>, Bound<'_, PyAny>) = entry?.extract()?;
        let name: String = function.getattr("__name__")?.extract()?;
        let description: String = function.getattr("__doc__")?.extract()?;
        let parameters: String = json.call_method1("dumps", (parameters,))?.extract()?;
        let parameters: Value = serde_json::from_str(&parameters)?;
        let schema = ArgumentSchema::new(&parameters, SchemaForm::of(&parameters))?;
        let line = format!("{name}: {description}");
        let function_json =
            json!({"name": name, "description": description, "parameters": parameters});
        declared.push(Declared {
            tool: asyncio.event_loop().tool(&function)?.with_schema(schema),
            line,
            declaration: json!({"type": "function", "function": function_json}),
        });
    }
    Ok(declared)
}

fn main() -> Result<(), Box<dyn Error>> {
    Python::initialize();
    let asyncio = Python::attach(LoopThread::start)?;
    let declared = Python::attach(|py| load(py, &asyncio))?;
    let grammar = Grammar::preset("hermes").expect("a row of the table");
    let tools = Toolbox::of(declared.iter().map(|one| one.tool.clone()))?;
    let setup = TurnSetup::new(grammar, tools.clone());

    let shown = tools.names().zip(&declared).map(|(name, one)| Tool {
        name,
        line: &one.line,
        declared: &one.declaration,
    });
    let renderer = Renderer::new(setup.folding.dialect.clone());
    let system = system_prompt(&renderer, &shown.collect::<Vec<_>>(), None, None);
    let service = Service::from_environment()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(service.converse(&setup, &system, "How warm is it in Oslo?"))?;
    asyncio.close();
    Ok(())
}
