//! One tool call.

/// One tool call, as canonical JSON: `{"name": …, "args": {…}}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    json: String,
    name_end: usize,
}

const NAME: &str = "{\"name\": ";
const ARGS: &str = ", \"args\": ";

impl Call {
    /// A call from a name (a JSON string) and arguments (a JSON object), both canonical.
    #[must_use]
    pub fn new(name: &str, args: &str) -> Self {
        Self { json: [NAME, name, ARGS, args, "}"].concat(), name_end: NAME.len() + name.len() }
    }

    /// The call, as `json.dumps({"name": …, "args": …})` writes it.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The same, owned.
    #[must_use]
    pub fn into_json(self) -> String {
        self.json
    }

    /// The name, a JSON string with its quotes.
    #[must_use]
    pub fn name_json(&self) -> &str {
        &self.json[NAME.len()..self.name_end]
    }

    /// The arguments, a JSON object.
    #[must_use]
    pub fn args_json(&self) -> &str {
        &self.json[self.name_end + ARGS.len()..self.json.len() - 1]
    }
}
