//! Freeze, merge, truncate: from memory to STORE without stopping anyone (Solar §3.3).
//!
//! Relies on: `dc` merges are idempotent by position and durable at the next checkpoint.
//! Promises: only what the log holds durably is merged; a crash at any point loses nothing, since
//! the log is cut only behind a checkpoint.  Does not: hold the sequencer longer than a pointer swap.
//!
//! ```text
//!  1 freeze      under the sequencer: active becomes frozen at the visible timestamp T
//!  2 wait        until the log is durable up to T
//!  3 merge       newest version of each key, space by space, in key order
//!  4 checkpoint  spaces dropped before T forgotten, STORE durable, redo starts at T
//!  5 swap        a view with the new generation; the frozen table stays for validation
//!  6 truncate    log before T
//!  7 retire      frozen tables that no snapshot is older than
//! ```
//! A transaction that straddles the freeze needs no rule of its own: it installs all its versions
//! into whichever memtable is active when it holds the sequencer, and reads through the view of its
//! snapshot.

use crate::component::Shared;
use crate::error::Error;
use crate::memtable::{MemTable, Progress, SpaceTable};
use crate::view::{Frozen, View};
use quintet_base::{Bytes, Lsn, SpaceId, Timestamp};
use quintet_dc::{Change, Operation};
use std::collections::{HashSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Moves everything committed so far into STORE. One at a time (the caller holds the compactor's
/// turn).
pub(crate) fn compact(shared: &Shared) -> Result<(), Error> {
    let Some(target) = freeze(shared) else {
        retire(shared);
        return Ok(());
    };
    merge(shared, &target)?;
    retire(shared);
    Ok(())
}

/// Step 1. `None` if there is nothing to merge.
fn freeze(shared: &Shared) -> Option<Frozen> {
    let _sequencer = shared.sequencer.lock();
    let view = shared.snapshots.view();
    if let Some(left) = view.frozen.iter().rev().find(|frozen| !frozen.merged) {
        return Some(left.clone()); // from an attempt that failed
    }
    if view.active.bytes() == 0 && shared.dropped.lock().is_empty() {
        return None;
    }
    let frozen = Frozen {
        table: Arc::clone(&view.active),
        frozen_at: shared.snapshots.visible(),
        merged: false,
    };
    let mut tables = vec![frozen.clone()];
    tables.extend(view.frozen.iter().cloned());
    shared.snapshots.replace_view(View {
        active: Arc::new(MemTable::default()),
        frozen: tables,
        generation: Arc::clone(&view.generation),
        validation_floor: view.validation_floor,
    });
    Some(frozen)
}

/// Steps 2 to 6.
fn merge(shared: &Shared, target: &Frozen) -> Result<(), Error> {
    let redo_start = Lsn(target.frozen_at.0);
    // Under durability `none` the log is never synced; written is all there is to wait for.
    shared.log.flush().map_err(Error::Log)?;
    let gone: Vec<(SpaceId, Timestamp)> = shared
        .dropped
        .lock()
        .iter()
        .filter(|(_, at)| *at <= target.frozen_at)
        .copied()
        .collect();
    let skip: HashSet<SpaceId> = gone.iter().map(|(space, _)| *space).collect();
    for (space, records) in target.table.spaces() {
        if skip.contains(&space) {
            continue;
        }
        shared.store.merge(space, &mut Run::new(records))?;
    }
    // Their drop is durable in the log; the checkpoint makes STORE's forgetting durable, too.
    for (space, _) in &gone {
        shared.store.drop_space(*space)?;
    }
    shared.store.checkpoint(redo_start)?;
    {
        let _sequencer = shared.sequencer.lock();
        let view = shared.snapshots.view();
        let frozen = view
            .frozen
            .iter()
            .map(|frozen| Frozen {
                merged: frozen.merged || Arc::ptr_eq(&frozen.table, &target.table),
                ..frozen.clone()
            })
            .collect();
        shared.snapshots.replace_view(View {
            active: Arc::clone(&view.active),
            frozen,
            generation: shared.store.generation(),
            validation_floor: view.validation_floor,
        });
    }
    shared.log.truncate(redo_start).map_err(Error::Log)?;
    shared
        .dropped
        .lock()
        .retain(|(_, at)| *at > target.frozen_at);
    shared.stats.compactions.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Step 7. A merged table stays while a snapshot older than it may still be validated against it;
/// when such snapshots hold back more than the configured bytes, the floor is raised over them:
/// they may go on reading, and are refused if they write.
pub(crate) fn retire(shared: &Shared) {
    let _sequencer = shared.sequencer.lock();
    let view = shared.snapshots.view();
    let oldest = shared.snapshots.oldest();
    let mut kept: VecDeque<Frozen> = view.frozen.iter().cloned().collect();
    let mut floor = view.validation_floor;
    let mut held: usize = kept.iter().map(|frozen| frozen.table.bytes()).sum();
    while let Some(last) = kept.back() {
        let needed = oldest < last.frozen_at;
        if !last.merged || (needed && held <= shared.config.retained_bytes_max) {
            break;
        }
        floor = floor.max(last.frozen_at);
        held -= last.table.bytes();
        kept.pop_back();
    }
    if kept.len() < view.frozen.len() {
        shared.snapshots.replace_view(View {
            active: Arc::clone(&view.active),
            frozen: kept.into(),
            generation: Arc::clone(&view.generation),
            validation_floor: floor,
        });
    }
    drop(_sequencer);
    shared.signal_room();
}

/// The newest version of each key of a frozen space, in key order, as STORE takes them.
struct Run {
    records: Arc<SpaceTable>,
    buffer: VecDeque<Operation>,
    lower: Bound<Bytes>,
    done: bool,
}

impl Run {
    fn new(records: Arc<SpaceTable>) -> Run {
        Run {
            records,
            buffer: VecDeque::new(),
            lower: Bound::Unbounded,
            done: false,
        }
    }
}

impl Iterator for Run {
    type Item = Operation;

    fn next(&mut self) -> Option<Operation> {
        while self.buffer.is_empty() && !self.done {
            let mut versions = Vec::new();
            match self.records.newest_chunk(&self.lower, &mut versions) {
                Progress::End => self.done = true,
                Progress::At(last) => self.lower = Bound::Excluded(last),
            }
            self.buffer
                .extend(versions.into_iter().map(|(key, version)| Operation {
                    key,
                    position: Lsn(version.timestamp.0),
                    change: version.value.map_or(Change::Remove, Change::Put),
                }));
        }
        self.buffer.pop_front()
    }
}
