//! The form that a grammar has here, before it is written for a consumer.

/// A part of a grammar.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// This text; the empty one is nothing at all.
    Literal(String),
    /// One character of these.
    Class(Class),
    /// What the rule of this number allows.
    Rule(usize),
    /// One after the other.
    Sequence(Vec<Self>),
    /// Any one of these; without any, nothing fits.
    Choice(Vec<Self>),
    /// The same part, at least and at most this many times.
    Repeat(Box<Self>, usize, Option<usize>),
}

/// A set of characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Class {
    /// Whether the ranges are what is left out.
    pub is_negated: bool,
    /// First and last characters, in order.
    pub ranges: Vec<(char, char)>,
}

impl Class {
    /// The characters in these ranges.
    #[must_use]
    pub fn of(ranges: impl IntoIterator<Item = (char, char)>) -> Self {
        Self { is_negated: false, ranges: ranges.into_iter().collect() }
    }

    /// All characters but these.
    pub fn without(characters: impl IntoIterator<Item = char>) -> Self {
        Self { is_negated: true, ..Self::listed(characters) }
    }

    /// These characters.
    pub fn listed(characters: impl IntoIterator<Item = char>) -> Self {
        let mut characters: Vec<char> = characters.into_iter().collect();
        characters.sort_unstable();
        characters.dedup();
        let mut ranges: Vec<(char, char)> = Vec::new();
        for character in characters {
            match ranges.last_mut() {
                Some((_, last)) if (*last..=character).count() == 2 => *last = character,
                _ => ranges.push((character, character)),
            }
        }
        Self::of(ranges)
    }

    /// Whether the set has this character.
    #[must_use]
    pub fn has(&self, character: char) -> bool {
        let is_there = self.ranges.iter().any(|&(first, last)| (first..=last).contains(&character));
        is_there != self.is_negated
    }
}

/// A named part of a grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Letters, digits and `-`.
    pub name: String,
    /// What it allows.
    pub body: Expr,
}

/// This text.
pub fn literal(text: impl Into<String>) -> Expr {
    Expr::Literal(text.into())
}

/// One character of these ranges.
pub fn class(ranges: &[(char, char)]) -> Expr {
    Expr::Class(Class::of(ranges.iter().copied()))
}

/// These parts after each other; texts that meet become one.
pub fn sequence(parts: impl IntoIterator<Item = Expr>) -> Expr {
    let mut joined: Vec<Expr> = Vec::new();
    for part in parts {
        let inner = match part {
            Expr::Sequence(inner) => inner,
            part => vec![part],
        };
        for part in inner {
            match (joined.last_mut(), part) {
                (_, Expr::Literal(text)) if text.is_empty() => {}
                (Some(Expr::Literal(before)), Expr::Literal(text)) => before.push_str(&text),
                (_, part) => joined.push(part),
            }
        }
    }
    match joined.len() {
        0 => literal(""),
        1 => joined.remove(0),
        _ => Expr::Sequence(joined),
    }
}

/// One of these parts.
pub fn choice(parts: impl IntoIterator<Item = Expr>) -> Expr {
    let mut parts: Vec<Expr> = parts.into_iter().collect();
    if parts.len() == 1 { parts.remove(0) } else { Expr::Choice(parts) }
}

/// The part, or nothing.
pub fn optional(part: Expr) -> Expr {
    if part == literal("") { part } else { Expr::Repeat(Box::new(part), 0, Some(1)) }
}

/// The part, at least and at most this many times; without an upper bound if `most` is `None`.
pub fn repeat(part: Expr, least: usize, most: Option<usize>) -> Expr {
    match (least, most) {
        (1, Some(1)) => part,
        (_, Some(0)) => literal(""),
        _ => Expr::Repeat(Box::new(part), least, most),
    }
}

/// Rules while a grammar is built.
#[derive(Debug, Default)]
pub struct Rules {
    rules: Vec<Rule>,
}

impl Rules {
    /// Adds a rule; its name gets a number.
    pub fn add(&mut self, name: &str, body: Expr) -> Expr {
        let number = self.reserve(name);
        self.set(number, body);
        Expr::Rule(number)
    }

    /// Adds a rule whose body is still to come.
    pub fn reserve(&mut self, name: &str) -> usize {
        let number = self.rules.len();
        let is_letter = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
        let name: String = name.chars().filter(is_letter).take(32).collect();
        // The number parts rules whose names have become the same.
        let name = if number == 0 { name } else { format!("{name}-{number}") };
        self.rules.push(Rule { name, body: literal("") });
        number
    }

    /// Gives a reserved rule its body.
    pub fn set(&mut self, number: usize, body: Expr) {
        self.rules[number].body = body;
    }

    /// All of them.
    pub fn finish(self) -> Vec<Rule> {
        self.rules
    }
}
