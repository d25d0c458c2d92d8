//! The field of the calls.

use super::super::{
    Args, Blocks, Body, CallsForm, Head, HeadForm, Json, JsonShape, NoArgs, Parameters, Str,
};
use super::block::CallBlock;
use super::error::{Read, TemplateError};
use super::fields::{FieldContent, TemplateField, missing};
use super::parameters::parameters;
use super::pattern::{Alternative, Boundary, PatternForm, PatternPiece};
use super::texts::{marks, trimmed, without_end};
use super::transform::{Keys, PartPlaces, parts};
use super::{object, python};

/// The field of the calls.
pub(super) fn calls(field: &TemplateField<'_>) -> Read<CallBlock> {
    let open = opener(field)?;
    match (field.content, parts(field, &groups(open))?) {
        (FieldContent::Json, PartPlaces::Keys(keys)) => json(field, open, keys),
        (FieldContent::Json | FieldContent::XmlInline, PartPlaces::Group(name)) => {
            named(field, open, &name)
        }
        (FieldContent::XmlInline, PartPlaces::Keys(_)) => Err(TemplateError::new(
            format!("{}.transform", field.path),
            "takes the name from a tag",
            "match the name with a group of `open_pattern`",
        )),
        (FieldContent::Text | FieldContent::Other(_), _) => Err(TemplateError::new(
            format!("{}.content", field.path),
            "is neither JSON nor tags",
            "arguments can be read from json and xml-inline alone",
        )),
    }
}

pub(super) fn opener<'f>(field: &'f TemplateField<'_>) -> Read<&'f Boundary> {
    let advice = "say what opens a call: without a mark, all text would be one";
    field.open.as_ref().ok_or_else(|| missing(&format!("{}.open", field.path), advice))
}

/// The names of the groups that the boundary has.
fn groups(boundary: &Boundary) -> Vec<&str> {
    let PatternForm::Alternatives(alternatives) = &boundary.form else { return Vec::new() };
    let pieces = alternatives.iter().flatten();
    pieces
        .filter_map(|piece| match piece {
            PatternPiece::Group(group) => Some(&*group.name),
            _ => None,
        })
        .collect()
}

/// Calls that are JSON, names and all.
fn json(field: &TemplateField<'_>, open: &Boundary, keys: Keys) -> Read<CallBlock> {
    for (key, is_set) in [
        ("unquoted_keys", field.args.flag("unquoted_keys", false)?),
        ("string_delims", delims(field)?.is_some()),
        ("allow_non_json", field.args.flag("allow_non_json", false)?),
    ] {
        if is_set {
            let path = field.args.at(key);
            let advice = "it can be read only where the name is in the opening mark";
            return Err(TemplateError::new(path, "allows what is not JSON", advice));
        }
    }
    let body = Body::Json(Json {
        shape: if field.is_each { JsonShape::Array } else { JsonShape::Object },
        name: vec![keys.name],
        args: vec![keys.args],
        no_args: NoArgs::Alone,
        empty_names: false,
        args_as_text: false,
        skips_others: false,
        id: keys.id,
        server: None,
        decision: None,
    });
    let close = field.close.as_ref().map_or(Ok(Vec::new()), marks)?;
    Ok(CallBlock::new(outer(marks(open)?), outer(close), body))
}

/// The marks that strings have in place of quotes.
fn delims<'t>(field: &TemplateField<'t>) -> Read<Option<Vec<&'t serde_json::Value>>> {
    match field.args.get("string_delims") {
        None => Ok(None),
        Some(serde_json::Value::Array(pairs)) if pairs.is_empty() => Ok(None),
        Some(serde_json::Value::Array(pairs)) => Ok(Some(pairs.iter().collect())),
        Some(other) => {
            Err(super::error::not_a(&field.args.at("string_delims"), "a list of pairs", other))
        }
    }
}

/// Calls whose name is in the opening mark.
fn named(field: &TemplateField<'_>, open: &Boundary, name: &str) -> Read<CallBlock> {
    if let Some(calls) = object::calls(field, open, name)? {
        return Ok(calls);
    }
    if let Some(calls) = python::calls(field, open, name)? {
        return Ok(calls);
    }
    let args = match field.content {
        FieldContent::Json => json_args(field)?,
        _ => Args::Parameters(parameters(&field.args)?),
    };
    let heads = CallHeads::of(open, name, &args)?;
    let (close, block_close) = heads.closers(field, &args)?;
    let CallHeads { blocks, open: head, mut ends, bare } = heads;
    if matches!(args, Args::Parameters(_)) && ends.is_empty() {
        ends = name_ends(&args, &close);
    }
    // What opens the block opens the call, so that there is one for each, if it may not be left out.
    let mut form = CallsForm::default();
    if !bare {
        form.blocks = Blocks::Each;
    }
    if matches!(&args, Args::Parameters(parameters) if !parameters.value_open.is_empty()) {
        form.key = "\n".into();
    }
    let body = Body::Head(Head {
        open: head.trim().to_owned().into(),
        ends: strings(ends),
        form: HeadForm::Name,
        args,
        close: close.trim().to_owned().into(),
        until: Vec::new(),
        bare,
    });
    Ok(CallBlock { form, ..CallBlock::new(outer(blocks), outer(block_close), body) })
}

/// How arguments in JSON are written, where they are all of the content.
fn json_args(field: &TemplateField<'_>) -> Read<Args> {
    if field.args.flag("allow_non_json", false)? {
        return Err(TemplateError::new(
            field.args.at("allow_non_json"),
            "takes any text for arguments",
            "arguments are an object: leave it out",
        ));
    }
    let unquoted = field.args.flag("unquoted_keys", false)?;
    let path = field.args.at("string_delims");
    match delims(field)? {
        None if unquoted => Err(missing(
            &path,
            "keys without quotes can be read only where strings have their own marks",
        )),
        None => Ok(Args::Json),
        Some(pairs) => match pairs[..] {
            [serde_json::Value::Array(pair)] => match &pair[..] {
                [serde_json::Value::String(open), serde_json::Value::String(close)]
                    if open == close && !open.is_empty() && open != "\"" =>
                {
                    Ok(Args::Braces(open.clone().into()))
                }
                _ => Err(TemplateError::new(
                    path,
                    "is not the same mark twice",
                    "strings can be read only where the same mark is on either side",
                )),
            },
            _ => Err(TemplateError::new(path, "is more than one pair", "keep one of them")),
        },
    }
}

/// What opens a call with its name in it.
struct CallHeads {
    /// What comes before it, and opens a block of calls.
    blocks: Vec<String>,
    open: String,
    /// What ends the name; empty where that is what follows the head.
    ends: Vec<String>,
    /// Whether a call also counts without what opens the block.
    bare: bool,
}

impl CallHeads {
    fn of(boundary: &Boundary, name: &str, args: &Args) -> Read<Self> {
        let PatternForm::Alternatives(alternatives) = &boundary.form else {
            return boundary.refuse("looks ahead", "match the mark itself");
        };
        let mut heads: Option<Self> = None;
        for alternative in alternatives {
            let (block, open, end) = head(boundary, alternative, name, args)?;
            let heads = heads.get_or_insert_with(|| Self {
                blocks: Vec::new(),
                open: open.clone(),
                ends: Vec::new(),
                bare: false,
            });
            if heads.open != open {
                return boundary.refuse(
                    format!("has heads that begin with {:?} and with {open:?}", heads.open),
                    "keep the one that the model writes",
                );
            }
            match block {
                Some(block) if !heads.blocks.contains(&block) => heads.blocks.push(block),
                Some(_) => {}
                None => heads.bare = true,
            }
            if let Some(end) = end.filter(|end| !heads.ends.contains(end)) {
                heads.ends.push(end);
            }
        }
        let Some(mut heads) = heads else {
            return boundary.refuse("matches nothing", "match the mark itself");
        };
        heads.bare &= !heads.blocks.is_empty();
        if heads.ends.is_empty() && !matches!(args, Args::Parameters(_)) {
            heads.ends.push("{".into());
        }
        Ok(heads)
    }

    /// What closes a call, and what the block around it.
    fn closers(&self, field: &TemplateField<'_>, args: &Args) -> Read<(String, Vec<String>)> {
        let has_end = !matches!(args, Args::Parameters(_));
        let Some(boundary) = &field.close else {
            return if has_end && self.blocks.is_empty() {
                Ok((String::new(), Vec::new()))
            } else {
                Err(missing(&format!("{}.close", field.path), "say what closes a call"))
            };
        };
        let PatternForm::Alternatives(alternatives) = &boundary.form else {
            return boundary.refuse("looks ahead", "match the mark itself");
        };
        let (mut inner, mut outer, mut single) = (Vec::new(), Vec::new(), Vec::new());
        for alternative in without_end(alternatives) {
            match texts(boundary, trimmed(alternative), !self.blocks.is_empty())? {
                (Some(first), second) => {
                    inner.push(first);
                    outer.push(second);
                }
                (None, only) => single.push(only),
            }
        }
        for marks in [&mut inner, &mut outer, &mut single] {
            marks.dedup();
        }
        match (&inner[..], &single[..], self.blocks.is_empty()) {
            ([], [one], true) => Ok((one.clone(), Vec::new())),
            ([], [_, ..], false) => {
                let close = if has_end { Some(String::new()) } else { tag_end(&self.open) };
                let Some(close) = close else {
                    return boundary.refuse(
                        "does not say what closes a call within its block",
                        "put that mark before the one that closes the block",
                    );
                };
                Ok((close, single))
            }
            ([one], [], false) => Ok((one.clone(), outer)),
            ([one], [other], false) if one == other => Ok((one.clone(), outer)),
            _ => boundary.refuse(
                "has alternatives that close different things",
                "keep the one that the model writes",
            ),
        }
    }
}

/// What a way to open a call says: the mark of the block, that of the head, what ends the name.
fn head(
    boundary: &Boundary,
    alternative: &Alternative,
    name: &str,
    args: &Args,
) -> Read<(Option<String>, String, Option<String>)> {
    let groups = alternative.iter().filter(|piece| matches!(piece, PatternPiece::Group(_))).count();
    let at = alternative
        .iter()
        .position(|piece| matches!(piece, PatternPiece::Group(group) if group.name == name));
    let (Some(at), 1) = (at, groups) else {
        return boundary.refuse(
            "does not have one group in each alternative",
            "match the name with a group, and all else without one",
        );
    };
    let PatternPiece::Group(group) = &alternative[at] else { unreachable!("it was found there") };
    let (block, open) = texts(boundary, trimmed(&alternative[..at]), true)?;
    let end = match trimmed(&alternative[at + 1..]) {
        [] => None,
        [PatternPiece::Text(text)] => Some(text.clone()),
        _ => {
            return boundary.refuse(
                "has more than one mark after the name",
                "one fixed text must end the name",
            );
        }
    };
    let ends_before = match (&end, args) {
        (Some(end), _) => group.ends_before(end),
        (None, Args::Parameters(parameters)) => {
            group.ends_before("\n") || group.ends_before(&parameters.open)
        }
        (None, _) => group.ends_before("{"),
    };
    if !group.holds("get_weather") || group.holds("") || !ends_before {
        return boundary.refuse(
            format!("has a group `{name}` that is not the name up to what ends it"),
            "match names as `\\w+`, or as all but the first character of what follows",
        );
    }
    Ok((block, open, end))
}

/// One mark, or two with free space between them.
fn texts(
    boundary: &Boundary,
    alternative: &[PatternPiece],
    may_part: bool,
) -> Read<(Option<String>, String)> {
    match alternative {
        [PatternPiece::Text(one)] if !one.trim().is_empty() => match one.split_once("><") {
            Some((first, second)) if may_part => {
                Ok((Some(format!("{first}>")), format!("<{second}")))
            }
            _ => Ok((None, one.clone())),
        },
        [PatternPiece::Text(first), PatternPiece::Space(_), PatternPiece::Text(second)] => {
            Ok((Some(first.clone()), second.clone()))
        }
        [] | [PatternPiece::Text(_)] => boundary.refuse(
            "may match where there is no mark",
            "make a fixed text a part of every alternative",
        ),
        _ => boundary.refuse(
            "is more than a mark of a block and one of a call",
            "write one or two fixed texts, with free space (`\\s*`) between them",
        ),
    }
}

/// What closes the tag that this begins.
fn tag_end(open: &str) -> Option<String> {
    let tag = open.strip_prefix('<')?;
    let end = tag.find(['=', ' ']).filter(|end| *end > 0)?;
    Some(format!("</{}>", &tag[..end]))
}

/// What ends a name that no mark of its own does: a line, the first parameter, or the call.
fn name_ends(args: &Args, close: &str) -> Vec<String> {
    let open = match args {
        Args::Parameters(Parameters { open, .. }) => open.to_string(),
        _ => return Vec::new(),
    };
    vec!["\n".into(), open, close.to_owned()]
}

fn strings(texts: Vec<String>) -> Vec<Str> {
    texts.into_iter().map(Str::from).collect()
}

/// Marks around calls, each once. Space next to them is free.
fn outer(texts: Vec<String>) -> Vec<Str> {
    let mut marks: Vec<Str> = Vec::with_capacity(texts.len());
    for text in texts {
        if !marks.iter().any(|mark| mark == text.trim()) {
            marks.push(text.trim().to_owned().into());
        }
    }
    marks
}
