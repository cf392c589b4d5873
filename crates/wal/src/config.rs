//! Settings of the log.
//!
//! Relies on: defaults of `base::limits`.  Promises: every setting has a bound that makes sense of
//! any value.  Does not: read configuration files.

use crate::archive::ArchiveConfig;
use crate::groups::GROUP_BYTES_MAX;
use crate::record::RECORD_BYTES_MAX;
use quintet_base::{Durability, limits};
use std::path::PathBuf;

/// Segments are whole blocks of this size, the block of every common file system.
pub(crate) const BLOCK_BYTES: usize = 4096;

/// Bytes appended and not yet written before committers are asked to wait, unless configured
/// otherwise. At a gigabyte per second this is 64 ms of writing.
const PENDING_BYTES_DEFAULT: usize = 64 * 1024 * 1024;

/// Memory for records unless configured otherwise: as much as may wait for the writer.
const RING_BYTES_DEFAULT: usize = 64 * 1024 * 1024;

/// How the log is kept.
#[derive(Clone, Debug)]
pub struct WalConfig {
    /// Where the segment files are; made if it is not there.
    pub directory: PathBuf,
    /// What "durable" means.
    pub durability: Durability,
    /// Size of a segment file, rounded down to whole blocks of 4096 bytes and at least two of
    /// them. May differ from one opening to the next.
    pub segment_bytes: usize,
    /// Under [`Durability::Async`], how long a written record may wait for its sync.
    pub async_flush_interval_ms: u64,
    /// Bytes appended and not yet written at which [`crate::Wal::wait_for_room`] begins to wait.
    pub pending_bytes_max: usize,
    /// Memory for records, rounded up to whole blocks of 4096 bytes; at most half of it may wait for
    /// the writer. A record is put together and written from there, and stays there until it is
    /// reclaimed. The system gives pages as they are touched.
    pub ring_bytes: usize,
    /// Longest payload of a record. In effect never more than half of `ring_bytes`, which is the
    /// default, nor than [`crate::RECORD_BYTES_MAX`].
    pub record_bytes_max: usize,
    /// Whether records stay in memory until [`crate::Wal::reclaim`] gives them back, to be read there.
    /// Otherwise the writer reclaims what it has written.
    pub keep_in_memory: bool,
    /// Where segments are kept when the log needs them no more; `None`: nowhere.
    pub archive: Option<ArchiveConfig>,
    /// A mistake made on purpose, to prove that the tests find it.
    #[cfg(test)]
    pub(crate) planted: Option<Planted>,
}

/// Mistakes that the crash tests must find. Outside of this crate's tests there are none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Planted {
    /// The writer says that it has synced and has not.
    SkipSync,
    /// Opening leaves whole records behind the end where they are.
    KeepRemains,
    /// Opening takes for durable whatever it can read.
    TrustUnsynced,
}

impl WalConfig {
    /// The defaults, with the log in `directory`.
    pub fn new(directory: impl Into<PathBuf>) -> WalConfig {
        WalConfig {
            directory: directory.into(),
            durability: Durability::Sync,
            segment_bytes: limits::LOG_SEGMENT_BYTES,
            async_flush_interval_ms: limits::ASYNC_FLUSH_INTERVAL_MS,
            pending_bytes_max: PENDING_BYTES_DEFAULT,
            ring_bytes: RING_BYTES_DEFAULT,
            record_bytes_max: usize::MAX,
            keep_in_memory: false,
            archive: None,
            #[cfg(test)]
            planted: None,
        }
    }

    #[cfg(test)]
    pub(crate) fn plants(&self, mistake: Planted) -> bool {
        self.planted == Some(mistake)
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "the twin for tests looks")]
    pub(crate) fn plants(&self, _mistake: Planted) -> bool {
        false
    }

    /// The size of the ring as it will be.
    pub(crate) fn ring_size(&self) -> u64 {
        let most = GROUP_BYTES_MAX - BLOCK_BYTES as u64;
        let bytes = (self.ring_bytes as u64).clamp(1, most);
        bytes.next_multiple_of(BLOCK_BYTES as u64)
    }

    /// The longest payload as it will be.
    pub(crate) fn payload_bytes_max(&self) -> usize {
        let half = (self.ring_size() / 2) as usize;
        self.record_bytes_max.min(half).min(RECORD_BYTES_MAX)
    }

    /// How much may wait for the writer. Less than the ring, so that committers who wait for room
    /// before they append find some.
    pub(crate) fn pending_bytes(&self) -> u64 {
        (self.pending_bytes_max as u64).min(self.ring_size() / 2)
    }

    /// The size of a segment file as it will be.
    pub(crate) fn segment_file_bytes(&self) -> u64 {
        let blocks = (self.segment_bytes / BLOCK_BYTES).max(2);
        (blocks * BLOCK_BYTES) as u64
    }
}
