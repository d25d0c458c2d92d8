//! The usage of a completion, whose sums contain their parts.

use super::delta::Usage;
use super::options::Extras;
use super::sink::Sink;
use crate::json::Raw;

/// Fields of the usage that have a place in [`Usage`].
const READ: [&str; 3] = ["prompt_tokens", "completion_tokens", "total_tokens"];

/// The usage of a completion: the prompt contains what was cached, the answer the reasoning.
pub fn of_completion(usage: Raw<'_>) -> Usage {
    let (prompt, written) = (count(usage, "prompt_tokens"), count(usage, "completion_tokens"));
    let within = |field: &str, name: &str| usage.field(field).map_or(0, |parts| count(parts, name));
    let cache_read = within("prompt_tokens_details", "cached_tokens");
    let cache_write = within("prompt_tokens_details", "cache_write_tokens");
    let reasoning = within("completion_tokens_details", "reasoning_tokens");
    let both = prompt.saturating_add(written);
    // Some servers count reasoning apart from the answer; their total tells.
    let apart = count(usage, "total_tokens").saturating_sub(both);
    Usage {
        input: prompt.saturating_sub(cache_read).saturating_sub(cache_write),
        output: if 0 < reasoning && reasoning <= apart {
            written
        } else {
            written.saturating_sub(reasoning)
        },
        cache_read,
        cache_write,
        reasoning,
        is_estimate: false,
    }
}

/// The fields of a completion's usage that have no place in [`Usage`].
pub fn extras_of_completion(usage: Raw<'_>, sink: &mut Sink<'_>) {
    if sink.extras() == Extras::Dropped {
        return;
    }
    for (name, value) in usage.fields() {
        if !READ.contains(&&*name) {
            sink.extra("usage", &name, value);
        }
    }
}

/// A count; 0 if it is missing, or not one.
pub fn count(counts: Raw<'_>, name: &str) -> u64 {
    counts.field(name).and_then(Raw::count).unwrap_or(0)
}
