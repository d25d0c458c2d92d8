//! Calls as JSON.

use std::sync::Arc;

use cogency_rs::dialect::{Body, Dialect, Json};
use cogency_rs::json::{Container, Scanner, Token};
use cogency_rs::protocol::body::fields::name_of;
use cogency_rs::protocol::body::{Calls, Early, Scope};
use cogency_rs::protocol::canonical::Writer;
use cogency_rs::protocol::problem::{Problem, ProblemKind};

use crate::fields::{Fields, Role, may_be, not_calls, role, scanner, start_of};
use crate::item::Item;

/// Where each call ends, and the value that they are in.
#[derive(Clone, Debug)]
pub struct JsonItem {
    scanner: Scanner,
    /// How many brackets are open directly inside a call; 0 before the value.
    depth: usize,
    /// Where the call began that the position is in.
    call: Option<usize>,
    shown: Option<Shown>,
}

/// What is shown of a call before its end.
#[derive(Clone, Debug)]
struct Shown {
    fields: Fields,
    open: Option<Role>,
    writer: Writer,
}

impl Item for JsonItem {
    fn new(_: &Arc<Dialect>, _: usize, start: usize, scope: &Scope) -> Self {
        Self { scanner: scanner(start, scope.strictness), depth: 0, call: None, shown: None }
    }

    fn read(
        &mut self,
        dialect: &Dialect,
        body: usize,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem> {
        let form = form(dialect, body);
        if self.depth == 0 && self.scanner.depth() == 0 {
            self.scanner.skip_space(text);
        }
        while !self.scanner.is_complete() {
            let Some(token) = self.scanner.next(text)? else {
                if let Some(shown) = self.shown.as_mut().filter(|_| calls.shows()) {
                    shown.so_far(text, &self.scanner, self.depth, calls);
                }
                return Ok(None);
            };
            self.token(form, text, &token, calls);
        }
        Ok(Some(self.scanner.position()))
    }

    fn cut_off(
        &mut self,
        dialect: &Dialect,
        body: usize,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<(), Problem> {
        if let Some(number) = self.scanner.end(text)? {
            self.token(form(dialect, body), text, &number, calls);
        }
        Ok(())
    }
}

fn form(dialect: &Dialect, body: usize) -> &Json {
    match &dialect.calls.bodies[body] {
        Body::Json(form) => form,
        _ => unreachable!(),
    }
}

impl JsonItem {
    fn token(&mut self, form: &Json, text: &[u8], token: &Token, calls: &mut Calls) {
        if calls.is_refused() {
            return;
        }
        let (depth, at) = (self.scanner.depth(), self.scanner.position() - 1);
        if let Some(start) = self.call {
            if depth < self.depth {
                self.call = None;
                decode(form, text, start, self.depth, calls);
            } else if depth > calls.scope.limits.max_depth {
                self.shown = None;
            } else if let Some(shown) = self.shown.as_mut().filter(|_| calls.shows()) {
                shown.token(form, text, token, (depth - self.depth, at), calls);
            }
            return;
        }
        let most = calls.scope.limits.max_depth;
        if depth > most {
            return calls.refuse(ProblemKind::TooDeep(most), at);
        }
        let (may_be_array, may_be_object) = may_be(form, calls);
        match (self.depth, token) {
            (0, Token::Open(Container::Array)) if may_be_array => self.depth = 2,
            (0, Token::Open(Container::Object)) if may_be_object => {
                self.depth = 1;
                self.begin(form, at, calls);
            }
            (0, token) => calls.refuse(not_calls(form, token), start_of(token, at)),
            (_, Token::Open(Container::Object)) => self.begin(form, at, calls),
            (_, Token::Close(_)) => {}
            (_, token) => {
                let kind = ProblemKind::NotAnObject { index: calls.len(), found: name_of(token) };
                calls.refuse(kind, start_of(token, at));
            }
        }
    }

    fn begin(&mut self, form: &Json, at: usize, calls: &mut Calls) {
        calls.begin(at);
        self.call = Some(at);
        let shows = calls.scope.early != Early::Nothing;
        self.shown = shows.then(|| Shown {
            fields: Fields::new(form),
            open: None,
            writer: Writer::default(),
        });
    }
}

impl Shown {
    /// Takes a token inside the call; `depth` brackets are open in it.
    fn token(
        &mut self,
        form: &Json,
        text: &[u8],
        token: &Token,
        (depth, at): (usize, usize),
        calls: &mut Calls,
    ) {
        match (self.open, token) {
            (None, Token::Key(key)) => {
                self.open = Some(role(form, &text[key.clone()], calls.scope.strictness));
                return;
            }
            (Some(Role::Args(_)), token) => {
                if depth == 1 && *token == Token::Open(Container::Object) {
                    self.fields.begin_args(calls);
                }
                self.writer.token(text, token);
            }
            _ => {}
        }
        if let (0, Some(role)) = (depth, self.open) {
            let writer = std::mem::take(&mut self.writer);
            self.fields.take(form, role, text, (token, at), writer, calls);
            self.open = None;
        }
    }

    /// Shows what is known of the arguments.
    fn so_far(&mut self, text: &[u8], scanner: &Scanner, depth: usize, calls: &mut Calls) {
        if let Some(Role::Args(_)) = self.open
            && scanner.depth() > depth
        {
            self.writer.string_up_to(text, scanner);
            calls.wrote(&self.writer);
        }
    }
}

/// Decodes the call whose object begins at `start`, inside so many brackets with its own; the extent has seen that it is JSON.
fn decode(form: &Json, text: &[u8], start: usize, inside: usize, calls: &mut Calls) {
    let (mut scanner, mut fields) = (scanner(start, calls.scope.strictness), Fields::new(form));
    let most = calls.scope.limits.max_depth;
    let mut open = None;
    let mut writer = Writer::default();
    while let Ok(Some(token)) = scanner.next(text) {
        let (depth, at) = (scanner.depth(), scanner.position() - 1);
        if depth + inside - 1 > most {
            return calls.refuse(ProblemKind::TooDeep(most), at);
        }
        match (open, &token) {
            (None, Token::Key(key)) => {
                open = Some(role(form, &text[key.clone()], calls.scope.strictness));
                writer = Writer::new(0);
                continue;
            }
            (Some(Role::Args(_)), token) => writer.token(text, token),
            _ => {}
        }
        if let (1, Some(role)) = (depth, open) {
            fields.take(form, role, text, (&token, at), std::mem::take(&mut writer), calls);
            open = None;
            if calls.is_refused() {
                return;
            }
        }
    }
    fields.finish(form, start, calls);
}
