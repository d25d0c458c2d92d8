//! How much memory a thread has in use: an allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static IN_USE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, counting the bytes that this thread allocates and frees.
pub struct Counting;

impl Counting {
    fn count(change: isize) {
        let in_use = IN_USE.get() + change;
        IN_USE.set(in_use);
        PEAK.set(PEAK.get().max(in_use));
    }
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size().cast_signed());
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Self::count(-layout.size().cast_signed());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) };
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::count(size.cast_signed() - layout.size().cast_signed());
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// How many bytes more than at its start this thread has had in use at once.
pub struct Peak {
    before: isize,
}

impl Peak {
    pub fn start() -> Self {
        let before = IN_USE.get();
        PEAK.set(before);
        Self { before }
    }

    pub fn bytes(&self) -> usize {
        (PEAK.get() - self.before).unsigned_abs()
    }
}
