//! Statements that are planned when they are reached: EXECUTE, and what changes more than rows.
//!
//! Relies on: `lower`; who runs the routine to plan such a statement, and to have the routine made anew when that has changed
//! the schema or given a record fields ([`PlanContext::dynamic`]).  Promises: a landmark has the same number whenever the
//! routine is made, and knows where every variable is.  Does not: look into the text.
//!
//! [`PlanContext::dynamic`]: crate::planner::PlanContext::dynamic

use super::Lowering;
use crate::plpgsql::{DynamicSql, IntoClause, RowTarget, Statement};
use crate::variables::Shape;
use quintet_base::{SqlError, SqlResult, SqlType, TypeMod, Value};
use quintet_ir::Expr;
use quintet_ir::dynamic::{Dynamic, DynamicRows, Landmark, Live};
use quintet_ir::routine::{Action, Output, Step};
use quintet_ir::statement::OutputColumn;

impl Lowering<'_, '_, '_> {
    /// EXECUTE, or the statement itself.
    pub(super) fn dynamic(&mut self, sql: &DynamicSql, into: Option<&IntoClause>) -> SqlResult<()> {
        let (text, arguments) = self.asked(sql)?;
        let (rows, is_record) = match into {
            Some(into) => self.dynamic_rows(sql, &into.target, into.strict)?,
            None => (DynamicRows::Forgotten, false),
        };
        let step = self.dynamic_step(sql, (text, arguments), (rows, is_record));
        self.at.add(Action::Dynamic(Box::new(step)));
        Ok(())
    }

    /// FOR over the rows of EXECUTE.
    pub(super) fn for_dynamic(
        &mut self,
        label: Option<&str>,
        target: &RowTarget,
        sql: &DynamicSql,
        body: &[Statement],
    ) -> SqlResult<()> {
        let (text, arguments) = self.asked(sql)?;
        let rows = self.dynamic_rows(sql, target, false)?;
        let mut step = self.dynamic_step(sql, (text, arguments), rows);
        let types = match &step.rows {
            DynamicRows::Into { slots, .. } => {
                let types = slots.iter().map(|(slot, _)| self.slot_type(*slot).0);
                types.collect()
            }
            _ => Vec::new(),
        };
        self.rows_around.push(types);
        let turns = self.turns(label, body);
        self.rows_around.pop();
        step.turns = Some(turns?);
        self.at.add(Action::Dynamic(Box::new(step)));
        Ok(())
    }

    /// RETURN QUERY EXECUTE.
    pub(super) fn return_dynamic(&mut self, sql: &DynamicSql) -> SqlResult<()> {
        if self.signature.output != Output::Rows {
            let message = "cannot use RETURN QUERY in a non-SETOF function";
            return Err(SqlError::new(
                quintet_base::SqlState::DATATYPE_MISMATCH,
                message,
            ));
        }
        let asked = self.asked(sql)?;
        let columns = self.signature.columns.iter();
        let rows = DynamicRows::Returned(columns.map(|column| column.ty).collect());
        let step = self.dynamic_step(sql, asked, (rows, false));
        self.at.add(Action::Dynamic(Box::new(step)));
        Ok(())
    }

    /// The text and the arguments.
    pub(super) fn asked(&mut self, sql: &DynamicSql) -> SqlResult<(Expr, Vec<Expr>)> {
        if sql.fixed {
            let text = Expr::Const(Value::text(sql.text.text.trim()), SqlType::Text);
            return Ok((text, Vec::new()));
        }
        let text = self
            .at
            .typed(&sql.text.text, SqlType::Text, TypeMod::NONE)?;
        let mut arguments = Vec::with_capacity(sql.arguments.len());
        for argument in &sql.arguments {
            let value = self.at.expression(&argument.text)?;
            let ty = match value.ty() {
                SqlType::Unknown => SqlType::Text,
                ty => ty,
            };
            arguments.push(self.at.converted(value, ty, TypeMod::NONE)?);
        }
        Ok((text, arguments))
    }

    pub(super) fn dynamic_step(
        &mut self,
        sql: &DynamicSql,
        (text, arguments): (Expr, Vec<Expr>),
        (rows, is_record): (DynamicRows, bool),
    ) -> Dynamic {
        Dynamic {
            at: self.landmark(sql.text.offset),
            text,
            arguments,
            fixed: sql.fixed,
            rows,
            is_record,
            reads_only: !self.signature.may_write,
            turns: None,
            cursor: None,
        }
    }

    /// Where rows go, and whether that is a record, whose fields they decide.
    fn dynamic_rows(
        &mut self,
        sql: &DynamicSql,
        target: &RowTarget,
        strict: bool,
    ) -> SqlResult<(DynamicRows, bool)> {
        let known = self.at.context.dynamic.get(&self.number(sql.text.offset));
        self.rows_to(target, known.cloned().as_deref(), strict)
    }

    /// The same of rows whose columns may be known.
    pub(super) fn rows_to(
        &mut self,
        target: &RowTarget,
        known: Option<&[OutputColumn]>,
        strict: bool,
    ) -> SqlResult<(DynamicRows, bool)> {
        let slots = match target {
            RowTarget::Record(number) => match self.at.variables.shape(number.0) {
                Shape::Scalar(slot) => vec![*slot],
                _ if self.is_record(number.0) => {
                    let Some(columns) = known else {
                        return Ok((DynamicRows::Record, true));
                    };
                    let slots = self.row_slots(number.0, columns)?;
                    return Ok((self.rows_into(slots, strict)?, true));
                }
                _ => self.row_slots(number.0, &[])?,
            },
            RowTarget::List(targets) => {
                let slots = targets.iter().map(|target| self.slot(target));
                slots.collect::<SqlResult<Vec<usize>>>()?
            }
        };
        Ok((self.rows_into(slots, strict)?, false))
    }

    fn rows_into(&self, slots: Vec<usize>, strict: bool) -> SqlResult<DynamicRows> {
        let of_domain = |slot: &usize| self.at.variables.domains.contains_key(slot);
        if slots.iter().any(of_domain) {
            return Err(SqlError::unsupported("EXECUTE into a variable of a domain"));
        }
        let slots = slots.into_iter();
        Ok(DynamicRows::Into {
            slots: slots.map(|slot| (slot, self.slot_type(slot).1)).collect(),
            strict,
        })
    }

    /// What begins a handler, where the schema may have changed in its block.
    pub(super) fn handler_begins(&mut self, offset: usize) {
        if self.tree.body.is_dynamic {
            let landmark = self.landmark(offset);
            self.at.push(Action::Landmark(Box::new(landmark)));
        }
    }

    /// The number of what stands at a byte of the body: that of no other routine's.
    pub(super) fn number(&self, offset: usize) -> usize {
        (self.signature.id.0 as usize) << u32::BITS | offset
    }

    pub(super) fn landmark(&self, offset: usize) -> Landmark {
        let variables = &self.at.variables;
        let mut live = Vec::new();
        let count = self.tree.body.variables.len();
        for variable in 0..count {
            let mut add = |field: Option<&String>, slot: usize| {
                live.push(Live {
                    variable,
                    field: field.cloned(),
                    slot,
                });
            };
            match variables.shape(variable) {
                Shape::Scalar(slot) => add(None, *slot),
                Shape::Row(fields) => {
                    let fields = fields.iter();
                    fields.for_each(|(name, slot)| add(Some(name), *slot));
                }
                Shape::Unassigned => {}
            }
        }
        live.extend(self.live_cursors());
        Landmark {
            number: self.number(offset),
            live,
            loops: self.rows_around.clone(),
        }
    }

    /// The body of a loop over rows of these columns.
    pub(super) fn turns_over(
        &mut self,
        label: Option<&str>,
        columns: &[OutputColumn],
        body: &[Statement],
    ) -> SqlResult<Vec<Step>> {
        let types = columns.iter().map(|column| column.ty).collect();
        self.rows_around.push(types);
        let turns = self.turns(label, body);
        self.rows_around.pop();
        turns
    }
}
