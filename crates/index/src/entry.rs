//! What an index holds: a reference to an entry that knows its key.
//!
//! Relies on: the entry's owner (see [`Entry`]).  Promises: nothing of its own.

/// Something an index can hold by reference. The index owns no entry and frees none.
///
/// # Safety
/// `key` returns the same bytes for as long as the entry lives, and whoever puts an entry into an
/// index keeps it alive until it has been taken out again *and* every guard that was pinned before
/// then is gone: a reader that found it just before may hold it until then. Freeing it with
/// `Guard::defer_unchecked` (or `defer_destroy`) after the removal does that.
#[allow(
    unsafe_code,
    reason = "the promise of the owner that the indexes rest on"
)]
pub unsafe trait Entry: Send + Sync {
    /// What it is found by.
    fn key(&self) -> &[u8];
}

/// An entry that is also found by hash.
///
/// # Safety
/// As for [`Entry`], and `hash` never changes.
#[allow(
    unsafe_code,
    reason = "the promise of the owner that the indexes rest on"
)]
pub unsafe trait Hashed: Entry {
    /// The hash it is put in and looked up with.
    fn hash(&self) -> u64;
}
