//! The stored log to the messages of the next prompt.

pub mod conversation;
pub mod prompt;

pub use conversation::{Conversation, Message, Role, Tags, Unanswered};
pub use prompt::system_prompt;
