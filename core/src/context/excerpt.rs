//! Cuts what is too long in results, and says how much is missing.
//!
//! Invariant: an array of objects stays one, with all its items and keys, and no character or escape is cut in two. Nothing
//! that is shown is copied: an excerpt is slices of the results, and words between them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::json::{Container, Scanner, Token, unescaped};
use crate::protocol::call::name_on_server;
use crate::protocol::canonical::{canonical_string, json_string};
use crate::protocol::stored::ShownCall;

/// How many characters of each result are shown at most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// Of every tool that has no bound of its own; `None` for all characters.
    pub all: Option<usize>,
    /// Of single tools, by every name that a call may have, a canonical JSON string. A call that names a server has the name
    /// of [`name_on_server`].
    pub tools: BTreeMap<String, usize>,
}

impl Bounds {
    fn least(&self) -> Option<usize> {
        self.tools.values().copied().chain(self.all).min()
    }

    /// Of a result of this call, whose item says so of its tool.
    fn of(&self, call: Option<&ShownCall>, tool: Option<&[u8]>) -> Option<usize> {
        if self.tools.is_empty() {
            return self.all;
        }
        let on_server = call.and_then(|call| name_on_server(call.server.as_deref()?, &call.name));
        let name = on_server.or_else(|| tool.map(canonical_string));
        name.and_then(|name| self.tools.get(&name)).copied().or(self.all)
    }
}

/// What is shown of the `results` of `calls`, in pieces; joined they are the text. The first begins where `results` does.
/// The last results are those of the last calls.
///
/// Of an array of objects, each `content` is cut: a string stays one, any other value becomes one, its JSON text. What is
/// not such an array is cut as text.
///
/// # Complexity
/// O(results); where they are no longer than the least bound, O(1).
#[must_use]
pub fn excerpt<'a>(results: &'a [u8], calls: &[ShownCall], bounds: &Bounds) -> Vec<Cow<'a, [u8]>> {
    let whole = || vec![Cow::Borrowed(results)];
    match bounds.least() {
        Some(least) if results.len() > least => {}
        _ => return whole(),
    }
    let Some(cuts) = cuts_in_items(results, calls, bounds) else {
        let cut = bounds.all.and_then(|most| measure(results, most, Backslash::Character));
        return cut.map_or_else(whole, |Measure { bytes, missing, total }| {
            let notice = format!("\n{}", notice(missing, total));
            vec![Cow::Borrowed(&results[..bytes]), Cow::Owned(notice.into_bytes())]
        });
    };
    let mut pieces = Vec::with_capacity(2 * cuts.len() + 1);
    let mut from = 0;
    for Cut { range, instead } in cuts {
        pieces.push(Cow::Borrowed(&results[from..range.start]));
        pieces.push(Cow::Owned(instead.into_bytes()));
        from = range.end;
    }
    pieces.push(Cow::Borrowed(&results[from..]));
    pieces
}

/// A range that is left out, and what is shown there instead.
#[derive(Debug)]
struct Cut {
    range: Range<usize>,
    instead: String,
}

/// The fields of one item that count.
#[derive(Debug, Default)]
struct ItemFields {
    tool: Option<Range<usize>>,
    contents: Vec<ContentRange>,
}

#[derive(Debug)]
enum ContentRange {
    /// With its quotes.
    String(Range<usize>),
    Other(Range<usize>),
}

/// A key of an item, as far as it counts.
#[derive(Clone, Copy, Debug)]
enum Key {
    Tool,
    Content,
    Other,
}

/// How many brackets are open inside an item.
const ITEM: usize = 2;

/// What must be cut in an array of objects; `None` for anything else.
fn cuts_in_items(results: &[u8], calls: &[ShownCall], bounds: &Bounds) -> Option<Vec<Cut>> {
    let mut scanner = Scanner::default();
    let Ok(Some(Token::Open(Container::Array))) = scanner.next(results) else { return None };
    let mut items = Vec::new();
    let (mut item, mut key, mut start) = (ItemFields::default(), Key::Other, 0);
    scanner.rest(results, |scanner, token| {
        let end = scanner.position();
        match (scanner.depth(), token) {
            (0, _) | (ITEM, Token::Open(Container::Object)) => {}
            (1, Token::Close(_)) => items.push(std::mem::take(&mut item)),
            // An item that is not an object.
            (1, _) | (ITEM, Token::Open(Container::Array)) => return None,
            (ITEM, Token::Key(range)) => {
                key = match unescaped(&results[range]).as_bytes() {
                    b"tool" => Key::Tool,
                    b"content" => Key::Content,
                    _ => Key::Other,
                };
            }
            (ITEM, token) => match (key, token) {
                (Key::Tool, Token::String(range)) => item.tool = Some(range),
                (Key::Tool, _) => item.tool = None,
                (Key::Content, Token::String(range)) => {
                    item.contents.push(ContentRange::String(range));
                }
                (Key::Content, Token::Close(_)) => {
                    item.contents.push(ContentRange::Other(start..end));
                }
                (Key::Content, Token::Number(range)) => {
                    item.contents.push(ContentRange::Other(range));
                }
                _ => {}
            },
            (depth, Token::Open(_)) if depth == ITEM + 1 => start = end - 1,
            _ => {}
        }
        Some(())
    })?;
    let mut cuts = Vec::new();
    let count = items.len();
    for (index, ItemFields { tool, contents }) in items.into_iter().enumerate() {
        let call = (calls.len() + index).checked_sub(count).map(|place| &calls[place]);
        if let Some(most) = bounds.of(call, tool.map(|range| &results[range])) {
            cuts.extend(contents.into_iter().filter_map(|content| content.cut(results, most)));
        }
    }
    Some(cuts)
}

impl ContentRange {
    /// What must be cut from it, so that `most` characters are left.
    fn cut(self, results: &[u8], most: usize) -> Option<Cut> {
        match self {
            Self::String(range) => {
                let inside = range.start + 1..range.end - 1;
                let Measure { bytes, missing, total } =
                    measure(&results[inside.clone()], most, Backslash::Escape)?;
                let instead = format!("\\n{}", notice(missing, total));
                Some(Cut { range: inside.start + bytes..inside.end, instead })
            }
            Self::Other(range) => {
                let text = &results[range.clone()];
                let Measure { bytes, missing, total } = measure(text, most, Backslash::Kept)?;
                let mut instead = json_string(&text[..bytes]);
                instead.pop();
                instead.extend(["\\n", &notice(missing, total), "\""]);
                Some(Cut { range, instead })
            }
        }
    }
}

fn notice(missing: usize, total: usize) -> String {
    format!("[… {} of {} characters are not shown]", grouped(missing), grouped(total))
}

/// A number with a comma before every three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// What a backslash means where characters are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backslash {
    /// A character like any other.
    Character,
    /// It begins a JSON escape, which is one character; two of them are where they are a surrogate pair.
    Escape,
    /// Likewise, but each character of the escape counts. It is not cut in two.
    Kept,
}

/// Where a text is cut that is too long.
#[derive(Debug, PartialEq, Eq)]
struct Measure {
    /// How many bytes are shown.
    bytes: usize,
    /// How many characters are not.
    missing: usize,
    /// How many there are.
    total: usize,
}

/// Measures a text of which `most` characters may be shown; `None` if that is all of it.
fn measure(text: &[u8], most: usize, backslash: Backslash) -> Option<Measure> {
    if text.len() <= most {
        return None;
    }
    let total = match backslash {
        Backslash::Character | Backslash::Kept => characters(text),
        Backslash::Escape => characters_and_escapes(text),
    };
    if total <= most {
        return None;
    }
    let (mut bytes, mut shown) = (0, 0);
    loop {
        let (width, count) = unit(&text[bytes..], backslash);
        if shown + count > most {
            return Some(Measure { bytes, missing: total - shown, total });
        }
        bytes += width;
        shown += count;
    }
}

/// How many bytes at the start of `text` must not be cut apart, and how many characters they are.
fn unit(text: &[u8], backslash: Backslash) -> (usize, usize) {
    match (backslash, text[0]) {
        (Backslash::Escape, b'\\') => (escape_width(text), 1),
        (Backslash::Kept, b'\\') => (escape_width(text), escape_width(text)),
        _ => (1 + text[1..].iter().take_while(|byte| is_continuation(**byte)).count(), 1),
    }
}

/// The bytes of the escape at the start of `text`, or of the surrogate pair.
fn escape_width(text: &[u8]) -> usize {
    match text {
        [b'\\', b'u', b'd' | b'D', b'8' | b'9' | b'a'..=b'b' | b'A'..=b'B', _, _, low @ ..] => {
            match low {
                [b'\\', b'u', b'd' | b'D', b'c'..=b'f' | b'C'..=b'F', _, _, ..] => 12,
                _ => 6,
            }
        }
        [b'\\', b'u', ..] => 6,
        _ => 2,
    }
}

fn characters_and_escapes(text: &[u8]) -> usize {
    let (mut count, mut rest) = (0, text);
    while let Some(found) = memchr::memchr(b'\\', rest) {
        count += characters(&rest[..found]) + 1;
        rest = &rest[found + escape_width(&rest[found..])..];
    }
    count + characters(rest)
}

fn characters(text: &[u8]) -> usize {
    text.iter().filter(|byte| !is_continuation(**byte)).count()
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(results: &str, bounds: &Bounds) -> String {
        let pieces = excerpt(results.as_bytes(), &[], bounds);
        String::from_utf8(pieces.concat()).expect("UTF-8")
    }

    fn most(most: usize) -> Bounds {
        Bounds { all: Some(most), ..Bounds::default() }
    }

    #[test]
    fn each_content_is_cut_and_says_how_much_is_missing() {
        for (content, expected) in [
            (r#""abcd""#, r#""abcd""#),
            (r#""abcde""#, r#""abcd\n[… 1 of 5 characters are not shown]""#),
            (r#""ab\n\"e""#, r#""ab\n\"\n[… 1 of 5 characters are not shown]""#),
            (r#""ab\u00e9\\\u00e9""#, r#""ab\u00e9\\\n[… 1 of 5 characters are not shown]""#),
            (r#""\\\\\\\\""#, r#""\\\\\\\\""#),
            (r#""a\ud83d\ude00bc""#, r#""a\ud83d\ude00bc""#),
            (r#""abc\ud83d\ude00d""#, r#""abc\ud83d\ude00\n[… 1 of 5 characters are not shown]""#),
            (r#""abc\ud83d\ud83d\ude00""#, r#""abc\ud83d\n[… 1 of 5 characters are not shown]""#),
            (r#""日本語éx""#, r#""日本語é\n[… 1 of 5 characters are not shown]""#),
            ("[1, 2]", r#""[1, \n[… 2 of 6 characters are not shown]""#),
            (r#"{"a":"\u00e9"}"#, r#""{\"a\"\n[… 10 of 14 characters are not shown]""#),
            (r#"["\u00e9"]"#, r#""[\"\n[… 8 of 10 characters are not shown]""#),
            ("12345678", r#""1234\n[… 4 of 8 characters are not shown]""#),
            ("null", "null"),
            ("{}", "{}"),
        ] {
            let results = |content: &str| format!("[{{\"tool\": \"t\", \"content\": {content}}}]");
            assert_eq!(shown(&results(content), &most(4)), results(expected), "{content}");
        }
    }

    #[test]
    fn nothing_but_contents_is_cut() {
        let results = r#" [ {"outcome": "a long one", "more": {"content": "a long one"}, "content": "ab"}, {} ] "#;
        assert_eq!(shown(results, &most(2)), results);
    }

    #[test]
    fn a_tool_s_own_bound_counts_for_its_results() {
        let results = r#"[{"tool": "a", "content": "abcde"}, {"content": "abcde", "t\u006fol": "b"}, {"tool": "c", "content": "abcde"}]"#;
        let tools = [("\"a\"", 3), ("\"b\"", 9)].map(|(tool, most)| (tool.to_owned(), most));
        let bounds = Bounds { all: Some(4), tools: tools.into() };
        assert_eq!(
            shown(results, &bounds),
            r#"[{"tool": "a", "content": "abc\n[… 2 of 5 characters are not shown]"}, {"content": "abcde", "t\u006fol": "b"}, {"tool": "c", "content": "abcd\n[… 1 of 5 characters are not shown]"}]"#
        );
        let bounds = Bounds { all: None, ..bounds };
        assert!(shown(results, &bounds).ends_with(r#"{"tool": "c", "content": "abcde"}]"#));
    }

    #[test]
    fn a_call_that_names_its_server_has_the_bound_of_that_server_s_tool() {
        let call = |server: Option<&str>| ShownCall {
            name: "\"a\"".into(),
            args: "{}".into(),
            id: None,
            server: server.map(str::to_owned),
        };
        let tools = [("\"a\"", 3), ("\"s\\u0000a\"", 2)];
        let tools = tools.map(|(tool, most)| (tool.to_owned(), most)).into();
        let bounds = Bounds { all: Some(4), tools };
        let results = r#"[{"tool": "a", "content": "abcde"}, {"tool": "a", "content": "abcde"}]"#;
        for (servers, shown) in [
            (&[None, Some("\"s\"")][..], [3, 2]),
            (&[Some("\"local\""), Some("\"t\"")], [3, 4]),
            (&[None, Some("\"s\""), None], [2, 3]),
            (&[Some("\"s\"")], [3, 2]),
        ] {
            let calls: Vec<_> = servers.iter().map(|server| call(*server)).collect();
            let text = excerpt(results.as_bytes(), &calls, &bounds).concat();
            let text = String::from_utf8(text).expect("UTF-8");
            let expected: Vec<_> = shown.iter().map(|most| &"abcde"[..*most]).collect();
            let found: Vec<_> = text.split("\"content\": \"").skip(1).collect();
            for (found, expected) in found.iter().zip(expected) {
                assert!(found.starts_with(&[expected, "\\n"].concat()), "{servers:?}: {text}");
            }
        }
    }

    #[test]
    fn what_is_not_an_array_of_objects_is_cut_as_text() {
        for (results, expected) in [
            ("日本語éxyz", "日本語é\n[… 3 of 7 characters are not shown]"),
            ("[1, 2]", "[1, \n[… 2 of 6 characters are not shown]"),
            (r#"[{"content": "abcdef"}, []]"#, "[{\"c\n[… 23 of 27 characters are not shown]"),
            (r#"[{"content": "abcdef"}] x"#, "[{\"c\n[… 21 of 25 characters are not shown]"),
            (r#"[{"content": "abcdef""#, "[{\"c\n[… 17 of 21 characters are not shown]"),
            (r"abc\u00e9", "abc\\\n[… 5 of 9 characters are not shown]"),
            ("1234", "1234"),
        ] {
            assert_eq!(shown(results, &most(4)), expected);
        }
    }

    #[test]
    fn without_a_bound_nothing_is_read() {
        let results = "x".repeat(100);
        assert_eq!(shown(&results, &Bounds::default()), results);
        assert!(matches!(excerpt(results.as_bytes(), &[], &most(100))[..], [Cow::Borrowed(_)]));
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (49_900_000, "49,900,000")]
        {
            assert_eq!(grouped(number), text);
        }
    }
}
