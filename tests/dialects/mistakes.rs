//! The table of mistakes, `protocol::recovery`, in every dialect: each is read as it was meant where the table says so, and nowhere
//! is another call read of it.

use std::sync::Arc;

use cogency_rs::chat::{ChatOptions, ChatReader, Delta};
use cogency_rs::dialect::{Args, Body, Dialect, Head, JsonShape, NoArgs, Parameters, Trim};
use cogency_rs::protocol::recovery::{Forgiven, Mistake};
use cogency_rs::protocol::stored::{ShownCall, shown_call};
use cogency_rs::protocol::write::Renderer;
use cogency_rs::protocol::{
    CallStream, Ending, Event, Grammar, Options, Parser, Strictness, Tools,
};
use serde_json::{Value, json};

use super::read::grammars;

const FIRST: (&str, [(&str, &str); 2]) = ("write", [("path", "a.txt"), ("content", "hello")]);
const SECOND: (&str, [(&str, &str); 1]) = ("read", [("path", "b.txt")]);

fn tools() -> Arc<Tools> {
    let text = json!({"type": "string"});
    let of = |keys: &[&str]| {
        let properties: Value = keys.iter().map(|key| ((*key).to_owned(), text.clone())).collect();
        json!({"type": "object", "properties": properties})
    };
    let declared = [("write", of(&["path", "content"])), ("read", of(&["path"]))];
    Arc::new(Tools::new(declared.map(|(name, schema)| (name.to_owned(), schema))))
}

fn call(name: &str, args: &[(&str, &str)]) -> ShownCall {
    let args: serde_json::Map<_, _> =
        args.iter().map(|&(key, value)| (key.to_owned(), json!(value))).collect();
    let stored = json!({"name": name, "args": args}).to_string();
    shown_call(stored.as_bytes()).expect("JSON").expect("a call")
}

fn meant(calls: &[ShownCall]) -> Vec<(String, Value)> {
    let value = |json: &str| -> Value { serde_json::from_str(json).expect("canonical JSON") };
    calls
        .iter()
        .map(|call| (value(&call.name).as_str().expect("a name").to_owned(), value(&call.args)))
        .collect()
}

/// A text with a mistake, and the calls that were meant.
struct Made {
    text: String,
    calls: Vec<ShownCall>,
}

/// What a dialect writes.
struct Writing<'d> {
    dialect: &'d Dialect,
    renderer: Renderer,
}

impl Writing<'_> {
    fn text(&self, calls: &[ShownCall]) -> String {
        let mut calls = calls.to_vec();
        self.renderer.give_ids(&mut calls, 0);
        self.renderer.exactly(&calls, true, None).expect("it can be written").to_string()
    }

    fn of(&self, calls: &[ShownCall], change: impl Fn(String) -> Option<String>) -> Option<Made> {
        let whole = self.text(calls);
        let text = change(whole.clone())?;
        (text != whole).then(|| Made { text, calls: calls.to_vec() })
    }

    /// The mistake in this dialect, however it can be made.
    fn with(&self, mistake: Mistake) -> Vec<Made> {
        let mut made: Vec<Made> =
            ["", "\n"].into_iter().filter_map(|between| self.made(mistake, between)).collect();
        made.dedup_by(|one, other| one.text == other.text);
        made
    }

    /// The mistake with this between two marks, or of all marks if that is something; `None` where it cannot be made.
    fn made(&self, mistake: Mistake, between: &str) -> Option<Made> {
        let first = || call(FIRST.0, &FIRST.1);
        let second = || call(SECOND.0, &SECOND.1);
        let (one, two) = (vec![second()], vec![first(), second()]);
        let calls = &self.dialect.calls;
        let body = &calls.bodies[0];
        let (open, close) = (calls.open.first(), calls.close.first());
        match (mistake, body) {
            (Mistake::Fence, Body::Json(_)) => {
                let (open, close) = (open?, close?);
                self.of(&one, |text| {
                    let body = text.strip_prefix(&**open)?.strip_suffix(&**close)?;
                    Some(format!("{open}\n```json\n{}\n```\n{close}", body.trim()))
                })
            }
            (Mistake::Shape, Body::Json(json)) => self.of(&one, |text| match json.shape {
                JsonShape::Array => {
                    let (before, list) = text.split_at(text.find('{')?);
                    let before = before.trim_end().strip_suffix('[')?;
                    let (list, behind) = list.rsplit_once(']')?;
                    Some([before, list.trim(), behind].concat())
                }
                _ if close.is_none() => None,
                _ => {
                    let (before, object) = text.split_once('{')?;
                    let (object, behind) = object.rsplit_once('}')?;
                    Some(format!("{before}[{{{object}}}]{behind}"))
                }
            }),
            // Forge promises to pass over other keys.
            (Mistake::Key, Body::Json(json)) if json.no_args != NoArgs::Call => self
                .of(&one, |text| Some(text.replace(&format!("{:?}:", json.args[0]), "\"input\":"))),
            (Mistake::NoArgs, Body::Json(json)) if json.no_args == NoArgs::Alone => {
                self.without_args(|_| String::new())
            }
            (Mistake::NoArgs, Body::Head(Head { args: Args::Json, close, .. }))
                if !close.is_empty() =>
            {
                self.of(&[call("read", &[])], |text| Some(text.replacen("{}", "", 1)))
            }
            (Mistake::SingleQuotes, Body::Head(Head { args: Args::Braces(mark), .. })) => {
                self.of(&two, |text| Some(text.replace(&**mark, "'")))
            }
            (Mistake::ArgsAsText, Body::Json(_)) => self.of(&one, |text| {
                let at = text.find(r#"{"path": "b.txt"}"#)?;
                let (before, behind) = text.split_at(at);
                let behind = behind.strip_prefix(r#"{"path": "b.txt"}"#)?;
                Some(format!(r#"{before}"{{\"path\": \"b.txt\"}}"{behind}"#))
            }),
            (Mistake::ExtraComma, Body::Json(_) | Body::Head(Head { args: Args::Json, .. })) => {
                self.of(&one, |text| Some(text.replace("\"b.txt\"", "\"b.txt\",")))
            }
            (Mistake::NoSeparator, Body::Json(json)) => match &json.shape {
                JsonShape::Objects(separator) if json.decision.is_none() => self.of(&two, |text| {
                    Some(text.replace(&format!("}}{separator}{{"), &format!("}}{between}{{")))
                }),
                _ => None,
            },
            // What follows a raw value decides whether it has ended.
            (Mistake::WordsBetween, Body::Head(head))
                if self.shares_a_block(head) && !matches!(head.args, Args::Parameters(_)) =>
            {
                self.of(&two, |text| {
                    let at = text.rfind(&*head.open)?;
                    Some(format!("{}Now this.\n{}", &text[..at], &text[at..]))
                })
            }
            (Mistake::NoCallEnd, Body::Head(head)) if !head.close.is_empty() => {
                let is_shared = self.shares_a_block(head);
                let calls = if is_shared { &two } else { &one };
                open?;
                let count = if between.is_empty() { 1 } else { calls.len() };
                self.of(calls, |text| Some(text.replacen(&*head.close, "", count)))
            }
            (Mistake::TwoCallEnds, Body::Head(head)) if !head.close.is_empty() => {
                let twice = [&*head.close, between, &head.close].concat();
                self.of(&two, |text| Some(text.replace(&*head.close, &twice)))
            }
            (Mistake::NoBlockEnd, Body::Head(head)) => {
                let marks = [close.map_or("", |close| &**close), &head.close];
                self.of(&two, |text| Some(without_last(&text, &marks)))
            }
            (Mistake::NoBlockEnd, _) => {
                let close = close?;
                self.of(&one, |text| Some(without_last(&text, &[close])))
            }
            (_, Body::Head(Head { args: Args::Parameters(form), .. })) => {
                self.with_parameters(mistake, form, between)
            }
            (Mistake::NoHeadEnd, Body::Head(head))
                if head.ends.len() == 1 && head.ends[0].len() > 1 =>
            {
                self.of(&one, |text| Some(text.replace(&*head.ends[0], "")))
            }
            _ => None,
        }
    }

    /// A call without arguments, with `other` in the place of their key and their value; it is given the key, with the comma before
    /// it.
    fn without_args(&self, other: impl Fn(&str) -> String) -> Option<Made> {
        self.of(&[call("read", &[])], |text| {
            let (before, behind) = text.split_once("{}")?;
            let (before, key) = before.split_at(before.rfind(',')?);
            Some([before, &other(key), behind].concat())
        })
    }

    fn with_parameters(&self, mistake: Mistake, form: &Parameters, between: &str) -> Option<Made> {
        let first = [call(FIRST.0, &FIRST.1)];
        let is_named = form.close.contains("{key}");
        let close = |key: &str| {
            let line = if form.trim == Trim::Newline { "\n" } else { "" };
            format!("{line}{}", form.close.replace("{key}", key))
        };
        match mistake {
            Mistake::NoValueEnd | Mistake::NoValueEndUnknown if !is_named => {
                self.of(&first, |text| {
                    let line = if form.trim == Trim::Newline { "\n" } else { "" };
                    let (before, behind) = text.split_once(&close("path"))?;
                    Some(format!("{before}{line}{}", behind.trim_start()))
                })
            }
            // A call that is a message has its end in its last value.
            Mistake::NoLastValueEnd if !is_named && self.dialect.heads.is_none() => {
                if !between.is_empty() {
                    let line = format!("{}\n", form.close);
                    return self.of(&first, |text| {
                        Some(text.replace(&line, &form.close).replace(&*form.close, ""))
                    });
                }
                self.of(&[call(SECOND.0, &SECOND.1)], |text| {
                    let (before, behind) = text.split_once(&*form.close)?;
                    Some([before, behind.strip_prefix('\n').unwrap_or(behind)].concat())
                })
            }
            Mistake::TwoValueEnds => {
                let close = form.close.replace("{key}", "path");
                let twice = [&*close, between, &*close].concat();
                self.of(&first, |text| Some(text.replacen(&close, &twice, 1)))
            }
            Mistake::NoKeyEnd => {
                let end = format!("path{}", form.key_end);
                let other =
                    if between.is_empty() { "path" } else { &format!("path\nx{}", form.key_end) };
                self.of(&first, |text| Some(text.replacen(&end, other, 1)))
            }
            _ => None,
        }
    }

    /// Whether all calls are in one block, in which each has a mark of its own.
    fn shares_a_block(&self, head: &Head) -> bool {
        let is_block = !self.dialect.calls.open.is_empty();
        let is_each = self.dialect.calls.layout.blocks == cogency_rs::dialect::Blocks::Each;
        is_block && !is_each && !self.dialect.calls.open.contains(&head.open)
    }
}

fn without_last(text: &str, marks: &[&str]) -> String {
    let mut rest = text;
    for mark in marks {
        rest = rest.trim_end().strip_suffix(mark).unwrap_or(rest);
    }
    rest.to_owned()
}

/// The calls that are read, and whether a problem is reported or the text is shown.
fn read(grammar: &Arc<Grammar>, text: &str, strictness: Strictness, knows: bool) -> Vec<Event> {
    let tools = knows.then(tools);
    let calls = CallStream::Whole;
    let mut readings = Vec::new();
    for size in [text.len(), 1, 3] {
        let options = Options { strictness, tools: tools.clone(), calls, ..Options::default() };
        let mut parser = Parser::new(Arc::clone(grammar), options);
        let mut events = Vec::new();
        let characters: Vec<char> = text.chars().collect();
        for chunk in characters.chunks(size) {
            parser.feed_bytes(chunk.iter().collect::<String>().as_bytes(), &mut events);
        }
        parser.finish(&Ending::Stopped, &mut events);
        events.retain(|event| !matches!(event, Event::Respond(text) if text.is_blank()));
        let called = events.iter().filter_map(|event| match event {
            Event::Call(call) => Some(call.arguments()),
            _ => None,
        });
        assert_eq!(
            chat_calls(grammar, &characters, size, tools.clone(), strictness),
            called.collect::<Vec<_>>(),
            "{text:?}"
        );
        readings.push(super::read::joined(events));
    }
    assert!(readings.iter().all(|reading| *reading == readings[0]), "{text:?}: {readings:#?}");
    readings.swap_remove(0)
}

/// The arguments of the calls that a chat reader gives of the same chunks.
fn chat_calls(
    grammar: &Arc<Grammar>,
    characters: &[char],
    size: usize,
    tools: Option<Arc<Tools>>,
    strictness: Strictness,
) -> Vec<String> {
    let options = ChatOptions { strictness, tools, ..ChatOptions::default() };
    let mut reader = ChatReader::new(Arc::clone(grammar), options);
    let mut deltas = Vec::new();
    for chunk in characters.chunks(size) {
        reader.feed(&chunk.iter().collect::<String>(), &mut deltas);
    }
    reader.finish(&Ending::Stopped, &mut deltas);
    let calls = deltas.into_iter().filter_map(|delta| match delta {
        Delta::Call(_, call) => Some(call.arguments().to_owned()),
        _ => None,
    });
    calls.collect()
}

fn calls_of(events: &[Event]) -> Vec<(String, Value)> {
    let calls = events.iter().filter_map(|event| match event {
        Event::Call(call) => {
            Some(shown_call(call.json().as_bytes()).expect("JSON").expect("a call"))
        }
        _ => None,
    });
    meant(&calls.collect::<Vec<_>>())
}

/// Where a text with a mistake has a second reading, so that nothing runs and the model is told.
const AMBIGUOUS: &[(Mistake, &[&str])] = &[
    // All is on one line: the mark of the next call may be part of a value that speaks of it.
    (Mistake::NoCallEnd, &["hunyuan-v3", "hunyuan-v4", "k2-horizon", "kimi-k3"]),
    // The mark of the next call may be an element of the arguments.
    (Mistake::NoCallEnd, &["minimax-m3"]),
    // A call is a message, which may end with its arguments: each is read by itself.
    (Mistake::NoCallEnd, &["muse", "muse-glimmer"]),
];

#[test]
fn each_mistake_is_read_as_the_table_says_in_every_dialect() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for (name, grammar) in grammars() {
        let [dialect] = &grammar.dialects[..] else { continue };
        let writing = Writing { dialect, renderer: Renderer::new(Arc::clone(dialect)) };
        for mistake in Mistake::ALL {
            let is_ambiguous =
                AMBIGUOUS.iter().any(|(other, names)| *other == mistake && names.contains(&&*name));
            let all = writing.with(mistake);
            tried += all.len();
            let readings = [Strictness::Strict, Strictness::Lenient];
            for (made, strictness) in all.iter().flat_map(|made| readings.map(|each| (made, each)))
            {
                let is_lenient = strictness == Strictness::Lenient;
                let knows = mistake != Mistake::NoValueEndUnknown;
                let events = read(&grammar, &made.text, strictness, knows);
                let (calls, expected) = (calls_of(&events), meant(&made.calls));
                let case =
                    format!("{name}, {mistake:?}, {strictness:?}: {:?}: {events:#?}", made.text);
                let runs = match mistake.forgiven() {
                    _ if is_ambiguous => false,
                    Forgiven::Always | Forgiven::BySchema | Forgiven::AtTheEnd => true,
                    Forgiven::Leniently => is_lenient,
                    Forgiven::Never => false,
                    other => unreachable!("the test does not know {other:?}"),
                };
                // Strictly, and without a schema, such text is part of the value.
                if mistake == Mistake::NoValueEndUnknown && !is_lenient {
                    continue;
                }
                let is_as_said = if runs {
                    calls == expected
                } else if mistake.forgiven() == Forgiven::Never || is_ambiguous {
                    calls.is_empty() && events.iter().any(|event| !matches!(event, Event::Execute))
                } else {
                    // What a strict reader makes of it is the call that was meant, or none.
                    calls.iter().all(|call| expected.contains(call))
                };
                if !is_as_said {
                    wrong.push(case);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}: {}", wrong.len(), wrong.join("\n"));
    assert!(tried > 450, "{tried}");
}

#[test]
fn a_call_without_arguments_is_one_if_nothing_else_in_it_may_be_meant_as_arguments() {
    let mut tried = 0;
    for (name, grammar) in grammars() {
        let [dialect] = &grammar.dialects[..] else { continue };
        let Body::Json(json) = &dialect.calls.bodies[0] else { continue };
        if json.no_args != NoArgs::Alone {
            continue;
        }
        let writing = Writing { dialect, renderer: Renderer::new(Arc::clone(dialect)) };
        let with = |other: &str| {
            let made = writing.without_args(|key| other.replace("ARGS", key));
            made.expect("it is written with its arguments last")
        };
        for (other, runs) in [
            ("", true),
            ("ARGS null", true),
            ("ARGS \"\"", true),
            (", \"argz\": {\"a\": 1}", false),
            (", \"path\": \"b.txt\"", false),
            ("ARGS {\"a\": 1}ARGS null", false),
            ("ARGS null, \"argz\": {\"a\": 1}", false),
            ("ARGS []", false),
            ("ARGS 1", false),
        ] {
            let made = with(other);
            for strictness in [Strictness::Strict, Strictness::Lenient] {
                let events = read(&grammar, &made.text, strictness, false);
                let expected = if runs { meant(&made.calls) } else { Vec::new() };
                assert_eq!(calls_of(&events), expected, "{name}: {:?}: {events:#?}", made.text);
            }
            tried += 1;
        }
    }
    assert!(tried > 180, "{tried}");
}
