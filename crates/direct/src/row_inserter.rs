//! Rows that come one at a time, as COPY gives them.
//!
//! Relies on: `insert`.  Promises: each row is there with its entries, or nothing of it; a row that has to wait is kept
//! as it was made, and goes on.  Does not: begin a statement.
//!
//! What the rows have in common is looked at once, their memory is used again, and what becomes a column's value as it is
//! is not copied.

use crate::context::{Context, Env, Halt, Stop, Workspace};
use crate::direct::Direct;
use crate::insert::{asks, insert_frame, new_row_id, run};
use crate::references::settle;
use crate::run::{Restarts, stop_outside_a_run};
use quintet_base::limits::STATEMENT_RESTARTS_MAX;
use quintet_base::{SqlError, SqlResult, Value};
use quintet_ir::statement::{Insert, Procedure, Statement};
use quintet_ir::{Expr, Plan};
use std::sync::Arc;

/// Inserts rows one by one; the statement's source gives exactly one, made of its parameters.
pub struct RowInserter {
    procedure: Arc<Procedure>,
    /// Of each column, the parameter that it is, if no later column is the same one; `None`, and the rows are made by running the
    /// statement's source: it has one.
    given: Option<Vec<Option<usize>>>,
    workspace: Workspace,
    /// The table's frame of a row.
    row: Vec<Value>,
    /// It has been made and waits.
    is_made: bool,
}

impl RowInserter {
    /// For one INSERT without ON CONFLICT.
    ///
    /// # Errors
    /// `XX000` for another statement.
    pub fn new(procedure: Arc<Procedure>) -> SqlResult<RowInserter> {
        let insert = insert_of(&procedure)?;
        let has_source = !matches!(&insert.source, Plan::Values { rows, types } if rows.len() == 1 && types.is_empty());
        let given = (!has_source && !asks(insert)).then(|| given(&insert.values));
        Ok(RowInserter {
            procedure,
            given,
            workspace: Workspace::default(),
            row: Vec::new(),
            is_made: false,
        })
    }

    /// The statement.
    ///
    /// # Errors
    /// None, for one that was taken by [`RowInserter::new`].
    pub fn insert(&self) -> SqlResult<&Insert> {
        insert_of(&self.procedure)
    }

    /// Inserts a row made of these parameters, which it may take out, and not of the context's; or, after [`Stop::Blocked`], the row that
    /// was made then, whatever the parameters are. Atomic by itself.
    ///
    /// # Errors
    /// [`Stop`]; nothing of the row remains in the transaction then.
    pub fn insert_row(
        &mut self,
        direct: &Direct,
        context: &mut Context<'_>,
        params: &mut [Value],
    ) -> Result<(), Stop> {
        let mark = context.txn.mark();
        let mut restarts = Restarts::default();
        loop {
            match self.attempt(direct, context, params) {
                Ok(()) => {
                    self.is_made = false;
                    return Ok(());
                }
                Err(Halt::Stale) => {
                    context.txn.rollback_to(mark);
                    restarts.count(STATEMENT_RESTARTS_MAX)?;
                    // Nothing was read but the keys that are locked now: a newer snapshot changes
                    // nothing that the rows before this one have seen.
                    context.txn.begin_statement();
                }
                Err(halt) => {
                    context.txn.rollback_to(mark);
                    self.is_made &= matches!(halt, Halt::Blocked(_));
                    return Err(stop_outside_a_run(halt));
                }
            }
        }
    }

    /// Whether a condition over these parameters, and not the context's, is true.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn holds(
        &mut self,
        condition: &Expr,
        context: &mut Context<'_>,
        params: &[Value],
    ) -> Result<bool, Stop> {
        let mut env = Env::new(context, &mut self.workspace);
        env.release_all();
        env.params = params;
        let value = env.eval(condition, &[]).map_err(Stop::Error)?;
        Ok(matches!(value, Value::Bool(true)))
    }

    fn attempt(
        &mut self,
        direct: &Direct,
        context: &mut Context<'_>,
        params: &mut [Value],
    ) -> Result<(), Halt> {
        let RowInserter {
            procedure,
            given,
            workspace,
            row,
            is_made,
        } = self;
        let insert = insert_of(procedure)?;
        let mut env = Env::new(context, workspace);
        env.release_all();
        let Some(given) = given else {
            env.params = params;
            run(direct, insert, &mut env)?;
            return settle(&mut env);
        };
        if !*is_made {
            make(insert, given, row, params, (direct, context, workspace))?;
            *is_made = true;
        }
        let mut env = Env::new(context, workspace);
        insert_frame(direct, insert, row, &mut env)?;
        settle(&mut env)
    }
}

/// The table's frame of a row.
fn make(
    insert: &Insert,
    given: &[Option<usize>],
    row: &mut Vec<Value>,
    params: &mut [Value],
    (direct, context, workspace): (&Direct, &mut Context<'_>, &mut Workspace),
) -> Result<(), Halt> {
    row.clear();
    let mut env = Env::new(context, workspace);
    env.params = params;
    for (value, given) in insert.values.iter().zip(given) {
        row.push(match given {
            Some(_) => Value::Null,
            None => env.eval(value, &[])?,
        });
    }
    if insert.table.primary_key.is_none() {
        row.push(Value::Int8(new_row_id(direct, &insert.table, &env)?));
    }
    // Once nothing else is computed from them.
    for (value, given) in row.iter_mut().zip(given) {
        if let Some(number) = given {
            *value = std::mem::take(&mut params[*number]);
        }
    }
    Ok(())
}

fn given(values: &[Expr]) -> Vec<Option<usize>> {
    let parameter = |value: &Expr| match value {
        Expr::Param(number, _) => Some(*number),
        _ => None,
    };
    let is_last = |column: usize, number: usize| {
        let later = values[column + 1..].iter();
        !later.filter_map(parameter).any(|other| other == number)
    };
    let columns = values.iter().enumerate();
    let given =
        columns.map(|(column, value)| parameter(value).filter(|number| is_last(column, *number)));
    given.collect()
}

fn insert_of(procedure: &Procedure) -> SqlResult<&Insert> {
    match procedure.statement() {
        Some(Statement::Insert(insert)) if insert.conflict.is_none() => Ok(insert),
        _ => Err(SqlError::internal("rows are given to another statement")),
    }
}
