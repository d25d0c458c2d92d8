//! Grammars as llama.cpp reads them: GBNF.

use std::fmt::Write as _;

use super::expr::{Class, Expr, Rule};

/// The rules as GBNF; the first is its root.
pub fn written(rules: &[Rule]) -> String {
    let mut out = String::new();
    for rule in rules {
        out.push_str(&rule.name);
        out.push_str(" ::= ");
        match &rule.body {
            Expr::Choice(parts) => push_parts(&mut out, rules, parts, " | "),
            body => push(&mut out, rules, body),
        }
        out.push('\n');
    }
    out
}

fn push_parts(out: &mut String, rules: &[Rule], parts: &[Expr], between: &str) {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push_str(between);
        }
        push(out, rules, part);
    }
}

fn push(out: &mut String, rules: &[Rule], part: &Expr) {
    match part {
        Expr::Literal(text) => push_literal(out, text),
        Expr::Class(class) => push_class(out, class),
        Expr::Rule(number) => out.push_str(&rules[*number].name),
        Expr::Sequence(parts) => push_parts(out, rules, parts, " "),
        Expr::Choice(parts) => {
            out.push('(');
            push_parts(out, rules, parts, " | ");
            out.push(')');
        }
        Expr::Repeat(part, least, most) => {
            let is_one = matches!(**part, Expr::Class(_) | Expr::Rule(_) | Expr::Choice(_));
            out.push_str(if is_one { "" } else { "(" });
            push(out, rules, part);
            out.push_str(if is_one { "" } else { ")" });
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

fn push_code(out: &mut String, character: char) {
    let code = u32::from(character);
    // Writing to a string cannot fail.
    let _ = match code {
        0..=0xff => write!(out, "\\x{code:02X}"),
        0x100..=0xffff => write!(out, "\\u{code:04X}"),
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
            "root ::= \"a\\\"\\\\\\n\\x00\\u2060é\" b-1 | \"\"\n\
             b-1 ::= [a-z\\x2D]{2,3} [^\\n\\x22\\x5D]* (\"ab\")+ (\"x\" | root)? (\"y\"){2} (\"z\"){2,}\n"
        );
    }
}
