//! Calls and results back to text: as the model writes its calls, and as it reads results.
//!
//! What is written of a call reads back as that call. Some forms cannot hold every text, because they have no escapes: there
//! a mark that would be read gets a character reference in the place of its first character, and [`Renderer::can_write`]
//! says so beforehand.

mod check;
mod results;
mod turn;

use std::sync::Arc;

use crate::dialect::{Body, Dialect, Json, JsonLayout};

use super::Text;
use super::notation::json::{Strings, Style, push_json};
use super::notation::sink::Sink;
use super::notation::{Notation, calls, literal};

pub use super::notation::marks::DialectMarks;
pub use super::stored::ShownCall;
pub use results::{Returned, returned};
pub use turn::TurnPart;

/// Writes what a dialect says.
#[derive(Clone, Debug)]
pub struct Renderer {
    notation: Notation,
}

impl Renderer {
    /// A renderer of this dialect.
    #[must_use]
    pub fn new(dialect: Arc<Dialect>) -> Self {
        Self { notation: Notation::new(dialect) }
    }

    /// The dialect that it writes.
    #[must_use]
    pub fn dialect(&self) -> &Arc<Dialect> {
        self.notation.dialect()
    }

    /// Its marks.
    #[must_use]
    pub fn marks(&self) -> &DialectMarks {
        self.notation.marks()
    }

    /// Writes calls, with the marks of their blocks. `begins_answer` says whether they are the first thing of an answer.
    ///
    /// # Complexity
    /// O(calls)
    #[must_use]
    pub fn calls(&self, calls: &[ShownCall], begins_answer: bool) -> Text {
        let mut sink = Sink::new(&self.notation);
        check::push_calls(&mut sink, self.dialect(), calls, begins_answer, None);
        Text::from(sink.out)
    }

    /// Gives calls the ids that the dialect must have and they lack. `first` is the number of the first of them in the
    /// conversation.
    pub fn give_ids(&self, calls: &mut [ShownCall], first: usize) {
        calls::give_ids(self.dialect(), calls, first);
    }

    /// Writes a turn of the model; `None` where nothing of it is shown. Thoughts are left out where the dialect has no marks
    /// for them.
    ///
    /// # Complexity
    /// O(turn)
    #[must_use]
    pub fn turn(&self, parts: &[TurnPart<'_>]) -> Option<Text> {
        let mut sink = Sink::new(&self.notation);
        sink.out.reserve(parts.iter().map(TurnPart::size).sum());
        turn::push_turn(&mut sink, self.dialect(), parts).then(|| Text::from(sink.out))
    }

    /// Writes what a batch returned, each result in its frame.
    ///
    /// # Complexity
    /// O(results)
    #[must_use]
    pub fn results(&self, results: &[Returned]) -> Text {
        let mut sink = Sink::new(&self.notation);
        results::push_results(&mut sink, self.dialect(), results);
        Text::from(sink.out)
    }

    /// Writes a call with words in the place of its name and its arguments.
    #[must_use]
    pub fn example(&self) -> String {
        calls::example(&self.notation)
    }

    /// Writes an answer, where that is JSON.
    #[must_use]
    pub fn answer(&self, thought: &str, answer: &str) -> Option<String> {
        let Some(Body::Json(Json { decision: Some(decision), .. })) = self.dialect().bodies.first()
        else {
            return None;
        };
        let mut out = Vec::new();
        let strings = Strings::Readable(self.marks());
        let style = Style { layout: JsonLayout::Compact, strings };
        calls::push_answer(&mut out, style, decision, thought.as_bytes(), answer.as_bytes());
        Some(Text::from(out).to_string())
    }

    /// Writes canonical JSON with readable characters, in whose strings no mark stands.
    #[must_use]
    pub fn json(&self, json: &str, layout: JsonLayout) -> String {
        let mut out = Vec::new();
        let style = Style { layout, strings: Strings::Readable(self.marks()) };
        push_json(&mut out, json, style, 0);
        Text::from(out).to_string()
    }

    /// Writes a canonical JSON object as `{key:value,…}` with `mark` around strings.
    #[must_use]
    pub fn braces(&self, json: &str, mark: &str) -> String {
        let mut sink = Sink::new(&self.notation);
        literal::push_braces(&mut sink, json, mark);
        Text::from(sink.out).to_string()
    }

    /// Writes text in which no mark stands: the first character of each is a character reference.
    #[must_use]
    pub fn words(&self, text: &str) -> String {
        let mut sink = Sink::new(&self.notation);
        sink.push_referenced(text.as_bytes());
        Text::from(sink.out).to_string()
    }

    /// Whether this dialect can hold the call so that it reads back as it is, where the tool wants arguments of just their
    /// types.
    ///
    /// Only forms without escapes cannot hold every one: names and keys that hold a mark, or space at their ends; text that
    /// holds the mark that ends it, with what may follow that; and in Python, names that are none, and `NaN`.
    ///
    /// # Complexity
    /// O(call)
    #[must_use]
    pub fn can_write(&self, call: &ShownCall) -> bool {
        check::can_write(&self.notation, call)
    }
}
