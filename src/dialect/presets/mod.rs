//! The dialects that models were taught, by name: a row for each.

mod forms;
mod glm;
mod json;
mod named;
mod others;
mod tags;

use std::sync::{Arc, LazyLock, OnceLock};

use super::Dialect;
use crate::protocol::Grammar;

/// The dialect of this name.
#[must_use]
pub fn preset(name: &str) -> Option<Arc<Dialect>> {
    ROWS.iter().find(|row| row.name == name).cloned()
}

/// The names of all of them, in the order of the table.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| &*row.name)
}

/// The grammar of the dialect of this name, which is made once.
#[must_use]
pub fn grammar(name: &str) -> Option<Arc<Grammar>> {
    static GRAMMARS: LazyLock<Vec<OnceLock<Arc<Grammar>>>> =
        LazyLock::new(|| ROWS.iter().map(|_| OnceLock::new()).collect());
    let number = ROWS.iter().position(|row| row.name == name)?;
    let grammar = || Arc::new(Grammar::new(vec![Arc::clone(&ROWS[number])]));
    Some(Arc::clone(GRAMMARS[number].get_or_init(grammar)))
}

/// cogency's own.
///
/// # Panics
/// Never: it is the first of the table.
#[must_use]
pub fn cogency() -> Arc<Grammar> {
    grammar("cogency").expect("the first of the table")
}

static ROWS: LazyLock<Vec<Arc<Dialect>>> =
    LazyLock::new(|| rows().into_iter().map(Arc::new).collect());

/// The table. What a row does not name is as in `forms::dialect`.
fn rows() -> Vec<Dialect> {
    let mut rows = [json::rows(), named::rows(), tags::rows(), others::rows()].concat();
    rows.iter_mut().for_each(Dialect::stop_at_its_end);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut all: Vec<_> = names().collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
