//! Which preset's marks are in the text of a template.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::detected::Detected;
use crate::dialect::presets::{names, preset};
use crate::dialect::{Body, Dialect};

/// The preset whose marks are in the template, if some are that few presets have, and one is around its calls or results: those
/// count before those of its models' templates. `failed` says why it was not rendered.
pub fn detect(template: &str, failed: Option<&str>) -> Option<Detected> {
    let found = names()
        .filter_map(preset)
        .filter(|dialect| !dialect.models.is_empty())
        .map(|dialect| {
            let own = weighed(&own_marks(&dialect), template);
            (own, weight(&dialect, template), dialect)
        })
        .filter(|(own, weight, dialect)| {
            *weight >= ENOUGH
                && (*own > 0 || marks_of(dialect).iter().any(|mark| is_of_calls(mark, template)))
        })
        .max_by_key(|(own, weight, _)| (*own, *weight));
    let (_, _, dialect) = found?;
    let marks = marks_of(&dialect);
    let marks = marks.into_iter().filter(|mark| is_rare(mark) && template.contains(mark));
    let marks = marks.take(5).collect::<Vec<_>>().join(" ");
    let evidence = vec![format!("the template has marks that few others have: {marks}")];
    let doubts = vec![match failed {
        Some(why) => format!("it was not rendered ({why})"),
        None => "rendered with one call, it does not write the call".into(),
    }];
    Some(Detected { dialect, evidence, doubts })
}

/// Whether a mark is in the template and not of turns, which say nothing of calls: other models of the family have them, too.
fn is_of_calls(mark: &str, template: &str) -> bool {
    ["tool", "function", "call"].iter().any(|word| mark.contains(word)) && template.contains(mark)
}

/// What a mark of ten characters weighs that no other preset has.
const ENOUGH: usize = 10 * ONE;
const ONE: usize = 1000;

/// How much of a dialect is in the text of a template: a mark weighs the more, the longer it is and the fewer presets have it.
pub fn weight(dialect: &Dialect, template: &str) -> usize {
    weighed(&marks_of(dialect), template)
}

fn weighed(marks: &[&str], template: &str) -> usize {
    let found = marks.iter().filter(|mark| template.contains(**mark));
    found.map(|mark| mark.len() * ONE / how_many_have(mark)).sum()
}

fn is_rare(mark: &str) -> bool {
    how_many_have(mark) <= 4
}

fn how_many_have(mark: &str) -> usize {
    static COUNTS: LazyLock<HashMap<String, usize>> = LazyLock::new(|| {
        let mut counts = HashMap::new();
        for dialect in names().filter_map(preset).filter(|dialect| !dialect.models.is_empty()) {
            for mark in marks_of(&dialect) {
                *counts.entry(mark.to_owned()).or_default() += 1;
            }
        }
        counts
    });
    COUNTS.get(mark).copied().unwrap_or(1).max(1)
}

/// The marks of a dialect and of its models' templates.
fn marks_of(dialect: &Dialect) -> Vec<&str> {
    let others = dialect.tokens.iter().chain(&dialect.turn_end);
    listed(own_marks(dialect).into_iter().chain(others.map(|mark| &**mark)))
}

/// The marks around calls and results.
fn own_marks(dialect: &Dialect) -> Vec<&str> {
    let heads = dialect.calls.bodies.iter().filter_map(|body| match body {
        Body::Head(head) => Some([&head.open, &head.close]),
        _ => None,
    });
    let results = dialect.results.iter().map(|marks| [&marks.open, &marks.close]);
    let blocks = dialect.calls.open.iter().chain(&dialect.calls.close);
    listed(blocks.chain(heads.flatten()).chain(results.flatten()).map(|mark| &**mark))
}

/// Each mark once, without those that any text may have.
fn listed<'m>(marks: impl Iterator<Item = &'m str>) -> Vec<&'m str> {
    let mut marks: Vec<_> = marks
        .map(str::trim)
        .filter(|mark| mark.len() > 4 && mark.contains(['<', '[', '|']))
        .collect();
    marks.sort_unstable();
    marks.dedup();
    marks
}
