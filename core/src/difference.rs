//! The lines in which two texts differ, in time and memory linear in the texts.
//!
//! A shortest difference costs the product of the texts' length and the number of changes. So at most `STEPS` are spent
//! on short ones: what lines that each text has once, and those steps, leave open is compared by position. Each
//! difference turns the one text into the other, whatever was left open.
//!
//! Invariant: the same texts have the same difference, on any machine, so that one that was agreed to can be made again.

use std::collections::HashMap;
use std::ops::Range;

/// Lines around a change that are shown with it.
const AROUND: usize = 3;

/// Steps of the search for shortest differences, for the two texts together: hundredths of a second.
const STEPS: usize = 1 << 22;

/// How a text becomes another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The changes as in a unified difference, without its header; each line ends with a line feed. Empty if the texts are
    /// equal.
    pub hunks: String,
    /// How many lines are added.
    pub added: usize,
    /// How many lines are removed.
    pub removed: usize,
}

impl Difference {
    /// Compares two texts, in which only a line feed ends a line, as it does for git.
    ///
    /// # Complexity
    /// O(n log n) in the lines, and a fixed number of steps more; a few words of memory for each line.
    #[must_use]
    pub fn between(before: &str, after: &str) -> Self {
        let mut numbers = HashMap::new();
        let old = Lines::of(before, &mut numbers);
        let new = Lines::of(after, &mut numbers);
        let mut difference = Self::default();
        let mut hunk: Vec<Change> = Vec::new();
        for change in changes(&old.numbers, &new.numbers) {
            difference.removed += change.old.len();
            difference.added += change.new.len();
            if hunk.last().is_some_and(|last| change.old.start - last.old.end > 2 * AROUND) {
                difference.write(&old, &new, &hunk);
                hunk.clear();
            }
            hunk.push(change);
        }
        difference.write(&old, &new, &hunk);
        difference
    }

    /// Writes changes that are near each other, with the lines around them.
    fn write(&mut self, old: &Lines<'_>, new: &Lines<'_>, hunk: &[Change]) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
            return;
        };
        let before = AROUND.min(first.old.start); // no line before the first change differs
        let after = AROUND.min(old.numbers.len() - last.old.end);
        let mut at = first.old.start - before;
        self.hunks.push_str("@@ -");
        self.hunks.push_str(&shown(at..last.old.end + after));
        self.hunks.push_str(" +");
        self.hunks.push_str(&shown(first.new.start - before..last.new.end + after));
        self.hunks.push_str(" @@\n");
        for change in hunk {
            self.run(' ', old, at..change.old.start);
            self.run('-', old, change.old.clone());
            self.run('+', new, change.new.clone());
            at = change.old.end;
        }
        self.run(' ', old, at..at + after);
    }

    fn run(&mut self, sign: char, of: &Lines<'_>, lines: Range<usize>) {
        for number in lines {
            let line = of.line(number);
            self.hunks.push(sign);
            self.hunks.push_str(line);
            if !line.ends_with('\n') {
                self.hunks.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
}

/// Lines as a hunk's header has them: counted from 1; if there are none, the line before them.
fn shown(lines: Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        many => format!("{},{many}", lines.start + 1),
    }
}

/// The lines of a text. Equal lines have equal numbers.
struct Lines<'a> {
    text: &'a str,
    numbers: Vec<u32>,
    /// Where each ends in the text.
    ends: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str, known: &mut HashMap<&'a str, u32>) -> Self {
        let mut lines = Self { text, numbers: Vec::new(), ends: Vec::new() };
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            end += line.len();
            let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
            lines.numbers.push(*known.entry(line).or_insert(next));
            lines.ends.push(end);
        }
        lines
    }

    /// A line, with its line feed if it has one.
    fn line(&self, number: usize) -> &'a str {
        let begin = number.checked_sub(1).map_or(0, |last| self.ends[last]);
        &self.text[begin..self.ends[number]]
    }
}

/// Lines of the old text that lines of the new one replace.
#[derive(Clone)]
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

/// The changes between two texts, in order.
fn changes(old: &[u32], new: &[u32]) -> Vec<Change> {
    let mut search = Search { old, new, found: Vec::new(), at: (0, 0), left: STEPS };
    let mut begin = (0, 0);
    for (before, after) in anchors(old, new) {
        search.compare(begin.0..before, begin.1..after);
        search.keep(before, after, 1);
        begin = (before + 1, after + 1);
    }
    search.compare(begin.0..old.len(), begin.1..new.len());
    search.keep(old.len(), new.len(), 0);
    search.found
}

/// Of the lines that each text has once, as many as are in the same order in both: their places in each.
fn anchors(old: &[u32], new: &[u32]) -> Vec<(usize, usize)> {
    let largest = old.iter().chain(new).max().map_or(0, |most| *most as usize + 1);
    let mut places = vec![Places::default(); largest];
    for (place, number) in old.iter().enumerate() {
        places[*number as usize].old.add(place);
    }
    for (place, number) in new.iter().enumerate() {
        places[*number as usize].new.add(place);
    }
    let pairs: Vec<(usize, usize)> = old
        .iter()
        .filter_map(|number| match places[*number as usize] {
            Places { old: Place::Once(before), new: Place::Once(after) } => Some((before, after)),
            _ => None,
        })
        .collect();
    drop(places);
    // A longest run of pairs whose places grow in the new text, too. `ends[n]` is, of the pairs with which a run of
    // n + 1 can end, the one with the smallest place.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (pair, (_, place)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *place);
        before.push(length.checked_sub(1).map(|last| ends[last]));
        ends.truncate(ends.len().max(length + 1));
        match ends.get_mut(length) {
            Some(end) => *end = pair,
            None => ends.push(pair),
        }
    }
    let mut found = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(pair) = next {
        found.push(pairs[pair]);
        next = before[pair];
    }
    found.reverse();
    found
}

/// Where a line is in both texts.
#[derive(Clone, Copy, Default)]
struct Places {
    old: Place,
    new: Place,
}

#[derive(Clone, Copy, Default)]
enum Place {
    #[default]
    Nowhere,
    Once(usize),
    Often,
}

impl Place {
    fn add(&mut self, place: usize) {
        *self = match self {
            Self::Nowhere => Self::Once(place),
            Self::Once(_) | Self::Often => Self::Often,
        };
    }
}

/// Compares parts of two texts, in order, with a number of steps for all of them.
struct Search<'a> {
    old: &'a [u32],
    new: &'a [u32],
    found: Vec<Change>,
    /// How far the texts are compared.
    at: (usize, usize),
    left: usize,
}

impl Search<'_> {
    /// Notes that so many lines from here on are the same, and that those before them, up to the last ones, are not.
    fn keep(&mut self, old: usize, new: usize, length: usize) {
        if self.at != (old, new) {
            self.found.push(Change { old: self.at.0..old, new: self.at.1..new });
        }
        self.at = (old + length, new + length);
    }

    fn compare(&mut self, old: Range<usize>, new: Range<usize>) {
        let (ours, theirs) = (&self.old[old.clone()], &self.new[new.clone()]);
        let begin = ours.iter().zip(theirs).take_while(|(one, other)| one == other).count();
        let (ours, theirs) = (&ours[begin..], &theirs[begin..]);
        let end = ours
            .iter()
            .rev()
            .zip(theirs.iter().rev())
            .take_while(|(one, other)| one == other)
            .count();
        if begin > 0 {
            self.keep(old.start, new.start, begin);
        }
        self.middle(old.start + begin..old.end - end, new.start + begin..new.end - end);
        if end > 0 {
            self.keep(old.end - end, new.end - end, end);
        }
    }

    fn middle(&mut self, old: Range<usize>, new: Range<usize>) {
        if old.is_empty() || new.is_empty() {
            return;
        }
        let (ours, theirs) = (&self.old[old.clone()], &self.new[new.clone()]);
        // A line that the other part does not have is not kept.
        let (places, numbers) = shared(ours, theirs);
        let (other_places, other_numbers) = shared(theirs, ours);
        if let Some(kept) = shortest(&numbers, &other_numbers, &mut self.left) {
            for (before, after, length) in kept {
                for offset in 0..length {
                    self.keep(
                        old.start + places[before + offset],
                        new.start + other_places[after + offset],
                        1,
                    );
                }
            }
        } else {
            // Perhaps lines were changed, and none came or went.
            for (offset, (one, other)) in ours.iter().zip(theirs).enumerate() {
                if one == other {
                    self.keep(old.start + offset, new.start + offset, 1);
                }
            }
        }
    }
}

/// The lines of a part that another one has too: their places in the part, and their numbers.
fn shared(part: &[u32], other: &[u32]) -> (Vec<usize>, Vec<u32>) {
    let mut numbers = other.to_vec();
    numbers.sort_unstable();
    part.iter().enumerate().filter(|(_, number)| numbers.binary_search(number).is_ok()).unzip()
}

/// What a shortest difference keeps: where the lines begin in both, and how many there are. `None` if the steps that are
/// left are too few to find one.
///
/// This is Myers' greedy search. After `d` lines added or removed, `reached[d]` has for each balance of them (removed less
/// added: `-d`, `2 - d`, …, `d`) how far one comes in the old lines.
fn shortest(old: &[u32], new: &[u32], left: &mut usize) -> Option<Vec<(usize, usize, usize)>> {
    let mut reached: Vec<Vec<u32>> = Vec::new();
    loop {
        let changes = reached.len();
        *left = left.checked_sub(changes + 1)?;
        let before = reached.last().map_or(&[][..], Vec::as_slice);
        let mut front = Vec::with_capacity(changes + 1);
        for place in 0..=changes {
            let began = came_from(before, place).1;
            let in_new = in_new(began, changes, place);
            let length = same(old, new, began, in_new);
            *left = left.checked_sub(length)?;
            front.push(u32::try_from(began + length).unwrap_or(u32::MAX));
            if began + length >= old.len() && in_new + length >= new.len() {
                reached.push(front);
                return Some(traced(&reached, place));
            }
        }
        reached.push(front);
    }
}

/// How far one is in the new lines if `place` of the changes remove a line, and the others add one.
fn in_new(in_old: usize, changes: usize, place: usize) -> usize {
    in_old - place + (changes - place)
}

/// How many lines are the same from two places on.
fn same(old: &[u32], new: &[u32], in_old: usize, in_new: usize) -> usize {
    match (old.get(in_old..), new.get(in_new..)) {
        (Some(old), Some(new)) => {
            old.iter().zip(new).take_while(|(one, other)| one == other).count()
        }
        _ => 0,
    }
}

/// The place from which one more change comes furthest, and how far it comes.
fn came_from(before: &[u32], place: usize) -> (usize, usize) {
    let added = before.get(place).map(|at| *at as usize);
    let removed = place.checked_sub(1).and_then(|last| before.get(last)).map(|at| *at as usize + 1);
    match (added, removed) {
        (Some(added), Some(removed)) if removed > added => (place - 1, removed),
        (None, Some(removed)) => (place - 1, removed),
        (Some(added), _) => (place, added),
        (None, None) => (0, 0), // nothing was changed yet
    }
}

/// What is kept on the way to the end, which was reached at `place`.
fn traced(reached: &[Vec<u32>], mut place: usize) -> Vec<(usize, usize, usize)> {
    let mut found = Vec::with_capacity(reached.len());
    for changes in (0..reached.len()).rev() {
        let end = reached[changes][place] as usize;
        let before = changes.checked_sub(1).map_or(&[][..], |last| reached[last].as_slice());
        let (last, began) = came_from(before, place);
        found.push((began, in_new(began, changes, place), end - began));
        place = last;
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The text that a difference makes of another one.
    fn applied(before: &str, difference: &Difference) -> String {
        let mut old = before.split_inclusive('\n');
        let (mut after, mut at) = (String::new(), 0);
        let mut lines = difference.hunks.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            if let Some(header) = line.strip_prefix("@@ -") {
                let range = header.split(' ').next().unwrap_or_default();
                let (begin, length) = range.split_once(',').unwrap_or((range, "1"));
                let begin: usize = begin.parse().unwrap();
                let begin = if length == "0" { begin } else { begin - 1 };
                after.extend(old.by_ref().take(begin - at));
                at = begin;
                continue;
            }
            let is_cut = lines.next_if(|next| next.starts_with('\\')).is_some();
            let text = if is_cut { line[1..].trim_end_matches('\n') } else { &line[1..] };
            if !line.starts_with('+') {
                assert_eq!(old.next(), Some(text));
                at += 1;
            }
            if !line.starts_with('-') {
                after.push_str(text);
            }
        }
        after.extend(old);
        after
    }

    /// How many lines the longest common subsequence has, from the table of all pairs.
    fn most_kept(old: &[u32], new: &[u32]) -> usize {
        let mut row = vec![0; new.len() + 1];
        for one in old {
            let mut diagonal = 0;
            for (place, other) in new.iter().enumerate() {
                let here = if one == other { diagonal + 1 } else { row[place].max(row[place + 1]) };
                diagonal = row[place + 1];
                row[place + 1] = here;
            }
        }
        row[new.len()]
    }

    fn numbers(text: &str) -> Vec<u32> {
        text.bytes().map(u32::from).collect()
    }

    #[test]
    fn a_difference_has_the_lines_around_each_change() {
        let before = "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12";
        let after = "0\n1\n2\n3\nx\n5\n6\n7\n8\n9\n10\n11\n12\n13\n";
        let difference = Difference::between(before, after);
        let hunks = "@@ -2,7 +2,7 @@\n 1\n 2\n 3\n-4\n+x\n 5\n 6\n 7\n@@ -10,4 +10,5 @@\n 9\n 10\n 11\n-12\n\\ No newline at \
                     end of file\n+12\n+13\n";
        assert_eq!(difference, Difference { hunks: hunks.into(), added: 3, removed: 2 });
        assert_eq!(Difference::between("", "a\n").hunks, "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(Difference::between("a\n", "a\n"), Difference::default());
    }

    #[test]
    fn without_steps_lines_are_compared_by_position() {
        let (old, new) = (numbers("aabbaabb"), numbers("aabcaabcb"));
        let mut search = Search { old: &old, new: &new, found: Vec::new(), at: (0, 0), left: 0 };
        search.compare(0..old.len(), 0..new.len());
        search.keep(old.len(), new.len(), 0);
        let found: Vec<_> =
            search.found.iter().map(|each| (each.old.clone(), each.new.clone())).collect();
        assert_eq!(found, [(3..4, 3..4), (7..7, 7..8)]);
    }

    #[test]
    fn the_search_takes_no_more_steps_than_are_left() {
        let (old, new) = (numbers(&"ab".repeat(500)), numbers(&"ba".repeat(400)));
        for steps in [0, 1, 10, 100, 1_000, STEPS] {
            let mut left = steps;
            let found = shortest(&old, &new, &mut left);
            assert!(left <= steps && (steps < STEPS) == found.is_none(), "{steps}: {left}");
        }
    }

    proptest! {
        #[test]
        fn a_difference_makes_the_one_text_of_the_other(before in "[ab\n]{0,40}", after in "[ab\n]{0,40}") {
            let difference = Difference::between(&before, &after);
            prop_assert_eq!(applied(&before, &difference), after);
        }

        #[test]
        fn a_shortest_difference_keeps_as_much_as_the_table_of_all_pairs(old in "[abc]{0,30}", new in "[abc]{0,30}") {
            let (old, new) = (numbers(&old), numbers(&new));
            let kept = shortest(&old, &new, &mut { STEPS }).expect("steps are left");
            for (before, after, length) in &kept {
                prop_assert_eq!(&old[*before..before + length], &new[*after..after + length]);
            }
            prop_assert_eq!(kept.iter().map(|each| each.2).sum::<usize>(), most_kept(&old, &new));
        }
    }
}
