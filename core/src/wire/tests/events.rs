//! The decoder of server-sent events, after the examples and the rules of the standard.

use super::super::events::{Events, TooLong};

type Read = Vec<(String, String)>;

/// The kind and the data of each event, of the last one too if it was cut off.
fn read(chunks: &[&[u8]]) -> (Read, Option<String>) {
    let (mut events, mut read) = (Events::new(1000), Vec::new());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for mut chunk in chunks.iter().copied() {
        while let Some(event) = events.next(&mut chunk).expect("no long event") {
            read.push((text(event.kind), text(event.data)));
        }
    }
    let last = events.finish().map(|event| text(event.data));
    (read, last)
}

#[test]
fn events_are_those_of_the_standard() {
    let messages = |data: &[&str]| -> Read {
        data.iter().map(|data| (String::new(), (*data).to_owned())).collect()
    };
    for (bytes, expected) in [
        ("data: a\n\n", messages(&["a"])),
        ("data: a\r\rdata: b\r\n\r\n", messages(&["a", "b"])),
        ("data: YHOO\ndata: +2\ndata: 10\n\n", messages(&["YHOO\n+2\n10"])),
        (
            ": test stream\n\ndata: first\nid: 1\n\ndata:second\nid\n\ndata:  third\n\n",
            messages(&["first", "second", " third"]),
        ),
        ("data\n\ndata\ndata\n\n", messages(&["", "\n"])),
        ("data:test\n\ndata: test\n\n", messages(&["test", "test"])),
        ("\u{feff}data: a\n\n", messages(&["a"])),
        ("data: \u{feff}a\n\n", messages(&["\u{feff}a"])),
        ("\u{feff}\u{feff}data: a\n\n", messages(&[])),
        (
            "event: a\ndata: b\n\ndata: c\n\n",
            vec![("a".into(), "b".into()), (String::new(), "c".into())],
        ),
        ("event: a\n\ndata: c\n\n", messages(&["c"])),
        ("event: a\nevent: b\ndata: c\n\n", vec![("b".into(), "c".into())]),
        (" data: a\n\nDATA: a\n\ndata : a\n\nother: a\n\n", messages(&[])),
        ("data: a: b\n\n", messages(&["a: b"])),
        ("data: ä☃🦀\n\n", messages(&["ä☃🦀"])),
    ] {
        assert_eq!(read(&[bytes.as_bytes()]), (expected.clone(), None), "{bytes:?}");
        let each: Vec<&[u8]> = bytes.as_bytes().chunks(1).collect();
        assert_eq!(read(&each), (expected, None), "{bytes:?}, in bytes");
    }
}

#[test]
fn an_event_that_is_cut_off_is_given_at_the_end() {
    for (bytes, expected) in [
        ("data: a\n\ndata: b\n", Some("b")),
        ("data: a\n\ndata: b", Some("b")),
        ("data: a\n\ndata: b\ndata: c", Some("b\nc")),
        ("data: a\n\nevent: b", None),
        ("data: a\n\n\n", None),
        ("data: a\n\ndat", None),
    ] {
        let (events, last) = read(&[bytes.as_bytes()]);
        assert_eq!((events.len(), last.as_deref()), (1, expected), "{bytes:?}");
    }
}

#[test]
fn id_and_retry_are_kept() {
    let mut events = Events::new(1000);
    let mut bytes =
        &b"id: 1\nretry: 10\ndata: a\n\nid: 2\0\nretry: x\nretry:\ndata: b\n\nid\ndata: c\n\n"[..];
    let mut seen = Vec::new();
    while events.next(&mut bytes).expect("no long event").is_some() {
        seen.push((String::from_utf8_lossy(events.last_id()).into_owned(), events.retry()));
    }
    let expected = [("1", Some(10)), ("1", Some(10)), ("", Some(10))];
    assert_eq!(seen, expected.map(|(id, retry)| (id.to_owned(), retry)));
}

#[test]
fn an_event_has_as_many_bytes_as_the_limit_allows() {
    let read = |bytes: &str| {
        let mut events = Events::new(20);
        let mut each = bytes.as_bytes().chunks(3);
        each.try_for_each(|mut chunk| events.next(&mut chunk).map(|_| ()))
    };
    assert_eq!(read(&format!("data: {}", "a".repeat(14))), Ok(()));
    assert_eq!(read(&format!("data: {}", "a".repeat(15))), Err(TooLong { limit: 20 }));
    assert_eq!(read("data: 12345\ndata: 123\n"), Ok(()));
    assert_eq!(read("data: 12345\ndata: 1234567890\n"), Err(TooLong { limit: 20 }));
}
