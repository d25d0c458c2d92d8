//! Answers of several messages, each with a head that says who it is for.

use super::super::marks::find;
use crate::dialect::{MessageHeads, Str};
use crate::text::{leading_space, space_width};

/// A dialect whose answers are several messages, each with a head.
#[derive(Debug)]
pub struct Headed {
    /// Its number in the grammar.
    pub dialect: usize,
    /// The number of the span of reasoning.
    pub reasoning: usize,
    /// The number of the span of the answer.
    pub answer: usize,
}

/// Who a message is for, as its head says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addressee {
    /// The model itself.
    Reasoning,
    /// The user.
    Answer,
    /// The tool of this name.
    Tool(Vec<u8>),
}

impl MessageHeads {
    /// Whether a message begins or ends in `text`.
    #[must_use]
    pub fn stands_in(&self, text: &[u8]) -> bool {
        // The mark of a channel may begin a head, and also appears inside one.
        let mut marks = self.open.iter().filter(|open| **open != self.channel).chain(&self.close);
        marks.any(|mark| memchr::memmem::find(text, mark.as_bytes()).is_some())
    }

    /// The first byte from `from` on at which another mark begins, in a head that begins at byte `start` and has not ended.
    ///
    /// # Errors
    /// There is none; no mark begins before this byte.
    pub fn other(&self, text: &[u8], (start, from): (usize, usize)) -> Result<usize, usize> {
        let marks = self.open.iter().filter(|open| **open != self.channel).chain(&self.close);
        // A head has one channel.
        let channel = match find(text, start, &self.channel) {
            _ if self.channel.is_empty() => Err(text.len()),
            Ok(first) => find(text, from.max(first + self.channel.len()), &self.channel),
            Err(searched) => Err(searched),
        };
        let found = marks.map(|mark| find(text, from, mark)).chain([channel]);
        let first = found.min_by_key(|found| match found {
            Ok(at) | Err(at) => *at,
        });
        first.unwrap_or(Err(text.len()))
    }

    /// The length of the mark that `head` begins with.
    #[must_use]
    pub fn mark(&self, head: &[u8]) -> usize {
        let is_open = |open: &&Str| head.starts_with(open.as_bytes());
        self.open.iter().find(is_open).map_or(0, |open| open.len())
    }

    /// The text of a message whose head does not end: what follows the head's marks, and the words that say who it is for.
    #[must_use]
    pub fn body<'h>(&self, head: &'h [u8]) -> &'h [u8] {
        let names = || self.answer.iter().chain(&self.reasoning).map(|name| name.as_bytes());
        let rest = &head[last(head, &self.channel).unwrap_or(self.mark(head))..];
        let word = &rest[..word_end(rest)];
        // The text may end in such a word.
        let is_begun = word.len() == rest.len() && names().any(|name| name.starts_with(word));
        if !is_begun && !names().any(|name| name == word) {
            return rest;
        }
        let said = &rest[word.len()..];
        let said = &said[leading_space(said)..];
        // A recipient may follow the role: `assistant to=user`.
        let recipient = said.strip_prefix(self.recipient.as_bytes()).unwrap_or_default();
        let to = &recipient[..word_end(recipient)];
        if names().any(|name| name == to) { &recipient[to.len()..] } else { said }
    }

    /// Who a message is for, if its head does not end: the message's own text is then in `head`, after the words of the head.
    #[must_use]
    pub fn addressee_without_end(&self, head: &[u8]) -> Addressee {
        let said = self.body(head);
        let said = &said[leading_space(said)..];
        let is_to = said.starts_with(self.recipient.as_bytes());
        let named =
            if is_to { self.recipient.len() + word_end(&said[self.recipient.len()..]) } else { 0 };
        self.addressee(&head[..head.len() - said.len() + named])
    }

    /// Who the message with this head is for.
    #[must_use]
    pub fn addressee(&self, head: &[u8]) -> Addressee {
        let channel = word_after(head, &self.channel);
        let recipient = word_after(head, &self.recipient);
        let is = |names: &[Str], word: Option<&[u8]>| {
            word.is_some_and(|word| names.iter().any(|name| name.as_bytes() == word))
        };
        match recipient {
            Some(tool) if !is(&self.answer, recipient) && !is(&self.reasoning, recipient) => {
                Addressee::Tool(tool.strip_prefix(self.prefix.as_bytes()).unwrap_or(tool).to_vec())
            }
            _ if is(&self.reasoning, recipient) || is(&self.reasoning, channel) => {
                Addressee::Reasoning
            }
            _ => Addressee::Answer,
        }
    }
}

/// The word after the last `mark` in `head`, up to whitespace or the next mark.
fn word_after<'h>(head: &'h [u8], mark: &str) -> Option<&'h [u8]> {
    let word = &head[last(head, mark)?..];
    Some(&word[..word_end(word)]).filter(|word| !word.is_empty())
}

/// Where the last `mark` in `head` ends.
fn last(head: &[u8], mark: &str) -> Option<usize> {
    let first = *mark.as_bytes().first()?;
    let mut starts = memchr::memrchr_iter(first, head);
    let found = starts.find(|&at| head[at..].starts_with(mark.as_bytes()))?;
    Some(found + mark.len())
}

/// Where the word ends that `text` begins with.
fn word_end(text: &[u8]) -> usize {
    let ends = |at: &usize| text[*at] == b'<' || space_width(&text[*at..]) > 0;
    (0..text.len()).find(ends).unwrap_or(text.len())
}
