//! The arguments of a call as JSON that every reader takes.

use std::borrow::Cow;

/// Canonical JSON in which each `NaN` and infinity, which JSON does not have, is `null`, as `JSON.stringify` writes them.
///
/// # Complexity
/// O(json)
#[must_use]
pub fn strict_json(json: &str) -> Cow<'_, str> {
    const WORDS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];
    if !WORDS[..2]
        .iter()
        .any(|word| memchr::memmem::find(json.as_bytes(), word.as_bytes()).is_some())
    {
        return Cow::Borrowed(json);
    }
    let mut strict = String::with_capacity(json.len());
    let mut rest = json;
    // In canonical JSON a quote in a string follows a backslash.
    while let Some(start) = rest.find(['"', 'N', 'I', '-']) {
        strict.push_str(&rest[..start]);
        rest = &rest[start..];
        let width = match WORDS.iter().find(|word| rest.starts_with(**word)) {
            Some(word) => {
                strict.push_str("null");
                rest = &rest[word.len()..];
                continue;
            }
            None if rest.starts_with('"') => string_width(rest),
            None => 1,
        };
        strict.push_str(&rest[..width]);
        rest = &rest[width..];
    }
    strict.push_str(rest);
    Cow::Owned(strict)
}

/// The width of the string that `json` begins with, with its quotes.
fn string_width(json: &str) -> usize {
    let mut is_escaped = false;
    let end = json.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(json.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_does_not_have_is_null() {
        for (json, strict) in [
            ("{}", "{}"),
            (
                r#"{"a": NaN, "b": [Infinity, -Infinity, -1, -0.5e-3]}"#,
                r#"{"a": null, "b": [null, null, -1, -0.5e-3]}"#,
            ),
            (
                r#"{"NaN": "Infinity \" NaN \\", "x": NaN}"#,
                r#"{"NaN": "Infinity \" NaN \\", "x": null}"#,
            ),
        ] {
            assert_eq!(strict_json(json), strict);
        }
    }
}
