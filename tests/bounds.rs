//! Where a rule ends: the last case that it holds for, and the first that it does not.

use std::sync::Arc;

use cogency_rs::context::stored_report;
use cogency_rs::ids::Ids;
use cogency_rs::protocol::event::Note;
use cogency_rs::protocol::tools::SchemaDocument;
use cogency_rs::protocol::write::{ShownCall, returned};
use cogency_rs::protocol::{
    CallStream, Ending, Event, FinishKind, Grammar, Limits, Options, Parser, ReportKind, Tools,
};
use serde_json::json;

fn grammar(name: &str) -> Arc<Grammar> {
    Grammar::preset(name).unwrap_or_else(|| panic!("there is no {name}"))
}

fn read(name: &str, options: Options, text: &str) -> Vec<Event> {
    let (mut parser, mut events) = (Parser::new(grammar(name), options), Vec::new());
    parser.feed(text, &mut events);
    parser.finish(&Ending::Stopped, &mut events);
    events
}

/// The calls in `text`, as canonical JSON.
fn calls(name: &str, text: &str) -> Vec<String> {
    let events = read(name, Options::default(), text);
    let calls = events.iter().filter_map(|event| match event {
        Event::Call(call) => Some(call.json().to_owned()),
        _ => None,
    });
    calls.collect()
}

#[test]
fn a_recipient_is_a_name_of_at_most_128_bytes_before_the_end_of_the_head() {
    let muse = grammar("muse");
    let heads = muse.dialects[0].heads.as_ref().expect("messages with heads");
    let end = &heads.end;
    let name = |length: usize| "n".repeat(length);
    for (text, expected) in [
        (String::new(), None),
        (end.to_string(), Some(false)),
        (format!(" {end}"), Some(false)),
        (name(128), None),
        (format!("{}{end}", name(1)), Some(true)),
        (format!("{}{end}", name(128)), Some(true)),
        (format!("{}{end}", name(129)), Some(false)),
        (format!("a_B-1.2:3/4{end}"), Some(true)),
        (format!("a b{end}"), Some(false)),
    ] {
        assert_eq!(muse.begins_head(0, text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn a_cut_text_lacks_no_call_unless_it_ends_in_the_beginning_of_one() {
    let section = "<|tool_calls_section_begin|>";
    let first = "<|tool_call_begin|>functions.a:0<|tool_call_argument_begin|>{}<|tool_call_end|>";
    for (rest, expected) in [
        ("", 1),
        (" \n", 1),
        ("<|tool_call", 1),
        ("<|tool_calls_section_", 1),
        ("<|tool_call_", 1),
        ("<|tool_call_b", 0),
        ("\n<|tool_call_begin|", 0),
    ] {
        let text = format!("{section}{first}{rest}");
        assert_eq!(calls("kimi-k2", &text).len(), expected, "{rest:?}");
    }
}

#[test]
fn a_numbered_name_has_digits_behind_its_last_colon() {
    for (head, expected) in [
        ("functions.a:0", r#"{"name": "a", "args": {}, "id": "functions.a:0"}"#),
        ("a:12", r#"{"name": "a", "args": {}, "id": "a:12"}"#),
        ("functions.a:", r#"{"name": "a:", "args": {}}"#),
        ("a:b:3", r#"{"name": "a:b", "args": {}, "id": "a:b:3"}"#),
        ("a:1x", r#"{"name": "a:1x", "args": {}}"#),
        ("a", r#"{"name": "a", "args": {}}"#),
    ] {
        let text = format!(
            "<|tool_calls_section_begin|><|tool_call_begin|>{head}<|tool_call_argument_begin|>{{}}<|tool_call_end|>\
             <|tool_calls_section_end|>"
        );
        assert_eq!(calls("kimi-k2", &text), [expected], "{head}");
    }
}

#[test]
fn a_report_shows_as_much_as_a_block_and_its_marks_may_have() {
    let limits = Limits { max_block_bytes: 10, ..Limits::default() };
    let text = format!("<tool_call>{{{}", "x".repeat(100));
    let events = read("hermes", Options { limits, ..Options::default() }, &text);
    let [Event::Error(report), ..] = &events[..] else { panic!("no report in {events:?}") };
    let marks = "<tool_call></tool_call>".len();
    assert_eq!(report.raw.to_string(), text[..10 + marks]);
}

#[test]
fn the_first_eight_alternatives_of_a_schema_count() {
    let types = |count: usize| {
        let mut places = vec![json!({"properties": {"x": {"type": "string"}}}); count];
        places.push(json!({"properties": {"x": {"type": "integer"}}}));
        let schema = json!({ "anyOf": places });
        SchemaDocument::new(&schema).root().declared("x").expect("it is declared").types()
    };
    let text = types(8);
    assert_eq!(types(20), text, "alternatives after the eighth do not count");
    assert_ne!(types(7), text, "the eighth counts");
}

#[test]
fn a_parameter_that_follows_is_known_by_an_opening_of_at_most_256_bytes() {
    let schema = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let tools = || Some(Arc::new(Tools::new([("f".to_owned(), schema.clone())])));
    let keys = |length: usize| {
        let key = "k".repeat(length);
        let text = format!(
            "<tool_call><function=f><parameter=a>1\n<parameter={key}>2</parameter></function></tool_call>"
        );
        let events = read("qwen3-coder", Options { tools: tools(), ..Options::default() }, &text);
        let count = events.iter().map(|event| match event {
            Event::Call(call) => call.arguments().matches("\": ").count(),
            _ => 0,
        });
        count.sum::<usize>()
    };
    assert_eq!((keys(255), keys(256)), (2, 1));
}

#[test]
fn blocks_that_hold_the_rest_of_the_text_are_read_again_up_to_a_limit() {
    let call = "<tool_call><function=f></function></tool_call>";
    // A value without an end goes on to the end of the text, and so does the next one.
    let broken = "<tool_call><function=f><parameter=a></tool_call>";
    for (blocks, expected) in [(1, 1), (20, 1), (200, 1), (20_000, 0)] {
        let text = format!("{}{call}", broken.repeat(blocks));
        assert_eq!(calls("qwen3-coder", &text).len(), expected, "after {blocks} broken blocks");
        let events = read("qwen3-coder", Options::default(), &text);
        let reports = events.iter().filter(|event| matches!(event, Event::Error(_))).count();
        assert!(reports >= blocks.min(20), "{reports} reports of {blocks} blocks");
    }
}

#[test]
fn a_call_in_text_that_was_read_before_shows_no_pieces() {
    let call = "<tool_call><function=g></function></tool_call>";
    let text = format!("<tool_call><function=f><parameter=a>1</tool_call>{call}");
    let options = || Options { calls: CallStream::Json, ..Options::default() };
    let names = |events: &[Event]| {
        let names = events.iter().filter_map(|event| match event {
            Event::Piece(number, Note::Start { name, .. }) => Some((*number, name.clone())),
            Event::Call(call) => Some((usize::MAX, call.name_json().to_owned())),
            _ => None,
        });
        names.collect::<Vec<_>>()
    };
    let (f, complete) = ((0, "\"f\"".to_owned()), (usize::MAX, "\"g\"".to_owned()));
    assert_eq!(names(&read("qwen3-coder", options(), &text)), [f.clone(), complete]);
    // If it is cut off, it does not count, and none of it was shown.
    let cut = text.replace("=g></function></tool_call>", "=g><parameter=b>2");
    assert_eq!(names(&read("qwen3-coder", options(), &cut)), [f]);
}

#[test]
fn two_ids_of_one_millisecond_are_as_far_apart_as_their_random_step_says() {
    let tail = |id: &str| u64::from_str_radix(&id[24..], 16).expect("hexadecimal digits");
    for random in [0, 1, 41, (1 << 40) + 7] {
        let mut ids = Ids::new();
        let (first, second) = (ids.next(5, 0), ids.next(5, random));
        assert_eq!(u128::from(tail(&second) - tail(&first)), random + 1, "{random}");
    }
}

#[test]
fn results_that_are_no_array_of_objects_are_one_result() {
    let call = |name: &str| ShownCall {
        name: format!("{name:?}"),
        args: "{}".into(),
        id: None,
        server: None,
    };
    let calls = [call("a"), call("b")];
    let contents = |results: &str| {
        let returned = returned(results.as_bytes(), &calls);
        returned.into_iter().map(|each| (each.tool, each.content)).collect::<Vec<_>>()
    };
    let of = |name: &str, content: &str| (Some(format!("{name:?}")), content.to_owned());
    for (results, expected) in [
        ("plain", vec![of("a", "\"plain\"")]),
        ("[1]", vec![of("a", "\"[1]\"")]),
        ("[{\"content\": 1}, 2]", vec![of("a", "\"[{\\\"content\\\": 1}, 2]\"")]),
        ("[{\"content\": 1}, {\"content\": \"x\"}]", vec![of("a", "1"), of("b", "\"x\"")]),
        ("[]", vec![]),
    ] {
        assert_eq!(contents(results), expected, "{results}");
    }
}

#[test]
fn every_kind_of_report_and_every_meaning_of_an_end_is_known() {
    for (kind, is_known) in
        [("malformed", true), ("truncated", true), ("unfinished", true), ("broken", false)]
    {
        let stored = format!(r#"{{"kind": "{kind}", "content": "no", "raw": "x"}}"#);
        assert_eq!(stored_report(stored.as_bytes()).is_some(), is_known, "{kind}");
        assert_eq!(ReportKind::of_name(kind).map(ReportKind::name), is_known.then_some(kind));
    }
    for (word, expected) in [
        ("stop", FinishKind::Whole),
        ("END_TURN", FinishKind::Whole),
        ("tool_calls", FinishKind::Calls),
        ("length", FinishKind::Length),
        ("max_tokens", FinishKind::Length),
        ("model_context_window_exceeded", FinishKind::Length),
        ("content_filter", FinishKind::Refused),
        ("refusal", FinishKind::Refused),
        ("abort", FinishKind::Broken),
        ("nobody says so", FinishKind::Unknown),
    ] {
        assert_eq!(FinishKind::of_reason(word), expected, "{word}");
    }
}
