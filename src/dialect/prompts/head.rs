//! Prompts of dialects whose calls have a head and JSON, and of those whose calls are Python.

use super::super::{
    CallsForm, Frame, JsonLayout, Prompt, ResultText, ResultsForm, Str, ToolObject, ToolsForm,
    ToolsLayout, TurnForm,
};
use super::forms::{array_of_tools, harmony, json_tools, mistral, react, results, turn};

/// The prompts of the row of this name, if it is one of these.
pub fn prompt(name: &str) -> Option<Prompt> {
    Some(match name {
        "react" => Prompt {
            turn: TurnForm {
                text: Frame::new("Final Answer: ", ""),
                preamble: Some(Frame::default()),
                ..turn(" ", "", ["\n", "\n", "\n"])
            },
            calls: CallsForm {
                name: Frame::new(" ", "\n"),
                head: " ".into(),
                between: "\n".into(),
                ..CallsForm::default()
            },
            ..react()
        },
        "mistral-v11" => mistral(
            CallsForm::default(),
            ResultsForm {
                each_without_id: Some(Frame::new("[TOOL_RESULTS]", "[/TOOL_RESULTS]")),
                ..results("[TOOL_RESULTS]{id}[TOOL_CONTENT]", "[/TOOL_RESULTS]", "")
            },
        ),
        "deepseek-v3" => Prompt {
            tools: json_tools(JsonLayout::Compact, "\n"),
            turn: turn("", "", ["", "", "\n"]),
            calls: CallsForm { between: "\n".into(), tail: "\n".into(), ..CallsForm::default() },
            results: ResultsForm {
                around: Frame::new("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"),
                ..results("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>", "\n")
            },
            ..Prompt::default()
        },
        "deepseek-v31" => Prompt {
            tools: ToolsForm {
                layout: ToolsLayout::Heading,
                around: Frame::default(),
                each: Frame::default(),
                between: "\n\n".into(),
            },
            turn: turn("", "", ["", "", "\n"]),
            results: results("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>", ""),
            ..Prompt::default()
        },
        "kimi-k2" => Prompt {
            tools: array_of_tools(ToolObject::Tool, "", ""),
            turn: turn("", "", ["", "", "\n"]),
            results: results("## Return of {id}\n", "", "\n"),
            ..Prompt::default()
        },
        "gemma4" => {
            gemma(["<|tool>", "<tool|>"], ["<|tool_response>", "<tool_response|>"], "<|\"|>")
        }
        "functiongemma" => gemma(
            ["<start_function_declaration>", "<end_function_declaration>"],
            ["<start_function_response>", "<end_function_response>"],
            "<escape>",
        ),
        "harmony" => harmony(
            " to=functions.{name}<|channel|>commentary json<|message|>",
            ["<|start|>functions.{name} to=assistant<|channel|>commentary<|message|>", "<|end|>"],
        ),
        "lfm2" => Prompt {
            tools: array_of_tools(
                ToolObject::Tool,
                "List of tools: <|tool_list_start|>",
                "<|tool_list_end|>",
            ),
            turn: turn("", "", ["", "", "\n"]),
            results: results("<|tool_response_start|>", "<|tool_response_end|>", "\n"),
            ..Prompt::default()
        },
        "pythonic" => Prompt {
            tools: ToolsForm {
                layout: ToolsLayout::Array(ToolObject::Tool, JsonLayout::Indented(4)),
                around: Frame::default(),
                each: Frame::default(),
                between: Str::default(),
            },
            turn: turn("", "", ["", "", "\n"]),
            calls: CallsForm { unmarked: true, ..CallsForm::default() },
            results: ResultsForm { text: ResultText::Json, ..ResultsForm::default() },
            ..Prompt::default()
        },
        "olmo3" => Prompt {
            tools: array_of_tools(ToolObject::Function, "<functions>", "</functions>"),
            turn: turn("", "", ["", "", "\n"]),
            ..Prompt::default()
        },
        _ => return None,
    })
}

fn gemma(tool: [&'static str; 2], result: [&'static str; 2], mark: &'static str) -> Prompt {
    Prompt {
        tools: ToolsForm {
            layout: ToolsLayout::Braces(mark.into()),
            around: Frame::default(),
            each: Frame::new(tool[0], tool[1]),
            between: Str::default(),
        },
        turn: turn("", "\n", ["", "", "\n"]),
        results: ResultsForm {
            text: ResultText::Marked(mark.into()),
            each: Frame {
                before: format!("{}response:{{name}}{{value:", result[0]).into(),
                behind: format!("}}{}", result[1]).into(),
            },
            ..results("", "", "")
        },
        ..Prompt::default()
    }
}
