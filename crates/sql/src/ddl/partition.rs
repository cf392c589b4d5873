//! Partitions: made, dropped, emptied.
//!
//! Relies on: `ir::partition`; all rows of a table live in its one space ([decision 52]).  Promises: every row of a divided
//! table belongs to one of its partitions; bounds do not overlap; what leaves with a partition leaves in the transaction
//! of the change.  Does not: columns or constraints of one partition (0A000).
//!
//! A partition may be divided itself. Then it is a [`Divided`] like the table: a node of the tree below it.
//!
//! | file | what |
//! |---|---|
//! | here | PARTITION BY, PARTITION OF, DROP TABLE, TRUNCATE |
//! | `bound` | FOR VALUES … |
//! | `attach` | ATTACH and DETACH |
//! | `index` | keys and indexes of one partition |
//! | `key` | PARTITION BY |
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
mod key;

pub(super) use attach::{alter, refuse_inherited};
pub(crate) use key::check_keys;
pub(super) use key::{divide, refuse_key_column};

use super::foreign_key::{self, Going};
use super::table::refuse_storage;
use super::{creation_schema, record_of, there_already, view};
use crate::catalog::Relation;
use crate::command::Planned;
use crate::draft::{Draft, spaces_of};
use crate::from::{From, find_named, row_target, split};
use crate::join::join;
use crate::names::{inner, required};
use crate::partition::{PartitionRecord, bound_record};
use crate::planner::Planner;
use crate::records::TableRecord;
use pg_query::NodeEnum;
use pg_query::protobuf::{CreateStmt, OnCommitAction, RangeVar};
use quintet_base::{SqlError, SqlResult, SqlState, TableId};
use quintet_ir::ddl::Work;
use quintet_ir::partition::{Bound, Method, Partitioning};
use quintet_ir::schema::{TableDef, TableRef};
use quintet_ir::{Access, Expr, Path, Plan};

/// A table that is divided, or a partition that is, with how.
pub(super) struct Divided {
    /// The table that has the rows, whole.
    pub table: TableRef,
    /// Its record.
    pub record: TableRecord,
    /// The number of what is divided.
    pub id: TableId,
    /// Its name.
    pub name: String,
    /// The way down to it from the table.
    pub path: Vec<usize>,
    /// How it is divided.
    pub all: std::sync::Arc<Partitioning>,
}

impl Divided {
    /// # Errors
    /// As [`row_target`]; `42P17` for a table that is not divided.
    fn named(planner: &Planner, relation: &RangeVar) -> SqlResult<Divided> {
        let found = row_target(planner, relation)?;
        Divided::of(planner, found.relation())?.ok_or_else(|| {
            SqlError::new(
                SqlState::INVALID_OBJECT_DEFINITION,
                format!("\"{}\" is not partitioned", relation.relname),
            )
        })
    }

    /// What this partition is one of.
    fn of_part(planner: &Planner, part: &PartitionRecord) -> SqlResult<Divided> {
        let missing = || SqlError::internal("a partition without its table");
        Divided::of(planner, part.parent)?.ok_or_else(missing)
    }

    /// What has this number, if it is divided.
    fn of(planner: &Planner, id: TableId) -> SqlResult<Option<Divided>> {
        let catalog = planner.catalog();
        let Some(node) = catalog.rows_of(id) else {
            return Ok(None);
        };
        let (Some(partitions), Some(table)) = (&node.partitions, catalog.table_by_id(node.id))
        else {
            return Ok(None);
        };
        let Some(all) = partitions.division() else {
            return Ok(None);
        };
        Ok(Some(Divided {
            record: record_of(planner, table)?,
            table: TableRef::clone(table),
            id,
            name: node.name.clone(),
            path: partitions.path.clone(),
            all: std::sync::Arc::clone(all),
        }))
    }

    /// What a row fulfils that belongs here; `None`: every row of the table does.
    fn condition(&self) -> Option<Expr> {
        let whole = &self.table.partitions.as_ref()?.all;
        (!self.path.is_empty()).then(|| whole.condition_below(&self.path))
    }

    /// What a row of this bound here fulfils, and of what is above.
    fn within(&self, bound: &Bound) -> Expr {
        let own = match bound {
            Bound::Default => {
                let others = self.all.parts.iter().map(|part| &part.bound);
                let is_default = |bound: &&Bound| matches!(bound, Bound::Default);
                self.all.outside(others.filter(|bound| !is_default(bound)))
            }
            bound => self.all.within(bound),
        };
        match self.condition() {
            None => own,
            Some(above) => Expr::And(vec![above, own]),
        }
    }

    /// The rows of a partition.
    fn rows_of(&self, id: TableId) -> SqlResult<Plan> {
        let missing = || SqlError::internal("a partition of no table");
        let whole = self.table.partitions.as_ref().ok_or_else(missing)?;
        let path = whole.all.path_to(id).ok_or_else(missing)?;
        rows_where(&self.table, whole.all.condition_below(&path))
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
            rows: rows_where(&self.table, self.within(bound))?,
            error: violated(&default.schema, &default.name, message),
        });
        Ok(())
    }

    /// Adds a partition.
    fn add(&self, draft: &mut Draft, part: (TableId, &str, &str), bound: &Bound) -> SqlResult<()> {
        let (id, schema, name) = part;
        draft.put_partition(&PartitionRecord {
            id,
            parent: self.id,
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
        kept_after: None,
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
    planner.must_own_table(divided.id)?;
    let spec = required(statement.partbound.as_ref())?;
    let bound = bound::read(planner, &divided, spec, name)?;
    let mut draft = Draft::new(planner);
    draft.make_in(schema);
    draft.take_name(schema, name)?;
    let id = draft.table_id();
    if let Some(spec) = &statement.partspec {
        let mut record = divided.record.clone();
        divide(&mut draft, &mut record, id, spec)?;
        draft.put_table(&record)?;
    }
    divided.fence(&mut draft)?;
    divided.clear_default(&mut draft, &bound)?;
    divided.add(&mut draft, (id, schema, name), &bound)?;
    draft.finish(TAG)
}

fn refuse_clauses(planner: &Planner, statement: &CreateStmt, relation: &RangeVar) -> SqlResult<()> {
    let what = if relation.relpersistence == "t" {
        "CREATE TEMPORARY TABLE"
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
    let catalog = planner.catalog();
    let what = format!("table {}", part.name);
    view::release(draft, &what, id, None, cascade, together)?;
    for below in catalog.divisions().below(id) {
        let what = format!("table {}", below.name);
        view::release(draft, &what, below.id, None, cascade, together)?;
    }
    let mut above = Some(&part);
    while let Some(part) = above {
        if together.contains(&part.parent) {
            return Ok(()); // with all of that
        }
        above = catalog.divisions().part(part.parent);
    }
    let divided = Divided::of_part(planner, &part)?;
    let as_it_is_called = TableRecord {
        name: part.name.clone(),
        ..divided.record.clone()
    };
    foreign_key::release(draft, &as_it_is_called, &Going::Table, cascade, together)?;
    divided.fence(draft)?;
    divided.remove_rows(draft, id)?;
    draft.drop_partition(&part);
    draft.forget_security(id);
    draft.drop_triggers(id);
    draft.drop_division(id);
    Ok(())
}

/// Sees to it that no view uses a partition of a table that goes.
pub(super) fn release(
    draft: &mut Draft,
    table: &TableDef,
    cascade: bool,
    together: &[TableId],
) -> SqlResult<()> {
    for part in table.partitions.iter().flat_map(|all| all.all.all_parts()) {
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
    if let Some(key) = catalog.foreign_keys_to(catalog.divisions().root(id)).next() {
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

/// The word for a method in messages.
fn word(method: Method) -> &'static str {
    match method {
        Method::Range => "range",
        Method::List => "list",
        Method::Hash => "hash",
    }
}
