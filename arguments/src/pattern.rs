//! The keyword `pattern`, in time that is bounded whatever the pattern and the text.
//!
//! Most patterns are matched in linear time. A pattern with look-around or a back-reference, which many schemas have, cannot
//! be: such a search is given up after a number of steps, and then the text counts as not matching.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

use jsonschema::json::Node;
use jsonschema::{Keyword, ValidationError};
use serde_json::Value as Schema;

use super::budget::Budget;
use super::shown::cut;
use super::value::{ValueJson, ValueNode};

/// How large the compiled patterns of a schema may be, in bytes.
///
/// A pattern of ten characters may compile to megabytes, so the more of them a schema has, the smaller each must be.
pub struct Sizes {
    /// Of one.
    pub most: usize,
}

impl Sizes {
    /// Of all of them, and of one.
    const ALL: usize = 64 << 20;
    const ONE: usize = 2 << 20;
    /// Bytes of all patterns as they are written.
    const WRITTEN: usize = 256 << 10;

    /// The sizes for the patterns of a schema.
    ///
    /// # Errors
    /// The patterns are too long.
    pub fn of(schema: &Schema) -> Result<Self, String> {
        let (mut count, mut written) = (1, 0);
        measure(schema, &mut count, &mut written);
        if written > Self::WRITTEN {
            return Err(format!(
                "its patterns have {written} bytes, but at most {} are read",
                Self::WRITTEN
            ));
        }
        Ok(Self { most: (Self::ALL / count).min(Self::ONE) })
    }
}

/// Counts what may be patterns, and their bytes.
fn measure(schema: &Schema, count: &mut usize, written: &mut usize) {
    match schema {
        Schema::Object(members) => {
            for (name, member) in members {
                let found = match (name.as_str(), member) {
                    ("pattern", Schema::String(pattern)) => vec![pattern],
                    ("patternProperties", Schema::Object(patterns)) => patterns.keys().collect(),
                    _ => Vec::new(),
                };
                *count += found.len();
                *written += found.iter().map(|pattern| pattern.len()).sum::<usize>();
                measure(member, count, written);
            }
        }
        Schema::Array(items) => items.iter().for_each(|item| measure(item, count, written)),
        _ => {}
    }
}

pub struct Pattern {
    written: String,
    engine: Engine,
}

enum Engine {
    Linear(regex::Regex),
    /// A step may read the whole text once, so a long text is given up after the few steps of the first.
    Stepwise {
        few: fancy_regex::Regex,
        many: Box<LazyMany>,
    },
}

/// The same pattern for more steps, compiled when a search takes more than few.
type LazyMany = LazyLock<
    Option<fancy_regex::Regex>,
    Box<dyn FnOnce() -> Option<fancy_regex::Regex> + Send + Sync>,
>;

impl Engine {
    /// Bytes of a short text.
    const SHORT: usize = 10_000;
    /// Steps back in a search that most searches end in, and in one of a short text.
    const MOST_STEPS: (usize, usize) = (100, 10_000);
    /// What a step is counted as, in looks.
    const LOOKS: usize = 4;

    fn of(written: &str, most: usize) -> Option<Self> {
        let pattern: Cow<'_, str> = jsonschema_regex::to_rust_regex(written).ok()?;
        if let Ok(linear) = regex::RegexBuilder::new(&pattern).size_limit(most).build() {
            return Some(Self::Linear(linear));
        }
        let pattern = pattern.into_owned();
        let stepwise = move |steps| {
            let mut builder = fancy_regex::RegexBuilder::new(&pattern);
            builder.backtrack_limit(steps).delegate_size_limit(most).build().ok()
        };
        let (few, many) = Self::MOST_STEPS;
        let few = stepwise(few)?;
        Some(Self::Stepwise {
            few,
            many: Box::new(LazyLock::new(Box::new(move || stepwise(many)))),
        })
    }

    fn search(&self, text: &str, budget: &Budget) -> Match {
        if budget.is_spent() {
            return Match::Found;
        }
        budget.look(text.len() / Budget::CHARACTERS);
        let (few, many) = match self {
            Self::Linear(regex) => return Match::of(regex.is_match(text)),
            Self::Stepwise { few, many } => (few, many),
        };
        let (few_steps, many_steps) = Self::MOST_STEPS;
        budget.look(few_steps * Self::LOOKS);
        match few.is_match(text) {
            Ok(is_found) => Match::of(is_found),
            Err(_) if text.len() <= Self::SHORT => {
                budget.look(many_steps * Self::LOOKS);
                let found = (**many).as_ref().map(|many| many.is_match(text));
                found.and_then(Result::ok).map_or(Match::GivenUp, Match::of)
            }
            Err(_) => Match::GivenUp,
        }
    }
}

enum Match {
    Found,
    NotFound,
    GivenUp,
}

impl Match {
    fn of(is_found: bool) -> Self {
        if is_found { Self::Found } else { Self::NotFound }
    }
}

impl Pattern {
    /// Compiles the value of a `pattern`.
    ///
    /// # Errors
    /// It is not a pattern that can be compiled.
    pub fn keyword(
        value: &Schema,
        sizes: &Sizes,
    ) -> Result<Box<dyn for<'i> Keyword<'i, ValueJson>>, ValidationError<'static>> {
        let written = value.as_str().unwrap_or_default().to_owned();
        match Engine::of(&written, sizes.most) {
            Some(engine) => Ok(Box::new(Self { written, engine })),
            None => Err(ValidationError::custom("it is not a pattern that can be used")),
        }
    }

    fn search(&self, node: ValueNode<'_>) -> Match {
        let Some(text) = node.as_string() else { return Match::Found };
        // The engines are known to panic on some rare patterns.
        let search = AssertUnwindSafe(|| self.engine.search(&text, node.budget));
        catch_unwind(search).unwrap_or(Match::GivenUp)
    }
}

impl<'i> Keyword<'i, ValueJson> for Pattern {
    fn validate(&self, node: ValueNode<'i>) -> Result<(), ValidationError<'i>> {
        let problem = match self.search(node) {
            Match::Found => return Ok(()),
            Match::NotFound => "must match the pattern",
            Match::GivenUp => "takes too long to compare with the pattern",
        };
        Err(ValidationError::custom(format!("{problem} {}", cut(self.written.clone()))))
    }

    fn is_valid(&self, node: ValueNode<'i>) -> bool {
        matches!(self.search(node), Match::Found)
    }
}
