//! Ids of rows, from the clock and the random numbers of the system.

use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use cogency_rs::ids::Ids;

const RANDOM_BYTES: usize = 16;
/// The system is asked for the random bytes of this many ids at once: asking costs more than making an id.
const AT_ONCE: usize = 32;

/// The lock is held only while Python is attached, and its holder never waits. So no other thread holds it at a fork.
static MAKER: Mutex<Maker> =
    Mutex::new(Maker { ids: Ids::new(), random: [0; RANDOM_BYTES * AT_ONCE], left: 0 });

struct Maker {
    ids: Ids,
    random: [u8; RANDOM_BYTES * AT_ONCE],
    /// How many of the random bytes are not used yet.
    left: usize,
}

impl Maker {
    fn make(&mut self) -> Result<String, getrandom::Error> {
        if self.left == 0 {
            getrandom::fill(&mut self.random)?;
            self.left = self.random.len();
        }
        self.left -= RANDOM_BYTES;
        let mut random = [0; RANDOM_BYTES];
        random.copy_from_slice(&self.random[self.left..self.left + RANDOM_BYTES]);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let milliseconds = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        Ok(self.ids.next(milliseconds, u128::from_le_bytes(random)))
    }
}

/// Makes the next id.
#[pyfunction]
pub fn uuid7(_py: Python<'_>) -> PyResult<String> {
    let mut maker = MAKER.lock().unwrap_or_else(PoisonError::into_inner);
    maker.make().map_err(|error| {
        PyOSError::new_err(format!("the system has no random numbers for ids: {error}"))
    })
}

/// Forgets the random numbers that a child process shares with its parent: both would make the same ids of them.
#[pyfunction]
pub fn forget_random_numbers(_py: Python<'_>) {
    MAKER.lock().unwrap_or_else(PoisonError::into_inner).left = 0;
}
