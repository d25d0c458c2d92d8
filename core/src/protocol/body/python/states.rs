//! Where the reader of Python calls may be.

use std::ops::Range;

use super::quote::QuoteLookahead;
use super::words::Prefix;

/// What may come next between two units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Before everything.
    Start,
    /// A call, or the end of the list.
    CallOrClose,
    /// After a call in the list.
    BehindCall,
    /// After a call on its own line.
    NextLine,
    /// A keyword, or the end of the call.
    Argument,
    /// After the keyword that is here.
    Equals(Range<usize>),
    /// The value of a keyword or of a key.
    Value,
    /// An item of a list or tuple, or its end.
    ItemOrClose,
    /// A key of a dict, or its end.
    KeyOrClose,
    /// After a string, which may be a key.
    BehindString { is_key: bool },
    /// After a key.
    Colon,
    /// After a value.
    BehindValue,
    /// Anything: the item has been refused and is read only to find its end.
    Refused,
}

/// The unit that the position is inside of.
#[derive(Clone, Debug)]
pub(super) enum Unit {
    None,
    /// A name that begins here.
    Word(usize),
    /// A sign that is here.
    Sign(usize),
    /// A number that begins here, perhaps after a sign.
    Number {
        sign: Option<usize>,
        start: usize,
    },
    /// A string whose characters begin here.
    String(Quoted),
    /// A string whose next quote is being looked at.
    Quote(Quoted, QuoteLookahead),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Quoted {
    pub(super) start: usize,
    pub(super) quote: u8,
    pub(super) is_triple: bool,
    /// Whether it is joined to the string before it.
    pub(super) is_joined: bool,
    pub(super) prefix: Prefix,
}

/// An open bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bracket {
    /// Of the list of calls.
    Calls,
    /// Of a call.
    Call,
    List,
    /// Round brackets without a comma so far.
    Group,
    Tuple,
    Dict,
}

impl Bracket {
    pub(super) fn close(self) -> u8 {
        match self {
            Self::Calls | Self::List => b']',
            Self::Call | Self::Group | Self::Tuple => b')',
            Self::Dict => b'}',
        }
    }

    /// What may come after a value in it.
    pub(super) fn behind_value(self) -> &'static str {
        match self {
            Self::Calls | Self::List => "\",\" or \"]\"",
            Self::Call | Self::Group | Self::Tuple => "\",\" or \")\"",
            Self::Dict => "\",\" or \"}\"",
        }
    }
}
