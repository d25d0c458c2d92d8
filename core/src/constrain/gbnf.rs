//! Grammars as llama.cpp reads them: GBNF.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::expr::{Class, Expr, Rule};

/// llama.cpp makes a rule of each group and of each repetition that may be left out. It refuses a group that is repeated if these rules,
/// times the repetitions, are 2,000; the name of a rule counts as one.
const MOST_REPEATED: usize = 1000;

/// The rules as GBNF; the first is its root. A part that is repeated too often for its size gets a rule of its own, after the others.
pub fn written(rules: &[Rule]) -> String {
    let mut writer = Writer { rules, own: Vec::new(), names: HashMap::new() };
    let mut out = String::new();
    for rule in rules {
        out.push_str(&rule.name);
        out.push_str(" ::= ");
        writer.push_body(&mut out, &rule.body);
        out.push('\n');
    }
    for line in writer.own {
        out.push_str(&line);
    }
    out
}

struct Writer<'r> {
    rules: &'r [Rule],
    /// The lines of the rules of repeated parts.
    own: Vec<String>,
    /// The names of these rules by what they allow.
    names: HashMap<&'r Expr, String>,
}

impl<'r> Writer<'r> {
    /// What is after the `::=` of a rule.
    fn push_body(&mut self, out: &mut String, body: &'r Expr) {
        match body {
            Expr::Choice(parts) => self.push_parts(out, parts, " | "),
            body => self.push(out, body),
        }
    }

    fn push_parts(&mut self, out: &mut String, parts: &'r [Expr], between: &str) {
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                out.push_str(between);
            }
            self.push(out, part);
        }
    }

    fn push(&mut self, out: &mut String, part: &'r Expr) {
        match part {
            Expr::Literal(text) => push_literal(out, text),
            Expr::Class(class) => push_class(out, class),
            Expr::Rule(number) => out.push_str(&self.rules[*number].name),
            Expr::Sequence(parts) => self.push_parts(out, parts, " "),
            Expr::Choice(parts) => {
                out.push('(');
                self.push_parts(out, parts, " | ");
                out.push(')');
            }
            Expr::Repeat(part, least, most) => {
                if grouped(part) * most.unwrap_or(*least).max(1) > MOST_REPEATED {
                    let name = self.own_rule(part);
                    out.push_str(&name);
                } else {
                    let is_one = matches!(**part, Expr::Class(_) | Expr::Rule(_) | Expr::Choice(_));
                    out.push_str(if is_one { "" } else { "(" });
                    self.push(out, part);
                    out.push_str(if is_one { "" } else { ")" });
                }
                // Writing to a string cannot fail.
                let _ = match (least, most) {
                    (0, None) => write!(out, "*"),
                    (1, None) => write!(out, "+"),
                    (0, Some(1)) => write!(out, "?"),
                    (least, None) => write!(out, "{{{least},}}"),
                    (least, Some(most)) if least == most => write!(out, "{{{least}}}"),
                    (least, Some(most)) => write!(out, "{{{least},{most}}}"),
                };
            }
        }
    }

    /// The name of the rule of a repeated part. Its number is that of no other rule.
    fn own_rule(&mut self, part: &'r Expr) -> String {
        if let Some(name) = self.names.get(part) {
            return name.clone();
        }
        let name = format!("part-{}", self.rules.len() + self.names.len());
        self.names.insert(part, name.clone());
        let mut line = format!("{name} ::= ");
        self.push_body(&mut line, part);
        line.push('\n');
        self.own.push(line);
        name
    }
}

/// How many rules llama.cpp makes of a part in brackets.
fn grouped(part: &Expr) -> usize {
    match part {
        Expr::Class(_) | Expr::Rule(_) => 1,
        Expr::Choice(_) => generated(part),
        _ => 1 + generated(part),
    }
}

/// How many rules llama.cpp makes of a part.
fn generated(part: &Expr) -> usize {
    match part {
        Expr::Literal(_) | Expr::Class(_) | Expr::Rule(_) => 0,
        Expr::Sequence(parts) => parts.iter().map(generated).sum(),
        Expr::Choice(parts) => 1 + parts.iter().map(generated).sum::<usize>(),
        Expr::Repeat(part, least, most) => {
            grouped(part) + most.map_or(1, |most| most.saturating_sub(*least))
        }
    }
}

fn push_literal(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            character => push_character(out, character),
        }
    }
    out.push('"');
}

fn push_class(out: &mut String, class: &Class) {
    out.push_str(if class.is_negated { "[^" } else { "[" });
    for &(first, last) in &class.ranges {
        push_in_class(out, first);
        if first != last {
            out.push('-');
            push_in_class(out, last);
        }
    }
    out.push(']');
}

fn push_in_class(out: &mut String, character: char) {
    match character {
        '[' | ']' | '\\' | '^' | '-' | '"' => push_code(out, character),
        character => push_character(out, character),
    }
}

fn push_character(out: &mut String, character: char) {
    match character {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        // Nobody could read a character without a visible shape.
        character if character.is_control() || ('\u{200b}'..='\u{206f}').contains(&character) => {
            push_code(out, character);
        }
        character => out.push(character),
    }
}

/// Not as `\x`, of which llama.cpp reads two digits and xgrammar as many as there are.
fn push_code(out: &mut String, character: char) {
    let code = u32::from(character);
    // Writing to a string cannot fail.
    let _ = match code {
        0..=0xffff => write!(out, "\\u{code:04X}"),
        _ => write!(out, "\\U{code:08X}"),
    };
}

#[cfg(test)]
mod tests {
    use super::super::expr::{choice, class, literal, optional, repeat, sequence};
    use super::*;

    #[test]
    fn each_part_is_written_as_llama_cpp_reads_it() {
        let rules = vec![
            Rule {
                name: "root".into(),
                body: choice([
                    sequence([literal("a\"\\\n\u{0}\u{2060}é"), Expr::Rule(1)]),
                    literal(""),
                ]),
            },
            Rule {
                name: "b-1".into(),
                body: sequence([
                    repeat(class(&[('a', 'z'), ('-', '-')]), 2, Some(3)),
                    repeat(Expr::Class(Class::without(['"', '\n', ']'])), 0, None),
                    repeat(literal("ab"), 1, None),
                    optional(choice([literal("x"), Expr::Rule(0)])),
                    repeat(literal("y"), 2, Some(2)),
                    repeat(literal("z"), 2, None),
                ]),
            },
        ];
        assert_eq!(
            written(&rules),
            "root ::= \"a\\\"\\\\\\n\\u0000\\u2060é\" b-1 | \"\"\n\
             b-1 ::= [a-z\\u002D]{2,3} [^\\n\\u0022\\u005D]* (\"ab\")+ (\"x\" | root)? (\"y\"){2} (\"z\"){2,}\n"
        );
    }

    #[test]
    fn a_part_that_llama_cpp_would_not_repeat_so_often_has_a_rule_of_its_own() {
        let part = || choice([class(&[('a', 'z')]), sequence([literal("\\"), Expr::Rule(0)])]);
        let rules = vec![Rule {
            name: "root".into(),
            body: sequence([
                repeat(part(), 3, Some(1000)),
                repeat(sequence([repeat(part(), 0, Some(700)), literal(",")]), 0, Some(2)),
                repeat(sequence([part(), part()]), 0, Some(501)),
                repeat(class(&[('a', 'z')]), 0, Some(1000)),
            ]),
        }];
        assert_eq!(
            written(&rules),
            "root ::= ([a-z] | \"\\\\\" root){3,1000} part-1{0,2} part-2{0,501} [a-z]{0,1000}\n\
             part-1 ::= ([a-z] | \"\\\\\" root){0,700} \",\"\n\
             part-2 ::= ([a-z] | \"\\\\\" root) ([a-z] | \"\\\\\" root)\n"
        );
    }
}
