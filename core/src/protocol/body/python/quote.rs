//! Whether a quote closes its string.
//!
//! Small models forget to escape the quotes in a string: `run(code='print('a')')`. Valid Python is read as Python reads
//! it; only a quote followed by what cannot follow a string is a character of that string. What may just as well be a
//! slip of another kind, such as an expression or a forgotten comma, closes the string and is refused.

use super::words::{MAX_WORD, Prefix, is_quote, word_end};
use crate::text::leading_space;

/// A look at what follows a quote. It goes on from where it was once there is more text.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuoteLookahead {
    /// The quote.
    pub quote: usize,
    at: usize,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Directly after the quote.
    Quote,
    /// In a word that begins here.
    Word(usize),
    /// After a word.
    BehindWord,
    /// After the bracket that would close the call.
    BehindCall,
}

/// What a quote is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The end of its string.
    Closes,
    /// A character of it.
    Content,
}

/// Words that continue an expression after a string.
const OPERATORS: [&[u8]; 8] = [b"and", b"or", b"not", b"in", b"is", b"if", b"else", b"for"];

impl QuoteLookahead {
    pub(super) fn new(quote: usize) -> Self {
        Self { quote, at: quote + 1, stage: Stage::Quote }
    }

    /// What the quote is; `None` where more text must tell. `in_list` says that the string is an argument of a call in
    /// a list, which not everything may follow.
    ///
    /// # Complexity
    /// One look reads no byte twice, and none after the next quote.
    pub(super) fn verdict(&mut self, text: &[u8], in_list: bool) -> Option<Verdict> {
        loop {
            if let Stage::Word(start) = self.stage {
                self.at = word_end(text, self.at);
                if self.at - start > MAX_WORD {
                    return Some(Verdict::Content);
                }
                let next = *text.get(self.at)?;
                let word = &text[start..self.at];
                if OPERATORS.contains(&word) || (is_quote(next) && Prefix::of(word).is_some()) {
                    return Some(Verdict::Closes);
                }
                self.stage = Stage::BehindWord;
            }
            self.at += leading_space(&text[self.at..]);
            let is_content = match (self.stage, *text.get(self.at)?) {
                (Stage::Quote, b')') if in_list => {
                    self.at += 1;
                    self.stage = Stage::BehindCall;
                    continue;
                }
                (Stage::BehindCall, b')') => {
                    self.at += 1;
                    continue;
                }
                (Stage::Quote, b'\\') => !matches!(text.get(self.at + 1)?, b'\n' | b'\r'),
                (Stage::Quote, b';' | b'$' | b'?' | b'#' | b'{' | b'`') => true,
                (Stage::Quote, _) if word_end(text, self.at) > self.at => {
                    // These two begin no word.
                    if matches!(text[self.at], b'-' | b'.') {
                        return Some(Verdict::Closes);
                    }
                    self.stage = Stage::Word(self.at);
                    continue;
                }
                (Stage::BehindWord, next) => next != b'=',
                (Stage::BehindCall, next) => b"\"';\\&|}".contains(&next),
                _ => false,
            };
            return Some(if is_content { Verdict::Content } else { Verdict::Closes });
        }
    }
}
