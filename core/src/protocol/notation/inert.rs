//! The one way in which text from outside enters a prompt, and the way back.
//!
//! A mark is broken up by a word joiner (U+2060) after its first character. The joiner has no width and no meaning, so a model
//! reads the text as it was. If the model copies it with the joiner, the reader of its calls takes the joiner out; if the model
//! drops the joiner, the copy is the original all the same.
//!
//! Invariant: which places need a joiner depends only on the text *without* its joiners. So a text that has joiners there
//! already gets one more of them, and [`exact`](DialectMarks::exact) undoes [`inert`](DialectMarks::inert) for every text.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::super::canonical::{ESCAPED_JOINER, canonical, json_string};
use super::json::string_length;
use super::marks::{DialectMarks, Which};
use crate::dialect::{Dialect, Inert, JOINER};
use crate::json::unescaped;

/// What becomes of the joiners where marks are broken up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// One more everywhere.
    Add,
    /// One more where there are some.
    Raise,
    /// One less where there are some.
    Remove,
}

/// Whether canonical JSON may hold a mark that is broken up by a joiner.
#[must_use]
pub fn may_be_broken_up(json: &str) -> bool {
    memchr::memmem::find(json.as_bytes(), ESCAPED_JOINER.as_bytes()).is_some()
}

impl DialectMarks {
    /// `text` from outside as a prompt shows it: no mark is in it, and it completes none of the prompt's own text.
    ///
    /// # Complexity
    /// O(text); text without anything that a mark may begin with is returned as it is.
    #[must_use]
    pub fn inert<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        self.changed(text, Change::Add, Which::All)
    }

    /// The same for what a model wrote itself: the marks that it writes with stay.
    #[must_use]
    pub fn inert_turn<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        self.changed(text, Change::Add, Which::Foreign)
    }

    /// `text` with the joiners that it has made to survive [`exact`](Self::exact), where its marks are broken up another way.
    #[must_use]
    pub fn raised<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        self.changed(text, Change::Raise, Which::All)
    }

    /// The text that a model was shown as `text`.
    ///
    /// # Complexity
    /// O(text)
    #[must_use]
    pub fn exact<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        self.changed(text, Change::Remove, Which::All)
    }

    /// The canonical JSON whose strings a model was shown as those of `json`; `None` if they are the same.
    ///
    /// # Complexity
    /// O(json)
    #[must_use]
    pub fn exact_json(&self, json: &str) -> Option<String> {
        if self.shown() == Inert::Kept || !may_be_broken_up(json) {
            return None;
        }
        let (mut changed, mut from, mut at) = (String::new(), 0, 0);
        let mut has_key = false;
        while let Some(quote) = memchr::memchr(b'"', &json.as_bytes()[at..]) {
            let start = at + quote;
            at = (start + 2 + string_length(&json.as_bytes()[start + 1..])).min(json.len());
            if may_be_broken_up(&json[start..at])
                && self.may_stand_in_json(&json[start..at])
                && let text = unescaped(&json.as_bytes()[start..at])
                && let Cow::Owned(exact) = self.exact(text.as_bytes())
            {
                changed.reserve(json.len() - from);
                changed.push_str(&json[from..start]);
                changed.push_str(&json_string(&exact));
                from = at;
                has_key |= json[at..].starts_with(':');
            }
        }
        if from == 0 {
            return None;
        }
        changed.push_str(&json[from..]);
        // Keys that were different may be equal now.
        if has_key { canonical(changed.as_bytes()) } else { Some(changed) }
    }

    /// The inside of a canonical JSON string, as [`raised`](Self::raised) has its text; `None` if it is the same.
    #[must_use]
    pub fn raised_string(&self, inside: &str) -> Option<String> {
        if self.shown() == Inert::Kept || !may_be_broken_up(inside) {
            return None;
        }
        let text = unescaped(format!("\"{inside}\"").as_bytes());
        let json = json_string(&self.raised(text.as_bytes()));
        Some(json[1..json.len() - 1].to_owned())
    }

    fn changed<'t>(&self, text: &'t [u8], change: Change, which: Which) -> Cow<'t, [u8]> {
        if self.shown() == Inert::Kept {
            return Cow::Borrowed(text);
        }
        let has_joiners = memchr::memmem::find(text, JOINER.as_bytes()).is_some();
        if !has_joiners && change != Change::Add {
            return Cow::Borrowed(text);
        }
        let (plain, joiners) =
            if has_joiners { without_joiners(text) } else { (Cow::Borrowed(text), Vec::new()) };
        let breaks = self.breaks(&plain, which);
        if breaks.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = Vec::with_capacity(text.len() + breaks.len() * JOINER.len());
        let (mut from, mut joiners) = (0, joiners.into_iter().peekable());
        let mut breaks = breaks.into_iter().peekable();
        while let Some(at) = earliest(breaks.peek(), joiners.peek().map(|(at, _)| at)) {
            let is_break = breaks.next_if_eq(&at).is_some();
            let count = joiners.next_if(|(other, _)| *other == at).map_or(0, |(_, count)| count);
            let count = match change {
                _ if !is_break => count,
                Change::Add => count + 1,
                Change::Raise => count + usize::from(count > 0),
                Change::Remove => count.saturating_sub(1),
            };
            out.extend_from_slice(&plain[from..at]);
            (0..count).for_each(|_| out.extend_from_slice(JOINER.as_bytes()));
            from = at;
        }
        out.extend_from_slice(&plain[from..]);
        Cow::Owned(out)
    }
}

fn earliest(first: Option<&usize>, second: Option<&usize>) -> Option<usize> {
    first.into_iter().chain(second).min().copied()
}

/// A text without its joiners, and before which of its bytes how many of them were.
fn without_joiners(text: &[u8]) -> (Cow<'static, [u8]>, Vec<(usize, usize)>) {
    let (mut plain, mut joiners) = (Vec::with_capacity(text.len()), Vec::<(usize, usize)>::new());
    let mut from = 0;
    for at in memchr::memmem::find_iter(text, JOINER.as_bytes()) {
        plain.extend_from_slice(&text[from..at]);
        match joiners.last_mut() {
            Some((last, count)) if *last == plain.len() => *count += 1,
            _ => joiners.push((plain.len(), 1)),
        }
        from = at + JOINER.len();
    }
    plain.extend_from_slice(&text[from..]);
    (Cow::Owned(plain), joiners)
}

/// The marks of a dialect, which are made once for as long as it is in use.
#[must_use]
pub fn marks_of(dialect: &Arc<Dialect>) -> Arc<DialectMarks> {
    type Kept = Vec<(Weak<Dialect>, Arc<DialectMarks>)>;
    static KEPT: Mutex<Kept> = Mutex::new(Vec::new());
    let lock = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let known = |kept: &Kept| {
        let mut kept = kept.iter();
        let found = kept.find(|(known, _)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(dialect)));
        found.map(|(_, marks)| Arc::clone(marks))
    };
    if let Some(marks) = known(&lock()) {
        return marks;
    }
    let made = Arc::new(DialectMarks::new(dialect));
    let mut kept = lock();
    if let Some(marks) = known(&kept) {
        return marks;
    }
    kept.retain(|(dialect, _)| dialect.strong_count() > 0);
    kept.push((Arc::downgrade(dialect), Arc::clone(&made)));
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::presets::preset;

    fn shown(row: &str, text: &str) -> String {
        let marks = marks_of(&preset(row).expect("a row"));
        let shown = marks.inert(text.as_bytes());
        assert_eq!(marks.exact(&shown), text.as_bytes(), "{row}: {text}");
        String::from_utf8(shown.into_owned()).expect("UTF-8").replace(JOINER, "·")
    }

    #[test]
    fn a_joiner_follows_the_first_character_of_a_mark() {
        for (row, text, expected) in [
            ("hermes", "a < b, <table> and [1]", "a < b, <table> and [1]"),
            ("hermes", "<|im_start|>system", "<·|im_start|>system"),
            ("hermes", "<\u{2060}|im_start|>", "<··|im_start|>"),
            ("hermes", "<|im_\u{2060}start|>", "<·|im_·start|>"),
            ("hermes", "\u{2060}a\u{2060}", "·a·"),
            ("hermes", "<|im_st", "<|im_st"),
            ("deepseek-v3", "<｜User｜>", "<·｜User｜>"),
            ("mistral", "[INST]", "[·INST]"),
            ("minimax-m2", "a]~!b", "a]~!b·"),
            ("react", "\nAction: x, Action: y", "\nA·ction: x, Action: y"),
            ("cogency", "<execute>", "<execute>"),
        ] {
            assert_eq!(shown(row, text), expected, "{row}: {text}");
        }
    }

    #[test]
    fn the_strings_of_json_are_read_as_they_were_shown() {
        let marks = marks_of(&preset("hermes").expect("a row"));
        for (json, expected) in [
            ("{\"a\": \"<|im_end|>\"}", None),
            ("{\"a\": \"<\\u2060|im_end|>\"}", Some("{\"a\": \"<|im_end|>\"}")),
            ("{\"a\": [\"\\u2060\", 1]}", None),
            ("{\"<\\u2060|im_end|>\": 1, \"<|im_end|>\": 2}", Some("{\"<|im_end|>\": 2}")),
        ] {
            assert_eq!(marks.exact_json(json).as_deref(), expected, "{json}");
        }
    }

    #[test]
    fn the_marks_of_a_dialect_are_made_once() {
        let dialect = preset("hermes").expect("a row");
        assert!(Arc::ptr_eq(&marks_of(&dialect), &marks_of(&dialect)));
    }
}
