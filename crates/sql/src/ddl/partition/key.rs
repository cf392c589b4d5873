//! PARTITION BY: the key that a table or a partition is divided by.
//!
//! Relies on: `hidden`, which keeps a column for each expression.  Promises: PostgreSQL's checks in its words; a key consists of
//! columns of the table that has the rows, hidden ones for expressions, so that whoever reads a row knows its key; no column of a
//! key is changed or dropped, and each unique key of the table has them all.  Does not: operator classes and collations other than
//! a type's own (0A000).

use crate::catalog::Catalog;
use crate::ddl::constraint::{refuse_key_type, scope_of};
use crate::ddl::table::SYSTEM_COLUMNS;
use crate::ddl::{hidden, words};
use crate::draft::Draft;
use crate::names::{self, inner};
use crate::partition::PartitioningRecord;
use crate::planner::Planner;
use crate::records::TableRecord;
use crate::system::{ClassFor, class_for, collation_of, has_class};
use pg_query::NodeEnum;
use pg_query::protobuf::{Node, PartitionElem, PartitionSpec, PartitionStrategy};
use quintet_base::{SqlError, SqlResult, SqlState, TableId};
use quintet_ir::partition::{Partitioning, is_hashable};
use quintet_ir::schema::TableDef;

/// Most columns of a key, as in PostgreSQL.
const KEY_COLUMNS_MAX: usize = 32;

/// Divides a new table, or a new partition of a table with this record. The columns are complete; hidden ones may come.
///
/// # Errors
/// `42703` for what is no column, `42P17` for a key that cannot be one, `0A000` for what is missing here.
pub(in crate::ddl) fn divide(
    draft: &mut Draft,
    record: &mut TableRecord,
    id: TableId,
    spec: &PartitionSpec,
) -> SqlResult<()> {
    let planner = draft.planner;
    let method = match spec.strategy() {
        PartitionStrategy::List => 'l',
        PartitionStrategy::Range => 'r',
        PartitionStrategy::Hash => 'h',
        PartitionStrategy::Undefined => {
            return Err(SqlError::internal("PARTITION BY nothing"));
        }
    };
    if method == 'l' && spec.part_params.len() > 1 {
        return Err(SqlError::new(
            SqlState::INVALID_OBJECT_DEFINITION,
            "cannot use \"list\" partition strategy with more than one column",
        ));
    }
    if spec.part_params.len() > KEY_COLUMNS_MAX {
        return Err(SqlError::new(
            SqlState::TOO_MANY_COLUMNS,
            format!("cannot partition using more than {KEY_COLUMNS_MAX} columns"),
        ));
    }
    let column = |node: &Node| match inner(node) {
        Some(NodeEnum::PartitionElem(element)) => key_column(planner, record, method, element),
        _ => Err(SqlError::internal("a partition key of nothing")),
    };
    let columns: SqlResult<Vec<usize>> = spec.part_params.iter().map(column).collect();
    let columns = columns?;
    let types = columns.iter().map(|column| record.columns[*column].ty);
    if let Some(ty) = types
        .into_iter()
        .find(|ty| method == 'h' && !is_hashable(*ty))
    {
        let what = format!("a hash of type {ty} as a partition key");
        return Err(planner.unsupported(what, spec.location));
    }
    draft.put_partitioning(&PartitioningRecord {
        table: id,
        method,
        columns,
    })
}

fn key_column(
    planner: &Planner,
    record: &mut TableRecord,
    method: char,
    element: &PartitionElem,
) -> SqlResult<usize> {
    let location = element.location;
    let number = match element.expr.as_deref() {
        Some(node) => expression(planner, record, node, location)?,
        None => named(planner, record, &element.name, location)?,
    };
    let collation = names::strings(&element.collation);
    let ty = record.columns[number].ty;
    if !collation.is_empty() && collation_of(ty) == 0 {
        let message = format!("collations are not supported by type {ty}");
        return Err(planner.error(SqlState::DATATYPE_MISMATCH, message, location));
    }
    if !matches!(collation.last(), None | Some(&("C" | "POSIX" | "default"))) {
        return Err(planner.unsupported("a collation in a partition key", location));
    }
    let is_generated =
        |column: usize| record.generated(column).is_some() && !record.is_hidden(column);
    if is_generated(number) {
        return Err(generated(planner, record, number, location));
    }
    refuse_key_type(planner, record, number, location)?;
    let access = if method == 'h' { "hash" } else { "btree" };
    if element.opclass.is_empty() && !has_class(access, ty) {
        let message =
            format!("data type {ty} has no default operator class for access method \"{access}\"");
        return Err(
            SqlError::new(SqlState::UNDEFINED_OBJECT, message).hint(format!(
                "You must specify a {access} operator class or define a default {access} operator \
             class for the data type."
            )),
        );
    }
    if let Some(name) = words(&element.opclass).last() {
        match class_for(access, name, ty) {
            // Text compares by bytes here anyway.
            ClassFor::Own => {}
            ClassFor::Other if name == "varchar_ops" => {}
            ClassFor::Other => {
                return Err(planner.unsupported("an operator class in a partition key", location));
            }
            ClassFor::AnotherType => {
                return Err(SqlError::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!("operator class \"{name}\" does not accept data type {ty}"),
                ));
            }
            ClassFor::Unknown => {
                return Err(SqlError::new(
                    SqlState::UNDEFINED_OBJECT,
                    format!(
                        "operator class \"{name}\" does not exist for access method \"{access}\""
                    ),
                ));
            }
        }
    }
    Ok(number)
}

/// A column of that name.
fn named(planner: &Planner, record: &TableRecord, name: &str, location: i32) -> SqlResult<usize> {
    let found = record
        .columns
        .iter()
        .enumerate()
        .position(|(number, column)| {
            !column.dropped && !record.is_hidden(number) && column.name == *name
        });
    found.ok_or_else(|| match SYSTEM_COLUMNS.contains(&name) {
        true => {
            let message = format!("cannot use system column \"{name}\" in partition key");
            planner.error(SqlState::INVALID_OBJECT_DEFINITION, message, location)
        }
        false => {
            let message = format!("column \"{name}\" named in partition key does not exist");
            planner.error(SqlState::UNDEFINED_COLUMN, message, location)
        }
    })
}

/// The hidden column of an expression; a column in parentheses is itself.
fn expression(
    planner: &Planner,
    record: &mut TableRecord,
    node: &Node,
    location: i32,
) -> SqlResult<usize> {
    let wrong =
        |message: &str| planner.error(SqlState::INVALID_OBJECT_DEFINITION, message, location);
    let scope = scope_of(record);
    let (number, used) = hidden::key(planner, &scope, record, node, |problem| match problem {
        hidden::Problem::Constant => wrong("cannot use constant expression as partition key"),
        hidden::Problem::Changing => {
            let message = "functions in partition key expression must be marked IMMUTABLE";
            SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message)
        }
    })?;
    let made = |column: &&usize| record.generated(**column).is_some();
    match used.iter().find(made).filter(|_| record.is_hidden(number)) {
        Some(column) => Err(generated(planner, record, *column, location)),
        None => Ok(number),
    }
}

fn generated(planner: &Planner, record: &TableRecord, column: usize, location: i32) -> SqlError {
    let name = &record.columns[column].name;
    let message = "cannot use generated column in partition key";
    planner
        .error(SqlState::INVALID_OBJECT_DEFINITION, message, location)
        .detail(format!("Column \"{name}\" is a generated column."))
}

/// Refuses to change or drop a column of a partition key.
///
/// # Errors
/// `42P16`.
pub(in crate::ddl) fn refuse_key_column(
    table: &TableDef,
    number: usize,
    doing: &str,
) -> SqlResult<()> {
    let is_key = |column: usize| {
        let mut used = Vec::new();
        if let Some(made) =
            (table.columns[column].generated.as_ref()).filter(|_| table.columns[column].hidden)
        {
            made.collect_columns(&mut used);
        }
        column == number || used.contains(&number)
    };
    let has = |all: &Partitioning| all.columns.iter().any(|(column, _)| is_key(*column));
    let found = divisions(table).into_iter().find(|(_, all)| has(all));
    let Some((name, _)) = found else {
        return Ok(());
    };
    Err(SqlError::new(
        SqlState::INVALID_TABLE_DEFINITION,
        format!(
            "cannot {doing} column \"{}\" because it is part of the partition key of relation \"{}\"",
            table.columns[number].name, name
        ),
    ))
}

/// How a table and each of its partitions is divided, with the names of both.
fn divisions(table: &TableDef) -> Vec<(&str, &Partitioning)> {
    let Some(partitions) = &table.partitions else {
        return Vec::new();
    };
    let parts = partitions.all.all_parts().into_iter();
    let inner = parts.filter_map(|part| Some((part.name.as_str(), &**part.inner.as_ref()?)));
    [(table.name.as_str(), &*partitions.all)]
        .into_iter()
        .chain(inner)
        .collect()
}

/// Refuses a unique key without the whole partition key in a catalogue to be: a partition could not see to it alone, and files
/// that are loaded elsewhere must mean the same there.
///
/// # Errors
/// `0A000` in PostgreSQL's words.
pub(crate) fn check_keys(planner: &Planner, next: &Catalog) -> SqlResult<()> {
    for table in next.tables() {
        if table.partitions.is_none() {
            continue;
        }
        let known = planner.catalog().table_by_id(table.id);
        if known.is_some_and(|known| known.revision == table.revision) {
            continue;
        }
        if table.indexes.iter().any(|index| index.excludes.is_some()) {
            return Err(SqlError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "exclusion constraints are not supported on partitioned tables",
            ));
        }
        let primary = table.primary_key.iter();
        let primary = primary.map(|key| ("PRIMARY KEY", &key.columns));
        let unique = table.indexes.iter().filter(|index| index.is_unique());
        let keys: Vec<_> = primary
            .chain(unique.map(|index| ("UNIQUE", &index.columns)))
            .collect();
        let each = divisions(table)
            .into_iter()
            .flat_map(|division| keys.iter().map(move |key| (division, key)));
        for ((name, division), (kind, key)) in each {
            let columns = || division.columns.iter().map(|(column, _)| *column);
            if columns().any(|column| table.columns[column].hidden) {
                return Err(SqlError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("unsupported {kind} constraint with partition key definition"),
                )
                .detail(format!(
                    "{kind} constraints cannot be used when partition keys include expressions."
                )));
            }
            if let Some(column) = columns().find(|c| !key.contains(c)) {
                return Err(SqlError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "unique constraint on partitioned table must include all partitioning columns",
                )
                .detail(format!(
                    "{kind} constraint on table \"{}\" lacks column \"{}\" which is part of the \
                     partition key.",
                    name, table.columns[column].name
                )));
            }
        }
    }
    Ok(())
}
