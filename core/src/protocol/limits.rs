//! How closely and how much is read.

/// Limits that keep memory bounded for any text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes in the body of a block of calls; longer runs of other text are handed out in pieces of this size.
    pub max_block_bytes: usize,
    /// Brackets or elements open at once in a block.
    pub max_depth: usize,
    /// Calls in a batch, which in many dialects is several blocks.
    pub max_calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_block_bytes: 10 << 20, max_depth: 200, max_calls: 1024 }
    }
}

/// Elements in the arguments of a call at most, with the stretches of text between them. An element may have four bytes, and
/// what is known of it has a hundred.
pub const MAX_ELEMENTS: usize = 1 << 16;

/// How closely a block must keep to its dialect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strictness {
    /// Exactly as the model was taught.
    #[default]
    Strict,
    /// With the mistakes that small models make.
    Lenient,
}
