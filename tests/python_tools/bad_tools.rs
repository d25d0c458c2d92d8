//! Tools that do what they should not: each ends its own call, and nothing else.

use std::time::Duration;

use cogency_agent::execution::{Batch, BatchOptions, CallStatus, Toolbox, execute};
use pyo3::prelude::*;
use tokio::task::yield_now;

use crate::support::{
    Journal, LoopOfTest, answered, calls, failure, in_python, made, on_tokio, own_loop,
    tools_module,
};

#[test]
fn no_exception_ends_the_loop() {
    let asyncio = LoopOfTest::start();
    let failed = "Tool execution failed: ";
    for (name, why) in [
        ("leave", "the tool asked the program to exit with 3"),
        ("leave_in_thread", "the tool asked the program to exit with 3"),
        ("interrupt", "interrupted"),
        ("break_out", "BaseException: out"),
        ("cancel_itself", "the tool cancelled itself"),
    ] {
        let tools = Toolbox::of([asyncio.tool(name), asyncio.tool("echo")]);
        let tools = tools.expect("each has a name of its own");
        let calls = calls([(name, "{}"), ("echo", r#"{"value": 1}"#)]);
        let executions = on_tokio(execute(calls, &tools, &BatchOptions::new()));
        assert_eq!(failure(&executions[0]), format!("{failed}{why}"));
        assert_eq!(answered(&executions[1..]), [1]);
    }
}

#[test]
fn a_coroutine_is_not_awaited_twice() {
    let asyncio = LoopOfTest::start();
    let again = in_python(|py| {
        let again = tools_module(py).getattr("same_coroutine")?.call0()?;
        asyncio.event_loop().async_tool(&again)
    });
    let tools = Toolbox::of([again]).expect("there is one");
    let options = BatchOptions::new().with_concurrency(1.try_into().expect("one"));
    let executions = on_tokio(execute(calls([("again", "{}"); 2]), &tools, &options));
    assert_eq!(answered(&executions[..1]), [3]);
    let why = "RuntimeError: cannot reuse already awaited coroutine";
    assert_eq!(failure(&executions[1]), format!("Tool execution failed: {why}"));
}

#[test]
fn what_is_no_awaitable_fails_its_call() {
    let asyncio = LoopOfTest::start();
    let tool = in_python(|py| {
        asyncio.event_loop().async_tool(&tools_module(py).getattr("echo_in_thread")?)
    });
    let tools = Toolbox::of([tool]).expect("there is one");
    let executions =
        on_tokio(execute(calls([("echo_in_thread", "{}")]), &tools, &BatchOptions::new()));
    let why = "TypeError: what the tool returns must be an awaitable, not NoneType";
    assert_eq!(failure(&executions[0]), format!("Tool execution failed: {why}"));
}

#[test]
fn a_callable_without_a_name_is_refused() {
    let asyncio = LoopOfTest::start();
    in_python(|py| {
        let partial = py.import("functools")?.getattr("partial")?;
        let nameless = partial.call1((tools_module(py).getattr("add")?,))?;
        let error = asyncio.event_loop().tool(&nameless).expect_err("it has no name");
        assert!(error.is_instance_of::<pyo3::exceptions::PyAttributeError>(py), "{error}");
        Ok(())
    });
}

#[test]
fn a_tool_that_never_ends_is_over_when_its_batch_is_cancelled() {
    let (asyncio, journal) = (LoopOfTest::start(), Journal::new());
    let tools = Toolbox::of([asyncio.made("waiting", &journal)]).expect("there is one");
    on_tokio(async {
        let mut batch = Batch::new(tools, BatchOptions::new());
        batch.complete(calls([("wait", r#"{"name": "a"}"#)]));
        journal.wait_for("a began").await;
        batch.cancel();
        let executions = batch.join().await;
        assert_eq!(failure(&executions[0]), "Cancelled");
        journal.wait_for("a was cancelled").await;
    });
}

#[test]
fn a_tool_that_goes_on_though_it_is_cancelled_holds_up_nobody() {
    let (asyncio, journal) = (LoopOfTest::start(), Journal::new());
    let tools = Toolbox::of([asyncio.made("stubborn", &journal), asyncio.tool("echo")]);
    let tools = tools.expect("each has a name of its own");
    let options = BatchOptions::new().with_call_timeout(Duration::from_secs(1));
    let calls = calls([("wait", r#"{"name": "a"}"#), ("echo", r#"{"value": 1}"#)]);
    let executions = on_tokio(execute(calls, &tools, &options));
    assert_eq!(executions[0].status, CallStatus::Timeout);
    assert_eq!(answered(&executions[1..]), [1]);
    on_tokio(journal.wait_for("a was cancelled"));
    // The loop's thread is left to the tool: `close` would wait for it.
    std::mem::forget(asyncio);
}

#[test]
fn a_tool_that_blocks_its_thread_holds_up_only_its_loop() {
    let (blocked, free) = (LoopOfTest::start(), LoopOfTest::start());
    let journal = Journal::new();
    let (gate, block) = in_python(|py| {
        let gate = py.import("threading")?.call_method0("Event")?;
        let block = tools_module(py).getattr("blocking")?.call1((journal.0.bind(py), &gate))?;
        Ok((gate.unbind(), blocked.event_loop().tool(&block)?))
    });
    let options = BatchOptions::new().with_call_timeout(Duration::from_secs(1));
    let tools = Toolbox::of([block, blocked.tool("echo")]).expect("each has a name of its own");
    let others = Toolbox::of([free.tool("add")]).expect("there is one");
    on_tokio(async {
        let mut batch = Batch::new(tools.clone(), options.clone());
        batch.complete(calls([("block", r#"{"name": "a"}"#), ("echo", "{}")]));
        journal.wait_for("a began").await;
        let adds = calls([("add", r#"{"a": 1, "b": 2}"#)]);
        assert_eq!(answered(&execute(adds, &others, &options).await), [3]);
        // Their time is up, though the loop cannot see it.
        let executions = batch.join().await;
        assert_eq!(executions[0].status, CallStatus::Timeout);
        assert_eq!(executions[1].status, CallStatus::Timeout);
        in_python(|py| gate.call_method0(py, "set").map(drop));
        let echo = calls([("echo", r#"{"value": 1}"#)]);
        assert_eq!(answered(&execute(echo, &tools, &BatchOptions::new()).await), [1]);
    });
}

#[test]
fn a_call_that_is_given_up_before_it_began_is_never_made() {
    let ((event_loop, asyncio), journal) = (own_loop(), Journal::new());
    let tool = in_python(|py| made(&asyncio, py, "waiting", &journal));
    let tools = Toolbox::of([tool]).expect("there is one");
    on_tokio(async {
        let mut batch = Batch::new(tools, BatchOptions::new());
        batch.complete(calls([("wait", r#"{"name": "a"}"#)]));
        while in_python(|py| event_loop.getattr(py, "_ready")?.bind(py).is_empty()) {
            yield_now().await; // the call is put into the queue of the loop, which does not run yet
        }
        batch.cancel();
        assert_eq!(failure(&batch.join().await[0]), "Cancelled");
    });
    in_python(|py| {
        let event_loop = event_loop.bind(py);
        event_loop.call_method1("call_soon", (event_loop.getattr("stop")?,))?;
        event_loop.call_method0("run_forever")?;
        event_loop.call_method0("close").map(drop)
    });
    assert_eq!(journal.lines(), [""; 0]);
}
