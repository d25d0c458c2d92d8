//! Folds stored rows into messages, the way cogency 3.3.0 does.
//!
//! What the assistant thought, said and called since the last results becomes one assistant message; results go
//! back as a user message. Two rules may surprise: results that no call precedes are placed before the assistant
//! text still pending, and calls without results are dropped at the next user message.

use crate::protocol::canonical::{Layout, Writer};
use crate::protocol::json::{Container, Scanner};
use crate::protocol::{Call, Text};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user, and the system where it returns results.
    User,
    /// The model.
    Assistant,
}

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Text,
}

impl Message {
    fn results(content: &[u8]) -> Self {
        let mut text = Text::from("<results>\n");
        text.push(content);
        text.push(b"\n</results>");
        Self { role: Role::User, content: text }
    }
}

/// The fold: rows go in, messages come out as soon as they are complete.
///
/// # Complexity
/// O(row) for each row; what is held is the assistant's open turn.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    turn: Option<Text>,
    calls: Vec<Call>,
}

impl Conversation {
    /// The user speaks: the assistant's turn is over. The user's own message is the caller's to add.
    pub fn user(&mut self) -> Option<Message> {
        self.calls.clear();
        self.take_turn()
    }

    /// The model thought.
    pub fn think(&mut self, content: &[u8]) {
        self.say(&[b"<think>", content, b"</think>"]);
    }

    /// The model said something.
    pub fn respond(&mut self, content: &[u8]) {
        self.say(&[content]);
    }

    /// The model called a tool.
    pub fn call(&mut self, call: Call) {
        self.calls.push(call);
    }

    /// A batch returned: the assistant's message with its calls, and the results. Empty results make no message.
    pub fn result(&mut self, content: &[u8]) -> [Option<Message>; 2] {
        let assistant = if self.calls.is_empty() {
            None
        } else {
            let block = execute_block(&std::mem::take(&mut self.calls));
            self.say(&[block.as_bytes()]);
            self.take_turn()
        };
        [assistant, (!content.is_empty()).then(|| Message::results(content))]
    }

    /// The log ends: the assistant's turn, as far as it came.
    pub fn finish(&mut self) -> Option<Message> {
        self.take_turn()
    }

    fn say(&mut self, parts: &[&[u8]]) {
        let turn = match &mut self.turn {
            Some(turn) => {
                turn.push(b"\n");
                turn
            }
            turn => turn.insert(Text::default()),
        };
        for part in parts {
            turn.push(part);
        }
    }

    fn take_turn(&mut self) -> Option<Message> {
        self.turn.take().map(|content| Message { role: Role::Assistant, content })
    }
}

/// The block as the model is shown it: `json.dumps(calls, indent=2)` between the tags.
fn execute_block(calls: &[Call]) -> String {
    let mut writer = Writer::new(Layout::Indented);
    writer.open(Container::Array);
    for call in calls {
        let json = call.json().as_bytes();
        let mut scanner = Scanner::default();
        while let Ok(Some(token)) = scanner.next(json) {
            writer.token(json, &token);
        }
    }
    writer.close();
    format!("<execute>\n{}\n</execute>", writer.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str) -> Call {
        Call::new(name, "{\"x\": [1, {}]}")
    }

    fn said(message: Option<Message>) -> Option<String> {
        message.map(|message| message.content.to_string())
    }

    #[test]
    fn a_turn_with_calls_becomes_one_message_and_its_results_another() {
        let mut conversation = Conversation::default();
        conversation.think(b"hm");
        conversation.respond(b"ok");
        conversation.call(call("\"a\""));
        let [assistant, results] = conversation.result(b"[]");
        assert_eq!(
            said(assistant).as_deref(),
            Some(
                "<think>hm</think>\nok\n<execute>\n[\n  {\n    \"name\": \"a\",\n    \"args\": {\n      \"x\": \
                 [\n        1,\n        {}\n      ]\n    }\n  }\n]\n</execute>"
            )
        );
        assert_eq!(said(results).as_deref(), Some("<results>\n[]\n</results>"));
        assert_eq!(conversation.finish(), None);
    }

    #[test]
    fn results_without_calls_stand_before_the_pending_text() {
        let mut conversation = Conversation::default();
        conversation.respond(b"later");
        let [assistant, results] = conversation.result(b"r");
        assert_eq!((assistant, results.is_some()), (None, true));
        assert_eq!(said(conversation.finish()).as_deref(), Some("later"));
    }

    #[test]
    fn calls_without_results_are_dropped_at_the_next_user_message() {
        let mut conversation = Conversation::default();
        conversation.call(call("\"a\""));
        assert_eq!(conversation.user(), None);
        assert_eq!(conversation.result(b""), [None, None]);
    }
}
