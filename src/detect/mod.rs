//! Which dialect a model was taught, told from its chat template.
//!
//! The template is rendered with one tool, one call and one result, and each preset reads what it wrote: what counts is what a
//! template does, never what a model is called. Where it cannot be rendered, the marks in its text are looked for.

mod conversation;
mod declared;
mod detected;
mod files;
mod functions;
mod gguf;
mod marks;
mod reading;
mod render;

use std::path::Path;
use std::sync::Arc;

use crate::dialect::Dialect;
use crate::dialect::presets::preset;

pub use detected::Detected;
pub use files::{Source, SourceError};
use reading::Reading;
use render::{Rendered, render};

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
/// A template that knows no tools has the dialect `hermes`, whose models are the most: what is told of it in a prompt, small
/// models understand best.
///
/// # Complexity
/// O(template + presets); rendering is bounded, whatever the template does.
#[must_use]
pub fn detect(source: &Source) -> Option<Detected> {
    match render(source) {
        Rendered::Calls(calls, declared) => Reading::best(&source.template, &calls)
            .map(|reading| declared::worded(reading.detected(), &declared)),
        _ if !knows_tools(&source.template) => told(),
        Rendered::NoCalls(declared) => marks::detect(&source.template, None)
            .map(|detected| declared::worded(detected, &declared))
            .or_else(told),
        Rendered::Failed(why) => marks::detect(&source.template, Some(&why)),
    }
}

fn knows_tools(template: &str) -> bool {
    ["tool", "function"].iter().any(|word| template.contains(word))
}

/// What is told to a model that was taught no calls: in our words, since no template's are its own.
fn told() -> Option<Detected> {
    let mut dialect = Dialect::clone(&*preset("hermes")?);
    dialect.prompt.wording = None;
    Some(Detected {
        dialect: Arc::new(dialect),
        evidence: vec![
            "the template writes neither tools nor calls, so that the dialect has to be told"
                .into(),
        ],
        doubts: vec!["the model was perhaps taught no calls at all".into()],
    })
}
