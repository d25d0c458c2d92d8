//! The texts that a model may write, as a grammar for what holds it to one.
//!
//! A server such as llama.cpp takes a grammar and lets the model write nothing else. The grammar of a dialect and some tools is
//! made of what the reader of that dialect reads by: its marks, the form of its calls, and the schemas of the tools. So all that
//! it allows is read as calls of these tools, with arguments that fit.
//!
//! A [`CallGrammar`] is rules of a few kinds of [`Expr`]; [`CallGrammar::gbnf`] writes them as llama.cpp reads them. What a
//! grammar cannot say of a schema, it allows, and [`CallGrammar::widened`] lists that.
//!
//! | file | what it makes |
//! | --- | --- |
//! | `answer` | a whole answer: reasoning, text, blocks |
//! | `calls` | blocks and calls |
//! | `raw`, `values` | arguments and values, as each body writes them |
//! | `shape`, `merge` | what a JSON Schema allows |
//! | `text`, `number`, `pattern` | texts without marks, numbers within bounds, regular expressions |
//! | `gbnf` | the text of a grammar |

mod answer;
mod builder;
mod calls;
mod error;
mod expr;
mod gbnf;
mod merge;
mod number;
mod options;
mod pattern;
mod raw;
mod shape;
mod text;
mod values;

use serde_json::Value;

use crate::protocol::Grammar;
use builder::Builder;

pub use error::GrammarError;
pub use expr::{Class, Expr, Rule};
pub use options::{CallChoice, GrammarOptions, Parallel, Reasoning};

/// A grammar of the answers that a model may write.
#[derive(Clone, Debug)]
pub struct CallGrammar {
    rules: Vec<Rule>,
    widened: Vec<String>,
}

impl CallGrammar {
    /// The grammar of answers in the dialect that `grammar` writes, with calls of these tools: their names, and the JSON Schemas of
    /// their parameters.
    ///
    /// # Errors
    /// There is no such grammar; says why, and where.
    ///
    /// # Complexity
    /// O(tools)
    ///
    /// ```
    /// use cogency_rs::constrain::{CallGrammar, GrammarOptions};
    /// use cogency_rs::protocol::Grammar;
    ///
    /// let schema = serde_json::json!({"type": "object", "properties": {"seats": {"type": "array", "uniqueItems": true}}});
    /// let grammar = Grammar::preset("hermes").expect("a preset");
    /// let made = CallGrammar::new(&grammar, &[("book".into(), schema)], &GrammarOptions::default())?;
    /// assert!(made.gbnf().starts_with("root ::= "));
    /// assert_eq!(made.widened(), ["book.seats: uniqueItems"]);
    /// # Ok::<_, cogency_rs::constrain::GrammarError>(())
    /// ```
    pub fn new(
        grammar: &Grammar,
        tools: &[(String, Value)],
        options: &GrammarOptions,
    ) -> Result<Self, GrammarError> {
        let mut builder = Builder::new(grammar);
        let root = builder.rules.reserve("root");
        builder.add_tools(tools, &options.calls)?;
        let mut options = options.clone();
        if builder.tools.is_empty() {
            options.calls = CallChoice::None;
        }
        let answer = builder.answer(&options)?;
        builder.rules.set(root, answer);
        let mut widened = builder.shapes.widened;
        widened.sort_unstable();
        widened.dedup();
        Ok(Self { rules: builder.rules.finish(), widened })
    }

    /// Its rules; the first is what a whole answer is.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// What the grammar allows and the schemas do not: a tool, where in its parameters, and the keyword that is not held.
    #[must_use]
    pub fn widened(&self) -> &[String] {
        &self.widened
    }

    /// The grammar as llama.cpp reads it.
    ///
    /// # Complexity
    /// O(rules)
    #[must_use]
    pub fn gbnf(&self) -> String {
        gbnf::written(&self.rules)
    }
}
