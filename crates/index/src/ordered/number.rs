//! An entry of tests: eight bytes, which are its key.
//!
//! Relies on: the test keeps its numbers for longer than its index.  Promises: nothing more.  Does not: exist outside tests.

use crate::Entry;

pub(super) struct Number(pub [u8; 8]);

// SAFETY: never changed; the test's numbers outlive its index.
unsafe impl Entry for Number {
    fn key(&self) -> &[u8] {
        &self.0
    }
}
