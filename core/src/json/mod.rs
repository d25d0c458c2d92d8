//! JSON: in text that still grows, and in whole texts.
//!
//! [`Scanner`] keeps a position and a small state; asked for the next [`Token`] it reads on from there, or says
//! that it needs more text. [`GrowingObject`] reads one object so. `Cursor` reads of a whole text what its caller asks for, and
//! passes over the rest, as `Raw` values: the events of a stream have a dozen fields, of which two or three are read.
//!
//! All accept what Python's `json.loads` accepts, which is more than RFC 8259: `NaN`, `Infinity`, numbers of any size,
//! lone surrogates, and, as with `strict=False`, raw control characters.
//!
//! Invariant: no byte before the position is looked at again.

mod number;
mod object;
mod scanner;
mod string;
#[cfg(test)]
mod tests;
mod token;
mod whole;

pub use object::{FieldText, GrowingObject, ObjectFault};
pub use scanner::{Controls, Scanner, TrailingCommas};
pub use string::unescaped;
pub use token::{Container, Fault, FaultKind, Token};
pub use whole::lossy;
pub(crate) use whole::{Cursor, NotJson, Piece, Raw, pieces};
