//! Which answers a grammar allows.

/// Which answers a grammar allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrammarOptions {
    /// Which calls.
    pub calls: CallChoice,
    /// How many.
    pub parallel: Parallel,
    /// Which reasoning.
    pub reasoning: Reasoning,
}

impl GrammarOptions {
    /// Whether an answer must call, so that it has no text.
    #[must_use]
    pub fn must_call(&self) -> bool {
        matches!(self.calls, CallChoice::Required | CallChoice::Tool(_))
    }
}

/// Which calls an answer may make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CallChoice {
    /// Any, or none.
    #[default]
    Auto,
    /// At least one.
    Required,
    /// None.
    None,
    /// At least one, of the tool of this name.
    Tool(String),
}

/// How many calls an answer may make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parallel {
    /// As many as it likes.
    #[default]
    Many,
    /// One.
    One,
}

/// Which reasoning an answer may begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reasoning {
    /// As the dialect says: the answer may begin with it, or does so where the prompt has opened it.
    #[default]
    Auto,
    /// It begins in it: the prompt has opened it.
    Open,
    /// None.
    None,
}
