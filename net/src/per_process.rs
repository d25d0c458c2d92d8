//! What each process has for itself.

use std::sync::OnceLock;

/// A value that each process makes for itself. After a fork the child makes a new one: the threads of its parent are not there, and
/// the sockets are still the parent's.
pub struct PerProcess<T> {
    first: OnceLock<Box<Node<T>>>,
}

/// The value of one process, and that of its child.
struct Node<T> {
    process: u32,
    value: Option<T>,
    next: OnceLock<Box<Node<T>>>,
}

impl<T> PerProcess<T> {
    pub const fn new() -> Self {
        Self { first: OnceLock::new() }
    }

    /// The value of this process, made if there is none. No lock is held while it is made, so that a fork leaves none locked.
    pub fn get_or_make<E>(&self, make: impl Fn() -> Result<T, E>) -> Result<&T, E> {
        let process = std::process::id();
        let mut place = &self.first;
        loop {
            match place.get().map(Box::as_ref) {
                Some(Node { process: known, value: Some(value), .. }) if *known == process => {
                    return Ok(value);
                }
                Some(node) => place = &node.next,
                None => {
                    let node = Node { process, value: Some(make()?), next: OnceLock::new() };
                    // Another thread may have been first; then its value is found.
                    drop(place.set(Box::new(node)));
                }
            }
        }
    }
}

impl<T> Drop for Node<T> {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.value.take());
        }
    }
}
