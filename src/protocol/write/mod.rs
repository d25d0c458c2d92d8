//! Calls and results back to text: as the model writes its calls, and as it reads results.
//!
//! What is written of a call reads back as that call. Some forms cannot hold every text, because they have no escapes: there
//! a mark that would be read gets a character reference in the place of its first character, and [`Renderer::can_write`]
//! says so beforehand.

mod calls;
mod head;
mod json;
mod literal;
mod marks;
mod results;
mod sink;
mod turn;
mod xml;

use std::sync::Arc;

use crate::dialect::Dialect;

use super::Text;
use super::call::Call;
use sink::Sink;

pub use marks::Marks;
pub use results::{Returned, returned};
pub use turn::Part;

/// A call as it is to be written. All texts are canonical JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The tool's name, a string.
    pub name: String,
    /// The arguments, an object.
    pub args: String,
    /// The call's id, a string.
    pub id: Option<String>,
    /// The server that it goes to, a string.
    pub server: Option<String>,
}

impl From<&Call> for Shown {
    fn from(call: &Call) -> Self {
        let [name, args] = [call.name_json(), call.args_json()].map(str::to_owned);
        let [id, server] = [call.id_json(), call.server_json()].map(|text| text.map(str::to_owned));
        Self { name, args, id, server }
    }
}

/// Writes what a dialect says.
#[derive(Clone, Debug)]
pub struct Renderer {
    dialect: Arc<Dialect>,
    marks: Marks,
}

impl Renderer {
    /// A renderer of this dialect.
    #[must_use]
    pub fn new(dialect: Arc<Dialect>) -> Self {
        let marks = Marks::new(&dialect);
        Self { dialect, marks }
    }

    /// The dialect that it writes.
    #[must_use]
    pub fn dialect(&self) -> &Arc<Dialect> {
        &self.dialect
    }

    /// Writes calls, with the marks of their blocks. `begins_answer` says whether they are the first thing of an answer.
    ///
    /// # Complexity
    /// O(calls)
    #[must_use]
    pub fn calls(&self, calls: &[Shown], begins_answer: bool) -> Text {
        let mut sink = Sink::new(&self.marks);
        calls::push_calls(&mut sink, &self.dialect, calls, begins_answer, None);
        Text::from(sink.out)
    }

    /// Gives calls the ids that the dialect must have and they lack. `first` is the number of the first of them in the
    /// conversation.
    pub fn give_ids(&self, calls: &mut [Shown], first: usize) {
        calls::give_ids(&self.dialect, calls, first);
    }

    /// Writes a turn of the model. Thoughts are left out where the dialect has no marks for them.
    ///
    /// # Complexity
    /// O(turn)
    #[must_use]
    pub fn turn(&self, parts: &[Part]) -> Text {
        let mut sink = Sink::new(&self.marks);
        turn::push_turn(&mut sink, &self.dialect, parts);
        Text::from(sink.out)
    }

    /// Writes what a batch returned, each result in its frame.
    ///
    /// # Complexity
    /// O(results)
    #[must_use]
    pub fn results(&self, results: &[Returned]) -> Text {
        let mut sink = Sink::new(&self.marks);
        results::push_results(&mut sink, &self.dialect, results);
        Text::from(sink.out)
    }

    /// Whether this dialect can hold the call so that it reads back as it is.
    ///
    /// Only forms without escapes cannot hold every one: names and keys that hold the mark behind them, or space at their
    /// ends; text that holds the mark that ends it, with one behind that may stand there.
    #[must_use]
    pub fn can_write(&self, call: &Shown) -> bool {
        let mut sink = Sink::new(&self.marks);
        calls::push_calls(&mut sink, &self.dialect, std::slice::from_ref(call), true, None);
        !sink.is_altered
    }
}
