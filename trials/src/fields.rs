//! What the object of a call holds. Plain code that both designs have.

use std::borrow::Cow;

use cogency_rs::dialect::{Json, JsonShape};
use cogency_rs::json::{Scanner, Token, TrailingCommas};
use cogency_rs::protocol::Strictness;
use cogency_rs::protocol::body::fields::{OTHER_ARGS, args_of, name_of, string};
use cogency_rs::protocol::body::{CallParts, Calls};
use cogency_rs::protocol::canonical::{Writer, canonical_string};
use cogency_rs::protocol::problem::ProblemKind;

const OTHER_NAMES: [&str; 4] = ["name", "tool_name", "tool", "function"];

const NOTHING: &str = "nothing";

/// What a field holds, or what was found instead of the right type.
type Slot = Result<String, &'static str>;

/// The role of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Name(usize),
    Args(usize),
    Id,
    Server,
    Other,
}

/// The role of a quoted key. It may be written with escapes; what counts is what it says.
pub fn role(form: &Json, key: &[u8], strictness: Strictness) -> Role {
    let key = match key.contains(&b'\\') {
        true => Cow::Owned(canonical_string(key).into_bytes()),
        false => Cow::Borrowed(key),
    };
    let key = std::str::from_utf8(&key[1..key.len() - 1]).unwrap_or_default();
    let is = |name: &&str| *name == key;
    let (names, args) = (form.name.iter().map(|n| &**n), form.args.iter().map(|a| &**a));
    let lenient = strictness == Strictness::Lenient;
    let others = |rest: [&'static str; 4]| rest.into_iter().filter(move |_| lenient);
    if let Some(rank) = names.clone().position(|name| is(&name)) {
        Role::Name(rank)
    } else if let Some(rank) = args.clone().position(|name| is(&name)) {
        Role::Args(rank)
    } else if form.id.as_deref().is_some_and(|id| is(&id)) {
        Role::Id
    } else if form.server.as_deref().is_some_and(|server| is(&server)) {
        Role::Server
    } else if others(OTHER_ARGS).any(|name| is(&name)) {
        Role::Args(form.args.len())
    } else if let Some(rank) = others(OTHER_NAMES).position(|name| is(&name)) {
        Role::Name(form.name.len() + rank)
    } else {
        Role::Other
    }
}

/// The value of the best of several keys: the first of them counts, and of equal keys the last.
#[derive(Clone, Debug)]
struct Ranked {
    rank: usize,
    slot: Slot,
}

impl Ranked {
    fn is_known(&self) -> bool {
        self.rank < usize::MAX
    }

    /// Whether the key was there before, or this value takes the place of another.
    fn is_second(&self, rank: usize, slot: &Slot) -> bool {
        let is_other = matches!((&self.slot, slot), (Ok(old), Ok(new)) if old != new);
        self.is_known() && (rank == self.rank || (rank < self.rank && is_other))
    }

    /// Takes a value, if it is better; tells whether it is.
    fn put(&mut self, rank: usize, slot: Slot) -> bool {
        let is_better = match (&self.slot, &slot) {
            _ if rank == self.rank => true,
            (Ok(_), Err(_)) if self.is_known() => false,
            (Err(_), Ok(_)) => true,
            _ => rank < self.rank,
        };
        if is_better {
            *self = Self { rank, slot };
        }
        is_better
    }
}

/// The fields of a call, as far as they are known.
#[derive(Clone, Debug)]
pub struct Fields {
    name: Ranked,
    args: Ranked,
    id: Slot,
    server: Slot,
}

impl Fields {
    pub fn new(form: &Json) -> Self {
        let args = if form.args_optional { Ok("{}".into()) } else { Err(NOTHING) };
        let unknown = |slot| Ranked { rank: usize::MAX, slot };
        let (name, args) = (unknown(Err(NOTHING)), unknown(args));
        Self { name, args, id: Err(NOTHING), server: Err(NOTHING) }
    }

    /// The object of arguments begins: if there was one, only one of the two counts.
    pub fn begin_args(&self, calls: &mut Calls) {
        if self.args.is_known() && self.args.slot.is_ok() {
            calls.hold();
        }
        calls.begin_args();
    }

    /// Takes the value of a key; its last token ends with byte `at`.
    pub fn take(
        &mut self,
        form: &Json,
        role: Role,
        text: &[u8],
        (token, at): (&Token, usize),
        writer: Writer,
        calls: &mut Calls,
    ) {
        let (refuses, lenient) =
            (calls.scope.refuses_repeated, calls.scope.strictness == Strictness::Lenient);
        let repeated = |key: &str| ProblemKind::RepeatedKey(format!("{key:?}"));
        match role {
            Role::Name(rank) => {
                let name = string(text, token);
                if refuses && self.name.is_second(rank, &name) {
                    let key = form.name.get(rank).map(|key| &**key);
                    let key = key.unwrap_or_else(|| OTHER_NAMES[rank - form.name.len()]);
                    calls.refuse(repeated(key), at);
                }
                if self.name.put(rank, name)
                    && let Ok(name) = &self.name.slot
                {
                    calls.name(name);
                }
            }
            Role::Args(rank) => {
                calls.check_keys(&writer, at);
                let most = calls.scope.limits.max_depth;
                let args =
                    args_of(text, writer, token, (form.args_as_text || lenient).then_some(most));
                if refuses && self.args.is_second(rank, &args) {
                    let key = form.args.get(rank).map_or(OTHER_ARGS[0], |key| &**key);
                    calls.refuse(repeated(key), at);
                }
                self.args.put(rank, args);
            }
            Role::Id => {
                self.id = string(text, token);
                if let Ok(id) = &self.id {
                    calls.id(id);
                }
            }
            Role::Server => self.server = string(text, token),
            Role::Other => {}
        }
    }

    /// The object, which began at byte `start`, is complete: gives its call to `calls`, or what is wrong with it.
    pub fn finish(self, form: &Json, start: usize, calls: &mut Calls) {
        let index = calls.len();
        let key_of = |keys: &[cogency_rs::dialect::Str]| keys.first().cloned().unwrap_or_default();
        let of_name = |found| ProblemKind::Name { index, key: key_of(&form.name), found };
        let problem = match (self.name.slot, self.args.slot) {
            (Ok(name), Ok(args)) if form.empty_names || name != "\"\"" => {
                let parts = CallParts { name, args, id: self.id.ok(), server: self.server.ok() };
                return calls.push(parts.into_call());
            }
            (Err(found), _) => of_name(found),
            (Ok(_), Ok(_)) => of_name("an empty one"),
            (_, Err(found)) => ProblemKind::Args { index, key: key_of(&form.args), found },
        };
        calls.refuse(problem, start);
    }
}

/// A scanner of the value that begins at byte `start`.
pub fn scanner(start: usize, strictness: Strictness) -> Scanner {
    let mut scanner = Scanner::default().with(match strictness {
        Strictness::Strict => TrailingCommas::Refused,
        _ => TrailingCommas::Allowed,
    });
    scanner.skip(start);
    scanner
}

/// Whether the value may be an array of calls, and whether it may be the object of one.
pub fn may_be(form: &Json, calls: &Calls) -> (bool, bool) {
    let (is_array, lenient) =
        (form.shape == JsonShape::Array, calls.scope.strictness == Strictness::Lenient);
    (is_array || lenient, !is_array || lenient)
}

/// The value is neither.
pub fn not_calls(form: &Json, token: &Token) -> ProblemKind {
    let expected = match form.shape {
        JsonShape::Array => "a JSON array of calls",
        _ => "a JSON object of a call",
    };
    ProblemKind::Expected { expected: expected.into(), found: name_of(token).into() }
}

/// The first byte of a token whose last byte is `last`.
pub fn start_of(token: &Token, last: usize) -> usize {
    match token {
        Token::Open(_) | Token::Close(_) => last,
        Token::Key(range) | Token::String(range) | Token::Number(range) => range.start,
        Token::Word(word) => last + 1 - word.len(),
    }
}
