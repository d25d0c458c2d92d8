//! How deep a check goes, so that no schema and value together exhaust the stack.
//!
//! A check descends a level in the value only after the subschemas that apply to one place: through `$ref`, `allOf` and
//! the like. So its depth is at most that of the value times the longest chain of such keywords.

use super::value::Value;

/// The most subschemas that may be entered at once. A thread's stack holds several times as many.
const MOST_ENTERED: usize = 12_000;

/// The most levels that a value may have for a schema of which chains of this length are entered at one value; `None` if it may have
/// any number.
pub fn most_levels(chain: usize) -> Option<usize> {
    (chain > 1).then(|| MOST_ENTERED / chain)
}

/// Whether a value has more levels than that.
pub fn is_deeper(value: &Value<'_>, levels: usize) -> bool {
    let Some(inner) = levels.checked_sub(1) else {
        return matches!(value, Value::Array(_) | Value::Object(_));
    };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper(item, inner)),
        Value::Object(members) => members.iter().any(|(_, member)| is_deeper(member, inner)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_levels_are_fewer_the_longer_the_chain() {
        assert_eq!([1, 3, 120].map(most_levels), [None, Some(4000), Some(100)]);
    }

    #[test]
    fn levels_are_those_of_arrays_and_objects() {
        let nested = || Value::Array(vec![Value::Null, Value::Array(vec![])]);
        assert!(is_deeper(&nested(), 1) && !is_deeper(&nested(), 2));
        assert!(!is_deeper(&Value::Null, 0) && is_deeper(&nested(), 0));
    }
}
