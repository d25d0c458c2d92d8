//! Why a dialect is refused.

use std::error::Error;
use std::fmt::{self, Display};

/// Why a dialect is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialectError {
    /// The field that is wrong, as it is written in JSON: `calls[0].block`. Empty if it is about several.
    pub field: String,
    /// What is wrong with it.
    pub reason: String,
}

impl DialectError {
    pub(super) fn new(field: impl Display, reason: impl Into<String>) -> Self {
        Self { field: field.to_string(), reason: reason.into() }
    }
}

impl Display for DialectError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.field {
            "" => out.write_str(&self.reason),
            field => write!(out, "{field}: {}", self.reason),
        }
    }
}

impl Error for DialectError {}
