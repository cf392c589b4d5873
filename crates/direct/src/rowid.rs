//! Hidden row ids of tables without a primary key.
//!
//! Relies on: one process writes a database.  Promises: no two rows of a space, committed or in
//! flight, have the same id.  Does not: keep ids dense, or keep the counter over a restart (the
//! greatest id in the space is looked up again).

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use quintet_base::{Level, SpaceId, SqlError, SqlState, SqlType, key};
use quintet_dc::{Direction, KeyRange};
use quintet_tc::{Error, Tc};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// One counter per space.
pub(crate) struct RowIds {
    /// Last id given, by space. Replaced at a space's first use, read by every insert. A dropped
    /// space leaves its few bytes here until the next start.
    counters: ArcSwap<HashMap<SpaceId, Arc<AtomicI64>>>,
    /// The same of temporary tables, which come and go with transactions, until they are forgotten. Those of one session are
    /// mostly in one of the maps.
    temporary: [Mutex<HashMap<SpaceId, i64>>; MAPS],
}

/// As many maps there are for temporary tables, a power of two.
const MAPS: usize = 64;

/// So many numbers of spaces that follow one another are in one map.
const TOGETHER: u32 = 1 << 14;

impl Default for RowIds {
    fn default() -> RowIds {
        RowIds {
            counters: ArcSwap::default(),
            temporary: std::array::from_fn(|_| Mutex::default()),
        }
    }
}

/// Why there is no id.
pub(crate) enum NoId {
    /// The space could not be read.
    Unreadable(Error),
    /// The last key is no row id, or all ids are used.
    Impossible(SqlError),
}

impl RowIds {
    /// An id that nobody else has.
    pub fn next(&self, space: SpaceId, tc: &Tc) -> Result<i64, NoId> {
        if space.is_temporary() {
            let mut counters = self.map_of(space).lock();
            let last = match counters.entry(space) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(greatest(space, tc)?),
            };
            *last = last.checked_add(1).ok_or_else(all_used)?;
            return Ok(*last);
        }
        // Relaxed: the number alone matters; the row it goes to is published by its commit.
        let next = |counter: &Arc<AtomicI64>| counter.fetch_add(1, Ordering::Relaxed);
        let last = self.counters.load().get(&space).map(next);
        let last = match last {
            Some(last) => last,
            None => {
                // Nobody has an id of this process yet, or it is in the map by the time we come to
                // it: then that counter is used and this look-up was for nothing.
                let fresh = Arc::new(AtomicI64::new(greatest(space, tc)?));
                self.counters.rcu(|counters| {
                    let mut counters = HashMap::clone(counters);
                    counters.entry(space).or_insert_with(|| Arc::clone(&fresh));
                    counters
                });
                next(&self.counters.load()[&space])
            }
        };
        last.checked_add(1).ok_or_else(all_used)
    }

    fn map_of(&self, space: SpaceId) -> &Mutex<HashMap<SpaceId, i64>> {
        &self.temporary[(space.0 / TOGETHER) as usize % MAPS]
    }

    /// Nobody will ever put a row into this temporary table again.
    pub fn forget(&self, space: SpaceId) {
        self.map_of(space).lock().remove(&space);
    }

    /// Rows of one space are on their way to another, which has none yet.
    pub fn carry(&self, from: SpaceId, to: SpaceId) {
        if from.is_temporary() {
            let last = self.map_of(from).lock().get(&from).copied();
            if let Some(last) = last {
                self.map_of(to).lock().insert(to, last);
            }
            return;
        }
        let counters = self.counters.load();
        let Some(last) = counters.get(&from).map(|last| last.load(Ordering::Relaxed)) else {
            return;
        };
        self.counters.rcu(|counters| {
            let mut counters = HashMap::clone(counters);
            counters.insert(to, Arc::new(AtomicI64::new(last)));
            counters
        });
    }
}

fn all_used() -> NoId {
    NoId::Impossible(SqlError::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        "all row ids are used",
    ))
}

fn greatest(space: SpaceId, tc: &Tc) -> Result<i64, NoId> {
    let txn = tc.begin(Level::ReadCommitted);
    let mut scan = txn
        .scan(space, &KeyRange::all(), Direction::Backward)
        .map_err(NoId::Unreadable)?;
    match scan.next(&txn).map_err(NoId::Unreadable)? {
        None => Ok(0),
        Some((row_key, _)) => {
            let id = key::decode(SqlType::Int8, &mut &row_key[..]).map_err(NoId::Impossible)?;
            Ok(id.as_i64().unwrap_or(0))
        }
    }
}
