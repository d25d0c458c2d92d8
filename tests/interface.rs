//! The core's public interface. One program has all of these tests: each program more would be checked and linked by itself.

#[cfg(feature = "arguments")]
mod arguments;
mod batches;
mod bounds;
mod chunks;
#[cfg(feature = "arguments")]
#[path = "constrain/main.rs"]
mod constrain;
mod dialects;
mod early;
mod fuzzed;
mod inert;
#[cfg(feature = "tokio")]
mod late_reports;
mod literals;
mod presets;
mod quoted;
mod refused_dialects;
mod render;
#[cfg(feature = "arguments")]
mod rules;
mod templates;
mod text;
#[cfg(feature = "tokio")]
mod tokio_batches;
#[cfg(feature = "tokio")]
mod tokio_cases;
#[cfg(feature = "tokio")]
mod tokio_soak;
#[cfg(feature = "tokio")]
mod tokio_turns;
mod values;
mod wire;
