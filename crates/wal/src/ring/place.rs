//! A place in the ring, from the moment it is taken to the moment it is filled.
//!
//! Relies on: `Ring::reserve`, which makes one for bytes that nobody else has.  Promises: nobody reads
//! them before [`Place::fill`], and from then on they do not change.  Does not: end without being
//! filled.

use super::Ring;
use crate::sync::planted;
use crate::tail::Taken;
use std::ptr::NonNull;

/// Bytes of the log that are taken and not filled. Dropping one aborts the process: see
/// [`crate::Reservation`].
#[derive(Debug)]
pub(crate) struct Place<'r> {
    pub(super) ring: &'r Ring,
    pub(super) taken: Taken,
    /// Where it is in the memory; all of it is inside, `reserve` has checked that.
    pub(super) begin: usize,
}

impl Place<'_> {
    pub fn start(&self) -> u64 {
        self.taken.start
    }

    pub fn end(&self) -> u64 {
        self.taken.end
    }

    pub(super) fn len(&self) -> usize {
        (self.taken.end - self.taken.start) as usize
    }

    /// The bytes, with whatever the ring held there before.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: inside the allocation (`begin`) and initialised. Exclusive: `tail` has given these
        // positions to nobody else; the positions that shared this memory a lap ago were reclaimed
        // before the limit let this one be taken; readers stay below `filled_to`, which is not past the
        // beginning of this one's group. The place is borrowed for as long as the bytes are.
        unsafe {
            let address = self.ring.memory.base().add(self.begin);
            std::slice::from_raw_parts_mut(address.as_ptr(), self.len())
        }
    }

    /// Everything is in; the address of the byte at `offset`. It stays there, and does not change,
    /// until the position is reclaimed.
    #[inline]
    pub fn fill(self, offset: usize) -> NonNull<u8> {
        let len = self.len();
        assert!(offset <= len, "offset {offset} of {len}");
        // SAFETY: inside the allocation (`begin`), or one byte behind it. From the buffer itself and not
        // from a slice of it, so that it stays good for as long as the buffer does.
        let address = unsafe { self.ring.memory.base().add(self.begin + offset) };
        if !planted("ring: counted before it is filled") {
            self.ring.groups.fill(self.taken.group, len as u64);
        }
        if planted("ring: a crossing is noted late") {
            let lap = self.taken.start / self.ring.memory.ring_bytes;
            self.ring.note_crossing(self.taken, lap);
        }
        std::mem::forget(self);
        address
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let Taken { start, end, .. } = self.taken;
        if cfg!(shuttle) && std::thread::panicking() {
            // One of many orders of a test has failed; it is the test that says so.
            return;
        }
        eprintln!("a reservation of the log ({start}..{end}) was given up: the log cannot go on");
        std::process::abort();
    }
}
