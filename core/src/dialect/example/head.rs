//! Calls with the name in a head: `open NAME end ARGS close`.

use super::super::form::{Args, CallsForm, Head, HeadForm, Xml, XmlParts};
use super::super::prompt::Frame;
use super::super::text::Str;
use super::arguments;
use super::fields::{CallExample, Spellings, Wrong, needs, owned};
use super::text::{Attribute, Slot, Text, spaced, two_lines};

/// The head of a call, and its arguments.
pub(super) fn head(
    example: &CallExample,
    text: &Text,
    spellings: &Spellings<'_>,
    layout: &mut CallsForm,
) -> Result<Head, Wrong> {
    let wrong = |why: String| ("call", why);
    let named = named(text, layout).map_err(wrong)?;
    let args = arguments::args(example, &text.slots[named.slots], layout)?;
    if text.slots.len() > named.slots + 1 {
        let extra = &text.slots[named.slots + 1];
        return Err(wrong(format!("can have nothing but a mark after its arguments, got {extra}")));
    }
    let (tail, close, after) = spaced(&text.texts[named.slots + 1]);
    if !after.is_empty() {
        return Err(wrong("ends with white space: that is written by \"between\"".into()));
    }
    layout.tail = owned(tail);
    let (before, end, behind) = spaced(&text.texts[named.slots]);
    if !end.is_empty() && end == close {
        let why = format!(
            "has {end:?} both after the name and at its end: it would end without its arguments"
        );
        return Err(wrong(why));
    }
    let ends = if end.is_empty() {
        let (own, others) = without_mark(&args, close, before).map_err(wrong)?;
        let own_is_space = own.trim().is_empty();
        layout.name.behind = if own_is_space { Str::default() } else { owned(before) };
        [vec![own], others].concat()
    } else {
        (layout.name.behind, layout.head) = (owned(before), owned(behind));
        spellings.of(end)
    };
    Ok(Head {
        open: named.open,
        ends,
        form: named.form,
        args,
        close: owned(close),
        until: example.until.clone(),
        bare: example.block_may_lack,
    })
}

/// What comes before the end of a head.
struct Named {
    open: Str,
    form: HeadForm,
    /// How many placeholders it has.
    slots: usize,
}

fn named(text: &Text, layout: &mut CallsForm) -> Result<Named, String> {
    let is_args =
        |slot: &Slot| matches!(slot, Slot::Args | Slot::Json | Slot::Braces(_) | Slot::Text(_));
    let slots =
        text.place(is_args).ok_or_else(|| needs("{args}, {json}, {text:…} or {braces:…}"))?;
    let first = &*text.texts[0];
    let (form, open) = match &text.slots[..slots] {
        [Slot::Name] => match two_lines(first.trim_end()) {
            None => (HeadForm::Name, first),
            Some(_) if first.ends_with(char::is_whitespace) => {
                return Err("can have no white space between a second mark and {name}".into());
            }
            Some((open, _, mark)) => (HeadForm::Behind(owned(mark)), open),
        },
        [Slot::Name, Slot::Number] if text.texts[1] == ":" => {
            let open = first.strip_suffix("functions.");
            (HeadForm::Numbered, open.ok_or("an id is written as functions.{name}:{n}")?)
        }
        [Slot::Name, Slot::Id] => (HeadForm::Id(owned(text.texts[1].trim())), first),
        [Slot::Attribute(key, Attribute::Name), rest @ ..] => {
            match rest {
                [] => {}
                [Slot::Attribute(number, Attribute::Number)] if text.texts[1] == " " => {
                    layout.number = owned(number);
                }
                _ => return Err("can have {…=name} and, after a blank, {…=n}".into()),
            }
            return Ok(Named { open: owned(first), form: HeadForm::Attributes(owned(key)), slots });
        }
        _ => {
            return Err(
                "must have {name}, functions.{name}:{n}, {name} and {id}, or {…=name} before its arguments"
                    .into(),
            );
        }
    };
    let space = match &form {
        HeadForm::Behind(mark) => &first[open.len()..first.len() - mark.len()],
        _ => &open[open.trim_end().len()..],
    };
    layout.name = Frame { before: owned(space), behind: Str::default() };
    Ok(Named { open: owned(open.trim_end()), form, slots })
}

/// What ends a head that has no mark for that: the mark that comes next, or a line break.
fn without_mark(args: &Args, close: &str, space: &str) -> Result<(Str, Vec<Str>), String> {
    const LINE: Str = Str::Borrowed("\n");
    let begin = match &**args.begin() {
        "" => return Err("must have a mark after the name".into()),
        "{" => return Ok((args.begin().clone(), Vec::new())),
        _ => args.begin(),
    };
    let mut ends = vec![begin.clone()];
    ends.extend((!close.is_empty()).then(|| owned(close)));
    if space == "\n" {
        return Ok((LINE, ends));
    }
    ends.push(LINE);
    let others = ends.split_off(1);
    Ok((ends.remove(0), others))
}

/// The elements of a call that is one: of its server, its name and its arguments.
pub(super) fn parts(text: &Text, xml: &Xml, layout: &CallsForm) -> Result<XmlParts, String> {
    let (prefix, space) = (&*xml.prefix, &*layout.parameter);
    let shape = || {
        let tag = |name: &str| format!("{prefix}<{name}>{{…}}{prefix}</{name}>");
        format!("must be {}{space}{}{space}{}", tag("SERVER"), tag("NAME"), tag("ARGS"))
    };
    if text.slots != [Slot::Server, Slot::Name, Slot::Args] {
        return Err(shape());
    }
    let tag = |text: &str| {
        let (_, name) = text.trim_end().rsplit_once('<')?;
        name.strip_suffix('>').map(owned)
    };
    let [server, name, args] = [0, 1, 2].map(|at| tag(&text.texts[at]));
    let parts = XmlParts {
        server: server.ok_or_else(shape)?,
        name: name.ok_or_else(shape)?,
        args: args.ok_or_else(shape)?,
    };
    let XmlParts { server, name, args } = &parts;
    let written = [
        format!("{prefix}<{server}>"),
        format!("{prefix}</{server}>{space}{prefix}<{name}>"),
        format!("{prefix}</{name}>{space}{prefix}<{args}>{space}"),
        format!("{prefix}</{args}>"),
    ];
    if text.texts == written { Ok(parts) } else { Err(shape()) }
}
