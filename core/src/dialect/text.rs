//! Text that a dialect is made of, and what each may be.

use std::borrow::Cow;

/// Text that is part of a dialect.
pub type Str = Cow<'static, str>;

/// What breaks a mark up: a word joiner, which has no width.
pub const JOINER: &str = "\u{2060}";

/// The longest mark, in bytes: as many are looked at again where one may have begun at the end of a chunk.
const LONGEST_MARK: usize = 512;
/// The most marks in one list: one search for all of them is made for each stretch of text that ends differently.
pub const MOST: usize = 64;
/// The most tokens, for all of which there is one search.
const MOST_TOKENS: usize = 1024;

/// What a text may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Anything.
    Text,
    /// Not empty.
    Word,
    /// A word that the reader looks for after white space, which it therefore does not begin with.
    Mark,
    /// A mark, or nothing.
    MarkOrNone,
    /// A word that a joiner can break up.
    Token,
    /// The name of an XML element.
    Element,
}

impl Kind {
    /// Whether the reader looks for it, in each stretch of text.
    pub fn is_read(self) -> bool {
        !matches!(self, Self::Text | Self::Token)
    }

    /// How many there may be in a list.
    pub fn most(self) -> usize {
        if self == Self::Token { MOST_TOKENS } else { MOST }
    }

    /// Why `text` is not of this kind.
    pub fn fault(self, text: &str) -> Option<String> {
        let is_spaced =
            text.starts_with(|first: char| first.is_whitespace() || first.is_ascii_control());
        let may_not_begin = || format!("must not begin with white space, got {text:?}");
        match self {
            Self::Text => None,
            Self::MarkOrNone if text.is_empty() => None,
            Self::Token if text.chars().nth(1).is_none() => {
                Some(format!("must have at least two characters, got {text:?}"))
            }
            Self::Token if text.contains(JOINER) => Some(format!(
                "must not hold a word joiner (U+2060), which breaks tokens up, got {text:?}"
            )),
            _ if text.is_empty() => Some("must not be empty".into()),
            _ if text.len() > LONGEST_MARK => {
                Some(format!("must have at most {LONGEST_MARK} bytes, got {}", text.len()))
            }
            Self::Mark | Self::MarkOrNone if is_spaced => Some(may_not_begin()),
            Self::Element
                if text
                    .contains(|each: char| each.is_whitespace() || "<>/&\"'=".contains(each)) =>
            {
                Some(format!("must be the name of an element, got {text:?}"))
            }
            Self::Word | Self::Mark | Self::MarkOrNone | Self::Token | Self::Element => None,
        }
    }
}
