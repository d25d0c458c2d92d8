//! The one rule of types: what value a raw text is by its schema, in every shape.

use super::super::canonical::{Writer, json_string};
use super::{Schema, Types};
use crate::dialect::Untyped;
use crate::json::{Scanner, Token};
use crate::text::trim;

/// The value of a raw text, as canonical JSON.
///
/// If the value may only be a string, it is the text itself. If it may have several types, the others are tried first, without
/// the whitespace at both ends. Where a string is one of them, a number, a boolean or `null` is one only if its canonical JSON
/// is the text: `02134`, `5.0` and `None` are text, unless the schema lists the strings, and this is not one of them. Elsewhere `5.0` is
/// `5` for any number, as parsers of the models have it. Text that fits no type stays text, which the check of the arguments will
/// refuse. An object or array that is nested deeper than `max_depth` is text too.
///
/// ```
/// # use cogency_rs::dialect::Untyped;
/// # use cogency_rs::protocol::tools::{SchemaDocument, typed};
/// let schema = serde_json::json!({"type": ["integer", "string"]});
/// let document = SchemaDocument::new(&schema);
/// let schema = Some(document.root());
/// assert_eq!(typed(b"5", schema, Untyped::Text, 200), "5");
/// assert_eq!(typed(b"05", schema, Untyped::Text, 200), "\"05\"");
/// assert_eq!(typed(b"[5]", None, Untyped::Json, 200), "[5]");
/// ```
///
/// # Complexity
/// O(`raw`)
#[must_use]
pub fn typed(raw: &[u8], schema: Option<Schema<'_>>, untyped: Untyped, max_depth: usize) -> String {
    let json = JsonReader::new(max_depth);
    typed_unless_text(raw, schema, untyped, json).unwrap_or_else(|| json_string(raw))
}

/// The same; `None` if the value is the text itself, which may be long. `json` may have read the beginning of the value, without the
/// whitespace before it.
#[must_use]
pub fn typed_unless_text(
    raw: &[u8],
    schema: Option<Schema<'_>>,
    untyped: Untyped,
    json: JsonReader,
) -> Option<String> {
    // A model that writes JSON quotes text too.
    if untyped == Untyped::Json
        && schema.is_some_and(|schema| schema.types().has(Types::STRING))
        && trim(raw).starts_with(b"\"")
        && let Some((Types::STRING, quoted)) = JsonReader::new(json.max_depth).finish(trim(raw))
    {
        return Some(quoted);
    }
    match schema.map(|schema| (schema, schema.types())) {
        Some((_, Types::STRING)) => None,
        Some((schema, types)) if !types.is_empty() => {
            // If the value may be null or text, `null` is null.
            let is_null = types.has(Types::NULL) && trim(raw) == b"null";
            if types.has(Types::STRING) && !is_null && schema.lists(raw) {
                return None;
            }
            let types = if types.has(Types::STRING) && schema.lists_each_string() {
                types.without(Types::STRING) // it would be in the list
            } else {
                types
            };
            of_types(raw, types, json)
        }
        _ => match untyped {
            Untyped::Text => None,
            Untyped::Json => json.finish(trim(raw)).map(|(_, json)| json),
            Untyped::Scalar => scalar(trim(raw)),
        },
    }
}

/// The value as one of these types.
fn of_types(raw: &[u8], types: Types, json: JsonReader) -> Option<String> {
    let value = trim(raw);
    if types.has(Types::STRING) {
        let (kind, json) = json.finish(value)?;
        let has_parts = kind == Types::OBJECT || kind == Types::ARRAY;
        let is_one = kind != Types::STRING && types.has(kind);
        return (is_one && (has_parts || json.as_bytes() == raw)).then_some(json);
    }
    let plain = Some(value)
        .filter(|_| types.has(Types::INTEGER))
        .and_then(integer)
        .or_else(|| word(value).filter(|(kind, _)| types.has(*kind)).map(|(_, json)| json.into()));
    if plain.is_some() {
        return plain;
    }
    let (kind, json) = json.finish(value)?;
    // Other JSON than the object or array that is wanted is kept as it is, so that the check refuses it by its type.
    let takes_any = types.has(Types::OBJECT) || types.has(Types::ARRAY);
    (types.has(kind) || takes_any).then_some(json)
}

/// The value of a word of JSON or of Python.
fn word(value: &[u8]) -> Option<(Types, &'static str)> {
    Some(match value {
        b"null" | b"None" => (Types::NULL, "null"),
        b"true" | b"True" => (Types::BOOLEAN, "true"),
        b"false" | b"False" => (Types::BOOLEAN, "false"),
        b"NaN" => (Types::NUMBER, "NaN"),
        b"Infinity" => (Types::NUMBER, "Infinity"),
        b"-Infinity" => (Types::NUMBER, "-Infinity"),
        _ => return None,
    })
}

/// A whole number, without the zeros before it, and without its point and the zeros after that.
fn integer(value: &[u8]) -> Option<String> {
    let (sign, digits) = match value {
        [b'-', digits @ ..] => ("-", digits),
        digits => ("", digits),
    };
    let whole = memchr::memchr(b'.', digits).map_or(Some(digits), |point| {
        let zeros = &digits[point + 1..];
        let is_whole = !zeros.is_empty() && zeros.iter().all(|&digit| digit == b'0');
        is_whole.then(|| &digits[..point])
    })?;
    if whole.is_empty() || !whole.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let zeros = whole.iter().take_while(|&&digit| digit == b'0').count();
    match std::str::from_utf8(&whole[zeros..]).ok()? {
        "" if whole.len() < digits.len() && !sign.is_empty() => None, // no integer is `-0.0`
        "" => Some("0".into()),
        digits => Some([sign, digits].concat()),
    }
}

/// The value of text for which no type is known: a boolean, `null` or a number; `None` if it is text. A number that begins
/// with a needless zero is text.
#[must_use]
pub fn scalar(value: &[u8]) -> Option<String> {
    match word(value) {
        Some((Types::NUMBER, _)) => None,
        Some((_, json)) => Some(json.into()),
        None if matches!(value.first(), Some(b'-' | b'0'..=b'9')) => {
            JsonReader::new(0).finish(value).map(|(_, json)| json)
        }
        None => None,
    }
}

/// Reads text that may be JSON as a whole, while it arrives. A bare `NaN` or infinity is not JSON here.
#[derive(Clone, Debug)]
pub struct JsonReader {
    scanner: Scanner,
    writer: Writer,
    max_depth: usize,
    /// The type of the value, once it has begun.
    kind: Option<Types>,
    is_json: bool,
}

impl JsonReader {
    /// A reader at the start of a value, in which no more than `max_depth` brackets may be open.
    #[must_use]
    pub fn new(max_depth: usize) -> Self {
        let (scanner, writer) = (Scanner::default(), Writer::new(0));
        Self { scanner, writer, max_depth, kind: None, is_json: true }
    }

    /// Reads on in `value`: the text of the last call, with more at its end, or less of it. `shows` says whether the beginning of a
    /// string is wanted before its end.
    ///
    /// # Complexity
    /// O(what is new)
    pub fn read(&mut self, value: &[u8], shows: bool) {
        if self.scanner.position() > value.len() {
            *self = Self::new(self.max_depth); // the value ends before
        }
        while self.is_json {
            match self.scanner.next(value) {
                Ok(Some(token)) => self.write(value, &token),
                Ok(None) if shows => return self.writer.string_up_to(value, &self.scanner),
                Ok(None) => return self.writer.string_so_far(value, &self.scanner),
                Err(_) => self.is_json = false,
            }
        }
    }

    /// What was written of the value, if it is JSON so far.
    #[must_use]
    pub fn settled(&self) -> &[u8] {
        if self.is_json { self.writer.settled() } else { &[] }
    }

    /// The first key that an object of the value has twice, as far as it was read.
    #[must_use]
    pub fn repeated(&self) -> Option<&str> {
        self.writer.repeated()
    }

    /// The whole value as canonical JSON, and its type; `None` if it is not JSON.
    #[must_use]
    pub fn finish(mut self, value: &[u8]) -> Option<(Types, String)> {
        self.read(value, false);
        if self.is_json
            && let Some(token) = self.scanner.end(value).ok()?
        {
            self.write(value, &token);
        }
        let is_whole = self.is_json && self.scanner.position() == value.len();
        is_whole.then_some((self.kind?, self.writer.finish()))
    }

    fn write(&mut self, value: &[u8], token: &Token) {
        let is_word = matches!(token, Token::Word("NaN" | "Infinity" | "-Infinity"));
        self.is_json = (self.kind.is_some() || !is_word) && self.scanner.depth() <= self.max_depth;
        self.kind.get_or_insert_with(|| Types::of_token(token, value));
        self.writer.token(value, token);
    }
}

impl Types {
    /// The type of the value that begins with this token of `text`.
    fn of_token(token: &Token, text: &[u8]) -> Self {
        use crate::json::Container;
        match token {
            Token::Open(Container::Array) | Token::Close(Container::Array) => Self::ARRAY,
            Token::Open(Container::Object) | Token::Close(Container::Object) => Self::OBJECT,
            Token::Key(_) | Token::String(_) => Self::STRING,
            Token::Word("null") => Self::NULL,
            Token::Word("true" | "false") => Self::BOOLEAN,
            Token::Number(range)
                if text[range.clone()].iter().all(|byte| matches!(byte, b'-' | b'0'..=b'9')) =>
            {
                Self::INTEGER
            }
            Token::Number(_) | Token::Word(_) => Self::NUMBER,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::SchemaDocument;
    use super::*;

    #[test]
    fn raw_text_is_read_as_the_type_in_its_schema() {
        let text = json!({"type": "string"});
        let int = json!({"type": "integer"});
        let number = json!({"type": "number"});
        let number_or_null = json!({"type": ["number", "null"]});
        let boolean = json!({"type": "boolean"});
        let object = json!({"type": "object"});
        let array = json!({"type": "array"});
        let or_null = json!({"type": ["string", "null"]});
        let or_number = json!({"type": ["string", "number"]});
        let or_object = json!({"anyOf": [{"type": "string"}, {"type": "object"}]});
        let scalars = json!({"type": ["string", "integer", "boolean"]});
        let named_null = json!({"anyOf": [{"const": "null"}, {"type": "null"}]});
        let listed = json!({"enum": ["1", "\n42\t", 2]});
        let word_or_int = json!({"anyOf": [{"const": "42"}, {"type": "integer"}]});
        let word_or_any = json!({"anyOf": [{"const": "42"}, {"type": ["integer", "string"]}]});
        let word_or_null = json!({"type": ["string", "null"], "enum": ["off", null]});
        for (schema, raw, expected) in [
            (&text, " 4\n", "\" 4\\n\""),
            (&text, "null", "\"null\""),
            (&text, "\"q\" \u{e9}", "\"\\\"q\\\" \\u00e9\""),
            (&text, "{\"a\":1}", "\"{\\\"a\\\":1}\""),
            (&int, "42", "42"),
            (&int, " \n-14\u{a0}", "-14"),
            (&int, "018956", "18956"),
            (&int, "-0", "0"),
            (&int, "5.0", "5"),
            (&int, "5.5", "\"5.5\""),
            (&int, "abc", "\"abc\""),
            (&int, "", "\"\""),
            (&int, "1 2", "\"1 2\""),
            (&int, "-", "\"-\""),
            (&number, "3.14", "3.14"),
            (&number, "5.0", "5"),
            (&number, "1e3", "1000.0"),
            (&number, "1.", "\"1.\""),
            (&number, "NaN", "NaN"),
            (&number, "true", "\"true\""),
            (&number_or_null, "5.0", "5"),
            (&number_or_null, "05", "5"),
            (&number_or_null, "None", "null"),
            (&boolean, " false ", "false"),
            (&boolean, "True", "true"),
            (&boolean, "yes", "\"yes\""),
            (&object, "{ \"a\" : [1,2.50] }", "{\"a\": [1, 2.5]}"),
            (&object, "{'a': 1}", "\"{'a': 1}\""),
            (&object, "{} x", "\"{} x\""),
            (&object, "", "\"\""),
            (&array, "[1,\"a\"]", "[1, \"a\"]"),
            (&array, "{\"timeout\":30}", "{\"timeout\": 30}"),
            (&array, "[1, 2", "\"[1, 2\""),
            (&or_null, "null", "null"),
            (&or_null, "None", "\"None\""),
            (&or_null, " null", "\" null\""),
            (&or_null, "x", "\"x\""),
            (&or_null, "5", "\"5\""),
            (&or_object, "{\"a\":1}", "{\"a\": 1}"),
            (&or_object, "[1]", "\"[1]\""),
            (&or_object, "\"a\"", "\"a\""),
            (&scalars, "2", "2"),
            (&scalars, "02134", "\"02134\""),
            (&scalars, "5.0", "\"5.0\""),
            (&scalars, "-0", "\"-0\""),
            (&scalars, "+5", "\"+5\""),
            (&scalars, " 5", "\" 5\""),
            (&scalars, "True", "\"True\""),
            (&scalars, "\"5\"", "\"5\""),
            (&or_number, "1.10", "\"1.10\""),
            (&or_number, "1.1", "1.1"),
            (&or_number, "1e3", "\"1e3\""),
            (&or_number, "Infinity", "\"Infinity\""),
            (&or_number, "NaN", "\"NaN\""),
            (&scalars, "true", "true"),
            (&scalars, "2 dollars", "\"2 dollars\""),
            (&named_null, "null", "null"),
            (&listed, "1", "\"1\""),
            (&listed, "2", "2"),
            (&listed, "\n42\t", "\"\\n42\\t\""),
            (&listed, " 2\n", "2"),
            (&listed, "x", "\"x\""),
            (&word_or_int, "42", "\"42\""),
            (&word_or_int, " 42 ", "42"),
            (&word_or_int, "x", "\"x\""),
            (&word_or_any, " 42 ", "\" 42 \""),
            (&word_or_null, "None", "null"),
            (&word_or_null, "off", "\"off\""),
        ] {
            let document = SchemaDocument::new(schema);
            let typed = typed(raw.as_bytes(), Some(document.root()), Untyped::Json, 200);
            assert_eq!(typed, expected, "{schema} {raw:?}");
        }
    }

    #[test]
    fn without_a_type_text_is_text_or_json() {
        let silent = SchemaDocument::new(&json!({"description": "anything"}));
        for schema in [None, Some(silent.root())] {
            for (raw, as_json) in [
                (" 42", "42"),
                ("1.0", "1.0"),
                ("null", "null"),
                ("\"true\"", "\"true\""),
                ("{\"a\": [ ]}", "{\"a\": []}"),
                ("NaN", "\"NaN\""),
                ("True", "\"True\""),
                ("x", "\"x\""),
                ("", "\"\""),
            ] {
                assert_eq!(typed(raw.as_bytes(), schema, Untyped::Json, 9), as_json, "{raw:?}");
                let text = Value::from(raw).to_string();
                assert_eq!(typed(raw.as_bytes(), schema, Untyped::Text, 9), text);
            }
        }
    }

    #[test]
    fn scalars_are_known_without_a_schema() {
        for (raw, expected) in [
            ("true", Some("true")),
            ("None", Some("null")),
            ("42", Some("42")),
            ("-1.50", Some("-1.5")),
            ("1e2", Some("100.0")),
            ("007", None),
            ("NaN", None),
            ("-Infinity", None),
            ("[1]", None),
            ("\"a\"", None),
            ("1 2", None),
            ("", None),
        ] {
            assert_eq!(scalar(raw.as_bytes()).as_deref(), expected, "{raw}");
        }
    }

    #[test]
    fn numbers_may_be_long_and_brackets_only_so_deep() {
        let digits = "9".repeat(5000);
        let int = SchemaDocument::new(&json!({"type": "integer"}));
        assert_eq!(typed(digits.as_bytes(), Some(int.root()), Untyped::Text, 9), digits);
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        let array = SchemaDocument::new(&json!({"type": "array"}));
        let read = |depth| typed(nested(depth).as_bytes(), Some(array.root()), Untyped::Text, 200);
        assert!(read(200).starts_with('['));
        assert!(read(201).starts_with('"'));
        assert!(read(1_000_000).starts_with('"'));
    }

    #[test]
    fn lone_surrogates_are_kept() {
        assert_eq!(typed(b"a\xed\xa0\xbd", None, Untyped::Json, 9), "\"a\\ud83d\"");
    }
}
