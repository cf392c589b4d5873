//! CREATE, REFRESH and DROP MATERIALIZED VIEW.
//!
//! Relies on: `table_as` for a table that is filled by a query, `view` for what a query uses and keeps others from.  Promises: a
//! materialized view is a table that statements only read, with its query beside it; REFRESH gives it new spaces and
//! fills them in the same transaction, so that whoever reads meanwhile sees the rows of before.  Does not: refresh by
//! itself, or write only what has changed (CONCURRENTLY is what REFRESH does anyway).

use super::table::{begin, refuse_storage};
use super::table_as::{columns, filling};
use super::{creation_schema, leave_rows, moving, storage_options, there_already};
use crate::catalog::{Catalog, Relation};
use crate::command::Planned;
use crate::draft::Draft;
use crate::from::find_named;
use crate::names::{self, inner, required};
use crate::parse::deparse;
use crate::planner::{PlanContext, Planner};
use crate::records::{self, CheckOption, MatviewRecord, RecordKey, ViewColumnRecord, ViewRecord};
use crate::select::plan_query;
use crate::temporary::is_temporary;
use crate::view::{context_of, query_of, write_out_stars};
use pg_query::NodeEnum;
use pg_query::protobuf::{CreateTableAsStmt, RangeVar, RefreshMatViewStmt};
use quintet_base::{SqlError, SqlResult, SqlState, TableId};

pub(super) fn create(planner: &Planner, statement: &CreateTableAsStmt) -> SqlResult<Planned> {
    const TAG: &str = "CREATE MATERIALIZED VIEW";
    let into = required(statement.into.as_deref())?;
    let Some(NodeEnum::SelectStmt(select)) = statement.query.as_deref().and_then(inner) else {
        return Err(SqlError::unsupported(
            "this kind of query of a materialized view",
        ));
    };
    let relation = required(into.rel.as_ref())?;
    refuse_storage(
        planner,
        relation,
        &into.table_space_name,
        &into.access_method,
    )?;
    let schema = creation_schema(planner, relation)?.to_string();
    if is_temporary(&schema) {
        return Err(planner.unsupported("a temporary materialized view", relation.location));
    }
    let name = &relation.relname;
    if statement.if_not_exists
        && let Some(planned) = there_already(planner, (&schema, name), TAG)
    {
        return Ok(planned);
    }
    // A planner of its own: what it meets is what the view uses.
    let context = context_of(planner.context, planner.context.schema);
    let inside = Planner::new(&context, planner.source(), &[]);
    let mut select = select.clone();
    write_out_stars(&inside, &mut select)?;
    let query = plan_query(&inside, &select, None)?;
    if inside.has_params() {
        let message = "materialized views may not be defined using bound parameters";
        return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    for output in &query.outputs {
        inside.use_origin(output.origin);
    }
    let mut draft = Draft::new(planner);
    let mut record = begin(&mut draft, (&schema, name), records::OnCommit::Keep)?;
    record.more.options = storage_options::of_new(&into.options, false)?;
    record.columns = columns(&query.outputs, &names::strings(&into.col_names))?;
    draft.put_table(&record)?;
    let view = ViewRecord {
        check: CheckOption::None,
        options: records::ViewOptions::default(),
        defaults: Vec::new(),
        id: record.id,
        schema: schema.clone(),
        name: name.clone(),
        path: planner.context.schema.to_string(),
        text: moving::spelled_out(&inside, deparse(NodeEnum::SelectStmt(select.clone()))?)?,
        columns: record
            .columns
            .iter()
            .map(|column| ViewColumnRecord {
                name: column.name.clone(),
                ty: column.ty,
                modifier: column.modifier,
            })
            .collect(),
        uses: inside.uses(),
    };
    if !into.skip_data {
        // Until its query is kept it is a table that can be filled.
        let catalog = draft.catalog_to_be()?;
        filling(
            &mut draft,
            &catalog,
            (planner.context.schema, None),
            (&schema, name),
            &select,
        )?;
    }
    draft.put_matview(&MatviewRecord {
        view,
        populated: !into.skip_data,
    })?;
    draft.finish(match into.skip_data {
        true => TAG,
        false => "SELECT",
    })
}

/// The materialized view that a name stands for.
fn named(planner: &Planner, relation: &RangeVar) -> SqlResult<TableId> {
    let name = &relation.relname;
    match find_named(planner, relation)? {
        Some(Relation::Table(id)) if planner.catalog().matview(id).is_some() => Ok(id),
        None => Err(planner.error(
            SqlState::UNDEFINED_TABLE,
            format!("relation \"{name}\" does not exist"),
            relation.location,
        )),
        Some(_) => Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("\"{name}\" is not a materialized view"),
        )),
    }
}

pub(super) fn refresh(planner: &Planner, statement: &RefreshMatViewStmt) -> SqlResult<Planned> {
    const TAG: &str = "REFRESH MATERIALIZED VIEW";
    let relation = required(statement.relation.as_ref())?;
    let id = named(planner, relation)?;
    planner.must_own_table(id)?;
    let catalog = planner.catalog();
    let (Some(table), Some(record)) = (catalog.table_by_id(id), catalog.matview(id)) else {
        return Err(SqlError::internal("a materialized view without a table"));
    };
    if statement.concurrent && statement.skip_data {
        let message = "REFRESH options CONCURRENTLY and WITH NO DATA cannot be used together";
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
    }
    if statement.concurrent && !record.populated {
        let message = "CONCURRENTLY cannot be used when the materialized view is not populated";
        return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let whole = |index: &quintet_ir::IndexDef| {
        let hidden = index.columns.iter().any(|n| table.columns[*n].hidden);
        index.unique && !hidden
    };
    if statement.concurrent && !table.indexes.iter().any(whole) {
        let message = format!(
            "cannot refresh materialized view \"{}.{}\" concurrently",
            table.schema, table.name
        );
        return Err(
            SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).hint(
                "Create a unique index with no WHERE clause on one or more columns of the materialized view.",
            ),
        );
    }
    let mut draft = Draft::new(planner);
    leave_rows(&mut draft, table)?;
    if !statement.skip_data {
        // What is kept of it keeps others from writing to it.
        let kept = records::remove(RecordKey::Matview(id));
        let catalog: Catalog = draft.catalog_to_be()?.apply(&[kept])?;
        let select = query_of(&record.view)?;
        let target = (table.schema.as_str(), table.name.as_str());
        let how = (record.view.path.as_str(), Some(planner.owner_of(id)));
        filling(&mut draft, &catalog, how, target, &select)?;
    }
    draft.put_matview(&MatviewRecord {
        populated: !statement.skip_data,
        ..MatviewRecord::clone(record)
    })?;
    draft.finish(TAG)
}

/// Refuses to read what has never been filled, or was emptied.
///
/// # Errors
/// `55000`.
pub(crate) fn refuse_unpopulated(context: &PlanContext, id: TableId) -> SqlResult<()> {
    match context.catalog.matview(id) {
        Some(record) if !record.populated => Err(SqlError::new(
            SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "materialized view \"{}\" has not been populated",
                record.view.name
            ),
        )
        .hint("Use the REFRESH MATERIALIZED VIEW command.")),
        _ => Ok(()),
    }
}

/// Refuses to change rows that only a refresh makes.
///
/// # Errors
/// `42809`.
pub(crate) fn refuse_change(context: &PlanContext, id: TableId) -> SqlResult<()> {
    match context.catalog.matview(id) {
        Some(record) => Err(SqlError::new(
            SqlState::WRONG_OBJECT_TYPE,
            format!("cannot change materialized view \"{}\"", record.view.name),
        )),
        None => Ok(()),
    }
}
