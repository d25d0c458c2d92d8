//! What the parser promises for every dialect: how a text is cut does not matter, nothing is lost, only calls that are meant
//! to run do so, and time and memory are bounded.

mod account;
mod chat;
mod damage;
mod early;
pub mod joined;
mod mistakes;
mod pieces;
mod read;
mod reasoning;
mod texts;
mod write;
