//! Ids of rows: `UUIDv7` as text (RFC 9562), so that rows sorted by id are sorted by the time when they were made.

/// The 48 bits of milliseconds, which last until the year 10889.
const TIME: u64 = (1 << 48) - 1;
/// What the milliseconds, the version and the variant leave of 128 bits.
const TAIL_BITS: u32 = 74;
/// The top bit of a fresh tail is 0, so that half of the range is left for further ids.
const FRESH: u128 = (1 << (TAIL_BITS - 1)) - 1;
/// Bits of the random step between two ids of one millisecond: there is room for 2^25 ids.
const STEP_BITS: u32 = 48;
/// The bits of the tail that follow the variant.
const LOWER_BITS: u32 = 62;

/// Makes ids, each greater than all before it, even if many are made in one millisecond or the clock is set back.
#[derive(Debug, Default)]
pub struct Ids {
    /// Milliseconds and tail of the newest id.
    last: u128,
}

impl Ids {
    /// No id has been made yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { last: 0 }
    }

    /// Makes the next id, such as `0192f3a4-5b6c-7d8e-9f01-23456789abcd`.
    ///
    /// `milliseconds` is the Unix time, of which 48 bits count; `random` must be new for each id, and hard to guess.
    pub fn next(&mut self, milliseconds: u64, random: u128) -> String {
        let time = u128::from(milliseconds & TIME) << TAIL_BITS;
        let fresh = time | (random >> STEP_BITS) & FRESH;
        let step = 1 + (random & ((1 << STEP_BITS) - 1));
        self.last = fresh.max(self.last + step);
        let upper = self.last >> LOWER_BITS;
        let lower = self.last & ((1 << LOWER_BITS) - 1);
        written(upper >> 12 << 80 | 0x7 << 76 | (upper & 0xfff) << 64 | 0b10 << LOWER_BITS | lower)
    }
}

/// An id in hexadecimal digits, by groups.
fn written(id: u128) -> String {
    let digits = format!("{id:032x}");
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_begins_with_the_time_and_says_its_version_and_variant() {
        let mut ids = Ids::new();
        assert_eq!(ids.next(0x0192_f3a4_5b6c, 0), "0192f3a4-5b6c-7000-8000-000000000000");
        assert_eq!(
            ids.next(0x0192_f3a4_5b6d, u128::MAX),
            "0192f3a4-5b6d-77ff-bfff-ffffffffffff",
            "the top bit of a fresh tail is 0"
        );
    }

    #[test]
    fn ids_increase_whatever_the_clock_does() {
        for clock in [&[5][..], &[9, 8, 7, 6], &[1, 1, 2, 2]] {
            for random in [0, 1 << 47, u128::MAX] {
                let mut ids = Ids::new();
                let made: Vec<_> =
                    (0..2000).map(|n| ids.next(clock[n % clock.len()], random)).collect();
                assert!(made.is_sorted_by(|earlier, later| earlier < later));
                assert!(made.iter().all(|id| id.len() == 36 && &id[14..15] == "7"));
            }
        }
    }
}
