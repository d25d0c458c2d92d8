//! Which tags of a text are quoted, line by line.

/// The quote on both sides of the tag at `start..end`, or `None`. At the end of a text that goes on, `Err`.
///
/// # Errors
/// The next character decides.
pub fn quote_around(
    text: &[u8],
    (start, end): (usize, usize),
    is_whole: bool,
) -> Result<Option<u8>, ()> {
    let before = start.checked_sub(1).map(|at| text[at]);
    let Some(quote) = before.filter(|byte| b"`\"'".contains(byte)) else { return Ok(None) };
    match text.get(end) {
        None if is_whole => Ok(None),
        None => Err(()),
        Some(after) => Ok(Some(quote).filter(|_| *after == quote)),
    }
}

/// Whether reasoning or results that begin with `text` have a quote there at the end that ends a quotation.
#[must_use]
pub fn ends_quotation(text: &[u8]) -> bool {
    let Some(quote) = text.last().filter(|byte| b"`\"'".contains(byte)) else { return false };
    // Nothing is open at the start of a paragraph.
    let is_blank = |line: &[u8]| line.iter().all(|byte| b" \t\r\n".contains(byte));
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let first = lines.iter().rposition(|line| is_blank(line)).map_or(0, |blank| blank + 1);
    let paragraph = lines[first..].concat();
    // The quotes: what is before each of them, and how many there are, which is one but for backticks.
    let mut open: Option<usize> = None;
    let mut ends = false;
    let mut at = 0;
    while let Some(start) = paragraph[at..].iter().position(|byte| byte == quote) {
        let start = at + start;
        let count = paragraph[start..].iter().take_while(|byte| *byte == quote).count();
        let count = if *quote == b'`' { count } else { 1 };
        let after_word = start > 0
            && (paragraph[start - 1].is_ascii_alphanumeric()
                || b".,!?)]}>".contains(&paragraph[start - 1]));
        let line = paragraph[..start].rsplit(|byte| *byte == b'\n').next().unwrap_or(b"");
        at = start + count;
        let count = count.min(255);
        let closes = open == Some(count);
        ends = closes || after_word || (count >= 3 && is_blank(line));
        match open {
            None if !after_word => open = Some(count),
            Some(_) if closes => open = None,
            _ => {}
        }
    }
    ends
}

/// Whether a tag that follows the text read so far is in a fence.
#[derive(Default)]
pub struct Fences {
    open: Option<Vec<u8>>,
    is_spent: bool,
    line: Vec<u8>,
}

impl Fences {
    pub fn read(&mut self, text: &[u8]) {
        for byte in text {
            if *byte == b'\n' {
                match &self.open {
                    None => self.open = self.opens(),
                    Some(_) if self.closes() => self.close(),
                    Some(_) => {}
                }
                self.line.clear();
            } else {
                self.line.push(*byte);
            }
        }
    }

    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    #[must_use]
    pub fn is_around(&self) -> bool {
        self.open.is_some() && !self.is_spent && !self.closes()
    }

    /// A tag that counts ends the line.
    pub fn tag(&mut self) {
        if self.closes() {
            self.close();
        }
        self.line.clear();
    }

    /// A block quotes nothing, and its fence no longer quotes anything.
    pub fn block(&mut self) {
        if self.open.is_none() {
            self.open = self.opens();
            self.is_spent = self.open.is_some();
        } else if self.closes() {
            self.close();
        } else {
            self.is_spent = true;
        }
        self.line.clear();
    }

    fn close(&mut self) {
        (self.open, self.is_spent) = (None, false);
    }

    /// The run that the line begins with, and what comes after it.
    fn run(&self) -> Option<(&[u8], &[u8])> {
        let indent = self.line.iter().take_while(|byte| **byte == b' ').count();
        let rest = &self.line[indent..];
        let first = *rest.first().filter(|byte| b"`~".contains(byte))?;
        let length = rest.iter().take_while(|byte| **byte == first).count();
        (indent <= 3 && length >= 3).then(|| rest.split_at(length))
    }

    fn opens(&self) -> Option<Vec<u8>> {
        let (run, words) = self.run()?;
        (run[0] == b'~' || !words.contains(&b'`')).then(|| run.to_vec())
    }

    fn closes(&self) -> bool {
        let (Some(open), Some((run, words))) = (&self.open, self.run()) else { return false };
        run.starts_with(open) && words.iter().all(|byte| b" \t\r".contains(byte))
    }
}
