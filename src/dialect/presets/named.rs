//! A name in a head, and JSON or braces.

use super::super::{Args, Body, Dialect, Head, HeadForm, LoneMark};
use super::forms::{THINK, deepseek_section, dialect, head, head_form, marks, pairs};

/// The rows.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn rows() -> Vec<Dialect> {
    vec![
        // A name in a head, and JSON.
        Dialect {
            reasoning: pairs(&[("[THINK]", "[/THINK]")]),
            turn_end: marks(&["</s>"]),
            ..dialect(
                "mistral-v11",
                head(
                    "[TOOL_CALLS]",
                    &["[ARGS]", "{"],
                    HeadForm::Id("[CALL_ID]".into()),
                    Args::Json,
                    "",
                ),
            )
        },
        deepseek_section(
            "deepseek-v3",
            head(
                "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
                &["\n```json\n"],
                HeadForm::Name,
                Args::Json,
                "```<｜tool▁call▁end｜>",
            ),
        ),
        deepseek_section(
            "deepseek-v31",
            head(
                "<｜tool▁call▁begin｜>",
                &["<｜tool▁sep｜>"],
                HeadForm::Name,
                Args::Json,
                "<｜tool▁call▁end｜>",
            ),
        ),
        Dialect {
            reasoning: pairs(&[THINK]),
            open: marks(&["<|tool_calls_section_begin|>"]),
            close: marks(&["<|tool_calls_section_end|>", "<|tool_call_end|>"]),
            lone_mark: LoneMark::Ignored,
            ignored: marks(&["</think>", "<|tool_calls_section_end|>"]),
            turn_end: marks(&["<|im_end|>"]),
            ..dialect(
                "kimi-k2",
                Body::Head(Head {
                    bare: true,
                    ..head_form(
                        "<|tool_call_begin|>",
                        &["<|tool_call_argument_begin|>"],
                        HeadForm::Numbered,
                        Args::Json,
                        "<|tool_call_end|>",
                    )
                }),
            )
        },
        Dialect {
            reasoning: pairs(&[
                ("<|channel>thought\n", "<channel|>"),
                ("<|channel>", "<channel|>"),
            ]),
            ignored: marks(&["<tool_call|>", "<|tool_response>", "<channel|>"]),
            turn_end: marks(&["<turn|>"]),
            ..dialect(
                "gemma4",
                head(
                    "<|tool_call>call:",
                    &["{"],
                    HeadForm::Name,
                    Args::Braces("<|\"|>".into()),
                    "<tool_call|>",
                ),
            )
        },
        Dialect {
            turn_end: marks(&["<end_of_turn>"]),
            ..dialect(
                "functiongemma",
                head(
                    "<start_function_call>call:",
                    &["{"],
                    HeadForm::Name,
                    Args::Braces("<escape>".into()),
                    "<end_function_call>",
                ),
            )
        },
        Dialect {
            reasoning: pairs(&[("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>")]),
            open: marks(&["<|plamo:begin_tool_requests:plamo|>"]),
            close: marks(&["<|plamo:end_tool_requests:plamo|>"]),
            lone_mark: LoneMark::Ignored,
            ignored: marks(&["<|plamo:end_think:plamo|>", "<|plamo:end_tool_requests:plamo|>"]),
            turn_end: marks(&["<|plamo:tag|>"]),
            ..dialect(
                "plamo3",
                head(
                    "<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>",
                    &["<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|>\
                       <|plamo:constrain|>json<|plamo:msg|>"],
                    HeadForm::Name,
                    Args::Json,
                    "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>",
                ),
            )
            .prompted_as("kimi-k2")
        },
        dialect(
            "functionary-v31",
            head("<function=", &[">"], HeadForm::Name, Args::Json, "</function>"),
        )
        .prompted_as("llama3-json"),
    ]
}
