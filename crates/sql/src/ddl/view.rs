//! CREATE VIEW, DROP VIEW, and what a view keeps others from.
//!
//! Relies on: `view` for its query, the planner for what the query uses.  Promises: what a view uses cannot go, and a
//! column of it cannot change its type, before the view has gone; with CASCADE the view goes along.
//! Does not: recursive views (0A000).

use super::rename::has_word;
use super::table::default_text;
use super::{creation_schema, moving, policy};
use crate::catalog::{Catalog, Relation};
use crate::command::Planned;
use crate::draft::Draft;
use crate::from::{find_named, no_relation};
use crate::names::{self, inner, required};
use crate::parse::deparse;
use crate::planner::Planner;
use crate::records::{CheckOption, ViewColumnRecord, ViewOptions, ViewRecord, truth};
use crate::row_security::unasked;
use crate::select::plan_query;
use crate::temporary::is_temporary;
use crate::updatable::refuse_check;
use crate::view::{context_of, context_within, query_of, write_out_stars};
use pg_query::NodeEnum;
use pg_query::protobuf::{
    AlterTableCmd, AlterTableType, Node, RangeVar, ViewCheckOption, ViewStmt,
};
use quintet_base::types::format_type;
use quintet_base::{RoutineId, SqlError, SqlResult, SqlState, SqlType, TableId};
use quintet_ir::{Need, ObjectKind};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) fn create(planner: &Planner, statement: &ViewStmt) -> SqlResult<Planned> {
    let relation = required(statement.view.as_ref())?;
    let late = |what| planner.unsupported(what, relation.location);
    let mut check = CheckOption::None;
    let mut options = ViewOptions::default();
    for node in &statement.options {
        match boolean_option(node)? {
            Some(said) => say(&mut options, said),
            None => check = check_option(planner, node, relation.location)?,
        }
    }
    match statement.with_check_option() {
        ViewCheckOption::LocalCheckOption => check = CheckOption::Local,
        ViewCheckOption::CascadedCheckOption => check = CheckOption::Cascaded,
        _ => {}
    }
    let Some(NodeEnum::SelectStmt(select)) = statement.query.as_deref().and_then(inner) else {
        return Err(late("a view over this kind of query"));
    };
    if select.into_clause.is_some() {
        let message = "views must not contain SELECT INTO";
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
    }
    let mut schema = creation_schema(planner, relation)?.to_string();
    // A planner of its own: what it meets is what the view uses.
    let context = context_of(&unasked(planner.context), planner.context.schema);
    let inside = Planner::new(&context, planner.source(), &[]);
    let mut select = select.clone();
    write_out_stars(&inside, &mut select)?;
    let query = plan_query(&inside, &select, None)?;
    if !is_temporary(&schema) && uses_temporary(planner, &inside) {
        planner.notice(format!(
            "view \"{}\" will be a temporary view",
            relation.relname
        ));
        schema = planner.temporary_schema("pg_temp")?.to_string();
    }
    if !is_temporary(&schema) && calls_temporary(planner, &inside) {
        return Err(late("a view that calls a temporary function"));
    }
    let old = match planner.catalog().relation(&schema, &relation.relname) {
        Some(Relation::View(id)) if statement.replace => {
            planner.must_own_table(id)?;
            planner.catalog().view(id)
        }
        Some(Relation::View(_)) | None => None,
        Some(_) if statement.replace => {
            let message = format!("\"{}\" is not a view", relation.relname);
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        Some(_) => None,
    };
    if inside.has_params() {
        let message = "there is no parameter $1";
        return Err(SqlError::new(SqlState::UNDEFINED_PARAMETER, message));
    }
    for output in &query.outputs {
        inside.use_origin(output.origin);
    }
    let mut columns: Vec<ViewColumnRecord> = query
        .outputs
        .iter()
        .map(|output| ViewColumnRecord {
            name: output.name.clone(),
            ty: output.ty,
            modifier: output.modifier,
        })
        .collect();
    if let Some(column) = columns.iter().find(|column| column.ty == SqlType::Cstring) {
        let message = format!("column \"{}\" has pseudo-type cstring", column.name);
        return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message));
    }
    let aliases = names::strings(&statement.aliases);
    if aliases.len() > columns.len() {
        let message = "CREATE VIEW specifies more column names than columns";
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
    }
    for (column, alias) in columns.iter_mut().zip(aliases) {
        column.name = alias.to_string();
    }
    for (number, column) in columns.iter().enumerate() {
        if columns[..number]
            .iter()
            .any(|other| other.name == column.name)
        {
            let message = format!("column \"{}\" specified more than once", column.name);
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
    }
    let mut draft = Draft::new(planner);
    let id = match old {
        Some(old) => {
            check_replaced(old, &columns)?;
            old.id
        }
        None => {
            draft.enter(&schema)?;
            draft.take_name(&schema, &relation.relname)?;
            super::user_type::refuse_relation(planner, &schema, &relation.relname)?;
            TableId(draft.id())
        }
    };
    let uses = inside.uses();
    if leads_to(planner, &uses, id, &mut BTreeSet::new()) {
        return Err(SqlError::new(
            SqlState::INVALID_OBJECT_DEFINITION,
            format!(
                "infinite recursion detected in rules for relation \"{}\"",
                relation.relname
            ),
        ));
    }
    let record = ViewRecord {
        id,
        schema,
        name: relation.relname.clone(),
        path: planner.context.schema.to_string(),
        text: moving::spelled_out(&inside, deparse(NodeEnum::SelectStmt(select))?)?,
        columns,
        uses,
        check,
        options,
        defaults: old.map_or_else(Vec::new, |old| old.defaults.clone()),
    };
    if check != CheckOption::None {
        refuse_check(planner, &Arc::new(record.clone()))?;
    }
    draft.put_view(&record)?;
    draft.finish("CREATE VIEW")
}

/// An option of a view that is on or off, if it is one.
///
/// # Errors
/// `22023` for what is neither.
fn boolean_option(node: &Node) -> SqlResult<Option<(String, String)>> {
    let Some(NodeEnum::DefElem(option)) = inner(node) else {
        return Ok(None);
    };
    let name = option.defname.as_str();
    if !["security_barrier", "security_invoker"].contains(&name) {
        return Ok(None);
    }
    let said = option.arg.as_deref().and_then(names::option_text);
    let said = said.unwrap_or_else(|| "true".to_string());
    match truth(&said) {
        Some(_) => Ok(Some((name.to_string(), said))),
        None => {
            let message = format!("invalid value for boolean option \"{name}\": {said}");
            Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message))
        }
    }
}

fn say(options: &mut ViewOptions, (name, value): (String, String)) {
    options.said.retain(|(known, _)| *known != name);
    options.said.push((name, value));
}

/// What an option of a view says.
///
/// # Errors
/// `22023` for what it cannot say, `0A000` for another option.
fn check_option(planner: &Planner, node: &Node, location: i32) -> SqlResult<CheckOption> {
    let Some(NodeEnum::DefElem(option)) = inner(node) else {
        return Err(SqlError::internal("an option of no name"));
    };
    let name = option.defname.as_str();
    if name != "check_option" {
        let what = format!("option {name} of a view");
        return Err(planner.unsupported(what, location));
    }
    let said = option.arg.as_deref().and_then(names::option_text);
    let said = said.unwrap_or_else(|| "true".to_string());
    match said.to_ascii_lowercase().as_str() {
        "local" => Ok(CheckOption::Local),
        "cascaded" => Ok(CheckOption::Cascaded),
        _ => {
            let message = format!("invalid value for enum option \"check_option\": {said}");
            let error = SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message);
            Err(error.detail("Valid values are \"local\" and \"cascaded\"."))
        }
    }
}

/// ALTER VIEW … SET (check_option = …, security_invoker = …) and RESET; `None` if it is something else about the view.
pub(super) fn alter(
    planner: &Planner,
    relation: &RangeVar,
    commands: &[&AlterTableCmd],
) -> SqlResult<Option<Planned>> {
    let view = match find_named(planner, relation)? {
        Some(Relation::View(id)) => planner.catalog().view(id),
        _ => None,
    };
    let Some(view) = view else {
        return Ok(None);
    };
    planner.must_own_table(view.id)?;
    let mut changed = ViewRecord::clone(view);
    for command in commands {
        if command.subtype() == AlterTableType::AtColumnDefault {
            set_default(planner, &mut changed, command)?;
            continue;
        }
        let options = command.def.as_deref().and_then(names::list);
        let options = options.unwrap_or_default();
        for option in options {
            let name = match inner(option) {
                Some(NodeEnum::DefElem(option)) => option.defname.as_str(),
                _ => "",
            };
            match (command.subtype(), boolean_option(option)) {
                (AlterTableType::AtResetRelOptions, _) => {
                    changed.options.said.retain(|(known, _)| known != name);
                }
                (AlterTableType::AtSetRelOptions, said) => {
                    if let Some(said) = said? {
                        say(&mut changed.options, said);
                        continue;
                    }
                }
                _ => {}
            }
            changed.check = match command.subtype() {
                AlterTableType::AtSetRelOptions => {
                    check_option(planner, option, relation.location)?
                }
                AlterTableType::AtResetRelOptions => {
                    let of_check = matches!(inner(option), Some(NodeEnum::DefElem(option)) if option.defname == "check_option");
                    match of_check {
                        true => CheckOption::None,
                        false => continue,
                    }
                }
                _ => return Ok(None),
            };
        }
        if options.is_empty() {
            return Ok(None);
        }
    }
    if changed.check != CheckOption::None {
        refuse_check(planner, &Arc::new(changed.clone()))?;
    }
    let mut draft = Draft::new(planner);
    draft.put_view(&changed)?;
    draft.finish("ALTER VIEW").map(Some)
}

/// What ALTER VIEW says of what is no view, or does what is not known here.
///
/// # Errors
/// `42P01`, `42809`, `0A000`.
pub(super) fn no_view(
    planner: &Planner,
    relation: &RangeVar,
    missing_ok: bool,
) -> SqlResult<Planned> {
    let name = &relation.relname;
    let is_view = |id| planner.catalog().view(id).is_some();
    match find_named(planner, relation)? {
        Some(Relation::View(id)) if is_view(id) => {
            Err(planner.unsupported("this form of ALTER VIEW", relation.location))
        }
        Some(_) => {
            let message = format!("\"{name}\" is not a view");
            Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message))
        }
        None if missing_ok => {
            planner.notice(format!("relation \"{name}\" does not exist, skipping"));
            Ok(planner.nothing("ALTER VIEW"))
        }
        None => Err(no_relation(planner, relation).nowhere()),
    }
}

/// ALTER COLUMN … SET DEFAULT, or DROP DEFAULT.
fn set_default(planner: &Planner, view: &mut ViewRecord, command: &AlterTableCmd) -> SqlResult<()> {
    let mut columns = view.columns.iter();
    let place = columns.position(|column| column.name == command.name);
    let place = place.ok_or_else(|| {
        let (column, view) = (&command.name, &view.name);
        let message = format!("column \"{column}\" of relation \"{view}\" does not exist");
        SqlError::new(SqlState::UNDEFINED_COLUMN, message)
    })?;
    let text = match command.def.as_deref() {
        Some(node) => {
            let of = (Some(&*view.schema), &view.as_column(place), None);
            default_text(planner, node, of)?
        }
        None => None,
    };
    view.defaults.retain(|(other, _)| *other != place);
    view.defaults.extend(text.map(|text| (place, text)));
    Ok(())
}

/// True if a planner has met temporary tables or views.
fn uses_temporary(planner: &Planner, met: &Planner) -> bool {
    let catalog = planner.catalog();
    met.uses().into_iter().any(|(id, _)| {
        let table = catalog.table_by_id(id).map(|table| &table.schema);
        let view = catalog.view(id).map(|view| &view.schema);
        table.or(view).is_some_and(|schema| is_temporary(schema))
    })
}

/// True if what a planner has met calls a temporary function.
fn calls_temporary(planner: &Planner, met: &Planner) -> bool {
    let is_so = |need: Need| {
        let id = RoutineId(need.object.number);
        let routine = planner.catalog().routine(id);
        need.object.kind == ObjectKind::Routine
            && routine.is_some_and(|routine| is_temporary(&routine.record.schema))
    };
    met.take_needs().into_iter().any(is_so)
}

/// CREATE OR REPLACE keeps the columns that there were, and may add some.
fn check_replaced(old: &ViewRecord, new: &[ViewColumnRecord]) -> SqlResult<()> {
    let refuse = |message: String| SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message);
    if new.len() < old.columns.len() {
        return Err(refuse("cannot drop columns from view".to_string()));
    }
    for (old, new) in old.columns.iter().zip(new) {
        if old.name != new.name {
            let message = format!(
                "cannot change name of view column \"{}\" to \"{}\"",
                old.name, new.name
            );
            let hint =
                "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.";
            return Err(refuse(message).hint(hint));
        }
        if (old.ty, old.modifier) != (new.ty, new.modifier) {
            return Err(refuse(format!(
                "cannot change data type of view column \"{}\" from {} to {}",
                old.name,
                format_type(old.ty, old.modifier),
                format_type(new.ty, new.modifier)
            )));
        }
    }
    Ok(())
}

/// Sees to it that no view uses a relation, or a column of it, any more. `what`: as messages call it.
///
/// # Errors
/// `2BP01` if one does, unless `cascade`. Views in `together` are going anyway.
pub(super) fn release(
    draft: &mut Draft,
    what: &str,
    id: TableId,
    column: Option<usize>,
    cascade: bool,
    together: &[TableId],
) -> SqlResult<()> {
    let mut needing = Needing::default();
    collect(draft, what, id, column, together, &mut needing);
    if needing.details.is_empty() {
        return Ok(());
    }
    if !cascade {
        return Err(SqlError::new(
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop {what} because other objects depend on it"),
        )
        .detail(needing.details.join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    draft.planner.notice_cascade(&needing.names);
    needing.drop(draft)
}

/// Views and policies that need what goes.
#[derive(Default)]
pub(super) struct Needing {
    views: Vec<TableId>,
    policies: Vec<policy::Needing>,
    /// What they are called, in the order in which they were found.
    pub names: Vec<String>,
    pub details: Vec<String>,
}

impl Needing {
    /// A view that needs what goes by itself, with what is over it.
    pub fn add(&mut self, draft: &Draft, view: &ViewRecord, what: &str) {
        if self.views.contains(&view.id) {
            return;
        }
        let own = described(draft.planner.catalog(), view.id, &view.name);
        self.views.push(view.id);
        self.note(&own, what);
        collect(draft, &own, view.id, None, &[], self);
    }

    /// The same of what needs a column.
    pub fn add_over(&mut self, draft: &Draft, what: &str, table: TableId, column: usize) {
        collect(draft, what, table, Some(column), &[], self);
    }

    /// What was noted behind the first so many.
    pub fn lines_from(&self, before: usize) -> Vec<(String, String)> {
        let names = self.names.iter().cloned();
        let lines = names.zip(self.details.iter().cloned());
        lines.skip(before).collect()
    }

    /// Drops them all.
    pub fn drop(self, draft: &mut Draft) -> SqlResult<()> {
        let catalog = draft.planner.catalog();
        for id in self.views {
            match catalog.table_by_id(id) {
                Some(matview) => draft.drop_table(matview),
                None => draft.drop_view(id),
            }
        }
        for (table, name) in self.policies {
            draft.drop_policy(table, &name)?;
        }
        Ok(())
    }

    fn note(&mut self, name: &str, what: &str) {
        self.names.push(name.to_string());
        self.details.push(format!("{name} depends on {what}"));
    }
}

/// A view, materialized or not, as messages name it.
fn described(catalog: &Catalog, id: TableId, name: &str) -> String {
    match catalog.matview(id) {
        Some(_) => format!("materialized view {name}"),
        None => format!("view {name}"),
    }
}

fn collect(
    draft: &Draft,
    what: &str,
    id: TableId,
    column: Option<usize>,
    together: &[TableId],
    needing: &mut Needing,
) {
    let catalog = draft.planner.catalog();
    for policy in policy::naming(draft, id, column) {
        if !needing.policies.contains(&policy) && !together.contains(&policy.0) {
            needing.note(&policy::described(catalog, &policy), what);
            needing.policies.push(policy);
        }
    }
    for view in catalog.views_using(id, column) {
        let known = needing.views.contains(&view.id);
        if known || together.contains(&view.id) || draft.has_dropped_view(view.id) {
            continue;
        }
        let own = described(catalog, view.id, &view.name);
        needing.views.push(view.id);
        needing.note(&own, what);
        collect(draft, &own, view.id, None, together, needing);
    }
}

/// Views whose queries call a function themselves. Of one that does not read any more nobody knows.
pub(super) fn calling(planner: &Planner, function: RoutineId, name: &str) -> Vec<Arc<ViewRecord>> {
    let calls = |view: &ViewRecord| {
        let context = context_within(&unasked(planner.context), view);
        let inside = Planner::new(&context, "", &[]);
        let planned = query_of(view).and_then(|query| plan_query(&inside, &query, None));
        let is_it = |need: &Need| {
            let object = need.object;
            object.kind == ObjectKind::Routine && object.number == function.0
        };
        // What views below call is theirs.
        let own = |need: &Need| need.role.is_none() && is_it(need);
        planned.is_ok() && inside.needs_of_definition().iter().any(own)
    };
    let all = planner.catalog().all_views();
    let may = all.filter(|view| has_word(&view.text, name));
    may.filter(|view| calls(view))
        .map(|view| Arc::new(view.clone()))
        .collect()
}

/// Refuses to change the type of a column that a view uses.
///
/// # Errors
/// `0A000`.
pub(super) fn refuse_change_of_type(
    planner: &Planner,
    table: TableId,
    column: usize,
    name: &str,
) -> SqlResult<()> {
    let mut views = planner.catalog().views_using(table, Some(column));
    match views.next() {
        None => Ok(()),
        Some(view) => Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "cannot alter type of a column used by a view or rule",
        )
        .detail(format!(
            "rule _RETURN on view {} depends on column \"{name}\"",
            view.name
        ))),
    }
}

/// Refuses to rename a relation that a view names: its query is kept as text.
///
/// # Errors
/// `0A000`.
pub(super) fn refuse_rename(planner: &Planner, relation: TableId) -> SqlResult<()> {
    let mut views = planner.catalog().views_using(relation, None);
    match views.next() {
        None => Ok(()),
        Some(view) => Err(SqlError::unsupported(format!(
            "renaming what view \"{}\" uses",
            view.name
        ))),
    }
}

/// Whether what a view uses leads to a view, through others.
fn leads_to(
    planner: &Planner,
    uses: &[(TableId, Vec<usize>)],
    view: TableId,
    seen: &mut BTreeSet<TableId>,
) -> bool {
    uses.iter().any(|(used, _)| {
        *used == view
            || seen.insert(*used)
                && planner
                    .catalog()
                    .view(*used)
                    .is_some_and(|inside| leads_to(planner, &inside.uses, view, seen))
    })
}
