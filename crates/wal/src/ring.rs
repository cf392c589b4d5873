//! The log in memory: a ring of bytes, filled in parallel, read where it was filled.
//!
//! Relies on: `tail` gives each byte out once; `groups` knows what is filled; the owner of the log
//! gives memory back ([`Ring::reclaim`]) only when nobody holds an address in it any more.  Promises:
//! a record is contiguous in memory, and stays unchanged at one address until it is reclaimed.
//! Does not: know what is in a record, or do I/O.
//!
//! ```text
//!   position p is at p % ring_bytes         ring_bytes        + place_bytes_max
//!   ├───────────────────────────────────────────┼─────────────────┤
//!   │     │ a │ b │ c │ d ...           │ y │ z ┆ z, its rest │   │
//!   ├─────┴───────────────────────────────────────────────────────┤
//!   not used in
//!   this lap: the rest of z stands behind the ring
//!
//!   0 ..... reclaimed ..... written ..... filled_to ..... end ..... limit
//!     given back   may be      only the       being          nothing in it
//!                  read        writer's       filled
//! ```
//!
//! * The record that crosses the end of a lap runs on behind the ring, and the next one begins at its own
//!   position's place. Both numbers count every byte once, so a byte of memory is used again
//!   only for the position one lap later, which is given out only when this one has been reclaimed.
//! * Where that record ends is kept per lap; only the writer needs it, to write a stretch of the log
//!   that is not one stretch of memory. Whoever goes from record to record needs nothing.
//!
//! This module, with `memory` and `place` below it, has the unsafe code of the crate; `shared` and `wal` only hand on the
//! promise of [`Ring::reclaim`]. What it rests on: a [`Place`] is the
//! only access to its bytes from [`Ring::reserve`] to [`Place::fill`]; after that they are only read,
//! but for two fields of a record's header that nobody but the writer looks at.

#![allow(
    unsafe_code,
    reason = "many threads fill disjoint parts of one buffer that others read in place"
)]

mod memory;
mod place;
#[cfg(test)]
mod tests;

pub(crate) use memory::{LARGE_PAGE_BYTES, Span};
pub(crate) use place::Place;

use crate::groups::{GROUP_BYTES_MAX, Groups};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, planted, spin_loop, yield_now};
use crate::tail::{Line, POSITION_MAX, Refused, Tail, Taken};
use memory::Memory;

/// How often a waiting thread looks again before it offers its core to another.
const SPINS: u32 = 64;

/// The log in memory.
#[derive(Debug)]
pub(crate) struct Ring {
    memory: Memory,
    tail: Tail,
    groups: Groups,
    /// The lower of `allocated` and `reclaimed + ring_bytes`: nothing is taken behind it. Raised in
    /// `raise_limit`; that AcqRel pairs with the Acquire in `Tail::take`.
    limit: Line<AtomicU64>,
    /// There is space on the disk up to here. Written by whoever makes segments, inside their lock.
    allocated: AtomicU64,
    /// The memory below is given back. Written in `reclaim` inside the lock of `readers`.
    reclaimed: AtomicU64,
    /// The writer has handed everything below to the system. Written by the writer only; that
    /// Release pairs with the Acquire in `written`.
    written: AtomicU64,
    /// For the last even and the last odd lap: where the record ends that crosses (or touches) its
    /// end. Written in `reserve` by whoever took that record, before it is filled, which is
    /// what `unwritten` waits for. A lap later the writer is past it: its memory was reclaimed.
    crossings: [AtomicU64; 2],
    /// Where those began who read the memory now.
    readers: Mutex<Vec<u64>>,
}

/// What is missing for a reservation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shortage {
    /// Memory must be reclaimed.
    Memory,
    /// A segment must be made.
    Disk,
}

impl Ring {
    /// A ring for a log that ends at `end`, with nothing in it. `place_bytes_max` is the longest that
    /// is ever reserved at once.
    pub fn new(ring_bytes: u64, place_bytes_max: u64, end: u64, allocated: u64) -> Ring {
        assert!(
            ring_bytes <= GROUP_BYTES_MAX,
            "a ring of {ring_bytes} bytes"
        );
        assert!(
            place_bytes_max <= ring_bytes,
            "a record of {place_bytes_max} bytes in a ring of {ring_bytes}"
        );
        let ring = Ring {
            memory: Memory::new(ring_bytes, place_bytes_max),
            tail: Tail::new(end),
            groups: Groups::new(end),
            limit: Line(AtomicU64::new(0)),
            allocated: AtomicU64::new(0),
            reclaimed: AtomicU64::new(end),
            written: AtomicU64::new(end),
            crossings: Default::default(),
            readers: Mutex::default(),
        };
        ring.set_allocated(allocated);
        ring
    }

    pub fn bytes(&self) -> u64 {
        self.memory.ring_bytes
    }

    pub fn end(&self) -> u64 {
        self.tail.end()
    }

    /// Whether its memory comes in large pages, if the system has any.
    pub fn has_large_pages(&self) -> bool {
        self.memory.large_pages().is_some()
    }

    /// Touches the large page in which `position` has its place, whatever is there; false if the system
    /// does not do that.
    pub fn touch(&self, position: u64) -> bool {
        self.memory.touch((position % self.bytes()) as usize)
    }

    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    pub fn reclaimed(&self) -> u64 {
        self.reclaimed.load(Ordering::Acquire)
    }

    pub fn allocated(&self) -> u64 {
        self.allocated.load(Ordering::Acquire)
    }

    /// Records that have been filled.
    pub fn records(&self) -> u64 {
        self.groups.records()
    }

    /// Takes `bytes` at the end. Nobody else has them until they are filled.
    #[inline]
    pub fn reserve(&self, bytes: u64) -> Result<Place<'_>, Refused> {
        let taken = self.tail.take(bytes, &self.limit.0)?;
        let lap = taken.start / self.memory.ring_bytes;
        // Made at once, so that no path leaves the bytes taken and nobody responsible.
        let place = Place {
            ring: self,
            taken,
            begin: (taken.start - lap * self.memory.ring_bytes) as usize,
        };
        assert!(
            place.begin + place.len() <= self.memory.bytes(),
            "{place:?} leaves the ring"
        );
        if !planted("ring: a crossing is noted late") {
            self.note_crossing(taken, lap);
        }
        if planted("ring: counted before it is filled") {
            self.groups.fill(taken.group, place.len() as u64);
        }
        Ok(place)
    }

    #[inline]
    fn note_crossing(&self, taken: Taken, lap: u64) {
        if taken.end >= (lap + 1) * self.memory.ring_bytes {
            self.crossings[(lap % 2) as usize].store(taken.end, Ordering::Relaxed);
        }
    }

    /// What keeps `bytes` from being reserved now.
    pub fn shortage(&self, bytes: u64) -> Option<Shortage> {
        let end = self.end() + bytes;
        if end > self.reclaimed() + self.memory.ring_bytes {
            Some(Shortage::Memory)
        } else {
            (end > self.allocated()).then_some(Shortage::Disk)
        }
    }

    /// Nothing is reserved from now on.
    pub fn seal(&self) {
        self.tail.seal();
    }

    /// There is space on the disk up to `position`.
    pub fn set_allocated(&self, position: u64) {
        assert!(position < POSITION_MAX, "a log of {position} bytes");
        if planted("ring: the limit is raised by what was") {
            let memory = self.reclaimed() + self.memory.ring_bytes;
            self.allocated.store(position, Ordering::SeqCst);
            self.limit
                .0
                .fetch_max(position.min(memory), Ordering::AcqRel);
            return;
        }
        self.allocated.store(position, Ordering::SeqCst);
        self.raise_limit();
    }

    /// Of two who raise at once, each stores its own before it loads the other's, all `SeqCst`: the
    /// one that loads last sees both, and the limit never goes back.
    fn raise_limit(&self) {
        let memory = self.reclaimed.load(Ordering::SeqCst) + self.memory.ring_bytes;
        let limit = self.allocated.load(Ordering::SeqCst).min(memory);
        self.limit.0.fetch_max(limit, Ordering::AcqRel);
    }

    /// Waits until every reservation at or below `to` is filled: spins, then yields.
    pub fn wait_filled(&self, to: u64) {
        assert!(to <= self.end(), "waits for {to} behind the end");
        let mut looks = 0u32;
        while !self.groups.advance(&self.tail, to) {
            looks = looks.saturating_add(1);
            if looks < SPINS {
                spin_loop();
            } else {
                yield_now();
            }
        }
    }

    /// The filled bytes from `written` to `to`, in order, in one or two pieces. For the writer.
    pub fn unwritten(&self, to: u64) -> [&[u8]; 2] {
        let from = self.written();
        let lap_end = (from / self.bytes() + 1) * self.bytes();
        let split = match lap_end < to {
            true => {
                let lap = from / self.bytes() % 2;
                // The record was filled after this was written, and `slice` checks that.
                self.crossings[lap as usize].load(Ordering::Relaxed)
            }
            false => to,
        };
        assert!(
            split == to || (lap_end..to).contains(&split),
            "the lap that ends at {lap_end} is crossed at {split}"
        );
        [(from, split), (split, to)].map(|(record, end)| {
            self.slice(Span {
                record,
                offset: 0,
                bytes: end - record,
            })
        })
    }

    /// Filled and not reclaimed bytes, of one record or of several that follow each other in memory.
    pub fn slice(&self, span: Span) -> &[u8] {
        self.assert_filled(span);
        let address = self.memory.address(span);
        // SAFETY: inside the allocation (`address`), initialised (zeros at first), and filled: the only
        // writer was the `Place`, which is gone, and `filled_to` was read after that. It is written
        // again only when it has been reclaimed, which the caller of `reclaim` keeps from
        // happening while somebody reads. `patch` writes to parts of headers that only the
        // writer reads, and the writer does both one after the other.
        unsafe { std::slice::from_raw_parts(address.as_ptr(), span.bytes as usize) }
    }

    /// Filled bytes, of which the caller has a reference for a shorter time; `None`: they are not in the ring.
    pub fn lasting(&self, bytes: &[u8]) -> Option<&[u8]> {
        let address = self.memory.find(bytes)?;
        // SAFETY: inside the allocation (`find`). The caller can read them, so they are initialised and nobody writes there now; they are
        // written again only when they have been reclaimed, as in `slice`.
        Some(unsafe { std::slice::from_raw_parts(address.as_ptr(), bytes.len()) })
    }

    /// Changes filled bytes of a record that is not written yet. Only for the writer, and only for bytes that nobody else reads.
    pub fn patch<const N: usize>(&self, record: u64, offset: usize, bytes: [u8; N]) {
        let span = Span {
            record,
            offset: offset as u64,
            bytes: N as u64,
        };
        let written = self.written();
        assert!(record >= written, "patches {span:?} below {written}");
        self.assert_filled(span);
        let address = self.memory.address(span);
        // SAFETY: inside the allocation (`address`); an array of bytes has no alignment; filled, so no
        // `Place` has them; the caller is the only one that looks at them.
        unsafe { address.cast::<[u8; N]>().write(bytes) }
    }

    /// A copy of `N` filled bytes, without a reference to those around them.
    pub fn copy<const N: usize>(&self, record: u64, offset: usize) -> [u8; N] {
        let span = Span {
            record,
            offset: offset as u64,
            bytes: N as u64,
        };
        self.assert_filled(span);
        // SAFETY: as in `slice`; an array of bytes has no alignment.
        unsafe { self.memory.address(span).cast::<[u8; N]>().read() }
    }

    fn assert_filled(&self, span: Span) {
        let (reclaimed, filled) = (self.reclaimed(), self.groups.filled_to());
        assert!(
            span.start() >= reclaimed,
            "reads {span:?}, reclaimed to {reclaimed}"
        );
        assert!(span.end() <= filled, "reads {span:?}, filled to {filled}");
    }

    /// The writer has handed everything below to the system.
    pub fn set_written(&self, position: u64) {
        let filled = self.groups.filled_to();
        assert!(
            position <= filled,
            "written to {position}, filled to {filled}"
        );
        self.written.store(position, Ordering::Release);
    }

    /// Gives the memory of everything below back. A position that is given back already is no mistake.
    ///
    /// # Safety
    /// Nobody reads below any more, neither at an address that [`Place::fill`] has returned nor in a
    /// [`Ring::slice`] or what is [`Ring::lasting`]: the next bytes are written there while he would.
    pub unsafe fn reclaim(&self, below: u64) {
        let written = self.written();
        assert!(
            below <= written,
            "reclaims to {below}, written to {written}"
        );
        let readers = self.readers.lock();
        let oldest = readers.iter().min();
        assert!(
            oldest.is_none_or(|reader| below <= *reader),
            "reclaims to {below}, which is being read from {oldest:?}"
        );
        if below > self.reclaimed() {
            self.reclaimed.store(below, Ordering::SeqCst);
            drop(readers);
            self.raise_limit();
        }
    }

    /// Nothing at or behind `from` may be reclaimed while the answer lives.
    pub fn read_from(&self, from: u64) -> Reading<'_> {
        let mut readers = self.readers.lock();
        let reclaimed = self.reclaimed();
        assert!(
            from >= reclaimed,
            "reads at {from}, reclaimed to {reclaimed}"
        );
        readers.push(from);
        Reading { ring: self, from }
    }
}

/// Somebody reads the memory: to reclaim it is a mistake that is noticed.
#[derive(Debug)]
pub(crate) struct Reading<'r> {
    pub ring: &'r Ring,
    from: u64,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        let mut readers = self.ring.readers.lock();
        let own = readers.iter().position(|from| *from == self.from);
        readers.swap_remove(own.expect("was put there when this was made"));
    }
}
