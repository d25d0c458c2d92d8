//! How a reader that goes from unit to unit goes on.

/// What one step of a reader came to.
pub enum Advance {
    /// There is more to read.
    On,
    /// More text is needed.
    More,
    /// The item ends before this byte.
    End(usize),
}
