//! Keys of the catalogue's records.
//!
//! Relies on: nothing but numbers.  Promises: a kind has one byte for ever, so that records of one kind stand together; a key that is none
//! is refused.  Does not: know what is in a record (`records`).

use super::versions::damaged;
use crate::role::Whose;
use quintet_base::ids::TEMPORARY;
use quintet_base::{ConstraintId, RoleId, RoutineId, SequenceId, SqlResult, TableId};
use quintet_ir::{Object, ObjectKind};

/// What a key names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RecordKey {
    Counters,
    /// Of a session alone, and never stored.
    TemporaryCounters,
    Table(TableId),
    Sequence(SequenceId),
    Routine(RoutineId),
    ForeignKey(ConstraintId),
    View(TableId),
    Comments(u32),
    Schema(u32),
    Extension(u32),
    Trigger(u32),
    /// Of the table with this number.
    Matview(TableId),
    /// Of the table with this number.
    Security(TableId),
    Type(u32),
    /// How this table is divided.
    Partitioning(TableId),
    Partition(TableId),
    Role(RoleId),
    /// Of the object with this number.
    Access(u32),
    Settings(Whose),
    Defaults(u32),
    /// Of columns of the relation with this number.
    ColumnAccess(u32),
    /// A name of a database. Of all databases, as roles are.
    Database(u32),
}

impl RecordKey {
    pub fn encode(self) -> Vec<u8> {
        let (kind, number) = match self {
            RecordKey::Counters => (0, 0),
            RecordKey::TemporaryCounters => (0, TEMPORARY.start),
            RecordKey::Table(id) => (1, id.0),
            RecordKey::Sequence(id) => (2, id.0),
            RecordKey::Routine(id) => (3, id.0),
            RecordKey::ForeignKey(id) => (4, id.0),
            RecordKey::View(id) => (5, id.0),
            RecordKey::Comments(number) => (6, number),
            RecordKey::Schema(number) => (7, number),
            RecordKey::Extension(number) => (8, number),
            RecordKey::Trigger(number) => (9, number),
            RecordKey::Matview(id) => (10, id.0),
            RecordKey::Security(id) => (11, id.0),
            RecordKey::Type(number) => (16, number),
            RecordKey::Partitioning(id) => (20, id.0),
            RecordKey::Partition(id) => (21, id.0),
            RecordKey::Role(id) => (32, id.0),
            RecordKey::Access(number) => (33, number),
            RecordKey::Defaults(number) => (36, number),
            RecordKey::ColumnAccess(number) => (37, number),
            RecordKey::Database(number) => (38, number),
            RecordKey::Settings(whose) => (34 + u8::from(whose.in_database), whose.role.0),
        };
        let mut key = vec![kind];
        key.extend_from_slice(&u32::to_be_bytes(number));
        key
    }

    /// The object that the record is about, if it is one that has an owner.
    pub fn object(self) -> Option<Object> {
        let (kind, number) = match self {
            RecordKey::Table(id) | RecordKey::View(id) | RecordKey::Partition(id) => {
                (ObjectKind::Table, id.0)
            }
            RecordKey::Schema(number) => (ObjectKind::Schema, number),
            RecordKey::Type(number) => (ObjectKind::Type, number),
            RecordKey::Sequence(id) => (ObjectKind::Sequence, id.0),
            RecordKey::Routine(id) => (ObjectKind::Routine, id.0),
            RecordKey::Counters
            | RecordKey::TemporaryCounters
            | RecordKey::ForeignKey(_)
            | RecordKey::Comments(_)
            | RecordKey::Extension(_)
            | RecordKey::Trigger(_)
            | RecordKey::Matview(_)
            | RecordKey::Security(_)
            | RecordKey::Partitioning(_)
            | RecordKey::Role(_)
            | RecordKey::Access(_)
            | RecordKey::Settings(_)
            | RecordKey::ColumnAccess(_)
            | RecordKey::Database(_)
            | RecordKey::Defaults(_) => return None,
        };
        Some(Object { kind, number })
    }

    /// True for the record of something in a session's temporary schema.
    pub fn is_temporary(key: &[u8]) -> bool {
        let [kind, number @ ..] = key else {
            return false;
        };
        // Roles and databases have numbers of their own, and so has what is said of roles.
        let own = !matches!(kind, 32 | 34..=36 | 38);
        let number = number.try_into().map(u32::from_be_bytes);
        own && number.is_ok_and(|number| TEMPORARY.contains(&number))
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
            (0, _) if number == TEMPORARY.start => Ok(RecordKey::TemporaryCounters),
            (1, _) => Ok(RecordKey::Table(TableId(number))),
            (2, _) => Ok(RecordKey::Sequence(SequenceId(number))),
            (3, _) => Ok(RecordKey::Routine(RoutineId(number))),
            (4, _) => Ok(RecordKey::ForeignKey(ConstraintId(number))),
            (5, _) => Ok(RecordKey::View(TableId(number))),
            (6, _) => Ok(RecordKey::Comments(number)),
            (7, _) => Ok(RecordKey::Schema(number)),
            (8, _) => Ok(RecordKey::Extension(number)),
            (9, _) => Ok(RecordKey::Trigger(number)),
            (10, _) => Ok(RecordKey::Matview(TableId(number))),
            (11, _) => Ok(RecordKey::Security(TableId(number))),
            (16, _) => Ok(RecordKey::Type(number)),
            (20, _) => Ok(RecordKey::Partitioning(TableId(number))),
            (21, _) => Ok(RecordKey::Partition(TableId(number))),
            (32, _) => Ok(RecordKey::Role(RoleId(number))),
            (33, _) => Ok(RecordKey::Access(number)),
            (36, _) => Ok(RecordKey::Defaults(number)),
            (37, _) => Ok(RecordKey::ColumnAccess(number)),
            (38, _) => Ok(RecordKey::Database(number)),
            (34 | 35, _) => Ok(RecordKey::Settings(Whose {
                in_database: *kind == 35,
                role: RoleId(number),
            })),
            _ => Err(damaged("unknown kind of record")),
        }
    }
}
