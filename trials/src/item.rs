//! What a reader of one item is to the block, so that each design can be read by the same block.

use std::sync::Arc;

use cogency_rs::dialect::{Body, Dialect};
use cogency_rs::protocol::body::{Calls, HeadReader, ItemReader, JsonReader, Scope};
use cogency_rs::protocol::problem::Problem;

/// A reader of one item.
pub trait Item: Sized {
    fn new(dialect: &Arc<Dialect>, body: usize, start: usize, scope: &Scope) -> Self;

    fn read(
        &mut self,
        dialect: &Dialect,
        body: usize,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem>;

    fn cut_off(
        &mut self,
        dialect: &Dialect,
        body: usize,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<(), Problem>;
}

/// Today's readers.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Today {
    Json(JsonReader),
    Head(HeadReader),
}

impl Item for Today {
    fn new(dialect: &Arc<Dialect>, body: usize, start: usize, scope: &Scope) -> Self {
        match &dialect.calls.bodies[body] {
            Body::Json(form) => Self::Json(JsonReader::new(form, start, scope)),
            Body::Head(form) => Self::Head(HeadReader::new(form, start, scope)),
            _ => unimplemented!(),
        }
    }

    fn read(
        &mut self,
        dialect: &Dialect,
        body: usize,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem> {
        match (self, &dialect.calls.bodies[body]) {
            (Self::Json(reader), Body::Json(form)) => reader.read(form, text, calls),
            (Self::Head(reader), Body::Head(form)) => reader.read(form, text, calls),
            _ => unreachable!(),
        }
    }

    fn cut_off(
        &mut self,
        dialect: &Dialect,
        body: usize,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<(), Problem> {
        match (self, &dialect.calls.bodies[body]) {
            (Self::Json(reader), Body::Json(form)) => reader.cut_off(form, text, calls),
            (Self::Head(reader), Body::Head(form)) => reader.cut_off(form, text, calls),
            _ => unreachable!(),
        }
    }
}
