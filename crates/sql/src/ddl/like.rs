//! LIKE in CREATE TABLE: the columns of another relation, and what is asked for of what belongs to it.
//!
//! Relies on: the other's record; `table` for the rest of the statement.  Promises: the new table is one of its own: it has
//! indexes and identity sequences of its own, with PostgreSQL's names; checks keep theirs. What is copied is copied as the other
//! is now.  Accepts and ignores: INCLUDING STATISTICS, STORAGE and COMPRESSION, of which there are none.  Does not: copy
//! foreign keys, owners and grants, as PostgreSQL does not; be like a relation of the catalogue (0A000).
//!
//! | copied | of which option |
//! |---|---|
//! | names and types of columns, NOT NULL | always |
//! | defaults; a SERIAL column goes on with the other's sequence | DEFAULTS |
//! | identity, generation | IDENTITY, GENERATED |
//! | checks | CONSTRAINTS |
//! | primary key, unique constraints, indexes | INDEXES |
//! | comments on what is copied | COMMENTS |

use super::constraint::second_primary_key;
use super::index::column_names;
use super::table::{new_place, refuse_system_name};
use super::{hidden, sequence, table_object};
use crate::catalog::Relation;
use crate::draft::{Draft, owned_sequences};
use crate::from::find_named;
use crate::names::required;
use crate::planner::Planner;
use crate::records::{
    CheckRecord, ColumnRecord, CommentRecord, CommentsRecord, ExclusionRecord, IndexRecord,
    KeyRecord, TableMore, TableRecord,
};
use crate::system::{self, PG_CLASS};
use pg_query::protobuf::{TableLikeClause, TableLikeOption};
use quintet_base::{IndexId, SpaceId, SqlError, SqlResult, SqlState, TableId};
use quintet_ir::Privileges;
use std::collections::BTreeMap;

/// A relation whose columns are in the new table.
pub(super) struct Like {
    /// Of which relation comments are.
    number: u32,
    /// As a table's record; a view has nothing but columns.
    other: TableRecord,
    /// The places of its columns in the new table.
    places: BTreeMap<usize, usize>,
    asked: Asked,
}

/// What is to be copied, see [`TableLikeOption`].
#[derive(Clone, Copy)]
struct Asked(u32);

impl Asked {
    fn has(self, option: TableLikeOption) -> bool {
        // The library counts its options from 1; in the statement each is a bit, and ALL is all of them.
        self.0 & (1 << (option as u32 - 1)) != 0
    }
}

/// Adds the columns, with what each has for itself.
///
/// # Errors
/// `42P01`, `42809`, `42501`, `42701`.
pub(super) fn columns(
    draft: &mut Draft,
    record: &mut TableRecord,
    clause: &TableLikeClause,
) -> SqlResult<Like> {
    use TableLikeOption::{
        CreateTableLikeDefaults, CreateTableLikeGenerated, CreateTableLikeIdentity,
    };
    let planner = draft.planner;
    let mut like = find(planner, clause)?;
    for (number, column) in like.other.columns.iter().enumerate() {
        if column.dropped || like.other.is_hidden(number) {
            continue;
        }
        let name = column.name.as_str();
        refuse_system_name(name)?;
        if record.column(name).is_some() {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        let place = new_place(record)?;
        let mut new = ColumnRecord {
            not_null: column.not_null,
            ..ColumnRecord::plain(column.name.clone(), column.ty, column.modifier)
        };
        let generation = like.other.generated(number);
        if column.identity.is_some() {
            if like.asked.has(CreateTableLikeIdentity) {
                let owned = owned_sequences(planner.catalog(), like.other.id, Some(number));
                let sequence = (owned.first())
                    .and_then(|id| planner.catalog().sequence_by_id(*id))
                    .ok_or_else(|| SqlError::internal("an identity column without a sequence"))?;
                new.identity = column.identity;
                new.default = Some(sequence::like(draft, record, place, name, sequence)?);
            }
        } else if let Some(text) = generation {
            if like.asked.has(CreateTableLikeGenerated) {
                let text = like.text(text, record);
                record.more.generated.push((place, text));
            }
        } else if like.asked.has(CreateTableLikeDefaults) {
            new.default = default_of(planner, &like.other, number, &record.schema);
        }
        if let Some(domain) = like.other.domain(number) {
            record.more.domains.push((place, domain));
        }
        record.columns.push(new);
        record.set_collation(place, Some(like.other.collation(number)));
        like.places.insert(number, place);
    }
    Ok(like)
}

/// Adds what belongs to several columns. Comes behind the table's own keys and checks.
///
/// # Errors
/// `42P16` for a second primary key, `42710` for a second check of a name.
pub(super) fn rest(draft: &mut Draft, record: &mut TableRecord, like: &Like) -> SqlResult<()> {
    let mut comments = Comments::default();
    if like.asked.has(TableLikeOption::CreateTableLikeConstraints) {
        for check in &like.other.checks {
            checks(draft, record, like, check, &mut comments)?;
        }
    }
    if like.asked.has(TableLikeOption::CreateTableLikeIndexes) {
        if let Some(key) = &like.other.primary_key {
            primary_key(draft, record, like, key, &mut comments)?;
        }
        for index in &like.other.indexes {
            indexes(draft, record, like, index, &mut comments)?;
        }
    }
    if like.asked.has(TableLikeOption::CreateTableLikeComments) {
        for (number, place) in &like.places {
            let of_column = |entry: &CommentRecord| entry.column == *number as i32 + 1;
            comments.copy(draft, like.number, record.id.0, |entry| {
                let its_own = of_column(entry) && entry.class == PG_CLASS;
                its_own.then_some(*place as i32 + 1)
            });
        }
        for (number, entries) in comments.0 {
            draft.put_comments(number, &CommentsRecord { entries })?;
        }
    }
    Ok(())
}

/// Comments on new objects, by their numbers.
#[derive(Default)]
struct Comments(BTreeMap<u32, Vec<CommentRecord>>);

impl Comments {
    /// Those on one object that `column` gives a column for, for another object.
    fn copy(
        &mut self,
        draft: &Draft,
        from: u32,
        to: u32,
        column: impl Fn(&CommentRecord) -> Option<i32>,
    ) {
        let known = draft.planner.catalog().comments(from);
        for entry in known.iter().flat_map(|known| &known.entries) {
            if let Some(column) = column(entry) {
                let copied = CommentRecord {
                    column,
                    ..entry.clone()
                };
                self.0.entry(to).or_default().push(copied);
            }
        }
    }

    /// Those on an object as a whole.
    fn copy_whole(&mut self, draft: &Draft, from: u32, to: u32) {
        self.copy(draft, from, to, |entry| {
            (entry.column == 0).then_some(entry.column)
        });
    }
}

impl Like {
    fn placed(&self, columns: &[usize]) -> Vec<usize> {
        columns.iter().map(|column| self.places[column]).collect()
    }

    /// An expression of the other table's, for the new one.
    fn text(&self, text: &str, record: &TableRecord) -> String {
        hidden::with_table(text, &self.other.name, &record.name)
    }
}

fn find(planner: &Planner, clause: &TableLikeClause) -> SqlResult<Like> {
    let relation = required(clause.relation.as_ref())?;
    let name = &relation.relname;
    let found = find_named(planner, relation)?.ok_or_else(|| {
        let message = format!("relation \"{name}\" does not exist");
        planner.error(SqlState::UNDEFINED_TABLE, message, relation.location)
    })?;
    let other = match found {
        Relation::Table(id) | Relation::Partition(id) => {
            planner.must_have(table_object(id), Privileges::SELECT)?;
            let rows = planner.catalog().rows_of(id);
            let record = rows.and_then(|table| planner.catalog().record(table.id));
            record.cloned()
        }
        Relation::View(id) => {
            planner.must_have(table_object(id), Privileges::SELECT)?;
            view(planner, id)
        }
        Relation::Index(..) | Relation::PrimaryKey(_) | Relation::Sequence(_) => {
            let message = format!("relation \"{name}\" is invalid in LIKE clause");
            return Err(planner.error(SqlState::WRONG_OBJECT_TYPE, message, relation.location));
        }
    };
    Ok(Like {
        number: planner.catalog().number_of(found),
        other: other.ok_or_else(|| SqlError::internal("a relation without a record"))?,
        places: BTreeMap::new(),
        asked: Asked(clause.options),
    })
}

fn view(planner: &Planner, id: TableId) -> Option<TableRecord> {
    let view = planner.catalog().view(id)?;
    let columns = (view.columns.iter())
        .map(|column| ColumnRecord::plain(column.name.clone(), column.ty, column.modifier));
    Some(TableRecord {
        id,
        revision: 1,
        schema: view.schema.clone(),
        name: view.name.clone(),
        space: SpaceId(0),
        columns: columns.collect(),
        primary_key: None,
        indexes: Vec::new(),
        checks: Vec::new(),
        more: TableMore::default(),
    })
}

/// A default's text, for a table in a schema.
fn default_of(
    planner: &Planner,
    other: &TableRecord,
    number: usize,
    schema: &str,
) -> Option<String> {
    let text = other.columns[number].default.as_deref()?;
    let table = planner.catalog().table_by_id(other.id);
    let bound = table.and_then(|table| table.columns[number].default.as_ref());
    // The text may name a sequence without its schema, where it would not be found from another one.
    if let Some(id) = bound.and_then(sequence::next_of)
        && let Some(named) = planner.catalog().sequence_by_id(id)
    {
        return Some(sequence::next_value(schema, &named.schema, &named.name));
    }
    Some(text.to_string())
}

fn checks(
    draft: &mut Draft,
    record: &mut TableRecord,
    like: &Like,
    check: &CheckRecord,
    comments: &mut Comments,
) -> SqlResult<()> {
    if draft.has_constraint(record, &check.name) {
        let message = format!(
            "constraint \"{}\" for relation \"{}\" already exists",
            check.name, record.name
        );
        return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message));
    }
    let from = system::constraint_number(draft.planner, like.other.id, &check.name);
    let to = system::check_number(record.id, record.checks.len());
    record.checks.push(CheckRecord {
        name: check.name.clone(),
        text: like.text(&check.text, record),
    });
    if let Some(from) = from {
        comments.copy_whole(draft, from, to);
    }
    Ok(())
}

fn primary_key(
    draft: &mut Draft,
    record: &mut TableRecord,
    like: &Like,
    key: &KeyRecord,
    comments: &mut Comments,
) -> SqlResult<()> {
    if record.primary_key.is_some() {
        return Err(second_primary_key(record));
    }
    record.primary_key = Some(KeyRecord {
        name: draft.make_name(&record.schema, &record.name, &[], "pkey"),
        columns: like.placed(&key.columns),
    });
    let (from, to) = (like.other.id, record.id);
    let number = system::primary_key_oid;
    comments.copy_whole(draft, number(from), number(to));
    Ok(())
}

fn indexes(
    draft: &mut Draft,
    record: &mut TableRecord,
    like: &Like,
    index: &IndexRecord,
    comments: &mut Comments,
) -> SqlResult<()> {
    let mut columns = Vec::with_capacity(index.columns.len());
    for &column in &index.columns {
        columns.push(match like.other.is_hidden(column) {
            true => hidden_column(record, like, column)?,
            false => like.places[&column],
        });
    }
    let names = column_names(&like.other, index);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let suffix = match like.other.excluded(index.id) {
        Some(_) => "excl",
        None if index.constraint => "key",
        None => "idx",
    };
    let new = IndexRecord {
        id: IndexId(draft.id()),
        name: draft.make_name(&record.schema, &record.name, &names, suffix),
        space: draft.space(),
        columns,
        unique: index.unique,
        constraint: index.constraint,
    };
    if let Some(text) = like.other.predicate(index.id) {
        let text = like.text(text, record);
        record.more.hidden.predicates.push((new.id, text));
    }
    let directions = like.other.directions(index.id);
    if !directions.is_empty() {
        let directions = directions.to_vec();
        record.more.directions.push((new.id, directions));
    }
    if let Some(shown) = like.other.shown(index.id) {
        let mut shown = shown.clone();
        for column in &mut shown.included {
            *column = like.places[column];
        }
        record.more.shown.push((new.id, shown));
    }
    if like.other.nulls_are_equal(index.id) {
        record.more.nulls_equal.push(new.id);
    }
    if let Some(excluded) = like.other.excluded(index.id) {
        let place = |column: &usize| index.columns.iter().rposition(|other| other == column);
        let places = excluded.written.iter().filter_map(place);
        let excluded = ExclusionRecord {
            equals: excluded.equals,
            written: places.map(|place| new.columns[place]).collect(),
        };
        record.more.excluded.push((new.id, excluded));
    }
    if let Some(deferred) = like.other.late(index.id) {
        record.more.late.push((new.id, deferred));
    }
    comments.copy_whole(draft, index.id.0, new.id.0);
    record.indexes.push(new);
    Ok(())
}

/// The new table's hidden column that is made as one of the other's.
fn hidden_column(record: &mut TableRecord, like: &Like, column: usize) -> SqlResult<usize> {
    let text = like.other.generated(column).unwrap_or_default();
    let text = like.text(text, record);
    let made_so = |(number, other): &(usize, String)| *other == text && record.is_hidden(*number);
    if let Some((number, _)) = record.more.generated.iter().find(|made| made_so(made)) {
        return Ok(*number);
    }
    let place = new_place(record)?;
    let column = &like.other.columns[column];
    let new = ColumnRecord::plain(column.name.clone(), column.ty, column.modifier);
    record.columns.push(new);
    record.more.hidden.columns.push(place);
    record.more.generated.push((place, text));
    Ok(place)
}
