//! Calls as the models of a dialect write them, made from the dialect's value alone.

use cogency_rs::dialect::{
    Args, Body, DecisionKeys, Dialect, Head, HeadForm, Json, JsonShape, MessageHeads, Parameters,
    Python, Xml,
};

/// A call whose arguments are strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub name: String,
    pub args: Vec<(String, String)>,
}

impl Written {
    pub fn new(name: &str, args: &[(&str, &str)]) -> Self {
        let args = args.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        Self { name: name.to_owned(), args }
    }
}

/// Blocks that hold these calls, as few as the dialect allows, written in the first of its bodies.
pub fn blocks(dialect: &Dialect, calls: &[Written]) -> Vec<String> {
    blocks_of(dialect, &dialect.calls.bodies[0], calls)
}

/// Blocks that hold these calls, written in this body.
pub fn blocks_of(dialect: &Dialect, body: &Body, calls: &[Written]) -> Vec<String> {
    if let (Some(heads), Body::Head(head)) = (&dialect.heads, body) {
        return calls.iter().map(|call| message(dialect, heads, head, call)).collect();
    }
    let items: Vec<String> = match body {
        Body::Json(json) => match &json.shape {
            JsonShape::Array => {
                vec![format!("[{}]", joined(calls, ", ", |call| object(json, call)))]
            }
            JsonShape::Objects(between) => vec![joined(calls, between, |call| object(json, call))],
            JsonShape::Object => calls.iter().map(|call| object(json, call)).collect(),
            other => unreachable!("the test does not know {other:?}"),
        },
        Body::Head(form) if opens_itself(dialect, form) => {
            return calls.iter().map(|call| head(form, call)).collect();
        }
        Body::Head(form) if !dialect.calls.open.is_empty() => {
            vec![joined(calls, "\n", |call| head(form, call))]
        }
        Body::Head(form) => calls.iter().map(|call| head(form, call)).collect(),
        Body::Python(Python::List) => vec![format!("[{}]", joined(calls, ", ", python))],
        Body::Python(Python::Lines) => vec![joined(calls, "\n", python)],
        Body::Xml(xml) => calls.iter().map(|call| element(xml, call)).collect(),
        other => unreachable!("the test does not know {other:?}"),
    };
    items.into_iter().map(|item| marked(dialect, &item)).collect()
}

/// Whether this head's own mark opens a block. The call then has no other mark around it.
pub fn opens_itself(dialect: &Dialect, form: &Head) -> bool {
    dialect.calls.open.contains(&form.open)
}

fn joined(calls: &[Written], between: &str, write: impl Fn(&Written) -> String) -> String {
    calls.iter().map(write).collect::<Vec<_>>().join(between)
}

/// Text between the marks of a block. Marks that count only at the start of a line are put there.
fn marked(dialect: &Dialect, item: &str) -> String {
    let open = dialect.calls.open.first().map_or("", |mark| mark);
    let close = dialect.calls.close.first().map_or("", |mark| mark);
    let line = if dialect.at_line_start { "\n" } else { "" };
    format!("{line}{open}{item}{close}")
}

/// A message to a tool. It holds the arguments if the recipient names the call, and otherwise a block with the call.
fn message(dialect: &Dialect, heads: &MessageHeads, form: &Head, call: &Written) -> String {
    let (open, close) = (&heads.open[0], &heads.close[0]);
    let MessageHeads { recipient, prefix, end, .. } = heads;
    if heads.names_call {
        let body = arguments(&form.args, call);
        return format!("{open}assistant {recipient}{prefix}{}{end}{body}{close}", call.name);
    }
    let block = marked(dialect, &head(form, call));
    format!("{open}assistant {recipient}{}{end}{block}{close}", call.name)
}

/// Text in an answer of messages: a message to the user or to the model itself.
pub fn message_to(heads: &MessageHeads, channel: Option<&str>, text: &str) -> String {
    let (open, close, end) = (&heads.open[0], &heads.close[0], &heads.end);
    let to = match channel {
        Some(channel) if heads.channel.is_empty() => format!(" {}{channel}", heads.recipient),
        Some(channel) => format!("{}{channel}", heads.channel),
        None => String::new(),
    };
    format!("{open}assistant{to}{end}{text}{close}")
}

pub fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
}

fn json_args(call: &Written) -> String {
    let members =
        call.args.iter().map(|(key, value)| format!("{}: {}", quoted(key), quoted(value)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
}

fn object(form: &Json, call: &Written) -> String {
    let (name, args) = (&form.name[0], &form.args[0]);
    let decided = form.decision.as_ref().map_or(String::new(), |decision| {
        let DecisionKeys { key, call, thought_key, .. } = decision;
        format!("{}: \"\", {}: {}, ", quoted(thought_key), quoted(key), quoted(call))
    });
    let (name_key, args_key) = (quoted(name), quoted(args));
    format!("{{{decided}{name_key}: {}, {args_key}: {}}}", quoted(&call.name), json_args(call))
}

/// An answer in a dialect of decisions: a JSON object.
pub fn answer(decision: &DecisionKeys, thought: &str, text: &str) -> String {
    let DecisionKeys { key, answer, answer_key, thought_key, .. } = decision;
    let (key, kind, thought_key) = (quoted(key), quoted(answer), quoted(thought_key));
    let (thought, answer_key, text) = (quoted(thought), quoted(answer_key), quoted(text));
    format!("{{{thought_key}: {thought}, {key}: {kind}, {answer_key}: {text}}}")
}

fn head(form: &Head, call: &Written) -> String {
    let name = &call.name;
    let head = match &form.form {
        HeadForm::Name => name.clone(),
        HeadForm::Numbered => format!("functions.{name}:0"),
        HeadForm::Id(mark) => format!("{name}{mark}id"),
        HeadForm::Behind(mark) => format!("{mark}{name}"),
        HeadForm::Attributes(key) => {
            let space = if form.open.ends_with(' ') { "" } else { " " };
            format!("{space}{key}=\"{name}\" index=\"1\"")
        }
        other => unreachable!("the test does not know {other:?}"),
    };
    let args = arguments(&form.args, call);
    let rest = format!("{args}{}", form.close);
    // The rest may itself begin with a mark that ends the head.
    let is_ended = form.ends.iter().any(|end| rest.starts_with(&**end));
    let end = if is_ended { "" } else { &*form.ends[0] };
    let line = if form.until.is_empty() { "" } else { "\n" };
    let before_end = if form.close.is_empty() && !form.until.is_empty() { "\n" } else { "" };
    format!("{}{head}{before_end}{end}{rest}{line}", form.open)
}

fn arguments(form: &Args, call: &Written) -> String {
    match form {
        Args::Json | Args::Text(_) => json_args(call),
        Args::Braces(mark) => {
            let members = call.args.iter().map(|(key, value)| format!("{key}:{mark}{value}{mark}"));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Args::Parameters(form) => parameters(form, call),
        Args::Xml(form) => elements(form, call),
        other => unreachable!("the test does not know {other:?}"),
    }
}

fn parameters(form: &Parameters, call: &Written) -> String {
    let flag = form
        .flag
        .as_ref()
        .map_or(String::new(), |flag| format!(" {}=\"{}\"", flag.name, flag.text));
    let each = call.args.iter().map(|(key, value)| {
        let close = form.close.replace("{key}", key);
        format!("{}{key}{}{flag}{}{value}{close}", form.open, form.key_end, form.value_open)
    });
    let each = each.collect::<String>();
    match &form.around {
        Some(around) => format!("{}{each}{}", around.open, around.close),
        None => each,
    }
}

fn python(call: &Written) -> String {
    let args = call.args.iter().map(|(key, value)| format!("{key}={}", quoted(value)));
    format!("{}({})", call.name, args.collect::<Vec<_>>().join(", "))
}

fn element(form: &Xml, call: &Written) -> String {
    let Some(parts) = &form.parts else { return elements(form, call) };
    let (name, args, before) = (&parts.name, &parts.args, &form.prefix);
    let body = elements(form, call);
    format!(
        "{before}<{name}>{}{before}</{name}>{before}<{args}>{body}{before}</{args}>",
        escaped(form, &call.name)
    )
}

fn elements(form: &Xml, call: &Written) -> String {
    let before = &form.prefix;
    let each = call
        .args
        .iter()
        .map(|(key, value)| format!("{before}<{key}>{}{before}</{key}>", escaped(form, value)));
    each.collect()
}

fn escaped(form: &Xml, text: &str) -> String {
    if form.entities { text.replace('&', "&amp;").replace('<', "&lt;") } else { text.to_owned() }
}

/// Every mark of a dialect.
pub fn marks(dialect: &Dialect) -> Vec<String> {
    let pairs = dialect.reasoning.iter().chain(&dialect.answer);
    let mut marks: Vec<String> =
        pairs.flat_map(|pair| [&pair.open, &pair.close]).map(own).collect();
    marks.extend(dialect.results.iter().flat_map(|each| [&each.open, &each.close]).map(own));
    let lists = [
        &dialect.calls.open,
        &dialect.calls.close,
        &dialect.end,
        &dialect.turn_end,
        &dialect.ignored,
    ];
    marks.extend(lists.into_iter().flatten().map(own));
    if let Some(heads) = &dialect.heads {
        marks.extend(heads.open.iter().chain(&heads.close).map(own));
        marks.extend([&heads.channel, &heads.recipient, &heads.end].map(own));
    }
    for body in &dialect.calls.bodies {
        let Body::Head(head) = body else { continue };
        marks.push(own(&head.open));
        marks.push(own(&head.close));
        marks.extend(head.ends.iter().chain(&head.until).map(own));
        match &head.args {
            Args::Parameters(form) => {
                marks.extend([&form.open, &form.key_end, &form.value_open].map(own));
                marks.push(form.close.replace("{key}", "x"));
                let around = form.around.iter();
                marks.extend(around.flat_map(|around| [&around.open, &around.close]).map(own));
            }
            Args::Braces(mark) => marks.push(own(mark)),
            Args::Xml(xml) => marks.push(format!("{}<", xml.prefix)),
            Args::Json | Args::Text(_) => {}
            other => unreachable!("the test does not know {other:?}"),
        }
        if let HeadForm::Id(mark) | HeadForm::Behind(mark) = &head.form {
            marks.push(own(mark));
        }
    }
    marks.retain(|mark| !mark.is_empty());
    marks.sort();
    marks.dedup();
    marks
}

fn own(mark: &cogency_rs::dialect::Str) -> String {
    mark.to_string()
}
