//! A mark that is quoted is text, and what follows it is read; a call that is quoted still runs.

use std::sync::Arc;

use cogency_rs::dialect::{Dialect, presets};
use cogency_rs::protocol::limits::Strictness;
use cogency_rs::protocol::stored::ShownCall;
use cogency_rs::protocol::write::{Renderer, TurnPart};
use cogency_rs::protocol::{Ending, Event, Grammar, Options, Parser, Stream};

fn events(grammar: &Arc<Grammar>, chunks: &[&str], options: Options) -> Vec<Event> {
    let (mut parser, mut events) = (Parser::new(Arc::clone(grammar), options), Vec::new());
    for chunk in chunks {
        parser.feed(chunk, &mut events);
    }
    parser.finish(&Ending::Unknown, &mut events);
    events
}

/// What was said, a line for each event; neighbours of one kind are one.
fn lines(events: Vec<Event>) -> Vec<String> {
    let mut lines: Vec<(&str, String)> = Vec::new();
    for event in events {
        let (kind, said) = match event {
            Event::Think(text) => ("think", text.to_string()),
            Event::Respond(text) => ("respond", text.to_string()),
            Event::Result(text) => ("result", text.to_string()),
            Event::Call(call) => ("call", call.name_json().trim_matches('"').to_owned()),
            Event::Error(_) => ("error", String::new()),
            Event::Execute => ("execute", String::new()),
            Event::End => ("end", String::new()),
            other => panic!("{other:?} is not asked for"),
        };
        match lines.last_mut() {
            Some((last, text)) if *last == kind && ["think", "respond"].contains(&kind) => {
                text.push_str(&said);
            }
            _ => lines.push((kind, said)),
        }
    }
    let line = |(kind, said): (&str, String)| {
        if said.is_empty() { kind.to_owned() } else { format!("{kind} {said}") }
    };
    lines.into_iter().map(line).collect()
}

/// What a text says, which is the same however it is cut.
fn read(grammar: &Arc<Grammar>, text: &str, options: &Options) -> Vec<String> {
    let whole = events(grammar, &[text], options.clone());
    let token = Options { stream: Stream::Token, ..options.clone() };
    let said = lines(whole.clone());
    let characters: Vec<&str> = text.split_inclusive(|_| true).collect();
    let cuts = text.char_indices().map(|(at, _)| <[&str; 2]>::from(text.split_at(at)).to_vec());
    for chunks in cuts.chain([characters]) {
        assert_eq!(events(grammar, &chunks, options.clone()), whole, "{chunks:?}");
        assert_eq!(lines(events(grammar, &chunks, token.clone())), said, "{chunks:?}");
    }
    said
}

fn said(dialect: &str, text: &str) -> Vec<String> {
    let grammar = Grammar::preset(dialect).expect("a name of the table");
    read(&grammar, text, &Options::default())
}

fn check(dialect: &str, cases: &[(&str, &[&str])]) {
    for (text, expected) in cases {
        assert_eq!(said(dialect, text), *expected, "{dialect}: {text:?}");
    }
}

#[test]
fn a_mark_between_two_equal_quotes_is_text() {
    check(
        "cogency",
        &[
            ("The tag `<think>` opens; the rest.", &["respond The tag `<think>` opens; the rest."]),
            ("Say \"<end>\" last.<end>", &["respond Say \"<end>\" last.", "end"]),
            ("A '<execute>' block", &["respond A '<execute>' block"]),
            ("`<results>` [1]", &["respond `<results>` [1]"]),
            ("```<think>```", &["respond ```<think>```"]),
            ("<think>no `</think>` yet</think>ok", &["think no `</think>` yet", "respond ok"]),
            ("<results>[\"</results>\"]</results>a", &["result [\"</results>\"]", "respond a"]),
        ],
    );
}

#[test]
fn a_mark_with_a_quote_on_one_side_or_with_two_kinds_is_a_mark() {
    check(
        "cogency",
        &[
            ("`<think>a</think>", &["respond `", "think a"]),
            ("<think>`a</think>`", &["think `a", "respond `"]),
            ("\"<end>'", &["respond \"", "end", "respond '"]),
            ("` <end>`", &["respond ` ", "end", "respond `"]),
        ],
    );
}

#[test]
fn a_quoted_mark_is_text_in_the_answer_of_a_dialect_with_heads_too() {
    check(
        "beam-rfl",
        &[(
            "<|channel|>final<|message|>{\"value\":\"<|end|>\"}<|end|>",
            &["respond {\"value\":\"<|end|>\"}"],
        )],
    );
}

#[test]
fn the_end_of_the_text_is_not_a_quote() {
    check(
        "cogency",
        &[
            ("He said \"Hi.\"<end>", &["respond He said \"Hi.\"", "end"]),
            ("`<think>", &["respond `"]),
            ("<think>`</think>", &["think `"]),
            ("`<execute>", &["respond `", "error"]),
        ],
    );
    check("hermes", &[("\"Hi\"<|im_end|>", &["respond \"Hi\""])]);
}

#[test]
fn reasoning_that_ends_with_a_quotation_ends_where_an_answer_begins_with_one() {
    check(
        "cogency",
        &[
            ("<think>\"Hi\"</think>\"Ho\"", &["think \"Hi\"", "respond \"Ho\""]),
            ("<think>\"Hi.\"</think>\"Ho\"", &["think \"Hi.\"", "respond \"Ho\""]),
            ("<think>a \"</think>\" b</think>c", &["think a \"</think>\" b", "respond c"]),
            ("<think>`f(); `</think>`a`", &["think `f(); `", "respond `a`"]),
            ("<think>``a`b;``</think>`a`", &["think ``a`b;``", "respond `a`"]),
            ("<think>\n```</think>```\na", &["think \n```", "respond ```\na"]),
            ("<think>say ```</think>``` a", &["think say ```</think>``` a"]),
            ("<think>``a `</think>` b``</think>c", &["think ``a `</think>` b``", "respond c"]),
            ("<think>5\" not \"</think>\"</think>c", &["think 5\" not \"</think>\"", "respond c"]),
            ("<think>don't '</think>'</think>c", &["think don't '</think>'", "respond c"]),
            ("<think>\u{8a9e}\"</think>\"</think>c", &["think \u{8a9e}\"</think>\"", "respond c"]),
            ("```\n<think>`f();`</think>`a`<end>", &["respond ```\n<think>`f();`</think>`a`<end>"]),
        ],
    );
}

#[test]
fn in_every_dialect_the_call_runs_where_reasoning_and_answer_meet_at_a_quote() {
    let quoted =
        [("`", "f()"), ("`", "a;"), ("\"", "[1];"), ("'", "\u{e9}"), ("```", "\npy\n\na;\n")];
    let mut seen = 0;
    for (name, (quote, text)) in
        presets::names().flat_map(|name| quoted.map(|quoted| (name, quoted)))
    {
        let dialect = presets::preset(name).expect("a name of the table");
        if dialect.reasoning.is_empty() {
            continue;
        }
        let thought = format!("Run {quote}{text}{quote}");
        let words = format!("{quote}json{quote} is what follows.\n");
        let [tool, args] = ["\"t\"", "{}"].map(str::to_owned);
        let mut calls = [ShownCall { name: tool, args, id: None, server: None }];
        let renderer = Renderer::new(dialect);
        renderer.give_ids(&mut calls, 0);
        let parts = [
            TurnPart::Thought(thought.as_bytes()),
            TurnPart::Words(words.as_bytes()),
            TurnPart::Calls(&calls),
        ];
        let turn = renderer.turn(&parts).expect("a turn").to_string();
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            let options = Options { strictness, ..Options::default() };
            let said = read(&Grammar::preset(name).expect("a name of the table"), &turn, &options);
            assert!(said.contains(&"call t".to_owned()), "{name}: {turn:?}: {said:?}");
        }
        seen += 1;
    }
    assert!(seen > 100, "most dialects have reasoning");
}

#[test]
fn in_a_fence_marks_that_end_or_open_text_are_text() {
    check(
        "cogency",
        &[
            ("```\n<end>\n```\na", &["respond ```\n<end>\n```\na"]),
            (
                "```xml\n<think>a</think>\n```\n<end>",
                &["respond ```xml\n<think>a</think>\n```\n", "end"],
            ),
            ("~~~\n<results>[1]</results>\n~~~", &["respond ~~~\n<results>[1]</results>\n~~~"]),
            ("```\nno end <end>", &["respond ```\nno end <end>"]),
            ("```\n<results>[\"a\n```\n<end>", &["respond ```\n<results>[\"a\n```\n", "end"]),
            ("```\na\n```<end>", &["respond ```\na\n```", "end"]),
            ("a ```\n<end>", &["respond a ```\n", "end"]),
            ("<think>```\n</think>a", &["think ```\n", "respond a"]),
        ],
    );
    let text = "```\n</tool_call>\n```\n</tool_call>a";
    check(
        "seed-oss",
        &[(
            &text.replace("tool_call", "seed:tool_call"),
            &["respond ```\n</seed:tool_call>\n```\na"],
        )],
    );
}

#[test]
fn what_opens_text_in_a_fence_is_closed_by_its_mark_or_by_the_end_of_the_fence() {
    const CALL: &str = "<tool_call>{\"name\": \"t\", \"arguments\": {}}</tool_call>";
    for (text, calls) in [
        (format!("```\n<think>{CALL}"), 0),
        (format!("```\n<think>{CALL}</think>"), 0),
        (format!("```\n<think>a</think>{CALL}"), 1),
        (format!("```\n<think>a\n```\n{CALL}"), 1),
        (format!("```\n<think>a\n```\n<think>b</think>{CALL}"), 1),
    ] {
        let said = said("hermes", &text);
        let found = said.iter().filter(|line| line.starts_with("call")).count();
        assert_eq!(found, calls, "{text:?}: {said:?}");
    }
}

#[test]
fn a_call_that_is_quoted_or_in_a_fence_runs() {
    let json = "{\"name\": \"t\", \"arguments\": {}}";
    for text in [
        format!("```\n<tool_call>{json}</tool_call>\n```"),
        format!("```xml\n<tool_call>\n{json}\n</tool_call>\n```\nDone."),
        format!("```<tool_call>{json}</tool_call>```"),
        format!("`<tool_call>{json}</tool_call>`"),
        format!("\"<tool_call>{json}</tool_call>\""),
        format!("```\nnever closed\n\n<tool_call>{json}</tool_call>"),
        format!("`<tool_call>` it is: <tool_call>{json}</tool_call>"),
        format!("```\n<tool_call>\n```\n<tool_call>{json}</tool_call>"),
        format!("<think>Run `f()`</think>```json\n<tool_call>{json}</tool_call>\n```"),
        format!("<think>So:\n```py\n\nf();\n```</think>```json\n<tool_call>{json}</tool_call>"),
        format!("```\n<think>Run `f();`</think>`x`\n<tool_call>{json}</tool_call>"),
    ] {
        let said = said("hermes", &text);
        assert!(said.contains(&"call t".to_owned()), "{text:?}: {said:?}");
    }
    let array = "[{\"name\": \"t\", \"args\": {}}]";
    for text in [
        format!("```\n<execute>{array}</execute>\n```"),
        format!("```\n<execute>\n{array}</execute>"),
        format!("`<execute>{array}</execute>`"),
    ] {
        assert!(said("cogency", &text).contains(&"call t".to_owned()), "{text:?}");
    }
    for body in ["{\"name\": \"t\", \"args\": {}}".to_owned(), format!("```json\n{array}\n```")] {
        let text = format!("```\n<execute>{body}</execute>\n```");
        let options = Options { strictness: Strictness::Lenient, ..Options::default() };
        assert_eq!(
            read(&Grammar::cogency(), &text, &options),
            ["respond ```\n", "call t", "execute"],
            "{text:?}"
        );
    }
}

#[test]
fn what_opens_a_block_is_text_in_a_fence_if_no_call_follows() {
    check(
        "cogency",
        &[(
            "```\n<execute>…</execute>\n```\n<end>",
            &["respond ```\n<execute>…</execute>\n```\n", "end"],
        )],
    );
}

#[test]
fn after_a_call_its_fence_quotes_nothing() {
    const CALL: &str = "<tool_call>{\"name\": \"t\", \"arguments\": {}}</tool_call>";
    for text in [
        format!("```\n{CALL}\n<think>a</think>\n```\n"),
        format!("```\n{CALL}\n```\n<think>a</think>"),
        format!("```{CALL}```\n<think>a</think>"),
    ] {
        let said = said("hermes", &text);
        assert!(said.contains(&"think a".to_owned()), "{text:?}: {said:?}");
    }
}

#[test]
fn the_ends_of_turns_and_messages_count_in_a_fence() {
    check("hermes", &[("```\na<|im_end|>b", &["respond ```\na"])]);
    check(
        "harmony",
        &[(
            "<|channel|>final<|message|>```\na<|end|><|start|>assistant<|channel|>analysis<|message|>b",
            &["respond ```\na", "think b"],
        )],
    );
}

/// Every mark that a dialect's answers may have outside blocks.
fn marks(dialect: &Dialect) -> Vec<String> {
    let pairs = dialect.reasoning.iter().chain(&dialect.answer);
    let pairs = pairs.flat_map(|pair| [&pair.open, &pair.close]);
    let results = dialect.results.iter().flat_map(|results| [&results.open, &results.close]);
    let heads = dialect.heads.iter().flat_map(|heads| heads.open.iter().chain(&heads.close));
    let lists = [
        &dialect.calls.open,
        &dialect.calls.close,
        &dialect.end,
        &dialect.turn_end,
        &dialect.ignored,
    ];
    let marks = pairs.chain(results).chain(heads).chain(lists.into_iter().flatten());
    marks.filter(|mark| !mark.is_empty()).map(ToString::to_string).collect()
}

#[test]
fn in_every_dialect_every_mark_can_be_mentioned() {
    for name in presets::names() {
        let grammar = Grammar::preset(name).expect("a name of the table");
        let marks = marks(&grammar.dialects[0]);
        for mark in marks {
            for quote in ["`", "\"", "'"] {
                let text = format!("The mark {quote}{mark}{quote} is one. The rest counts.");
                let said = read(&grammar, &text, &Options::default());
                assert_eq!(said, [format!("respond {text}")], "{name}");
            }
        }
    }
}

#[test]
fn in_every_dialect_reasoning_may_mention_what_closes_it() {
    let mut seen = 0;
    for name in presets::names() {
        let grammar = Grammar::preset(name).expect("a name of the table");
        for pair in grammar.dialects[0].reasoning.iter().filter(|pair| !pair.close.is_empty()) {
            let (open, close) = (&pair.open, &pair.close);
            let text = format!("{open}not `{close}` yet{close}So.");
            let said = read(&grammar, &text, &Options::default());
            assert_eq!(
                said,
                [format!("think not `{close}` yet"), "respond So.".to_owned()],
                "{name}"
            );
            seen += 1;
        }
    }
    assert!(seen > 20, "most dialects have reasoning");
}
