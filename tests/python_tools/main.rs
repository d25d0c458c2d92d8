//! Tools that are Python callables, awaited from Tokio: what each may do, and what its call then has as its result.

#![cfg(feature = "python")]

mod bad_tools;
#[path = "../batches/cases.rs"]
mod cases;
mod ends;
mod soak;
mod support;
mod table;

use std::num::NonZeroUsize;
use std::time::Duration;

use cogency_agent::execution::{BatchOptions, CallStatus, Effect, Toolbox, execute};
use pyo3::prelude::*;
use serde_json::{Value, json};
use support::{Journal, LoopOfTest, answered, calls, in_python, on_tokio, tools_module};

#[test]
fn coroutines_run_on_the_loop_and_functions_on_threads() {
    let asyncio = LoopOfTest::start();
    let tools = Toolbox::of([asyncio.tool("add"), asyncio.tool("add_in_thread")]);
    let tools = tools.expect("each has a name of its own");
    let calls = calls([("add", r#"{"a": 1, "b": 2}"#), ("add_in_thread", r#"{"b": 2, "a": 1}"#)]);
    let answers = answered(&on_tokio(execute(calls, &tools, &BatchOptions::new())));
    assert_eq!(answers, [json!(3), json!({"sum": 3, "is_on_loop": false})]);
}

#[test]
fn results_are_in_call_order_and_keep_to_limits() {
    let asyncio = LoopOfTest::start();
    let tools = Toolbox::of([asyncio.tool("echo")]).expect("there is one");
    let calls = (0..100).map(|n| ("echo", format!("{{\"value\": {n}}}")));
    let calls = support::calls(calls);
    let options = BatchOptions::new().with_concurrency(NonZeroUsize::new(3).expect("three"));
    let answers = answered(&on_tokio(execute(calls, &tools, &options)));
    assert_eq!(answers, (0..100).map(Value::from).collect::<Vec<_>>());
}

#[test]
fn values_are_the_same_on_both_sides() {
    let asyncio = LoopOfTest::start();
    let tools = Toolbox::of([asyncio.tool("echo"), asyncio.tool("echo_in_thread")]);
    let tools = tools.expect("each has a name of its own");
    for value in [
        r#""\u00e9 \ud83d\ude00 \u0000""#,
        r#"{"a": [1, -2.5, 1e+300, true, false, null, {}], "": "x"}"#,
        "123456789012345678901234567890",
        "[]",
        "\"\\ud800\"",
    ] {
        for name in ["echo", "echo_in_thread"] {
            let args = format!("{{\"value\": {value}}}");
            let executions =
                on_tokio(execute(calls([(name, &*args)]), &tools, &BatchOptions::new()));
            assert_eq!(support::content(&executions[0]), value, "{name}");
        }
    }
}

#[test]
fn a_result_is_what_the_package_makes_of_it() {
    let asyncio = LoopOfTest::start();
    for (name, args, expected) in [
        ("echo", "{}", r#"Ok(("", "\"Success\""))"#),
        ("report", "{}", r#"Ok(("\"one line\"", "[1, null]"))"#),
        ("report_failure", "{}", r#"Err("in its own words")"#),
        ("fail_in_own_words", "{}", r#"Err("Tool execution failed: it failed")"#),
        ("fail", r#"{"why": "no"}"#, r#"Err("Tool execution failed: ValueError: no")"#),
        ("fail", r#"{"why": ""}"#, r#"Err("Tool execution failed: ValueError")"#),
        (
            "fail_in_many_ways",
            "{}",
            "Err(\"Tool execution failed: ExceptionGroup: all of them (4 sub-exceptions): ValueError: 0; ValueError: 1; \
             ValueError: 2; OSError: 0; OSError: 1; and 2 more\")",
        ),
        (
            "fail",
            "{}",
            "Err(\"Tool execution failed: TypeError: fail() missing 1 required positional argument: 'why'\")",
        ),
        (
            "return_a_set",
            "{}",
            "Err(\"Tool execution failed: its content (set) is not a JSON value: Object of type set is not JSON serializable\")",
        ),
        (
            "return_nan",
            "{}",
            "Err(\"Tool execution failed: its content (dict) is not a JSON value: JSON has no NaN, but [\\\"a\\\"][1] is one\")",
        ),
        ("echo", "[1]", "Err(\"Invalid arguments for tool 'echo': they are not an object\")"),
    ] {
        let tools = Toolbox::of([asyncio.tool(name)]).expect("there is one");
        let executions = on_tokio(execute(calls([(name, args)]), &tools, &BatchOptions::new()));
        assert_eq!(support::shown(&executions[0]), expected, "{name}");
    }
}

#[test]
fn each_call_has_a_copy_of_the_context() {
    let asyncio = in_python(|py| {
        let user = tools_module(py).getattr("user")?;
        let token = user.call_method1("set", ("ada",))?;
        let asyncio = LoopOfTest::start_attached(py);
        user.call_method1("reset", (token,))?;
        Ok(asyncio)
    });
    let options = BatchOptions::new();
    for name in ["read_user", "read_user_in_thread"] {
        let tools = Toolbox::of([asyncio.tool(name)]).expect("there is one");
        let executions = on_tokio(execute(calls([(name, "{}"); 2]), &tools, &options));
        assert_eq!(answered(&executions), ["ada", "ada"], "{name}");
        let other = in_python(|py| {
            let context = py.import("contextvars")?.call_method0("copy_context")?;
            let set = tools_module(py).getattr("user")?.getattr("set")?;
            context.call_method1("run", (set, "grace"))?;
            asyncio.event_loop().with_context(context).tool(&tools_module(py).getattr(name)?)
        });
        let tools = Toolbox::of([other]).expect("there is one");
        let executions = on_tokio(execute(calls([(name, "{}")]), &tools, &options));
        assert_eq!(answered(&executions), ["grace"], "{name}");
    }
}

#[test]
fn an_exception_is_the_cause_with_its_traceback() {
    let asyncio = LoopOfTest::start();
    for name in ["fail", "fail_in_thread"] {
        let tools = Toolbox::of([asyncio.tool(name)]).expect("there is one");
        let calls = calls([(name, r#"{"why": "no"}"#)]);
        let executions = on_tokio(execute(calls, &tools, &BatchOptions::new()));
        let cause = executions[0].cause.clone().expect("the tool raised");
        in_python(|py| {
            let error = cause.downcast_ref::<PyErr>().expect("it is Python's");
            assert!(error.is_instance_of::<pyo3::exceptions::PyValueError>(py));
            let traceback = error.traceback(py).expect("it was raised").format()?;
            assert!(
                traceback.contains("\"tools.py\", line ")
                    && traceback.contains(&format!(", in {name}\n"))
            );
            Ok(())
        });
    }
}

#[test]
fn a_call_that_failed_is_tried_again_if_it_may_be() {
    let asyncio = LoopOfTest::start();
    let tool = asyncio.tool("fail").with_effect(Effect::Idempotent { retries: 2 });
    let tools = Toolbox::of([tool]).expect("there is one");
    let options = BatchOptions::new().with_pause(|_| Duration::ZERO);
    let executions = on_tokio(execute(calls([("fail", r#"{"why": "no"}"#)]), &tools, &options));
    assert_eq!((executions[0].attempts, executions[0].status), (3, CallStatus::Failure));
}

#[test]
fn several_batches_share_a_loop() {
    let asyncio = LoopOfTest::start();
    let tools = Toolbox::of([asyncio.tool("add")]).expect("there is one");
    on_tokio(async {
        let batches = (0..20).map(|batch| {
            let tools = tools.clone();
            tokio::spawn(async move {
                let calls = (0..20).map(|n| ("add", format!("{{\"a\": {batch}, \"b\": {n}}}")));
                execute(support::calls(calls), &tools, &BatchOptions::new()).await
            })
        });
        for (batch, running) in batches.collect::<Vec<_>>().into_iter().enumerate() {
            let expected: Vec<_> = (0..20).map(|n| Value::from(batch + n)).collect();
            assert_eq!(answered(&running.await.expect("it does not panic")), expected);
        }
    });
}

#[test]
fn what_python_cannot_tell_to_be_async_is_named_so() {
    let asyncio = LoopOfTest::start();
    let decorated = in_python(|py| {
        let decorated = tools_module(py).getattr("decorated")?.call0()?;
        asyncio.event_loop().async_tool(&decorated)
    });
    let object = in_python(|py| {
        asyncio.event_loop().tool(&tools_module(py).getattr("CallableTool")?.call0()?)
    });
    let tools = Toolbox::of([decorated, object]).expect("each has a name of its own");
    let calls = calls([("add", r#"{"a": 1, "b": 2}"#), ("object", r#"{"a": 1}"#)]);
    assert_eq!(answered(&on_tokio(execute(calls, &tools, &BatchOptions::new()))), [3, 1]);
}

#[test]
fn a_call_that_is_given_up_is_cancelled_in_python() {
    let (asyncio, journal) = (LoopOfTest::start(), Journal::new());
    let tools = Toolbox::of([asyncio.made("waiting", &journal)]).expect("there is one");
    on_tokio(async {
        let batch = tokio::spawn({
            let calls = calls([("wait", r#"{"name": "a"}"#), ("wait", r#"{"name": "b"}"#)]);
            async move { execute(calls, &tools, &BatchOptions::new()).await }
        });
        journal.wait_for("a began").await;
        journal.wait_for("b began").await;
        batch.abort();
        assert!(batch.await.expect_err("it was dropped").is_cancelled());
        journal.wait_for("a was cancelled").await;
        journal.wait_for("b was cancelled").await;
    });
}
