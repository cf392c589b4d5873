//! Memory that the system has been asked for before it is needed.
//!
//! Relies on: Linux, 5.14 or later.  Promises: whoever uses memory that was touched waits for no page of it; memory that the
//! machine does not have is refused, not taken; what is in the memory stays as it is.  Does not: allocate, or keep the system
//! from taking pages back that are given back to it.
//!
//! A large page that is touched for the first time costs the time to write zeros over it, 0.2 ms; on a virtual machine whose
//! host has to find the memory first it is 4 to 5 ms, through which the whole processor stands still.

#![allow(
    unsafe_code,
    reason = "pages are touched by a call to the system, which takes an address"
)]

use crate::threads;
use rustix::io::Errno;
use rustix::mm::{Advice, madvise};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What one call to the system touches.
const PIECE_BYTES: usize = 32 << 20;

/// Has every page of some memory of this process be there, by as many threads as the machine has processors.
/// The addresses are whole pages of memory that can be written to.
///
/// # Errors
/// `OutOfMemory` if the machine has less to give, `Unsupported` where memory cannot be touched ahead, and what the system says
/// of addresses that are none.
pub fn touch(addresses: Range<usize>) -> io::Result<()> {
    if available_bytes().is_some_and(|available| available < addresses.len()) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let next = Arc::new(AtomicUsize::new(addresses.start));
    let workers: Vec<_> = (1..threads::processors())
        .map(|_| {
            let (next, end) = (Arc::clone(&next), addresses.end);
            threads::spawn("touch-memory", move || touch_pieces(&next, end))
        })
        .collect();
    let mut result = touch_pieces(&next, addresses.end);
    for worker in workers {
        let touched = worker
            .join()
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
        result = result.and(touched);
    }
    result
}

/// Touches pieces that nobody has begun, until there are none.
fn touch_pieces(next: &AtomicUsize, end: usize) -> io::Result<()> {
    loop {
        let begin = next.fetch_add(PIECE_BYTES, Ordering::Relaxed);
        if begin >= end {
            return Ok(());
        }
        let bytes = PIECE_BYTES.min(end - begin);
        let piece = std::ptr::without_provenance_mut(begin);
        // SAFETY: it changes no byte that anybody has, and refuses addresses that are not mapped.
        let touched = unsafe { madvise(piece, bytes, Advice::LinuxPopulateWrite) };
        touched.map_err(|error| match error {
            Errno::INVAL => io::ErrorKind::Unsupported.into(),
            error => io::Error::from(error),
        })?;
    }
}

/// What the machine could give without taking it from somebody, if it says so.
fn available_bytes() -> Option<usize> {
    #[allow(
        clippy::disallowed_methods,
        reason = "the system's word, not a file of ours"
    )]
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(all(test, target_os = "linux", not(miri)))]
#[allow(clippy::unwrap_used)] // A test may; the lint's own exception misses helper functions.
mod tests {
    use super::*;
    use std::alloc::{Layout, alloc_zeroed, dealloc};

    const PAGE: usize = 4096;

    /// Page faults of this thread so far.
    fn faults() -> u64 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        fields.split_whitespace().nth(7).unwrap().parse().unwrap()
    }

    #[test]
    fn what_was_touched_is_there_and_keeps_its_bytes() {
        let layout = Layout::from_size_align(2 * PIECE_BYTES + PAGE, PAGE).unwrap();
        // SAFETY: the layout has bytes.
        let memory = unsafe { alloc_zeroed(layout) };
        assert!(!memory.is_null());
        // SAFETY: inside the allocation.
        unsafe { memory.write(7) };
        let begin = memory.addr();
        match touch(begin..begin + layout.size()) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => return,
            touched => touched.unwrap(),
        }
        faults(); // what reading them needs is there from now on
        let before = faults();
        for at in (PAGE..layout.size()).step_by(PAGE) {
            // SAFETY: inside the allocation.
            unsafe { memory.add(at).write_volatile(1) };
        }
        assert_eq!(faults() - before, 0);
        // SAFETY: inside the allocation and initialised; freed once.
        unsafe {
            assert_eq!(memory.read(), 7);
            dealloc(memory, layout);
        }
    }

    #[test]
    fn more_than_the_machine_has_is_refused() {
        let error = touch(PAGE..1 << 46).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
    }

    #[test]
    fn what_is_no_memory_is_refused() {
        touch(PAGE..2 * PAGE).unwrap_err();
    }
}
