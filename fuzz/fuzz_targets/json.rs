//! JSON read while it arrives, and written again, against recursive descent over the whole text and against
//! `serde_json`: the same tokens, the same fault at the same byte, the same canonical text.
//!
//! Where `serde_json` differs it is by design. It refuses `NaN` and `Infinity`, raw control characters in
//! strings and lone surrogates, which Python reads, and it keeps numbers in an object of its own, whose key
//! can therefore not be used; [`Reading::beyond_rfc`] marks such texts. Everything else it reads like Python:
//! whitespace, numbers of any size (with `arbitrary_precision`, as text), and of equal keys the last value, in
//! the place of the first (with `preserve_order`).
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use cogency_rs::json::{Container, Controls, Fault, Scanner, Token};
use cogency_rs::protocol::Grammar;
use cogency_rs::protocol::canonical::{Writer, canonical_string, json_string};
use cogency_rs::protocol::{Call, stored::stored_call};
use cogency_rs::protocol::{Ending, Event, Limits, Options, Parser};
use cogency_rs_fuzz::conversation::StoredCall;
use cogency_rs_fuzz::json::{self, Layout, Node, Reading, Value};
use cogency_rs_fuzz::{conversation, parser, text};
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;

/// A text as bytes, or as JSON with one place damaged, and how it is cut.
#[derive(Debug)]
struct Input {
    sizes: [u8; 3],
    text: Vec<u8>,
}

impl Arbitrary<'_> for Input {
    fn arbitrary(input: &mut Unstructured<'_>) -> Result<Self> {
        let [form, sizes @ ..] = <[u8; 4]>::arbitrary(input)?;
        let text = match form % 4 {
            0 | 1 => text::from_bytes(input.bytes(input.len())?),
            2 => text::json(input)?,
            _ => {
                let mut text = text::json(input)?;
                let at = input.choose_index(text.len())?;
                let damage = <Vec<u8>>::arbitrary(input)?;
                let end = text.len().min(at + usize::from(input.int_in_range(0..=3_u8)?));
                text.splice(at..end, damage);
                text::from_bytes(&text)
            }
        };
        Ok(Self { sizes, text })
    }
}

/// The core's tokens of a text that grows chunk by chunk, and where its value ends.
fn tokens(chunks: &[&[u8]], controls: Controls) -> std::result::Result<(Vec<Token>, usize), Fault> {
    let (mut scanner, mut tokens, mut text) = (Scanner::new(controls), Vec::new(), Vec::new());
    for chunk in chunks {
        text.extend_from_slice(chunk);
        while let Some(token) = scanner.next(&text)? {
            tokens.push(token);
        }
    }
    tokens.extend(scanner.end(&text)?);
    assert!(scanner.is_complete());
    assert_eq!(scanner.depth(), 0);
    Ok((tokens, scanner.position()))
}

/// A value's tokens without their places, in their order.
fn tokens_of(node: &Node, tokens: &mut Vec<String>) {
    match &node.value {
        Value::Word(word) => tokens.push((*word).to_owned()),
        Value::Number(number) => tokens.push(number.clone()),
        Value::String(units) => tokens.push(json::quoted(units)),
        Value::Array(items) => {
            tokens.push("[".to_owned());
            for item in items {
                tokens_of(item, tokens);
            }
            tokens.push("]".to_owned());
        }
        Value::Object(entries) => {
            tokens.push("{".to_owned());
            for (key, value) in entries {
                tokens.push(json::quoted(key) + ":");
                tokens_of(value, tokens);
            }
            tokens.push("}".to_owned());
        }
    }
}

fn shown(token: &Token, text: &[u8]) -> String {
    match token {
        Token::Open(Container::Array) => "[".to_owned(),
        Token::Close(Container::Array) => "]".to_owned(),
        Token::Open(Container::Object) => "{".to_owned(),
        Token::Close(Container::Object) => "}".to_owned(),
        Token::Key(range) => canonical_string(&text[range.clone()]) + ":",
        Token::String(range) => canonical_string(&text[range.clone()]),
        Token::Number(range) => String::from_utf8_lossy(&text[range.clone()]).into_owned(),
        Token::Word(word) => (*word).to_owned(),
    }
}

fn rewritten(text: &[u8], tokens: &[Token]) -> String {
    let mut writer = Writer::new(0);
    for token in tokens {
        writer.token(text, token);
    }
    writer.finish()
}

/// A `serde_json` value as our tree, which knows how to be written.
fn node_of(value: &serde_json::Value) -> Node {
    let value = match value {
        serde_json::Value::Null => Value::Word("null"),
        serde_json::Value::Bool(true) => Value::Word("true"),
        serde_json::Value::Bool(false) => Value::Word("false"),
        serde_json::Value::Number(number) => Value::Number(number.as_str().to_owned()),
        serde_json::Value::String(text) => Value::String(json::units(text)),
        serde_json::Value::Array(items) => Value::Array(items.iter().map(node_of).collect()),
        serde_json::Value::Object(entries) => Value::Object(
            entries.iter().map(|(key, value)| (json::units(key), node_of(value))).collect(),
        ),
    };
    Node { at: 0, value }
}

fn from_serde(text: &[u8]) -> serde_json::Result<Node> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    deserializer.disable_recursion_limit();
    let value: serde_json::Value = Deserialize::deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(node_of(&value))
}

fn check_against_descent(text: &[u8], controls: Controls) {
    let found = tokens(&[text], controls);
    match (&found, json::read(text, 0, controls)) {
        (Ok((tokens, end)), Ok(reading)) => {
            // Asked for more, the scanner passes over the whitespace after the value.
            assert_eq!(text[reading.end..*end].trim_ascii(), b"");
            let mut expected = Vec::new();
            tokens_of(&reading.node, &mut expected);
            assert_eq!(tokens.iter().map(|token| shown(token, text)).collect::<Vec<_>>(), expected);
            let expected = json::dumps(&reading.node.value, Layout::Compact);
            assert_eq!(rewritten(text, tokens), expected);
        }
        (found, expected) => assert_eq!(found.clone().err(), expected.err()),
    }
}

fn check_against_serde(text: &[u8]) {
    let read = json::read(text, 0, Controls::Raw);
    let is_alone =
        |reading: &Reading| text[reading.end..].iter().all(|byte| b" \t\n\r".contains(byte));
    match (from_serde(text), read) {
        (Ok(theirs), Ok(ours)) => {
            if !ours.beyond_rfc {
                let [theirs, ours] =
                    [theirs, ours.node].map(|node| json::dumps(&node.value, Layout::Compact));
                assert_eq!(theirs, ours);
            }
        }
        (Ok(_), Err(fault)) => panic!("only serde_json reads this: {fault:?}"),
        (Err(error), Ok(ours)) => {
            assert!(ours.beyond_rfc || !is_alone(&ours), "only serde_json refuses this: {error}");
        }
        (Err(_), Err(_)) => {}
    }
}

/// The text as a row of the log that is read as a call.
fn check_stored_call(text: &[u8]) {
    let written = |StoredCall { name, args }| {
        let [name, args] = [name, args].map(|value| json::dumps(&value, Layout::Compact));
        format!("{{\"name\": {name}, \"args\": {args}}}")
    };
    let expected = conversation::stored_call(text).map(|call| call.map(written));
    assert_eq!(stored_call(text).map(|call| call.map(Call::into_json)), expected);
}

fuzz_target!(|input: Input| {
    let Input { sizes, text } = input;
    let characters: Vec<&[u8]> = text::characters(&text).collect();
    for controls in [Controls::Raw, Controls::Escaped] {
        let whole = tokens(&[&text], controls);
        assert_eq!(tokens(&characters, controls), whole);
        assert_eq!(tokens(&text::chunks(&text, &sizes), controls), whole);
        check_against_descent(&text, controls);
    }
    check_against_serde(&text);

    check_stored_call(&text);

    let units: json::Units = text::characters(&text).flat_map(json::units_of).collect();
    assert_eq!(json_string(&text), json::quoted(&units));

    for block in [
        [b"<execute>", &text[..], b"</execute>ok"].concat(),
        [b"<execute>[{\"name\":\"t\",\"args\":", &text[..], b"}]</execute>ok"].concat(),
    ] {
        let (mut parser, mut events) =
            (Parser::new(Grammar::cogency(), Options::default()), Vec::<Event>::new());
        parser.feed_bytes(&block, &mut events);
        parser.finish(&Ending::Unknown, &mut events);
        assert_eq!(events, parser::events(&block, Limits::default(), &Ending::Unknown, false));
    }
});
