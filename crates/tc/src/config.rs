//! What the component may use, and what it has done.
//!
//! Relies on: nothing.  Promises: nothing; these are figures.  Does not: enforce them.

use quintet_base::Timestamp;
use quintet_rt::{Clock, RealClock};
use std::sync::Arc;

/// How commits get into STORE.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Posting {
    /// All at once when [`TcConfig::freeze_bytes`] of log are dirty, then a checkpoint (Solar, §3.3).
    #[default]
    Frozen,
    /// A piece whenever so many bytes of log are dirty; a checkpoint when `freeze_bytes` of log came
    /// since the last one (after Deuteronomy's proxy, CIDR 2015, §5).
    Continuous {
        /// Bytes of log of one piece.
        piece_bytes: usize,
    },
}

/// Bounds of the component. The log's buffers, in which versions live first, have their own bound
/// (`quintet_wal::WalConfig::ring_bytes`).
#[derive(Clone, Debug)]
pub struct TcConfig {
    /// A compaction begins when so many bytes of log are not in STORE, or earlier where much comes in while one is under way
    /// (`compactor`, `next_earlier`). Commits go on meanwhile; what
    /// bounds the log that a crash leaves to be replayed is the log's buffers.
    pub freeze_bytes: usize,
    /// How commits get into STORE.
    pub posting: Posting,
    /// Records in memory, and the versions that were copied out of the log's buffers, take at most
    /// about so many bytes; beyond, records that STORE has are evicted.
    pub cache_bytes_max: usize,
    /// What STORE may use for its own cache. As much of it as STORE does not use, records may, on top of
    /// theirs: where everything fits, STORE is not asked, and its share would lie idle.
    pub lent_bytes_max: usize,
    /// One transaction may buffer so many bytes of rows. The log must take a record of this length.
    pub transaction_bytes_max: usize,
    /// What the log says of when a commit was.
    pub clock: Arc<dyn Clock>,
}

impl TcConfig {
    /// Shares out a memory budget. A quarter of it is meant for the log's buffers
    /// ([`TcConfig::ring_bytes`]), five sixteenths for records; a merge begins when an eighth is dirty at the latest.
    /// The rest is for STORE and for what transactions have not committed yet.
    pub fn for_memory(bytes: usize) -> TcConfig {
        TcConfig {
            freeze_bytes: bytes / 8,
            posting: Posting::default(),
            cache_bytes_max: bytes / 16 * 5,
            lent_bytes_max: 0,
            transaction_bytes_max: bytes / 10,
            clock: Arc::new(RealClock),
        }
    }

    /// What the log's buffers should have of a memory budget.
    pub fn ring_bytes(bytes: usize) -> usize {
        (bytes / 4).next_multiple_of(4096)
    }
}

/// Counters since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcStats {
    /// Commits that wrote.
    pub commits: u64,
    /// Commits that only read.
    pub read_only: u64,
    /// Checkpoints of STORE.
    pub compactions: u64,
    /// One is under way.
    pub compacting: bool,
    /// Times a commit had to wait for a merge.
    pub stalls: u64,
    /// Times a commit was held back, so that nobody has to wait.
    pub held_back: u64,
    /// Rows that were committed past memory ([`crate::Txn::commit_ahead`]).
    pub past_memory: u64,
    /// Bytes of log that STORE does not have yet.
    pub dirty_bytes: u64,
    /// Pieces posted; with [`Posting::Frozen`] as many as compactions.
    pub posts: u64,
    /// STORE has every commit at or below, although perhaps not durably.
    pub posted: Timestamp,
    /// A crash now would replay the log from here.
    pub checkpointed: Timestamp,
    /// Bytes of the log's buffers in use.
    pub buffer_bytes: u64,
    /// Bytes of records in memory, each with its newest version.
    pub record_bytes: u64,
    /// Records in memory.
    pub records: usize,
    /// Generations of STORE that snapshots read.
    pub generations: usize,
    /// Snapshots in use.
    pub snapshots: usize,
    /// Transactions waiting for a row.
    pub waiting: usize,
    /// Newest visible commit.
    pub visible: Timestamp,
    /// Records that warming has brought into memory since the start.
    pub warmed: u64,
    /// Spaces of which memory has everything, so that STORE is not asked.
    pub spaces_whole: usize,
    /// Removed records that scans do not meet any more, in memory until STORE has been told.
    pub unlisted: u64,
}
