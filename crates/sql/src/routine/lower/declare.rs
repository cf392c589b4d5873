//! Declarations: types, slots and first values of variables.
//!
//! Relies on: `lower`.  Promises: a variable's own name is not in sight of its default; a default that fails
//! does so when the block is entered.  Does not: give a record fields; what is assigned to it does.

use super::super::polymorphic::pseudo;
use super::super::signature::{Resolved, resolve};
use super::Lowering;
use crate::planner::Planner;
use crate::plpgsql::{self, Block, Declaration, Target, VariableKind, VariableNumber};
use crate::variables::Shape;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::Expr;
use quintet_ir::routine::{Action, Slot};
use quintet_ir::statement::OutputColumn;
use std::sync::Arc;

impl Lowering<'_, '_, '_> {
    pub(super) fn declare(&mut self, block: &Block) -> SqlResult<()> {
        for declaration in &block.declarations {
            match declaration {
                Declaration::Alias { name, of } => self.at.variables.declare(name, of.0),
                Declaration::Variable(number) => {
                    let variable = &self.tree.body.variables[number.0];
                    self.at.line = variable.line;
                    if let VariableKind::Cursor(_) = &variable.kind {
                        self.declare_cursor(*number)?;
                        continue;
                    }
                    // Its own name is not in sight of its default.
                    let VariableKind::Declared(ty) = &variable.kind else {
                        return Err(SqlError::internal("a block declares what is there already"));
                    };
                    let resolved = self.variable_type(ty)?;
                    if let Resolved::Scalar(ty @ SqlType::Any(_), _) = &resolved {
                        return Err(pseudo(&variable.name, *ty));
                    }
                    self.first_value(number.0, resolved)?;
                    self.at.variables.declare(&variable.name, number.0);
                }
            }
        }
        Ok(())
    }

    /// A type in a declaration: of another variable, too.
    pub(super) fn variable_type(&self, ty: &plpgsql::DataType) -> SqlResult<Resolved> {
        if let plpgsql::DataType::TypeOf { names, array } = ty {
            let parts: Vec<&str> = names.iter().map(String::as_str).collect();
            let variables = &self.at.variables;
            let numbered = || {
                let number: usize = parts.first()?.strip_prefix('$')?.parse().ok()?;
                *variables.numbered.get(number.checked_sub(1)?)?
            };
            let named = variables.resolve(&parts).ok().flatten();
            if let Some(slot) = named.or_else(numbered) {
                let ty = variables.slots[slot].ty;
                let domain = variables.domains.get(&slot);
                let domain = domain.and_then(|number| self.at.context.catalog.user_type(*number));
                if let (Some(record), false) = (domain, array) {
                    return Ok(Resolved::Domain(Arc::clone(record)));
                }
                if !array {
                    return Ok(Resolved::Scalar(ty, variables.modifiers[slot]));
                }
                let array = ty.array_of();
                return array
                    .map(|ty| Resolved::Scalar(ty, TypeMod::NONE))
                    .ok_or_else(|| SqlError::unsupported(format!("type {ty}[]")));
            }
        }
        let planner = Planner::new(self.at.context, "", &[]);
        resolve(&planner, ty).map_err(|error| match ty {
            // As PostgreSQL says it, for whom this is no type then.
            plpgsql::DataType::TypeOf { .. } if error.state != SqlState::FEATURE_NOT_SUPPORTED => {
                SqlError::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"%\"")
            }
            _ => error,
        })
    }

    /// Gives a declared variable its slots and its first value.
    pub(super) fn first_value(&mut self, number: usize, ty: Resolved) -> SqlResult<()> {
        let variable = &self.tree.body.variables[number];
        let domain = match &ty {
            Resolved::Domain(record) => Some(record.id),
            _ => None,
        };
        match ty.plain() {
            Resolved::Scalar(ty, modifier) => {
                let value = match &variable.default {
                    Some(text) => {
                        let begun = self.at.steps.len();
                        match self.at.typed(&text.text, ty, modifier) {
                            Ok(value) => value,
                            Err(error) => {
                                self.instead(begun, error)?;
                                Expr::Const(Value::Null, ty)
                            }
                        }
                    }
                    None if variable.not_null => {
                        let message = format!(
                            "variable \"{}\" must have a default value, since it's declared NOT NULL",
                            variable.name
                        );
                        return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
                    }
                    None => Expr::Const(Value::Null, ty),
                };
                let slot = self.at.variables.add_slot(
                    Slot {
                        name: variable.name.clone(),
                        ty,
                        not_null: variable.not_null,
                    },
                    modifier,
                );
                if let Some(domain) = domain {
                    self.at.variables.domains.insert(slot, domain);
                }
                self.at.variables.reshape(number, Shape::Scalar(slot));
                self.at.add(Action::Assign { slot, value });
            }
            Resolved::Row(table) => {
                self.refuse_not_null(number)?;
                let columns: Vec<OutputColumn> = table
                    .visible_columns()
                    .map(|(_, column)| OutputColumn {
                        name: column.name.clone(),
                        ty: column.ty,
                        modifier: column.modifier,
                        origin: None,
                    })
                    .collect();
                let fields = self.fields(&variable.name, &columns);
                for (_, slot) in &fields {
                    let ty = self.at.variables.slots[*slot].ty;
                    let value = Expr::Const(Value::Null, ty);
                    self.at.add(Action::Assign { slot: *slot, value });
                }
                self.at.variables.reshape(number, Shape::Row(fields));
                self.first_row(number)?;
            }
            Resolved::Record | Resolved::Domain(_) => {
                self.refuse_not_null(number)?;
                self.at.variables.reshape(number, Shape::Unassigned);
                self.first_row(number)?;
            }
        }
        Ok(())
    }

    fn refuse_not_null(&self, number: usize) -> SqlResult<()> {
        match self.tree.body.variables[number].not_null {
            true => Err(SqlError::unsupported("NOT NULL of a row variable")),
            false => Ok(()),
        }
    }

    /// A row's default, if it has one.
    fn first_row(&mut self, number: usize) -> SqlResult<()> {
        let Some(default) = &self.tree.body.variables[number].default else {
            return Ok(());
        };
        let target = Target {
            variable: VariableNumber(number),
            field: None,
            subscripts: Vec::new(),
        };
        let begun = self.at.steps.len();
        match self.assign_row(&target, default) {
            Ok(()) => Ok(()),
            Err(error) => self.instead(begun, error),
        }
    }

    /// Slots for a row's fields.
    pub(super) fn fields(&mut self, of: &str, columns: &[OutputColumn]) -> Vec<(String, usize)> {
        let mut fields = Vec::with_capacity(columns.len());
        for column in columns {
            let slot = Slot {
                name: format!("{of}.{}", column.name),
                ty: column.ty,
                not_null: false,
            };
            let slot = self.at.variables.add_slot(slot, column.modifier);
            fields.push((column.name.clone(), slot));
        }
        fields
    }
}
