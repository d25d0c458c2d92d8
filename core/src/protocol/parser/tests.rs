use super::super::advice::MAX_REPORTS;
use super::super::ending::Ending;
use super::*;

fn read(text: &str, options: Options, ending: &Ending) -> Vec<Event> {
    let (mut parser, mut events) = (Parser::new(Grammar::cogency(), options), Vec::new());
    parser.feed(text, &mut events);
    parser.finish(ending, &mut events);
    events
}

fn respond(text: &str) -> Event {
    Event::Respond(text.into())
}

#[test]
fn if_the_text_ends_in_an_array_of_results_the_array_ends_at_its_closing_tag_if_there_is_one() {
    for (text, expected) in [
        ("<results>[\"a", vec![Event::Result("[\"a".into())]),
        (
            "<results>[\"a</results>4.<end>",
            vec![Event::Result("[\"a".into()), respond("4."), Event::End],
        ),
        (
            "<results>[\"a</results>b<results>[1",
            vec![Event::Result("[\"a".into()), respond("b"), Event::Result("[1".into())],
        ),
    ] {
        assert_eq!(read(text, Options::default(), &Ending::Unknown), expected, "{text}");
    }
}

#[test]
fn an_array_of_results_begins_within_the_limit() {
    let limits = Limits { max_block_bytes: 4, ..Limits::default() };
    for (text, kind, pieces) in [
        ("<results>   [12", TextRun::Result, vec!["   [", "12"]),
        ("<results>    [1", TextRun::Respond, vec!["<res", "ults", ">   ", " [1"]),
        ("<results> \u{3000}[1", TextRun::Respond, vec!["<res", "ults", "> ", "\u{3000}[", "1"]),
    ] {
        let options = Options { limits, ..Options::default() };
        let expected: Vec<_> =
            pieces.into_iter().map(|piece| kind.event(piece.as_bytes())).collect();
        assert_eq!(read(text, options, &Ending::Unknown), expected, "{text}");
    }
}

#[test]
fn a_value_without_its_closing_tag_is_read_to_its_end() {
    let array = "[{\"name\": \"t\", \"args\": {}}]";
    let limits = Limits { max_block_bytes: array.len(), ..Limits::default() };
    let kinds = |body: &str| {
        let options = Options { limits, ..Options::default() };
        let kind = |event: Event| match event {
            Event::Call(_) => "call".to_owned(),
            Event::Execute => "execute".to_owned(),
            Event::Error(report) => report.content.to_string(),
            event => format!("{event:?}"),
        };
        let events = read(&format!("<execute>{body}"), options, &Ending::Unknown);
        events.into_iter().map(kind).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(kinds(array), "call execute");
    assert_eq!(kinds(&format!("{array}</execute")), "call execute");
    assert!(kinds(&format!("{array} </execute")).contains("longer than"));
    assert!(kinds("12").contains("expected a JSON array of calls, found a number"));
}

#[test]
fn broken_blocks_beyond_the_limit_share_one_report() {
    const MORE: usize = 3;
    let good = "<execute>[{\"name\": \"t\", \"args\": {}}]</execute>";
    for (end, last) in [("", "error"), (good, "error call execute"), ("<end>", "end error")] {
        let text = format!("{}{end}", "<execute>x</execute>".repeat(MAX_REPORTS + MORE));
        let events = read(&text, Options::default(), &Ending::Unknown);
        let kind = |event: &Event| match event {
            Event::Error(_) => "error",
            Event::Call(_) => "call",
            Event::Execute => "execute",
            Event::End => "end",
            _ => "other",
        };
        let rest: Vec<_> = events[MAX_REPORTS..].iter().map(kind).collect();
        assert_eq!(rest.join(" "), last);
        let errors = events.iter().filter_map(|event| match event {
            Event::Error(report) => Some(report),
            _ => None,
        });
        let reports: Vec<_> = errors.collect();
        let more = reports.last().unwrap();
        assert!(more.content.to_string().contains(" in 3 more blocks. "), "{more:?}");
        assert_eq!(more.raw, ["<execute>x</execute>"; MORE].join("\n").as_str().into());
        assert_eq!(reports.len(), MAX_REPORTS + 1);
    }
}

#[test]
fn text_after_the_end_may_be_cut_off_too() {
    let kinds = |text: &str, stream| {
        let events = read(text, Options { stream, ..Options::default() }, &Ending::Length);
        events.iter().filter(|event| matches!(event, Event::Error(_))).count()
    };
    for (text, errors) in [
        ("", 1),
        ("a", 1),
        ("a<end>", 0),
        ("a<end> <think> </think>\n", 0),
        ("<end>a", 1),
        ("<end>a<think>b</think>", 1),
        ("<end>a<end>", 0),
    ] {
        assert_eq!(kinds(text, Stream::Event), errors, "{text}");
        assert_eq!(kinds(text, Stream::Token), errors, "{text}");
    }
}

#[test]
fn reasoning_that_was_cut_is_told_from_an_answer_that_was() {
    for (text, said) in [
        ("<think>a", "while you were still thinking"),
        ("<results>[1", "Your answer reached"),
        ("a", "Your answer reached"),
    ] {
        let events = read(text, Options::default(), &Ending::Length);
        let Some(Event::Error(report)) = events.last() else { panic!("{text}: {events:?}") };
        assert!(report.content.to_string().contains(said), "{text}: {report:?}");
    }
}

#[test]
fn space_before_reopened_reasoning_is_within_the_limit() {
    let limits = Limits { max_block_bytes: 4, ..Limits::default() };
    let think = |text: &str| Event::Think(text.into());
    for (text, expected) in [
        ("    <think>a", vec![think("a")]),
        ("     <think>", vec![think("    "), think(" <th"), think("ink>")]),
    ] {
        let options = Options { limits, begins_in_think: true, ..Options::default() };
        assert_eq!(read(text, options.clone(), &Ending::Unknown), expected, "{text}");
        let (mut parser, mut events) = (Parser::new(Grammar::cogency(), options), Vec::new());
        for character in text.split_inclusive(|_| true) {
            parser.feed(character, &mut events);
            assert!(parser.held.len() <= 8 + "<think".len(), "what is held is bounded");
        }
        parser.finish(&Ending::Unknown, &mut events);
        assert_eq!(events, expected, "{text} in characters");
    }
}

#[test]
fn space_before_reasoning_is_searched_once() {
    const SIZE: usize = if cfg!(miri) { 100 } else { 1_000_000 };
    let options = Options { begins_in_think: true, ..Options::default() };
    let (mut parser, mut events) = (Parser::new(Grammar::cogency(), options), Vec::new());
    for _ in 0..SIZE {
        parser.feed(" ", &mut events);
    }
    assert_eq!(events, []);
    parser.feed("a</think>", &mut events);
    assert_eq!(events, [Event::Think([&b" ".repeat(SIZE)[..], b"a"].concat()[..].into())]);
}

/// If it were searched from its start for every chunk, this would take minutes.
#[test]
fn held_whitespace_is_searched_once() {
    const SIZE: usize = if cfg!(miri) { 100 } else { 1_000_000 };
    let (mut parser, mut events) = (
        Parser::new(Grammar::cogency(), Options { stream: Stream::Token, ..Options::default() }),
        Vec::new(),
    );
    for _ in 0..SIZE {
        parser.feed(" ", &mut events);
    }
    assert_eq!(events, []);
    parser.feed("a", &mut events);
    assert_eq!(events, [Event::Respond([&b" ".repeat(SIZE)[..], b"a"].concat()[..].into())]);
}
