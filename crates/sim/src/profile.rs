//! What kind of database and what kind of work a seed means.
//!
//! Relies on: a generator.  Promises: sizes so small that posts, reclaims and evictions happen all
//! the time.  Does not: act.

use quintet_base::{Durability, Level};
use quintet_rt::{Rand, SimClock};
use quintet_tc::{Posting, TcConfig};
use quintet_wal::WalConfig;
use std::sync::Arc;

/// Where the simulated log is.
pub(crate) const DIRECTORY: &str = "/data/log";

/// Drawn once per seed.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub steps: u64,
    pub clients: usize,
    pub spaces: u64,
    pub keys: u64,
    pub value_bytes_max: u64,
    /// Statements a transaction does before it thinks of its end.
    pub statements: u64,
    pub level: Option<Level>,
    pub durability: Durability,
    pub ring_bytes: usize,
    pub cache_bytes: usize,
    pub freeze_bytes: usize,
    pub posting: Posting,
    pub segment_bytes: usize,
    /// One step in so many is a crash; one is a fault to come.
    pub crash_every: u64,
    pub fault_every: u64,
    /// One step in so many is a turn of the compactor.
    pub pass_every: u64,
    pub write_every: u64,
    /// One point inside of an operation in so many is used.
    #[cfg_attr(
        not(feature = "inside"),
        expect(dead_code, reason = "nothing is interrupted")
    )]
    pub inside_every: u64,
}

fn one_of<T: Copy>(rand: &mut Rand, all: &[T]) -> T {
    all[rand.below(all.len() as u64) as usize]
}

impl Profile {
    pub fn drawn(rand: &mut Rand) -> Profile {
        let ring_bytes = one_of(rand, &[8 << 10, 8 << 10, 16 << 10, 64 << 10]);
        Profile {
            steps: 100 + rand.below(400),
            clients: 1 + rand.below(6) as usize,
            spaces: 1 + rand.below(2),
            keys: one_of(rand, &[2, 4, 10, 40, 200]),
            value_bytes_max: one_of(rand, &[20, 100, 400, ring_bytes as u64 / 8]),
            statements: one_of(rand, &[2, 4, 8, 20]),
            level: one_of(
                rand,
                &[
                    None,
                    None,
                    Some(Level::ReadCommitted),
                    Some(Level::Snapshot),
                    Some(Level::Serializable),
                ],
            ),
            durability: one_of(
                rand,
                &[
                    Durability::Sync,
                    Durability::Sync,
                    Durability::Async,
                    Durability::None,
                ],
            ),
            ring_bytes,
            cache_bytes: one_of(rand, &[0, 0, 512, 4 << 10, 64 << 10]),
            freeze_bytes: one_of(rand, &[256, ring_bytes / 8, ring_bytes / 2]),
            segment_bytes: one_of(rand, &[8 << 10, 12 << 10, 32 << 10]),
            crash_every: one_of(rand, &[20, 60, 200, 100_000]),
            fault_every: one_of(rand, &[20, 60, 100_000, 100_000]),
            pass_every: one_of(rand, &[5, 20, 60]),
            write_every: one_of(rand, &[4, 10, 30]),
            inside_every: one_of(rand, &[1, 3, 10]),
            posting: one_of(
                rand,
                &[
                    Posting::Frozen,
                    Posting::Continuous {
                        piece_bytes: ring_bytes / 32,
                    },
                ],
            ),
        }
    }

    pub fn wal(&self) -> WalConfig {
        WalConfig {
            durability: self.durability,
            segment_bytes: self.segment_bytes,
            async_flush_interval_ms: 5,
            pending_bytes_max: self.ring_bytes / 2,
            ring_bytes: self.ring_bytes,
            keep_in_memory: true,
            ..WalConfig::new(DIRECTORY)
        }
    }

    pub fn tc(&self) -> TcConfig {
        TcConfig {
            freeze_bytes: self.freeze_bytes,
            posting: self.posting,
            cache_bytes_max: self.cache_bytes,
            lent_bytes_max: 0,
            transaction_bytes_max: self.ring_bytes / 4,
            clock: Arc::new(SimClock::default()),
        }
    }
}
