//! ATTACH and DETACH: rows move between a table of their own and a divided one, in one transaction.
//!
//! Relies on: `Work::Rewrite` between two spaces.  Promises: the relation keeps its number, name, owner and comments; its
//! rows are checked against the bound before they move.  Does not: keep what one partition cannot have for itself: a
//! table with keys, checks or sequences that the divided table lacks is refused (0A000).
//!
//! ```text
//! ATTACH:  Fence(both)   Refuse(rows out of the bound)   Rewrite(own -> divided)   DropSpaces(own)
//! DETACH:  Fence(divided)   Rewrite(rows of the partition -> fresh)   Remove(rows of the partition)
//! ```

use super::{Divided, bound, rows_where, violated};
use crate::command::Planned;
use crate::ddl::{hidden, index_column_names, policy, record_of, table_object, trigger};
use crate::draft::{Draft, owned_sequences, spaces_of};
use crate::expr::and;
use crate::from::row_target;
use crate::names::{inner, required};
use crate::partition::PartitioningRecord;
use crate::planner::Planner;
use crate::records::{ForeignKeyRecord, IndexRecord, KeyRecord, TableRecord};
use crate::rewrite::transform;
use crate::system::primary_key_oid;
use pg_query::NodeEnum;
use pg_query::protobuf::{AlterTableCmd, AlterTableType, PartitionCmd, RangeVar};
use quintet_base::types::format_type;
use quintet_base::{ConstraintId, IndexId, SqlError, SqlResult, SqlState};
use quintet_ir::Expr;
use quintet_ir::ddl::Work;
use quintet_ir::schema::{TableDef, TableRef};

/// ALTER TABLE … ATTACH or DETACH PARTITION; `None` if the command is another.
pub(in crate::ddl) fn alter(
    planner: &Planner,
    relation: &RangeVar,
    commands: &[&AlterTableCmd],
) -> SqlResult<Option<Planned>> {
    use AlterTableType::{AtAttachPartition, AtDetachPartition};
    let [command] = commands else {
        return Ok(None);
    };
    let kind = command.subtype();
    if !matches!(kind, AtAttachPartition | AtDetachPartition) {
        return Ok(None);
    }
    let Some(NodeEnum::PartitionCmd(what)) = command.def.as_deref().and_then(inner) else {
        return Err(SqlError::internal("ATTACH or DETACH of nothing"));
    };
    let divided = Divided::named(planner, relation).map_err(|error| match error.state {
        SqlState::INVALID_OBJECT_DEFINITION => {
            let message = format!("table \"{}\" is not partitioned", relation.relname);
            error.message(message)
        }
        _ => error,
    })?;
    planner.must_own_table(divided.id)?;
    let mut draft = Draft::new(planner);
    draft.make_in(&divided.table.schema);
    match kind {
        AtAttachPartition => attach(&mut draft, &divided, what)?,
        _ => detach(&mut draft, &divided, what)?,
    }
    draft.finish("ALTER TABLE").map(Some)
}

/// What no partition can change for itself, in PostgreSQL's words.
///
/// # Errors
/// `42809` for a new column, `42P16` for what it has from its table.
pub(in crate::ddl) fn refuse_inherited(
    planner: &Planner,
    relation: &RangeVar,
    commands: &[&AlterTableCmd],
) -> SqlResult<()> {
    use AlterTableType::{AtAddColumn, AtAlterColumnType, AtDropColumn, AtDropNotNull};
    let Some(id) = super::named_part(planner, relation)? else {
        return Ok(());
    };
    let table = row_target(planner, relation)?;
    planner.must_own_table(id)?;
    for command in commands {
        let name = &command.name;
        let number = table.column(name);
        let (state, message) = match (command.subtype(), number) {
            (AtAddColumn, _) => (
                SqlState::WRONG_OBJECT_TYPE,
                "cannot add column to a partition".to_string(),
            ),
            (AtDropColumn, Some(_)) => (
                SqlState::INVALID_TABLE_DEFINITION,
                format!("cannot drop inherited column \"{name}\""),
            ),
            (AtAlterColumnType, Some(_)) => (
                SqlState::INVALID_TABLE_DEFINITION,
                format!("cannot alter inherited column \"{name}\""),
            ),
            (AtDropNotNull, Some(number)) if table.columns[number].not_null => (
                SqlState::INVALID_TABLE_DEFINITION,
                format!("column \"{name}\" is marked NOT NULL in parent table"),
            ),
            _ => continue,
        };
        return Err(SqlError::new(state, message));
    }
    Ok(())
}

fn attach(draft: &mut Draft, divided: &Divided, what: &PartitionCmd) -> SqlResult<()> {
    let planner = draft.planner;
    let own = row_target(planner, required(what.name.as_ref())?)?;
    planner.must_own_table(own.relation())?;
    if own.relation() != own.id {
        let message = format!("\"{}\" is already a partition", own.name);
        return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    if own.id == divided.table.id {
        return Err(SqlError::new(
            SqlState::DUPLICATE_TABLE,
            "circular inheritance not allowed",
        )
        .detail(format!(
            "\"{}\" is already a child of \"{}\".",
            divided.name, own.name
        )));
    }
    let record = record_of(planner, &own)?;
    let places = matching_columns(divided, &record)?;
    refuse_own(planner, divided, &record, &own, &places)?;
    if let Some(parent) = planner.catalog().rows_of(divided.id) {
        trigger::refuse_namesakes(planner.catalog(), &own, &parent)?;
    }
    let spec = required(what.bound.as_ref())?;
    let bound = bound::read(planner, divided, spec, &own.name)?;
    let belongs = in_own_columns(&divided.within(&bound), &divided.table, &places);
    adopt_divisions(draft, divided, &record, &places)?;
    divided.fence(draft)?;
    draft.work(Work::Fence(spaces_of(&own)));
    for (schema, name, rows) in leaves(&own) {
        let message =
            format!("partition constraint of relation \"{name}\" is violated by some row");
        let astray = Expr::Not(Box::new(belongs.clone()));
        draft.work(Work::Refuse {
            table: TableRef::clone(&own),
            rows: rows_where(&own, and(rows.into_iter().chain([astray]).collect()))?,
            error: violated(schema, name, message),
        });
    }
    divided.clear_default(draft, &bound)?;
    draft.forget_table(&own);
    policy::become_part(draft, own.id, &places)?;
    trigger::become_part(draft, &own, &places)?;
    for key in record.primary_key.iter().map(|key| &key.name) {
        draft.free_name(key);
    }
    for index in &record.indexes {
        draft.free_name(&index.name);
    }
    let keys: Vec<ConstraintId> = (planner.catalog().foreign_keys_of(own.id))
        .map(|key| key.id)
        .collect();
    keys.into_iter().for_each(|key| draft.drop_foreign_key(key));
    divided.add(draft, (own.id, &own.schema, &own.name), &bound)?;
    let to = draft.table_to_be(divided.table.id)?;
    let value = |(number, column): (usize, &quintet_ir::ColumnDef)| match places.get(number) {
        Some(Some(place)) => Expr::Column(*place, column.ty),
        _ => match column.generated.as_ref().filter(|_| column.hidden) {
            Some(made) => in_own_columns(made, &to, &places),
            None => Expr::null(column.ty),
        },
    };
    draft.work(Work::Rewrite {
        from: TableRef::clone(&own),
        columns: to.columns.iter().enumerate().map(value).collect(),
        to: TableRef::clone(&to),
        rows: None,
        fresh: false,
    });
    let references = to
        .references
        .iter()
        .flat_map(|all| all.keys.iter().enumerate());
    let owned = references.filter(|(_, key)| key.child == 0);
    for number in owned.map(|(number, _)| number).collect::<Vec<_>>() {
        draft.work(Work::VerifyReferences {
            table: TableRef::clone(&to),
            key: number,
        });
    }
    draft.work(Work::DropSpaces(spaces_of(&own)));
    Ok(())
}

/// The leaves of a table, which may be divided itself: schema, name, and what a row fulfils that is in one.
fn leaves(own: &TableRef) -> Vec<(&str, &str, Option<Expr>)> {
    let Some(partitions) = &own.partitions else {
        return vec![(&own.schema, &own.name, None)];
    };
    let all = &partitions.all;
    let leaves = all.all_parts().into_iter();
    let leaves = leaves.filter(|part| part.inner.is_none());
    leaves
        .filter_map(|part| {
            let condition = all.condition_below(&all.path_to(part.id)?);
            Some((part.schema.as_str(), part.name.as_str(), Some(condition)))
        })
        .collect()
}

/// What is said of the divided table's columns, of those of the one that is attached.
fn in_own_columns(expr: &Expr, table: &TableDef, places: &[Option<usize>]) -> Expr {
    transform(expr, &mut |part| match part {
        Expr::Column(number, ty) => match places.get(*number) {
            Some(Some(place)) => Some(Expr::Column(*place, *ty)),
            _ => {
                let made = table.columns.get(*number)?.generated.as_ref()?;
                Some(in_own_columns(made, table, places))
            }
        },
        _ => None,
    })
}

/// How the attached table is divided itself is said of the other's columns from now on.
fn adopt_divisions(
    draft: &mut Draft,
    divided: &Divided,
    own: &TableRecord,
    places: &[Option<usize>],
) -> SqlResult<()> {
    let divisions = draft.planner.catalog().divisions();
    let parts = divisions.below(own.id);
    let mut record = divided.record.clone();
    for id in [own.id].into_iter().chain(parts.iter().map(|part| part.id)) {
        let Some(division) = divisions.partitioning(id) else {
            continue;
        };
        let mut division = PartitioningRecord::clone(division);
        for column in &mut division.columns {
            let there = places.iter().position(|place| *place == Some(*column));
            *column = match there {
                Some(there) => there,
                None => hidden::adopt(draft.planner, &mut record, own, *column)?,
            };
        }
        draft.put_partitioning(&division)?;
    }
    if record != divided.record {
        draft.put_table(&record)?;
    }
    Ok(())
}

/// Where the columns of the divided table are in the one that is attached. A hidden one need not be there.
///
/// # Errors
/// `42804` in PostgreSQL's words.
fn matching_columns(parent: &Divided, own: &TableRecord) -> SqlResult<Vec<Option<usize>>> {
    let divided = &parent.record;
    let wrong = |message: String| SqlError::new(SqlState::DATATYPE_MISMATCH, message);
    let there = |record: &TableRecord, name: &str| {
        let mut columns = record.columns.iter().enumerate();
        columns.position(|(number, column)| {
            !column.dropped && !record.is_hidden(number) && column.name == name
        })
    };
    let named = |(number, column): &(usize, &crate::records::ColumnRecord)| {
        !column.dropped && !own.is_hidden(*number)
    };
    for (_, column) in own.columns.iter().enumerate().filter(named) {
        if there(divided, &column.name).is_none() {
            let message = format!(
                "table \"{}\" contains column \"{}\" not found in parent \"{}\"",
                own.name, column.name, parent.name
            );
            let detail = "The new partition may contain only the columns present in parent.";
            return Err(wrong(message).detail(detail));
        }
    }
    let mut places = Vec::with_capacity(divided.columns.len());
    for (number, column) in divided.columns.iter().enumerate() {
        if column.dropped {
            places.push(None);
            continue;
        }
        if divided.is_hidden(number) {
            let text = divided.generated(number);
            let same = |other: &usize| own.generated(*other) == text;
            let mut hidden = own.more.hidden.columns.iter().copied();
            places.push(hidden.find(|other| !own.columns[*other].dropped && same(other)));
            continue;
        }
        let name = &column.name;
        let Some(place) = there(own, name) else {
            return Err(wrong(format!("child table is missing column \"{name}\"")));
        };
        let other = &own.columns[place];
        let types = |column: &crate::records::ColumnRecord| format_type(column.ty, column.modifier);
        if types(column) != types(other) {
            return Err(wrong(format!(
                "child table \"{}\" has different type for column \"{name}\"",
                own.name
            )));
        }
        if column.not_null && !other.not_null {
            return Err(wrong(format!(
                "column \"{name}\" in child table must be marked NOT NULL"
            )));
        }
        match (divided.generated(number), own.generated(place)) {
            (Some(_), None) => {
                let message =
                    format!("column \"{name}\" in child table must be a generated column");
                return Err(wrong(message));
            }
            (None, Some(_)) => {
                let message =
                    format!("column \"{name}\" in child table must not be a generated column");
                return Err(wrong(message));
            }
            (Some(one), Some(other)) if one != other => {
                let message = format!(
                    "column \"{name}\" in child table has a conflicting generation expression"
                );
                return Err(wrong(message));
            }
            _ => {}
        }
        places.push(Some(place));
    }
    Ok(places)
}

/// Refuses what the table has for itself and would lose.
///
/// # Errors
/// `0A000`, and `42804` for a check that it lacks.
fn refuse_own(
    planner: &Planner,
    divided: &Divided,
    record: &TableRecord,
    own: &TableRef,
    places: &[Option<usize>],
) -> SqlResult<()> {
    let refuse = |what: &str| {
        Err(SqlError::unsupported(format!(
            "ATTACH PARTITION of a table {what}"
        )))
    };
    let catalog = planner.catalog();
    let parent = &divided.record;
    // What another column is made for is in no place of the table's own.
    let moved = |columns: &[usize]| -> Vec<Option<usize>> {
        columns.iter().map(|column| places[*column]).collect()
    };
    let same = |columns: &[usize], others: &[usize]| {
        let others: Vec<_> = others.iter().map(|column| Some(*column)).collect();
        moved(columns) == others
    };
    if let Some(key) = &record.primary_key
        && !parent
            .primary_key
            .iter()
            .any(|other| same(&other.columns, &key.columns))
    {
        return refuse("with a primary key that the other has not");
    }
    if !record.more.excluded.is_empty() {
        return refuse("with an exclusion constraint");
    }
    for index in &record.indexes {
        let has = |other: &IndexRecord| {
            let equal = parent.nulls_are_equal(other.id) || !record.nulls_are_equal(index.id);
            (other.unique && equal || !index.unique)
                && same(&other.columns, &index.columns)
                && parent.inverted(other) == record.inverted(index)
        };
        if !parent.indexes.iter().any(has) {
            return refuse("with an index that the other has not");
        }
    }
    for check in &record.checks {
        if !parent.checks.iter().any(|other| other.text == check.text) {
            return refuse("with a check that the other has not");
        }
    }
    for check in &parent.checks {
        if !record.checks.iter().any(|other| other.name == check.name) {
            let message = format!("child table is missing constraint \"{}\"", check.name);
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
        }
        let is_open = |table: &TableRecord| table.more.unvalidated.contains(&check.name);
        if is_open(record) && !is_open(parent) {
            let message = format!(
                "constraint \"{}\" conflicts with NOT VALID constraint on child table \"{}\"",
                check.name, record.name
            );
            return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        }
    }
    if catalog.foreign_keys_to(own.id).next().is_some() {
        return refuse("that others refer to");
    }
    for key in catalog.foreign_keys_of(own.id) {
        let has = |other: &ForeignKeyRecord| {
            other.parent == key.parent
                && other.parent_columns == key.parent_columns
                && same(&other.columns, &key.columns)
        };
        if !catalog.foreign_keys_of(parent.id).any(|other| has(other)) {
            return refuse("with a foreign key that the other has not");
        }
    }
    if !owned_sequences(catalog, own.id, None).is_empty() {
        return refuse("that owns a sequence");
    }
    for (number, place) in places.iter().enumerate() {
        let Some(place) = place else { continue };
        let default = &record.columns[*place].default;
        let parents = &parent.columns[number];
        if default.is_some() && *default != parents.default {
            if parents.default.is_some() {
                return refuse("with a default that the other has not");
            }
            // Files of pg_dump give the table its own afterwards.
            let message = format!(
                "default of column \"{}\" is given up: a partition has the defaults of its table",
                parents.name
            );
            planner.warning(SqlState::WARNING, message);
        }
    }
    Ok(())
}

fn detach(draft: &mut Draft, divided: &Divided, what: &PartitionCmd) -> SqlResult<()> {
    let planner = draft.planner;
    let catalog = planner.catalog();
    let relation = required(what.name.as_ref())?;
    if what.concurrent {
        return Err(planner.unsupported("DETACH PARTITION … CONCURRENTLY", relation.location));
    }
    let table = row_target(planner, relation)?;
    let id = table.relation();
    let part = catalog.divisions().part(id);
    let Some(part) = part.filter(|part| part.parent == divided.id).cloned() else {
        let message = format!(
            "relation \"{}\" is not a partition of relation \"{}\"",
            relation.relname, divided.name
        );
        return Err(SqlError::new(SqlState::UNDEFINED_TABLE, message));
    };
    planner.may_drop(table_object(id))?;
    let referring: Vec<ForeignKeyRecord> = (catalog.foreign_keys_to(divided.table.id))
        .map(|key| ForeignKeyRecord::clone(key))
        .collect();
    if referring.iter().any(|key| key.child == divided.table.id) {
        return Err(SqlError::unsupported(
            "DETACH PARTITION of a table that refers to itself",
        ));
    }
    divided.fence(draft)?;
    draft.drop_partition(&part);
    draft.take_name(&part.schema, &part.name)?;
    let record = own_record(draft, divided, &part.schema, &part.name, id)?;
    draft.put_table(&record)?;
    for key in catalog.foreign_keys_of(divided.table.id) {
        let own = ForeignKeyRecord {
            id: ConstraintId(draft.id()),
            child: id,
            ..(**key).clone()
        };
        draft.put_foreign_key(&own)?;
    }
    let to = draft.table_to_be(id)?;
    let columns = to.columns.iter().enumerate();
    let columns = columns.map(|(number, column)| match column.dropped {
        true => Expr::null(column.ty),
        false => Expr::Column(number, column.ty),
    });
    draft.work(Work::Rewrite {
        from: TableRef::clone(&divided.table),
        columns: columns.collect(),
        to: TableRef::clone(&to),
        rows: Some(divided.rows_of(id)?),
        fresh: true,
    });
    divided.remove_rows(draft, id)?;
    // Nothing may refer to a row that leaves.
    for key in referring {
        let child = draft.table_to_be(key.child)?;
        let all = child.references.iter().flat_map(|all| &all.keys);
        if let Some(number) = all.into_iter().position(|other| other.id == key.id) {
            draft.work(Work::VerifyReferences {
                table: child,
                key: number,
            });
        }
    }
    Ok(())
}

/// The record of the table that a partition becomes.
fn own_record(
    draft: &mut Draft,
    divided: &Divided,
    schema: &str,
    name: &str,
    id: quintet_base::TableId,
) -> SqlResult<TableRecord> {
    let mut record = divided.record.clone();
    record.id = id;
    record.revision = 1;
    record.schema = schema.to_string();
    record.name = name.to_string();
    draft.renew_spaces(&mut record);
    for column in &mut record.columns {
        column.missing = None;
        // The numbers stay the other table's.
        if column.identity.take().is_some() {
            column.default = None;
        }
    }
    if let Some(KeyRecord { name: own, .. }) = &mut record.primary_key {
        *own = draft.make_name(schema, name, &[], "pkey");
    }
    let indexes = record.indexes.iter();
    let called: Vec<Vec<String>> = indexes
        .map(|index| index_column_names(&record, index))
        .collect();
    let more = &mut record.more;
    let primary = |table| IndexId(primary_key_oid(table));
    more.renumber(primary(divided.table.id), primary(id));
    for (index, columns) in record.indexes.iter_mut().zip(&called) {
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let suffix = if index.constraint { "key" } else { "idx" };
        index.name = draft.make_name(schema, name, &columns, suffix);
        let fresh = IndexId(draft.id());
        more.renumber(index.id, fresh);
        index.id = fresh;
    }
    Ok(record)
}
