//! The system prompt: teaches a model its dialect, and shows it the tools.

mod tools;
mod words;

use crate::dialect::{ToolsPlace, Wording};
use crate::protocol::write::Renderer;

pub use tools::{Tool, declared, declared_as};

const IDENTITY: &str = "You are a careful assistant. Rely on what tools return.";

/// The parts of a system prompt. Equal input gives equal parts, with the tools in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptParts {
    /// Who the model is.
    pub identity: String,
    /// How calls are written and results are read; what the model was taught is not repeated.
    pub calls: String,
    /// Instructions for this user or task.
    pub instructions: String,
    /// The tools, with the words around them and the space to the other parts.
    pub tools: String,
    /// Where the tools are.
    pub place: ToolsPlace,
}

impl PromptParts {
    /// Writes the parts. `identity` replaces the sentence on who the model is.
    ///
    /// A dialect with a wording declares its tools as the template of its models does, byte for byte; any other is taught.
    ///
    /// # Complexity
    /// O(tools)
    #[must_use]
    pub fn new(
        renderer: &Renderer,
        tools: &[Tool<'_>],
        identity: Option<&str>,
        instructions: Option<&str>,
    ) -> Self {
        let dialect = renderer.dialect();
        let wording = dialect.prompt.wording.as_ref().filter(|_| !tools.is_empty());
        let declared = match tools {
            [] => words::NO_TOOLS.into(),
            _ => declared(renderer, tools),
        };
        let (tools, place, calls) = match wording {
            Some(Wording { place, before, behind }) => {
                ([before, &*declared, behind].concat(), *place, words::RULES.join("\n"))
            }
            None => {
                let calls = words::how(renderer, tools);
                (format!("\n\n# Tools\n\n{declared}"), ToolsPlace::AfterSystem, calls)
            }
        };
        Self {
            identity: identity.unwrap_or(IDENTITY).to_owned(),
            calls,
            instructions: instructions
                .map(|instructions| format!("# Instructions\n\n{instructions}"))
                .unwrap_or_default(),
            tools,
            place,
        }
    }

    /// The texts of the system messages, and what is before the text of the user's first message.
    #[must_use]
    pub fn placed(&self) -> (Vec<String>, String) {
        let Self { identity, calls, instructions, tools, place } = self;
        let parts = [identity, calls, instructions].into_iter().filter(|part| !part.is_empty());
        let system = parts.map(String::as_str).collect::<Vec<_>>().join("\n\n");
        match place {
            ToolsPlace::AfterSystem => (vec![system + tools], String::new()),
            ToolsPlace::BeforeSystem => (vec![tools.clone() + &system], String::new()),
            ToolsPlace::OwnSystem => (vec![tools.clone(), system], String::new()),
            ToolsPlace::User => (vec![system], tools.clone()),
        }
    }

    /// All of it as one text, for a single message: tools that belong to the user's message are at its end.
    #[must_use]
    pub fn text(&self) -> String {
        let (mut texts, asked) = self.placed();
        texts.extend(Some(asked.trim_end().to_owned()).filter(|asked| !asked.is_empty()));
        texts.join("\n\n")
    }
}

/// Writes the system prompt as one text; see [`PromptParts::text`].
///
/// # Complexity
/// O(tools)
#[must_use]
pub fn system_prompt(
    renderer: &Renderer,
    tools: &[Tool<'_>],
    identity: Option<&str>,
    instructions: Option<&str>,
) -> String {
    PromptParts::new(renderer, tools, identity, instructions).text()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::context::cogency;
    use crate::dialect::Body;
    use crate::dialect::presets::{names, preset};
    use crate::protocol::{Event, Grammar, Options, Parser};

    fn add() -> Value {
        json!({"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": {
            "type": "object",
            "properties": {"a": {"type": "string", "description": "first"}, "s": {"type": "integer"}},
            "required": ["a"],
        }}})
    }

    fn prompt(row: &str) -> String {
        let renderer = Renderer::new(preset(row).expect("a row"));
        let tools = [Tool { name: "add", line: "add(a, s?) - Adds.", declared: &add() }];
        system_prompt(&renderer, &tools, None, None)
    }

    #[test]
    fn the_prompt_has_what_it_was_given() {
        let renderer = Renderer::new(cogency());
        let tools = [Tool { name: "find", line: "find(query) - search", declared: &Value::Null }];
        let prompt = system_prompt(&renderer, &tools, Some("You are Ada."), Some("Be brief."));
        for part in ["You are Ada.", "Be brief.", "- find(query) - search"] {
            assert!(prompt.contains(part), "{part}");
        }
    }

    #[test]
    fn every_row_names_the_tool_and_its_parameters() {
        for row in names() {
            let prompt = prompt(row);
            for part in ["add", "Adds."] {
                assert!(prompt.contains(part), "{row}: {prompt}");
            }
            if row != "cogency" {
                assert!(prompt.contains("first"), "{row}: {prompt}");
            }
        }
    }

    fn is_taught(row: &str) -> bool {
        preset(row).expect("a row").prompt.wording.is_some()
    }

    #[test]
    fn a_template_s_words_show_the_mark_of_a_call() {
        for row in names().filter(|row| is_taught(row)) {
            let dialect = preset(row).expect("a row");
            let wording = dialect.prompt.wording.as_ref().expect("a wording");
            let text = [&*wording.before, &*wording.behind].concat();
            let head = dialect.calls.bodies.iter().find_map(|body| match body {
                Body::Head(head) => Some(&head.open),
                _ => None,
            });
            let mark = head.or(dialect.calls.open.first());
            let is_shown = mark.is_none_or(|mark| text.contains(&**mark));
            // Their templates show none: the models know.
            let quiet = ["gemma4", "harmony", "lfm2", "llama3-json", "llama4-pythonic", "pythonic"];
            let shows_none = quiet.contains(&row);
            assert_ne!(is_shown, shows_none, "{row}: {mark:?}");
        }
    }

    /// The calls in the examples of a prompt.
    fn taught(row: &str, prompt: &str) -> Vec<(String, String)> {
        let (_, rest) = prompt.split_once("exactly like this:\n\n").expect("an example");
        let (example, _) = rest.split_once("\n\nThen stop").expect("its end");
        let mut events = Vec::new();
        let mut parser = Parser::new(Grammar::preset(row).expect("a row"), Options::default());
        parser.feed(example, &mut events);
        parser.finish(&crate::protocol::Ending::Stopped, &mut events);
        let calls = events.iter().filter_map(|event| match event {
            Event::Call(call) => Some((call.name_json().into(), call.arguments().into())),
            _ => None,
        });
        calls.collect()
    }

    #[test]
    fn what_a_row_is_told_is_what_it_reads_of_a_tool_that_is_there() {
        for row in names().filter(|row| !is_taught(row)) {
            let prompt = prompt(row);
            let calls = taught(row, &prompt);
            assert!(!calls.is_empty(), "{row}: {prompt}");
            for call in calls {
                assert_eq!(call, ("\"add\"".into(), "{\"a\": \"text\"}".into()), "{row}: {prompt}");
            }
        }
    }

    #[test]
    fn without_tools_cogency_is_told_how_to_answer_and_nothing_of_calls() {
        let parts = PromptParts::new(&Renderer::new(cogency()), &[], None, None);
        let answer = "<think>hidden reasoning</think>\ntext for the user\n\nWrite <end> when done";
        assert!(parts.calls.contains(answer), "{}", parts.calls);
        assert!(!parts.calls.contains("<execute>"), "{}", parts.calls);
    }

    #[test]
    fn a_parameter_of_several_types_names_each() {
        let properties =
            json!({"a": {"type": ["integer", "null"]}, "b": {"type": "string"}, "c": {}});
        let declared = json!({"function": {"parameters": {"properties": properties}}});
        let renderer = Renderer::new(preset("forge-json").expect("a row"));
        let prompt =
            super::declared(&renderer, &[Tool { name: "t", line: "", declared: &declared }]);
        assert!(
            prompt.contains("- `a` (integer or null)\n- `b` (string)\n- `c` (any)"),
            "{prompt}"
        );
    }

    #[test]
    fn equal_tools_give_equal_prompts() {
        for row in names() {
            assert_eq!(prompt(row), prompt(row));
        }
    }
}
