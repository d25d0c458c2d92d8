//! Anthropic's messages.

use super::super::{Api, Delta, Extras, Finish, Note, Options, Usage};
use super::{call, events, extra, finish, info, read, read_with, reasoning, text, usage};

/// Events of these data, each named by its type.
fn named(data: &[&str]) -> String {
    let event = |data: &&str| {
        let kind = data.split('"').nth(3).expect("a type");
        format!("event: {kind}\ndata: {data}\n\n")
    };
    data.iter().map(event).collect()
}

/// A message between its start and its end, without these.
fn message(data: &[&str]) -> Vec<Delta> {
    let stream = named(&[START]) + &named(data) + &named(&[END, STOP]);
    let mut deltas = read(Api::Messages, &stream);
    assert_eq!(deltas.remove(0), info(Some("msg"), Some("claude")));
    assert_eq!(deltas.pop(), Some(finish("end_turn")));
    assert_eq!(deltas.pop(), Some(counted(9, 5)));
    deltas
}

fn counted(input: u64, output: u64) -> Delta {
    Delta::Usage(Usage { input, output, cache_read: 3, cache_write: 2, ..Usage::default() })
}

const START: &str = r#"{"type":"message_start","message":{"id":"msg","type":"message","role":"assistant","model":"claude","content":[],"stop_reason":null,"usage":{"input_tokens":9,"cache_read_input_tokens":3,"cache_creation_input_tokens":2,"output_tokens":1}}}"#;
const END: &str = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

#[test]
fn an_answer_is_its_name_blocks_the_usage_and_the_end() {
    let deltas = message(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
    ]);
    assert_eq!(deltas, [text("Hello")]);
}

#[test]
fn reasoning_has_a_signature_at_the_end_of_its_block_or_is_redacted() {
    let deltas = message(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"a"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"b"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xyz"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"thinking","thinking":"ok","signature":"c"}}"#,
        r#"{"type":"content_block_stop","index":2}"#,
    ]);
    assert_eq!(
        deltas,
        [
            reasoning("hm"),
            Delta::Signature("ab".into()),
            Delta::Redacted("xyz".into()),
            reasoning("ok"),
            Delta::Signature("c".into()),
        ]
    );
}

#[test]
fn calls_are_numbered_and_always_have_arguments() {
    let deltas = message(&[
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"x","name":"f","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":" 1}"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"y","name":"g","input":{}}}"#,
        r#"{"type":"content_block_stop","index":5}"#,
        r#"{"type":"content_block_start","index":6,"content_block":{"type":"tool_use","id":"z","name":"h","input":{"b":2}}}"#,
        r#"{"type":"content_block_stop","index":6}"#,
    ]);
    assert_eq!(
        deltas,
        [
            call(0, Some("x"), Some("f"), r#"{"a": 1}"#),
            call(1, Some("y"), Some("g"), "{}"),
            call(2, Some("z"), Some("h"), r#"{"b":2}"#),
        ]
    );
}

#[test]
fn the_input_of_a_tool_of_the_server_is_not_a_call_s() {
    let data = [
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"x","name":"f","input":{}}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
    ];
    assert_eq!(message(&data), [call(0, Some("x"), Some("f"), "{}")]);
    let options = Options { extras: Extras::Kept, ..Options::default() };
    let kept = read_with(Api::Messages, &options, named(&data).as_bytes());
    assert_eq!(
        kept[1..3],
        [
            extra(
                "content_block",
                r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#
            ),
            extra("delta", r#"{"type":"input_json_delta","partial_json":"{}"}"#),
        ]
    );
}

#[test]
fn the_usage_is_an_estimate_until_the_answer_is_counted() {
    let mut reader = super::Reader::new(Api::Messages, Options::default());
    let mut deltas = Vec::new();
    reader.feed(named(&[START]).as_bytes(), &mut deltas);
    let estimate = Usage {
        input: 9,
        output: 1,
        cache_read: 3,
        cache_write: 2,
        reasoning: 0,
        is_estimate: true,
    };
    assert_eq!(deltas[1], Delta::Usage(estimate));
    let end = END.replace(
        "\"output_tokens\":5",
        "\"output_tokens\":50,\"output_tokens_details\":{\"thinking_tokens\":40}",
    );
    reader.feed(named(&[&end]).as_bytes(), &mut deltas);
    let counted = Usage { output: 10, reasoning: 40, is_estimate: false, ..estimate };
    assert_eq!(deltas[2], Delta::Usage(counted));
}

#[test]
fn a_refusal_says_why() {
    let end = END.replace("\"end_turn\"", "\"refusal\"").replace(
        "\"stop_sequence\":null",
        "\"stop_details\":{\"type\":\"refusal\",\"category\":\"cyber\",\"explanation\":\"not this\"}",
    );
    let deltas = read(Api::Messages, &named(&[START, &end, STOP]));
    let finish = Finish { reason: Some("refusal".into()), details: Some("cyber: not this".into()) };
    assert_eq!(deltas.last(), Some(&Delta::Finish(finish)));
}

#[test]
fn the_reason_completes_a_message_without_its_stop() {
    assert_eq!(read(Api::Messages, &named(&[START, END])).last(), Some(&finish("end_turn")));
    let two = named(&[START, END, &END.replace("end_turn", "max_tokens"), STOP]);
    let deltas = read(Api::Messages, &two);
    assert_eq!(deltas[1], Delta::Note(Note::SecondFinish));
    assert_eq!(deltas.last(), Some(&finish("max_tokens")));
}

#[test]
fn what_is_not_known_is_kept_for_those_who_ask() {
    let start =
        START.replace("\"output_tokens\":1", "\"output_tokens\":1,\"service_tier\":\"standard\"");
    let end = END.replace("\"stop_sequence\":null", "\"stop_sequence\":\"X\"");
    let stream = named(&[
        &start,
        r#"{"type":"news","a":1}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}"#,
        &end,
        STOP,
    ]);
    let options = Options { extras: Extras::Kept, ..Options::default() };
    let deltas = read_with(Api::Messages, &options, stream.as_bytes());
    assert_eq!(
        deltas,
        [
            info(Some("msg"), Some("claude")),
            extra("usage.service_tier", "\"standard\""),
            extra("news", r#"{"type":"news","a":1}"#),
            extra("delta", r#"{"type":"citations_delta","citation":{}}"#),
            extra("delta.stop_sequence", "\"X\""),
            counted(9, 5),
            finish("end_turn"),
        ]
    );
}

#[test]
fn a_count_of_nothing_at_the_end_is_none() {
    let stream = events(&[
        r#"{"type":"message_start","message":{"usage":{"input_tokens":100,"output_tokens":0}}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":0,"output_tokens":2}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    assert!(read(Api::Messages, &stream).contains(&usage(100, 2)));
}
