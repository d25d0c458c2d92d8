//! The text of an example: what is always there, and placeholders.

use std::fmt;

/// A text with placeholders: `texts[0] slots[0] texts[1] …`, one text more than slots.
pub(super) struct Text {
    pub texts: Vec<String>,
    pub slots: Vec<Slot>,
}

/// The part of an example that differs from call to call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// `{call}`: one call; in `message`, its arguments or its block.
    Call,
    /// `{calls}`: all calls of a turn, with `between` between them; in `[{calls}]`, the items of a JSON array or a Python list.
    Calls,
    /// `{name}`: the name of the tool.
    Name,
    /// `{n}`: the number of the call. `functions.{name}:{n}` is also its id.
    Number,
    /// `{id}`: the id of the call. Of a call without one, the mark before it is left out, too.
    Id,
    /// `{server}`: the server that the call goes to.
    Server,
    /// `{args}`: the arguments, each written as `arg`; in an object, a JSON object; in `{name}({args})`, those of a Python call.
    Args,
    /// `{json}`: the arguments as a JSON object.
    Json,
    /// `{braces:MARK}`: the arguments as `{key:value,…}`, without quotes around keys, and with this mark around strings.
    Braces(String),
    /// `{text:KEY}`: the arguments as a JSON object, or as text: the value of the tool's only parameter, or of this one.
    Text(String),
    /// `{key}`: the name of an argument; `{key|entities}` where entities are read in it.
    Key { entities: bool },
    /// `{raw}`: the value of an argument, as text or JSON as the tool's schema says; without a schema it is text, or with `{raw|json}` JSON if
    /// it is valid JSON. Line breaks on both sides of it are not part of it.
    Raw { json: bool },
    /// `{elements}`: the value of an argument as text or XML elements, of which nested ones are objects and repeated ones arrays; in
    /// `{elements|entities}`, entities and CDATA are read.
    Elements { entities: bool },
    /// `{ATTRIBUTE=name}`: an attribute of a tag, in any order, that has the name of the tool; `{ATTRIBUTE=n}` the number of the call in its
    /// block, from 1.
    Attribute(String, Attribute),
    /// `{ATTRIBUTE=TEXT|JSON}`: an attribute that is TEXT where the value is text, else JSON; `{ATTRIBUTE=TEXT|}` where it is else the name of
    /// the JSON type.
    Flag(String, String, String),
}

/// What an attribute holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attribute {
    Name,
    Number,
}

impl Text {
    /// # Errors
    /// A brace is not closed, or a placeholder is unknown.
    pub fn new(source: &str) -> Result<Self, String> {
        let (mut texts, mut slots) = (vec![String::new()], Vec::new());
        let mut rest = source;
        while let Some(at) = rest.find(['{', '}']) {
            let last = texts.last_mut().expect("there is one text more than slots");
            last.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(behind) = rest.strip_prefix(brace) {
                last.push_str(brace);
                rest = behind;
                continue;
            }
            let Some((slot, behind)) = rest.split_once('}').filter(|_| brace == "{") else {
                return Err(format!(
                    "has a {brace:?} outside a placeholder: write {:?}",
                    brace.repeat(2)
                ));
            };
            slots.push(Slot::new(slot)?);
            texts.push(String::new());
            rest = behind;
        }
        texts.last_mut().expect("there is one text more than slots").push_str(rest);
        Ok(Self { texts, slots })
    }

    /// Whether it is these texts and placeholders.
    pub fn is(&self, texts: &[&str], slots: &[Slot]) -> bool {
        self.texts == texts && self.slots == slots
    }

    /// Where the first of these placeholders is.
    pub fn place(&self, is: impl Fn(&Slot) -> bool) -> Option<usize> {
        self.slots.iter().position(is)
    }
}

impl Slot {
    fn new(source: &str) -> Result<Self, String> {
        Ok(match source {
            "call" => Self::Call,
            "calls" => Self::Calls,
            "name" => Self::Name,
            "n" => Self::Number,
            "id" => Self::Id,
            "server" => Self::Server,
            "args" => Self::Args,
            "json" => Self::Json,
            "key" | "key|entities" => Self::Key { entities: source != "key" },
            "raw" | "raw|json" => Self::Raw { json: source != "raw" },
            "elements" | "elements|entities" => Self::Elements { entities: source != "elements" },
            _ => Self::with_value(source).ok_or_else(|| {
                format!("has {{{source}}}, an unknown placeholder; for a brace write {:?}", "{{")
            })?,
        })
    }

    fn with_value(source: &str) -> Option<Self> {
        if let Some(mark) = source.strip_prefix("braces:") {
            return Some(Self::Braces(mark.into()));
        }
        if let Some(key) = source.strip_prefix("text:") {
            return Some(Self::Text(key.into()));
        }
        let (attribute, value) = source.split_once('=')?;
        let attribute = attribute.to_owned();
        Some(match value {
            "name" => Self::Attribute(attribute, Attribute::Name),
            "n" => Self::Attribute(attribute, Attribute::Number),
            _ => {
                let (text, json) = value.split_once('|')?;
                Self::Flag(attribute, text.into(), json.into())
            }
        })
    }
}

impl fmt::Display for Slot {
    /// As it is written, without what varies.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Call => "{call}",
            Self::Calls => "{calls}",
            Self::Name => "{name}",
            Self::Number => "{n}",
            Self::Id => "{id}",
            Self::Server => "{server}",
            Self::Args => "{args}",
            Self::Json => "{json}",
            Self::Braces(_) => "{braces:…}",
            Self::Text(_) => "{text:…}",
            Self::Key { .. } => "{key}",
            Self::Raw { .. } => "{raw}",
            Self::Elements { .. } => "{elements}",
            Self::Attribute(..) | Self::Flag(..) => "{…=…}",
        })
    }
}

/// A text between placeholders: the white space before its mark, the mark, and the white space after it. All of a blank text is the
/// first.
pub(super) fn spaced(text: &str) -> (&str, &str, &str) {
    let mark = text.trim_start();
    let before = &text[..text.len() - mark.len()];
    let mark = mark.trim_end();
    (before, mark, &text[before.len() + mark.len()..])
}

/// Two marks with a line break between them, and that white space: `</key>\n<value>`. `None` for one mark.
pub(super) fn two_lines(marks: &str) -> Option<(&str, &str, &str)> {
    let at = marks.find('\n')?;
    let first = marks[..at].trim_end();
    let second = marks[at..].trim_start();
    Some((first, &marks[first.len()..marks.len() - second.len()], second))
}
