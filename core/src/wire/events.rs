//! Server-sent events, as the WHATWG standard has them, out of bytes that are cut anywhere.
//!
//! Lines end in CR, LF or CRLF; an empty line completes an event; a line without a colon is a field without a value; a byte
//! order mark at the start is left out, and so is a comment. An event without data is not one. The standard drops an event that
//! the end of the stream cuts off before its empty line. [`Events::finish`] returns it nevertheless: some providers end without
//! that line, so the caller, who can tell whether the data is whole, decides.
//!
//! Invariant: no byte is searched for a line break twice, and no more than the limit is held.

use thiserror::Error;

/// An event. Its texts are bytes as they came, which need not be UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The value of `event`; empty if there is none, which the standard reads as `message`.
    pub kind: &'a [u8],
    /// The values of `data`, joined by line feeds.
    pub data: &'a [u8],
}

/// A line or an event is longer than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an event has more than {limit} bytes")]
pub struct TooLong {
    /// The most bytes that an event may have.
    pub limit: usize,
}

/// A decoder of events.
///
/// ```
/// use cogency_rs::wire::Events;
///
/// let (mut events, mut data) = (Events::new(1 << 20), Vec::new());
/// for mut bytes in [&b"data: a\r"[..], b"\ndata: b\n\n: a comment\n", b"data: c"] {
///     while let Some(event) = events.next(&mut bytes)? {
///         data.push(String::from_utf8_lossy(event.data).into_owned());
///     }
/// }
/// assert_eq!(data, ["a\nb"]);
/// assert_eq!(events.finish().map(|event| event.data), Some(&b"c"[..])); // cut off: the standard drops it
/// # Ok::<(), cogency_rs::wire::TooLong>(())
/// ```
#[derive(Clone, Debug)]
pub struct Events {
    limit: usize,
    start: Start,
    /// The line so far, if its end has not come.
    line: Vec<u8>,
    /// Whether the last byte was a CR, so that a LF belongs to it.
    after_return: bool,
    fields: Fields,
    /// Whether the event in `fields` has been handed out.
    is_taken: bool,
    last_id: Vec<u8>,
    retry: Option<u64>,
    has_begun: bool,
}

/// What has been read of the byte order mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Mark(usize),
    Passed,
}

#[derive(Clone, Debug, Default)]
struct Fields {
    kind: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
}

const MARK: &[u8] = "\u{feff}".as_bytes();

impl Events {
    /// A decoder of events that have at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            start: Start::Mark(0),
            line: Vec::new(),
            after_return: false,
            fields: Fields::default(),
            is_taken: false,
            last_id: Vec::new(),
            retry: None,
            has_begun: false,
        }
    }

    /// Whether a line was a field of the standard's, or a comment: whether this is a stream of events at all.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// The last value of `id`, which holds for later events too.
    #[must_use]
    pub fn last_id(&self) -> &[u8] {
        &self.last_id
    }

    /// The last value of `retry`: how many milliseconds to wait before asking again.
    #[must_use]
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// Reads on in `bytes`, up to the end of the next event; `None` once all of them are read.
    ///
    /// # Errors
    /// The event is longer than the limit. The decoder must not be called again.
    pub fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<Event<'_>>, TooLong> {
        self.forget_taken();
        self.pass_mark(bytes);
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                *bytes = &bytes[1..];
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', bytes);
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + self.fields.data.len() + part.len() > self.limit {
                return Err(TooLong { limit: self.limit });
            }
            let Some(end) = end else {
                self.line.extend_from_slice(part);
                *bytes = &[];
                break;
            };
            self.after_return = bytes[end] == b'\r';
            *bytes = &bytes[end + 1..];
            let is_complete = if self.line.is_empty() {
                self.take(part)
            } else {
                self.line.extend_from_slice(part);
                let mut line = std::mem::take(&mut self.line);
                let is_complete = self.take(&line);
                line.clear();
                self.line = line;
                is_complete
            };
            if is_complete {
                self.is_taken = true;
                return Ok(Some(self.event()));
            }
        }
        Ok(None)
    }

    /// The event that the end of the stream cut off, if it has data.
    pub fn finish(&mut self) -> Option<Event<'_>> {
        self.forget_taken();
        if let Start::Mark(read) = self.start {
            self.line.extend_from_slice(&MARK[..read]);
            self.start = Start::Passed;
        }
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.take(&line);
        }
        self.is_taken = true;
        self.fields.has_data.then(|| self.event())
    }

    fn event(&self) -> Event<'_> {
        Event { kind: &self.fields.kind, data: &self.fields.data }
    }

    fn forget_taken(&mut self) {
        if std::mem::take(&mut self.is_taken) {
            self.fields.clear();
        }
    }

    /// Passes over the byte order mark; what only begins like one is text.
    fn pass_mark(&mut self, bytes: &mut &[u8]) {
        while let (Start::Mark(read), Some(&first)) = (self.start, bytes.first()) {
            if first != MARK[read] {
                self.line.extend_from_slice(&MARK[..read]);
                self.start = Start::Passed;
                return;
            }
            *bytes = &bytes[1..];
            self.start = if read + 1 < MARK.len() { Start::Mark(read + 1) } else { Start::Passed };
        }
    }

    /// Reads a whole line; whether it completes an event.
    fn take(&mut self, line: &[u8]) -> bool {
        if line.is_empty() {
            if !self.fields.has_data {
                self.fields.clear();
            }
            return self.fields.has_data;
        }
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"" => {}
            b"data" => self.fields.add_data(value),
            b"event" => {
                self.fields.kind.clear();
                self.fields.kind.extend_from_slice(value);
            }
            b"id" => {
                if !value.contains(&0) {
                    self.last_id = value.to_vec();
                }
            }
            b"retry" => {
                if !value.is_empty() && value.iter().all(u8::is_ascii_digit) {
                    let digits = std::str::from_utf8(value).ok();
                    self.retry = digits.and_then(|digits| digits.parse().ok()).or(self.retry);
                }
            }
            _ => return false,
        }
        self.has_begun = true;
        false
    }
}

impl Fields {
    fn add_data(&mut self, value: &[u8]) {
        if self.has_data {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        self.has_data = true;
    }

    fn clear(&mut self) {
        self.kind.clear();
        self.data.clear();
        self.has_data = false;
    }
}
