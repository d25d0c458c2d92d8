//! The dialects that models were taught, by name: a row for each.

mod forms;
mod glm;
mod json;
mod named;
mod others;
mod tags;

use std::sync::{Arc, LazyLock};

use super::Dialect;

/// The dialect of this name.
#[must_use]
pub fn preset(name: &str) -> Option<Arc<Dialect>> {
    ROWS.iter().find(|row| row.name == name).cloned()
}

/// The names of all of them, in the order of the table.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| &*row.name)
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
