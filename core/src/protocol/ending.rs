//! How a model's text ended, and the one table of the words that providers have for it.

/// What a provider's word for the end of an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FinishKind {
    /// The model ended its answer.
    Whole,
    /// The model ended its answer with calls.
    Calls,
    /// The answer reached a limit of length: that of the output, or that of the context.
    Length,
    /// The model refused to answer, or its provider withheld what it wrote.
    Refused,
    /// The server or the provider ended the answer before the model did.
    Broken,
    /// The word is not in the table.
    Unknown,
}

use FinishKind::{Broken, Calls, Length, Refused, Unknown, Whole};

/// The words, in lower case: those of the providers (`OpenAI`, Anthropic, Gemini, Bedrock, Cohere, Mistral, `DeepSeek`, Zhipu) and
/// of servers (vLLM, `SGLang`, llama.cpp, Ollama, TGI).
const WORDS: [(FinishKind, &[&str]); 5] = [
    (
        Whole,
        &["stop", "end_turn", "stop_sequence", "eos", "eos_token", "word", "complete", "completed"],
    ),
    (Calls, &["tool_calls", "tool_call", "tool_use", "function_call"]),
    (
        Length,
        &[
            "length",
            "max_tokens",
            "max_output_tokens",
            "max_new_tokens",
            "model_length",
            "limit",
            "error_limit",
            "model_context_window_exceeded",
        ],
    ),
    (
        Refused,
        &[
            "content_filter",
            "content_filtered",
            "refusal",
            "safety",
            "image_safety",
            "recitation",
            "blocklist",
            "prohibited_content",
            "spii",
            "language",
            "guardrail_intervened",
            "error_toxic",
            "sensitive",
        ],
    ),
    (
        Broken,
        &[
            "abort",
            "cancelled",
            "error",
            "insufficient_system_resource",
            "load",
            "malformed_function_call",
            "malformed_model_output",
            "malformed_tool_use",
            "network_error",
            "pause_turn",
            "timeout",
            "too_many_tool_calls",
            "unexpected_tool_call",
            "unload",
            "user_cancel",
        ],
    ),
];

impl FinishKind {
    /// What a provider's word means, in any case.
    #[doc(hidden)]
    #[must_use]
    pub fn of_reason(reason: &str) -> Self {
        let reason = reason.to_ascii_lowercase();
        let row = WORDS.iter().find(|(_, words)| words.contains(&&*reason));
        row.map_or(Unknown, |(kind, _)| *kind)
    }

    /// Its name.
    #[doc(hidden)]
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Whole => "whole",
            Calls => "calls",
            Length => "length",
            Refused => "refused",
            Broken => "broken",
            Unknown => "unknown",
        }
    }
}

/// How a model's text ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// It is not known.
    #[default]
    Unknown,
    /// The model stopped by itself.
    Stopped,
    /// The answer reached its greatest length.
    Length,
    /// The answer was refused, for this reason.
    Refused(String),
    /// The stream broke off, for this reason.
    Broken(String),
}

impl Ending {
    /// The ending that a provider's finish reason means; [`Unknown`](Self::Unknown) for a reason that is not known.
    #[must_use]
    pub fn of_reason(reason: &str) -> Self {
        match FinishKind::of_reason(reason) {
            Whole | Calls => Self::Stopped,
            Length => Self::Length,
            Refused => Self::Refused(reason.to_owned()),
            Broken => Self::Broken(reason.to_owned()),
            Unknown => Self::Unknown,
        }
    }

    /// Whether text is missing at the end.
    #[doc(hidden)]
    #[must_use]
    pub fn is_cut(&self) -> bool {
        matches!(self, Self::Length | Self::Broken(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_s_finish_reason_tells_how_a_text_ended() {
        for (reason, ending) in [
            ("length", Ending::Length),
            ("MAX_TOKENS", Ending::Length),
            ("model_context_window_exceeded", Ending::Length),
            ("stop", Ending::Stopped),
            ("tool_use", Ending::Stopped),
            ("content_filter", Ending::Refused("content_filter".into())),
            ("SAFETY", Ending::Refused("SAFETY".into())),
            ("abort", Ending::Broken("abort".into())),
            ("something else", Ending::Unknown),
            ("", Ending::Unknown),
        ] {
            assert_eq!(Ending::of_reason(reason), ending, "{reason}");
        }
    }

    #[test]
    fn each_word_is_in_the_table_once_and_in_lower_case() {
        let mut words: Vec<_> = WORDS.iter().flat_map(|(_, words)| *words).collect();
        assert!(words.iter().all(|word| **word == word.to_ascii_lowercase()));
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
    }
}
