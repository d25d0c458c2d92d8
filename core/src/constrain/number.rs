//! Numbers between two others, digit by digit.

use serde_json::{Map, Value};

use super::expr::{Expr, choice, class, literal, optional, repeat, sequence};

/// How many digits a number has that nothing bounds: what every reader holds without loss.
const DIGITS: usize = 15;

/// A number has at most this many digits where bounds ask for more than [`DIGITS`].
const MOST_DIGITS: u32 = 30;

/// The least and the greatest number that is allowed; both may be absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    least: Option<i128>,
    most: Option<i128>,
}

impl Bounds {
    /// Whether no number is within them.
    pub fn are_empty(self) -> bool {
        matches!((self.least, self.most), (Some(least), Some(most)) if least > most)
    }

    /// The bounds of an integer, as these keywords have them, and the keywords that are beyond all that is counted here.
    pub fn of_integer(keywords: &Map<String, Value>) -> (Self, Vec<&'static str>) {
        let mut widened = Vec::new();
        let (minimum, maximum) = written_exclusively(keywords);
        // A bound with a fraction is rounded inwards; it is not a whole number, so whether it is allowed itself does not matter.
        let mut bound = |key: &'static str, is_upper: bool, is_exclusive: bool| {
            let (number, is_whole) = rounded(keywords, key, is_upper, &mut widened)?;
            let step = if is_upper { -1 } else { 1 };
            Some(if is_exclusive && is_whole { number + step } else { number })
        };
        let least = [bound("minimum", false, minimum), bound("exclusiveMinimum", false, true)];
        let most = [bound("maximum", true, maximum), bound("exclusiveMaximum", true, true)];
        (Self::between(least, most), widened)
    }

    /// The bounds of any number, and the keywords that are not held exactly: numbers are bounded by whole ones.
    pub fn of_number(keywords: &Map<String, Value>) -> (Self, Vec<&'static str>) {
        let mut widened = Vec::new();
        let (minimum, maximum) = written_exclusively(keywords);
        let mut bound = |key: &'static str, is_upper: bool, is_exclusive: bool| {
            // Outwards: the other way round than for integers.
            let (number, is_whole) = rounded(keywords, key, !is_upper, &mut widened)?;
            if is_exclusive || !is_whole {
                widened.push(key);
            }
            Some(number)
        };
        let least = [bound("minimum", false, minimum), bound("exclusiveMinimum", false, true)];
        let most = [bound("maximum", true, maximum), bound("exclusiveMaximum", true, true)];
        (Self::between(least, most), widened)
    }

    fn between(least: [Option<i128>; 2], most: [Option<i128>; 2]) -> Self {
        Self { least: least.into_iter().flatten().max(), most: most.into_iter().flatten().min() }
    }

    /// The integers within the bounds.
    pub fn integers(self) -> Expr {
        if self == Self::default() {
            let digits = repeat(class(&[('0', '9')]), 0, Some(DIGITS - 1));
            let number = sequence([optional(literal("-")), class(&[('1', '9')]), digits]);
            return choice([literal("0"), number]);
        }
        self.signed(whole, 1)
    }

    /// The numbers within the bounds.
    pub fn numbers(self) -> Expr {
        if self == Self::default() {
            let digits = repeat(class(&[('0', '9')]), 0, Some(DIGITS - 1));
            let number = choice([literal("0"), sequence([class(&[('1', '9')]), digits])]);
            let exponent = sequence([
                class(&[('e', 'e'), ('E', 'E')]),
                optional(class(&[('+', '+'), ('-', '-')])),
                repeat(class(&[('0', '9')]), 1, Some(2)),
            ]);
            return sequence([
                optional(literal("-")),
                number,
                optional(fraction()),
                optional(exponent),
            ]);
        }
        self.signed(with_fractions, 0)
    }

    /// Numbers on both sides of zero, of those that `between` gives between two that are not negative. `nearest` is the least
    /// that has a sign: `-0` is not how an integer is written, and `-0.5` is a number.
    fn signed(self, between: fn(i128, i128) -> Expr, nearest: i128) -> Expr {
        // What is not bounded has as many digits as usual, or one more than the other bound has.
        let far = |other: Option<i128>| {
            let digits = other.map_or(0, |other| other.unsigned_abs().to_string().len());
            10_i128.pow(u32::try_from(DIGITS.max(digits + 1)).unwrap_or(MOST_DIGITS)) - 1
        };
        let least = self.least.unwrap_or_else(|| -far(self.most));
        let most = self.most.unwrap_or_else(|| far(self.least));
        let mut parts = Vec::new();
        if most >= 0 {
            parts.push(between(least.max(0), most));
        }
        if least < 0 {
            let from = if most < 0 { -most } else { nearest };
            if from <= -least {
                parts.push(sequence([literal("-"), between(from, -least)]));
            }
        }
        choice(parts)
    }
}

/// Whether `minimum` and `maximum` are exclusive, as older schemas write it.
fn written_exclusively(keywords: &Map<String, Value>) -> (bool, bool) {
    let is_true = |key: &str| keywords.get(key) == Some(&Value::Bool(true));
    (is_true("exclusiveMinimum"), is_true("exclusiveMaximum"))
}

/// The number of a keyword as a whole one, rounded down or else up, and whether it is one itself. `None` if there is none. A keyword
/// that is not a number, or beyond all that is counted here, is noted in `widened`.
fn rounded(
    keywords: &Map<String, Value>,
    key: &'static str,
    down: bool,
    widened: &mut Vec<&'static str>,
) -> Option<(i128, bool)> {
    let number = keywords.get(key)?;
    if number.is_boolean() && key.starts_with("exclusive") {
        return None;
    }
    let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    if let Some(whole) = whole {
        return Some((whole, true));
    }
    let limit = 10_i128.pow(MOST_DIGITS - 2);
    #[expect(clippy::cast_precision_loss, reason = "a limit")]
    let Some(number) = number.as_f64().filter(|number| number.abs() <= limit as f64) else {
        widened.push(key);
        return None;
    };
    let near = if down { number.floor() } else { number.ceil() };
    #[expect(clippy::cast_possible_truncation, reason = "within the limit")]
    #[expect(clippy::float_cmp, reason = "whether it is the same number")]
    Some((near as i128, near == number))
}

fn fraction() -> Expr {
    sequence([literal("."), repeat(class(&[('0', '9')]), 1, Some(DIGITS))])
}

/// The numbers from `least` to `most`, with fractions up to `most` itself.
fn with_fractions(least: i128, most: i128) -> Expr {
    let zeros = sequence([literal("."), repeat(literal("0"), 1, Some(DIGITS))]);
    let greatest = sequence([literal(most.to_string()), optional(zeros)]);
    if least >= most {
        return greatest;
    }
    choice([sequence([whole(least, most - 1), optional(fraction())]), greatest])
}

/// The whole numbers from `least` to `most`, neither of them negative.
fn whole(least: i128, most: i128) -> Expr {
    let (low, high) = (least.to_string(), most.to_string());
    if low.len() == high.len() {
        return same_length(low.as_bytes(), high.as_bytes());
    }
    let mut parts = vec![same_length(low.as_bytes(), "9".repeat(low.len()).as_bytes())];
    if high.len() > low.len() + 1 {
        let digits = repeat(class(&[('0', '9')]), low.len(), Some(high.len() - 2));
        parts.push(sequence([class(&[('1', '9')]), digits]));
    }
    let shortest = format!("1{}", "0".repeat(high.len() - 1));
    parts.push(same_length(shortest.as_bytes(), high.as_bytes()));
    choice(parts)
}

/// The texts of digits between two that are as long.
fn same_length(least: &[u8], most: &[u8]) -> Expr {
    let is_free = |least: &[u8], most: &[u8]| {
        least.iter().all(|digit| *digit == b'0') && most.iter().all(|digit| *digit == b'9')
    };
    let digits = |first: u8, last: u8| {
        if first == last {
            literal(char::from(first))
        } else {
            class(&[(char::from(first), char::from(last))])
        }
    };
    let [(low, least), (high, most)] = [least, most].map(|text| match text.split_first() {
        Some((first, rest)) => (*first, rest),
        None => (b'0', text),
    });
    let any = |length: usize| match length {
        0 => literal(""),
        length => repeat(class(&[('0', '9')]), length, Some(length)),
    };
    if least.is_empty() {
        return digits(low, high);
    }
    if low == high {
        return sequence([digits(low, low), same_length(least, most)]);
    }
    let nines = vec![b'9'; least.len()];
    let zeros = vec![b'0'; most.len()];
    let (mut from, mut to) = (low, high);
    let (mut before, mut behind) = (None, None);
    if !is_free(least, &nines) {
        before = Some(sequence([digits(low, low), same_length(least, &nines)]));
        from += 1;
    }
    if !is_free(&zeros, most) {
        behind = Some(sequence([digits(high, high), same_length(&zeros, most)]));
        to -= 1;
    }
    let middle = (from <= to).then(|| sequence([digits(from, to), any(least.len())]));
    choice([before, middle, behind].into_iter().flatten())
}
