//! One attempt of a call, as a Tokio task runs it.

use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::task::{JoinHandle, spawn_blocking};

use super::output::{ToolError, ToolOutput};
use super::tool::{Invocation, Tool, Work};

/// How an attempt ended, if it was neither stopped nor panicked.
pub type Returned = Result<ToolOutput, ToolError>;

/// One attempt; gives the call's index in its batch, and what the tool returned.
///
/// The tool is started in the call's task, so that a panic at its very start is the call's own.
pub async fn attempt(
    index: usize,
    tool: Arc<dyn Tool>,
    invocation: Invocation,
) -> (usize, Returned) {
    let returned = match tool.start(invocation) {
        Work::Async(future) => future.await,
        Work::Blocking(function) => Thread(spawn_blocking(function)).returned().await,
    };
    (index, returned)
}

/// A function that blocks. One that still waits for a thread does not begin once nobody wants its result.
struct Thread(JoinHandle<Returned>);

impl Thread {
    async fn returned(mut self) -> Returned {
        match (&mut self.0).await {
            Ok(returned) => returned,
            Err(error) => match error.try_into_panic() {
                Ok(payload) => resume_unwind(payload),
                Err(_) => Err(ToolError::new("the runtime was shut down before it began")),
            },
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.0.abort();
    }
}
