//! What a model is told about a block of calls that it wrote wrongly.

use std::sync::Arc;

use super::write::Renderer;
use crate::dialect::{Body, Dialect, Str};

/// The name of a block of calls in a message about it.
#[must_use]
pub fn block_name(dialect: &Dialect) -> Str {
    let head = dialect.bodies.iter().find_map(|body| match body {
        Body::Head(head) => Some(&head.open),
        _ => None,
    });
    match (&*dialect.prompt.block_name, dialect.open.first().or(head)) {
        ("", Some(open)) => format!("{open} block ({})", dialect.name).into(),
        ("", None) => format!("call ({})", dialect.name).into(),
        (name, _) => name.to_owned().into(),
    }
}

/// What the model should do instead.
#[must_use]
pub fn again(dialect: &Dialect) -> Str {
    match &*dialect.prompt.again {
        "" => {
            let example = Renderer::new(Arc::new(dialect.clone())).example();
            format!("Write the whole call again, exactly like this:\n{example}").into()
        }
        again => again.to_owned().into(),
    }
}
