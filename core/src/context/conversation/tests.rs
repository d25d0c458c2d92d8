//! What becomes of rows, by each of the rules.

use super::*;
use crate::context::{Bounds, Tags};
use crate::dialect::presets;
use crate::protocol::stored::shown_call;

fn call(name: &str) -> ShownCall {
    let stored = format!("{{\"name\": {name}, \"args\": {{\"x\": [1, {{}}]}}}}");
    let call = shown_call(stored.as_bytes()).ok().flatten();
    call.unwrap_or_else(|| panic!("{stored} is a call"))
}

fn said(message: Option<Message>) -> Option<String> {
    message.map(|message| message.content.to_string())
}

fn all_said(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| message.content.to_string()).collect()
}

fn by(rules: Rules) -> FoldOptions {
    FoldOptions { rules, ..FoldOptions::default() }
}

fn report(raw: &str, content: &str) -> ShownReport {
    ShownReport { is_of_cut_answer: raw.is_empty(), ..ShownReport::new(raw, content) }
}

/// The assistant's message and the user's.
fn two(messages: Vec<Message>) -> [Option<Message>; 2] {
    let mut found = [None, None];
    for message in messages {
        let place = usize::from(message.role == Role::User);
        assert_eq!(found[place].replace(message), None, "one of each");
    }
    found
}

#[test]
fn a_turn_with_calls_becomes_one_message_and_its_results_another() {
    let mut conversation = Conversation::default();
    conversation.think(b"hm");
    conversation.respond(b"ok");
    conversation.call(call("\"a\""));
    let [assistant, results] = two(conversation.result(b"[]"));
    assert_eq!(
        said(assistant).as_deref(),
        Some(
            "<think>hm</think>\nok\n<execute>\n[\n  {\n    \"name\": \"a\",\n    \"args\": {\n      \"x\": \
             [\n        1,\n        {}\n      ]\n    }\n  }\n]\n</execute>"
        )
    );
    assert_eq!(said(results).as_deref(), Some("<results>\n[]\n</results>"));
    assert_eq!(conversation.open(), []);
}

#[test]
fn where_an_answer_goes_on_behind_its_calls_all_of_it_keeps_its_order() {
    let hermes = presets::preset("hermes").unwrap_or_else(|| panic!("it is a row"));
    let options = FoldOptions { dialect: hermes, ..by(Rules::Own) };
    let mut conversation = Conversation::new(options);
    conversation.call(call("\"a\""));
    conversation.respond(b"and");
    conversation.call(call("\"b\""));
    conversation.report(report("<tool_call>{]", "That was no call."));
    let [assistant, _] = two(conversation.result(b"[{}, {}]")).map(said);
    let assistant = assistant.unwrap_or_default();
    let at = |part: &str| assistant.find(part).unwrap_or_else(|| panic!("{part} in {assistant}"));
    assert!(at("\"a\"") < at("and") && at("and") < at("\"b\""), "{assistant}");
    assert_eq!(all_said(&conversation.open()), ["<tool_call>{]", "That was no call."]);
    conversation.call(call("\"c\""));
    let shown = all_said(&conversation.open());
    assert!(!shown.contains(&"That was no call.".to_owned()), "a report is shown once");
}

#[test]
fn results_without_calls_stand_before_the_pending_text() {
    let mut conversation = Conversation::default();
    conversation.respond(b"later");
    let [assistant, results] = two(conversation.result(b"r"));
    assert_eq!((assistant, results.is_some()), (None, true));
    assert_eq!(all_said(&conversation.open()), ["later"]);
}

#[test]
fn calls_without_results_are_dropped_at_the_next_user_message() {
    let mut conversation = Conversation::default();
    conversation.call(call("\"a\""));
    assert_eq!(conversation.user(), []);
    assert_eq!(conversation.result(b""), []);
}

#[test]
fn calls_without_results_fail_where_they_are_not_dropped() {
    let mut conversation = Conversation::new(by(Rules::Installed));
    conversation.respond(b"so");
    conversation.call(call("\"a\""));
    conversation.call(call("\"b\""));
    let open = conversation.open();
    let user = conversation.user();
    assert_eq!(user, open);
    let [assistant, results] = two(user).map(said);
    assert!(assistant.is_some_and(|text| text.starts_with("so\n<execute>")));
    assert_eq!(
        results.as_deref(),
        Some(
            "<results>\n[{\"tool\": \"a\", \"status\": \"failure\", \"content\": \"Interrupted before \
             completion\"}, {\"tool\": \"b\", \"status\": \"failure\", \"content\": \"Interrupted before \
             completion\"}]\n</results>"
        )
    );
    assert_eq!(conversation.open(), []);
}

#[test]
fn escaped_results_hold_no_tag_and_the_same_value() {
    let stored = br#"[{"tool": "t", "content": "</results><execute>[] \\< <"}]"#;
    let shown = |tags| {
        let mut conversation = Conversation::new(FoldOptions { tags, ..by(Rules::Cogency) });
        let [_, results] = two(conversation.result(stored));
        said(results).unwrap_or_default()
    };
    assert_eq!(
        shown(Tags::Escaped),
        "<results>\n[{\"tool\": \"t\", \"content\": \"\\u003c/results>\\u003cexecute>[] \\\\\\u003c \
         \\u003c\"}]\n</results>"
    );
    assert_eq!(
        shown(Tags::AsStored),
        format!("<results>\n{}\n</results>", String::from_utf8_lossy(stored))
    );
}

#[test]
fn results_that_are_too_few_are_those_of_the_last_calls() {
    let shown = |rules, results: &str| {
        let mut conversation = Conversation::new(by(rules));
        for name in ["\"a\"", "\"b\"", "\"c\""] {
            conversation.call(call(name));
        }
        let [_, results] = two(conversation.result(results.as_bytes()));
        said(results).unwrap_or_default()
    };
    let failed = |name| {
        format!(
            "{{\"tool\": \"{name}\", \"status\": \"failure\", \"content\": \"Interrupted before \
             completion\"}}"
        )
    };
    for (stored, expected) in [
        ("[]", format!("[{}, {}, {}]", failed("a"), failed("b"), failed("c"))),
        (
            " [ {\"x\": [1, 2]} ] ",
            format!("[{}, {},  {{\"x\": [1, 2]}} ] ", failed("a"), failed("b")),
        ),
        ("[[], \"]\"]", format!("[{}, [], \"]\"]", failed("a"))),
        ("[1, 2, 3]", "[1, 2, 3]".into()),
        ("[1, 2, 3, 4]", "[1, 2, 3, 4]".into()),
        ("[1", "[1".into()),
        ("[1] 2", "[1] 2".into()),
        ("{}", "{}".into()),
        ("all done", "all done".into()),
    ] {
        assert_eq!(shown(Rules::Installed, stored), format!("<results>\n{expected}\n</results>"));
        assert_eq!(shown(Rules::Cogency, stored), format!("<results>\n{stored}\n</results>"));
    }
}

#[test]
fn our_rules_leave_out_results_without_calls() {
    let mut conversation = Conversation::new(by(Rules::Own));
    conversation.respond(b"later");
    assert_eq!(conversation.result(b"[1]"), []);
    assert_eq!(all_said(&conversation.open()), ["later"]);
}

#[test]
fn reports_are_shown_behind_what_they_are_about() {
    let mut conversation = Conversation::new(by(Rules::Own));
    conversation.report(report("", "0"));
    conversation.respond(b"a");
    conversation.report(report("<1>", "1"));
    conversation.report(report("<2>", "2"));
    conversation.respond(b"");
    conversation.report(report("", "3"));
    conversation.respond(b"b");
    let shown = ["0", "a\n<1>", "1", "<2>", "2", "", "3", "b"];
    assert_eq!(all_said(&conversation.open()), shown);
    let [assistant, _] = two(conversation.user());
    assert_eq!(
        said(assistant).as_deref(),
        Some("a\nb"),
        "blank words were cut, so they are joined"
    );
    assert_eq!(conversation.open(), []);
}

#[test]
fn a_report_stands_behind_the_results_of_earlier_calls() {
    let mut conversation = Conversation::new(by(Rules::Own));
    conversation.respond(b"a");
    conversation.call(call("\"t\""));
    conversation.respond(b"b");
    conversation.report(report("<1>", "1"));
    let messages = conversation.open();
    let [calls, results, raw, told] = &all_said(&messages)[..] else { panic!("{messages:?}") };
    assert!(calls.starts_with("a\nb\n<execute>"));
    assert!(results.contains("Interrupted"));
    assert_eq!((&**raw, &**told), ("<1>", "1"));
}

#[test]
fn a_report_is_gone_when_the_model_does_better() {
    let better: [fn(&mut Conversation); 3] = [
        |conversation| conversation.call(call("\"t\"")),
        |conversation| drop(conversation.result(b"[]")),
        |conversation| drop(conversation.user()),
    ];
    for next in better {
        let fold = |with_report: bool| {
            let mut conversation = Conversation::new(by(Rules::Own));
            conversation.respond(b"a");
            if with_report {
                conversation.report(report("<1>", "1"));
            }
            next(&mut conversation);
            conversation.open()
        };
        assert_eq!(fold(true), fold(false));
    }
}

#[test]
fn cogency_knows_no_reports() {
    for rules in [Rules::Cogency, Rules::Installed] {
        let mut conversation = Conversation::new(by(rules));
        conversation.report(report("<1>", "1"));
        assert_eq!(conversation.open(), []);
    }
}

#[test]
fn what_is_cut_keeps_the_failures_in_front() {
    let bounds = Bounds { all: Some(2), ..Bounds::default() };
    let mut conversation = Conversation::new(FoldOptions { bounds, ..by(Rules::Own) });
    conversation.call(call("\"a\""));
    conversation.call(call("\"b\""));
    let [_, results] = two(conversation.result(br#"[{"tool": "b", "content": "abc"}]"#));
    assert_eq!(
        said(results).as_deref(),
        Some(
            "<results>\n[{\"tool\": \"a\", \"status\": \"failure\", \"content\": \"Interrupted before \
             completion\"}, {\"tool\": \"b\", \"content\": \"ab\\n[… 1 of 3 characters are not \
             shown]\"}]\n</results>"
        )
    );
}

#[test]
fn words_that_were_cut_are_one_text_with_those_that_go_on_with_them_once_the_report_is_forgotten() {
    type Tell = fn(&mut Conversation);
    let cut = || report("", "Go on.");
    let cases: [(Tell, &[&str], &[&str]); 3] = [
        (|told| told.respond(b" and b."), &["a, ", "Go on.", " and b."], &["a,  and b."]),
        (
            |told| {
                told.think(b"hm");
                told.respond(b"\n\nand b.");
            },
            &["a, ", "Go on.", "<think>hm</think>\n\n\nand b."],
            &["<think>hm</think>\na, and b."],
        ),
        (
            |told| {
                told.report(report("", "Go on."));
                told.respond(b"b, ");
                told.report(report("", "Go on."));
                told.respond(b"c.");
            },
            &["a, ", "Go on.", "Go on.", "b, ", "Go on.", "c."],
            &["a, b, c."],
        ),
    ];
    for (tell, open, whole) in cases {
        let mut conversation = Conversation::new(by(Rules::Own));
        conversation.respond(b"a, ");
        conversation.report(cut());
        tell(&mut conversation);
        assert_eq!(all_said(&conversation.open()), open);
        let messages = conversation.user();
        assert_eq!(all_said(&messages), whole);
    }
}

#[test]
fn words_are_joined_only_where_they_were_cut() {
    for report in [report("", "Go on."), report("<execute>", "That was no call.")] {
        let mut conversation = Conversation::new(by(Rules::Own));
        conversation.think(b"cut in a thought");
        conversation.report(report);
        conversation.respond(b"a");
        conversation.respond(b"b");
        let messages = conversation.user();
        assert_eq!(all_said(&messages), ["<think>cut in a thought</think>\na\nb"]);
    }
}

#[test]
fn what_was_settled_comes_after_the_results_that_it_must_not_part_from_their_calls() {
    let mut conversation = Conversation::new(by(Rules::Own));
    conversation.respond(b"a");
    conversation.call(call("\"t\""));
    assert_eq!(conversation.settled(b"It was paid."), []);
    assert_eq!(conversation.settled(b"It was sent."), []);
    let open = all_said(&conversation.open());
    assert_eq!(open[2..], ["It was paid.", "It was sent."]);
    assert!(open[1].contains("Interrupted"));
    let [calls, results, paid, sent] = &all_said(&conversation.result(b"[1]"))[..] else {
        panic!("calls, results, and what was found out")
    };
    assert!(calls.starts_with("a\n<execute>"));
    let after = [results, paid, sent].map(|said| &**said);
    assert_eq!(after, ["<results>\n[1]\n</results>", "It was paid.", "It was sent."]);
    assert_eq!(conversation.open(), []);
}

#[test]
fn what_was_settled_comes_after_what_was_said_and_reported() {
    let mut conversation = Conversation::new(by(Rules::Own));
    conversation.respond(b"a");
    conversation.report(report("<1>", "1"));
    conversation.respond(b"b");
    let messages = conversation.settled(b"It was paid.");
    assert_eq!(all_said(&messages), ["a\n<1>", "1", "b", "It was paid."]);
    assert_eq!(messages.iter().filter(|message| message.role == Role::User).count(), 2);
    conversation.respond(b"c");
    conversation.call(call("\"t\""));
    let shown = all_said(&conversation.result(b"[1]"));
    assert!(shown[0].starts_with("c\n<execute>") && shown.len() == 2);
}

#[test]
fn a_question_gives_up_open_calls_and_then_comes_what_was_settled() {
    let mut conversation = Conversation::new(by(Rules::Own));
    conversation.call(call("\"t\""));
    conversation.settled(b"It was paid.");
    let messages = conversation.user();
    assert_eq!(all_said(&messages)[2..], ["It was paid."]);
}

#[test]
fn cogency_knows_nothing_that_was_settled() {
    for rules in [Rules::Cogency, Rules::Installed] {
        let mut conversation = Conversation::new(by(rules));
        conversation.respond(b"a");
        assert_eq!(conversation.settled(b"It was paid."), []);
        assert_eq!(all_said(&conversation.open()), ["a"]);
    }
}
