//! Rows of type `error`: what the model wrote that could not be used, and the message to it about that.

use crate::json::{Container, Scanner, Token, unescaped};
use crate::protocol::Text;

/// What the model wrote, and the message to it about that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownReport {
    /// The model's own text, as it wrote it; may be empty.
    pub raw: Text,
    /// What was wrong with it, and what to write instead.
    pub content: Text,
    /// Whether the answer was cut outside every block, so that the text that follows goes on with it.
    pub is_of_cut_answer: bool,
}

/// The kinds of error that are the model's own, which it is shown. Any other is the program's.
const KINDS: [&[u8]; 3] = [b"malformed", b"truncated", b"unfinished"];

/// Reads a report as the log stores it, `{"kind": …, "content": …, "raw": …}`; further keys are ignored.
///
/// Text that is not a report gives `None`: another program may have written the row.
#[must_use]
pub fn stored_report(text: &[u8]) -> Option<ShownReport> {
    let mut scanner = Scanner::default();
    let Ok(Some(Token::Open(Container::Object))) = scanner.next(text) else { return None };
    let (mut kind, mut raw, mut content) = (None, None, None);
    let mut key = Text::default();
    scanner.rest(text, |scanner, token| {
        match (scanner.depth(), token) {
            (1, Token::Key(range)) => key = unescaped(&text[range]),
            // Of equal keys the last one counts, whatever its value is.
            (1, value) => {
                let value = match value {
                    Token::String(range) => Some(unescaped(&text[range])),
                    _ => None,
                };
                match key.as_bytes() {
                    b"kind" => kind = value,
                    b"raw" => raw = value,
                    b"content" => content = value,
                    _ => {}
                }
            }
            _ => {}
        }
        Some(())
    })?;
    let (kind, raw, content) = (kind?, raw?, content?);
    let is_known = KINDS.contains(&kind.as_bytes());
    let is_of_cut_answer = kind.as_bytes() == b"truncated" && raw.is_empty();
    is_known.then_some(ShownReport { raw, content, is_of_cut_answer })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_whatever_else_stands_in_it() {
        let report = |raw: &str, content: &str| {
            let is_of_cut_answer = raw.is_empty();
            Some(ShownReport { raw: raw.into(), content: content.into(), is_of_cut_answer })
        };
        for (stored, expected) in [
            (r#"{"kind": "malformed", "content": "no", "raw": "<x>"}"#, report("<x>", "no")),
            (r#" {"raw": "", "kind": "truncated", "content": "", "line": 1} "#, report("", "")),
            (
                r#"{"kind": "unfinished", "more": {"raw": [{}]}, "c\u006fntent": "a", "raw": "b\n\u00e9"}"#,
                report("b\né", "a"),
            ),
            (r#"{"kind": "malformed", "raw": 1, "content": "a", "raw": "b"}"#, report("b", "a")),
        ] {
            assert_eq!(stored_report(stored.as_bytes()), expected, "{stored}");
        }
    }

    #[test]
    fn what_is_not_a_report_is_none() {
        for stored in [
            "",
            "no JSON",
            "[]",
            "{}",
            r#"{"kind": "malformed", "content": "no"}"#,
            r#"{"kind": "malformed", "raw": "no"}"#,
            r#"{"content": "no", "raw": ""}"#,
            r#"{"kind": "network", "content": "no", "raw": ""}"#,
            r#"{"kind": "malformed", "content": null, "raw": ""}"#,
            r#"{"kind": "malformed", "content": "no", "raw": "", "raw": []}"#,
            r#"{"kind": "malformed", "content": "no", "raw": ""} x"#,
            r#"{"kind": "malformed", "content": "no", "raw": """#,
            r#"[{"kind": "malformed", "content": "no", "raw": ""}]"#,
        ] {
            assert_eq!(stored_report(stored.as_bytes()), None, "{stored}");
        }
    }
}
