//! Where a parser is in its text.

use super::super::advice::{BrokenBlock, MAX_REPORTS};
use super::super::block::BlockReader;
use super::super::grammar::{Grammar, Opening};
use super::super::limits::Limits;
use super::super::problem::Problem;
use super::super::report::{Report, Words};
use crate::dialect::{Body, Json, JsonShape, Unmarked};
use crate::json::Scanner;
use crate::text::{is_blank, prefix};

/// Whether the answer has begun, for dialects in which it may begin with a block without a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// It has not: so far the open run is this many bytes of space, and perhaps the beginning of a block.
    Space(usize, Lookahead),
    /// It does not begin with such a block, but perhaps with reasoning that one may follow.
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
    /// After a mark that counts only if the right text follows. The mark is at this byte of the open run.
    Perhaps(Perhaps, usize),
    /// In the head of a message, in the dialect of this number.
    Head(usize),
    /// In reasoning or results. In reasoning also the first mark there that would open a block, at the start of a line.
    Inside(usize, Option<String>),
    /// In what would be the span of this number if the mark that opens it were not in a fence: text of the answer.
    Quoted(usize),
    /// In a block of calls.
    Block(OpenBlock, Box<BlockReader>),
    /// In a broken block, in search of its end; with the problem, until it is reported.
    Broken(OpenBlock, Option<Problem>),
    /// A batch is complete, or the text has ended.
    Done,
}

/// A mark that counts only if the right text follows.
#[derive(Debug)]
pub(super) enum Perhaps {
    /// The mark of results with this number and length: an array must follow, or the closing mark.
    Array(usize, usize, Box<Scanner>),
    /// The mark of a block of calls: its number and its length.
    Block(usize, usize, Lookahead),
}

/// How much of the text after a mark has been looked at without a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lookahead {
    /// Up to where; `None` before the first look.
    pub(super) seen: Option<usize>,
    /// Whether it ends in space, so that more space decides nothing. Without this, a long run of space would be looked at
    /// again for every chunk.
    pub(super) ends_in_space: bool,
}

impl Lookahead {
    /// Whether `text`, all that follows so far, may decide more than at the last look.
    pub(super) fn may_decide(&mut self, text: &[u8]) -> bool {
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
    /// The length of the mark that opened it.
    pub(super) mark: usize,
}

impl OpenBlock {
    /// The block for a report.
    pub(super) fn broken<'g>(&self, grammar: &'g Grammar) -> BrokenBlock<'g> {
        BrokenBlock { words: grammar.words(self.opening.dialect, Words::new), mark: self.mark }
    }

    /// Whether it was taken for a block only because of a bracket; with this problem it is text. It is not, if the problem is
    /// in an object after one that is a call.
    pub(super) fn is_only_text(&self, grammar: &Grammar, problem: &Problem) -> bool {
        let dialect = &grammar.dialects[self.opening.dialect];
        let is_objects =
            |body: &Body| matches!(body, Body::Json(Json { shape: JsonShape::Objects(_), .. }));
        let is_later = problem.at > 0 && dialect.calls.bodies.iter().any(is_objects);
        self.opening.entry.is_none()
            && (dialect.unmarked == Unmarked::Anywhere || (problem.kind.is_of_shape() && !is_later))
    }
}

/// How far blocks were read that broke. What is in such a block is read again, since a block may begin there that is
/// complete: a value without an end holds all that follows it. If each block of a long text is like that, what follows the last
/// that may be read again belongs to it.
#[derive(Debug, Default)]
pub(super) struct Broke {
    /// The byte of the whole text up to which they were read.
    end: usize,
    /// How many bytes they had together, up to where they broke.
    read: usize,
}

impl Broke {
    /// Bytes that may be read again in every text, and how many for each byte of it besides: so the cost is linear.
    const FREE: usize = 16 << 20;
    const TIMES: usize = 16;

    /// A block broke that was read from the first to the second of these bytes. Whether what is in it may be read again.
    pub(super) fn add(&mut self, start: usize, end: usize) -> bool {
        self.end = self.end.max(end);
        self.read += end - start;
        self.read <= Self::FREE.saturating_add(Self::TIMES.saturating_mul(self.end))
    }

    /// Whether what is at this byte was read before.
    pub(super) fn covers(&self, at: usize) -> bool {
        at < self.end
    }
}

/// The malformed blocks of a text, each of which is reported, or counted.
#[derive(Debug, Default)]
pub(super) struct Reported {
    /// How many have their own report.
    count: usize,
    /// How many do not, and their text.
    more: usize,
    raw: Vec<u8>,
    /// The number of the dialect of the first of these.
    dialect: usize,
}

impl Reported {
    /// The report of a block with this problem: the first `length` bytes of `text`; `None` if there were too many before it.
    pub(super) fn malformed(
        &mut self,
        grammar: &Grammar,
        block: &OpenBlock,
        problem: &Problem,
        (text, length): (&[u8], usize),
    ) -> Option<Report> {
        if self.count < MAX_REPORTS {
            self.count += 1;
            return Some(block.broken(grammar).malformed(problem, text, length));
        }
        if self.more == 0 {
            self.dialect = block.opening.dialect;
        } else {
            self.raw.push(b'\n');
        }
        self.more += 1;
        self.raw.extend_from_slice(&text[..length]);
        None
    }

    /// The report of all blocks without one.
    pub(super) fn rest(&mut self, grammar: &Grammar) -> Option<Report> {
        let (more, raw) = (std::mem::take(&mut self.more), std::mem::take(&mut self.raw));
        (more > 0).then(|| grammar.words(self.dialect, Words::new).more_malformed(more, raw.into()))
    }
}

/// The part of a block that a report shows: as much as a block and its marks may have.
pub(super) fn raw<'t>(
    limits: &Limits,
    grammar: &Grammar,
    text: &'t [u8],
    block: &OpenBlock,
) -> &'t [u8] {
    let close = grammar.recovery[block.opening.dialect].longest;
    prefix(text, limits.max_block_bytes.saturating_add(block.mark + close))
}
