//! The buffer of the ring, and addresses in it.
//!
//! Relies on: the system's allocator.  Promises: every byte is initialised from the start; an address
//! that is handed out is inside the buffer and good until it is dropped.  Does not: know who may
//! touch which bytes.
//!
//! The memory is asked for as zeros with an alignment that lets the system hand out pages when they are
//! touched: a ring costs what has been used of it. A large one asks for large pages: rows are read all over
//! it, and each read from a small page that was not looked at lately walks the tables of two address spaces
//! in a virtual machine.

use quintet_rt::DIRECT_BYTES;
use rustix::mm::{Advice, madvise};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::Range;
use std::ptr::NonNull;

/// Asked for. Not more: beyond what the system's allocator gives anyway, zeros would be written
/// and not merely promised.
const MEMORY_ALIGNMENT: usize = 16;

/// Whole ones are asked for; what lies before the first and behind the last stays with small pages.
pub(crate) const LARGE_PAGE_BYTES: usize = 2 << 20;

/// A ring of so many bytes asks for large pages.
const LARGE_BYTES: usize = 8 * LARGE_PAGE_BYTES;

/// Contiguous bytes in memory. They are found from where their record begins: what stands behind the
/// end of the ring cannot be told by its position alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    /// Position of a record.
    pub record: u64,
    /// From there.
    pub offset: u64,
    pub bytes: u64,
}

impl Span {
    pub fn start(self) -> u64 {
        self.record + self.offset
    }

    pub fn end(self) -> u64 {
        self.record + self.offset + self.bytes
    }
}

/// The buffer.
#[derive(Debug)]
pub(crate) struct Memory {
    /// Where the allocation begins.
    allocated: NonNull<u8>,
    layout: Layout,
    /// The first byte of the ring, at a multiple of [`DIRECT_BYTES`], so that the disk is given whole blocks of it.
    base: NonNull<u8>,
    /// From there to the end of the allocation.
    bytes: usize,
    /// Of them, those that positions are counted round.
    pub ring_bytes: u64,
}

// SAFETY: the buffer is owned, and nothing about it belongs to a thread. Who may touch which bytes is
// what the functions of `Ring` and `Place` say.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    pub fn new(ring_bytes: u64, place_bytes_max: u64) -> Memory {
        let bytes =
            usize::try_from(ring_bytes + place_bytes_max).expect("the ring can be addressed");
        let layout = bytes.checked_add(DIRECT_BYTES - MEMORY_ALIGNMENT);
        let layout = layout.and_then(|bytes| Layout::from_size_align(bytes, MEMORY_ALIGNMENT).ok());
        let layout = layout.expect("a ring has a layout");
        // SAFETY: the layout has bytes: those before an aligned one.
        let allocated = unsafe { alloc_zeroed(layout) };
        let Some(allocated) = NonNull::new(allocated) else {
            handle_alloc_error(layout)
        };
        let skipped = allocated.as_ptr().align_offset(DIRECT_BYTES);
        assert!(
            bytes > 0 && skipped + bytes <= layout.size(),
            "room before the ring"
        );
        let memory = Memory {
            allocated,
            layout,
            // SAFETY: inside the allocation, as asserted.
            base: unsafe { allocated.add(skipped) },
            bytes,
            ring_bytes,
        };
        memory.prefer_large_pages();
        memory
    }

    /// A wish: a system that has none left, or gives none, says so, and nothing else changes.
    fn prefer_large_pages(&self) {
        let Some(pages) = self.large_pages() else {
            return;
        };
        let first = self.base.as_ptr().wrapping_add(pages.start);
        // SAFETY: whole pages of an allocation of our own, whose bytes this advice does not change.
        let _ = unsafe { madvise(first.cast(), pages.len(), Advice::LinuxHugepage) };
    }

    /// The offsets that whole large pages take, if it has asked for them.
    pub fn large_pages(&self) -> Option<Range<usize>> {
        if cfg!(miri) || self.bytes < LARGE_BYTES {
            return None;
        }
        let skipped = self.base.as_ptr().align_offset(LARGE_PAGE_BYTES);
        let bytes = (self.bytes - skipped) / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES;
        Some(skipped..skipped + bytes)
    }

    /// Touches the large page around an offset without changing what is there; others may use it meanwhile.
    /// False if the system (Linux before 5.14) does not do that. What lies in no large page is left alone.
    pub fn touch(&self, offset: usize) -> bool {
        let Some(pages) = self.large_pages().filter(|pages| pages.contains(&offset)) else {
            return true;
        };
        let begin = pages.start + (offset - pages.start) / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES;
        let page = self.base.as_ptr().wrapping_add(begin);
        // SAFETY: a whole page of an allocation of our own; it is made to be there and keeps its bytes.
        unsafe { madvise(page.cast(), LARGE_PAGE_BYTES, Advice::LinuxPopulateWrite) }.is_ok()
    }

    /// Where it begins.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// The address of the first of some bytes, if all of them are in the buffer.
    pub fn find(&self, bytes: &[u8]) -> Option<NonNull<u8>> {
        let begin = bytes.as_ptr().addr().checked_sub(self.base.addr().get())?;
        let end = begin.checked_add(bytes.len())?;
        // SAFETY: inside the allocation, as looked at; its size fits `isize` because it has a layout.
        (end <= self.bytes).then(|| unsafe { self.base.add(begin) })
    }

    /// What is there, with the part behind the ring.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The address of the first byte; all of them are inside the allocation.
    pub fn address(&self, span: Span) -> NonNull<u8> {
        let begin = span.record % self.ring_bytes + span.offset;
        assert!(
            begin + span.bytes <= self.bytes as u64,
            "{span:?} leaves the ring"
        );
        // SAFETY: inside the allocation, as asserted; its size fits `isize` because it has a layout.
        unsafe { self.base.add(begin as usize) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed here only.
        unsafe { dealloc(self.allocated.as_ptr(), self.layout) }
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
#[allow(clippy::unwrap_used)] // A test may; the lint's own exception misses helper functions.
mod tests {
    use super::*;

    /// Page faults of this thread so far.
    fn faults() -> u64 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        fields.split_whitespace().nth(7).unwrap().parse().unwrap()
    }

    /// Faults of writing to every small page of the large one at `offset`.
    fn faults_of_writing(memory: &Memory, offset: usize) -> u64 {
        let before = faults();
        for at in (offset..offset + LARGE_PAGE_BYTES).step_by(4096) {
            // SAFETY: inside the allocation, which nobody else knows of.
            unsafe { memory.base.add(at).write_volatile(1) };
        }
        faults() - before
    }

    #[test]
    fn what_was_touched_is_there_and_keeps_its_bytes() {
        let memory = Memory::new(LARGE_BYTES as u64, 4096);
        let pages = memory.large_pages().unwrap();
        // What counting needs is there from now on: the code, too, which the system may have put out.
        let other = Memory::new(LARGE_BYTES as u64, 4096);
        faults_of_writing(&other, other.large_pages().unwrap().start);
        let (first, second) = (pages.start, pages.start + LARGE_PAGE_BYTES);
        if !memory.touch(first + 77) {
            return; // not on this system
        }
        assert_eq!(faults_of_writing(&memory, first), 0);
        assert!(faults_of_writing(&memory, second) > 0);
        assert!(memory.touch(first) && memory.touch(pages.end));
        // SAFETY: inside the allocation and initialised.
        assert_eq!(unsafe { memory.base.add(first).read_volatile() }, 1);
    }

    #[test]
    fn a_small_ring_asks_for_nothing() {
        assert_eq!(Memory::new(1 << 20, 4096).large_pages(), None);
    }
}
