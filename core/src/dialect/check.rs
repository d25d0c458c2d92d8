//! Whether a dialect can be read: what would make a reader panic, loop or run out of memory is refused here, by its place.

use std::fmt::{self, Display};

use super::error::DialectError;
use super::text::{Kind, MOST};
use super::{
    Args, Body, DecisionKeys, Dialect, Head, HeadForm, Ids, Json, JsonLayout, JsonShape,
    MessageHeads, Pair, Parameters, Prompt, Str, ToolsLayout, Unmarked, Xml,
};

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
    pub fn check(&self) -> Result<(), DialectError> {
        let mut checked = Checked::default();
        checked.dialect(self, FieldPath::Top)?;
        checked.total()
    }

    /// Whether anything opens a block of calls.
    fn opens_blocks(&self) -> bool {
        !self.calls.open.is_empty() || self.unmarked != Unmarked::Never || self.heads.is_some()
    }
}

/// Where a field is, as it is written in JSON: `bodies[0].head.ends[1]`.
#[derive(Clone, Copy)]
enum FieldPath<'p> {
    Top,
    Field(&'p FieldPath<'p>, &'static str),
    Item(&'p FieldPath<'p>, usize),
}

impl FieldPath<'_> {
    fn field<'p>(&'p self, name: &'static str) -> FieldPath<'p> {
        FieldPath::Field(self, name)
    }

    fn item(&self, index: usize) -> FieldPath<'_> {
        FieldPath::Item(self, index)
    }
}

impl Display for FieldPath<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldPath::Top => Ok(()),
            FieldPath::Field(FieldPath::Top, name) => out.write_str(name),
            FieldPath::Field(outer, name) => write!(out, "{outer}.{name}"),
            FieldPath::Item(outer, index) => write!(out, "{outer}[{index}]"),
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
type Verdict = Result<(), DialectError>;

impl Checked {
    fn text(&mut self, path: FieldPath<'_>, kind: Kind, text: &str) -> Verdict {
        self.bytes += text.len();
        self.mark_bytes += if kind.is_read() { text.len() } else { 0 };
        kind.fault(text).map_or(Ok(()), |fault| Err(DialectError::new(path, fault)))
    }

    /// Texts of one kind, each under its field.
    fn texts(&mut self, path: FieldPath<'_>, texts: &[(&'static str, Kind, &str)]) -> Verdict {
        texts.iter().try_for_each(|(name, kind, text)| self.text(path.field(name), *kind, text))
    }

    fn list(&mut self, path: FieldPath<'_>, kind: Kind, texts: &[Str]) -> Verdict {
        short(path, texts, kind.most())?;
        let mut texts = texts.iter().enumerate();
        texts.try_for_each(|(index, text)| self.text(path.item(index), kind, text))
    }

    /// A list that holds something.
    fn some(&mut self, path: FieldPath<'_>, kind: Kind, texts: &[Str]) -> Verdict {
        filled(path, texts)?;
        self.list(path, kind, texts)
    }

    fn pair(&mut self, path: FieldPath<'_>, pair: &Pair, close: Kind) -> Verdict {
        self.text(path, Kind::Mark, &pair.open)?;
        self.text(path, close, &pair.close)
    }

    fn pairs(&mut self, path: FieldPath<'_>, pairs: &[Pair]) -> Verdict {
        short(path, pairs, MOST)?;
        let mut pairs = pairs.iter().enumerate();
        pairs.try_for_each(|(index, pair)| self.pair(path.item(index), pair, Kind::MarkOrNone))
    }

    fn dialect(&mut self, dialect: &Dialect, path: FieldPath<'_>) -> Verdict {
        self.texts(
            path,
            &[("name", Kind::Word, &dialect.name), ("models", Kind::Text, &dialect.models)],
        )?;
        self.pairs(path.field("reasoning"), &dialect.reasoning)?;
        self.pairs(path.field("answer"), &dialect.answer)?;
        let results = path.field("results");
        short(results, &dialect.results, MOST)?;
        for (index, each) in dialect.results.iter().enumerate() {
            let marks =
                [("open", Kind::Mark, &*each.open), ("close", Kind::MarkOrNone, &*each.close)];
            self.texts(results.item(index), &marks)?;
        }
        if let Some(heads) = &dialect.heads {
            self.heads(heads, path.field("heads"))?;
        }
        for (name, kind, list) in [
            ("end", Kind::Mark, &dialect.end),
            ("turn_end", Kind::Mark, &dialect.turn_end),
            ("ignored", Kind::Mark, &dialect.ignored),
            ("tokens", Kind::Token, &dialect.tokens),
            ("stop", Kind::Word, &dialect.stop),
        ] {
            self.list(path.field(name), kind, list)?;
        }
        self.calls(dialect, path.field("calls"))?;
        self.prompt(&dialect.prompt, path.field("prompt"))
    }

    fn heads(&mut self, heads: &MessageHeads, path: FieldPath<'_>) -> Verdict {
        self.some(path.field("open"), Kind::Mark, &heads.open)?;
        self.some(path.field("close"), Kind::Mark, &heads.close)?;
        self.list(path.field("reasoning"), Kind::Word, &heads.reasoning)?;
        self.list(path.field("answer"), Kind::Word, &heads.answer)?;
        let texts = [
            ("channel", Kind::MarkOrNone, &*heads.channel),
            ("recipient", Kind::Mark, &heads.recipient),
            ("end", Kind::Mark, &heads.end),
            ("prefix", Kind::Text, &heads.prefix),
        ];
        self.texts(path, &texts)
    }

    fn calls(&mut self, dialect: &Dialect, path: FieldPath<'_>) -> Verdict {
        let calls = &dialect.calls;
        if dialect.opens_blocks() {
            filled(path, &calls.bodies)?;
        }
        short(path, &calls.bodies, MOST)?;
        for marks in [&calls.open, &calls.close] {
            self.list(path.field("block"), Kind::Mark, marks)?;
        }
        if dialect.heads.is_none() && calls.examples.iter().any(|each| !each.message.is_empty()) {
            return Err(DialectError::new(path, "message is only for dialects that have heads"));
        }
        let is_opened = !calls.open.is_empty()
            || dialect.unmarked != Unmarked::Never
            || dialect.heads.is_some();
        for (index, body) in calls.bodies.iter().enumerate() {
            let path = path.item(index);
            if !is_opened && !matches!(body, Body::Head(_)) {
                return Err(DialectError::new(
                    path.field("block"),
                    "must have a mark before the call, or unmarked must say where a call may lack it",
                ));
            }
            match body {
                Body::Json(json) => self.json(json, path)?,
                Body::Head(head) => self.head(head, path)?,
                Body::Xml(xml) => self.xml(xml, path)?,
                Body::Python(_) => {}
            }
        }
        if let Ids::Count(digits) = calls.layout.ids {
            narrow(path.item(0).field("ids").field("count"), digits)?;
        }
        layout(path.item(0).field("layout"), calls.layout.json)?;
        self.bytes += calls.layout.bytes();
        Ok(())
    }

    fn json(&mut self, json: &Json, path: FieldPath<'_>) -> Verdict {
        if let JsonShape::Objects(between) = &json.shape {
            self.text(path.field("between"), Kind::Word, between)?;
        }
        for keys in [&json.name, &json.args] {
            keys.iter().try_for_each(|key| self.text(path.field("call"), Kind::Word, key))?;
        }
        for key in json.id.iter().chain(&json.server) {
            self.text(path.field("call"), Kind::Word, key)?;
        }
        let Some(DecisionKeys { key, call, answer, answer_key, thought_key }) = &json.decision
        else {
            return Ok(());
        };
        let words = [
            ("call", Kind::Word, &**key),
            ("call", Kind::Word, call),
            ("answer", Kind::Word, answer),
            ("answer", Kind::Word, answer_key),
            ("answer", Kind::Word, thought_key),
        ];
        self.texts(path, &words)
    }

    fn head(&mut self, head: &Head, path: FieldPath<'_>) -> Verdict {
        let call = path.field("call");
        self.text(call, Kind::Mark, &head.open)?;
        head.ends.iter().try_for_each(|end| self.text(call, Kind::Word, end))?;
        match &head.form {
            HeadForm::Name | HeadForm::Numbered => {}
            HeadForm::Id(mark) | HeadForm::Behind(mark) | HeadForm::Attributes(mark) => {
                self.text(call, Kind::Mark, mark)?;
            }
        }
        self.text(call, Kind::MarkOrNone, &head.close)?;
        self.list(path.field("until"), Kind::Mark, &head.until)?;
        match &head.args {
            Args::Json => Ok(()),
            Args::Text(key) => self.text(call, Kind::Word, key),
            Args::Braces(mark) => self.text(call, Kind::Mark, mark),
            Args::Xml(xml) => self.xml(xml, path),
            Args::Parameters(_) if head.close.is_empty() && head.until.is_empty() => {
                Err(DialectError::new(path, "call must end with a mark, or until must hold one"))
            }
            Args::Parameters(form) => self.parameters(form, path),
        }
    }

    fn parameters(&mut self, form: &Parameters, path: FieldPath<'_>) -> Verdict {
        for (name, pair) in [("args", &form.around), ("json_args", &form.whole)] {
            if let Some(pair) = pair {
                let path = path.field(name);
                self.text(path, Kind::Mark, &pair.open)?;
                self.text(path, Kind::Mark, &pair.close)?;
            }
        }
        if let Some(flag) = &form.flag {
            self.text(path.field("arg"), Kind::Mark, &flag.name)?;
            self.bytes += flag.text.len() + flag.json.len();
        }
        let marks = [
            ("arg", Kind::Mark, &*form.open),
            ("arg", Kind::Word, &form.key_end),
            ("arg", Kind::MarkOrNone, &form.value_open),
            ("arg", Kind::Mark, &form.close),
        ];
        self.texts(path, &marks)
    }

    fn xml(&mut self, xml: &Xml, path: FieldPath<'_>) -> Verdict {
        self.text(path.field("arg"), Kind::MarkOrNone, &xml.prefix)?;
        let Some(parts) = &xml.parts else { return Ok(()) };
        let names = [&*parts.server, &parts.name, &parts.args];
        self.texts(path, &names.map(|name| ("call", Kind::Element, name)))
    }

    /// Only how long its texts are, and how wide its numbers.
    fn prompt(&mut self, prompt: &Prompt, path: FieldPath<'_>) -> Verdict {
        if let ToolsLayout::Json(_, json) | ToolsLayout::Array(_, json) = &prompt.tools.layout {
            layout(path.field("tools").field("layout"), *json)?;
        }
        self.bytes += serde_json::to_string(prompt).map_or(0, |written| written.len());
        Ok(())
    }

    fn total(&self) -> Verdict {
        for (what, bytes, most) in
            [("texts", self.bytes, ALL_BYTES), ("marks", self.mark_bytes, MARK_BYTES)]
        {
            if bytes > most {
                return Err(DialectError::new(
                    "",
                    format!("the {what} must have at most {most} bytes in all, got {bytes}"),
                ));
            }
        }
        Ok(())
    }
}

fn filled<T>(path: FieldPath<'_>, list: &[T]) -> Verdict {
    if list.is_empty() { Err(DialectError::new(path, "must not be empty")) } else { Ok(()) }
}

fn short<T>(path: FieldPath<'_>, list: &[T], most: usize) -> Verdict {
    match list.len() {
        length if length <= most => Ok(()),
        length => {
            Err(DialectError::new(path, format!("must have at most {most} items, got {length}")))
        }
    }
}

fn layout(path: FieldPath<'_>, layout: JsonLayout) -> Verdict {
    match layout {
        JsonLayout::Compact => Ok(()),
        JsonLayout::Items(width) => narrow(path.field("items"), width),
        JsonLayout::Indented(width) => narrow(path.field("indented"), width),
    }
}

fn narrow(path: FieldPath<'_>, number: usize) -> Verdict {
    match number {
        0..=WIDEST => Ok(()),
        number => Err(DialectError::new(path, format!("must be at most {WIDEST}, got {number}"))),
    }
}
