//! The patterns of a schema's `patternProperties`, each compiled when it is first needed and kept.
//!
//! To compile a pattern may take milliseconds, and a call may have a key for every few bytes of its text.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use regex::Regex;

/// The patterns of one or more schemas, by their text.
#[derive(Debug, Default)]
pub struct Patterns {
    /// `None` is a pattern that cannot be compiled.
    compiled: Mutex<HashMap<Box<str>, Option<Regex>>>,
}

impl Patterns {
    /// Whether a key of `patternProperties` matches this property. A pattern that takes more than linear time does not match.
    ///
    /// # Complexity
    /// O(`key`), after the first time.
    #[must_use]
    pub fn is_match(&self, pattern: &str, key: &str) -> bool {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(regex) = compiled.get(pattern) {
            return regex.as_ref().is_some_and(|regex| regex.is_match(key));
        }
        let regex = compiled.entry(pattern.into()).or_insert_with(|| compile(pattern));
        regex.as_ref().is_some_and(|regex| regex.is_match(key))
    }
}

fn compile(pattern: &str) -> Option<Regex> {
    let pattern = jsonschema_regex::to_rust_regex(pattern).ok()?;
    Regex::new(&pattern).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_compiled_once() {
        let patterns = Patterns::default();
        for (pattern, key, expected, kept) in [
            ("^n_", "n_1", true, 1),
            ("^n_", "x", false, 1),
            ("(?=a)", "a", false, 2),
            ("(?=a)", "b", false, 2),
            ("^\\p{L}+$", "é", true, 3),
        ] {
            assert_eq!(patterns.is_match(pattern, key), expected, "{pattern} and {key}");
            assert_eq!(patterns.compiled.lock().unwrap().len(), kept, "{pattern}");
        }
    }
}
