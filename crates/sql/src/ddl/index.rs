//! CREATE INDEX, and the removal of an index.
//!
//! Relies on: `draft`.  Promises: the index is filled before the change is seen.  Accepts and
//! ignores: CONCURRENTLY, storage parameters. Keeps and shows: USING hash, brin, gist and spgist (all are ordered), INCLUDE (a row is
//! read whole anyway), operator classes (text compares by bytes here anyway), DESC and NULLS FIRST: entries ascend, and are read in either
//! direction.  Indexes USING gin have an entry for each element of a row (`ir::elements`). Indexes over expressions, and partial ones, are over hidden columns (`hidden`).

mod method;

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
use crate::records::{IndexRecord, ShownRecord, TableRecord};
use crate::scope::Scope;
use crate::system::{ClassFor, class_for, extension_of_class};
use pg_query::NodeEnum;
use pg_query::protobuf::{IndexElem, IndexStmt};
use quintet_base::{IndexId, SqlError, SqlResult, SqlState, SqlType, TableId};
use quintet_ir::ddl::Work;
use quintet_ir::schema::TableDef;
use quintet_ir::{ColumnDef, Expr};

pub(super) use method::{OF_WHOLE_VALUES, check_inverted, is_inverted, must_have_class, no_class};

pub(super) fn create(planner: &Planner, statement: &IndexStmt) -> SqlResult<Planned> {
    const TAG: &str = "CREATE INDEX";
    let relation = required(statement.relation.as_ref())?;
    if let Some(planned) = partition::index::create(planner, relation, statement)? {
        return Ok(planned);
    }
    let table = target_table(planner, relation)?;
    planner.must_own_table(table.id)?;
    let included = included(&table, statement)?;
    method::refuse(statement)?;
    let what = if !statement.table_space.is_empty() && statement.table_space != "pg_default" {
        Some("TABLESPACE".to_string())
    } else {
        None
    };
    if let Some(what) = what {
        return Err(planner.unsupported(what, relation.location));
    }
    let mut draft = Draft::new(planner);
    draft.make_in(&table.schema);
    let mut record = record_of(planner, &table)?;
    let scope = Scope::of_table(&table);
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
                hidden::expression(planner, &scope, &mut record, node)?,
                figure_name(node).unwrap_or_else(|| "expr".into()),
            ),
            None => (column_of(&table, element)?, element.name.clone()),
        };
        columns.push(column);
        names.push(free_name(name, &names));
        directions.push(direction(element.ordering(), element.nulls_ordering()));
    }
    let classes = classes(planner, &record, &columns, statement)?;
    let names_of_classes = classes.iter().map(|(_, name)| name);
    let is_inverted = method::is_inverted(&statement.access_method, names_of_classes);
    if is_inverted && statement.access_method == "gist" && classes.len() < columns.len() {
        let what = "an index with the operator class gist_trgm_ops and others";
        return Err(planner.unsupported(what, relation.location));
    }
    for &column in columns.iter().filter(|_| !is_inverted) {
        refuse_key_type(planner, &record, column, relation.location)?;
    }
    let shown = ShownRecord {
        method: Some(statement.access_method.clone())
            .filter(|method| !matches!(&**method, "" | "btree")),
        classes,
        included,
    };
    for &column in &shown.included {
        names.push(free_name(table.columns[column].name.clone(), &names));
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
        Some(node) => Some(hidden::predicate(planner, &scope, &mut record, node)?),
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
    if shown != ShownRecord::default() {
        record.more.shown.push((id, shown));
    }
    if statement.nulls_not_distinct {
        record.more.nulls_equal.push(id);
    }
    record.indexes.push(IndexRecord {
        id,
        name,
        space: draft.space(),
        columns,
        unique: statement.unique,
        constraint: false,
    });
    method::check_inverted(planner, &record)?;
    let anew = hidden::calls_anew(planner, &table, &record)?;
    let old_spaces = spaces_of(&table);
    if anew {
        draft.renew_spaces(&mut record);
        let columns = record.columns.iter_mut();
        columns.for_each(|column| column.missing = None);
    }
    draft.put_table(&record)?;
    draft.work(Work::Fence(old_spaces.clone()));
    let to = draft.table_to_be(table.id)?;
    if anew {
        draft.work(Work::Rewrite {
            columns: rows_anew(&table, &to),
            from: table,
            to,
            rows: None,
            fresh: true,
        });
        draft.work(Work::DropSpaces(old_spaces));
    } else {
        let index = to.indexes.len() - 1;
        draft.work(Work::BuildIndex { table: to, index });
    }
    draft.finish(TAG)
}

/// The columns of a row that is written anew, over the row as it was: new ones are generated.
fn rows_anew(from: &TableDef, to: &TableDef) -> Vec<Expr> {
    let value = |(number, column): (usize, &ColumnDef)| match &column.generated {
        _ if column.dropped => Expr::null(column.ty),
        Some(made) if number >= from.columns.len() => made.clone(),
        _ => Expr::Column(number, column.ty),
    };
    to.columns.iter().enumerate().map(value).collect()
}

/// The columns that the rows of an index have along with its key.
fn included(table: &TableDef, statement: &IndexStmt) -> SqlResult<Vec<usize>> {
    let elements = statement.index_including_params.iter();
    let elements = elements.filter_map(|node| match inner(node) {
        Some(NodeEnum::IndexElem(element)) => Some(&**element),
        _ => None,
    });
    let one = |element: &IndexElem| {
        if element.expr.is_some() {
            return Err(SqlError::unsupported("an expression in included columns"));
        }
        if direction(element.ordering(), element.nulls_ordering()) != (false, false) {
            return Err(SqlError::new(
                SqlState::INVALID_OBJECT_DEFINITION,
                "including column does not support ASC/DESC options",
            ));
        }
        column_of(table, element)
    };
    elements.map(one).collect()
}

/// The operator classes that are not the own ones of the columns' types, by places in the key.
fn classes(
    planner: &Planner,
    record: &TableRecord,
    columns: &[usize],
    statement: &IndexStmt,
) -> SqlResult<Vec<(usize, String)>> {
    let mut named = Vec::new();
    for (place, (node, &column)) in statement.index_params.iter().zip(columns).enumerate() {
        let Some(NodeEnum::IndexElem(element)) = inner(node) else {
            continue;
        };
        let ty = record.columns[column].ty;
        let Some(name) = names::strings(&element.opclass).last().copied() else {
            must_have_class(planner, &statement.access_method, ty)?;
            continue;
        };
        let class = asked_class(planner, &statement.access_method, name, ty)?;
        named.extend(class.map(|class| (place, class)));
    }
    Ok(named)
}

/// An operator class that was asked for, `None` if it is the type's own of that method.
pub(super) fn asked_class(
    planner: &Planner,
    method: &str,
    name: &str,
    ty: SqlType,
) -> SqlResult<Option<String>> {
    let wanted = extension_of_class(name);
    let made = |wanted: &str| {
        let mut made = planner.catalog().extensions();
        made.any(|(_, extension)| extension.name == wanted)
    };
    match class_for(method, name, ty) {
        ClassFor::Unknown if wanted.is_some() => Err(no_such_class(method, name)),
        ClassFor::Other | ClassFor::AnotherType if !wanted.is_none_or(made) => {
            Err(no_such_class(method, name))
        }
        ClassFor::Own => Ok(None),
        ClassFor::Other => Ok(Some(name.to_string())),
        ClassFor::AnotherType => Err(SqlError::new(
            SqlState::DATATYPE_MISMATCH,
            format!("operator class \"{name}\" does not accept data type {ty}"),
        )),
        ClassFor::Unknown => Err(SqlError::unsupported(format!("operator class {name}"))),
    }
}

fn no_such_class(method: &str, name: &str) -> SqlError {
    let message =
        format!("operator class \"{name}\" does not exist for access method \"{method}\"");
    SqlError::new(SqlState::UNDEFINED_OBJECT, message)
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
    let asked = record.asked(index);
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
    let shown = record.shown(index.id);
    for &column in shown.iter().flat_map(|shown| &shown.included) {
        names.push(free_name(record.columns[column].name.clone(), &names));
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
        let collation = names::strings(&element.collation)
            .last()
            .copied()
            .unwrap_or("C")
            .to_string();
        if !matches!(&*collation, "C" | "POSIX" | "default" | "ucs_basic") {
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
        hidden::forget(draft.planner, &mut record, &gone);
    }
    record.revision += 1;
    draft.free_name(&index.name);
    draft.put_table(&record)?;
    draft.work(Work::Fence(spaces_of(table)));
    draft.work(Work::DropSpaces(vec![index.space]));
    Ok(())
}
