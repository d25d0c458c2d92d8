//! Where a transform takes the name and the arguments of a call from.

use serde_json::{Map, Value};

use super::super::Str;
use super::error::{Read, TemplateError};
use super::fields::{TemplateField, missing};

/// Where the parts of a call are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PartPlaces {
    /// In each JSON object, under these keys.
    Keys(Keys),
    /// The name is a group of the opening mark, the content is the arguments.
    Group(String),
}

/// The keys of a call in JSON.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Keys {
    pub name: Str,
    pub args: Str,
    pub id: Option<Str>,
}

/// What a placeholder stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Placeholder {
    /// The content.
    Content,
    /// What the content, or each of its items, has under this key.
    Key(String),
    /// A group of the opening mark.
    Group(String),
}

/// Reads the transform of `tool_calls`, whose opening mark has these groups.
pub(super) fn parts(field: &TemplateField<'_>, groups: &[&str]) -> Read<PartPlaces> {
    let path = format!("{}.transform", field.path);
    let Some(transform) = field.transform else { return Err(missing(&path, SHAPE)) };
    let call = map(&path, transform)?;
    known(&path, call, &["type", "function", "id"])?;
    if let Some(kind) = call.get("type").filter(|kind| *kind != "function") {
        return Err(TemplateError::new(format!("{path}.type"), format!("is {kind}"), SHAPE));
    }
    let reader = TransformReader { groups, is_each: field.is_each };
    let path = format!("{path}.function");
    let (name, args) = match call.get("function") {
        None => return Err(missing(&path, SHAPE)),
        Some(Value::Object(function)) => {
            known(&path, function, &["name", "arguments"])?;
            let place = |key: &str| reader.place(&format!("{path}.{key}"), function.get(key));
            (place("name")?, place("arguments")?)
        }
        // The content is the function: it has the keys that a function must have.
        whole => match reader.place(&path, whole)? {
            Placeholder::Content => {
                (Placeholder::Key("name".into()), Placeholder::Key("arguments".into()))
            }
            _ => return Err(TemplateError::new(path, "is a part of the content", SHAPE)),
        },
    };
    let id =
        call.get("id").map(|id| reader.place(&format!("{}.transform.id", field.path), Some(id)));
    match (name, args, id.transpose()?) {
        (Placeholder::Key(name), Placeholder::Key(args), None) => {
            Ok(PartPlaces::Keys(Keys { name: name.into(), args: args.into(), id: None }))
        }
        (Placeholder::Key(name), Placeholder::Key(args), Some(Placeholder::Key(id))) => {
            Ok(PartPlaces::Keys(Keys { name: name.into(), args: args.into(), id: Some(id.into()) }))
        }
        (Placeholder::Group(name), Placeholder::Content, None) => Ok(PartPlaces::Group(name)),
        (.., Some(_)) => Err(TemplateError::new(
            format!("{}.transform.id", field.path),
            "is not next to the name",
            "leave it out: a call without an id gets one",
        )),
        _ => Err(TemplateError::new(
            path,
            "takes the name and the arguments from different places",
            "take both from the content, or the name from a group and the arguments from the content",
        )),
    }
}

const SHAPE: &str =
    "give `{\"type\": \"function\", \"function\": {\"name\": \"{…}\", \"arguments\": \"{…}\"}}`";

struct TransformReader<'g> {
    groups: &'g [&'g str],
    is_each: bool,
}

impl TransformReader<'_> {
    fn place(&self, path: &str, value: Option<&Value>) -> Read<Placeholder> {
        let Some(value) = value else { return Err(missing(path, SHAPE)) };
        let inner = value.as_str().and_then(|text| text.strip_prefix('{')?.strip_suffix('}'));
        let Some(inner) = inner.filter(|inner| inner.split('.').all(is_word)) else {
            let reason = format!("is {value}, which is not a placeholder");
            return Err(TemplateError::new(path, reason, SHAPE));
        };
        let mut keys = inner.split('.');
        let place = match (keys.next().unwrap_or_default(), keys.next(), keys.next()) {
            (_, Some(_), Some(_)) => None,
            (key, None, _) if self.is_each => Some(Placeholder::Key(key.into())),
            ("content", None, _) => Some(Placeholder::Content),
            ("content", Some(key), _) if !self.is_each => Some(Placeholder::Key(key.into())),
            (group, None, _) if self.groups.contains(&group) => {
                Some(Placeholder::Group(group.into()))
            }
            _ => None,
        };
        place.ok_or_else(|| {
            TemplateError::new(
                path,
                format!("is {value}, which is not part of a call"),
                "take a group of `open_pattern`, the content, or one of its keys",
            )
        })
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|char| char.is_alphanumeric() || char == '_')
}

fn map<'t>(path: &str, value: &'t Value) -> Read<&'t Map<String, Value>> {
    value.as_object().ok_or_else(|| TemplateError::new(path, "is not a call", SHAPE))
}

fn known(path: &str, map: &Map<String, Value>, known: &[&str]) -> Read<()> {
    match map.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(TemplateError::new(
            format!("{path}.{key}"),
            "is not part of a call",
            "a call has a name, arguments and perhaps an id: leave it out",
        )),
    }
}
