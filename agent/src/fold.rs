//! The rows of a log to messages.

use super::log::{LogRow, LogRowKind};
use cogency_rs::context::{Conversation, FoldOptions, Message, Role, stored_report};
use cogency_rs::protocol::stored::shown_call;
use cogency_rs::turn::RowKind;

/// The messages that a model is sent after these rows of a conversation.
///
/// A row that is not what its kind says is left out: another program may have written it.
///
/// # Complexity
/// O(rows)
#[must_use]
pub fn fold<'r>(rows: impl IntoIterator<Item = &'r LogRow>, options: FoldOptions) -> Vec<Message> {
    let mut conversation = Conversation::new(options);
    let mut messages = Vec::new();
    for LogRow { kind, content, .. } in rows {
        let content = content.as_bytes();
        match kind {
            LogRowKind::User => {
                messages.extend(conversation.user());
                let content = conversation.said_by_user(content).into_owned().into();
                messages.push(Message { role: Role::User, content });
            }
            LogRowKind::Turn(RowKind::Think) => conversation.think(content),
            LogRowKind::Turn(RowKind::Respond) => conversation.respond(content),
            LogRowKind::Turn(RowKind::Call) => {
                if let Ok(Some(call)) = shown_call(content) {
                    conversation.call(call);
                }
            }
            LogRowKind::Turn(RowKind::Result) => {
                messages.extend(conversation.result(content));
            }
            LogRowKind::Settled => messages.extend(conversation.settled(content)),
            LogRowKind::Turn(RowKind::Error) => {
                if let Some(report) = stored_report(content) {
                    conversation.report(report);
                }
            }
        }
    }
    messages.extend(conversation.open());
    messages
}
