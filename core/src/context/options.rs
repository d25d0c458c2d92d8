//! What a fold makes of the rows of a log.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use super::excerpt::Bounds;
use crate::dialect::{Dialect, presets};
use crate::protocol::call::name_on_server;

/// How results that are the array in the log are shown, where their text may look like the protocol's tags, and the
/// dialect keeps marks in text from outside. Where it does not, no mark is in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tags {
    /// As it is in the log, like cogency 3.3.0.
    #[default]
    AsStored,
    /// With `\u003c` for every `<`: the same JSON value, in which no tag can appear.
    Escaped,
}

/// What becomes of rows that do not belong to a whole turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rules {
    /// As cogency 3.3.0 has it, byte for byte: calls that the log has no results for are left out, results without calls are
    /// shown, reports are not.
    #[default]
    Cogency,
    /// The same, but calls without results are shown, each with a failure in the place of its result: the program that ran them
    /// died, or could not save them.
    Installed,
    /// Ours: as `Installed`, and results without calls are left out. A report is shown, after the text that it is about,
    /// until the model does better.
    Own,
}

/// What messages a fold makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// Text in the dialect, results too.
    #[default]
    Text,
    /// Calls and results are separate messages, as providers of tool calls want them back. No text has a mark of the
    /// dialect in it, and the rules are our own.
    Native,
    /// Text too, as thoughts, actions and observations; else as `Native`.
    React,
}

impl Form {
    /// Whether white space between reasoning and the rest of an answer that was cut belongs to the answer.
    pub(super) fn joins_exactly(self) -> bool {
        self == Self::React
    }
}

/// What a fold makes of the rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FoldOptions {
    /// What messages are made.
    pub form: Form,
    /// How the model writes its calls and reads results.
    pub dialect: Arc<Dialect>,
    /// What becomes of rows that do not belong to a whole turn.
    pub rules: Rules,
    /// How the text of results is shown.
    pub tags: Tags,
    /// How much of results is shown.
    pub bounds: Bounds,
    /// The names under which calls are shown that were written under other names. These are canonical JSON strings; that of a call
    /// that names a server is the name of [`name_on_server`]. Text shows calls as they were written.
    pub names: BTreeMap<String, String>,
}

impl FoldOptions {
    /// The name under which a call is shown that was written under this one; `None` if it is the same.
    #[must_use]
    pub fn shown_name(&self, name: &str, server: Option<&str>) -> Option<&String> {
        if self.names.is_empty() {
            return None;
        }
        match server.and_then(|server| name_on_server(server, name)) {
            Some(on_server) => self.names.get(&on_server),
            None => self.names.get(name),
        }
    }
}

impl Default for FoldOptions {
    fn default() -> Self {
        Self {
            form: Form::default(),
            dialect: cogency(),
            rules: Rules::default(),
            tags: Tags::default(),
            bounds: Bounds::default(),
            names: BTreeMap::new(),
        }
    }
}

/// The dialect of those that name none.
#[must_use]
pub fn cogency() -> Arc<Dialect> {
    static COGENCY: LazyLock<Option<Arc<Dialect>>> = LazyLock::new(|| presets::preset("cogency"));
    COGENCY.clone().unwrap_or_else(|| unreachable!("it is a row of the table"))
}
