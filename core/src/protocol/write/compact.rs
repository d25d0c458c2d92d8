//! JSON without spaces, in which characters are not escaped unless UTF-8 cannot encode one.

use std::borrow::Cow;

use super::super::canonical::json_string;
use super::super::notation::json::string_length;
use super::super::notation::marks::DialectMarks;
use crate::json::unescaped;

/// Canonical JSON without spaces; with marks, none of them is in its strings.
///
/// # Complexity
/// O(json)
pub fn compact(json: &str, marks: Option<&DialectMarks>) -> Vec<u8> {
    let readable = with_strings(json, |out, quoted| {
        let inside = &quoted[1..quoted.len() - 1];
        if !inside.contains('\\') && matches!(inert(marks, inside.as_bytes()), Cow::Borrowed(_)) {
            out.extend_from_slice(quoted.as_bytes());
            return Some(());
        }
        let text = unescaped(quoted.as_bytes());
        let text = inert(marks, text.as_bytes());
        let text = std::str::from_utf8(&text).ok()?;
        serde_json::to_writer(out, text).ok()
    });
    let escaped = || {
        with_strings(json, |out, quoted| {
            let text = unescaped(quoted.as_bytes());
            out.extend_from_slice(json_string(&inert(marks, text.as_bytes())).as_bytes());
            Some(())
        })
    };
    readable.or_else(escaped).unwrap_or_default()
}

fn inert<'t>(marks: Option<&DialectMarks>, text: &'t [u8]) -> Cow<'t, [u8]> {
    match marks {
        Some(marks) => marks.inert(text),
        None => Cow::Borrowed(text),
    }
}

/// Canonical JSON without spaces, with each string as `write` adds it; `None` where it cannot.
fn with_strings(
    json: &str,
    mut write: impl FnMut(&mut Vec<u8>, &str) -> Option<()>,
) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(json.len());
    let mut at = 0;
    while let Some(&byte) = json.as_bytes().get(at) {
        if byte == b'"' {
            let end = at + 2 + string_length(&json.as_bytes()[at + 1..]);
            write(&mut out, &json[at..end])?;
            at = end;
        } else {
            out.extend((byte != b' ').then_some(byte));
            at += 1;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::super::marks_of;
    use super::*;
    use crate::dialect::presets::preset;

    #[test]
    fn it_has_no_spaces_and_readable_characters() {
        for (json, expected) in [
            (r#"{"a": [1, {"b c": null}], "d": {}}"#, r#"{"a":[1,{"b c":null}],"d":{}}"#),
            (r#""\u00e9\u20ac\ud83d\ude00\n\"\\\u007f\u0001""#, "\"é€😀\\n\\\"\\\\\u{7f}\\u0001\""),
            (r#"["\u00e9", "\ud800"]"#, r#"["\u00e9","\ud800"]"#),
        ] {
            assert_eq!(String::from_utf8_lossy(&compact(json, None)), expected, "{json}");
        }
    }

    #[test]
    fn no_string_has_a_mark() {
        let marks = marks_of(&preset("hermes").expect("a row"));
        for (json, expected) in [
            (r#"{"<|im_end|>": 1}"#, "{\"<\u{2060}|im_end|>\":1}"),
            (r#"["<|im_end|>", "\ud800"]"#, r#"["<\u2060|im_end|>","\ud800"]"#),
        ] {
            assert_eq!(String::from_utf8_lossy(&compact(json, Some(&marks))), expected, "{json}");
        }
    }
}
