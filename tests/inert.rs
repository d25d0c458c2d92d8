//! No text from outside opens a turn: in every dialect, whatever the text is made of.

use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use cogency_rs::context::prompt::{Tool, system_prompt};
use cogency_rs::context::{Conversation, FoldOptions, Rules};
use cogency_rs::dialect::presets::{names, preset};
use cogency_rs::dialect::{Dialect, Inert, JOINER};
use cogency_rs::protocol::canonical::json_string;
use cogency_rs::protocol::stored::ShownCall;
use cogency_rs::protocol::write::{Renderer, marks_of};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::json;

/// A dialect of the table, in which no text keeps its marks.
fn joined(name: &str) -> Arc<Dialect> {
    let dialect = preset(name).expect("a row");
    if dialect.prompt.inert == Inert::Joined {
        return dialect;
    }
    let mut dialect = Dialect::clone(&dialect);
    dialect.prompt.inert = Inert::Joined;
    Arc::new(dialect)
}

/// The marks that a dialect lists, as whole texts.
fn listed(dialect: &Dialect) -> Vec<String> {
    let pairs = dialect.reasoning.iter().chain(&dialect.answer);
    let pairs = pairs.flat_map(|pair| [&pair.open, &pair.close]);
    let results = dialect.results.iter().flat_map(|each| [&each.open, &each.close]);
    let lists = [
        &dialect.calls.open,
        &dialect.calls.close,
        &dialect.end,
        &dialect.turn_end,
        &dialect.tokens,
    ];
    let marks = lists.into_iter().flatten().chain(pairs).chain(results);
    let mut marks: Vec<_> = marks.map(ToString::to_string).collect();
    // Words are marks for a reader of calls, and not for a tokenizer.
    marks.retain(|mark| mark.trim().len() > 2 && !mark.starts_with(char::is_alphanumeric));
    marks.sort_unstable();
    marks.dedup();
    marks
}

/// Text made of marks, halves of marks, joiners and plain text. It is not blank.
fn hostile(dialect: &Dialect) -> impl Strategy<Value = String> + use<> {
    let marks = listed(dialect);
    let cut = |(mark, at): (String, prop::sample::Index)| {
        let cuts: Vec<_> = mark.char_indices().map(|(at, _)| at).collect();
        let (first, second) = mark.split_at(cuts[at.index(cuts.len())]);
        [first.to_owned(), second.to_owned()]
    };
    let halves = (prop::sample::select(marks.clone()), any::<prop::sample::Index>()).prop_map(cut);
    let atom = prop_oneof![
        4 => prop::sample::select(marks),
        4 => (halves, any::<bool>()).prop_map(|([first, second], is_first)| if is_first { first } else { second }),
        2 => Just(JOINER.to_owned()),
        3 => prop::sample::select(vec!["a", " ", "\n", "<", ">", "[", "]", "|", "\"", "\\", "{", "é", "｜"])
            .prop_map(str::to_owned),
    ];
    prop::collection::vec(atom, 1..7)
        .prop_map(|atoms| atoms.concat())
        .prop_filter("blank text is left out", |text| !text.trim().is_empty())
}

fn check<S: Strategy>(strategy: &S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(48);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let seed = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    if let Err(error) = TestRunner::new_with_rng(config, seed).run(strategy, test) {
        panic!("{error}");
    }
}

#[test]
fn what_was_made_inert_is_made_exact_again_and_holds_no_mark() {
    for name in names() {
        let dialect = joined(name);
        let marks = marks_of(&dialect);
        let listed = listed(&dialect);
        check(&hostile(&dialect), |text| {
            let shown = marks.inert(text.as_bytes());
            prop_assert_eq!(&*marks.exact(&shown), text.as_bytes(), "{}", name);
            let raised = marks.raised(text.as_bytes());
            prop_assert_eq!(&*marks.exact(&raised), text.as_bytes(), "{}", name);
            let shown = std::str::from_utf8(&shown).expect("UTF-8");
            if !dialect.at_line_start {
                let held = listed.iter().find(|mark| shown.contains(&***mark));
                prop_assert_eq!(held, None, "{}: {:?}", name, shown);
            }
            let held = dialect.tokens.iter().find(|token| shown.contains(&***token));
            prop_assert_eq!(held, None, "{}: {:?}", name, shown);
            Ok(())
        });
    }
}

/// A conversation in which all text is from outside.
fn conversation(dialect: &Arc<Dialect>, texts: &[String]) -> Vec<String> {
    let options =
        FoldOptions { dialect: Arc::clone(dialect), rules: Rules::Own, ..FoldOptions::default() };
    let mut conversation = Conversation::new(options);
    let mut contents = vec![text_of(&conversation.said_by_user(texts[0].as_bytes()))];
    let mut add = |messages: Vec<cogency_rs::context::Message>| {
        contents.extend(messages.into_iter().map(|said| said.content.to_string()));
    };
    let string = |text: &String| json_string(text.as_bytes());
    conversation.think(texts[1].as_bytes());
    conversation.respond(texts[2].as_bytes());
    conversation.respond(texts[3].as_bytes());
    conversation.call(ShownCall {
        name: "\"t\"".into(),
        args: format!("{{\"a\": {}, \"b\": [{}]}}", string(&texts[4]), string(&texts[5])),
        id: None,
        server: None,
    });
    let results = format!(
        "[{{\"tool\": \"t\", \"status\": \"success\", \"outcome\": {}, \"content\": {}}}]",
        string(&texts[6]),
        string(&texts[7])
    );
    add(conversation.result(results.as_bytes()));
    conversation.respond(texts[8].as_bytes());
    add(conversation.user());
    contents
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// The tokens of a text, as a tokenizer finds them.
fn tokens(search: &AhoCorasick, text: &str) -> Vec<usize> {
    search.find_iter(text).map(|found| found.pattern().as_usize()).collect()
}

fn tokenizer(dialect: &Dialect) -> AhoCorasick {
    let marks: Vec<String> = if dialect.at_line_start {
        dialect.tokens.iter().map(ToString::to_string).collect()
    } else {
        listed(dialect)
    };
    AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(marks).expect("few marks")
}

#[test]
fn a_prompt_has_the_turns_that_were_opened_and_no_others() {
    for name in names() {
        let dialect = joined(name);
        let search = tokenizer(&dialect);
        // A template writes a mark at each end of a message, and perhaps a role or a line break.
        let mut marks = listed(&dialect);
        let all = marks.clone();
        marks.retain(|mark| all.iter().filter(|other| other.starts_with(&**mark)).count() == 1);
        let frames = prop::collection::vec(prop::sample::select(marks), 8);
        let roles = prop::sample::select(vec!["", "user\n", "\n"]);
        let texts = prop::collection::vec(hostile(&dialect), 9);
        check(&(texts, frames, roles), |(texts, frames, role)| {
            let prompt = |texts: &[String]| {
                let contents = conversation(&dialect, texts);
                let message = |(number, content): (usize, &String)| -> String {
                    [&*frames[2 * number], role, content, &*frames[2 * number + 1]].concat()
                };
                contents.iter().enumerate().map(message).collect::<String>()
            };
            let plain = vec!["x".to_owned(); texts.len()];
            let (shown, expected) = (prompt(&texts), prompt(&plain));
            prop_assert_eq!(
                tokens(&search, &shown),
                tokens(&search, &expected),
                "{}: {:?} and not {:?}",
                name,
                shown,
                expected
            );
            Ok(())
        });
    }
}

#[test]
fn what_a_tool_says_of_itself_opens_nothing() {
    for name in names() {
        let dialect = joined(name);
        let search = tokenizer(&dialect);
        let renderer = Renderer::new(Arc::clone(&dialect));
        let texts = prop::collection::vec(hostile(&dialect), 3);
        check(&texts, |texts| {
            let prompt = |texts: &[String]| {
                let declared = json!({"type": "function", "function": {
                    "name": texts[0], "description": texts[1], "parameters": {
                        "type": "object", "properties": {"a": {"type": "string", "description": texts[2]}},
                    },
                }});
                let line = format!("{}(a) - {}", texts[0], texts[1]);
                let tool = Tool { name: &texts[0], line: &line, declared: &declared };
                system_prompt(&renderer, &[tool], None, None)
            };
            let (shown, expected) = (prompt(&texts), prompt(&["x", "x", "x"].map(str::to_owned)));
            prop_assert_eq!(
                tokens(&search, &shown),
                tokens(&search, &expected),
                "{}: {:?}",
                name,
                shown
            );
            Ok(())
        });
    }
}
