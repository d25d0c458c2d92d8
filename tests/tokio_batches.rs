//! What a batch on Tokio does where asyncio has no part in it: threads, panics, a batch that is dropped, a runtime that ends.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::Duration;

use cogency_agent::execution::{
    AbandonedCall, Batch, BatchOptions, CallStatus, Effect, FunctionTool, Invocation, Order,
    Progress, Tool, ToolError, ToolExecution, ToolOptions, ToolOutput, Toolbox, Work,
    blocking_tool, execute, tool,
};
use cogency_rs::protocol::Call;
use cogency_rs::protocol::results::CallOutcome;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::{advance, sleep};

const HOUR: Duration = Duration::from_secs(3600);

fn paused() -> Runtime {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("the system gives a runtime")
}

fn call(name: &str) -> Call {
    Call::of_json(&format!("\"{name}\""), "{}")
}

fn calls(name: &str, count: usize) -> Vec<Call> {
    vec![call(name); count]
}

fn boxed<const N: usize>(tools: [FunctionTool; N]) -> Toolbox {
    Toolbox::of(tools).expect("the names differ")
}

/// Sleeps for an hour.
fn slow(name: &str) -> FunctionTool {
    tool(name, |_: IgnoredAny| async {
        sleep(HOUR).await;
        Ok(())
    })
}

fn message(execution: &ToolExecution) -> &str {
    match &execution.outcome {
        CallOutcome::Failure { message } => message,
        CallOutcome::Success { content, .. } => panic!("it succeeded with {content}"),
    }
}

#[test]
fn calls_run_in_parallel() {
    let runtime = Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    let both = Arc::new(Barrier::new(2));
    let meet = tool("meet", move |_: IgnoredAny| {
        let both = Arc::clone(&both);
        async move { Ok(both.wait().is_leader()) } // each thread waits for the other
    });
    let tools = boxed([meet]);
    let task =
        runtime.spawn(async move { execute(calls("meet", 2), &tools, &BatchOptions::new()).await });
    let executions = runtime.block_on(task).expect("it does not panic");
    let mut leaders: Vec<_> = executions.into_iter().map(|execution| execution.outcome).collect();
    leaders.sort_by_key(|outcome| format!("{outcome:?}"));
    let outcome = |content: &str| CallOutcome::success("null".into(), Some(content.into()));
    assert_eq!(leaders, [outcome("false"), outcome("true")]);
}

/// Panics with a text that is made while the program runs.
fn breaks(text: &str) -> Result<(), ToolError> {
    panic!("{text}")
}

#[test]
fn a_panic_is_the_result_of_its_call_wherever_it_is() {
    #[derive(Deserialize)]
    struct Nothing {}
    let at_start = FunctionTool::new("start", |_| panic!("at its start"));
    let later = tool("later", |_: Nothing| async {
        yield_now().await;
        breaks("later")
    });
    let thread = blocking_tool("thread", |_: Nothing| -> Result<(), _> { panic!("in a thread") });
    let fine = tool("fine", |_: Nothing| async { Ok(1) });
    let tools = boxed([at_start, later, thread, fine]);
    let all = ["start", "later", "thread", "fine"].map(call);
    let executions = paused().block_on(execute(all, &tools, &BatchOptions::new()));
    let panicked = |text: &str| format!("\"Tool execution failed: panicked: {text}\"");
    assert_eq!(message(&executions[0]), panicked("at its start"));
    assert_eq!(message(&executions[1]), panicked("later"));
    assert_eq!(message(&executions[2]), panicked("in a thread"));
    assert_eq!(executions[3].status, CallStatus::Success);
}

#[test]
fn arguments_that_do_not_fit_fail_the_call_for_good() {
    #[derive(Deserialize)]
    struct Sum {
        a: i64,
    }
    let attempts = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&attempts);
    let asynchronous = tool("a", move |Sum { a }| {
        count.fetch_add(1, Ordering::SeqCst);
        async move { Ok(a) }
    });
    let blocking = blocking_tool("b", |Sum { a }| Ok(a));
    let effect = Effect::ReadOnly { retries: 3 };
    let tools = boxed([asynchronous.with_effect(effect), blocking.with_effect(effect)]);
    let executions = paused().block_on(execute(["a", "b"].map(call), &tools, &BatchOptions::new()));
    for (execution, name) in executions.iter().zip(["a", "b"]) {
        let start = format!("\"Invalid arguments for tool '{name}': missing field `a`");
        assert!(message(execution).starts_with(&start), "{}", message(execution));
        assert_eq!(execution.attempts, 1);
    }
    assert_eq!(attempts.load(Ordering::SeqCst), 0);
}

/// Keeps what a batch says when it is dropped.
fn listening(options: BatchOptions) -> (BatchOptions, Arc<Mutex<Vec<AbandonedCall>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&heard);
    let options = options.with_on_abandoned(move |calls| {
        to.lock().expect("no panic holds it").extend(calls);
    });
    (options, heard)
}

#[test]
fn a_batch_that_is_dropped_stops_its_calls_and_says_which_outcomes_are_unknown() {
    let runtime = paused();
    let quick = tool("quick", |_: IgnoredAny| async { Ok(()) });
    let fails = tool("fails", |_: IgnoredAny| async { Err::<(), _>(ToolError::new("no")) });
    let fails = fails.with_effect(Effect::Idempotent { retries: 1 });
    let tools = boxed([quick, fails, slow("slow")]);
    let (options, heard) = listening(
        BatchOptions::new()
            .with_concurrency(NonZeroUsize::new(2).expect("two"))
            .with_pause(|_| HOUR),
    );
    let batch = ["quick", "fails", "slow", "slow", "slow"].map(call);
    let running = execute(batch.clone(), &tools, &options);
    runtime.block_on(async {
        let late = tokio::time::timeout(Duration::from_secs(1), running).await;
        late.expect_err("it is dropped after a second");
        yield_now().await;
        assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
    });
    let heard: Vec<_> = heard
        .lock()
        .expect("no panic holds it")
        .iter()
        .map(|abandoned| {
            assert_eq!(*abandoned.call, batch[abandoned.place]);
            (abandoned.place, abandoned.progress)
        })
        .collect();
    let expected = [
        (1, Progress::BetweenAttempts(1)),
        (2, Progress::Running),
        (3, Progress::Running),
        (4, Progress::NotStarted),
    ];
    assert_eq!(heard, expected);
}

#[test]
fn a_batch_that_is_over_abandons_nothing() {
    let (options, heard) = listening(BatchOptions::new());
    let quick = boxed([tool("quick", |_: IgnoredAny| async { Ok(()) })]);
    paused().block_on(execute(calls("quick", 3), &quick, &options));
    assert_eq!(*heard.lock().expect("no panic holds it"), []);
}

/// A tool that blocks its thread at a gate, and what opens it. It says when it has begun and when it ends.
fn gated() -> (FunctionTool, mpsc::Sender<()>, Arc<Notify>, mpsc::Receiver<()>) {
    let (open, gate) = mpsc::channel();
    let (ends, ended) = mpsc::channel();
    let (gate, begun) = (Mutex::new(gate), Arc::new(Notify::new()));
    let begins = Arc::clone(&begun);
    let blocking = blocking_tool("block", move |_: IgnoredAny| {
        begins.notify_one();
        gate.lock().expect("no panic holds it").recv()?;
        ends.send(())?;
        Ok(())
    });
    (blocking, open, begun, ended)
}

#[test]
fn a_tool_that_blocks_is_late_at_once_and_its_thread_ends_by_itself() {
    let runtime = paused();
    let (block, open, begun, ended) = gated();
    let tools = boxed([block]);
    let options = BatchOptions::new().with_call_timeout(Duration::from_secs(5));
    let executions = runtime.block_on(async {
        let mut batch = Batch::new(tools, options);
        batch.complete(calls("block", 1));
        tokio::select! {
            () = batch.drive() => panic!("the gate is closed"),
            () = begun.notified() => {}
        }
        advance(Duration::from_secs(6)).await;
        batch.join().await
    });
    assert_eq!(message(&executions[0]), "\"Tool 'block' timed out after 5 s\"");
    assert!(ended.try_recv().is_err(), "it still waits at the gate");
    open.send(()).expect("its thread is at the gate");
    ended.recv().expect("it ends");
}

#[test]
fn a_tool_that_waits_for_a_thread_does_not_begin_once_its_batch_is_cancelled() {
    let runtime = Builder::new_current_thread().max_blocking_threads(1).build().expect("a runtime");
    let (block, open, begun, ended) = gated();
    let tools = boxed([block]);
    let executions = runtime.block_on(async {
        let mut batch = Batch::new(tools, BatchOptions::new());
        batch.complete(calls("block", 2));
        tokio::select! {
            () = batch.drive() => panic!("the gate is closed"),
            () = begun.notified() => {}
        }
        batch.cancel();
        batch.join().await
    });
    assert!(executions.iter().all(|execution| execution.status == CallStatus::Cancelled));
    open.send(()).expect("its thread is at the gate");
    let _: Result<_, _> = open.send(()); // for the second, if it ran
    drop(runtime); // waits for its threads
    assert_eq!(ended.iter().count(), 1, "the second call never ran");
}

#[test]
fn only_calls_without_an_effect_begin_early() {
    let quick = |name: &str| tool(name, |_: IgnoredAny| async { Ok(()) });
    let read_only = Effect::ReadOnly { retries: 0 };
    let tools = boxed([
        quick("read").with_effect(read_only),
        quick("write"),
        quick("again").with_effect(Effect::Idempotent { retries: 1 }),
        quick("alone").with_effect(read_only).with_order(Order::Sequential),
    ]);
    paused().block_on(async {
        let mut batch = Batch::new(tools, BatchOptions::new());
        for (name, may) in [
            ("write", false),
            ("again", false),
            ("alone", false),
            ("nobody", false),
            ("read", true),
        ] {
            assert_eq!(batch.begin_early(call(name)), may, "{name}");
        }
        batch.complete([]);
        assert!(!batch.begin_early(call("read")), "the batch is complete");
        assert_eq!(batch.join().await.len(), 1);
    });
}

#[test]
fn calls_that_are_added_to_a_cancelled_batch_are_cancelled() {
    let started = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&started);
    let counts = tool("read", move |_: IgnoredAny| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }
    });
    let tools = boxed([counts.with_effect(Effect::ReadOnly { retries: 3 })]);
    let executions = paused().block_on(async {
        let mut batch = Batch::new(tools, BatchOptions::new());
        batch.cancel();
        assert!(!batch.begin_early(call("read")), "it is cancelled");
        batch.complete(calls("read", 2));
        batch.join().await
    });
    let ends: Vec<_> = executions.iter().map(|one| (one.status, one.attempts)).collect();
    assert_eq!(ends, [(CallStatus::Cancelled, 0); 2]);
    assert_eq!(started.load(Ordering::SeqCst), 0);
}

#[test]
#[should_panic(expected = "the batch is complete")]
fn a_batch_is_complete_once() {
    let mut batch = Batch::new(Toolbox::default(), BatchOptions::new());
    batch.complete([]);
    batch.complete([]);
}

#[test]
fn a_call_that_is_withdrawn_does_not_begin_because_another_is() {
    let quick = |name: &str| tool(name, |_: IgnoredAny| async { Ok(()) });
    let tools = boxed([slow("slow"), quick("alone").with_order(Order::Sequential), quick("last")]);
    paused().block_on(async {
        let mut batch = Batch::new(tools, BatchOptions::new());
        batch.complete(["slow", "alone", "last"].map(call));
        let withdrawn = batch.withdraw(1).await;
        let ends: Vec<_> = withdrawn.iter().map(|one| (one.status, one.attempts)).collect();
        assert_eq!(ends, [(CallStatus::Cancelled, 0); 2]);
        assert_eq!(batch.join().await.len(), 1);
    });
}

/// Lets a batch do what there is to do now, and not wait.
async fn once(batch: &mut Batch) {
    tokio::select! {
        biased;
        () = batch.drive() => {}
        () = std::future::ready(()) => {}
    }
}

#[test]
fn a_call_that_is_late_when_its_batch_is_cancelled_is_late_and_not_tried_again() {
    let tools = boxed([slow("slow").with_effect(Effect::Idempotent { retries: 3 })]);
    let options = BatchOptions::new().with_call_timeout(Duration::from_secs(5));
    let executions = paused().block_on(async {
        let mut batch = Batch::new(tools, options.with_pause(|_| HOUR));
        batch.complete([call("slow")]);
        once(&mut batch).await;
        advance(Duration::from_secs(6)).await;
        once(&mut batch).await; // its attempt is asked to stop, and has not stopped yet
        batch.cancel();
        batch.join().await
    });
    let ends: Vec<_> = executions.iter().map(|one| (message(one), one.attempts)).collect();
    assert_eq!(ends, [("\"Tool 'slow' timed out after 5 s\"", 1)]);
}

#[test]
fn a_tool_that_blocks_the_runtime_is_waited_for_and_its_batch_is_late() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build();
    let (open, gate) = mpsc::channel();
    let gate = Mutex::new(gate);
    let blocks = FunctionTool::new("blocks", move |_| {
        let opened: Result<(), _> = gate.lock().expect("no panic holds it").recv();
        Work::Async(Box::pin(async move { ToolOutput::of(&opened.is_ok()) }))
    });
    let tools = boxed([blocks.with_effect(Effect::Idempotent { retries: 3 })]);
    let options = BatchOptions::new()
        .with_call_timeout(Duration::from_millis(5))
        .with_batch_timeout(Duration::from_millis(15));
    let executions = runtime.expect("a runtime").block_on(async {
        let mut batch = Batch::new(tools, options);
        batch.complete([call("blocks")]);
        tokio::select! {
            () = batch.drive() => panic!("the gate is closed"),
            () = sleep(Duration::from_millis(60)) => {}
        }
        open.send(()).expect("the tool is at the gate");
        batch.join().await
    });
    let late = "\"Tool 'blocks' timed out: its batch took longer than 0.015 s\"";
    assert_eq!((message(&executions[0]), executions[0].attempts), (late, 1));
}

#[test]
fn a_batch_whose_runtime_is_shut_down_ends_with_what_is_known() {
    let (quick, slow) = (tool("quick", |_: IgnoredAny| async { Ok(()) }), slow("slow"));
    let tools = boxed([quick, slow]);
    let first = paused();
    let batch = first.block_on(async {
        let mut batch = Batch::new(tools, BatchOptions::new());
        batch.complete([call("quick"), call("slow")]);
        tokio::select! {
            () = batch.drive() => panic!("one of them is slow"),
            () = sleep(Duration::from_secs(1)) => {}
        }
        batch
    });
    drop(first);
    let executions = paused().block_on(batch.join());
    let statuses: Vec<_> = executions.iter().map(|execution| execution.status).collect();
    assert_eq!(statuses, [CallStatus::Success, CallStatus::Cancelled]);
}

#[test]
fn a_limit_that_no_clock_reaches_is_none() {
    let options =
        BatchOptions::new().with_call_timeout(Duration::MAX).with_batch_timeout(Duration::MAX);
    let executions = paused().block_on(execute(calls("slow", 2), &boxed([slow("slow")]), &options));
    assert!(executions.iter().all(|execution| execution.status == CallStatus::Success));
}

#[test]
fn many_calls_are_carried_out_in_their_order() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&order);
    let note = FunctionTool::new("note", move |invocation| {
        noted.lock().expect("no panic holds it").push(invocation.place());
        Work::Async(Box::pin(async { Ok(ToolOutput::empty()) }))
    });
    let options = BatchOptions::new().with_concurrency(NonZeroUsize::new(3).expect("three"));
    let executions = paused().block_on(execute(calls("note", 10_000), &boxed([note]), &options));
    assert_eq!(executions.len(), 10_000);
    assert!(order.lock().expect("no panic holds it").iter().copied().eq(0..10_000));
}

/// A tool of a type of its own, which says how its calls are carried out and sees each attempt.
struct Stubborn;

impl Tool for Stubborn {
    fn name(&self) -> &'static str {
        "stubborn"
    }

    fn options(&self) -> ToolOptions {
        let mut options = ToolOptions::default();
        options.effect = Effect::Idempotent { retries: 5 };
        options
    }

    fn start(&self, invocation: Invocation) -> Work {
        let attempt = invocation.attempt();
        let arguments = invocation.call().arguments().to_owned();
        Work::Async(Box::pin(async move {
            if attempt < 3 { Err(ToolError::new("not yet")) } else { ToolOutput::of(&arguments) }
        }))
    }
}

#[test]
fn a_type_of_its_own_can_be_a_tool() {
    let tools = Toolbox::new([Arc::new(Stubborn) as Arc<dyn Tool>]).expect("there is one");
    let executions = paused().block_on(execute(calls("stubborn", 1), &tools, &BatchOptions::new()));
    let expected = CallOutcome::success("null".into(), Some("\"{}\"".into()));
    assert_eq!((&executions[0].outcome, executions[0].attempts), (&expected, 3));
}

#[test]
fn a_batch_may_go_from_thread_to_thread() {
    fn is_send<T: Send>(_: &T) {}
    let (tools, options) = (Toolbox::default(), BatchOptions::new());
    is_send(&execute([], &tools, &options));
    paused().block_on(async { is_send(&Batch::new(Toolbox::default(), BatchOptions::new())) });
}
