//! Variables, parameters and results that are of a domain.
//!
//! Relies on: `domain` for what must hold.  Promises: a variable of a domain never holds what the domain refuses: a
//! value is looked at before it takes the place of the one that was there.  Does not: know fields of rows: those of a
//! table's row are of the base types of its columns, and are looked at when they are stored.

use super::embed::Embedding;
use super::signature::Signature;
use crate::domain::checked;
use crate::planner::Planner;
use crate::variables::Variables;
use quintet_base::SqlError;
use quintet_ir::plan::Plan;
use quintet_ir::routine::Action;
use quintet_ir::{Expr, Statement};

/// Whether anything in a routine is of a domain.
pub(super) fn guards(variables: &Variables) -> bool {
    !variables.domains.is_empty() || variables.result_domain.is_some()
}

impl Embedding<'_, '_> {
    /// What the caller has given is looked at.
    pub fn check_arguments(&mut self, signature: &Signature) {
        let slots = self.variables.numbered.clone();
        for (parameter, slot) in signature.parameters.iter().zip(slots) {
            if let (Some(slot), true, Some(_)) = (slot, parameter.is_input(), parameter.domain) {
                let value = Expr::Param(slot, parameter.ty);
                self.add(Action::Assign { slot, value });
            }
        }
    }

    /// A value of the domain with this number; a step that fails, if it cannot be one.
    fn of_domain(&mut self, number: u32, value: Expr) -> Expr {
        let catalog = self.context.catalog;
        let Some(record) = catalog.user_type(number) else {
            return value;
        };
        let planner = Planner::new(self.context, "", &[]);
        match checked(&planner, record, value.clone()) {
            Ok(value) => value,
            Err(error) => {
                self.push(Action::Fail(Box::new(error)));
                value
            }
        }
    }

    /// Puts a value into a variable of a domain by way of a slot without one.
    fn assign_guarded(&mut self, slot: usize, number: u32, from: usize) {
        let value = Expr::Param(from, self.variables.slots[from].ty);
        let value = self.of_domain(number, value);
        self.push(Action::Assign { slot, value });
    }

    /// A row of the result, looked at.
    fn result_guarded(&mut self, row: Vec<Expr>) -> Vec<Expr> {
        let (Some(number), [_]) = (self.variables.result_domain, row.as_slice()) else {
            return row;
        };
        let guarded = row.into_iter().map(|value| {
            let ty = value.ty();
            let slot = self.variables.hidden(ty);
            self.push(Action::Assign { slot, value });
            self.of_domain(number, Expr::Param(slot, ty))
        });
        guarded.collect()
    }

    /// Adds a step of a routine in which something is of a domain.
    pub fn add_guarded(&mut self, action: Action) {
        match action {
            Action::Assign { slot, value } => match self.variables.domains.get(&slot).copied() {
                Some(number) => {
                    let hidden = self.variables.hidden(value.ty());
                    self.push(Action::Assign {
                        slot: hidden,
                        value,
                    });
                    self.assign_guarded(slot, number, hidden);
                }
                None => self.push(Action::Assign { slot, value }),
            },
            Action::Run {
                statement,
                mut into,
            } => {
                let guarded = self.divert(&mut into.targets);
                self.push(Action::Run { statement, into });
                self.assign_all(guarded);
            }
            Action::Call {
                routine,
                arguments,
                mut into,
            } => {
                let guarded = self.divert(&mut into.targets);
                self.push(Action::Call {
                    routine,
                    arguments,
                    into,
                });
                self.assign_all(guarded);
            }
            Action::Return(row) => {
                let row = self.result_guarded(row);
                self.push(Action::Return(row));
            }
            Action::ReturnNext(row) => {
                let row = self.result_guarded(row);
                self.push(Action::ReturnNext(row));
            }
            Action::ReturnQuery(Statement::Query(input)) => {
                let action = match self.variables.result_domain {
                    Some(number) => {
                        let catalog = self.context.catalog;
                        let base = catalog.user_type(number).and_then(|record| record.domain());
                        let Some(base) = base.map(|domain| domain.base) else {
                            return self.push(Action::ReturnQuery(Statement::Query(input)));
                        };
                        let value = self.of_domain(number, Expr::Column(0, base));
                        Action::ReturnQuery(Statement::Query(Plan::Project {
                            input: Box::new(input),
                            exprs: vec![value],
                        }))
                    }
                    None => Action::ReturnQuery(Statement::Query(input)),
                };
                self.push(action);
            }
            other => match self.is_unguarded(&other) {
                true => self.push(Action::Fail(Box::new(SqlError::unsupported(
                    "a variable of a domain in this place",
                )))),
                false => self.push(other),
            },
        }
    }

    /// Has what goes to variables of domains go to slots without one: variable, domain, slot.
    fn divert(&mut self, targets: &mut [(usize, Expr)]) -> Vec<(usize, u32, usize)> {
        let mut guarded = Vec::new();
        for (slot, value) in targets {
            if let Some(number) = self.variables.domains.get(slot).copied() {
                let hidden = self.variables.hidden(value.ty());
                guarded.push((*slot, number, hidden));
                *slot = hidden;
            }
        }
        guarded
    }

    fn assign_all(&mut self, guarded: Vec<(usize, u32, usize)>) {
        for (slot, number, from) in guarded {
            self.assign_guarded(slot, number, from);
        }
    }

    /// Whether an action of another kind writes a variable of a domain, or returns one.
    fn is_unguarded(&self, action: &Action) -> bool {
        let of_domain = |slot: &usize| self.variables.domains.contains_key(slot);
        match action {
            Action::AssignElement { slot, .. }
            | Action::ForInteger { slot, .. }
            | Action::ForElement { slot, .. }
            | Action::RowCount { slot }
            | Action::Diagnose { slot, .. } => of_domain(slot),
            Action::ForRow { into, .. } => into.iter().any(|(slot, _)| of_domain(slot)),
            Action::ReturnQuery(_) => self.variables.result_domain.is_some(),
            _ => false,
        }
    }
}
