//! How a model writes its calls, as a value.
//!
//! A [`Dialect`] says which marks open and close what, and what shape a call has between them. The parser reads by it, the
//! conversation and the system prompt write by it, and no mark of any model is written anywhere else. [`presets`] is the table of
//! those that models were taught.
//!
//! The grammar is fixed; only its marks are data. That is why every dialect is read in one pass, in linear time.

mod check;
mod example;
mod from_json;
pub mod presets;
mod prompt;
pub mod template;
mod text;

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

pub use example::{CallExample, Calls};
pub use prompt::{
    Blocks, CallsForm, Frame, Ids, Inert, JOINER, Joints, JsonLayout, Prompt, ResultText,
    ResultsForm, ToolObject, ToolsForm, ToolsLayout, ToolsPlace, TurnForm, Wording,
};
pub use text::Str;

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

/// Two marks around something, written as `<think>{}</think>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pair {
    /// The first mark.
    pub open: Str,
    /// The second one. Empty if the next mark of any other kind ends it.
    pub close: Str,
}

impl TryFrom<String> for Pair {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let Frame { before: open, behind: close } = Frame::try_from(text)?;
        Ok(Self { open, close })
    }
}

impl From<Pair> for String {
    fn from(Pair { open, close }: Pair) -> Self {
        Frame { before: open, behind: close }.into()
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

/// What a block of calls holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Body {
    /// JSON that holds names and arguments.
    Json(Json),
    /// Calls with the name in its own head.
    Head(Head),
    /// Python calls with literals as arguments.
    Python(Python),
    /// XML elements.
    Xml(Xml),
}

/// JSON that holds names and arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a liberty of its own")]
pub struct Json {
    /// How many calls there are.
    pub shape: JsonShape,
    /// Keys that may hold the name; the first is what is written.
    pub name: Vec<Str>,
    /// Keys that may hold the arguments; the first is what is written.
    pub args: Vec<Str>,
    /// Whether a call without arguments may leave that key out.
    pub args_optional: bool,
    /// Whether a name may be empty, as in cogency 3.3.0.
    pub empty_names: bool,
    /// Whether the arguments may also be a string that holds the object.
    pub args_as_text: bool,
    /// Whether items of an array that are not calls are passed over.
    pub skips_others: bool,
    /// The key of the call's id.
    pub id: Option<Str>,
    /// The key of the server that the call goes to.
    pub server: Option<Str>,
    /// An object that says by one of its keys whether it is a call or the answer.
    pub decision: Option<DecisionKeys>,
}

/// How many calls a JSON value holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonShape {
    /// One object.
    Object,
    /// An array of objects.
    Array,
    /// One object after the other, with this between them; white space there does not count.
    Objects(Str),
}

/// The keys of an object that is a call or the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionKeys {
    /// The key that decides.
    pub key: Str,
    /// Its value if the object is a call.
    pub call: Str,
    /// Its value if the object is the answer.
    pub answer: Str,
    /// The key of the answer's text.
    pub answer_key: Str,
    /// The key of the reasoning.
    pub thought_key: Str,
}

/// A call with its name in a head: `open NAME ends ARGS close`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Before the name.
    pub open: Str,
    /// Any of these ends the head; the first is what is written. One that also begins the arguments or closes the call does
    /// both.
    pub ends: Vec<Str>,
    /// What else the head holds.
    pub form: HeadForm,
    /// How the arguments are written.
    pub args: Args,
    /// Closes the call; empty where the arguments have their own end.
    pub close: Str,
    /// Marks before which a call without a closing mark ends.
    pub until: Vec<Str>,
    /// Whether a call also counts without the block around it.
    pub bare: bool,
}

/// What a head holds besides the name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeadForm {
    /// Nothing.
    #[default]
    Name,
    /// `functions.NAME:INDEX`, which is the id.
    Numbered,
    /// The call's id after this mark.
    Id(Str),
    /// This mark before the name.
    Behind(Str),
    /// Attributes of a tag; the name is the one with this key. `NAME.NAME` is `NAME`, if only that is a tool.
    Attributes(Str),
}

/// How arguments are written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Args {
    /// A JSON object.
    Json,
    /// A JSON object, or text up to where the call ends: the value of the tool's only parameter, or of this one.
    Text(Str),
    /// `{key:value,…}` without quotes around keys, and with this mark around strings.
    Braces(Str),
    /// One element for each.
    Parameters(Parameters),
    /// XML elements.
    Xml(Xml),
}

/// Arguments, each between its own marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Marks around all of them.
    pub around: Option<Pair>,
    /// Marks around one JSON object in place of all of them. An object without these marks is read too.
    pub whole: Option<Pair>,
    /// Before the key.
    pub open: Str,
    /// After the key.
    pub key_end: Str,
    /// Whether entities are read in the key.
    pub entities: bool,
    /// Before the value, if that is more than `key_end`. Space between the two is free.
    pub value_open: Str,
    /// After the value; `{key}` in it is the key.
    pub close: Str,
    /// An attribute after the key that says whether the value is text.
    pub flag: Option<Flag>,
    /// Which whitespace at the ends of a value is not part of it.
    pub trim: Trim,
    /// What a value is if no schema says.
    pub untyped: Untyped,
}

/// An attribute that says whether a value is text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Its name.
    pub name: Str,
    /// Its value if the parameter is text; with any other, the parameter is JSON.
    pub text: Str,
    /// What is written if the parameter is JSON; empty for the name of its JSON type.
    pub json: Str,
}

/// Which whitespace at the ends of a value is not part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trim {
    /// None: every character counts.
    #[default]
    Nothing,
    /// One line break at each end.
    Newline,
    /// All of it.
    Space,
}

/// What a value is if no schema says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Untyped {
    /// Text.
    #[default]
    Text,
    /// JSON if it is valid JSON, else text.
    Json,
    /// A number, a boolean or null if it is written as one, else text.
    Scalar,
}

/// Python calls with literals as arguments. Expressions are never evaluated: a call with one is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Python {
    /// `[a(x=1), b()]`
    List,
    /// One call on each line.
    Lines,
}

/// XML elements: nested ones are objects, repeated ones arrays; the tool's schema decides. Text next to elements is a
/// member `$text` if every tag has a `prefix`; else the whole value is text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xml {
    /// Before every tag.
    pub prefix: Str,
    /// Whether entities and CDATA are read.
    pub entities: bool,
    /// The elements of the server, the name and the arguments. Absent if a head has the name.
    pub parts: Option<XmlParts>,
}

/// The elements of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlParts {
    /// Of the server's name.
    pub server: Str,
    /// Of the tool's name.
    pub name: Str,
    /// Around the arguments.
    pub args: Str,
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
