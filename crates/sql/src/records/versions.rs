//! Records as bytes: the version, then the body; and earlier versions read.
//!
//! Relies on: `serde`, `postcard`, which writes fields in their order.  Promises: what an earlier version ended before is filled in as it
//! was meant then; a version that is not known is refused (XX001).  Does not: say what a field means.

use super::table::{
    Exclusions, HiddenRecord, LastAdded, OnCommit, SinceSix, TableMore, TableRecord,
};
use super::{
    CACHE, CheckOption, ForeignKeyRecord, KeyOff, RecordKey, RoleRecord, RoutineRecord,
    SequenceRecord, TriggerMore, TriggerRecord, TypeKind, TypeRecord, ViewOptions, ViewRecord,
};
use crate::catalog::CatalogChange;
use quintet_base::{SequenceId, SqlError, SqlResult, SqlState};
use quintet_ir::Elements;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Version of every record written now, but those of tables, sequences, views, routines, triggers, foreign keys and roles.
const VERSION: u8 = 1;
/// Version of a sequence's record: since it has a `cache`.
const SEQUENCE_VERSION: u8 = 3;
/// Version of a sequence's record since it has a `counter`.
const COUNTER_VERSION: u8 = 2;
/// Version of a view's record that has `defaults` behind it.
const DEFAULTS_VERSION: u8 = 4;
/// Version of a view's record: since its `options` are behind it.
const VIEW_VERSION: u8 = 3;
/// Version of a view's record since its `check` is behind it.
const CHECKED_VERSION: u8 = 2;
/// Version of the record of a domain that is over another one, whose number is behind it.
const OVER_VERSION: u8 = 2;
/// Version of a table's record that has `options` behind it; it may have what version 8 has.
const OPTIONS_VERSION: u8 = 9;
/// Version of a table's record that is like the next, but an index has entries for trigrams, of which earlier programs know nothing.
const TRIGRAMS_VERSION: u8 = 8;
/// Version of a table's record: since its `more` has `excluded`.
const TABLE_VERSION: u8 = 7;
/// Version of a table's record since its `more` has `nulls_equal` and `late`, and an index may be inverted.
const LATE_VERSION: u8 = 6;
/// Version of a table's record since its `more` has `shown` and `collations`.
const SHOWN_VERSION: u8 = 5;
/// Version of a table's record since its `more` has `unvalidated`.
const UNVALIDATED_VERSION: u8 = 4;
/// Version of a table's record since its `more` has `domains` and `hidden`.
const HIDDEN_VERSION: u8 = 3;
/// Version of a table's record since it has `more`.
const MORE_VERSION: u8 = 2;
/// Of routines' records.
const ROUTINE_VERSION: u8 = 2;
/// Version of a foreign key's record: since it has `off`.
const KEY_VERSION: u8 = 2;
/// Version of a trigger's record: since it has `more`.
const TRIGGER_VERSION: u8 = 2;
/// Version of a role's record: since it has `bypass`.
const ROLE_VERSION: u8 = 2;

pub(super) fn damaged(what: &str) -> SqlError {
    SqlError::new(
        SqlState::DATA_CORRUPTED,
        format!("catalogue record is damaged: {what}"),
    )
}

/// The record as a change that writes it.
pub(crate) fn write<T: Serialize>(key: RecordKey, record: &T) -> SqlResult<CatalogChange> {
    write_as(VERSION, key, record)
}

/// A sequence's record as a change that writes it.
pub(crate) fn write_sequence(record: &SequenceRecord) -> SqlResult<CatalogChange> {
    write_as(SEQUENCE_VERSION, RecordKey::Sequence(record.id), record)
}

/// A type's record as a change that writes it.
pub(crate) fn write_type(record: &TypeRecord) -> SqlResult<CatalogChange> {
    let key = RecordKey::Type(record.id);
    match record.domain().and_then(|domain| domain.over) {
        Some(over) => write_as(OVER_VERSION, key, &(record, over)),
        None => write(key, record),
    }
}

/// Reads a type's record of any version.
pub(crate) fn read_type(value: &[u8]) -> SqlResult<TypeRecord> {
    let [OVER_VERSION, body @ ..] = value else {
        return read(value);
    };
    let (mut record, over): (TypeRecord, u32) =
        postcard::from_bytes(body).map_err(|_| damaged("unreadable body"))?;
    if let TypeKind::Domain(domain) = &mut record.kind {
        domain.over = Some(over);
    }
    Ok(record)
}

/// A view's record as a change that writes it.
pub(crate) fn write_view(record: &ViewRecord) -> SqlResult<CatalogChange> {
    let key = RecordKey::View(record.id);
    let (check, options, defaults) = (record.check, &record.options, &record.defaults);
    match defaults.is_empty() {
        true => write_as(VIEW_VERSION, key, &(record, check, options)),
        false => write_as(DEFAULTS_VERSION, key, &(record, check, options, defaults)),
    }
}

/// A table's record as a change that writes it.
pub(crate) fn write_table(record: &TableRecord) -> SqlResult<CatalogChange> {
    let of_later = |elements: &Elements| matches!(elements, Elements::Trigrams | Elements::Whole);
    let of_trigrams = |index| record.inverted(index).iter().any(of_later);
    let options = &record.more.options;
    if !options.is_empty() {
        return write_as(
            OPTIONS_VERSION,
            RecordKey::Table(record.id),
            &(record, options),
        );
    }
    let version = match record.indexes.iter().any(of_trigrams) {
        true => TRIGRAMS_VERSION,
        false => TABLE_VERSION,
    };
    write_as(version, RecordKey::Table(record.id), record)
}

/// A routine's record as a change that writes it.
pub(crate) fn write_routine(record: &RoutineRecord) -> SqlResult<CatalogChange> {
    write_as(ROUTINE_VERSION, RecordKey::Routine(record.id), record)
}

/// A foreign key's record as a change that writes it.
pub(crate) fn write_foreign_key(record: &ForeignKeyRecord) -> SqlResult<CatalogChange> {
    write_as(KEY_VERSION, RecordKey::ForeignKey(record.id), record)
}

/// A trigger's record as a change that writes it.
pub(crate) fn write_trigger(record: &TriggerRecord) -> SqlResult<CatalogChange> {
    write_as(TRIGGER_VERSION, RecordKey::Trigger(record.id), record)
}

/// A role's record as a change that writes it.
pub(crate) fn write_role(record: &RoleRecord) -> SqlResult<CatalogChange> {
    write_as(ROLE_VERSION, RecordKey::Role(record.id), record)
}

fn write_as<T: Serialize>(version: u8, key: RecordKey, record: &T) -> SqlResult<CatalogChange> {
    let value = postcard::to_extend(record, vec![version]).map_err(SqlError::internal)?;
    Ok(CatalogChange {
        key: key.encode(),
        value: Some(value),
    })
}

/// Reads a sequence's record of any version.
pub(crate) fn read_sequence(value: &[u8]) -> SqlResult<SequenceRecord> {
    let unreadable = |_| damaged("unreadable body");
    match value {
        [SEQUENCE_VERSION, body @ ..] => postcard::from_bytes(body).map_err(unreadable),
        [COUNTER_VERSION, body @ ..] => {
            let added = postcard::to_allocvec(&CACHE).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        [VERSION, body @ ..] => {
            let added = (None::<SequenceId>, CACHE);
            let added = postcard::to_allocvec(&added).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        other => read(other),
    }
}

/// Reads a routine's record of any version.
pub(crate) fn read_routine(value: &[u8]) -> SqlResult<RoutineRecord> {
    let unreadable = |_| damaged("unreadable body");
    match value {
        [ROUTINE_VERSION, body @ ..] => postcard::from_bytes(body).map_err(unreadable),
        [VERSION, body @ ..] => {
            let added = postcard::to_allocvec(&Vec::<String>::new()).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        other => read(other),
    }
}

/// Reads a foreign key's record of any version.
pub(crate) fn read_foreign_key(value: &[u8]) -> SqlResult<ForeignKeyRecord> {
    let unreadable = |_| damaged("unreadable body");
    match value {
        [KEY_VERSION, body @ ..] => postcard::from_bytes(body).map_err(unreadable),
        [VERSION, body @ ..] => {
            let added = postcard::to_allocvec(&KeyOff::default()).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        other => read(other),
    }
}

/// Reads a trigger's record of any version.
pub(crate) fn read_trigger(value: &[u8]) -> SqlResult<TriggerRecord> {
    let unreadable = |_| damaged("unreadable body");
    match value {
        [TRIGGER_VERSION, body @ ..] => postcard::from_bytes(body).map_err(unreadable),
        [VERSION, body @ ..] => {
            let added =
                postcard::to_allocvec(&TriggerMore::default()).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        other => read(other),
    }
}

/// Reads a role's record of any version.
pub(crate) fn read_role(value: &[u8]) -> SqlResult<RoleRecord> {
    let unreadable = |_| damaged("unreadable body");
    match value {
        [ROLE_VERSION, body @ ..] => postcard::from_bytes(body).map_err(unreadable),
        [VERSION, body @ ..] => {
            let added = postcard::to_allocvec(&false).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        other => read(other),
    }
}

/// Reads a view's record of any version.
pub(crate) fn read_view(value: &[u8]) -> SqlResult<ViewRecord> {
    match value {
        [DEFAULTS_VERSION, body @ ..] => {
            type Parts = (ViewRecord, CheckOption, ViewOptions, Vec<(usize, String)>);
            let (record, check, options, defaults): Parts =
                postcard::from_bytes(body).map_err(|_| damaged("unreadable body"))?;
            Ok(ViewRecord {
                check,
                options,
                defaults,
                ..record
            })
        }
        [VIEW_VERSION, body @ ..] => {
            let (record, check, options): (ViewRecord, CheckOption, ViewOptions) =
                postcard::from_bytes(body).map_err(|_| damaged("unreadable body"))?;
            Ok(ViewRecord {
                check,
                options,
                ..record
            })
        }
        [CHECKED_VERSION, body @ ..] => {
            let (record, check): (ViewRecord, CheckOption) =
                postcard::from_bytes(body).map_err(|_| damaged("unreadable body"))?;
            Ok(ViewRecord { check, ..record })
        }
        other => read(other),
    }
}

/// Reads a table's record of any version.
pub(crate) fn read_table(value: &[u8]) -> SqlResult<TableRecord> {
    let unreadable = |_| damaged("unreadable body");
    match value {
        [OPTIONS_VERSION, body @ ..] => {
            let (mut record, options): (TableRecord, Vec<(String, String)>) =
                postcard::from_bytes(body).map_err(unreadable)?;
            record.more.options = options;
            Ok(record)
        }
        [TRIGRAMS_VERSION | TABLE_VERSION, body @ ..] => {
            postcard::from_bytes(body).map_err(unreadable)
        }
        [LATE_VERSION, body @ ..] => {
            let added = postcard::to_allocvec(&Exclusions::new()).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        [SHOWN_VERSION, body @ ..] => {
            let added = postcard::to_allocvec(&SinceSix::default()).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        [UNVALIDATED_VERSION, body @ ..] => {
            let added = postcard::to_allocvec(&LastAdded::default()).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        [HIDDEN_VERSION, body @ ..] => {
            type Added = (Vec<String>, LastAdded);
            let added = postcard::to_allocvec(&Added::default()).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        [MORE_VERSION, body @ ..] => {
            type Domains = Vec<(usize, u32)>;
            type Added = (Domains, HiddenRecord, OnCommit, Vec<String>, LastAdded);
            let added = postcard::to_allocvec(&Added::default()).map_err(SqlError::internal)?;
            let whole = [body, &added].concat();
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        [VERSION, body @ ..] => {
            let mut whole = body.to_vec();
            let more = postcard::to_allocvec(&TableMore::default()).map_err(SqlError::internal)?;
            whole.extend(more);
            postcard::from_bytes(&whole).map_err(unreadable)
        }
        other => read(other),
    }
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
mod tests;
