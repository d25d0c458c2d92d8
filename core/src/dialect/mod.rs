//! How a model writes its calls, as a value.
//!
//! A [`Dialect`] says which marks open and close what, and what shape a call has between them. The parser reads by it, the
//! conversation and the system prompt write by it, and no mark of any model is written anywhere else. [`presets`] is the table of
//! those that models were taught.
//!
//! The grammar is fixed; only its marks are data. That is why every dialect is read in one pass, in linear time.

mod check;
mod error;
mod example;
mod form;
mod from_json;
pub mod presets;
mod prompt;
pub mod template;
mod text;

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

pub use error::DialectError;
pub use example::{CallExample, Calls};
pub use form::{
    Args, Blocks, Body, CallsForm, DecisionKeys, Flag, Head, HeadForm, Json, JsonShape, NoArgs,
    Parameters, Python, Trim, Untyped, Xml, XmlParts,
};
pub use prompt::{
    Frame, Ids, Inert, Joints, JsonLayout, Pair, Prompt, ResultText, ResultsForm, ToolObject,
    ToolsForm, ToolsLayout, ToolsPlace, TurnForm, Wording,
};
pub use text::{JOINER, Str};

/// How a model writes its calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Dialect {
    /// What it is called.
    pub name: Str,
    /// The models that were taught it; empty for a dialect that suits any model.
    #[serde(default)]
    pub models: Str,
    /// Marks around reasoning. Nothing between them is a call.
    #[serde(default)]
    pub reasoning: Vec<Pair>,
    /// Whether an answer begins inside reasoning, which the prompt has opened; an option of the reader overrides this.
    #[serde(default)]
    pub begins_in_reasoning: bool,
    /// Marks around text for the user; only the marks are left out.
    #[serde(default)]
    pub answer: Vec<Pair>,
    /// Marks around results, which only the system writes: what a model writes there is dropped.
    #[serde(default)]
    pub results: Vec<Results>,
    /// Messages, each with a head that names its recipient: the whole answer is a sequence of them.
    #[serde(default)]
    pub heads: Option<MessageHeads>,
    /// Whether marks count only at the start of a line.
    #[serde(default)]
    pub at_line_start: bool,
    /// How calls are written, by example: the first is what is written, all are read, told apart by how they begin.
    pub calls: Calls,
    /// Where JSON or a Python list may also begin a block without its mark.
    #[serde(default)]
    pub unmarked: Unmarked,
    /// When the calls run.
    #[serde(default)]
    pub batch: BatchEnd,
    /// What the mark of a block is if nothing that a block can hold follows it.
    #[serde(default)]
    pub lone_mark: LoneMark,
    /// The model says that it is done.
    #[serde(default)]
    pub end: Vec<Str>,
    /// The model's turn is over: tokens that a server may leave in the text. What follows is dropped.
    #[serde(default)]
    pub turn_end: Vec<Str>,
    /// Marks without their own meaning.
    #[serde(default)]
    pub ignored: Vec<Str>,
    /// Other tokens of its models' tokenizers, above all the marks that open and end turns in the chat template. A text that
    /// several of them begin with covers them all. Each has at least two characters.
    #[serde(default)]
    pub tokens: Vec<Str>,
    /// Strings at which a server must stop.
    #[serde(default)]
    pub stop: Vec<Str>,
    /// What prompts look like.
    #[serde(default)]
    pub prompt: Prompt,
}

impl Hash for Dialect {
    /// By the name: dialects that are equal have the same one.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// Marks around results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    /// The first mark.
    pub open: Str,
    /// The second one.
    pub close: Str,
    /// Whether the first is a mark only before a JSON array, or before the second one.
    #[serde(default)]
    pub array: bool,
}

/// Where a block may begin without its mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Unmarked {
    /// Nowhere.
    #[default]
    Never,
    /// As the first thing of the answer.
    AtStart,
    /// Anywhere in the answer.
    Anywhere,
}

/// When the calls run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BatchEnd {
    /// All blocks of an answer are one batch, which runs when the answer ends.
    #[default]
    Answer,
    /// The first block is the batch: it runs at once, and nothing after it is read.
    Block,
}

/// What a mark that opens a block is, if nothing that a block can hold follows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LoneMark {
    /// It is text like any other.
    #[default]
    Text,
    /// It is left out, as a token that is never text.
    Ignored,
    /// It opens a block, which is reported.
    Block,
}

/// Messages with a head that says what they are: `open … channel … to=RECIPIENT … end`, a text, and `close`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct MessageHeads {
    /// Any of these begins a head. The answer's first one may lack it, if it names a recipient.
    pub open: Vec<Str>,
    /// Before the channel's name.
    #[serde(default)]
    pub channel: Str,
    /// Before the recipient's name.
    pub recipient: Str,
    /// Ends the head: the text follows. Without channels, a recipient's name before it is a head, which ends the message
    /// that is open.
    pub end: Str,
    /// Any of these ends the text; so does the next head.
    pub close: Vec<Str>,
    /// Channels and recipients whose text is reasoning.
    pub reasoning: Vec<Str>,
    /// Recipients whose text is part of the answer. Any other is a tool.
    #[serde(default)]
    pub answer: Vec<Str>,
    /// What precedes a tool's name in the recipient's.
    #[serde(default)]
    pub prefix: Str,
    /// Whether the text for a tool is the arguments of a call, whose name is the recipient's; else the text holds calls.
    pub names_call: bool,
}
