//! Any text in any dialect: however it is cut, the events are the same; nothing in it is lost or comes twice; reasoning is
//! never a call; and the block that it begins with says what the reference reads.
#![no_main]

use std::sync::Arc;

use arbitrary::{Arbitrary, Result, Unstructured};
use cogency_rs::dialect::{Args, BatchEnd, Body, Dialect, Pair, Unmarked};
use cogency_rs::protocol::limits::Strictness;
use cogency_rs::protocol::{
    Call, CallStart, CallStream, Ending, Event, Grammar, Limits, Options, Stream, Unread,
};
use cogency_rs_fuzz::dialects::cursor::{No, find, starts_with};
use cogency_rs_fuzz::dialects::texts::Writer;
use cogency_rs_fuzz::dialects::{GRAMMARS, block, may_open_again};
use cogency_rs_fuzz::reading::{MODES, TOOLS, begun, joined, read, without_pieces};
use cogency_rs_fuzz::text;
use libfuzzer_sys::fuzz_target;

/// A text as bytes or as pieces of its dialect, how it is cut, how it ends, and how it is read. The text comes last and takes
/// all bytes that are left, so that a file is easily made of one.
#[derive(Debug)]
struct Input {
    grammar: usize,
    limits: Limits,
    sizes: [u8; 3],
    ending: Ending,
    begins_in_think: bool,
    strictness: Strictness,
    is_typed: bool,
    form: Form,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Bytes,
    Pieces,
    /// Calls, and pieces after them.
    Calls,
    /// Calls that are damaged, and pieces after them.
    Damaged,
}

impl Arbitrary<'_> for Input {
    fn arbitrary(input: &mut Unstructured<'_>) -> Result<Self> {
        let [grammar, form, flags, bytes, depth, calls, sizes @ ..] = <[u8; 9]>::arbitrary(input)?;
        let small = Limits {
            max_block_bytes: 1 + usize::from(bytes).pow(2) / 256,
            max_depth: 1 + usize::from(depth % 8),
            max_calls: usize::from(calls % 4),
        };
        Ok(Self {
            grammar: usize::from(grammar) % GRAMMARS.len(),
            limits: if bytes < 192 { Limits::default() } else { small },
            sizes,
            ending: match flags % 4 {
                0 => Ending::Unknown,
                1 => Ending::Stopped,
                2 => Ending::Length,
                _ => Ending::Broken("reset".into()),
            },
            begins_in_think: flags / 4 % 8 == 7,
            strictness: if flags / 32 % 4 == 3 { Strictness::Lenient } else { Strictness::Strict },
            is_typed: flags >= 128,
            form: [Form::Bytes, Form::Pieces, Form::Calls, Form::Damaged][usize::from(form) % 4],
            bytes: input.bytes(input.len())?.to_vec(),
        })
    }
}

/// A text, and what is known of it.
struct Known {
    /// The names of the dialects it is read in.
    dialects: String,
    text: Vec<u8>,
    /// How many words are in it, each once.
    words: usize,
    /// The calls it begins with, if they are written as the dialect has them.
    calls: Option<Vec<String>>,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} text {:?}", self.dialects, String::from_utf8_lossy(&self.text))
    }
}

impl Input {
    fn text(&self, grammar: &Grammar) -> Known {
        let names: Vec<&str> = grammar.dialects.iter().map(|dialect| &*dialect.name).collect();
        let known = |text: Vec<u8>, words, calls| Known {
            dialects: names.join(" and "),
            text,
            words,
            calls,
        };
        let mut writer = Writer::new(&self.bytes, &grammar.dialects);
        let text = match self.form {
            Form::Bytes => {
                let text = text::from_bytes(&self.bytes);
                return known(text, 0, None);
            }
            Form::Pieces => writer.text(),
            Form::Calls => {
                let calls = writer.calls();
                let (shown, is_held) = writer.written.remove(0);
                let written = shown.iter().map(|call| format!("{} {}", call.name, call.args));
                let text = [calls, writer.text()].concat();
                let is_held = is_held && grammar.dialects.iter().all(|dialect| says_types(dialect));
                return known(text, writer.words(), is_held.then(|| written.collect()));
            }
            Form::Damaged => [writer.damaged(), writer.text()].concat(),
        };
        known(text, writer.words(), None)
    }

    fn read(
        &self,
        grammar: &Arc<Grammar>,
        mode: (Stream, CallStream),
        chunks: &[&[u8]],
    ) -> Vec<Event> {
        self.read_from(grammar, mode, chunks, self.begins_in_think)
    }

    fn read_from(
        &self,
        grammar: &Arc<Grammar>,
        (stream, calls): (Stream, CallStream),
        chunks: &[&[u8]],
        begins_in_think: bool,
    ) -> Vec<Event> {
        let options = Options {
            stream,
            calls,
            start: CallStart::WithBlock,
            limits: self.limits,
            strictness: self.strictness,
            unread: Unread::default(),
            begins_in_think,
            tools: self.is_typed.then(|| Arc::clone(&TOOLS)),
        };
        read(grammar, options, chunks, &self.ending)
    }
}

/// Whether a dialect's text says of which type a value is, without a schema.
fn says_types(dialect: &Dialect) -> bool {
    dialect.calls.bodies.iter().all(|body| match body {
        Body::Json(_) | Body::Python(_) => true,
        Body::Xml(_) => false,
        Body::Head(form) => matches!(form.args, Args::Json | Args::Text(_) | Args::Braces(_)),
        other => unreachable!("the test does not know {other:?}"),
    })
}

fn calls_of(events: &[Event]) -> Vec<&Call> {
    let calls = events.iter().filter_map(|event| match event {
        Event::Call(call) => Some(call),
        _ => None,
    });
    calls.collect()
}

/// However a text is cut, and whatever is shown early, the events are the same.
fn check_cuts(input: &Input, grammar: &Arc<Grammar>, known: &Known, whole: &[Event]) {
    let text = &known.text[..];
    let characters: Vec<&[u8]> = text::characters(text).collect();
    let chunks = text::chunks(text, &input.sizes);
    let joined_whole = joined(whole.to_vec());
    for mode in MODES {
        let uncut = input.read(grammar, mode, &[text]);
        let shown = begun(&uncut);
        let runs = without_pieces(uncut);
        // Who has the beginning of an object as JSON cannot be given a text in its place: the call is refused there.
        if !(input.is_typed && mode.1 == CallStream::Json) {
            assert_eq!(runs, joined_whole, "{mode:?} of {known:?}");
        }
        for chunks in [&characters[..], &chunks] {
            let events = input.read(grammar, mode, chunks);
            if mode == MODES[0] {
                assert_eq!(events, whole, "{known:?} in {chunks:?}");
            }
            assert_eq!(begun(&events), shown, "{mode:?} of {known:?} in {chunks:?}");
            assert_eq!(without_pieces(events), runs, "{mode:?} of {known:?} in {chunks:?}");
        }
    }
}

/// The text of each event is in the text, in their order, and no two share a byte; but for the report of many blocks, which comes
/// last and has the text of each.
fn check_order(known: &Known, events: &[Event]) {
    let mut rest = &known.text[..];
    for event in events {
        let shown = match event {
            Event::Think(text) | Event::Respond(text) | Event::Result(text) => text.as_bytes(),
            Event::Error(report) if report.place.is_some() || report.code.is_none() => {
                report.raw.as_bytes()
            }
            _ => continue,
        };
        let at = (0..=rest.len()).find(|at| rest[*at..].starts_with(shown));
        let at = at.unwrap_or_else(|| panic!("{event:?} is not there in {known:?}: {events:?}"));
        rest = &rest[at + shown.len()..];
    }
}

/// The text of events, each apart from the others.
fn shown(events: &[Event]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        Event::Think(text) | Event::Respond(text) | Event::Result(text) => Some(text.to_string()),
        Event::Error(report) => Some(report.raw.to_string()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// Every word is in at most one event; and in exactly one, if there are no calls.
fn check_words(grammar: &Grammar, known: &Known, events: &[Event], is_whole: bool) {
    let pieces = shown(events);
    let runs = shown(&joined(events.to_vec()));
    let text = String::from_utf8_lossy(&known.text);
    let is_dropped = events.iter().any(|event| matches!(event, Event::Call(_) | Event::Execute));
    let ends = grammar.dialects.iter().flat_map(|dialect| &dialect.turn_end);
    let is_ended = ends.into_iter().any(|end| text.contains(&**end));
    let has_heads = grammar.dialects.iter().any(|dialect| dialect.heads.is_some());
    for word in 0..known.words {
        let word = format!("w{word}w");
        let count = |text: &str| text.matches(&word).count();
        let (before, after) = (count(&text), count(&pieces));
        assert!(after <= before, "{word} comes {after} times in {known:?}: {events:?}");
        if is_whole && !is_dropped && !is_ended && !has_heads && !decides(grammar) {
            // A mark in the middle of a word is left out, and its halves become one more word.
            assert!(count(&runs) >= before, "{word} in {known:?}: {events:?}");
        }
    }
}

/// Whether answers are objects, whose text is a JSON string.
fn decides(grammar: &Grammar) -> bool {
    let mut bodies = grammar.dialects.iter().flat_map(|dialect| &dialect.calls.bodies);
    bodies.any(|body| matches!(body, Body::Json(form) if form.decision.is_some()))
}

/// Where reasoning that the prompt has opened ends, and the text after it begins. The closing mark of any pair ends it; if
/// they differ, only the first pair's does once a pair is opened in it.
fn end_of_reasoning(pairs: &[Pair], text: &[u8]) -> Option<(usize, usize)> {
    let first = &pairs[0].close;
    let closed_by = |close: &str, from: usize| {
        find(&text[from..], close).map(|at| (from + at, from + at + close.len()))
    };
    if pairs.iter().all(|pair| pair.close == *first)
        || pairs.iter().any(|pair| pair.close.is_empty())
    {
        return closed_by(first, 0);
    }
    let closed = pairs.iter().filter_map(|pair| closed_by(&pair.close, 0)).min();
    let opened = pairs.iter().filter_map(|pair| find(text, &pair.open)).min();
    match (closed, opened) {
        (Some((at, _)), Some(opened)) if opened > at => closed,
        (_, Some(opened)) => closed_by(first, opened),
        (_, None) => closed,
    }
}

/// All text in reasoning is reasoning, up to the mark that closes it.
fn check_reasoning(input: &Input, grammar: &Arc<Grammar>, known: &Known) {
    let text = &known.text[..];
    let [dialect] = &grammar.dialects[..] else { return };
    if dialect.reasoning.first().is_none_or(|pair| pair.close.is_empty()) {
        return;
    }
    if grammar.reasoning.is_none() || dialect.turn_end.iter().any(|end| find(text, end).is_some()) {
        return;
    }
    // The model may open its reasoning itself.
    let start = &text[text::leading_space(text)..];
    if dialect.reasoning.iter().any(|pair| starts_with(start, &pair.open) != Some(false)) {
        return;
    }
    // A mark between two quotes closes and opens nothing: the target `parser` has the reference for that.
    let marks = dialect.reasoning.iter().flat_map(|pair| [&pair.open, &pair.close]);
    let mut quoted =
        marks.flat_map(|mark| ['`', '"', '\''].map(|quote| format!("{quote}{mark}{quote}")));
    if quoted.any(|mark| find(text, &mark).is_some()) {
        return;
    }
    let events = input.read_from(grammar, MODES[0], &[text], true);
    let end = end_of_reasoning(&dialect.reasoning, text);
    let thoughts = &text[..end.map_or(text.len(), |(end, _)| end)];
    let expected = end.map_or(Vec::new(), |(_, after)| {
        input.read_from(grammar, MODES[0], &[&text[after..]], false)
    });
    assert_eq!(calls_of(&events), calls_of(&expected), "{known:?}");
    let shown: Vec<u8> = events
        .iter()
        .map_while(|event| match event {
            Event::Think(text) => Some(text.as_bytes()),
            _ => None,
        })
        .flatten()
        .copied()
        .collect();
    assert!(shown.starts_with(thoughts) || text::is_blank(thoughts), "{known:?}: {events:?}");
}

/// The block that a text begins with says what the reference reads.
fn check_block(dialect: &Dialect, known: &Known, events: &[Event]) {
    let text = &known.text[..];
    let found = calls_of(events);
    match block(dialect, text) {
        Ok((calls, end)) => {
            let calls: Vec<&Call> = calls.iter().collect();
            assert!(
                found.len() >= calls.len() && found[..calls.len()] == calls,
                "{found:?}, not {calls:?} in {known:?}"
            );
            assert!(end < text.len() || found == calls, "{found:?}, not {calls:?} in {known:?}");
        }
        Err(No::Call) if !may_open_again(dialect, text) => {
            assert_eq!(found, [] as [&Call; 0], "{known:?}");
        }
        Err(_) => {}
    }
}

fuzz_target!(|input: Input| {
    let grammar = &GRAMMARS[input.grammar];
    let known = input.text(grammar);
    let whole = input.read(grammar, MODES[0], &[&known.text]);
    check_cuts(&input, grammar, &known, &whole);
    if !decides(grammar) {
        check_order(&known, &whole);
    }
    // Only part of a block that is too long is kept.
    check_words(grammar, &known, &whole, input.limits == Limits::default());
    check_reasoning(&input, grammar, &known);
    let is_plain = input.limits == Limits::default()
        && !input.begins_in_think
        && !input.is_typed
        && !input.ending.is_cut();
    if let ([dialect], true) = (&grammar.dialects[..], is_plain) {
        if input.strictness == Strictness::Strict {
            check_block(dialect, &known, &whole);
        }
        if let Some(calls) = &known.calls {
            let found = calls_of(&whole);
            let found =
                found.iter().map(|call| format!("{} {}", call.name_json(), call.arguments()));
            let found: Vec<_> = found.take(calls.len()).collect();
            // Only the first of several blocks may be read.
            let is_first_only =
                dialect.batch == BatchEnd::Block || dialect.unmarked == Unmarked::AtStart;
            assert!(
                found == *calls || is_first_only && calls.starts_with(&found),
                "{found:?}, not {calls:?} in {known:?}"
            );
        }
    }
});
