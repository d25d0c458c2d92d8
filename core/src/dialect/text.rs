//! Text that a dialect is made of.

use std::borrow::Cow;

/// Text that is part of a dialect.
pub type Str = Cow<'static, str>;
