//! The keyword `pattern`, in time that is bounded whatever the pattern and the text.
//!
//! Most patterns are matched in linear time. A pattern with look-around or a back-reference, which many schemas have, cannot
//! be: such a search is given up after a number of steps, and then the text counts as not matching.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jsonschema::json::Node;
use jsonschema::paths::Location;
use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Value as Schema};

use super::shown::cut;
use super::value::{ValueJson, ValueNode};

pub struct Pattern {
    written: String,
    engine: Engine,
}

enum Engine {
    Linear(regex::Regex),
    /// A step may read the whole text once, so a long text has fewer steps.
    Stepwise {
        short: fancy_regex::Regex,
        long: fancy_regex::Regex,
    },
}

impl Engine {
    /// Bytes of a short text.
    const SHORT: usize = 10_000;
    /// Steps back in a search of a short text, and of a long one.
    const MOST_STEPS: (usize, usize) = (10_000, 100);

    fn of(written: &str) -> Option<Self> {
        let pattern: Cow<'_, str> = jsonschema_regex::to_rust_regex(written).ok()?;
        if let Ok(linear) = regex::Regex::new(&pattern) {
            return Some(Self::Linear(linear));
        }
        let stepwise =
            |steps| fancy_regex::RegexBuilder::new(&pattern).backtrack_limit(steps).build().ok();
        let (short, long) = Self::MOST_STEPS;
        Some(Self::Stepwise { short: stepwise(short)?, long: stepwise(long)? })
    }

    fn search(&self, text: &str) -> Match {
        let found = match self {
            Self::Linear(regex) => return Match::of(regex.is_match(text)),
            Self::Stepwise { short, .. } if text.len() <= Self::SHORT => short.is_match(text),
            Self::Stepwise { long, .. } => long.is_match(text),
        };
        found.map_or(Match::GivenUp, Match::of)
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
    pub fn keyword<'a>(
        _: &'a Map<String, Schema>,
        value: &'a Schema,
        _: Location,
    ) -> Result<Box<dyn for<'i> Keyword<'i, ValueJson>>, ValidationError<'a>> {
        let written = value.as_str().unwrap_or_default().to_owned();
        match Engine::of(&written) {
            Some(engine) => Ok(Box::new(Self { written, engine })),
            None => Err(ValidationError::custom("it is not a pattern that can be used")),
        }
    }

    fn search(&self, node: ValueNode<'_>) -> Match {
        let Some(text) = node.as_string() else { return Match::Found };
        // The engines are known to panic on some rare patterns.
        let search = AssertUnwindSafe(|| self.engine.search(&text));
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
