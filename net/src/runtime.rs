//! The runtime of this process.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

use super::per_process::PerProcess;

/// Threads that resolve names and read certificates, which waits. A look-up that hangs keeps its thread, so there are many; each is
/// begun when it is needed, and ends when it is not.
const RESOLVERS: usize = 64;

/// The runtime of this process, made at the first request. It lives as long as the process: nothing waits for it at the end.
///
/// # Errors
/// The system has no thread left.
pub fn handle() -> io::Result<&'static Handle> {
    static RUNTIME: PerProcess<Runtime> = PerProcess::new();
    let runtime = RUNTIME.get_or_make(|| {
        Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(RESOLVERS)
            .thread_name("cogency-rs-net")
            .enable_io()
            .enable_time()
            .build()
    })?;
    Ok(runtime.handle())
}
