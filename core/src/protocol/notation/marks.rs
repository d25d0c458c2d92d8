//! The marks of a dialect where they must not count: in text that comes from outside, and in strings between marks.
//!
//! A server takes a mark for its own token wherever it appears, so no such text may hold one. [`inert`](super::inert)
//! breaks each mark up; here they are found.

use std::ops::Range;

use aho_corasick::AhoCorasick;

use super::super::body::item_begins_unmarked;
use super::super::marks::FirstBytes;
use crate::dialect::{Body, Dialect, Frame, Inert, Pair, ResultText, Results, Unmarked};
use crate::text::trim_end;
use edges::Edges;

mod edges;

/// Finds the marks of a dialect.
#[derive(Clone, Debug)]
pub struct DialectMarks {
    /// The search for all patterns.
    search: AhoCorasick,
    /// What is searched for, in the order of the search.
    patterns: Vec<Pattern>,
    /// The bytes that something found may begin with.
    first: FirstBytes,
    /// Halves of marks that text next to them could complete.
    edges: Edges,
    /// The bodies that are calls without a mark, wherever they are.
    unmarked: Vec<Body>,
    /// How the dialect shows marks in text from outside.
    inert: Inert,
    /// Whether a string in JSON without any of the first bytes holds nothing to break up.
    is_ascii: bool,
}

/// What a text is searched for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pattern {
    text: String,
    anchor: Anchor,
    /// Whether calls, reasoning or answers are written with it.
    is_written: bool,
}

/// Where a pattern counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Anchor {
    /// Anywhere: it is a token.
    Anywhere,
    /// Where its last word ends: it is the beginning of a mark.
    Word,
    /// Likewise, if it begins its line.
    Line,
}

/// Which marks are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All of them.
    All,
    /// Those that a model does not write its calls, its reasoning or its answers with.
    Foreign,
    /// Those that count inside a string, which has no lines.
    InString,
}

/// The least length in bytes of a mark's beginning: anything shorter is found in every text.
const SHORTEST: usize = 3;

/// The greatest length in bytes of a mark: a longer word is not a mark. See [`Dialect::check`].
const LONGEST: usize = 512;

impl DialectMarks {
    /// The tokens of this dialect, the marks that it reads by, and the frames of its results and tools.
    #[must_use]
    pub fn new(dialect: &Dialect) -> Self {
        let written = written_with(dialect);
        let pattern = |text: &str, anchor| {
            let is_written = written.iter().any(|mark| mark.contains(text));
            Pattern { text: text.to_owned(), anchor, is_written }
        };
        let anchor = if dialect.at_line_start { Anchor::Line } else { Anchor::Word };
        let mut patterns: Vec<Pattern> = beginnings_in(dialect)
            .iter()
            .map(|text| pattern(text, anchor))
            .chain(dialect.tokens.iter().map(|token| pattern(token, Anchor::Anywhere)))
            .collect();
        patterns.sort_unstable();
        patterns.dedup();
        let texts = || patterns.iter().map(|pattern| pattern.text.as_bytes());
        // A dialect has a few hundred marks of a few dozen bytes each: far below the limits of an automaton.
        let search = AhoCorasick::new(texts());
        let search = search.unwrap_or_else(|error| unreachable!("{error}"));
        let unmarked = match dialect.unmarked {
            Unmarked::Anywhere => dialect.calls.bodies.clone(),
            Unmarked::AtStart | Unmarked::Never => Vec::new(),
        };
        let brackets: &[u8] = if unmarked.is_empty() { b"" } else { b"[{" };
        let first = FirstBytes::of(texts().map(|text| text[0]).chain(brackets.iter().copied()));
        let edges = Edges::new(texts(), &own_texts(dialect));
        let inert = dialect.prompt.inert;
        let is_ascii = !edges.have_beginnings() && texts().all(|text| text[0].is_ascii());
        Self { search, patterns, first, edges, unmarked, inert, is_ascii }
    }

    /// Whether a string in canonical JSON may hold something to break up.
    #[must_use]
    pub fn may_stand_in_json(&self, string: &str) -> bool {
        !self.is_ascii || self.first.find(string.as_bytes()).is_some()
    }

    /// How the dialect shows marks in text from outside.
    #[must_use]
    pub fn shown(&self) -> Inert {
        self.inert
    }

    /// The bytes of `text` at which a mark begins, in order.
    ///
    /// # Complexity
    /// O(text); a text with none of the bytes that marks begin with is only searched for these.
    #[must_use]
    pub fn find(&self, text: &[u8]) -> Vec<usize> {
        self.starts(text, Which::All)
    }

    /// The same for the inside of a string.
    #[must_use]
    pub fn find_in_string(&self, text: &[u8]) -> Vec<usize> {
        self.starts(text, Which::InString)
    }

    /// Whether `text` holds a mark.
    #[must_use]
    pub fn stand_in(&self, text: &[u8]) -> bool {
        !self.find(text).is_empty()
    }

    /// The bytes of `text` at which a mark must be broken up, in order: after the first character of each mark, and at an end of
    /// the text where another text could complete half of a mark.
    #[must_use]
    pub fn breaks(&self, text: &[u8], which: Which) -> Vec<usize> {
        let starts = self.starts(text, which).into_iter();
        let mut breaks: Vec<usize> = starts.map(|at| at + first_character(&text[at..]).1).collect();
        if self.edges.begin(text) {
            breaks.push(0);
        }
        if self.edges.end(text) {
            breaks.push(text.len());
        }
        breaks.sort_unstable();
        breaks.dedup();
        breaks
    }

    /// Whether a mark begins in `text` before byte `at` and goes on after it.
    #[must_use]
    pub fn cross(&self, text: &[u8], at: usize) -> bool {
        self.search
            .find_overlapping_iter(text)
            .any(|found| (found.start() + 1..found.end()).contains(&at))
    }

    /// The length in bytes of the longest pattern.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.search.max_pattern_len()
    }

    fn starts(&self, text: &[u8], which: Which) -> Vec<usize> {
        let Some(first) = self.first.find(text) else { return Vec::new() };
        let mut found: Vec<usize> = self
            .search
            .find_overlapping_iter(&text[first..])
            .filter(|found| {
                let pattern = &self.patterns[found.pattern().as_usize()];
                let range = first + found.start()..first + found.end();
                which.has(pattern) && pattern.anchor.allows(text, range)
            })
            .map(|found| first + found.start())
            .collect();
        if !self.unmarked.is_empty() && which != Which::Foreign {
            let brackets = memchr::memchr2_iter(b'[', b'{', text);
            found.extend(brackets.filter(|at| self.begins(text, *at)));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether a call without a mark may begin at this byte.
    fn begins(&self, text: &[u8], at: usize) -> bool {
        self.unmarked.iter().any(|body| item_begins_unmarked(body, &text[at..]) != Some(false))
    }
}

impl Which {
    fn has(self, pattern: &Pattern) -> bool {
        match self {
            Self::All => true,
            Self::Foreign => !pattern.is_written,
            Self::InString => pattern.anchor != Anchor::Line,
        }
    }
}

impl Anchor {
    /// Whether a pattern counts that was found at this range of `text`.
    fn allows(self, text: &[u8], range: Range<usize>) -> bool {
        let start = range.start;
        match self {
            Self::Anywhere => true,
            Self::Word => ends_a_word(text, range),
            Self::Line => ends_a_word(text, range) && begins_line(text, start),
        }
    }
}

/// Adds the first character of `text` as a character reference, and returns how many bytes of `text` it takes.
pub fn push_reference(out: &mut Vec<u8>, text: &[u8]) -> usize {
    let (code, width) = first_character(text);
    match code {
        0x3c => out.extend_from_slice(b"&lt;"),
        0x3e => out.extend_from_slice(b"&gt;"),
        0x26 => out.extend_from_slice(b"&amp;"),
        code => out.extend_from_slice(format!("&#{code};").as_bytes()),
    }
    width
}

/// The code and the width in bytes of the first character of `text`. It begins a mark, so it is never a surrogate.
pub fn first_character(text: &[u8]) -> (u32, usize) {
    let start = &text[..text.len().min(4)];
    let character = start.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    character.map_or((0xfffd, 1), |character| (character.into(), character.len_utf8()))
}

/// Whether this byte is the first of its line that is not space.
///
/// # Complexity
/// O(space before it), so that of all marks of a text it is O(text).
fn begins_line(text: &[u8], at: usize) -> bool {
    let before = trim_end(&text[..at]);
    before.is_empty() || memchr::memchr(b'\n', &text[before.len()..at]).is_some()
}

/// Whether the text found ends where a word ends, and not inside a longer one.
fn ends_a_word(text: &[u8], found: Range<usize>) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let last = text[found.end - 1];
    !is_word(last) || text.get(found.end).is_none_or(|&next| !is_word(next))
}

/// The beginnings of all marks that a dialect reads by, and of the marks in its frames.
fn beginnings_in(dialect: &Dialect) -> Vec<String> {
    let mut beginnings: Vec<String> = marks(dialect).into_iter().flat_map(beginnings).collect();
    // The frames of tools also hold words, which are not marks.
    let frames = frames_of_tools(dialect).into_iter();
    beginnings.extend(frames.flat_map(tokens).filter_map(beginning));
    beginnings
}

/// The beginnings of the marks in `mark`, which may be several tokens with words between them.
fn beginnings(mark: &str) -> Vec<String> {
    let tokens: Vec<&str> = tokens(mark).collect();
    let parts = if tokens.is_empty() { vec![mark] } else { tokens };
    parts.into_iter().filter_map(beginning).collect()
}

/// The tokens in a mark: each begins with a bracket, and ends with the one that closes it.
fn tokens(mark: &str) -> impl Iterator<Item = &str> {
    let mut rest = mark;
    std::iter::from_fn(move || {
        let start = rest.find(['<', '['])?;
        let close = if rest[start..].starts_with('<') { '>' } else { ']' };
        let end = rest[start..].find(close).map_or(rest.len(), |end| start + end + 1);
        let token = &rest[start..end];
        rest = &rest[end..];
        Some(token)
    })
    .filter(|token| token.len() >= SHORTEST)
}

/// The part of a token that it is recognised by: up to the end of its first word or, if it begins with a word, up to the end of
/// the line. `None` if every text holds that.
fn beginning(token: &str) -> Option<String> {
    let token = token.trim().lines().next()?.trim_end();
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let end = match token.find(is_word) {
        None | Some(0) => token.len(),
        Some(word) => {
            let rest = &token[word..];
            let length = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
            if length < SHORTEST { token.len() } else { word + length }
        }
    };
    let start = &token[..end];
    let is_mark = (SHORTEST..=LONGEST).contains(&start.len());
    (is_mark && start.bytes().any(|byte| byte != b'`')).then(|| start.to_owned())
}

/// All texts of a dialect that may be marks, except its tokens.
fn marks(dialect: &Dialect) -> Vec<&str> {
    let Dialect { results, prompt, .. } = dialect;
    let mut marks = written_with(dialect);
    for Results { open, close, .. } in results {
        marks.extend([&**open, close]);
    }
    let lists = [&dialect.end, &dialect.turn_end, &dialect.ignored, &dialect.stop];
    marks.extend(lists.into_iter().flatten().map(|mark| &**mark));
    let results = &prompt.results;
    let each = [&results.each, &results.around].into_iter().chain(&results.each_without_id);
    for Frame { before, behind } in each {
        // The mark ends where a placeholder begins.
        marks.extend([before.split('{').next().unwrap_or_default(), behind]);
    }
    if let ResultText::Marked(mark) = &results.text {
        marks.push(mark);
    }
    marks
}

/// The marks that a model writes its reasoning, its answers and its calls with.
fn written_with(dialect: &Dialect) -> Vec<&str> {
    let mut marks: Vec<&str> = Vec::new();
    for Pair { open, close } in dialect.reasoning.iter().chain(&dialect.answer) {
        marks.extend([&**open, close]);
    }
    if let Some(heads) = &dialect.heads {
        let single = [&heads.end, &heads.channel];
        marks.extend(heads.open.iter().chain(&heads.close).chain(single).map(|mark| &**mark));
    }
    marks.extend(dialect.calls.open.iter().chain(&dialect.calls.close).map(|mark| &**mark));
    // Where a recipient's name is that of a call, what precedes it is a word of the head.
    let is_named = dialect.heads.as_ref().is_some_and(|heads| heads.names_call);
    for body in &dialect.calls.bodies {
        marks.extend(body.head().filter(|_| !is_named).map(|head| &*head.open));
        marks.extend(body.marks().map(|mark| &**mark));
    }
    marks
}

fn frames_of_tools(dialect: &Dialect) -> [&str; 4] {
    let tools = &dialect.prompt.tools;
    let [around, each] = [&tools.around, &tools.each];
    [&around.before, &around.behind, &each.before, &each.behind]
}

/// The texts that a prompt may have next to text from outside: its marks and tokens, and what it writes between its parts.
fn own_texts(dialect: &Dialect) -> Vec<&str> {
    let (prompt, layout) = (&dialect.prompt, &dialect.calls.layout);
    let mut texts = marks(dialect);
    // A token that begins another text is not all of it, so it is never next to anything.
    let tokens = || dialect.tokens.iter().map(|token| &**token);
    let mut sorted: Vec<&str> = texts.iter().copied().chain(tokens()).collect();
    sorted.sort_unstable();
    let is_whole = |token: &&str| {
        let next = sorted.partition_point(|other| other <= token);
        !sorted.get(next).is_some_and(|other| other.starts_with(token))
    };
    let whole: Vec<&str> = tokens().filter(is_whole).collect();
    texts.extend(whole);
    texts.extend(frames_of_tools(dialect));
    let frames = [&prompt.turn.thought, &prompt.turn.text, &layout.name];
    let frames = frames.into_iter().chain([&layout.message]).chain(&prompt.turn.preamble);
    texts.extend(frames.flat_map(|frame| [&*frame.before, &*frame.behind]));
    let joints = prompt.turn.joints.iter();
    let joints = joints.flat_map(|joints| [&joints.thought, &joints.calls, &joints.other]);
    let between = [&prompt.results.between, &prompt.tools.between, &layout.between];
    texts.extend(joints.chain(between).map(|text| &**text));
    texts.extend(["\n", "\""]);
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_recognised_by_its_first_word() {
        for (mark, expected) in [
            ("<tool_call>", &["<tool_call"][..]),
            ("</tool_call>", &["</tool_call"]),
            ("<|tool_call>call:", &["<|tool_call"]),
            ("<｜tool▁calls▁begin｜>", &["<｜tool"]),
            ("\n```<｜tool▁call▁end｜>", &["<｜tool"]),
            ("<parameter=", &["<parameter"]),
            ("<invoke name=\"", &["<invoke"]),
            ("[TOOL_CALLS]", &["[TOOL_CALLS"]),
            ("]<]minimax[>[", &["<]minimax"]),
            ("[e~[", &["[e~["]),
            ("</s>", &["</s>"]),
            ("<|\"|>", &["<|\"|>"]),
            ("\nAction Input:", &["Action Input:"]),
            ("functools[", &["functools["]),
            ("<|start|>assistant<|channel|>", &["<|start", "<|channel"]),
            ("\n```", &[]),
            (">", &[]),
            ("\">", &[]),
            ("{", &[]),
            ("", &[]),
        ] {
            assert_eq!(beginnings(mark), expected, "{mark}");
        }
    }
}
