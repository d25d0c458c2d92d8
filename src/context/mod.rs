//! The stored log to the messages of the next prompt.

pub mod conversation;
pub mod excerpt;
pub mod prompt;
pub mod report;

pub use conversation::{Conversation, FoldOptions, Message, Role, Rules, Tags};
pub use excerpt::Bounds;
pub use prompt::{Tool, system_prompt};
pub use report::{Report, stored_report};
