//! The tools that calls may mean, by their names.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::output::{ToolError, failure, shown_name};
use super::tool::Tool;
use cogency_rs::protocol::Call;
use cogency_rs::protocol::canonical::json_string;
use cogency_rs::protocol::results::CallOutcome;

/// The tools that calls may mean. A clone shares them.
#[derive(Clone, Default)]
pub struct Toolbox {
    shared: Arc<NamedTools>,
}

#[derive(Default)]
struct NamedTools {
    tools: Vec<Arc<dyn Tool>>,
    /// Places in `tools`, by the name as a call has it: a canonical JSON string.
    places: BTreeMap<String, usize>,
}

/// Two tools have the same name, so a call of that name could mean either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("two tools are named '{name}', so a call of that name could mean either: rename one")]
pub struct AmbiguousName {
    /// The name.
    pub name: String,
}

impl Toolbox {
    /// A toolbox with these tools.
    ///
    /// # Errors
    /// Two of them have the same name.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Self, AmbiguousName> {
        let mut named = NamedTools::default();
        for tool in tools {
            let name = json_string(tool.name().as_bytes());
            if named.places.insert(name, named.tools.len()).is_some() {
                return Err(AmbiguousName { name: tool.name().to_owned() });
            }
            named.tools.push(tool);
        }
        Ok(Self { shared: Arc::new(named) })
    }

    /// A toolbox with these tools of one type, such as closures.
    ///
    /// # Errors
    /// Two of them have the same name.
    pub fn of<T: Tool + 'static>(
        tools: impl IntoIterator<Item = T>,
    ) -> Result<Self, AmbiguousName> {
        Self::new(tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>))
    }

    /// The names of the tools, in the order in which they were given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.shared.tools.iter().map(|tool| tool.name())
    }

    /// The tool that a call means.
    ///
    /// # Errors
    /// It means none: the outcome of the call, which says which tools there are.
    ///
    /// # Complexity
    /// O(log n) in the number of tools
    pub fn resolve(&self, call: &Call) -> Result<&Arc<dyn Tool>, CallOutcome> {
        let NamedTools { tools, places } = &*self.shared;
        match (call.server_json(), places.get(call.name_json())) {
            (None, Some(place)) => Ok(&tools[*place]),
            _ => Err(failure(&self.missing(call))),
        }
    }

    /// The tool that a call means, if its arguments fit.
    ///
    /// # Errors
    /// The outcome of a call that cannot start.
    pub(super) fn accept(&self, call: &Call) -> Result<&Arc<dyn Tool>, CallOutcome> {
        let tool = self.resolve(call)?;
        let Some(schema) = tool.schema() else { return Ok(tool) };
        let error = match serde_json::from_str::<serde_json::Value>(call.arguments()) {
            Err(error) => ToolError::new(format!("its arguments cannot be read: {error}")),
            Ok(arguments) => match &*schema.faults((&arguments).into()) {
                [] => return Ok(tool),
                faults => ToolError::invalid_arguments(faults.join("; ")),
            },
        };
        Err(error.into_outcome(&shown_name(call.name_json())))
    }

    fn missing(&self, call: &Call) -> String {
        let name = shown_name(call.name_json());
        if let Some(server) = call.server_json().map(shown_name) {
            return format!(
                "Server '{server}' of tool '{name}' is not known. Known servers: local"
            );
        }
        let known: Vec<_> = self.names().collect();
        let known = match &*known {
            [] => String::new(),
            known => format!(". Known tools: {}", known.join(", ")),
        };
        format!("Tool '{name}' not registered{known}")
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tool::{FunctionTool, tool};
    use super::*;

    fn named(name: &str) -> FunctionTool {
        tool(name, |()| async { Ok(()) })
    }

    #[test]
    fn two_tools_of_one_name_are_refused() {
        let error = Toolbox::of([named("a"), named("b"), named("a")]).expect_err("it is ambiguous");
        assert_eq!(error, AmbiguousName { name: "a".into() });
    }

    #[test]
    fn a_call_that_means_no_tool_learns_which_there_are() {
        let tools = Toolbox::of([named("a"), named("é")]).expect("the names differ");
        let call = |name: &str| Call::of_json(name, "{}");
        for (tools, call, expected) in [
            (&tools, call("\"b\\n\""), r"Tool 'b\n' not registered. Known tools: a, \u00e9"),
            (&Toolbox::default(), call("\"b\""), "Tool 'b' not registered"),
            (
                &tools,
                call("\"a\"").with_server("\"s\""),
                "Server 's' of tool 'a' is not known. Known servers: local",
            ),
        ] {
            let Err(outcome) = tools.resolve(&call) else { panic!("no tool has the name") };
            assert_eq!(outcome, CallOutcome::Failure { message: format!("\"{expected}\"") });
        }
        assert_eq!(tools.resolve(&call(r#""\u00e9""#)).map(|tool| tool.name()), Ok("é"));
    }
}
