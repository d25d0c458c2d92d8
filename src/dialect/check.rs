//! Whether a dialect can be read: what would make a reader panic, loop or run out of memory is refused here, by its place.

use std::fmt::{self, Display};

use super::{
    Args, Body, DecisionKeys, Dialect, Head, HeadForm, Heads, Ids, JOINER, Json, JsonLayout,
    JsonShape, Pair, Parameters, Prompt, Str, ToolsLayout, Unmarked, Xml,
};

/// The longest mark, in bytes: as many are looked at again where one may have begun at the end of a chunk.
const LONGEST_MARK: usize = 512;
/// The most marks in one list: one search for all of them is made for each stretch of text that ends differently.
const MOST: usize = 64;
/// The most tokens, for all of which there is one search.
const MOST_TOKENS: usize = 1024;
/// The most bytes of all texts together.
const ALL_BYTES: usize = 1 << 18;
/// The most bytes of the texts that a reader looks for: its searches take many times as much.
const MARK_BYTES: usize = 1 << 14;
/// The most spaces of an indentation, and digits of an id.
const WIDEST: usize = 64;

impl Dialect {
    /// Whether it can be read.
    ///
    /// # Errors
    /// It cannot: says which field is wrong, and why. A mark that is empty, begins with white space or is longer than 512 bytes; a
    /// list of more than 64, or of 1,024 tokens; texts of more than 256 KiB in all, or marks of more than 16.
    pub fn check(&self) -> Result<(), String> {
        let mut checked = Checked::default();
        checked.dialect(self, Place::Top)?;
        checked.total()
    }

    /// Whether anything opens a block of calls.
    fn opens_blocks(&self) -> bool {
        !self.open.is_empty() || self.unmarked != Unmarked::Never || self.heads.is_some()
    }
}

/// What a text may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Anything.
    Text,
    /// Not empty.
    Word,
    /// A word that the reader looks for behind white space, which it therefore does not begin with.
    Mark,
    /// A mark, or nothing.
    MarkOrNone,
    /// A word that a joiner can break up.
    Token,
    /// The name of an XML element.
    Element,
}

impl Kind {
    /// Whether the reader looks for it, in each stretch of text.
    fn is_read(self) -> bool {
        !matches!(self, Self::Text | Self::Token)
    }

    /// How many there may be in a list.
    fn most(self) -> usize {
        if self == Self::Token { MOST_TOKENS } else { MOST }
    }

    /// Why `text` is none of this kind.
    fn fault(self, text: &str) -> Option<String> {
        let is_spaced =
            text.starts_with(|first: char| first.is_whitespace() || first.is_ascii_control());
        let may_not_begin = || format!("must not begin with white space, got {text:?}");
        match self {
            Self::Text => None,
            Self::MarkOrNone if text.is_empty() => None,
            Self::Token if text.chars().nth(1).is_none() => {
                Some(format!("must have two characters at least, got {text:?}"))
            }
            Self::Token if text.contains(JOINER) => Some(format!(
                "must not hold a word joiner (U+2060), which breaks tokens up, got {text:?}"
            )),
            _ if text.is_empty() => Some("must not be empty".into()),
            _ if text.len() > LONGEST_MARK => {
                Some(format!("must have at most {LONGEST_MARK} bytes, got {}", text.len()))
            }
            Self::Mark | Self::MarkOrNone if is_spaced => Some(may_not_begin()),
            Self::Element
                if text
                    .contains(|each: char| each.is_whitespace() || "<>/&\"'=".contains(each)) =>
            {
                Some(format!("must be the name of an element, got {text:?}"))
            }
            Self::Word | Self::Mark | Self::MarkOrNone | Self::Token | Self::Element => None,
        }
    }
}

/// Where a field is, as it is written in JSON: `bodies[0].head.ends[1]`.
#[derive(Clone, Copy)]
enum Place<'p> {
    Top,
    Field(&'p Place<'p>, &'static str),
    Item(&'p Place<'p>, usize),
}

impl Place<'_> {
    fn field<'p>(&'p self, name: &'static str) -> Place<'p> {
        Place::Field(self, name)
    }

    fn item(&self, index: usize) -> Place<'_> {
        Place::Item(self, index)
    }
}

impl Display for Place<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Top => Ok(()),
            Place::Field(Place::Top, name) => out.write_str(name),
            Place::Field(outer, name) => write!(out, "{outer}.{name}"),
            Place::Item(outer, index) => write!(out, "{outer}[{index}]"),
        }
    }
}

/// What has been checked so far.
#[derive(Default)]
struct Checked {
    /// The bytes of all texts.
    bytes: usize,
    /// The bytes of the texts that the reader looks for.
    mark_bytes: usize,
}

/// A part that is right, or why it is not.
type Verdict = Result<(), String>;

impl Checked {
    fn text(&mut self, place: Place<'_>, kind: Kind, text: &str) -> Verdict {
        self.bytes += text.len();
        self.mark_bytes += if kind.is_read() { text.len() } else { 0 };
        kind.fault(text).map_or(Ok(()), |fault| Err(format!("{place}: {fault}")))
    }

    /// Texts of one kind, each under its field.
    fn texts(&mut self, place: Place<'_>, texts: &[(&'static str, Kind, &str)]) -> Verdict {
        texts.iter().try_for_each(|(name, kind, text)| self.text(place.field(name), *kind, text))
    }

    fn list(&mut self, place: Place<'_>, kind: Kind, texts: &[Str]) -> Verdict {
        short(place, texts, kind.most())?;
        let mut texts = texts.iter().enumerate();
        texts.try_for_each(|(index, text)| self.text(place.item(index), kind, text))
    }

    /// A list that holds something.
    fn some(&mut self, place: Place<'_>, kind: Kind, texts: &[Str]) -> Verdict {
        filled(place, texts)?;
        self.list(place, kind, texts)
    }

    fn pair(&mut self, place: Place<'_>, pair: &Pair, close: Kind) -> Verdict {
        self.texts(place, &[("open", Kind::Mark, &pair.open), ("close", close, &pair.close)])
    }

    fn pairs(&mut self, place: Place<'_>, pairs: &[Pair]) -> Verdict {
        short(place, pairs, MOST)?;
        let mut pairs = pairs.iter().enumerate();
        pairs.try_for_each(|(index, pair)| self.pair(place.item(index), pair, Kind::MarkOrNone))
    }

    fn dialect(&mut self, dialect: &Dialect, place: Place<'_>) -> Verdict {
        self.texts(
            place,
            &[("name", Kind::Word, &dialect.name), ("models", Kind::Text, &dialect.models)],
        )?;
        self.pairs(place.field("reasoning"), &dialect.reasoning)?;
        self.pairs(place.field("answer"), &dialect.answer)?;
        let results = place.field("results");
        short(results, &dialect.results, MOST)?;
        for (index, each) in dialect.results.iter().enumerate() {
            let marks =
                [("open", Kind::Mark, &*each.open), ("close", Kind::MarkOrNone, &*each.close)];
            self.texts(results.item(index), &marks)?;
        }
        if let Some(heads) = &dialect.heads {
            self.heads(heads, place.field("heads"))?;
        }
        for (name, kind, list) in [
            ("open", Kind::Mark, &dialect.open),
            ("close", Kind::Mark, &dialect.close),
            ("end", Kind::Mark, &dialect.end),
            ("turn_end", Kind::Mark, &dialect.turn_end),
            ("ignored", Kind::Mark, &dialect.ignored),
            ("tokens", Kind::Token, &dialect.tokens),
            ("stop", Kind::Word, &dialect.stop),
        ] {
            self.list(place.field(name), kind, list)?;
        }
        let bodies = place.field("bodies");
        if dialect.opens_blocks() {
            filled(bodies, &dialect.bodies)?;
        }
        short(bodies, &dialect.bodies, MOST)?;
        for (index, body) in dialect.bodies.iter().enumerate() {
            let place = bodies.item(index);
            match body {
                Body::Json(json) => self.json(json, place.field("json"))?,
                Body::Head(head) => self.head(head, place.field("head"))?,
                Body::Xml(xml) => self.xml(xml, place.field("xml"))?,
                Body::Python(_) => {}
            }
        }
        self.prompt(&dialect.prompt, place.field("prompt"))
    }

    fn heads(&mut self, heads: &Heads, place: Place<'_>) -> Verdict {
        self.some(place.field("open"), Kind::Mark, &heads.open)?;
        self.some(place.field("close"), Kind::Mark, &heads.close)?;
        self.list(place.field("reasoning"), Kind::Word, &heads.reasoning)?;
        self.list(place.field("answer"), Kind::Word, &heads.answer)?;
        let texts = [
            ("channel", Kind::MarkOrNone, &*heads.channel),
            ("recipient", Kind::Mark, &heads.recipient),
            ("end", Kind::Mark, &heads.end),
            ("prefix", Kind::Text, &heads.prefix),
        ];
        self.texts(place, &texts)
    }

    fn json(&mut self, json: &Json, place: Place<'_>) -> Verdict {
        if let JsonShape::Objects(between) = &json.shape {
            self.text(place.field("shape").field("objects"), Kind::Word, between)?;
        }
        self.some(place.field("name"), Kind::Word, &json.name)?;
        self.some(place.field("args"), Kind::Word, &json.args)?;
        for (name, key) in [("id", &json.id), ("server", &json.server)] {
            key.iter().try_for_each(|key| self.text(place.field(name), Kind::Word, key))?;
        }
        let Some(DecisionKeys { key, call, answer, answer_key, thought_key }) = &json.decision
        else {
            return Ok(());
        };
        let words = [
            ("key", &**key),
            ("call", call),
            ("answer", answer),
            ("answer_key", answer_key),
            ("thought_key", thought_key),
        ];
        self.texts(place.field("decision"), &words.map(|(name, word)| (name, Kind::Word, word)))
    }

    fn head(&mut self, head: &Head, place: Place<'_>) -> Verdict {
        self.text(place.field("open"), Kind::Mark, &head.open)?;
        self.some(place.field("ends"), Kind::Word, &head.ends)?;
        let form = match &head.form {
            HeadForm::Name | HeadForm::Numbered => None,
            HeadForm::Id(mark) => Some(("id", mark)),
            HeadForm::Behind(mark) => Some(("behind", mark)),
            HeadForm::Attributes(key) => Some(("attributes", key)),
        };
        if let Some((name, mark)) = form {
            self.text(place.field("form").field(name), Kind::Mark, mark)?;
        }
        self.text(place.field("close"), Kind::MarkOrNone, &head.close)?;
        self.list(place.field("until"), Kind::Mark, &head.until)?;
        let args = place.field("args");
        match &head.args {
            Args::Json => Ok(()),
            Args::Text(key) => self.text(args.field("text"), Kind::Word, key),
            Args::Braces(mark) => self.text(args.field("braces"), Kind::Mark, mark),
            Args::Xml(xml) => self.xml(xml, args.field("xml")),
            Args::Parameters(_) if head.close.is_empty() && head.until.is_empty() => {
                Err(format!("{place}: close or until must hold a mark that ends the parameters"))
            }
            Args::Parameters(form) => self.parameters(form, args.field("parameters")),
        }
    }

    fn parameters(&mut self, form: &Parameters, place: Place<'_>) -> Verdict {
        for (name, pair) in [("around", &form.around), ("whole", &form.whole)] {
            pair.iter().try_for_each(|pair| self.pair(place.field(name), pair, Kind::Mark))?;
        }
        if let Some(flag) = &form.flag {
            let texts = [
                ("name", Kind::Mark, &*flag.name),
                ("text", Kind::Text, &*flag.text),
                ("json", Kind::Text, &*flag.json),
            ];
            self.texts(place.field("flag"), &texts)?;
        }
        let marks = [
            ("open", Kind::Mark, &*form.open),
            ("key_end", Kind::Word, &form.key_end),
            ("value_open", Kind::MarkOrNone, &form.value_open),
            ("close", Kind::Mark, &form.close),
        ];
        self.texts(place, &marks)
    }

    fn xml(&mut self, xml: &Xml, place: Place<'_>) -> Verdict {
        self.text(place.field("prefix"), Kind::MarkOrNone, &xml.prefix)?;
        let Some(parts) = &xml.parts else { return Ok(()) };
        let names = [("server", &*parts.server), ("name", &parts.name), ("args", &parts.args)];
        self.texts(place.field("parts"), &names.map(|(field, name)| (field, Kind::Element, name)))
    }

    /// Only how long its texts are, and how wide its numbers.
    fn prompt(&mut self, prompt: &Prompt, place: Place<'_>) -> Verdict {
        let calls = place.field("calls");
        if let Ids::Count(digits) = prompt.calls.ids {
            narrow(calls.field("ids").field("count"), digits)?;
        }
        layout(calls.field("json"), prompt.calls.json)?;
        if let ToolsLayout::Json(_, json) | ToolsLayout::Array(_, json) = &prompt.tools.layout {
            layout(place.field("tools").field("layout"), *json)?;
        }
        self.bytes += serde_json::to_string(prompt).map_or(0, |written| written.len());
        Ok(())
    }

    fn total(&self) -> Verdict {
        for (what, bytes, most) in
            [("texts", self.bytes, ALL_BYTES), ("marks", self.mark_bytes, MARK_BYTES)]
        {
            if bytes > most {
                return Err(format!(
                    "the {what} must have at most {most} bytes in all, got {bytes}"
                ));
            }
        }
        Ok(())
    }
}

fn filled<T>(place: Place<'_>, list: &[T]) -> Verdict {
    if list.is_empty() { Err(format!("{place}: must not be empty")) } else { Ok(()) }
}

fn short<T>(place: Place<'_>, list: &[T], most: usize) -> Verdict {
    match list.len() {
        length if length <= most => Ok(()),
        length => Err(format!("{place}: must have at most {most} items, got {length}")),
    }
}

fn layout(place: Place<'_>, layout: JsonLayout) -> Verdict {
    match layout {
        JsonLayout::Compact => Ok(()),
        JsonLayout::Items(width) => narrow(place.field("items"), width),
        JsonLayout::Indented(width) => narrow(place.field("indented"), width),
    }
}

fn narrow(place: Place<'_>, number: usize) -> Verdict {
    match number {
        0..=WIDEST => Ok(()),
        number => Err(format!("{place}: must be at most {WIDEST}, got {number}")),
    }
}
