//! Catalogue records as they are stored.
//!
//! Relies on: `serde`, `postcard`.  Promises: a record begins with its version; one that this
//! version cannot read is refused (XX001), never guessed at.  Does not: bind expressions; default
//! and check expressions stay the SQL text they were written as.
//!
//! | key | | record |
//! |---|---|---|
//! | byte 0 | kind: 0 counters, 1 table, 2 sequence, 3 routine, 4 foreign key | |
//! | bytes 1-4 | number, big-endian; 0 for counters | |
//! | | | byte 0: version, 1 |
//! | | | rest: postcard of the struct below |
//!
//! Tables, indexes, sequences, routines and spaces take their numbers from one counter, which never goes
//! back. The number after a table's own stays free for the index of its primary key, which has
//! no record of its own but must have an OID.

use crate::catalog::CatalogChange;
use quintet_base::{
    ConstraintId, IndexId, RoutineId, SequenceId, SpaceId, SqlError, SqlResult, SqlState, SqlType,
    TableId, TypeMod,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Version of every record written now.
const VERSION: u8 = 1;

/// The first number given out, as in PostgreSQL: smaller OIDs belong to the system.
pub(crate) const FIRST_ID: u32 = 16_384;

/// Numbers to give out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counters {
    pub next_id: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TableRecord {
    pub id: TableId,
    pub revision: u64,
    pub schema: String,
    pub name: String,
    pub space: SpaceId,
    pub columns: Vec<ColumnRecord>,
    pub primary_key: Option<KeyRecord>,
    pub indexes: Vec<IndexRecord>,
    pub checks: Vec<CheckRecord>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ColumnRecord {
    pub name: String,
    pub ty: SqlType,
    pub modifier: TypeMod,
    pub not_null: bool,
    /// SQL text.
    pub default: Option<String>,
    /// The value as text, read back by the column's type.
    pub missing: Option<String>,
    /// `Some(true)`: GENERATED ALWAYS; `Some(false)`: BY DEFAULT.
    pub identity: Option<bool>,
    pub dropped: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeyRecord {
    pub name: String,
    pub columns: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct IndexRecord {
    pub id: IndexId,
    pub name: String,
    pub space: SpaceId,
    pub columns: Vec<usize>,
    pub unique: bool,
    pub constraint: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CheckRecord {
    pub name: String,
    /// SQL text.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SequenceRecord {
    pub id: SequenceId,
    pub schema: String,
    pub name: String,
    pub ty: SqlType,
    pub start: i64,
    pub increment: i64,
    pub min: i64,
    pub max: i64,
    pub cycle: bool,
    pub owned_by: Option<(TableId, usize)>,
}

/// A procedure or function: the statement that created it says all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RoutineRecord {
    pub id: RoutineId,
    pub schema: String,
    pub name: String,
    /// CREATE PROCEDURE or CREATE FUNCTION, as written.
    pub text: String,
}

/// A foreign key. Columns by their numbers, which stay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ForeignKeyRecord {
    pub id: ConstraintId,
    pub name: String,
    pub child: TableId,
    pub columns: Vec<usize>,
    pub parent: TableId,
    /// In the order of `columns`.
    pub parent_columns: Vec<usize>,
    /// The parent's unique index; `None`: its primary key.
    pub index: Option<IndexId>,
    /// MATCH FULL.
    pub full: bool,
    /// As PostgreSQL's catalogue has it: `a`, `r`, `c`, `n`, `d`.
    pub on_delete: char,
    pub on_update: char,
    /// Columns that ON DELETE SET sets; empty: all.
    pub set: Vec<usize>,
    pub deferrable: bool,
    pub deferred: bool,
    /// The rows that were there before have been looked at.
    pub validated: bool,
}

/// What a key names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RecordKey {
    Counters,
    Table(TableId),
    Sequence(SequenceId),
    Routine(RoutineId),
    ForeignKey(ConstraintId),
}

impl RecordKey {
    pub fn encode(self) -> Vec<u8> {
        let (kind, number) = match self {
            RecordKey::Counters => (0, 0),
            RecordKey::Table(id) => (1, id.0),
            RecordKey::Sequence(id) => (2, id.0),
            RecordKey::Routine(id) => (3, id.0),
            RecordKey::ForeignKey(id) => (4, id.0),
        };
        let mut key = vec![kind];
        key.extend_from_slice(&u32::to_be_bytes(number));
        key
    }

    pub fn decode(key: &[u8]) -> SqlResult<RecordKey> {
        let [kind, number @ ..] = key else {
            return Err(damaged("empty key"));
        };
        let number = number
            .try_into()
            .map_err(|_| damaged("key of a wrong length"))?;
        let number = u32::from_be_bytes(number);
        match (kind, number) {
            (0, 0) => Ok(RecordKey::Counters),
            (1, _) => Ok(RecordKey::Table(TableId(number))),
            (2, _) => Ok(RecordKey::Sequence(SequenceId(number))),
            (3, _) => Ok(RecordKey::Routine(RoutineId(number))),
            (4, _) => Ok(RecordKey::ForeignKey(ConstraintId(number))),
            _ => Err(damaged("unknown kind of record")),
        }
    }
}

fn damaged(what: &str) -> SqlError {
    SqlError::new(
        SqlState::DATA_CORRUPTED,
        format!("catalogue record is damaged: {what}"),
    )
}

/// The record as a change that writes it.
pub(crate) fn write<T: Serialize>(key: RecordKey, record: &T) -> SqlResult<CatalogChange> {
    let value = postcard::to_extend(record, vec![VERSION]).map_err(SqlError::internal)?;
    Ok(CatalogChange {
        key: key.encode(),
        value: Some(value),
    })
}

/// The change that removes a record.
pub(crate) fn remove(key: RecordKey) -> CatalogChange {
    CatalogChange {
        key: key.encode(),
        value: None,
    }
}

/// Reads a record.
pub(crate) fn read<T: DeserializeOwned>(value: &[u8]) -> SqlResult<T> {
    match value {
        [VERSION, body @ ..] => postcard::from_bytes(body).map_err(|_| damaged("unreadable body")),
        [version, ..] => Err(damaged(&format!("version {version}, not {VERSION}"))),
        [] => Err(damaged("empty record")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_and_damage_is_refused() {
        let record = SequenceRecord {
            id: SequenceId(7),
            schema: "public".into(),
            name: "s".into(),
            ty: SqlType::Int8,
            start: 1,
            increment: -1,
            min: i64::MIN,
            max: -1,
            cycle: false,
            owned_by: Some((TableId(3), 1)),
        };
        let change = write(RecordKey::Sequence(record.id), &record).unwrap();
        assert_eq!(
            RecordKey::decode(&change.key).unwrap(),
            RecordKey::Sequence(record.id)
        );
        let value = change.value.unwrap();
        assert_eq!(read::<SequenceRecord>(&value).unwrap(), record);
        for bad in [&value[..0], &value[..3], &[9, 1, 2][..]] {
            let error = read::<SequenceRecord>(bad).unwrap_err();
            assert_eq!(error.state, SqlState::DATA_CORRUPTED);
        }
        for bad in [&b""[..], b"\x01\0\0", b"\x09\0\0\0\x01"] {
            assert!(RecordKey::decode(bad).is_err());
        }
    }
}
