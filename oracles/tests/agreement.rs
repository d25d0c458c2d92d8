//! Calls that a model wrote well: every reader reads the same.
//!
//! The peers get the same calls each time, since their faults must not fail our tests at random: `PROPTEST_RNG_SEED` makes
//! others, and `PROPTEST_CASES` more.

mod generated;

use cogency_rs::dialect::{Args, Body, Head, Pair, presets::preset};
use cogency_rs_oracles::{
    Call, PEERS,
    faults::{When, known},
    harmony_tokens,
    notation::tools,
    ours,
    sample::{chunks, tokens},
    writers::{WRITERS, Writer},
};
use proptest::{
    prelude::*,
    test_runner::{Config, RngSeed, TestError, TestRunner},
};
use serde_json::Value;

#[test]
fn every_peer_reads_what_every_writer_writes() {
    with_every_peer(When::Whole, |writer, calls| Some((writer.write)(calls)));
}

#[test]
fn every_peer_reads_it_in_tokens() {
    with_every_peer(When::Streamed, |writer, calls| Some((writer.write)(calls)));
}

#[test]
fn every_peer_reads_what_the_core_writes() {
    with_every_peer(When::Whole, |writer, calls| ours::write(writer.dialect, calls));
}

#[test]
fn every_peer_reads_in_tokens_what_the_core_writes() {
    with_every_peer(When::Streamed, |writer, calls| ours::write(writer.dialect, calls));
}

fn with_every_peer(how: When, write: fn(&Writer, &[Call]) -> Option<String>) {
    let (mut pairs, mut failures) = (0, Vec::new());
    for writer in WRITERS {
        let dialect = writer.dialect;
        for peer in PEERS.iter().filter(|peer| (peer.calls)(dialect, "", &[]).is_some()) {
            pairs += 1;
            let mut runner = TestRunner::new(config(RngSeed::Fixed(0)));
            let calls = generated::calls(writer, generated::text(writer));
            let tried = runner.run(&(generated::before(writer), calls), |(before, calls)| {
                let written = write(writer, &calls);
                let text = before + &written.ok_or_else(|| TestCaseError::fail("unwritten"))?;
                if known(peer.name, dialect, how, &text, &calls) {
                    return Ok(());
                }
                let tools = tools(&calls);
                let read = match how {
                    When::Streamed => {
                        (peer.stream)(dialect, &tokens(&text, 5, &writer.special()), &tools)
                    }
                    _ => (peer.calls)(dialect, &text, &tools),
                };
                prop_assert_eq!(read, Some(calls), "{:?}", text);
                Ok(())
            });
            let failed = |failure| format!("{} in {dialect}: {failure}", peer.name);
            failures.extend(tried.err().map(failed));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    if !harmony_tokens() {
        println!("skipped: harmony, whose tokens TIKTOKEN_ENCODINGS_BASE does not name");
    }
    assert_eq!(pairs, if harmony_tokens() { 48 } else { 46 }, "who reads what");
}

#[test]
fn the_core_reads_what_every_writer_writes() {
    with_the_core(generated::text);
}

/// A mark inside a string does not end anything; in a verbatim string it does if text follows that may follow the mark. A verbatim
/// value may look as if its own mark were missing and the next parameter opened inside it: of these two readings neither is run.
#[test]
fn the_core_reads_marks_in_strings() {
    with_the_core(generated::with_marks);
}

fn with_the_core(string: fn(&Writer) -> BoxedStrategy<String>) {
    in_every_dialect(|writer, runner| {
        let answer = (generated::before(writer), generated::calls(writer, string(writer)));
        runner.run(&(answer, 1..40_usize), |((before, calls), size)| {
            let text = before.clone() + &(writer.write)(&calls);
            if calls.iter().any(|(_, args)| runs_over(writer, args)) {
                let read = ours::stream(writer.dialect, &chunks(&text, size), &tools(&calls));
                let is_known = read.iter().flatten().all(|call| calls.contains(call));
                prop_assert!(is_known, "{:?}: {:?}", text, read);
                return Ok(());
            }
            reads(writer, &text, size, &calls)?;
            let said = ours::events(writer.dialect, &chunks(&text, size), &tools(&calls));
            let said = ours::text_of(&said.unwrap_or_default());
            prop_assert_eq!(said.trim(), before.trim(), "{:?}", text);
            Ok(())
        })
    });
}

/// Whether the text of an argument holds the mark that closes it, and after that a mark that opens a parameter.
fn runs_over(writer: &Writer, args: &Value) -> bool {
    let dialect = preset(writer.dialect).expect("a dialect");
    let Some(Body::Head(Head { args: Args::Parameters(form), .. })) = dialect.calls.bodies.first() else {
        return false;
    };
    let opening = form.open.split([' ', '=']).next().unwrap_or_default();
    let mut texts = args.as_object().into_iter().flatten().map(|(_, value)| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    texts.any(|text| text.find(&*form.close).is_some_and(|at| text[at..].contains(opening)))
}

#[test]
fn the_core_takes_no_call_from_reasoning() {
    in_every_dialect(|writer, runner| {
        let dialect = preset(writer.dialect).ok_or_else(|| no_dialect(writer))?;
        let Some(Pair { open, close }) = dialect.reasoning.first() else { return Ok(()) };
        let calls = || generated::calls(writer, generated::text(writer));
        runner.run(&(calls(), calls(), 1..40_usize), |(thought, calls, size)| {
            let (thought, written) = ((writer.write)(&thought), (writer.write)(&calls));
            reads(writer, &format!("{open}{thought}{close}{written}"), size, &calls)
        })
    });
}

#[test]
fn the_core_reads_what_it_writes() {
    in_every_dialect(|writer, runner| {
        let calls = generated::calls(writer, generated::text(writer));
        runner.run(&(calls, 1..40_usize), |(calls, size)| {
            let text = ours::write(writer.dialect, &calls);
            let text = text.ok_or_else(|| TestCaseError::fail("unwritten"))?;
            reads(writer, &text, size, &calls)
        })
    });
}

fn reads(writer: &Writer, text: &str, size: usize, calls: &[Call]) -> Result<(), TestCaseError> {
    let read = ours::stream(writer.dialect, &chunks(text, size), &tools(calls));
    prop_assert_eq!(read.as_deref(), Some(calls), "{:?}", text);
    Ok(())
}

fn in_every_dialect<T: std::fmt::Debug>(
    holds: impl Fn(&Writer, &mut TestRunner) -> Result<(), TestError<T>>,
) {
    let failed = |writer: &Writer| {
        let tried = holds(writer, &mut TestRunner::new(config(RngSeed::Random)));
        tried.err().map(|failure| format!("{}: {failure}", writer.dialect))
    };
    let failures: Vec<String> = WRITERS.iter().filter_map(failed).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn no_dialect<T>(writer: &Writer) -> TestError<T> {
    TestError::Abort(format!("there is no dialect {}", writer.dialect).into())
}

/// The configuration that the environment asks for, by default `seed` and few cases.
fn config(seed: RngSeed) -> Config {
    let asked = Config::default();
    Config {
        cases: if std::env::var_os("PROPTEST_CASES").is_some() { asked.cases } else { 48 },
        rng_seed: if asked.rng_seed == RngSeed::Random { seed } else { asked.rng_seed },
        failure_persistence: None,
        ..asked
    }
}
