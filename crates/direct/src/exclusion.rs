//! EXCLUDE: rows that may not be beside each other.
//!
//! Relies on: an ordered index over the columns that must be equal, then over those that may not overlap: ranges are in the
//! order of where they begin.  Promises: whoever writes or removes an entry has the presence of its equal columns alone
//! until the commit, at every level (`late_key::hold`), and looks at what is there now: of two who write rows that may not
//! be beside each other, one waits and is refused.  Does not: find rows for queries.
//!
//! ```text
//!   equal columns │ range │ row key          entries of one group, in order
//!   ──[  )──[    )─────[ new )──[ )──        those that are there are apart, so their ends are in order, too:
//!          before ▲          ▲ behind        only the neighbours can overlap
//! ```
//! That holds of one column of ranges. Of several, or of multiranges, all entries of the group are looked at. While a statement, or
//! a transaction, has several new entries that have not been looked at, each of them is: some two neighbours overlap
//! if any two do, and one of those is new.

use crate::context::{Env, Halt};
use crate::keys::EntryKey;
use crate::late_key::hold;
use crate::rows::{about, excluded, key_text, read_row, show};
use crate::write::Taken;
use quintet_base::{Bytes, SpaceId, SqlError, SqlResult, SqlState, SqlType, Value, key};
use quintet_dc::{Direction, KeyRange};
use quintet_ir::schema::Exclusion;
use quintet_ir::statement::Arbiter;
use quintet_ir::{IndexDef, TableDef};
use quintet_tc::Scan;
use std::ops::Bound;
use std::sync::Arc;

/// What of the entries of one group is compared.
#[derive(Clone)]
struct Group {
    space: SpaceId,
    /// How many bytes at the beginning are equal.
    begins: usize,
    /// Types of the columns that may not overlap, which are behind those.
    types: Arc<[SqlType]>,
}

/// Another row's entry.
struct Rival {
    key: Bytes,
    row_key: Bytes,
}

fn overlapping_types(table: &TableDef, index: &IndexDef, excludes: &Exclusion) -> Arc<[SqlType]> {
    let columns = &index.columns[usize::from(index.partial) + excludes.equals..];
    columns
        .iter()
        .map(|column| table.columns[*column].ty)
        .collect()
}

impl Group {
    /// What two entries have beyond what makes them a group.
    fn values(&self, key: &[u8]) -> SqlResult<Vec<Value>> {
        let mut rest = &key[self.begins..];
        let types = self.types.iter();
        types.map(|ty| key::decode(*ty, &mut rest)).collect()
    }

    /// True if the entries that are apart are in the order of all their bounds.
    fn has_order(&self) -> bool {
        matches!(&*self.types, [SqlType::Range(_)])
    }

    /// Another entry, if it is of the group and overlaps one of it.
    fn beside(&self, own: &[u8], other: Rival) -> SqlResult<Option<Rival>> {
        let is_of_group = other.key.starts_with(&own[..self.begins]);
        let overlaps = is_of_group && !are_apart(&self.values(own)?, &self.values(&other.key)?);
        Ok(overlaps.then_some(other))
    }

    /// An entry of another row that a row with this entry may not be beside, if there is one, whether the row's own is there or not.
    fn rival(&self, own: &[u8], table: &str, env: &mut Env<'_>) -> Result<Option<Rival>, Halt> {
        let caught_up = env.txn.catch_up_in(self.space);
        caught_up.map_err(|error| env.halt(error, table))?;
        let kept = env.txn.look_aside();
        let found = self.look(own, table, env);
        env.txn.look_back(kept);
        found
    }

    fn look(&self, own: &[u8], table: &str, env: &mut Env<'_>) -> Result<Option<Rival>, Halt> {
        let values = self.values(own)?;
        let at = Bytes::copy_from_slice(own);
        let whole = KeyRange::prefix(own[..self.begins].to_vec());
        let behind = KeyRange {
            lower: Bound::Excluded(at.clone()),
            upper: whole.upper.clone(),
        };
        let before = KeyRange {
            lower: whole.lower,
            upper: Bound::Excluded(at),
        };
        for (range, direction) in [(behind, Direction::Forward), (before, Direction::Backward)] {
            let scan = env.txn.scan(self.space, &range, direction);
            let mut scan: Scan = scan.map_err(|error| env.halt(error, table))?;
            loop {
                env.tick()?;
                let next = scan.next(env.txn);
                let next = next.map_err(|error| env.halt(error, table))?;
                let Some((key, row_key)) = next else {
                    break;
                };
                if are_apart(&values, &self.values(&key)?) {
                    match self.has_order() {
                        true => break,
                        false => continue,
                    }
                }
                return Ok(Some(Rival { key, row_key }));
            }
        }
        Ok(None)
    }
}

/// Whether some values do not overlap; NULL overlaps nothing.
fn are_apart(own: &[Value], other: &[Value]) -> bool {
    let overlap = |(a, b): (&Value, &Value)| match (a, b) {
        (Value::Range(a), Value::Range(b)) => a.overlaps(b),
        (Value::Multirange(a), Value::Multirange(b)) => a.overlaps(b),
        _ => false,
    };
    !own.iter().zip(other).all(overlap)
}

/// Keeps others from entries that a row's entry may not be beside, and tells which row is in the way.
pub(crate) fn in_the_way(
    table: &TableDef,
    number: usize,
    entry: &EntryKey,
    env: &mut Env<'_>,
) -> Result<Option<Taken>, Halt> {
    let index = &table.indexes[number];
    let (Some(excludes), Some(begins)) = (&index.excludes, entry.late) else {
        return Ok(None);
    };
    if excludes.late.is_some() {
        return Ok(None);
    }
    hold(table, index, entry, env)?;
    let group = Group {
        space: index.space,
        begins,
        types: overlapping_types(table, index, excludes),
    };
    let rival = group.rival(&entry.key, &table.name, env)?;
    Ok(rival.map(|rival| Taken {
        by: Arbiter::Index(number),
        row_key: rival.row_key,
    }))
}

/// `23P01`, naming both rows.
pub(crate) fn error(
    table: &TableDef,
    (index, excludes): (&IndexDef, &Exclusion),
    row: &[Value],
    other: &Bytes,
    env: &mut Env<'_>,
) -> Halt {
    let kept = env.txn.look_aside();
    let stored = env.txn.get(table.space, other);
    env.txn.look_back(kept);
    let text = |row: &[Value], env: &Env<'_>| key_text(table, &excludes.written, row, env.host);
    let existing = match stored {
        Ok(Some(stored)) => read_row(table, other, &stored).map(|existing| text(&existing, env)),
        Ok(None) => Err(SqlError::new(
            SqlState::DATA_CORRUPTED,
            format!("index \"{}\" names a row that is not there", index.name),
        )),
        Err(error) => return env.halt(error, &table.name),
    };
    match existing {
        Ok(existing) => {
            let own = text(row, env);
            let keys = own.as_deref().zip(existing.as_deref());
            excluded(table, &index.name, keys).into()
        }
        Err(error) => error.into(),
    }
}

/// A row that must be apart from all others in the end.
#[derive(Clone)]
pub(crate) struct Apart {
    group: Group,
    /// Its entry.
    key: Bytes,
    /// Types of the columns before those that may not overlap.
    types: Vec<SqlType>,
    /// The columns as they were written, by their places in the key.
    written: Vec<usize>,
    /// What is said if it is not, but for the other's values.
    error: Box<SqlError>,
}

impl Apart {
    /// Of an entry that is looked at late.
    pub fn new(
        table: &TableDef,
        index: &IndexDef,
        entry: &EntryKey,
        row: &[Value],
        env: &Env<'_>,
    ) -> Option<Apart> {
        let (Some(excludes), Some(begins)) = (&index.excludes, entry.late) else {
            return None;
        };
        let types = overlapping_types(table, index, excludes);
        let before = &index.columns[..index.columns.len() - types.len()];
        let place = |column: &usize| index.columns.iter().rposition(|other| other == column);
        let own = key_text(table, &excludes.written, row, env.host);
        Some(Apart {
            group: Group {
                space: index.space,
                begins,
                types,
            },
            key: entry.key.clone(),
            types: before.iter().map(|c| table.columns[*c].ty).collect(),
            written: excludes.written.iter().filter_map(place).collect(),
            error: Box::new(excluded(
                table,
                &index.name,
                own.as_deref().map(|own| (own, names(own))),
            )),
        })
    }

    /// Looks, if the entry is still there.
    pub fn check(&self, table: &str, env: &mut Env<'_>) -> Result<(), Halt> {
        let own = env.txn.get(self.group.space, &self.key);
        if own.map_err(|error| env.halt(error, table))?.is_none() {
            return Ok(());
        }
        let Some(rival) = self.group.rival(&self.key, table, env)? else {
            return Ok(());
        };
        let mut rest = &rival.key[..];
        let types = self.types.iter().chain(self.group.types.iter());
        let values = types.map(|ty| Ok((key::decode(*ty, &mut rest)?, *ty)));
        let values = values.collect::<SqlResult<Vec<_>>>()?;
        let shown = self.written.iter().filter_map(|place| values.get(*place));
        let shown: Vec<String> = shown
            .map(|(value, ty)| show(value, *ty, env.host))
            .collect();
        let mut error = (*self.error).clone();
        let detail = error.detail.take().unwrap_or_default();
        let detail = detail.strip_suffix('.').unwrap_or_default();
        Err(error
            .detail(format!("{detail}=({}).", shown.join(", ")))
            .into())
    }

    /// Bytes that it takes, roughly.
    pub fn bytes(&self) -> usize {
        size_of::<Apart>() + size_of::<SqlError>() + 2 * self.key.len() + 300
    }
}

/// The names of the columns in the text of a key.
fn names(key: &str) -> &str {
    key.split_once(")=(")
        .map_or(key, |(names, _)| &key[..names.len() + 1])
}

/// Looks at all entries of an index that was filled and that nobody else sees yet.
pub(crate) fn check_all(table: &TableDef, number: usize, env: &mut Env<'_>) -> Result<(), Halt> {
    let index = &table.indexes[number];
    let Some(excludes) = &index.excludes else {
        return Ok(());
    };
    let halted = |error, env: &Env<'_>| env.halt(error, &table.name);
    let all = KeyRange::all();
    let scan = env.txn.scan(index.space, &all, Direction::Forward);
    let mut scan: Scan = scan.map_err(|error| halted(error, env))?;
    let types = overlapping_types(table, index, excludes);
    // The entry before, if no column of it is NULL.
    let mut before: Option<Rival> = None;
    while let Some((key, row_key)) = scan.next(env.txn).map_err(|error| halted(error, env))? {
        env.tick()?;
        let Some(begins) = beginning(table, index, types.len(), &key)? else {
            continue;
        };
        let group = Group {
            space: index.space,
            begins,
            types: Arc::clone(&types),
        };
        let rival = match before.take() {
            // In order, neighbours overlap if any two do.
            Some(last) if group.has_order() => group.beside(&key, last)?,
            None if group.has_order() => None,
            _ => group.rival(&key, &table.name, env)?,
        };
        if let Some(rival) = rival
            && let Some(row) = row_at(table, &row_key, env)?
            && let Some(other) = row_at(table, &rival.row_key, env)?
        {
            let text = |row: &[Value]| key_text(table, &excludes.written, row, env.host);
            let message = format!("could not create exclusion constraint \"{}\"", index.name);
            let keys = text(&other).zip(text(&row));
            let detail = keys.map(|(other, row)| format!("Key {other} conflicts with key {row}."));
            let error = SqlError::new(SqlState::EXCLUSION_VIOLATION, message).detailed(detail);
            return Err(error.about(about(table, None, Some(&index.name))).into());
        }
        before = Some(Rival { key, row_key });
    }
    Ok(())
}

/// How many bytes of an entry are its columns before the last ones; `None` if one of them is NULL.
fn beginning(
    table: &TableDef,
    index: &IndexDef,
    last: usize,
    entry: &[u8],
) -> SqlResult<Option<usize>> {
    let mut rest = entry;
    for column in &index.columns[..index.columns.len() - last] {
        let value = key::decode(table.columns[*column].ty, &mut rest)?;
        if value.is_null() {
            return Ok(None);
        }
    }
    Ok(Some(entry.len() - rest.len()))
}

fn row_at(table: &TableDef, row_key: &Bytes, env: &Env<'_>) -> Result<Option<Vec<Value>>, Halt> {
    let stored = env.txn.get(table.space, row_key);
    let stored = stored.map_err(|error| env.halt(error, &table.name))?;
    Ok(match stored {
        Some(stored) => Some(read_row(table, row_key, &stored)?),
        None => None,
    })
}
