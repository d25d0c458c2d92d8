//! What a batch of Python's async callables costs on Tokio, with callables that do nothing, and what the bare `into_future` of
//! pyo3-async-runtimes costs for as many: a task for each, whose coroutine is made and awaited, and whose results are put in call order.
//! `benches/python_tools.py` has the batch of the wheel, on asyncio.

use cogency_agent::execution::{BatchOptions, Toolbox, execute};
use cogency_agent::python::LoopThread;
use cogency_rs::protocol::Call;
use divan::Bencher;
use pyo3::prelude::*;
use pyo3_async_runtimes::{TaskLocals, into_future_with_locals};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

const COUNTS: [usize; 4] = [1, 8, 64, 1000];
const THREADS: [usize; 2] = [1, 2];

fn main() {
    Python::initialize();
    divan::main();
}

/// The program's runtime: one that runs on its own thread, or one with threads.
fn runtime(threads: usize) -> Runtime {
    let runtime = match threads {
        1 => Builder::new_current_thread().build(),
        _ => Builder::new_multi_thread().worker_threads(threads).build(),
    };
    runtime.expect("the system gives threads")
}

/// A loop on a thread of its own, and a callable that does nothing.
fn started() -> (LoopThread, Py<PyAny>, TaskLocals) {
    Python::attach(|py| {
        let asyncio = LoopThread::start(py)?;
        let module =
            PyModule::from_code(py, c"async def nothing(): pass", c"nothing.py", c"nothing")?;
        let locals = asyncio.event_loop().locals().clone();
        Ok::<_, PyErr>((asyncio, module.getattr("nothing")?.unbind(), locals))
    })
    .expect("the system gives a thread")
}

#[divan::bench(args = COUNTS, consts = THREADS)]
fn batch<const N: usize>(bencher: Bencher, count: usize) {
    let (runtime, (asyncio, nothing, _)) = (runtime(N), started());
    let tool = Python::attach(|py| asyncio.event_loop().tool(nothing.bind(py)));
    let tools = Toolbox::of([tool.expect("it has a name")]).expect("there is one");
    let options = BatchOptions::new();
    let calls = || vec![Call::of_json("\"nothing\"", "{}"); count];
    bencher.with_inputs(calls).bench_local_values(|calls| {
        let (tools, options) = (tools.clone(), options.clone());
        let batch = runtime.spawn(async move { execute(calls, &tools, &options).await });
        runtime.block_on(batch).expect("it does not panic")
    });
    asyncio.close();
}

#[divan::bench(args = COUNTS, consts = THREADS)]
fn into_future<const N: usize>(bencher: Bencher, count: usize) {
    async fn run(
        calls: Vec<Call>,
        nothing: Py<PyAny>,
        locals: TaskLocals,
    ) -> Vec<Option<Py<PyAny>>> {
        let (mut tasks, mut results) = (JoinSet::new(), Vec::with_capacity(calls.len()));
        results.resize_with(calls.len(), || None);
        for index in 0..calls.len() {
            let (nothing, locals) = (Python::attach(|py| nothing.clone_ref(py)), locals.clone());
            tasks.spawn(async move {
                let future = Python::attach(|py| {
                    into_future_with_locals(&locals, nothing.bind(py).call0()?)
                });
                (index, future.expect("the loop runs").await.expect("it does not raise"))
            });
        }
        while let Some(joined) = tasks.join_next().await {
            let (index, result) = joined.expect("it does not panic");
            results[index] = Some(result);
        }
        results
    }

    let (runtime, (asyncio, nothing, locals)) = (runtime(N), started());
    let calls = || vec![Call::of_json("\"nothing\"", "{}"); count];
    bencher.with_inputs(calls).bench_local_values(|calls| {
        let nothing = Python::attach(|py| nothing.clone_ref(py));
        let task = runtime.spawn(run(calls, nothing, locals.clone()));
        runtime.block_on(task).expect("it does not panic")
    });
    asyncio.close();
}
