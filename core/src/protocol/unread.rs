//! What becomes of a block that gives no calls, and which calls may be made.

use super::tools::Tools;

/// What becomes of a block that gives no calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unread {
    /// It is reported ([`Event::Error`](super::Event::Error)).
    #[default]
    Reported,
    /// It is text of the answer, as the model wrote it, and so is a block with a call that may not be made. Nothing is
    /// reported but an answer that was cut.
    Text(Callable),
}

/// Which tools may be called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Callable {
    /// Any.
    #[default]
    Any,
    /// Those that the reader was given ([`Options::tools`](super::Options::tools)).
    Declared,
    /// The one with this name, a canonical JSON string.
    Only(String),
    /// None.
    Nothing,
}

impl Callable {
    /// Whether the tool with this name, a canonical JSON string, may be called.
    #[doc(hidden)]
    #[must_use]
    pub fn allows(&self, name: &str, tools: Option<&Tools>) -> bool {
        match self {
            Self::Any => true,
            Self::Declared => tools.is_some_and(|tools| tools.schema(name).is_some()),
            Self::Only(tool) => name == tool,
            Self::Nothing => false,
        }
    }
}
