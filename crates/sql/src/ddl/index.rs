//! CREATE INDEX, and the removal of an index.
//!
//! Relies on: `draft`.  Promises: the index is filled before the change is seen.  Accepts and
//! ignores: CONCURRENTLY, USING hash, INCLUDE (a row is read whole anyway), storage parameters, the pattern operator
//! classes (text compares by bytes here anyway). DESC and NULLS FIRST are kept and shown; entries ascend, and are read in either
//! direction.  Indexes over expressions, and partial ones, are over hidden columns (`hidden`).

use super::constraint::refuse_key_type;
use super::foreign_key::{Going, release};
use super::hidden;
use super::partition;
use super::{record_of, required_by_constraint, there_already};
use crate::call::direction;
use crate::command::Planned;
use crate::draft::{Draft, spaces_of};
use crate::from::target_table;
use crate::names::{self, inner, required};
use crate::output::figure_name;
use crate::planner::Planner;
use crate::records::{IndexRecord, TableRecord};
use pg_query::NodeEnum;
use pg_query::protobuf::{IndexElem, IndexStmt};
use quintet_base::{IndexId, SqlError, SqlResult, SqlState, TableId};
use quintet_ir::ddl::Work;
use quintet_ir::schema::TableDef;

pub(super) fn create(planner: &Planner, statement: &IndexStmt) -> SqlResult<Planned> {
    const TAG: &str = "CREATE INDEX";
    let relation = required(statement.relation.as_ref())?;
    if let Some(planned) = partition::index::create(planner, relation, statement)? {
        return Ok(planned);
    }
    let table = target_table(planner, relation)?;
    planner.must_own_table(table.id)?;
    for node in &statement.index_including_params {
        if let Some(NodeEnum::IndexElem(element)) = inner(node) {
            column_of(&table, element)?;
        }
    }
    let what = if !matches!(
        statement.access_method.as_str(),
        "" | "btree" | "hash" | "brin"
    ) {
        Some(format!("an index USING {}", statement.access_method))
    } else if statement.nulls_not_distinct {
        Some("NULLS NOT DISTINCT".to_string())
    } else if !statement.table_space.is_empty() && statement.table_space != "pg_default" {
        Some("TABLESPACE".to_string())
    } else {
        None
    };
    if let Some(what) = what {
        return Err(planner.unsupported(what, relation.location));
    }
    let mut draft = Draft::new(planner);
    let mut record = record_of(planner, &table)?;
    let mut columns = Vec::with_capacity(statement.index_params.len());
    let mut names: Vec<String> = Vec::with_capacity(columns.capacity());
    let mut directions = Vec::with_capacity(statement.index_params.len());
    for node in &statement.index_params {
        let Some(NodeEnum::IndexElem(element)) = inner(node) else {
            return Err(SqlError::internal("an index over nothing"));
        };
        refuse_element(element)?;
        let (column, name) = match element.expr.as_deref() {
            Some(node) => (
                hidden::expression(planner, &table, &mut record, node)?,
                figure_name(node).unwrap_or_else(|| "expr".into()),
            ),
            None => (column_of(&table, element)?, element.name.clone()),
        };
        columns.push(column);
        names.push(free_name(name, &names));
        directions.push(direction(element.ordering(), element.nulls_ordering()));
    }
    for &column in &columns {
        refuse_key_type(planner, &record, column, relation.location)?;
    }
    let name = if statement.idxname.is_empty() {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        draft.make_name(&table.schema, &table.name, &names, "idx")
    } else {
        let name = &statement.idxname;
        if statement.if_not_exists
            && let Some(planned) = there_already(planner, (&table.schema, name), TAG)
        {
            return Ok(planned);
        }
        draft.take_name(&table.schema, name)?;
        name.clone()
    };
    let predicate = match statement.where_clause.as_deref() {
        Some(node) => Some(hidden::predicate(planner, &table, &mut record, node)?),
        None => None,
    };
    record.revision += 1;
    let id = IndexId(draft.id());
    if let Some((column, text)) = predicate {
        columns.insert(0, column);
        record.more.hidden.predicates.push((id, text));
    }
    if directions.iter().any(|asked| *asked != (false, false)) {
        record.more.directions.push((id, directions));
    }
    record.indexes.push(IndexRecord {
        id,
        name,
        space: draft.space(),
        columns,
        unique: statement.unique,
        constraint: false,
    });
    draft.put_table(&record)?;
    draft.work(Work::Fence(spaces_of(&table)));
    let table = draft.table_to_be(table.id)?;
    let index = table.indexes.len() - 1;
    draft.work(Work::BuildIndex { table, index });
    draft.finish(TAG)
}

/// A column's name in an index, with a number behind it if another has it.
fn free_name(name: String, taken: &[String]) -> String {
    let numbered = (1..).map(|number| format!("{name}{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    let free = names.find(|name| !taken.contains(name));
    free.unwrap_or(name)
}

/// The columns of an index by its names for them, those of expressions as PostgreSQL calls them.
pub(crate) fn column_names(record: &TableRecord, index: &IndexRecord) -> Vec<String> {
    let asked = &index.columns[usize::from(record.predicate(index.id).is_some())..];
    let mut names: Vec<String> = Vec::with_capacity(asked.len());
    for &column in asked {
        let name = match record
            .generated(column)
            .filter(|_| record.is_hidden(column))
        {
            Some(text) => crate::parse::parse_expression(text)
                .ok()
                .and_then(|node| figure_name(&node))
                .unwrap_or_else(|| "expr".into()),
            None => record.columns[column].name.clone(),
        };
        names.push(free_name(name, &names));
    }
    names
}

/// The number of the column that an element names.
fn column_of(table: &TableDef, element: &IndexElem) -> SqlResult<usize> {
    table.column(&element.name).ok_or_else(|| {
        let message = format!("column \"{}\" does not exist", element.name);
        SqlError::new(SqlState::UNDEFINED_COLUMN, message)
    })
}

fn refuse_element(element: &IndexElem) -> SqlResult<()> {
    let what = if !element.opclassopts.is_empty() {
        "an operator class with parameters".to_string()
    } else {
        let class = names::strings(&element.opclass).join(".");
        let collation = names::strings(&element.collation)
            .last()
            .copied()
            .unwrap_or("C")
            .to_string();
        if !matches!(
            &*class,
            "" | "text_pattern_ops" | "varchar_pattern_ops" | "bpchar_pattern_ops"
        ) {
            format!("operator class {class}")
        } else if !matches!(&*collation, "C" | "POSIX" | "default" | "ucs_basic") {
            format!("collation \"{collation}\"")
        } else {
            return Ok(());
        }
    };
    Err(SqlError::unsupported(what))
}

/// Removes an index that no constraint needs.
pub(super) fn drop(
    draft: &mut Draft,
    table: TableId,
    number: usize,
    cascade: bool,
) -> SqlResult<()> {
    let Some(table) = draft.planner.catalog().table_by_id(table) else {
        return Ok(());
    };
    let mut record = match draft.changed_table(table.id)? {
        Some(record) => record,
        None => record_of(draft.planner, table)?,
    };
    let index = &table.indexes[number];
    if index.constraint {
        return Err(required_by_constraint(&index.name, &table.name));
    }
    let going = Going::Key(Some(index.id), "index", &index.name);
    release(draft, &record, &going, cascade, &[])?;
    let place = record.indexes.iter().position(|other| other.id == index.id);
    if let Some(place) = place {
        let gone = record.indexes.remove(place);
        hidden::forget(&mut record, &gone);
    }
    record.revision += 1;
    draft.free_name(&index.name);
    draft.put_table(&record)?;
    draft.work(Work::Fence(spaces_of(table)));
    draft.work(Work::DropSpaces(vec![index.space]));
    Ok(())
}
