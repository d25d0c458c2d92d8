//! Reads JSON from text that is still growing.
//!
//! [`Scanner`] keeps a position and a small state; asked for the next [`Token`] it reads on from there, or says
//! that it needs more text. It accepts what Python's `json.loads` accepts, which is more than RFC 8259: `NaN`,
//! `Infinity`, numbers of any size, lone surrogates, and, as with `strict=False`, raw control characters.
//!
//! Invariant: no byte before the position is looked at again.

mod number;
mod object;
mod scanner;
mod string;
#[cfg(test)]
mod tests;
mod token;

pub use object::{FieldText, GrowingObject, ObjectFault};
pub use scanner::{Controls, Scanner, TrailingCommas};
pub use string::unescaped;
pub use token::{Container, Fault, FaultKind, Token};
