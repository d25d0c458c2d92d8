//! What a template writes for a conversation with one call.

use std::fmt::Write as _;
use std::thread::Builder;

use minijinja::machinery::{CodeGenerator, eval, make_string_output, parse};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, Error, ErrorKind};
use serde_json::json;

use super::bound::{NotAllowed, bound};
use super::conversation::{ANSWER, ARGS, QUESTION, RESULT, args, conversation, tool, user};
use super::declared::{Declared, declared};
use super::files::Source;
use super::{functions, operations};

/// Bytes of the longest template that is read; real ones have less than a tenth of it.
pub const LONGEST_TEMPLATE: usize = 1 << 18;

/// The longest tag that is read: what is nested in it is as deep as it is long.
const LONGEST_TAG: usize = 16 << 10;
const STACK: usize = 64 << 20;

/// How much a template may do with one conversation, in the units of [`operations`]: a real one needs a tenth of it.
const FUEL: u64 = 100_000;

/// Bytes that a template may write for one conversation.
const MOST_WRITTEN: usize = 64 << 10;

/// Bytes of the longest text that a call is looked for in: what is between a question and a result.
const LONGEST_CALL: usize = 4 << 10;

/// What came of rendering.
pub enum Rendered {
    /// Texts of the model with the call in them, each followed by what is before its result; and how tools are declared.
    Calls(Vec<Called>, Declared),
    /// It knows no calls: none is in what it writes. It may declare tools.
    NoCalls(Declared),
    /// It raises for each conversation with a call; says why.
    Failed(String),
    /// It is not rendered to its end, since it cannot be read or does too much; says why.
    Refused(String),
}

/// A call as the template writes it.
pub struct Called {
    /// What follows the header of the model's message, up to the result.
    pub text: String,
    /// What is around the result: up to 200 characters on both sides of it.
    pub around: [String; 2],
}

/// Renders a template in the ways in which templates want their messages: arguments as an object or as text, ids of several
/// kinds, content or none.
pub fn render(source: &Source) -> Rendered {
    if let Some(why) = too_long(&source.template) {
        return Rendered::Refused(why);
    }
    // Jinja's parser calls itself for what is nested, and has no bound for some of it: the stack has room for the longest tag.
    // What the template does is counted, so that it ends by itself: nobody waits for it by a clock.
    let work = || rendered(source);
    std::thread::scope(|scope| {
        let thread = Builder::new().name("chat template".into()).stack_size(STACK);
        match thread.spawn_scoped(scope, work) {
            Ok(thread) => thread
                .join()
                .unwrap_or_else(|_| Rendered::Refused("the engine of templates failed".into())),
            Err(error) => Rendered::Refused(error.to_string()),
        }
    })
}

fn too_long(template: &str) -> Option<String> {
    let length = template.len();
    if length > LONGEST_TEMPLATE {
        return Some(format!("it has {length} bytes, but at most {LONGEST_TEMPLATE} are read"));
    }
    // A tag is no longer than what is from its beginning to that of the next one, whatever it has in its strings.
    let mut tags = template.match_indices(['{']).filter(|(place, _)| {
        matches!(template.as_bytes().get(place + 1), Some(b'{' | b'%' | b'#'))
    });
    let first = tags.next()?.0;
    let ends = tags.map(|(place, _)| place).chain([length]);
    let longest = ends.scan(first, |last, end| Some(end - std::mem::replace(last, end))).max()?;
    (longest > LONGEST_TAG)
        .then(|| format!("it has a tag of {longest} bytes, but at most {LONGEST_TAG} are read"))
}

fn rendered(source: &Source) -> Rendered {
    let template = without_generation(&source.template);
    let mut environment = Environment::empty();
    // As `transformers` sets it.
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    let read = syntax.and_then(|syntax| parse(&template, "", syntax));
    let syntax = match read.map(|syntax| bound(&syntax)) {
        Ok(Ok(syntax)) => syntax,
        Ok(Err(NotAllowed(what))) => {
            return Rendered::Refused(format!("it uses {what}, which no template may here"));
        }
        Err(error) => return Rendered::Refused(words(&error)),
    };
    environment.set_fuel(Some(FUEL));
    operations::add_to(&mut environment);
    functions::add_to(&mut environment);
    let mut compiled = CodeGenerator::new("", &template);
    compiled.compile_stmt(&syntax);
    let (instructions, blocks) = compiled.finish();
    let rendered = |messages: &serde_json::Value, tools: &serde_json::Value| -> Result<_, Error> {
        let given = Value::from(Serde(json!({
            "messages": messages,
            "tools": tools,
            "xml_tools": tools,
            "functions": tools.get(0).map(ToString::to_string),
            "datetime": "2025-01-01",
            "add_generation_prompt": false,
            "bos_token": source.bos,
            "eos_token": source.eos,
        })));
        let mut page = String::new();
        let mut out = make_string_output(&mut page);
        eval(&environment, &instructions, given, &blocks, &mut out, AutoEscape::None)?;
        if page.len() > MOST_WRITTEN {
            return Err(ErrorKind::OutOfFuel.into());
        }
        Ok(page)
    };
    let write = |messages: &serde_json::Value, tools: &[serde_json::Value]| match tools {
        // Some templates want a list even then.
        [] => {
            rendered(messages, &serde_json::Value::Null).or_else(|_| rendered(messages, &json!([])))
        }
        _ => rendered(messages, &json!(tools)),
    };
    let written = |messages: &serde_json::Value| write(messages, &[tool()]);
    let said = written(&json!([user(), { "role": "assistant", "content": ANSWER }]));
    let header = said.as_ref().ok().and_then(|text| between(text, QUESTION, ANSWER)).unwrap_or("");

    let (mut calls, mut is_rendered, mut failed) = (Vec::new(), false, None);
    for id in ["a1b2c3d4e", "functions.look_up_tide:0"] {
        for arguments in [json!(args()), json!(ARGS)] {
            for content in [json!(""), serde_json::Value::Null] {
                match written(&conversation(id, &arguments, &content)) {
                    Ok(text) => {
                        is_rendered = true;
                        calls.extend(called(&text, header));
                    }
                    Err(error) if error.kind() == ErrorKind::OutOfFuel => {
                        return Rendered::Refused("it does too much".into());
                    }
                    Err(error) => failed = Some(words(&error)),
                }
            }
        }
    }
    // Most templates write the same for some of these ways, and each preset reads what is left.
    let mut texts = std::collections::HashSet::new();
    calls.retain(|call: &Called| texts.insert(call.text.clone()));
    match failed {
        _ if !calls.is_empty() => Rendered::Calls(calls, declared(write)),
        // Most that add the content to a text raise where it is null.
        Some(why) if !is_rendered => Rendered::Failed(why),
        _ => Rendered::NoCalls(declared(write)),
    }
}

/// The call in a text that was rendered, if it is in it; once for each place at which the model's text may begin.
fn called(text: &str, header: &str) -> Vec<Called> {
    let answer = between(text, QUESTION, RESULT)
        .filter(|answer| answer.len() <= LONGEST_CALL && answer.contains("Valparaiso"));
    let (Some(answer), Some(result)) = (answer, text.rfind(RESULT)) else { return Vec::new() };
    let (before, after) = (&text[..result], &text[result + RESULT.len()..]);
    let first = before.char_indices().rev().take(200).last().map_or(0, |(place, _)| place);
    let around = [before[first..].to_owned(), after.chars().take(200).collect()];
    let mut starts = starts(answer, header);
    starts.dedup();
    starts
        .into_iter()
        .map(|start| Called { text: answer[start..].to_owned(), around: around.clone() })
        .collect()
}

/// Where the model's text may begin: where its answer parts from the one that calls nothing, or at the mark or word in whose
/// middle they part.
fn starts(answer: &str, header: &str) -> Vec<usize> {
    let same = answer.bytes().zip(header.bytes()).take_while(|(one, other)| one == other).count();
    let common = (0..=same).rev().find(|&end| answer.is_char_boundary(end)).unwrap_or(0);
    let shared = &answer[..common];
    let mark = shared.rfind('<').filter(|&open| !shared[open..].contains('>'));
    let word = shared.rfind(char::is_whitespace).filter(|_| common < header.len());
    [Some(common), mark, word].into_iter().flatten().collect()
}

fn between<'t>(text: &'t str, first: &str, last: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(first)?;
    rest.split_once(last).map(|(found, _)| found)
}

/// A template without the tags that say what is trained on, which mean nothing here.
fn without_generation(template: &str) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(start) = rest.find("{%") {
        let inside = &rest[start + 2..];
        let Some(length) = inside.find("%}") else { break };
        let (tag, end) = (&inside[..length], start + 2 + length + 2);
        out.push_str(&rest[..start]);
        match tag.trim_matches(['-', '+', ' ', '\n', '\t']) {
            "generation" => push_tag(&mut out, tag, "if true"),
            "endgeneration" => push_tag(&mut out, tag, "endif"),
            _ => out.push_str(&rest[start..end]),
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// A tag in the place of another, which trims as that one does.
fn push_tag(out: &mut String, tag: &str, name: &str) {
    let sign = |character: Option<char>| match character {
        Some('-') => "-",
        Some('+') => "+",
        _ => "",
    };
    let (first, last) = (sign(tag.chars().next()), sign(tag.chars().next_back()));
    let _ = write!(out, "{{%{first} {name} {last}%}}");
}

fn words(error: &Error) -> String {
    let detail = error.detail().unwrap_or_default();
    let place = error.line().map(|line| format!(" in line {line}")).unwrap_or_default();
    format!("{}{place}: {detail:.200}", error.kind())
}
