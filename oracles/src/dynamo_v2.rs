//! `dynamo-parsers-v2`: made for streams; a whole text is one chunk.

use dynamo_parsers_v2::{
    Tool, ToolParseResult, ToolParser, UnifiedEvent, UnifiedParser, UnifiedParserOutput,
    create_tool_parser_for_family, create_unified_parser_for_family,
};
use serde_json::Value;

use crate::{Call, arguments, harmony_tokens, looked_up};

const FAMILIES: &[(&str, &str)] = &[
    ("qwen3-coder", "qwen3_coder"),
    ("gemma4", "gemma4"),
    ("minimax-m2", TOOLS_ONLY),
    ("minimax-m3", "minimax_m3"),
    ("glm45", "glm47"),
    ("glm47", "glm47"),
    ("kimi-k2", "kimi_k2"),
    ("kimi-k3", "kimi_k3"),
    ("deepseek-v4-dsml", "deepseek_v4"),
    ("deepseek-v41-dsml", "deepseek_v41"),
    ("harmony", "harmony"),
];

/// The one family whose parser knows calls, but not reasoning.
const TOOLS_ONLY: &str = "minimax_m2";

/// A parser of either kind.
pub enum Parser {
    /// One that knows reasoning, text and calls.
    Unified(Box<dyn UnifiedParser>, UnifiedParserOutput),
    /// One that knows text and calls.
    Tools(Box<dyn ToolParser>, ToolParseResult),
}

/// A new parser for the dialect.
pub fn parser(dialect: &str, tools: &[Tool]) -> Option<Parser> {
    let family = looked_up(FAMILIES, dialect)?;
    if family == "harmony" && !harmony_tokens() {
        return None;
    }
    Some(if family == TOOLS_ONLY {
        let parser = create_tool_parser_for_family(family, tools).expect("a parser");
        Parser::Tools(parser, ToolParseResult::default())
    } else {
        let mut parser = create_unified_parser_for_family(family, tools).expect("a parser");
        parser.initialize(&[]).expect("a parser that knows no prompt");
        Parser::Unified(parser, UnifiedParserOutput::default())
    })
}

impl Parser {
    /// Takes a chunk. Text that the peer refuses is lost, as it is on a server.
    pub fn feed(&mut self, chunk: &str) {
        match self {
            Self::Unified(parser, read) => drop(parser.parse_into(chunk, read)),
            Self::Tools(parser, read) => read.append(parser.push(chunk).unwrap_or_default()),
        }
    }

    /// Ends the stream.
    pub fn end(&mut self) {
        match self {
            Self::Unified(parser, read) => read.append(&mut parser.finish().unwrap_or_default()),
            Self::Tools(parser, read) => read.append(parser.finish().unwrap_or_default()),
        }
    }

    /// The calls that were read.
    pub fn into_calls(self) -> Vec<Call> {
        match self {
            Self::Unified(_, read) => {
                let call = |event| match event {
                    UnifiedEvent::ToolCall { name, arguments } => Some((name, arguments)),
                    _ => None,
                };
                read.assembled().into_iter().filter_map(call).collect()
            }
            Self::Tools(_, read) => {
                let call = |call: dynamo_parsers_v2::ToolCallDelta| {
                    (call.name.unwrap_or_default(), arguments(&call.arguments))
                };
                read.coalesce_calls().calls.into_iter().map(call).collect()
            }
        }
    }
}

/// The tools as this peer takes them.
pub fn tools(tools: &[Value]) -> Vec<Tool> {
    let tool = |tool: &Value| Tool {
        name: tool["function"]["name"].as_str().expect("a tool has a name").to_owned(),
        description: None,
        parameters: tool["function"]["parameters"].clone(),
        strict: None,
    };
    tools.iter().map(tool).collect()
}

/// See [`crate::Peer::calls`].
pub fn calls(dialect: &str, text: &str, tools: &[Value]) -> Option<Vec<Call>> {
    stream(dialect, &[text], tools)
}

/// See [`crate::Peer::stream`].
pub fn stream(dialect: &str, chunks: &[&str], given: &[Value]) -> Option<Vec<Call>> {
    let mut parser = parser(dialect, &tools(given))?;
    for chunk in chunks {
        parser.feed(chunk);
    }
    parser.end();
    Some(parser.into_calls())
}
