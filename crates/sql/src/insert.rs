//! INSERT.
//!
//! Relies on: `select` for what is inserted.  Promises: every table column gets exactly one
//! expression of its type and length; one row of VALUES reads its parameters directly, many rows
//! are planned in time linear in their number.  Does not: check NOT NULL or keys (the engine).
//!
//! | source | `Insert::source` | `Insert::values` |
//! |---|---|---|
//! | one row of VALUES, DEFAULT VALUES | one row of no columns | the expressions themselves |
//! | many rows of VALUES | the given columns, already converted | places, defaults for the rest |
//! | SELECT | the query | conversions of its columns, defaults for the rest |

use crate::coerce;
use crate::command::Planned;
use crate::condition::Hidden;
use crate::expr::Binder;
use crate::from::Doing;
use crate::generated;
use crate::implied::implies;
use crate::names::{self, inner, required};
use crate::output;
use crate::parts;
use crate::planner::Planner;
use crate::rewrite::one_row;
use crate::scope::{Output, Scope};
use crate::select::plan_query;
use crate::system::primary_key_oid;
use crate::updatable::{Target, assigned_twice};
use crate::update;
use crate::with;
use pg_query::NodeEnum;
use pg_query::protobuf::{
    InferClause, InsertStmt, Node, OnConflictAction, OnConflictClause, OverridingKind, RangeVar,
    ReturningClause, SelectStmt,
};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::expressions::{each_node, subqueries};
use quintet_ir::plan::{Access, Plan};
use quintet_ir::schema::{ColumnDef, Identity, TableDef, TableRef};
use quintet_ir::statement::{Arbiter, ConflictAction, Insert, OnConflict};
use quintet_ir::{Expr, Privileges, Statement};

/// Plans an INSERT.
pub(crate) fn plan_insert(planner: &Planner, statement: &InsertStmt) -> SqlResult<Planned> {
    planner.calls.allow();
    let whole = || NodeEnum::InsertStmt(Box::new(statement.clone()));
    let before = with::enter_with(planner, statement.with_clause.as_ref(), &whole)?;
    let relation = required(statement.relation.as_ref())?;
    let into = Target::find(planner, relation, Doing::Insert)?;
    into.need(planner, Privileges::INSERT);
    let table = TableRef::clone(&into.table);
    let whole = parts::whole_columns(planner, &table, statement)?;
    let statement = whole.as_ref().unwrap_or(statement);
    let (columns, beyond) = match statement.cols.is_empty() {
        true => into.all_columns(),
        false => (target_columns(planner, &into, &statement.cols)?, None),
    };
    let overriding = statement.r#override();
    if let Some(count) = given_values(statement).filter(|_| statement.cols.is_empty()) {
        into.need_first(planner, count);
    }
    let (source, values) = match statement.select_stmt.as_deref() {
        None => (one_row(), defaults(&table)),
        Some(node) => {
            let Some(NodeEnum::SelectStmt(select)) = inner(node) else {
                return Err(SqlError::internal("INSERT from no query"));
            };
            let target = Into {
                planner,
                table: &table,
                columns: &columns,
                beyond: beyond.as_ref(),
                listed: !statement.cols.is_empty(),
                overriding,
                into: &into,
            };
            if is_plain_values(select) {
                target.values(select)?
            } else {
                target.query(select)?
            }
        }
    };
    let source = with::leave_with(planner, before, source)?;
    let (source, values) = generated::in_insert(&table, source, values);
    let conflict = match statement.on_conflict_clause.as_deref() {
        Some(clause) => on_conflict(planner, &into, relation, clause)?,
        None => None,
    };
    let mut insert = Insert {
        table,
        source,
        values,
        conflict,
        returning: None,
    };
    let mut seen = into.from(relation).scope;
    let behind = Expr::Column(insert.table.frame_width(), SqlType::Bool);
    seen.tell_changed(insert.updates().then_some(behind));
    let returning = statement.returning_clause.as_ref();
    let (returning, outputs) = bind_returning(planner, &seen, returning)?;
    insert.returning = returning;
    into.need_reads(planner);
    refuse_own_reads(&insert)?;
    let checks = into.added(planner, &insert)?;
    let statement = planner.secured(Statement::Insert(insert), checks)?;
    planner.run(statement, output::publish(outputs), "INSERT")
}

/// With ON CONFLICT DO UPDATE what is changed and returned depends on what is in the way, row by row: a query over the table would
/// see the rows before.
fn refuse_own_reads(insert: &Insert) -> SqlResult<()> {
    let Some(conflict) = &insert.conflict else {
        return Ok(());
    };
    let mut exprs: Vec<&Expr> = insert.returning.iter().flatten().collect();
    if let ConflictAction::Update {
        assignments,
        filter,
    } = &conflict.action
    {
        exprs.extend(assignments.iter().map(|(_, value)| value).chain(filter));
    }
    let mut reads = false;
    for expr in exprs {
        subqueries(expr, &mut |subquery| {
            each_node(&subquery.plan, &mut |plan| {
                let own = |access: &Access| access.table.id == insert.table.id;
                reads |= matches!(plan, Plan::Scan(access) if own(access));
            });
        });
    }
    match reads {
        true => Err(SqlError::unsupported(
            "a subquery over the changed table in ON CONFLICT or RETURNING beside it",
        )),
        false => Ok(()),
    }
}

/// The column numbers of an INSERT's column list.
fn target_columns(planner: &Planner, into: &Target, nodes: &[Node]) -> SqlResult<Vec<usize>> {
    let mut columns = Vec::with_capacity(nodes.len());
    let mut names = Vec::with_capacity(nodes.len());
    for node in nodes {
        let Some(NodeEnum::ResTarget(target)) = inner(node) else {
            return Err(SqlError::internal("a column list of no names"));
        };
        let (name, location) = (target.name.as_str(), target.location);
        if !target.indirection.is_empty() {
            return Err(planner.unsupported("a part of a column as a target", location));
        }
        let number = into.column(planner, name, location, Doing::Insert)?;
        into.need_column(planner, name, number, Privileges::INSERT);
        if names.contains(&name) {
            return Err(listed_twice(planner, name, location));
        }
        if columns.contains(&number) {
            return Err(assigned_twice(&into.table, number));
        }
        names.push(name);
        columns.push(number);
    }
    Ok(columns)
}

/// The column numbers of COPY's column list; all of them if there is none.
pub(crate) fn listed_columns(
    planner: &Planner,
    table: &TableDef,
    nodes: &[Node],
) -> SqlResult<Vec<usize>> {
    if nodes.is_empty() {
        return Ok(table.visible_columns().map(|(number, _)| number).collect());
    }
    let mut columns = Vec::with_capacity(nodes.len());
    for name in names::strings(nodes) {
        let number = column_number(planner, table, name, -1)?;
        if columns.contains(&number) {
            return Err(listed_twice(planner, name, -1));
        }
        columns.push(number);
    }
    Ok(columns)
}

fn listed_twice(planner: &Planner, name: &str, location: i32) -> SqlError {
    let message = format!("column \"{name}\" specified more than once");
    planner.error(SqlState::DUPLICATE_COLUMN, message, location)
}

/// The number of a column to be assigned.
pub(crate) fn column_number(
    planner: &Planner,
    table: &TableDef,
    name: &str,
    location: i32,
) -> SqlResult<usize> {
    table.column(name).ok_or_else(|| {
        let message = format!(
            "column \"{name}\" of relation \"{}\" does not exist",
            table.name
        );
        planner.error(SqlState::UNDEFINED_COLUMN, message, location)
    })
}

/// What a column gets when nothing is given.
pub(crate) fn default_of(column: &ColumnDef) -> Expr {
    match &column.default {
        Some(default) if !column.dropped => default.clone(),
        _ => Expr::null(column.ty),
    }
}

fn defaults(table: &TableDef) -> Vec<Expr> {
    table.columns.iter().map(default_of).collect()
}

/// VALUES with nothing around it, whose rows go straight into the columns.
pub(crate) fn is_plain_values(select: &SelectStmt) -> bool {
    !select.values_lists.is_empty()
        && select.sort_clause.is_empty()
        && select.limit_count.is_none()
        && select.limit_offset.is_none()
        && select.with_clause.is_none()
}

/// Where rows go.
struct Into<'t, 'a> {
    planner: &'t Planner<'a>,
    table: &'t TableRef,
    columns: &'t [usize],
    /// What a value behind those says, if it does not say that there are too many.
    beyond: Option<&'t (usize, SqlError)>,
    /// The columns were listed by the user.
    listed: bool,
    overriding: OverridingKind,
    into: &'t Target,
}

impl Into<'_, '_> {
    fn values(&self, select: &SelectStmt) -> SqlResult<(Plan, Vec<Expr>)> {
        let mut rows = Vec::with_capacity(select.values_lists.len());
        for node in &select.values_lists {
            rows.push(self.row(required(names::list(node))?)?);
        }
        let width = rows[0].len();
        if rows.iter().any(|row| row.len() != width) {
            return Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                "VALUES lists must all be the same length",
            ));
        }
        let mut values = defaults(self.table);
        if rows.len() == 1 {
            for (column, expr) in self.columns.iter().zip(rows.swap_remove(0)) {
                values[*column] = expr;
            }
            return Ok((one_row(), values));
        }
        let types: Vec<SqlType> = self.columns[..width]
            .iter()
            .map(|&column| self.table.columns[column].ty)
            .collect();
        for (place, &column) in self.columns[..width].iter().enumerate() {
            values[column] = Expr::Column(place, types[place]);
        }
        Ok((Plan::Values { rows, types }, values))
    }

    fn row(&self, items: &[Node]) -> SqlResult<Vec<Expr>> {
        self.check_width(
            items.len(),
            items.get(self.columns.len()).map_or(-1, names::location),
        )?;
        let nothing = Scope::empty();
        let binder = Binder::new(self.planner, &nothing, "VALUES");
        let mut row = Vec::with_capacity(items.len());
        for (item, &number) in items.iter().zip(self.columns) {
            let column = &self.table.columns[number];
            let location = names::location(item);
            if let Some(NodeEnum::SetToDefault(_)) = inner(item) {
                row.push(default_of(column));
                continue;
            }
            if column.identity.is_some() && self.overriding == OverridingKind::OverridingUserValue {
                row.push(default_of(column));
                continue;
            }
            self.check_identity(column)?;
            generated::refuse_value(column, true)?;
            let bound = coerce::assign(
                self.planner,
                binder.bind(item)?,
                column.ty,
                column.modifier,
                &column.name,
            );
            row.push(bound.map_err(self.planner.at(location))?);
        }
        Ok(row)
    }

    fn check_width(&self, given: usize, location: i32) -> SqlResult<()> {
        if let Some((total, error)) = self.beyond
            && (self.columns.len() + 1..=*total).contains(&given)
        {
            return Err(error.clone());
        }
        let message = if given > self.columns.len() {
            "INSERT has more expressions than target columns"
        } else if given < self.columns.len() && self.listed {
            "INSERT has more target columns than expressions"
        } else {
            return Ok(());
        };
        Err(self
            .planner
            .error(SqlState::SYNTAX_ERROR, message, location))
    }

    fn check_identity(&self, column: &ColumnDef) -> SqlResult<()> {
        if column.identity != Some(Identity::Always)
            || self.overriding == OverridingKind::OverridingSystemValue
        {
            return Ok(());
        }
        Err(SqlError::new(
            SqlState(*b"428C9"),
            format!(
                "cannot insert a non-DEFAULT value into column \"{}\"",
                column.name
            ),
        )
        .detail(format!(
            "Column \"{}\" is an identity column defined as GENERATED ALWAYS.",
            column.name
        ))
        .hint("Use OVERRIDING SYSTEM VALUE to override."))
    }

    fn query(&self, select: &SelectStmt) -> SqlResult<(Plan, Vec<Expr>)> {
        let wanted: Vec<SqlType> = self
            .columns
            .iter()
            .map(|&column| self.table.columns[column].ty)
            .collect();
        let query = plan_query(self.planner, select, Some(&wanted))?;
        self.check_width(query.outputs.len(), -1)?;
        if !self.listed {
            self.into.need_first(self.planner, query.outputs.len());
        }
        let mut values = defaults(self.table);
        for (place, (output, &number)) in query.outputs.iter().zip(self.columns).enumerate() {
            let column = &self.table.columns[number];
            if column.identity.is_some() && self.overriding == OverridingKind::OverridingUserValue {
                continue;
            }
            self.check_identity(column)?;
            generated::refuse_value(column, true)?;
            values[number] = self.converted_output(place, output, column)?;
        }
        Ok((query.plan, values))
    }

    /// A column of the query as a column of the table.
    fn converted_output(
        &self,
        place: usize,
        output: &Output,
        column: &ColumnDef,
    ) -> SqlResult<Expr> {
        let expr = Expr::Column(place, output.ty);
        if output.ty == column.ty && output.modifier == column.modifier {
            return Ok(expr);
        }
        coerce::assign(self.planner, expr, column.ty, column.modifier, &column.name)
    }
}

/// Binds RETURNING over a scope.
pub(crate) fn bind_returning(
    planner: &Planner,
    scope: &Scope,
    clause: Option<&ReturningClause>,
) -> SqlResult<(Option<Vec<Expr>>, Vec<Output>)> {
    let Some(clause) = clause else {
        return Ok((None, vec![]));
    };
    if !clause.options.is_empty() {
        return Err(SqlError::unsupported("RETURNING WITH (…)"));
    }
    let binder = Binder::new(planner, scope, "RETURNING");
    let mut targets = output::bind_targets(&binder, &clause.exprs)?;
    output::settle(planner, &mut targets, None)?;
    for target in &targets {
        let mut used = Vec::new();
        target.expr.collect_columns(&mut used);
        let named = used.into_iter().filter_map(|place| scope.by_place(place));
        named.for_each(|column| planner.names_column(column.origin));
    }
    let outputs = targets
        .iter()
        .map(|target| output::describe(scope, target))
        .collect();
    Ok((
        Some(targets.into_iter().map(|target| target.expr).collect()),
        outputs,
    ))
}

fn on_conflict(
    planner: &Planner,
    into: &Target,
    relation: &RangeVar,
    clause: &OnConflictClause,
) -> SqlResult<Option<OnConflict>> {
    let arbiter = match clause.infer.as_deref() {
        Some(infer) => {
            planner.note_target_read(into.relation());
            Some(arbiter(planner, into, infer)?)
        }
        None => {
            let all = (0..into.table.indexes.len()).map(Arbiter::Index);
            let mut all = std::iter::once(Arbiter::Primary).chain(all);
            all.try_for_each(|key| refuse_late(planner, &into.table, key))?;
            None
        }
    };
    let action = match clause.action() {
        OnConflictAction::OnconflictNothing => ConflictAction::Nothing,
        OnConflictAction::OnconflictUpdate => {
            if arbiter.is_none() {
                return Err(planner.error(
                    SqlState::SYNTAX_ERROR,
                    "ON CONFLICT DO UPDATE requires inference specification or constraint name",
                    clause.location,
                ));
            }
            if let Some(Arbiter::Index(number)) = arbiter
                && into.table.indexes[number].excludes.is_some()
            {
                return Err(SqlError::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    "ON CONFLICT DO UPDATE not supported with exclusion constraints",
                ));
            }
            into.need(planner, Privileges::UPDATE);
            // The old row's frame, then the proposed row's columns.
            let mut scope = into.from(relation).scope;
            let width = into.table.frame_width();
            // `excluded` is in sight by its name only.
            let visible = scope.visible.len();
            scope.add(into.in_sight("excluded", None, width));
            scope.visible.truncate(visible);
            let assignments =
                update::bind_assignments(planner, into, &scope, None, &clause.target_list)?;
            let filter = match clause.where_clause.as_deref() {
                Some(node) => Some(Binder::new(planner, &scope, "WHERE").condition(node)?),
                None => None,
            };
            ConflictAction::Update {
                assignments,
                filter,
            }
        }
        _ => return Ok(None),
    };
    Ok(Some(OnConflict { arbiter, action }))
}

/// How many values an INSERT gives that is not from a query.
fn given_values(statement: &InsertStmt) -> Option<usize> {
    match statement.select_stmt.as_deref().map(inner) {
        None => Some(0),
        Some(Some(NodeEnum::SelectStmt(select))) if is_plain_values(select) => {
            let lists = select.values_lists.iter().filter_map(names::list);
            lists.map(<[Node]>::len).max()
        }
        Some(_) => None,
    }
}

/// The unique key that ON CONFLICT names.
fn arbiter(planner: &Planner, into: &Target, infer: &InferClause) -> SqlResult<Arbiter> {
    let table = &*into.table;
    if !infer.conname.is_empty() {
        let name = &infer.conname;
        if let Some(view) = into.view() {
            let message = format!("constraint \"{name}\" for table \"{view}\" does not exist");
            return Err(planner.error(SqlState::UNDEFINED_OBJECT, message, infer.location));
        }
        let reads = |columns: &[usize]| {
            for column in columns {
                planner.need_column(table.relation(), *column, Privileges::SELECT);
            }
        };
        if let Some(key) = table.primary_key.as_ref().filter(|key| key.name == *name) {
            reads(&key.columns);
            refuse_late(planner, table, Arbiter::Primary)?;
            return Ok(Arbiter::Primary);
        }
        let is_it = |index: &quintet_ir::IndexDef| index.constraint && index.name == *name;
        if let Some(index) = table.indexes.iter().find(|index| is_it(index)) {
            let of_rows = |column: &&usize| !table.columns[**column].hidden;
            let columns: Vec<usize> = index.columns.iter().filter(of_rows).copied().collect();
            reads(&columns);
        }
        return table
            .indexes
            .iter()
            .position(is_it)
            .map(Arbiter::Index)
            .map(|found| refuse_late(planner, table, found).map(|()| found))
            .transpose()?
            .ok_or_else(|| {
                let message = format!(
                    "constraint \"{name}\" for table \"{}\" does not exist",
                    table.name
                );
                planner.error(SqlState::UNDEFINED_OBJECT, message, infer.location)
            });
    }
    let mut wanted = Vec::with_capacity(infer.index_elems.len());
    let mut scope = Scope::empty();
    scope.add(into.in_sight(&table.name, None, 0));
    let none = || {
        SqlError::new(
            SqlState::INVALID_COLUMN_REFERENCE,
            "there is no unique or exclusion constraint matching the ON CONFLICT specification",
        )
    };
    for node in &infer.index_elems {
        match inner(node) {
            Some(NodeEnum::IndexElem(element))
                if element.expr.is_none() && element.opclass.is_empty() =>
            {
                let named = into.named(planner, &element.name, infer.location)?;
                let mut seen = scope.tables.iter().flat_map(|table| &table.columns);
                let column = seen.find(|column| column.name == element.name);
                planner.names_column(column.and_then(|column| column.origin));
                wanted.push(named.ok_or_else(none)?);
            }
            Some(NodeEnum::IndexElem(element)) if element.opclass.is_empty() => {
                let node = required(element.expr.as_deref())?;
                let bound = Binder::new(planner, &scope, "index expressions").bind(node)?;
                let bound = coerce::settle(planner, bound)?;
                wanted.push(match bound {
                    Expr::Column(number, _) => number,
                    bound => Hidden::of(table, 0).column(&bound).ok_or_else(none)?,
                });
            }
            _ => {
                return Err(planner.unsupported("an operator class in ON CONFLICT", infer.location));
            }
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    let same = |columns: &[usize]| {
        let mut columns = columns.to_vec();
        columns.sort_unstable();
        // An index may have a column twice.
        columns.dedup();
        columns == wanted
    };
    if table
        .primary_key
        .as_ref()
        .is_some_and(|key| same(&key.columns))
    {
        refuse_late(planner, table, Arbiter::Primary)?;
        return Ok(Arbiter::Primary);
    }
    let given = match infer.where_clause.as_deref() {
        Some(node) => {
            let condition = Binder::new(planner, &scope, "index predicates").bind(node)?;
            Some(coerce::boolean(planner, condition, "WHERE")?)
        }
        None => None,
    };
    let given: Vec<&Expr> = match &given {
        Some(Expr::And(parts)) => parts.iter().collect(),
        given => given.iter().collect(),
    };
    // One for all rows comes before one for some.
    let fits = |index: &quintet_ir::IndexDef| index.is_unique() && same(index.asked());
    let is_there = |index: &quintet_ir::IndexDef| match index.predicate(table) {
        Some(predicate) => implies(&given, predicate).is_some(),
        None => !index.partial,
    };
    let mut all = table.indexes.iter();
    let found = all
        .position(|index| fits(index) && !index.partial)
        .or_else(|| {
            let mut all = table.indexes.iter();
            all.position(|index| fits(index) && is_there(index))
        });
    let found = found.map(Arbiter::Index).ok_or_else(none)?;
    refuse_late(planner, table, found)?;
    Ok(found)
}

/// `55000` for a key that rows may share for a while.
fn refuse_late(planner: &Planner, table: &TableDef, arbiter: Arbiter) -> SqlResult<()> {
    let index = match arbiter {
        Arbiter::Primary => primary_key_oid(table.id),
        Arbiter::Index(number) => table.indexes[number].id.0,
    };
    match planner.catalog().late(table.id, index) {
        None => Ok(()),
        Some(_) => Err(SqlError::new(
            SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
            "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as \
             arbiters",
        )),
    }
}
