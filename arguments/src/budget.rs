//! What one check of arguments may do, so that each ends soon.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

thread_local! {
    /// What the check that runs on this thread has left.
    static RUNNING: RefCell<Option<Rc<Cell<usize>>>> = const { RefCell::new(None) };
}

/// What is left of what one check may do.
///
/// A schema that refers to itself in two ways asks for a value twice as often with each level, and a list of a thousand values
/// to choose from is compared with each of a thousand items. So each look at a value has a cost. When nothing is left, values
/// have no items and no members, and the check soon ends.
pub struct Budget {
    /// How many more faults are worth finding: a thousand wrong items tell a reader as much as a million.
    faults: Cell<usize>,
    /// How many more looks at a value, each at one part of it or at [`CHARACTERS`](Self::CHARACTERS) of a text.
    looks: Rc<Cell<usize>>,
    /// Looks that it costs to go to an item or a member.
    per_child: usize,
}

impl Budget {
    /// The most faults that are looked for.
    pub const FAULTS: usize = 1000;
    /// Characters of a text that are read in one look.
    pub const CHARACTERS: usize = 64;
    /// Looks that a check may have, and for each value in the arguments as many more.
    const LOOKS: (usize, usize) = (1_000_000, 8);

    /// For arguments with that many values in them. The search ends at so many faults.
    pub fn new(values: usize, per_child: usize, most_faults: usize) -> Self {
        let (few, each) = Self::LOOKS;
        let looks = few.saturating_add(values.saturating_mul(each));
        let looks = Rc::new(Cell::new(looks));
        RUNNING.set(Some(Rc::clone(&looks)));
        Self { faults: Cell::new(most_faults), looks, per_child }
    }

    /// For a name, which the validator checks as a value of its own: with what the check that runs has left.
    pub fn of_name() -> Self {
        let looks = RUNNING.with_borrow(|running| running.clone().unwrap_or_default());
        Self { faults: Cell::new(Self::FAULTS), looks, per_child: 1 }
    }

    /// A fault was found.
    pub fn fault(&self) {
        self.faults.set(self.faults.get().saturating_sub(1));
    }

    /// Pays for looks.
    pub fn look(&self, times: usize) {
        self.looks.set(self.looks.get().saturating_sub(times));
    }

    /// Pays for the way to an item or a member.
    pub fn child(&self) {
        self.look(self.per_child);
    }

    /// Whether no look is left, so that what was found says nothing.
    pub fn is_spent(&self) -> bool {
        self.looks.get() == 0
    }

    /// Whether the search for faults has stopped.
    pub fn has_enough_faults(&self) -> bool {
        self.faults.get() == 0
    }

    /// Whether the check may do no more.
    pub fn is_over(&self) -> bool {
        self.is_spent() || self.has_enough_faults()
    }
}
