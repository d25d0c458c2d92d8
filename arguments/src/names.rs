//! Which known name was meant by an unknown one.

/// The nearest of several names, if one is near enough to be what was meant; the first of equally near ones.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(name);
    let rated = known.filter_map(|each| Some((distance_if_near(&wanted, &plain(each))?, each)));
    rated.min_by_key(|(distance, _)| *distance).map(|(_, each)| each)
}

/// A name as every style of writing has it: `filePath`, `file-path` and `file_path` are the same.
fn plain(name: &str) -> Vec<char> {
    // Names that a schema has are short.
    const MOST: usize = 64;
    let letters = name.chars().filter(|letter| !matches!(letter, '_' | '-' | ' '));
    letters.flat_map(char::to_lowercase).take(MOST).collect()
}

fn distance_if_near(a: &[char], b: &[char]) -> Option<usize> {
    let (shorter, longer) = (a.len().min(b.len()), a.len().max(b.len()));
    let most = (longer / 3).max(1);
    let distance = if longer - shorter > most { usize::MAX } else { distance(a, b) };
    if distance <= most && distance < longer {
        return Some(distance);
    }
    // `path` and `path_name`, `file` and `input_file`: near, but less so than any that differs in a few letters.
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let is_part = short.len() >= 3 && (long.starts_with(short) || long.ends_with(short));
    is_part.then_some(longer)
}

/// How many letters have to be put in, left out, exchanged or swapped with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, other) in b.iter().enumerate() {
            let mut steps =
                (above[j] + usize::from(letter != other)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *letter == b[j - 1] && a[i - 1] == *other {
                steps = steps.min(before[j - 1] + 1);
            }
            row.push(steps);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_near_if_few_of_its_letters_differ() {
        let known = ["path", "line_count", "pattern", "a"];
        for (name, expected) in [
            ("pth", Some("path")),
            ("paht", Some("path")),
            ("patterns", Some("pattern")),
            ("lineCount", Some("line_count")),
            ("LINE-COUNT", Some("line_count")),
            ("count", Some("line_count")),
            ("aa", Some("a")),
            ("b", None),
            ("zip", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known.into_iter()), expected, "{name}");
        }
        assert_eq!(nearest(&"x".repeat(1_000_000), known.into_iter()), None);
    }
}
