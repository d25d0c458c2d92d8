//! Folds stored rows into messages of text, in a dialect.
//!
//! What the assistant thought, said and called since the last results becomes one assistant message; results go back as a user
//! message. How both are written is the dialect's.

use std::borrow::Cow;
use std::sync::Arc;

use crate::protocol::Text;
use crate::protocol::stored::ShownCall;
use crate::protocol::write::{Renderer, TurnPart};

use super::excerpt::excerpt;
use super::options::{FoldOptions, Rules};
use super::passages::{Passage, PassageEnd, Passages};
use super::report::ShownReport;
use super::results;

/// Who speaks. Models know no others, so these are all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user, and the system where it returns results.
    User,
    /// The model.
    Assistant,
}

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Text,
}

/// The fold: rows go in, messages come out as soon as they are complete.
///
/// # Complexity
/// O(row) for each row; what is held is the assistant's open turn.
#[derive(Clone, Debug)]
pub struct Conversation {
    options: FoldOptions,
    renderer: Arc<Renderer>,
    passages: Passages,
}

impl Default for Conversation {
    fn default() -> Self {
        Self::new(FoldOptions::default())
    }
}

impl Conversation {
    /// A conversation at its start.
    #[must_use]
    pub fn new(options: FoldOptions) -> Self {
        let renderer = Arc::new(Renderer::new(Arc::clone(&options.dialect)));
        let passages = Passages::new(&options, Arc::clone(&renderer));
        Self { options, renderer, passages }
    }

    /// What a user said, as their message shows it.
    #[must_use]
    pub fn said_by_user<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        self.renderer.outside(text)
    }

    /// The user speaks: the assistant's turn is over. The user's own message is the caller's to add.
    pub fn user(&mut self) -> Vec<Message> {
        self.step(|passages, show| passages.user(show))
    }

    /// The messages that a step of the fold completes.
    fn step(
        &mut self,
        step: impl FnOnce(&mut Passages, &mut dyn FnMut(Passage<'_>)),
    ) -> Vec<Message> {
        let mut messages = Vec::new();
        let Self { options, renderer, passages } = self;
        step(passages, &mut |passage| {
            messages.extend(written(passage, options, renderer).into_iter().flatten());
        });
        messages
    }

    /// The model thought.
    pub fn think(&mut self, content: impl AsRef<[u8]>) {
        self.passages.think(content);
    }

    /// The model said something.
    pub fn respond(&mut self, content: impl AsRef<[u8]>) {
        self.passages.respond(content);
    }

    /// The model called a tool.
    pub fn call(&mut self, call: ShownCall) {
        self.passages.call(call);
    }

    /// The model wrote what could not be used. Only our own rules show that.
    pub fn report(&mut self, report: ShownReport) {
        self.passages.report(report);
    }

    /// A batch returned: the assistant's message with its calls, and the results. Empty results make no message.
    pub fn result(&mut self, content: impl AsRef<[u8]>) -> Vec<Message> {
        self.step(|passages, show| passages.result(content, show))
    }

    /// Somebody found out what became of a call whose results the model has read. Only our own rules show that: after the results
    /// of the calls that wait for theirs.
    pub fn settled(&mut self, content: impl AsRef<[u8]>) -> Vec<Message> {
        self.step(|passages, show| passages.settled(content, show))
    }

    /// The assistant's turn as far as it has come, and the reports that nothing better has followed, if the log ended here.
    #[must_use]
    pub fn open(&self) -> Vec<Message> {
        let mut messages = Vec::new();
        self.passages.open(|passage| {
            messages.extend(written(passage, &self.options, &self.renderer).into_iter().flatten());
        });
        messages
    }
}

/// The assistant's message, and the user's that answers it.
pub(super) fn written(
    Passage { parts, end }: Passage<'_>,
    options: &FoldOptions,
    renderer: &Renderer,
) -> [Option<Message>; 2] {
    let assistant = |parts: &[TurnPart<'_>]| {
        let content = if parts.is_empty() { None } else { renderer.turn(parts) };
        content.map(|content| Message { role: Role::Assistant, content })
    };
    let user = |content| Some(Message { role: Role::User, content });
    match end {
        PassageEnd::Nothing | PassageEnd::Results(_, b"") => [assistant(parts), None],
        PassageEnd::Report(report) => {
            let raw = Some(TurnPart::Raw(report.raw.as_bytes())).filter(|_| !report.raw.is_empty());
            let with_raw: Vec<_> = parts.iter().copied().chain(raw).collect();
            [
                assistant(&with_raw),
                user(renderer.written(report.told(options.form, renderer).as_bytes()).into()),
            ]
        }
        PassageEnd::Settled(text) => [assistant(parts), user(renderer.outside(text).into())],
        PassageEnd::Results(calls, content) => {
            let shown = excerpt(content, calls, &options.bounds);
            let pieces = match options.rules {
                Rules::Cogency => shown,
                Rules::Installed | Rules::Own => results::one_for_each(calls, content, shown),
            };
            let content = results::shown_results(&pieces, calls, renderer, options.tags);
            [assistant(parts), user(content)]
        }
    }
}

#[cfg(test)]
mod tests;
