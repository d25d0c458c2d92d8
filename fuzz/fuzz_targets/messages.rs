//! Any log, folded row by row, against the fold of the whole log.
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use cogency_rs::context::{Conversation, FoldOptions, Message, Role, Rules, ShownReport, Tags};
use cogency_rs::protocol::Text;
use cogency_rs::protocol::stored::shown_call;
use cogency_rs_fuzz::conversation::{Row, messages, stored_call};
use cogency_rs_fuzz::text;
use libfuzzer_sys::fuzz_target;

/// A log. In a file, each row is a byte for its kind and its content; between rows is a byte that no text has,
/// so that a row may grow and shrink by itself.
#[derive(Debug)]
struct Log(Vec<Row>);

impl Arbitrary<'_> for Log {
    fn arbitrary(input: &mut Unstructured<'_>) -> Result<Self> {
        let rows = input.bytes(input.len())?.split(|byte| *byte == 0xff);
        Ok(Self(rows.filter_map(row).collect()))
    }
}

fn row(bytes: &[u8]) -> Option<Row> {
    let (kind, content) = bytes.split_first()?;
    let text = text::from_bytes(content);
    match kind % 7 {
        0 => Some(Row::User(text)),
        1 => Some(Row::Think(text)),
        2 => Some(Row::Respond(text)),
        3 => Some(Row::Result(text)),
        4 => call(text),
        5 => {
            let mut report = ShownReport::new(&text[..], "no");
            report.is_of_cut_answer = text.is_empty() && kind / 7 % 2 == 0;
            Some(Row::Error(report))
        }
        _ => call(written_call(&mut Unstructured::new(content)).ok()?),
    }
}

/// A row of the log that a call with this name and these arguments leaves.
fn written_call(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let name = *input.choose(&["a", "", "\\u00e9", "</execute>"])?;
    let args = text::json(input)?;
    Ok([b"{\"name\": \"", name.as_bytes(), b"\", \"args\": {\"x\": ", &args, b"}}"].concat())
}

/// The row of a call; `None` if the text is not a call.
fn call(text: Vec<u8>) -> Option<Row> {
    let call = stored_call(&text).ok()??;
    Some(Row::Call(text, call))
}

/// After each row the messages are those of the whole log so far.
fn check(rows: &[Row], rules: Rules, tags: Tags) {
    let mut conversation = Conversation::new(FoldOptions { rules, tags, ..FoldOptions::default() });
    let mut complete: Vec<Message> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        match row {
            Row::User(text) => {
                complete.extend(conversation.user());
                complete.push(Message { role: Role::User, content: Text::from(&text[..]) });
            }
            Row::Think(text) => conversation.think(text),
            Row::Respond(text) => conversation.respond(text),
            Row::Call(text, _) => {
                conversation.call(shown_call(text).expect("JSON").expect("a call"));
            }
            Row::Error(report) => conversation.report(report.clone()),
            Row::Result(text) => {
                complete.extend(conversation.result(text));
            }
        }
        let open = conversation.open();
        let found: Vec<Message> = complete.iter().cloned().chain(open).collect();
        assert_eq!(found, messages(&rows[..=index], rules, tags));
    }
}

fuzz_target!(|log: Log| {
    for rules in [Rules::Cogency, Rules::Installed, Rules::Own] {
        for tags in [Tags::AsStored, Tags::Escaped] {
            check(&log.0, rules, tags);
        }
    }
});
