//! `tool-parser`, the parser of the SMG gateway.

use std::sync::LazyLock;

use futures::executor::block_on;
use openai_protocol::common::Tool;
use serde_json::Value;
use tool_parser::{ParserFactory, ToolParser};

use crate::{Call, Pieces, arguments, looked_up};

const PARSERS: &[(&str, &str)] = &[
    ("hermes", "qwen"),
    ("qwen3-coder", "qwen_xml"),
    ("gemma4", "gemma4"),
    ("minimax-m2", "minimax_m2"),
    ("minimax-m3", "minimax_m3"),
    ("glm45", "glm45_moe"),
    ("glm47", "glm47_moe"),
    ("kimi-k2", "kimik2"),
    ("kimi-k3", "kimi_k3"),
    ("deepseek-v3", "deepseek"),
    ("deepseek-v31", "deepseek31"),
    ("deepseek-v32-dsml", "deepseek32"),
    ("deepseek-v4-dsml", "deepseek_v4"),
    ("deepseek-v41-dsml", "deepseek_v41"),
    ("llama3-json", "llama"),
    ("pythonic", "pythonic"),
    ("mistral", "mistral"),
    ("cohere", "cohere"),
];

static FACTORY: LazyLock<ParserFactory> = LazyLock::new(ParserFactory::new);

/// A new parser for the dialect.
pub fn parser(dialect: &str) -> Option<Box<dyn ToolParser>> {
    let name = looked_up(PARSERS, dialect)?;
    Some(FACTORY.registry().create_parser(name).expect("the table names its parsers"))
}

/// The tools as this peer takes them.
pub fn tools(tools: &[Value]) -> Vec<Tool> {
    let tool = |tool: &Value| serde_json::from_value(tool.clone()).expect("a tool");
    tools.iter().map(tool).collect()
}

/// See [`crate::Peer::calls`].
pub fn calls(dialect: &str, text: &str, given: &[Value]) -> Option<Vec<Call>> {
    let parser = parser(dialect)?;
    let read = block_on(parser.parse_complete_with_tools(text, &tools(given)));
    let (_, calls) = read.unwrap_or_default();
    let call =
        |call: tool_parser::ToolCall| (call.function.name, arguments(&call.function.arguments));
    Some(calls.into_iter().map(call).collect())
}

/// See [`crate::Peer::stream`].
pub fn stream(dialect: &str, chunks: &[&str], given: &[Value]) -> Option<Vec<Call>> {
    let (mut parser, tools) = (parser(dialect)?, tools(given));
    let mut pieces = Pieces::default();
    for chunk in chunks {
        let read = block_on(parser.parse_incremental(chunk, &tools)).unwrap_or_default();
        for call in read.calls {
            pieces.add(call.tool_index, call.name.as_deref(), &call.parameters);
        }
    }
    for call in parser.get_unstreamed_tool_args().unwrap_or_default() {
        pieces.add(call.tool_index, call.name.as_deref(), &call.parameters);
    }
    Some(pieces.calls())
}
