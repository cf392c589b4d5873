//! Memory that the system has been asked for before it is needed.
//!
//! Relies on: Linux, 5.14 or later.  Promises: whoever uses memory that was touched waits for no page of it; memory that the
//! machine does not have is refused, not taken; what is in the memory stays as it is.  Does not: allocate, or keep the system
//! from taking pages back that are given back to it.
//!
//! A large page that is touched for the first time costs the time to write zeros over it, 0.2 ms; on a virtual machine whose
//! host has to find the memory first it is 4 to 5 ms, through which the whole processor stands still.
//!
//! Large pages are asked for first, since what is there in small ones stays so. A row, a record or a bucket of an index lies anywhere, and to find
//! where a small page of gigabytes is takes reads of tables, which in a virtual machine are those of two address spaces; not even what is asked for
//! ahead comes before that (decision 122).

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
    prefer_large_pages(&addresses);
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

/// A wish: a system that has none left, or gives none, says so, and nothing else changes.
fn prefer_large_pages(addresses: &Range<usize>) {
    let begin = std::ptr::without_provenance_mut(addresses.start);
    // SAFETY: the advice changes no byte, and addresses that are not mapped are refused.
    let _ = unsafe { madvise(begin, addresses.len(), Advice::LinuxHugepage) };
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
    const LARGE_PAGE: usize = 2 << 20;

    /// Memory that nobody has touched. (Of a greater alignment than the system's allocator gives anyway, the library writes the zeros.)
    struct Fresh {
        allocated: *mut u8,
        layout: Layout,
        /// A multiple of [`LARGE_PAGE`].
        begin: *mut u8,
    }

    impl Fresh {
        fn new(bytes: usize) -> Fresh {
            let layout = Layout::from_size_align(bytes + LARGE_PAGE, 16).unwrap();
            // SAFETY: the layout has bytes.
            let allocated = unsafe { alloc_zeroed(layout) };
            assert!(!allocated.is_null());
            let begin = allocated.wrapping_add(allocated.align_offset(LARGE_PAGE));
            Fresh {
                allocated,
                layout,
                begin,
            }
        }
    }

    impl Drop for Fresh {
        fn drop(&mut self) {
            // SAFETY: from `new`, freed once.
            unsafe { dealloc(self.allocated, self.layout) };
        }
    }

    /// Page faults of this thread so far.
    fn faults() -> u64 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        fields.split_whitespace().nth(7).unwrap().parse().unwrap()
    }

    #[test]
    fn what_was_touched_is_there_and_keeps_its_bytes() {
        const BYTES: usize = 2 * PIECE_BYTES + PAGE;
        let memory = Fresh::new(BYTES);
        // SAFETY: inside the allocation.
        unsafe { memory.begin.write(7) };
        let begin = memory.begin.addr();
        match touch(begin..begin + BYTES) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => return,
            touched => touched.unwrap(),
        }
        faults(); // what reading them needs is there from now on
        let before = faults();
        for at in (PAGE..BYTES).step_by(PAGE) {
            // SAFETY: inside the allocation.
            unsafe { memory.begin.add(at).write_volatile(1) };
        }
        assert_eq!(faults() - before, 0);
        // SAFETY: inside the allocation and initialised.
        assert_eq!(unsafe { memory.begin.read() }, 7);
    }

    /// Bytes in large pages of the mapping with an address; `None` where the system gives none of them.
    fn large_bytes(address: usize) -> Option<usize> {
        let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        if enabled.ok()?.contains("[never]") {
            return None;
        }
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_there = false;
        for line in maps.lines() {
            let first = line.split_whitespace().next().unwrap();
            if let Some((begin, end)) = first.split_once('-')
                && let Ok(begin) = usize::from_str_radix(begin, 16)
            {
                is_there = (begin..usize::from_str_radix(end, 16).unwrap()).contains(&address);
            } else if is_there && first == "AnonHugePages:" {
                let kib: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
                return Some(kib * 1024);
            }
        }
        panic!("{address:#x} is not mapped");
    }

    #[test]
    fn what_was_touched_is_in_large_pages() {
        const BYTES: usize = 2 * PIECE_BYTES;
        let memory = Fresh::new(BYTES);
        let begin = memory.begin.addr();
        if touch(begin..begin + BYTES).is_ok()
            && let Some(large) = large_bytes(begin + PIECE_BYTES)
        {
            // A machine that is short of them gives some.
            assert!(large > 0, "small pages only");
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
