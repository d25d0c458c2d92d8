//! The stored log to the messages of the next prompt.

pub mod conversation;
pub mod prompt;

pub use conversation::{Conversation, Message, Role, Unanswered};
pub use prompt::system_prompt;
