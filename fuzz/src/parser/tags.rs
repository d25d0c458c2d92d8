//! Where the tags of a text are.

use cogency_rs::json::{Controls, Fault, FaultKind};
use cogency_rs::protocol::Limits;

use super::syntax::{END_OF_RESULTS, OPEN, OPENING, RESULTS, Source, TextRun, closes};
use crate::json;
use crate::quotes::{Fences, ends_quotation, quote_around};
use crate::text::leading_space;

/// What is known of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    No,
    Unknown,
}

/// The first tag after a byte.
pub(super) enum Next<'n> {
    /// This one, at this byte.
    Tag(usize, &'n [u8]),
    /// What may be one, at this byte.
    Unknown(usize),
    /// None; and whether the text ends in what a tag in a fence has opened.
    Nothing(Option<TextRun>),
}

/// The first place of a tag: `<results>` is one only if an array follows, or nothing at all, and none is that is quoted.
pub(super) fn next_tag<'n>(
    text: &[u8],
    start: usize,
    fences: &mut Fences,
    limits: Limits,
    source: &Source,
) -> Next<'n> {
    let (mut read, mut from) = (start, start);
    loop {
        let Some((at, tag)) = first_of(&text[from..], &OPENING) else { return Next::Nothing(None) };
        let (at, behind) = (from + at, from + at + tag.len());
        fences.read(&text[read..at]);
        (read, from) = (at, behind);
        match quote_around(text, (at, behind), *source != Source::Open) {
            Ok(None) => {}
            Ok(Some(_)) => continue,
            Err(()) => return Next::Unknown(at),
        }
        let rest = &text[behind..];
        let is_tag = match tag {
            RESULTS => array(rest, limits, source),
            OPEN if fences.is_around() => call_in_fence(rest, limits, source),
            _ => Answer::Yes,
        };
        match (is_tag, tag) {
            (Answer::Unknown, _) => return Next::Unknown(at),
            (Answer::No, _) => {}
            (Answer::Yes, tag) if tag == OPEN || !fences.is_around() => return Next::Tag(at, tag),
            (Answer::Yes, b"<end>") => {}
            (Answer::Yes, tag) => {
                let run = if tag == RESULTS { TextRun::Result } else { TextRun::Think };
                let close = closing_tag(text, behind, run, source);
                let end = close.map_or(text.len(), |(at, _)| at);
                let closed = (read..end).find(|at| {
                    fences.read(&text[*at..=*at]);
                    !fences.is_open()
                });
                match (closed, close) {
                    (Some(at), _) => (read, from) = (at + 1, behind.max(at + 1)),
                    (None, None) => return Next::Nothing(Some(run)),
                    (None, Some((at, Answer::Unknown))) => return Next::Unknown(at),
                    (None, Some((at, _))) => (read, from) = (at, at + closes(run).len()),
                }
            }
        }
    }
}

/// The first place from `start` on of the tag that closes reasoning or results, or of what may be one.
pub(super) fn closing_tag(
    text: &[u8],
    start: usize,
    run: TextRun,
    source: &Source,
) -> Option<(usize, Answer)> {
    let close = closes(run);
    (start..text.len()).filter(|at| text[*at..].starts_with(close)).find_map(|at| {
        if ends_quotation(&text[start..at]) {
            return Some((at, Answer::Yes));
        }
        match quote_around(text, (at, at + close.len()), *source != Source::Open) {
            Ok(None) => Some((at, Answer::Yes)),
            Ok(Some(_)) => None,
            Err(()) => Some((at, Answer::Unknown)),
        }
    })
}

/// Whether `text`, after the tag of a block in a fence, may be one: as far as a block and its head are looked at.
pub(super) fn call_in_fence(text: &[u8], limits: Limits, source: &Source) -> Answer {
    const FENCE: &[u8] = b"```";
    let most = limits.max_block_bytes.saturating_add(4096);
    let seen = &text[..text.len().min(most)];
    let rest = &seen[leading_space(seen)..];
    match rest.first() {
        Some(b'[' | b'{') => Answer::Yes,
        _ if rest.starts_with(FENCE) => Answer::Yes,
        _ if FENCE.starts_with(rest) && text.len() <= most && *source == Source::Open => {
            Answer::Unknown
        }
        _ => Answer::No,
    }
}

/// Whether `text` begins with an array or the closing tag, after whitespace: as far as the limit lets one look.
pub(super) fn array(text: &[u8], limits: Limits, source: &Source) -> Answer {
    let seen = &text[..text.len().min(limits.max_block_bytes)];
    let is_all = seen.len() < text.len() || *source != Source::Open;
    let at = leading_space(seen);
    match (seen.get(at), json::read(seen, at, Controls::Raw)) {
        _ if seen[at..].starts_with(END_OF_RESULTS) => Answer::Yes,
        _ if END_OF_RESULTS.starts_with(&seen[at..]) => {
            if is_all {
                Answer::No
            } else {
                Answer::Unknown
            }
        }
        (Some(b'['), Ok(_)) => Answer::Yes,
        (Some(b'['), Err(Fault { kind: FaultKind::Ended | FaultKind::EndedInString, .. })) => {
            if is_all {
                Answer::Yes
            } else {
                Answer::Unknown
            }
        }
        _ => Answer::No,
    }
}

/// The first place of one of `needles`, and which.
pub(super) fn first_of<'n>(text: &[u8], needles: &[&'n [u8]]) -> Option<(usize, &'n [u8])> {
    (0..text.len()).find_map(|at| {
        let needle = needles.iter().find(|needle| text[at..].starts_with(needle))?;
        Some((at, *needle))
    })
}
