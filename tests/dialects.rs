//! What the parser promises, for every dialect: no way of cutting a text matters, nothing is lost, nothing runs that is not
//! meant to, and all is bounded.

#[path = "dialects/account.rs"]
mod account;
#[path = "dialects/damage.rs"]
mod damage;
#[path = "dialects/early.rs"]
mod early;
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
