//! What prompts look like: the way back from calls, results and tools to text.
//!
//! The marks are those that the parser reads by; here is what it does not need: the space between them, and the frames
//! around what only the system writes.

use serde::{Deserialize, Serialize};

use super::text::Str;

/// What prompts look like. The default is plain: tools as JSON, a line each, and results in frames that many models know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Prompt {
    /// What the models' own template says about its tools; without it, the prompt must say how calls are written.
    #[serde(default)]
    pub wording: Option<Wording>,
    /// How tools are declared.
    #[serde(default)]
    pub tools: ToolsForm,
    /// What reports call a block; empty for its mark.
    #[serde(default)]
    pub block_name: Str,
    /// What a report then tells the model to do; empty for an example.
    #[serde(default)]
    pub again: Str,
    /// How a turn of the model is put together.
    #[serde(default)]
    pub turn: TurnForm,
    /// How results are returned.
    #[serde(default)]
    pub results: ResultsForm,
    /// How marks are shown in text from outside.
    #[serde(default)]
    pub inert: Inert,
}

/// How marks are shown in text from outside: what tools return, what users say, what was said before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Inert {
    /// With a [joiner](super::JOINER) after their first character, which the reader of calls takes out again. In a string of JSON or
    /// Python the first character is an escape instead.
    #[default]
    Joined,
    /// As they are, like cogency 3.3.0: what a tool returned can open a turn.
    Kept,
}

/// What a chat template says around the declarations of its tools: the words that its models were taught.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Wording {
    /// Where the template puts it.
    pub place: ToolsPlace,
    /// Before the tools.
    #[serde(default)]
    pub before: Str,
    /// After them.
    #[serde(default)]
    pub behind: Str,
}

/// Where tools are declared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolsPlace {
    /// At the end of the system message.
    #[default]
    AfterSystem,
    /// At its beginning.
    BeforeSystem,
    /// In their own system message, before the other one.
    OwnSystem,
    /// At the beginning of the user's first message.
    User,
}

/// Text before and after something, written as `before {} after`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Frame {
    /// Before it.
    pub before: Str,
    /// After it.
    pub behind: Str,
}

impl TryFrom<String> for Frame {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.split_once("{}") {
            Some((before, behind)) if !behind.contains("{}") => {
                Ok(Self { before: before.to_owned().into(), behind: behind.to_owned().into() })
            }
            _ => Err("must have {} once, where the text is that it is around"),
        }
    }
}

impl From<Frame> for String {
    fn from(Frame { before, behind }: Frame) -> Self {
        [&before, "{}", &behind].concat()
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

impl Frame {
    /// A frame of these two texts.
    #[must_use]
    pub const fn new(before: &'static str, behind: &'static str) -> Self {
        Self { before: Str::Borrowed(before), behind: Str::Borrowed(behind) }
    }
}

/// How tools are declared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct ToolsForm {
    /// How one is written.
    pub layout: ToolsLayout,
    /// Around all of them.
    #[serde(default)]
    pub around: Frame,
    /// Around each.
    #[serde(default)]
    pub each: Frame,
    /// Between two of them.
    #[serde(default)]
    pub between: Str,
}

impl Default for ToolsForm {
    fn default() -> Self {
        Self {
            layout: ToolsLayout::Json(ToolObject::Tool, JsonLayout::Compact),
            around: Frame::new("<tools>\n", "\n</tools>"),
            each: Frame::default(),
            between: "\n".into(),
        }
    }
}

/// How a tool is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolsLayout {
    /// As a signature: `name(parameters) - description`.
    Signature,
    /// As JSON.
    Json(ToolObject, JsonLayout),
    /// All tools as one JSON array of these.
    Array(ToolObject, JsonLayout),
    /// As elements of these names, of the tool and of its name, with a `<parameter>` for each parameter.
    Elements(Str, Str),
    /// Under a heading, with the parameters as JSON.
    Heading,
    /// Under a heading, with the parameters in a list and a call as an example.
    Example,
    /// As a TypeScript type.
    TypeScript,
    /// As the templates of Hermes 2 and 3 do: as JSON whose description is a Python signature and docstring, with its line breaks as
    /// they are.
    Docstring,
    /// As `declaration:NAME{…}`, with this mark around strings.
    Braces(Str),
}

/// The JSON object that declares a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolObject {
    /// `{"type": "function", "function": {"name", "description", "parameters"}}`
    Tool,
    /// `{"name", "description", "parameters"}`
    Function,
    /// The same with `"responses": null`.
    Responses,
}

/// How JSON is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum JsonLayout {
    /// On one line, with a space after `,` and `:`.
    #[default]
    Compact,
    /// The items of the outermost array on a line each, indented by this many spaces.
    Items(usize),
    /// Everything on its own lines, each level indented by this many spaces.
    Indented(usize),
}

/// How a turn of the model is put together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct TurnForm {
    /// Around a thought, inside the marks of reasoning.
    #[serde(default)]
    pub thought: Frame,
    /// Around text for the user.
    #[serde(default)]
    pub text: Frame,
    /// Around text before calls, if that is another frame.
    #[serde(default)]
    pub preamble: Option<Frame>,
    /// Between the parts; without it, a line break between any two.
    #[serde(default)]
    pub joints: Option<Joints>,
}

/// Text between the parts of a turn. Whitespace that is there already is not added again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Joints {
    /// After a thought.
    pub thought: Str,
    /// Between text and calls.
    pub calls: Str,
    /// Between any other two.
    pub other: Str,
}

/// The id of a call without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ids {
    /// None is written.
    #[default]
    None,
    /// Its number in the conversation, from 0, with at least this many digits.
    Count(usize),
}

/// How results are returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct ResultsForm {
    /// How one is written.
    #[serde(default)]
    pub text: ResultText,
    /// Around each. `{name}` and `{id}` are the tool's name and the call's id, `{name_json}` and `{id_json}` the same as JSON
    /// strings.
    #[serde(default)]
    pub each: Frame,
    /// Around each whose call has no id, if that is another frame.
    #[serde(default)]
    pub each_without_id: Option<Frame>,
    /// Around all results of a batch.
    #[serde(default)]
    pub around: Frame,
    /// Between two of them.
    #[serde(default)]
    pub between: Str,
    /// Before the message of a failure; `Error: ` if it is not given, since a failure must not read as a success.
    #[serde(default = "failure")]
    pub failure: Str,
}

fn failure() -> Str {
    "Error: ".into()
}

impl Default for ResultsForm {
    fn default() -> Self {
        Self {
            text: ResultText::default(),
            each: Frame::new("<tool_response>\n", "\n</tool_response>"),
            each_without_id: None,
            around: Frame::default(),
            between: "\n".into(),
            failure: failure(),
        }
    }
}

/// How a result is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResultText {
    /// All results are one JSON array, as the log holds it.
    Array,
    /// Text as it is, any other value as JSON.
    #[default]
    Plain,
    /// A JSON value: text in quotes.
    Json,
    /// Text between two of these marks.
    Marked(Str),
}
