//! A call's arguments as the validator reads them.
//!
//! Python's values are wider than JSON: integers of any size, NaN and infinities, text that is not Unicode, objects of
//! any class. Each has a variant here, so that only the schema decides what is refused. Text is read only when a keyword
//! asks for it.

use std::borrow::Cow;
use std::collections::hash_map::{Entry, RandomState};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::hash::BuildHasher;
use std::ops::Range;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, JsonNumber, Node, NodeIdentity, Object, cmp};
use serde_json::{Number, Value as Schema};

use super::budget::Budget;
use super::float::float_repr;

/// Text that its owner, such as Python, reads on demand.
pub trait ArgumentText {
    /// Its length in code points.
    fn characters(&self) -> u64;
    /// The text; code points that are not Unicode are replaced.
    fn read(&self) -> Cow<'_, str>;
}

impl ArgumentText for &str {
    fn characters(&self) -> u64 {
        self.chars().count() as u64
    }

    fn read(&self) -> Cow<'_, str> {
        Cow::Borrowed(self)
    }
}

/// A value that JSON has no type for.
pub trait Foreign {
    /// The name of its type.
    fn kind(&self) -> String;
    /// How a message shows it.
    fn shown(&self) -> String;
}

/// One value among the arguments.
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// An integer that is not an `i64`.
    BigInteger(BigInteger),
    /// A number with a fraction; also NaN and the infinities.
    Float(f64),
    /// A string.
    String(Box<dyn ArgumentText + 'a>),
    /// An array.
    Array(Vec<Value<'a>>),
    /// An object.
    Object(Members<'a>),
    /// A value of another kind. No `type` admits it.
    Foreign(Box<dyn Foreign + 'a>),
    /// Such a value where it counts as an object. Its members are not known, so there are none here.
    ForeignObject(Box<dyn Foreign + 'a>, Members<'a>),
}

impl Value<'_> {
    /// How many values there are: this one, and all that are in it.
    ///
    /// # Complexity
    /// Linear in them.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Array(items) => 1 + items.iter().map(Self::count).sum::<usize>(),
            Self::Object(members) => {
                1 + members.iter().map(|(_, member)| member.count()).sum::<usize>()
            }
            _ => 1,
        }
    }
}

/// An integer that is not an `i64`.
pub struct BigInteger {
    /// Its digits; where these are not known, a number with an exponent of the same sign.
    pub text: String,
    /// The nearest float; an infinity beyond the floats.
    pub nearest: f64,
}

/// The members of an object, in their order; no name occurs twice.
#[derive(Default)]
pub struct Members<'a> {
    items: Vec<(String, Value<'a>)>,
    /// The indices of `items` in the order of their names; empty if there are few.
    by_name: Vec<usize>,
}

impl<'a> Members<'a> {
    /// Up to this many are searched one by one.
    const FEW: usize = 16;

    /// Members by name.
    #[must_use]
    pub fn new(items: Vec<(String, Value<'a>)>) -> Self {
        let mut by_name = Vec::new();
        if items.len() > Self::FEW {
            by_name.extend(0..items.len());
            by_name.sort_by(|a, b| items[*a].0.cmp(&items[*b].0));
        }
        Self { items, by_name }
    }

    /// The member of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        if self.by_name.is_empty() {
            return self.items.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        }
        let found =
            self.by_name.binary_search_by(|at| self.items[*at].0.as_str().cmp(name)).ok()?;
        Some(&self.items[self.by_name[found]].1)
    }

    /// These without those of some names.
    #[must_use]
    pub fn without(self, names: &[String]) -> Self {
        if names.is_empty() {
            return self;
        }
        let names: HashSet<&String> = names.iter().collect();
        Self::new(self.items.into_iter().filter(|(name, _)| !names.contains(name)).collect())
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &(String, Value<'a>)> {
        self.items.iter()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

/// The kind of JSON that a schema is compiled for: [`Value`]s.
pub struct ValueJson;

/// One value, in one validation.
#[derive(Clone, Copy)]
pub struct ValueNode<'a> {
    /// The value.
    pub value: &'a Value<'a>,
    /// How many more faults this validation may find.
    pub budget: &'a Budget,
}

impl Json for ValueJson {
    type Node<'a> = ValueNode<'a>;
    type PreparedKey = String;
    type StringBuffer = ();

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(ValueNode<'_>) -> T) -> T {
        let (value, budget) = (Value::String(Box::new(string)), Budget::of_name());
        f(ValueNode { value: &value, budget: &budget })
    }
}

impl<'a> Node<'a, ValueJson> for ValueNode<'a> {
    type Object = ObjectNode<'a>;
    type Array = ArrayNode<'a>;
    type Number = &'a Value<'a>;

    fn as_object(&self) -> Option<ObjectNode<'a>> {
        self.budget.look(1);
        match self.value {
            Value::Object(members) | Value::ForeignObject(_, members) => {
                Some(ObjectNode { members, budget: self.budget })
            }
            _ => None,
        }
    }

    fn as_array(&self) -> Option<ArrayNode<'a>> {
        self.budget.look(1);
        match self.value {
            Value::Array(items) => Some(ArrayNode { items, budget: self.budget }),
            _ => None,
        }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.budget.look(1);
        match self.value {
            Value::String(text) => {
                let text = text.read();
                self.budget.look(text.len() / Budget::CHARACTERS);
                Some(text)
            }
            _ => None,
        }
    }

    fn as_number(&self) -> Option<&'a Value<'a>> {
        self.is_number().then_some(self.value)
    }

    fn as_boolean(&self) -> Option<bool> {
        match self.value {
            Value::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    fn is_number(&self) -> bool {
        self.budget.look(1);
        match self.value {
            Value::Integer(_) | Value::BigInteger(_) => true,
            Value::Float(value) => !value.is_nan(),
            _ => false,
        }
    }

    fn json_type(&self) -> JsonType {
        self.budget.look(1);
        match self.value {
            Value::Null => JsonType::Null,
            Value::Boolean(_) => JsonType::Boolean,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) | Value::ForeignObject(..) => JsonType::Object,
            // `as_number` decides whether it is a number; if not, it has no type.
            Value::Integer(_) | Value::BigInteger(_) | Value::Float(_) | Value::Foreign(_) => {
                JsonType::Number
            }
        }
    }

    fn string_length(&self) -> Option<u64> {
        self.budget.look(1);
        match self.value {
            Value::String(text) => Some(text.characters()),
            _ => None,
        }
    }

    fn equals_value(&self, expected: &Schema) -> bool {
        equals(self.value, expected, self.budget)
    }

    /// Called for the value of each fault. Messages take values from the arguments, so only a short string is copied: it may
    /// be a member's name, which is not among them.
    fn to_value(&self) -> Cow<'a, Schema> {
        const NAME: usize = 200;
        self.budget.fault();
        Cow::Owned(match self.value {
            Value::String(text) if text.characters() <= NAME as u64 => {
                Schema::String(text.read().into_owned())
            }
            _ => Schema::Null,
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref(self.value) as usize))
    }
}

fn equals(value: &Value<'_>, expected: &Schema, budget: &Budget) -> bool {
    budget.look(1);
    if budget.is_spent() {
        return false;
    }
    match (value, expected) {
        (Value::Null, Schema::Null) => true,
        (Value::Boolean(value), Schema::Bool(expected)) => value == expected,
        (Value::String(text), Schema::String(expected)) => {
            // A character is one to four bytes.
            let (characters, bytes) = (text.characters(), expected.len() as u64);
            if characters > bytes || bytes > 4 * characters {
                return false;
            }
            budget.look(expected.len() / Budget::CHARACTERS);
            text.read() == expected.as_str()
        }
        (Value::Integer(_) | Value::BigInteger(_), Schema::Number(expected)) => {
            cmp::equal_numbers(&value, expected)
        }
        (Value::Float(number), Schema::Number(expected)) => {
            !number.is_nan() && cmp::equal_numbers(&value, expected)
        }
        (Value::Array(items), Schema::Array(expected)) => {
            let is_same = |(item, expected)| equals(item, expected, budget);
            items.len() == expected.len() && items.iter().zip(expected).all(is_same)
        }
        (Value::Object(members), Schema::Object(expected)) => {
            let has = |(name, value): &(String, Value<'_>)| {
                expected.get(name).is_some_and(|expected| equals(value, expected, budget))
            };
            members.len() == expected.len() && members.iter().all(has)
        }
        _ => false,
    }
}

impl JsonNumber for &Value<'_> {
    fn as_u64(&self) -> Option<u64> {
        match self {
            Value::Integer(value) => u64::try_from(*value).ok(),
            Value::BigInteger(value) => value.text.parse().ok(),
            _ => None,
        }
    }

    fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Integer(value) => Some(*value),
            _ => None,
        }
    }

    fn as_f64(&self) -> Option<f64> {
        match self {
            #[expect(
                clippy::cast_precision_loss,
                reason = "asked for only where it is near enough"
            )]
            Value::Integer(value) => Some(*value as f64),
            Value::BigInteger(value) => Some(value.nearest),
            Value::Float(value) => Some(*value),
            _ => None,
        }
    }

    fn as_str(&self) -> Cow<'_, str> {
        match self {
            Value::Integer(value) => Cow::Owned(value.to_string()),
            Value::BigInteger(value) => Cow::Borrowed(&value.text),
            Value::Float(value) if value.is_infinite() => {
                Cow::Borrowed(if *value > 0.0 { "1e999" } else { "-1e999" })
            }
            Value::Float(value) => Cow::Owned(float_repr(*value)),
            _ => Cow::Borrowed("0"),
        }
    }

    fn to_number(&self) -> Cow<'_, Number> {
        let number = match self {
            Value::Integer(value) => Some(Number::from(*value)),
            _ => self.as_f64().and_then(Number::from_f64),
        };
        Cow::Owned(number.unwrap_or_else(|| Number::from(0)))
    }

    fn is_integer(&self) -> bool {
        match self {
            Value::Float(value) => value.fract() == 0.0,
            _ => true,
        }
    }

    fn is_written_as_integer(&self) -> bool {
        !matches!(self, Value::Float(_))
    }
}

/// An object, in one validation.
pub struct ObjectNode<'a> {
    members: &'a Members<'a>,
    budget: &'a Budget,
}

impl<'a> Object<'a, ValueJson> for ObjectNode<'a> {
    type Node = ValueNode<'a>;
    type MemberName = &'a str;
    type MembersIter = MembersIter<'a>;

    fn len(&self) -> usize {
        self.members.len()
    }

    fn get(&self, key: &String) -> Option<ValueNode<'a>> {
        self.budget.child();
        if self.budget.is_spent() {
            return None;
        }
        self.members.get(key).map(|value| ValueNode { value, budget: self.budget })
    }

    fn members(&self) -> MembersIter<'a> {
        MembersIter { items: self.members.items.iter(), budget: self.budget }
    }
}

/// The members of an object, while the budget lasts.
pub struct MembersIter<'a> {
    items: std::slice::Iter<'a, (String, Value<'a>)>,
    budget: &'a Budget,
}

impl<'a> Iterator for MembersIter<'a> {
    type Item = (&'a str, ValueNode<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.budget.is_over() {
            return None;
        }
        let (name, value) = self.items.next()?;
        self.budget.child();
        self.budget.look(name.len() / Budget::CHARACTERS);
        Some((name.as_str(), ValueNode { value, budget: self.budget }))
    }
}

/// An array, in one validation.
pub struct ArrayNode<'a> {
    items: &'a [Value<'a>],
    budget: &'a Budget,
}

impl<'a> Array<'a, ValueJson> for ArrayNode<'a> {
    type Node = ValueNode<'a>;
    type ElementsIter = ElementsIter<'a>;

    fn len(&self) -> usize {
        self.items.len()
    }

    fn elements(&self) -> ElementsIter<'a> {
        ElementsIter { items: self.items.iter(), budget: self.budget }
    }

    fn is_unique(&self) -> bool {
        first_repeated(self.items, self.budget).is_none()
    }
}

/// The items of an array, while the budget lasts.
pub struct ElementsIter<'a> {
    items: std::slice::Iter<'a, Value<'a>>,
    budget: &'a Budget,
}

impl<'a> Iterator for ElementsIter<'a> {
    type Item = ValueNode<'a>;

    fn next(&mut self) -> Option<ValueNode<'a>> {
        if self.budget.is_over() {
            return None;
        }
        self.budget.child();
        self.items.next().map(|value| ValueNode { value, budget: self.budget })
    }
}

/// The index of the first item that equals one before it, among those that the budget lasts for.
///
/// # Complexity
/// Linear in the items and what is in them.
pub fn first_repeated(items: &[Value<'_>], budget: &Budget) -> Option<usize> {
    // All keys in one text: a text for each would take most of the time.
    let hasher = RandomState::new();
    let mut keys = String::new();
    let mut seen: HashMap<u64, Range<usize>> = HashMap::with_capacity(items.len());
    let mut others: HashSet<String> = HashSet::new(); // whose hash another key has, too
    for (place, item) in items.iter().enumerate() {
        if budget.is_spent() {
            return None;
        }
        let start = keys.len();
        push_key(&mut keys, item);
        let key = &keys[start..];
        budget.look(1 + key.len() / 8);
        match seen.entry(hasher.hash_one(key)) {
            Entry::Vacant(free) => _ = free.insert(start..keys.len()),
            Entry::Occupied(first) if keys[first.get().clone()] == *key => return Some(place),
            Entry::Occupied(_) if others.insert(key.to_owned()) => {}
            Entry::Occupied(_) => return Some(place),
        }
    }
    None
}

/// Writes a value so that two values have equal text exactly if they are equal.
fn push_key(key: &mut String, value: &Value<'_>) {
    match value {
        Value::Null => key.push_str("null"),
        Value::Boolean(value) => key.push_str(if *value { "true" } else { "false" }),
        Value::Integer(value) => _ = write!(key, "{value}"),
        Value::BigInteger(value) => key.push_str(&value.text),
        // Whole floats are written like integers; up to here they are exact in an `i128`.
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
        Value::Float(value) if value.fract() == 0.0 && value.abs() < 1e38 => {
            _ = write!(key, "{}", *value as i128);
        }
        Value::Float(value) => key.push_str(&float_repr(*value)),
        Value::String(text) => quoted(key, &text.read()),
        Value::Array(items) => {
            key.push('[');
            for item in items {
                push_key(key, item);
                key.push(',');
            }
            key.push(']');
        }
        Value::Object(members) | Value::ForeignObject(_, members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|a, b| a.0.cmp(&b.0));
            key.push('{');
            for (name, value) in sorted {
                quoted(key, name);
                push_key(key, value);
                key.push(',');
            }
            key.push('}');
        }
        Value::Foreign(value) => quoted(key, &value.shown()),
    }
}

/// Writes a string as JSON does, with the characters beyond ASCII as they are.
pub fn quoted(text: &mut String, value: &str) {
    text.push_str(&serde_json::to_string(value).unwrap_or_default());
}
