//! The block that the calls of a template are in.

use super::super::{Body, CallsForm, Str, Unmarked};

/// The block that the calls are in.
#[derive(Debug)]
pub(super) struct CallBlock {
    pub open: Vec<Str>,
    pub close: Vec<Str>,
    /// Where they may come without their opening mark.
    pub unmarked: Unmarked,
    pub body: Body,
    /// What ends the turn after them.
    pub turn_end: Vec<Str>,
    /// How they are written.
    pub form: CallsForm,
}

impl CallBlock {
    pub fn new(open: Vec<Str>, close: Vec<Str>, body: Body) -> Self {
        let (turn_end, form) = (Vec::new(), CallsForm::default());
        Self { open, close, unmarked: Unmarked::Never, body, turn_end, form }
    }
}
