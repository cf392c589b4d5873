//! Cursors that are declared with their query.
//!
//! Relies on: `lower`; `plpgsql::portals`, which knows those that nobody else can see; `portal` for the others.  Promises: OPEN runs
//! the query to its end and keeps the rows in arrays, a column each; FETCH
//! takes the next one and sets FOUND; what the query names are the variables as they are at OPEN.
//! Does not: go backwards, or tell others of the cursor.
//!
//! ```text
//!   place   closed -1   open: rows fetched so far 0, 1, 2 …
//! ```

use super::current::Current;
use super::{Lowering, for_later};
use crate::expr::Binder;
use crate::parse;
use crate::planner::Planner;
use crate::plpgsql::{CursorQuery, RowTarget, SqlText, Statement, VariableKind, VariableNumber};
use crate::scope::Scope;
use crate::variables::Shape;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::dynamic::Live;
use quintet_ir::plan::Plan;
use quintet_ir::routine::{Action, Into, Step};
use quintet_ir::statement::OutputColumn;
use quintet_ir::{CompareOp, Expr, Need, Statement as IrStatement};

const CLOSED: i32 = -1;

/// A cursor as its declaration has made it.
pub(super) struct Cursor {
    pub name: String,
    /// Its query.
    pub source: String,
    /// Where its name is, if it is a portal; otherwise where its rows are.
    pub keeps: Keeps,
    /// The slots of what it takes.
    arguments: Vec<usize>,
    pub opens: SqlResult<Opening>,
    /// SCROLL or NO SCROLL.
    pub scroll: Option<bool>,
    /// The row of a table that it stands on.
    pub current: Option<Current>,
}

/// What there is of a cursor.
pub(super) enum Keeps {
    /// A portal: the slot of its name, and three for the loop that goes through it.
    Portal {
        name: usize,
        turned: usize,
        found: usize,
        /// What it was called before.
        was: usize,
    },
    /// Its rows.
    Rows(Rows),
}

/// The rows of a cursor that is the routine's own.
pub(super) struct Rows {
    place: usize,
    count: usize,
    columns: Vec<Kept>,
}

/// What OPEN does.
#[derive(Clone)]
pub(super) struct Opening {
    before: Vec<Step>,
    needs: Vec<Need>,
    pub statement: IrStatement,
    /// It locks the rows that it finds.
    pub locks: bool,
    /// Of the rows that there are to see; behind them may stand a key.
    pub columns: Vec<OutputColumn>,
    /// Of the key.
    pub key: Vec<OutputColumn>,
}

/// A column of the rows that are kept.
struct Kept {
    column: OutputColumn,
    array: usize,
    element: usize,
}

fn int(value: i32) -> Expr {
    Expr::Const(Value::Int4(value), SqlType::Int4)
}

impl Lowering<'_, '_, '_> {
    /// Where the cursors are, as variables.
    pub(super) fn live_cursors(&self) -> Vec<Live> {
        let mut live = Vec::new();
        for (number, cursor) in &self.cursors {
            let mut slots = match &cursor.keeps {
                Keeps::Portal {
                    name: _,
                    turned,
                    found,
                    was,
                } => vec![*turned, *found, *was],
                Keeps::Rows(rows) => {
                    let arrays = rows.columns.iter().map(|kept| kept.array);
                    [rows.place, rows.count].into_iter().chain(arrays).collect()
                }
            };
            slots.extend(cursor.current.iter().flat_map(Current::slots));
            live.extend(slots.into_iter().enumerate().map(|(part, slot)| Live {
                variable: number.0,
                field: Some(part.to_string()),
                slot,
            }));
        }
        live
    }

    /// A declaration. What is wrong with the query is said when it is opened.
    pub(super) fn declare_cursor(&mut self, number: VariableNumber) -> SqlResult<()> {
        let variable = &self.tree.body.variables[number.0];
        let VariableKind::Cursor(declared) = &variable.kind else {
            return Err(SqlError::internal("no cursor is declared"));
        };
        let name = variable.name.clone();
        let is_portal = self.tree.body.portals.contains(&number);
        self.at.variables.enter(Some(&name));
        let arguments = self.cursor_arguments(declared);
        let wants_key = is_portal || self.names_current();
        let planned = self.cursor_query(&declared.query, wants_key);
        self.at.variables.leave();
        let arguments = arguments?;
        let (opens, table) = match planned {
            Err(error) => (Err(for_later(error)?), None),
            Ok((opening, table)) => (Ok(opening), table),
        };
        let keeps = match is_portal {
            true => self.declare_portal(number, &name)?,
            false => Keeps::Rows(self.rows_of(&opens)?),
        };
        let current = table.map(|table| self.current(table));
        self.at.variables.declare(&name, number.0);
        let cursor = Cursor {
            name,
            source: declared.query.text.trim().to_string(),
            keeps,
            arguments,
            opens,
            scroll: declared.scroll,
            current,
        };
        self.cursors.insert(number, cursor);
        Ok(())
    }

    /// Slots for what a cursor takes.
    fn cursor_arguments(&mut self, declared: &CursorQuery) -> SqlResult<Vec<usize>> {
        let mut slots = Vec::with_capacity(declared.arguments.len());
        for number in &declared.arguments {
            let variable = &self.tree.body.variables[number.0];
            let VariableKind::CursorArgument(ty) = &variable.kind else {
                return Err(SqlError::internal("a cursor takes no such thing"));
            };
            let resolved = self.variable_type(ty)?;
            self.first_value(number.0, resolved)?;
            let Shape::Scalar(slot) = self.at.variables.shape(number.0) else {
                return Err(SqlError::unsupported("a row as a cursor's argument"));
            };
            slots.push(*slot);
            self.at.variables.declare(&variable.name, number.0);
        }
        Ok(slots)
    }

    /// Room for the rows of a cursor of the routine's own.
    fn rows_of(&mut self, opens: &SqlResult<Opening>) -> SqlResult<Rows> {
        let mut columns = Vec::new();
        if let Ok(opening) = opens {
            for column in opening.columns.iter().chain(&opening.key) {
                let Some(array) = column.ty.array_of() else {
                    let what = format!("type {} in a cursor", column.ty);
                    return Err(SqlError::unsupported(what));
                };
                columns.push(Kept {
                    array: self.at.variables.hidden(array),
                    element: self.at.variables.hidden(column.ty),
                    column: column.clone(),
                });
            }
        }
        let place = self.at.variables.hidden(SqlType::Int4);
        let count = self.at.variables.hidden(SqlType::Int4);
        self.set(place, int(CLOSED));
        Ok(Rows {
            place,
            count,
            columns,
        })
    }

    /// Plans a query that a cursor goes through, by itself.
    pub(super) fn cursor_query(
        &mut self,
        query: &SqlText,
        wants_key: bool,
    ) -> SqlResult<(Opening, Option<quintet_ir::schema::TableRef>)> {
        let keyed = match wants_key {
            true => self.keyed(&query.text)?,
            false => None,
        };
        let mut plan = |of: Option<&pg_query::NodeEnum>| {
            self.at.apart(|at| {
                let planned = match of {
                    Some(node) => at.plan(&query.text, node)?,
                    None => at.statement(&query.text)?,
                };
                Ok((planned, std::mem::take(&mut at.needs)))
            })
        };
        // What a key cannot stand beside has none.
        let with_key = keyed.and_then(|(node, table)| Some((plan(Some(&node)).ok()?, table)));
        let (((planned, needs), before), table) = match with_key {
            Some((planned, table)) => (planned, Some(table)),
            None => (plan(None)?, None),
        };
        let width = table.as_ref().map_or(0, |table| table.key_columns().len());
        let mut columns = planned.columns;
        let key = columns.split_off(columns.len().saturating_sub(width));
        let opening = Opening {
            before,
            needs,
            statement: planned.statement,
            locks: locks_rows(&query.text)?,
            columns,
            key,
        };
        Ok((opening, table))
    }

    /// What stands before a cursor's query is run: its arguments, and the steps that the query needs.
    pub(super) fn before_opening(
        &mut self,
        cursor: &Cursor,
        arguments: Option<&SqlText>,
    ) -> SqlResult<Opening> {
        if let Some(arguments) = arguments {
            let values = self.at.list(&arguments.text)?;
            for (slot, value) in cursor.arguments.iter().zip(values) {
                let (ty, modifier) = self.slot_type(*slot);
                let value = self.at.converted(value, ty, modifier)?;
                self.at.add(Action::Assign { slot: *slot, value });
            }
        }
        let opening = cursor.opens.as_ref().map_err(Clone::clone)?.clone();
        self.before_query(&opening);
        Ok(opening)
    }

    /// The steps that a query needs.
    pub(super) fn before_query(&mut self, opening: &Opening) {
        self.at.steps.extend(opening.before.iter().cloned());
        self.at.keep_needs(opening.needs.clone());
    }

    /// OPEN of a cursor that has its query.
    pub(super) fn open(
        &mut self,
        number: VariableNumber,
        arguments: Option<&SqlText>,
    ) -> SqlResult<()> {
        let cursor = self.take_cursor(number)?;
        let opened = match &cursor.keeps {
            Keeps::Portal { .. } => self.open_portal(&cursor, arguments, false),
            Keeps::Rows(rows) => self.open_cursor(&cursor, rows, arguments),
        };
        self.cursors.insert(number, cursor);
        opened
    }

    fn open_cursor(
        &mut self,
        cursor: &Cursor,
        rows: &Rows,
        arguments: Option<&SqlText>,
    ) -> SqlResult<()> {
        self.refuse_open(cursor, rows)?;
        let opening = self.before_opening(cursor, arguments)?;
        for kept in &rows.columns {
            let ty = self.at.variables.slots[kept.array].ty;
            self.set(kept.array, Expr::Const(Value::Null, ty));
        }
        // It stands on no row until one is fetched.
        for (slot, ty) in cursor.current.iter().flat_map(Current::key) {
            self.set(*slot, Expr::Const(Value::Null, *ty));
        }
        self.set(rows.count, int(0));
        let found = self.found_kept();
        let (_, body) = self.at.apart(|at| {
            let here = Expr::Param(rows.count, SqlType::Int4);
            let value = at.apply("+", vec![here.clone(), int(1)])?;
            let slot = rows.count;
            at.add(Action::Assign { slot, value });
            for kept in &rows.columns {
                at.add(Action::AssignElement {
                    slot: kept.array,
                    index: here.clone(),
                    value: Expr::Param(kept.element, kept.column.ty),
                });
            }
            Ok(())
        })?;
        let columns = rows.columns.iter().enumerate();
        let into = columns.map(|(n, kept)| (kept.element, Expr::Column(n, kept.column.ty)));
        self.at.add(Action::ForRow {
            statement: opening.statement,
            into: into.collect(),
            body,
        });
        self.set(self.found, Expr::Param(found, SqlType::Bool));
        self.set(rows.place, int(0));
        Ok(())
    }

    /// Keeps FOUND, which a loop says, and OPEN does not; where.
    pub(super) fn found_kept(&mut self) -> usize {
        let found = self.at.variables.hidden(SqlType::Bool);
        self.set(found, Expr::Param(self.found, SqlType::Bool));
        found
    }

    /// FETCH … INTO, the next row.
    pub(super) fn fetch_next(
        &mut self,
        number: VariableNumber,
        target: &RowTarget,
    ) -> SqlResult<()> {
        let cursor = self.take_cursor(number)?;
        let fetched = match &cursor.keeps {
            Keeps::Rows(rows) => self.fetch_row(&cursor, rows, target),
            Keeps::Portal { .. } => Err(SqlError::internal("a portal has no rows here")),
        };
        self.cursors.insert(number, cursor);
        fetched
    }

    fn fetch_row(&mut self, cursor: &Cursor, rows: &Rows, target: &RowTarget) -> SqlResult<()> {
        self.check_open(cursor, rows)?;
        let place = Expr::Param(rows.place, SqlType::Int4);
        let next = self.at.apply("+", vec![place.clone(), int(1)])?;
        self.set(rows.place, next);
        let (mut row, mut columns) = (Vec::new(), Vec::new());
        for kept in &rows.columns {
            let array = Expr::Param(kept.array, self.at.variables.slots[kept.array].ty);
            row.push(self.at.apply("[]", vec![array, place.clone()])?);
            columns.push(kept.column.clone());
        }
        let types = row.iter().map(Expr::ty).collect();
        let there = self.compared(CompareOp::Le, place, Expr::Param(rows.count, SqlType::Int4))?;
        let key = cursor.current.as_ref().map_or(0, |it| it.slots().count());
        let visible = columns.len() - key;
        let mut targets = self.row_targets(target, &columns[..visible])?;
        targets.extend(cursor.current.iter().flat_map(|it| it.targets(visible)));
        self.at.add(Action::Run {
            statement: IrStatement::Query(Plan::Filter {
                input: Box::new(Plan::Values {
                    rows: vec![row],
                    types,
                }),
                predicate: there,
            }),
            into: Into {
                targets,
                strict: false,
                silent: false,
            },
        });
        Ok(())
    }

    /// CLOSE of a cursor of the routine's own.
    pub(super) fn close_own(&mut self, number: VariableNumber) -> SqlResult<()> {
        let cursor = self.take_cursor(number)?;
        let closed = match &cursor.keeps {
            Keeps::Portal { .. } => Err(SqlError::internal("a portal has no rows here")),
            Keeps::Rows(rows) => {
                let closed = self.check_open(&cursor, rows);
                self.set(rows.place, int(CLOSED));
                for kept in &rows.columns {
                    let ty = self.at.variables.slots[kept.array].ty;
                    self.set(kept.array, Expr::Const(Value::Null, ty));
                }
                closed
            }
        };
        self.cursors.insert(number, cursor);
        closed
    }

    /// FOR over a cursor.
    pub(super) fn for_cursor(
        &mut self,
        label: Option<&str>,
        variable: VariableNumber,
        (number, arguments): (VariableNumber, Option<&SqlText>),
        body: &[Statement],
        offset: usize,
    ) -> SqlResult<()> {
        let cursor = self.take_cursor(number)?;
        let opened = match &cursor.keeps {
            Keeps::Portal { .. } => self.open_portal(&cursor, arguments, true).map(|()| None),
            Keeps::Rows(rows) => self
                .refuse_open(&cursor, rows)
                .and_then(|()| self.before_opening(&cursor, arguments))
                .map(Some),
        };
        self.cursors.insert(number, cursor);
        let opening = opened?;
        let name = self.tree.body.variables[variable.0].name.clone();
        self.at.variables.enter(label);
        self.at.variables.reshape(variable.0, Shape::Unassigned);
        self.at.variables.declare(&name, variable.0);
        let made = match opening {
            Some(opening) => self.turns_of(label, variable, (number, opening), body),
            None => self.turns_of_portal(label, variable, number, body, offset),
        };
        self.at.variables.leave();
        made
    }

    fn turns_of(
        &mut self,
        label: Option<&str>,
        variable: VariableNumber,
        (number, opening): (VariableNumber, Opening),
        body: &[Statement],
    ) -> SqlResult<()> {
        let columns = &opening.columns;
        let mut into = self.row_targets(&RowTarget::Record(variable), columns)?;
        let current = self.cursors.get(&number);
        let current = current.and_then(|cursor| cursor.current.as_ref());
        into.extend(current.iter().flat_map(|it| it.targets(columns.len())));
        self.looped.push(number);
        let body = self.turns_over(label, columns, body);
        self.looped.pop();
        self.at.add(Action::ForRow {
            statement: opening.statement,
            into,
            body: body?,
        });
        Ok(())
    }

    pub(super) fn take_cursor(&mut self, number: VariableNumber) -> SqlResult<Cursor> {
        let cursor = self.cursors.remove(&number);
        cursor.ok_or_else(|| SqlError::internal("a cursor without its query"))
    }

    /// Whether a cursor is the routine's own.
    pub(super) fn is_own(&self, number: VariableNumber) -> bool {
        let cursor = self.cursors.get(&number);
        cursor.is_some_and(|cursor| matches!(cursor.keeps, Keeps::Rows(_)))
    }

    /// A cursor of the routine's own stands on a row, or the step fails.
    pub(super) fn check_current(&mut self, number: VariableNumber) -> SqlResult<Vec<usize>> {
        let cursor = self.take_cursor(number)?;
        let slots: Vec<usize> = cursor.current.iter().flat_map(Current::slots).collect();
        let checked = match &cursor.keeps {
            // In the loop there is always a row.
            Keeps::Rows(_) if self.looped.contains(&number) => Ok(()),
            Keeps::Rows(rows) => self.check_open(&cursor, rows),
            Keeps::Portal { .. } => Err(SqlError::internal("a portal has no rows here")),
        };
        if let Some((slot, ty)) = cursor.current.iter().flat_map(Current::key).next()
            && !self.looped.contains(&number)
        {
            let is_null = Expr::IsNull {
                input: Box::new(Expr::Param(*slot, *ty)),
                negated: false,
            };
            let message = format!("cursor \"{}\" is not positioned on a row", cursor.name);
            self.fail_when(is_null, SqlState::INVALID_CURSOR_STATE, &message);
        }
        self.cursors.insert(number, cursor);
        checked.map(|()| slots)
    }

    fn check_open(&mut self, cursor: &Cursor, rows: &Rows) -> SqlResult<()> {
        let closed = format!("cursor \"{}\" does not exist", cursor.name);
        self.fail_if(
            rows.place,
            CompareOp::Eq,
            CLOSED,
            SqlState::INVALID_CURSOR_NAME,
            &closed,
        )
    }

    fn refuse_open(&mut self, cursor: &Cursor, rows: &Rows) -> SqlResult<()> {
        let message = format!("cursor \"{}\" already in use", cursor.name);
        self.fail_if(
            rows.place,
            CompareOp::Ge,
            0,
            SqlState::DUPLICATE_CURSOR,
            &message,
        )
    }

    /// A step that fails if a slot compares so with a number.
    fn fail_if(
        &mut self,
        slot: usize,
        op: CompareOp,
        number: i32,
        state: SqlState,
        message: &str,
    ) -> SqlResult<()> {
        let condition = self.compared(op, Expr::Param(slot, SqlType::Int4), int(number))?;
        self.fail_when(condition, state, message);
        Ok(())
    }

    /// A step that fails under a condition.
    pub(super) fn fail_when(&mut self, condition: Expr, state: SqlState, message: &str) {
        let before = std::mem::take(&mut self.at.steps);
        self.fail(state, message);
        let fails = std::mem::replace(&mut self.at.steps, before);
        self.at.add(Action::If {
            branches: vec![(condition, fails)],
            otherwise: Vec::new(),
        });
    }

    fn compared(&self, op: CompareOp, left: Expr, right: Expr) -> SqlResult<Expr> {
        let planner = Planner::inside(self.at.context, "", &self.at.variables);
        let scope = Scope::empty();
        Binder::new(&planner, &scope, "expressions").compare(op, left, right)
    }

    pub(super) fn set(&mut self, slot: usize, value: Expr) {
        self.at.add(Action::Assign { slot, value });
    }
}

/// Whether a query says FOR UPDATE or the like.
fn locks_rows(text: &str) -> SqlResult<bool> {
    let parsed = parse::parse(text)?.pop();
    let node = parsed.and_then(parse::Parsed::into_node);
    Ok(match node {
        Some(pg_query::NodeEnum::SelectStmt(select)) => !select.locking_clause.is_empty(),
        _ => false,
    })
}
