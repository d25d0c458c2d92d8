//! Dialects prepared for reading: one search for all marks, and what each mark means.

mod begins;
mod heads;
mod mark;
mod preset;
mod quotes;
mod recovery;
mod table;

use std::sync::{Arc, OnceLock};

use super::body::{item_begins_in_block, item_begins_unmarked};
use super::limits::Strictness;
use super::marks::{Marks, Undecided, starts_with};
use super::report::Words;
use super::run::TextRun;
use crate::dialect::{Dialect, LoneMark, Str, Unmarked};
use crate::text::leading_space;
use begins::any;
use table::Table;

pub use begins::{may_be_empty, opens_itself};
pub use heads::{Addressee, Headed};
pub use mark::{Entry, Inner, Mark, Opening, Reopened, Span};
pub use quotes::{Fence, Quotations, is_quote};
pub use recovery::Recovery;

/// One dialect, or several that are read together.
#[derive(Debug)]
pub struct Grammar {
    /// The dialects; the first is the one that is written.
    pub dialects: Vec<Arc<Dialect>>,
    /// The search for marks outside blocks.
    #[doc(hidden)]
    pub outside: Marks,
    /// What each of its marks means.
    pub(crate) marks: Vec<Mark>,
    /// The stretches of reasoning and of results.
    pub(crate) spans: Vec<Span>,
    /// The number of the span that a prompt may have opened.
    #[doc(hidden)]
    pub reasoning: Option<usize>,
    /// The dialects whose answers are several messages, each with a head.
    pub(crate) heads: Vec<Headed>,
    /// Whether marks count only at the start of a line.
    pub(crate) at_line_start: bool,
    /// The blocks that may begin without a mark.
    pub(crate) unmarked: Vec<Opening>,
    /// For each dialect, where a block that could not be read ends.
    pub(crate) recovery: Vec<Recovery>,
    /// The marks at which a call may begin, or the answer end.
    turning: Vec<Str>,
    /// For each dialect, the words of reports, made for the first of them.
    words: Vec<OnceLock<Words>>,
}

impl Grammar {
    /// The grammar of these dialects; there must be at least one.
    #[must_use]
    pub fn new(dialects: Vec<Arc<Dialect>>) -> Self {
        let table = Table::new(&dialects);
        let outside = Marks::new(table.texts.iter().map(|text| text.as_bytes()));
        let recovery = dialects.iter().map(|dialect| Recovery::new(dialect)).collect();
        let unmarked = dialects.iter().enumerate();
        let unmarked = unmarked.filter(|(_, dialect)| dialect.unmarked != Unmarked::Never);
        let unmarked = unmarked.map(|(dialect, _)| Opening { dialect, entry: Entry::None });
        let unmarked: Vec<Opening> = unmarked.collect();
        let Table { texts, marks, spans, heads, prompted: reasoning, .. } = table;
        let turns = |mark: &Mark| match mark {
            Mark::Head(_) | Mark::Block(_) | Mark::Unmarked | Mark::End | Mark::TurnEnd => true,
            Mark::Span(_) | Mark::MessageEnd | Mark::Ignored => false,
        };
        let turning = texts.into_iter().zip(&marks).filter(|(_, mark)| turns(mark));
        let bare = ["{", "["].into_iter().filter(|_| !unmarked.is_empty()).map(Str::from);
        let turning = turning.map(|(text, _)| text).chain(bare).collect();
        let words = dialects.iter().map(|_| OnceLock::new()).collect();
        let at_line_start = dialects.iter().any(|dialect| dialect.at_line_start);
        Self {
            dialects,
            outside,
            marks,
            spans,
            reasoning,
            heads,
            at_line_start,
            unmarked,
            recovery,
            turning,
            words,
        }
    }

    /// The marks at which a call may begin, or the answer end: up to the first of them, an answer is text and reasoning.
    #[doc(hidden)]
    #[must_use]
    pub fn turning_marks(&self) -> &[Str] {
        &self.turning
    }

    /// The words of reports in the dialect of this number, which `make` makes once.
    #[doc(hidden)]
    #[must_use]
    pub fn words(&self, dialect: usize, make: fn(&Arc<Dialect>) -> Words) -> &Words {
        self.words[dialect].get_or_init(|| make(&self.dialects[dialect]))
    }

    /// The first of `openings` that can be followed by `text`; `None` if none can.
    ///
    /// # Errors
    /// It is not known before there is more text.
    #[doc(hidden)]
    pub fn opening<'o>(
        &self,
        openings: &'o [Opening],
        text: &[u8],
        strictness: Strictness,
    ) -> Result<Option<&'o Opening>, Undecided> {
        for opening in openings {
            match self.follows(opening, text, strictness) {
                Some(true) => return Ok(Some(opening)),
                Some(false) => {}
                None => return Err(Undecided),
            }
        }
        Ok(None)
    }

    /// The number in [`heads`](Self::heads) of the dialect in which `text` begins a head that lacks its mark; `None` if there is
    /// not one.
    ///
    /// # Errors
    /// It is not known before there is more text.
    #[doc(hidden)]
    pub fn headless(&self, text: &[u8]) -> Result<Option<usize>, Undecided> {
        for (number, headed) in self.heads.iter().enumerate() {
            let heads = self.dialects[headed.dialect].heads.as_ref();
            match heads.map(|heads| starts_with(text, &heads.recipient)) {
                Some(Some(true)) => return Ok(Some(number)),
                Some(None) => return Err(Undecided),
                Some(Some(false)) | None => {}
            }
        }
        Ok(None)
    }

    /// What the model opens its reasoning with at the start of `text`, although the prompt has opened it already; `None` if it
    /// does not.
    ///
    /// # Errors
    /// It is not known before there is more text.
    #[doc(hidden)]
    pub fn reopened(&self, text: &[u8]) -> Result<Option<Reopened>, Undecided> {
        let spans = self.spans.iter().enumerate();
        let spans = spans.filter(|(_, span)| span.run == TextRun::Think);
        let spans = spans.map(|(number, span)| (&span.open, Reopened::Span(number)));
        let dialects =
            self.heads.iter().filter_map(|headed| self.dialects[headed.dialect].heads.as_ref());
        let heads = dialects.flat_map(|heads| {
            let marks = heads.open.iter().chain([&heads.recipient]);
            let marks = marks.map(|mark| (mark, Reopened::Head));
            marks.chain([(&heads.end, Reopened::Mark(heads.end.len()))])
        });
        let mut longest: Option<(usize, Reopened)> = None;
        for (mark, reopened) in spans.chain(heads).filter(|(mark, _)| !mark.is_empty()) {
            match starts_with(text, mark) {
                Some(true) if longest.is_none_or(|(length, _)| length < mark.len()) => {
                    longest = Some((mark.len(), reopened));
                }
                Some(_) => {}
                None => return Err(Undecided), // one of two marks may begin with the other
            }
        }
        Ok(longest.map(|(_, reopened)| reopened))
    }

    /// Whether a mark that turns out to open none of these is left out of the text.
    #[doc(hidden)]
    #[must_use]
    pub fn leaves_out(&self, openings: &[Opening]) -> bool {
        openings.iter().any(|opening| {
            let lone_mark = self.dialects[opening.dialect].lone_mark;
            opening.entry == Entry::Block && lone_mark == LoneMark::Ignored
        })
    }

    /// Whether `text`, after the mark of a recipient, is the rest of a head of the dialect of this number: a name, and the head's
    /// end. `None` while that is not known.
    #[doc(hidden)]
    #[must_use]
    pub fn begins_head(&self, number: usize, text: &[u8]) -> Option<bool> {
        const LONGEST: usize = 128;
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-:/".contains(byte);
        let name = text.iter().take(LONGEST).take_while(|byte| is_part(byte)).count();
        let heads = self.dialects[self.heads[number].dialect].heads.as_ref();
        let end = heads.map_or("", |heads| &heads.end);
        match starts_with(&text[name..], end) {
            _ if name == 0 && !text.is_empty() => Some(false),
            known => known,
        }
    }

    /// Whether `text`, which is read as a head of the dialect of this number, lacks the mark of a head. Such text is a head only
    /// if it has a head's end.
    #[doc(hidden)]
    #[must_use]
    pub fn is_headless(&self, number: usize, text: &[u8]) -> bool {
        let heads = self.dialects[self.heads[number].dialect].heads.as_ref();
        !heads.is_some_and(|heads| heads.open.iter().any(|open| text.starts_with(open.as_bytes())))
    }

    /// Whether `text` can follow the mark of this opening; `None` while that is not known.
    fn follows(&self, opening: &Opening, text: &[u8], strictness: Strictness) -> Option<bool> {
        let dialect = &self.dialects[opening.dialect];
        match opening.entry {
            Entry::Block if dialect.lone_mark == LoneMark::Block => Some(true),
            Entry::Block => {
                let rest = &text[leading_space(text)..];
                if rest.is_empty() {
                    return None;
                }
                let bodies =
                    dialect.calls.bodies.iter().filter(|body| !opens_itself(dialect, body));
                let closes = dialect.calls.close.iter().filter(|_| may_be_empty(dialect));
                any(bodies
                    .map(|body| item_begins_in_block(body, rest, strictness))
                    .chain(closes.map(|close| starts_with(rest, close))))
            }
            Entry::Call(_) => {
                let first = text.get(leading_space(text))?;
                Some(first.is_ascii_alphanumeric() || matches!(first, b'_' | b'.' | b'-' | 0x80..))
            }
            Entry::None => {
                any(dialect.calls.bodies.iter().map(|body| item_begins_unmarked(body, text)))
            }
        }
    }
}
