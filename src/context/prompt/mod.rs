//! The system prompt: teaches a model its dialect, and shows it the tools.

mod tools;
mod words;

use crate::protocol::write::Renderer;

pub use tools::{Tool, declared};

const IDENTITY: &str = "You are a careful assistant that works with tools. Base what you say on what the tools return.";

/// Builds the system prompt.
///
/// `identity` replaces the sentence on who the model is, `instructions` are added for this user or task. Equal input gives
/// equal text, with the tools in their order.
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
    let mut sections = vec![identity.unwrap_or(IDENTITY).to_owned()];
    let teaching = renderer.dialect().prompt.teaching.as_ref();
    sections.push(match teaching {
        Some(teaching) => teaching.how.clone().into_owned(),
        None if tools.is_empty() => String::new(),
        None => words::how(renderer),
    });
    sections.extend(teaching.map(|teaching| teaching.example.clone().into_owned()));
    sections.extend(instructions.map(|instructions| format!("# Instructions\n\n{instructions}")));
    let listing = if tools.is_empty() {
        teaching.map_or(words::NO_TOOLS, |teaching| &teaching.no_tools).to_owned()
    } else {
        declared(renderer, tools)
    };
    sections.push(format!("# Tools\n\n{listing}"));
    sections.retain(|section| !section.is_empty());
    sections.join("\n\n")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::context::cogency;
    use crate::dialect::presets::{names, preset};
    use crate::protocol::{Event, Grammar, Options, Parser};

    fn add() -> Value {
        json!({"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer", "description": "first"}, "s": {"type": "string"}},
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

    #[test]
    fn what_a_row_teaches_is_what_it_reads() {
        for row in names().filter(|row| *row != "cogency") {
            let example = Renderer::new(preset(row).expect("a row")).example();
            let mut events = Vec::new();
            let mut parser = Parser::new(Grammar::preset(row).expect("a row"), Options::default());
            parser.feed(example.as_bytes(), &mut events);
            parser.finish(&crate::protocol::Ending::Stopped, &mut events);
            let calls = events.iter().filter_map(|event| match event {
                Event::Call(call) => Some((call.name_json(), call.args_json())),
                _ => None,
            });
            let expected = [("\"tool_name\"", "{\"argument\": \"value\"}")];
            assert_eq!(calls.collect::<Vec<_>>(), expected, "{row}: {example}");
            assert!(prompt(row).contains(&example), "{row}");
        }
    }

    #[test]
    fn the_block_in_the_example_of_cogency_is_a_valid_one() {
        let teaching = cogency().prompt.teaching.clone().expect("words of its own");
        let mut events = Vec::new();
        Parser::new(Grammar::cogency(), Options::default())
            .feed(teaching.example.as_bytes(), &mut events);
        assert_eq!(events.iter().filter(|event| matches!(event, Event::Call(_))).count(), 2);
        assert_eq!(events.last(), Some(&Event::Execute));
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
