//! The marks of a dialect where they must not count: in the text of results, and in strings that stand between marks.
//!
//! A server takes the mark itself for a token of its own, wherever it stands. So a mark is made harmless by writing its first
//! character another way, which depends on what the mark stands in.

use std::ops::Range;

use aho_corasick::AhoCorasick;

use super::super::grammar::unmarked_begins;
use super::super::text::is_blank;
use crate::dialect::{
    Args, Body, Dialect, Frame, HeadForm, Pair, ResultText, Results, Str, Unmarked, Xml,
};

/// Finds the marks of a dialect.
#[derive(Clone, Debug)]
pub struct DialectMarks {
    /// The beginning of each mark, up to the end of its first word.
    starts: AhoCorasick,
    /// The bodies that are calls without a mark, wherever they stand.
    unmarked: Vec<Body>,
    /// Whether marks count only at the start of a line.
    at_line_start: bool,
}

/// The least length in bytes of a mark's beginning: anything shorter is found in every text.
const SHORTEST: usize = 3;

impl DialectMarks {
    /// The marks that this dialect reads by, and the frames of its results and tools.
    #[must_use]
    pub fn new(dialect: &Dialect) -> Self {
        let mut starts: Vec<String> = marks(dialect).into_iter().flat_map(beginnings).collect();
        // The frames of tools also hold words, which are not marks.
        let tools = &dialect.prompt.tools;
        let frames = [&tools.around, &tools.each].into_iter();
        let frames = frames.flat_map(|frame| [&*frame.before, &frame.behind]);
        starts.extend(frames.flat_map(tokens).filter_map(beginning));
        starts.sort_unstable();
        starts.dedup();
        // A dialect has a few dozen marks of a few dozen bytes each: far below the limits of an automaton.
        let starts = AhoCorasick::new(starts);
        let starts = starts.unwrap_or_else(|error| unreachable!("{error}"));
        let unmarked = match dialect.unmarked {
            Unmarked::Anywhere => dialect.bodies.clone(),
            Unmarked::AtStart | Unmarked::Never => Vec::new(),
        };
        Self { starts, unmarked, at_line_start: dialect.at_line_start }
    }

    /// The bytes of `text` at which a mark begins, in order.
    ///
    /// # Complexity
    /// O(text)
    #[must_use]
    pub fn find(&self, text: &[u8]) -> Vec<usize> {
        let mut found: Vec<usize> = self
            .starts
            .find_overlapping_iter(text)
            .filter(|found| ends_a_word(text, found.range()))
            .map(|found| found.start())
            .filter(|at| !self.at_line_start || begins_line(text, *at))
            .collect();
        if !self.unmarked.is_empty() {
            found
                .extend(memchr::memchr2_iter(b'[', b'{', text).filter(|at| self.begins(text, *at)));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether `text` holds a mark.
    #[must_use]
    pub fn stand_in(&self, text: &[u8]) -> bool {
        !self.find(text).is_empty()
    }

    /// Whether a call without a mark may begin at this byte.
    fn begins(&self, text: &[u8], at: usize) -> bool {
        self.unmarked.iter().any(|body| unmarked_begins(body, &text[at..]) != Some(false))
    }

    /// Adds `text` with the first character of each mark, and of each `close`, as a character reference: `&lt;` for `<`.
    pub fn push_referenced(&self, out: &mut Vec<u8>, text: &[u8], close: &str) {
        let mut found = self.find(text);
        if !close.is_empty() {
            found.extend(memchr::memmem::find_iter(text, close.as_bytes()));
            found.sort_unstable();
            found.dedup();
        }
        let mut from = 0;
        for at in found {
            out.extend_from_slice(&text[from..at]);
            from = at + push_reference(out, &text[at..]);
        }
        out.extend_from_slice(&text[from..]);
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
    let character = text.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    character.map_or((0xfffd, 1), |character| (character.into(), character.len_utf8()))
}

/// Whether this byte is the first of its line that is not space.
fn begins_line(text: &[u8], at: usize) -> bool {
    let line = memchr::memrchr(b'\n', &text[..at]).map_or(0, |newline| newline + 1);
    is_blank(&text[line..at])
}

/// Whether the text found ends where a word ends, and not inside a longer one.
fn ends_a_word(text: &[u8], found: Range<usize>) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let last = text[found.end - 1];
    !is_word(last) || text.get(found.end).is_none_or(|&next| !is_word(next))
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
    let is_common = start.len() < SHORTEST || start.bytes().all(|byte| byte == b'`');
    (!is_common).then(|| start.to_owned())
}

/// All texts of a dialect that may be marks.
fn marks(dialect: &Dialect) -> Vec<&str> {
    let Dialect { reasoning, answer, results, heads, prompt, .. } = dialect;
    let mut marks: Vec<&str> = Vec::new();
    for Pair { open, close } in reasoning.iter().chain(answer) {
        marks.extend([&**open, close]);
    }
    for Results { open, close, .. } in results {
        marks.extend([&**open, close]);
    }
    if let Some(heads) = heads {
        let single = [&heads.end, &heads.channel];
        marks.extend(heads.open.iter().chain(&heads.close).chain(single).map(|mark| &**mark));
    }
    let lists = [&dialect.open, &dialect.close, &dialect.end, &dialect.turn_end];
    let lists = lists.into_iter().chain([&dialect.ignored, &dialect.stop]);
    marks.extend(lists.flatten().map(|mark| &**mark));
    for body in &dialect.bodies {
        marks_of_body(body, &mut marks);
    }
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

fn marks_of_body<'a>(body: &'a Body, marks: &mut Vec<&'a str>) {
    match body {
        Body::Json(_) | Body::Python(_) => {}
        Body::Xml(form) => marks_of_xml(form, marks),
        Body::Head(head) => {
            marks.extend([&*head.open, &head.close]);
            marks.extend(head.ends.iter().chain(&head.until).map(|mark| &**mark));
            if let HeadForm::Id(mark) | HeadForm::Behind(mark) = &head.form {
                marks.push(mark);
            }
            match &head.args {
                Args::Json | Args::Text(_) => {}
                Args::Braces(mark) => marks.push(mark),
                Args::Xml(form) => marks_of_xml(form, marks),
                Args::Parameters(form) => {
                    let around = form.around.iter().flat_map(|pair| [&pair.open, &pair.close]);
                    let own = [&form.open, &form.key_end, &form.value_open, &form.close];
                    marks.extend(own.into_iter().chain(around).map(|mark: &Str| &**mark));
                }
            }
        }
    }
}

fn marks_of_xml<'a>(form: &'a Xml, marks: &mut Vec<&'a str>) {
    marks.push(&form.prefix);
    // The elements of a call are recognised by their names. These are words, and count only inside a block.
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
