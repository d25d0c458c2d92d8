//! What the marks of a grammar mean: outside blocks, and inside a stretch of reasoning or results.

use super::super::marks::Marks;
use super::super::run::TextRun;
use crate::dialect::Str;

/// What a mark means outside every block.
#[derive(Clone, Debug)]
pub enum Mark {
    /// It opens this span.
    Span(usize),
    /// It begins the head of a message, in the dialect of this number in `Grammar::heads`.
    Head(usize),
    /// It opens a block of calls: one of these, which the text after it tells apart.
    Block(Vec<Opening>),
    /// A block of calls without a mark may begin with it.
    Unmarked,
    /// The model says that it is done.
    End,
    /// The model's turn is over.
    TurnEnd,
    /// A message is over; the mark is left out.
    MessageEnd,
    /// It means nothing, and is left out.
    Ignored,
}

/// A way into a block of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The number of its dialect in the grammar.
    pub dialect: usize,
    /// What kind of mark it begins with.
    pub entry: Entry,
}

/// The kind of mark that a block begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The mark of the block itself.
    Block,
    /// The head of a call outside blocks, with the number of its body in the dialect.
    Call(usize),
    /// No mark: the body begins at once.
    None,
}

impl Entry {
    /// Whether the block begins without a mark.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Self::None
    }
}

/// A stretch of text that is not part of the answer.
#[derive(Debug)]
pub struct Span {
    /// The kind of text that it holds.
    pub run: TextRun,
    /// The mark that opens it; empty if a head does.
    pub open: Str,
    /// The mark that closes it, for messages; empty if any mark does.
    pub close: Str,
    /// Whether it begins only if a JSON array follows the mark.
    pub needs_array: bool,
    /// The search inside it. With `None` the search outside serves, and the mark that it finds is not part of the span.
    pub inside: Option<Marks>,
    /// What each mark of that search means.
    pub marks: Vec<Inner>,
}

/// What an answer opens its reasoning again with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reopened {
    /// The mark that opens the span of this number.
    Span(usize),
    /// Another mark, of this many bytes.
    Mark(usize),
    /// The head of a message.
    Head,
}

/// What a mark means inside a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inner {
    /// The span's end.
    Close,
    /// The span's end, and the beginning of something else.
    Next,
    /// The same, where the head of the dialect of this number lacks its mark: if a name and the end of the head follow.
    Recipient(usize),
    /// The model's turn is over.
    TurnEnd,
    /// A mark that would open a block of calls outside the span.
    Block,
    /// A mark that opens reasoning, in reasoning that the prompt has opened: what follows is in the span of this number.
    Open(usize),
}
