//! Floats as Python writes them.
//!
//! The core writes those of all JSON, and faster. This crate cannot have that function, since the core is built on this crate,
//! and without it too. A test of the core holds the two equal.

/// Python's `repr` of a float, or `NaN`, `Infinity` or `-Infinity`.
pub fn float_repr(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string().replace("inf", "Infinity");
    }
    let shortest = format!("{value:?}");
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, ""));
    let places = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    // Of two that are equally near, Python takes the even one, as rounding does and `shortest` does not.
    let rounded = match exponent {
        "" => format!("{value:.places$}"),
        _ => format!("{value:.places$e}"),
    };
    let text = if rounded.parse() == Ok(value) { rounded } else { shortest };
    match text.split_once('e').map(|(mantissa, exponent)| (mantissa, exponent.parse::<i16>())) {
        Some((mantissa, Ok(exponent))) => format!("{mantissa}e{exponent:+03}"),
        _ => text,
    }
}
