//! The keys of a response template: which there are, what they hold, and what they are where they are left out.

use serde_json::{Map, Value};

use super::error::{Read, TemplateError, not_a};
use super::pattern::Boundary;

const TEMPLATE_KEYS: &[&str] =
    &["version", "defaults", "fields", "start_anchor", "start_anchor_pattern"];
const FIELD_KEYS: &[&str] = &[
    "open",
    "open_pattern",
    "close",
    "close_pattern",
    "content",
    "content_args",
    "repeats",
    "join",
    "optional",
    "transform",
    "transform_each",
];

/// The name of the field that holds the answer.
pub(super) const ANSWER: &str = "content";
/// The name of the field that holds the calls.
pub(super) const CALLS: &str = "tool_calls";

/// A field of an answer.
#[derive(Debug)]
pub(super) struct TemplateField<'t> {
    pub name: &'t str,
    /// Where it is in the template.
    pub path: String,
    /// Absent where the field takes the text that no other one does.
    pub open: Option<Boundary>,
    /// Absent where the field goes on to the end of the text.
    pub close: Option<Boundary>,
    pub content: FieldContent,
    pub args: ContentArgs<'t>,
    pub transform: Option<&'t Value>,
    /// Whether the content is a list, and the transform one of its items.
    pub is_each: bool,
}

/// How the content of a field is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldContent {
    Text,
    Json,
    XmlInline,
    /// One that no part of a dialect can be.
    Other(&'static str),
}

const CONTENTS: [(&str, FieldContent); 7] = [
    ("text", FieldContent::Text),
    ("json", FieldContent::Json),
    ("xml-inline", FieldContent::XmlInline),
    ("int", FieldContent::Other("int")),
    ("float", FieldContent::Other("float")),
    ("bool", FieldContent::Other("bool")),
    ("kv-lines", FieldContent::Other("kv-lines")),
];

/// The arguments of a content's reader. Those it does not know are ignored, as transformers ignores them.
#[derive(Clone, Debug)]
pub(super) struct ContentArgs<'t> {
    /// Where they are in the template.
    pub path: String,
    map: Option<&'t Map<String, Value>>,
}

impl<'t> ContentArgs<'t> {
    fn new(path: String, value: Option<&'t Value>) -> Read<Self> {
        let map = value.map(|value| object(&path, value)).transpose()?;
        Ok(Self { path, map })
    }

    pub fn get(&self, key: &str) -> Option<&'t Value> {
        self.map?.get(key)
    }

    pub fn flag(&self, key: &str, otherwise: bool) -> Read<bool> {
        flag(&self.at(key), self.get(key), otherwise)
    }

    /// Whether JSON is read as such, and nothing else is.
    pub fn is_plain(&self) -> bool {
        ["unquoted_keys", "string_delims", "allow_non_json"].iter().all(|key| match self.get(key) {
            None | Some(Value::Bool(false)) => true,
            Some(Value::Array(pairs)) => pairs.is_empty(),
            Some(_) => false,
        })
    }

    pub fn at(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }

    /// The name of the reader of values, and its arguments; `None` for verbatim text.
    pub fn value_parser(&self) -> Read<Option<(FieldContent, ContentArgs<'t>)>> {
        let Some(value) = self.get("value_parser").filter(|value| !value.is_null()) else {
            return Ok(None);
        };
        let path = self.at("value_parser");
        let parser = object(&path, value)?;
        let content = content(&format!("{path}.name"), parser.get("name"))?;
        Ok(Some((content, ContentArgs::new(format!("{path}.args"), parser.get("args"))?)))
    }
}

/// The fields of a template whose shape is right.
pub(super) fn fields(template: &Value) -> Read<Vec<TemplateField<'_>>> {
    let template = object("template", template)?;
    known_keys("", template, TEMPLATE_KEYS)?;
    if let Some(version) = template.get("version").filter(|version| version.as_f64() != Some(1.0)) {
        return Err(TemplateError::new(
            "version",
            format!("is {version}"),
            "only version 1 can be read: convert the template",
        ));
    }
    if let Some(defaults) = template.get("defaults") {
        object("defaults", defaults)?;
    }
    check_anchor(template)?;
    let fields = match template.get("fields") {
        Some(fields) => object("fields", fields)?,
        None => return Err(missing("fields", "name at least one field")),
    };
    if fields.is_empty() {
        return Err(missing("fields", "name at least one field"));
    }
    let fields: Vec<_> =
        fields.iter().map(|(name, field)| self::field(name, field)).collect::<Read<_>>()?;
    if let [_, second, ..] =
        &fields.iter().filter(|field| field.open.is_none()).collect::<Vec<_>>()[..]
    {
        return Err(TemplateError::new(
            &second.path,
            "has no `open`, and neither has another field",
            "only one field can take the text that no other one does: say what opens the others",
        ));
    }
    Ok(fields)
}

/// The anchor says where in a prompt the answer begins. A server's text begins after it, so all that is asked is that
/// it is there and is an anchor.
fn check_anchor(template: &Map<String, Value>) -> Read<()> {
    let anchors = (template.get("start_anchor"), template.get("start_anchor_pattern"));
    match anchors {
        (Some(_), Some(_)) => Err(both("start_anchor_pattern", "start_anchor")),
        (Some(anchor), None) => Boundary::literal("start_anchor".into(), anchor).map(drop),
        (None, Some(Value::String(_))) => Ok(()),
        (None, Some(other)) => Err(not_a("start_anchor_pattern", "a string", other)),
        (None, None) => Err(missing("start_anchor", "say where in a prompt the answer begins")),
    }
}

fn field<'t>(name: &'t str, value: &'t Value) -> Read<TemplateField<'t>> {
    let path = format!("fields.{name}");
    let field = object(&path, value)?;
    known_keys(&format!("{path}."), field, FIELD_KEYS)?;
    let at = |key: &str| format!("{path}.{key}");
    let is_each = flag(&at("transform_each"), field.get("transform_each"), false)?;
    let transform = field.get("transform").filter(|transform| !transform.is_null());
    if is_each && transform.is_none() {
        return Err(missing(&at("transform"), "`transform_each` needs one"));
    }
    let repeats = flag(&at("repeats"), field.get("repeats"), false)?;
    check_join(&at("join"), field.get("join"), repeats)?;
    if !flag(&at("optional"), field.get("optional"), true)? {
        return Err(TemplateError::new(
            at("optional"),
            "requires every answer to have this field",
            "a dialect requires nothing: leave it out, and look at the events",
        ));
    }
    Ok(TemplateField {
        name,
        open: boundary(&path, field, "open", "open_pattern")?,
        close: boundary(&path, field, "close", "close_pattern")?,
        content: content(&at("content"), field.get("content"))?,
        args: ContentArgs::new(at("content_args"), field.get("content_args"))?,
        transform,
        is_each,
        path,
    })
}

/// Parts of a field are separate events, with nothing between them.
fn check_join(path: &str, join: Option<&Value>, repeats: bool) -> Read<()> {
    match join {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(_)) if !repeats => Err(TemplateError::new(
            path,
            "is in a field that does not repeat",
            "add `repeats`, or leave it out",
        )),
        Some(Value::String(join)) if join.is_empty() => Ok(()),
        Some(Value::String(_)) => Err(TemplateError::new(
            path,
            "is text to put between the parts of a field",
            "the parts are separate events: leave it out, and join them yourself",
        )),
        Some(other) => Err(not_a(path, "a string", other)),
    }
}

fn boundary(
    path: &str,
    field: &Map<String, Value>,
    literal: &str,
    pattern: &str,
) -> Read<Option<Boundary>> {
    let at = |key: &str| format!("{path}.{key}");
    match (field.get(literal), field.get(pattern)) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(both(&at(pattern), literal)),
        (Some(value), None) => Boundary::literal(at(literal), value).map(Some),
        (None, Some(Value::String(source))) => Boundary::pattern(at(pattern), source).map(Some),
        (None, Some(other)) => Err(not_a(&at(pattern), "a string", other)),
    }
}

fn content(path: &str, name: Option<&Value>) -> Read<FieldContent> {
    let Some(value) = name else { return Ok(FieldContent::Text) };
    let found = CONTENTS.iter().find(|(name, _)| value == name);
    found.map(|(_, content)| *content).ok_or_else(|| {
        let names: Vec<_> = CONTENTS.iter().map(|(name, _)| *name).collect();
        TemplateError::new(
            path,
            format!("is {value}, which is not a kind of content"),
            format!("it is one of {}", names.join(", ")),
        )
    })
}

fn known_keys(path: &str, map: &Map<String, Value>, known: &[&str]) -> Read<()> {
    match map.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(TemplateError::new(
            format!("{path}{key}"),
            "is not known",
            format!("known are {}", known.join(", ")),
        )),
    }
}

fn flag(path: &str, value: Option<&Value>, otherwise: bool) -> Read<bool> {
    match value {
        None => Ok(otherwise),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(other) => Err(not_a(path, "true or false", other)),
    }
}

fn object<'t>(path: &str, value: &'t Value) -> Read<&'t Map<String, Value>> {
    value.as_object().ok_or_else(|| not_a(path, "an object", value))
}

pub(super) fn missing(path: &str, advice: &'static str) -> TemplateError {
    TemplateError::new(path, "is missing", advice)
}

fn both(path: &str, other: &str) -> TemplateError {
    TemplateError::new(path, format!("is next to `{other}`"), "keep one of the two")
}
