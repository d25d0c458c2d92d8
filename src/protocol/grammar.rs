//! Dialects, made ready for reading: one search for all marks, and what each of them means.

use std::sync::Arc;

use super::marks::{Marks, Undecided};
use super::run::TextRun;
use super::text::leading_space;
use crate::dialect::{
    Body, Dialect, Heads, Json, JsonShape, LoneMark, Pair, Python, Str, Unmarked,
};

use super::body::{HeadReader, ItemReader, JsonReader, PythonReader, XmlReader};

/// One dialect, or several that are read together.
#[derive(Debug)]
pub struct Grammar {
    /// The dialects; the first is the one that is written.
    pub dialects: Vec<Arc<Dialect>>,
    /// The search outside every block.
    pub outside: Marks,
    /// What each of its marks means.
    pub marks: Vec<Mark>,
    /// Stretches of reasoning and of results.
    pub spans: Vec<Span>,
    /// The span that a prompt may have opened.
    pub reasoning: Option<usize>,
    /// Dialects whose answers are rows of messages with heads.
    pub heads: Vec<Headed>,
    /// Whether marks count only at the start of a line.
    pub at_line_start: bool,
    /// Blocks that need no mark.
    pub unmarked: Vec<Opening>,
    /// For each dialect, where a block ends that could not be read.
    pub recovery: Vec<Recovery>,
}

/// Where a block ends that could not be read.
#[derive(Debug)]
pub struct Recovery {
    /// The search for it.
    pub marks: Marks,
    /// How many of its marks, the first ones, close the block; the others stand behind it.
    closing: usize,
    /// How long the longest of those is.
    pub longest: usize,
}

impl Recovery {
    fn new(dialect: &Dialect) -> Self {
        let heads = || {
            dialect.bodies.iter().filter_map(|body| match body {
                Body::Head(head) => Some(head),
                _ => None,
            })
        };
        let mut closing: Vec<&Str> = dialect.close.iter().collect();
        if closing.is_empty() {
            closing.extend(heads().map(|head| &head.close));
        }
        closing.retain(|mark| !mark.is_empty());
        let mut behind: Vec<&Str> = dialect.turn_end.iter().collect();
        if let Some(heads) = &dialect.heads {
            closing.extend(&heads.close);
            behind.extend(&heads.open);
        }
        if closing.is_empty() {
            behind.extend(dialect.open.iter().chain(heads().map(|head| &head.open)));
        }
        let marks = closing.iter().chain(&behind).map(|mark| mark.as_bytes());
        let longest = closing.iter().map(|mark| mark.len()).max().unwrap_or(0);
        Self { marks: Marks::new(marks), closing: closing.len(), longest }
    }

    /// Whether this mark closes the block.
    #[must_use]
    pub fn closes(&self, mark: usize) -> bool {
        mark < self.closing
    }
}

impl Entry {
    /// Whether there is no mark.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Self::None
    }
}

/// A dialect whose answers are rows of messages with heads.
#[derive(Debug)]
pub struct Headed {
    /// Which one.
    pub dialect: usize,
    /// The span of reasoning.
    pub reasoning: usize,
    /// The span of the answer.
    pub answer: usize,
}

/// To whom the message behind a head is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addressee {
    /// To the model itself.
    Reasoning,
    /// To the user.
    Answer,
    /// To a tool of this name.
    Tool(Vec<u8>),
}

impl Heads {
    /// Whether a message begins or ends in `text`.
    #[must_use]
    pub fn stands_in(&self, text: &[u8]) -> bool {
        // The mark of a channel begins a head, and stands in one.
        let mut marks = self.open.iter().filter(|open| **open != self.channel).chain(&self.close);
        marks.any(|mark| memchr::memmem::find(text, mark.as_bytes()).is_some())
    }

    /// To whom the message is that has this head.
    #[must_use]
    pub fn addressee(&self, head: &[u8]) -> Addressee {
        let channel = word_behind(head, &self.channel);
        let recipient = word_behind(head, &self.recipient);
        let is = |names: &[Str], word: Option<&[u8]>| {
            word.is_some_and(|word| names.iter().any(|name| name.as_bytes() == word))
        };
        match recipient {
            Some(tool) if !is(&self.answer, recipient) && !is(&self.reasoning, recipient) => {
                Addressee::Tool(tool.strip_prefix(self.prefix.as_bytes()).unwrap_or(tool).to_vec())
            }
            _ if is(&self.reasoning, recipient) || is(&self.reasoning, channel) => {
                Addressee::Reasoning
            }
            _ => Addressee::Answer,
        }
    }
}

/// The word behind the last `mark` in `head`.
fn word_behind<'h>(head: &'h [u8], mark: &str) -> Option<&'h [u8]> {
    let start = memchr::memmem::rfind(head, mark.as_bytes()).filter(|_| !mark.is_empty())?;
    let word = &head[start + mark.len()..];
    let end = word.iter().position(|&byte| byte == b'<' || byte.is_ascii_whitespace());
    Some(&word[..end.unwrap_or(word.len())]).filter(|word| !word.is_empty())
}

/// What a mark means outside every block.
#[derive(Clone, Debug)]
pub enum Mark {
    /// It opens this span.
    Span(usize),
    /// It begins the head of a message, in this dialect.
    Head(usize),
    /// It opens a block of calls: one of these, told apart by what follows.
    Block(Vec<Opening>),
    /// A block of calls may begin with it, without any other mark.
    Unmarked,
    /// The model says that it is done.
    End,
    /// The model's turn is over.
    TurnEnd,
    /// Nothing.
    Ignored,
}

/// A way into a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Of which dialect.
    pub dialect: usize,
    /// What the mark is.
    pub entry: Entry,
}

/// What a mark that opens a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The block's own.
    Block,
    /// The head of a call, of this body, that stands in no block.
    Call(usize),
    /// There is none.
    None,
}

/// A stretch of text that is not part of the answer.
#[derive(Debug)]
pub struct Span {
    /// What it is.
    pub run: TextRun,
    /// What opens it; empty where a head does.
    pub open: Str,
    /// What closes it, for messages; empty where any mark does.
    pub close: Str,
    /// Whether it begins only where a JSON array follows.
    pub needs_array: bool,
    /// The search inside; `None` where the one outside serves, and what it finds is not part of the span.
    pub inside: Option<Marks>,
    /// What the marks of that search mean.
    pub marks: Vec<Inner>,
}

/// With what an answer opens its reasoning again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reopened {
    /// With a mark of so many bytes.
    Mark(usize),
    /// With the head of a message.
    Head,
}

/// What a mark means inside a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inner {
    /// The span's end.
    Close,
    /// The span's end, and the beginning of something else.
    Next,
    /// Likewise of a head of this number that lacks its mark, if a name and the end of the head follow.
    Recipient(usize),
    /// The model's turn is over.
    TurnEnd,
    /// What would open a block of calls outside.
    Block,
}

impl Grammar {
    /// The grammar of these dialects, of which there is at least one.
    #[must_use]
    pub fn new(dialects: Vec<Arc<Dialect>>) -> Self {
        let each = dialects.iter().enumerate();
        let openers = each.flat_map(|(number, dialect)| openers(number, dialect)).collect();
        let mut table = Table { openers, ..Table::default() };
        for (number, dialect) in dialects.iter().enumerate() {
            table.add(number, dialect);
        }
        let outside = Marks::new(table.texts.iter().map(|text| text.as_bytes()));
        let reasoning = table.spans.iter().position(|span| span.run == TextRun::Think);
        let recovery = dialects.iter().map(|dialect| Recovery::new(dialect)).collect();
        let unmarked = dialects.iter().enumerate();
        let unmarked = unmarked.filter(|(_, dialect)| dialect.unmarked != Unmarked::Never);
        let unmarked = unmarked.map(|(dialect, _)| Opening { dialect, entry: Entry::None });
        let unmarked = unmarked.collect();
        let Table { marks, spans, heads, .. } = table;
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
        }
    }

    /// Which of `openings` it is that `text` follows; `None` for none of them, and `Err` while that is not known.
    ///
    /// # Errors
    /// More text decides it.
    pub fn opening<'o>(
        &self,
        openings: &'o [Opening],
        text: &[u8],
    ) -> Result<Option<&'o Opening>, Undecided> {
        for opening in openings {
            match self.follows(opening, text) {
                Some(true) => return Ok(Some(opening)),
                Some(false) => {}
                None => return Err(Undecided),
            }
        }
        Ok(None)
    }

    /// Of which dialect with heads `text` begins a head that lacks its mark; `None` for none, and `Err` while that is not
    /// known.
    ///
    /// # Errors
    /// More text decides it.
    pub fn headless(&self, text: &[u8]) -> Result<Option<usize>, Undecided> {
        for (number, headed) in self.heads.iter().enumerate() {
            let heads = self.dialects[headed.dialect].heads.as_ref();
            match heads.map(|heads| super::marks::starts_with(text, &heads.recipient)) {
                Some(Some(true)) => return Ok(Some(number)),
                Some(None) => return Err(Undecided),
                Some(Some(false)) | None => {}
            }
        }
        Ok(None)
    }

    /// What an answer that begins in reasoning makes of `text`, with which it begins: the model may open its reasoning itself,
    /// although the prompt has done so. `None` where it does not, and `Err` while that is not known.
    ///
    /// # Errors
    /// More text decides it.
    pub fn reopened(&self, text: &[u8]) -> Result<Option<Reopened>, Undecided> {
        let spans = self.spans.iter().filter(|span| span.run == TextRun::Think);
        let spans = spans.map(|span| (&span.open, Reopened::Mark(span.open.len())));
        let dialects =
            self.heads.iter().filter_map(|headed| self.dialects[headed.dialect].heads.as_ref());
        let heads = dialects.flat_map(|heads| {
            let marks = heads.open.iter().chain([&heads.recipient]);
            let marks = marks.map(|mark| (mark, Reopened::Head));
            marks.chain([(&heads.end, Reopened::Mark(heads.end.len()))])
        });
        let mut longest: Option<(usize, Reopened)> = None;
        for (mark, reopened) in spans.chain(heads).filter(|(mark, _)| !mark.is_empty()) {
            match super::marks::starts_with(text, mark) {
                Some(true) if longest.is_none_or(|(length, _)| length < mark.len()) => {
                    longest = Some((mark.len(), reopened));
                }
                Some(_) => {}
                None => return Err(Undecided), // one of two marks may begin with the other
            }
        }
        Ok(longest.map(|(_, reopened)| reopened))
    }

    /// Whether a mark that opens none of these is left out.
    #[must_use]
    pub fn leaves_out(&self, openings: &[Opening]) -> bool {
        openings.iter().any(|opening| {
            let lone_mark = self.dialects[opening.dialect].lone_mark;
            opening.entry == Entry::Block && lone_mark == LoneMark::Ignored
        })
    }

    /// Whether `text` behind the mark of a recipient is the rest of a head of this number: a name, and the head's end.
    #[must_use]
    pub fn begins_head(&self, number: usize, text: &[u8]) -> Option<bool> {
        const LONGEST: usize = 128;
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-:/".contains(byte);
        let name = text.iter().take(LONGEST).take_while(|byte| is_part(byte)).count();
        let heads = self.dialects[self.heads[number].dialect].heads.as_ref();
        let end = heads.map_or("", |heads| &heads.end);
        match super::marks::starts_with(&text[name..], end) {
            _ if name == 0 && !text.is_empty() => Some(false),
            known => known,
        }
    }

    /// Whether `text`, which is read as a head of the dialect of this number, lacks the mark of one: without its end it is
    /// none.
    #[must_use]
    pub fn is_headless(&self, number: usize, text: &[u8]) -> bool {
        let heads = self.dialects[self.heads[number].dialect].heads.as_ref();
        !heads.is_some_and(|heads| heads.open.iter().any(|open| text.starts_with(open.as_bytes())))
    }

    fn follows(&self, opening: &Opening, text: &[u8]) -> Option<bool> {
        let dialect = &self.dialects[opening.dialect];
        match opening.entry {
            Entry::Block if dialect.lone_mark == LoneMark::Block => Some(true),
            Entry::Block => {
                let rest = &text[leading_space(text)..];
                if rest.is_empty() {
                    return None;
                }
                let bodies = dialect.bodies.iter().filter(|body| !opens_itself(dialect, body));
                let closes = dialect.close.iter().filter(|_| may_be_empty(dialect));
                any(bodies
                    .map(|body| body_begins(body, rest))
                    .chain(closes.map(|close| super::marks::starts_with(rest, close))))
            }
            Entry::Call(_) => {
                let first = text.get(leading_space(text))?;
                Some(first.is_ascii_alphanumeric() || matches!(first, b'_' | b'.' | b'-' | 0x80..))
            }
            Entry::None => any(dialect.bodies.iter().map(|body| unmarked_begins(body, text))),
        }
    }
}

/// Whether any holds; not known where one is not known and none holds.
fn any(known: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut is_any = Some(false);
    for each in known {
        match each {
            Some(true) => return Some(true),
            Some(false) => {}
            None => is_any = None,
        }
    }
    is_any
}

/// Whether a block of this dialect may hold no call at all.
#[must_use]
pub fn may_be_empty(dialect: &Dialect) -> bool {
    let mut bodies = dialect.bodies.iter();
    bodies.any(|body| matches!(body, Body::Head(_)) && !opens_itself(dialect, body))
}

/// Whether the mark of a block is that of a call of this body: then no mark stands around the call's own.
#[must_use]
pub fn opens_itself(dialect: &Dialect, body: &Body) -> bool {
    matches!(body, Body::Head(head) if dialect.open.contains(&head.open))
}

/// Whether `body` begins at the start of `text`.
#[must_use]
pub fn body_begins(body: &Body, text: &[u8]) -> Option<bool> {
    match body {
        Body::Json(form) => JsonReader::begins(form, text),
        Body::Head(form) => HeadReader::begins(form, text),
        Body::Python(form) => PythonReader::begins(form, text),
        Body::Xml(form) => XmlReader::begins(form, text),
    }
}

/// Whether a body without a mark begins at the start of `text`: JSON whose first key is one of a call's, or a list of Python
/// calls. A Python call without the list's bracket cannot be told from words, and a head that counts alone has its own mark.
#[must_use]
pub fn unmarked_begins(body: &Body, text: &[u8]) -> Option<bool> {
    match body {
        Body::Json(form) => json_begins(form, text),
        Body::Python(Python::Lines) => Some(false),
        Body::Python(Python::List) if *text.get(leading_space(text))? != b'[' => Some(false),
        Body::Head(head) if head.bare => Some(false),
        body => body_begins(body, text),
    }
}

fn json_begins(form: &Json, text: &[u8]) -> Option<bool> {
    let mut rest = &text[leading_space(text)..];
    let opening: &[u8] = if form.shape == JsonShape::Array { b"[{" } else { b"{" };
    for &bracket in opening {
        rest = &rest[leading_space(rest)..];
        match rest.first() {
            None => return None,
            Some(&byte) if byte == bracket => rest = &rest[1..],
            Some(_) => return Some(false),
        }
    }
    rest = &rest[leading_space(rest)..];
    match rest.first() {
        None => return None,
        Some(b'"') => rest = &rest[1..],
        Some(_) => return Some(false),
    }
    let decision = form.decision.iter();
    let others = decision.flat_map(|decision| [&decision.key, &decision.thought_key]);
    let keys = form.name.iter().chain(&form.args).chain(&form.id).chain(&form.server).chain(others);
    any(keys.map(|key| super::marks::starts_with(rest, &format!("{key}\""))))
}

/// What opens a block of calls, or a call without one, in the dialect of this number.
fn openers(number: usize, dialect: &Dialect) -> Vec<(Str, Opening)> {
    let opening = |entry| Opening { dialect: number, entry };
    let blocks = dialect.open.iter().map(|open| (open.clone(), opening(Entry::Block)));
    let is_named = dialect.heads.as_ref().is_some_and(|heads| heads.names_call);
    let calls = dialect.bodies.iter().enumerate().filter_map(|(body, form)| match form {
        Body::Head(head) if (head.bare || dialect.open.is_empty()) && !is_named => {
            Some((head.open.clone(), opening(Entry::Call(body))))
        }
        _ => None,
    });
    blocks.chain(calls).collect()
}

/// The marks of a grammar, while it is made.
#[derive(Default)]
struct Table {
    /// What opens calls, in all its dialects.
    openers: Vec<(Str, Opening)>,
    texts: Vec<Str>,
    marks: Vec<Mark>,
    spans: Vec<Span>,
    heads: Vec<Headed>,
}

impl Table {
    fn add(&mut self, number: usize, dialect: &Dialect) {
        for pair in &dialect.reasoning {
            self.span(pair, TextRun::Think, false, dialect);
        }
        for results in &dialect.results {
            let pair = Pair { open: results.open.clone(), close: results.close.clone() };
            self.span(&pair, TextRun::Result, results.array, dialect);
        }
        if let Some(heads) = &dialect.heads {
            self.heads(number, heads);
        }
        for (open, opening) in openers(number, dialect) {
            self.block(&open, opening);
        }
        for form in &dialect.bodies {
            if dialect.unmarked == Unmarked::Anywhere {
                let byte = match form {
                    Body::Json(Json {
                        shape: JsonShape::Object | JsonShape::Objects(_), ..
                    }) => "{",
                    _ => "[",
                };
                self.mark(&byte.into(), Mark::Unmarked);
            }
        }
        for end in &dialect.end {
            self.mark(end, Mark::End);
        }
        for end in &dialect.turn_end {
            self.mark(end, Mark::TurnEnd);
        }
        let wrappers = dialect.answer.iter().flat_map(|pair| [&pair.open, &pair.close]);
        for mark in wrappers.chain(&dialect.ignored) {
            self.mark(mark, Mark::Ignored);
        }
    }

    /// Of several meanings of one mark the first counts.
    fn mark(&mut self, text: &Str, mark: Mark) {
        if !text.is_empty() && !self.texts.contains(text) {
            self.texts.push(text.clone());
            self.marks.push(mark);
        }
    }

    fn block(&mut self, text: &Str, opening: Opening) {
        let known = self.texts.iter().position(|known| known == text);
        match known.map(|known| &mut self.marks[known]) {
            Some(Mark::Block(openings)) => openings.push(opening),
            _ => self.mark(text, Mark::Block(vec![opening])),
        }
    }

    fn heads(&mut self, dialect: usize, heads: &Heads) {
        for open in &heads.open {
            self.mark(open, Mark::Head(self.heads.len()));
        }
        for close in &heads.close {
            self.mark(close, Mark::Ignored);
        }
        let first = self.spans.len();
        for run in [TextRun::Think, TextRun::Respond] {
            let close = heads.close.iter().map(|mark| (mark, Inner::Close));
            let next = heads.open.iter().map(|mark| (mark, Inner::Next));
            let openers = self.openers.iter().map(|(mark, _)| (mark, Inner::Block));
            let openers = openers.filter(|_| run == TextRun::Think);
            // Without channels a recipient is all that a head needs.
            let recipient = Some(&heads.recipient).filter(|_| heads.channel.is_empty());
            let recipient = recipient.map(|mark| (mark, Inner::Recipient(self.heads.len())));
            let marks: Vec<_> = close.chain(next).chain(openers).chain(recipient).collect();
            self.spans.push(Span {
                run,
                open: Str::default(),
                close: heads.close.first().cloned().unwrap_or_default(),
                needs_array: false,
                inside: Some(Marks::new(marks.iter().map(|(mark, _)| mark.as_bytes()))),
                marks: marks.into_iter().map(|(_, inner)| inner).collect(),
            });
        }
        self.heads.push(Headed { dialect, reasoning: first, answer: first + 1 });
    }

    fn span(&mut self, pair: &Pair, run: TextRun, needs_array: bool, dialect: &Dialect) {
        let mut marks = vec![(&pair.close, Inner::Close)];
        marks.extend(dialect.turn_end.iter().map(|mark| (mark, Inner::TurnEnd)));
        if run == TextRun::Think {
            marks.extend(self.openers.iter().map(|(mark, _)| (mark, Inner::Block)));
        }
        let inside = Marks::new(
            marks.iter().map(|(text, _)| text.as_bytes()).filter(|text| !text.is_empty()),
        );
        let span = Span {
            run,
            open: pair.open.clone(),
            close: pair.close.clone(),
            needs_array,
            inside: Some(inside).filter(|_| !pair.close.is_empty()),
            marks: marks.into_iter().map(|(_, inner)| inner).collect(),
        };
        self.mark(&pair.open, Mark::Span(self.spans.len()));
        self.spans.push(span);
    }
}
