//! A counting allocator: live heap bytes of the current thread, the most that there were, and how often it allocated.
//!
//! Counting by thread lets tests run side by side; what a test frees must have been allocated by its own thread, which holds
//! for calls of one request, since those hand nothing to rayon, and for all that runs in a pool of one thread.
//!
//! `unsafe` is allowed here: a global allocator cannot be written without it.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system allocator, counted.
pub struct Counting;

thread_local! {
    static LIVE_BYTES: Cell<isize> = const { Cell::new(0) };
    static PEAK_BYTES: Cell<isize> = const { Cell::new(0) };
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that ends may free after its counters are gone; nobody reads them then.
    let _ = LIVE_BYTES.try_with(|live| {
        live.set(live.get() + bytes);
        if bytes > 0 {
            let _ = PEAK_BYTES.try_with(|peak| peak.set(peak.get().max(live.get())));
            let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        }
    });
}

// SAFETY: every call is passed on to the system allocator as it came. Growing is allocating anew, which is what counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Heap bytes that this thread allocated and did not free.
pub fn live_bytes() -> isize {
    LIVE_BYTES.with(Cell::get)
}

/// How often this thread allocated.
pub fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

/// How often this thread allocates while `f` runs.
pub fn allocations_of<R>(f: impl FnOnce() -> R) -> u64 {
    let before = allocations();
    let _kept = f();
    allocations() - before
}

/// The most heap bytes that live on this thread at once while `f` runs, beyond those that lived before; what `f` gives is counted.
pub fn peak_bytes_of<R>(f: impl FnOnce() -> R) -> (isize, R) {
    let before = live_bytes();
    PEAK_BYTES.with(|peak| peak.set(before));
    let result = f();
    (PEAK_BYTES.with(Cell::get) - before, result)
}
