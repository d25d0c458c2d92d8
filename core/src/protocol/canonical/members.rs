//! Equal keys in an object: the last value comes to the place of the first, as in Python's `dict`.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use hashbrown::HashTable;

/// The members of an object that is being written.
///
/// # Complexity
/// O(key) for each member, and 8 to 24 bytes: an object may have as many members as a long text has commas.
#[derive(Clone, Debug, Default)]
pub struct Members {
    /// Where each key begins in what was written.
    keys: Vec<usize>,
    known: Option<Box<Known>>,
    /// Whose value each member has in the end, or `GONE`; empty while no key was written twice.
    values: Vec<u32>,
}

/// A member whose key an earlier one has.
const GONE: u32 = u32::MAX;

/// The first member of each key, found by an unpredictable hash.
#[derive(Clone, Debug, Default)]
struct Known {
    table: HashTable<First>,
    state: RandomState,
}

/// The numbers are short since there may be millions of them.
#[derive(Clone, Copy, Debug)]
struct First {
    hash: u32,
    member: u32,
}

/// Up to this many members, comparing all keys is cheaper than hashing.
const FEW: usize = 8;

/// What is written before each member but the first, and between its key and its value.
pub const SEPARATOR: &str = ", ";
pub const COLON: &str = ": ";

impl Members {
    /// Notes a member whose key begins at `key` and is the last that was written; tells whether an earlier one has that key.
    pub fn add(&mut self, out: &[u8], key: usize) -> bool {
        let member = self.keys.len();
        let first = self.first(out, key);
        grow_little(&mut self.keys);
        self.keys.push(key);
        let Ok(own) = u32::try_from(member) else { return false };
        if first.is_some() && self.values.is_empty() {
            self.values.extend(0..own);
        }
        if let Some(first) = first {
            self.values[first as usize] = own;
        }
        if !self.values.is_empty() {
            grow_little(&mut self.values);
            self.values.push(if first.is_some() { GONE } else { own });
        }
        first.is_some()
    }

    /// The first member with the key that was written last; `None` if that is the first. Of more than four billion members, those
    /// above are not compared: their text has 20 GB.
    fn first(&mut self, out: &[u8], key: usize) -> Option<u32> {
        // With its closing quote: what begins with it is the same key.
        let text = &out[key..];
        let member = u32::try_from(self.keys.len()).ok()?;
        if self.keys.len() < FEW {
            let same = self.keys.iter().position(|&at| out[at..].starts_with(text));
            return same.and_then(|first| u32::try_from(first).ok());
        }
        let (keys, known) = (&self.keys, self.known.get_or_insert_default());
        if known.table.is_empty() {
            for (number, &at) in (0..).zip(keys) {
                let earlier = &out[at..key_end(out, at)];
                known.first(earlier, number, |first| out[keys[first]..].starts_with(earlier));
            }
        }
        known.first(text, member, |first| out[keys[first]..].starts_with(text))
    }

    /// The object with these members, if a key was written twice. It begins and ends there, without its closing bracket.
    pub fn repeated(self, range: Range<usize>) -> Option<Object> {
        let Self { keys, values, .. } = self;
        (!values.is_empty()).then_some(Object { range, keys, values })
    }
}

/// An object in which a key was written twice.
#[derive(Clone, Debug)]
pub struct Object {
    /// Where it is in what was written, without its closing bracket.
    pub range: Range<usize>,
    keys: Vec<usize>,
    values: Vec<u32>,
}

impl Object {
    /// Where the separator before a member begins; the first member has no separator, and begins with its key.
    fn start(&self, member: usize) -> usize {
        self.keys[member] - if member == 0 { 0 } else { SEPARATOR.len() }
    }

    /// Where a member ends: where the next begins, or at the end of the object.
    fn end(&self, member: usize) -> usize {
        if member + 1 < self.keys.len() { self.start(member + 1) } else { self.range.end }
    }

    /// Where the value of a member is.
    fn value(&self, member: usize, out: &[u8]) -> Range<usize> {
        key_end(out, self.keys[member]) + COLON.len()..self.end(member)
    }
}

/// What has not been copied yet.
enum Part {
    Text(Range<usize>),
    /// The members of an object, from one of them on.
    Members(usize, usize),
}

/// Copies a range of what was written. In these objects, sorted by where they begin, each key is copied once.
///
/// # Complexity
/// O(range), and O(log objects) for each value that has moved.
pub fn copy(out: &[u8], range: Range<usize>, objects: &[Object], to: &mut Vec<u8>) {
    // A list in place of recursion: objects are nested as deep as the JSON, which may be deeper than the stack.
    let mut parts = vec![Part::Text(range)];
    while let Some(part) = parts.pop() {
        match part {
            Part::Text(range) => {
                let next = objects.partition_point(|object| object.range.start < range.start);
                match objects.get(next).filter(|object| object.range.start < range.end) {
                    None => to.extend_from_slice(&out[range]),
                    Some(object) => {
                        to.extend_from_slice(&out[range.start..object.start(0)]);
                        parts.push(Part::Text(object.range.end..range.end));
                        parts.push(Part::Members(next, 0));
                    }
                }
            }
            Part::Members(number, from) => {
                let object = &objects[number];
                let members = from..object.keys.len();
                let Some(first) = members.clone().find(|&at| object.values[at] != GONE) else {
                    continue;
                };
                let is_own = |&at: &usize| object.values[at] as usize == at;
                let kept = (first..members.end).take_while(is_own).count();
                if kept > 0 {
                    parts.push(Part::Members(number, first + kept));
                    parts.push(Part::Text(object.start(first)..object.end(first + kept - 1)));
                } else {
                    to.extend_from_slice(&out[object.start(first)..object.value(first, out).start]);
                    parts.push(Part::Members(number, first + 1));
                    parts.push(Part::Text(object.value(object.values[first] as usize, out)));
                }
            }
        }
    }
}

/// Makes room for one more by a quarter: millions of members must not take twice their room.
fn grow_little<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() {
        list.reserve_exact((list.len() / 4).max(4));
    }
}

impl Known {
    /// The first member with this key; `None` if that is `member`, which is known from here on.
    fn first(&mut self, key: &[u8], member: u32, is_same: impl Fn(usize) -> bool) -> Option<u32> {
        #[expect(clippy::cast_possible_truncation, reason = "half of it is as good a hash")]
        let hash = self.state.hash_one(key) as u32;
        let found = |first: &First| first.hash == hash && is_same(first.member as usize);
        if let Some(first) = self.table.find(spread(hash), found) {
            return Some(first.member);
        }
        self.table.insert_unique(spread(hash), First { hash, member }, |first| spread(first.hash));
        None
    }
}

/// The table takes its place from the lowest bits, and a tag from the highest.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

/// Where the key ends that begins at `key` with a quote.
fn key_end(out: &[u8], key: usize) -> usize {
    let mut at = key + 1;
    while out[at] != b'"' {
        at += if out[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Writer;
    use crate::json::Container;

    /// A value with keys that repeat. A number stands for that many nines.
    #[derive(Clone, Debug)]
    enum Node {
        Number(usize),
        Array(Vec<Node>),
        Object(Vec<(u8, Node)>),
    }

    fn node() -> impl Strategy<Value = Node> {
        // Some are so long that the objects around them are not small.
        let number = prop_oneof![8 => 1..4_usize, 1 => 1..5_000_usize].prop_map(Node::Number);
        number.prop_recursive(5, 200, 30, |node| {
            let members = prop::collection::vec((0..20_u8, node.clone()), 0..30);
            prop_oneof![
                1 => prop::collection::vec(node, 0..3).prop_map(Node::Array),
                3 => members.prop_map(Node::Object),
            ]
        })
    }

    fn write(node: &Node, writer: &mut Writer) {
        match node {
            Node::Number(nines) => writer.raw_scalar(&"9".repeat(*nines)),
            Node::Array(items) => {
                writer.open(Container::Array);
                for item in items {
                    write(item, writer);
                }
                writer.close();
            }
            Node::Object(members) => {
                writer.open(Container::Object);
                for (key, value) in members {
                    writer.raw_key(&key_of(*key));
                    // Brackets that only group, as in Python's `(9)`, and are left out.
                    writer.open(Container::Array);
                    write(value, writer);
                    writer.close_around();
                }
                writer.close();
            }
        }
    }

    /// The same, a value at a time.
    fn naive(node: &Node) -> String {
        match node {
            Node::Number(nines) => "9".repeat(*nines),
            Node::Array(items) => {
                format!("[{}]", items.iter().map(naive).collect::<Vec<_>>().join(", "))
            }
            Node::Object(members) => {
                let mut kept: Vec<(u8, String)> = Vec::new();
                for (key, value) in members {
                    match kept.iter_mut().find(|(known, _)| known == key) {
                        Some((_, known)) => *known = naive(value),
                        None => kept.push((*key, naive(value))),
                    }
                }
                let written = kept.iter().map(|(key, value)| format!("{}: {value}", key_of(*key)));
                format!("{{{}}}", written.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// Some keys begin like others, or have quotes.
    fn key_of(key: u8) -> String {
        format!("\"{}{}\"", "\\\"\\\\".repeat(usize::from(key % 3)), "k".repeat(usize::from(key)))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 256 }, ..ProptestConfig::default() })]

        #[test]
        fn the_last_value_of_a_key_comes_to_the_place_of_the_first(node in node()) {
            let mut writer = Writer::new(0);
            write(&node, &mut writer);
            prop_assert_eq!(writer.finish(), naive(&node));
        }
    }
}
