//! Cursors that are declared with their query.
//!
//! Relies on: `lower`.  Promises: OPEN runs the query to its end and keeps the rows in arrays, a column each; FETCH
//! takes the next one and sets FOUND; what the query names are the variables as they are at OPEN.
//! Does not: go backwards, or tell others of the cursor.
//!
//! ```text
//!   place   closed -1   open: rows fetched so far 0, 1, 2 …
//! ```

use super::{Lowering, for_later};
use crate::expr::Binder;
use crate::planner::Planner;
use crate::plpgsql::{RowTarget, Statement, VariableKind, VariableNumber};
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
    name: String,
    place: usize,
    count: usize,
    columns: Vec<Kept>,
    opens: SqlResult<Opening>,
}

/// What OPEN does.
struct Opening {
    before: Vec<Step>,
    needs: Vec<Need>,
    statement: IrStatement,
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
            let slots = cursor.columns.iter().map(|kept| kept.array);
            let slots = [cursor.place, cursor.count].into_iter().chain(slots);
            live.extend(slots.enumerate().map(|(part, slot)| Live {
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
        let VariableKind::Cursor(query) = &variable.kind else {
            return Err(SqlError::internal("no cursor is declared"));
        };
        let planned = self.at.apart(|at| {
            let planned = at.statement(&query.text)?;
            Ok((planned, std::mem::take(&mut at.needs)))
        });
        let mut columns = Vec::new();
        let opens = match planned {
            Err(error) => Err(for_later(error)?),
            Ok(((planned, needs), before)) => {
                for column in planned.columns {
                    let Some(array) = column.ty.array_of() else {
                        let what = format!("type {} in a cursor", column.ty);
                        return Err(SqlError::unsupported(what));
                    };
                    columns.push(Kept {
                        array: self.at.variables.hidden(array),
                        element: self.at.variables.hidden(column.ty),
                        column,
                    });
                }
                Ok(Opening {
                    before,
                    needs,
                    statement: planned.statement,
                })
            }
        };
        let place = self.at.variables.hidden(SqlType::Int4);
        let count = self.at.variables.hidden(SqlType::Int4);
        self.set(place, int(CLOSED));
        let name = variable.name.clone();
        self.at.variables.declare(&name, number.0);
        let cursor = Cursor {
            name,
            place,
            count,
            columns,
            opens,
        };
        self.cursors.insert(number, cursor);
        Ok(())
    }

    /// OPEN.
    pub(super) fn open(&mut self, number: VariableNumber) -> SqlResult<()> {
        let cursor = self.take_cursor(number)?;
        let opened = self.open_cursor(&cursor);
        self.cursors.insert(number, cursor);
        opened
    }

    fn open_cursor(&mut self, cursor: &Cursor) -> SqlResult<()> {
        let message = format!("cursor \"{}\" already in use", cursor.name);
        self.fail_if(
            cursor.place,
            CompareOp::Ge,
            0,
            SqlState::DUPLICATE_CURSOR,
            &message,
        )?;
        let Opening {
            before,
            needs,
            statement,
        } = cursor.opens.as_ref().map_err(Clone::clone)?;
        self.at.steps.extend(before.iter().cloned());
        for kept in &cursor.columns {
            let ty = self.at.variables.slots[kept.array].ty;
            self.set(kept.array, Expr::Const(Value::Null, ty));
        }
        self.set(cursor.count, int(0));
        // A loop says FOUND; OPEN does not.
        let found = self.at.variables.hidden(SqlType::Bool);
        self.set(found, Expr::Param(self.found, SqlType::Bool));
        let (_, body) = self.at.apart(|at| {
            let here = Expr::Param(cursor.count, SqlType::Int4);
            let value = at.apply("+", vec![here.clone(), int(1)])?;
            let slot = cursor.count;
            at.add(Action::Assign { slot, value });
            for kept in &cursor.columns {
                at.add(Action::AssignElement {
                    slot: kept.array,
                    index: here.clone(),
                    value: Expr::Param(kept.element, kept.column.ty),
                });
            }
            Ok(())
        })?;
        let columns = cursor.columns.iter().enumerate();
        let into = columns.map(|(n, kept)| (kept.element, Expr::Column(n, kept.column.ty)));
        self.at.keep_needs(needs.clone());
        self.at.add(Action::ForRow {
            statement: statement.clone(),
            into: into.collect(),
            body,
        });
        self.set(self.found, Expr::Param(found, SqlType::Bool));
        self.set(cursor.place, int(0));
        Ok(())
    }

    /// FETCH … INTO.
    pub(super) fn fetch(&mut self, number: VariableNumber, target: &RowTarget) -> SqlResult<()> {
        let cursor = self.take_cursor(number)?;
        let fetched = self.fetch_next(&cursor, target);
        self.cursors.insert(number, cursor);
        fetched
    }

    fn fetch_next(&mut self, cursor: &Cursor, target: &RowTarget) -> SqlResult<()> {
        self.check_open(cursor)?;
        let place = Expr::Param(cursor.place, SqlType::Int4);
        let next = self.at.apply("+", vec![place.clone(), int(1)])?;
        self.set(cursor.place, next);
        let (mut row, mut columns) = (Vec::new(), Vec::new());
        for kept in &cursor.columns {
            let array = Expr::Param(kept.array, self.at.variables.slots[kept.array].ty);
            row.push(self.at.apply("[]", vec![array, place.clone()])?);
            columns.push(kept.column.clone());
        }
        let types = row.iter().map(Expr::ty).collect();
        let there = self.compared(
            CompareOp::Le,
            place,
            Expr::Param(cursor.count, SqlType::Int4),
        )?;
        let targets = self.row_targets(target, &columns)?;
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

    /// CLOSE.
    pub(super) fn close(&mut self, number: VariableNumber) -> SqlResult<()> {
        let cursor = self.take_cursor(number)?;
        let closed = self.check_open(&cursor);
        self.set(cursor.place, int(CLOSED));
        for kept in &cursor.columns {
            let ty = self.at.variables.slots[kept.array].ty;
            self.set(kept.array, Expr::Const(Value::Null, ty));
        }
        self.cursors.insert(number, cursor);
        closed
    }

    /// FOR over a cursor: over its query.
    pub(super) fn for_cursor(
        &mut self,
        label: Option<&str>,
        variable: VariableNumber,
        cursor: VariableNumber,
        body: &[Statement],
    ) -> SqlResult<()> {
        let variables = &self.tree.body.variables;
        let VariableKind::Cursor(query) = &variables[cursor.0].kind else {
            return Err(SqlError::unsupported("FOR over this cursor"));
        };
        let known = self.take_cursor(cursor)?;
        let message = format!("cursor \"{}\" already in use", known.name);
        let checked = self.fail_if(
            known.place,
            CompareOp::Ge,
            0,
            SqlState::DUPLICATE_CURSOR,
            &message,
        );
        self.cursors.insert(cursor, known);
        checked?;
        let name = variables[variable.0].name.clone();
        self.at.variables.enter(label);
        self.at.variables.reshape(variable.0, Shape::Unassigned);
        self.at.variables.declare(&name, variable.0);
        let made = self.for_query(label, &RowTarget::Record(variable), query, body);
        self.at.variables.leave();
        made
    }

    fn take_cursor(&mut self, number: VariableNumber) -> SqlResult<Cursor> {
        let cursor = self.cursors.remove(&number);
        cursor.ok_or_else(|| SqlError::unsupported("a cursor that is declared without its query"))
    }

    fn check_open(&mut self, cursor: &Cursor) -> SqlResult<()> {
        let (name, place) = (&cursor.name, cursor.place);
        let closed = format!("cursor \"{name}\" does not exist");
        self.fail_if(
            place,
            CompareOp::Eq,
            CLOSED,
            SqlState::INVALID_CURSOR_NAME,
            &closed,
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
        let before = std::mem::take(&mut self.at.steps);
        self.fail(state, message);
        let fails = std::mem::replace(&mut self.at.steps, before);
        self.at.add(Action::If {
            branches: vec![(condition, fails)],
            otherwise: Vec::new(),
        });
        Ok(())
    }

    fn compared(&self, op: CompareOp, left: Expr, right: Expr) -> SqlResult<Expr> {
        let planner = Planner::inside(self.at.context, "", &self.at.variables);
        let scope = Scope::empty();
        Binder::new(&planner, &scope, "expressions").compare(op, left, right)
    }

    fn set(&mut self, slot: usize, value: Expr) {
        self.at.add(Action::Assign { slot, value });
    }
}
