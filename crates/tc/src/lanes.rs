//! Replay in lanes: blocks of the log come in, versions in memory come out.
//!
//! Relies on: nobody else uses the table.  Promises: the versions of one key are installed in the
//! order of the log, by one thread; after [`Lanes::finish`] everything shared out is installed; what
//! waits for a lane is bounded.  Does not: read the log, or merge.
//!
//! ```text
//!                  ┌ hash ─► lane 0 ─┐
//!   block ─decode──┼ hash ─► lane 1 ─┼─► table       each lane: its own shards of the index, its own
//!     │            └ hash ─► lane n ─┘             list of keys that STORE must be told of
//!     └ fences and drops ─► notes, in log order
//! ```
//! Redo only (Deuteronomy, CIDR 2015, §6): a record of the log is a whole committed transaction, so
//! there is nothing to undo, and what one key's changes have to wait for is this key's earlier changes.
//! Fences and drops concern who may commit later and what is merged later; nobody does either while
//! the log is replayed, so they need no barrier and are kept aside.

use crate::error::Error;
use crate::record::CommitRecord;
use crate::seats::Readers;
use crate::shared::Shared;
use crate::table::{Table, hash};
use quintet_base::{Bytes, SpaceId, Timestamp};
use quintet_dc::DataComponent;
use quintet_rt::threads::{self, JoinHandle};
use quintet_wal::Block;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Blocks that may wait for one lane.
const QUEUE: usize = 8;

/// Records that are looked for at once: as many as the memory serves side by side, a few times.
const TOGETHER: usize = 32;

/// What a key carried to the next merge takes besides its bytes, with what the allocator rounds up.
const CARRIED_BYTES: u64 = 48;

/// Keys that STORE must be told of.
pub(crate) type Carried = Vec<(SpaceId, Bytes)>;

/// Where versions are installed.
pub(crate) trait Ground: Send + Sync + 'static {
    fn table(&self) -> &Table;
    fn in_store(&self, space: SpaceId) -> bool;
}

impl Ground for Shared {
    fn table(&self) -> &Table {
        &self.table
    }

    fn in_store(&self, space: SpaceId) -> bool {
        Shared::in_store(self, space)
    }
}

/// A table before there is a component around it.
pub(crate) struct Bare {
    pub table: Table,
    pub store: Arc<dyn DataComponent>,
}

impl Ground for Bare {
    fn table(&self) -> &Table {
        &self.table
    }

    fn in_store(&self, space: SpaceId) -> bool {
        self.store.spaces().contains(&space)
    }
}

/// What a replay learns besides versions.
#[derive(Default)]
pub(crate) struct Notes {
    pub commits: u64,
    pub changes: u64,
    pub carried: Carried,
    /// In log order.
    fenced: Vec<(Vec<SpaceId>, Timestamp)>,
    dropped: Vec<(Vec<SpaceId>, Timestamp)>,
}

impl Notes {
    /// Tells the component, and keeps but the counts.
    pub fn settle(&mut self, shared: &Shared) {
        for (spaces, timestamp) in self.fenced.drain(..) {
            shared.raise_fences(shared.prepare_fences(), (&spaces, &[]), timestamp);
        }
        for (spaces, timestamp) in self.dropped.drain(..) {
            shared.note_dropped(&spaces, timestamp);
        }
        shared.carried.lock().append(&mut self.carried);
    }

    fn take(&mut self, record: &CommitRecord<'_>, timestamp: Timestamp) {
        self.commits += 1;
        self.changes += record.len() as u64;
        let (fenced, dropped) = (record.fenced(), record.dropped());
        if !fenced.is_empty() {
            self.fenced.push((fenced, timestamp));
        }
        if !dropped.is_empty() {
            self.dropped.push((dropped, timestamp));
        }
    }
}

/// A change, as places in its block.
#[derive(Clone, Copy)]
struct Piece {
    hash: u64,
    timestamp: Timestamp,
    space: SpaceId,
    key_at: u32,
    key_bytes: u32,
    value_at: u32,
    /// Bytes of the value and one more; 0: removed.
    value_bytes: u32,
}

/// What one lane has to do of a block.
struct Load {
    bytes: Bytes,
    pieces: Vec<Piece>,
}

/// One lane's own.
struct Lane<G> {
    ground: Arc<G>,
    /// Of what lies above, STORE must be told.
    posted: Timestamp,
    carried: Carried,
    /// Estimate of what all lanes carry, in bytes.
    weight: Arc<AtomicU64>,
}

/// The lanes of one replay, or of the part of it between two merges.
pub(crate) struct Lanes<G> {
    /// The caller's own lane: alone if there is but one, or if there is too little for more.
    own: Lane<G>,
    others: Vec<(SyncSender<Load>, JoinHandle<Carried>)>,
    count: usize,
    blocks: u64,
}

impl<G: Ground> Lanes<G> {
    /// `count` lanes over a table in which STORE lacks everything above `posted`.
    pub fn new(ground: &Arc<G>, count: usize, posted: Timestamp) -> Lanes<G> {
        assert!(count > 0, "somebody has to install");
        Lanes {
            own: Lane {
                ground: Arc::clone(ground),
                posted,
                carried: Vec::new(),
                weight: Arc::default(),
            },
            others: Vec::new(),
            count,
            blocks: 0,
        }
    }

    /// Bytes of the table and of the keys that are carried.
    pub fn weight(&self) -> u64 {
        let table = self.own.ground.table().bytes().max(0) as u64;
        table + self.own.weight.load(Ordering::Relaxed)
    }

    /// Shares out the records of a block; waits while a lane is too far behind.
    ///
    /// # Errors
    /// [`Error::Record`]: everything before that record has been shared out.
    pub fn share(&mut self, block: &Block, notes: &mut Notes) -> Result<(), Error> {
        self.blocks += 1;
        // A short log is replayed before a thread has started.
        if self.blocks == 2 && self.count > 1 {
            self.others = (0..self.count).map(|_| self.own.start()).collect();
        }
        let lanes = self.others.len().max(1);
        let mut loads: Vec<Vec<Piece>> = vec![Vec::new(); lanes];
        let decoded = decode(block, notes, |piece| {
            loads[lane_of(piece.hash, lanes)].push(piece);
        });
        let loads = loads.into_iter().map(|pieces| Load {
            bytes: block.bytes().clone(),
            pieces,
        });
        if self.others.is_empty() {
            loads.for_each(|load| self.own.install(&load));
        } else {
            for ((lane, _), load) in self.others.iter().zip(loads) {
                // Refused by a lane that has panicked, which `finish` tells.
                let _ = lane.send(load);
            }
        }
        decoded
    }

    /// Waits until everything is installed; the keys that STORE must be told of, each of them once.
    ///
    /// # Panics
    /// If a lane has.
    pub fn finish(mut self) -> Carried {
        let mut carried = std::mem::take(&mut self.own.carried);
        for (lane, thread) in self.others.drain(..) {
            drop(lane);
            match thread.join() {
                Ok(more) => carried.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        carried
    }
}

impl<G> Drop for Lanes<G> {
    /// Of a replay that has failed: nothing of it runs on.
    fn drop(&mut self) {
        for (lane, thread) in self.others.drain(..) {
            drop(lane);
            // Whatever it says, the replay has said why it ends.
            let _ = thread.join();
        }
    }
}

impl<G: Ground> Lane<G> {
    fn start(&self) -> (SyncSender<Load>, JoinHandle<Carried>) {
        let (sender, receiver) = sync_channel(QUEUE);
        let lane = Lane {
            ground: Arc::clone(&self.ground),
            posted: self.posted,
            carried: Vec::new(),
            weight: Arc::clone(&self.weight),
        };
        let thread = threads::spawn("tc-replay", move || lane.run(&receiver));
        (sender, thread)
    }

    fn run(mut self, loads: &Receiver<Load>) -> Carried {
        while let Ok(load) = loads.recv() {
            self.install(&load);
        }
        self.carried
    }

    /// Installs changes as copies, in order.
    fn install(&mut self, load: &Load) {
        let table = self.ground.table();
        let mut weight = 0;
        for together in load.pieces.chunks(TOGETHER) {
            let guard = quintet_index::pin();
            for piece in together {
                table.prefetch(piece.hash, &guard);
            }
            for piece in together {
                table.prefetch_entry(piece.hash, &guard);
            }
            for piece in together {
                let (key, value) = piece.row(&load.bytes);
                let in_store = || self.ground.in_store(piece.space);
                let entry = table.find_or_make(piece.hash, piece.space, key, in_store, &guard);
                // Merges behind the redo start may have told STORE of any row of it.
                entry.note_in_store();
                // Once per key and merge.
                if entry.newest() <= self.posted {
                    self.carried
                        .push((piece.space, Bytes::copy_from_slice(key)));
                    weight += CARRIED_BYTES + key.len() as u64;
                }
                // Alone, and no snapshot needs what was before.
                let nobody = Readers::nobody();
                let more = entry.install_copy(piece.timestamp, value, &nobody, &guard);
                table.weigh(more);
            }
            // What was replaced goes now: pinned so rarely, it would gather.
            guard.flush();
        }
        self.weight.fetch_add(weight, Ordering::Relaxed);
    }
}

impl Piece {
    /// Key and value in the block's bytes.
    fn row<'a>(&self, bytes: &'a [u8]) -> (&'a [u8], Option<&'a [u8]>) {
        let slice = |at: u32, len: u32| &bytes[at as usize..][..len as usize];
        let value = self.value_bytes.checked_sub(1);
        (
            slice(self.key_at, self.key_bytes),
            value.map(|len| slice(self.value_at, len)),
        )
    }
}

/// By the bits that name the index's shard, so that lanes do not wait for each other there.
fn lane_of(hash: u64, lanes: usize) -> usize {
    (hash >> 56) as usize % lanes
}

/// Shows every change of a block's commits.
fn decode(block: &Block, notes: &mut Notes, mut show: impl FnMut(Piece)) -> Result<(), Error> {
    let bytes = block.bytes();
    let base = bytes.as_ptr().addr();
    // A block is at most one record longer than a window, and a record has at most 2^30 bytes.
    let place = |slice: &[u8]| (slice.as_ptr().addr() - base) as u32;
    for (lsn, payload) in block.records() {
        let Some(record) = CommitRecord::decode(*lsn, &bytes[payload.clone()])? else {
            continue;
        };
        let timestamp = Timestamp(lsn.0);
        notes.take(&record, timestamp);
        for change in record.changes() {
            show(Piece {
                hash: hash(change.space, change.key),
                timestamp,
                space: change.space,
                key_at: place(change.key),
                key_bytes: change.key.len() as u32,
                value_at: change.value.map_or(0, place),
                value_bytes: change.value.map_or(0, |value| value.len() as u32 + 1),
            });
        }
    }
    Ok(())
}
