//! How calls are written: the shapes that a reader knows, and what is written between their marks.

use serde::{Deserialize, Serialize};

use super::prompt::{Frame, Ids, JsonLayout, Pair};
use super::text::Str;

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

impl Body {
    /// Calls with heads, if they are.
    #[must_use]
    pub fn head(&self) -> Option<&Head> {
        match self {
            Self::Head(head) => Some(head),
            _ => None,
        }
    }

    /// How elements are written, if calls or their arguments are elements.
    #[must_use]
    pub fn xml(&self) -> Option<&Xml> {
        match self {
            Self::Xml(xml) | Self::Head(Head { args: Args::Xml(xml), .. }) => Some(xml),
            _ => None,
        }
    }

    /// All marks that it has, but for the one that [opens](Head::open) a call. Some may be empty.
    pub fn marks(&self) -> impl Iterator<Item = &Str> {
        let head = self.head().into_iter();
        let of_head = head.clone().flat_map(|head| {
            let id = match &head.form {
                HeadForm::Id(mark) | HeadForm::Behind(mark) => Some(mark),
                HeadForm::Name | HeadForm::Numbered | HeadForm::Attributes(_) => None,
            };
            [&head.close].into_iter().chain(&head.ends).chain(&head.until).chain(id)
        });
        let of_args = head.flat_map(|head| head.args.marks());
        // Elements of a call are recognised by their names, which are words, and count only inside a block.
        of_head.chain(of_args).chain(self.xml().map(|xml| &xml.prefix))
    }
}

/// JSON that holds names and arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json {
    /// How many calls there are.
    pub shape: JsonShape,
    /// Keys that may hold the name; the first is what is written.
    pub name: Vec<Str>,
    /// Keys that may hold the arguments; the first is what is written.
    pub args: Vec<Str>,
    /// What an object without arguments is.
    pub no_args: NoArgs,
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

/// What a JSON object is that has a name and no arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoArgs {
    /// A call without arguments, if it has no other key: what that holds may be meant as arguments. `null` and `""` hold nothing.
    #[default]
    Alone,
    /// A call without arguments, if their key is not there.
    Call,
    /// No call.
    Refused,
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

impl Args {
    /// The mark with which they begin; empty if they have no such mark.
    #[must_use]
    pub fn begin(&self) -> &Str {
        const BRACE: &Str = &Str::Borrowed("{");
        const NONE: &Str = &Str::Borrowed("");
        match self {
            Self::Json | Self::Braces(_) => BRACE,
            Self::Parameters(form) => {
                form.around.as_ref().map_or(&form.open, |around| &around.open)
            }
            Self::Text(_) | Self::Xml(_) => NONE,
        }
    }

    fn marks(&self) -> Vec<&Str> {
        match self {
            Self::Json | Self::Text(_) | Self::Xml(_) => Vec::new(),
            Self::Braces(mark) => vec![mark],
            Self::Parameters(form) => {
                let around = form.around.iter().flat_map(|pair| [&pair.open, &pair.close]);
                let own = [&form.open, &form.key_end, &form.value_open, &form.close];
                own.into_iter().chain(around).collect()
            }
        }
    }
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

/// How calls are laid out: the text between their marks, which the parser passes over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallsForm {
    /// Which calls share a block.
    pub blocks: Blocks,
    /// Whether the marks of a block are left out where it begins the answer.
    pub unmarked: bool,
    /// After the mark that opens a block.
    pub open: Str,
    /// Between two calls of a block, or between two blocks where each call has its own.
    pub between: Str,
    /// Before the mark that closes a block.
    pub close: Str,
    /// Around the name of a call.
    pub name: Frame,
    /// After the head of a call.
    pub head: Str,
    /// Between a key and the mark that opens its value.
    pub key: Str,
    /// After each parameter.
    pub parameter: Str,
    /// After the arguments, before the mark that closes a call.
    pub tail: Str,
    /// Around a call that is a message, or is in one; `{name}` is the tool's name.
    pub message: Frame,
    /// How JSON is laid out.
    pub json: JsonLayout,
    /// Whether JSON is ASCII only.
    pub ascii: bool,
    /// Whether the key of the id comes before the name.
    pub id_first: bool,
    /// The attribute of a call's head that has its number in the block, from 1.
    pub number: Str,
    /// The id of a call without one.
    pub ids: Ids,
}

impl CallsForm {
    /// The bytes of all its texts.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let Self {
            open, between, close, name, head, key, parameter, tail, message, number, ..
        } = self;
        let frames = [name, message].map(|frame| frame.before.len() + frame.behind.len());
        let texts =
            [open, between, close, head, key, parameter, tail, number].map(|text| text.len());
        frames.iter().chain(&texts).sum()
    }
}

/// Which calls share a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Blocks {
    /// All of them.
    #[default]
    One,
    /// None: each has its own.
    Each,
}
