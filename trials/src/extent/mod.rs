//! Design A: only where a call ends is found while it arrives; the whole of it is decoded at its end.

mod json;
mod params;

use std::sync::Arc;

use cogency_rs::dialect::{Body, Dialect};
use cogency_rs::protocol::body::{Calls, Scope};
use cogency_rs::protocol::problem::Problem;

use crate::item::Item;

pub use json::JsonItem;
pub use params::ParamsItem;

/// Either shape.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)]
pub enum AnyItem {
    Json(JsonItem),
    Params(ParamsItem),
}

impl Item for AnyItem {
    fn new(dialect: &Arc<Dialect>, body: usize, start: usize, scope: &Scope) -> Self {
        match &dialect.calls.bodies[body] {
            Body::Json(_) => Self::Json(JsonItem::new(dialect, body, start, scope)),
            _ => Self::Params(ParamsItem::new(dialect, body, start, scope)),
        }
    }

    fn read(
        &mut self,
        dialect: &Dialect,
        body: usize,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem> {
        match self {
            Self::Json(item) => item.read(dialect, body, text, calls),
            Self::Params(item) => item.read(dialect, body, text, calls),
        }
    }

    fn cut_off(
        &mut self,
        dialect: &Dialect,
        body: usize,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<(), Problem> {
        match self {
            Self::Json(item) => item.cut_off(dialect, body, text, calls),
            Self::Params(item) => item.cut_off(dialect, body, text, calls),
        }
    }
}
