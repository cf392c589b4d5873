//! One row with its index entries: add, change, remove.
//!
//! Relies on: the row's key is locked by the caller where another could have it too.
//! Promises: row and entries change together or the statement is undone; a key that must be its
//! own is locked before anybody decides whether it is free, so two transactions can not both find it
//! so, but for one that is above all others in a space which nobody else can name; what foreign keys may have to say is noted (`references`), and
//! so are keys and exclusions that are looked at late (`late_key`).  Does not: check NOT NULL and CHECK (`rows`).

use crate::context::{Env, Halt};
use crate::exclusion;
use crate::inverted;
use crate::keys::{EntryKey, check_length, entry_key, primary_name};
use crate::late_key;
use crate::references::note;
use crate::rows::{duplicate_key, read_row};
use quintet_base::{Bytes, SpaceId, SqlError, Value};
use quintet_ir::statement::Arbiter;
use quintet_ir::{IndexDef, TableDef};

/// Who has a key already.
pub(crate) struct Taken {
    /// Which key.
    pub by: Arbiter,
    /// Key of the row that has it.
    pub row_key: Bytes,
}

/// Locks a key of a space that belongs to the table.
pub(crate) fn lock_key(
    table: &TableDef,
    space: SpaceId,
    key: &Bytes,
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    let claimed = env.txn.claim(space, key);
    claimed.map_err(|error| env.halt(error, &table.name))
}

/// Locks a key and tells what is there; not if it is above all others in a space that nobody else can name.
fn is_taken(
    table: &TableDef,
    space: SpaceId,
    key: &Bytes,
    env: &mut Env<'_>,
) -> Result<Option<Bytes>, Halt> {
    if env.txn.is_new(space, key) {
        return Ok(None);
    }
    // The lock is followed by a look, too.
    catch_up(table, space, env)?;
    lock_key(table, space, key, env)?;
    look_up(table, space, key, env)
}

/// What is at a key of a space that nobody else can name.
pub(crate) fn is_there(
    table: &TableDef,
    space: SpaceId,
    key: &Bytes,
    env: &mut Env<'_>,
) -> Result<Option<Bytes>, Halt> {
    match env.txn.is_new(space, key) {
        true => Ok(None),
        false => {
            catch_up(table, space, env)?;
            look_up(table, space, key, env)
        }
    }
}

fn catch_up(table: &TableDef, space: SpaceId, env: &mut Env<'_>) -> Result<(), Halt> {
    let caught_up = env.txn.catch_up_in(space);
    caught_up.map_err(|error| env.halt(error, &table.name))
}

fn look_up(
    table: &TableDef,
    space: SpaceId,
    key: &Bytes,
    env: &mut Env<'_>,
) -> Result<Option<Bytes>, Halt> {
    let found = env.txn.get(space, key);
    found.map_err(|error| env.halt(error, &table.name))
}

/// Locks a row's key and says whether it is taken.
pub(crate) fn primary_taken(
    table: &TableDef,
    key: &Bytes,
    env: &mut Env<'_>,
) -> Result<Option<Taken>, Halt> {
    if table.primary_key.is_none() {
        return Ok(None); // a row id is nobody else's
    }
    check_length(key, primary_name(table))?;
    let present = is_taken(table, table.space, key, env)?;
    Ok(present.map(|_| Taken {
        by: Arbiter::Primary,
        row_key: key.clone(),
    }))
}

/// Locks a row's entry in a unique index and says whether it is taken.
pub(crate) fn entry_taken(
    table: &TableDef,
    number: usize,
    entry: &EntryKey,
    env: &mut Env<'_>,
) -> Result<Option<Taken>, Halt> {
    if entry.absent {
        return Ok(None);
    }
    let index = &table.indexes[number];
    check_length(&entry.key, &index.name)?;
    if index.excludes.is_some() {
        return exclusion::in_the_way(table, number, entry, env);
    }
    if !entry.exclusive {
        return Ok(None);
    }
    let present = is_taken(table, index.space, &entry.key, env)?;
    Ok(present.map(|row_key| Taken {
        by: Arbiter::Index(number),
        row_key,
    }))
}

/// `23505`, naming the key, or `23P01`.
pub(crate) fn taken_error(
    table: &TableDef,
    taken: &Taken,
    row: &[Value],
    env: &mut Env<'_>,
) -> Halt {
    let (name, columns) = match taken.by {
        Arbiter::Primary => {
            let columns = table
                .primary_key
                .as_ref()
                .map_or(&[][..], |primary| &primary.columns);
            (primary_name(table), columns)
        }
        Arbiter::Index(number) => {
            let index = &table.indexes[number];
            if let Some(excludes) = &index.excludes {
                let constraint = (index, excludes);
                return exclusion::error(table, constraint, row, &taken.row_key, env);
            }
            (index.name.as_str(), index.asked())
        }
    };
    duplicate_key(table, name, columns, row, env.host).into()
}

/// Buffers a new row and its entries. Its keys are free and locked.
pub(crate) fn put_new(
    table: &TableDef,
    row_key: &Bytes,
    row: &[Value],
    entries: Vec<EntryKey>,
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    put_row(table, row_key, row, env)?;
    let entries = table.indexes.iter().zip(entries);
    for (index, entry) in entries.filter(|(_, entry)| !entry.absent) {
        late_key::hold(table, index, &entry, env)?;
        put(table, index.space, &entry.key, row_key, env)?;
        late_key::owe(table, index, &entry, row, env)?;
    }
    for index in inverted_indexes(table) {
        inverted::put(
            table,
            index,
            &inverted::entries(index, row, row_key),
            row_key,
            env,
        )?;
    }
    note(table, None, Some(row), env)?;
    Ok(())
}

fn inverted_indexes(table: &TableDef) -> impl Iterator<Item = &IndexDef> {
    table.indexes.iter().filter(|index| index.is_inverted())
}

/// Buffers the removal of a row and its entries.
pub(crate) fn remove(
    table: &TableDef,
    row_key: &Bytes,
    row: &[Value],
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    for index in &table.indexes {
        remove_entry(table, index, entry_key(table, index, row, row_key), env)?;
    }
    for index in inverted_indexes(table) {
        inverted::remove(table, index, &inverted::entries(index, row, row_key), env)?;
    }
    note(table, Some(row), None, env)?;
    delete(table, table.space, row_key.clone(), env)
}

/// What an UPDATE is about to do to one row.
pub(crate) struct Change {
    pub old_key: Bytes,
    pub old: Vec<Value>,
    pub new_key: Bytes,
    pub new: Vec<Value>,
}

impl Change {
    fn moves(&self) -> bool {
        self.old_key != self.new_key
    }

    /// True if the row has the same entries in an index as before.
    fn keeps(&self, index: &IndexDef) -> bool {
        let same = |column: &usize| self.old[*column].order(&self.new[*column]).is_eq();
        !self.moves() && index.columns.iter().all(same)
    }

    /// The entries in an inverted index that go, and those that come.
    fn elements(&self, index: &IndexDef) -> (Vec<Bytes>, Vec<Bytes>) {
        if self.keeps(index) {
            return (Vec::new(), Vec::new());
        }
        let old = inverted::entries(index, &self.old, &self.old_key);
        let new = inverted::entries(index, &self.new, &self.new_key);
        let gone = old.difference(&new).cloned().collect();
        (gone, new.difference(&old).cloned().collect())
    }

    /// The entries before and after, if they differ.
    fn entries(&self, table: &TableDef, index: &IndexDef) -> Option<(EntryKey, EntryKey)> {
        if self.keeps(index) {
            return None;
        }
        let old = entry_key(table, index, &self.old, &self.old_key);
        let new = entry_key(table, index, &self.new, &self.new_key);
        Some((old, new))
    }
}

/// First half of a change: what the row no longer occupies goes. Apart from the second half, so that
/// rows of one statement may exchange their keys.
pub(crate) fn vacate(table: &TableDef, change: &Change, env: &mut Env<'_>) -> Result<(), Halt> {
    for index in &table.indexes {
        if let Some((old, _)) = change.entries(table, index) {
            remove_entry(table, index, old, env)?;
        }
    }
    for index in inverted_indexes(table) {
        inverted::remove(table, index, &change.elements(index).0, env)?;
    }
    if change.moves() {
        delete(table, table.space, change.old_key.clone(), env)?;
    }
    Ok(())
}

/// Second half: the row goes where it now belongs, if that is free.
pub(crate) fn occupy(table: &TableDef, change: &Change, env: &mut Env<'_>) -> Result<(), Halt> {
    if change.moves()
        && let Some(taken) = primary_taken(table, &change.new_key, env)?
    {
        return Err(taken_error(table, &taken, &change.new, env));
    }
    for (number, index) in table.indexes.iter().enumerate() {
        if let Some((_, new)) = change.entries(table, index) {
            if let Some(taken) = entry_taken(table, number, &new, env)? {
                return Err(taken_error(table, &taken, &change.new, env));
            }
            if !new.absent {
                late_key::hold(table, index, &new, env)?;
                put(table, index.space, &new.key, &change.new_key, env)?;
                late_key::owe(table, index, &new, &change.new, env)?;
            }
        }
    }
    for index in inverted_indexes(table) {
        let added = change.elements(index).1;
        inverted::put(table, index, &added, &change.new_key, env)?;
    }
    note(table, Some(&change.old), Some(&change.new), env)?;
    put_row(table, &change.new_key, &change.new, env)
}

/// An entry that was its row's own stays locked: another may not take it before we commit.
fn remove_entry(
    table: &TableDef,
    index: &IndexDef,
    entry: EntryKey,
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    if entry.absent {
        return Ok(());
    }
    if entry.exclusive {
        lock_key(table, index.space, &entry.key, env)?;
    }
    late_key::hold(table, index, &entry, env)?;
    delete(table, index.space, entry.key, env)
}

fn put_row(table: &TableDef, key: &[u8], row: &[Value], env: &mut Env<'_>) -> Result<(), Halt> {
    let mut bytes = std::mem::take(&mut env.workspace.row);
    let encoded = table
        .layout
        .encode_into(&row[..table.columns.len()], &mut bytes);
    let done = encoded
        .map_err(Halt::from)
        .and_then(|()| put(table, table.space, key, &bytes, env));
    env.workspace.row = bytes;
    done
}

fn put(
    table: &TableDef,
    space: SpaceId,
    key: &[u8],
    value: &[u8],
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    env.txn
        .put(space, key, value)
        .map_err(|error| env.halt(error, &table.name))
}

fn delete(table: &TableDef, space: SpaceId, key: Bytes, env: &mut Env<'_>) -> Result<(), Halt> {
    env.txn
        .delete(space, key)
        .map_err(|error| env.halt(error, &table.name))
}

/// `27000` if a function that the statement calls has changed the row since the statement read it: what
/// the statement is about to take away is not what is there.
pub(crate) fn refuse_changed(
    table: &TableDef,
    key: &Bytes,
    old: &[Value],
    what: &str,
    env: &Env<'_>,
) -> Result<(), Halt> {
    let stored = env.txn.get(table.space, key);
    let stored = stored.map_err(|error| env.halt(error, &table.name))?;
    let same = match stored {
        Some(stored) => {
            let now = read_row(table, key, &stored)?;
            now.iter().zip(old).all(|(now, old)| now.order(old).is_eq())
        }
        None => false,
    };
    match same {
        true => Ok(()),
        false => Err(SqlError::changed_by_statement(what).into()),
    }
}
