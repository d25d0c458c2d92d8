//! What the parser promises for every dialect: how a text is cut does not matter, nothing is lost, only calls that are meant
//! to run do so, and time and memory are bounded.

#[path = "dialects/account.rs"]
mod account;
#[path = "dialects/chat.rs"]
mod chat;
#[path = "dialects/damage.rs"]
mod damage;
#[path = "dialects/early.rs"]
mod early;
#[path = "dialects/joined.rs"]
mod joined;
#[path = "dialects/pieces.rs"]
mod pieces;
#[path = "dialects/read.rs"]
mod read;
#[path = "dialects/reasoning.rs"]
mod reasoning;
#[path = "dialects/texts.rs"]
mod texts;
#[path = "dialects/write.rs"]
mod write;
