//! The opening of a parameter: its key, and what comes between that and the value.

use super::super::marks::{find, starts_with};
use super::super::problem::Problem;
use super::attribute::{attribute, attribute_width, unescaped};
use super::found::{problem, unexpected};
use crate::dialect::{Parameters, Str};
use crate::text::{leading_space, trim};

/// The longest key with its attributes, in bytes.
pub const LONGEST: usize = 4096;

/// The forms that a reader needs.
#[derive(Clone, Copy, Debug)]
pub struct Forms<'f> {
    /// Of the parameters.
    pub parameters: &'f Parameters,
    /// What ends the call, any of these.
    pub ends: &'f [Str],
    /// What begins a call.
    pub call: &'f str,
}

/// The key that a parameter's opening holds.
pub fn key_of(form: &Parameters, raw: &[u8]) -> Str {
    let key = trim(raw);
    let key = if form.entities {
        unescaped(key).to_string()
    } else {
        String::from_utf8_lossy(key).into_owned()
    };
    key.into()
}

/// Where the key between these bytes runs over a mark of its call, or over a line break: its own end is missing, and what follows is
/// not part of it.
///
/// # Complexity
/// O(key)
pub fn runs_over(forms: Forms<'_>, text: &[u8], start: usize, end: usize) -> Option<usize> {
    let form = forms.parameters;
    let key = &text[start..end];
    // The end of such a mark may have been taken for the end of the key.
    let with_end = &text[start..end + form.key_end.len()];
    let close = form.close.split("{key}").next().unwrap_or_default();
    let opening = text.get(start - form.open.len()..).unwrap_or_default();
    if !close.is_empty() && opening.starts_with(close.as_bytes()) {
        return Some(start); // it is the end of another one
    }
    let marks = [&*form.open, close, &*form.value_open].into_iter();
    let marks = marks.chain(forms.ends.iter().map(|mark| &**mark));
    // Most keys are words, in which no mark begins.
    let marks = marks.filter(|mark| {
        mark.len() > 1 && **mark != *form.key_end && key.contains(&mark.as_bytes()[0])
    });
    let mark = marks.filter_map(|mark| find(with_end, 0, mark).ok()).min();
    let line = leading_space(key) + memchr::memchr(b'\n', trim(key)).unwrap_or(key.len());
    mark.into_iter().chain(Some(line)).min().filter(|at| *at < key.len()).map(|at| start + at)
}

/// Whether the text ends in the beginning of a parameter: a call that lacks one is another call.
pub fn is_begun(form: &Parameters, rest: &[u8]) -> bool {
    let rest = &rest[leading_space(rest)..];
    !rest.is_empty() && form.open.as_bytes().starts_with(rest)
}

/// Where the value begins after its key, and whether an attribute in between says that it is text.
pub fn attributes(
    form: &Parameters,
    text: &[u8],
    start: usize,
    at: &mut usize,
) -> Result<Option<(usize, Option<bool>)>, Problem> {
    if form.value_open.is_empty() {
        return Ok(Some((start, None)));
    }
    let within = &text[..text.len().min(start + LONGEST)];
    loop {
        *at += leading_space(&within[*at..]);
        let rest = &within[*at..];
        match starts_with(rest, &form.value_open) {
            Some(true) => break,
            Some(false) => {}
            None if within.len() < text.len() => return Err(unended(&form.value_open, start)),
            None => return Ok(None),
        }
        match attribute_width(rest) {
            Some(0) => return Err(unexpected(&[&form.value_open], text, *at)),
            Some(_) if form.flag.is_none() => {
                return Err(unexpected(&[&form.value_open], text, *at));
            }
            // Else its quotes would be those of another call.
            Some(width) if memchr::memmem::find(&rest[..width], form.open.as_bytes()).is_some() => {
                return Err(unexpected(&[&form.value_open], text, *at));
            }
            Some(width) => *at += width,
            None if within.len() < text.len() => return Err(unended(&form.value_open, start)),
            None => return Ok(None),
        }
    }
    let said = form.flag.as_ref().and_then(|flag| {
        let said = attribute(&text[start..*at], &flag.name)?;
        Some(said.as_bytes() == flag.text.as_bytes())
    });
    Ok(Some((*at + form.value_open.len(), said)))
}

/// A key that nothing ends.
pub fn unended(mark: &str, at: usize) -> Problem {
    problem(format!("{mark:?} after the key"), "a key without an end".into(), at)
}
