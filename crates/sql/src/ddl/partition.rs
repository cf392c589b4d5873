//! Partitions: made, dropped, emptied.
//!
//! Relies on: `ir::partition`; all rows of a table live in its one space ([decision 52]).  Promises: every row of a divided
//! table belongs to one of its partitions; bounds do not overlap; what leaves with a partition leaves in the transaction
//! of the change.  Does not: expressions as keys, partitions of partitions, columns or constraints of one partition (0A000).
//!
//! | file | what |
//! |---|---|
//! | here | PARTITION BY, PARTITION OF, DROP TABLE, TRUNCATE |
//! | `bound` | FOR VALUES … |
//! | `attach` | ATTACH and DETACH |
//! | `index` | keys and indexes of one partition |
//!
//! ```text
//! new partition:   Fence(table)   Refuse(rows of the default one that belong to it)   record
//! DROP, TRUNCATE:  Fence(table)   Remove(rows)                                        [record]
//! ```
//! Whoever has planned a write before the change does not know who takes the row: the fence makes it plan again.
//!
//! [decision 52]: ../../../../docs/decisions/0052-a-partition-is-a-part-of-one-table.md

mod attach;
mod bound;
pub(super) mod index;

pub(super) use attach::alter;

use super::constraint::refuse_key_type;
use super::table::refuse_storage;
use super::{creation_schema, record_of, there_already, view};
use crate::catalog::{Catalog, Relation};
use crate::command::Planned;
use crate::draft::{Draft, spaces_of};
use crate::from::{From, find_named, row_target, split};
use crate::join::join;
use crate::names::{self, inner, required};
use crate::partition::{PartitionRecord, PartitioningRecord, bound_record};
use crate::planner::Planner;
use crate::records::TableRecord;
use pg_query::NodeEnum;
use pg_query::protobuf::{
    CreateStmt, Node, OnCommitAction, PartitionElem, PartitionSpec, PartitionStrategy, RangeVar,
};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TableId};
use quintet_ir::ddl::Work;
use quintet_ir::partition::{Bound, Method, Partitioning, is_hashable};
use quintet_ir::schema::{TableDef, TableRef};
use quintet_ir::{Access, Expr, Path, Plan};

/// Most columns of a key, as in PostgreSQL.
const KEY_COLUMNS_MAX: usize = 32;

/// Divides a new table. Its columns are complete.
///
/// # Errors
/// `42703` for what is no column, `42P17` for a key that cannot be one, `0A000` for what is missing here.
pub(super) fn divide(
    draft: &mut Draft,
    record: &TableRecord,
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
        Some(NodeEnum::PartitionElem(element)) => key_column(planner, record, element),
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
        table: record.id,
        method,
        columns,
    })
}

fn key_column(
    planner: &Planner,
    record: &TableRecord,
    element: &PartitionElem,
) -> SqlResult<usize> {
    let location = element.location;
    if element.expr.is_some() {
        return Err(planner.unsupported("an expression in a partition key", location));
    }
    let other_class = !element.opclass.is_empty();
    let collation = names::strings(&element.collation);
    let other_order = !matches!(collation.last(), None | Some(&("C" | "POSIX" | "default")));
    if other_class || other_order {
        let what = "an operator class or collation in a partition key";
        return Err(planner.unsupported(what, location));
    }
    let name = &element.name;
    let mut columns = record.columns.iter();
    let found = columns.position(|column| !column.dropped && column.name == *name);
    let Some(number) = found else {
        let message = format!("column \"{name}\" named in partition key does not exist");
        return Err(planner.error(SqlState::UNDEFINED_COLUMN, message, location));
    };
    if record.generated(number).is_some() {
        let message = "cannot use generated column in partition key";
        return Err(planner
            .error(SqlState::INVALID_OBJECT_DEFINITION, message, location)
            .detail(format!("Column \"{name}\" is a generated column.")));
    }
    refuse_key_type(planner, record, number, location)?;
    if record.columns[number].ty == SqlType::Json {
        let message = "data type json has no default operator class for access method \"btree\"";
        return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
    }
    Ok(number)
}

/// A table that is divided, with how.
pub(super) struct Divided {
    pub table: TableRef,
    pub record: TableRecord,
    pub all: std::sync::Arc<Partitioning>,
}

impl Divided {
    /// # Errors
    /// As [`row_target`]; `42P17` for a table that is not divided.
    fn named(planner: &Planner, relation: &RangeVar) -> SqlResult<Divided> {
        let table = row_target(planner, relation)?;
        let divided = match &table.partitions {
            Some(partitions) if partitions.only.is_none() => std::sync::Arc::clone(&partitions.all),
            _ => {
                return Err(SqlError::new(
                    SqlState::INVALID_OBJECT_DEFINITION,
                    format!("\"{}\" is not partitioned", relation.relname),
                ));
            }
        };
        Ok(Divided {
            record: record_of(planner, &table)?,
            table,
            all: divided,
        })
    }

    /// The table whose partition this is.
    fn of_part(planner: &Planner, part: &PartitionRecord) -> SqlResult<Divided> {
        let catalog = planner.catalog();
        let missing = || SqlError::internal("a partition without its table");
        let table = catalog.table_by_id(part.parent).ok_or_else(missing)?;
        let all = table.partitions.as_ref().ok_or_else(missing)?;
        Ok(Divided {
            record: record_of(planner, table)?,
            table: TableRef::clone(table),
            all: std::sync::Arc::clone(&all.all),
        })
    }

    /// The rows of a partition.
    fn rows_of(&self, id: TableId) -> SqlResult<Plan> {
        let number = self.all.parts.iter().position(|part| part.id == id);
        let number = number.ok_or_else(|| SqlError::internal("a partition of no table"))?;
        rows_where(&self.table, self.all.condition(number))
    }

    /// Has whoever writes to the table plan again, after what else the change makes of the table.
    fn fence(&self, draft: &mut Draft) -> SqlResult<()> {
        let mut record = match draft.changed_table(self.table.id)? {
            Some(changed) => changed,
            None => self.record.clone(),
        };
        record.revision += 1;
        draft.put_table(&record)?;
        draft.work(Work::Fence(spaces_of(&self.table)));
        Ok(())
    }

    /// Refuses a bound that takes rows which the default partition has.
    fn clear_default(&self, draft: &mut Draft, bound: &Bound) -> SqlResult<()> {
        let Some(default) = self.all.default() else {
            return Ok(());
        };
        let default = &self.all.parts[default];
        let message = format!(
            "updated partition constraint for default partition \"{}\" would be violated by some row",
            default.name
        );
        draft.work(Work::Refuse {
            table: TableRef::clone(&self.table),
            rows: rows_where(&self.table, self.all.within(bound))?,
            error: violated(&default.schema, &default.name, message),
        });
        Ok(())
    }

    /// Adds a partition.
    fn add(&self, draft: &mut Draft, part: (TableId, &str, &str), bound: &Bound) -> SqlResult<()> {
        let (id, schema, name) = part;
        draft.put_partition(&PartitionRecord {
            id,
            parent: self.table.id,
            schema: schema.to_string(),
            name: name.to_string(),
            bound: bound_record(bound, &self.all.columns),
        })
    }

    /// Takes away the rows of a partition.
    fn remove_rows(&self, draft: &mut Draft, id: TableId) -> SqlResult<()> {
        let rows = self.rows_of(id)?;
        draft.work(Work::Remove {
            table: TableRef::clone(&self.table),
            rows,
        });
        Ok(())
    }
}

/// The rows of a table for which a condition is true, whole, by its keys where these lead to them.
fn rows_where(table: &TableRef, condition: Expr) -> SqlResult<Plan> {
    let mut from = From::of_table(table, &table.name, true);
    split(condition.clone(), &mut from.conditions);
    // What does not stay a lone scan has another frame.
    if let plan @ Plan::Scan(_) = join(&from.leaves, from.conditions, None, None)?.plan {
        return Ok(plan);
    }
    Ok(Plan::Scan(Access {
        table: TableRef::clone(table),
        path: Path::Full,
        filter: Some(condition),
        reverse: false,
        offset: 0,
        needed: None,
    }))
}

/// `23514` about a relation.
fn violated(schema: &str, table: &str, message: String) -> SqlError {
    SqlError::new(SqlState::CHECK_VIOLATION, message).about(quintet_base::error::ErrorObject {
        schema: Some(schema.to_string()),
        table: Some(table.to_string()),
        column: None,
        constraint: None,
        data_type: None,
    })
}

/// CREATE TABLE … PARTITION OF.
pub(super) fn create(planner: &Planner, statement: &CreateStmt) -> SqlResult<Planned> {
    const TAG: &str = "CREATE TABLE";
    let relation = required(statement.relation.as_ref())?;
    let schema = creation_schema(planner, relation)?;
    let name = relation.relname.as_str();
    if statement.if_not_exists
        && let Some(planned) = there_already(planner, (schema, name), TAG)
    {
        return Ok(planned);
    }
    refuse_clauses(planner, statement, relation)?;
    let parent = match statement.inh_relations.as_slice() {
        [one] => match inner(one) {
            Some(NodeEnum::RangeVar(parent)) => parent,
            _ => return Err(SqlError::internal("PARTITION OF nothing")),
        },
        _ => return Err(SqlError::internal("PARTITION OF several tables")),
    };
    let divided = Divided::named(planner, parent).map_err(SqlError::nowhere)?;
    planner.must_own_table(divided.table.id)?;
    let spec = required(statement.partbound.as_ref())?;
    let bound = bound::read(planner, &divided, spec, name)?;
    let mut draft = Draft::new(planner);
    draft.take_name(schema, name)?;
    let id = draft.table_id();
    divided.fence(&mut draft)?;
    divided.clear_default(&mut draft, &bound)?;
    divided.add(&mut draft, (id, schema, name), &bound)?;
    draft.finish(TAG)
}

fn refuse_clauses(planner: &Planner, statement: &CreateStmt, relation: &RangeVar) -> SqlResult<()> {
    let what = if relation.relpersistence == "t" {
        "CREATE TEMPORARY TABLE"
    } else if statement.partspec.is_some() {
        "a partition that is partitioned itself (PARTITION OF … PARTITION BY)"
    } else if !statement.table_elts.is_empty()
        || !statement.constraints.is_empty()
        || !statement.nnconstraints.is_empty()
    {
        "columns or constraints of one partition"
    } else if !matches!(
        statement.oncommit(),
        OnCommitAction::OncommitNoop | OnCommitAction::Undefined
    ) {
        "ON COMMIT"
    } else {
        return refuse_storage(
            planner,
            relation,
            &statement.tablespacename,
            &statement.access_method,
        );
    };
    Err(planner.unsupported(what, relation.location))
}

/// DROP TABLE of a partition: its rows go with it.
///
/// # Errors
/// `2BP01` if views or foreign keys need it.
pub(super) fn drop(
    draft: &mut Draft,
    id: TableId,
    cascade: bool,
    together: &[TableId],
) -> SqlResult<()> {
    let planner = draft.planner;
    let Some(part) = planner.catalog().divisions().part(id).cloned() else {
        return Ok(());
    };
    let what = format!("table {}", part.name);
    view::release(draft, &what, id, None, cascade, together)?;
    if together.contains(&part.parent) {
        return Ok(()); // with all of the table
    }
    let divided = Divided::of_part(planner, &part)?;
    let catalog = planner.catalog();
    if let Some(key) = catalog.foreign_keys_to(part.parent).next() {
        if cascade {
            return Err(SqlError::unsupported(
                "DROP … CASCADE of a partition of a table that others refer to",
            ));
        }
        let child = catalog
            .table_by_id(key.child)
            .map_or("", |child| &child.name);
        return Err(SqlError::new(
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop {what} because other objects depend on it"),
        )
        .detail(format!(
            "constraint {} on table {child} depends on {what}",
            key.name
        ))
        .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    divided.fence(draft)?;
    divided.remove_rows(draft, id)?;
    draft.drop_partition(&part);
    draft.forget_security(id);
    Ok(())
}

/// Sees to it that no view uses a partition of a table that goes.
pub(super) fn release(
    draft: &mut Draft,
    table: &TableDef,
    cascade: bool,
    together: &[TableId],
) -> SqlResult<()> {
    for part in table.partitions.iter().flat_map(|all| &all.all.parts) {
        let what = format!("table {}", part.name);
        view::release(draft, &what, part.id, None, cascade, together)?;
    }
    Ok(())
}

/// TRUNCATE of a partition.
///
/// # Errors
/// `0A000` if others refer to its table.
pub(super) fn truncate(draft: &mut Draft, id: TableId) -> SqlResult<()> {
    let planner = draft.planner;
    let catalog = planner.catalog();
    let Some(part) = catalog.divisions().part(id) else {
        return Ok(());
    };
    if let Some(key) = catalog.foreign_keys_to(part.parent).next() {
        let child = catalog
            .table_by_id(key.child)
            .map_or("", |child| &child.name);
        return Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "cannot truncate a table referenced in a foreign key constraint",
        )
        .detail(format!("Table \"{child}\" references \"{}\".", part.name))
        .hint(format!(
            "Truncate table \"{child}\" at the same time, or use TRUNCATE ... CASCADE."
        )));
    }
    let divided = Divided::of_part(planner, part)?;
    divided.fence(draft)?;
    divided.remove_rows(draft, id)
}

/// Whether a name stands for a partition.
pub(super) fn named_part(planner: &Planner, relation: &RangeVar) -> SqlResult<Option<TableId>> {
    Ok(match find_named(planner, relation)? {
        Some(Relation::Partition(id)) => Some(id),
        _ => None,
    })
}

/// Refuses to change or drop a column of a partition key.
///
/// # Errors
/// `42P16`.
pub(super) fn refuse_key_column(table: &TableDef, number: usize, doing: &str) -> SqlResult<()> {
    let mut key = table.partitions.iter().flat_map(|all| &all.all.columns);
    if !key.any(|(column, _)| *column == number) {
        return Ok(());
    }
    Err(SqlError::new(
        SqlState::INVALID_TABLE_DEFINITION,
        format!(
            "cannot {doing} column \"{}\" because it is part of the partition key of relation \"{}\"",
            table.columns[number].name, table.name
        ),
    ))
}

/// Refuses a unique key without the whole partition key in a catalogue to be: a partition could not see to it alone, and files
/// that are loaded elsewhere must mean the same there.
///
/// # Errors
/// `0A000` in PostgreSQL's words.
pub(crate) fn check_keys(planner: &Planner, next: &Catalog) -> SqlResult<()> {
    for table in next.tables() {
        let Some(partitions) = &table.partitions else {
            continue;
        };
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
        for (kind, key) in primary.chain(unique.map(|index| ("UNIQUE", &index.columns))) {
            let columns = partitions.all.columns.iter();
            let lacks = columns
                .map(|(column, _)| *column)
                .find(|c| !key.contains(c));
            if let Some(column) = lacks {
                return Err(SqlError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "unique constraint on partitioned table must include all partitioning columns",
                )
                .detail(format!(
                    "{kind} constraint on table \"{}\" lacks column \"{}\" which is part of the \
                     partition key.",
                    table.name, table.columns[column].name
                )));
            }
        }
    }
    Ok(())
}

/// The word for a method in messages.
fn word(method: Method) -> &'static str {
    match method {
        Method::Range => "range",
        Method::List => "list",
        Method::Hash => "hash",
    }
}
