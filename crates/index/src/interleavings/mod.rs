//! Both indexes under many orders of few threads: `tests/interleavings`.
//!
//! Each test states what must hold and is run with mistakes planted that break it, each of which it
//! must find. Nodes of the order are small in tests (6 entries, 4 separators), so few entries make
//! a tree of three levels.
#![allow(unsafe_code, reason = "the tests own the entries")]

mod ordered;
mod point;

use crate::{Entry, Guard, Hashed};
use quintet_interleave::explore::planted;
use std::ptr::NonNull;
// Of `std`: to look whether an entry was freed is no step of the test.
use std::sync::atomic::{AtomicBool, Ordering};

/// An entry whose memory stays, so that a reader of a freed one is found out and not undefined.
struct Item {
    key: [u8; 8],
    hash: u64,
    freed: AtomicBool,
}

// SAFETY: the key never changes, the memory stays.
unsafe impl Entry for Item {
    fn key(&self) -> &[u8] {
        let freed = self.freed.load(Ordering::SeqCst);
        assert!(!freed, "{:?} is read after it was freed", self.key);
        &self.key
    }
}

// SAFETY: as above, and the hash never changes.
unsafe impl Hashed for Item {
    fn hash(&self) -> u64 {
        self.hash
    }
}

impl Item {
    fn new(key: u64, hash: u64) -> &'static Item {
        Box::leak(Box::new(Item {
            key: key.to_be_bytes(),
            hash,
            freed: AtomicBool::new(false),
        }))
    }

    fn number(&self) -> u64 {
        u64::from_be_bytes(*self.key().first_chunk().expect("eight bytes"))
    }
}

/// Frees what was taken out, when no guard protects it any more.
fn free(item: NonNull<Item>, guard: &Guard) {
    // SAFETY: the memory stays.
    let item: &'static Item = unsafe { &*item.as_ptr() };
    if planted("what is taken out is freed at once") {
        item.freed.store(true, Ordering::SeqCst);
    } else {
        guard.defer(move || item.freed.store(true, Ordering::SeqCst));
    }
}
