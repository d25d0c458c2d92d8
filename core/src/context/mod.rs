//! The stored log to the messages of the next prompt.

pub mod conversation;
pub mod excerpt;
mod form;
mod native;
mod options;
mod outcomes;
mod passages;
pub mod prompt;
mod react;
pub mod report;
mod results;
mod shown;

pub use conversation::{Conversation, Message, Role};
pub use excerpt::Bounds;
pub use form::show;
pub use options::{FoldOptions, Form, Rules, Tags, cogency};
pub use passages::{Passage, PassageEnd, Passages};
pub use prompt::{PromptParts, Tool, declared, system_prompt};
pub use report::{ShownReport, stored_report};
pub use results::shown_results;
pub use shown::Shown;
