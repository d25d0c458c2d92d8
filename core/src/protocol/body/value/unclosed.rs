//! Where a raw value ends whose own mark is missing, and what it runs over.

use super::super::super::marks::{any_starts, find, starts_with};
use super::super::super::recovery::Mistake;
use super::super::super::tools::Schema;
use super::super::Calls;
use super::super::opening::{Forms, attributes, key_of};
use crate::dialect::{Parameters, Str};
use crate::text::{is_blank, leading_space, trim_end};

/// The greatest length in bytes of a parameter's opening that is looked for inside a value.
const LONGEST: usize = 256;

/// Whether a call without its closing mark ends at byte `at`; `None` while that is not known. It does if the next call begins there on
/// a line of its own, or if its block ends there and only another block follows. Any other mark may be text of the value.
///
/// `looked` says up to where the text after the block's closing mark is known to be space, so that no space is read twice.
pub fn ends_without_mark(
    text: &[u8],
    at: usize,
    looked: &mut usize,
    forms: Forms<'_>,
    calls: &Calls,
) -> Option<bool> {
    let rest = &text[at..];
    let Some(mark) = calls.followers.iter().find(|mark| starts_with(rest, mark) == Some(true))
    else {
        return any_starts(rest, &calls.followers);
    };
    if **mark == *forms.call {
        let before = &text[..at];
        return Some(before[trim_end(before).len()..].contains(&b'\n'));
    }
    *looked = (*looked).max(at + mark.len());
    *looked += leading_space(&text[*looked..]);
    let behind = &text[*looked..];
    match (any_starts(behind, &calls.openers), any_starts(behind, &calls.followers)) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (None, _) | (_, None) => None,
        _ => Some(false),
    }
}

/// `text` without these marks at its end, and the space around them.
pub fn without_last<'t>(text: &'t [u8], marks: &[Str]) -> &'t [u8] {
    let mut rest = text;
    while let Some(mark) = marks.iter().find(|mark| trim_end(rest).ends_with(mark.as_bytes())) {
        let end = trim_end(rest);
        rest = &end[..end.len() - mark.len()];
    }
    rest
}

/// Where something begins in a text, from byte `from` on, before which its value may end without its own mark: another parameter, or
/// leniently the end of the call; up to where there is none, if there is none.
pub fn ends_perhaps(
    forms: Forms<'_>,
    text: &[u8],
    from: usize,
    calls: &Calls,
) -> Result<usize, usize> {
    let form = forms.parameters;
    let may_be_missing = calls.scope.forgives(Mistake::NoLastValueEnd);
    let ends = forms.ends.iter().filter(|_| may_be_missing).map(|mark| &**mark);
    let opening = Some(first_word(&form.open)).filter(|_| !form.close.contains("{key}"));
    let found = ends.chain(opening).map(|mark| find(text, from, mark));
    found
        .min_by_key(|found| match found {
            Ok(at) | Err(at) => *at,
        })
        .unwrap_or(Err(text.len()))
}

/// The marks that a value may run over if its own closing mark is missing.
#[derive(Clone, Copy, Debug)]
pub struct ValueMarks<'m> {
    /// The forms of the call.
    pub forms: Forms<'m>,
    /// The mark that closes the value.
    pub close: &'m str,
    /// The marks that may follow a call; empty if these are not known.
    pub followers: &'m [Str],
}

/// The end of a value whose own closing mark is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unclosed {
    /// The byte of the value at which something else begins.
    pub at: usize,
    /// Whether that is the end of its call, with another call after it, or the beginning of another call.
    pub runs_over: bool,
}

impl ValueMarks<'_> {
    /// Where the value of this key should have ended, if its closing mark is missing inside `value`. `None` if all of `value` may
    /// be the value: every parameter that is opened in it is closed in it. A parameter that is opened after the value's own mark,
    /// and never closed, is another parameter.
    ///
    /// # Complexity
    /// O(`value`)
    #[must_use]
    pub fn unclosed(self, value: &[u8], key: &str, schema: Option<Schema<'_>>) -> Option<Unclosed> {
        let form = self.forms.parameters;
        if form.close.contains("{key}")
            || memchr::memmem::find(value, first_word(&form.open).as_bytes()).is_none()
        {
            return None;
        }
        let first = |mark: &str| mark.as_bytes()[0];
        let firsts = [first(&form.open), first(self.close), first(&self.forms.ends[0])];
        // The marks of a dialect mostly begin alike. If they do not, another call is found by its first parameter.
        let mut found: Option<Unclosed> = None;
        let mut depth = 0_usize;
        // Where its own mark may be, after which words follow and perhaps a parameter that is written wrongly.
        let mut closed = None;
        for at in memchr::memchr3_iter(firsts[0], firsts[1], firsts[2], value) {
            let rest = &value[at..];
            if begins_with(rest, self.close) {
                if depth == 0 {
                    closed.get_or_insert(at);
                }
                depth = depth.saturating_sub(1);
                found = found.filter(|_| depth > 0);
            } else if depth == 0
                && found.is_none()
                && (self.ends_call(rest) || self.begins_call(rest))
            {
                found = Some(Unclosed { at, runs_over: true });
            } else if let Some(at) = closed
                && begins_with(rest, first_word(&form.open))
            {
                depth += 1;
                found.get_or_insert(Unclosed { at, runs_over: true });
            } else if let Some(opened) = opened(form, rest) {
                let is_own = found.is_none_or(|found| !found.runs_over);
                if is_own && depth == 0 && !is_another(&opened, key, schema) {
                    continue;
                }
                depth += 1;
                found.get_or_insert(Unclosed { at, runs_over: false });
            }
        }
        found.filter(|_| depth > 0)
    }

    /// Whether a call ends or begins anywhere in `value`.
    #[must_use]
    pub fn has_calls(self, value: &[u8]) -> bool {
        let first = self.forms.ends[0].as_bytes()[0];
        let mut rests = memchr::memchr_iter(first, value).map(|at| &value[at..]);
        rests.any(|rest| self.ends_call(rest) || self.begins_call(rest))
    }

    /// Whether `text` begins with the end of a call and then what may follow a call.
    fn ends_call(self, text: &[u8]) -> bool {
        let Some(end) = self.forms.ends.iter().find(|end| begins_with(text, end)) else {
            return false;
        };
        let rest = &text[end.len()..];
        let rest = &rest[leading_space(rest)..];
        // Where each call is a message, the mark that begins the next message also ends this call.
        let is_message = self.forms.call.is_empty();
        let followers = if is_message { self.forms.ends } else { self.followers };
        any_starts(rest, followers) == Some(true) || self.begins_call(rest)
    }

    /// Whether `text` begins with the mark of a call.
    fn begins_call(self, text: &[u8]) -> bool {
        !self.forms.call.is_empty() && begins_with(text, self.forms.call)
    }
}

/// Whether `text` begins with `mark`. The last byte is compared first: marks mostly begin alike.
fn begins_with(text: &[u8], mark: &str) -> bool {
    let Some(last) = mark.len().checked_sub(1) else { return true };
    text.get(last) == Some(&mark.as_bytes()[last]) && text.starts_with(mark.as_bytes())
}

/// A mark up to the end of its first word: the part that a model still writes if it writes the rest wrongly.
pub fn first_word(mark: &str) -> &str {
    let is_end = |character: char| character == ' ' || character == '=';
    mark.find(is_end).map_or(mark, |end| &mark[..end])
}

/// The key of the parameter whose opening is complete at the start of `text`.
fn opened(form: &Parameters, text: &[u8]) -> Option<Str> {
    let within = begins_with(text, &form.open).then(|| &text[form.open.len()..])?;
    let within = &within[..within.len().min(LONGEST)];
    // No key has these characters, and a long text must not be searched again at each of many openings.
    let longest = memchr::memchr2(b'<', b'\n', within).unwrap_or(within.len());
    let near = &within[..within.len().min(longest + form.key_end.len())];
    let end = find(near, 0, &form.key_end).ok()?;
    let key = &within[..end];
    if end > longest || is_blank(key) {
        return None;
    }
    let behind = end + form.key_end.len();
    let begins = attributes(form, within, behind, &mut { behind });
    matches!(begins, Ok(Some((_, is_text))) if form.flag.is_none() || is_text.is_some())
        .then(|| key_of(form, key))
}

/// Whether this may be another parameter of the call that has `key`, as far as the tool's schema says.
fn is_another(opened: &str, key: &str, schema: Option<Schema<'_>>) -> bool {
    opened != key && schema.is_none_or(|schema| schema.property(opened).is_some())
}
