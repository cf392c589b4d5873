//! The FROM clause: tables, joins, subqueries, functions.
//!
//! Relies on: `scope`, `select` for subqueries.  Promises: every FROM item becomes *leaves*, each
//! with its columns at fixed places of one *logical frame* in the order written; joins become
//! conditions. `join` chooses the physical order.  Does not: choose access paths.
//!
//! ```text
//! a, b LEFT JOIN c ON p   =>   leaves  a | b | c left on p      logical frame  a… b… c…
//! ```
//! A subselect without FROM (`LATERAL (SELECT f(a.x)) AS o(n)`) has no leaf: its columns stand for
//! their expressions.

use crate::catalog::Relation;
use crate::coerce;
use crate::expr::{Binder, and};
use crate::function_source::bind_function;
use crate::join_clause::bind_join;
use crate::locking::{is_locked, locked_below};
use crate::names::{self, inner, required};
use crate::planner::{Around, Inlines, Planner};
use crate::rewrite::{is_volatile, move_columns, same};
use crate::row_security;
use crate::sample;
use crate::scope::{Output, Scope, ScopeColumn, ScopeTable, TableOid};
use crate::select::{Query, plan_query};
use crate::system;
use crate::temporary::is_temporary;
use crate::view::bind_view;
use crate::with::bind_with;
use pg_query::NodeEnum;
use pg_query::protobuf::{Alias, Node, RangeSubselect, RangeVar, SelectStmt};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TableId, TypeMod};
use quintet_ir::partition::Partitions;
use quintet_ir::plan::Plan;
use quintet_ir::schema::TableRef;
use quintet_ir::{Expr, Object, ObjectKind, Privileges};
use std::sync::Arc;

/// Where a leaf's rows come from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Table(TableRef),
    /// A plan of its own, with a frame of its own.
    Plan(Plan),
    /// The same, and it has exactly one row.
    OneRow(Plan),
    /// Keys by which a table of the join is found.
    Keys(Plan),
    /// generate_series, unnest, LATERAL: expressions over earlier leaves.
    Function(Plan),
    /// The optional side of an outer join, of several leaves: these, under these conditions.
    Group(Vec<Leaf>, Vec<Expr>),
}

/// How a leaf joins what is before it.
#[derive(Clone, Debug)]
pub(crate) enum LeafKind {
    Inner,
    /// Kept with NULLs where these conditions find no row.
    Left(Vec<Expr>),
}

/// One source of rows in FROM.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    /// As FOR UPDATE OF names it.
    pub name: String,
    pub source: Source,
    /// Where its columns begin in the logical frame.
    pub offset: usize,
    pub width: usize,
    pub types: Vec<SqlType>,
    pub kind: LeafKind,
    /// What its rows fulfil before anything else is asked of them that could tell what it was asked: policies of a table.
    pub security: Vec<Expr>,
    /// Of a plan: no condition goes into it that could tell what it was asked about.
    pub barrier: bool,
}

/// A FROM clause.
#[derive(Clone, Debug, Default)]
pub(crate) struct From {
    pub scope: Scope,
    pub leaves: Vec<Leaf>,
    /// Of inner joins, split at AND.
    pub conditions: Vec<Expr>,
    pub width: usize,
}

/// Splits a condition at AND; what all alternatives of an OR have in common stands before it.
pub(crate) fn split(condition: Expr, into: &mut Vec<Expr>) {
    match condition {
        Expr::And(parts) => parts.into_iter().for_each(|part| split(part, into)),
        Expr::Or(alternatives) => {
            let (common, rest) = factor(alternatives);
            into.extend(common);
            into.extend(rest);
        }
        condition => into.push(condition),
    }
}

/// `(a AND b) OR (a AND c)` as `a` and `b OR c`.
fn factor(alternatives: Vec<Expr>) -> (Vec<Expr>, Option<Expr>) {
    let parts_of = |alternative: &Expr| {
        let mut parts = Vec::new();
        split(alternative.clone(), &mut parts);
        parts
    };
    let mut parts: Vec<Vec<Expr>> = alternatives.iter().map(parts_of).collect();
    let has = |parts: &Vec<Expr>, one: &Expr| parts.iter().any(|other| same(other, one));
    let candidates = parts.first().cloned().unwrap_or_default();
    let common: Vec<Expr> = candidates
        .into_iter()
        .filter(|one| !is_volatile(one) && parts.iter().all(|parts| has(parts, one)))
        .collect();
    if common.is_empty() {
        return (common, Some(Expr::Or(alternatives)));
    }
    for parts in &mut parts {
        parts.retain(|part| !has(&common, part));
    }
    // An alternative that says no more makes the others say nothing.
    let rest = match parts.iter().any(Vec::is_empty) {
        true => None,
        false => Some(Expr::Or(parts.into_iter().map(and).collect())),
    };
    (common, rest)
}

impl From {
    /// A table as the first item, under its alias.
    pub fn of_table(table: &TableRef, name: &str, own_name: bool) -> From {
        let mut from = From::default();
        from.add_table(table, name, own_name);
        from
    }

    fn add_table(&mut self, table: &TableRef, name: &str, own_name: bool) {
        let schema = own_name.then_some(table.schema.as_str());
        self.scope
            .add(ScopeTable::with_places(table, name, schema, self.width));
        let types = (0..table.frame_width()).map(|column| table.frame_type(column));
        let types = types.collect();
        let offset = self.add_leaf(name, Source::Table(table.clone()), types);
        // Of a partition only its own rows.
        let partitions = table.partitions.as_ref();
        if let Some(condition) = partitions.and_then(|partitions| partitions.condition()) {
            let condition = move_columns(&condition, &|place| place + offset);
            let mut parts = Vec::new();
            split(condition, &mut parts);
            // What the table promises anyway need not be looked at.
            parts.retain(|part| !matches!(part, Expr::IsNull { input, negated: true } if matches!(**input, Expr::Column(place, _) if table.columns[place - offset].not_null)));
            self.conditions.extend(parts);
        }
    }

    /// Of the table that was added last only rows that policies show are met.
    ///
    /// # Errors
    /// What the policies say.
    pub fn secure(&mut self, planner: &Planner, table: &TableRef, locked: bool) -> SqlResult<()> {
        let mut conditions = Vec::new();
        if locked {
            conditions = planner.met(table, row_security::Command::Update)?;
        }
        conditions.extend(planner.met(table, row_security::Command::Select)?);
        if let Some(leaf) = self.leaves.last_mut() {
            let conditions = row_security::each_once(conditions);
            for condition in row_security::moved(conditions, leaf.offset) {
                split(condition, &mut leaf.security);
            }
        }
        Ok(())
    }

    /// Adds a leaf; where its columns begin.
    pub fn add_leaf(&mut self, name: &str, source: Source, types: Vec<SqlType>) -> usize {
        let (offset, width) = (self.width, types.len());
        self.leaves.push(Leaf {
            name: name.to_string(),
            source,
            offset,
            width,
            types,
            kind: LeafKind::Inner,
            security: Vec::new(),
            barrier: false,
        });
        self.width += width;
        offset
    }

    /// Adds the items of a FROM clause.
    ///
    /// # Errors
    /// `42P01`, `42712`, and whatever joins and subqueries say.
    pub fn add_items(&mut self, planner: &Planner, items: &[Node]) -> SqlResult<()> {
        for item in items {
            let added = bind_item(planner, item, &self.scope, self.width)?;
            self.append(planner, added)?;
        }
        Ok(())
    }

    /// Puts the leaves of a later item behind.
    pub fn append(&mut self, planner: &Planner, later: From) -> SqlResult<()> {
        check_names(planner, &self.scope, &later.scope)?;
        let tables = self.scope.tables.len();
        self.scope
            .visible
            .extend(later.scope.visible.iter().map(|(t, c)| (t + tables, *c)));
        self.scope.tables.extend(later.scope.tables);
        self.leaves.extend(later.leaves);
        self.conditions.extend(later.conditions);
        self.width = later.width;
        Ok(())
    }
}

fn check_names(planner: &Planner, left: &Scope, right: &Scope) -> SqlResult<()> {
    for table in &right.tables {
        let twice = |other: &&ScopeTable| {
            other.name == table.name
                && !table.name.is_empty()
                && (other.schema.is_none()
                    || table.schema.is_none()
                    || other.schema == table.schema)
        };
        if left.tables.iter().any(|other| twice(&other)) {
            let message = format!("table name \"{}\" specified more than once", table.name);
            return Err(planner.error(SqlState::DUPLICATE_ALIAS, message, -1));
        }
    }
    Ok(())
}

/// Binds one item whose logical frame begins at `start`. `lateral` is what stands to its left.
pub(crate) fn bind_item(
    planner: &Planner,
    item: &Node,
    lateral: &Scope,
    start: usize,
) -> SqlResult<From> {
    match required(inner(item))? {
        NodeEnum::RangeVar(relation) => bind_relation(planner, relation, start),
        NodeEnum::JoinExpr(join) => bind_join(planner, join, lateral, start),
        NodeEnum::RangeSubselect(subselect) => bind_subselect(planner, subselect, lateral, start),
        NodeEnum::RangeFunction(function) => bind_function(planner, function, lateral, start),
        NodeEnum::RangeTableSample(sample) => sample::bind(planner, sample, start),
        NodeEnum::RangeTableFunc(table) => Err(planner.unsupported("XMLTABLE", table.location)),
        NodeEnum::JsonTable(table) => Err(planner.unsupported("JSON_TABLE", table.location)),
        _ => Err(SqlError::unsupported("this kind of FROM item")),
    }
}

pub(crate) fn starting_at(start: usize) -> From {
    From {
        width: start,
        ..From::default()
    }
}

/// The table that a name stands for, for statements that change its definition.
///
/// # Errors
/// As [`row_target`]; `0A000` for a partition.
pub(crate) fn target_table(planner: &Planner, relation: &RangeVar) -> SqlResult<TableRef> {
    let table = row_target(planner, relation)?;
    match table.relation() == table.id {
        true => Ok(table),
        false => Err(planner.unsupported("this statement on a partition", relation.location)),
    }
}

/// The table that a name stands for, or the partition as a part of its table, for statements that change rows.
///
/// # Errors
/// `42P01`, `42809` for what is no table.
pub(crate) fn row_target(planner: &Planner, relation: &RangeVar) -> SqlResult<TableRef> {
    refuse_rows_named(planner, relation)?;
    if let Some(table) = find_table(planner, relation)? {
        return Ok(table);
    }
    if system::relation(planner, &relation.schemaname, &relation.relname).is_some() {
        return Err(planner.error(
            SqlState::INSUFFICIENT_PRIVILEGE,
            format!(
                "permission denied: \"{}\" is a system catalog",
                relation.relname
            ),
            relation.location,
        ));
    }
    Err(no_relation(planner, relation))
}

pub(crate) fn no_relation(planner: &Planner, relation: &RangeVar) -> SqlError {
    let RangeVar {
        schemaname,
        relname,
        ..
    } = relation;
    let name = match schemaname.as_str() {
        "" => relname.clone(),
        schema => format!("{schema}.{relname}"),
    };
    let message = format!("relation \"{name}\" does not exist");
    planner.error(SqlState::UNDEFINED_TABLE, message, relation.location)
}

/// What a relation's name stands for.
///
/// # Errors
/// `0A000` for another database.
pub(crate) fn find_named(planner: &Planner, relation: &RangeVar) -> SqlResult<Option<Relation>> {
    planner.refuse_elsewhere(relation)?;
    let schema = match relation.schemaname.as_str() {
        "" => None,
        schema if schema == "pg_temp" || is_temporary(schema) => Some(schema),
        schema => {
            planner.need(planner.schema_object(schema), Privileges::USAGE);
            Some(schema)
        }
    };
    Ok(planner.find_relation(schema, &relation.relname))
}

/// What is divided has no rows of its own, apart from its partitions': ONLY of it finds none.
pub(crate) fn heed_only(relation: &RangeVar, table: TableRef) -> TableRef {
    match &table.partitions {
        Some(partitions) if !relation.inh && partitions.division().is_some() => {
            Arc::new(quintet_ir::TableDef {
                partitions: Some(Partitions {
                    nothing: true,
                    ..partitions.clone()
                }),
                ..(*table).clone()
            })
        }
        _ => table,
    }
}

/// What a statement does to rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Doing {
    Insert,
    Update,
    Delete,
}

fn find_table(planner: &Planner, relation: &RangeVar) -> SqlResult<Option<TableRef>> {
    let catalog = planner.catalog();
    match find_named(planner, relation)? {
        None => Ok(None),
        Some(Relation::Table(id) | Relation::Partition(id)) => {
            planner.use_relation(id);
            Ok(catalog.rows_of(id))
        }
        Some(_) => Err(planner.error(
            SqlState::WRONG_OBJECT_TYPE,
            format!("\"{}\" is not a table", relation.relname),
            relation.location,
        )),
    }
}

pub(crate) fn bind_relation(
    planner: &Planner,
    relation: &RangeVar,
    start: usize,
) -> SqlResult<From> {
    let mut from = starting_at(start);
    let name = alias_or(relation.alias.as_ref(), &relation.relname);
    let own_name = relation.alias.is_none();
    if relation.schemaname.is_empty() {
        let with = planner.with.borrow();
        if let Some(place) = with
            .iter()
            .rposition(|query| query.name == relation.relname)
        {
            drop(with);
            return bind_with(planner, place, relation, start);
        }
        drop(with);
        if let Some(query) = rows_named(planner, relation) {
            return bind_rows(planner, relation, query, start);
        }
    }
    // pg_catalog is searched first, as in PostgreSQL.
    if let Some(system) = system::relation(planner, &relation.schemaname, &relation.relname) {
        if ["pg_authid", "pg_largeobject"].contains(&relation.relname.as_str()) {
            let message = format!("permission denied for table {}", relation.relname);
            planner.must_be_superuser(&message)?;
        }
        let columns: Vec<Output> = system
            .columns
            .iter()
            .map(|&(name, ty, modifier)| Output {
                name: name.to_string(),
                ty,
                modifier,
                origin: None,
            })
            .collect();
        add_plan(
            &mut from,
            system.plan,
            &columns,
            name,
            own_name.then_some(system.schema),
        );
        if let Some(number) = system.number {
            let table = from.scope.tables.last_mut().expect("just added");
            let mut columns = system.columns.iter().zip(&table.columns);
            let anchor = columns.find(|((name, ..), _)| *name == "oid");
            let anchor = anchor.map(|(_, column)| column.expr.clone());
            table.table_oid = Some(TableOid::of_relation(number, anchor));
        }
    } else if let Some(Relation::Sequence(id)) = find_named(planner, relation)? {
        planner.use_relation(TableId(id.0));
        let object = Object {
            kind: ObjectKind::Sequence,
            number: id.0,
        };
        planner.need(object, Privileges::SELECT);
        let columns = system::SEQUENCE_COLUMNS.map(|(name, ty)| Output {
            name: name.to_string(),
            ty,
            modifier: TypeMod::NONE,
            origin: None,
        });
        let schema = planner.catalog().sequence_by_id(id).filter(|_| own_name);
        let schema = schema.map(|sequence| sequence.schema.as_str());
        add_plan(&mut from, system::of_sequence(id), &columns, name, schema);
    } else if let Some(Relation::View(id)) = find_named(planner, relation)?
        && let Some(view) = planner.catalog().view(id)
    {
        planner.use_relation(id);
        return bind_view(planner, view, relation, start);
    } else {
        let table = find_table(planner, relation)?.ok_or_else(|| no_relation(planner, relation))?;
        let table = heed_only(relation, table);
        planner.need_source(table.relation());
        from.add_table(&table, name, own_name);
        from.secure(planner, &table, is_locked(planner, name))?;
    }
    rename_columns(planner, &mut from, relation.alias.as_ref())?;
    Ok(from)
}

/// The query of rows that a trigger's function knows by a name.
fn rows_named<'p>(planner: &'p Planner, relation: &RangeVar) -> Option<&'p Node> {
    let tables = &planner.variables?.tables;
    let mut named = tables.iter();
    let found = named.find(|(name, _)| *name == relation.relname);
    found
        .map(|(_, query)| query)
        .filter(|_| relation.schemaname.is_empty())
}

/// What a trigger's function knows by a name is only read.
///
/// # Errors
/// `0A000`.
pub(crate) fn refuse_rows_named(planner: &Planner, relation: &RangeVar) -> SqlResult<()> {
    if rows_named(planner, relation).is_none() {
        return Ok(());
    }
    let name = &relation.relname;
    let message = format!("relation \"{name}\" cannot be the target of a modifying statement");
    Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message))
}

/// Rows that a trigger's function knows by a name, as an item of FROM.
fn bind_rows(
    planner: &Planner,
    relation: &RangeVar,
    query: &Node,
    start: usize,
) -> SqlResult<From> {
    let Some(NodeEnum::SelectStmt(select)) = inner(query) else {
        return Err(SqlError::internal("rows of no query"));
    };
    let mut from = starting_at(start);
    let name = alias_or(relation.alias.as_ref(), &relation.relname);
    let planned = planner.deeper(|| plan_query(planner, select, None))?;
    add_plan(&mut from, planned.plan, &planned.outputs, name, None);
    rename_columns(planner, &mut from, relation.alias.as_ref())?;
    Ok(from)
}

pub(crate) fn add_plan(
    from: &mut From,
    plan: Plan,
    columns: &[Output],
    name: &str,
    schema: Option<&str>,
) {
    let offset = from.add_leaf(
        name,
        Source::Plan(plan),
        columns.iter().map(|c| c.ty).collect(),
    );
    let places = columns.iter().enumerate();
    let exprs = places.map(|(number, column)| Expr::Column(offset + number, column.ty));
    add_columns(from, columns, exprs.collect(), name, schema);
}

/// A name for columns of what has been added.
fn add_columns(
    from: &mut From,
    columns: &[Output],
    exprs: Vec<Expr>,
    name: &str,
    schema: Option<&str>,
) {
    let columns = columns.iter().zip(exprs).map(|(column, expr)| ScopeColumn {
        name: column.name.clone(),
        expr,
        modifier: column.modifier,
        origin: column.origin,
    });
    from.scope.add(ScopeTable {
        is_optional: false,
        name: name.to_string(),
        schema: schema.map(str::to_string),
        columns: columns.collect(),
        table_oid: None,
        row: None,
    });
}

/// A query as an item of FROM: taken apart if it can be, else as a leaf. `handed`: what one that is LATERAL is handed.
pub(crate) fn add_query(
    planner: &Planner,
    from: &mut From,
    query: Query,
    handed: Option<Vec<Expr>>,
    (name, schema): (&str, Option<&str>),
) {
    let lateral = handed.is_some();
    if let Some(parts) = query.parts.and_then(|parts| parts.fit(planner, lateral)) {
        let exprs = parts.join_in(from, handed.as_deref());
        return add_columns(from, &query.outputs, exprs, name, schema);
    }
    add_plan(from, query.plan, &query.outputs, name, schema);
    if let (Some(handed), Some(leaf)) = (handed.filter(|h| !h.is_empty()), from.leaves.last_mut())
        && let Source::Plan(plan) = &leaf.source
    {
        leaf.source = Source::Function(Plan::Lateral {
            input: Box::new(plan.clone()),
            outer: handed,
        });
    }
}

pub(crate) fn alias_or<'n>(alias: Option<&'n Alias>, name: &'n str) -> &'n str {
    alias.map_or(name, |alias| &alias.aliasname)
}

/// `AS name (columns)` on the last table added.
pub(crate) fn rename_columns(
    planner: &Planner,
    from: &mut From,
    alias: Option<&Alias>,
) -> SqlResult<()> {
    let (Some(alias), Some(table)) = (alias, from.scope.tables.last_mut()) else {
        return Ok(());
    };
    let new = names::strings(&alias.colnames);
    let there = table.shown().count();
    if new.len() > there {
        return Err(planner.error(
            SqlState::INVALID_COLUMN_REFERENCE,
            format!(
                "table \"{}\" has {} columns available but {} columns specified",
                alias.aliasname,
                there,
                new.len()
            ),
            -1,
        ));
    }
    for (column, name) in table.columns.iter_mut().zip(new) {
        column.name = name.to_string();
    }
    Ok(())
}

fn bind_subselect(
    planner: &Planner,
    item: &RangeSubselect,
    lateral: &Scope,
    start: usize,
) -> SqlResult<From> {
    let Some(NodeEnum::SelectStmt(select)) = item.subquery.as_deref().and_then(inner) else {
        return Err(SqlError::unsupported("this kind of subquery in FROM"));
    };
    let mut from = starting_at(start);
    let name = alias_or(item.alias.as_ref(), "");
    let select = &*locked_below(planner, name, select)?;
    let outer = if item.lateral {
        lateral
    } else {
        &Scope::default()
    };
    match inline(planner, select, outer)? {
        Some(columns) => from.scope.add(ScopeTable {
            is_optional: false,
            name: name.to_string(),
            schema: None,
            columns,
            table_oid: None,
            row: None,
        }),
        None => {
            let plan = || planner.deeper(|| plan_query(planner, select, None));
            let (query, handed) = match item.lateral {
                true => {
                    let mut around = Around {
                        clause: "FROM clause of their own query level",
                        aggregates: None,
                    };
                    let (query, handed) = planner.with_outer(lateral, &mut around, plan)?;
                    (query, Some(handed))
                }
                // What stands beside it is not in sight; what stands around the query is, as for the query itself.
                false => (plan()?, None),
            };
            add_query(planner, &mut from, query, handed, (name, None));
        }
    }
    rename_columns(planner, &mut from, item.alias.as_ref())?;
    Ok(from)
}

/// The columns of `SELECT expressions`, if the subselect is no more than that.
fn inline(
    planner: &Planner,
    select: &SelectStmt,
    outer: &Scope,
) -> SqlResult<Option<Vec<ScopeColumn>>> {
    let plain = planner.inlines.get() == Inlines::Expressions
        && select.from_clause.is_empty()
        && select.values_lists.is_empty()
        && select.where_clause.is_none()
        && select.group_clause.is_empty()
        && select.having_clause.is_none()
        && select.distinct_clause.is_empty()
        && select.sort_clause.is_empty()
        && select.limit_count.is_none()
        && select.limit_offset.is_none()
        && select.locking_clause.is_empty()
        && select.into_clause.is_none()
        && select.with_clause.is_none()
        && select.larg.is_none()
        && !select.target_list.is_empty();
    if !plain {
        return Ok(None);
    }
    let binder = Binder::new(planner, outer, "a subquery of expressions");
    let mut columns = Vec::with_capacity(select.target_list.len());
    for node in &select.target_list {
        let Some(NodeEnum::ResTarget(target)) = inner(node) else {
            return Ok(None);
        };
        let value = required(target.val.as_deref())?;
        let bound = match binder.bind(value) {
            Ok(bound) => coerce::settle(planner, bound)?,
            Err(error) if error.state == SqlState::GROUPING_ERROR => return Ok(None),
            Err(error) if error.state == SqlState::WINDOWING_ERROR => return Ok(None),
            Err(error) if error.state == SqlState::FEATURE_NOT_SUPPORTED => return Ok(None),
            Err(error) => return Err(error),
        };
        if is_volatile(&bound) {
            return Ok(None);
        }
        columns.push(ScopeColumn {
            name: crate::select::output_name(target),
            modifier: outer.modifier(&bound),
            origin: outer.origin(&bound),
            expr: bound,
        });
    }
    Ok(Some(columns))
}
