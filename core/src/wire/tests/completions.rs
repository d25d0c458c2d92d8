//! Chat completions and completions as `OpenAI` sends them.

use super::super::{Api, Delta, Extras, FaultKind, Finish, Options, Usage};
use super::{STOP, call, chat, chunks, events, extra, finish, info, read, read_with, text, usage};

#[test]
fn an_answer_is_its_name_text_in_pieces_the_usage_and_the_end() {
    let stream = events(&[
        r#"{"id":"c-1","object":"chat.completion.chunk","created":1,"model":"gpt","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}"#,
        r#"{"id":"c-1","object":"chat.completion.chunk","created":1,"model":"gpt","choices":[{"index":0,"delta":{"content":"Hel"},"logprobs":null,"finish_reason":null}],"usage":null}"#,
        r#"{"id":"c-1","object":"chat.completion.chunk","created":1,"model":"gpt","choices":[{"index":0,"delta":{"content":"lo \"☃\u2603\n"},"logprobs":null,"finish_reason":null}]}"#,
        STOP,
        r#"{"id":"c-1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}"#,
        "[DONE]",
    ]);
    let expected =
        [info(Some("c-1"), Some("gpt")), text("Hello \"☃☃\n"), usage(9, 2), finish("stop")];
    assert_eq!(read(Api::Completions, &stream), expected);
    assert_eq!(read(Api::Completions, &stream.replace('\n', "\r\n")), expected);
    assert_eq!(read(Api::Completions, stream.trim_end()), expected, "no line break at the end");
    let without_done = stream.replace("data: [DONE]\n\n", "");
    assert_eq!(read(Api::Completions, &without_done), expected, "no [DONE]");
}

#[test]
fn a_plain_completion_has_its_text_in_the_choice() {
    let stream = events(&[
        r#"{"id":"c-2","object":"text_completion","choices":[{"text":"Hel","index":0,"logprobs":null,"finish_reason":null}]}"#,
        r#"{"id":"c-2","choices":[{"text":"lo","index":0,"finish_reason":"length"}]}"#,
    ]);
    let expected = [info(Some("c-2"), None), text("Hello"), finish("length")];
    assert_eq!(read(Api::Completions, &stream), expected);
}

#[test]
fn only_the_first_choice_is_read() {
    let stream = events(&[
        r#"{"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"length"}]}"#,
        r#"{"choices":[{"delta":{"content":"B"},"index":1},{"delta":{"content":"A"},"index":0}]}"#,
        r#"{"choices":[{"delta":{"content":"!"}}]}"#,
        STOP,
    ]);
    assert_eq!(read(Api::Completions, &stream), [text("A!"), finish("stop")]);
}

const WHOLE: &str = r#"{"a": 1}"#;

/// A tool call as a server sends it, and the fields of its delta.
fn sent(fields: &[&str]) -> String {
    format!("\"tool_calls\":[{}]", fields.join(","))
}

#[test]
fn calls_are_numbered_however_a_server_sends_them() {
    let two = [call(0, Some("x"), Some("add"), WHOLE), call(1, Some("y"), Some("add"), WHOLE)];
    let whole = r#""function":{"name":"add","arguments":"{\"a\": 1}"}"#;
    let of =
        |index: &str, id: &str| format!("{{{index}\"id\":\"{id}\",\"type\":\"function\",{whole}}}");
    for (what, deltas, expected) in [
        (
            "in pieces",
            vec![
                sent(&[r#"{"index":0,"id":"x","function":{"name":"add","arguments":""}}"#]),
                sent(&[r#"{"index":0,"function":{"arguments":"{\"a\""}}"#]),
                sent(&[r#"{"index":0,"function":{"arguments":": 1}"}}"#]),
                sent(&[&of("\"index\":1,", "y")]),
            ],
            two.to_vec(),
        ),
        ("whole", vec![sent(&[&of("\"index\":0,", "x"), &of("\"index\":1,", "y")])], two.to_vec()),
        (
            "with one index",
            vec![sent(&[&of("\"index\":0,", "x"), &of("\"index\":0,", "y")])],
            two.to_vec(),
        ),
        (
            "an index that jumps",
            vec![sent(&[&of("\"index\":7,", "x"), &of("\"index\":9,", "y")])],
            two.to_vec(),
        ),
        ("without an index", vec![sent(&[&of("", "x")]), sent(&[&of("", "y")])], two.to_vec()),
        (
            "in pieces, without an index",
            vec![
                sent(&[r#"{"id":"x","function":{"name":"add","arguments":"{\"a\""}}"#]),
                sent(&[r#"{"function":{"arguments":": 1}"}}"#]),
            ],
            two[..1].to_vec(),
        ),
        (
            "without index and id",
            vec![sent(&[&format!("{{{whole}}}"), &format!("{{{whole}}}")])],
            vec![call(0, None, Some("add"), WHOLE), call(1, None, Some("add"), WHOLE)],
        ),
        (
            "id and name in every piece",
            vec![
                sent(&[r#"{"index":0,"id":"x","function":{"name":"add","arguments":"{"}}"#]),
                sent(&[r#"{"index":0,"id":"x","function":{"name":"add","arguments":"}"}}"#]),
            ],
            vec![call(0, Some("x"), Some("add"), "{}")],
        ),
        (
            "empty id and name",
            vec![
                sent(&[r#"{"index":0,"id":"","function":{"name":"add","arguments":"{"}}"#]),
                sent(&[r#"{"index":0,"id":"","function":{"name":"","arguments":"}"}}"#]),
            ],
            vec![call(0, None, Some("add"), "{}")],
        ),
        (
            "interleaved",
            vec![
                sent(&[
                    r#"{"index":0,"id":"x","function":{"name":"a"}}"#,
                    r#"{"index":1,"id":"y","function":{"name":"b"}}"#,
                ]),
                sent(&[
                    r#"{"index":1,"function":{"arguments":"1"}}"#,
                    r#"{"index":0,"function":{"arguments":"2"}}"#,
                ]),
            ],
            vec![
                call(0, Some("x"), Some("a"), ""),
                call(1, Some("y"), Some("b"), "1"),
                call(0, None, None, "2"),
            ],
        ),
        (
            "arguments as an object",
            vec![sent(&[r#"{"index":0,"id":"x","function":{"name":"add","arguments":{"a": 1}}}"#])],
            two[..1].to_vec(),
        ),
        (
            "no arguments",
            vec![sent(&[r#"{"index":0,"id":"x","function":{"name":"add"}}"#])],
            vec![call(0, Some("x"), Some("add"), "")],
        ),
        (
            "the older form",
            vec![
                r#""function_call":{"name":"add","arguments":""}"#.to_owned(),
                r#""function_call":{"arguments":"{\"a\": 1}"}"#.to_owned(),
            ],
            vec![call(0, None, Some("add"), WHOLE)],
        ),
    ] {
        let deltas: Vec<&str> = deltas.iter().map(String::as_str).collect();
        assert_eq!(chat(&deltas), expected, "{what}");
    }
}

#[test]
fn calls_with_one_index_and_no_id_are_told_apart() {
    let whole = r#"{"index":0,"function":{"name":"add","arguments":"{\"a\": 1}"}}"#;
    for (what, deltas, expected) in [
        (
            "two names with one index and no id",
            vec![
                sent(&[r#"{"index":0,"function":{"name":"a","arguments":"{}"}}"#]),
                sent(&[r#"{"index":0,"id":"","function":{"name":"b","arguments":"{}"}}"#]),
            ],
            vec![call(0, None, Some("a"), "{}"), call(1, None, Some("b"), "{}")],
        ),
        (
            "one name twice with one index and no id",
            vec![
                sent(&[whole]),
                sent(&[r#"{"index":0,"function":{"name":"add","arguments":"{\"a\""}}"#]),
                sent(&[r#"{"index":0,"function":{"name":"add","arguments":": 1}"}}"#]),
                sent(&[r#"{"index":0,"function":{"name":"add","arguments":""}}"#]),
            ],
            vec![call(0, None, Some("add"), WHOLE), call(1, None, Some("add"), WHOLE)],
        ),
        (
            "another name with one index after an id",
            vec![sent(&[
                r#"{"index":0,"id":"x","function":{"name":"a","arguments":"{}"}}"#,
                r#"{"index":0,"function":{"name":"b","arguments":"{}"}}"#,
            ])],
            vec![call(0, Some("x"), Some("a"), "{}"), call(1, None, Some("b"), "{}")],
        ),
    ] {
        let deltas: Vec<&str> = deltas.iter().map(String::as_str).collect();
        assert_eq!(chat(&deltas), expected, "{what}");
    }
}

#[test]
fn the_parts_of_the_usage_do_not_overlap() {
    for (counts, expected) in [
        (r#""prompt_tokens":9,"completion_tokens":2,"total_tokens":11"#, usage(9, 2)),
        (
            r#""prompt_tokens":100,"completion_tokens":50,"total_tokens":150,
               "prompt_tokens_details":{"cached_tokens":70,"cache_write_tokens":20},"completion_tokens_details":{"reasoning_tokens":40}"#,
            Delta::Usage(Usage {
                input: 10,
                output: 10,
                cache_read: 70,
                cache_write: 20,
                reasoning: 40,
                is_estimate: false,
            }),
        ),
        (
            r#""prompt_tokens":100,"completion_tokens":10,"total_tokens":150,"completion_tokens_details":{"reasoning_tokens":40}"#,
            Delta::Usage(Usage { input: 100, output: 10, reasoning: 40, ..Usage::default() }),
        ),
        (r#""prompt_tokens":9,"prompt_tokens_details":null"#, usage(9, 0)),
        (r#""prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":null}"#, usage(9, 0)),
        (r#""prompt_tokens":"9","completion_tokens":-1"#, usage(0, 0)),
    ] {
        let counts = format!("{{\"choices\":[],\"usage\":{{{}}}}}", counts.replace('\n', " "));
        let stream = events(&[STOP, &counts, "[DONE]"]);
        assert_eq!(read(Api::Completions, &stream), [expected, finish("stop")], "{counts}");
    }
}

#[test]
fn a_usage_in_each_chunk_comes_before_what_it_counts_and_the_last_one_counts() {
    let chunk = |text: &str, tokens: u32| {
        format!(
            "{{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}],\"usage\":{{\"completion_tokens\":{tokens}}}}}"
        )
    };
    let mut reader = super::Reader::new(Api::Completions, Options::default());
    let mut deltas = Vec::new();
    reader.feed(events(&[&chunk("a", 1), &chunk("b", 2)]).as_bytes(), &mut deltas);
    assert_eq!(deltas, [usage(0, 2), text("ab")]);
    reader.feed(events(&[&chunk("c", 3)]).as_bytes(), &mut deltas);
    assert_eq!(deltas[2..], [usage(0, 3), text("c")]);
}

#[test]
fn a_usage_without_a_choice_closes_an_answer_without_a_reason() {
    let stream =
        chunks(&[r#""content":"a""#]) + &events(&[r#"{"choices":[],"usage":{"prompt_tokens":1}}"#]);
    let end = Delta::Finish(Finish::default());
    assert_eq!(read(Api::Completions, &stream), [text("a"), usage(1, 0), end]);
}

#[test]
fn a_refusal_is_the_reason_for_the_end() {
    let stream =
        chunks(&[r#""refusal":"I can""#, r#""refusal":"not.""#]) + &events(&[STOP, "[DONE]"]);
    let end = Finish { reason: Some("refusal".into()), details: Some("I cannot.".into()) };
    assert_eq!(
        read(Api::Completions, &stream),
        [Delta::Refusal("I cannot.".into()), Delta::Finish(end)]
    );
}

#[test]
fn of_two_finish_reasons_the_last_one_counts() {
    let again = STOP.replace("stop", "length");
    let note = Delta::Note(super::super::Note::SecondFinish);
    assert_eq!(read(Api::Completions, &events(&[STOP, STOP])), [finish("stop")]);
    assert_eq!(read(Api::Completions, &events(&[STOP, &again])), [note, finish("length")]);
}

#[test]
fn a_usage_before_a_choice_closes_nothing() {
    let usage_alone = &events(&[r#"{"choices":[],"usage":{"prompt_tokens":1}}"#]);
    let text_alone = &chunks(&[r#""content":"a""#]);
    for (stream, at_done) in [
        (usage_alone.clone(), FaultKind::Incomplete),
        (format!("{usage_alone}{text_alone}"), FaultKind::NoReason),
        (format!("{text_alone}{usage_alone}{text_alone}"), FaultKind::NoReason),
    ] {
        let done = format!("{stream}data: [DONE]\n\n");
        for (stream, kind) in [(stream, FaultKind::Incomplete), (done, at_done)] {
            let deltas = read(Api::Completions, &stream);
            let is_told =
                |delta: &Delta| matches!(delta, Delta::Fault(fault) if fault.kind == kind);
            assert!(deltas.last().is_some_and(is_told), "{stream} is {deltas:?}");
        }
    }
}

#[test]
fn fields_that_have_no_delta_are_kept_for_those_who_ask() {
    let stream = events(&[
        r#"{"model":"m","system_fingerprint":"f","choices":[{"index":0,"delta":{"content":"a","annotations":[1]},"logprobs":{"content":[{"token":"a"}]},"stop_reason":null}]}"#,
        r#"{"provider":"P","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"t"},"custom":{"g":1}}]},"native_finish_reason":"end","finish_reason":"stop"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":1,"cost":0.5,"prompt_tokens_details":{"audio_tokens":0}},"timings":{"n":1}}"#,
    ]);
    let options = Options { extras: Extras::Kept, ..Options::default() };
    assert_eq!(
        read_with(Api::Completions, &options, stream.as_bytes()),
        [
            info(None, Some("m")),
            text("a"),
            extra("delta.annotations", "[1]"),
            extra("choices.logprobs", r#"{"content":[{"token":"a"}]}"#),
            extra("system_fingerprint", "\"f\""),
            call(0, Some("x"), Some("t"), ""),
            extra("tool_calls.custom", r#"{"g":1}"#),
            extra("choices.native_finish_reason", "\"end\""),
            extra("provider", "\"P\""),
            extra("usage.cost", "0.5"),
            extra("usage.prompt_tokens_details", r#"{"audio_tokens":0}"#),
            extra("timings", r#"{"n":1}"#),
            usage(1, 0),
            finish("stop"),
        ]
    );
    let dropped = read(Api::Completions, &stream);
    assert!(!dropped.iter().any(|delta| matches!(delta, Delta::Extra(_))));
}
