//! Messages with heads, and Python calls.

use super::super::{
    Args, Body, Dialect, Head, HeadForm, JsonShape, LoneMark, Python, Results, Trim, Unmarked,
};
use super::forms::{
    THINK, channels, dialect, head, head_form, json, marks, muse, pairs, parameters, pythonic,
};

/// The rows.
pub(super) fn rows() -> Vec<Dialect> {
    vec![
        // Messages with heads.
        Dialect {
            heads: Some(channels("functions.")),
            ..dialect(
                "harmony",
                head("functions.", &["<|message|>"], HeadForm::Name, Args::Json, ""),
            )
        },
        Dialect {
            heads: Some(channels("")),
            ..dialect(
                "beam-rfl",
                Body::Head(Head {
                    until: marks(&["<|end|>", "<|call|>", "<|return|>", "<|start|>"]),
                    ..head_form(
                        "to=",
                        &["<|message|>"],
                        HeadForm::Name,
                        Args::Parameters(parameters("rfl:", Trim::Newline)),
                        "",
                    )
                }),
            )
        },
        muse("muse"),
        muse("muse-glimmer"),
        Dialect {
            reasoning: pairs(&[("<|content_thinking|>", "<|end_message|>")]),
            results: vec![Results {
                open: "<|message_model|>".into(),
                close: "".into(),
                array: false,
            }],
            open: marks(&["<|content_invoke_tool_json|>"]),
            close: marks(&["<|end_message|>"]),
            ignored: marks(&[
                "<|content_text|>",
                "<|content_tool_error|>",
                "<|content_invoke_tool_text|>",
                "<|end_message|>",
            ]),
            turn_end: marks(&["<|content_model_end_sampling|>"]),
            ..dialect("inkling", json(JsonShape::Object, &["name"], &["args"]))
        },
        // Python calls.
        Dialect {
            reasoning: pairs(&[THINK]),
            open: marks(&["<|tool_call_start|>"]),
            close: marks(&["<|tool_call_end|>"]),
            lone_mark: LoneMark::Ignored,
            ignored: marks(&["<|tool_call_end|>"]),
            turn_end: marks(&["<|im_end|>"]),
            unmarked: Unmarked::AtStart,
            ..dialect("lfm2", Body::Python(Python::List)).or(Body::Python(Python::Lines))
        },
        pythonic("pythonic"),
        pythonic("llama4-pythonic").prompted_as("pythonic"),
        Dialect {
            reasoning: pairs(&[THINK]),
            open: marks(&["<function_calls>"]),
            close: marks(&["</function_calls>"]),
            ignored: marks(&["</think>"]),
            turn_end: marks(&["<|im_end|>"]),
            ..dialect("olmo3", Body::Python(Python::Lines))
        },
    ]
}
