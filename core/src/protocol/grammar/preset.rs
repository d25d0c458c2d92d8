//! The grammar of each dialect of the table of presets, made once.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};

use super::Grammar;
use crate::dialect::presets;

static MADE: LazyLock<HashMap<&str, OnceLock<Arc<Grammar>>>> =
    LazyLock::new(|| presets::names().map(|name| (name, OnceLock::new())).collect());

impl Grammar {
    /// The grammar of the dialect of this name in the table of [`presets`], which is made once.
    #[must_use]
    pub fn preset(name: &str) -> Option<Arc<Self>> {
        let dialect = presets::preset(name)?;
        Some(Arc::clone(MADE[name].get_or_init(|| Arc::new(Self::new(vec![dialect])))))
    }

    /// The grammar of cogency's own dialect.
    ///
    /// # Panics
    /// Never: it is a row of the table.
    #[doc(hidden)]
    #[must_use]
    pub fn cogency() -> Arc<Self> {
        Self::preset("cogency").expect("a row of the table")
    }
}
