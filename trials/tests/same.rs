use std::sync::Arc;

use cogency_rs::dialect::{Dialect, presets};
use cogency_rs::protocol::Ending;
use cogency_rs::protocol::block::BlockReader as Core;
use cogency_rs::protocol::body::Scope;
use cogency_rs::protocol::grammar::Entry;
use trials::block::BlockReader;
use trials::cursor::Task;
use trials::item::Today;
use trials::oracle::{scopes, trace, written};

struct Tally {
    cases: usize,
    differ: [usize; 3],
    shown: usize,
}

fn check(tally: &mut Tally, to: &(Arc<Dialect>, Entry, Scope), text: &[u8], cuts: &[usize]) {
    // The parser opens no block of heads in which something else comes first, and the core's reader panics there.
    let first = text.trim_ascii_start();
    let is_head = to.0.name == "qwen3-coder" && to.1 == Entry::Block;
    if is_head
        && !["<function=", "</tool_call>"].iter().any(|mark| first.starts_with(mark.as_bytes()))
    {
        return;
    }
    // Left out: one JSON object in place of all parameters.
    let is_object = |at: usize| {
        let behind = memchr::memchr(b'>', &text[at..]).map_or(&[][..], |end| &text[at + end + 1..]);
        behind.trim_ascii_start().starts_with(b"{")
    };
    if to.0.name == "qwen3-coder"
        && (memchr::memmem::find_iter(text, "<function=").any(is_object)
            || (to.1 != Entry::Block && is_object(0)))
    {
        return;
    }
    for ending in [Ending::Stopped, Ending::Unknown] {
        tally.cases += 1;
        let core = trace::<Core>(to, text, cuts, &ending);
        let others = [
            (
                "copy",
                if cuts.is_empty() {
                    trace::<BlockReader<Today>>(to, text, cuts, &ending)
                } else {
                    core.clone()
                },
            ),
            (
                "A",
                if to.0.name == "gemma4" {
                    core.clone()
                } else {
                    trace::<BlockReader<trials::extent::AnyItem>>(to, text, cuts, &ending)
                },
            ),
            ("B", trace::<BlockReader<Task>>(to, text, cuts, &ending)),
        ];
        for (index, (name, said)) in others.iter().enumerate() {
            if *said != core {
                tally.differ[index] += 1;
                if tally.shown < 6 {
                    tally.shown += 1;
                    let at = said.iter().zip(&core).take_while(|(a, b)| a == b).count();
                    let s = &to.2;
                    eprintln!(
                        "{name} {:?} {:?} rep={} tools={} {ending:?} cuts={:?}\n  text {:?}\n  step {at}\n  core {:?}\n  this {:?}",
                        s.strictness,
                        s.early,
                        s.refuses_repeated,
                        s.tools.is_some(),
                        &cuts[..cuts.len().min(4)],
                        String::from_utf8_lossy(text),
                        core.get(at),
                        said.get(at)
                    );
                }
            }
        }
    }
}

/// Whole, in characters, in every two; and cut off at each byte.
fn every_way(tally: &mut Tally, to: &(Arc<Dialect>, Entry, Scope), text: &[u8], all_cuts: bool) {
    let bounds: Vec<usize> =
        (1..text.len()).filter(|&at| std::str::from_utf8(&text[..at]).is_ok()).collect();
    check(tally, to, text, &[]);
    check(tally, to, text, &bounds);
    if all_cuts {
        for &cut in &bounds {
            check(tally, to, text, &[cut]);
            check(tally, to, &text[..cut], &[]);
            check(
                tally,
                to,
                &text[..cut],
                &bounds[..bounds.iter().position(|b| *b == cut).unwrap()],
            );
        }
    }
}

/// The text with each of these marks, wherever it is, deleted and doubled.
fn damaged(text: &[u8], marks: &[&str]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for mark in marks {
        for at in memchr::memmem::find_iter(text, mark) {
            let (before, behind) = (&text[..at], &text[at + mark.len()..]);
            all.push([before, behind].concat());
            all.push([before, mark.as_bytes(), mark.as_bytes(), behind].concat());
            all.push([before, mark.as_bytes(), b"\n", mark.as_bytes(), behind].concat());
        }
    }
    all
}

fn run(name: &str, entry: Entry, texts: &[Vec<u8>], marks: &[&str]) {
    let dialect = presets::preset(name).expect("a preset");
    let mut tally = Tally { cases: 0, differ: [0; 3], shown: 0 };
    for (number, scope) in scopes().into_iter().enumerate() {
        let to = (dialect.clone(), entry, scope);
        for text in texts {
            every_way(&mut tally, &to, text, true);
            for (index, text) in damaged(text, marks).into_iter().enumerate() {
                // Every cut in two of each damaged text, with some of the ways of reading.
                every_way(&mut tally, &to, &text, (index + number) % 48 == 0);
                // What may follow a block.
                every_way(&mut tally, &to, &[&text, &b" tail"[..]].concat(), false);
            }
        }
    }
    eprintln!(
        "{name}: {} cases, differ copy {} A {} B {}",
        tally.cases, tally.differ[0], tally.differ[1], tally.differ[2]
    );
    assert_eq!(tally.differ, [0; 3]);
}

const ARGS: &[&str] = &[
    "{}",
    r#"{"q": "a \"b\" \u00e9 \ud83d\ude00 \\ </x>\n", "n": 5}"#,
    r#"{"o": {"a": [1, 2.50, {"b": null}]}, "l": ["x", "y z"], "b": true, "x": "1"}"#,
];

fn json_texts(name: &str) -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    for args in ARGS {
        texts.push(written(name, &[("search", args)]));
    }
    if name != "hermes" {
        texts.push(written(name, &[("search", ARGS[1]), ("other", "{\"a\": 1}")]));
    }
    texts
}

const JSON_MARKS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "\\",
    "</tool_call>",
    "<tool_call>",
    "<|START_ACTION|>",
    "<|END_ACTION|>",
    "\"name\": ",
    "\"arguments\": ",
    "\"tool_name\": ",
    "\"parameters\": ",
    "\"n\": ",
    "\"n\": 5",
    "search",
    "{}",
];

#[test]
fn json_as_hermes() {
    let mut texts = json_texts("hermes");
    for text in [
        r#"{"name": "a", "arguments": {"x": 1, "x": 2}, "name": "b"}</tool_call>"#,
        r#"{"arguments": {"x": "y", "x": "zz"}, "arguments": {"q": "é"}, "name": "b"}</tool_call>"#,
        r#"{"name": "a", "args": {"x": "1"}, "arguments": {"x": "1"}, "tool": "a"}</tool_call>"#,
        r#"{"tool": "a", "arguments": "{\"x\": 1}", "name": "a", "id": 7}</tool_call>"#,
        r#"{"n\u0061me": "a", "arguments": [1], "arguments": {"o": {"a": 1, "a": {"b": 1}}}}</tool_call>"#,
        r#" {"name": 1, "name": "b", "arguments": {}} x </tool_call>"#,
        r#"[{"name": "b", "arguments": {}}, 7, {"name": "c", "arguments": {"q": "text"}}]</tool_call>"#,
        r#"12 "#,
        r#""abc" "#,
        "```json\n{\"name\": \"b\", \"arguments\": {\"q\": \"x\",}}\n```\n</tool_call>",
    ] {
        texts.push(text.into());
    }
    run("hermes", Entry::Block, &texts, JSON_MARKS);
}

#[test]
fn json_as_cohere() {
    let mut texts = json_texts("cohere");
    for text in [
        r#"[{"tool_call_id": "0", "tool_name": "a", "parameters": {"q": "1"}}, {"name": "b", "arguments": {}}]<|END_ACTION|>"#,
        r#"[{"tool_name": "a", "parameters": {"q": "1"}, "name": "a"}, 5, {"name": "b", "tool_name": "c", "arguments": {}}]<|END_ACTION|>"#,
        r#"[[{"tool_name": "a"}], {}]<|END_ACTION|>"#,
    ] {
        texts.push(text.into());
    }
    run("cohere", Entry::Block, &texts, JSON_MARKS);
}

#[test]
fn depth_and_count() {
    let mut tally = Tally { cases: 0, differ: [0; 3], shown: 0 };
    for mut scope in scopes() {
        scope.limits.max_depth = 3;
        scope.limits.max_calls = 2;
        for name in ["hermes", "cohere"] {
            let to = (presets::preset(name).unwrap(), Entry::Block, scope.clone());
            for text in [
                r#"{"name": "a", "arguments": {"q": "w", "a": [[["x"]]]}, "name": "b"} "#,
                r#"[{"name": "a", "arguments": {"q": "w", "q": 1, "a": [[["x"]]]}, "name": "b"}] "#,
                r#"[{"name": "a", "arguments": {"q": "w"}}, {"name": "b", "arguments": {}}, {"name": "c", "arguments": {"q": "w"}}] "#,
                r#"[[[[[]]]]] "#,
            ] {
                every_way(&mut tally, &to, text.as_bytes(), true);
            }
        }
    }
    eprintln!("limits: {} cases, differ {:?}", tally.cases, tally.differ);
    assert_eq!(tally.differ, [0; 3]);
}

const PARAMS_MARKS: &[&str] = &[
    "<function=",
    "search",
    ">",
    "<parameter=",
    "</parameter>",
    "</function>",
    "</tool_call>",
    "\n",
    "{",
    "}",
    "\"",
    "q",
    "n",
];

#[test]
fn parameters_as_qwen3_coder() {
    let mut texts = Vec::new();
    for args in ARGS {
        texts.push(written("qwen3-coder", &[("search", args)]));
    }
    let two = [("search", r#"{"q": "a </parameter> b", "n": 1}"#), ("other", r#"{"q": "x"}"#)];
    texts.push(written("qwen3-coder", &two[..1]));
    texts.push(written("qwen3-coder", &[("search", r#"{"arguments": {"q": "a", "n": 2}}"#)]));
    for text in [
        "\n<function=search>\n<parameter=q>\n<parameter=n>\n5\n</parameter>\n</function>\n</tool_call>",
        "\n<function=search>\n<parameter=q>\na\n<parameter=n>\n5\n</parameter>\n</function>\n<function=other>\n<parameter=q>\nx\n</parameter>\n</function></tool_call>",
        "\n<function=search>\n<parameter=o>\n{\"a\": 1, \"a\": 2}\n</parameter>\n<parameter=l>[1, x\n</parameter>\n<parameter=q>1</parameter></function></tool_call>",
        "\n<function=search>\n<parameter=q>\n  \n\r\n</parameter>\n</parameter>\n<parameter=q>2</parameter>\n</function>\n</function>\n</tool_call>\n<tool_call>\n<function=a></function></tool_call>",
        "\n<function=search></function>\n</tool_call>",
        "\n<function=search>\n<parameter=q>a</parameter>\n</tool_call>\n<tool_call>x",
        "\n<function=search>\n<parameter=x>\u{e9}<parameter=zz>\ny\n</function>\n</tool_call>",
    ] {
        texts.push(text.into());
    }
    run("qwen3-coder", Entry::Block, &texts, PARAMS_MARKS);
}

#[test]
fn parameters_without_a_block() {
    let body = 0;
    let texts: Vec<Vec<u8>> = vec![
        b"search>\n<parameter=q>\nab\n</parameter>\n</function> tail".to_vec(),
        b"search>\n<parameter=q>\nab\n</parameter>\n</function>\n<function=a".to_vec(),
    ];
    run("qwen3-coder", Entry::Call(body), &texts, PARAMS_MARKS);
}

/// Only design B has this shape.
#[test]
fn braces_as_gemma() {
    let dialect = presets::preset("gemma4").expect("a preset");
    let mut tally = Tally { cases: 0, differ: [0; 3], shown: 0 };
    let texts: &[&str] = &[
        "search{q:<|\"|>a } \u{e9} <b>\n<|\"|>,n:5,o:{a:[1, 2.50,{b:null}],\"k\\n\":\"x\\ty\"},l:[<|\"|>x<|\"|>,\"y z\"], b : true,x: some words}<tool_call|>",
        "search{}<tool_call|>",
        "search{q:1,q:<|\"|>x<|\"|>,o:{a:1,a:2}}<tool_call|>",
        "search{q:'x',o:{\"a}\\\"\":[}]}}<tool_call|>",
        "search{q:a\nb,l:[\"z]\",<|\"|>}<|\"|>]}<tool_call|>",
    ];
    let marks = [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\\",
        "<|\"|>",
        "<tool_call|>",
        "q",
        "<",
        "5",
        "search",
    ];
    for (number, mut scope) in scopes().into_iter().enumerate() {
        if number % 2 == 1 {
            scope.limits.max_depth = 2;
        }
        let to = (dialect.clone(), Entry::Call(0), scope);
        for text in texts {
            every_way(&mut tally, &to, text.as_bytes(), true);
            for (index, text) in damaged(text.as_bytes(), &marks).into_iter().enumerate() {
                every_way(&mut tally, &to, &text, (index + number) % 12 == 0);
            }
        }
    }
    eprintln!("gemma4: {} cases, differ {:?}", tally.cases, tally.differ);
    assert_eq!(tally.differ[2], 0);
}
