//! The stored log to the messages of the next prompt.

pub mod conversation;
pub mod excerpt;
mod options;
pub mod prompt;
pub mod report;
mod results;

pub use conversation::{Conversation, Message, Role};
pub use excerpt::Bounds;
pub use options::{FoldOptions, Rules, Tags, cogency};
pub use prompt::{Tool, system_prompt};
pub use report::{ShownReport, stored_report};
