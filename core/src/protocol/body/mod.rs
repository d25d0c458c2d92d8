//! What is in a block of calls: one reader for each shape. `item.rs` alone lists the readers.
//!
//! An *item* is what one reader reads: a JSON value, one call with its head, a list of Python calls, an XML element. The
//! block's reader reads items and the marks around them. All positions are bytes of the block's text after its opening
//! mark. That text is what it was at the last call, or longer; a reader does not look twice at what it has passed.

mod advance;
mod attribute;
mod braces;
mod calls;
mod fields;
mod found;
mod head;
mod item;
mod json;
mod line;
mod opening;
mod parameters;
mod python;
mod raw;
mod value;
mod xml;

use super::limits::Strictness;
use super::problem::Problem;

pub use braces::BracesReader;
pub use calls::{Calls, Early, Scope};
pub use fields::{CallParts, Fields};
pub use found::unexpected;
pub use head::HeadReader;
pub use item::{OpenItem, item_begins, item_begins_in_block, item_begins_unmarked};
pub use json::{JsonReader, closing_fence, opening_fence};
pub use opening::Forms;
pub use python::PythonReader;
pub use value::ValueMarks;
pub use xml::{XmlArgs, XmlReader};

/// A reader of one item.
pub trait ItemReader {
    /// The part of a dialect that says how the item is written.
    type Form;

    /// A reader of the item that begins at byte `start`.
    fn new(form: &Self::Form, start: usize, scope: &Scope) -> Self;

    /// Whether an item begins at the start of `text`, space before it passed over; `None` while that is not known.
    fn begins(form: &Self::Form, text: &[u8]) -> Option<bool>;

    /// The same, with a mistake that this reading forgives, too.
    fn begins_in_block(form: &Self::Form, text: &[u8], _: Strictness) -> Option<bool> {
        Self::begins(form, text)
    }

    /// The same where no mark opens a block.
    fn begins_unmarked(form: &Self::Form, text: &[u8]) -> Option<bool> {
        Self::begins(form, text)
    }

    /// Reads on; gives the byte after the item once it is complete. Its calls go to `calls`, and so does what is wrong
    /// with them where the item still has its own end ([`Calls::refuse`]).
    ///
    /// # Errors
    /// This cannot be an item of this form, and it has no end of its own. The reader must not be called again.
    fn read(
        &mut self,
        form: &Self::Form,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem>;

    /// The text ends here, in this item: takes it if nothing of it is missing but marks that close it.
    ///
    /// # Errors
    /// Something else is missing.
    fn cut_off(&mut self, form: &Self::Form, text: &[u8], calls: &mut Calls)
    -> Result<(), Problem>;
}
