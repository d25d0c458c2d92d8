//! Regular expressions of JSON Schema as parts of a grammar.

use regex_syntax::hir::{Class as HirClass, Hir, HirKind, Look};

use super::expr::{Class, Expr, choice, literal, optional, repeat, sequence};
use super::shape::MOST_REPEATS;

/// How characters of a string are written.
pub trait Characters {
    /// One character of these ranges; `None` if none of them can be written.
    fn of(&self, ranges: &[(char, char)]) -> Option<Expr>;
    /// Any character.
    fn any(&self) -> Expr;
}

/// A set with more ranges than this is not written out.
const MOST_RANGES: usize = 64;

/// The texts that match `pattern` somewhere; `None` if no grammar says that.
pub fn matching(pattern: &str, characters: &dyn Characters) -> Option<Expr> {
    let pattern = jsonschema_regex::to_rust_regex(pattern).ok()?;
    let hir = regex_syntax::Parser::new().parse(&pattern).ok()?;
    let alternatives = match hir.kind() {
        HirKind::Alternation(alternatives) => alternatives.clone(),
        HirKind::Capture(capture) => match capture.sub.kind() {
            HirKind::Alternation(alternatives) => alternatives.clone(),
            _ => vec![hir],
        },
        _ => vec![hir],
    };
    let parts: Option<Vec<Expr>> =
        alternatives.iter().map(|each| anchored(each, characters)).collect();
    Some(choice(parts?))
}

/// One alternative, with anything before and after it where no anchor says otherwise.
fn anchored(hir: &Hir, characters: &dyn Characters) -> Option<Expr> {
    let whole = std::slice::from_ref(hir);
    let mut parts = match hir.kind() {
        HirKind::Concat(parts) => parts.as_slice(),
        _ => whole,
    };
    let anything = || repeat(characters.any(), 0, None);
    let is = |hir: &Hir, looks: [Look; 2]| matches!(hir.kind(), HirKind::Look(look) if looks.contains(look));
    let (mut before, mut behind) = (anything(), anything());
    if let Some((first, rest)) = parts.split_first()
        && is(first, [Look::Start, Look::Start])
    {
        (before, parts) = (literal(""), rest);
    }
    if let Some((last, rest)) = parts.split_last()
        && is(last, [Look::End, Look::End])
    {
        (behind, parts) = (literal(""), rest);
    }
    let inner: Option<Vec<Expr>> = parts.iter().map(|part| part_of(part, characters)).collect();
    let inner = inner?;
    Some(sequence([before].into_iter().chain(inner).chain([behind])))
}

fn part_of(hir: &Hir, characters: &dyn Characters) -> Option<Expr> {
    Some(match hir.kind() {
        HirKind::Empty => literal(""),
        HirKind::Literal(text) => {
            let text = std::str::from_utf8(&text.0).ok()?;
            let each: Option<Vec<Expr>> = text.chars().map(|c| characters.of(&[(c, c)])).collect();
            sequence(each?)
        }
        HirKind::Class(HirClass::Unicode(class)) => {
            let ranges: Vec<_> =
                class.ranges().iter().map(|range| (range.start(), range.end())).collect();
            if ranges.len() > MOST_RANGES {
                return None;
            }
            characters.of(&ranges)?
        }
        HirKind::Class(HirClass::Bytes(_)) | HirKind::Look(_) => return None,
        HirKind::Repetition(repetition) => {
            let least = usize::try_from(repetition.min).ok()?;
            let most = repetition.max.map(usize::try_from).transpose().ok()?;
            let inner = part_of(&repetition.sub, characters)?;
            // A consumer does not see where what may be nothing ends.
            let is_empty = repetition.sub.properties().minimum_len() == Some(0);
            match (least, most) {
                (0, Some(1)) => optional(inner),
                (least, most) if !is_empty && least.max(most.unwrap_or(0)) <= MOST_REPEATS => {
                    repeat(inner, least, most)
                }
                _ => return None,
            }
        }
        HirKind::Capture(capture) => part_of(&capture.sub, characters)?,
        HirKind::Concat(parts) => {
            let parts: Option<Vec<Expr>> =
                parts.iter().map(|part| part_of(part, characters)).collect();
            sequence(parts?)
        }
        HirKind::Alternation(parts) => {
            let parts: Option<Vec<Expr>> =
                parts.iter().map(|part| part_of(part, characters)).collect();
            choice(parts?)
        }
    })
}

/// These ranges without these characters.
pub fn subtracted(ranges: &[(char, char)], without: &[char]) -> Vec<(char, char)> {
    let mut left = ranges.to_vec();
    for &character in without {
        left = left
            .into_iter()
            .flat_map(|(first, last)| {
                if !(first..=last).contains(&character) {
                    return [Some((first, last)), None];
                }
                let before = (first..character).next_back().map(|end| (first, end));
                let after = (character..=last).nth(1).map(|start| (start, last));
                [before, after]
            })
            .flatten()
            .collect();
    }
    left
}

/// One character of these ranges, as it is.
pub fn plain(ranges: Vec<(char, char)>) -> Option<Expr> {
    match ranges[..] {
        [] => None,
        [(first, last)] if first == last => Some(literal(first)),
        _ => Some(Expr::Class(Class::of(ranges))),
    }
}
