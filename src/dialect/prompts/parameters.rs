//! Prompts of dialects whose arguments stand each between marks of its own.

use super::super::{
    Blocks, CallsForm, Frame, Prompt, ResultsForm, ToolsForm, ToolsLayout, TurnForm,
};
use super::forms::{ASSISTANT, functions, harmony, invokes, messages, results, turn};

/// The prompts of the row of this name, if it is one of these.
pub fn prompt(name: &str) -> Option<Prompt> {
    Some(match name {
        "deepseek-v32-dsml" | "deepseek-v4-dsml" | "deepseek-v41-dsml" => Prompt {
            tools: functions("<functions>\n", "", "", "\n</functions>"),
            turn: turn("", "", ["", "\n\n", "\n"]),
            calls: invokes(),
            results: ResultsForm {
                around: Frame::new("<function_results>\n", "\n</function_results>"),
                ..results("<result>", "</result>", "\n")
            },
            ..Prompt::default()
        },
        "kimi-k3" => Prompt { turn: turn("", "", ["", "", "\n"]), ..Prompt::default() },
        "qwen3-coder" => Prompt {
            tools: ToolsForm {
                layout: ToolsLayout::Elements("function".into(), "name".into()),
                ..ToolsForm::default()
            },
            turn: turn("\n", "\n", ["\n\n", "\n\n", "\n"]),
            calls: CallsForm { blocks: Blocks::Each, ..invokes() },
            ..Prompt::default()
        },
        "mimo" => Prompt {
            turn: turn("", "", ["", "\n\n", "\n"]),
            calls: CallsForm { blocks: Blocks::Each, ..invokes() },
            ..Prompt::default()
        },
        "glm45" => Prompt {
            turn: turn("", "", ["\n", "\n", "\n"]),
            calls: CallsForm {
                between: "\n".into(),
                key: "\n".into(),
                parameter: "\n".into(),
                ..CallsForm::default()
            },
            ..Prompt::default()
        },
        "glm47" => Prompt {
            turn: turn("", "", ["", "", "\n"]),
            results: results("<tool_response>", "</tool_response>", ""),
            ..Prompt::default()
        },
        "minimax-m2" | "minimax-m3" => Prompt {
            tools: functions("<tools>\n", "<tool>", "</tool>", "\n</tools>"),
            turn: turn("\n", "\n", ["\n\n", "\n", "\n"]),
            calls: CallsForm {
                head: if name == "minimax-m2" { "\n".into() } else { "".into() },
                parameter: if name == "minimax-m2" { "\n".into() } else { "".into() },
                ..invokes()
            },
            results: results("<response>", "</response>", "\n"),
            ..Prompt::default()
        },
        "anthropic" => Prompt {
            tools: ToolsForm {
                layout: ToolsLayout::Elements("tool_description".into(), "tool_name".into()),
                ..ToolsForm::default()
            },
            turn: turn("", "", ["\n", "\n", "\n"]),
            calls: CallsForm { name: Frame::new("\n", ""), tail: "\n".into(), ..invokes() },
            results: ResultsForm {
                around: Frame::new("<function_results>\n", "\n</function_results>"),
                ..results(
                    "<result>\n<tool_name>{name}</tool_name>\n<stdout>\n",
                    "\n</stdout>\n</result>",
                    "\n",
                )
            },
            ..Prompt::default()
        },
        "beam-rfl" => harmony(
            " to={name}<|channel|>commentary <|constrain|>xml<|message|>",
            ["<|start|>{name} to=assistant<|channel|>commentary<|message|>", "<|end|>"],
        ),
        "muse-glimmer" => Prompt {
            turn: TurnForm {
                text: Frame::new(" to=user<|message|>", "<|eom|>"),
                ..messages(" to=self<|message|>", "<|eom|>")
            },
            calls: CallsForm {
                message: Frame::new(" to={name}<|message|>", "<|eom|>"),
                between: ASSISTANT.into(),
                ..invokes()
            },
            results: results("<|start|>{name} to=assistant<|message|>", "<|eom|>", ""),
            ..Prompt::default()
        },
        _ => return None,
    })
}
