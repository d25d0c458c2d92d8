//! One attempt of a call, as a Tokio task runs it.

use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::task::{AbortHandle, spawn_blocking};

use super::output::{ToolError, ToolOutput};
use super::tool::{Invocation, Tool, Work};

/// How an attempt ended, if it was neither stopped nor panicked.
pub type Returned = Result<ToolOutput, ToolError>;

/// Runs one attempt. The tool is started here, in the call's task, so that a panic at its very start is the call's own.
pub async fn run(tool: Arc<dyn Tool>, invocation: Invocation) -> Returned {
    match tool.start(invocation) {
        Work::Async(future) => future.await,
        Work::Blocking(function) => {
            let thread = spawn_blocking(function);
            let _stopped = StopOnDrop(thread.abort_handle());
            match thread.await {
                Ok(returned) => returned,
                Err(error) => match error.try_into_panic() {
                    Ok(payload) => resume_unwind(payload),
                    Err(_) => Err(ToolError::new("the runtime was shut down before it began")),
                },
            }
        }
    }
}

/// Keeps a function that still waits for a thread from beginning, once nobody wants its result.
struct StopOnDrop(AbortHandle);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
