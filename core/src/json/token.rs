//! The tokens of JSON, and what may be wrong with text that should be JSON.

use std::ops::Range;

use thiserror::Error;

/// The kind of a bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// `[…]`
    Array,
    /// `{…}`
    Object,
}

/// One token of JSON. Ranges are bytes of the scanned text. Commas and colons are implied by the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// An opening bracket.
    Open(Container),
    /// The matching closing bracket.
    Close(Container),
    /// An object's key, with its quotes.
    Key(Range<usize>),
    /// A string, with its quotes.
    String(Range<usize>),
    /// A number.
    Number(Range<usize>),
    /// `null`, `true`, `false`, `NaN`, `Infinity` or `-Infinity`.
    Word(&'static str),
}

/// The words that are values.
pub const WORDS: [&str; 6] = ["null", "true", "false", "NaN", "Infinity", "-Infinity"];

/// Why the text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// Other text is found where a value is expected.
    #[error("expected a JSON value")]
    Value,
    /// Other text is found where an object's key is expected.
    #[error("expected a key in double quotes")]
    Key,
    /// Other text is found between a key and its value.
    #[error("expected ':' after the key")]
    Colon,
    /// Other text is found after an array's item.
    #[error("expected ',' or ']' after the item")]
    ArrayComma,
    /// Other text is found after an object's value.
    #[error("expected ',' or '}}' after the value")]
    ObjectComma,
    /// A sign, point or exponent without a digit.
    #[error("expected a digit")]
    Digit,
    /// A backslash before a character that it cannot escape.
    #[error("invalid escape in a string (a backslash is written \\\\)")]
    Escape,
    /// `\u` without four hexadecimal digits.
    #[error("expected four hexadecimal digits after \\u")]
    UnicodeEscape,
    /// A control character that is not escaped, under [`Controls::Escaped`](super::Controls::Escaped).
    #[error("control character in a string must be escaped")]
    Control,
    /// There is text after the value.
    #[error("expected nothing more after the JSON value")]
    Trailing,
    /// The text ended inside a string.
    #[error("the text ended inside a string that was opened")]
    EndedInString,
    /// The text ended before the value did.
    #[error("the text ended before the JSON was complete")]
    Ended,
}

/// What is wrong, and at which byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// At which byte.
    pub at: usize,
}
