//! Runs a batch of calls: `cargo run --bin executing`.

use std::num::NonZeroUsize;
use std::time::Duration;

use cogency_agent::execution::{
    BatchOptions, Effect, ToolError, Toolbox, blocking_tool, execute, tool,
};
use cogency_rs::protocol::Call;
use serde::Deserialize;

#[derive(Deserialize)]
struct Divide {
    a: i64,
    b: i64,
}

#[derive(Deserialize)]
struct Fetch {
    page: String,
}

#[derive(Deserialize)]
struct Read {
    path: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let divide = tool("divide", |Divide { a, b }| async move {
        a.checked_div(b).ok_or_else(|| ToolError::new("a number cannot be divided by zero"))
    });
    let fetch = tool("fetch", |Fetch { page }| async move {
        tokio::time::sleep(Duration::from_secs(60)).await; // a slow server
        Ok(page)
    });
    let fetch = fetch.with_timeout(Duration::from_millis(50));
    let fetch = fetch.with_effect(Effect::ReadOnly { retries: 1 });
    let read = blocking_tool("read", |Read { path }| Ok(std::fs::read_to_string(path)?));
    let tools = Toolbox::of([divide, fetch, read])?;

    let options = BatchOptions::new()
        .with_concurrency(NonZeroUsize::new(8).expect("eight"))
        .with_batch_timeout(Duration::from_secs(30));
    let calls = [
        ("divide", r#"{"a": 7, "b": 2}"#),
        ("divide", r#"{"a": 7, "b": 0}"#),
        ("divide", r#"{"a": "seven"}"#),
        ("fetch", r#"{"page": "a"}"#),
        ("read", r#"{"path": "/nowhere"}"#),
        ("unknown", "{}"),
    ];
    let calls = calls.map(|(name, args)| Call::of_json(&format!("\"{name}\""), args));
    for execution in execute(calls, &tools, &options).await {
        let (call, status) = (execution.call.json(), execution.status.name());
        println!("{call}\n  {status} after {}: {:?}", execution.attempts, execution.outcome);
    }
    Ok(())
}
