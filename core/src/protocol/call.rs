//! One tool call.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::canonical::{canonical, json_string};
use crate::json::unescaped;

/// One tool call, as canonical JSON: `{"name": …, "args": {…}}`, then `"id"` and `"server"` if it has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    json: String,
    name_end: usize,
    args_end: usize,
    /// Where the id ends, if there is one.
    id_end: Option<usize>,
    /// Whether there is a server.
    has_server: bool,
}

const NAME: &str = "{\"name\": ";
const ARGS: &str = ", \"args\": ";
const ID: &str = ", \"id\": ";
const SERVER: &str = ", \"server\": ";

/// The server of a call that names none, as JSON.
const LOCAL: [&str; 2] = ["\"\"", "\"local\""];

/// The name of a tool for calls that name its server: the server's name, NUL and the tool's, all as canonical JSON. `None`
/// for the server of this process.
#[must_use]
pub fn name_on_server(server_json: &str, name_json: &str) -> Option<String> {
    let server = server_json.strip_suffix('"').filter(|_| !LOCAL.contains(&server_json))?;
    Some([server, "\\u0000", name_json.strip_prefix('"')?].concat())
}

impl Call {
    /// A call of the tool with this name.
    #[must_use]
    pub fn new(name: &str, arguments: &Map<String, Value>) -> Self {
        let arguments = Value::from(arguments.clone()).to_string();
        let arguments = canonical(arguments.as_bytes()).unwrap_or(arguments);
        Self::of_json(&json_string(name.as_bytes()), &arguments)
    }

    /// The tool's name. Half of a pair of surrogates, which only an escape in JSON can be, is U+FFFD in it.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        said(self.name_json())
    }

    /// The arguments, a JSON object as Python's `json.dumps` writes it: characters outside ASCII are escaped, and it may hold `NaN`,
    /// `Infinity`, and integers of any size.
    #[must_use]
    pub fn arguments(&self) -> &str {
        &self.json[self.name_end + ARGS.len()..self.args_end]
    }

    /// The arguments as a value.
    ///
    /// # Errors
    /// They are not what `T` is, or not what `serde_json` can read: `NaN`, half of a pair of surrogates, more than 127 levels.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.arguments())
    }

    /// The id that the model gave it.
    #[must_use]
    pub fn id(&self) -> Option<Cow<'_, str>> {
        self.id_json().map(said)
    }

    /// The server that it goes to; `None` for this process.
    #[must_use]
    pub fn server(&self) -> Option<Cow<'_, str>> {
        self.server_json().map(said)
    }

    /// A call from a name (a JSON string) and arguments (a JSON object), both canonical.
    #[doc(hidden)]
    #[must_use]
    pub fn of_json(name: &str, args: &str) -> Self {
        let json = [NAME, name, ARGS, args, "}"].concat();
        let name_end = NAME.len() + name.len();
        let args_end = json.len() - 1;
        Self { json, name_end, args_end, id_end: None, has_server: false }
    }

    /// The same call with this id, a canonical JSON string; an empty one counts as no id.
    #[doc(hidden)]
    #[must_use]
    pub fn with_id(self, id: impl AsRef<str>) -> Self {
        let id = Some(id.as_ref()).filter(|id| *id != "\"\"");
        let server = self.server_json().map(str::to_owned);
        self.with(id, server.as_deref())
    }

    /// The same call for this server, a canonical JSON string; one that is empty or `"local"` needs no mention.
    #[doc(hidden)]
    #[must_use]
    pub fn with_server(self, server: impl AsRef<str>) -> Self {
        let server = Some(server.as_ref()).filter(|server| !LOCAL.contains(server));
        let id = self.id_json().map(str::to_owned);
        self.with(id.as_deref(), server)
    }

    /// The same call, with its name and its arguments as `change` has them; it gives `None` for JSON that stays as it is.
    #[doc(hidden)]
    #[must_use]
    pub fn map(self, change: impl Fn(&str) -> Option<String>) -> Self {
        let (name, args) = (change(self.name_json()), change(self.arguments()));
        if name.is_none() && args.is_none() {
            return self;
        }
        let [id, server] = [self.id_json(), self.server_json()].map(|text| text.map(str::to_owned));
        let name = name.as_deref().unwrap_or(self.name_json());
        let args = args.as_deref().unwrap_or(self.arguments());
        Self::of_json(name, args).with(id.as_deref(), server.as_deref())
    }

    fn with(mut self, id: Option<&str>, server: Option<&str>) -> Self {
        self.json.truncate(self.args_end);
        self.id_end = id.map(|id| {
            self.json.extend([ID, id]);
            self.json.len()
        });
        self.has_server = server.is_some();
        if let Some(server) = server {
            self.json.extend([SERVER, server]);
        }
        self.json.push('}');
        self
    }

    /// The call, as `json.dumps({"name": …, "args": …})` writes it.
    #[doc(hidden)]
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The same, without a copy.
    #[doc(hidden)]
    #[must_use]
    pub fn into_json(self) -> String {
        self.json
    }

    /// The name, a JSON string with its quotes.
    #[doc(hidden)]
    #[must_use]
    pub fn name_json(&self) -> &str {
        &self.json[NAME.len()..self.name_end]
    }

    /// The id that the model gave it, a JSON string with its quotes.
    #[doc(hidden)]
    #[must_use]
    pub fn id_json(&self) -> Option<&str> {
        self.id_end.map(|end| &self.json[self.args_end + ID.len()..end])
    }

    /// The server that it goes to, a JSON string with its quotes; `None` for this process.
    #[doc(hidden)]
    #[must_use]
    pub fn server_json(&self) -> Option<&str> {
        let start = self.id_end.unwrap_or(self.args_end) + SERVER.len();
        self.has_server.then(|| &self.json[start..self.json.len() - 1])
    }
}

/// The text of a canonical JSON string.
fn said(json: &str) -> Cow<'_, str> {
    if json.contains('\\') {
        unescaped(json.as_bytes()).to_string().into()
    } else {
        json[1..json.len() - 1].into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_made_of_values_and_gives_them_back() {
        let Value::Object(arguments) = serde_json::json!({"stadt": "Köln", "a": [1, null]}) else {
            panic!("an object")
        };
        let call = Call::new("wetter_für", &arguments);
        assert_eq!(call.name(), "wetter_für");
        assert_eq!(call.arguments(), r#"{"stadt": "K\u00f6ln", "a": [1, null]}"#);
        assert_eq!(call.parse::<Map<String, Value>>().expect("an object"), arguments);
        assert_eq!((call.id(), call.server()), (None, None));
        let call = call.with_id(r#""\"1\"""#).with_server(r#""\ud800s""#);
        assert_eq!((call.id(), call.server()), (Some("\"1\"".into()), Some("\u{fffd}s".into())));
        assert!(Call::of_json("\"a\"", r#"{"b": NaN}"#).parse::<Value>().is_err());
    }

    #[test]
    fn a_call_that_is_changed_keeps_its_id_and_its_server() {
        let call = Call::of_json("\"a\"", "{\"x\": 1}").with_id("\"7\"").with_server("\"s\"");
        let changed = call.clone().map(|json| (json == "\"a\"").then(|| "\"b\"".to_owned()));
        assert_eq!(changed.json(), call.json().replacen("\"a\"", "\"b\"", 1));
        assert_eq!(call.clone().map(|_| None), call);
    }

    #[test]
    fn a_call_may_have_an_id_and_a_server() {
        let call = || Call::of_json("\"a\"", "{\"x\": \"}, \\\"id\\\": 1\"}");
        let start = "{\"name\": \"a\", \"args\": {\"x\": \"}, \\\"id\\\": 1\"}";
        for (call, rest, id, server) in [
            (call(), "}", None, None),
            (call().with_id("\"7\""), ", \"id\": \"7\"}", Some("\"7\""), None),
            (call().with_server("\"s\""), ", \"server\": \"s\"}", None, Some("\"s\"")),
            (call().with_server("\"s\"").with_server("\"local\""), "}", None, None),
            (call().with_id("\"7\"").with_server("\"\"").with_id("\"\""), "}", None, None),
            (
                call().with_server("\"s\"").with_id("\"7\"").with_id("\"8\""),
                ", \"id\": \"8\", \"server\": \"s\"}",
                Some("\"8\""),
                Some("\"s\""),
            ),
        ] {
            assert_eq!(call.json(), [start, rest].concat());
            assert_eq!((call.id_json(), call.server_json()), (id, server));
            assert_eq!(call.name_json(), "\"a\"");
            assert_eq!(call.arguments(), "{\"x\": \"}, \\\"id\\\": 1\"}");
        }
    }
}
