//! Finds out, from its chat template, which dialect a model was taught.
//!
//! The template is rendered with one tool, one call and one result, and each preset reads the output: what counts is what a
//! template does, never the model's name. Where it cannot be rendered, the marks in its text are searched.

mod bound;
mod conversation;
mod declared;
mod detected;
mod files;
mod functions;
mod gguf;
mod marks;
mod operations;
mod reading;
mod render;

use std::path::Path;
use std::sync::Arc;

use crate::dialect::Dialect;
use crate::dialect::presets::preset;

use declared::Declared;
pub use detected::Detected;
pub use files::{Source, SourceError};
use reading::Reading;
use render::{LONGEST_TEMPLATE, Rendered, render};

/// The dialect of the chat template in a file or a folder: a template, a `tokenizer_config.json`, a GGUF file, or a folder that
/// has one of these.
///
/// # Errors
/// There is no template, or it cannot be read.
pub fn detect_path(path: &Path) -> Result<Option<Detected>, SourceError> {
    let source = Source::read(path)?;
    Ok(detect(&source))
}

/// The dialect of a chat template; `None` if it writes calls as no preset reads them.
///
/// A template without calls has the dialect `hermes`, the most common one: small models understand its prompt
/// best. Marks of calls or results in its text count, the marks of its turns do not.
///
/// # Complexity
/// O(template + presets); rendering is bounded, whatever the template does.
#[must_use]
pub fn detect(source: &Source) -> Option<Detected> {
    let template = head(&source.template);
    match render(source) {
        Rendered::Calls(calls, declared) => Reading::best(template, &calls)
            .map(|reading| declared::worded(reading.detected(), &declared)),
        Rendered::Failed(_) | Rendered::NoCalls(_) if !knows_tools(template) => told(),
        Rendered::Refused(why) | Rendered::Failed(why) => marks::detect(template, Some(&why)),
        Rendered::NoCalls(declared) => marks::detect(template, None)
            .map(|detected| declared::worded(detected, &declared))
            .or_else(|| listed(&declared)),
    }
}

/// As much of a template as is read.
fn head(template: &str) -> &str {
    let mut end = template.len().min(LONGEST_TEMPLATE);
    while !template.is_char_boundary(end) {
        end -= 1;
    }
    &template[..end]
}

fn knows_tools(template: &str) -> bool {
    let template = template.to_ascii_lowercase();
    ["tool", "function"].iter().any(|word| template.contains(word))
}

/// The dialect of a model whose template may list tools, and writes no calls.
fn listed(declared: &Declared) -> Option<Detected> {
    let told = told()?;
    if matches!(declared, Declared::Nowhere) {
        return Some(told);
    }
    let mut listed = Detected {
        evidence: vec!["the template lists tools and writes no calls".into()],
        doubts: vec!["the calls that the model was taught are not in the template".into()],
        ..told
    };
    let Declared::At { text, .. } = declared else { return Some(listed) };
    let Some(open) = listed.dialect.calls.open.iter().find(|open| text.contains(&***open)) else {
        return Some(listed);
    };
    let name = &listed.dialect.name;
    listed.evidence.push(format!("what it says of tools has the mark {open} of {name}"));
    Some(declared::worded(listed, declared))
}

/// The dialect of a model that was taught no calls: in our own words, since no template gives any.
fn told() -> Option<Detected> {
    let mut dialect = Dialect::clone(&*preset("hermes")?);
    dialect.prompt.wording = None;
    Some(Detected {
        dialect: Arc::new(dialect),
        evidence: vec![
            "the template writes neither tools nor calls, so the dialect must be given".into(),
        ],
        doubts: vec!["the model may not have been taught calls at all".into()],
    })
}
