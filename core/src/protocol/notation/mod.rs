//! How a dialect spells calls, JSON and its marks.
//!
//! What is written here is written as it is: text that a form without escapes cannot hold only makes the [`sink`] doubtful.
//! [`write`](super::write) asks the parser what such text reads back as, so this room must not know the parser.

pub mod calls;
pub mod head;
pub mod inert;
pub mod json;
pub mod literal;
pub mod marks;
pub mod name;
pub mod sink;
pub mod xml;

use std::sync::{Arc, OnceLock};

use super::grammar::Grammar;
use crate::dialect::{Dialect, Inert};
use marks::DialectMarks;

/// A dialect to write calls and results in, with what writing needs, made when it is first needed.
#[derive(Clone, Debug)]
pub struct Notation {
    dialect: Arc<Dialect>,
    marks: OnceLock<Arc<DialectMarks>>,
    grammar: OnceLock<Arc<Grammar>>,
}

impl Notation {
    pub fn new(dialect: Arc<Dialect>) -> Self {
        Self { dialect, marks: OnceLock::new(), grammar: OnceLock::new() }
    }

    pub fn dialect(&self) -> &Arc<Dialect> {
        &self.dialect
    }

    /// All texts that may be marks of the dialect.
    pub fn marks(&self) -> &DialectMarks {
        self.marks.get_or_init(|| inert::marks_of(&self.dialect))
    }

    /// Whether marks count in text from outside, as they do in cogency 3.3.0.
    pub fn keeps_marks(&self) -> bool {
        self.dialect.prompt.inert == Inert::Kept
    }

    /// The grammar that reads the dialect.
    pub fn grammar(&self) -> &Arc<Grammar> {
        self.grammar.get_or_init(|| Arc::new(Grammar::new(vec![Arc::clone(&self.dialect)])))
    }
}
