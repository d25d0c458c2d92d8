//! Any log, row by row: behind each row the messages are those of the whole log so far.
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use cogency_rs::context::{Conversation, Message, Role, Tags, Unanswered};
use cogency_rs::protocol::Text;
use cogency_rs::protocol::call::{shown_call, stored_call};
use cogency_rs::protocol::json::Controls;
use cogency_rs_fuzz::conversation::{Row, messages};
use cogency_rs_fuzz::json::{self, Node, Value};
use cogency_rs_fuzz::text;
use libfuzzer_sys::fuzz_target;

/// A log. In a file, each row is a byte for its kind, two for its length (little-endian), and its content.
#[derive(Debug)]
struct Log(Vec<Row>);

impl Arbitrary<'_> for Log {
    fn arbitrary(input: &mut Unstructured<'_>) -> Result<Self> {
        let mut rows = Vec::new();
        while !input.is_empty() {
            let [kind, low, high] = <[u8; 3]>::arbitrary(input)?;
            let length = usize::from(u16::from_le_bytes([low, high])).min(input.len());
            let content = input.bytes(length)?;
            let text = text::from_bytes(content);
            rows.extend(match kind % 6 {
                0 => Some(Row::User(text)),
                1 => Some(Row::Think(text)),
                2 => Some(Row::Respond(text)),
                3 => Some(Row::Result(text)),
                4 => call(&text),
                _ => call(&written_call(&mut Unstructured::new(content))?),
            });
        }
        Ok(Self(rows))
    }
}

/// A row of the log that a call with this name and these arguments leaves.
fn written_call(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let name = *input.choose(&["a", "", "\\u00e9", "</execute>"])?;
    let args = text::json(input)?;
    Ok([b"{\"name\": \"", name.as_bytes(), b"\", \"args\": {\"x\": ", &args, b"}}"].concat())
}

/// The call in a row of the log, where it is one. Of its fields the last ones count.
fn call(text: &[u8]) -> Option<Row> {
    let Value::Object(entries) = json::read(text, 0, Controls::Escaped).ok()?.node.value else {
        return None;
    };
    let field = |name| {
        entries.iter().rfind(|(key, _)| *key == json::units(name)).map(|(_, node)| node.clone())
    };
    let name = field("name").filter(|node| matches!(node.value, Value::String(_)))?;
    let args = field("args").unwrap_or(Node { at: 0, value: Value::Object(Vec::new()) });
    let is_call = matches!(args.value, Value::Object(_)) && stored_call(text).is_ok();
    is_call.then(|| Row::Call { text: text.to_vec(), name, args })
}

fuzz_target!(|log: Log| {
    let Log(rows) = log;
    for unanswered in [Unanswered::Dropped, Unanswered::Failed] {
        let mut conversation = Conversation::new(unanswered, Tags::AsStored);
        let mut complete: Vec<Message> = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            match row {
                Row::User(text) => {
                    complete.extend(conversation.user().into_iter().flatten());
                    complete.push(Message { role: Role::User, content: Text::from(&text[..]) });
                }
                Row::Think(text) => conversation.think(text),
                Row::Respond(text) => conversation.respond(text),
                Row::Call { text, .. } => {
                    conversation.call(shown_call(text).expect("JSON").expect("a call"));
                }
                Row::Result(text) => {
                    complete.extend(conversation.result(text).into_iter().flatten());
                }
            }
            let open = conversation.open().into_iter().flatten();
            let found: Vec<Message> = complete.iter().cloned().chain(open).collect();
            assert_eq!(found, messages(&rows[..=index], unanswered));
        }
    }
});
