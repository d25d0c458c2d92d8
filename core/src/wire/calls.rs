//! Numbers the calls of one answer, however its server tells them apart.
//!
//! Servers give each piece of a call an index, or none, or the same index to every call; and a call's id and name once, or with
//! each piece. Here calls are numbered from 0, and each id and name comes once. Where nothing but the name tells two calls apart,
//! another name begins another call, and so does the same name once the arguments are whole.

use std::collections::BTreeMap;

use super::CallDelta;
use crate::json::{GrowingObject, Raw, lossy};

/// The calls of one answer so far.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    calls: Vec<NumberedCall>,
    /// By the server's index, the last call that had it.
    numbers: BTreeMap<u64, usize>,
}

#[derive(Clone, Debug, Default)]
struct NumberedCall {
    id: Option<String>,
    name: Option<String>,
    /// The arguments so far of a call without an id.
    arguments: GrowingObject,
    has_arguments: bool,
}

impl Calls {
    /// A piece of a call, without its arguments, as a delta.
    pub fn piece(
        &mut self,
        index: Option<u64>,
        id: Option<String>,
        name: Option<String>,
        arguments: Option<Raw<'_>>,
    ) -> CallDelta {
        let arguments = arguments.map(|raw| raw.quoted().map_or(raw.json().into(), lossy));
        let arguments = arguments.unwrap_or_default();
        let known = match index {
            None => self.calls.len().checked_sub(1),
            Some(index) => self.numbers.get(&index).copied(),
        };
        let known = known.filter(|&number| {
            !self.calls[number].is_over(index, id.as_deref(), name.as_deref(), &arguments)
        });
        let number = known.unwrap_or_else(|| {
            self.calls.push(NumberedCall::default());
            self.calls.len() - 1
        });
        if let Some(index) = index {
            self.numbers.insert(index, number);
        }
        let call = &mut self.calls[number];
        let (id, name) = (first(&mut call.id, id), first(&mut call.name, name));
        call.has_arguments |= !arguments.is_empty();
        if call.id.is_none() {
            call.arguments.feed(arguments.as_bytes(), &mut Vec::new());
        }
        CallDelta { number, id, name, arguments: String::new() }
    }
}

impl Calls {
    /// Whether no arguments of the last call have come.
    pub fn ends_in_a_name(&self) -> bool {
        self.calls.last().is_some_and(|call| !call.has_arguments)
    }
}

impl NumberedCall {
    /// Whether a piece is the first one of a call after this one.
    fn is_over(
        &self,
        index: Option<u64>,
        id: Option<&str>,
        name: Option<&str>,
        arguments: &str,
    ) -> bool {
        if let (Some(id), Some(known)) = (id, &self.id) {
            return id != known;
        }
        let (Some(name), Some(known)) = (name, &self.name) else { return false };
        let goes_on = arguments.is_empty() || self.arguments.whole().is_none();
        index.is_none() || name != known || !goes_on
    }
}

/// Keeps a text if it is the first one, and returns it then.
fn first(kept: &mut Option<String>, text: Option<String>) -> Option<String> {
    if kept.is_some() {
        return None;
    }
    kept.clone_from(&text);
    text
}
