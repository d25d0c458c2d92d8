//! Calls that are one JSON object, of which the marks spell out all but the arguments.

use super::super::{Body, Json, Shape, Unmarked};
use super::block::Calls;
use super::error::{Read, TemplateError};
use super::fields::{Content, Field};
use super::pattern::{Boundary, Form, Piece, Row};
use super::texts::{trimmed, without_end};

/// The calls, if what opens them is `{"name": "(?P<name>…)", "arguments": `, and what closes them the last brace.
///
/// The object is read as a whole, so its keys may stand in any order.
pub(super) fn calls(field: &Field<'_>, open: &Boundary, name: &str) -> Read<Option<Calls>> {
    let Form::Rows(rows) = &open.form else { return Ok(None) };
    let [row] = &rows[..] else { return Ok(None) };
    let Some((name_key, args_key)) = keys(row, name) else { return Ok(None) };
    if field.content != Content::Json || !field.args.is_plain() {
        return Err(TemplateError::new(
            format!("{}.content_args", field.path),
            "allows what is no JSON",
            "the object around the arguments is JSON, and so are they",
        ));
    }
    let Some(close) = &field.close else {
        return open.refuse("opens an object that nothing closes", "say so in `close`");
    };
    let Form::Rows(rows) = &close.form else {
        return close.refuse("looks ahead", "match the mark itself");
    };
    let mut turn_end = Vec::new();
    for row in without_end(rows) {
        let rest = match trimmed(row) {
            [Piece::Text(text)] => text.strip_prefix('}').map(Some),
            [Piece::Text(text), Piece::Space(_), Piece::Text(mark)] if text == "}" => {
                Some(Some(&**mark))
            }
            _ => None,
        };
        match rest {
            Some(Some("") | None) => {}
            Some(Some(mark)) => turn_end.push(mark.to_owned().into()),
            None => {
                return close
                    .refuse("does not close the object that was opened", "begin it with `\\}`");
            }
        }
    }
    let body = Body::Json(Json {
        shape: Shape::Object,
        name: vec![name_key.into()],
        args: vec![args_key.into()],
        args_optional: false,
        empty_names: false,
        args_as_text: false,
        skips_others: false,
        id: None,
        server: None,
        decision: None,
    });
    let unmarked = Unmarked::Anywhere;
    Ok(Some(Calls { unmarked, turn_end, ..Calls::new(Vec::new(), Vec::new(), body) }))
}

/// The keys of the name and of the arguments, if this is the beginning of an object with the two.
fn keys(row: &Row, name: &str) -> Option<(String, String)> {
    let at =
        row.iter().position(|piece| matches!(piece, Piece::Group(group) if group.name == name))?;
    let (before, behind) = (written(&row[..at])?, written(&row[at + 1..])?);
    let name = before.strip_prefix("{\"")?.strip_suffix("\":\"")?;
    let args = behind.strip_prefix("\",\"")?.strip_suffix("\":")?;
    let is_key = |key: &str| !key.is_empty() && !key.contains(['"', '\\']);
    (is_key(name) && is_key(args)).then(|| (name.to_owned(), args.to_owned()))
}

/// The text of these pieces, without free space.
fn written(pieces: &[Piece]) -> Option<String> {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(more) => text.extend(more.split_whitespace()),
            Piece::Space(_) => {}
            _ => return None,
        }
    }
    Some(text)
}
