//! New rows that policies are asked about before they are written.
//!
//! Relies on: statements as they are planned.  Promises: a row that a policy does not let through is an error before its
//! constraints and keys are looked at, and before anything of it is written; what a statement assigns is evaluated once.
//! Does not: know policies; triggers come before (`routine::fire` asks then).
//!
//! ```text
//!   INSERT:  source ─► Project: the row ─► Filter: CASE WHEN policy THEN true ELSE refuse_row() END ─► written
//!   UPDATE:  rows ─► Project: row, assigned values ─► Filter: the same of what the row becomes ─► written
//! ```

use crate::expr::and;
use crate::planner::Planner;
use crate::rewrite::{is_volatile, move_columns, transform};
use crate::routine;
use quintet_base::{SqlError, SqlResult, SqlType, Value};
use quintet_ir::expr::Truth;
use quintet_ir::function::REFUSE_ROW;
use quintet_ir::plan::Plan;
use quintet_ir::statement::{ConflictAction, Delete, Insert, Update};
use quintet_ir::{Expr, Statement};

/// What a row must fulfil.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    /// Over the table's frame.
    pub condition: Expr,
    /// What is said of a row that does not.
    pub message: String,
}

/// What the rows of a statement must fulfil.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowChecks {
    /// A row that is added.
    pub added: Vec<Check>,
    /// One that is in the way of it.
    pub in_the_way: Vec<Check>,
    /// One that is changed, as it was.
    pub before: Vec<Check>,
    /// And as it becomes.
    pub after: Vec<Check>,
}

impl Planner<'_> {
    /// A statement with what its rows must fulfil. One that fires triggers is left as it is: who makes steps of it takes what is
    /// to be asked ([`Planner::take_row_checks`]).
    ///
    /// # Errors
    /// `0A000` for what would have to be evaluated twice.
    pub fn secured(&self, statement: Statement, checks: RowChecks) -> SqlResult<Statement> {
        if routine::fires(self.catalog(), &statement) {
            self.row_checks.replace(checks);
            return Ok(statement);
        }
        checks.within(statement)
    }

    /// What is left to be asked by who makes steps of the statement.
    pub fn take_row_checks(&self) -> RowChecks {
        self.row_checks.take()
    }
}

impl RowChecks {
    /// A statement that asks them.
    ///
    /// # Errors
    /// As [`Planner::secured`].
    pub fn within(&self, statement: Statement) -> SqlResult<Statement> {
        Ok(match statement {
            Statement::Query(plan) => Statement::Query(plan),
            Statement::Insert(insert) => Statement::Insert(self.in_insert(insert)?),
            Statement::Update(update) => Statement::Update(self.in_update(update)),
            Statement::Delete(delete) => Statement::Delete(self.in_delete(delete)),
        })
    }

    fn in_insert(&self, mut insert: Insert) -> SqlResult<Insert> {
        if !self.added.is_empty() {
            let types: Vec<SqlType> = insert.values.iter().map(Expr::ty).collect();
            let mut exprs = insert.values;
            if insert.table.primary_key.is_none() {
                // In the place of the number that the row is going to have: that there is one is all that is asked of it.
                exprs.push(Expr::Const(Value::Int8(0), SqlType::Int8));
            }
            let row = Plan::Project {
                input: Box::new(insert.source),
                exprs,
            };
            insert.source = asking(row, self.added.iter().map(|check| or_refuse(check, None)));
            let places = types.into_iter().enumerate();
            insert.values = places.map(|(n, ty)| Expr::Column(n, ty)).collect();
        }
        let Some(conflict) = &mut insert.conflict else {
            return Ok(insert);
        };
        if let ConflictAction::Update {
            assignments,
            filter,
        } = &mut conflict.action
            && !(self.in_the_way.is_empty() && self.after.is_empty())
        {
            let becomes = |place: usize| assignments.iter().find(|(column, _)| *column == place);
            let mut asked: Vec<Expr> = Vec::new();
            let in_the_way = self.in_the_way.iter().chain(&self.before);
            asked.extend(in_the_way.map(|check| or_refuse(check, None)));
            for check in &self.after {
                let mut used = Vec::new();
                check.condition.collect_columns(&mut used);
                let mut given = used.iter().filter_map(|place| becomes(*place));
                if given.any(|(_, value)| is_volatile(value)) {
                    return Err(SqlError::unsupported(
                        "assigning a volatile expression to what a policy looks at, in ON CONFLICT DO UPDATE",
                    ));
                }
                let condition = transform(&check.condition, &mut |part| match part {
                    Expr::Column(place, _) => becomes(*place).map(|(_, value)| value.clone()),
                    _ => None,
                });
                asked.push(or_refuse(check, Some(condition)));
            }
            // Rows that the clause leaves alone are not asked about.
            *filter = Some(match filter.take() {
                None => and(asked),
                Some(wanted) => Expr::Case {
                    branches: vec![(wanted, and(asked))],
                    otherwise: Some(Box::new(boolean(false))),
                    ty: SqlType::Bool,
                },
            });
        }
        Ok(insert)
    }

    fn in_update(&self, mut update: Update) -> Update {
        if self.before.is_empty() && self.after.is_empty() {
            return update;
        }
        let types = update.source.frame_types();
        let width = types.len();
        let places = types.into_iter().enumerate();
        let mut exprs: Vec<Expr> = places.map(|(n, ty)| Expr::Column(n, ty)).collect();
        let mut assigned = Vec::with_capacity(update.assignments.len());
        for (number, (column, value)) in update.assignments.iter_mut().enumerate() {
            assigned.push(*column);
            let place = Expr::Column(width + number, value.ty());
            exprs.push(std::mem::replace(value, place));
        }
        let becomes = |place: usize| {
            let number = assigned.iter().position(|column| *column == place);
            number.map_or(place, |number| width + number)
        };
        let before = self.before.iter().map(|check| or_refuse(check, None));
        let after = self.after.iter().map(|check| {
            let condition = move_columns(&check.condition, &becomes);
            or_refuse(check, Some(condition))
        });
        let row = Plan::Project {
            input: Box::new(update.source),
            exprs,
        };
        update.source = asking(row, before.chain(after));
        update
    }

    fn in_delete(&self, mut delete: Delete) -> Delete {
        if !self.before.is_empty() {
            let before = self.before.iter().map(|check| or_refuse(check, None));
            delete.source = asking(delete.source, before);
        }
        delete
    }
}

fn asking(input: Plan, conditions: impl Iterator<Item = Expr>) -> Plan {
    Plan::Filter {
        input: Box::new(input),
        predicate: and(conditions.collect()),
    }
}

fn boolean(value: bool) -> Expr {
    Expr::Const(Value::Bool(value), SqlType::Bool)
}

/// True, or an error; `condition`: instead of the check's own, over another frame.
fn or_refuse(check: &Check, condition: Option<Expr>) -> Expr {
    let condition = condition.unwrap_or_else(|| check.condition.clone());
    let holds = Expr::IsTruth {
        input: Box::new(condition),
        truth: Truth::True,
        negated: false,
    };
    let message = Expr::Const(Value::text(&check.message), SqlType::Text);
    Expr::Case {
        branches: vec![(holds, boolean(true))],
        otherwise: Some(Box::new(super::call(REFUSE_ROW, vec![message]))),
        ty: SqlType::Bool,
    }
}
