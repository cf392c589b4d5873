//! What a statement changes: a table, or what a view shows of one.
//!
//! Relies on: `view` for queries of views, `simple` for which of them will do.  Promises: a statement about a view that
//! PostgreSQL calls automatically updatable is one about the table below, so that nothing behind the planner knows of
//! views: a column of the view is an expression over the table's row, what the view selects by is one more condition, and
//! WITH CHECK OPTION is one more check that the statement's own table has. Whoever owns a view needs what the statement
//! does below it.
//! A view whose INSTEAD OF triggers do what is asked is like a table of the rows that it shows, which is nowhere (`instead`).
//! Does not: conditions with subqueries or users' functions as checks (0A000); rules.
//!
//! ```text
//!   UPDATE view SET k = 1 WHERE e > 2      view: SELECT id AS k, a + 1 AS e FROM t WHERE a > 0
//!   UPDATE t SET id = 1 WHERE a + 1 > 2 AND a > 0
//! ```

mod instead;
mod simple;

pub(crate) use instead::{fired, possible_with_triggers};

use crate::catalog::Relation;
use crate::coerce;
use crate::ddl::{refuse_change, table_object};
use crate::expr::Binder;
use crate::from::{
    Doing, From, Source, alias_or, find_named, heed_only, refuse_rows_named, row_target,
};
use crate::insert::column_number;
use crate::names;
use crate::planner::Planner;
use crate::records::{CheckOption, ViewRecord};
use crate::rewrite::move_columns;
use crate::routine::has_subquery;
use crate::row_security::{self, Check, Command, PartOf, RowChecks, Words, add};
use crate::scope::{Scope, ScopeColumn, ScopeTable};
use crate::stored::defaults_of_view;
use crate::system::is_system_table;
use crate::variables::Variables;
use crate::view::context_within;
use pg_query::protobuf::RangeVar;
use quintet_base::{RoleId, SqlError, SqlResult, SqlState, TableId};
use quintet_ir::expr::Truth;
use quintet_ir::plan::Plan;
use quintet_ir::schema::{CheckDef, CheckKind, TableDef, TableRef};
use quintet_ir::statement::{ConflictAction, Insert};
use quintet_ir::{Expr, Need, Part, Privileges};
use simple::{
    AGGREGATES, NOT_SINGLE, Simple, WINDOWS, below_names, below_number, place_of, refusal, simple,
    value_of,
};
use std::sync::Arc;

/// `pg_relation_is_updatable` counts commands so.
const UPDATE: i32 = 1 << 2;
const INSERT: i32 = 1 << 3;
const DELETE: i32 = 1 << 4;
/// All that can be done to the rows of a table.
pub(crate) const EVERYTHING: i32 = UPDATE | INSERT | DELETE;
/// What must be possible for rows to be called updatable.
pub(crate) const CHANGES: i32 = UPDATE | DELETE;
/// And for them to be added.
pub(crate) const ADDS: i32 = INSERT;

/// What a statement changes.
pub(crate) struct Target {
    /// The table whose rows change, with what views check of new ones.
    pub table: TableRef,
    seen: Option<Seen>,
    /// The table is a view with INSTEAD OF triggers: what it shows, if the statement asks for that.
    shown: Option<Plan>,
}

/// How a view shows the table.
struct Seen {
    view: Arc<ViewRecord>,
    columns: Vec<SeenColumn>,
    /// What the rows fulfil that the view shows, over the table's frame.
    conditions: Vec<Expr>,
    /// Whose privileges are needed below each view.
    /// `None`: whoever uses the view.
    owners: Vec<(Option<RoleId>, TableId)>,
    /// As many of the conditions are asked before those of the statement.
    barrier: usize,
    /// What is needed below it to read what it shows.
    reads: Vec<Need>,
    /// Its own defaults, by the places of the columns in the table.
    defaults: Vec<(usize, Expr)>,
}

struct SeenColumn {
    /// Over the table's frame.
    column: ScopeColumn,
    /// The column of the table that it is; or why it is none that can be given a value.
    place: Result<usize, Fixed>,
}

/// A column that cannot be given a value.
#[derive(Clone)]
struct Fixed {
    column: String,
    view: String,
    why: &'static str,
}

impl Fixed {
    fn error(&self, doing: Doing) -> SqlError {
        let verb = match doing {
            Doing::Insert => "insert into",
            Doing::Update | Doing::Delete => "update",
        };
        let (column, view) = (&self.column, &self.view);
        let message = format!("cannot {verb} column \"{column}\" of view \"{view}\"");
        SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message).detail(self.why)
    }
}

impl Target {
    /// A table by itself.
    pub fn of_table(table: TableRef) -> Target {
        Target {
            table,
            seen: None,
            shown: None,
        }
    }

    /// What a name stands for whose rows a statement changes.
    ///
    /// # Errors
    /// `55000` for a view through which nothing can be changed, `42P01`, `42809` for what is no table.
    pub fn find(planner: &Planner, relation: &RangeVar, doing: Doing) -> SqlResult<Target> {
        refuse_rows_named(planner, relation)?;
        match find_named(planner, relation)? {
            Some(Relation::View(id)) if planner.catalog().view(id).is_some() => {
                planner.use_relation(id);
                let view = planner.catalog().view(id).cloned();
                let view = view.ok_or_else(|| SqlError::internal("a view is gone"))?;
                if instead::has_triggers(planner.catalog(), id, doing) {
                    return Target::of_triggers(planner, &view, doing);
                }
                Target::of_view(planner, &view, doing, false)
            }
            _ => {
                let table = row_target(planner, relation)?;
                refuse_change(planner.context, table.id)?;
                Ok(Target::of_table(heed_only(relation, table)))
            }
        }
    }

    /// What a view shows. `cascaded`: views above check what this one selects by.
    ///
    /// # Errors
    /// As [`Target::find`]; `0A000` for a check that cannot be one of the table.
    pub fn of_view(
        planner: &Planner,
        view: &Arc<ViewRecord>,
        doing: Doing,
        cascaded: bool,
    ) -> SqlResult<Target> {
        let refused = |why| refusal(&view.name, why, doing);
        let simple = simple(view)?.map_err(refused)?;
        let context = context_within(planner.context, view);
        let nothing = Variables::default();
        let inside = match planner.variables {
            Some(_) => Planner::inside(&context, "", &nothing),
            None => Planner::new(&context, "", &[]),
        };
        inside.as_deep_as(planner);
        inside.number_behind(planner);
        inside.calls.allow();
        let invokers = view.options.is_invokers();
        inside.acts_as.set(match invokers {
            true => None,
            false => Some(planner.owner_of(view.id)),
        });
        inside.guarded.replace(planner.guarded.borrow().clone());
        let cascaded = cascaded || view.check == CheckOption::Cascaded;
        let below = match find_named(&inside, &simple.below)? {
            Some(Relation::View(id)) => match planner.catalog().view(id) {
                Some(below) if instead::has_triggers(planner.catalog(), id, doing) => {
                    // What it shows is read below, by who owns the view.
                    Target::of_triggers(&inside, below, doing)?
                }
                Some(below) => planner
                    .deeper(|| Target::of_view(&inside, below, doing, cascaded))
                    .map_err(SqlError::nowhere)?,
                None => return Err(refused(NOT_SINGLE)),
            },
            Some(Relation::Table(id)) if planner.catalog().matview(id).is_some() => {
                return Err(refused(NOT_SINGLE));
            }
            Some(Relation::Table(_) | Relation::Partition(_)) => {
                Target::of_table(row_target(&inside, &simple.below)?)
            }
            _ => return Err(refused(NOT_SINGLE)),
        };
        let target = through(&inside, view, &simple, below, doing, cascaded);
        // What makes one row of several is found out where it is bound.
        let mut target = target.map_err(|error| match error.state {
            SqlState::GROUPING_ERROR => refused(AGGREGATES),
            SqlState::WINDOWING_ERROR => refused(WINDOWS),
            _ => error.nowhere(),
        })?;
        if target.places().all(|place| place.is_err()) && !matches!(doing, Doing::Delete) {
            return Err(refused(
                "Views that have no updatable columns are not automatically updatable.",
            ));
        }
        planner.number_behind(&inside);
        planner.calls.take_over(&inside.calls);
        planner.reads_as(&inside);
        let mut needs = inside.needs_of_definition();
        // What a query in a view's condition reads is read by its check.
        if let Some(seen) = &mut target.seen
            && !has_subquery(&simple.select)
        {
            let is_read = |need: &Need| need.privileges == Privileges::SELECT;
            let owner = (!invokers).then(|| planner.owner_of(view.id));
            let reads = needs.iter().filter(|need| is_read(need)).map(|need| Need {
                role: need.role.or(owner),
                ..*need
            });
            seen.reads.extend(reads);
            needs.retain(|need| !is_read(need));
        }
        match invokers {
            true => planner.need_of_user(needs),
            false => planner.need_of_view(view.id, needs),
        }
        Ok(target)
    }

    /// What the view itself puts into a column of the table where nothing is given.
    pub fn own_default(&self, place: usize) -> Option<&Expr> {
        match &self.seen {
            Some(seen) => {
                let mut defaults = seen.defaults.iter();
                let found = defaults.find(|(other, _)| *other == place);
                found.map(|(_, default)| default)
            }
            None => self.table.columns[place].default.as_ref(),
        }
    }

    /// The number of what the statement names.
    pub fn relation(&self) -> TableId {
        self.seen
            .as_ref()
            .map_or_else(|| self.table.relation(), |seen| seen.view.id)
    }

    /// The statement changes it, and whoever asks needs privileges; so do the owners of views for what is below.
    pub fn need(&self, planner: &Planner, privileges: Privileges) {
        planner.need_target(self.relation(), privileges);
        self.need_below(planner, privileges);
    }

    /// The owners of views need privileges for what is below.
    pub fn need_below(&self, planner: &Planner, privileges: Privileges) {
        let of_columns = (Privileges::INSERT | Privileges::UPDATE).contains(privileges);
        let owners = self.seen.iter().flat_map(|seen| &seen.owners);
        for (depth, (owner, below)) in owners.enumerate() {
            // Which columns of a view between others are written is not known.
            let part = match depth {
                0 if of_columns => Part::Any,
                _ => Part::Whole,
            };
            need_of(planner, *owner, *below, privileges, part);
        }
    }

    /// If the statement, all of which has been bound, reads what it changes, the owners of views need privileges for that.
    pub fn need_reads(&self, planner: &Planner) {
        if let Some(seen) = &self.seen
            && planner.reads_target(self.relation())
        {
            planner.need_all(seen.reads.clone());
        }
    }

    /// The statement gives a value to a column, which is at this place in the table.
    pub fn need_column(&self, planner: &Planner, name: &str, place: usize, privileges: Privileges) {
        let Some(seen) = &self.seen else {
            return planner.need_column(self.table.relation(), place, privileges);
        };
        let number = seen.columns.iter().position(|own| own.column.name == name);
        if let Some(number) = number {
            planner.need_column(seen.view.id, number, privileges);
        }
        if let Some((owner, below)) = seen.owners.first() {
            let part = Part::Column(u16::try_from(place + 1).unwrap_or(u16::MAX));
            need_of(planner, *owner, *below, privileges, part);
        }
    }

    /// An INSERT gives values to so many columns, from the first on.
    pub fn need_first(&self, planner: &Planner, count: usize) {
        let columns = match &self.seen {
            None => {
                let columns = self.table.visible_columns();
                let columns = columns.map(|(place, column)| (column.name.clone(), place));
                columns.collect::<Vec<_>>()
            }
            Some(seen) => {
                let columns = seen.columns.iter();
                let columns = columns
                    .filter_map(|own| Some((own.column.name.clone(), *own.place.as_ref().ok()?)));
                columns.collect()
            }
        };
        for (name, place) in columns.iter().take(count) {
            self.need_column(planner, name, *place, Privileges::INSERT);
        }
    }

    /// Its rows as the first item of FROM, under the name that the statement has for it; those that a view shows.
    pub fn from(&self, relation: &RangeVar) -> From {
        let name = alias_or(relation.alias.as_ref(), &relation.relname);
        let own_name = relation.alias.is_none();
        let mut from = From::of_table(&self.table, name, own_name);
        if let (Some(shown), Some(leaf)) = (&self.shown, from.leaves.first_mut()) {
            leaf.source = Source::Plan(shown.clone());
        }
        if self.is_fired()
            && let Some(table) = from.scope.tables.first_mut()
        {
            table.table_oid = None;
        }
        if let Some(seen) = &self.seen {
            let schema = own_name.then_some(seen.view.schema.as_str());
            from.scope = Scope::empty();
            from.scope.add(self.in_sight(name, schema, 0));
            let (barrier, others) = seen.conditions.split_at(seen.barrier);
            from.conditions.extend(others.iter().cloned());
            if let Some(leaf) = from.leaves.first_mut() {
                leaf.security.extend(barrier.iter().cloned());
            }
        }
        from
    }

    /// Whose policies count for the table: the owner's of the view that it is seen through, next to it.
    fn as_owner<T>(&self, planner: &Planner, act: impl FnOnce() -> SqlResult<T>) -> SqlResult<T> {
        let owner = self.seen.iter().find_map(|seen| seen.owners.first());
        let before = planner.acts_as.get();
        if let Some((owner, _)) = owner {
            planner.acts_as.set(*owner);
        }
        let done = act();
        planner.acts_as.set(before);
        done
    }

    /// Has an UPDATE or DELETE, whose expressions have been bound, meet those rows only that policies show; what the
    /// others must fulfil. `from` begins with the table.
    ///
    /// # Errors
    /// What the policies say.
    pub fn secure(
        &self,
        planner: &Planner,
        from: &mut From,
        command: Command,
    ) -> SqlResult<RowChecks> {
        let reads = planner.reads_target(self.relation());
        let table = &self.table;
        self.as_owner(planner, || {
            let mut checks = RowChecks::default();
            let mut conditions = Vec::new();
            match planner.part_of.get() {
                PartOf::Nothing | PartOf::Steps => conditions = planner.met(table, command)?,
                PartOf::Merge => {
                    checks.before = planner.checks(table, command, true, Words::Target)?
                }
            }
            if reads {
                conditions.extend(planner.met(table, Command::Select)?);
            }
            if let Some(leaf) = from.leaves.first_mut() {
                // Before what a view asks.
                let of_view = std::mem::take(&mut leaf.security);
                for condition in row_security::each_once(conditions) {
                    crate::from::split(condition, &mut leaf.security);
                }
                leaf.security.extend(of_view);
            }
            if command == Command::Update {
                checks.after = planner.checks(table, command, false, Words::New)?;
                if reads {
                    let read = planner.checks(table, Command::Select, true, Words::New)?;
                    add(&mut checks.after, read);
                }
            }
            Ok(checks)
        })
    }

    /// What the rows of an INSERT must fulfil, whose expressions have been bound.
    ///
    /// # Errors
    /// What the policies say.
    pub fn added(&self, planner: &Planner, insert: &Insert) -> SqlResult<RowChecks> {
        let returns = insert.returning.is_some();
        let reads = planner.reads_target(self.relation()) || self.is_view() && returns;
        let table = &self.table;
        let updates = insert
            .conflict
            .as_ref()
            .is_some_and(|conflict| matches!(conflict.action, ConflictAction::Update { .. }));
        self.as_owner(planner, || {
            let both = |command, using, words| -> SqlResult<Vec<Check>> {
                let mut all = planner.checks(table, command, using, words)?;
                if reads {
                    add(
                        &mut all,
                        planner.checks(table, Command::Select, true, words)?,
                    );
                }
                Ok(all)
            };
            let mut checks = RowChecks {
                added: both(Command::Insert, false, Words::New)?,
                ..RowChecks::default()
            };
            if updates {
                checks.in_the_way = both(Command::Update, true, Words::InTheWay)?;
                checks.after = both(Command::Update, false, Words::New)?;
            }
            Ok(checks)
        })
    }

    /// Its columns over a frame of the table that begins at `offset`.
    pub fn in_sight(&self, name: &str, schema: Option<&str>, offset: usize) -> ScopeTable {
        let Some(seen) = &self.seen else {
            return ScopeTable::with_places(&self.table, name, schema, offset);
        };
        let moved = |column: &ScopeColumn| ScopeColumn {
            expr: move_columns(&column.expr, &|place| place + offset),
            ..column.clone()
        };
        ScopeTable {
            is_optional: false,
            name: name.to_string(),
            schema: schema.map(str::to_string),
            columns: seen.columns.iter().map(|own| moved(&own.column)).collect(),
            table_oid: None,
            row: None,
        }
    }

    /// The number of the table's column that a name stands for which is given a value.
    ///
    /// # Errors
    /// `42703` for a name that is not there, `0A000` for a column of a view that is none of the table's.
    pub fn column(
        &self,
        planner: &Planner,
        name: &str,
        location: i32,
        doing: Doing,
    ) -> SqlResult<usize> {
        let Some(seen) = &self.seen else {
            return column_number(planner, &self.table, name, location);
        };
        let found = seen.columns.iter().find(|own| own.column.name == name);
        let found = found.ok_or_else(|| {
            let view = &seen.view.name;
            let message = format!("column \"{name}\" of relation \"{view}\" does not exist");
            planner.error(SqlState::UNDEFINED_COLUMN, message, location)
        })?;
        found.place.as_ref().copied().map_err(|f| f.error(doing))
    }

    /// The table's columns that an INSERT without a list gives values to, in order, and what one more of them says; how many
    /// there are with it.
    pub fn all_columns(&self) -> (Vec<usize>, Option<(usize, SqlError)>) {
        let mut columns = Vec::new();
        let total = self.places().count();
        for place in self.places() {
            match place {
                Ok(place) if columns.contains(&place) => {
                    let twice = assigned_twice(&self.table, place);
                    return (columns, Some((total, twice)));
                }
                Ok(place) => columns.push(place),
                Err(fixed) => return (columns, Some((total, fixed.error(Doing::Insert)))),
            }
        }
        (columns, None)
    }

    fn places(&self) -> impl Iterator<Item = Result<usize, Fixed>> {
        let of_table = self.table.visible_columns().map(|(number, _)| Ok(number));
        let of_view = self.seen.iter().flat_map(|seen| &seen.columns);
        let of_table = self.seen.is_none().then_some(of_table);
        let of_view = of_view.map(|own| own.place.clone());
        of_table.into_iter().flatten().chain(of_view)
    }

    /// The number of the table's column that a name stands for; none if it is an expression.
    ///
    /// # Errors
    /// `42703` for a name that is not there.
    pub fn named(&self, planner: &Planner, name: &str, location: i32) -> SqlResult<Option<usize>> {
        match self.column(planner, name, location, Doing::Insert) {
            Ok(number) => Ok(Some(number)),
            Err(error) if error.state == SqlState::FEATURE_NOT_SUPPORTED => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The name of the view that it is seen through.
    pub fn view(&self) -> Option<&str> {
        self.seen.as_ref().map(|seen| seen.view.name.as_str())
    }

    /// True if it is seen through a view.
    pub fn is_view(&self) -> bool {
        self.seen.is_some()
    }
}

fn need_of(
    planner: &Planner,
    owner: Option<RoleId>,
    below: TableId,
    privileges: Privileges,
    part: Part,
) {
    match (owner, part) {
        (Some(owner), part) => planner.need_as(owner, below, privileges, part),
        (None, part) => planner.need_part(table_object(below), privileges, part),
    }
}

/// `42601` for a column of a table that two of a view's are.
pub(crate) fn assigned_twice(table: &TableDef, column: usize) -> SqlError {
    let name = &table.columns[column].name;
    let message = format!("multiple assignments to same column \"{name}\"");
    SqlError::new(SqlState::SYNTAX_ERROR, message)
}

/// What a view shows of what is below it. `planner`: the view's own.
fn through(
    planner: &Planner,
    view: &Arc<ViewRecord>,
    simple: &Simple,
    below: Target,
    doing: Doing,
    cascaded: bool,
) -> SqlResult<Target> {
    let relation = &simple.below;
    // What it shows is read by who owns it.
    planner.need_source(below.relation());
    let from = below.from(relation);
    let mut scope = from.scope;
    rename(&mut scope, relation);
    let binder = Binder::new(planner, &scope, "SELECT");
    let under = below_names(planner, relation)?;
    let mut columns = Vec::with_capacity(view.columns.len());
    for (number, (item, own)) in simple
        .select
        .target_list
        .iter()
        .zip(&view.columns)
        .enumerate()
    {
        let value = value_of(item).ok_or_else(|| SqlError::internal("a column of nothing"))?;
        let fixed = |why| Fixed {
            column: own.name.clone(),
            view: view.name.clone(),
            why,
        };
        let place = match place_of(value, &under) {
            Err(why) => Err(fixed(why)),
            Ok(place) => match &below.seen {
                None => Ok(place),
                Some(seen) => seen.columns[place].place.clone(),
            },
        };
        let expr = coerce::settle(planner, binder.bind(value)?)?;
        columns.push(SeenColumn {
            column: ScopeColumn {
                name: own.name.clone(),
                expr,
                modifier: own.modifier,
                origin: Some((view.id, number as u16 + 1)),
            },
            place,
        });
    }
    let mut table = TableRef::clone(&below.table);
    let shown = below.shown.clone();
    let fired = below.is_fired();
    let (mut conditions, mut owners, mut barrier, reads) = match below.seen {
        Some(seen) => (seen.conditions, seen.owners, seen.barrier, seen.reads),
        None => (Vec::new(), Vec::new(), 0, Vec::new()),
    };
    owners.push((planner.acts_as.get(), below_number(planner, relation)?));
    if let Some(node) = simple.select.where_clause.as_deref() {
        let condition = Binder::new(planner, &scope, "WHERE").condition(node)?;
        let checked = cascaded || view.check == CheckOption::Local;
        if checked && !matches!(doing, Doing::Delete) {
            if fired {
                let what = "a check of a view over one with INSTEAD OF triggers";
                return Err(SqlError::unsupported(what));
            }
            let check = check_of(view, condition.clone())?;
            Arc::make_mut(&mut table).checks.push(check);
        }
        crate::from::split(condition, &mut conditions);
    }
    if view.options.is_barrier() {
        barrier = conditions.len();
    }
    let defaults = defaults_of_view(planner.catalog(), view)?;
    let mut places = defaults.iter().map(|(number, _)| &columns[*number].place);
    if let (Doing::Insert, Some(Err(fixed))) = (doing, places.find(|place| place.is_err())) {
        return Err(fixed.error(doing));
    }
    let defaults = defaults.into_iter();
    let at_place =
        |(number, default)| Some((*columns.get::<usize>(number)?.place.as_ref().ok()?, default));
    let defaults: Vec<(usize, Expr)> = defaults.filter_map(at_place).collect();
    for (place, default) in &defaults {
        Arc::make_mut(&mut table).columns[*place].default = Some(default.clone());
    }
    let seen = Seen {
        view: Arc::clone(view),
        columns,
        conditions,
        owners,
        barrier,
        reads,
        defaults,
    };
    Ok(Target {
        table,
        seen: Some(seen),
        shown,
    })
}

/// What a view selects by, as something that new rows must fulfil: unlike a table's check, not if it is NULL.
fn check_of(view: &ViewRecord, condition: Expr) -> SqlResult<CheckDef> {
    let name = &view.name;
    if condition.has_subquery() || condition.calls_routine() {
        let what =
            format!("a check of view \"{name}\", whose condition asks a query or a function");
        return Err(SqlError::unsupported(what));
    }
    Ok(CheckDef {
        name: name.clone(),
        condition: Expr::IsTruth {
            input: Box::new(condition),
            truth: Truth::True,
            negated: false,
        },
        text: String::new(),
        validated: true,
        kind: CheckKind::OfView,
    })
}

/// FROM t AS name (columns).
fn rename(scope: &mut Scope, relation: &RangeVar) {
    let given = relation.alias.iter();
    let given = given.flat_map(|alias| names::strings(&alias.colnames));
    let columns = scope.tables.iter_mut().flat_map(|table| &mut table.columns);
    for (column, name) in columns.zip(given) {
        column.name = name.to_string();
    }
}

/// Why WITH CHECK OPTION cannot be had of a view, in PostgreSQL's words.
///
/// # Errors
/// As planning a change of it.
pub(crate) fn refuse_check(planner: &Planner, view: &Arc<ViewRecord>) -> SqlResult<()> {
    let checked = planner.for_nothing(|| Target::of_view(planner, view, Doing::Insert, false));
    checked.map_err(|error| match (error.state, &error.detail) {
        (SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, Some(why)) => {
            let message = "WITH CHECK OPTION is supported only on automatically updatable views";
            SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message).hint(why.clone())
        }
        _ => error,
    })
}

/// What can be done to the rows of a relation: [`EVERYTHING`] or parts of it.
pub(crate) fn possible(planner: &Planner, id: TableId) -> i32 {
    match is_updatable(planner, id) {
        true => possible_below(planner, id, None),
        false => 0,
    }
}

/// Whether each of these columns of a relation, by place, can be given values.
pub(crate) fn updatable_columns(planner: &Planner, id: TableId, width: usize) -> Vec<bool> {
    let is_updatable = is_updatable(planner, id);
    let can = |place| possible_below(planner, id, Some(vec![place])) & CHANGES == CHANGES;
    (0..width).map(|place| is_updatable && can(place)).collect()
}

/// False for a view that is not one row for each row below it.
fn is_updatable(planner: &Planner, id: TableId) -> bool {
    let Some(view) = planner.catalog().view(id) else {
        return true;
    };
    planner
        .for_nothing(|| Target::of_view(planner, view, Doing::Delete, false))
        .is_ok()
}

fn possible_below(planner: &Planner, id: TableId, columns: Option<Vec<usize>>) -> i32 {
    let catalog = planner.catalog();
    let Some(view) = catalog.view(id) else {
        let of_system = is_system_table(id.0);
        let is_table = of_system || catalog.rows_of(id).is_some() && catalog.matview(id).is_none();
        return if is_table { EVERYTHING } else { 0 };
    };
    let Ok(Ok(simple)) = simple(view) else {
        return 0;
    };
    let context = context_within(planner.context, view);
    let inside = Planner::new(&context, "", &[]);
    let (Ok(under), Ok(below)) = (
        below_names(&inside, &simple.below),
        below_number(&inside, &simple.below),
    ) else {
        return 0;
    };
    let values = simple.select.target_list.iter().enumerate();
    let places = values.filter(|(number, _)| {
        let asked = columns.as_ref();
        asked.is_none_or(|asked| asked.contains(number))
    });
    let places = places.filter_map(|(_, item)| place_of(value_of(item)?, &under).ok());
    let places: Vec<usize> = places.collect();
    let here = match places.is_empty() {
        true => DELETE,
        false => EVERYTHING,
    };
    let of_view = catalog.view(below).is_some();
    here & possible_below(&inside, below, of_view.then_some(places))
}
