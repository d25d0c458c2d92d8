//! What runs the tools ends under a batch: the loop, the interpreter, or the process by a fork. Every call still has a result.

use std::process::Command;
use std::time::Duration;

use cogency_agent::execution::{Batch, BatchOptions, Toolbox, execute};
use cogency_agent::python::{EventLoop, LoopThread};
use pyo3::prelude::*;
use pyo3_async_runtimes::TaskLocals;
use tokio::runtime::Builder;

use crate::support::{
    Journal, LoopOfTest, answered, calls, failure, in_python, made, on_tokio, own_loop,
    tools_module,
};

const CLOSED: &str = "Tool execution failed: its event loop was closed";
const ENDED: &str = "Tool execution failed: the Python interpreter has ended";

#[test]
fn a_thread_that_is_closed_ends_its_calls() {
    let journal = Journal::new();
    let asyncio = in_python(LoopThread::start);
    let tool = in_python(|py| made(asyncio.event_loop(), py, "waiting", &journal));
    let tools = Toolbox::of([tool]).expect("there is one");
    on_tokio(async {
        let mut batch = Batch::new(tools.clone(), BatchOptions::new());
        batch.complete(calls([("wait", r#"{"name": "a"}"#)]));
        journal.wait_for("a began").await;
        asyncio.close();
        assert_eq!(failure(&batch.join().await[0]), CLOSED);
        journal.wait_for("a was cancelled").await;
        let later = execute(calls([("wait", "{}")]), &tools, &BatchOptions::new()).await;
        assert_eq!(failure(&later[0]), CLOSED);
    });
}

#[test]
fn a_loop_that_is_closed_by_others_ends_its_calls() {
    let (event_loop, asyncio) = own_loop();
    let journal = Journal::new();
    // What it awaits is held by the tool, so that its coroutine outlives the loop.
    let tool = in_python(|py| made(&asyncio, py, "stubborn", &journal));
    let tools = Toolbox::of([tool]).expect("there is one");
    on_tokio(async {
        let mut batch = Batch::new(tools.clone(), BatchOptions::new());
        batch.complete(calls([("wait", r#"{"name": "a"}"#)]));
        let run = in_python(|py| Ok(event_loop.clone_ref(py)));
        let run = tokio::task::spawn_blocking(move || {
            in_python(|py| run.call_method0(py, "run_forever").map(drop));
        });
        journal.wait_for("a began").await;
        in_python(|py| {
            let stop = event_loop.getattr(py, "stop")?;
            event_loop.call_method1(py, "call_soon_threadsafe", (stop,)).map(drop)
        });
        run.await.expect("it stops");
        in_python(|py| event_loop.call_method0(py, "close").map(drop));
        assert_eq!(failure(&batch.join().await[0]), CLOSED);
    });
}

#[test]
fn a_loop_that_is_closed_before_it_ran_ends_its_calls() {
    let (event_loop, asyncio) = own_loop();
    let tools = in_python(|py| asyncio.tool(&tools_module(py).getattr("echo")?));
    let tools = Toolbox::of([tools]).expect("there is one");
    on_tokio(async {
        let mut batch = Batch::new(tools.clone(), BatchOptions::new());
        batch.complete(calls([("echo", "{}")]));
        tokio::task::yield_now().await;
        in_python(|py| event_loop.call_method0(py, "close").map(drop));
        assert_eq!(failure(&batch.join().await[0]), CLOSED);
        let later = execute(calls([("echo", "{}")]), &tools, &BatchOptions::new()).await;
        assert_eq!(failure(&later[0]), CLOSED);
    });
}

#[test]
fn a_loop_is_free_once_nobody_has_tools_on_it() {
    in_python(|py| {
        let event_loop = py.import("asyncio")?.call_method0("new_event_loop")?;
        let tools = EventLoop::of(py, &TaskLocals::new(event_loop.clone()))?;
        let gone = py.import("weakref")?.call_method1("ref", (&event_loop,))?;
        let tool = tools.tool(&tools_module(py).getattr("echo")?)?;
        drop((tool, tools));
        event_loop.call_method0("close")?;
        drop(event_loop);
        py.import("gc")?.call_method0("collect")?;
        assert!(gone.call0()?.is_none());
        Ok(())
    });
}

/// Runs a test that is ignored otherwise in a process of its own, which has no other threads.
pub fn in_a_process(test: &str) {
    let program = std::env::current_exe().expect("the test runs");
    let ran = Command::new(program)
        .args(["--exact", test, "--ignored", "--test-threads=1"])
        .output()
        .expect("it can be run once more");
    let (said, warned) =
        (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && said.contains("1 passed"), "{}\n{said}\n{warned}", ran.status);
}

#[test]
fn an_interpreter_that_ends_ends_its_calls() {
    in_a_process("ends::the_interpreter_ends");
}

#[test]
#[ignore = "it ends the interpreter; run by the test above in a process of its own"]
fn the_interpreter_ends() {
    let (asyncio, journal) = (in_python(LoopThread::start), Journal::new());
    let tool = in_python(|py| made(asyncio.event_loop(), py, "waiting", &journal));
    let threaded =
        in_python(|py| asyncio.event_loop().tool(&tools_module(py).getattr("echo_in_thread")?));
    let tools = Toolbox::of([tool, threaded]).expect("each has a name of its own");
    on_tokio(async {
        let mut batch = Batch::new(tools.clone(), BatchOptions::new());
        batch.complete(calls([("wait", r#"{"name": "a"}"#)]));
        journal.wait_for("a began").await;
        // SAFETY: this thread is attached to the interpreter, as this call requires, and does not touch Python after it:
        // it is not detached, since nothing is left to be detached from.
        unsafe {
            let _ = pyo3::ffi::PyGILState_Ensure();
            assert_eq!(pyo3::ffi::Py_FinalizeEx(), 0);
        }
        assert_eq!(failure(&batch.join().await[0]), ENDED);
        for name in ["wait", "echo_in_thread"] {
            let later = execute(calls([(name, "{}")]), &tools, &BatchOptions::new()).await;
            assert_eq!(failure(&later[0]), ENDED);
        }
        drop((tools, asyncio, journal));
    });
}

#[test]
#[cfg(unix)]
fn a_fork_makes_a_loop_of_its_own() {
    in_a_process("ends::the_process_forks");
}

#[test]
#[cfg(unix)]
#[ignore = "it forks; run by the test above in a process of its own"]
fn the_process_forks() {
    let asyncio = LoopOfTest::start();
    let tools = Toolbox::of([asyncio.tool("echo")]).expect("there is one");
    let echo = || calls([("echo", r#"{"value": 1}"#)]);
    let options = BatchOptions::new().with_call_timeout(Duration::from_secs(60));
    assert_eq!(answered(&on_tokio(execute(echo(), &tools, &options))), [1]);
    in_python(|py| {
        let os = py.import("os")?;
        let child: i32 = os.call_method0("fork")?.extract()?;
        if child == 0 {
            let in_the_child = std::panic::AssertUnwindSafe(|| {
                let runtime = Builder::new_current_thread().enable_time().build();
                let runtime = runtime.expect("the system gives a runtime");
                let refused = runtime.block_on(execute(echo(), &tools, &options));
                let why = format!(
                    "its event loop belongs to the process {}; after a fork, make another",
                    std::os::unix::process::parent_id()
                );
                assert_eq!(failure(&refused[0]), format!("Tool execution failed: {why}"));
                let own = LoopOfTest::start_attached(py);
                let tools = Toolbox::of([own.tool("echo")]).expect("there is one");
                let answers = py.detach(|| runtime.block_on(execute(echo(), &tools, &options)));
                assert_eq!(answered(&answers), [1]);
                drop(own);
            });
            let failed = std::panic::catch_unwind(in_the_child).is_err();
            os.call_method1("_exit", (i32::from(failed),))?;
        }
        let (_, status): (i32, i32) = os.call_method1("waitpid", (child, 0))?.extract()?;
        assert_eq!(status, 0, "the child says why in its output");
        Ok(())
    });
    assert_eq!(answered(&on_tokio(execute(echo(), &tools, &options))), [1]);
}
