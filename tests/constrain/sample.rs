//! Texts of grammars and texts that are almost theirs, for our matcher and for other readers of grammars.

use std::io::Write as _;

use cogency_rs::constrain::{CallGrammar, GrammarError, Reasoning};
use cogency_rs::dialect::presets;
use cogency_rs::protocol::Grammar;
use serde_json::json;

use super::generate::{Generator, Random};
use super::matcher::matches;
use super::{all_options, tools};

/// A text with one character changed, left out, or written twice.
fn changed(text: &str, random: &mut Random) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    if characters.is_empty() {
        return "<".into();
    }
    let at = random.below(characters.len());
    match random.below(3) {
        0 => characters[at] = ['x', '"', '<', '}', ' ', '1'][random.below(6)],
        1 => drop(characters.remove(at)),
        _ => characters.insert(at, characters[at]),
    }
    characters.into_iter().collect()
}

/// Our matcher takes each text that is written by a grammar, and refuses most of those in which one character is another.
/// `COGENCY_RS_GRAMMAR_SAMPLE` names a file for them, and for what the matcher said: `make oracles` shows it to llguidance.
#[test]
fn texts_of_a_grammar_are_told_from_those_that_are_almost_its_own() {
    let path = std::env::var_os("COGENCY_RS_GRAMMAR_SAMPLE");
    let mut file = path.as_ref().map(|path| std::fs::File::create(path).expect("a file"));
    let sets = tools::sets();
    let (mut taken, mut refused) = (0, 0);
    for (number, name) in presets::names().enumerate() {
        let grammar = Grammar::preset(name).expect("a preset");
        for (index, declared) in sets.iter().enumerate() {
            let kinds = all_options(declared);
            let options = &kinds[(number + index) % kinds.len()];
            if file.is_none() && (number + index) % sets.len() != 0 {
                continue;
            }
            let made = match CallGrammar::new(&grammar, declared, options) {
                Err(GrammarError::Uncovered { .. }) if options.reasoning == Reasoning::Open => {
                    continue;
                }
                made => made.expect("a grammar"),
            };
            let generator = Generator::new(made.rules());
            let mut rows = Vec::new();
            for seed in 0..4 {
                let mut random = Random::new(seed + 10 * number as u64);
                let text = generator.text(&mut random);
                assert!(matches(made.rules(), &text), "{name}: {text:?}\n{}", made.gbnf());
                let other = changed(&text, &mut random);
                let is_taken = matches(made.rules(), &other);
                taken += 1 + usize::from(is_taken);
                refused += usize::from(!is_taken);
                rows.extend([json!([text, true]), json!([other, is_taken])]);
            }
            if let Some(file) = &mut file {
                let row = json!({"dialect": name, "grammar": made.gbnf(), "texts": rows});
                writeln!(file, "{row}").expect("written");
            }
        }
    }
    assert!(refused > taken / 10, "{refused} of {taken}");
}
