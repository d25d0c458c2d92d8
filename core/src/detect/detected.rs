//! What detection says.

use std::sync::Arc;

use crate::dialect::Dialect;

/// The dialect of a template.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Detected {
    /// The dialect.
    pub dialect: Arc<Dialect>,
    /// The reasons for it, one sentence each.
    pub evidence: Vec<String>,
    /// What is uncertain about it, one sentence each.
    pub doubts: Vec<String>,
}
