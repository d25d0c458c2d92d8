//! The calls of a template, as the example of a dialect.

use serde_json::{Value, json};

use super::super::{
    Args, Blocks, Body, CallExample, Calls, Head, Json, JsonShape, Parameters, Python, Str, Trim,
    Untyped,
};
use super::block::CallBlock;

/// The example from which these calls come; `None` if there is none.
pub(super) fn calls(block: &CallBlock) -> Option<Calls> {
    let is_list = matches!(
        &block.body,
        Body::Python(Python::List) | Body::Json(Json { shape: JsonShape::Array, .. })
    );
    let held = match (&block.body, block.form.blocks) {
        _ if is_list => "[{calls}]",
        (Body::Head(_), Blocks::One) => "{calls}",
        _ => "{call}",
    };
    let has_block = is_list || !block.open.is_empty();
    let mut example = CallExample {
        between: block.form.between.clone(),
        call: call(&block.body)?,
        ..CallExample::default()
    };
    if has_block {
        let mark = |marks: &[Str]| marks.first().map_or(String::new(), |mark| escaped(mark));
        let (open, close) = (mark(&block.open), mark(&block.close));
        example.block = format!("{open}{held}{close}").into();
    }
    for marks in [&block.open, &block.close] {
        if let [mark, others @ ..] = &marks[..]
            && !others.is_empty()
        {
            example.spellings.insert(mark.clone(), others.to_vec());
        }
    }
    if let Body::Head(head) = &block.body {
        if let Args::Parameters(form) = &head.args {
            example.arg = arg(form, &block.form.key).into();
            example.trimmed = form.trim == Trim::Space;
        }
        if let [mark, others @ ..] = &head.ends[..]
            && !mark.trim().is_empty()
            && mark != head.args.begin()
            && !others.is_empty()
        {
            example.spellings.insert(mark.clone(), others.to_vec());
        }
        example.block_may_lack = head.bare;
    }
    let message = &block.form.message;
    if !message.before.is_empty() {
        example.message = format!("{}{{call}}{}", message.before, message.behind).into();
    }
    let calls = Calls::try_from(vec![example]).ok()?;
    is_same(&calls, block).then_some(calls)
}

/// Whether the calls are those of the template, but for the ends of a name that has no mark of its own, which are more.
fn is_same(calls: &Calls, block: &CallBlock) -> bool {
    let same_body = match (&calls.bodies[..], &block.body) {
        ([Body::Head(own)], Body::Head(head)) => {
            let ends = own.ends.clone();
            head.ends.iter().all(|end| ends.contains(end)) && *own == Head { ends, ..head.clone() }
        }
        ([own], body) => own == body,
        _ => false,
    };
    let form = &calls.layout;
    same_body
        && (&calls.open, &calls.close) == (&block.open, &block.close)
        && (&form.between, &form.message) == (&block.form.between, &block.form.message)
}

fn call(body: &Body) -> Option<Value> {
    Some(match body {
        Body::Json(form) => {
            let mut object = serde_json::Map::new();
            object.insert(form.name.first()?.to_string(), json!("{name}"));
            object.insert(form.args.first()?.to_string(), json!("{args}"));
            if let Some(id) = &form.id {
                object.insert(id.to_string(), json!("{id}"));
            }
            object.into()
        }
        Body::Python(_) => json!("{name}({args})"),
        Body::Head(head) => {
            let args = match &head.args {
                Args::Json => "{json}".into(),
                Args::Braces(mark) => format!("{{braces:{mark}}}"),
                Args::Text(key) => format!("{{text:{key}}}"),
                _ => "{args}".into(),
            };
            let end = match head.ends.first() {
                Some(end) if end != head.args.begin() => escaped(end),
                _ => String::new(),
            };
            json!(format!("{}{{name}}{end}{args}{}", escaped(&head.open), escaped(&head.close)))
        }
        _ => return None,
    })
}

fn arg(form: &Parameters, key: &str) -> String {
    let raw = if form.untyped == Untyped::Json { "{raw|json}" } else { "{raw}" };
    let line = if form.trim == Trim::Newline { "\n" } else { "" };
    let [open, key_end, value_open] =
        [&form.open, &form.key_end, &form.value_open].map(|mark| escaped(mark));
    let close = escaped(&form.close);
    format!("{open}{{key}}{key_end}{key}{value_open}{line}{raw}{line}{close}")
}

/// A mark in an example, where braces are doubled.
fn escaped(mark: &str) -> String {
    mark.replace('{', "{{").replace('}', "}}").replace("{{key}}", "{key}")
}
