//! Whether a text is one of a grammar.

use std::collections::{BTreeSet, HashMap};

use cogency_rs::constrain::{Expr, Rule};

/// Whether the whole text is one of the grammar whose rules these are.
pub fn matches(rules: &[Rule], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let mut matcher = Matcher { rules, text: &text, known: HashMap::new() };
    matcher.rule(0, 0).contains(&text.len())
}

struct Matcher<'t> {
    rules: &'t [Rule],
    text: &'t [char],
    /// Where a rule that begins here may end.
    known: HashMap<(usize, usize), BTreeSet<usize>>,
}

impl Matcher<'_> {
    fn rule(&mut self, number: usize, at: usize) -> BTreeSet<usize> {
        if let Some(ends) = self.known.get(&(number, at)) {
            return ends.clone();
        }
        let rules = self.rules;
        let ends = self.ends(&rules[number].body, at);
        self.known.insert((number, at), ends.clone());
        ends
    }

    fn ends(&mut self, part: &Expr, at: usize) -> BTreeSet<usize> {
        let rest = &self.text[at..];
        match part {
            Expr::Literal(text) => {
                let length = text.chars().count();
                let is_there = rest.len() >= length && text.chars().zip(rest).all(|(a, b)| a == *b);
                is_there.then_some(at + length).into_iter().collect()
            }
            Expr::Class(class) => {
                let is_there = rest.first().is_some_and(|c| class.has(*c));
                is_there.then_some(at + 1).into_iter().collect()
            }
            Expr::Rule(number) => self.rule(*number, at),
            Expr::Sequence(parts) => {
                let mut ends = BTreeSet::from([at]);
                for part in parts {
                    ends = ends.into_iter().flat_map(|end| self.ends(part, end)).collect();
                }
                ends
            }
            Expr::Choice(parts) => parts.iter().flat_map(|part| self.ends(part, at)).collect(),
            Expr::Repeat(part, least, most) => {
                let mut current = BTreeSet::from([at]);
                let mut ends: BTreeSet<usize> = BTreeSet::new();
                for count in 0..=most.unwrap_or(usize::MAX) {
                    if count >= *least {
                        let known = ends.len();
                        ends.extend(&current);
                        if count > *least && ends.len() == known {
                            break;
                        }
                    }
                    current = current.into_iter().flat_map(|end| self.ends(part, end)).collect();
                    if current.is_empty() {
                        break;
                    }
                }
                ends
            }
        }
    }
}
