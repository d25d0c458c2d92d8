//! Batches and turns on Tokio, by their public interface. One program has all of these tests, as `interface.rs` has the core's.

mod late_reports;
mod tokio_batches;
mod tokio_cases;
mod tokio_soak;
mod tokio_turns;
