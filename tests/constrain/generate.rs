//! Random texts of a grammar.

use cogency_rs::constrain::{Class, Expr, Rule};

/// Numbers that look random, the same in every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or(0) % bound
    }
}

/// What a class is tried for that names what it does not have.
const CHARACTERS: &str = "abzAZ019_- \n\t\r\"'`<>|/{}[]().,:;=&%\\é▁｜🦀\u{2060}\u{7f}";

/// Writes texts of one grammar.
pub struct Generator<'g> {
    rules: &'g [Rule],
    /// How deep the shallowest text of each rule is.
    depths: Vec<usize>,
}

const ENDLESS: usize = usize::MAX / 2;

impl<'g> Generator<'g> {
    pub fn new(rules: &'g [Rule]) -> Self {
        let mut generator = Self { rules, depths: vec![ENDLESS; rules.len()] };
        loop {
            let found: Vec<usize> =
                rules.iter().map(|rule| 1 + generator.depth(&rule.body)).collect();
            if found == generator.depths {
                return generator;
            }
            generator.depths = found;
        }
    }

    /// Whether the grammar has a finite text.
    pub fn is_finite(&self) -> bool {
        self.depths[0] < ENDLESS
    }

    fn depth(&self, part: &Expr) -> usize {
        match part {
            Expr::Literal(_) | Expr::Class(_) | Expr::Repeat(_, 0, _) => 0,
            Expr::Rule(number) => self.depths[*number].min(ENDLESS),
            Expr::Sequence(parts) => parts.iter().map(|part| self.depth(part)).max().unwrap_or(0),
            Expr::Choice(parts) => {
                parts.iter().map(|part| self.depth(part)).min().unwrap_or(ENDLESS)
            }
            Expr::Repeat(part, ..) => self.depth(part),
        }
        .min(ENDLESS)
    }

    /// A text of the grammar.
    pub fn text(&self, random: &mut Random) -> String {
        let mut out = String::new();
        let mut left = 30 + random.below(400);
        self.push(&mut out, &self.rules[0].body, random, &mut left);
        out
    }

    /// Once nothing is left, only what is shallowest is written.
    fn push(&self, out: &mut String, part: &Expr, random: &mut Random, left: &mut usize) {
        *left = left.saturating_sub(1);
        match part {
            Expr::Literal(text) => out.push_str(text),
            Expr::Class(class) => out.push(one_of(class, random)),
            Expr::Rule(number) => self.push(out, &self.rules[*number].body, random, left),
            Expr::Sequence(parts) => {
                for part in parts {
                    self.push(out, part, random, left);
                }
            }
            Expr::Choice(parts) => {
                let least = parts.iter().map(|part| self.depth(part)).min().unwrap_or(ENDLESS);
                let most = if *left > 0 { ENDLESS - 1 } else { least };
                let possible: Vec<&Expr> =
                    parts.iter().filter(|part| self.depth(part) <= most).collect();
                self.push(out, possible[random.below(possible.len())], random, left);
            }
            Expr::Repeat(part, least, most) => {
                let is_possible = *left > 0 && self.depth(part) < ENDLESS;
                let more = if is_possible { random.below(4) } else { 0 };
                for _ in 0..(least + more).min(most.unwrap_or(usize::MAX)) {
                    self.push(out, part, random, left);
                }
            }
        }
    }
}

fn one_of(class: &Class, random: &mut Random) -> char {
    if class.is_negated {
        let possible: Vec<char> = CHARACTERS.chars().filter(|c| class.has(*c)).collect();
        return possible[random.below(possible.len())];
    }
    let (first, last) = class.ranges[random.below(class.ranges.len())];
    let count = (first..=last).count();
    (first..=last).nth(random.below(count)).unwrap_or(first)
}
