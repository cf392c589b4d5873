//! What calls functions that are to go.
//!
//! Relies on: calls in tables' expressions name functions by their numbers, policies keep what they call, views are planned to see it.
//! Promises: nothing that needs a function stays without it; all that need it, and what needs those, are told in the order in which they
//! were made, and go with CASCADE.  Does not: look into bodies that are strings, as PostgreSQL does not; tell a function of several of its
//! name from others where only a routine's header, its statements or a domain's default names it.
//!
//! | what calls | what goes with CASCADE |
//! |---|---|
//! | a default, also of a partition's column, or of a view's | the default |
//! | a generated column | the column, and views over it |
//! | a check, an exclusion constraint, an index, a trigger, a policy | itself |
//! | a view | the view, and those over it |
//! | a domain's default | the domain, and columns of it |
//! | a default of a parameter, a body of statements | the routine, and what calls that |

use super::alter::{Parts, drop_parts};
use super::drop_type::{Dependents, dependents, drop_with, routine_word};
use super::{moving, policy, record_of, view, view_defaults};
use crate::draft::Draft;
use crate::planner::Planner;
use crate::records::RecordKey;
use crate::system::print::quoted;
use quintet_base::{RoutineId, SqlError, SqlResult, SqlState, TableId};
use quintet_ir::Expr;
use quintet_ir::expressions::callees;
use quintet_ir::schema::{IndexDef, TableDef, TableRef};
use std::collections::{BTreeMap, BTreeSet};

/// Something that goes, as messages call it.
pub(crate) struct Going {
    pub id: RoutineId,
    pub what: String,
}

impl Going {
    /// Of one that is declared with what is gone only the name is known.
    pub fn of(planner: &Planner, id: RoutineId) -> Option<Going> {
        let stored = planner.catalog().routine(id)?;
        let what = match stored.signature(planner.catalog()) {
            Ok(signature) => routine_word(planner, signature),
            Err(_) => format!("function {}", stored.record.name),
        };
        Some(Going { id, what })
    }
}

/// What needs functions.
#[derive(Default)]
struct Needing {
    parts: BTreeMap<TableId, Parts>,
    triggers: BTreeSet<u32>,
    of_views: Vec<view_defaults::Place>,
    policies: Vec<policy::Needing>,
    views: view::Needing,
    routines: BTreeSet<RoutineId>,
    types: Vec<(u32, Dependents)>,
}

/// One that needs a function directly: its number, which grows with time, its name, and what needs it.
struct Found {
    number: u32,
    name: String,
    /// Names of what needs it in turn, and what is said of them.
    then: Vec<(String, String)>,
}

/// Sees to it that nothing needs functions any more. Relations in `together` are going anyway. `whole`: what all of them are parts of.
///
/// # Errors
/// `2BP01` if something does, unless `cascade`.
pub(crate) fn release_functions(
    draft: &mut Draft,
    going: &[Going],
    cascade: bool,
    together: &[TableId],
) -> SqlResult<()> {
    let mut needing = Needing {
        routines: going.iter().map(|one| one.id).collect(),
        ..Needing::default()
    };
    let mut told = BTreeSet::new();
    let mut groups = Vec::new();
    for one in going {
        let mut lines = needing.collect(draft, one, together)?;
        lines.retain(|(name, _)| told.insert(name.clone()));
        groups.push(lines);
    }
    // As PostgreSQL tells them: of the one that was named last first.
    let lines: Vec<(String, String)> = groups.into_iter().rev().flatten().collect();
    if lines.is_empty() {
        return Ok(());
    }
    let (names, details): (Vec<String>, Vec<String>) = lines.into_iter().unzip();
    if !cascade {
        let message = match going {
            [one] => format!(
                "cannot drop {} because other objects depend on it",
                one.what
            ),
            _ => "cannot drop desired object(s) because other objects depend on them".to_string(),
        };
        return Err(
            SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .detail(details.join("\n"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."),
        );
    }
    draft.planner.notice_cascade(&names);
    for one in going {
        needing.routines.remove(&one.id);
    }
    needing.drop(draft, together)
}

/// Whether an expression calls a function.
fn calls(expr: &Expr, function: RoutineId) -> bool {
    let mut found = Vec::new();
    callees(expr, &mut found);
    found.iter().any(|callee| callee.id == function)
}

/// A relation as messages call it.
fn shown(planner: &Planner, schema: &str, name: &str) -> String {
    match planner.shows(schema, name) {
        true => quoted(name),
        false => format!("{}.{}", quoted(schema), quoted(name)),
    }
}

impl Needing {
    /// All that needs a function, with what is said of it.
    fn collect(
        &mut self,
        draft: &Draft,
        of: &Going,
        together: &[TableId],
    ) -> SqlResult<Vec<(String, String)>> {
        let planner = draft.planner;
        let mut found = Vec::new();
        for table in planner.catalog().tables() {
            if !together.contains(&table.id) && !draft.has_dropped(RecordKey::Table(table.id)) {
                self.of_table(draft, table, of, &mut found)?;
            }
        }
        self.of_triggers(draft, of.id, together, &mut found);
        for (place, name) in view_defaults::needing(draft, together, |it| calls(it, of.id))? {
            self.of_views.push(place);
            found.push(Found {
                number: place.view.0,
                name,
                then: Vec::new(),
            });
        }
        self.of_policies(draft, of.id, together, &mut found)?;
        let Some(stored) = planner.catalog().routine(of.id) else {
            return Ok(Vec::new());
        };
        let name = stored.record.name.clone();
        for view in view::calling(planner, of.id, &name) {
            if together.contains(&view.id) || draft.has_dropped_view(view.id) {
                continue;
            }
            let before = self.views.names.len();
            self.views.add(draft, &view, &of.what);
            let mut lines = self.views.lines_from(before);
            if !lines.is_empty() {
                let (name, _) = lines.remove(0);
                found.push(Found {
                    number: view.id.0,
                    name,
                    then: lines,
                });
            }
        }
        self.of_types(draft, of.id, &name, together, &mut found)?;
        self.of_routines(draft, of.id, &name, together, &mut found)?;
        // What was made first is told first.
        found.sort_by_key(|one| one.number);
        let mut lines = Vec::new();
        for one in found {
            let line = format!("{} depends on {}", one.name, of.what);
            lines.push((one.name, line));
            lines.extend(one.then);
        }
        Ok(lines)
    }

    /// Defaults, columns, checks and indexes.
    fn of_table(
        &mut self,
        draft: &Draft,
        table: &TableRef,
        of: &Going,
        found: &mut Vec<Found>,
    ) -> SqlResult<()> {
        let planner = draft.planner;
        let record = match draft.changed_table(table.id)? {
            Some(record) => record,
            None => record_of(planner, table)?,
        };
        let name = shown(planner, &table.schema, &table.name);
        // What its partitions have of it is told of them, too.
        let mut tables = vec![(table.relation().0, name.clone())];
        for part in planner.catalog().divisions().below(table.relation()) {
            tables.push((part.id.0, shown(planner, &part.schema, &part.name)));
        }
        let mut add = |number: u32, name: String, then: Vec<(String, String)>| {
            found.push(Found { number, name, then });
        };
        let columns = table.columns.iter().enumerate();
        for (number, column) in columns.filter(|(_, column)| !column.dropped) {
            let default = column.default.as_ref();
            // One of its domain goes with that.
            let is_own = record.columns[number].default.is_some();
            if is_own && default.is_some_and(|expr| calls(expr, of.id)) {
                let parts = self.parts.entry(table.id).or_default();
                parts.defaults.insert(number);
                for (id, name) in &tables {
                    let column = &column.name;
                    let own = format!("default value for column {column} of table {name}");
                    add(*id, own, Vec::new());
                }
            }
            let made = column.generated.as_ref();
            if !made.is_some_and(|expr| calls(expr, of.id)) {
                continue;
            }
            if column.hidden {
                let indexes = table.indexes.iter();
                for index in indexes.filter(|index| index.columns.contains(&number)) {
                    let parts = self.parts.entry(table.id).or_default();
                    let own = of_index(planner, table, index, &name, parts);
                    add(index.id.0, own, Vec::new());
                }
                continue;
            }
            let parts = self.parts.entry(table.id).or_default();
            parts.columns.push(column.name.clone());
            let own = format!("column {} of table {name}", column.name);
            let before = self.views.names.len();
            self.views.add_over(draft, &own, table.id, number);
            let mut then = self.views.lines_from(before);
            for (_, part) in tables.iter().skip(1).rev() {
                let of_part = format!("column {} of table {part}", column.name);
                let line = format!("{of_part} depends on {own}");
                then.insert(0, (of_part, line));
            }
            add(table.id.0, own, then);
        }
        for check in table.own_checks() {
            if !calls(&check.condition, of.id) {
                continue;
            }
            let parts = self.parts.entry(table.id).or_default();
            parts.constraints.push(check.name.clone());
            for (id, name) in &tables {
                let own = format!("constraint {} on table {name}", check.name);
                add(*id, own, Vec::new());
            }
        }
        Ok(())
    }

    fn of_triggers(
        &mut self,
        draft: &Draft,
        function: RoutineId,
        together: &[TableId],
        found: &mut Vec<Found>,
    ) {
        let planner = draft.planner;
        let catalog = planner.catalog();
        for trigger in catalog.triggers().filter(|it| it.function == function) {
            let gone = draft.has_dropped(RecordKey::Trigger(trigger.id));
            if together.contains(&trigger.table) || gone {
                continue;
            }
            let table = catalog.triggered(trigger.table);
            let table = table.map_or(String::new(), |table| {
                shown(planner, &table.schema, &table.name)
            });
            let kind = match catalog.view(trigger.table) {
                Some(_) => "view",
                None => "table",
            };
            self.triggers.insert(trigger.id);
            found.push(Found {
                number: trigger.id,
                name: format!("trigger {} on {kind} {table}", trigger.name),
                then: Vec::new(),
            });
        }
    }

    fn of_policies(
        &mut self,
        draft: &Draft,
        function: RoutineId,
        together: &[TableId],
        found: &mut Vec<Found>,
    ) -> SqlResult<()> {
        let catalog = draft.planner.catalog();
        for security in catalog.securities() {
            let table = security.table;
            if together.contains(&table) || draft.has_dropped(RecordKey::Table(table)) {
                continue;
            }
            let now = draft.security(table)?;
            let calls = |policy: &&crate::records::PolicyRecord| {
                let mut texts = policy.texts();
                texts.any(|text| text.routines.contains(&function))
            };
            for policy in now.policies.iter().filter(calls) {
                let needing = (table, policy.name.clone());
                found.push(Found {
                    number: policy.id,
                    name: policy::described(catalog, &needing),
                    then: Vec::new(),
                });
                self.policies.push(needing);
            }
        }
        Ok(())
    }

    /// Domains whose default calls it.
    fn of_types(
        &mut self,
        draft: &Draft,
        function: RoutineId,
        name: &str,
        together: &[TableId],
        found: &mut Vec<Found>,
    ) -> SqlResult<()> {
        let planner = draft.planner;
        for record in planner.catalog().user_types() {
            let default = record.domain().and_then(|domain| domain.default.as_deref());
            let calls = default.is_some_and(|text| {
                moving::expression_names(planner, &record.schema, text, (function, name))
            });
            let is_known = self.types.iter().any(|(id, _)| *id == record.id);
            if !calls || is_known || draft.has_dropped(RecordKey::Type(record.id)) {
                continue;
            }
            let with = dependents(planner, &[record.id], together, &[])?;
            let then = with.words.iter().cloned().zip(with.details.iter().cloned());
            found.push(Found {
                number: record.id,
                name: format!("type {}", planner.shown_type(record)),
                then: then.collect(),
            });
            self.types.push((record.id, with));
        }
        Ok(())
    }

    /// Routines whose defaults or statements call it, and what calls those.
    fn of_routines(
        &mut self,
        draft: &Draft,
        function: RoutineId,
        name: &str,
        together: &[TableId],
        found: &mut Vec<Found>,
    ) -> SqlResult<()> {
        let planner = draft.planner;
        for stored in planner.catalog().all_routines() {
            let record = &stored.record;
            let known = self.routines.contains(&record.id);
            if known || draft.has_dropped(RecordKey::Routine(record.id)) {
                continue;
            }
            if !moving::routine_names(planner, record, (function, name)) {
                continue;
            }
            let Some(next) = Going::of(planner, record.id) else {
                continue;
            };
            self.routines.insert(record.id);
            let then = self.collect(draft, &next, together)?;
            found.push(Found {
                number: record.id.0,
                name: next.what,
                then,
            });
        }
        Ok(())
    }

    fn drop(self, draft: &mut Draft, together: &[TableId]) -> SqlResult<()> {
        self.views.drop(draft)?;
        view_defaults::drop(draft, &self.of_views)?;
        for (table, name) in self.policies {
            draft.drop_policy(table, &name)?;
        }
        for trigger in self.triggers {
            draft.drop_trigger(trigger);
        }
        for (_, with) in self.types {
            drop_with(draft, with, together)?;
        }
        for (table, parts) in self.parts {
            if !draft.has_dropped(RecordKey::Table(table)) {
                drop_parts(draft, table, &parts)?;
            }
        }
        for routine in self.routines {
            if !draft.has_dropped(RecordKey::Routine(routine)) {
                draft.drop_routine(routine);
            }
        }
        Ok(())
    }
}

/// An index, or the constraint that it keeps, goes; how messages call it.
fn of_index(
    planner: &Planner,
    table: &TableDef,
    index: &IndexDef,
    name: &str,
    parts: &mut Parts,
) -> String {
    if index.constraint {
        if !parts.constraints.contains(&index.name) {
            parts.constraints.push(index.name.clone());
        }
        return format!("constraint {} on table {name}", index.name);
    }
    if !parts.indexes.contains(&index.id) {
        parts.indexes.push(index.id);
    }
    format!("index {}", shown(planner, &table.schema, &index.name))
}
