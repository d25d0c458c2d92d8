//! `dynamo-parsers`: whole texts, and a stream that holds a call back until it is whole.

use std::sync::LazyLock;

use dynamo_parsers::tool_calling::jail::{Annotated, JailedStream};
use dynamo_parsers::tool_calling::{ToolDefinition, try_tool_call_parse_aggregate_finalize};
use dynamo_protocols::types::{
    ChatChoiceStream, ChatCompletionMessageContent, ChatCompletionStreamResponseDelta,
    CreateChatCompletionStreamResponse, FinishReason, Role,
};
use futures::StreamExt;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::{Call, Pieces, arguments, harmony_tokens, looked_up};

const PARSERS: &[(&str, &str)] = &[
    ("hermes", "hermes"),
    ("qwen3-coder", "qwen3_coder"),
    ("gemma4", "gemma4"),
    ("minimax-m2", "minimax_m2"),
    ("minimax-m3", "minimax_m3"),
    ("glm45", "glm47"),
    ("glm47", "glm47"),
    ("kimi-k2", "kimi_k2"),
    ("kimi-k3", "kimi_k3"),
    ("deepseek-v3", "deepseek_v3"),
    ("deepseek-v31", "deepseek_v3_1"),
    ("deepseek-v32-dsml", "deepseek_v3_2"),
    ("deepseek-v4-dsml", "deepseek_v4"),
    ("llama3-json", "llama3_json"),
    ("pythonic", "pythonic"),
    ("mistral", "mistral"),
    ("harmony", "harmony"),
    ("phi4", "phi4"),
    ("jamba", "jamba"),
];

type Chunk = Annotated<CreateChatCompletionStreamResponse>;

/// Harmony's tokens are loaded on one of its threads.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(1).build().expect("a runtime"));

fn parser(dialect: &str) -> Option<&'static str> {
    looked_up(PARSERS, dialect).filter(|name| *name != "harmony" || harmony_tokens())
}

fn definitions(tools: &[Value]) -> Vec<ToolDefinition> {
    let tool = |tool: &Value| ToolDefinition {
        name: tool["function"]["name"].as_str().expect("a tool has a name").to_owned(),
        parameters: tool["function"].get("parameters").cloned(),
        strict: None,
    };
    tools.iter().map(tool).collect()
}

/// See [`crate::Peer::calls`].
pub fn calls(dialect: &str, text: &str, tools: &[Value]) -> Option<Vec<Call>> {
    let (parser, tools) = (parser(dialect)?, definitions(tools));
    let read = try_tool_call_parse_aggregate_finalize(text, Some(parser), Some(&tools));
    let (calls, _) = RUNTIME.block_on(read).unwrap_or_default();
    Some(
        calls
            .into_iter()
            .map(|call| (call.function.name, arguments(&call.function.arguments)))
            .collect(),
    )
}

/// See [`crate::Peer::stream`].
pub fn stream(dialect: &str, chunks: &[&str], tools: &[Value]) -> Option<Vec<Call>> {
    let (parser, tools) = (parser(dialect)?, definitions(tools));
    let mut builder = JailedStream::builder().tool_call_parser(parser);
    if !tools.is_empty() {
        builder = builder.tool_definitions(tools);
    }
    let ends = [chunk(None)];
    let given: Vec<Chunk> =
        chunks.iter().map(|text| chunk(Some((*text).to_owned()))).chain(ends).collect();
    let read = builder.build().apply(futures::stream::iter(given)).collect::<Vec<Chunk>>();
    let mut pieces = Pieces::default();
    for chunk in RUNTIME.block_on(read) {
        let choice = chunk.data.and_then(|data| data.choices.into_iter().next());
        for call in choice.and_then(|choice| choice.delta.tool_calls).unwrap_or_default() {
            let function = call.function.unwrap_or_default();
            let index = usize::try_from(call.index).expect("an index");
            pieces.add(index, function.name.as_deref(), &function.arguments.unwrap_or_default());
        }
    }
    Some(pieces.calls())
}

/// A chunk as servers send it; without text it is the last.
fn chunk(text: Option<String>) -> Chunk {
    let finish_reason = text.is_none().then_some(FinishReason::Stop);
    let delta = ChatCompletionStreamResponseDelta {
        role: Some(Role::Assistant),
        content: text.map(ChatCompletionMessageContent::Text),
        tool_calls: None,
        function_call: None,
        refusal: None,
        reasoning_content: None,
    };
    let data = CreateChatCompletionStreamResponse {
        id: String::new(),
        choices: vec![ChatChoiceStream { index: 0, delta, finish_reason, logprobs: None }],
        created: 0,
        model: String::new(),
        system_fingerprint: None,
        object: "chat.completion.chunk".to_owned(),
        usage: None,
        service_tier: None,
    };
    Chunk { data: Some(data), id: None, event: None, comment: None, error: None }
}
