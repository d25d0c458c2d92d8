//! How fast a stored log becomes messages.

use cogency_rs::context::{Conversation, Message};
use cogency_rs::protocol::stored::shown_call;
use divan::{Bencher, counter::ItemsCount};

const EXCHANGES: usize = 1_000;
const CALL: &str = r#"{"name": "edit", "args": {"file": "src/app/reader.py", "old": "a = 1\n", "new": "a = 2\n"}}"#;
const RESULTS: &str = r#"[{"tool": "edit", "status": "success", "content": "Edited"}]"#;

fn main() {
    divan::main();
}

/// Turns of a user who asks and a model that thinks, responds and calls, each with its results.
#[divan::bench(args = [1, 4])]
fn fold(bencher: Bencher, calls: usize) {
    bencher.counter(ItemsCount::new(EXCHANGES * (4 + calls))).bench(|| {
        let mut conversation = Conversation::default();
        let mut messages: Vec<Message> = Vec::new();
        for _ in 0..EXCHANGES {
            messages.extend(conversation.user());
            conversation.think(b"It is used in three places, and one of them is a test.");
            conversation.respond(b"I read the file first, then I change it.");
            for _ in 0..calls {
                let call = shown_call(CALL.as_bytes()).expect("it is JSON");
                conversation.call(call.expect("it is a call"));
            }
            messages.extend(conversation.result(RESULTS.as_bytes()));
        }
        messages.extend(conversation.open());
        messages
    });
}
