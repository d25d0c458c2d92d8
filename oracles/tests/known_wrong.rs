//! Texts that a peer is known to read wrongly: what it says, so that a change is noticed, and what is right.
//!
//! Only `dynamo-parsers-v2` is expected to know that a call within reasoning is not a call: the two others leave reasoning to
//! another parser, which runs before them.

use cogency_rs::protocol::Event;
use cogency_rs_oracles::{
    Call, PEERS, ours,
    sample::{chunks, tokens},
    toolparser,
    writers::writer,
};
use serde_json::{Value, json};

/// A text that some peer reads wrongly.
struct Row {
    what: &'static str,
    dialect: &'static str,
    text: &'static str,
    /// Its calls, as JSON.
    right: &'static str,
    says: &'static [Says],
}

/// What a peer says instead.
struct Says(&'static str, How, &'static str);

/// How the peer was asked.
#[derive(Clone, Copy, PartialEq)]
enum How {
    /// A whole text.
    Whole,
    /// A text in tokens.
    Stream,
    /// Either way.
    Both,
}

use How::{Both, Stream, Whole};

const SMG: &str = "tool-parser";
const DYNAMO: &str = "dynamo-parsers";
const DYNAMO_V2: &str = "dynamo-parsers-v2";

const ROWS: &[Row] = &[
    // The mark that closes a call is inside a string of its JSON.
    Row {
        what: "closer in a string",
        dialect: "hermes",
        text: r#"<tool_call>
{"name": "add", "arguments": {"s": "x</tool_call>y"}}
</tool_call>"#,
        right: r#"[["add", {"s": "x</tool_call>y"}]]"#,
        says: &[Says(DYNAMO, Whole, r#"[["add", {"s": "x"}]]"#), Says(DYNAMO, Stream, "[]")],
    },
    Row {
        what: "closer in a string",
        dialect: "jamba",
        text: r#"<tool_calls>[{"name": "add", "arguments": {"s": "x</tool_calls>y"}}]</tool_calls>"#,
        right: r#"[["add", {"s": "x</tool_calls>y"}]]"#,
        says: &[Says(DYNAMO, Whole, r#"[["add", {"s": "x"}]]"#), Says(DYNAMO, Stream, "[]")],
    },
    Row {
        what: "closer in a string",
        dialect: "mistral",
        text: r#"[TOOL_CALLS] [{"name": "add", "arguments": {"s": "x[/TOOL_CALLS]y"}}]"#,
        right: r#"[["add", {"s": "x[/TOOL_CALLS]y"}]]"#,
        says: &[Says(DYNAMO, Whole, r#"[["add", {"s": "x"}]]"#), Says(DYNAMO, Stream, "[]")],
    },
    Row {
        what: "closer in a string",
        dialect: "kimi-k2",
        text: r#"<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{"s": "x<|tool_call_end|>y"}<|tool_call_end|><|tool_calls_section_end|>"#,
        right: r#"[["add", {"s": "x<|tool_call_end|>y"}]]"#,
        says: &[Says(SMG, Stream, r#"[["add", "{\"s\": \"x"]]"#)],
    },
    Row {
        what: "section's closer in a string",
        dialect: "kimi-k2",
        text: r#"<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{"s": "x<|tool_calls_section_end|>y"}<|tool_call_end|><|tool_calls_section_end|>"#,
        right: r#"[["add", {"s": "x<|tool_calls_section_end|>y"}]]"#,
        says: &[Says(DYNAMO, Both, "[]")],
    },
    Row {
        what: "closer in a string",
        dialect: "deepseek-v31",
        text: r#"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{"s": "x<｜tool▁call▁end｜>y"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"#,
        right: r#"[["add", {"s": "x<｜tool▁call▁end｜>y"}]]"#,
        says: &[Says(SMG, Whole, "[]"), Says(DYNAMO, Both, "[]")],
    },
    Row {
        what: "closer in a string",
        dialect: "deepseek-v3",
        text: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n{\"s\": \"x\\n```<｜tool▁call▁end｜>y\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        right: r#"[["add", {"s": "x\n```<｜tool▁call▁end｜>y"}]]"#,
        says: &[Says(SMG, Whole, "[]"), Says(DYNAMO, Both, "[]")],
    },
    Row {
        what: "closer in a string",
        dialect: "gemma4",
        text: r#"<|tool_call>call:add{s:<|"|>x}<tool_call|>y<|"|>}<tool_call|>"#,
        right: r#"[["add", {"s": "x}<tool_call|>y"}]]"#,
        says: &[Says(DYNAMO, Both, r#"[["add", {"s": "x"}]]"#)],
    },
    Row {
        what: "closers in a string",
        dialect: "pythonic",
        text: "[add(s='x)]y')]",
        right: r#"[["add", {"s": "x)]y"}]]"#,
        says: &[Says(SMG, Both, "[]"), Says(DYNAMO, Both, "[]")],
    },
    Row {
        what: "separator in a string",
        dialect: "llama3-json",
        text: r#"{"name": "add", "parameters": {"s": "x; {\"y"}}"#,
        right: r#"[["add", {"s": "x; {\"y"}]]"#,
        says: &[Says(SMG, Whole, "[]")],
    },
    Row {
        what: "opener in a string",
        dialect: "phi4",
        text: r#"functools[{"name": "add", "arguments": {"s": "x functools[y"}}]"#,
        right: r#"[["add", {"s": "x functools[y"}]]"#,
        says: &[Says(DYNAMO, Both, "[]")],
    },
    // The mark that closes a value or a call is inside a verbatim value.
    Row {
        what: "value's closer in a value",
        dialect: "qwen3-coder",
        text: "<tool_call>\n<function=add>\n<parameter=s>\np </parameter> q\n</parameter>\n</function>\n</tool_call>",
        right: r#"[["add", {"s": "p </parameter> q"}]]"#,
        says: &[
            Says(SMG, Both, r#"[["add", {"s": "p"}]]"#),
            Says(DYNAMO, Both, r#"[["add", {"s": "p"}]]"#),
            Says(DYNAMO_V2, Both, r#"[["add", {"s": "p "}]]"#),
        ],
    },
    Row {
        what: "call's closer in a value",
        dialect: "qwen3-coder",
        text: "<tool_call>\n<function=add>\n<parameter=s>\np </tool_call> q\n</parameter>\n</function>\n</tool_call>",
        right: r#"[["add", {"s": "p </tool_call> q"}]]"#,
        says: &[
            Says(SMG, Whole, r#"[["add", {}]]"#),
            Says(SMG, Stream, r#"[["add", {"s": "p"}]]"#),
            Says(DYNAMO, Both, r#"[["add", {"s": "p </tool_call>"}]]"#),
        ],
    },
    Row {
        what: "function's closer in a value",
        dialect: "qwen3-coder",
        text: "<tool_call>\n<function=add>\n<parameter=s>\np </function> q\n</parameter>\n</function>\n</tool_call>",
        right: r#"[["add", {"s": "p </function> q"}]]"#,
        says: &[Says(DYNAMO, Both, r#"[["add", {"s": "p"}]]"#)],
    },
    Row {
        what: "value's closer in a value",
        dialect: "minimax-m2",
        text: "<minimax:tool_call>\n<invoke name=\"add\">\n<parameter name=\"s\">p </parameter> q</parameter>\n</invoke>\n</minimax:tool_call>",
        right: r#"[["add", {"s": "p </parameter> q"}]]"#,
        says: &[
            Says(SMG, Both, r#"[["add", {"s": "p "}]]"#),
            Says(DYNAMO, Both, r#"[["add", {"s": "p"}]]"#),
            Says(DYNAMO_V2, Both, r#"[["add", {"s": "p"}]]"#),
        ],
    },
    Row {
        what: "call's closer in a value",
        dialect: "glm45",
        text: "<tool_call>add\n<arg_key>s</arg_key>\n<arg_value>p</tool_call>q</arg_value>\n</tool_call>",
        right: r#"[["add", {"s": "p</tool_call>q"}]]"#,
        says: &[
            Says(SMG, Both, r#"[["add", {}]]"#),
            Says(DYNAMO, Whole, r#"[["add", {}], ["q</arg_value>", {}]]"#),
            Says(DYNAMO, Stream, r#"[["add", {}]]"#),
        ],
    },
    Row {
        what: "value's closer in a value",
        dialect: "glm47",
        text: "<tool_call>add<arg_key>s</arg_key><arg_value>p</arg_value>q</arg_value></tool_call>",
        right: r#"[["add", {"s": "p</arg_value>q"}]]"#,
        says: &[
            Says(SMG, Both, r#"[["add", {"s": "p"}]]"#),
            Says(DYNAMO, Both, r#"[["add", {"s": "p"}]]"#),
            Says(DYNAMO_V2, Both, r#"[["add", {"s": "p"}]]"#),
        ],
    },
    Row {
        what: "value's closer in a value",
        dialect: "kimi-k3",
        text: "<|open|>tools<|sep|><|open|>call tool=\"add\" index=\"1\"<|sep|><|open|>argument key=\"s\" type=\"string\"<|sep|>p<|close|>argument<|sep|>q<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
        right: r#"[["add", {"s": "p<|close|>argument<|sep|>q"}]]"#,
        says: &[Says(SMG, Both, r#"[["add", {"s": "p"}]]"#), Says(DYNAMO, Both, "[]")],
    },
    Row {
        what: "value's closer in a value",
        dialect: "deepseek-v32-dsml",
        text: "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"add\">\n<｜DSML｜parameter name=\"s\" string=\"true\">p </｜DSML｜parameter> q</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        right: r#"[["add", {"s": "p </｜DSML｜parameter> q"}]]"#,
        says: &[
            Says(SMG, Both, r#"[["add", {"s": "p "}]]"#),
            Says(DYNAMO, Both, r#"[["add", {"s": "p"}]]"#),
        ],
    },
    Row {
        what: "value's closer in a value",
        dialect: "deepseek-v41-dsml",
        text: "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"add\">\n<｜DSML｜ parameter name=\"s\" string=\"true\">p </｜DSML｜ parameter> q</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>",
        right: r#"[["add", {"s": "p </｜DSML｜ parameter> q"}]]"#,
        says: &[Says(SMG, Both, r#"[["add", {"s": "p "}]]"#), Says(DYNAMO_V2, Both, "[]")],
    },
    // The text ends within a value, so it is not known what the call would have been.
    Row {
        what: "cut in a value",
        dialect: "hermes",
        text: "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1, \"s\": \"rm -rf /tm",
        right: "[]",
        says: &[
            Says(SMG, Stream, r#"[["add", {"a": 1, "s": "rm -rf /tm"}]]"#),
            Says(DYNAMO, Both, r#"[["add", {"a": 1, "s": "rm -rf /tm"}]]"#),
        ],
    },
    Row {
        what: "cut in a value",
        dialect: "llama3-json",
        text: r#"{"name": "add", "parameters": {"a": 1, "s": "rm -rf /tm"#,
        right: "[]",
        says: &[
            Says(SMG, Stream, r#"[["add", {"a": 1, "s": "rm -rf /tm"}]]"#),
            Says(DYNAMO, Both, r#"[["add", {"a": 1, "s": "rm -rf /tm"}]]"#),
        ],
    },
    Row {
        what: "cut in a value",
        dialect: "jamba",
        text: r#"<tool_calls>[{"name": "add", "arguments": {"a": 1, "s": "rm -rf /tm"#,
        right: "[]",
        says: &[Says(DYNAMO, Both, r#"[["add", {"a": 1, "s": "rm -rf /tm"}]]"#)],
    },
    Row {
        what: "cut in a value",
        dialect: "mistral",
        text: r#"[TOOL_CALLS] [{"name": "add", "arguments": {"a": 1, "s": "rm -rf /tm"#,
        right: "[]",
        says: &[Says(SMG, Stream, r#"[["add", {"a": 1, "s": "rm -rf /tm"}]]"#)],
    },
    Row {
        what: "cut in a value",
        dialect: "qwen3-coder",
        text: "<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n<parameter=s>\nrm -rf /tm",
        right: "[]",
        says: &[Says(SMG, Stream, r#"[["add", {"a": 1, "s": "rm -rf /tm"}]]"#)],
    },
    Row {
        what: "cut in a value",
        dialect: "deepseek-v32-dsml",
        text: "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"add\">\n<｜DSML｜parameter name=\"a\" string=\"false\">1</｜DSML｜parameter>\n<｜DSML｜parameter name=\"s\" string=\"true\">rm -rf /tm",
        right: "[]",
        says: &[Says(SMG, Stream, r#"[["add", {"a": 1, "s": "rm -rf /tm"}]]"#)],
    },
    // A call whose JSON is broken comes before a good one. If each call has marks of its own, only the broken one is lost; in one
    // block with both, neither can be relied on.
    Row {
        what: "broken call before a good one",
        dialect: "hermes",
        text: "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1,}}\n</tool_call>\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2}}\n</tool_call>",
        right: r#"[["add", {"a": 2}]]"#,
        says: &[Says(SMG, Stream, r#"[["add", {"a": 1}]]"#), Says(DYNAMO, Whole, "[]")],
    },
    Row {
        what: "broken call before a good one",
        dialect: "kimi-k2",
        text: r#"<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{"a": 1,}<|tool_call_end|><|tool_call_begin|>functions.add:1<|tool_call_argument_begin|>{"a": 2}<|tool_call_end|><|tool_calls_section_end|>"#,
        right: r#"[["add", {"a": 2}]]"#,
        says: &[
            Says(SMG, Stream, r#"[["add", "{\"a\": 1,}"]]"#),
            Says(DYNAMO, Both, r#"[["add", "{\"a\": 1,}"], ["add", {"a": 2}]]"#),
            Says(DYNAMO_V2, Both, r#"[["add", {}], ["add", {"a": 2}]]"#),
        ],
    },
    Row {
        what: "broken call before a good one",
        dialect: "deepseek-v31",
        text: r#"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{"a": 1,}<｜tool▁call▁end｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{"a": 2}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"#,
        right: "[]",
        says: &[Says(
            SMG,
            Stream,
            r#"[["add", "{\"a\": 1,}<｜tool▁call▁end｜><｜tool▁call▁begin｜>add"]]"#,
        )],
    },
    // Calls that the model only thinks of.
    Row {
        what: "call in reasoning",
        dialect: "qwen3-coder",
        text: "<think>Not <tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call></think>no",
        right: "[]",
        says: &[Says(DYNAMO_V2, Both, r#"[["add", {"a": 1}]]"#)],
    },
    Row {
        what: "call in reasoning",
        dialect: "glm47",
        text: "<think>Not <tool_call>add<arg_key>a</arg_key><arg_value>1</arg_value></tool_call></think>no",
        right: "[]",
        says: &[Says(DYNAMO_V2, Both, r#"[["add", {"a": 1}]]"#)],
    },
    Row {
        what: "call in reasoning",
        dialect: "kimi-k2",
        text: r#"<think>Not <|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|><|tool_calls_section_end|></think>no"#,
        right: "[]",
        says: &[Says(DYNAMO_V2, Both, r#"[["add", {"a": 1}]]"#)],
    },
    Row {
        what: "call in reasoning",
        dialect: "gemma4",
        text: "<|channel>thought\nNot <|tool_call>call:add{a:1}<tool_call|>\n<channel|>no",
        right: "[]",
        says: &[Says(DYNAMO_V2, Both, r#"[["add", {"a": 1}]]"#)],
    },
    Row {
        what: "call in reasoning",
        dialect: "deepseek-v4-dsml",
        text: "<think>Not <｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"add\">\n<｜DSML｜parameter name=\"a\" string=\"false\">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls></think>no",
        right: "[]",
        says: &[Says(DYNAMO_V2, Both, r#"[["add", {"a": 1}]]"#)],
    },
    // Well formed all the same.
    Row {
        what: "space at the ends of a value",
        dialect: "qwen3-coder",
        text: "<tool_call>\n<function=add>\n<parameter=s>\n  x\n</parameter>\n</function>\n</tool_call>",
        right: r#"[["add", {"s": "  x"}]]"#,
        says: &[
            Says(SMG, Both, r#"[["add", {"s": "x"}]]"#),
            Says(DYNAMO, Both, r#"[["add", {"s": "x"}]]"#),
        ],
    },
    Row {
        what: "no line break behind the mark",
        dialect: "hermes",
        text: r#"<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>"#,
        right: r#"[["add", {"a": 1}]]"#,
        says: &[Says(SMG, Both, "[]")],
    },
    Row {
        what: "no space behind the mark",
        dialect: "mistral",
        text: r#"[TOOL_CALLS][{"name": "add", "arguments": {"a": 1}}]"#,
        right: r#"[["add", {"a": 1}]]"#,
        says: &[Says(SMG, Both, "[]")],
    },
    Row {
        what: "no line break behind the name",
        dialect: "glm45",
        text: "<tool_call>add</tool_call>",
        right: r#"[["add", {}]]"#,
        says: &[Says(SMG, Both, "[]")],
    },
    Row {
        what: "entity that is none",
        dialect: "qwen3-coder",
        text: "<tool_call>\n<function=add>\n<parameter=s>\na &lt; b\n</parameter>\n</function>\n</tool_call>",
        right: r#"[["add", {"s": "a &lt; b"}]]"#,
        says: &[Says(DYNAMO, Both, r#"[["add", {"s": "a < b"}]]"#)],
    },
    Row {
        what: "entity that is none",
        dialect: "minimax-m2",
        text: "<minimax:tool_call>\n<invoke name=\"add\">\n<parameter name=\"s\">a &lt; b</parameter>\n</invoke>\n</minimax:tool_call>",
        right: r#"[["add", {"s": "a &lt; b"}]]"#,
        says: &[
            Says(SMG, Both, r#"[["add", {"s": "a < b"}]]"#),
            Says(DYNAMO, Both, r#"[["add", {"s": "a < b"}]]"#),
            Says(DYNAMO_V2, Both, r#"[["add", {"s": "a < b"}]]"#),
        ],
    },
    Row {
        what: "entity that is none",
        dialect: "minimax-m3",
        text: "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"add\">]<]minimax[>[<s>a &lt; b]<]minimax[>[</s>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        right: r#"[["add", {"s": "a &lt; b"}]]"#,
        says: &[
            Says(SMG, Both, r#"[["add", {"s": "a < b"}]]"#),
            Says(DYNAMO, Both, r#"[["add", {"s": "a < b"}]]"#),
        ],
    },
    Row {
        what: "two calls",
        dialect: "llama3-json",
        text: r#"{"name": "add", "parameters": {"a": 1}}; {"name": "add", "parameters": {"a": 2}}"#,
        right: r#"[["add", {"a": 1}], ["add", {"a": 2}]]"#,
        says: &[Says(DYNAMO, Both, "[]")],
    },
    Row {
        what: "number below zero",
        dialect: "pythonic",
        text: "[add(a=-1)]",
        right: r#"[["add", {"a": -1}]]"#,
        says: &[Says(DYNAMO, Both, r#"[["add", {}]]"#)],
    },
    Row {
        what: "no ASCII",
        dialect: "pythonic",
        text: "[add(s='é')]",
        right: r#"[["add", {"s": "é"}]]"#,
        says: &[Says(SMG, Stream, "[]")],
    },
    Row {
        what: "list of two types",
        dialect: "gemma4",
        text: r#"<|tool_call>call:add{l:[<|"|>x<|"|>,0]}<tool_call|>"#,
        right: r#"[["add", {"l": ["x", 0]}]]"#,
        says: &[Says(SMG, Both, r#"[["add", {"l": ["x", "0"]}]]"#)],
    },
    Row {
        what: "any call",
        dialect: "cohere",
        text: r#"<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "add", "parameters": {"a": 1}}]<|END_ACTION|>"#,
        right: r#"[["add", {"a": 1}]]"#,
        says: &[Says(SMG, Stream, "[]")],
    },
];

#[test]
fn the_peers_say_what_they_are_known_to_say() {
    let mut changed = Vec::new();
    for row in ROWS {
        let tokens = row.tokens();
        for Says(name, how, says) in row.says {
            let peer = PEERS.iter().find(|peer| peer.name == *name).expect("a peer");
            let whole = (*how != Stream).then(|| (peer.calls)(row.dialect, row.text, &tools()));
            let stream = (*how != Whole).then(|| (peer.stream)(row.dialect, &tokens, &tools()));
            for read in [whole, stream].into_iter().flatten() {
                let read = read.unwrap_or_else(|| panic!("{name} has no {}", row.dialect));
                if read != calls(says) {
                    changed.push(format!(
                        "{name}, {} in {}: {}",
                        row.what,
                        row.dialect,
                        json!(read)
                    ));
                }
            }
        }
    }
    assert!(changed.is_empty(), "what they say now:\n{}", changed.join("\n"));
}

#[test]
fn the_core_is_right() {
    let mut wrong = Vec::new();
    for row in ROWS {
        for size in 1..=row.text.len() {
            let chunks = chunks(row.text, size);
            let events = ours::events(row.dialect, &chunks, &tools()).expect("a dialect");
            let read = ours::calls_of(&events);
            // Text that is not a call is reasoning, or is reported to the model.
            let is_said = |event: &Event| matches!(event, Event::Error(_) | Event::Think(_));
            if read != calls(row.right) || (read.is_empty() && !events.iter().any(is_said)) {
                wrong.push(format!("{} in {}: {events:?}", row.what, row.dialect));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_they_say_is_not_right() {
    for row in ROWS {
        for Says(name, _, says) in row.says {
            assert_ne!(calls(says), calls(row.right), "{name}, {} in {}", row.what, row.dialect);
        }
    }
}

#[test]
fn tool_parser_panics_within_a_character_of_a_pythonic_stream() {
    let asked = || toolparser::stream("pythonic", &["[add(s='é😀')]"], &tools());
    assert!(std::panic::catch_unwind(asked).is_err());
}

impl Row {
    fn tokens(&self) -> Vec<&'static str> {
        tokens(self.text, 5, &writer(self.dialect).special())
    }
}

fn calls(json: &str) -> Vec<Call> {
    serde_json::from_str(json).expect("calls as JSON")
}

fn tools() -> Vec<Value> {
    let properties =
        json!({ "a": { "type": "integer" }, "s": { "type": "string" }, "l": { "type": "array" } });
    let parameters = json!({ "type": "object", "properties": properties });
    vec![json!({ "type": "function", "function": { "name": "add", "parameters": parameters } })]
}
