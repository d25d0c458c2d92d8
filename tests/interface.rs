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
mod literals;
mod presets;
mod quoted;
mod refused_dialects;
mod render;
#[cfg(feature = "arguments")]
mod rules;
mod templates;
mod text;
mod values;
mod wire;
