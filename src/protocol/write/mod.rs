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
mod sink;
mod xml;

use std::sync::Arc;

use crate::dialect::Dialect;

use super::Text;
use super::call::Call;
use sink::Sink;

pub use marks::Marks;

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
        Self { name, args, id: None, server: None }
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
