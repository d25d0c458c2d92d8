//! What detection says.

use std::sync::Arc;

use crate::dialect::Dialect;

/// The dialect of a template.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Detected {
    /// The dialect.
    pub dialect: Arc<Dialect>,
    /// What speaks for it, each a sentence.
    pub evidence: Vec<String>,
    /// What is uncertain about it, each a sentence.
    pub doubts: Vec<String>,
}
