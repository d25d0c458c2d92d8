//! Values as the body of a call writes them.

use std::fmt::Write as _;
use std::iter;

use serde_json::Value;

use super::builder::{Builder, Spelling, is_identifier};
use super::expr::{Class, Expr, choice, class, literal, optional, repeat, sequence};
use super::number::Bounds;
use super::pattern::{Characters, matching, plain, subtracted};
use super::shape::{ANY, ArrayShape, ObjectShape, Shape, ShapeId, TextShape};
use super::text::{Avoiding, TextForm};
use crate::dialect::{Args, Body, Head, Xml};

/// Keys longer than this are told apart from others by their beginnings.
const LONGEST_KEY: usize = 64;

/// A list of more texts than this is parted by how they begin: a consumer follows all alternatives at once.
const MANY: usize = 8;

/// How often that is done within itself.
const MOST_PARTINGS: usize = 40;

/// How many parts that may be left out are within each other in one rule.
const MOST_WITHIN: usize = 32;

impl Builder {
    /// The values of this shape.
    pub fn value(&mut self, id: ShapeId, spelling: Spelling) -> Expr {
        if id == ANY {
            return self.any(spelling);
        }
        if let Some(known) = self.values.get(&(id, spelling)) {
            return known.clone();
        }
        let is_inline = match self.shapes.get(id) {
            Shape::Any | Shape::Null | Shape::Boolean => true,
            Shape::Integer(bounds) | Shape::Number(bounds) => *bounds == Bounds::default(),
            Shape::Text(text) => text.is_free(),
            Shape::Listed(values) => values.len() <= MANY,
            Shape::Array(_) | Shape::Object(_) => false,
            Shape::Union(parts) => parts.len() == 1,
        };
        if is_inline {
            let parts = self.shapes.each(id);
            return match parts[..] {
                [one] if one != id => self.value(one, spelling),
                _ => self.body(id, spelling),
            };
        }
        let number = self.rules.reserve("v");
        self.values.insert((id, spelling), Expr::Rule(number));
        let body = self.body(id, spelling);
        self.rules.set(number, body);
        Expr::Rule(number)
    }

    fn body(&mut self, id: ShapeId, spelling: Spelling) -> Expr {
        match self.shapes.get(id).clone() {
            Shape::Any => self.any(spelling),
            Shape::Null => literal(if spelling == Spelling::Python { "None" } else { "null" }),
            Shape::Boolean => self.common("boolean", spelling, |_| match spelling {
                Spelling::Python => choice([literal("True"), literal("False")]),
                _ => choice([literal("true"), literal("false")]),
            }),
            Shape::Integer(bounds) if bounds == Bounds::default() => {
                self.common("integer", Spelling::Json, |_| bounds.integers())
            }
            Shape::Number(bounds) if bounds == Bounds::default() => {
                self.common("number", Spelling::Json, |_| bounds.numbers())
            }
            Shape::Integer(bounds) => bounds.integers(),
            Shape::Number(bounds) => bounds.numbers(),
            Shape::Text(text) => self.string(&text, spelling),
            Shape::Listed(values) => {
                either(values.iter().map(|value| self.constant(value, spelling)).collect())
            }
            Shape::Array(array) => self.array(&array, spelling),
            Shape::Object(object) => self.object(&object, spelling),
            Shape::Union(_) => {
                let parts = self.shapes.each(id);
                let parts: Vec<Expr> =
                    parts.into_iter().map(|part| self.value(part, spelling)).collect();
                choice(parts)
            }
        }
    }

    /// Any value.
    fn any(&mut self, spelling: Spelling) -> Expr {
        if spelling == Spelling::Elements {
            return self.string(&TextShape::default(), spelling);
        }
        self.common("value", spelling, |builder| {
            let array = ArrayShape { others: Some(ANY), ..ArrayShape::default() };
            let object = ObjectShape { others: Some(ANY), ..ObjectShape::default() };
            let number = Bounds::default();
            let words = match spelling {
                Spelling::Python => ["None", "True", "False"],
                _ => ["null", "true", "false"],
            };
            let string = builder.string(&TextShape::default(), spelling);
            let number = builder.common("number", Spelling::Json, |_| number.numbers());
            let array = builder.array(&array, spelling);
            let object = builder.object(&object, spelling);
            choice([string, number, array, object].into_iter().chain(words.map(literal)))
        })
    }

    /// White space that a body may have between its parts.
    pub fn space(&mut self, spelling: Spelling) -> Expr {
        match spelling {
            Spelling::Braces | Spelling::Elements => literal(""),
            Spelling::Python => optional(literal(" ")),
            Spelling::Json | Spelling::InnerJson => self.common("ws", Spelling::Json, |_| {
                let indent = repeat(class(&[(' ', ' '), ('\t', '\t')]), 0, Some(32));
                choice([literal(""), literal(" "), sequence([literal("\n"), indent])])
            }),
        }
    }

    /// This value as text.
    pub fn constant(&self, value: &Value, spelling: Spelling) -> String {
        match (spelling, value) {
            (Spelling::Python, value) => self.renderer.python(&super::builder::canonical(value)),
            (Spelling::Braces, value) => {
                self.renderer.braces(&super::builder::canonical(value), self.string_mark())
            }
            (Spelling::Elements, Value::String(text)) if self.has_entities() => {
                self.bare(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
            }
            (Spelling::Elements, Value::String(text)) => self.bare(text),
            (Spelling::Json, value) => self.json(value),
            (Spelling::InnerJson | Spelling::Elements, value) => {
                let json = self.json(value);
                let is_hot = |c: char| {
                    !c.is_alphanumeric() && !"[]{}\",:".contains(c) && self.inner_first.contains(&c)
                };
                let mut escaped = String::with_capacity(json.len());
                for c in json.chars() {
                    if is_hot(c) {
                        // Writing to a string cannot fail.
                        let _ = write!(escaped, "\\u{:04x}", u32::from(c));
                    } else {
                        escaped.push(c);
                    }
                }
                escaped
            }
        }
    }

    /// Strings of this shape, with what is around them.
    pub fn string(&mut self, text: &TextShape, spelling: Spelling) -> Expr {
        if text.is_free() {
            return self.common("string", spelling, |builder| {
                let inside = builder.free_text(spelling);
                builder.quoted(inside, spelling)
            });
        }
        let inside = self.bounded(text, &Quoted::new(self, spelling));
        let inside = inside.unwrap_or_else(|| self.free_text(spelling));
        self.quoted(inside, spelling)
    }

    /// The texts within these bounds; `None` if the bounds say nothing after all.
    pub fn bounded(&mut self, text: &TextShape, characters: &dyn Characters) -> Option<Expr> {
        let mut widen = |keyword: &str| {
            self.shapes.widened.push(format!("{}: {keyword}", text.path));
        };
        if let Some(pattern) = &text.pattern {
            if let Some(matching) = matching(pattern, characters) {
                if text.least > 0 {
                    widen("minLength");
                }
                if text.most.is_some() {
                    widen("maxLength");
                }
                return Some(matching);
            }
            widen("pattern");
        }
        let is_bounded = text.least > 0 || text.most.is_some();
        is_bounded.then(|| repeat(characters.any(), text.least, text.most))
    }

    fn quoted(&self, inside: Expr, spelling: Spelling) -> Expr {
        let mark = match spelling {
            Spelling::Json | Spelling::InnerJson | Spelling::Python => "\"",
            Spelling::Braces => self.string_mark(),
            Spelling::Elements => "",
        };
        sequence([literal(mark), inside, literal(mark)])
    }

    /// Any text, as it is written between what opens and closes a string.
    fn free_text(&mut self, spelling: Spelling) -> Expr {
        let quoted = Quoted::new(self, spelling);
        match spelling {
            Spelling::Json | Spelling::Python => repeat(quoted.any(), 0, None),
            Spelling::InnerJson => {
                let without = Quoted::new(self, Spelling::Json).without;
                let form =
                    TextForm { without: &without, escapes: Some(escape()), followers: &["\""] };
                self.inner_marks.rules(&mut self.rules, "inner", &form).all()
            }
            Spelling::Braces => {
                let mark = self.string_mark().to_owned();
                let form = TextForm { followers: &[&mark], ..TextForm::default() };
                Avoiding::new([&*mark]).rules(&mut self.rules, "marked", &form).all()
            }
            Spelling::Elements if self.has_entities() => {
                let form = TextForm { followers: &["]]>"], ..TextForm::default() };
                let inside = Avoiding::new(["]]>"]).rules(&mut self.rules, "cdata", &form);
                let whole = sequence([literal("<![CDATA["), inside.all(), literal("]]>")]);
                choice([repeat(quoted.any(), 0, None), whole])
            }
            Spelling::Elements => self.raw_text(),
        }
    }

    /// Any text that contains no mark that could end it.
    pub fn raw_text(&mut self) -> Expr {
        self.common("raw", Spelling::Json, |builder| {
            builder.inner_marks.rules(&mut builder.rules, "raw", &TextForm::default()).all()
        })
    }

    fn array(&mut self, array: &ArrayShape, spelling: Spelling) -> Expr {
        let (separator, open, close) = match spelling {
            Spelling::Elements => (literal(""), "", ""),
            _ => {
                let space = self.space(spelling);
                (sequence([literal(","), space]), "[", "]")
            }
        };
        let mut items: Vec<Expr> = Vec::new();
        for &first in &array.first {
            items.push(self.item(first, spelling));
        }
        let fixed = items.len();
        let most = array.most.unwrap_or(usize::MAX);
        let mut tail = literal("");
        let more_least = array.least.saturating_sub(fixed);
        if let Some(others) = array.others.filter(|_| most > fixed) {
            let other = self.item(others, spelling);
            let most = array.most.map(|most| most - fixed);
            if fixed == 0 {
                let least = array.least.max(1);
                let rest = sequence([separator.clone(), other.clone()]);
                let rest = repeat(rest, least - 1, most.map(|most| most - 1));
                let items = sequence([other, rest]);
                let space = self.space(spelling);
                let (open, close) = (literal(open), literal(close));
                let full = sequence([open, space.clone(), items, space.clone(), close]);
                return match (array.least, spelling) {
                    (0, Spelling::Elements) => choice([literal("[]"), full]),
                    (0, _) => choice([sequence([literal("["), space, literal("]")]), full]),
                    _ => full,
                };
            }
            tail = repeat(sequence([separator.clone(), other]), more_least, most);
        }
        items.truncate(most);
        let needed = array.least.min(items.len());
        for (index, item) in items.into_iter().enumerate().rev() {
            let before = if index > 0 { separator.clone() } else { literal("") };
            let with = sequence([before, item, tail]);
            tail = if index < needed { with } else { optional(with) };
            // Each part that may be left out is within the one before it, and whatever reads them calls itself for each.
            if index % MOST_WITHIN == 0 && index > needed {
                tail = self.rules.add("rest", tail);
            }
        }
        let space = self.space(spelling);
        let empty = if spelling == Spelling::Elements && needed == 0 { "[]" } else { "" };
        let full = sequence([literal(open), space.clone(), tail, space, literal(close)]);
        if empty.is_empty() { full } else { choice([literal(empty), full]) }
    }

    fn item(&mut self, id: ShapeId, spelling: Spelling) -> Expr {
        let value = self.value(id, spelling);
        if spelling == Spelling::Elements { self.element("item", value) } else { value }
    }

    /// An element of this name around a value.
    pub fn element(&self, name: &str, value: Expr) -> Expr {
        let prefix = self.xml().map_or("", |xml| &*xml.prefix);
        let tags = [format!("{prefix}<{name}>"), format!("{prefix}</{name}>")];
        let [open, close] = tags.map(literal);
        sequence([open, value, close])
    }

    /// An object with its brackets.
    pub fn object(&mut self, object: &ObjectShape, spelling: Spelling) -> Expr {
        if spelling == Spelling::Elements {
            return self.elements(object);
        }
        let mut members = Vec::new();
        for member in &object.members {
            let value = self.value(member.value, spelling);
            let key = self.key(&member.key, spelling);
            members.push((sequence([key, value]), member.is_required));
        }
        let others = object.others.map(|others| {
            let declared: Vec<&str> = object.members.iter().map(|member| &*member.key).collect();
            let value = self.value(others, spelling);
            let key = self.other_key(&declared, spelling);
            sequence([key, value])
        });
        let space = self.space(spelling);
        let inside = self.members(&members, others, spelling);
        if inside == literal("") {
            return sequence([literal("{"), space, literal("}")]);
        }
        sequence([literal("{"), space.clone(), inside, space, literal("}")])
    }

    /// Members of an object, or arguments: in their order, those left out that may be, and what parts them.
    pub fn members(
        &mut self,
        members: &[(Expr, bool)],
        others: Option<Expr>,
        spelling: Spelling,
    ) -> Expr {
        let space = self.space(spelling);
        let separator = sequence([literal(","), space]);
        let after = |member: &Expr| sequence([separator.clone(), member.clone()]);
        let more = others.as_ref().map_or(literal(""), |other| repeat(after(other), 0, None));
        // The first member is one of those up to the first that is required.
        let required = members.iter().position(|(_, is_required)| *is_required);
        let firsts = required.map_or(members.len(), |first| first + 1);
        // What follows a member, its last part first. It is put together once: a sequence copies its parts.
        let mut tail = vec![more.clone()];
        let mut starts = Vec::new();
        for (index, (member, is_required)) in members.iter().enumerate().rev() {
            if index < firsts {
                starts.push(sequence(iter::once(member).chain(tail.iter().rev()).cloned()));
            }
            if index == 0 {
                break;
            }
            let next = after(member);
            tail.push(if *is_required { next } else { optional(next) });
            // What follows each of several first members is said once.
            if index <= firsts && firsts > 1 {
                let rest = sequence(tail.drain(..).rev());
                tail.push(self.rules.add("rest", rest));
            }
        }
        starts.reverse();
        if required.is_none() {
            starts.extend(others.map(|other| sequence([other, more])));
            starts.push(literal(""));
        }
        choice(starts)
    }

    /// A key and what parts it from its value.
    fn key(&mut self, key: &str, spelling: Spelling) -> Expr {
        if spelling == Spelling::Braces {
            let written = self.renderer.braces(
                &super::builder::canonical(&Value::Object(
                    [(key.to_owned(), Value::Null)].into_iter().collect(),
                )),
                self.string_mark(),
            );
            let written = written.trim_start_matches('{').trim_end_matches("null}");
            return literal(written);
        }
        let text = self.constant(&Value::from(key), spelling);
        let space = self.space(spelling);
        sequence([literal(text), literal(":"), space])
    }

    /// The same of any key but these.
    fn other_key(&mut self, declared: &[&str], spelling: Spelling) -> Expr {
        let space = self.space(spelling);
        let colon = sequence([literal(":"), space]);
        if spelling == Spelling::Braces {
            return sequence([other_word(declared), colon]);
        }
        let quoted = Quoted::new(self, spelling);
        let rest = repeat(quoted.any(), 0, None);
        let one = |_, also: &[char]| {
            let without = quoted.without.iter().chain(also).copied();
            Some(Expr::Class(Class::without(without)))
        };
        let key = other_than(declared, 0, &one, &rest);
        sequence([literal("\""), key, literal("\""), colon])
    }

    /// The members of an object as elements.
    pub fn elements(&mut self, object: &ObjectShape) -> Expr {
        if object.members.is_empty() || !object.members.iter().all(|member| is_element(&member.key))
        {
            return self.object(object, Spelling::InnerJson);
        }
        let mut parts = Vec::new();
        for member in &object.members {
            let value = self.value(member.value, Spelling::Elements);
            let element = self.element(&member.key, value);
            parts.push(if member.is_required { element } else { optional(element) });
        }
        sequence(parts)
    }

    /// The mark around strings in braces.
    pub fn string_mark(&self) -> &str {
        match self.dialect.calls.bodies.first().and_then(Body::head) {
            Some(Head { args: Args::Braces(mark), .. }) => mark,
            _ => "",
        }
    }

    pub fn xml(&self) -> Option<&Xml> {
        self.dialect.calls.bodies.first()?.xml()
    }

    pub fn has_entities(&self) -> bool {
        self.xml().is_some_and(|xml| xml.entities)
    }
}

/// Whether a key can be the name of an element.
pub fn is_element(key: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    key.starts_with(is_letter)
        && key.chars().all(|c| is_letter(c) || c.is_ascii_digit() || "-.".contains(c))
}

impl TextShape {
    /// Whether it is any text.
    pub fn is_free(&self) -> bool {
        self.keywords().next().is_none()
    }

    /// The keywords that bound it.
    pub fn keywords(&self) -> impl Iterator<Item = &'static str> + use<> {
        let pattern = self.pattern.is_some().then_some("pattern");
        let least = (self.least > 0).then_some("minLength");
        let most = self.most.is_some().then_some("maxLength");
        pattern.into_iter().chain(least).chain(most)
    }
}

/// How a string holds its characters.
pub struct Quoted {
    spelling: Spelling,
    /// Those that it does not have as they are.
    pub without: Vec<char>,
    /// Whether elements are written with entities.
    has_entities: bool,
}

impl Quoted {
    pub fn new(builder: &Builder, spelling: Spelling) -> Self {
        let controls = || ('\0'..' ').chain(['\u{7f}', '"', '\\']);
        let has_entities = builder.has_entities();
        let without = match spelling {
            Spelling::Json | Spelling::Python => controls().collect(),
            Spelling::InnerJson => controls().chain(builder.inner_first.iter().copied()).collect(),
            Spelling::Braces => builder.string_mark().chars().take(1).collect(),
            Spelling::Elements if has_entities => vec!['<', '>', '&'],
            Spelling::Elements => builder.inner_first.clone(),
        };
        Self { spelling, without, has_entities }
    }

    /// What stands for a character that the string does not have as it is.
    fn written(&self, character: char) -> Option<String> {
        Some(match (self.spelling, character) {
            (Spelling::Elements, _) if !self.has_entities => return None,
            (Spelling::Braces, _) => return None,
            (Spelling::Elements, '<') => "&lt;".into(),
            (Spelling::Elements, '>') => "&gt;".into(),
            (Spelling::Elements, _) => "&amp;".into(),
            (_, '\n') => "\\n".into(),
            (_, '\r') => "\\r".into(),
            (_, '\t') => "\\t".into(),
            (_, '"' | '\\') => format!("\\{character}"),
            (_, character) => format!("\\u{:04x}", u32::from(character)),
        })
    }
}

impl Characters for Quoted {
    fn of(&self, ranges: &[(char, char)]) -> Option<Expr> {
        let is_meant = |c: &char| ranges.iter().any(|(first, last)| (first..=last).contains(&c));
        let others = self.without.iter().filter(|c| is_meant(c));
        let others = others.filter_map(|c| self.written(*c)).map(literal);
        let parts: Vec<Expr> =
            plain(subtracted(ranges, &self.without)).into_iter().chain(others).collect();
        (!parts.is_empty()).then(|| choice(parts))
    }

    fn any(&self) -> Expr {
        let plain = Expr::Class(Class::without(self.without.iter().copied()));
        match self.spelling {
            Spelling::Json | Spelling::InnerJson | Spelling::Python => choice([plain, escape()]),
            Spelling::Elements if self.has_entities => {
                choice([plain, literal("&lt;"), literal("&gt;"), literal("&amp;")])
            }
            Spelling::Elements | Spelling::Braces => plain,
        }
    }
}

/// A character as JSON and Python alike escape it; never half of one.
fn escape() -> Expr {
    let hex = || class(&[('0', '9'), ('a', 'f'), ('A', 'F')]);
    let first = class(&[('0', '9'), ('a', 'c'), ('e', 'f'), ('A', 'C'), ('E', 'F')]);
    let low = sequence([class(&[('d', 'd'), ('D', 'D')]), class(&[('0', '7')])]);
    let code = choice([sequence([first, hex()]), low]);
    let code = sequence([literal("u"), code, hex(), hex()]);
    let short = ['"', '\\', 'n', 'r', 't'].map(|c| (c, c));
    sequence([literal("\\"), choice([class(&short), code])])
}

/// Any of these texts.
pub fn either(texts: Vec<String>) -> Expr {
    let mut known = std::collections::HashSet::new();
    let mut unique: Vec<String> =
        texts.into_iter().filter(|text| known.insert(text.clone())).collect();
    if unique.len() > MANY {
        unique.sort_unstable();
    }
    let texts: Vec<&str> = unique.iter().map(|text| &**text).collect();
    parted(&texts, 0)
}

/// Any of these texts, which are sorted; many of them by how they begin.
fn parted(texts: &[&str], depth: usize) -> Expr {
    if texts.len() <= MANY || depth > MOST_PARTINGS {
        return choice(texts.iter().copied().map(literal));
    }
    let mut parts = Vec::new();
    let groups = texts.chunk_by(|one, other| one.chars().next() == other.chars().next());
    for group in groups {
        let (first, last) = (group[0], group[group.len() - 1]);
        let common = first.char_indices().zip(last.chars());
        let common = common.take_while(|((_, one), other)| one == other);
        let length: usize = common.map(|((_, c), _)| c.len_utf8()).sum();
        let rests: Vec<&str> = group.iter().map(|text| &text[length..]).collect();
        parts.push(sequence([literal(&first[..length]), parted(&rests, depth + 1)]));
    }
    choice(parts)
}

/// A word other than these.
pub fn other_word(declared: &[&str]) -> Expr {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let one = |depth: usize, without: &[char]| {
        let letters = [('A', 'Z'), ('_', '_'), ('a', 'z'), ('0', '9')];
        plain(subtracted(&letters[..if depth == 0 { 3 } else { 4 }], without))
    };
    let rest = repeat(class(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]), 0, Some(63));
    let words: Vec<&str> = declared
        .iter()
        .copied()
        .filter(|key| is_identifier(key) && key.chars().all(is_part))
        .collect();
    other_than(&words, 0, &one, &rest)
}

/// A text other than `texts`, and not empty: up to where it departs from all of them, and `rest` from there on. `one`
/// is a character at this place, other than some.
fn other_than(
    texts: &[&str],
    depth: usize,
    one: &dyn Fn(usize, &[char]) -> Option<Expr>,
    rest: &Expr,
) -> Expr {
    let mut firsts: Vec<char> = texts.iter().filter_map(|text| text.chars().next()).collect();
    firsts.sort_unstable();
    firsts.dedup();
    let departed = one(depth, &firsts).map(|one| sequence([one, rest.clone()]));
    let mut parts: Vec<Expr> = departed.into_iter().collect();
    if depth < LONGEST_KEY {
        for first in firsts {
            // What must be escaped is not written as it is.
            if one(depth, &[])
                .is_some_and(|any| matches!(any, Expr::Class(class) if class.has(first)))
            {
                let rests: Vec<&str> =
                    texts.iter().filter_map(|text| text.strip_prefix(first)).collect();
                parts.push(sequence([literal(first), other_than(&rests, depth + 1, one, rest)]));
            }
        }
        if depth > 0 && !texts.contains(&"") {
            parts.push(literal(""));
        }
    }
    choice(parts)
}
