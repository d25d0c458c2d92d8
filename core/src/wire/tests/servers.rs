//! What servers add to the APIs, and what they send in other ways.

use super::super::{Api, Delta, FaultKind};
use super::{STOP, call, chat, chunks, events, finish, info, opaque, read, reasoning, text, usage};

#[test]
fn reasoning_is_read_wherever_a_server_puts_it() {
    for (who, fields) in [
        ("vLLM, DeepSeek, llama.cpp", r#""content":null,"reasoning_content":"hm""#),
        ("Ollama, OpenRouter", r#""content":"","reasoning":"hm""#),
        ("both", r#""reasoning_content":"hm","reasoning":"hm""#),
        ("one of them empty", r#""reasoning_content":"","reasoning":"hm""#),
        ("Mistral", r#""content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]"#),
        ("details alone", r#""reasoning_details":[{"type":"reasoning.text","text":"hm"}]"#),
        ("a summary", r#""reasoning_details":[{"type":"reasoning.summary","summary":"hm"}]"#),
        (
            "details and text",
            r#""reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}]"#,
        ),
    ] {
        let mut deltas = chat(&[fields, r#""content":"Hi""#]);
        deltas.retain(|delta| !matches!(delta, Delta::Opaque(_)));
        assert_eq!(deltas, [reasoning("hm"), text("Hi")], "{who}");
    }
}

#[test]
fn details_of_reasoning_go_back_as_they_came() {
    let fields = [
        r#""reasoning":"h","reasoning_details":[{"type":"reasoning.text","text":"h","signature":null}]"#,
        r#""reasoning_details":[{"type":"reasoning.text","text":"","signature":"sig"}]"#,
        r#""reasoning_details":[{"type":"reasoning.encrypted","data":"secret"}]"#,
    ];
    let detail = |json| opaque(None, "reasoning_details", json);
    let expected = [
        reasoning("h"),
        detail(r#"{"type":"reasoning.text","text":"h","signature":null}"#),
        detail(r#"{"type":"reasoning.text","text":"","signature":"sig"}"#),
        detail(r#"{"type":"reasoning.encrypted","data":"secret"}"#),
    ];
    assert_eq!(chat(&fields), expected);
}

#[test]
fn what_only_the_server_reads_of_a_call_goes_back_with_it() {
    let signed = r#"{"google":{"thought_signature":"CvcB"}}"#;
    let call_of = |index, own| {
        format!(
            r#""tool_calls":[{{"index":{index},"id":"c{index}","function":{{"name":"f","arguments":"{{}}"}}{own}}}]"#
        )
    };
    let fields = [
        call_of(0, format!(r#","extra_content":{signed}"#)),
        call_of(1, String::new()),
        format!(r#""extra_content":{signed},"content":"Hi""#),
        call_of(2, r#","thought_signature":null,"custom":1"#.to_owned()),
    ];
    let called = |number| call(number, Some(&format!("c{number}")), Some("f"), "{}");
    let expected = [
        called(0),
        opaque(Some(0), "extra_content", signed),
        called(1),
        opaque(None, "extra_content", signed),
        text("Hi"),
        called(2),
    ];
    assert_eq!(chat(&fields.each_ref().map(String::as_str)), expected);
}

#[test]
fn content_may_be_a_list_of_parts() {
    let fields =
        r#""content":[{"type":"text","text":"H"},{"type":"text","text":"i"},{"type":"image"}]"#;
    assert_eq!(chat(&[fields]), [text("Hi")]);
}

#[test]
fn comments_and_empty_events_keep_the_line_open() {
    let stream = format!(
        ": OPENROUTER PROCESSING\n\n:\n\ndata:\n\nevent: ping\ndata: {{}}\n\n{}: ping\n\n{}",
        chunks(&[r#""content":"a""#]),
        events(&[STOP, "[DONE]"])
    );
    assert_eq!(read(Api::Completions, &stream), [text("a"), finish("stop")]);
}

#[test]
fn lines_of_ollama_s_own_chat_are_read() {
    let lines = concat!(
        r#"{"model":"q","created_at":"t","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}"#,
        "\n",
        r#"{"model":"q","message":{"role":"assistant","content":"Hi"},"done":false}"#,
        "\r\n",
        r#"{"model":"q","message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},"done":false}"#,
        "\n",
        r#"{"model":"q","message":{"content":""},"done":true,"done_reason":"stop","total_duration":5,"prompt_eval_count":3,"eval_count":2}"#,
    );
    let expected = [
        info(None, Some("q")),
        reasoning("hm"),
        text("Hi"),
        call(0, None, Some("f"), r#"{"a":1}"#),
        usage(3, 2),
        finish("stop"),
    ];
    assert_eq!(read(Api::Completions, lines), expected);
    assert_eq!(read(Api::Completions, &format!("{lines}\n")), expected);
}

#[test]
fn lines_of_ollama_s_own_completions_are_read() {
    let lines = "{\"model\":\"q\",\"response\":\"\",\"thinking\":\"hm\",\"done\":false}\n{\"response\":\"H\",\"done\":false}\n{\"response\":\"i\",\"done\":false}\n{\"response\":\"\",\"done\":true,\"done_reason\":\"length\"}\n";
    let expected =
        [info(None, Some("q")), reasoning("hm"), text("Hi"), usage(0, 0), finish("length")];
    assert_eq!(read(Api::Completions, lines), expected);
    let one = r#"{"response":"Hi","done":true}"#;
    assert_eq!(read(Api::Completions, one), [text("Hi"), usage(0, 0), finish("stop")]);
}

#[test]
fn a_surrogate_pair_may_be_cut_between_two_deltas() {
    let crab = [r#""content":"a\ud83e""#, r#""content":"""#, r#""content":"\udd80b""#];
    assert_eq!(chat(&crab), [text("a🦀b")]);
    let thought = [r#""reasoning":"\ud83e""#, r#""reasoning":"\udd80""#];
    assert_eq!(chat(&thought), [reasoning("🦀")]);
    let arguments = [
        r#""tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"\ud83e"}}]"#,
        r#""tool_calls":[{"index":0,"function":{"arguments":"\udd80"}}]"#,
    ];
    assert_eq!(chat(&arguments), [call(0, Some("x"), Some("f"), "🦀")]);
}

#[test]
fn moonshot_counts_in_the_choice() {
    let counted = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":10,"completion_tokens":2}}]}"#;
    let stream = chunks(&[r#""content":"a""#]) + &events(&[counted, "[DONE]"]);
    assert_eq!(read(Api::Completions, &stream), [text("a"), usage(10, 2), finish("stop")]);
}

#[test]
fn an_answer_without_a_reason_is_told_from_one_that_was_cut() {
    let begun = chunks(&[r#""tool_calls":[{"index":0,"id":"c","function":{"name":"f"}}]"#]);
    let counted = r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    for (stream, kind) in [
        (chunks(&[r#""content":"a""#]) + &events(&["[DONE]"]), FaultKind::NoReason),
        (chunks(&[r#""content":"a""#]), FaultKind::Incomplete),
        (begun.clone() + &events(&["[DONE]"]), FaultKind::Incomplete),
        (begun + &events(&[counted, "[DONE]"]), FaultKind::Incomplete),
    ] {
        let Some(Delta::Fault(fault)) = read(Api::Completions, &stream).pop() else {
            panic!("{stream} is read as whole")
        };
        assert_eq!(fault.kind, kind, "{stream}");
    }
}
