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
    /// Whether its blocks have the line breaks of the preset.
    has_breaks: bool,
}

/// How well a dialect fits. Of two, the one with the greater [`rank`](Fit::rank) does.
#[derive(Clone, Copy)]
struct Fit {
    /// How much text is left after the call: the less, the better.
    left: Reverse<usize>,
    /// How it writes the call, next to the template.
    writes: Writes,
    /// Whether it has the template's marks around results.
    has_results: bool,
    /// How much of its marks is in the template; see [`weight`].
    weight: usize,
    /// Whether models were taught it.
    is_taught: bool,
}

impl Fit {
    /// White space counts less than the template's other marks: a preset may be of another version of its model.
    fn rank(&self) -> (Reverse<usize>, bool, bool, usize, bool, bool) {
        let Self { left, writes, has_results, weight, is_taught } = *self;
        let (is_so, is_exact) = (writes != Writes::Otherwise, writes == Writes::Exactly);
        (left, is_so, has_results, weight, is_exact, is_taught)
    }
}

/// How a dialect writes the call, next to the template. Some models have the marks of others, and no line breaks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writes {
    Otherwise,
    /// The same, but for white space.
    Spaced,
    Exactly,
}

impl Reading {
    /// The preset that reads one of these texts of a template best.
    pub fn best(template: &str, calls: &[Called]) -> Option<Self> {
        let mut best: Option<Self> = None;
        for name in names() {
            let Some(grammar) = Grammar::preset(name) else { continue };
            let weight = LazyCell::new(|| weight(&grammar.dialects[0], template));
            let fits = calls.iter().filter_map(|called| fit(&grammar, &weight, called));
            let Some(fit) = fits.max_by_key(Fit::rank) else { continue };
            match &mut best {
                Some(best) if best.fit.rank() > fit.rank() => {}
                Some(best) if best.fit.rank() == fit.rank() => best.equals.push(name.into()),
                _ => {
                    let dialect = Arc::clone(&grammar.dialects[0]);
                    best = Some(Self { dialect, fit, equals: Vec::new(), has_breaks: true });
                }
            }
        }
        best.map(|best| best.without_breaks(calls))
    }

    /// The same, if that is how the template writes the call; else without the line breaks within its blocks, if it is that.
    fn without_breaks(mut self, calls: &[Called]) -> Self {
        if self.fit.writes == Writes::Spaced {
            let mut bare = Dialect::clone(&self.dialect);
            for space in [&mut bare.calls.layout.open, &mut bare.calls.layout.close] {
                *space = space.trim().to_owned().into();
            }
            let bare = Arc::new(bare);
            let written = written(&bare);
            if calls.iter().any(|called| called.text.contains(written.trim())) {
                self.dialect = bare;
                self.has_breaks = false;
            }
        }
        self
    }

    /// The dialect with the reasons for it.
    pub fn detected(self) -> Detected {
        let Self { dialect, fit, equals, has_breaks } = self;
        let name = &dialect.name;
        let mut evidence =
            vec![format!("rendered with one tool and one call, {name} reads the call")];
        let mut doubts = Vec::new();
        let but = match fit.writes {
            Writes::Otherwise => None,
            Writes::Spaced if has_breaks => Some(", but for white space"),
            Writes::Spaced => Some(", but without line breaks, and so do prompts"),
            Writes::Exactly => Some(""),
        };
        evidence.extend(but.map(|but| format!("the template writes it as {name} does{but}")));
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
        writes: writes(dialect, &called.text),
        has_results: has_results(dialect, called),
        weight: **weight,
        is_taught: !dialect.models.is_empty(),
    })
}

/// Reads the call, and nothing before it. Returns how much text is left after it.
fn read(grammar: &Arc<Grammar>, text: &str) -> Option<usize> {
    let mut parser = Parser::new(Arc::clone(grammar), Options::default());
    let mut events = Vec::new();
    parser.feed(text, &mut events);
    parser.finish(&Ending::Stopped, &mut events);
    let (mut is_read, mut left) = (false, 0);
    for event in events {
        match event {
            Event::Call(call) => {
                let is_it =
                    call.name_json() == format!("\"{TOOL}\"") && same_args(call.arguments());
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
    let is_open = dialect.calls.open.iter().any(|open| text.contains(&**open));
    let close = dialect.calls.close.first().filter(|_| is_open);
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

fn writes(dialect: &Arc<Dialect>, text: &str) -> Writes {
    let written = written(dialect);
    match written.trim() {
        "" => Writes::Otherwise,
        call if text.contains(call) => Writes::Exactly,
        call if squeezed(text).contains(&squeezed(call)) => Writes::Spaced,
        _ => Writes::Otherwise,
    }
}

/// The call, as a dialect writes it.
fn written(dialect: &Arc<Dialect>) -> String {
    let call = ShownCall { name: format!("\"{TOOL}\""), args: ARGS.into(), id: None, server: None };
    let written = Renderer::new(Arc::clone(dialect)).calls(&[call], true);
    written.to_str().unwrap_or_default().to_owned()
}

fn has_results(dialect: &Dialect, called: &Called) -> bool {
    let Frame { before, behind } = &dialect.prompt.results.around;
    let [template_before, template_behind] = &called.around;
    let is_at = |mark: &str, text: &str| !mark.trim().is_empty() && text.contains(mark.trim());
    is_at(before, template_before) || is_at(behind, template_behind)
}
