//! Keys and indexes that are named for one partition.
//!
//! Relies on: the table's own.  Promises: what the whole table has says nothing new of a partition, so it is accepted without
//! effect, as files of pg_dump name each partition's (docs/sql.md); anything else is refused (0A000).
//! Does not: keep the names.

use super::named_part;
use crate::catalog::Relation;
use crate::coerce;
use crate::command::Planned;
use crate::ddl::{index::is_inverted, words};
use crate::expr::Binder;
use crate::from::{find_named, row_target};
use crate::insert::column_number;
use crate::names::{inner, required};
use crate::planner::Planner;
use crate::rewrite::same;
use crate::scope::Scope;
use pg_query::NodeEnum;
use pg_query::protobuf::{
    AlterTableCmd, AlterTableType, ConstrType, IndexStmt, Node, PartitionCmd, RangeVar,
};
use quintet_base::{SqlError, SqlResult, SqlState};
use quintet_ir::schema::TableDef;
use quintet_ir::{Elements, Expr};

/// What a key or index of one partition asks for.
#[derive(Clone, PartialEq, Eq)]
enum Kind {
    Primary,
    Unique {
        nulls_equal: bool,
    },
    Plain,
    /// For each column, what of it is asked for, if that is not what its type says.
    Inverted(Vec<Option<Elements>>),
}

/// CREATE INDEX on a partition; `None` if the table is none.
pub(in crate::ddl) fn create(
    planner: &Planner,
    relation: &RangeVar,
    statement: &IndexStmt,
) -> SqlResult<Option<Planned>> {
    let Some(id) = named_part(planner, relation)? else {
        return Ok(None);
    };
    planner.must_own_table(id)?;
    let table = row_target(planner, relation)?;
    let mut columns = Vec::with_capacity(statement.index_params.len());
    let mut named = Vec::with_capacity(statement.index_params.len());
    let mut elements = Vec::with_capacity(statement.index_params.len());
    let other = || unknown(planner, relation);
    if let Some(node) = statement.where_clause.as_deref() {
        // It comes first in an index that has one.
        let predicate = bound(planner, &table, node)?;
        let is_it = |expr: &Expr| match expr {
            Expr::Case { branches, .. } => branches.iter().any(|(when, _)| same(when, &predicate)),
            _ => false,
        };
        columns.push(computed(&table, is_it).ok_or_else(other)?);
    }
    for node in &statement.index_params {
        let Some(NodeEnum::IndexElem(element)) = inner(node) else {
            return Err(other());
        };
        named.extend(words(&element.opclass).last().cloned());
        elements.push(match words(&element.opclass).last().map(|class| &**class) {
            Some("jsonb_path_ops") => Some(Elements::PathsOfJson),
            Some("gin_trgm_ops" | "gist_trgm_ops") => Some(Elements::Trigrams),
            _ => None,
        });
        columns.push(match element.expr.as_deref() {
            None => column_number(planner, &table, &element.name, -1)?,
            Some(node) => match bound(planner, &table, node)? {
                Expr::Column(number, _) => number,
                key => computed(&table, |expr| same(expr, &key)).ok_or_else(other)?,
            },
        });
    }
    let kind = if is_inverted(&statement.access_method, named.iter()) {
        Kind::Inverted(elements)
    } else if statement.unique {
        let nulls_equal = statement.nulls_not_distinct;
        Kind::Unique { nulls_equal }
    } else {
        Kind::Plain
    };
    if !has(&table, &kind, &columns) {
        return Err(unknown(planner, relation));
    }
    Ok(Some(planner.nothing("CREATE INDEX")))
}

/// An expression of an index over the table's columns.
fn bound(planner: &Planner, table: &TableDef, node: &Node) -> SqlResult<Expr> {
    let scope = Scope::of_table(table);
    let found = Binder::new(planner, &scope, "index expressions").bind(node)?;
    coerce::settle(planner, found)
}

/// The hidden column that is computed so.
fn computed(table: &TableDef, is_it: impl Fn(&Expr) -> bool) -> Option<usize> {
    let mut columns = table.columns.iter();
    columns.position(|column| column.hidden && column.generated.as_ref().is_some_and(&is_it))
}

/// ALTER TABLE of a partition, as far as it adds keys; `None` if the table is none.
pub(in crate::ddl) fn add_keys(
    planner: &Planner,
    relation: &RangeVar,
    commands: &[&AlterTableCmd],
) -> SqlResult<Option<Planned>> {
    let Some(id) = named_part(planner, relation)? else {
        return Ok(None);
    };
    for command in commands {
        let constraint = match (command.subtype(), command.def.as_deref().and_then(inner)) {
            (AlterTableType::AtAddConstraint, Some(NodeEnum::Constraint(found))) => found,
            _ => return Ok(None),
        };
        let kind = match constraint.contype() {
            ConstrType::ConstrPrimary => Kind::Primary,
            ConstrType::ConstrUnique => Kind::Unique {
                nulls_equal: constraint.nulls_not_distinct,
            },
            _ => return Ok(None),
        };
        planner.must_own_table(id)?;
        let table = row_target(planner, relation)?;
        let columns = words(&constraint.keys);
        let columns = columns
            .iter()
            .map(|name| column_number(planner, &table, name, -1));
        let columns: Vec<usize> = columns.collect::<SqlResult<_>>()?;
        if !has(&table, &kind, &columns) {
            return Err(unknown(planner, relation));
        }
    }
    Ok(Some(planner.nothing("ALTER TABLE")))
}

/// ALTER INDEX … ATTACH PARTITION: the index of a divided table has all of its rows anyway.
pub(in crate::ddl) fn attach(
    planner: &Planner,
    relation: &RangeVar,
    commands: &[&AlterTableCmd],
) -> SqlResult<Option<Planned>> {
    let [command] = commands else {
        return Ok(None);
    };
    if command.subtype() != AlterTableType::AtAttachPartition {
        return Ok(None);
    }
    let what: Option<&PartitionCmd> = match command.def.as_deref().and_then(inner) {
        Some(NodeEnum::PartitionCmd(what)) => Some(what),
        _ => None,
    };
    required(what.and_then(|what| what.name.as_ref()))?;
    let catalog = planner.catalog();
    let table = match find_named(planner, relation)? {
        Some(Relation::Index(id, _) | Relation::PrimaryKey(id)) => catalog.table_by_id(id),
        Some(_) => None,
        // What a partition has is the table's, and only shown (`system::indexes`).
        None if crate::system::is_index_of_division(catalog, &relation.relname) => {
            return Ok(Some(planner.nothing("ALTER INDEX")));
        }
        None => {
            let message = format!("relation \"{}\" does not exist", relation.relname);
            return Err(planner.error(SqlState::UNDEFINED_TABLE, message, relation.location));
        }
    };
    let Some(table) = table.filter(|table| table.partitions.is_some()) else {
        let message = format!("\"{}\" is not a partitioned index", relation.relname);
        return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
    };
    planner.must_own_table(table.id)?;
    Ok(Some(planner.nothing("ALTER INDEX")))
}

/// Whether the whole table has such a key or index.
fn has(table: &TableDef, kind: &Kind, columns: &[usize]) -> bool {
    let is_primary = table.primary_key.iter().any(|key| key.columns == columns);
    let mut indexes = (table.indexes.iter()).filter(|index| index.columns == columns);
    match kind {
        Kind::Primary => is_primary,
        // No column of a primary key is ever NULL.
        Kind::Unique { nulls_equal } => {
            is_primary || indexes.any(|index| index.unique && (index.nulls_equal || !nulls_equal))
        }
        Kind::Plain => is_primary || indexes.any(|index| !index.is_inverted()),
        Kind::Inverted(asked) => {
            let named = |elements: &Elements| {
                let is_named = matches!(elements, Elements::PathsOfJson | Elements::Trigrams);
                is_named.then_some(*elements)
            };
            indexes.any(|index| {
                index.is_inverted() && index.inverted.iter().map(named).eq(asked.iter().copied())
            })
        }
    }
}

fn unknown(planner: &Planner, relation: &RangeVar) -> SqlError {
    let what = "an index or key of one partition that its table has not";
    planner.unsupported(what, relation.location)
}
