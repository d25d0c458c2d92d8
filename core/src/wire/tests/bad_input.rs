//! Input that is not what it should be: one fault each, in one sentence, and what came before is kept.

use super::super::{Api, Delta, Extras, Fault, FaultKind, Note, Options, Reader, Secret};
use super::{STOP, chunks, events, finish, read, read_with, text};

/// The kind and the sentence of the fault that is the last delta, and what came before.
fn fault_of(mut deltas: Vec<Delta>) -> (FaultKind, String, Vec<Delta>) {
    match deltas.pop() {
        Some(Delta::Fault(Fault { kind, message, .. })) => (kind, message, deltas),
        other => panic!("no fault, but {other:?} after {deltas:?}"),
    }
}

#[test]
fn an_answer_that_is_not_a_stream_is_one_fault_in_one_sentence() {
    let answer = "{\n  \"object\": \"chat.completion\",\n  \"choices\": []\n}";
    for (bytes, kind, message) in [
        (
            "<!DOCTYPE html>\n<p>Log in",
            FaultKind::NotStream,
            r#"the answer is not a stream of events, but a page: "<!DOCTYPE html> <p>Log in""#,
        ),
        (
            answer,
            FaultKind::NotStream,
            r#"the answer is not a stream of events, but JSON: "{ \"object\": \"chat.completion\", \"choices\": [] }""#,
        ),
        (
            "{\"choices\": [",
            FaultKind::NotStream,
            r#"the answer is not a stream of events, but JSON: "{\"choices\": [""#,
        ),
        (
            "\u{feff} {\"choices\": [",
            FaultKind::NotStream,
            r#"the answer is not a stream of events, but JSON: "{\"choices\": [""#,
        ),
        (
            "\u{fefb}{\"choices\": [", // a letter that begins with two bytes of the mark
            FaultKind::NotStream,
            "the answer is not a stream of events, but text: \"\u{fefb}{\\\"choices\\\": [\"",
        ),
        (
            "Service\nUnavailable",
            FaultKind::NotStream,
            r#"the answer is not a stream of events, but text: "Service Unavailable""#,
        ),
        ("", FaultKind::NotStream, "the answer is not a stream of events, but an empty body"),
        (" \n", FaultKind::NotStream, "the answer is not a stream of events, but an empty body"),
        (
            "{\"error\":\n{\"message\": \"no model\", \"code\": 404}}",
            FaultKind::Reported,
            "the server reported an error: no model",
        ),
        (
            "{\"error\":\"model not found\"}\n",
            FaultKind::Reported,
            "the server reported an error: model not found",
        ),
        (
            "{\"detail\": \"Not Found\"}",
            FaultKind::Reported,
            "the server reported an error: Not Found",
        ),
        (
            "{\"object\":\"error\",\"message\":\"too\\nlong\",\"code\":400}",
            FaultKind::Reported,
            "the server reported an error: too long",
        ),
    ] {
        let read = fault_of(read(Api::Completions, bytes));
        assert_eq!(read, (kind, message.to_owned(), vec![]), "{bytes:?}");
    }
}

#[test]
fn what_came_before_a_fault_is_kept() {
    let begun = chunks(&[r#""content":"a""#]);
    for (bytes, kind, message) in [
        (
            events(&[r#"{"error":{"message":"overloaded","code":503}}"#]),
            FaultKind::Reported,
            "the server reported an error: overloaded",
        ),
        (
            events(&[r#"{"error":"overloaded","error_type":"x"}"#]),
            FaultKind::Reported,
            "the server reported an error: overloaded",
        ),
        (
            events(&[r#"{"object":"error","message":"overloaded"}"#]),
            FaultKind::Reported,
            "the server reported an error: overloaded",
        ),
        (
            events(&[
                r#"{"error":{"message":"overloaded"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}"#,
            ]),
            FaultKind::Reported,
            "the server reported an error: overloaded",
        ),
        (
            "event: error\ndata: {\"error\":{\"message\":\"overloaded\"}}\n\n".into(),
            FaultKind::Reported,
            "the server reported an error: overloaded",
        ),
        (
            "event: error\ndata: overloaded\n\n".into(),
            FaultKind::Reported,
            "the server reported an error: overloaded",
        ),
        (
            events(&[r#"{"error":{"code":7}}"#]),
            FaultKind::Reported,
            r#"the server reported an error: {"code":7}"#,
        ),
        (
            "data: {\"choices\": nope}\n\n".into(),
            FaultKind::NotJson,
            r#"an event of the stream is not JSON from byte 12 on: "{\"choices\": nope}""#,
        ),
        (
            "data: [DONE]\n\n".into(),
            FaultKind::NoReason,
            "the stream ended without a finish_reason",
        ),
        (String::new(), FaultKind::Incomplete, "the stream ended without a finish_reason"),
        (
            "data: {\"choices\":[{\"delta\":{\"conte".into(),
            FaultKind::Incomplete,
            "the stream ended without a finish_reason",
        ),
    ] {
        let stream = begun.clone() + &bytes;
        let read = fault_of(read(Api::Completions, &stream));
        assert_eq!(read, (kind, message.to_owned(), vec![text("a")]), "{bytes:?}");
    }
}

#[test]
fn anthropic_s_errors_are_reported() {
    let data = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    for stream in [format!("event: error\ndata: {data}\n\n"), events(&[data]), data.to_owned()] {
        let deltas = read(Api::Messages, &stream);
        let [Delta::Fault(fault)] = &deltas[..] else { panic!("{deltas:?}") };
        assert_eq!(fault.kind, FaultKind::Reported, "{stream}");
        assert_eq!(fault.to_string(), "the server reported an error: Overloaded");
        assert_eq!(fault.body, r#"{"type":"overloaded_error","message":"Overloaded"}"#);
    }
    let read = fault_of(read(Api::Messages, &events(&[r#"{"type":"ping"}"#])));
    assert_eq!(read.1, "the stream ended without a stop_reason");
}

#[test]
fn an_answer_that_is_too_long_is_one_fault_and_what_came_is_kept() {
    let said = chunks(&[
        r#""content":"aaaa""#,
        r#""reasoning":"bbbb""#,
        r#""tool_calls":[{"function":{"name":"f","arguments":"cccc"}}]"#,
        r#""refusal":"d""#,
    ]);
    let expected =
        [text("aaaa"), super::reasoning("bbbb"), super::call(0, None, Some("f"), "cccc")];
    let options = Options { max_answer: 12, ..Options::default() };
    let (kind, message, kept) = fault_of(read_with(Api::Completions, &options, said.as_bytes()));
    assert_eq!((kind, &kept[..3]), (FaultKind::TooLong, &expected[..]));
    assert_eq!(message, "what the answer says has more than 12 bytes: the rest is not read");
    let whole = said.len();
    for stream in [&said, &"\n".repeat(whole), &"x".repeat(whole), &": x\n".repeat(whole)] {
        let options = Options { max_stream: whole - 1, ..Options::default() };
        let read = read_with(Api::Completions, &options, stream.as_bytes());
        let (kind, message, _) = fault_of(read);
        assert_eq!(kind, FaultKind::TooLong, "{stream:.20}");
        let sentence =
            format!("the answer has more than {} bytes: the rest is not read", whole - 1);
        assert_eq!(message, sentence);
    }
    let complete = said.clone() + &events(&[STOP, "[DONE]"]);
    let options = Options { max_stream: complete.len() + 1, ..Options::default() };
    let deltas = read_with(Api::Completions, &options, (complete + "\n\n\n").as_bytes());
    assert!(matches!(deltas.last(), Some(Delta::Finish(_))), "{deltas:?}");
}

#[test]
fn a_line_that_is_too_long_is_one_fault_and_is_not_held() {
    let options = Options { max_bytes: 1000, ..Options::default() };
    for begin in ["data: ", "", ":", "{\"a\": \""] {
        let (mut reader, mut deltas) = (Reader::new(Api::Completions, options.clone()), Vec::new());
        reader.feed(chunks(&[r#""content":"a""#]).as_bytes(), &mut deltas);
        reader.feed(begin.as_bytes(), &mut deltas);
        for _ in 0..1000 {
            reader.feed(&[b'x'; 100], &mut deltas);
        }
        reader.finish(&mut deltas);
        let (kind, message, kept) = fault_of(deltas);
        assert_eq!((kind, kept), (FaultKind::TooLong, vec![text("a")]), "{begin:?}");
        assert_eq!(message, "an event has more than 1000 bytes: longer ones are not read");
    }
    for (bytes, kind) in [
        ("{\"a\": \"".to_owned() + &"x".repeat(2000), FaultKind::NotStream),
        ("{\"done\":false}\n".to_owned() + &"x".repeat(2000), FaultKind::TooLong),
        (chunks(&[&format!("\"refusal\":\"{}\"", "x".repeat(600))]).repeat(2), FaultKind::TooLong),
        (" ".repeat(2000) + "{\"a\": 1}", FaultKind::TooLong),
        ("\n".repeat(2000) + "{\"a\": 1}", FaultKind::NotStream),
    ] {
        let deltas = read_with(Api::Completions, &options, bytes.as_bytes());
        assert_eq!(fault_of(deltas).0, kind);
    }
}

#[test]
fn bytes_that_are_not_utf_8_and_lone_surrogates_are_noted_once() {
    let stream = [&b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xffb\xe2\x98\"}}]}\n\n"[..];
        2]
        .concat();
    let stream = [&stream, events(&[STOP]).as_bytes()].concat();
    let expected =
        [Delta::Note(Note::NotUtf8), text("a\u{fffd}b\u{fffd}a\u{fffd}b\u{fffd}"), finish("stop")];
    assert_eq!(read_with(Api::Completions, &Options::default(), &stream), expected);

    let note = Delta::Note(Note::LoneSurrogate);
    for (deltas, expected) in [
        (
            vec![r#""content":"\udd80a""#, r#""content":"\udd80""#],
            vec![note.clone(), text("\u{fffd}a\u{fffd}")],
        ),
        (vec![r#""content":"a\ud83e""#], vec![text("a"), note.clone(), text("\u{fffd}")]),
        (vec![r#""content":"a\ud83eb""#], vec![text("a"), note.clone(), text("\u{fffd}b")]),
        (vec![r#""content":"\ud83e\ud83e\udd80""#], vec![note.clone(), text("\u{fffd}🦀")]),
        (
            vec![r#""content":"\ud83e""#, r#""reasoning":"\udd80""#],
            vec![note, text("\u{fffd}"), super::reasoning("\u{fffd}")],
        ),
    ] {
        assert_eq!(super::chat(&deltas), expected, "{deltas:?}");
    }
}

#[test]
fn what_comes_after_the_end_is_noted_and_not_read() {
    let stream = chunks(&[r#""content":"a""#]) + &events(&[STOP, "[DONE]"]);
    let expected = [text("a"), finish("stop")];
    assert_eq!(read(Api::Completions, &(stream.clone() + ": bye\n\ndata: [DONE]\n\n")), expected);
    let more = stream + &chunks(&[r#""content":"b""#, r#""content":"c""#]);
    let expected = [text("a"), finish("stop"), Delta::Note(Note::AfterEnd)];
    assert_eq!(read(Api::Completions, &more), expected);
}

#[test]
fn a_stream_that_breaks_off_is_complete_if_only_its_end_is_missing() {
    let broken = |bytes: &[u8]| {
        let (mut reader, mut deltas) =
            (Reader::new(Api::Completions, Options::default()), Vec::new());
        reader.feed(bytes, &mut deltas);
        reader.break_off("connection reset", &mut deltas);
        assert!(reader.is_done());
        let length = deltas.len();
        reader.feed(b"data: {}\n\n", &mut deltas);
        reader.finish(&mut deltas);
        assert_eq!(deltas.len(), length, "nothing comes after the end");
        deltas
    };
    let begun = chunks(&[r#""content":"a""#]);
    let complete = begun.clone() + &events(&[STOP]);
    assert_eq!(broken(complete.as_bytes()), [text("a"), finish("stop")]);
    let mut cut = complete.clone().into_bytes();
    cut.extend_from_slice(b"data: {\"choices\":[{\"delta\":{\"content\":\"\xe2\x98");
    assert_eq!(broken(&cut), [text("a"), finish("stop")]);
    for bytes in [begun.as_bytes(), &[begun.as_bytes(), b"data: {\"a\": \"\xe2"].concat()] {
        let (kind, message, kept) = fault_of(broken(bytes));
        assert_eq!((kind, kept), (FaultKind::BrokenOff, vec![text("a")]));
        assert_eq!(message, "the stream broke off: connection reset");
    }
    assert_eq!(fault_of(broken(b"{\"a\": 1")).0, FaultKind::BrokenOff);
}

#[test]
fn an_error_after_the_reason_for_the_end_does_not_undo_the_answer() {
    let error = r#"{"error":{"message":"no usage today"}}"#;
    let deltas = read(Api::Completions, &events(&[STOP, error]));
    assert_eq!(deltas, [finish("stop")]);
    let gave_up = STOP.replace("\"stop\"", "\"error\"");
    let (kind, message, _) = fault_of(read(Api::Completions, &events(&[&gave_up, error])));
    assert_eq!(kind, FaultKind::Reported);
    assert_eq!(message, "the server reported an error: no usage today");
}

#[test]
fn a_secret_stands_in_no_fault() {
    let options = Options {
        secrets: vec![
            Secret::new("sk-1234567890", "[api_key]"),
            Secret::new("sk-1234567890-long", "[long]"),
        ],
        ..Options::default()
    };
    assert!(!format!("{options:?}").contains("sk-"));
    let long = "<p>".to_owned() + &" ".repeat(4086) + "sk-1234567890";
    for bytes in [
        "<p>sk-1234567890</p>",
        "key sk-1234567890",
        "{\"a\": \"sk-1234567890\"}",
        "{\"error\": \"sk-1234567890-long\"}",
        "data: {\"error\": {\"message\": \"sk-1234567890\"}}\n\n",
        "data: {\"error\": {\"message\": \"\\u0073k-1234567890\"}}\n\n",
        "data: sk-1234567890\n\n",
        &long,
    ] {
        let deltas = read_with(Api::Completions, &options, bytes.as_bytes());
        let [Delta::Fault(fault)] = &deltas[..] else { panic!("{deltas:?}") };
        let shown = format!("{fault} {}", fault.body);
        assert!(!shown.contains("k-1"), "{shown}");
    }
    let mut deltas = Vec::new();
    Reader::new(Api::Messages, options).break_off("refused sk-1234567890", &mut deltas);
    assert_eq!(fault_of(deltas).1, "the stream broke off: refused [api_key]");
}

/// A server may repeat a secret anywhere. What it says of an answer shows none; a word that is also a short key stays.
#[test]
fn a_secret_stands_in_nothing_that_a_server_says_of_an_answer() {
    const KEY: &str = "sk-1234567890";
    let secrets = vec![Secret::new(KEY, "[api_key]"), Secret::new("stop", "[other]")];
    let options = Options { secrets, extras: Extras::Kept, ..Options::default() };
    let completions = [
        r#"{"id": KEY, "model": "m-KEY", "system_fingerprint": KEY, "KEY": "x",
            "choices": [{"delta": {"content": "a", "KEY": "x", "refusal": "no, KEY"}}]}"#,
        r#"{"choices": [{"delta": {"tool_calls": [{"index": 0, "id": KEY, "function": {"name": KEY}}]},
            "logprobs": {"token": "\u0073k-1234567890"}, "finish_reason": KEY}]}"#,
        r#"{"choices": [], "usage": {"prompt_tokens": 1, "cost": KEY}}"#,
    ];
    let messages = [
        r#"{"type": "message_start", "message": {"id": KEY, "model": "m-KEY", "usage": {"service_tier": KEY}}}"#,
        r#"{"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}"#,
        r#"{"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "KEY"}}"#,
        r#"{"type": "content_block_stop", "index": 0}"#,
        r#"{"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": KEY}}"#,
        r#"{"type": "content_block_start", "index": 2,
            "content_block": {"type": "tool_use", "id": KEY, "name": KEY, "input": {}}}"#,
        r#"{"type": "content_block_start", "index": 3, "content_block": {"type": "citation", "KEY": KEY}}"#,
        r#"{"type": "KEY", "x": KEY}"#,
        r#"{"type": "message_delta", "delta": {"stop_reason": KEY, "stop_details": {"explanation": KEY}}}"#,
        r#"{"type": "message_stop"}"#,
    ];
    for (api, said) in [(Api::Completions, &completions[..]), (Api::Messages, &messages[..])] {
        let said: Vec<String> = said
            .iter()
            .map(|event| event.replace(": KEY", ": \"KEY\"").replace("KEY", KEY).replace('\n', " "))
            .collect();
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        let deltas = read_with(api, &options, events(&said).as_bytes());
        // The pieces of a refusal are the model's; the whole is in the end.
        let told = deltas.iter().filter(|delta| !matches!(delta, Delta::Refusal(_)));
        let shown = format!("{:?}", told.collect::<Vec<_>>());
        assert!(!shown.contains("k-12"), "{shown}");
        assert!(shown.matches("[api_key]").count() >= 6, "{shown}");
    }
    let whole = read_with(Api::Completions, &options, events(&[STOP]).as_bytes());
    assert_eq!(whole, [finish("stop")]);
}
