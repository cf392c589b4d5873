//! Tables as they were when their rows moved, or they went: for who reads the log of that time.
//!
//! Relies on: every schema change goes through `session::change`, and the space of a table's rows is never given
//! again.  Promises: as long as the log is kept that has rows of a space, its table is known.  Does not: keep
//! definitions for longer than the log.
//!
//! A record of [`PAST_SPACE`] has the number of a table's space that was, 4 bytes big-endian, as its key, and behind it that of its database
//! in the same form, unless that is the first:
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | u64 LE: the log's end before the commit that left the space |
//! | 8 | 4 | u32 LE: k, length of the key of the table's record in the catalogue |
//! | 12 | k | that key |
//! | 12 + k | | the record, as it was last |

use crate::database::Inner;
use quintet_base::{Bytes, Level, Lsn, SpaceId};
use quintet_dc::{Direction, KeyRange};
use quintet_ir::schema::TableRef;
use quintet_sql::{Catalog, CatalogChange};
use quintet_tc::Error;
use std::collections::HashMap;

/// See the header.
pub(crate) const PAST_SPACE: SpaceId = SpaceId(5);

/// What a schema change has to write besides, so that what it leaves stays known: keys and values, or removals.
pub(crate) fn leave(
    db: &Inner,
    left: Vec<(SpaceId, CatalogChange)>,
) -> Result<Vec<(Bytes, Option<Bytes>)>, Error> {
    if left.is_empty() {
        return Ok(Vec::new());
    }
    let kept_from = db.log.kept_from();
    let mut writes = Vec::new();
    let own = database_key(db);
    for (key, value) in stored(db)? {
        // What others have left, they forget: they may be doing so.
        let is_own = key.get(4..) == Some(&own[..]);
        if is_own && parse(&value).is_none_or(|(at, _)| at < kept_from) {
            writes.push((key, None));
        }
    }
    let at = db.log.end();
    for (space, change) in left {
        let mut value = at.0.to_le_bytes().to_vec();
        value.extend_from_slice(&(change.key.len() as u32).to_le_bytes());
        value.extend_from_slice(&change.key);
        value.extend_from_slice(change.value.as_deref().unwrap_or_default());
        let mut key = space.0.to_be_bytes().to_vec();
        key.extend(database_key(db));
        let key = Bytes::from(key);
        writes.push((key, Some(value.into())));
    }
    Ok(writes)
}

/// The tables of spaces that were, as far as they can be read with the catalogue of now.
pub(crate) fn tables(db: &Inner, catalog: &Catalog) -> Result<HashMap<SpaceId, TableRef>, Error> {
    let mut tables = HashMap::new();
    let own = database_key(db);
    for (key, value) in stored(db)? {
        let Some((space, database)) = key.split_first_chunk() else {
            continue;
        };
        if database != own {
            continue;
        }
        let space = u32::from_be_bytes(*space);
        let Some((_, change)) = parse(&value) else {
            continue;
        };
        let Ok(then) = catalog.apply(&[change]) else {
            continue;
        };
        let space = SpaceId(space);
        let table = then.tables().find(|table| table.space == space);
        if let Some(table) = table {
            tables.insert(space, TableRef::clone(table));
        }
    }
    Ok(tables)
}

/// What a database's keys end with.
fn database_key(db: &Inner) -> Vec<u8> {
    match db.place.is_first() {
        true => Vec::new(),
        false => db.place.number.to_be_bytes().to_vec(),
    }
}

fn stored(db: &Inner) -> Result<Vec<(Bytes, Bytes)>, Error> {
    let txn = db.tc.begin(Level::Snapshot);
    let mut scan = txn.scan(PAST_SPACE, &KeyRange::all(), Direction::Forward)?;
    let mut all = Vec::new();
    while let Some(record) = scan.next(&txn)? {
        all.push(record);
    }
    Ok(all)
}

fn parse(value: &[u8]) -> Option<(Lsn, CatalogChange)> {
    let (at, rest) = value.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (key, record) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let change = CatalogChange {
        key: key.to_vec(),
        value: Some(record.to_vec()),
    };
    Some((Lsn(u64::from_le_bytes(*at)), change))
}
