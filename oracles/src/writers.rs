//! Calls as models write them: one small writer for each dialect, made from the model's chat template or its maker's guide
//! and not from any reader, so that every reader can be compared with it.

use serde_json::Value;

use crate::{
    Call,
    notation::{M3, elements, gemma, joined, json, kind, pairs, python, verbatim, xml},
};

/// The arguments that a dialect can write without doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Any JSON: strings are escaped or delimited, so that they may hold the marks.
    Any,
    /// Strings are verbatim and have their type from the schema, so they must not hold a mark; deeper values are JSON.
    Verbatim,
    /// As [`Values::Verbatim`], at every depth.
    VerbatimWithin,
}

/// How calls are written in one dialect.
pub struct Writer {
    /// Its name in the core.
    pub dialect: &'static str,
    /// What may be written.
    pub values: Values,
    /// The parts of the dialect, each of which may end or begin something.
    pub marks: &'static [&'static str],
    /// Whether text may stand before the calls.
    pub text: bool,
    /// Writes calls.
    pub write: fn(&[Call]) -> String,
}

impl Writer {
    /// The marks that are tokens of their own where the model runs.
    pub fn special(&self) -> Vec<&'static str> {
        self.marks.iter().copied().filter(|mark| mark.starts_with(['<', '[', ']', '`'])).collect()
    }
}

/// A writer for each dialect that has one.
pub const WRITERS: &[Writer] = &[
    Writer {
        dialect: "cogency",
        values: Values::Any,
        marks: &["<execute>", "</execute>", "<end>", "[", "]"],
        text: true,
        write: |calls| {
            let calls = each(calls, ", ", |name, args| object("name", name, "args", args));
            format!("<execute>[{calls}]</execute>")
        },
    },
    Writer {
        dialect: "forge-xml",
        values: Values::VerbatimWithin,
        marks: &["<tool>", "</tool>"],
        text: true,
        write: |calls| {
            each(calls, "\n", |name, args| {
                let args = xml(args);
                format!(
                    "<tool><server_name>local</server_name><tool_name>{name}</tool_name><arguments>{args}</arguments></tool>"
                )
            })
        },
    },
    Writer {
        dialect: "hermes",
        values: Values::Any,
        marks: &["<tool_call>", "</tool_call>"],
        text: true,
        write: |calls| {
            each(calls, "\n", |name, args| {
                let call = object("name", name, "arguments", args);
                format!("<tool_call>\n{call}\n</tool_call>")
            })
        },
    },
    Writer {
        dialect: "qwen3-coder",
        values: Values::Verbatim,
        marks: &[
            "<tool_call>",
            "<function=",
            ">",
            "<parameter=",
            "</parameter>",
            "</function>",
            "</tool_call>",
        ],
        text: true,
        write: |calls| {
            each(calls, "\n", |name, args| {
                let args =
                    pairs(args, |k, v| format!("<parameter={k}>\n{}\n</parameter>\n", verbatim(v)));
                format!("<tool_call>\n<function={name}>\n{args}</function>\n</tool_call>")
            })
        },
    },
    Writer {
        dialect: "gemma4",
        values: Values::Any,
        marks: &["<|tool_call>", "call:", "{", "}", "<tool_call|>"],
        text: true,
        write: |calls| {
            each(calls, "", |name, args| {
                format!("<|tool_call>call:{name}{}<tool_call|>", gemma(args))
            })
        },
    },
    Writer {
        dialect: "minimax-m2",
        values: Values::Verbatim,
        marks: &[
            "<minimax:tool_call>",
            "<invoke name=\"",
            "\">",
            "<parameter name=\"",
            "</parameter>",
            "</invoke>",
            "</minimax:tool_call>",
        ],
        text: true,
        write: |calls| {
            let calls = each(calls, "", |name, args| {
                let args = pairs(args, |k, v| {
                    format!("<parameter name=\"{k}\">{}</parameter>\n", verbatim(v))
                });
                format!("<invoke name=\"{name}\">\n{args}</invoke>\n")
            });
            format!("<minimax:tool_call>\n{calls}</minimax:tool_call>")
        },
    },
    Writer {
        dialect: "minimax-m3",
        values: Values::VerbatimWithin,
        marks: &["]<]minimax[>[", "<tool_call>", "<invoke name=\"", "</invoke>", "</tool_call>"],
        text: true,
        write: |calls| {
            let calls = each(calls, "", |name, args| {
                let args = elements(args);
                format!("{M3}<invoke name=\"{name}\">{args}{M3}</invoke>\n")
            });
            format!("{M3}<tool_call>\n{calls}{M3}</tool_call>")
        },
    },
    Writer {
        dialect: "glm45",
        values: Values::Verbatim,
        marks: &GLM,
        text: true,
        write: |calls| {
            each(calls, "\n", |name, args| {
                let args = pairs(args, |k, v| {
                    format!("<arg_key>{k}</arg_key>\n<arg_value>{}</arg_value>\n", verbatim(v))
                });
                format!("<tool_call>{name}\n{args}</tool_call>")
            })
        },
    },
    Writer {
        dialect: "glm47",
        values: Values::Verbatim,
        marks: &GLM,
        text: true,
        write: |calls| {
            each(calls, "", |name, args| {
                let args = pairs(args, |k, v| {
                    format!("<arg_key>{k}</arg_key><arg_value>{}</arg_value>", verbatim(v))
                });
                format!("<tool_call>{name}{args}</tool_call>")
            })
        },
    },
    Writer {
        dialect: "kimi-k2",
        values: Values::Any,
        marks: &[
            "<|tool_calls_section_begin|>",
            "<|tool_call_begin|>",
            "<|tool_call_argument_begin|>",
            "<|tool_call_end|>",
            "<|tool_calls_section_end|>",
        ],
        text: true,
        write: |calls| {
            let calls = numbered(0, calls, "", |index, name, args| {
                format!(
                    "<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>{}<|tool_call_end|>",
                    json(args)
                )
            });
            format!("<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|>")
        },
    },
    Writer {
        dialect: "kimi-k3",
        values: Values::Verbatim,
        marks: &["<|open|>", "<|close|>", "<|sep|>"],
        text: false,
        write: |calls| {
            let calls = numbered(1, calls, "", |index, name, args| {
                let args = pairs(args, |k, v| {
                    format!(
                        "<|open|>argument key=\"{k}\" type=\"{}\"<|sep|>{}<|close|>argument<|sep|>",
                        kind(v),
                        verbatim(v)
                    )
                });
                format!(
                    "<|open|>call tool=\"{name}\" index=\"{index}\"<|sep|>{args}<|close|>call<|sep|>"
                )
            });
            format!("<|open|>tools<|sep|>{calls}<|close|>tools<|sep|>")
        },
    },
    Writer {
        dialect: "deepseek-v3",
        values: Values::Any,
        marks: &DEEPSEEK,
        text: true,
        write: |calls| {
            let calls = each(calls, "\n", |name, args| {
                format!(
                    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{}\n```<｜tool▁call▁end｜>",
                    json(args)
                )
            });
            format!("<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>")
        },
    },
    Writer {
        dialect: "deepseek-v31",
        values: Values::Any,
        marks: &DEEPSEEK,
        text: true,
        write: |calls| {
            let calls = each(calls, "", |name, args| {
                format!(
                    "<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
                    json(args)
                )
            });
            format!("<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>")
        },
    },
    Writer {
        dialect: "deepseek-v32-dsml",
        values: Values::Verbatim,
        marks: &DSML,
        text: true,
        write: |calls| dsml("", "function_calls", calls),
    },
    Writer {
        dialect: "deepseek-v4-dsml",
        values: Values::Verbatim,
        marks: &DSML,
        text: true,
        write: |calls| dsml("", "tool_calls", calls),
    },
    Writer {
        dialect: "deepseek-v41-dsml",
        values: Values::Verbatim,
        marks: &DSML,
        text: true,
        write: |calls| dsml(" ", "calls", calls),
    },
    Writer {
        dialect: "llama3-json",
        values: Values::Any,
        marks: &["<|python_tag|>", "{", "}", ";"],
        text: false,
        write: |calls| each(calls, "; ", |name, args| object("name", name, "parameters", args)),
    },
    Writer {
        dialect: "pythonic",
        values: Values::Any,
        marks: &["[", "]", "(", ")", ",", "="],
        text: false,
        write: |calls| format!("[{}]", each(calls, ", ", python_call)),
    },
    Writer {
        dialect: "lfm2",
        values: Values::Any,
        marks: &["<|tool_call_start|>", "<|tool_call_end|>", "[", "]", "(", ")"],
        text: true,
        write: |calls| {
            format!("<|tool_call_start|>[{}]<|tool_call_end|>", each(calls, ", ", python_call))
        },
    },
    Writer {
        dialect: "olmo3",
        values: Values::Any,
        marks: &["<function_calls>", "</function_calls>", "(", ")", "\n"],
        text: true,
        write: |calls| {
            let calls = each(calls, "\n", |name, args| {
                format!("{name}({})", joined(args, ", ", |k, v| format!("{k}={}", json(v))))
            });
            format!("<function_calls>{calls}</function_calls>")
        },
    },
    Writer {
        dialect: "mistral",
        values: Values::Any,
        marks: &["[TOOL_CALLS]", "[/TOOL_CALLS]", "[", "]"],
        text: true,
        write: |calls| format!("[TOOL_CALLS] {}", array(calls)),
    },
    Writer {
        dialect: "mistral-v11",
        values: Values::Any,
        marks: &["[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"],
        text: true,
        write: |calls| {
            each(calls, "", |name, args| format!("[TOOL_CALLS]{name}[ARGS]{}", json(args)))
        },
    },
    Writer {
        dialect: "harmony",
        values: Values::Any,
        marks: &[
            "<|start|>",
            "<|channel|>",
            "<|constrain|>",
            "<|message|>",
            "<|call|>",
            "<|end|>",
            "<|return|>",
        ],
        text: false,
        write: |calls| {
            each(calls, "<|start|>assistant", |name, args| {
                format!(
                    "<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{}<|call|>",
                    json(args)
                )
            })
        },
    },
    Writer {
        dialect: "cohere",
        values: Values::Any,
        marks: &["<|START_ACTION|>", "<|END_ACTION|>", "[", "]"],
        text: false,
        write: |calls| {
            let calls = numbered(0, calls, ",\n", |index, name, args| {
                let args = json(args);
                format!(
                    "    {{\"tool_call_id\": \"{index}\", \"tool_name\": \"{name}\", \"parameters\": {args}}}"
                )
            });
            format!("<|START_ACTION|>[\n{calls}\n]<|END_ACTION|>")
        },
    },
    Writer {
        dialect: "phi4",
        values: Values::Any,
        marks: &["functools", "[", "]"],
        text: true,
        write: |calls| format!("functools{}", array(calls)),
    },
    Writer {
        dialect: "jamba",
        values: Values::Any,
        marks: &["<tool_calls>", "</tool_calls>", "[", "]"],
        text: true,
        write: |calls| format!("<tool_calls>{}</tool_calls>", array(calls)),
    },
    Writer {
        dialect: "granite",
        values: Values::Any,
        marks: &["<|tool_call|>", "<tool_call>", "[", "]"],
        text: false,
        write: |calls| format!("<|tool_call|>{}", array(calls)),
    },
];

const GLM: [&str; 6] =
    ["<tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "</tool_call>"];

const DEEPSEEK: [&str; 6] = [
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
    "```",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
];

const DSML: [&str; 4] = ["<｜DSML｜", "</｜DSML｜", "name=\"", "\">"];

/// The writer of a dialect.
pub fn writer(dialect: &str) -> &'static Writer {
    let writer = WRITERS.iter().find(|writer| writer.dialect == dialect);
    writer.unwrap_or_else(|| panic!("no writer for the dialect {dialect:?}"))
}

fn numbered(
    first: usize,
    calls: &[Call],
    between: &str,
    write: impl Fn(usize, &str, &Value) -> String,
) -> String {
    let calls = (first..).zip(calls).map(|(index, (name, args))| write(index, name, args));
    calls.collect::<Vec<_>>().join(between)
}

fn each(calls: &[Call], between: &str, write: impl Fn(&str, &Value) -> String) -> String {
    calls.iter().map(|(name, args)| write(name, args)).collect::<Vec<_>>().join(between)
}

fn object(name_key: &str, name: &str, args_key: &str, args: &Value) -> String {
    format!("{{\"{name_key}\": \"{name}\", \"{args_key}\": {}}}", json(args))
}

fn array(calls: &[Call]) -> String {
    format!("[{}]", each(calls, ", ", |name, args| object("name", name, "arguments", args)))
}

fn dsml(space: &str, section: &str, calls: &[Call]) -> String {
    let tag = |name: &str| format!("｜DSML｜{space}{name}");
    let (section, invoke, parameter) = (tag(section), tag("invoke"), tag("parameter"));
    let calls = each(calls, "", |name, args| {
        let args = pairs(args, |k, v| {
            let (string, v) = (v.is_string(), verbatim(v));
            format!("<{parameter} name=\"{k}\" string=\"{string}\">{v}</{parameter}>\n")
        });
        format!("<{invoke} name=\"{name}\">\n{args}</{invoke}>\n")
    });
    format!("<{section}>\n{calls}</{section}>")
}

fn python_call(name: &str, args: &Value) -> String {
    format!("{name}({})", joined(args, ", ", |k, v| format!("{k}={}", python(v))))
}
