//! Calls that are written as Python, in a list: `[a(x=1), b()]`.

use super::super::{Body, Python, Str};
use super::block::CallBlock;
use super::error::{Read, TemplateError};
use super::fields::{FieldContent, TemplateField};
use super::parameters::tag_alternatives;
use super::pattern::{Alternative, Boundary, PatternForm, PatternPiece};
use super::texts::{trimmed, without_end};

/// The calls, if each is opened by the list or by a comma, has its name before a parenthesis, and arguments of the
/// form `key=value`.
///
/// The list is read as Python does: what a template can say of values in a pattern is less than that.
pub(super) fn calls(
    field: &TemplateField<'_>,
    open: &Boundary,
    name: &str,
) -> Read<Option<CallBlock>> {
    let PatternForm::Alternatives(alternatives) = &open.form else { return Ok(None) };
    let before = alternatives
        .iter()
        .map(|alternative| before(alternative, name))
        .collect::<Option<Vec<_>>>();
    let Some(before) = before.filter(|_| field.content == FieldContent::XmlInline) else {
        return Ok(None);
    };
    let lists: Vec<&str> = before.iter().filter_map(|text| text.strip_suffix('[')).collect();
    if lists.is_empty() || !before.iter().all(|text| text == "," || text.ends_with('[')) {
        return Ok(None);
    }
    if lists.iter().any(|list| list.trim().is_empty()) {
        return open.refuse(
            "is a bracket alone, which any text may hold",
            "put the mark before the list into it",
        );
    }
    check_arguments(field)?;
    let open: Vec<Str> = lists.iter().map(|list| list.trim_end().to_owned().into()).collect();
    Ok(Some(CallBlock::new(open, closers(field)?, Body::Python(Python::List))))
}

/// What comes before the name, where a parenthesis follows.
fn before(alternative: &Alternative, name: &str) -> Option<String> {
    match trimmed(alternative) {
        [PatternPiece::Text(text), rest @ ..] => {
            let rest = if let [PatternPiece::Space(_), rest @ ..] = rest { rest } else { rest };
            match rest {
                [PatternPiece::Group(group), PatternPiece::Text(paren)]
                    if group.name == name && paren == "(" =>
                {
                    Some(text.clone())
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The marks after the list.
fn closers(field: &TemplateField<'_>) -> Read<Vec<Str>> {
    let Some(close) = &field.close else { return Ok(Vec::new()) };
    let PatternForm::Alternatives(alternatives) = &close.form else {
        return close.refuse("looks ahead", "match the mark itself");
    };
    let mut marks: Vec<Str> = Vec::new();
    for alternative in without_end(alternatives) {
        let [PatternPiece::Text(text)] = trimmed(alternative) else {
            return close.refuse("is not a fixed text", "write `\\)(?:\\]MARK)?`");
        };
        match text.strip_prefix(')').map(|rest| rest.strip_prefix(']').unwrap_or(rest)) {
            Some("") => {}
            Some(mark) => marks.push(mark.to_owned().into()),
            None => {
                return close
                    .refuse("does not close a call", "begin it with the parenthesis, `\\)`");
            }
        }
    }
    Ok(marks)
}

/// Literals that a pattern of values must match whole.
const LITERALS: [&str; 5] = ["1", "-2.5", "'a, b'", "[1, 2]", "{'a': 1}"];

fn check_arguments(field: &TemplateField<'_>) -> Read<()> {
    let (path, alternatives) = tag_alternatives(&field.args)?;
    let is_argument = matches!(&alternatives[..], [alternative] if match trimmed(alternative) {
        [PatternPiece::Group(key), PatternPiece::Text(equals), PatternPiece::Group(value)] => {
            (&*key.name, &**equals, &*value.name) == ("key", "=", "value")
                && key.holds("city_2")
                && key.ends_before("=")
                && LITERALS.iter().all(|literal| value.holds(literal))
        }
        _ => false,
    });
    if !is_argument {
        return Err(TemplateError::new(
            path,
            "is not `key=value` with any literal as the value",
            "of calls written as Python, only such arguments can be read",
        ));
    }
    match field.args.value_parser()? {
        Some((FieldContent::Json, _)) => Ok(()),
        _ => Err(TemplateError::new(
            field.args.at("value_parser"),
            "does not read values as literals",
            "give `json` with `'` in `string_delims`",
        )),
    }
}
