//! Calls and results back to text: as the model writes its calls, and as it reads results.
//!
//! A call that is written reads back as that call, and no text in it or in a result is a mark: see [`DialectMarks::inert`]. Forms
//! without escapes cannot hold every name and key; [`Renderer::can_write`] tells that before.

mod check;
mod compact;
mod results;
mod turn;

use std::borrow::Cow;
use std::sync::Arc;

use crate::dialect::{Body, Dialect, Inert, Json, JsonLayout};

use super::notation::json::{Strings, Style, push_json};
use super::notation::sink::Sink;
use super::notation::{Notation, calls, literal};
use super::{Text, Tools};

pub use super::notation::inert::marks_of;
pub use super::notation::json::{elements, members};
pub use super::notation::marks::{DialectMarks, Which};
pub use super::stored::ShownCall;
pub use check::Unwritable;
pub use results::{Returned, canonical_array, push_escaped, returned};
pub use turn::TurnPart;

/// Writes calls, turns and results in one dialect.
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

    /// The dialect that it writes in.
    #[doc(hidden)]
    #[must_use]
    pub fn dialect(&self) -> &Arc<Dialect> {
        self.notation.dialect()
    }

    /// Its marks.
    #[doc(hidden)]
    #[must_use]
    pub fn marks(&self) -> &DialectMarks {
        self.notation.marks()
    }

    /// Writes calls, with the marks of their blocks. `begins_answer` says whether the answer begins with them.
    ///
    /// # Complexity
    /// O(calls)
    #[must_use]
    pub fn calls(&self, calls: &[ShownCall], begins_answer: bool) -> Text {
        let mut sink = Sink::new(&self.notation);
        check::push_calls(&mut sink, self.dialect(), calls, begins_answer, None);
        Text::from(sink.out)
    }

    /// Writes calls as they are, for a reader that knows these tools; without any, for one that knows a tool for each call, whose
    /// arguments have exactly the types of the call's.
    ///
    /// # Errors
    /// The dialect cannot hold a call: it would be read as another, or as none.
    ///
    /// # Complexity
    /// O(calls)
    pub fn exactly(
        &self,
        calls: &[ShownCall],
        begins_answer: bool,
        tools: Option<&Arc<Tools>>,
    ) -> Result<Text, Unwritable> {
        check::exactly(&self.notation, calls, begins_answer, tools).map(Text::from)
    }

    /// Gives an id to each call that lacks one, if the dialect needs ids. `first` is the number of the first of these calls in the
    /// conversation.
    pub fn give_ids(&self, calls: &mut [ShownCall], first: usize) {
        calls::give_ids(self.dialect(), calls, first);
    }

    /// Writes a turn of the model; `None` if nothing of it is shown. Thoughts are left out if the dialect has no marks for them.
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

    /// Writes a call with placeholders as its name and its argument.
    #[doc(hidden)]
    #[must_use]
    pub fn example(&self) -> String {
        calls::example(&self.notation)
    }

    /// Writes a turn of the model as an example: its JSON is on one line.
    #[doc(hidden)]
    #[must_use]
    pub fn example_turn(&self, parts: &[TurnPart<'_>]) -> String {
        let mut dialect = Dialect::clone(self.dialect());
        dialect.calls.layout.json = JsonLayout::Compact;
        let mut sink = Sink::new(&self.notation);
        turn::push_turn(&mut sink, &dialect, parts);
        Text::from(sink.out).to_string()
    }

    /// Writes an answer; `None` if the dialect has answers in plain text, not in JSON.
    #[doc(hidden)]
    #[must_use]
    pub fn answer(&self, thought: &str, answer: &str) -> Option<String> {
        let Some(Body::Json(Json { decision: Some(decision), .. })) =
            self.dialect().calls.bodies.first()
        else {
            return None;
        };
        let mut out = Vec::new();
        let strings = Strings::Readable(Some(self.marks()));
        let style = Style { layout: JsonLayout::Compact, strings };
        calls::push_answer(&mut out, style, decision, thought.as_bytes(), answer.as_bytes());
        Some(Text::from(out).to_string())
    }

    /// Writes canonical JSON with readable characters, and with the marks in its strings made harmless.
    #[doc(hidden)]
    #[must_use]
    pub fn json(&self, json: &str, layout: JsonLayout) -> String {
        let mut out = Vec::new();
        let style = Style { layout, strings: Strings::Readable(Some(self.marks())) };
        push_json(&mut out, json, style, 0);
        Text::from(out).to_string()
    }

    /// Writes canonical JSON without spaces, with readable characters and with its marks made harmless. If UTF-8 cannot encode a
    /// character, all characters outside ASCII are escaped.
    ///
    /// # Complexity
    /// O(json)
    #[doc(hidden)]
    #[must_use]
    pub fn compact(&self, json: &str) -> Text {
        compact::compact(json, Some(self.marks())).into()
    }

    /// The same, with its marks as they are.
    #[doc(hidden)]
    #[must_use]
    pub fn compact_as_is(&self, json: &str) -> Text {
        compact::compact(json, None).into()
    }

    /// Writes a canonical JSON object as `{key:value,…}` with `mark` around strings.
    #[doc(hidden)]
    #[must_use]
    pub fn braces(&self, json: &str, mark: &str) -> String {
        let mut sink = Sink::new(&self.notation);
        literal::push_braces(&mut sink, json, mark);
        Text::from(sink.out).to_string()
    }

    /// Writes canonical JSON as a Python literal.
    #[doc(hidden)]
    #[must_use]
    pub fn python(&self, json: &str) -> String {
        let mut sink = Sink::new(&self.notation);
        literal::push_python(&mut sink, json);
        Text::from(sink.out).to_string()
    }

    /// Writes text from outside, with its marks made harmless.
    #[doc(hidden)]
    #[must_use]
    pub fn words(&self, text: &str) -> String {
        Text::from(self.outside(text.as_bytes())).to_string()
    }

    /// Text from outside as a message shows it: see [`DialectMarks::inert`].
    #[doc(hidden)]
    #[must_use]
    pub fn outside<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        match self.dialect().prompt.inert {
            Inert::Joined => self.marks().inert(text),
            Inert::Kept => Cow::Borrowed(text),
        }
    }

    /// What the model wrote, as a message shows it: see [`DialectMarks::inert_turn`].
    #[doc(hidden)]
    #[must_use]
    pub fn written<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        match self.dialect().prompt.inert {
            Inert::Joined => self.marks().inert_turn(text),
            Inert::Kept => Cow::Borrowed(text),
        }
    }

    /// Writes results as the array that the log holds, with no `<` and no mark in its strings. Text that is not JSON is text from
    /// outside like any other.
    ///
    /// # Complexity
    /// O(array)
    #[doc(hidden)]
    #[must_use]
    pub fn array(&self, array: &[u8]) -> Text {
        let mut sink = Sink::new(&self.notation);
        results::push_array(&mut sink, array);
        Text::from(sink.out)
    }

    /// Whether the call reads back as it is in this dialect, by a reader that knows a tool whose arguments have exactly these
    /// types.
    ///
    /// Only forms without escapes cannot hold every call. They cannot hold a name or a key with a mark in it or with space at its
    /// ends, nor text with what ends it where that is made of its key. Python cannot hold `NaN`, nor a name that
    /// is not a name in Python.
    ///
    /// # Complexity
    /// O(call)
    #[doc(hidden)]
    #[must_use]
    pub fn can_write(&self, call: &ShownCall) -> bool {
        check::can_write(&self.notation, call)
    }
}
