//! Text that contains none of some marks, as rules: an automaton like Aho and Corasick's, with a rule for each state.
//!
//! A state is the longest end of the text so far that a mark begins with. No rule leads to the end of a mark, so whatever the
//! rules allow can be followed by a mark that is one.

use std::collections::{BTreeMap, HashMap};

use super::expr::{Class, Expr, Rules, choice, literal, sequence};

/// The automaton of some marks.
#[derive(Debug)]
pub struct Avoiding {
    states: Vec<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many characters of a mark it is.
    depth: usize,
    /// Whether it is a mark.
    is_mark: bool,
    /// Whether a mark ends here: this one, or one that is an end of it.
    is_end: bool,
    /// The state of the longest proper end of this one's text.
    fallback: usize,
    children: BTreeMap<char, usize>,
    /// The next state after each character that does not lead back to the first one.
    next: BTreeMap<char, usize>,
}

/// The rules of the states, without those that no text reaches.
#[derive(Clone, Debug)]
pub struct TextRules(Vec<Option<usize>>);

impl TextRules {
    /// All the texts.
    pub fn all(&self) -> Expr {
        // If the empty text were a mark, every text would contain it; but an empty mark does not count.
        self.0[0].map_or_else(|| Expr::Choice(Vec::new()), Expr::Rule)
    }
}

/// Which texts are meant besides.
#[derive(Clone, Debug, Default)]
pub struct TextForm<'t> {
    /// Characters that the text does not have as they are.
    pub without: &'t [char],
    /// What stands for one character instead.
    pub escapes: Option<Expr>,
    /// What may follow it; nothing of a mark may be completed by that.
    pub followers: &'t [&'t str],
}

impl Avoiding {
    /// The automaton of these marks.
    ///
    /// # Complexity
    /// O(marks)
    pub fn new<'m>(marks: impl IntoIterator<Item = &'m str>) -> Self {
        let mut states = vec![State::default()];
        for mark in marks.into_iter().filter(|mark| !mark.is_empty()) {
            let mut at = 0;
            for (depth, character) in mark.chars().enumerate() {
                let new = states.len();
                let next = *states[at].children.entry(character).or_insert(new);
                if next == new {
                    states.push(State { depth: depth + 1, ..State::default() });
                }
                at = next;
            }
            states[at].is_mark = true;
            states[at].is_end = true;
        }
        let mut queue = std::collections::VecDeque::from([0]);
        while let Some(at) = queue.pop_front() {
            let fallback = states[at].fallback;
            let mut next = if at == 0 { BTreeMap::new() } else { states[fallback].next.clone() };
            for (character, child) in states[at].children.clone() {
                let behind = next.insert(character, child).unwrap_or(0);
                states[child].fallback = behind;
                states[child].is_end |= states[behind].is_end;
                queue.push_back(child);
            }
            states[at].next = next;
        }
        Self { states }
    }

    /// Adds the rules of all texts without a mark, a rule for all states that are alike.
    pub fn rules(&self, rules: &mut Rules, name: &str, form: &TextForm<'_>) -> TextRules {
        let alike = self.alike(form);
        let is_first = |at: &usize| alike[*at] == *at && !self.states[*at].is_end;
        let mut numbers: Vec<Option<usize>> =
            (0..self.states.len()).map(|at| is_first(&at).then(|| rules.reserve(name))).collect();
        for at in 0..numbers.len() {
            numbers[at] = numbers[alike[at]];
        }
        for at in (0..numbers.len()).filter(is_first) {
            if let Some(number) = numbers[at] {
                let body = self.body(at, &numbers, form, &[], None);
                rules.set(number, body);
            }
        }
        TextRules(numbers)
    }

    /// For each state, one after which the same may follow: marks that end alike share a rule for each of their last characters.
    fn alike(&self, form: &TextForm<'_>) -> Vec<usize> {
        let mut alike: Vec<usize> = (0..self.states.len()).collect();
        // A state leads to one that is deeper by a character, or back to one that is not.
        let mut deepest_first: Vec<usize> =
            alike.iter().copied().filter(|at| !self.states[*at].is_end).collect();
        deepest_first.sort_by_key(|at| std::cmp::Reverse(self.states[*at].depth));
        let mut known = HashMap::new();
        for at in deepest_first {
            let next: Vec<(char, Option<usize>)> = (self.states[at].next.iter())
                .map(|(c, next)| (*c, (!self.states[*next].is_end).then_some(alike[*next])))
                .collect();
            alike[at] = *known.entry((self.may_end(at, form), next)).or_insert(at);
        }
        alike
    }

    /// Whether the text may end in this state, whatever follows it.
    fn may_end(&self, at: usize, form: &TextForm<'_>) -> bool {
        form.followers.iter().all(|follower| self.may_precede(at, follower))
    }

    /// Adds the rule of those texts that do not begin with one of these characters, white space aside.
    pub fn starting(
        &self,
        rules: &mut Rules,
        text: &TextRules,
        form: &TextForm<'_>,
        not_first: &[char],
    ) -> Expr {
        let start = rules.reserve("start");
        let body = self.body(0, &text.0, form, not_first, Some(start));
        rules.set(start, body);
        Expr::Rule(start)
    }

    /// What may follow in a state: the end, or a character and what may follow that. White space leads back to `start`, if the
    /// text has not begun.
    fn body(
        &self,
        at: usize,
        numbers: &[Option<usize>],
        form: &TextForm<'_>,
        not_first: &[char],
        start: Option<usize>,
    ) -> Expr {
        const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];
        let mut parts = Vec::new();
        if self.may_end(at, form) {
            parts.push(literal(""));
        }
        let excluded = |c: &char| form.without.contains(c) || not_first.contains(c);
        let next = &self.states[at].next;
        let spaces = SPACE.iter().copied().filter(|_| start.is_some());
        let spaces: Vec<char> = spaces.filter(|c| !excluded(c) && !next.contains_key(c)).collect();
        let mut targets: BTreeMap<usize, Vec<char>> = BTreeMap::new();
        for (&character, &target) in next {
            if let (Some(number), false) = (numbers[target], excluded(&character)) {
                targets.entry(number).or_default().push(character);
            }
        }
        if let Some(start) = start.filter(|_| !spaces.is_empty()) {
            targets.insert(start, spaces.clone());
        }
        let others = next.keys().chain(form.without).chain(not_first).chain(&spaces).copied();
        let root = Expr::Rule(numbers[0].unwrap_or_default());
        parts.push(sequence([Expr::Class(Class::without(others)), root.clone()]));
        for (target, characters) in targets {
            parts.push(sequence([Expr::Class(Class::listed(characters)), Expr::Rule(target)]));
        }
        parts.extend(form.escapes.iter().map(|escapes| sequence([escapes.clone(), root.clone()])));
        choice(parts)
    }

    /// Whether the text may end in this state, where `follower` is next: then nothing of the text is part of a mark.
    fn may_precede(&self, at: usize, follower: &str) -> bool {
        let mut state = at;
        for (index, character) in follower.chars().enumerate() {
            state = self.states[state].next.get(&character).copied().unwrap_or(0);
            if self.states[state].is_end {
                while !self.states[state].is_mark {
                    state = self.states[state].fallback;
                }
                return self.states[state].depth <= index + 1;
            }
            if self.states[state].depth <= index + 1 {
                return true;
            }
        }
        self.states[state].depth <= follower.chars().count()
    }
}

#[cfg(test)]
mod tests {
    use super::super::expr::Rule;
    use super::*;

    /// The state after this text; `None` if it contains a mark.
    fn state(avoiding: &Avoiding, text: &str) -> Option<usize> {
        text.chars().try_fold(0, |state, character| {
            let next = avoiding.states[state].next.get(&character).copied().unwrap_or(0);
            (!avoiding.states[next].is_end).then_some(next)
        })
    }

    #[test]
    fn no_mark_stands_in_a_text() {
        let avoiding = Avoiding::new(["<call>", "<end>", "lla", ""]);
        for (text, is_free) in [
            ("", true),
            ("<call", true),
            ("<<call>", false),
            ("<cal<end>", false),
            ("<ca<en<", true),
            ("xllax", false),
            ("<cella", false),
            ("l l a", true),
        ] {
            assert_eq!(state(&avoiding, text).is_some(), is_free, "{text}");
        }
    }

    #[test]
    fn a_text_ends_where_what_follows_it_is_whole() {
        let avoiding = Avoiding::new(["[e~[", "[CALL]", "a]b"]);
        for (text, follower, may_precede) in [
            ("", "[CALL]", true),
            ("[e~", "[CALL]", false),
            ("[CAL", "[CALL]", true),
            ("a]", "b", false),
            ("a", "]b", false),
            ("a]", "c", true),
        ] {
            let state = state(&avoiding, text).expect("a text without a mark");
            assert_eq!(avoiding.may_precede(state, follower), may_precede, "{text} {follower}");
        }
    }

    #[test]
    fn white_space_does_not_begin_a_text_that_may_not_begin_with_something() {
        let avoiding = Avoiding::new(["<a>"]);
        let (mut rules, form) = (Rules::default(), TextForm::default());
        let text = avoiding.rules(&mut rules, "root", &form);
        let start = avoiding.starting(&mut rules, &text, &form, &['{']);
        let Expr::Rule(number) = start else { panic!("a rule") };
        let rules: Vec<Rule> = rules.finish();
        let written = super::super::gbnf::written(&rules);
        let line = written.lines().nth(number);
        let expected =
            "start-3 ::= \"\" | [^\\t-\\n\\r <{] root | [<] root-1 | [\\t-\\n\\r ] start-3";
        assert_eq!(line, Some(expected));
    }
}
