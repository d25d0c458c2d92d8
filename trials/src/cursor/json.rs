//! Calls as JSON.

use std::sync::Arc;

use cogency_rs::dialect::{Body, Dialect, Json};
use cogency_rs::json::{Container, Scanner, Token};
use cogency_rs::protocol::body::fields::name_of;
use cogency_rs::protocol::canonical::Writer;
use cogency_rs::protocol::problem::{Problem, ProblemKind};

use super::{Cursor, Shared};
use crate::fields::{Fields, Role, may_be, not_calls, role, scanner, start_of};

/// Why a call is not read on.
pub enum Stop {
    /// Something is wrong with it, which has been said; its JSON still has an end.
    Refused,
    Broken(Problem),
}

/// The tokens of a value that arrives.
struct Tokens {
    cursor: Cursor,
    scanner: Scanner,
}

pub async fn read(
    cursor: Cursor,
    dialect: Arc<Dialect>,
    body: usize,
    start: usize,
) -> Result<usize, Problem> {
    let Body::Json(form) = &dialect.calls.bodies[body] else { unreachable!() };
    let strictness = cursor.now().calls.scope.strictness;
    let start = cursor.space(start).await;
    let mut tokens = Tokens { scanner: scanner(start, strictness), cursor };
    match value(&mut tokens, form).await {
        Ok(()) => {}
        Err(Stop::Broken(problem)) => return Err(problem),
        Err(Stop::Refused) => {
            while !tokens.scanner.is_complete() {
                tokens.any(None).await?;
            }
        }
    }
    Ok(tokens.scanner.position())
}

async fn value(tokens: &mut Tokens, form: &Json) -> Result<(), Stop> {
    let (may_be_array, may_be_object) = may_be(form, &tokens.cursor.now().calls);
    match tokens.next(None).await? {
        (Token::Open(Container::Array), _) if may_be_array => loop {
            match tokens.next(None).await? {
                (Token::Close(_), _) => return Ok(()),
                (Token::Open(Container::Object), at) => call(tokens, form, at).await?,
                (token, at) => {
                    let calls = &mut tokens.cursor.now().calls;
                    let (index, found) = (calls.len(), name_of(&token));
                    calls.refuse(ProblemKind::NotAnObject { index, found }, start_of(&token, at));
                    return Err(Stop::Refused);
                }
            }
        },
        (Token::Open(Container::Object), at) if may_be_object => call(tokens, form, at).await,
        (token, at) => {
            let kind = not_calls(form, &token);
            tokens.cursor.now().calls.refuse(kind, start_of(&token, at));
            Err(Stop::Refused)
        }
    }
}

async fn call(tokens: &mut Tokens, form: &Json, start: usize) -> Result<(), Stop> {
    let strictness = {
        let calls = &mut tokens.cursor.now().calls;
        calls.begin(start);
        calls.scope.strictness
    };
    let (mut fields, inside) = (Fields::new(form), tokens.scanner.depth());
    while let (Token::Key(key), _) = tokens.next(None).await? {
        let role = role(form, &tokens.cursor.now().text[key], strictness);
        let mut writer = Writer::default();
        let (last, at) = loop {
            let is_args = matches!(role, Role::Args(_));
            let shown = (is_args && tokens.scanner.depth() > inside).then_some(&mut writer);
            let (token, at) = tokens.next(shown).await?;
            let Shared { text, calls, .. } = &mut *tokens.cursor.now();
            if is_args {
                let depth = tokens.scanner.depth();
                if depth == inside + 1 && token == Token::Open(Container::Object) {
                    fields.begin_args(calls);
                }
                writer.token(text, &token);
            }
            if tokens.scanner.depth() == inside {
                break (token, at);
            }
        };
        let Shared { text, calls, .. } = &mut *tokens.cursor.now();
        fields.take(form, role, text, (&last, at), writer, calls);
    }
    fields.finish(form, start, &mut tokens.cursor.now().calls);
    Ok(())
}

impl Tokens {
    /// The next token and its last byte, unless the block is refused. While it arrives, what is known of a string is shown.
    async fn next(&mut self, shown: Option<&mut Writer>) -> Result<(Token, usize), Stop> {
        if self.cursor.now().calls.is_refused() {
            return Err(Stop::Refused);
        }
        let token = self.any(shown).await.map_err(Stop::Broken)?;
        let (depth, at) = (self.scanner.depth(), self.scanner.position() - 1);
        let calls = &mut self.cursor.now().calls;
        let most = calls.scope.limits.max_depth;
        if depth > most {
            calls.refuse(ProblemKind::TooDeep(most), at);
            return Err(Stop::Refused);
        }
        Ok((token, at))
    }

    async fn any(&mut self, mut shown: Option<&mut Writer>) -> Result<Token, Problem> {
        loop {
            {
                let Shared { text, calls, .. } = &mut *self.cursor.now();
                if let Some(token) = self.scanner.next(text)? {
                    return Ok(token);
                }
                if let Some(writer) = shown.as_deref_mut().filter(|_| calls.shows()) {
                    writer.string_up_to(text, &self.scanner);
                    calls.wrote(writer);
                }
            }
            if self.cursor.more().await.is_err() {
                let text = &self.cursor.now().text;
                // A bare number is complete at the end of the text; else that is an error.
                return Ok(self.scanner.end(text)?.expect("the value is not complete"));
            }
        }
    }
}
