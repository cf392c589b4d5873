//! The ring's memory, touched before records come to it.
//!
//! Relies on: `ring` for the pages; the writer says how far the log has come.  Promises: nobody waits for it, and what it
//! touches is never more than the log has used since it was opened, [`AHEAD_BYTES_MAX`] at most.
//! Does not: run a second lap, in which every page is there already.
//!
//! Who touches a large page first waits until the system has written zeros over it: 0.2 ms, and 4.5 ms on a
//! virtual machine whose host has to find the memory first. Inside a commit that is the longest wait of all, and
//! everybody behind it waits as well.
//!
//! ```text
//!   opened_at ......... end ....................... touched ............ opened_at + ring
//!              used          as much again, but           nothing yet
//!                            32 MiB at most
//! ```

use super::Shared;
use crate::ring::LARGE_PAGE_BYTES;
use crate::sync::atomic::Ordering;

/// At 100 MB/s the log takes 0.3 s to get there, and the pages take a quarter of that to come.
const AHEAD_BYTES_MAX: u64 = 32 << 20;

/// So far ahead of a log that has just been opened.
const AHEAD_BYTES_MIN: u64 = 2 * LARGE_PAGE_BYTES as u64;

impl Shared {
    /// Whether there is memory to be touched ahead at all: a small ring has no large pages.
    pub fn wants_memory_ahead(&self) -> bool {
        self.ring.has_large_pages()
    }

    /// The log has come to `end`: asks for the memory behind it. Returns the end at which to ask again.
    pub fn ask_for_memory(&self, end: u64) -> u64 {
        let lap_ends = self.opened_at + self.ring.bytes();
        let to = touch_to(self.opened_at, end, lap_ends);
        self.control.lock().touch_to = to;
        self.untouched.notify_one();
        match to < lap_ends {
            true => end + LARGE_PAGE_BYTES as u64,
            false => u64::MAX,
        }
    }

    /// Touches what it is asked to, page by page, until the log has gone round once or closes.
    pub fn touch_ahead(&self) {
        let page = LARGE_PAGE_BYTES as u64;
        let lap_ends = self.opened_at + self.ring.bytes();
        let mut at = self.opened_at;
        while at < lap_ends {
            {
                let mut control = self.control.lock();
                while control.touch_to <= at && !control.closing {
                    self.untouched.wait(&mut control);
                }
                if control.closing {
                    return;
                }
            }
            // Whoever commits has the page at the end already, or is about to wait for it himself.
            at = at.max(self.end() + page);
            if at >= lap_ends || !self.ring.touch(at) {
                return;
            }
            self.counters
                .touched_bytes
                .fetch_add(page, Ordering::Relaxed);
            at += page;
        }
    }
}

/// How far memory is to be touched for a log that was opened at one position and has come to another.
fn touch_to(opened_at: u64, end: u64, lap_ends: u64) -> u64 {
    let ahead = (end - opened_at).clamp(AHEAD_BYTES_MIN, AHEAD_BYTES_MAX);
    lap_ends.min(end + ahead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_far_ahead_as_was_used_and_once_round() {
        const MIB: u64 = 1 << 20;
        let lap_ends = 7 + 256 * MIB;
        let ahead = |used: u64| touch_to(7, 7 + used, lap_ends) - 7 - used;
        assert_eq!(ahead(100), AHEAD_BYTES_MIN);
        assert_eq!(ahead(9 * MIB), 9 * MIB);
        assert_eq!(ahead(100 * MIB), AHEAD_BYTES_MAX);
        assert_eq!(ahead(250 * MIB), 6 * MIB);
        // A log that has gone round is not asked about again, but would not go back either.
        assert_eq!(touch_to(7, lap_ends + 5, lap_ends), lap_ends);
    }
}
