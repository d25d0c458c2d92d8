//! The fields of one call's object, while it is read.

use std::borrow::Cow;

use super::super::call::Call;
use super::super::canonical::{Writer, canonical_string};
use super::super::limits::Strictness;
use super::super::problem::ProblemKind;
use super::super::recovery::Mistake;
use super::super::{Event, Text};
use super::Calls;
use crate::dialect::{DecisionKeys, Json, NoArgs, Str};
use crate::json::{Container, Scanner, Token, unescaped};

/// Other usual keys of arguments, for lenient reading, and for a parameter that holds them all.
pub const OTHER_ARGS: [&str; 4] = ["args", "arguments", "parameters", "input"];

/// Likewise of names.
const OTHER_NAMES: [&str; 4] = ["name", "tool_name", "tool", "function"];

/// What is found in the place of a field that is not there.
const NOTHING: &str = "nothing";

/// What is found where arguments are `""`.
const EMPTY: &str = "an empty string";

/// What a field holds, or what was found instead of the right type.
type Slot = Result<String, &'static str>;

/// The fields of one object.
#[derive(Clone, Debug)]
pub struct Fields {
    /// How many brackets are open directly inside the object.
    depth: usize,
    strictness: Strictness,
    /// Whether arguments may be a string that holds them.
    takes_text: bool,
    name: Ranked,
    args: Ranked,
    id: Slot,
    server: Slot,
    /// Whether the object has another key, or one of arguments twice: what it holds may be meant as arguments.
    has_others: bool,
    said: DecisionValues,
    /// The field whose value is being read.
    open: Option<Field>,
}

/// What an object says that is not only a call.
#[derive(Clone, Debug, Default)]
struct DecisionValues {
    decision: Option<Text>,
    thought: Option<Text>,
    answer: Option<Text>,
}

/// The value of the best of several keys: the first of them counts, and of equal keys the last.
#[derive(Clone, Debug)]
struct Ranked {
    rank: usize,
    slot: Slot,
}

impl Ranked {
    fn new(slot: Slot) -> Self {
        Self { rank: usize::MAX, slot }
    }

    /// The key of this rank may not have been there before, where that is asked for, nor may its value take the place of another:
    /// who saw that one has begun with it.
    fn refuse_second(
        &self,
        rank: usize,
        slot: &Slot,
        keys: Keys<'_>,
        at: usize,
        calls: &mut Calls,
    ) {
        let is_other = matches!((&self.slot, slot), (Ok(old), Ok(new)) if old != new);
        let is_known = self.rank < usize::MAX;
        if calls.scope.refuses_repeated
            && is_known
            && (rank == self.rank || (rank < self.rank && is_other))
        {
            calls.refuse(ProblemKind::RepeatedKey(format!("{:?}", keys.name(rank))), at);
        }
    }

    /// Takes a value, if it is better; tells whether it is.
    fn put(&mut self, rank: usize, slot: Slot) -> bool {
        let is_better = match (&self.slot, &slot) {
            _ if rank == self.rank => true,
            (Ok(_), Err(_)) if self.rank < usize::MAX => false,
            (Err(_), Ok(_)) => true,
            _ => rank < self.rank,
        };
        if is_better {
            (self.rank, self.slot) = (rank, slot);
        }
        is_better
    }
}

/// The keys of a dialect for one field, and those that count leniently.
#[derive(Clone, Copy)]
struct Keys<'k>(&'k [Str], &'k [&'static str]);

impl Keys<'_> {
    /// The key of this rank. All others for arguments have one rank.
    fn name(&self, rank: usize) -> &str {
        let others = || self.1.get(rank - self.0.len()).copied().unwrap_or_default();
        self.0.get(rank).map_or_else(others, |key| &**key)
    }
}

#[derive(Clone, Debug)]
enum Field {
    Name(usize),
    Args(usize, Writer),
    Id,
    Server,
    Decision,
    Thought,
    Answer,
    Other,
}

/// What makes a call, each as canonical JSON.
#[derive(Clone, Debug)]
pub struct CallParts {
    /// A string.
    pub name: String,
    /// An object.
    pub args: String,
    /// A string.
    pub id: Option<String>,
    /// A string.
    pub server: Option<String>,
}

impl CallParts {
    /// The call.
    #[must_use]
    pub fn into_call(self) -> Call {
        let call = Call::of_json(&self.name, &self.args);
        let call = match self.id {
            Some(id) => call.with_id(&id),
            None => call,
        };
        match self.server {
            Some(server) => call.with_server(&server),
            None => call,
        }
    }
}

/// Bytes of room for arguments; longer ones make more.
const ROOM: usize = 512;

impl Fields {
    /// Fields of an object inside this many brackets, its own included.
    #[must_use]
    pub fn new(form: &Json, depth: usize, strictness: Strictness) -> Self {
        Self {
            depth,
            strictness,
            takes_text: form.args_as_text || Mistake::ArgsAsText.is_forgiven(strictness),
            name: Ranked::new(Err(NOTHING)),
            args: Ranked::new(Err(NOTHING)),
            id: Err(NOTHING),
            server: Err(NOTHING),
            has_others: false,
            said: DecisionValues::default(),
            open: None,
        }
    }

    /// Whether there is a name, as far as the object has been read.
    #[must_use]
    pub fn has_name(&self) -> bool {
        self.name.slot.is_ok()
    }

    /// Whether a value is being read.
    #[must_use]
    pub fn is_in_value(&self) -> bool {
        self.open.is_some()
    }

    /// Takes what is known of a long string in the arguments, before it ends.
    pub fn string_so_far(&mut self, text: &[u8], scanner: &Scanner, calls: &mut Calls) {
        if let Some(Field::Args(_, writer)) = &mut self.open
            && scanner.depth() > self.depth
        {
            if calls.shows() {
                writer.string_up_to(text, scanner);
                calls.wrote(writer);
            } else {
                writer.string_so_far(text, scanner);
            }
        }
    }

    /// Takes one token from inside the object; its last byte is `at`, and `depth` brackets are open after it.
    pub fn token(
        &mut self,
        form: &Json,
        text: &[u8],
        token: &Token,
        (depth, at): (usize, usize),
        calls: &mut Calls,
    ) {
        let is_last = depth == self.depth;
        match &mut self.open {
            None => {
                if let Token::Key(range) = token {
                    let room = (text.len() - range.end).min(ROOM);
                    let field = self.field(form, &text[range.clone()], room);
                    self.has_others |= match field {
                        Field::Other => true,
                        Field::Args(..) => self.args.rank < usize::MAX,
                        _ => false,
                    };
                    self.open = Some(field);
                }
                return;
            }
            Some(Field::Args(_, writer)) => {
                if let Token::Open(container) = token
                    && depth == self.depth + 1
                {
                    if self.args.rank < usize::MAX && self.args.slot.is_ok() {
                        calls.hold(); // only one of the two counts
                    }
                    if *container == Container::Object {
                        calls.begin_args();
                    }
                }
                writer.token(text, token);
            }
            Some(_) => {}
        }
        if !is_last {
            return;
        }
        match (self.open.take(), token) {
            (Some(Field::Name(rank)), token) => {
                let name = string(text, token);
                self.name.refuse_second(rank, &name, Keys(&form.name, &OTHER_NAMES), at, calls);
                if self.name.put(rank, name)
                    && let Ok(name) = &self.name.slot
                {
                    calls.name(name);
                }
            }
            (Some(Field::Args(rank, writer)), token) => {
                calls.check_keys(&writer, at);
                let most = self.takes_text.then_some(calls.scope.limits.max_depth);
                let args = args_of(text, writer, token, most);
                self.args.refuse_second(rank, &args, Keys(&form.args, &OTHER_ARGS), at, calls);
                let _ = self.args.put(rank, args);
            }
            (Some(Field::Id), token) => {
                self.id = string(text, token);
                if let Ok(id) = &self.id {
                    calls.id(id);
                }
            }
            (Some(Field::Server), token) => self.server = string(text, token),
            (Some(Field::Decision), token) => self.said.decision = said(text, token),
            (Some(Field::Thought), token) => self.said.thought = said(text, token),
            (Some(Field::Answer), token) => self.said.answer = said(text, token),
            (Some(Field::Other) | None, _) => {}
        }
    }

    /// The field that a quoted key names. It may be written with escapes; what counts is what it says.
    fn field(&self, form: &Json, key: &[u8], room: usize) -> Field {
        let key = if key.contains(&b'\\') {
            Cow::Owned(canonical_string(key).into_bytes())
        } else {
            Cow::Borrowed(key)
        };
        let key = &key[1..key.len() - 1];
        let is = |name: &Str| name.as_bytes() == key;
        if let Some(rank) = form.name.iter().position(is) {
            return Field::Name(rank);
        }
        if let Some(rank) = form.args.iter().position(is) {
            return Field::Args(rank, Writer::new(room));
        }
        match &form.decision {
            _ if form.id.as_ref().is_some_and(is) => Field::Id,
            _ if form.server.as_ref().is_some_and(is) => Field::Server,
            Some(decision) if is(&decision.key) => Field::Decision,
            Some(decision) if is(&decision.thought_key) => Field::Thought,
            Some(decision) if is(&decision.answer_key) => Field::Answer,
            _ if !Mistake::Key.is_forgiven(self.strictness) => Field::Other,
            _ if is_one_of(&OTHER_ARGS, key) => Field::Args(form.args.len(), Writer::new(room)),
            _ => match OTHER_NAMES.iter().position(|name| name.as_bytes() == key) {
                Some(rank) => Field::Name(form.name.len() + rank),
                None => Field::Other,
            },
        }
    }

    /// What makes a call; `None` where its name or its arguments are missing.
    #[must_use]
    pub fn into_parts(mut self, form: &Json) -> Option<CallParts> {
        let args = self.args(form, true).ok()?;
        let (id, server) = (self.id.ok(), self.server.ok());
        Some(CallParts { name: self.name.slot.ok()?, args, id, server })
    }

    /// The arguments, or what was found in their place. See [`NoArgs`].
    fn args(&mut self, form: &Json, may_lack: bool) -> Slot {
        let is_call = |found: &str| match form.no_args {
            NoArgs::Alone => {
                may_lack && !self.has_others && [NOTHING, EMPTY, "null"].contains(&found)
            }
            NoArgs::Call => found == NOTHING,
            NoArgs::Refused => false,
        };
        match std::mem::replace(&mut self.args.slot, Err(NOTHING)) {
            Err(found) if is_call(found) => Ok("{}".into()),
            slot => slot,
        }
    }

    /// The object is complete: gives its call to `calls`, or what is wrong with it. It began at byte `start`.
    pub fn finish(self, form: &Json, start: usize, calls: &mut Calls) {
        if let Some(decision) = &form.decision {
            self.decide(form, decision, start, calls);
        } else {
            self.call(form, start, calls);
        }
    }

    fn decide(mut self, form: &Json, decision: &DecisionKeys, start: usize, calls: &mut Calls) {
        let said = std::mem::take(&mut self.said);
        let (kind, thought) = (said.decision.unwrap_or_default(), said.thought.unwrap_or_default());
        if !thought.is_blank() {
            calls.say(Event::Think(thought));
        }
        match (kind.as_bytes(), said.answer) {
            (kind, _) if kind == decision.call.as_bytes() => self.call(form, start, calls),
            (kind, Some(answer)) if kind == decision.answer.as_bytes() => {
                calls.say(Event::Respond(answer));
            }
            (kind, answer) => {
                let (key, found): (_, Str) = if kind == decision.answer.as_bytes() {
                    (
                        &decision.answer_key,
                        if answer.is_none() { NOTHING.into() } else { "".into() },
                    )
                } else {
                    (&decision.key, String::from_utf8_lossy(kind).into_owned().into())
                };
                let expected = if key == &decision.key {
                    format!("{key:?} to be {:?} or {:?}", decision.call, decision.answer)
                } else {
                    format!("{key:?} to be a string")
                };
                calls.refuse(ProblemKind::Expected { expected: expected.into(), found }, start);
            }
        }
    }

    fn call(mut self, form: &Json, start: usize, calls: &mut Calls) {
        let index = calls.len();
        // Without a mark, JSON that only has a name is an answer, unless a tool has this name.
        let tools = calls.scope.tools.as_deref().filter(|_| calls.is_unmarked);
        let may_lack = match (tools, &self.name.slot) {
            (Some(tools), Ok(name)) => tools.schema(name).is_some(),
            _ => true,
        };
        calls.lacks_args = self.args.slot.is_err();
        let args = self.args(form, may_lack);
        let (name, args) = match (self.name.slot, args) {
            (Ok(name), Ok(args)) if form.empty_names || name != "\"\"" => (name, args),
            (Err(found), _) => {
                return calls
                    .refuse(ProblemKind::Name { index, key: key_of(&form.name), found }, start);
            }
            (Ok(_), Ok(_)) => {
                let found = "an empty one";
                return calls
                    .refuse(ProblemKind::Name { index, key: key_of(&form.name), found }, start);
            }
            (_, Err(found)) => {
                return calls
                    .refuse(ProblemKind::Args { index, key: key_of(&form.args), found }, start);
            }
        };
        let (id, server) = (self.id.ok(), self.server.ok());
        calls.push(CallParts { name, args, id, server }.into_call());
    }
}

fn is_one_of(names: &[&str], key: &[u8]) -> bool {
    names.iter().any(|name| name.as_bytes() == key)
}

fn key_of(keys: &[Str]) -> Str {
    keys.first().cloned().unwrap_or_default()
}

/// The string that `token` is, as canonical JSON.
fn string(text: &[u8], token: &Token) -> Slot {
    match token {
        Token::String(range) => Ok(canonical_string(&text[range.clone()])),
        token => Err(name_of(token)),
    }
}

/// What the string says that `token` is.
fn said(text: &[u8], token: &Token) -> Option<Text> {
    match token {
        Token::String(range) => Some(unescaped(&text[range.clone()])),
        _ => None,
    }
}

/// The arguments that end with `token`. It may also be a string that holds them, if that is told how deep they may be nested.
fn args_of(text: &[u8], writer: Writer, token: &Token, max_depth: Option<usize>) -> Slot {
    match (token, max_depth) {
        (Token::Close(Container::Object), _) => Ok(writer.finish()),
        (Token::String(range), _) if text[range.clone()] == *b"\"\"" => Err(EMPTY),
        (Token::String(range), Some(max_depth)) => {
            object(unescaped(&text[range.clone()]).as_bytes(), max_depth)
        }
        (token, _) => Err(name_of(token)),
    }
}

/// The JSON object that is all of `text`, canonical.
///
/// # Errors
/// The text is not an object, or more than `max_depth` brackets are open in it at once: what it is instead.
pub fn object(text: &[u8], max_depth: usize) -> Result<String, &'static str> {
    const OTHER: &str = "a string";
    let (mut writer, mut is_object, mut instead) = (Writer::new(text.len()), false, OTHER);
    let whole = Scanner::default().rest(text, |scanner, token| {
        if scanner.depth() > max_depth {
            instead = "a string in which brackets are nested too deep";
            return None;
        }
        is_object |= scanner.depth() == 1 && matches!(token, Token::Open(Container::Object));
        writer.token(text, &token);
        Some(())
    });
    whole.filter(|()| is_object).map(|()| writer.finish()).ok_or(instead)
}

/// What a value is called, told by its first or last token.
#[must_use]
pub fn name_of(token: &Token) -> &'static str {
    match token {
        Token::Open(Container::Array) | Token::Close(Container::Array) => "an array",
        Token::Open(Container::Object) | Token::Close(Container::Object) => "an object",
        Token::Key(_) | Token::String(_) => "a string",
        Token::Word("null") => "null",
        Token::Word("true" | "false") => "a boolean",
        Token::Number(_) | Token::Word(_) => "a number",
    }
}
