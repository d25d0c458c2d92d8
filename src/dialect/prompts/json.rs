//! Prompts of dialects whose calls are JSON, or elements.

use super::super::{
    CallsForm, Frame, Ids, Inert, JsonLayout, Prompt, ResultText, ResultsForm, Str, ToolObject,
    ToolsForm, ToolsLayout, TurnForm, cogency,
};
use super::forms::{array, array_of_tools, json_tools, mistral, react, results, turn};

/// The prompts of the row of this name, if it is one of these.
pub fn prompt(name: &str) -> Option<Prompt> {
    Some(match name {
        "cogency" => original(),
        "forge-json" => forge(CallsForm::default()),
        "forge-xml" => forge(CallsForm {
            open: "\n".into(),
            parameter: "\n".into(),
            close: "\n".into(),
            between: "\n".into(),
            ..CallsForm::default()
        }),
        "hermes" => lines_of_json(turn("\n", "\n", ["\n\n", "\n", "\n"])),
        "llama3-json" => Prompt {
            tools: json_tools(JsonLayout::Indented(4), "\n\n"),
            turn: turn("", "", ["", "\n", "\n"]),
            calls: CallsForm { unmarked: true, ..CallsForm::default() },
            results: ResultsForm { text: ResultText::Json, ..ResultsForm::default() },
            ..Prompt::default()
        },
        "react-json" => react(),
        "jamba" => Prompt {
            tools: ToolsForm {
                around: Frame::new("<tool_definitions>\n", "\n</tool_definitions>"),
                ..ToolsForm::default()
            },
            turn: turn("", "", ["", "\n", "\n"]),
            calls: array(JsonLayout::Items(4)),
            ..Prompt::default()
        },
        "nemotron-deci" => Prompt {
            tools: array_of_tools(ToolObject::Tool, "<AVAILABLE_TOOLS>", "</AVAILABLE_TOOLS>"),
            turn: turn("\n", "\n", ["\n\n", "", "\n"]),
            results: results("<TOOL_RESPONSE>", "</TOOL_RESPONSE>", "\n"),
            ..Prompt::default()
        },
        "granite" => Prompt {
            tools: json_tools(JsonLayout::Indented(4), "\n\n"),
            turn: turn("", "", ["", "", "\n"]),
            calls: array(JsonLayout::Indented(4)),
            ..Prompt::default()
        },
        "phi4" => Prompt {
            tools: array_of_tools(ToolObject::Function, "<|tool|>", "<|/tool|>"),
            turn: turn("", "", ["", "", "\n"]),
            ..Prompt::default()
        },
        "mistral" => mistral(
            CallsForm { ids: Ids::Count(9), ..CallsForm::default() },
            ResultsForm {
                text: ResultText::Json,
                each: Frame::new(
                    "[TOOL_RESULTS]{\"content\": ",
                    ", \"call_id\": {id_json}}[/TOOL_RESULTS]",
                ),
                each_without_id: Some(Frame::new(
                    "[TOOL_RESULTS]{\"content\": ",
                    "}[/TOOL_RESULTS]",
                )),
                ..results("", "", "")
            },
        ),
        "cohere" => cohere(),
        "inkling" => Prompt {
            turn: TurnForm {
                text: Frame::new("<|content_text|>", "<|end_message|>"),
                ..turn("", "", ["", "", ""])
            },
            ..Prompt::default()
        },
        _ => return None,
    })
}

/// The one that came first: as cogency 3.3.0 has it, byte for byte.
fn original() -> Prompt {
    Prompt {
        tools: ToolsForm {
            layout: ToolsLayout::Signature,
            around: Frame::default(),
            each: Frame::new("- ", ""),
            between: "\n".into(),
        },
        block_name: "execute block".into(),
        again: "Write the whole block again, as one JSON array: [{\"name\": \"...\", \"args\": {...}}].".into(),
        teaching: Some(cogency::teaching()),
        turn: TurnForm::default(),
        calls: CallsForm {
            open: "\n".into(),
            close: "\n".into(),
            json: JsonLayout::Indented(2),
            ascii: true,
            ..CallsForm::default()
        },
        results: ResultsForm {
            text: ResultText::Array,
            each: Frame::default(),
            around: Frame::new("<results>\n", "\n</results>"),
            ..ResultsForm::default()
        },
        inert: Inert::Kept,
    }
}

fn forge(calls: CallsForm) -> Prompt {
    Prompt {
        tools: ToolsForm {
            layout: ToolsLayout::Example,
            around: Frame::default(),
            each: Frame::default(),
            between: "\n\n".into(),
        },
        turn: turn("", "", ["\n", "\n", "\n"]),
        calls: CallsForm { between: "\n".into(), ..calls },
        results: results("Tool '{name}' result:\n", "", "\n\n"),
        ..Prompt::default()
    }
}

/// JSON objects on lines of their own between tags.
fn lines_of_json(turn: TurnForm) -> Prompt {
    Prompt {
        turn,
        calls: CallsForm {
            open: "\n".into(),
            close: "\n".into(),
            between: "\n".into(),
            ..CallsForm::default()
        },
        ..Prompt::default()
    }
}

fn cohere() -> Prompt {
    Prompt {
        tools: ToolsForm {
            layout: ToolsLayout::Array(ToolObject::Responses, JsonLayout::Items(4)),
            around: Frame::new("```json\n", "\n```"),
            each: Frame::default(),
            between: Str::default(),
        },
        turn: TurnForm {
            text: Frame::new("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
            preamble: Some(Frame::default()),
            ..turn("", "", ["", "", "\n"])
        },
        calls: CallsForm { id_first: true, ids: Ids::Count(1), ..array(JsonLayout::Items(4)) },
        results: ResultsForm {
            text: ResultText::Json,
            around: Frame::new("<|START_TOOL_RESULT|>[\n", "\n]<|END_TOOL_RESULT|>"),
            ..results(
                "    {\n        \"tool_call_id\": {id_json},\n        \"results\": {\n            \"0\": ",
                "\n        },\n        \"is_error\": null\n    }",
                ",\n",
            )
        },
        ..Prompt::default()
    }
}
