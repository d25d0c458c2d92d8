//! What the prompts of each row of the table look like, and at which strings a server is to stop.
//!
//! A server is to stop where the model's turn ends, and at what only the system writes; never at a mark that closes a call,
//! which may stand in an argument.

mod forms;
mod head;
mod json;
mod parameters;

use super::Prompt;
use forms::turn;

/// The prompts of the row of this name.
pub fn prompt(name: &str) -> Prompt {
    let own =
        json::prompt(name).or_else(|| head::prompt(name)).or_else(|| parameters::prompt(name));
    let turn = turn("", "", ["\n", "\n", "\n"]);
    own.unwrap_or_else(|| Prompt { turn, ..Prompt::default() })
}

/// At which strings a server is to stop that runs a model of this row. Empty for forge's two: any model may write them, so
/// they end no turn, and their results begin with plain words, which an answer may hold.
pub fn stop(name: &str) -> &'static [&'static str] {
    match name {
        "cogency" => &["<results>"],
        "json-plain" => &["<tool_response>"],
        "hermes" | "qwen3-coder" | "mimo" => &["<|im_end|>", "<tool_response>"],
        "llama3-json" | "functionary-v31" => &["<|eot_id|>", "<|eom_id|>"],
        "react" | "react-json" => &["\nObservation:"],
        "mistral" | "mistral-v11" => &["</s>", "[TOOL_RESULTS]"],
        "cohere" => &["<|END_OF_TURN_TOKEN|>", "<|START_TOOL_RESULT|>"],
        "granite" => &["<|end_of_text|>"],
        "deepseek-v3" => &["<｜end▁of▁sentence｜>", "<｜tool▁outputs▁begin｜>"],
        "deepseek-v31" => &["<｜end▁of▁sentence｜>", "<｜tool▁output▁begin｜>"],
        "deepseek-v32-dsml" | "deepseek-v4-dsml" | "deepseek-v41-dsml" => {
            &["<｜end▁of▁sentence｜>", "<function_results>"]
        }
        "kimi-k2" | "olmo3" => &["<|im_end|>"],
        "gemma4" => &["<turn|>", "<|tool_response>"],
        "functiongemma" => &["<end_of_turn>", "<start_function_response>"],
        "glm45" | "glm47" => &["<|observation|>", "<|user|>"],
        "minimax-m2" | "minimax-m3" => &["[e~["],
        "anthropic" => &["<function_results>"],
        "harmony" | "beam-rfl" => &["<|call|>", "<|return|>"],
        "muse-glimmer" => &["<|eot|>"],
        "kimi-k3" => &["<|end_of_msg|>"],
        "lfm2" => &["<|im_end|>", "<|tool_response_start|>"],
        "pythonic" => &["<|eot|>", "<|eom|>"],
        _ => &[],
    }
}
