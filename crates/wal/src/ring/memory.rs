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

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Of the memory. Not more: beyond what the system's allocator gives anyway, zeros would be written
/// and not merely promised.
const MEMORY_ALIGNMENT: usize = 16;

/// Whole ones are asked for; what lies before the first and behind the last stays with small pages.
const LARGE_PAGE_BYTES: usize = 2 << 20;

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
    base: NonNull<u8>,
    layout: Layout,
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
        let layout = Layout::from_size_align(bytes, MEMORY_ALIGNMENT).expect("a ring has a layout");
        assert!(layout.size() > 0, "a ring has bytes");
        // SAFETY: the layout has bytes, as asserted.
        let base = unsafe { alloc_zeroed(layout) };
        let Some(base) = NonNull::new(base) else {
            handle_alloc_error(layout)
        };
        let memory = Memory {
            base,
            layout,
            ring_bytes,
        };
        memory.prefer_large_pages();
        memory
    }

    /// A wish: a system that has none left, or gives none, says so, and nothing else changes.
    fn prefer_large_pages(&self) {
        if cfg!(miri) || self.layout.size() < LARGE_BYTES {
            return;
        }
        let skipped = self.base.as_ptr().align_offset(LARGE_PAGE_BYTES);
        let bytes = (self.layout.size() - skipped) / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES;
        let first = self.base.as_ptr().wrapping_add(skipped);
        // SAFETY: whole pages of an allocation of our own, whose bytes this advice does not change.
        let _ =
            unsafe { rustix::mm::madvise(first.cast(), bytes, rustix::mm::Advice::LinuxHugepage) };
    }

    /// Where it begins.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// What is there, with the part behind the ring.
    pub fn bytes(&self) -> usize {
        self.layout.size()
    }

    /// The address of the first byte; all of them are inside the allocation.
    pub fn address(&self, span: Span) -> NonNull<u8> {
        let begin = span.record % self.ring_bytes + span.offset;
        assert!(
            begin + span.bytes <= self.layout.size() as u64,
            "{span:?} leaves the ring"
        );
        // SAFETY: inside the allocation, as asserted; its size fits `isize` because it has a layout.
        unsafe { self.base.add(begin as usize) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed here only.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}
