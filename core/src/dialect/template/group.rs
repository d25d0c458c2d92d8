//! Groups with a name: what they may hold.

use regex::Regex;
use regex_syntax::hir::{Hir, HirKind};

use super::error::{Read, TemplateError};

/// A group with a name.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub name: String,
    /// Matches all that the group does, and nothing else.
    whole: Regex,
    /// Whether the group holds as little as possible.
    is_lazy: bool,
}

/// The largest program for a group's pattern, in bytes.
const LARGEST: usize = 1 << 20;

impl Group {
    pub fn new(path: &str, name: &str, pattern: &Hir) -> Read<Self> {
        let whole = regex::RegexBuilder::new(&format!("\\A(?:{pattern})\\z"))
            .size_limit(LARGEST)
            .build()
            .map_err(|_| {
                TemplateError::new(
                    path,
                    format!("has a group `{name}` that is too large"),
                    "make it simpler, such as `\\w+`",
                )
            })?;
        let is_lazy =
            matches!(pattern.kind(), HirKind::Repetition(repetition) if !repetition.greedy);
        Ok(Self { name: name.into(), whole, is_lazy })
    }

    /// Whether the group may hold this.
    pub fn holds(&self, text: &str) -> bool {
        self.whole.is_match(text)
    }

    /// Whether what the group holds ends before the first `mark`.
    pub fn ends_before(&self, mark: &str) -> bool {
        self.is_lazy || !(self.holds(&format!("a{mark}")) || self.holds(&format!("a{mark}a")))
    }
}
