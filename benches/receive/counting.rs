//! An allocator that counts what this thread asks for: the steady path must ask for nothing.
#![allow(unsafe_code, reason = "an allocator is unsafe to be")]

use crate::EVENT_BYTES;
use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Pages of histograms for values never seen before, and a log or a harvest longer than any before, are rare: fewer than
/// one for so many bytes read. One allocation for each request would be six times as many, one for each event a hundred times.
const RARE_BYTES: u64 = 100 * EVENT_BYTES as u64;

/// Pages that are met early, however short the run: of one second the second half has 1,560 requests.
const EARLY: u64 = 100;

/// The program's own allocator, counted.
pub(crate) struct Counting;

// SAFETY: every call is handed on unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { MiMalloc.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { MiMalloc.realloc(block, layout, size) }
    }
}

fn count() {
    // A thread that ends may allocate when its own counter is gone: then nobody reads it either.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

/// Watches the second half of a run.
pub(crate) struct Steady {
    half: u64,
    before: Option<u64>,
}

impl Steady {
    /// A run that reads so many bytes.
    pub(crate) fn of(bytes: u64) -> Self {
        Self { half: bytes / 2, before: None }
    }

    /// So many bytes were read.
    pub(crate) fn at(&mut self, bytes: u64) {
        if bytes >= self.half && self.before.is_none() {
            self.before = Some(allocations());
        }
    }

    /// Fails when the second half allocated.
    pub(crate) fn check(&self, name: &str) {
        let before = self.before.expect("every run has a second half");
        let allocated = allocations() - before;
        let rare = EARLY + self.half / RARE_BYTES;
        assert!(
            allocated <= rare,
            "{name} allocated {allocated} times in the second half of the run, {rare} are rare"
        );
    }
}
