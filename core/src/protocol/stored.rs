//! Calls as the log stores them.

use std::sync::LazyLock;

use super::body::{CallParts, Calls, Fields};
use super::call::Call;
use super::limits::Strictness;
use super::verbatim::members;
use crate::dialect::{Json, JsonShape, NoArgs};
use crate::json::{Container, Controls, Fault, FaultKind, Scanner, Token};

/// One tool call as the model is shown it. All texts are canonical JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownCall {
    /// Its name, a JSON string with its quotes.
    pub name: String,
    /// Its arguments, a JSON object.
    pub args: String,
    /// The id that the model gave it, a JSON string.
    pub id: Option<String>,
    /// The server that it goes to, a JSON string.
    pub server: Option<String>,
}

impl From<&Call> for ShownCall {
    fn from(call: &Call) -> Self {
        let owned = |json: &str| json.to_owned();
        Self {
            name: call.name_json().to_owned(),
            args: call.arguments().to_owned(),
            id: call.id_json().map(owned),
            server: call.server_json().map(owned),
        }
    }
}

/// Reads one call as the log stores it; without `args` its arguments are empty.
///
/// # Errors
/// The text is not JSON by the rules of `json.loads(text)`. JSON that is not a call gives `None`.
pub fn stored_call(text: impl AsRef<[u8]>) -> Result<Option<Call>, Fault> {
    Ok(stored_fields(text.as_ref())?.map(CallParts::into_call))
}

/// Reads one call as the log stores it, to be shown.
///
/// # Errors
/// As [`stored_call`].
pub fn shown_call(text: impl AsRef<[u8]>) -> Result<Option<ShownCall>, Fault> {
    Ok(stored_fields(text.as_ref())?.map(|CallParts { name, args, id, server }| ShownCall {
        name,
        args,
        id,
        server,
    }))
}

/// The fields of a stored call.
fn stored_fields(text: &[u8]) -> Result<Option<CallParts>, Fault> {
    match verbatim_fields(text) {
        Some(parts) => Ok(Some(parts)),
        None => read_fields(text),
    }
}

/// The fields of a call that is stored as we store one.
fn verbatim_fields(text: &[u8]) -> Option<CallParts> {
    let (mut name, mut args, mut id, mut server) = (None, None, None, None);
    for (key, value) in members(std::str::from_utf8(text).ok()?)? {
        let (field, first) = match key {
            "\"name\"" => (&mut name, b'"'),
            "\"args\"" => (&mut args, b'{'),
            "\"id\"" => (&mut id, b'"'),
            "\"server\"" => (&mut server, b'"'),
            _ => return None,
        };
        *field = Some(value).filter(|value| value.as_bytes()[0] == first);
        field.as_ref()?;
    }
    let owned = str::to_owned;
    Some(CallParts {
        name: name.map(owned)?,
        args: args.map(owned)?,
        id: id.map(owned),
        server: server.map(owned),
    })
}

/// The fields of any other.
fn read_fields(text: &[u8]) -> Result<Option<CallParts>, Fault> {
    static FORM: LazyLock<Json> = LazyLock::new(|| Json {
        shape: JsonShape::Object,
        name: vec!["name".into()],
        args: vec!["args".into()],
        no_args: NoArgs::Call,
        empty_names: false,
        args_as_text: false,
        skips_others: false,
        id: Some("id".into()),
        server: Some("server".into()),
        decision: None,
    });
    let mut scanner = Scanner::new(Controls::Escaped);
    let mut fields = Fields::new(&FORM, 1, Strictness::Strict);
    let mut calls = Calls::default();
    let mut is_object = false;
    while let Some(token) = scanner.next(text)? {
        match (scanner.depth(), &token) {
            (1, Token::Open(Container::Object)) if !fields.is_in_value() => is_object = true,
            (0, _) => {}
            (depth, token) => {
                let place = (depth, scanner.position() - 1);
                fields.token(&FORM, text, token, place, &mut calls);
            }
        }
    }
    scanner.end(text)?;
    let rest = &text[scanner.position()..];
    match rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
        Some(at) => Err(Fault { kind: FaultKind::Trailing, at: scanner.position() + at }),
        None => Ok(is_object.then(|| fields.into_parts(&FORM)).flatten()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_call_is_read_leniently_but_must_be_json() {
        let stored = |text: &str| {
            stored_call(text.as_bytes())
                .map(|call| call.map(Call::into_json))
                .map_err(|fault| fault.at)
        };
        let bare = Some("{\"name\": \"a\", \"args\": {}}".to_owned());
        assert_eq!(stored(" {\"name\":\"a\"} \n"), Ok(bare));
        for text in ["1", "null", "[{\"name\":\"a\"}]", "{}", "{\"name\":\"a\",\"args\":null}"] {
            assert_eq!(stored(text), Ok(None), "{text}");
        }
        for (text, at) in [("", 0), ("{}x", 2), ("{\"name\":\"a\nb\"}", 10)] {
            assert_eq!(stored(text), Err(at), "{text}");
        }
    }
}
