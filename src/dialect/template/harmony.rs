//! Messages with a head: a channel, and for a call to whom it is.

use super::super::{Heads, HeadsForm, Str};
use super::calls::opener;
use super::error::{Read, TemplateError};
use super::fields::{Content, Field};
use super::pattern::{Boundary, Form, Piece};
use super::texts::{marks, trimmed};
use super::transform::{Parts, parts};

/// What a head says before the name of a tool.
const TO: &str = "to=functions.";

/// The channels of reasoning, and of what the user is told.
const CHANNELS: [(&str, &[&str]); 2] =
    [("analysis", &["thinking", "reasoning", "reasoning_content"]), ("final", &["content"])];

/// Whether what opens a call names a recipient.
pub(super) fn is_addressed(field: &Field<'_>) -> bool {
    let Some(Boundary { form: Form::Rows(rows), .. }) = &field.open else { return false };
    rows.iter().any(|row| {
        row.windows(2)
            .any(|pair| matches!(pair, [Piece::Text(text), Piece::Group(_)] if text.ends_with(TO)))
    })
}

/// The messages of a template whose calls name a recipient.
pub(super) fn heads(fields: &[Field<'_>], calls: &Field<'_>) -> Read<Heads> {
    let open = opener(calls)?;
    let name = match &open.form {
        Form::Rows(rows) => match &rows[..] {
            [row] => row.iter().find_map(|piece| match piece {
                Piece::Group(group) => Some(group),
                _ => None,
            }),
            _ => None,
        },
        Form::Ahead(_) => None,
    };
    let Some(name) = name.filter(|name| name.holds("get_weather")) else {
        return open
            .refuse("is not one head with a name", "write one pattern for all heads of calls");
    };
    if parts(calls, &[&name.name])? != Parts::Group(name.name.clone())
        || calls.content != Content::Json
    {
        return Err(TemplateError::new(
            format!("{}.transform", calls.path),
            "does not take the name from the head and the arguments from JSON",
            "both stand there in messages with a recipient",
        ));
    }
    if !calls.args.is_plain() {
        let path = calls.args.path.clone();
        return Err(TemplateError::new(path, "allows what is no JSON", "leave it out"));
    }
    let end = message_mark(open)?;
    let mut close: Vec<Str> = Vec::new();
    let mut begins: Vec<String> = Vec::new();
    for field in fields {
        if let Some(boundary) = &field.close {
            for mark in marks(boundary)? {
                if !close.iter().any(|known| *known == *mark) {
                    close.push(mark.into());
                }
            }
        }
        if field.name != calls.name {
            begins.extend(channel(field, &end)?);
        }
    }
    begins.dedup();
    let [begin] = &begins[..] else {
        return open.refuse(
            "stands in a template whose channels do not all begin with one mark",
            "open reasoning and content with the same mark, such as `<|channel|>`",
        );
    };
    Ok(Heads { open: vec![begin.clone().into()], end: end.into(), close, form: HeadsForm::Harmony })
}

/// The mark at the end of a head, behind which the message stands.
fn message_mark(open: &Boundary) -> Read<String> {
    let Form::Rows(rows) = &open.form else { return open.refuse("looks ahead", ENDS) };
    let last = rows.first().and_then(|row| trimmed(row).last());
    match last {
        Some(Piece::Text(text)) if text.ends_with('>') && text.contains('<') => {
            Ok(text[text.rfind('<').unwrap_or(0)..].to_owned())
        }
        _ => open.refuse("does not end with a mark", ENDS),
    }
}

const ENDS: &str = "end it with the mark that stands before the message, such as `<|message|>`";

/// What the heads of this field begin with.
fn channel(field: &Field<'_>, end: &str) -> Read<Vec<String>> {
    let names = CHANNELS.iter().find(|(_, names)| names.contains(&field.name));
    let (Some(open), Some((channel, _))) = (&field.open, names) else {
        return Err(TemplateError::new(
            format!("{}.open", field.path),
            "is missing",
            "where calls name a recipient, every field has a head of its own",
        ));
    };
    if field.content != Content::Text || field.transform.is_some() {
        let path = format!("{}.content", field.path);
        return Err(TemplateError::new(path, "is not text as it stands", "leave it out"));
    }
    let begin = |mark: String| {
        let begin = mark.strip_suffix(end).and_then(|head| head.strip_suffix(channel));
        match begin.filter(|begin| !begin.trim().is_empty()) {
            Some(begin) => Ok(begin.to_owned()),
            None => open.refuse(
                format!("is {mark:?}, which is no head of the channel {channel}"),
                "it is what begins a head, the channel, and what ends the head",
            ),
        }
    };
    marks(open)?.into_iter().map(begin).collect()
}
