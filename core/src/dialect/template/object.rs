//! Calls that are one JSON object, of which the marks spell out all but the arguments.

use super::super::{Body, Json, JsonShape, NoArgs, Unmarked};
use super::block::CallBlock;
use super::error::{Read, TemplateError};
use super::fields::{FieldContent, TemplateField};
use super::pattern::{Alternative, Boundary, PatternForm, PatternPiece};
use super::texts::{trimmed, without_end};

/// The calls, if what opens them is `{"name": "(?P<name>…)", "arguments": `, and what closes them the last brace.
///
/// The object is read as a whole, so its keys may be in any order.
pub(super) fn calls(
    field: &TemplateField<'_>,
    open: &Boundary,
    name: &str,
) -> Read<Option<CallBlock>> {
    let PatternForm::Alternatives(alternatives) = &open.form else { return Ok(None) };
    let [alternative] = &alternatives[..] else { return Ok(None) };
    let Some((name_key, args_key)) = keys(alternative, name) else { return Ok(None) };
    if field.content != FieldContent::Json || !field.args.is_plain() {
        return Err(TemplateError::new(
            format!("{}.content_args", field.path),
            "allows what is not JSON",
            "the object around the arguments is JSON, and so are they",
        ));
    }
    let Some(close) = &field.close else {
        return open.refuse("opens an object that nothing closes", "say so in `close`");
    };
    let PatternForm::Alternatives(alternatives) = &close.form else {
        return close.refuse("looks ahead", "match the mark itself");
    };
    let mut turn_end = Vec::new();
    for alternative in without_end(alternatives) {
        let rest = match trimmed(alternative) {
            [PatternPiece::Text(text)] => text.strip_prefix('}').map(Some),
            [PatternPiece::Text(text), PatternPiece::Space(_), PatternPiece::Text(mark)]
                if text == "}" =>
            {
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
        shape: JsonShape::Object,
        name: vec![name_key.into()],
        args: vec![args_key.into()],
        no_args: NoArgs::Alone,
        empty_names: false,
        args_as_text: false,
        skips_others: false,
        id: None,
        server: None,
        decision: None,
    });
    let unmarked = Unmarked::Anywhere;
    Ok(Some(CallBlock { unmarked, turn_end, ..CallBlock::new(Vec::new(), Vec::new(), body) }))
}

/// The keys of the name and of the arguments, if this is the beginning of an object with the two.
fn keys(alternative: &Alternative, name: &str) -> Option<(String, String)> {
    let at = alternative
        .iter()
        .position(|piece| matches!(piece, PatternPiece::Group(group) if group.name == name))?;
    let (before, behind) = (written(&alternative[..at])?, written(&alternative[at + 1..])?);
    let name = before.strip_prefix("{\"")?.strip_suffix("\":\"")?;
    let args = behind.strip_prefix("\",\"")?.strip_suffix("\":")?;
    let is_key = |key: &str| !key.is_empty() && !key.contains(['"', '\\']);
    (is_key(name) && is_key(args)).then(|| (name.to_owned(), args.to_owned()))
}

/// The text of these pieces, without free space.
fn written(pieces: &[PatternPiece]) -> Option<String> {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            PatternPiece::Text(more) => text.extend(more.split_whitespace()),
            PatternPiece::Space(_) => {}
            _ => return None,
        }
    }
    Some(text)
}
