//! A call with its name in a head, and parameters with raw values.

use std::sync::Arc;

use cogency_rs::dialect::{Args as Form, Dialect, Head};
use cogency_rs::protocol::body::found::unexpected;
use cogency_rs::protocol::body::head::{head_end, is_name, named};
use cogency_rs::protocol::body::opening::{LONGEST, is_begun, key_of, runs_over, unended};
use cogency_rs::protocol::body::value::ends_without_mark;
use cogency_rs::protocol::body::{Calls, Forms};
use cogency_rs::protocol::marks::{any_starts, find, starts_with};
use cogency_rs::protocol::problem::{Problem, ProblemKind};
use cogency_rs::protocol::{Call, Strictness};
use cogency_rs::text::leading_space;

use super::{Cursor, Cut, Shared, braces};
use crate::values::{Args, OpenValue, Within, forms, head_of};

/// The most values of a call whose closing marks may be missing: the rest of the text is read for each.
const MOST_UNCLOSED: usize = 32;

pub async fn read(
    cursor: Cursor,
    dialect: Arc<Dialect>,
    body: usize,
    start: usize,
) -> Result<usize, Problem> {
    let head = head_of(&dialect, body);
    let mut searched = start;
    let (end, mark) = loop {
        {
            let Shared { text, calls, .. } = &*cursor.now();
            match head_end(head, text, start, searched, calls)? {
                Ok(found) => break found,
                Err(up_to) => searched = up_to,
            }
        }
        cursor.more().await.map_err(|Cut| missing(&cursor, &head.ends[0]))?;
    };
    let name = {
        let Shared { text, calls, .. } = &mut *cursor.now();
        let name = named(&head.form, &text[start..end], calls.scope.tools.as_deref()).name;
        if name == "\"\"" || !is_name(&head.form, &name) {
            calls.refuse(ProblemKind::NoName(calls.len()), start);
        }
        calls.name(&name);
        name
    };
    let (at, args) = if *mark == head.close {
        (end, "{}".into())
    } else if let Form::Braces(mark) = &head.args {
        let tools = {
            let calls = &mut cursor.now().calls;
            calls.begin_args();
            calls.scope.tools.clone()
        };
        let schema = tools.as_deref().and_then(|tools| tools.schema(&name));
        braces::arguments(&cursor, mark, schema, end).await?
    } else {
        let start = if *mark == forms(head).parameters.open { end } else { end + mark.len() };
        let reader = Reader { cursor: &cursor, forms: forms(head), tool: &name };
        reader.parameters(start).await?
    };
    close(&cursor, head, at, &Call::new(&name, &args)).await
}

fn missing(cursor: &Cursor, mark: &str) -> Problem {
    Problem { kind: ProblemKind::Missing(format!("{mark:?}").into()), at: cursor.now().text.len() }
}

fn is_lenient(calls: &Calls) -> bool {
    calls.scope.strictness == Strictness::Lenient
}

/// Reads the mark that closes the call. Leniently it may be there twice, or missing.
async fn close(cursor: &Cursor, head: &Head, mut at: usize, call: &Call) -> Result<usize, Problem> {
    let mut closed = None;
    let end = loop {
        at = cursor.space(at).await;
        {
            let Shared { text, calls, .. } = &*cursor.now();
            match starts_with(&text[at..], &head.close) {
                Some(true) if closed.is_none() && is_lenient(calls) => {
                    at += head.close.len();
                    closed = Some(at);
                    continue;
                }
                Some(true) => break at + head.close.len(),
                Some(false) if is_lenient(calls) => break closed.unwrap_or(at),
                Some(false) => match any_starts(&text[at..], &calls.followers) {
                    Some(true) => break at,
                    Some(false) => return Err(unexpected(&[&head.close], text, at)),
                    None => {}
                },
                None => {}
            }
        }
        if cursor.more().await.is_err() {
            break at;
        }
    };
    cursor.now().calls.push(call.clone());
    Ok(end)
}

/// What is at a byte where a parameter or what ends them may begin.
enum Next {
    Parameter,
    End,
}

/// Whether a mark closes a value.
enum Closes {
    Yes,
    No,
    /// The text has ended; whether the end of the call came before that, or nothing of another parameter.
    Perhaps {
        is_closed: bool,
    },
}

#[derive(Clone, Copy)]
struct Reader<'r> {
    cursor: &'r Cursor,
    forms: Forms<'r>,
    tool: &'r str,
}

impl Reader<'_> {
    /// Reads all parameters; gives the byte after them, and the arguments.
    async fn parameters(self, mut at: usize) -> Result<(usize, String), Problem> {
        let (cursor, form) = (self.cursor, self.forms.parameters);
        let (mut args, mut has_begun, mut unclosed) = (Args::new(), false, 0);
        let end = loop {
            at = cursor.space(at).await;
            let next = self.next(&cursor.now(), at, has_begun)?;
            match next {
                Some(Next::End) => break at,
                Some(Next::Parameter) => {}
                None if cursor.more().await.is_ok() => continue,
                None => {
                    let Shared { text, calls, .. } = &*cursor.now();
                    let kind = |mark: &str| ProblemKind::Missing(format!("{mark:?}").into());
                    if is_begun(form, &text[at..]) {
                        return Err(Problem { kind: kind(&form.open), at: text.len() });
                    } else if !calls.has_stopped {
                        return Err(Problem { kind: kind(&self.forms.ends[0]), at: text.len() });
                    }
                    break text.len();
                }
            }
            has_begun = true;
            args.begin(&mut cursor.now().calls);
            let key = at + form.open.len();
            let key_end = self.key_end(key).await?;
            let name = key_of(form, &cursor.now().text[key..key_end]).into_owned();
            let mut value = OpenValue::new(name, key_end + form.key_end.len());
            let (end, next) = self.value(&mut value, &mut args, &mut unclosed).await?;
            let Shared { text, calls, .. } = &mut *cursor.now();
            args.add(value, form, self.tool, &text[..end], calls);
            match next {
                Some(next) => at = next,
                None => break text.len(),
            }
        };
        cursor.now().calls.check_keys(&args.writer, end);
        Ok((end, args.take()))
    }

    fn next(self, shared: &Shared, at: usize, has_begun: bool) -> Result<Option<Next>, Problem> {
        let Shared { text, calls, .. } = shared;
        let (form, ends) = (self.forms.parameters, self.forms.ends);
        match any_starts(&text[at..], ends) {
            Some(true) => return Ok(Some(Next::End)),
            None => return Ok(None),
            Some(false) => {}
        }
        if is_lenient(calls) && has_begun {
            match ends_without_mark(text, at, &mut 0, self.forms, calls) {
                Some(true) => return Ok(Some(Next::End)),
                None => return Ok(None),
                Some(false) => {}
            }
        }
        match starts_with(&text[at..], &form.open) {
            Some(false) => Err(unexpected(&[&*form.open, &ends[0]], text, at)),
            begins => Ok(begins.map(|_| Next::Parameter)),
        }
    }

    async fn key_end(self, start: usize) -> Result<usize, Problem> {
        let (form, mut searched) = (self.forms.parameters, start);
        loop {
            {
                let text = &self.cursor.now().text;
                let within = &text[..text.len().min(start + LONGEST)];
                match find(within, searched, &form.key_end) {
                    Ok(end) => {
                        return match runs_over(self.forms, text, start, end) {
                            Some(at) => Err(unexpected(&[&form.key_end], text, at)),
                            None => Ok(end),
                        };
                    }
                    Err(_) if within.len() < text.len() => {
                        return Err(unended(&form.key_end, start));
                    }
                    Err(up_to) => searched = up_to,
                }
            }
            self.cursor.more().await.map_err(|Cut| missing(self.cursor, &form.key_end))?;
        }
    }

    /// Reads a value; gives its end, and where what comes next begins, unless the text ends before that.
    async fn value(
        self,
        value: &mut OpenValue,
        args: &mut Args,
        unclosed: &mut usize,
    ) -> Result<(usize, Option<usize>), Problem> {
        let (key, start) = (value.key.clone(), value.start);
        let within = Within { forms: self.forms, tool: self.tool, key: &key, start };
        let (close, mut searched) = (&self.forms.parameters.close, start);
        loop {
            let found = find(&self.cursor.now().text, searched, close);
            let (Ok(up_to) | Err(up_to)) = found;
            searched = up_to;
            let is_end = match found {
                Ok(at) => self.closes(value, args, at).await,
                Err(_) if self.wait(value, args, searched).await.is_ok() => continue,
                Err(_) => {
                    let Shared { text, calls, .. } = &*self.cursor.now();
                    *unclosed += 1;
                    let next = within.next(text, calls).filter(|_| *unclosed <= MOST_UNCLOSED);
                    if let Some(at) = next {
                        return Ok((at, Some(at)));
                    }
                    Closes::Perhaps { is_closed: false }
                }
            };
            let Shared { text, calls, .. } = &mut *self.cursor.now();
            let end = match is_end {
                Closes::No => {
                    searched += 1;
                    continue;
                }
                Closes::Yes => {
                    let (end, next) = within.end(text, searched, calls);
                    return Ok((end, Some(next)));
                }
                Closes::Perhaps { is_closed } if found.is_ok() => {
                    (is_closed && within.is_whole(text, searched, calls)).then_some(searched)
                }
                Closes::Perhaps { .. } => within.end_of_call(text, calls),
            };
            let kind = ProblemKind::Missing(format!("{close:?}").into());
            return end.map(|end| (end, None)).ok_or(Problem { kind, at: text.len() });
        }
    }

    /// Whether the mark at this byte closes the value: it does if what may follow follows.
    async fn closes(self, value: &mut OpenValue, args: &mut Args, mark: usize) -> Closes {
        let (form, ends) = (self.forms.parameters, self.forms.ends);
        let mut at = mark + form.close.len();
        let (mut has_ended, mut looked) = (false, 0);
        loop {
            {
                let Shared { text, calls, is_cut } = &*self.cursor.now();
                at += leading_space(&text[at..]);
                let rest = &text[at..];
                let lenient = is_lenient(calls);
                let opens = if has_ended { Some(false) } else { starts_with(rest, &form.open) };
                let is_end =
                    if !has_ended || lenient { any_starts(rest, ends) } else { Some(false) };
                let follows = match (opens, is_end, has_ended) {
                    (Some(true), ..) => return Closes::Yes,
                    (None, ..) => None,
                    (_, Some(true), _) => {
                        if calls.followers.is_empty() {
                            return Closes::Yes;
                        }
                        let mark = ends.iter().find(|mark| rest.starts_with(mark.as_bytes()));
                        at += mark.map_or(0, |mark| mark.len());
                        has_ended = true;
                        continue;
                    }
                    (.., true) => any_starts(rest, &calls.followers),
                    _ if lenient => ends_without_mark(text, at, &mut looked, self.forms, calls),
                    _ => Some(false),
                };
                match (follows, is_end) {
                    (Some(true), _) => return Closes::Yes,
                    (Some(false), Some(_)) => return Closes::No,
                    _ if *is_cut => {
                        let may_end = calls.has_stopped && !is_begun(form, rest);
                        return Closes::Perhaps { is_closed: has_ended || may_end };
                    }
                    _ => {}
                }
            }
            // Where the text ends, that is seen in the next round.
            let _ = self.wait(value, args, mark).await;
        }
    }

    /// Shows the value as far as it is sure, and waits for more.
    async fn wait(self, value: &mut OpenValue, args: &mut Args, sure: usize) -> Result<(), Cut> {
        {
            let Shared { text, calls, .. } = &mut *self.cursor.now();
            value.show(self.forms, self.tool, &text[..sure], calls, args);
        }
        self.cursor.more().await
    }
}
