//! Elements to JSON: the schema says what is an object, an array or a text.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::super::super::canonical::{Writer, json_string};
use super::super::super::tools::{Schema, Types, typed};
use super::string::{Comments, decoded};
use crate::dialect::{Untyped, Xml};
use crate::json::Container;
use crate::text::{is_blank, trim};

/// One element. Ranges are bytes of the block's text.
#[derive(Clone, Debug, Default)]
pub struct Element {
    /// Its name.
    pub key: Range<usize>,
    /// What is between its tags.
    pub content: Range<usize>,
    /// The first element in it.
    pub first: Option<usize>,
    /// The next element on its level.
    pub next: Option<usize>,
    /// Whether it was read as a string, in which tags are text.
    pub is_string: bool,
    /// The text in it, outside its elements.
    pub texts: Vec<Range<usize>>,
    /// Whether there is a CDATA section in it.
    pub has_cdata: bool,
}

/// The name that marked elements of an array have where no schema says what is one.
const ITEM: &[u8] = b"item";

/// The member that holds the text outside marked elements; with another `$` in front where an element has this name.
const TEXT: &str = "$text";

/// What an element may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text in which tags are text.
    String,
    /// Such text, or elements: its beginning decides.
    Either,
    /// Elements, or text in which there is none.
    Elements,
}

/// What an element of this schema may hold.
pub fn content(schema: Option<Schema<'_>>) -> Content {
    let types = schema.map(Schema::types).unwrap_or_default();
    let has_parts = types.has(Types::OBJECT) || types.has(Types::ARRAY);
    match (types.has(Types::STRING), has_parts) {
        (true, false) => Content::String,
        (true, true) => Content::Either,
        // An array may also be written as its items alone, one after the other.
        (false, _) if types.has(Types::ARRAY) => {
            let items = schema.and_then(Schema::items).map(Schema::types).unwrap_or_default();
            if items.has(Types::STRING) { Content::Either } else { Content::Elements }
        }
        (false, _) => Content::Elements,
    }
}

/// The schema of an element with this name, in one of this schema: of a property, or of an item.
pub fn part<'s>(schema: Schema<'s>, key: &[u8]) -> Option<Schema<'s>> {
    let key = std::str::from_utf8(key).unwrap_or_default();
    let of_items = || {
        let items = schema.items().filter(|_| schema.types().has(Types::ARRAY))?;
        Some(items.declared(key).unwrap_or(items))
    };
    schema.declared(key).or_else(of_items).or_else(|| schema.property(key))
}

/// The elements of some arguments, and their text.
pub struct Arguments<'t> {
    /// How they are written.
    pub form: &'t Xml,
    /// The block's text.
    pub text: &'t [u8],
    /// The first of them holds all others.
    pub elements: &'t [Element],
    /// How many brackets may be open at once.
    pub max_depth: usize,
}

/// What to write next.
enum PendingJson<'s> {
    /// Elements of one name, as the value of a key.
    Member(Vec<usize>, Option<Schema<'s>>),
    Value(usize, Option<Schema<'s>>),
    /// A key and the text that it holds, as canonical JSON.
    Text(String, String),
    Close,
}

impl Arguments<'_> {
    /// All of them, as a canonical JSON object; `None` where it is nested deeper than it may be.
    ///
    /// # Complexity
    /// O(text)
    pub fn json(&self, schema: Option<Schema<'_>>) -> Option<String> {
        let mut out = Output { writer: Writer::new(0), pending: Vec::new(), depth: 0 };
        self.object(0, schema, &mut out);
        self.finish(out)
    }

    /// The value of one element, as canonical JSON; `None` where it is nested deeper than it may be.
    pub fn value_of(&self, at: usize, schema: Option<Schema<'_>>) -> Option<String> {
        let mut out = Output { writer: Writer::new(0), pending: Vec::new(), depth: 1 };
        self.value(at, schema, &mut out);
        self.finish(out)
    }

    /// The key of two arguments, though the tool takes one and no array.
    pub fn repeated(&self, schema: Schema<'_>) -> Option<&[u8]> {
        let mut known = HashSet::new();
        self.parts(0).map(|at| self.key(at)).find(|key| {
            let types = part(schema, key).map(Schema::types).unwrap_or_default();
            !types.is_empty() && !types.has(Types::ARRAY) && !known.insert(*key)
        })
    }

    fn finish(&self, mut out: Output<'_>) -> Option<String> {
        while let Some(step) = out.pending.pop() {
            if out.depth > self.max_depth {
                return None;
            }
            match step {
                PendingJson::Close => {
                    out.writer.close();
                    out.depth -= 1;
                }
                PendingJson::Member(elements, schema) => {
                    out.writer.raw_key(&json_string(self.key(elements[0])));
                    match elements[..] {
                        [element] => self.value(element, schema, &mut out),
                        _ => {
                            let is_array =
                                schema.is_some_and(|schema| schema.types().has(Types::ARRAY));
                            let items =
                                if is_array { schema.and_then(Schema::items) } else { schema };
                            out.open(Container::Array);
                            let values = elements.iter().rev();
                            out.pending
                                .extend(values.map(|&element| PendingJson::Value(element, items)));
                        }
                    }
                }
                PendingJson::Value(element, schema) => self.value(element, schema, &mut out),
                PendingJson::Text(key, text) => {
                    out.writer.raw_key(&json_string(key.as_bytes()));
                    out.writer.raw_scalar(&text);
                }
            }
        }
        Some(out.writer.finish())
    }

    fn value<'s>(&self, at: usize, schema: Option<Schema<'s>>, out: &mut Output<'s>) {
        let element = &self.elements[at];
        let is_text = element.is_string || content(schema) == Content::String;
        match element.first {
            Some(_) if !is_text && self.is_mixed(element, schema) => self.object(at, schema, out),
            Some(first) if element.texts.is_empty() && !is_text => {
                match self.shape(at, first, schema) {
                    ElementShape::Object => self.object(at, schema, out),
                    ElementShape::Array => {
                        out.open(Container::Array);
                        let from = out.pending.len();
                        for part_at in self.parts(at) {
                            let schema = schema.and_then(|schema| part(schema, self.key(part_at)));
                            out.pending.push(PendingJson::Value(part_at, schema));
                        }
                        out.pending[from..].reverse();
                    }
                    ElementShape::Item => {
                        out.open(Container::Array);
                        self.object(at, schema.and_then(Schema::items), out);
                    }
                }
            }
            // Elsewhere text between elements is not an object: the check of the arguments says so.
            Some(_) => {
                let text = decoded(self.form, &self.text[element.content.clone()], Comments::Kept);
                out.writer.raw_scalar(&self.typed(&text, element, schema, out.depth));
            }
            None => self.leaf(element, schema, out),
        }
    }

    /// Whether text between elements is a separate member: only where all tags are marked, so that no text looks like
    /// one.
    fn is_mixed(&self, element: &Element, schema: Option<Schema<'_>>) -> bool {
        let types = schema.map(Schema::types).unwrap_or_default();
        let may_be_object = types.is_empty() || types.has(Types::OBJECT);
        !self.form.prefix.is_empty() && !element.texts.is_empty() && may_be_object
    }

    /// Opens an object of the elements in this one, and of the text between them: elements of one name are one value,
    /// in the place of the first.
    fn object<'s>(&self, at: usize, schema: Option<Schema<'s>>, out: &mut Output<'s>) {
        out.open(Container::Object);
        let mut names: HashMap<&[u8], usize> = HashMap::new();
        let from = out.pending.len();
        for part_at in self.parts(at) {
            let key = self.key(part_at);
            let place = *names.entry(key).or_insert(out.pending.len());
            match out.pending.get_mut(place) {
                Some(PendingJson::Member(elements, _)) => elements.push(part_at),
                _ => {
                    let schema = schema.and_then(|schema| part(schema, key));
                    out.pending.push(PendingJson::Member(vec![part_at], schema));
                }
            }
        }
        let texts = &self.elements[at].texts;
        if !texts.is_empty() {
            let mut name = TEXT.to_owned();
            while names.contains_key(name.as_bytes()) {
                name.insert(0, '$');
            }
            let said: Vec<u8> =
                texts.iter().flat_map(|range| &self.text[range.clone()]).copied().collect();
            let text = decoded(self.form, trim(&said), Comments::Dropped);
            out.pending.push(PendingJson::Text(name, json_string(&text)));
        }
        out.pending[from..].reverse();
    }

    /// What the elements in this one are, of which `first` is the first.
    fn shape(&self, at: usize, first: usize, schema: Option<Schema<'_>>) -> ElementShape {
        let types = schema.map(Schema::types).unwrap_or_default();
        let first = self.key(first);
        let name = std::str::from_utf8(first).unwrap_or_default();
        let has_one_name = || self.parts(at).all(|part| self.key(part) == first);
        let is_repeated = || self.parts(at).nth(1).is_some();
        let is_declared = |schema: Option<Schema<'_>>| {
            schema.is_some_and(|schema| schema.declared(name).is_some())
        };
        let is_array = match (types.has(Types::ARRAY), types.has(Types::OBJECT)) {
            _ if types.is_empty() => {
                !self.form.prefix.is_empty() && first == ITEM && has_one_name()
            }
            (true, true) => {
                !is_declared(schema) && (first == ITEM || is_repeated()) && has_one_name()
            }
            (true, false) if is_declared(schema.and_then(Schema::items)) => {
                return ElementShape::Item;
            }
            (is_array, _) => is_array,
        };
        if is_array { ElementShape::Array } else { ElementShape::Object }
    }

    /// Writes an element with no other in it.
    fn leaf(&self, element: &Element, schema: Option<Schema<'_>>, out: &mut Output<'_>) {
        let is_text = element.is_string || content(schema) == Content::String;
        let comments = if is_text { Comments::Kept } else { Comments::Dropped };
        let text = decoded(self.form, &self.text[element.content.clone()], comments);
        let types = schema.map(Schema::types).unwrap_or_default();
        let (is_array, is_object) = (types.has(Types::ARRAY), types.has(Types::OBJECT));
        if (!is_array && !is_object) || types.has(Types::STRING) {
            return out.writer.raw_scalar(&self.typed(&text, element, schema, out.depth));
        }
        if is_blank(&text) && !element.has_cdata && is_array != is_object {
            out.writer.open(if is_array { Container::Array } else { Container::Object });
            return out.writer.close();
        }
        let value = self.typed(&text, element, schema, out.depth);
        if !is_array || types.has(type_of(&value)) {
            return out.writer.raw_scalar(&value);
        }
        // One item of an array, written as if there were more.
        let items = schema.and_then(Schema::items);
        out.writer.open(Container::Array);
        out.writer.raw_scalar(&self.typed(&text, element, items, out.depth + 1));
        out.writer.close();
    }

    fn typed(
        &self,
        text: &[u8],
        element: &Element,
        schema: Option<Schema<'_>>,
        depth: usize,
    ) -> String {
        // A section of CDATA is text, whatever the tool takes.
        if element.has_cdata {
            return json_string(text);
        }
        let left = self.max_depth.saturating_sub(depth);
        typed(text, schema, Untyped::Scalar, left)
    }

    fn key(&self, at: usize) -> &[u8] {
        &self.text[self.elements[at].key.clone()]
    }

    /// The elements in this one.
    fn parts(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.elements[at].first, |&part| self.elements[part].next)
    }
}

/// What an element with others in it is.
enum ElementShape {
    Object,
    /// The others are its items.
    Array,
    /// It is the one item of an array, an object.
    Item,
}

struct Output<'s> {
    writer: Writer,
    pending: Vec<PendingJson<'s>>,
    /// How many brackets are open.
    depth: usize,
}

impl Output<'_> {
    /// Opens a bracket that is closed after all steps that are added now.
    fn open(&mut self, container: Container) {
        self.writer.open(container);
        self.depth += 1;
        self.pending.push(PendingJson::Close);
    }
}

/// The type of canonical JSON.
fn type_of(json: &str) -> Types {
    match json.as_bytes().first() {
        Some(b'[') => Types::ARRAY,
        Some(b'{') => Types::OBJECT,
        Some(b'"') => Types::STRING,
        Some(b't' | b'f') => Types::BOOLEAN,
        Some(b'n') => Types::NULL,
        _ if json.bytes().all(|byte| matches!(byte, b'-' | b'0'..=b'9')) => Types::INTEGER,
        _ => Types::NUMBER,
    }
}
