//! A name in a head, and an element for each argument.

use super::super::{
    Args, BatchEnd, Body, Dialect, Head, HeadForm, JsonShape, Pair, Parameters, Trim, Xml,
};
use super::forms::{
    THINK, dialect, dsml, dsml_v4, dsml_v41, functions, head, invoke, json, kimi_k3, marks, pairs,
    parameters, parameters_form, qwen, step3,
};
use super::glm::{glm, hunyuan, k2_horizon, laguna};

/// The rows.
pub(super) fn rows() -> Vec<Dialect> {
    vec![
        qwen("qwen3-coder", functions(Trim::Newline)),
        qwen("step3p5", functions(Trim::Newline)).prompted_as("qwen3-coder"),
        qwen("step5", functions(Trim::Newline)).prompted_as("qwen3-coder"),
        Dialect {
            turn_end: marks(&["<|end_of_text|>"]),
            ..qwen("granite-thinking", functions(Trim::Newline)).prompted_as("qwen3-coder")
        },
        Dialect {
            reasoning: pairs(&[("<seed:think>", "</seed:think>")]),
            open: marks(&["<seed:tool_call>"]),
            close: marks(&["</seed:tool_call>"]),
            ignored: marks(&["</seed:think>", "</seed:tool_call>"]),
            turn_end: marks(&["<seed:eos>"]),
            ..qwen("seed-oss", functions(Trim::Newline)).prompted_as("qwen3-coder")
        },
        qwen("mimo", functions(Trim::Nothing)),
        glm("glm45", "\n"),
        glm("glm47", "<arg_key>"),
        laguna(),
        glm("ling3", "<arg_key>").prompted_as("glm47"),
        glm("spark25", "<arg_key>").prompted_as("glm47"),
        hunyuan("hunyuan-v3", "tool_sep"),
        hunyuan("hunyuan-v4", ""),
        k2_horizon(),
        Dialect {
            open: marks(&["<dots_function_call>"]),
            close: marks(&["</dots_function_call>"]),
            ignored: marks(&["</dots_function_call>"]),
            turn_end: marks(&["<|endofresponse|>"]),
            ..dialect("dots", Body::Head(invoke("", parameters("", Trim::Nothing))))
                .or(json(JsonShape::Object, &["name"], &["arguments"]))
                .prompted_as("minimax-m2")
        },
        step3(),
        Dialect {
            reasoning: pairs(&[THINK]),
            open: marks(&["<minimax:tool_call>"]),
            close: marks(&["</minimax:tool_call>"]),
            ignored: marks(&["</think>", "</minimax:tool_call>"]),
            turn_end: marks(&["[e~["]),
            ..dialect(
                "minimax-m2",
                Body::Head(Head { bare: true, ..invoke("", parameters("", Trim::Nothing)) }),
            )
        },
        Dialect {
            reasoning: pairs(&[("<mm:think>", "</mm:think>")]),
            open: marks(&["]<]minimax[>[<tool_call>"]),
            close: marks(&["]<]minimax[>[</tool_call>"]),
            ignored: marks(&["</mm:think>"]),
            turn_end: marks(&["[e~["]),
            ..dialect(
                "minimax-m3",
                head(
                    "]<]minimax[>[<invoke name=\"",
                    &["\">"],
                    HeadForm::Name,
                    Args::Xml(Xml { prefix: "]<]minimax[>[".into(), entities: false, parts: None }),
                    "]<]minimax[>[</invoke>",
                ),
            )
        },
        Dialect {
            open: marks(&["<function_calls>"]),
            close: marks(&["</function_calls>"]),
            batch: BatchEnd::Block,
            ..dialect(
                "anthropic",
                head(
                    "<invoke>",
                    &["</tool_name>"],
                    HeadForm::Behind("<tool_name>".into()),
                    Args::Parameters(Parameters {
                        around: Some(Pair {
                            open: "<parameters>".into(),
                            close: "</parameters>".into(),
                        }),
                        ..parameters_form("<", ">", "", "</{key}>")
                    }),
                    "</invoke>",
                ),
            )
        },
        dsml("deepseek-v32-dsml", "<｜DSML｜function_calls>", "</｜DSML｜function_calls>", ""),
        dsml_v4("deepseek-v4-dsml").and(dsml_v41("deepseek-v41-dsml")),
        dsml_v41("deepseek-v41-dsml"),
        kimi_k3("").and(kimi_k3(" ")),
    ]
}
