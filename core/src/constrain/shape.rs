//! What a JSON Schema allows, as far as a grammar can say it.
//!
//! Where a grammar cannot say what a keyword demands, it allows more, and the keyword is listed as widened. Keywords that demand
//! nothing of a value, such as `description`, are not listed.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::error::GrammarError;
use super::merge;
use super::number::Bounds;
use crate::protocol::tools::{Types, target};

/// The number of a shape.
pub type ShapeId = usize;

/// What a value may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Any value.
    Any,
    Null,
    Boolean,
    Integer(Bounds),
    Number(Bounds),
    Text(TextShape),
    /// One of these values.
    Listed(Vec<Value>),
    Array(ArrayShape),
    Object(ObjectShape),
    /// What any of these allows; what none of them does, if there are none.
    Union(Vec<ShapeId>),
}

/// What a string may be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextShape {
    pub pattern: Option<String>,
    /// How many characters at least.
    pub least: usize,
    /// How many at most.
    pub most: Option<usize>,
    /// Where the schema says so.
    pub path: String,
}

/// What an array may be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArrayShape {
    /// The first items, one each.
    pub first: Vec<ShapeId>,
    /// All others; `None` if there are none.
    pub others: Option<ShapeId>,
    pub least: usize,
    pub most: Option<usize>,
}

/// What an object may be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectShape {
    pub members: Vec<Member>,
    /// The values of all other keys; `None` if there are none.
    pub others: Option<ShapeId>,
}

/// A declared member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub key: String,
    pub value: ShapeId,
    pub is_required: bool,
}

/// The shape of any value.
pub const ANY: ShapeId = 0;

/// The most times that one part is repeated: a consumer writes each of them out.
pub const MOST_REPEATS: usize = 1000;

/// A schema may be this many levels deep, including references.
const DEEPEST: usize = 200;

/// The types in the order in which they are tried.
const TYPES: [Types; 7] = [
    Types::NULL,
    Types::BOOLEAN,
    Types::NUMBER,
    Types::INTEGER,
    Types::STRING,
    Types::ARRAY,
    Types::OBJECT,
];

/// The shapes of the schemas of some tools.
#[derive(Debug)]
pub struct Shapes {
    shapes: Vec<Shape>,
    /// What was taken to allow more than it does: where, and the keyword.
    pub widened: Vec<String>,
}

impl Default for Shapes {
    fn default() -> Self {
        Self { shapes: vec![Shape::Any], widened: Vec::new() }
    }
}

impl Shapes {
    pub fn get(&self, id: ShapeId) -> &Shape {
        &self.shapes[id]
    }

    /// The shape of the arguments of the tool of this name, which are an object.
    ///
    /// # Errors
    /// The schema is too deep, or no value fits it.
    ///
    /// # Complexity
    /// O(schema)
    pub fn arguments(&mut self, tool: &str, schema: &Value) -> Result<ShapeId, GrammarError> {
        let first = self.shapes.len();
        let root = if merge::has_bases(schema) { &Value::Null } else { schema };
        let mut reading =
            Reading { shapes: self, root, known: HashMap::new(), path: tool.to_owned() };
        let id = match schema {
            Value::Null => {
                let free = ObjectShape { members: Vec::new(), others: Some(ANY) };
                reading.shapes.push(Shape::Object(free))
            }
            schema => reading.shape(schema, 0, true)?,
        };
        let objects: Vec<ShapeId> = self
            .each(id)
            .into_iter()
            .filter(|id| matches!(self.get(*id), Shape::Object(_) | Shape::Any))
            .collect();
        let is_any = |id: &ShapeId| *self.get(*id) == Shape::Any;
        let id = match objects[..] {
            [] => return Err(GrammarError::Unfillable { path: tool.to_owned() }),
            _ if objects.iter().any(is_any) => {
                self.push(Shape::Object(ObjectShape { members: Vec::new(), others: Some(ANY) }))
            }
            [one] => one,
            _ => self.push(Shape::Union(objects)),
        };
        self.prune(id, first, tool)?;
        Ok(id)
    }

    /// The shapes that a union stands for, unions within it resolved; any other shape is itself.
    pub fn each(&self, id: ShapeId) -> Vec<ShapeId> {
        let (mut found, mut seen, mut open) = (Vec::new(), HashSet::from([id]), vec![id]);
        while let Some(id) = open.pop() {
            match self.get(id) {
                Shape::Union(parts) => {
                    for &part in parts.iter().rev() {
                        if seen.insert(part) {
                            open.push(part);
                        }
                    }
                }
                _ => found.push(id),
            }
        }
        found
    }

    /// Takes out what no finite value fits, in the shapes from `first` on.
    ///
    /// # Errors
    /// No finite value fits the root.
    fn prune(&mut self, root: ShapeId, first: ShapeId, tool: &str) -> Result<(), GrammarError> {
        // What comes before them is of other tools, and was pruned with those. Most shapes come after those that they
        // are part of.
        let mut is_finite = vec![true; self.shapes.len()];
        is_finite[first..].fill(false);
        loop {
            let mut has_changed = false;
            for id in (first..self.shapes.len()).rev() {
                if !is_finite[id] && self.is_finite(id, &is_finite) {
                    is_finite[id] = true;
                    has_changed = true;
                }
            }
            if !has_changed {
                break;
            }
        }
        if !is_finite[root] {
            return Err(GrammarError::Unfillable { path: self.unfillable(root, &is_finite, tool) });
        }
        for shape in &mut self.shapes[first..] {
            match shape {
                Shape::Union(parts) => parts.retain(|part| is_finite[*part]),
                Shape::Array(array) => {
                    array.others = array.others.filter(|others| is_finite[*others]);
                    let fits = array.first.iter().take_while(|first| is_finite[**first]).count();
                    if fits < array.first.len() {
                        array.first.truncate(fits);
                        array.others = None;
                    }
                }
                Shape::Object(object) => {
                    object.members.retain(|member| is_finite[member.value]);
                    object.others = object.others.filter(|others| is_finite[*others]);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn is_finite(&self, id: ShapeId, known: &[bool]) -> bool {
        match &self.shapes[id] {
            Shape::Union(parts) => parts.iter().any(|part| known[*part]),
            Shape::Listed(values) => !values.is_empty(),
            Shape::Integer(bounds) | Shape::Number(bounds) => !bounds.are_empty(),
            Shape::Text(text) => text.most.is_none_or(|most| most >= text.least),
            Shape::Array(array) => {
                let needed = array.first.iter().take(array.least);
                let others = array.others.is_some_and(|others| known[others]);
                array.most.is_none_or(|most| most >= array.least)
                    && needed.into_iter().all(|first| known[*first])
                    && (array.least <= array.first.len() || others)
            }
            Shape::Object(object) => {
                object.members.iter().all(|member| !member.is_required || known[member.value])
            }
            Shape::Any | Shape::Null | Shape::Boolean => true,
        }
    }

    /// Where the first value is that cannot be finite.
    fn unfillable(&self, root: ShapeId, is_finite: &[bool], tool: &str) -> String {
        let (mut path, mut at, mut seen) = (tool.to_owned(), root, Vec::new());
        while !seen.contains(&at) {
            seen.push(at);
            let Shape::Object(object) = &self.shapes[at] else { break };
            let mut members = object.members.iter();
            let Some(member) =
                members.find(|member| member.is_required && !is_finite[member.value])
            else {
                break;
            };
            path.push('.');
            path.push_str(&member.key);
            at = member.value;
        }
        path
    }

    fn push(&mut self, shape: Shape) -> ShapeId {
        self.shapes.push(shape);
        self.shapes.len() - 1
    }
}

/// Reads the schema of one tool.
struct Reading<'a> {
    shapes: &'a mut Shapes,
    /// What references are looked up in: the schema, unless a part of it has its own base.
    root: &'a Value,
    /// The shapes of schemas in the root, by their addresses.
    known: HashMap<*const Value, ShapeId>,
    path: String,
}

impl Reading<'_> {
    fn widen(&mut self, keyword: &str) {
        self.shapes.widened.push(format!("{}: {keyword}", self.path));
    }

    fn widen_those_of_one_type(&mut self, keywords: &Map<String, Value>) {
        for keyword in merge::OF_ONE_TYPE.into_iter().filter(|key| keywords.contains_key(*key)) {
            self.widen(keyword);
        }
    }

    /// The shape of a schema at the end of this path.
    fn below(
        &mut self,
        step: &str,
        schema: &Value,
        depth: usize,
        is_in_root: bool,
    ) -> Result<ShapeId, GrammarError> {
        let length = self.path.len();
        self.path.push('.');
        self.path.push_str(step);
        let id = self.shape(schema, depth + 1, is_in_root)?;
        self.path.truncate(length);
        Ok(id)
    }

    /// The shape of a schema; if that is part of the root, its shape is known when it is met again.
    fn shape(
        &mut self,
        schema: &Value,
        depth: usize,
        is_in_root: bool,
    ) -> Result<ShapeId, GrammarError> {
        if depth > DEEPEST {
            return Err(GrammarError::Unbounded { path: self.path.clone() });
        }
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(false) => return Ok(self.shapes.push(Shape::Union(Vec::new()))),
            Value::Bool(true) => return Ok(ANY),
            _ => {
                self.widen("what is not a schema");
                return Ok(ANY);
            }
        };
        if let Some(&known) = self.known.get(&std::ptr::from_ref(schema)).filter(|_| is_in_root) {
            return Ok(known);
        }
        // Until it is known, it is a union of nothing: a reference to it from within is a part of it.
        let id = self.shapes.push(Shape::Union(Vec::new()));
        if is_in_root {
            self.known.insert(schema, id);
        }
        let parts = self.parts(keywords, depth, is_in_root)?;
        self.shapes.shapes[id] = match parts {
            Parts::Shape(shape) => shape,
            Parts::Same(other) => Shape::Union(vec![other]),
        };
        Ok(id)
    }

    fn parts(
        &mut self,
        keywords: &Map<String, Value>,
        depth: usize,
        is_in_root: bool,
    ) -> Result<Parts, GrammarError> {
        let says = |key: &&str| keywords.contains_key(*key);
        let is_more = |key: &String| {
            merge::holds(key) && !matches!(&**key, "$ref" | "allOf" | "anyOf" | "oneOf")
        };
        let is_plain = !keywords.keys().any(is_more);
        let compound: Vec<&str> =
            ["$ref", "allOf", "anyOf", "oneOf"].into_iter().filter(says).collect();
        match (&compound[..], is_plain) {
            ([], _) => {}
            (["$ref"], true) => return self.reference(&keywords["$ref"], depth).map(Parts::Same),
            (["anyOf" | "oneOf"], true) => {
                return self.alternatives(compound[0], &keywords[compound[0]], depth, is_in_root);
            }
            (["allOf"], true) if keywords["allOf"].as_array().is_some_and(|all| all.len() == 1) => {
                return self.shape(&keywords["allOf"][0], depth + 1, is_in_root).map(Parts::Same);
            }
            _ => return self.merged(keywords, depth),
        }
        for (keyword, value) in keywords {
            if !merge::is_held(keyword, value) {
                self.widen(keyword);
            }
        }
        let types = merge::types(keywords);
        if let Some(values) = merge::listed(keywords) {
            let fits = |value: &Value| types.is_none_or(|types| types.has(Types::of_value(value)));
            self.widen_those_of_one_type(keywords);
            let mut fitting: Vec<Value> = Vec::new();
            let mut known = std::collections::HashSet::new();
            for value in values.into_iter().filter(fits) {
                if known.insert(value.to_string()) {
                    fitting.push(value);
                }
            }
            return Ok(Parts::Shape(Shape::Listed(fitting)));
        }
        let Some(types) = types.or_else(|| merge::types_of_parts(keywords)) else {
            self.widen_those_of_one_type(keywords);
            return Ok(Parts::Shape(Shape::Any));
        };
        let mut left = types;
        let mut shapes = Vec::new();
        for kind in TYPES {
            if left.has(kind) {
                left = left.without(kind);
                shapes.push(self.of_type(kind, keywords, depth, is_in_root)?);
            }
        }
        if shapes.len() == 1 {
            return Ok(Parts::Shape(shapes.remove(0)));
        }
        let ids = shapes.into_iter().map(|shape| self.shapes.push(shape)).collect();
        Ok(Parts::Shape(Shape::Union(ids)))
    }

    /// The shape of what a reference refers to.
    fn reference(&mut self, reference: &Value, depth: usize) -> Result<ShapeId, GrammarError> {
        let root = self.root;
        match target(root, reference) {
            Some(target) => self.shape(target, depth + 1, true),
            None => {
                self.widen("$ref");
                Ok(ANY)
            }
        }
    }

    fn alternatives(
        &mut self,
        keyword: &str,
        alternatives: &Value,
        depth: usize,
        is_in_root: bool,
    ) -> Result<Parts, GrammarError> {
        let alternatives = alternatives.as_array().map_or(&[][..], Vec::as_slice);
        if keyword == "oneOf" && !merge::are_apart(alternatives) {
            self.widen(keyword);
        }
        let ids: Result<Vec<_>, _> =
            alternatives.iter().map(|each| self.shape(each, depth + 1, is_in_root)).collect();
        Ok(Parts::Shape(Shape::Union(ids?)))
    }

    /// The shape of a schema whose keywords all hold at once, those that it refers to as well.
    fn merged(
        &mut self,
        keywords: &Map<String, Value>,
        depth: usize,
    ) -> Result<Parts, GrammarError> {
        let mut merged = Map::new();
        let mut clashes = Vec::new();
        if !merge::gather(self.root, keywords, &mut merged, &mut clashes, &mut Vec::new()) {
            return Err(GrammarError::Unbounded { path: self.path.clone() });
        }
        for keyword in clashes {
            self.widen(&keyword);
        }
        let key = ["anyOf", "oneOf"].into_iter().find(|key| merged.contains_key(*key));
        let Some(key) = key else { return self.parts(&merged, depth + 1, false) };
        let alternatives = merged.remove(key).unwrap_or_default();
        let alternatives = alternatives.as_array().map_or(&[][..], Vec::as_slice);
        if key == "oneOf" && !merge::are_apart(alternatives) {
            self.widen(key);
        }
        let mut ids = Vec::new();
        for alternative in alternatives {
            let both = Value::Array(vec![Value::Object(merged.clone()), alternative.clone()]);
            let both = Value::Object(Map::from_iter([("allOf".to_owned(), both)]));
            ids.push(self.shape(&both, depth + 1, false)?);
        }
        Ok(Parts::Shape(Shape::Union(ids)))
    }

    fn of_type(
        &mut self,
        kind: Types,
        keywords: &Map<String, Value>,
        depth: usize,
        is_in_root: bool,
    ) -> Result<Shape, GrammarError> {
        Ok(match kind {
            Types::NULL => Shape::Null,
            Types::BOOLEAN => Shape::Boolean,
            Types::INTEGER => Shape::Integer(self.bounds(Bounds::of_integer(keywords))),
            Types::NUMBER => Shape::Number(self.bounds(Bounds::of_number(keywords))),
            Types::STRING => {
                let (least, most) = self.counts(keywords, "minLength", "maxLength");
                let pattern = keywords.get("pattern").and_then(Value::as_str).map(str::to_owned);
                Shape::Text(TextShape { pattern, least, most, path: self.path.clone() })
            }
            Types::ARRAY => self.array(keywords, depth, is_in_root)?,
            _ => self.object(keywords, depth, is_in_root)?,
        })
    }

    /// The bounds of a number; the keywords that they do not hold are widened.
    fn bounds(&mut self, (bounds, unheld): (Bounds, Vec<&'static str>)) -> Bounds {
        for keyword in unheld {
            self.widen(keyword);
        }
        bounds
    }

    /// How many there may be, at least and at most, as far as a consumer can be made to count.
    fn counts(
        &mut self,
        keywords: &Map<String, Value>,
        least_key: &'static str,
        most_key: &'static str,
    ) -> (usize, Option<usize>) {
        let count = |key: &str, rounded: fn(f64) -> f64| {
            let number = rounded(keywords.get(key)?.as_f64()?);
            // Beyond any count that is held.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            Some(number.clamp(0.0, 1e9) as usize)
        };
        let mut least = count(least_key, f64::ceil).unwrap_or(0);
        let mut most = count(most_key, f64::floor);
        if most.is_some_and(|most| most > MOST_REPEATS && most >= least) {
            most = None;
            self.widen(most_key);
        }
        if least > MOST_REPEATS {
            least = MOST_REPEATS;
            self.widen(least_key);
        }
        (least, most)
    }

    fn array(
        &mut self,
        keywords: &Map<String, Value>,
        depth: usize,
        is_in_root: bool,
    ) -> Result<Shape, GrammarError> {
        let (least, most) = self.counts(keywords, "minItems", "maxItems");
        let (places, others) = match (keywords.get("prefixItems"), keywords.get("items")) {
            (None, Some(Value::Array(places))) => (Some(places), keywords.get("additionalItems")),
            (places, items) => (places.and_then(Value::as_array), items),
        };
        let mut first = Vec::new();
        for (index, place) in places.into_iter().flatten().enumerate() {
            first.push(self.below(&format!("[{index}]"), place, depth, is_in_root)?);
        }
        let others = match others {
            Some(Value::Bool(false)) => None,
            Some(items) => Some(self.below("[]", items, depth, is_in_root)?),
            None => Some(ANY),
        };
        Ok(Shape::Array(ArrayShape { first, others, least, most }))
    }

    fn object(
        &mut self,
        keywords: &Map<String, Value>,
        depth: usize,
        is_in_root: bool,
    ) -> Result<Shape, GrammarError> {
        let empty = Map::new();
        let properties = keywords.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let required: Vec<&str> = (keywords.get("required").and_then(Value::as_array))
            .map_or(Vec::new(), |names| names.iter().filter_map(Value::as_str).collect());
        let is_required: HashSet<&str> = required.iter().copied().collect();
        let mut members = Vec::new();
        for (key, schema) in properties {
            let value = self.below(key, schema, depth, is_in_root)?;
            members.push(Member {
                key: key.clone(),
                value,
                is_required: is_required.contains(&**key),
            });
        }
        // What a tool does not declare is not offered to the model, unless the schema says that there may be more.
        let others = match keywords.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            None if keywords.contains_key("properties") => None,
            Some(schema) => Some(self.below("*", schema, depth, is_in_root)?),
            None => Some(ANY),
        };
        for key in required {
            if !properties.contains_key(key) {
                let is_refused = keywords.get("additionalProperties") == Some(&Value::Bool(false));
                let value = if is_refused {
                    self.shapes.push(Shape::Union(Vec::new()))
                } else {
                    others.unwrap_or(ANY)
                };
                members.push(Member { key: key.to_owned(), value, is_required: true });
            }
        }
        Ok(Shape::Object(ObjectShape { members, others }))
    }
}

/// What the keywords of a schema come to.
enum Parts {
    Shape(Shape),
    /// The same as another shape.
    Same(ShapeId),
}
