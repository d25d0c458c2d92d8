//! Fields of text: reasoning, and text for the user.

use super::super::{Pair, Str};
use super::error::{Read, TemplateError};
use super::fields::{FieldContent, TemplateField, missing};
use super::pattern::{Alternative, Boundary, PatternForm, PatternPiece};

/// The marks that reasoning is between.
#[derive(Debug, Default)]
pub(super) struct Reasoning {
    pub pairs: Vec<Pair>,
    /// Whether an answer begins in it.
    pub begins: bool,
}

/// What the fields of text say.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub reasoning: Reasoning,
    pub answer: Vec<Pair>,
    pub turn_end: Vec<Str>,
}

/// A field with reasoning.
pub(super) fn reasoning(field: &TemplateField<'_>) -> Read<Reasoning> {
    check_text(field)?;
    let Some(open) = &field.open else {
        return Err(missing(
            &format!("{}.open", field.path),
            "only the text of `content` can do without",
        ));
    };
    let (boundary, close) = closer(field)?;
    let (opens, begins) = match &open.form {
        PatternForm::Ahead(closers) if *closers == [&*close] => (Vec::new(), true),
        PatternForm::Ahead(_) => {
            return open.refuse(
                format!("waits for another text than what closes the field, {close:?}"),
                "wait for that text alone",
            );
        }
        PatternForm::Alternatives(alternatives) => {
            let (starts, marks): (Vec<_>, Vec<_>) = alternatives
                .iter()
                .partition(|alternative| matches!(alternative[..], [PatternPiece::Start]));
            (
                marks
                    .into_iter()
                    .map(|alternative| mark(open, alternative))
                    .collect::<Read<_>>()?,
                !starts.is_empty(),
            )
        }
    };
    let opens = match (&opens[..], opener_of(&close)) {
        ([], Some(open)) => vec![open],
        ([], None) => {
            return boundary.refuse(
                format!("is {close:?}, which does not say what opens the field"),
                "give the opening mark next to the beginning: `(?:^|MARK)` as `open_pattern`",
            );
        }
        _ => opens,
    };
    Ok(Reasoning { pairs: pairs(opens, &close), begins })
}

/// The field with text for the user: marks around it, or what ends the turn.
pub(super) fn answer(field: &TemplateField<'_>) -> Read<(Vec<Pair>, Vec<Str>)> {
    check_text(field)?;
    let Some(open) = &field.open else {
        let ends = field.close.as_ref().map_or(Ok(Vec::new()), marks)?;
        return Ok((Vec::new(), ends.into_iter().map(Str::from).collect()));
    };
    let (opens, closes) = (marks(open)?, marks(close_of(field)?)?);
    let answer = closes.iter().flat_map(|close| pairs(opens.clone(), close)).collect();
    Ok((answer, Vec::new()))
}

/// The content of a field of text is just that.
fn check_text(field: &TemplateField<'_>) -> Read<()> {
    if field.content != FieldContent::Text {
        return Err(TemplateError::new(
            format!("{}.content", field.path),
            "is not text",
            "only the content of `tool_calls` can be anything else",
        ));
    }
    match field.transform {
        Some(transform) if field.is_each || transform != "{content}" => Err(TemplateError::new(
            format!("{}.transform", field.path),
            "changes the text",
            "only `tool_calls` can have one: leave it out",
        )),
        _ => Ok(()),
    }
}

/// The one mark that closes a field.
fn closer<'b>(field: &'b TemplateField<'_>) -> Read<(&'b Boundary, String)> {
    let close = close_of(field)?;
    let mut marks = marks(close)?;
    match (marks.pop(), &marks[..]) {
        (Some(mark), []) => Ok((close, mark)),
        _ => close.refuse("is more than one mark", "keep the one that the model writes"),
    }
}

fn close_of<'b>(field: &'b TemplateField<'_>) -> Read<&'b Boundary> {
    let advice = "a field with an opening mark must have a closing one";
    field.close.as_ref().ok_or_else(|| missing(&format!("{}.close", field.path), advice))
}

/// The marks of a boundary. Free space around them is left out: it is not part of the text that is shown.
pub(super) fn marks(boundary: &Boundary) -> Read<Vec<String>> {
    let PatternForm::Alternatives(alternatives) = &boundary.form else {
        return boundary.refuse("looks ahead", AHEAD);
    };
    let alternatives = without_end(alternatives);
    alternatives.into_iter().map(|alternative| mark(boundary, alternative)).collect()
}

const AHEAD: &str = "only reasoning can begin so: match the mark itself";

/// The alternatives without the end of the answer, which closes whatever is open.
pub(super) fn without_end(alternatives: &[Alternative]) -> Vec<&Alternative> {
    let is_end = |alternative: &&Alternative| matches!(alternative[..], [PatternPiece::End]);
    let marks: Vec<_> = alternatives.iter().filter(|alternative| !is_end(alternative)).collect();
    if marks.is_empty() { alternatives.iter().collect() } else { marks }
}

fn mark(boundary: &Boundary, alternative: &Alternative) -> Read<String> {
    match trimmed(alternative) {
        [PatternPiece::Text(text)] if !text.trim().is_empty() => Ok(text.clone()),
        [] => boundary.refuse(
            "may match where there is no mark",
            "make at least one mark a part of every alternative",
        ),
        [PatternPiece::Text(_)] => boundary.refuse("is whitespace", "whitespace is not a mark"),
        [PatternPiece::Start, ..] => boundary
            .refuse("begins with `^`", "only `(?:^|MARK)` can be read, and for reasoning alone"),
        [.., PatternPiece::End] => boundary.refuse("ends with `$`", "only `MARK|$` can be read"),
        pieces if pieces.iter().any(|piece| matches!(piece, PatternPiece::Group(_))) => boundary
            .refuse(
                "has a group with a name",
                "only what opens `tool_calls` can have one: write `(?:…)`",
            ),
        _ => boundary.refuse("is not a fixed text", "a mark has no free space within it"),
    }
}

/// The alternative without free space at its ends.
pub(super) fn trimmed(mut alternative: &[PatternPiece]) -> &[PatternPiece] {
    while let [PatternPiece::Space(_), rest @ ..] = alternative {
        alternative = rest;
    }
    while let [rest @ .., PatternPiece::Space(_)] = alternative {
        alternative = rest;
    }
    alternative
}

fn pairs(opens: Vec<String>, close: &str) -> Vec<Pair> {
    let pair = |open: String| Pair { open: open.into(), close: close.to_owned().into() };
    opens.into_iter().map(pair).collect()
}

/// The mark that a closing one belongs to, where it is written as a tag.
fn opener_of(close: &str) -> Option<String> {
    for (slash, open) in [("</", "<"), ("[/", "[")] {
        if let Some(rest) = close.strip_prefix(slash) {
            return Some(format!("{open}{rest}"));
        }
    }
    None
}
