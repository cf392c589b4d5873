//! Forms of ALTER that are accepted and change nothing: STATISTICS, STORAGE, LOGGED, CLUSTER and storage parameters of indexes, sequences
//! and views.
//!
//! Relies on: the catalogue.  Promises: the relation is there, is what the statement calls it, has what the form is about, and is the
//! user's; a form that PostgreSQL has not for this kind of relation is `42809`.  Does not: change anything.

use super::super::storage_options;
use crate::catalog::Relation;
use crate::from::find_named;
use crate::insert::column_number;
use crate::names::{self, inner};
use crate::planner::Planner;
use crate::system;
use pg_query::NodeEnum;
use pg_query::protobuf::{AlterTableCmd, AlterTableStmt, AlterTableType, RangeVar};
use quintet_base::{SqlError, SqlResult, SqlState, TableId};
use quintet_ir::{Object, ObjectKind};

/// Commands that are accepted and change nothing here.
pub(super) fn is_ignored(kind: AlterTableType, tag: &str) -> bool {
    use AlterTableType::*;
    let of_table = tag == "ALTER TABLE" && matches!(kind, AtSetRelOptions | AtResetRelOptions);
    !of_table
        && matches!(
            kind,
            AtSetStatistics
                | AtSetStorage
                | AtSetCompression
                | AtSetLogged
                | AtSetUnLogged
                | AtSetRelOptions
                | AtResetRelOptions
                | AtSetOptions
                | AtResetOptions
                | AtClusterOn
                | AtDropCluster
                | AtReplicaIdentity
        )
}

/// What a relation is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Table,
    View,
    Matview,
    Index,
    Sequence,
}

impl Kind {
    fn of(planner: &Planner, relation: Relation) -> Kind {
        match relation {
            Relation::Table(id) if planner.catalog().matview(id).is_some() => Kind::Matview,
            Relation::Table(_) | Relation::Partition(_) => Kind::Table,
            Relation::View(_) => Kind::View,
            Relation::Index(..) | Relation::PrimaryKey(_) => Kind::Index,
            Relation::Sequence(_) => Kind::Sequence,
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Kind::Table => "tables",
            Kind::View => "views",
            Kind::Matview => "materialized views",
            Kind::Index => "indexes",
            Kind::Sequence => "sequences",
        }
    }
}

/// The kind that a statement is about, with what is said where the relation is of another; ALTER TABLE is about all.
fn meant(tag: &str) -> Option<(Kind, &'static str)> {
    match tag {
        "ALTER INDEX" => Some((Kind::Index, "an index")),
        "ALTER SEQUENCE" => Some((Kind::Sequence, "a sequence")),
        "ALTER VIEW" => Some((Kind::View, "a view")),
        "ALTER MATERIALIZED VIEW" => Some((Kind::Matview, "a materialized view")),
        _ => None,
    }
}

/// What a form is called, and which relations have it besides tables.
fn form(kind: AlterTableType) -> (&'static str, &'static [Kind]) {
    use AlterTableType::*;
    use Kind::{Index, Matview, Sequence, View};
    match kind {
        AtSetStatistics => ("ALTER COLUMN ... SET STATISTICS", &[Matview, Index]),
        AtSetStorage => ("ALTER COLUMN ... SET STORAGE", &[Matview]),
        AtSetCompression => ("ALTER COLUMN ... SET COMPRESSION", &[Matview]),
        AtSetOptions => ("ALTER COLUMN ... SET", &[Matview]),
        AtResetOptions => ("ALTER COLUMN ... RESET", &[Matview]),
        AtSetLogged => ("SET LOGGED", &[Sequence]),
        AtSetUnLogged => ("SET UNLOGGED", &[Sequence]),
        AtSetRelOptions => ("SET", &[View, Matview, Index]),
        AtResetRelOptions => ("RESET", &[View, Matview, Index]),
        AtClusterOn => ("CLUSTER ON", &[Matview]),
        AtDropCluster => ("SET WITHOUT CLUSTER", &[Matview]),
        _ => ("REPLICA IDENTITY", &[Matview]),
    }
}

fn refuse<T>(state: SqlState, message: String) -> SqlResult<T> {
    Err(SqlError::new(state, message))
}

/// Commands that change nothing are of a relation that is there, all the same.
///
/// # Errors
/// `42P01`, `42809`, `42501`, `42703`, `22023` and others, as PostgreSQL has them.
pub(super) fn check(
    planner: &Planner,
    statement: &AlterTableStmt,
    relation: &RangeVar,
    commands: &[&AlterTableCmd],
    tag: &str,
) -> SqlResult<()> {
    let name = &relation.relname;
    let found = match find_named(planner, relation)? {
        Some(found) => found,
        // What a partition has of an index of the whole table is only shown.
        None if tag == "ALTER INDEX" && system::is_index_of_division(planner.catalog(), name) => {
            return Ok(());
        }
        None => {
            let message = match relation.schemaname.as_str() {
                "" => format!("relation \"{name}\" does not exist"),
                schema => format!("relation \"{schema}.{name}\" does not exist"),
            };
            return match statement.missing_ok {
                true => {
                    planner.notice(format!("relation \"{name}\" does not exist, skipping"));
                    Ok(())
                }
                false => refuse(SqlState::UNDEFINED_TABLE, message),
            };
        }
    };
    must_own(planner, found, name)?;
    let kind = Kind::of(planner, found);
    if let Some((meant, called)) = meant(tag)
        && meant != kind
    {
        return refuse(
            SqlState::WRONG_OBJECT_TYPE,
            format!("\"{name}\" is not {called}"),
        );
    }
    for command in commands {
        let (form, others) = form(command.subtype());
        if kind != Kind::Table && !others.contains(&kind) {
            let message = format!("ALTER action {form} cannot be performed on relation \"{name}\"");
            let detail = format!("This operation is not supported for {}.", kind.plural());
            return refuse(SqlState::WRONG_OBJECT_TYPE, message)
                .map_err(|error| error.detail(detail));
        }
        match found {
            Relation::Table(id) | Relation::Partition(id) => of_table(planner, id, command)?,
            Relation::Index(id, number) => of_index(planner, id, Some(number), name, command)?,
            Relation::PrimaryKey(id) => of_index(planner, id, None, name, command)?,
            Relation::View(_) | Relation::Sequence(_) => {}
        }
    }
    Ok(())
}

fn must_own(planner: &Planner, relation: Relation, name: &str) -> SqlResult<()> {
    match relation {
        Relation::Table(id) | Relation::Partition(id) | Relation::View(id) => {
            planner.must_own_table(id)
        }
        Relation::Index(id, _) | Relation::PrimaryKey(id) => planner.must_own_index(id, name),
        Relation::Sequence(id) => planner.must_own(Object {
            kind: ObjectKind::Sequence,
            number: id.0,
        }),
    }
}

/// A table's or materialized view's: the column is there, and so is the index.
fn of_table(planner: &Planner, id: TableId, command: &AlterTableCmd) -> SqlResult<()> {
    use AlterTableType::*;
    let Some(table) = planner.catalog().rows_of(id) else {
        return Ok(());
    };
    match command.subtype() {
        AtSetStatistics | AtSetStorage | AtSetCompression | AtSetOptions | AtResetOptions
            if !command.name.is_empty() =>
        {
            column_number(planner, &table, &command.name, -1).map(|_| ())
        }
        AtClusterOn => {
            let index = planner.find_relation(Some(&table.schema), &command.name);
            let of = match index {
                Some(Relation::Index(of, _) | Relation::PrimaryKey(of)) => Some(of),
                _ => None,
            };
            match of == Some(id) || table.partitions.is_some() {
                true => Ok(()),
                false => refuse(
                    SqlState::UNDEFINED_OBJECT,
                    format!(
                        "index \"{}\" for table \"{}\" does not exist",
                        command.name, table.name
                    ),
                ),
            }
        }
        _ => Ok(()),
    }
}

/// An index's: storage parameters, and columns by number.
fn of_index(
    planner: &Planner,
    id: TableId,
    number: Option<usize>,
    name: &str,
    command: &AlterTableCmd,
) -> SqlResult<()> {
    use AlterTableType::*;
    if matches!(command.subtype(), AtSetRelOptions | AtResetRelOptions) {
        let options = command.def.as_deref().and_then(names::list);
        for option in options.unwrap_or_default() {
            let Some(NodeEnum::DefElem(option)) = inner(option) else {
                continue;
            };
            // RESET passes over what it does not know.
            if command.subtype() == AtSetRelOptions {
                storage_options::check_of_index(option)?;
            }
        }
        return Ok(());
    }
    let Some(table) = planner.catalog().rows_of(id) else {
        return Ok(());
    };
    let columns = match (number, &table.primary_key) {
        (Some(number), _) => table.indexes.get(number).map(|index| {
            // What a partial index looks at first is not a column that was asked for.
            index.columns[usize::from(index.partial)..].to_vec()
        }),
        (None, Some(primary)) => Some(primary.columns.clone()),
        (None, None) => None,
    };
    let columns = columns.unwrap_or_default();
    if !command.name.is_empty() {
        return Ok(());
    }
    let at = usize::try_from(command.num).unwrap_or(0);
    let Some(column) = at.checked_sub(1).and_then(|at| columns.get(at)) else {
        let message = format!("column number {at} of relation \"{name}\" does not exist");
        return refuse(SqlState::UNDEFINED_COLUMN, message);
    };
    match table.columns.get(*column) {
        Some(column) if !column.hidden => {
            let message = format!(
                "cannot alter statistics on non-expression column \"{}\" of index \"{name}\"",
                column.name
            );
            refuse(SqlState::FEATURE_NOT_SUPPORTED, message)
                .map_err(|error| error.hint("Alter statistics on table column instead."))
        }
        _ => Ok(()),
    }
}
