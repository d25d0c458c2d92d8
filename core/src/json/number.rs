//! The characters of a number.

/// How much of a number has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberPhase {
    Sign,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

impl NumberPhase {
    /// The phase after `byte`; `None` if it is not part of the number.
    pub fn step(self, byte: u8) -> Option<Self> {
        use NumberPhase::{
            Exponent, ExponentDigits, ExponentSign, Fraction, Integer, Point, Sign, Zero,
        };
        match (self, byte) {
            (Sign, b'0') => Some(Zero),
            (Sign, b'1'..=b'9') | (Integer, b'0'..=b'9') => Some(Integer),
            (Zero | Integer, b'.') => Some(Point),
            (Point | Fraction, b'0'..=b'9') => Some(Fraction),
            (Zero | Integer | Fraction, b'e' | b'E') => Some(Exponent),
            (Exponent, b'+' | b'-') => Some(ExponentSign),
            (Exponent | ExponentSign | ExponentDigits, b'0'..=b'9') => Some(ExponentDigits),
            _ => None,
        }
    }

    /// Whether a number may end here.
    pub fn is_complete(self) -> bool {
        matches!(
            self,
            NumberPhase::Zero
                | NumberPhase::Integer
                | NumberPhase::Fraction
                | NumberPhase::ExponentDigits
        )
    }
}

/// Reads on in a number from `at`, as far as it goes; returns how much of it there is.
pub fn read_number(text: &[u8], at: &mut usize, phase: NumberPhase) -> NumberPhase {
    let mut phase = phase;
    while let Some(next) = text.get(*at).and_then(|byte| phase.step(*byte)) {
        phase = next;
        *at += 1;
    }
    phase
}
