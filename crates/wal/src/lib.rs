//! The redo log: one endless stream of checksummed records, made durable in groups.
//!
//! Relies on: `quintet_rt::Disk` keeps what was synced and writes a sector whole or not at all; one
//! process at a time opens the directory (whoever owns the data directory holds its lock).
//! Promises: records are kept in the order of [`Wal::append`]; a record at or below
//! [`Wal::durable`] survives power loss; after a crash the log is a prefix of what was appended that
//! holds everything that was durable; after a failed write or sync nothing more is acknowledged.
//! Does not: know what a record means, retry, or keep anything below the redo start but in an archive.
//!
//! ```text
//!  committers                    log writer (one thread, or who is alone)  disk
//!  wait_for_room
//!  reserve ─► payload ─► finish   closes the group, waits until it is
//!     reserve ─► payload ─►...    filled, writes it from the ring ────► pwrite
//!       reserve ─► ... (the next                                       fdatasync
//!                group gathers)   publishes `durable`, wakes in order ◄─ done
//!  when_durable ◄───────────────────────┘
//!
//!  log segment keeper (one thread): the next segment file, written with zeros before it is needed
//!  log memory (one thread, until the log has gone round once): the ring's pages, touched before they are needed
//! ```
//!
//! Where a record is in its life, and who moves it on:
//!
//! ```text
//!  Reserved ─finish─► Filled ─Writer::write─► Written ─Writer::sync─► Durable ─truncate─► (space reused)
//!                       │        │                └─ reclaim ─► (memory reused)
//!                       └────────┴─ a write or sync fails: Poisoned, the outcome is unknown until recovery
//! ```
//!
//! The memory in which records are put together is also where they can stay: with
//! [`WalConfig::keep_in_memory`] the addresses that [`Reservation::finish`] returns are good until
//! [`Wal::reclaim`], so a version needs no copy of its own.
//!
//! | file | what it holds |
//! |---|---|
//! | `wal` | [`Wal`], what others call |
//! | `record` | [`Payload`], the bytes of a record |
//! | `tail` | where the log ends, in one word |
//! | `ring`, `ring::memory`, `ring::place` | the memory of the log; all unsafe code but for giving it back |
//! | `groups` | which reservations are finished |
//! | `reservation` | [`Reservation`], [`MemoryRecords`] |
//! | `segment` | the bytes and names of a segment file |
//! | `blocks` | writes in whole blocks, past the system's cache |
//! | `stream` | the segments as one stream of bytes |
//! | `shared` | reserve, append, flush, truncate; who sleeps and who wakes |
//! | `shared::ahead` | memory of the ring, touched before records come to it |
//! | `shared::company` | groups that wait for more commits before they are synced; sessions that commit alone |
//! | `shared::keeper` | which segments there are, and when the next is made |
//! | `sync` | atomics and locks: the real ones, or those of tests that try out orders |
//! | `space` | making, reusing and removing segments |
//! | `archive` | segments that are kept when the log needs them no more |
//! | `kept` | [`KeptLog`]: reading those, and the log behind them |
//! | `writer` | writes and syncs groups |
//! | `turns` | on whose thread it does so |
//! | `durable` | [`Durable`], waiting for a position |
//! | `driven` | [`Driver`]: the writer and the keeper without threads, for simulation |
//! | `opening` | [`Opening`]: a log whose records are read on the way to its end; [`create`] |
//! | `recover` | finding the end, torn tail or damage |
//! | `reader` | [`LogReader`], [`Block`], [`inspect`] |
//!
//! Lock order: `retiring` before `space`, `space` before `control`, `space` before `stream`; `closed` (groups), `readers` (ring) and
//! `waiters` alone; `writer` (turns) before all of them. No lock but `writer`, `retiring`, `space` and `kept` (archive) is held across I/O, and none across a wait for a reservation.

mod archive;
mod blocks;
mod config;
mod driven;
mod durable;
mod error;
mod groups;
#[cfg(all(test, shuttle))]
mod interleavings;
mod kept;
mod opening;
mod reader;
mod record;
mod recover;
mod reservation;
mod ring;
mod segment;
mod shared;
mod space;
mod stats;
mod stream;
mod sync;
mod tail;
mod turns;
mod wal;
mod writer;

#[cfg(test)]
mod tests;

pub use archive::ArchiveConfig;
pub use config::WalConfig;
pub use driven::Driver;
pub use durable::Durable;
pub use error::Error;
pub use kept::KeptLog;
pub use opening::{Opening, create};
pub use reader::{Block, LogReader, inspect, read_segment_image};
pub use record::{Payload, RECORD_BYTES_MAX, RECORD_HEADER_BYTES};
pub use recover::WalReport;
pub use reservation::{MemoryRecords, Reservation};
pub use segment::SEGMENT_HEADER_BYTES;
pub use shared::company::Committer;
pub use stats::WalStats;
pub use wal::Wal;
