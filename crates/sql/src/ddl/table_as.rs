//! CREATE TABLE AS and SELECT INTO.
//!
//! Relies on: `select` for the columns, `insert` for the rows.  Promises: the table is made, then filled by an INSERT that is
//! planned by the schema as it is then, in the same transaction.  Does not: EXECUTE as the query
//! (0A000).

use super::table::{begin, refuse_storage};
use super::{creation_schema, matview, storage_options, temporary, there_already};
use crate::catalog::Catalog;
use crate::command::{Command, Planned};
use crate::draft::Draft;
use crate::insert::plan_insert;
use crate::names::{self, inner, required};
use crate::parse;
use crate::planner::{PlanContext, Planner};
use crate::records::ColumnRecord;
use crate::scope::Output;
use crate::select::plan_query;
use pg_query::NodeEnum;
use pg_query::protobuf::{
    CreateTableAsStmt, InsertStmt, IntoClause, ObjectType, OverridingKind, RangeVar, SelectStmt,
};
use quintet_base::{RoleId, SqlError, SqlResult, SqlState, SqlType, limits};
use quintet_ir::Need;

pub(super) fn create(planner: &Planner, statement: &CreateTableAsStmt) -> SqlResult<Planned> {
    if statement.objtype() == ObjectType::ObjectMatview {
        return matview::create(planner, statement);
    }
    let into = required(statement.into.as_deref())?;
    match statement.query.as_deref().and_then(inner) {
        Some(NodeEnum::SelectStmt(select)) => make(planner, into, select, statement.if_not_exists),
        _ => Err(SqlError::unsupported("CREATE TABLE AS EXECUTE")),
    }
}

/// SELECT … INTO; `None` if the query has no INTO.
pub(crate) fn select_into(planner: &Planner, select: &SelectStmt) -> SqlResult<Option<Planned>> {
    let Some(into) = select.into_clause.as_deref() else {
        return Ok(None);
    };
    let query = SelectStmt {
        into_clause: None,
        ..select.clone()
    };
    make(planner, into, &query, false).map(Some)
}

fn make(
    planner: &Planner,
    into: &IntoClause,
    select: &SelectStmt,
    if_not_exists: bool,
) -> SqlResult<Planned> {
    const TAG: &str = "CREATE TABLE AS";
    let relation = required(into.rel.as_ref())?;
    refuse_storage(
        planner,
        relation,
        &into.table_space_name,
        &into.access_method,
    )?;
    let schema = creation_schema(planner, relation)?.to_string();
    let name = &relation.relname;
    if if_not_exists && let Some(planned) = there_already(planner, (&schema, name), TAG) {
        return Ok(planned);
    }
    let on_commit = temporary::on_commit(into.on_commit(), &schema)?;
    let apart = Planner::new(planner.context, planner.source(), &planner.decided());
    let query = plan_query(&apart, select, None)?;
    planner.decides_as(&apart);
    let mut draft = Draft::new(planner);
    let mut record = begin(&mut draft, (&schema, name), on_commit)?;
    record.more.options = storage_options::of_new(&into.options, false)?;
    record.columns = columns(&query.outputs, &names::strings(&into.col_names))?;
    draft.put_table(&record)?;
    if into.skip_data {
        return draft.finish(TAG);
    }
    let catalog = draft.catalog_to_be()?;
    let path = planner.context.schema;
    filling(&mut draft, &catalog, (path, None), (&schema, name), select)?;
    draft.finish("SELECT")
}

/// Fills a table, as it will be in this catalogue, with the rows of a query whose bare names are looked for on this search path,
/// under the policies that concern this role, or the user.
pub(super) fn filling(
    draft: &mut Draft,
    catalog: &Catalog,
    (path, role): (&str, Option<RoleId>),
    (schema, name): (&str, &str),
    select: &SelectStmt,
) -> SqlResult<()> {
    let planner = draft.planner;
    let context = PlanContext {
        catalog,
        schema: path,
        ..*planner.context
    };
    let filling = Planner::new(&context, planner.source(), &planner.decided());
    filling.acts_as.set(role);
    let insert = InsertStmt {
        relation: Some(RangeVar {
            schemaname: schema.to_string(),
            relname: name.to_string(),
            inh: true,
            relpersistence: "p".to_string(),
            location: -1,
            ..RangeVar::default()
        }),
        select_stmt: Some(Box::new(parse::wrap(NodeEnum::SelectStmt(Box::new(
            select.clone(),
        ))))),
        r#override: OverridingKind::OverridingNotSet as i32,
        ..Default::default()
    };
    let planned = plan_insert(&filling, &insert)?;
    // Who makes a table of rows must be allowed to read them. Of the table itself, which nobody knows yet, nothing is asked.
    let needs = filling.take_needs().into_iter();
    let needs = needs.filter(|need| planner.catalog().is_there(need.object));
    let needs = needs.map(|need| Need {
        role: need.role.or(role),
        ..need
    });
    planner.need_all(needs.collect());
    if let Command::Run(procedure) = planned.command {
        draft.then(procedure);
    }
    Ok(())
}

/// The columns of a table that is made of these outputs.
pub(super) fn columns(outputs: &[Output], names: &[&str]) -> SqlResult<Vec<ColumnRecord>> {
    if names.len() > outputs.len() {
        let message = "too many column names were specified";
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
    }
    if outputs.len() > limits::TABLE_COLUMNS_MAX {
        let message = format!(
            "tables can have at most {} columns",
            limits::TABLE_COLUMNS_MAX
        );
        return Err(SqlError::new(SqlState::TOO_MANY_COLUMNS, message));
    }
    let mut columns: Vec<ColumnRecord> = Vec::with_capacity(outputs.len());
    for (number, output) in outputs.iter().enumerate() {
        let name = names.get(number).map_or(output.name.as_str(), |name| name);
        super::table::refuse_system_name(name)?;
        if columns.iter().any(|other| other.name == name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        if matches!(
            output.ty,
            SqlType::Void | SqlType::Cstring | SqlType::Record | SqlType::RecordArray
        ) {
            let message = format!("column \"{name}\" has pseudo-type {}", output.ty);
            return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message));
        }
        let (ty, modifier) = (output.ty, output.modifier);
        columns.push(ColumnRecord::plain(name.to_string(), ty, modifier));
    }
    Ok(columns)
}
