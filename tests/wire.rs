//! However the bytes of an answer are cut, its deltas are the same; and what a model wrote is what is read.

use std::fmt::Write;

use cogency_rs::wire::{Api, Delta, Extras, FaultKind, Options, Reader, joined};
use proptest::prelude::*;

/// The deltas of an answer that comes in chunks, before its end and with it.
fn read(api: Api, options: &Options, chunks: &[&[u8]]) -> Vec<Delta> {
    let (mut reader, mut deltas) = (Reader::new(api, options.clone()), Vec::new());
    for chunk in chunks {
        reader.feed(chunk, &mut deltas);
    }
    reader.finish(&mut deltas);
    joined(deltas)
}

fn options() -> Options {
    Options { extras: Extras::Kept, max_bytes: 600, ..Options::default() }
}

/// Parts of streams, whole and damaged.
const PARTS: &[&[u8]] = &[
    b"data: ",
    b"data:",
    b"data",
    b"\n",
    b"\n\n",
    b"\r",
    b"\r\n",
    b": comment\n",
    b"event: error\n",
    b"event: ping\n",
    b"id: 1\n",
    b"\xef\xbb\xbf",
    b"\xef\xbb",
    b"[DONE]",
    b"data: [DONE]\n\n",
    b"data: {\"id\":\"x\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\n",
    b"data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"hm\\ud83e\"}}],\"usage\":{\"completion_tokens\":3}}\n\n",
    b"data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"\\udd80\",\"content\":\"\xe2\x98\x83\xe2\x98\"}}]}\r\n\r\n",
    b"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":3,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\"\"}}]}}]}\n\n",
    b"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":3,\"function\":{\"arguments\":\": 1}\"}}]},\"logprobs\":{\"a\":1}}]}\n\n",
    b"data: {\"choices\":[{\"delta\":{\"refusal\":\"no\"}}]}\n\n",
    b"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\n",
    b"data: {\"error\":{\"message\":\"broken\"}}\n\n",
    b"data: {\"choices\":[{\"del",
    b"data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":3}}}\n\n",
    b"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n",
    b"data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}}\n\n",
    b"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n",
    b"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"s\"}}\n\n",
    b"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n",
    b"data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n",
    b"data: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    b"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":3}}\n\n",
    b"data: {\"type\":\"message_stop\"}\n\n",
    b"{\"message\":{\"content\":\"a\"},\"done\":false}\n",
    b"{\"message\":{\"content\":\"a\"},\"done\":true,\"eval_count\":1}\n",
    b"{\"error\": \"x\"}",
    b"<html>",
    b"{",
    b"}",
    b"\"",
    b"\\",
    b"\xff",
    b" ",
];

fn stream() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(PARTS), 0..14).prop_map(|parts| parts.concat())
}

fn api() -> impl Strategy<Value = Api> {
    prop::sample::select(vec![Api::Completions, Api::Messages])
}

/// Pieces of these sizes, again and again.
fn cut<'a>(bytes: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let (mut rest, mut chunks) = (bytes, Vec::new());
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (chunk, after) = rest.split_at(rest.len().min(*size));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

/// Events as a server of chat completions writes them, one for each piece of text.
fn written(pieces: &[String]) -> String {
    let mut stream = String::new();
    for piece in pieces {
        let content = serde_json::to_string(piece).expect("a string can be written");
        writeln!(
            stream,
            "data: {{\"id\":\"chatcmpl-1\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{content}}},\"finish_reason\":null}}]}}\n"
        )
        .expect("a string takes anything");
    }
    stream
}

fn text_of(deltas: &[Delta]) -> String {
    let texts = deltas.iter().map(|delta| match delta {
        Delta::Text(text) => text.as_str(),
        _ => "",
    });
    texts.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_cut_gives_the_same_deltas(
        api in api(),
        bytes in stream(),
        sizes in prop::collection::vec(1..40_usize, 1..6),
    ) {
        let whole = read(api, &options(), &[&bytes]);
        prop_assert_eq!(&read(api, &options(), &cut(&bytes, &sizes)), &whole);
        prop_assert_eq!(&read(api, &options(), &cut(&bytes, &[1])), &whole);
    }

    #[test]
    fn an_answer_ends_once(api in api(), bytes in stream(), sizes in prop::collection::vec(1..40_usize, 1..6)) {
        let deltas = read(api, &options(), &cut(&bytes, &sizes));
        let is_end = |delta: &Delta| matches!(delta, Delta::Finish(_) | Delta::Fault(_));
        prop_assert_eq!(deltas.iter().filter(|delta| is_end(delta)).count(), 1);
        let after = deltas.iter().skip_while(|delta| !is_end(delta)).skip(1);
        let is_note = |delta: &Delta| matches!(delta, Delta::Note(_));
        prop_assert!(after.into_iter().all(is_note));
    }

    #[test]
    fn what_a_model_wrote_is_what_is_read(
        pieces in prop::collection::vec(any::<String>(), 0..8),
        sizes in prop::collection::vec(1..60_usize, 1..6),
    ) {
        let stream = written(&pieces);
        let deltas = read(Api::Completions, &Options::default(), &cut(stream.as_bytes(), &sizes));
        prop_assert_eq!(text_of(&deltas), pieces.concat());
        let Some(Delta::Fault(fault)) = deltas.last() else { panic!("{deltas:?}") };
        let expected = if pieces.is_empty() { FaultKind::NotStream } else { FaultKind::Incomplete };
        prop_assert_eq!(fault.kind, expected);
    }
}

/// Streams that providers sent, at the boundaries that they chose: the text is the same, whichever way it was cut on the wire.
#[test]
fn recorded_streams_are_read_as_they_were_written() {
    let Some(folder) = std::env::var_os("COGENCY_RS_RECORDINGS") else { return };
    let file = std::path::Path::new(&folder).join("streams.jsonl");
    let Ok(lines) = std::fs::read_to_string(file) else { return };
    assert!(!lines.is_empty());
    for line in lines.lines() {
        let recorded: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        let tokens = recorded["tokens"].as_array().expect("tokens").iter();
        let tokens: Vec<String> =
            tokens.map(|token| token.as_str().expect("text").to_owned()).collect();
        let stream = written(&tokens) + "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n";
        for sizes in [&[usize::MAX][..], &[1, 100], &[1400]] {
            let deltas =
                read(Api::Completions, &Options::default(), &cut(stream.as_bytes(), sizes));
            assert_eq!(text_of(&deltas), tokens.concat());
            assert!(matches!(deltas.last(), Some(Delta::Finish(_))));
        }
    }
}
