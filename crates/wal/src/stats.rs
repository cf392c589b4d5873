//! What the log has done.
//!
//! Relies on: nothing.  Promises: each number only grows, but those of the disk.  Does not: agree
//! to the record between two numbers read while the log runs.

use quintet_base::limits;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the log was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WalStats {
    /// Records appended.
    pub records: u64,
    /// Bytes of the stream that they took, headers and padding included.
    pub bytes: u64,
    /// Groups written. `records / groups` is how well commits share a sync.
    pub groups: u64,
    /// Syncs of segment files.
    pub syncs: u64,
    /// Time spent in them, in nanoseconds.
    pub sync_nanos_total: u64,
    /// The longest of them.
    pub sync_nanos_max: u64,
    /// Those that took longer than [`limits::SLOW_SYNC_MS`].
    pub slow_syncs: u64,
    /// Appends that had to make a segment themselves because none was ready.
    pub segment_waits: u64,
    /// Segment files of the stream.
    pub segments: u64,
    /// Bytes on disk, spare files included.
    pub disk_bytes: u64,
    /// Segments in the archive.
    pub kept_segments: u64,
    /// Bytes that they take.
    pub kept_bytes: u64,
    /// Times that a segment could not be put into the archive; it stays in the log and is tried again.
    pub keep_failures: u64,
    /// Bytes of memory that were touched before records came to them.
    pub touched_bytes: u64,
}

/// The same, shared. Written by the writer and by appends; nothing else hangs on the values, so
/// the order is relaxed.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub groups: AtomicU64,
    pub syncs: AtomicU64,
    pub sync_nanos_total: AtomicU64,
    pub sync_nanos_max: AtomicU64,
    pub slow_syncs: AtomicU64,
    pub segment_waits: AtomicU64,
    pub keep_failures: AtomicU64,
    pub touched_bytes: AtomicU64,
}

impl Counters {
    pub fn synced(&self, files: u64, nanos: u64) {
        self.syncs.fetch_add(files, Ordering::Relaxed);
        self.sync_nanos_total.fetch_add(nanos, Ordering::Relaxed);
        self.sync_nanos_max.fetch_max(nanos, Ordering::Relaxed);
        let slow = u64::from(nanos > limits::SLOW_SYNC_MS * 1_000_000);
        self.slow_syncs.fetch_add(slow, Ordering::Relaxed);
    }
}
