//! Numbers the calls of one answer, however its server tells them apart.
//!
//! Servers give each piece of a call an index, or none, or the same index to every call; and a call's id and name once, or with
//! each piece. Here calls are numbered from 0, and each id and name comes once.

use std::collections::BTreeMap;

use super::CallDelta;

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
}

impl Calls {
    /// A piece of a call, without its arguments, as a delta.
    pub fn piece(
        &mut self,
        index: Option<u64>,
        id: Option<String>,
        name: Option<String>,
    ) -> CallDelta {
        let known = match index {
            None => self.calls.len().checked_sub(1),
            Some(index) => self.numbers.get(&index).copied(),
        };
        let known = known
            .filter(|&number| !self.calls[number].is_over(index, id.as_deref(), name.as_deref()));
        let number = known.unwrap_or_else(|| {
            self.calls.push(NumberedCall::default());
            self.calls.len() - 1
        });
        if let Some(index) = index {
            self.numbers.insert(index, number);
        }
        let call = &mut self.calls[number];
        CallDelta {
            number,
            id: first(&mut call.id, id),
            name: first(&mut call.name, name),
            arguments: String::new(),
        }
    }
}

impl NumberedCall {
    /// Whether a piece is the first one of a call after this one.
    fn is_over(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> bool {
        match (id, &self.id) {
            (Some(id), Some(known)) => id != known,
            _ => index.is_none() && self.name.is_some() && name.is_some(),
        }
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
