//! Arguments in braces: `{key:value,…}`, keys without quotes and strings between marks.

use cogency_rs::json::{Container, Token, unescaped};
use cogency_rs::protocol::body::Calls;
use cogency_rs::protocol::body::braces::{close_of, literal};
use cogency_rs::protocol::body::found::{character, expected, in_quotes, problem};
use cogency_rs::protocol::canonical::{Writer, json_string};
use cogency_rs::protocol::marks::{find, starts_with};
use cogency_rs::protocol::problem::{Problem, ProblemKind};
use cogency_rs::protocol::tools::Schema;

use super::json::Stop;
use super::{Cursor, Cut, Shared};
use crate::fields::scanner;

/// The most bytes that a key without quotes may have.
const MAX_KEY: usize = 256;

/// Reads the arguments that begin at byte `start`; gives the byte after them.
pub async fn arguments(
    cursor: &Cursor,
    mark: &str,
    schema: Option<Schema<'_>>,
    start: usize,
) -> Result<(usize, String), Problem> {
    let (levels, args) = (Vec::new(), Writer::new(0));
    let mut braces = Braces { cursor, mark, at: start, levels, args };
    match braces.read(schema).await {
        Ok(()) => {}
        Err(Stop::Broken(problem)) => return Err(problem),
        Err(Stop::Refused) => braces.pass_over().await?,
    }
    cursor.now().calls.check_keys(&braces.args, braces.at - 1);
    Ok((braces.at, braces.args.finish()))
}

struct Braces<'b> {
    cursor: &'b Cursor,
    mark: &'b str,
    at: usize,
    /// The brackets that are open, and what the tool's schema says of what is in each.
    levels: Vec<(Container, Option<Schema<'b>>)>,
    args: Writer,
}

/// What begins at a byte.
enum Begins {
    Marked,
    Byte(u8),
}

impl<'b> Braces<'b> {
    async fn read(&mut self, schema: Option<Schema<'b>>) -> Result<(), Stop> {
        let byte = self.byte().await?;
        if byte != b'{' {
            let problem = problem("\"{\"", character(&self.cursor.now().text, self.at), self.at);
            return Err(Stop::Broken(problem));
        }
        self.open(byte, schema)?;
        // Before an item or what closes its bracket.
        while let Some(&(container, schema)) = self.levels.last() {
            let mut begins = self.begins().await?;
            let mut schema = schema;
            if !self.closes(&begins) {
                if container == Container::Object {
                    let key = self.key(begins).await?;
                    schema = schema.and_then(|object| object.property(&key));
                    if self.byte().await? != b':' {
                        return Err(self.unexpected("\":\" after the key"));
                    }
                    self.at += 1;
                    begins = self.begins().await?;
                } else {
                    schema = schema.and_then(Schema::items);
                }
                match begins {
                    Begins::Byte(byte @ (b'{' | b'[')) => {
                        self.open(byte, schema)?;
                        continue;
                    }
                    Begins::Byte(b'\'') => return Err(self.unexpected("a value")),
                    Begins::Byte(b'"') => self.quoted(true).await.map(drop)?,
                    Begins::Marked => self.marked(true).await.map(drop)?,
                    Begins::Byte(_) => {
                        let raw = self.bare(false).await?;
                        self.args.raw_scalar(&literal(raw.as_bytes(), schema));
                    }
                }
            }
            // Behind a value: what closes brackets, and a comma.
            loop {
                let begins = Begins::Byte(self.byte().await?);
                if self.closes(&begins) {
                    self.at += 1;
                    self.args.close();
                    self.levels.pop();
                    if self.levels.is_empty() {
                        return Ok(());
                    }
                } else if let Begins::Byte(b',') = begins {
                    self.at += 1;
                    break;
                } else {
                    return Err(self.unexpected(self.behind_value()));
                }
            }
        }
        Ok(())
    }

    /// Reads the key that begins so, and writes it.
    async fn key(&mut self, begins: Begins) -> Result<String, Stop> {
        let key = match begins {
            Begins::Marked => self.marked(false).await?,
            Begins::Byte(b'"') => self.quoted(false).await?,
            Begins::Byte(_) => self.bare(true).await?.into_bytes(),
        };
        self.args.raw_key(&json_string(&key));
        Ok(String::from_utf8_lossy(&key).into_owned())
    }

    /// Reads a string between marks, and writes it if it is a value.
    async fn marked(&mut self, is_value: bool) -> Result<Vec<u8>, Stop> {
        let (start, mut shown, mut searched) = (self.at, None, self.at);
        loop {
            {
                let Shared { text, calls, .. } = &mut *self.cursor.now();
                match find(text, searched, self.mark) {
                    Ok(end) => {
                        self.at = end + self.mark.len();
                        if is_value {
                            self.args.text_part(&text[shown.unwrap_or(start)..end]);
                            self.args.end_text();
                            return Ok(Vec::new());
                        }
                        return Ok(text[start..end].to_vec());
                    }
                    Err(up_to) => searched = up_to,
                }
                if is_value && calls.shows() {
                    self.args.text_part(&text[shown.unwrap_or(start)..searched]);
                    shown = Some(searched);
                }
            }
            self.wait(Some(start)).await.map_err(Stop::Broken)?;
        }
    }

    /// Likewise of a JSON string.
    async fn quoted(&mut self, is_value: bool) -> Result<Vec<u8>, Stop> {
        let start = self.at;
        let mut scanner = scanner(start, cogency_rs::protocol::Strictness::Strict);
        loop {
            {
                let Shared { text, calls, .. } = &mut *self.cursor.now();
                match scanner.next(text) {
                    Ok(Some(Token::String(range))) => {
                        self.at = range.end;
                        if is_value {
                            self.args.token(text, &Token::String(range));
                            return Ok(Vec::new());
                        }
                        return Ok(unescaped(&text[range]).as_bytes().to_vec());
                    }
                    Ok(_) if is_value && calls.shows() => self.args.string_up_to(text, &scanner),
                    Ok(_) => {}
                    Err(fault) => return Err(refuse(calls, fault.kind.into(), fault.at)),
                }
            }
            self.wait(Some(start)).await.map_err(Stop::Broken)?;
        }
    }

    /// Reads a key or a value without quotes.
    async fn bare(&mut self, is_key: bool) -> Result<String, Stop> {
        let start = self.at;
        let ends = |&byte: &u8| match byte {
            b',' | b'{' | b'}' | b'[' | b']' | b'"' | b'<' => true,
            _ => is_key && matches!(byte, b':' | b'\n' | b'\''),
        };
        let mut searched = start;
        let end = loop {
            {
                let Shared { text, calls, .. } = &mut *self.cursor.now();
                let end = text[searched..].iter().position(ends).map(|width| searched + width);
                searched = end.unwrap_or(text.len());
                if is_key && searched - start > MAX_KEY {
                    let found = format!("one of more than {MAX_KEY} bytes").into();
                    return Err(refuse(calls, expected("a key", found), start));
                }
                if let Some(end) = end {
                    break end;
                }
            }
            self.wait(None).await.map_err(Stop::Broken)?;
        };
        self.at = end;
        let Shared { text, calls, .. } = &mut *self.cursor.now();
        let raw = cogency_rs::text::trim(&text[start..end]);
        let wanted = match (is_key, raw.is_empty()) {
            (true, true) => "a key",
            (true, false) => "\":\" after the key",
            (false, true) => "a value",
            (false, false) => self.behind_value(),
        };
        match text[end] {
            b':' if is_key && !raw.is_empty() => {}
            b',' | b'}' | b']' if !is_key && !raw.is_empty() => {
                if let Some(line) = memchr::memchr(b'\n', raw) {
                    let kind = expected(self.behind_value(), "a line break".into());
                    return Err(refuse(calls, kind, start + line));
                }
            }
            // Probably the mark after the call, whose braces were not closed.
            b'<' => return Err(Stop::Broken(problem(wanted, character(text, end), end))),
            _ => return Err(refuse(calls, expected(wanted, character(text, end)), end)),
        }
        Ok(String::from_utf8_lossy(raw).into_owned())
    }

    fn open(&mut self, byte: u8, schema: Option<Schema<'b>>) -> Result<(), Stop> {
        let container = if byte == b'{' { Container::Object } else { Container::Array };
        self.levels.push((container, schema));
        self.args.open(container);
        self.at += 1;
        let calls = &mut self.cursor.now().calls;
        let most = calls.scope.limits.max_depth;
        match self.levels.len() > most {
            true => Err(refuse(calls, ProblemKind::TooDeep(most), self.at - 1)),
            false => Ok(()),
        }
    }

    fn closes(&self, begins: &Begins) -> bool {
        let close = self.levels.last().map(|(container, _)| close_of(*container));
        matches!(begins, Begins::Byte(byte) if Some(*byte) == close)
    }

    fn behind_value(&self) -> &'static str {
        match self.levels.last() {
            Some((Container::Array, _)) => "\",\" or \"]\"",
            _ => "\",\" or \"}\"",
        }
    }

    /// Refuses the character at the position.
    fn unexpected(&self, wanted: &'static str) -> Stop {
        let Shared { text, calls, .. } = &mut *self.cursor.now();
        refuse(calls, expected(wanted, character(text, self.at)), self.at)
    }

    /// Arguments that have been refused are read only to find their end.
    async fn pass_over(&mut self) -> Result<(), Problem> {
        let mut takes_value = true;
        while !self.levels.is_empty() {
            let byte = match self.begins().await {
                Ok(Begins::Byte(byte)) => byte,
                Ok(Begins::Marked) => {
                    takes_value = false;
                    match self.marked(false).await {
                        Err(Stop::Broken(problem)) => return Err(problem),
                        _ => continue,
                    }
                }
                Err(Stop::Broken(problem)) => return Err(problem),
                Err(Stop::Refused) => unreachable!("a byte is not refused"),
            };
            if takes_value && byte == b'"' {
                self.at += 1;
                self.pass_over_string().await?;
                takes_value = false;
                continue;
            }
            let close = self.levels.last().map_or(b'}', |(container, _)| close_of(*container));
            match byte {
                b'{' => self.levels.push((Container::Object, None)),
                b'[' => self.levels.push((Container::Array, None)),
                b'}' | b']' if close == byte => drop(self.levels.pop()),
                b'}' | b']' => {
                    let found = character(&self.cursor.now().text, self.at);
                    return Err(problem(in_quotes(&[close]), found, self.at));
                }
                b'<' => {
                    let found = character(&self.cursor.now().text, self.at);
                    return Err(problem(self.behind_value(), found, self.at));
                }
                _ => {}
            }
            self.at += 1;
            takes_value = matches!(byte, b'{' | b'[' | b',' | b':');
        }
        Ok(())
    }

    async fn pass_over_string(&mut self) -> Result<(), Problem> {
        loop {
            while let Some(byte) = self.passed() {
                if byte == b'"' {
                    return Ok(());
                }
            }
            self.wait(None).await?;
        }
    }

    /// Passes over text up to a quote or an escape, and over that; `None` where the text ends before.
    fn passed(&mut self) -> Option<u8> {
        let text = &self.cursor.now().text;
        let found = memchr::memchr2(b'"', b'\\', &text[self.at..]);
        self.at += found.unwrap_or(text.len() - self.at);
        let (byte, width) = match text.get(self.at)? {
            b'"' => (b'"', 1),
            _ => (b'\\', 2),
        };
        (self.at + width <= text.len()).then(|| self.at += width).map(|()| byte)
    }

    /// What begins at the next byte that is not space.
    async fn begins(&mut self) -> Result<Begins, Stop> {
        loop {
            let byte = self.byte().await?;
            let is_marked = match self.mark {
                "" => Some(false),
                mark => starts_with(&self.cursor.now().text[self.at..], mark),
            };
            match is_marked {
                Some(true) => {
                    self.at += self.mark.len();
                    return Ok(Begins::Marked);
                }
                Some(false) => return Ok(Begins::Byte(byte)),
                None => self.wait(None).await.map_err(Stop::Broken)?,
            }
        }
    }

    /// The next byte that is not space.
    async fn byte(&mut self) -> Result<u8, Stop> {
        loop {
            {
                let text = &self.cursor.now().text;
                self.at += cogency_rs::text::leading_space(&text[self.at..]);
                if let Some(&byte) = text.get(self.at) {
                    return Ok(byte);
                }
            }
            self.wait(None).await.map_err(Stop::Broken)?;
        }
    }

    /// Shows what is written, and waits for more, perhaps in a string that began at this byte.
    async fn wait(&mut self, string: Option<usize>) -> Result<(), Problem> {
        {
            let calls = &mut self.cursor.now().calls;
            if calls.shows() {
                calls.wrote(&self.args);
            }
        }
        self.cursor.more().await.map_err(|Cut| {
            let ended = self.cursor.now().text.len();
            let (what, at) = match (string, self.levels.last()) {
                (Some(start), _) => ("the end of the string that begins here".into(), start),
                (_, Some((container, _))) => (in_quotes(&[close_of(*container)]), ended),
                (_, None) => ("\"{\"".into(), ended),
            };
            Problem { kind: ProblemKind::Missing(what), at }
        })
    }
}

fn refuse(calls: &mut Calls, kind: ProblemKind, at: usize) -> Stop {
    calls.refuse(kind, at);
    Stop::Refused
}
