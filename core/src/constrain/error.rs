//! Why there is no grammar.

/// Why there is no grammar.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrammarError {
    /// A call is required, but no tools were given.
    #[error("a call is required, but there are no tools")]
    NoTools,
    /// The tool that must be called is not one of them.
    #[error("there is no tool {name:?}; there are {known}")]
    UnknownTool {
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// The schema leads on without an end.
    #[error("the schema at {path} has no end: it refers to itself, or is nested too deep")]
    Unbounded {
        /// The tool, and where in its parameters.
        path: String,
    },
    /// No value fits the schema.
    #[error("no finite value fits the schema at {path}")]
    Unfillable {
        /// The tool, and where in its parameters.
        path: String,
    },
    /// The dialect cannot hold a name, a key or a value.
    #[error(
        "the dialect {dialect} cannot hold {what} at {path}: it would be read as something else"
    )]
    Unwritable {
        /// The name of the dialect.
        dialect: String,
        /// What it cannot hold.
        what: String,
        /// The tool, and where in its parameters.
        path: String,
    },
    /// The dialect has a form that no grammar is made of yet.
    #[error("there is no grammar for the dialect {dialect}: {reason}")]
    Uncovered {
        /// The name of the dialect.
        dialect: String,
        /// Its form.
        reason: &'static str,
    },
}
