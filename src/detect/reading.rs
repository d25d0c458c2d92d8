//! Which preset reads the call that a template wrote.

use std::cell::LazyCell;
use std::cmp::Reverse;
use std::sync::Arc;

use super::conversation::{ARGS, TOOL};
use super::detected::Detected;
use super::marks::weight;
use super::render::Called;
use crate::dialect::presets::names;
use crate::dialect::{Dialect, Frame};
use crate::protocol::write::{Renderer, ShownCall};
use crate::protocol::{Ending, Event, Grammar, Options, Parser, Text};

/// A preset that reads the call, and how well it does.
pub struct Reading {
    dialect: Arc<Dialect>,
    fit: Fit,
    /// Others that read it as well as this one.
    equals: Vec<String>,
}

/// How well a dialect fits. Of two, the greater one does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    /// How much text is left after the call: the less, the better.
    left: Reverse<usize>,
    /// Whether it writes the call as the template does, but for white space.
    writes_so: bool,
    /// Whether it has the template's marks around results.
    has_results: bool,
    /// How much of its marks is in the template; see [`weight`].
    weight: usize,
    /// Whether models were taught it.
    is_taught: bool,
}

impl Reading {
    /// The preset that reads one of these texts of a template best.
    pub fn best(template: &str, calls: &[Called]) -> Option<Self> {
        let mut best: Option<Self> = None;
        for name in names() {
            let Some(grammar) = Grammar::preset(name) else { continue };
            let weight = LazyCell::new(|| weight(&grammar.dialects[0], template));
            let fits = calls.iter().filter_map(|called| fit(&grammar, &weight, called));
            let Some(fit) = fits.max() else { continue };
            match &mut best {
                Some(best) if best.fit > fit => {}
                Some(best) if best.fit == fit => best.equals.push(name.into()),
                _ => {
                    let dialect = Arc::clone(&grammar.dialects[0]);
                    best = Some(Self { dialect, fit, equals: Vec::new() });
                }
            }
        }
        best
    }

    /// The dialect with the reasons for it.
    pub fn detected(self) -> Detected {
        let Self { dialect, fit, equals } = self;
        let name = &dialect.name;
        let mut evidence =
            vec![format!("rendered with one tool and one call, {name} reads the call")];
        let mut doubts = Vec::new();
        if fit.writes_so {
            evidence.push(format!("the template writes it as {name} does"));
        }
        if fit.has_results {
            evidence.push(format!("it has the marks of {name} around results"));
        }
        if !equals.is_empty() {
            doubts.push(format!("{} read it as well", equals.join(", ")));
        }
        Detected { dialect, evidence, doubts }
    }
}

/// How well a dialect reads the text; `None` if it does not read the call.
fn fit(
    grammar: &Arc<Grammar>,
    weight: &LazyCell<usize, impl FnOnce() -> usize>,
    called: &Called,
) -> Option<Fit> {
    let dialect = &grammar.dialects[0];
    let left = read(grammar, &called.text)
        .or_else(|| closed(dialect, &called.text).find_map(|text| read(grammar, &text)))?;
    Some(Fit {
        left: Reverse(left),
        writes_so: writes_so(dialect, &called.text),
        has_results: has_results(dialect, called),
        weight: **weight,
        is_taught: !dialect.models.is_empty(),
    })
}

/// Reads the call, and nothing before it. Returns how much text is left after it.
fn read(grammar: &Arc<Grammar>, text: &str) -> Option<usize> {
    let mut parser = Parser::new(Arc::clone(grammar), Options::default());
    let mut events = Vec::new();
    parser.feed(text.as_bytes(), &mut events);
    parser.finish(&Ending::Stopped, &mut events);
    let (mut is_read, mut left) = (false, 0);
    for event in events {
        match event {
            Event::Call(call) => {
                let is_it =
                    call.name_json() == format!("\"{TOOL}\"") && same_args(call.args_json());
                if is_read || left > 0 || !is_it {
                    return None;
                }
                is_read = true;
            }
            Event::Error(_) => return None,
            Event::Respond(text) | Event::Result(text) => left += visible(&text),
            _ => {}
        }
    }
    is_read.then_some(left)
}

/// Marks after a call at which its block may end.
const MOST_ENDS: usize = 16;

/// The text up to each mark after the call, with the end of its block: some templates leave that out.
fn closed<'t>(dialect: &'t Dialect, text: &'t str) -> impl Iterator<Item = String> + 't {
    let is_open = dialect.open.iter().any(|open| text.contains(&**open));
    let close = dialect.close.first().filter(|_| is_open);
    let first = text.rfind("Valparaiso").unwrap_or(text.len());
    let marks =
        text[first..].match_indices('<').map(move |(place, _)| first + place).take(MOST_ENDS);
    close
        .into_iter()
        .flat_map(move |close| marks.clone().map(move |end| format!("{}{close}", &text[..end])))
}

/// Whether arguments are those that were written, in any order; a form without types may make a text of the number.
fn same_args(json: &str) -> bool {
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    [ARGS.to_owned(), ARGS.replace('3', "\"3\"")].iter().any(|args| value(args) == value(json))
}

fn visible(text: &Text) -> usize {
    text.as_bytes().iter().filter(|byte| !byte.is_ascii_whitespace()).count()
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

fn writes_so(dialect: &Arc<Dialect>, text: &str) -> bool {
    let call = ShownCall { name: format!("\"{TOOL}\""), args: ARGS.into(), id: None, server: None };
    let written = Renderer::new(Arc::clone(dialect)).calls(&[call], true);
    let written = squeezed(written.to_str().unwrap_or_default());
    !written.is_empty() && squeezed(text).contains(&written)
}

fn has_results(dialect: &Dialect, called: &Called) -> bool {
    let Frame { before, behind } = &dialect.prompt.results.around;
    let [template_before, template_behind] = &called.around;
    let is_at = |mark: &str, text: &str| !mark.trim().is_empty() && text.contains(mark.trim());
    is_at(before, template_before) || is_at(behind, template_behind)
}
