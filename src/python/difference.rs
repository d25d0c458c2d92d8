//! The lines in which two texts differ.

use pyo3::prelude::*;

use cogency_rs::difference::Difference;

/// The changes, and how many lines are added and removed. Other threads run meanwhile.
#[pyfunction]
pub fn line_difference(py: Python<'_>, before: &str, after: &str) -> (String, usize, usize) {
    let Difference { hunks, added, removed } = py.detach(|| Difference::between(before, after));
    (hunks, added, removed)
}
