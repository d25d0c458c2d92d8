//! Arguments, each between its own marks: text as it is, and all else as JSON.

use serde_json::Value;

use super::builder::{Builder, Spelling, Tool, is_plain};
use super::error::GrammarError;
use super::expr::{Class, Expr, choice, literal, optional, repeat, sequence};
use super::pattern::{Characters, plain, subtracted};
use super::shape::{ANY, ObjectShape, Shape, ShapeId, TextShape};
use super::values::{either, other_word};
use crate::dialect::{Flag, Parameters, Trim, Untyped};

/// A value as it is written between its marks, and the word for its type.
type RawValue = (&'static str, Expr);

/// The word for text.
const TEXT: &str = "string";

/// Characters of raw text that is counted or matched: none that begins a mark, and none that a reader may strip.
struct Raw {
    without: Vec<char>,
}

impl Characters for Raw {
    fn of(&self, ranges: &[(char, char)]) -> Option<Expr> {
        plain(subtracted(ranges, &self.without))
    }

    fn any(&self) -> Expr {
        Expr::Class(Class::without(self.without.iter().copied()))
    }
}

impl Builder {
    /// The arguments of this tool, without what is around all of them.
    ///
    /// # Errors
    /// The dialect cannot hold a key.
    pub fn parameters(
        &mut self,
        form: &Parameters,
        object: &ObjectShape,
        tool: &Tool,
    ) -> Result<Expr, GrammarError> {
        let layout = self.dialect.calls.layout.parameter.to_string();
        let mut parts = Vec::new();
        if let Some(around) = &form.around {
            parts.push(literal(format!("{}{layout}", around.open)));
        }
        for member in &object.members {
            let Some(written) = self.raw_key(form, &member.key, tool) else {
                let path = format!("{}.{}", tool.name, member.key);
                if member.is_required {
                    return Err(self.unwritable("the key", path));
                }
                self.shapes.widened.push(format!("{path}: the key, which cannot be written"));
                continue;
            };
            let close = form.close.replace("{key}", &written);
            let value = self.raw_values(form, member.value, Some((tool, &member.key)))?;
            let key = literal(written);
            let part = self.parameter(form, key, value, &close);
            parts.push(if member.is_required { part } else { optional(part) });
        }
        // A mark that repeats a key cannot be said of any key.
        if let Some(others) = object.others.filter(|_| !form.close.contains("{key}")) {
            let declared: Vec<&str> = object.members.iter().map(|member| &*member.key).collect();
            let value = self.raw_values(form, others, None)?;
            let other = self.parameter(form, other_word(&declared), value, &form.close);
            parts.push(repeat(other, 0, None));
        }
        parts.extend(form.around.iter().map(|around| literal(&*around.close)));
        Ok(sequence(parts))
    }

    fn raw_key(&self, form: &Parameters, key: &str, tool: &Tool) -> Option<String> {
        if is_plain(key) {
            return Some(key.to_owned());
        }
        let is_held = self.can_write(&tool.name, Some((key, &Value::from(1))));
        let key = self.bare(key);
        is_held.then(|| if form.entities { in_attribute(&key) } else { key })
    }

    /// One argument, its key and its value between their marks.
    fn parameter(&self, form: &Parameters, key: Expr, values: Vec<RawValue>, close: &str) -> Expr {
        let layout = &self.dialect.calls.layout;
        let between = match &*form.value_open {
            "" => String::new(),
            open => format!("{}{open}", layout.key),
        };
        let line = if form.trim == Trim::Newline { "\n" } else { "" };
        let whole = |(kind, value): RawValue| {
            let flag = match &form.flag {
                None => String::new(),
                Some(Flag { name, text, json }) => {
                    let said = match (kind, &**json) {
                        (TEXT, _) => text,
                        (kind, "") => kind,
                        (_, json) => json,
                    };
                    format!(" {name}=\"{said}\"")
                }
            };
            sequence([literal(format!("{flag}{between}{line}")), value])
        };
        let values = choice(values.into_iter().map(whole));
        let open = [literal(&*form.open), key, literal(&*form.key_end)];
        let close = literal(format!("{line}{close}{}", layout.parameter));
        sequence(open.into_iter().chain([values, close]))
    }

    /// The values of this shape. `place` is the tool and the key, for values that are listed.
    fn raw_values(
        &mut self,
        form: &Parameters,
        id: ShapeId,
        place: Option<(&Tool, &str)>,
    ) -> Result<Vec<RawValue>, GrammarError> {
        let mut values: Vec<RawValue> = Vec::new();
        for id in self.shapes.each(id) {
            let kind = match self.shapes.get(id).clone() {
                Shape::Any => {
                    values.push((TEXT, self.raw_text()));
                    if form.flag.is_some() {
                        let any = self.value(ANY, Spelling::InnerJson);
                        values.push(("object", any));
                    }
                    continue;
                }
                Shape::Text(text) => {
                    values.push((TEXT, self.raw_string(form, &text)));
                    continue;
                }
                Shape::Listed(listed) => {
                    values.extend(self.raw_listed(form, &listed, place)?);
                    continue;
                }
                Shape::Null => "null",
                Shape::Boolean => "boolean",
                Shape::Integer(_) | Shape::Number(_) => "number",
                Shape::Array(_) => "array",
                Shape::Object(_) | Shape::Union(_) => "object",
            };
            values.push((kind, self.value(id, Spelling::InnerJson)));
        }
        Ok(values)
    }

    fn raw_string(&mut self, form: &Parameters, text: &TextShape) -> Expr {
        if text.is_free() {
            return self.raw_text();
        }
        let mut without = self.inner_first.clone();
        without.push('\r');
        without.extend((form.untyped == Untyped::Json).then_some('"'));
        if form.trim == Trim::Space {
            self.shapes.widened.extend(text.keywords().map(|key| format!("{}: {key}", text.path)));
            return self.raw_text();
        }
        self.bounded(text, &Raw { without }).unwrap_or_else(|| self.raw_text())
    }

    fn raw_listed(
        &mut self,
        form: &Parameters,
        listed: &[Value],
        place: Option<(&Tool, &str)>,
    ) -> Result<Vec<RawValue>, GrammarError> {
        let mut kinds: Vec<(&'static str, Vec<String>)> = Vec::new();
        for value in listed {
            let kind = match value {
                Value::String(_) => TEXT,
                Value::Null => "null",
                Value::Bool(_) => "boolean",
                Value::Number(_) => "number",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
            };
            let written = match value {
                Value::String(text) => match self.raw_constant(form, text, place) {
                    Some(written) => written,
                    None => {
                        let path = place
                            .map_or_else(String::new, |(tool, key)| format!("{}.{key}", tool.name));
                        if listed.len() == 1 {
                            return Err(self.unwritable(format!("the value {text:?}"), path));
                        }
                        self.shapes
                            .widened
                            .push(format!("{path}: the value {text:?}, which cannot be written"));
                        continue;
                    }
                },
                value => self.constant(value, Spelling::InnerJson),
            };
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, texts)) => texts.push(written),
                None => kinds.push((kind, vec![written])),
            }
        }
        Ok(kinds.into_iter().map(|(kind, texts)| (kind, either(texts))).collect())
    }

    /// A text between its marks; `None` if the dialect cannot hold it.
    fn raw_constant(
        &self,
        form: &Parameters,
        text: &str,
        place: Option<(&Tool, &str)>,
    ) -> Option<String> {
        let is_simple = |c: char| c.is_alphanumeric() || " _-.,:/+".contains(c);
        if form.untyped == Untyped::Json && serde_json::from_str::<Value>(text).is_ok() {
            return Some(self.constant(&Value::from(text), Spelling::InnerJson));
        }
        if !text.is_empty() && text.trim() == text && text.chars().all(is_simple) {
            return Some(text.to_owned());
        }
        let (tool, key) = place?;
        self.can_write(&tool.name, Some((key, &Value::from(text)))).then(|| self.bare(text))
    }
}

/// A name as the value of an attribute.
pub fn in_attribute(name: &str) -> String {
    name.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}
