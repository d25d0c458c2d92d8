//! Where a parser is in its text.

use super::super::block::BlockReader;
use super::super::grammar::{Grammar, Opening};
use super::super::json::Scanner;
use super::super::limits::Limits;
use super::super::problem::Problem;
use super::super::text::{is_blank, prefix};
use crate::dialect::{Dialect, Unmarked};

/// Whether the answer has begun, for dialects in which its first thing may be a block without a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// It has not: the open run is so many bytes of space, and something that may be more.
    Space(usize, Lookahead),
    /// It begins with something else, which may be reasoning.
    Else,
    /// It has begun.
    Past,
}

/// How far the open run was handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenRun {
    /// Not at all: it begins with whitespace, at least this many bytes.
    Blank(usize),
    /// In part, so that the rest of it counts even if it is blank.
    Shown,
}

/// What the model has written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Nothing,
    Something,
    /// The mark that says that it is done.
    End,
}

/// What the text is at the place where it is read.
#[derive(Debug)]
pub(super) enum State {
    /// Outside every block.
    Text,
    /// Behind a mark that is one only if the right thing follows. It stands at this byte of the open run.
    Perhaps(Perhaps, usize),
    /// In the head of a message, in the dialect of this number.
    Head(usize),
    /// In reasoning or results; in reasoning, whether what would open a block stands there at the start of a line.
    Inside(usize, Option<String>),
    /// In a block of calls.
    Block(OpenBlock, Box<BlockReader>),
    /// In a block that is broken, in search of its end; the problem is there until it is reported.
    Broken(OpenBlock, Option<Problem>),
    /// A batch is complete, or the text has ended.
    Done,
}

/// A mark that is one only if the right thing follows.
#[derive(Debug)]
pub(super) enum Perhaps {
    /// Of a span of results, behind a mark of so many bytes: an array, or nothing at all.
    Array(usize, usize, Box<Scanner>),
    /// Of a block of calls: the number of the mark, and its length.
    Block(usize, usize, Lookahead),
}

/// How much of what follows a place has been looked at in vain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lookahead {
    /// Up to where; `None` before the first look.
    pub(super) seen: Option<usize>,
    /// Whether the last of it was space, so that more space changes nothing. Without this a flood of it would be looked at
    /// again and again.
    pub(super) ends_in_space: bool,
}

impl Lookahead {
    /// Whether what follows, all of which is `text`, may say more than it did.
    pub(super) fn says_more(&mut self, text: &[u8]) -> bool {
        let seen = self.seen.replace(text.len());
        let new = &text[seen.unwrap_or(0)..];
        if new.is_empty() {
            return seen.is_none();
        }
        let was_space = std::mem::replace(&mut self.ends_in_space, is_blank(new));
        seen.is_none() || !was_space || !self.ends_in_space
    }
}

/// A block that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenBlock {
    pub(super) opening: Opening,
    /// How long the mark is that opened it.
    pub(super) mark: usize,
}

impl OpenBlock {
    /// The dialect it is written in.
    pub(super) fn of<'g>(&self, grammar: &'g Grammar) -> (&'g Dialect, usize) {
        (&grammar.dialects[self.opening.dialect], self.mark)
    }

    /// Whether nothing but a bracket says that it is a block, so that it is text with such a problem.
    pub(super) fn is_only_text(&self, grammar: &Grammar, problem: &Problem) -> bool {
        let unmarked = grammar.dialects[self.opening.dialect].unmarked;
        self.opening.entry.is_none()
            && (unmarked == Unmarked::Anywhere || problem.kind.is_of_shape())
    }
}

/// As much of a block as is kept to show what is wrong with it: as long as a block and its marks may be.
pub(super) fn raw<'t>(
    limits: &Limits,
    grammar: &Grammar,
    text: &'t [u8],
    block: &OpenBlock,
) -> &'t [u8] {
    let close = grammar.recovery[block.opening.dialect].longest;
    prefix(text, limits.max_block_bytes.saturating_add(block.mark + close))
}
