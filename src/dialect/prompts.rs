//! What the prompts of each row of the table look like, and at which strings a server is to stop.
//!
//! A server is to stop where the model's turn ends, and at what only the system writes; never at a mark that closes a call,
//! which may stand in an argument.

use super::{
    Blocks, CallsForm, Frame, Ids, Joints, JsonLayout, Prompt, ResultText, ResultsForm, Str,
    ToolObject, ToolsForm, ToolsLayout, TurnForm, cogency,
};

/// The prompts of the row of this name.
pub fn prompt(name: &str) -> Prompt {
    match name {
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
        "mistral-v11" => mistral(
            CallsForm::default(),
            ResultsForm {
                each_without_id: Some(Frame::new("[TOOL_RESULTS]", "[/TOOL_RESULTS]")),
                ..results("[TOOL_RESULTS]{id}[TOOL_CONTENT]", "[/TOOL_RESULTS]", "")
            },
        ),
        "cohere" => cohere(),
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
        "kimi-k2" => Prompt {
            tools: array_of_tools(ToolObject::Tool, "", ""),
            turn: turn("", "", ["", "", "\n"]),
            results: results("## Return of {id}\n", "", "\n"),
            ..Prompt::default()
        },
        "kimi-k3" => Prompt { turn: turn("", "", ["", "", "\n"]), ..Prompt::default() },
        "gemma4" => {
            gemma(["<|tool>", "<tool|>"], ["<|tool_response>", "<tool_response|>"], "<|\"|>")
        }
        "functiongemma" => gemma(
            ["<start_function_declaration>", "<end_function_declaration>"],
            ["<start_function_response>", "<end_function_response>"],
            "<escape>",
        ),
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
        "harmony" => harmony(
            " to=functions.{name}<|channel|>commentary json<|message|>",
            ["<|start|>functions.{name} to=assistant<|channel|>commentary<|message|>", "<|end|>"],
        ),
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
        "inkling" => Prompt {
            turn: TurnForm {
                text: Frame::new("<|content_text|>", "<|end_message|>"),
                ..turn("", "", ["", "", ""])
            },
            ..Prompt::default()
        },
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
        _ => Prompt { turn: turn("", "", ["\n", "\n", "\n"]), ..Prompt::default() },
    }
}

/// At which strings a server is to stop that runs a model of this row.
pub fn stop(name: &str) -> &'static [&'static str] {
    match name {
        "cogency" => &["<results>"],
        "hermes" | "qwen3-coder" | "mimo" => &["<|im_end|>", "<tool_response>"],
        "llama3-json" => &["<|eot_id|>", "<|eom_id|>"],
        "react" | "react-json" => &["\nObservation:"],
        "mistral" | "mistral-v11" => &["</s>", "[TOOL_RESULTS]"],
        "cohere" => &["<|END_OF_TURN_TOKEN|>", "<|START_TOOL_RESULT|>"],
        "granite" => &["<|end_of_text|>"],
        "deepseek-v3" => &["<｜end▁of▁sentence｜>", "<｜tool▁outputs▁begin｜>"],
        "deepseek-v31" => &["<｜end▁of▁sentence｜>", "<｜tool▁output▁begin｜>"],
        "deepseek-v32-dsml" | "deepseek-v4-dsml" | "deepseek-v41-dsml" => {
            &["<｜end▁of▁sentence｜>", "<function_results>"]
        }
        "kimi-k2" => &["<|im_end|>"],
        "gemma4" => &["<turn|>", "<|tool_response>"],
        "functiongemma" => &["<end_of_turn>", "<start_function_response>"],
        "glm45" | "glm47" => &["<|observation|>", "<|user|>"],
        "minimax-m2" | "minimax-m3" => &["[e~["],
        "anthropic" => &["<function_results>"],
        "harmony" | "beam-rfl" => &["<|call|>", "<|return|>"],
        "muse-glimmer" => &["<|eot|>"],
        "lfm2" => &["<|im_end|>", "<|tool_response_start|>"],
        "pythonic" => &["<|eot|>", "<|eom|>"],
        "olmo3" => &["<|im_end|>"],
        _ => &[],
    }
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

/// An object that is a call or the answer; what a tool returned is an observation.
fn react() -> Prompt {
    Prompt {
        tools: ToolsForm {
            layout: ToolsLayout::Json(ToolObject::Function, JsonLayout::Compact),
            around: Frame::default(),
            each: Frame::new("- ", ""),
            between: "\n".into(),
        },
        turn: turn("", "", ["\n", "\n", "\n"]),
        calls: CallsForm { between: "\n".into(), unmarked: true, ..CallsForm::default() },
        results: ResultsForm {
            text: ResultText::Json,
            failure: "ERROR - ".into(),
            ..results("Observation: ", "", "\n")
        },
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

fn mistral(calls: CallsForm, results: ResultsForm) -> Prompt {
    Prompt {
        tools: array_of_tools(ToolObject::Tool, "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
        turn: turn("", "", ["", "", "\n"]),
        calls,
        results,
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

/// What stands before each message of an answer but the first, whose mark is the server's.
const ASSISTANT: &str = "<|start|>assistant";

/// A turn in which each part is a message, and a thought has this frame.
fn messages(before: &'static str, behind: &'static str) -> TurnForm {
    turn(before, behind, [ASSISTANT; 3])
}

fn harmony(call: &'static str, result: [&'static str; 2]) -> Prompt {
    Prompt {
        tools: ToolsForm {
            layout: ToolsLayout::TypeScript,
            around: Frame::new(
                "## functions\n\nnamespace functions {\n\n",
                "\n\n} // namespace functions",
            ),
            each: Frame::default(),
            between: "\n\n".into(),
        },
        turn: TurnForm {
            text: Frame::new("<|channel|>final<|message|>", "<|end|>"),
            preamble: Some(Frame::new("<|channel|>commentary<|message|>", "<|end|>")),
            ..messages("<|channel|>analysis<|message|>", "<|end|>")
        },
        calls: CallsForm {
            message: Frame::new(call, "<|call|>"),
            between: ASSISTANT.into(),
            ..CallsForm::default()
        },
        results: ResultsForm { text: ResultText::Json, ..results(result[0], result[1], "") },
        ..Prompt::default()
    }
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

/// Tags on lines of their own.
fn invokes() -> CallsForm {
    CallsForm {
        open: "\n".into(),
        between: "\n".into(),
        close: "\n".into(),
        head: "\n".into(),
        parameter: "\n".into(),
        ..CallsForm::default()
    }
}

fn array(json: JsonLayout) -> CallsForm {
    CallsForm { json, ..CallsForm::default() }
}

/// What stands around a thought inside its marks, behind a thought, between text and calls, and between any other parts.
fn turn(before: &'static str, behind: &'static str, joints: [&'static str; 3]) -> TurnForm {
    let [thought, calls, other] = joints.map(Str::from);
    TurnForm {
        thought: Frame::new(before, behind),
        joints: Some(Joints { thought, calls, other }),
        ..TurnForm::default()
    }
}

fn json_tools(layout: JsonLayout, between: &'static str) -> ToolsForm {
    ToolsForm {
        layout: ToolsLayout::Json(ToolObject::Tool, layout),
        around: Frame::default(),
        each: Frame::default(),
        between: between.into(),
    }
}

fn functions(
    before: &'static str,
    each: &'static str,
    behind_each: &'static str,
    behind: &'static str,
) -> ToolsForm {
    ToolsForm {
        layout: ToolsLayout::Json(ToolObject::Function, JsonLayout::Compact),
        around: Frame::new(before, behind),
        each: Frame::new(each, behind_each),
        between: "\n".into(),
    }
}

fn array_of_tools(object: ToolObject, before: &'static str, behind: &'static str) -> ToolsForm {
    ToolsForm {
        layout: ToolsLayout::Array(object, JsonLayout::Compact),
        around: Frame::new(before, behind),
        each: Frame::default(),
        between: Str::default(),
    }
}

/// Results as text, each in this frame.
fn results(before: &'static str, behind: &'static str, between: &'static str) -> ResultsForm {
    ResultsForm {
        each: Frame::new(before, behind),
        between: between.into(),
        ..ResultsForm::default()
    }
}
