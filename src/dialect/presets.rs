//! The dialects that models were taught, by name: a row for each.

use std::sync::{Arc, LazyLock, OnceLock};

use super::{
    Args, Batch, Body, Decision, Dialect, Flag, Head, HeadForm, Heads, Json, LoneMark, Pair,
    Parameters, Python, Results, Shape, Str, Trim, Unmarked, Untyped, Xml, XmlParts,
};
use super::{models, prompts};
use crate::protocol::Grammar;

/// The dialect of this name.
#[must_use]
pub fn preset(name: &str) -> Option<Arc<Dialect>> {
    ROWS.iter().find(|row| row.name == name).cloned()
}

/// The names of all of them, in the order of the table.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| &*row.name)
}

/// The grammar of the dialect of this name, which is made once.
#[must_use]
pub fn grammar(name: &str) -> Option<Arc<Grammar>> {
    static GRAMMARS: LazyLock<Vec<OnceLock<Arc<Grammar>>>> =
        LazyLock::new(|| ROWS.iter().map(|_| OnceLock::new()).collect());
    let number = ROWS.iter().position(|row| row.name == name)?;
    let grammar = || Arc::new(Grammar::new(vec![Arc::clone(&ROWS[number])]));
    Some(Arc::clone(GRAMMARS[number].get_or_init(grammar)))
}

/// cogency's own.
///
/// # Panics
/// Never: it is the first of the table.
#[must_use]
pub fn cogency() -> Arc<Grammar> {
    grammar("cogency").expect("the first of the table")
}

static ROWS: LazyLock<Vec<Arc<Dialect>>> =
    LazyLock::new(|| rows().into_iter().map(Arc::new).collect());

/// The table. What a row does not name is as in [`dialect`].
fn rows() -> Vec<Dialect> {
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
            batch: Batch::Block,
            lone_mark: LoneMark::Block,
            ..dialect(
                "cogency",
                Body::Json(Json {
                    empty_names: true,
                    ..json_form(Shape::Array, &["name"], &["args"])
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
                    ..json_form(Shape::Object, &["tool_name"], &["arguments"])
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
        Dialect {
            reasoning: pairs(&[THINK]),
            open: marks(&["<tool_call>"]),
            close: marks(&["</tool_call>"]),
            ignored: marks(&["</think>"]),
            turn_end: marks(&["<|im_end|>", "<|endoftext|>"]),
            ..dialect("hermes", json(Shape::Object, &["name"], &["arguments"]))
        },
        Dialect {
            unmarked: Unmarked::Anywhere,
            ..dialect(
                "json-plain",
                Body::Json(Json {
                    args_optional: true,
                    ..json_form(Shape::Object, &["name", "function"], &["arguments", "parameters"])
                }),
            )
            .or(Body::Json(Json {
                args_optional: true,
                empty_names: false,
                skips_others: true,
                ..json_form(Shape::Array, &["name", "function"], &["arguments", "parameters"])
            }))
        },
        Dialect {
            open: marks(&["<|python_tag|>"]),
            unmarked: Unmarked::AtStart,
            turn_end: marks(&["<|eot_id|>", "<|eom_id|>"]),
            ..dialect(
                "llama3-json",
                Body::Json(Json {
                    args_optional: true,
                    ..json_form(Shape::Objects(";".into()), &["name"], &["parameters", "arguments"])
                }),
            )
        },
        Dialect {
            unmarked: Unmarked::AtStart,
            ..dialect(
                "react-json",
                Body::Json(Json {
                    decision: Some(Decision {
                        key: "type".into(),
                        call: "call_tool".into(),
                        answer: "final_answer".into(),
                        answer_key: "answer".into(),
                        thought_key: "thought".into(),
                    }),
                    ..json_form(Shape::Object, &["tool"], &["args"])
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
            ..dialect("jamba", json(Shape::Array, &["name"], &["arguments"]))
        },
        Dialect {
            open: marks(&["<TOOLCALL>"]),
            close: marks(&["</TOOLCALL>"]),
            reasoning: pairs(&[THINK]),
            ..dialect("nemotron-deci", json(Shape::Array, &["name"], &["arguments", "parameters"]))
        },
        Dialect {
            open: marks(&["<|tool_call|>", "<tool_call>"]),
            turn_end: marks(&["<|end_of_text|>"]),
            ..dialect("granite", json(Shape::Array, &["name"], &["arguments"]))
        },
        Dialect {
            open: marks(&["functools"]),
            turn_end: marks(&["<|end|>"]),
            ..dialect("phi4", json(Shape::Array, &["name"], &["arguments", "parameters"]))
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
                    ..json_form(Shape::Array, &["name"], &["arguments"])
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
                    ..json_form(Shape::Array, &["tool_name", "name"], &["parameters", "arguments"])
                }),
            )
            .or(Body::Json(Json {
                id: Some("tool_call_id".into()),
                ..json_form(Shape::Object, &["tool_name", "name"], &["parameters", "arguments"])
            }))
        },
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
        Dialect {
            open: marks(&["<｜tool▁calls▁begin｜>"]),
            close: marks(&["<｜tool▁calls▁end｜>"]),
            ..deepseek(
                "deepseek-v3",
                head(
                    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
                    &["\n```json\n"],
                    HeadForm::Name,
                    Args::Json,
                    "```<｜tool▁call▁end｜>",
                ),
            )
        },
        Dialect {
            open: marks(&["<｜tool▁calls▁begin｜>"]),
            close: marks(&["<｜tool▁calls▁end｜>"]),
            ..deepseek(
                "deepseek-v31",
                head(
                    "<｜tool▁call▁begin｜>",
                    &["<｜tool▁sep｜>"],
                    HeadForm::Name,
                    Args::Json,
                    "<｜tool▁call▁end｜>",
                ),
            )
        },
        Dialect {
            reasoning: pairs(&[THINK]),
            open: marks(&["<|tool_calls_section_begin|>"]),
            close: marks(&["<|tool_calls_section_end|>"]),
            ignored: marks(&["</think>"]),
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
            reasoning: pairs(&[("<|channel>thought\n", "<channel|>")]),
            ignored: marks(&["<tool_call|>"]),
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
        // A name in a head, and an element for each argument.
        Dialect {
            reasoning: pairs(&[THINK]),
            open: marks(&["<tool_call>"]),
            close: marks(&["</tool_call>"]),
            ignored: marks(&["</think>", "</tool_call>"]),
            turn_end: marks(&["<|im_end|>", "<|endoftext|>"]),
            ..dialect("qwen3-coder", functions(Trim::Newline))
        },
        Dialect {
            reasoning: pairs(&[THINK]),
            open: marks(&["<tool_call>"]),
            close: marks(&["</tool_call>"]),
            ignored: marks(&["</think>", "</tool_call>"]),
            turn_end: marks(&["<|im_end|>", "<|endoftext|>"]),
            ..dialect("mimo", functions(Trim::Nothing))
        },
        glm("glm45", "\n"),
        glm("glm47", "<arg_key>"),
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
            batch: Batch::Block,
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
        dsml("deepseek-v4-dsml", "<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>", ""),
        dsml("deepseek-v41-dsml", "<｜DSML｜ calls>", "</｜DSML｜ calls>", " "),
        Dialect {
            reasoning: pairs(&[("<|open|>think<|sep|>", "<|close|>think<|sep|>")]),
            answer: pairs(&[("<|open|>response<|sep|>", "<|close|>response<|sep|>")]),
            open: marks(&["<|open|>tools<|sep|>"]),
            close: marks(&["<|close|>tools<|sep|>"]),
            turn_end: marks(&["<|close|>message<|sep|>", "<|end_of_msg|>"]),
            ..dialect(
                "kimi-k3",
                head(
                    "<|open|>call ",
                    &["<|sep|>"],
                    HeadForm::Attributes("tool".into()),
                    Args::Parameters(Parameters {
                        whole: Some(Pair {
                            open: "<|open|>json type=\"object\"<|sep|>".into(),
                            close: "<|close|>json<|sep|>".into(),
                        }),
                        flag: Some(Flag {
                            name: "type".into(),
                            text: "string".into(),
                            json: "".into(),
                        }),
                        ..parameters_form(
                            "<|open|>argument key=\"",
                            "\"",
                            "<|sep|>",
                            "<|close|>argument<|sep|>",
                        )
                    }),
                    "<|close|>call<|sep|>",
                ),
            )
        },
        // Messages with heads.
        Dialect {
            heads: Some(Heads {
                open: marks(&["<|start|>", "<|channel|>"]),
                channel: "<|channel|>".into(),
                recipient: "to=".into(),
                end: "<|message|>".into(),
                close: marks(&["<|end|>", "<|call|>", "<|return|>"]),
                reasoning: marks(&["analysis"]),
                answer: marks(&["assistant", "user"]),
                prefix: "functions.".into(),
                names_call: true,
            }),
            ..dialect(
                "harmony",
                head("functions.", &["<|message|>"], HeadForm::Name, Args::Json, ""),
            )
        },
        Dialect {
            heads: Some(Heads {
                open: marks(&["<|start|>", "<|channel|>"]),
                channel: "<|channel|>".into(),
                recipient: "to=".into(),
                end: "<|message|>".into(),
                close: marks(&["<|end|>", "<|call|>", "<|return|>"]),
                reasoning: marks(&["analysis"]),
                answer: marks(&["assistant", "user"]),
                prefix: "".into(),
                names_call: true,
            }),
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
        Dialect {
            heads: Some(Heads {
                open: marks(&["<|start|>"]),
                channel: "".into(),
                recipient: "to=".into(),
                end: "<|message|>".into(),
                close: marks(&["<|eom|>", "<|eot|>"]),
                reasoning: marks(&["self"]),
                answer: marks(&["assistant", "user", "commentary"]),
                prefix: "".into(),
                names_call: false,
            }),
            open: marks(&["<atem:function_calls>"]),
            close: marks(&["</atem:function_calls>"]),
            ignored: marks(&["</atem:function_calls>"]),
            turn_end: marks(&["<|eot|>"]),
            ..dialect(
                "muse-glimmer",
                Body::Head(Head {
                    bare: true,
                    form: HeadForm::Doubled,
                    ..invoke(
                        "atem:",
                        Parameters { untyped: Untyped::Json, ..parameters("atem:", Trim::Nothing) },
                    )
                }),
            )
        },
        Dialect {
            reasoning: pairs(&[("<|content_thinking|>", "<|end_message|>")]),
            results: vec![Results {
                open: "<|message_model|>".into(),
                close: "".into(),
                array: false,
            }],
            open: marks(&["<|content_invoke_tool_json|>"]),
            close: marks(&["<|end_message|>"]),
            ignored: marks(&["<|content_text|>", "<|end_message|>"]),
            turn_end: marks(&["<|content_model_end_sampling|>"]),
            ..dialect("inkling", json(Shape::Object, &["name"], &["args"]))
        },
        // Python calls.
        Dialect {
            reasoning: pairs(&[THINK]),
            open: marks(&["<|tool_call_start|>"]),
            close: marks(&["<|tool_call_end|>"]),
            ignored: marks(&["<|tool_call_end|>"]),
            turn_end: marks(&["<|im_end|>"]),
            ..dialect("lfm2", Body::Python(Python::List)).or(Body::Python(Python::Lines))
        },
        Dialect {
            unmarked: Unmarked::Anywhere,
            open: marks(&["<|python_start|>"]),
            close: marks(&["<|python_end|>"]),
            ignored: marks(&["<|python_end|>"]),
            turn_end: marks(&["<|eot|>", "<|eom|>"]),
            ..dialect("pythonic", Body::Python(Python::List))
        },
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

const THINK: (&str, &str) = ("<think>", "</think>");

/// A dialect with nothing but a name and a body.
fn dialect(name: &'static str, body: Body) -> Dialect {
    Dialect {
        name: name.into(),
        models: models::models(name),
        reasoning: Vec::new(),
        begins_in_reasoning: false,
        answer: Vec::new(),
        results: Vec::new(),
        heads: None,
        at_line_start: false,
        open: Vec::new(),
        close: Vec::new(),
        unmarked: Unmarked::Never,
        bodies: vec![body],
        batch: Batch::Answer,
        lone_mark: LoneMark::Text,
        end: Vec::new(),
        turn_end: Vec::new(),
        ignored: Vec::new(),
        stop: marks(prompts::stop(name)),
        prompt: prompts::prompt(name),
    }
}

impl Dialect {
    /// The same, with another body that is read too.
    fn or(mut self, body: Body) -> Self {
        self.bodies.push(body);
        self
    }
}

fn marks(marks: &[&'static str]) -> Vec<Str> {
    marks.iter().map(|&mark| mark.into()).collect()
}

fn pairs(pairs: &[(&'static str, &'static str)]) -> Vec<Pair> {
    pairs.iter().map(|&(open, close)| Pair { open: open.into(), close: close.into() }).collect()
}

fn json_form(shape: Shape, name: &[&'static str], args: &[&'static str]) -> Json {
    Json {
        shape,
        name: marks(name),
        args: marks(args),
        args_optional: false,
        empty_names: false,
        skips_others: false,
        id: None,
        server: None,
        decision: None,
    }
}

fn json(shape: Shape, name: &[&'static str], args: &[&'static str]) -> Body {
    Body::Json(json_form(shape, name, args))
}

fn head_form(
    open: &'static str,
    ends: &[&'static str],
    form: HeadForm,
    args: Args,
    close: &'static str,
) -> Head {
    let (open, ends, close) = (open.into(), marks(ends), close.into());
    Head { open, ends, form, args, close, until: Vec::new(), bare: false }
}

fn head(
    open: &'static str,
    ends: &[&'static str],
    form: HeadForm,
    args: Args,
    close: &'static str,
) -> Body {
    Body::Head(head_form(open, ends, form, args, close))
}

fn parameters_form(
    open: &'static str,
    key_end: &'static str,
    value_open: &'static str,
    close: &'static str,
) -> Parameters {
    Parameters {
        around: None,
        whole: None,
        open: open.into(),
        key_end: key_end.into(),
        value_open: value_open.into(),
        close: close.into(),
        flag: None,
        trim: Trim::Nothing,
        untyped: Untyped::Text,
    }
}

/// `<function=NAME><parameter=KEY>value</parameter></function>`, also without a block around it.
fn functions(trim: Trim) -> Body {
    let parameters = Parameters { trim, ..parameters_form("<parameter=", ">", "", "</parameter>") };
    Body::Head(Head {
        bare: true,
        ..head_form(
            "<function=",
            &[">"],
            HeadForm::Name,
            Args::Parameters(parameters),
            "</function>",
        )
    })
}

/// `<parameter name="KEY">value</parameter>`, with something in front of the tags' names.
fn parameters(before: &str, trim: Trim) -> Parameters {
    Parameters {
        open: format!("<{before}parameter name=\"").into(),
        close: format!("</{before}parameter>").into(),
        trim,
        ..parameters_form("", "\">", "", "")
    }
}

/// `<invoke name="NAME">…</invoke>`, likewise.
fn invoke(before: &str, parameters: Parameters) -> Head {
    Head {
        open: format!("<{before}invoke name=\"").into(),
        close: format!("</{before}invoke>").into(),
        ..head_form("", &["\">"], HeadForm::Name, Args::Parameters(parameters), "")
    }
}

/// `DeepSeek`'s reasoning and its end.
fn deepseek(name: &'static str, body: Body) -> Dialect {
    Dialect {
        reasoning: pairs(&[THINK]),
        ignored: marks(&["</think>"]),
        turn_end: marks(&["<｜end▁of▁sentence｜>"]),
        ..dialect(name, body)
    }
}

fn dsml(name: &'static str, open: &'static str, close: &'static str, space: &str) -> Dialect {
    let before = format!("｜DSML｜{space}");
    let parameters = Parameters {
        key_end: "\"".into(),
        value_open: ">".into(),
        flag: Some(Flag { name: "string".into(), text: "true".into(), json: "false".into() }),
        ..parameters(&before, Trim::Nothing)
    };
    Dialect {
        open: marks(&[open]),
        close: marks(&[close]),
        ..deepseek(name, Body::Head(Head { bare: true, ..invoke(&before, parameters) }))
    }
}

/// `<tool_call>NAME<arg_key>KEY</arg_key><arg_value>value</arg_value></tool_call>`
fn glm(name: &'static str, end: &'static str) -> Dialect {
    let ends: &[_] = if end == "\n" {
        &["\n", "<arg_key>", "</tool_call>"]
    } else {
        &["<arg_key>", "</tool_call>", "\n"]
    };
    let parameters = parameters_form("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>");
    Dialect {
        reasoning: pairs(&[THINK]),
        ignored: marks(&["</think>"]),
        turn_end: marks(&["<|observation|>", "<|user|>", "<|endoftext|>"]),
        ..dialect(
            name,
            head("<tool_call>", ends, HeadForm::Name, Args::Parameters(parameters), "</tool_call>"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut all: Vec<_> = names().collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn a_dialect_is_data_that_can_be_written_and_read() {
        for name in names() {
            let row = preset(name).unwrap_or_else(|| panic!("{name} is one of the table"));
            let json =
                serde_json::to_value(&*row).unwrap_or_else(|error| panic!("{name}: {error}"));
            let read: Dialect =
                serde_json::from_value(json).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(read, *row);
        }
    }
}
