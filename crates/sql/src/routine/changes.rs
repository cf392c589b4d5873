//! WITH over changes: `WITH x AS (UPDATE … RETURNING …) SELECT … FROM x`.
//!
//! Relies on: `embed`.  Promises: a change is a step before the statement; the rows that it returns are kept in
//! arrays, a column each (arrays among them as text), and the statement reads them by `unnest`. What a client sends is a routine of its own, whose
//! arguments are the statement's parameters. All of them see the state in which the statement began, and none changes a
//! row that one before it has changed (`Action::OneState`).  Does not: run the parts side by side, as PostgreSQL does: of two
//! that change the same row the one that stands first does it.

use super::call::any_node;
use super::embed::{Embedding, Planned};
use super::fire;
use super::link::Linker;
use crate::command::{self, Command};
use crate::names::{inner, required};
use crate::parse::parse_expression;
use crate::planner::{PlanContext, Planner};
use crate::rewrite::is_volatile_plan;
use crate::row_value;
use crate::tree::{node, string};
use crate::variables::Variables;
use pg_query::protobuf::{
    Alias, CommonTableExpr, FuncCall, Node, ParamRef, RangeFunction, ResTarget, SelectStmt,
    WithClause,
};
use pg_query::{NodeEnum, NodeRef};
use quintet_base::limits::PARAMETERS_MAX;
use quintet_base::types::format_declared;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::routine::{Action, Into, Output, Slot, Step};
use quintet_ir::statement::{Body, OutputColumn, Procedure};
use quintet_ir::{Expr, Routine, Statement};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// A client's statement with WITH queries that change rows, or a MERGE.
///
/// # Errors
/// What planning its parts says.
pub(crate) fn plan_changes(planner: &Planner, node: &NodeEnum) -> SqlResult<command::Planned> {
    let tag = match node {
        NodeEnum::SelectStmt(_) => "SELECT",
        NodeEnum::InsertStmt(_) => "INSERT",
        NodeEnum::UpdateStmt(_) => "UPDATE",
        NodeEnum::MergeStmt(_) => "MERGE",
        _ => "DELETE",
    };
    let mut variables = Variables::default();
    for number in 0..parameters_of(node) {
        let ty = planner.declared(number);
        variables.add_slot(Slot::hidden(ty), quintet_base::TypeMod::NONE);
        variables.numbered.push(Some(number));
    }
    let arguments = variables.slots.len();
    let mut linker = Linker::behind(1);
    let mut at = Embedding::new(planner.context, variables, &mut linker, true);
    let source = planner.source();
    let (output, columns) = if let NodeEnum::MergeStmt(merge) = node {
        let count = at.merge(source, merge)?;
        at.add(Action::Return(vec![Expr::Param(count, SqlType::Int8)]));
        (Output::Row, Vec::new())
    } else {
        at.client_changes(source, node.clone(), tag != "SELECT")?
    };
    let Embedding {
        variables, steps, ..
    } = at;
    let params: Vec<SqlType> = variables.slots[..arguments]
        .iter()
        .map(|slot| slot.ty)
        .collect();
    if let Some(place) = params.iter().position(|ty| *ty == SqlType::Unknown) {
        let message = format!("could not determine data type of parameter ${}", place + 1);
        return Err(SqlError::new(SqlState::INDETERMINATE_DATATYPE, message));
    }
    let routine = Routine {
        name: String::new(),
        slots: variables.slots,
        arguments,
        strict: false,
        guise: None,
        found: None,
        body: steps,
        output,
    };
    let program = linker.finish(vec![routine], planner.context)?;
    let procedure = Procedure {
        body: Body::Call {
            program: Arc::new(program),
            arguments: params
                .iter()
                .enumerate()
                .map(|(n, ty)| Expr::Param(n, *ty))
                .collect(),
        },
        params: params.clone(),
        result: columns.clone(),
    };
    Ok(command::Planned {
        params,
        columns,
        ..planner.command(Command::Run(Arc::new(procedure)), tag)
    })
}

/// How many parameters a statement has, by the highest number in it.
fn parameters_of(node: &NodeEnum) -> usize {
    let highest = Cell::new(0);
    any_node(node, &|node| {
        if let NodeRef::ParamRef(parameter) = node {
            highest.set(highest.get().max(parameter.number));
        }
        false
    });
    usize::try_from(highest.get())
        .unwrap_or(0)
        .min(PARAMETERS_MAX)
}

/// Whether a statement is planned as a routine: a MERGE, or one that has a WITH query that changes rows.
pub(crate) fn has_changes(node: &NodeEnum) -> bool {
    if let NodeEnum::MergeStmt(_) = node {
        return true;
    }
    let ctes = with_clause(node).map_or(&[][..], |with| &with.ctes);
    ctes.iter().filter_map(common_table).any(is_change)
}

fn with_clause(node: &NodeEnum) -> Option<&WithClause> {
    match node {
        NodeEnum::SelectStmt(statement) => statement.with_clause.as_ref(),
        NodeEnum::InsertStmt(statement) => statement.with_clause.as_ref(),
        NodeEnum::UpdateStmt(statement) => statement.with_clause.as_ref(),
        NodeEnum::DeleteStmt(statement) => statement.with_clause.as_ref(),
        _ => None,
    }
}

fn with_clause_mut(node: &mut NodeEnum) -> Option<&mut WithClause> {
    match node {
        NodeEnum::SelectStmt(statement) => statement.with_clause.as_mut(),
        NodeEnum::InsertStmt(statement) => statement.with_clause.as_mut(),
        NodeEnum::UpdateStmt(statement) => statement.with_clause.as_mut(),
        NodeEnum::DeleteStmt(statement) => statement.with_clause.as_mut(),
        _ => None,
    }
}

fn common_table(node: &Node) -> Option<&CommonTableExpr> {
    match inner(node) {
        Some(NodeEnum::CommonTableExpr(table)) => Some(table),
        _ => None,
    }
}

fn is_change(table: &CommonTableExpr) -> bool {
    changed_table(table).is_some()
}

/// The name of the table that a WITH query changes.
fn changed_table(table: &CommonTableExpr) -> Option<&str> {
    let relation = match table.ctequery.as_deref().and_then(inner)? {
        NodeEnum::InsertStmt(change) => change.relation.as_ref(),
        NodeEnum::UpdateStmt(change) => change.relation.as_ref(),
        NodeEnum::DeleteStmt(change) => change.relation.as_ref(),
        _ => None,
    };
    relation.map(|relation| relation.relname.as_str())
}

/// Whether a tree names a table. Where an INSERT puts its rows it reads nothing, unless it looks for conflicts.
fn reads(node: &NodeEnum, tables: &BTreeSet<String>) -> bool {
    if let NodeEnum::InsertStmt(insert) = node
        && insert.on_conflict_clause.is_none()
        && insert.relation.is_some()
    {
        let mut source = insert.clone();
        source.relation = None;
        return reads(&NodeEnum::InsertStmt(source), tables);
    }
    any_node(node, &|node| match node {
        NodeRef::RangeVar(table) => tables.contains(&table.relname),
        _ => false,
    })
}

/// What a statement in a routine came to.
enum Given {
    /// A query of its rows.
    Rows(Box<Node>),
    /// The slot with their number.
    Count(usize),
}

impl Embedding<'_, '_> {
    /// A statement in a routine with WITH queries that change rows. They become steps before it; if the parts must see one
    /// state, so does the statement itself, and what is left of it is a query of the rows it gave.
    pub(super) fn with_changes(&mut self, source: &str, mut node: NodeEnum) -> SqlResult<Planned> {
        let known = self.variables.numbered.len();
        let made = self.apart(|this| match this.make_changes(source, &mut node)? {
            false => Ok(None),
            true => {
                let planned = this.plan(source, &node)?;
                if !planned.columns.is_empty() {
                    let rows = this.keep_rows(planned)?;
                    return Ok(Some(Given::Rows(Box::new(rows))));
                }
                let into = Into::default();
                let statement = planned.statement;
                this.add(Action::Run { statement, into });
                let slot = this.variables.hidden(SqlType::Int8);
                this.add(Action::RowCount { slot });
                Ok(Some(Given::Count(slot)))
            }
        });
        let planned = made.and_then(|(given, steps)| match given {
            None => {
                self.steps.extend(steps);
                self.plan(source, &node)
            }
            Some(given) => {
                refuse_calls(&steps)?;
                self.add(Action::OneState { body: steps });
                match given {
                    Given::Count(slot) => self.as_many_rows(slot),
                    Given::Rows(rows) => self.plan(source, required(inner(&rows))?),
                }
            }
        });
        self.variables.numbered.truncate(known);
        planned
    }

    /// A statement that gives as many rows, of no columns, as a slot (bigint) says: FOUND and ROW_COUNT hear of them.
    pub(super) fn as_many_rows(&mut self, slot: usize) -> SqlResult<Planned> {
        let known = self.variables.numbered.len();
        self.variables.numbered.push(Some(slot));
        let rows = format!("SELECT FROM generate_series(1, ${})", known + 1);
        let planned = self.statement(&rows);
        self.variables.numbered.truncate(known);
        planned
    }

    /// A client's statement: all of it is steps.
    fn client_changes(
        &mut self,
        source: &str,
        mut node: NodeEnum,
        counts: bool,
    ) -> SqlResult<(Output, Vec<OutputColumn>)> {
        let known = self.variables.numbered.len();
        let made = self.apart(|this| {
            let one_state = this.make_changes(source, &mut node)?;
            let planned = this.plan(source, &node)?;
            let counts = counts && planned.columns.is_empty();
            Ok((
                one_state,
                this.last(planned.statement, counts),
                counts,
                planned.columns,
            ))
        });
        self.variables.numbered.truncate(known);
        let ((one_state, output, counts, columns), mut steps) = made?;
        // The row of a count is returned behind the parts.
        let end = if counts { steps.pop() } else { None };
        match one_state {
            true => {
                refuse_calls(&steps)?;
                self.add(Action::OneState { body: steps });
            }
            false => self.steps.extend(steps),
        }
        self.steps.extend(end);
        Ok((output, columns))
    }

    /// Adds the steps of the WITH queries that change rows, and puts queries of what they returned in their
    /// places. True: a part reads what one before it changes.
    fn make_changes(&mut self, source: &str, node: &mut NodeEnum) -> SqlResult<bool> {
        let Some(with) = with_clause_mut(node) else {
            return Ok(false);
        };
        let (catalog, recursive) = (self.context.catalog, with.recursive);
        let mut changed = BTreeSet::new();
        let mut one_state = false;
        let mut before: Vec<Node> = Vec::new();
        for table in &mut with.ctes {
            let Some(NodeEnum::CommonTableExpr(query)) = table.node.as_mut() else {
                continue;
            };
            if let Some(inside) = query.ctequery.as_deref().and_then(inner) {
                one_state |= reads(inside, &changed);
            }
            if let Some(name) = changed_table(query).map(str::to_string) {
                let mut change = query.ctequery.as_deref().and_then(inner).cloned();
                if let Some(change) = change.as_mut() {
                    // It sees the queries before it.
                    give(change, &before, recursive)?;
                    let rows = self.change(source, change)?;
                    query.ctequery = rows.map(Box::new);
                }
                // What a view reads is not seen here: any may read the table.
                changed.extend(catalog.views().map(|view| view.name.clone()));
                changed.insert(name);
            } else if let Some(rows) = self.once(source, query, &before, recursive)? {
                query.ctequery = Some(Box::new(rows));
            }
            before.push(table.clone());
        }
        Ok(one_state || queries_read(node, &changed) || others_read(node, &changed))
    }

    /// A WITH query that may give other rows each time is asked once, for all who name it: the query of the rows that it gave.
    fn once(
        &mut self,
        source: &str,
        query: &CommonTableExpr,
        before: &[Node],
        recursive: bool,
    ) -> SqlResult<Option<Node>> {
        let Some(NodeEnum::SelectStmt(select)) = query.ctequery.as_deref().and_then(inner) else {
            return Ok(None);
        };
        let mut asked = SelectStmt::clone(select);
        let ctes = match asked.with_clause.take() {
            // Its own stand behind those that it sees.
            Some(own) => [before, &own.ctes].concat(),
            None => before.to_vec(),
        };
        if !ctes.is_empty() {
            asked.with_clause = Some(WithClause {
                ctes,
                recursive,
                location: -1,
            });
        }
        let node = NodeEnum::SelectStmt(Box::new(asked));
        let known = self.needs.len();
        // One that names itself, or is wrong, is planned where it stands.
        let planned = self.plan_alone(source, &node).ok().filter(|planned| {
            matches!(&planned.statement, Statement::Query(plan) if is_volatile_plan(plan))
        });
        match planned {
            Some(planned) => self.keep_rows(planned).map(Some),
            None => {
                self.needs.truncate(known);
                Ok(None)
            }
        }
    }

    /// The last step of a client's statement: its rows are the result, or how many rows it has changed is the one
    /// value of the result (`counts`).
    fn last(&mut self, statement: Statement, counts: bool) -> Output {
        if !counts {
            self.add(Action::ReturnQuery(statement));
            return Output::Rows;
        }
        let slot = self.variables.hidden(SqlType::Int8);
        let into = Into::default();
        self.add(Action::Run { statement, into });
        self.add(Action::RowCount { slot });
        self.add(Action::Return(vec![Expr::Param(slot, SqlType::Int8)]));
        Output::Row
    }

    /// Makes a change, and the query that gives the rows that it returned; `None`: it returns none, and who names it is told so.
    fn change(&mut self, source: &str, change: &NodeEnum) -> SqlResult<Option<Node>> {
        let planned = self.plan(source, change)?;
        if planned.columns.is_empty() {
            let into = Into::default();
            let statement = planned.statement;
            self.add(Action::Run { statement, into });
            return Ok(None);
        }
        self.keep_rows(planned).map(Some)
    }

    /// Keeps the rows that a statement gives in arrays; the query that gives them again.
    fn keep_rows(&mut self, planned: Planned) -> SqlResult<Node> {
        let Planned {
            statement, columns, ..
        } = planned;
        let kept = self.begin_keeping(&columns)?;
        let elements: Vec<usize> = columns
            .iter()
            .map(|column| self.variables.hidden(column.ty))
            .collect();
        let places = columns.iter().enumerate();
        let into = places.map(|(n, column)| (elements[n], Expr::Column(n, column.ty)));
        let into = into.collect();
        let row = elements.iter().zip(&columns);
        let row = row.map(|(slot, column)| Expr::Param(*slot, column.ty));
        let row = row.collect();
        let (_, body) = self.apart(|this| this.keep(&kept, row))?;
        self.add(Action::ForRow {
            statement,
            into,
            body,
        });
        kept.rows(self.context)
    }

    /// Arrays for rows of these columns, with none in them.
    ///
    /// # Errors
    /// `0A000` for a column of which there are no arrays.
    pub(super) fn begin_keeping(&mut self, columns: &[OutputColumn]) -> SqlResult<Kept> {
        let count = self.variables.hidden(SqlType::Int4);
        self.add(Action::Assign {
            slot: count,
            value: Expr::Const(Value::Int4(0), SqlType::Int4),
        });
        let mut kept = Kept {
            count,
            slots: Vec::new(),
            numbers: Vec::new(),
            columns: columns.to_vec(),
        };
        for column in kept
            .columns
            .iter_mut()
            .filter(|column| column.ty == SqlType::Void)
        {
            column.ty = SqlType::Text;
        }
        for column in columns {
            let array = array_of(column.ty)?;
            let slot = self.variables.hidden(array);
            self.add(Action::Assign {
                slot,
                value: Expr::Const(Value::Null, array),
            });
            self.variables.numbered.push(Some(slot));
            kept.slots.push(slot);
            kept.numbers.push(self.variables.numbered.len() as i32);
        }
        Ok(kept)
    }

    /// Adds a row to those that are kept.
    pub(super) fn keep(&mut self, kept: &Kept, row: Vec<Expr>) -> SqlResult<()> {
        let here = Expr::Param(kept.count, SqlType::Int4);
        let one = Expr::Const(Value::Int4(1), SqlType::Int4);
        let value = self.apply("+", vec![here.clone(), one])?;
        self.add(Action::Assign {
            slot: kept.count,
            value,
        });
        for (slot, value) in kept.slots.iter().zip(row) {
            let ty = kept_as(value.ty());
            let value = match ty == value.ty() {
                true => value,
                false if value.ty() == SqlType::Void => Expr::Case {
                    branches: vec![(row_value::is_null(&value), Expr::null(ty))],
                    otherwise: Some(Box::new(Expr::Const(Value::text(""), ty))),
                    ty,
                },
                false => Expr::Cast {
                    input: Box::new(value),
                    to: ty,
                    modifier: TypeMod::NONE,
                    explicit: true,
                },
            };
            self.add(Action::AssignElement {
                slot: *slot,
                index: here.clone(),
                value,
            });
        }
        Ok(())
    }
}

/// Triggers' functions see what was done before them, which parts of one statement do not.
fn refuse_calls(steps: &[Step]) -> SqlResult<()> {
    match fire::calls(steps) {
        true => Err(SqlError::unsupported(
            "a WITH query that reads what another one changes, with triggers",
        )),
        false => Ok(()),
    }
}

/// Rows that are kept in arrays, one for each column.
pub(super) struct Kept {
    /// The slot (integer) with their number.
    count: usize,
    slots: Vec<usize>,
    /// The numbers by which statements name the arrays.
    numbers: Vec<i32>,
    columns: Vec<OutputColumn>,
}

impl Kept {
    /// The arrays of some columns, as arguments.
    pub fn arrays(&self, columns: Range<usize>) -> SqlResult<Vec<Expr>> {
        let slots = self.slots[columns.clone()].iter();
        let both = slots.zip(&self.columns[columns]);
        both.map(|(slot, column)| Ok(Expr::Param(*slot, array_of(column.ty)?)))
            .collect()
    }

    /// The types of the columns.
    pub fn types(&self) -> impl Iterator<Item = SqlType> {
        self.columns.iter().map(|column| column.ty)
    }

    /// The numbers by which statements name the arrays.
    pub fn numbers(&self) -> impl Iterator<Item = i32> {
        self.numbers.iter().copied()
    }

    /// The query that gives them again.
    pub fn rows(&self, context: &PlanContext<'_>) -> SqlResult<Node> {
        rows_of(context, &self.numbers, &self.columns)
    }
}

/// The type of the array in which values of a type are kept.
///
/// # Errors
/// `0A000` if there is none.
pub(super) fn array_of(ty: SqlType) -> SqlResult<SqlType> {
    let what = || format!("type {ty} RETURNING in a WITH query");
    let array = kept_as(ty).array_of();
    array.ok_or_else(|| SqlError::unsupported(what()))
}

/// There are no arrays of arrays: those are kept as text, as what a function without a result gives is.
fn kept_as(ty: SqlType) -> SqlType {
    match is_array(ty) || ty == SqlType::Void {
        true => SqlType::Text,
        false => ty,
    }
}

/// A WITH query that changes nothing reads one of these tables: whoever names it is to see what was there in the beginning, although it
/// is put in where it is named.
fn queries_read(node: &NodeEnum, changed: &BTreeSet<String>) -> bool {
    if changed.is_empty() {
        return false;
    }
    let ctes = with_clause(node).map_or(&[][..], |with| &with.ctes);
    let mut queries = ctes
        .iter()
        .filter_map(common_table)
        .filter_map(|table| table.ctequery.as_deref().and_then(inner));
    queries.any(|query| reads(query, changed))
}

/// What is left of a statement, its WITH queries aside, reads one of these tables.
fn others_read(node: &NodeEnum, changed: &BTreeSet<String>) -> bool {
    let mut main = node.clone();
    if let Some(with) = with_clause_mut(&mut main) {
        // What a WITH query gives may be called as a table is.
        let names: Vec<String> = with
            .ctes
            .iter()
            .filter_map(common_table)
            .map(|table| table.ctename.clone())
            .collect();
        with.ctes.clear();
        let changed = changed.iter().filter(|name| !names.contains(name));
        return reads(&main, &changed.cloned().collect());
    }
    reads(&main, changed)
}

/// Puts WITH queries in sight of a change.
fn give(change: &mut NodeEnum, before: &[Node], recursive: bool) -> SqlResult<()> {
    if before.is_empty() {
        return Ok(());
    }
    if with_clause(change).is_some() {
        return Err(SqlError::unsupported(
            "WITH inside of a WITH query that changes rows",
        ));
    }
    let with = Some(WithClause {
        ctes: before.to_vec(),
        recursive,
        location: -1,
    });
    match change {
        NodeEnum::InsertStmt(change) => change.with_clause = with,
        NodeEnum::UpdateStmt(change) => change.with_clause = with,
        NodeEnum::DeleteStmt(change) => change.with_clause = with,
        _ => {}
    }
    Ok(())
}

/// True for an array of values whose type can be named.
fn is_array(ty: SqlType) -> bool {
    ty.element().is_some() && ty != SqlType::RecordArray
}

/// `SELECT r.c0 AS name, … FROM unnest($n, …) AS r (c0, …)`; where a column is of a composite type, which unnest would take apart,
/// `SELECT ($n)[r.o] AS name, … FROM generate_series(1, cardinality($n)) AS r (o)`.
pub(super) fn rows_of(
    context: &PlanContext<'_>,
    arrays: &[i32],
    kept: &[OutputColumn],
) -> SqlResult<Node> {
    let planner = Planner::new(context, "", &[]);
    let columns: Vec<String> = (0..kept.len()).map(|number| format!("c{number}")).collect();
    let by_place = (kept.iter()).any(|column| matches!(column.ty, SqlType::Composite(_)));
    let (call, names) = match (by_place, arrays) {
        (true, [first, ..]) => {
            let series = format!("generate_series(1, cardinality(${first}))");
            (parse_expression(&series)?, vec![string("o")])
        }
        _ => {
            let parameters = arrays.iter().map(|number| {
                node(NodeEnum::ParamRef(ParamRef {
                    number: *number,
                    location: -1,
                }))
            });
            let call = FuncCall {
                funcname: vec![string("unnest")],
                args: parameters.collect(),
                location: -1,
                ..FuncCall::default()
            };
            let names = columns.iter().map(string).collect();
            (node(NodeEnum::FuncCall(Box::new(call))), names)
        }
    };
    let source = RangeFunction {
        functions: vec![call],
        alias: Some(Alias {
            aliasname: "r".to_string(),
            colnames: names,
        }),
        ..RangeFunction::default()
    };
    let all = kept.iter().zip(columns.iter().zip(arrays));
    let targets = all.map(|(kept, (column, array))| {
        let source = match by_place {
            true => format!("(${array})[r.o]"),
            false => format!("r.{column}"),
        };
        let value = match is_array(kept.ty) {
            true => {
                let name = planner.with_type_names(format_declared(kept.ty, TypeMod::NONE));
                parse_expression(&format!("CAST({source} AS {name})"))?
            }
            false => parse_expression(&source)?,
        };
        Ok(node(NodeEnum::ResTarget(Box::new(ResTarget {
            name: kept.name.clone(),
            val: Some(Box::new(value)),
            location: -1,
            ..ResTarget::default()
        }))))
    });
    Ok(node(NodeEnum::SelectStmt(Box::new(SelectStmt {
        target_list: targets.collect::<SqlResult<_>>()?,
        from_clause: vec![node(NodeEnum::RangeFunction(source))],
        limit_option: pg_query::protobuf::LimitOption::Default as i32,
        op: pg_query::protobuf::SetOperation::SetopNone as i32,
        ..SelectStmt::default()
    }))))
}
