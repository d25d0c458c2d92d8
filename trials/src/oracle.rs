//! What a block's reader says, chunk by chunk, to be compared. Not part of either design.

use std::sync::Arc;

use cogency_rs::dialect::{Dialect, presets};
use cogency_rs::protocol::block as core;
use cogency_rs::protocol::body::{Early, Scope};
use cogency_rs::protocol::event::Note;
use cogency_rs::protocol::grammar::Entry;
use cogency_rs::protocol::problem::Problem;
use cogency_rs::protocol::stored::ShownCall;
use cogency_rs::protocol::write::Renderer;
use cogency_rs::protocol::{Call, Ending, Event, Strictness, Tools};
use serde_json::json;

use crate::block;
use crate::item::Item;

/// What a reader says after one chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    More,
    Complete(usize, Result<Vec<Event>, Problem>),
    Broken(Problem),
    CutOff(Result<Vec<Event>, Problem>),
}

pub type Step = (Said, Vec<(usize, Note)>, Vec<Call>);

pub trait Block {
    fn new(dialect: Arc<Dialect>, entry: Entry, scope: Scope) -> Self;
    fn read(&mut self, text: &[u8]) -> Said;
    fn cut_off(&mut self, text: &[u8], ending: &Ending) -> Said;
    fn news(&mut self) -> (Vec<(usize, Note)>, Vec<Call>);
}

impl Block for core::BlockReader {
    fn new(dialect: Arc<Dialect>, entry: Entry, scope: Scope) -> Self {
        Self::new(dialect, entry, scope)
    }
    fn read(&mut self, text: &[u8]) -> Said {
        match self.read(text) {
            core::Progress::More => Said::More,
            core::Progress::Complete { end, events } => Said::Complete(end, events),
            core::Progress::Broken(problem) => Said::Broken(problem),
        }
    }
    fn cut_off(&mut self, text: &[u8], ending: &Ending) -> Said {
        self.end_text();
        Said::CutOff(self.cut_off(text, ending))
    }
    fn news(&mut self) -> (Vec<(usize, Note)>, Vec<Call>) {
        (self.notes().collect(), self.ready().collect())
    }
}

impl<I: Item> Block for block::BlockReader<I> {
    fn new(dialect: Arc<Dialect>, entry: Entry, scope: Scope) -> Self {
        Self::new(dialect, entry, scope)
    }
    fn read(&mut self, text: &[u8]) -> Said {
        match self.read(text) {
            block::Progress::More => Said::More,
            block::Progress::Complete { end, events } => Said::Complete(end, events),
            block::Progress::Broken(problem) => Said::Broken(problem),
        }
    }
    fn cut_off(&mut self, text: &[u8], ending: &Ending) -> Said {
        self.end_text();
        Said::CutOff(self.cut_off(text, ending))
    }
    fn news(&mut self) -> (Vec<(usize, Note)>, Vec<Call>) {
        (self.notes().collect(), self.ready().collect())
    }
}

/// What is said of a text that arrives in these chunks. Pieces that come at once are one.
pub fn trace<B: Block>(
    (dialect, entry, scope): &(Arc<Dialect>, Entry, Scope),
    text: &[u8],
    cuts: &[usize],
    ending: &Ending,
) -> Vec<Step> {
    let mut block = B::new(dialect.clone(), *entry, scope.clone());
    let mut steps = Vec::new();
    for &cut in cuts.iter().chain([&text.len()]) {
        let said = block.read(&text[..cut]);
        steps.push(step(&mut block, said));
        if steps.last().unwrap().0 != Said::More {
            return steps;
        }
    }
    let said = block.cut_off(text, ending);
    steps.push(step(&mut block, said));
    steps
}

fn step(block: &mut impl Block, said: Said) -> Step {
    let (notes, ready) = block.news();
    let mut merged: Vec<(usize, Note)> = Vec::new();
    for (number, note) in notes {
        match (merged.last_mut(), note) {
            (Some((last, Note::Args(args))), Note::Args(more)) if *last == number => {
                args.push_str(&more);
            }
            (_, note) => merged.push((number, note)),
        }
    }
    (said, merged, ready)
}

/// Ways of reading that differ in what is shown, and how closely.
pub fn scopes() -> Vec<Scope> {
    let tools = Arc::new(Tools::new([(
        "search".to_owned(),
        json!({"type": "object", "properties": {
            "q": {"type": "string"}, "n": {"type": "integer"}, "o": {"type": "object"},
            "l": {"type": "array"}, "b": {"type": ["boolean", "null"]}, "x": {}
        }}),
    )]));
    let mut all = Vec::new();
    for strictness in [Strictness::Strict, Strictness::Lenient] {
        for early in [Early::Nothing, Early::Shown, Early::Exact] {
            for tools in [None, Some(tools.clone())] {
                for refuses_repeated in [false, true] {
                    all.push(Scope {
                        strictness,
                        early,
                        tools: tools.clone(),
                        refuses_repeated,
                        starts_early: early == Early::Shown,
                        ..Scope::default()
                    });
                }
            }
        }
    }
    all
}

/// The text of a block of these calls, without its opening mark.
pub fn written(name: &str, calls: &[(&str, &str)]) -> Vec<u8> {
    let dialect = presets::preset(name).expect("a preset");
    let calls: Vec<ShownCall> = calls
        .iter()
        .map(|(name, args)| ShownCall {
            name: serde_json::to_string(name).unwrap(),
            args: (*args).into(),
            id: None,
            server: None,
        })
        .collect();
    let text = Renderer::new(dialect.clone()).calls(&calls, true);
    let bodies = dialect.calls.bodies.iter().filter_map(|body| match body {
        cogency_rs::dialect::Body::Head(head) => Some(&head.open),
        _ => None,
    });
    let open = dialect
        .calls
        .open
        .iter()
        .chain(bodies.filter(|_| name == "gemma4"))
        .find(|mark| text.as_bytes().starts_with(mark.as_bytes()));
    text.as_bytes()[open.expect("a mark").len()..].to_vec()
}
