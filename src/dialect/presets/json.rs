//! JSON that holds names and arguments.

use super::super::{
    Args, BatchEnd, Body, DecisionKeys, Dialect, Head, HeadForm, Json, JsonShape, LoneMark,
    Results, Unmarked, Xml, XmlParts,
};
use super::forms::{THINK, dialect, head_form, hermes, json, json_form, marks, pairs};
use super::glm::longcat;

/// The rows.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn rows() -> Vec<Dialect> {
    vec![
        Dialect {
            reasoning: pairs(&[THINK]),
            results: vec![Results {
                open: "<results>".into(),
                close: "</results>".into(),
                array: true,
            }],
            open: marks(&["<execute>"]),
            close: marks(&["</execute>"]),
            end: marks(&["<end>"]),
            batch: BatchEnd::Block,
            lone_mark: LoneMark::Block,
            ..dialect(
                "cogency",
                Body::Json(Json {
                    empty_names: true,
                    ..json_form(JsonShape::Array, &["name"], &["args"])
                }),
            )
        },
        Dialect {
            reasoning: pairs(&[("<thinking>", "</thinking>")]),
            open: marks(&["<tool>"]),
            close: marks(&["</tool>"]),
            ..dialect(
                "forge-json",
                Body::Json(Json {
                    server: Some("server_name".into()),
                    args_optional: true,
                    ..json_form(JsonShape::Object, &["tool_name", "name"], &["arguments"])
                }),
            )
        },
        Dialect {
            reasoning: pairs(&[("<thinking>", "</thinking>")]),
            open: marks(&["<tool>"]),
            close: marks(&["</tool>"]),
            ..dialect(
                "forge-xml",
                Body::Xml(Xml {
                    prefix: "".into(),
                    entities: true,
                    parts: Some(XmlParts {
                        server: "server_name".into(),
                        name: "tool_name".into(),
                        args: "arguments".into(),
                    }),
                }),
            )
        },
        // One JSON object or several, as the whole answer or behind a token.
        hermes("hermes"),
        hermes("reka-edge").prompted_as("hermes"),
        hermes("ernie45").prompted_as("hermes"),
        Dialect {
            turn_end: marks(&["<|end_of_text|>"]),
            bodies: vec![Body::Json(Json {
                args_as_text: true,
                ..json_form(JsonShape::Object, &["name"], &["arguments"])
            })],
            ..hermes("granite4").prompted_as("hermes")
        },
        longcat(),
        Dialect {
            open: marks(&["<|action_start|><|plugin|>"]),
            close: marks(&["<|action_end|>"]),
            turn_end: marks(&["<|im_end|>"]),
            ..dialect("internlm2", json(JsonShape::Object, &["name"], &["parameters", "arguments"]))
                .prompted_as("llama3-json")
        },
        Dialect {
            open: marks(&["<function_call>"]),
            turn_end: marks(&["<|endoftext|>"]),
            ..dialect("granite-20b-fc", json(JsonShape::Object, &["name"], &["arguments"]))
                .prompted_as("granite")
        },
        Dialect {
            open: marks(&["<|function_call|>", "<|message_sep|>\n\nfunction call<|role_sep|>\n"]),
            turn_end: marks(&["</s>", "<|message_sep|>"]),
            ..dialect("gigachat3", json(JsonShape::Object, &["name"], &["arguments"]))
                .prompted_as("granite")
        },
        Dialect {
            // Any model may be told to write it; one that reasons mostly does so between these marks.
            reasoning: pairs(&[THINK]),
            unmarked: Unmarked::Anywhere,
            ..dialect(
                "json-plain",
                Body::Json(Json {
                    args_optional: true,
                    ..json_form(
                        JsonShape::Object,
                        &["name", "function"],
                        &["arguments", "parameters"],
                    )
                }),
            )
            .or(Body::Json(Json {
                args_optional: true,
                skips_others: true,
                ..json_form(JsonShape::Array, &["name", "function"], &["arguments", "parameters"])
            }))
        },
        Dialect {
            reasoning: pairs(&[THINK]),
            open: marks(&["<tool_call>"]),
            close: marks(&["</tool_call>"]),
            unmarked: Unmarked::Anywhere,
            // It was trained from Qwen and from Llama, and ends its turn as they do.
            turn_end: marks(&["<|im_end|>", "<|eot_id|>"]),
            ..dialect("xlam", json(JsonShape::Array, &["name"], &["arguments"]))
                .prompted_as("granite")
        },
        Dialect {
            open: marks(&["<|python_tag|>"]),
            unmarked: Unmarked::AtStart,
            turn_end: marks(&["<|eot_id|>", "<|eom_id|>"]),
            ..dialect(
                "llama3-json",
                Body::Json(Json {
                    args_optional: true,
                    ..json_form(
                        JsonShape::Objects(";".into()),
                        &["name"],
                        &["parameters", "arguments"],
                    )
                }),
            )
        },
        Dialect {
            reasoning: pairs(&[THINK]),
            unmarked: Unmarked::AtStart,
            ..dialect(
                "react-json",
                Body::Json(Json {
                    decision: Some(DecisionKeys {
                        key: "type".into(),
                        call: "call_tool".into(),
                        answer: "final_answer".into(),
                        answer_key: "answer".into(),
                        thought_key: "thought".into(),
                    }),
                    ..json_form(JsonShape::Objects("\n".into()), &["tool"], &["args"])
                }),
            )
        },
        Dialect {
            reasoning: pairs(&[("Thought:", "")]),
            at_line_start: true,
            ignored: marks(&["Final Answer:"]),
            turn_end: marks(&["Observation:"]),
            ..dialect(
                "react",
                Body::Head(Head {
                    until: marks(&["Observation:", "Thought:", "Final Answer:", "Action:"]),
                    ..head_form(
                        "Action:",
                        &["Action Input:"],
                        HeadForm::Name,
                        Args::Text("input".into()),
                        "",
                    )
                }),
            )
        },
        // JSON arrays.
        Dialect {
            open: marks(&["<tool_calls>"]),
            close: marks(&["</tool_calls>"]),
            turn_end: marks(&["<|eom|>"]),
            ..dialect("jamba", json(JsonShape::Array, &["name"], &["arguments"]))
        },
        Dialect {
            reasoning: pairs(&[THINK]),
            open: marks(&["<tool_calls>"]),
            close: marks(&["</tool_calls>"]),
            ignored: marks(&["<answer>", "</answer>"]),
            turn_end: marks(&["<|eos|>"]),
            ..dialect("hunyuan", json(JsonShape::Array, &["name"], &["arguments"]))
                .prompted_as("jamba")
        },
        Dialect {
            reasoning: pairs(&[("Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]\n")]),
            open: marks(&["<tool_calls>"]),
            close: marks(&["</tool_calls>"]),
            turn_end: marks(&["<|end|>"]),
            ..dialect("apriel", json(JsonShape::Array, &["name"], &["arguments"]))
                .prompted_as("jamba")
        },
        Dialect {
            open: marks(&["<TOOLCALL>"]),
            close: marks(&["</TOOLCALL>"]),
            reasoning: pairs(&[THINK]),
            turn_end: marks(&["<|eot_id|>"]),
            ..dialect(
                "nemotron-deci",
                json(JsonShape::Array, &["name"], &["arguments", "parameters"]),
            )
        },
        Dialect {
            reasoning: pairs(&[THINK]),
            open: marks(&["<|tool_call|>", "<tool_call>"]),
            turn_end: marks(&["<|end_of_text|>"]),
            ..dialect("granite", json(JsonShape::Array, &["name"], &["arguments"]))
        },
        Dialect {
            open: marks(&["functools"]),
            turn_end: marks(&["<|end|>"]),
            ..dialect("phi4", json(JsonShape::Array, &["name"], &["arguments", "parameters"]))
        },
        Dialect {
            open: marks(&["functools"]),
            turn_end: marks(&["<|eot_id|>"]),
            ..dialect("firefunction-v2", json(JsonShape::Array, &["name"], &["arguments"]))
                .prompted_as("phi4")
        },
        Dialect {
            reasoning: pairs(&[("[THINK]", "[/THINK]")]),
            open: marks(&["[TOOL_CALLS]"]),
            ignored: marks(&["[/TOOL_CALLS]"]),
            turn_end: marks(&["</s>"]),
            ..dialect(
                "mistral",
                Body::Json(Json {
                    id: Some("id".into()),
                    ..json_form(JsonShape::Array, &["name"], &["arguments"])
                }),
            )
        },
        Dialect {
            reasoning: pairs(&[("<|START_THINKING|>", "<|END_THINKING|>")]),
            answer: pairs(&[
                ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
                ("<|START_TEXT|>", "<|END_TEXT|>"),
            ]),
            open: marks(&["<|START_ACTION|>"]),
            close: marks(&["<|END_ACTION|>"]),
            ignored: marks(&["<|END_THINKING|>"]),
            turn_end: marks(&["<|END_OF_TURN_TOKEN|>"]),
            ..dialect(
                "cohere",
                Body::Json(Json {
                    id: Some("tool_call_id".into()),
                    ..json_form(
                        JsonShape::Array,
                        &["tool_name", "name"],
                        &["parameters", "arguments"],
                    )
                }),
            )
            .or(Body::Json(Json {
                id: Some("tool_call_id".into()),
                ..json_form(JsonShape::Object, &["tool_name", "name"], &["parameters", "arguments"])
            }))
        },
    ]
}
