//! The arguments of a call that has its name in a head.

use super::super::form::{Args, CallsForm, Flag, Parameters, Trim, Untyped, Xml};
use super::super::prompt::Pair;
use super::fields::{CallExample, Wrong, needs, owned};
use super::text::{Slot, Text, spaced, two_lines};

/// The arguments for this placeholder.
pub(super) fn args(
    example: &CallExample,
    slot: &Slot,
    layout: &mut CallsForm,
) -> Result<Args, Wrong> {
    let is_each = *slot == Slot::Args;
    if example.arg.is_empty() == is_each {
        let why =
            if is_each { "is missing: {args} are many of it" } else { "needs {args} in \"call\"" };
        return Err(("arg", why.into()));
    }
    let is_raw = is_each && !example.arg.contains("{elements");
    for (field, is_given) in [
        ("args", !example.args.is_empty()),
        ("json_args", !example.json_args.is_empty()),
        ("trimmed", example.trimmed),
    ] {
        if is_given && !is_raw {
            return Err((field, "is only for arguments that \"arg\" has as {raw}".into()));
        }
    }
    Ok(match slot {
        Slot::Json => Args::Json,
        Slot::Braces(mark) => Args::Braces(owned(mark)),
        Slot::Text(key) => Args::Text(owned(key)),
        _ if !is_raw => Args::Xml(elements(example, layout)?),
        _ => Args::Parameters(parameters(example, layout)?),
    })
}

/// Arguments as XML elements: `PREFIX<{key}>{elements}PREFIX</{key}>`.
pub(super) fn elements(example: &CallExample, layout: &mut CallsForm) -> Result<Xml, Wrong> {
    let wrong = |why: String| ("arg", why);
    let text = Text::new(&example.arg).map_err(wrong)?;
    let key = Slot::Key { entities: false };
    let entities = text.slots.contains(&Slot::Elements { entities: true });
    let is_shape = text.slots == [key.clone(), Slot::Elements { entities }, key];
    let prefix = text.texts[0].strip_suffix('<').filter(|_| is_shape);
    let after = text.texts.get(3).and_then(|text| text.strip_prefix('>'));
    let is_tag = |prefix: &str| text.texts[1] == ">" && text.texts[2] == format!("{prefix}</");
    let (Some(prefix), Some(after)) = (prefix.filter(|prefix| is_tag(prefix)), after) else {
        return Err(wrong(
            "must be <{key}>{elements}</{key}>, with or without a mark before both tags".into(),
        ));
    };
    if !after.trim().is_empty() {
        return Err(wrong("can have nothing but white space after its last tag".into()));
    }
    layout.parameter = owned(after);
    Ok(Xml { prefix: owned(prefix), entities, parts: None })
}

/// Arguments, each between its own marks.
fn parameters(example: &CallExample, layout: &mut CallsForm) -> Result<Parameters, Wrong> {
    let wrong = |why: String| ("arg", why);
    let text = Text::new(&example.arg).map_err(wrong)?;
    let Some(Slot::Key { entities }) = text.slots.first() else {
        return Err(wrong(needs("{key}, as its first one")));
    };
    let raw = text.place(|slot| matches!(slot, Slot::Raw { .. }));
    let raw = raw.ok_or_else(|| wrong(needs("{raw}")))?;
    let is_json = text.slots[raw] == Slot::Raw { json: true };
    let close = match &text.slots[raw + 1..] {
        [] => text.texts[raw + 1].clone(),
        [Slot::Key { .. }] => [&text.texts[raw + 1], "{key}", &text.texts[raw + 2]].concat(),
        _ => return Err(wrong("can have only {key} after {raw}".into())),
    };
    let before = &*text.texts[raw];
    let is_on_lines = before.ends_with('\n') && close.starts_with('\n');
    let (before, close) =
        if is_on_lines { (&before[..before.len() - 1], &close[1..]) } else { (before, &*close) };
    layout.parameter = owned(spaced(close).2);
    let flag = match &text.slots[1..raw] {
        [] => None,
        [Slot::Flag(name, text, json)] => {
            Some(Flag { name: owned(name), text: owned(text), json: owned(json) })
        }
        _ => return Err(wrong("can have only an attribute between {key} and {raw}".into())),
    };
    let (key_end, key, value_open) = match &flag {
        Some(_) => {
            let key_end = text.texts[1].strip_suffix(' ');
            let key_end =
                key_end.ok_or_else(|| wrong("must have a blank before the attribute".into()))?;
            (key_end, "", before)
        }
        None => key_and_value(before),
    };
    layout.key = owned(key);
    let [around, whole] = [
        pair("args", &example.args, &Slot::Args, &layout.parameter)?,
        pair("json_args", &example.json_args, &Slot::Json, "")?,
    ];
    Ok(Parameters {
        around,
        whole,
        open: owned(&text.texts[0]),
        key_end: owned(key_end),
        entities: *entities,
        value_open: owned(value_open),
        close: owned(spaced(close).1),
        flag,
        trim: match (example.trimmed, is_on_lines) {
            (true, _) => Trim::Space,
            (false, true) => Trim::Newline,
            (false, false) => Trim::Nothing,
        },
        untyped: if is_json { Untyped::Json } else { Untyped::Text },
    })
}

/// The mark after a key, the space that is written after it, and the mark before the value: there are two marks where a line break
/// or `><` parts them.
fn key_and_value(marks: &str) -> (&str, &str, &str) {
    if let Some(lines) = two_lines(marks) {
        return lines;
    }
    match marks.find("><") {
        Some(at) => (&marks[..=at], "", &marks[at + 1..]),
        None => (marks, "", ""),
    }
}

/// The marks around `slot`, with `space` written after the first.
fn pair(
    field: &'static str,
    source: &str,
    slot: &Slot,
    space: &str,
) -> Result<Option<Pair>, Wrong> {
    if source.is_empty() {
        return Ok(None);
    }
    let text = Text::new(source).map_err(|why| (field, why))?;
    let shape = || (field, format!("must be a mark, {space:?}, {slot} and a mark"));
    let marks = (text.slots == [slot.clone()]).then(|| (&*text.texts[0], &*text.texts[1]));
    let open = marks.and_then(|(open, _)| open.strip_suffix(space));
    match (open, marks) {
        (Some(open), Some((_, close))) => Ok(Some(Pair { open: owned(open), close: owned(close) })),
        _ => Err(shape()),
    }
}
