//! A dialect, and what writing needs of it beside, made when it is first needed.

use std::sync::{Arc, OnceLock};

use super::super::grammar::Grammar;
use super::marks::DialectMarks;
use crate::dialect::Dialect;

/// What calls and results are written in.
#[derive(Clone, Debug)]
pub struct Notation {
    dialect: Arc<Dialect>,
    marks: OnceLock<DialectMarks>,
    grammar: OnceLock<Arc<Grammar>>,
}

impl Notation {
    pub fn new(dialect: Arc<Dialect>) -> Self {
        Self { dialect, marks: OnceLock::new(), grammar: OnceLock::new() }
    }

    pub fn dialect(&self) -> &Arc<Dialect> {
        &self.dialect
    }

    /// Every text that may be a mark of the dialect.
    pub fn marks(&self) -> &DialectMarks {
        self.marks.get_or_init(|| DialectMarks::new(&self.dialect))
    }

    /// What the dialect is read by.
    pub fn grammar(&self) -> &Arc<Grammar> {
        self.grammar.get_or_init(|| Arc::new(Grammar::new(vec![Arc::clone(&self.dialect)])))
    }
}
