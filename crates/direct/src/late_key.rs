//! Unique keys, and exclusions, that are looked at late: when a statement is over, or its transaction.
//!
//! Relies on: entries of such an index end in their rows' keys, so that for a while several rows may have one.
//! Promises: whoever writes or removes an entry has the presence of its columns alone until the commit, at every level:
//! what is found when somebody looks stays so.  Does not: decide when (`references`).

use crate::context::{Env, Halt};
use crate::exclusion::{self, Apart};
use crate::keys::{EntryKey, entry_key};
use crate::rows::{duplicate_key, duplicate_rows, read_row};
use quintet_base::{Bytes, ConstraintId, SpaceId, SqlError, TableId, Value};
use quintet_dc::{Direction, KeyRange};
use quintet_ir::schema::Late;
use quintet_ir::{IndexDef, TableDef};
use quintet_tc::{Scan, Strength};

/// A key that must be one row's alone in the end.
#[derive(Clone)]
pub(crate) struct LateKey {
    /// The index's number, as SET CONSTRAINTS has it.
    pub id: ConstraintId,
    pub late: Late,
    pub table: TableId,
    name: String,
    demand: Demand,
}

#[derive(Clone)]
enum Demand {
    /// There is one entry that begins so.
    Alone {
        space: SpaceId,
        columns: Bytes,
        /// What is said if there are several.
        error: Box<SqlError>,
    },
    /// An entry has none beside it that it excludes.
    Apart(Apart),
}

/// Keeps others from an entry of the same columns, which is about to be written or removed.
pub(crate) fn hold(
    table: &TableDef,
    index: &IndexDef,
    entry: &EntryKey,
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    let Some(width) = entry.late else {
        return Ok(());
    };
    let columns = &entry.key[..width];
    let held = env
        .txn
        .hold_presence(index.space, columns, Strength::Exclusive);
    held.map_err(|error| env.halt(error, &table.name))
}

/// Notes that an entry that is written must be the only one of its columns in the end. It is held.
pub(crate) fn owe(
    table: &TableDef,
    index: &IndexDef,
    entry: &EntryKey,
    row: &[Value],
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    let excludes = index.excludes.as_ref();
    let late = index.late.or(excludes.and_then(|excludes| excludes.late));
    let (Some(width), Some(late)) = (entry.late, late) else {
        return Ok(());
    };
    let demand = match Apart::new(table, index, entry, row, env) {
        Some(apart) => {
            env.charge(size_of::<LateKey>() + apart.bytes())?;
            Demand::Apart(apart)
        }
        None => {
            let error = duplicate_key(table, &index.name, index.asked(), row, env.host);
            env.charge(size_of::<LateKey>() + size_of::<SqlError>() + 2 * width + 200)?;
            Demand::Alone {
                space: index.space,
                columns: entry.key.slice(..width),
                error: Box::new(error),
            }
        }
    };
    env.workspace.owed.push(LateKey {
        id: ConstraintId(index.id.0),
        late,
        table: table.id,
        name: table.name.clone(),
        demand,
    });
    Ok(())
}

impl LateKey {
    /// Looks.
    pub fn check(&self, env: &mut Env<'_>) -> Result<(), Halt> {
        let (space, columns, error) = match &self.demand {
            Demand::Alone {
                space,
                columns,
                error,
            } => (*space, columns, error),
            Demand::Apart(apart) => return apart.check(&self.name, env),
        };
        let caught_up = env.txn.catch_up_in(space);
        caught_up.map_err(|error| env.halt(error, &self.name))?;
        let kept = env.txn.look_aside();
        let several = has_several(space, columns, env);
        env.txn.look_back(kept);
        match several.map_err(|error| env.halt(error, &self.name))? {
            true => Err((**error).clone().into()),
            false => Ok(()),
        }
    }
}

fn has_several(space: SpaceId, columns: &Bytes, env: &Env<'_>) -> Result<bool, quintet_tc::Error> {
    let range = KeyRange::prefix(columns.to_vec());
    let mut scan: Scan = env.txn.scan(space, &range, Direction::Forward)?;
    Ok(scan.next(env.txn)?.is_some() && scan.next(env.txn)?.is_some())
}

/// Looks at all entries of an index that was filled and that nobody else sees yet.
pub(crate) fn check_all(table: &TableDef, number: usize, env: &mut Env<'_>) -> Result<(), Halt> {
    let index = &table.indexes[number];
    if index.excludes.is_some() {
        return exclusion::check_all(table, number, env);
    }
    if index.late.is_none() {
        return Ok(());
    }
    let halted = |error, env: &Env<'_>| env.halt(error, &table.name);
    let all = KeyRange::all();
    let scan = env.txn.scan(index.space, &all, Direction::Forward);
    let mut scan: Scan = scan.map_err(|error| halted(error, env))?;
    let mut before = Bytes::new();
    while let Some((key, row_key)) = scan.next(env.txn).map_err(|error| halted(error, env))? {
        env.tick()?;
        let columns = key.slice(..key.len() - row_key.len());
        if columns == before {
            let stored = env.txn.get(table.space, &row_key);
            let stored = stored.map_err(|error| halted(error, env))?;
            let row = match stored {
                Some(stored) => read_row(table, &row_key, &stored)?,
                None => continue,
            };
            // Those with a NULL may be as many as they like.
            if entry_key(table, index, &row, &row_key).late.is_some() {
                let columns = index.asked();
                return Err(duplicate_rows(table, &index.name, columns, &row, env.host).into());
            }
        }
        before = columns;
    }
    Ok(())
}
