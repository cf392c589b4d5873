//! Statements that are planned when they are reached: EXECUTE, and what changes more than rows.
//!
//! Relies on: `lower`; who runs the routine to plan such a statement, and to have the routine made anew when that has changed
//! the schema or given a record fields ([`PlanContext::dynamic`]).  Promises: a landmark has the same number whenever the
//! routine is made, and knows where every variable is.  Does not: look into the text.
//!
//! [`PlanContext::dynamic`]: crate::planner::PlanContext::dynamic

use super::Lowering;
use crate::names::inner;
use crate::parse::{self, Parsed};
use crate::planner::Planner;
use crate::plpgsql::{DynamicSql, IntoClause, RowTarget, Statement};
use crate::routine::any_node;
use crate::select::plan_query;
use crate::variables::{Conflict, Shape};
use pg_query::protobuf::ObjectType;
use pg_query::{NodeEnum, NodeRef};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::Expr;
use quintet_ir::dynamic::{Dynamic, DynamicRows, Landmark, Live};
use quintet_ir::routine::{Action, Output, Step};
use quintet_ir::statement::OutputColumn;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

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
        if sql.calls {
            // Unlike EXECUTE it says that there was a row.
            self.set(self.found, Expr::Const(Value::Bool(true), SqlType::Bool));
        }
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
            let (text, arguments) = self.with_arguments(sql.text.text.trim())?;
            return Ok((Expr::Const(Value::text(&text), SqlType::Text), arguments));
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

    /// A statement as it stands, with parameters in place of the variables in the query of CREATE TABLE AS, and in calls of what
    /// the session does; no other one that comes here has a query in which PostgreSQL puts them.
    fn with_arguments(&mut self, text: &str) -> SqlResult<(String, Vec<Expr>)> {
        let plain = || Ok((text.to_string(), Vec::new()));
        let parsed = parse::parse(text).ok().and_then(|mut parsed| parsed.pop());
        let statement = match parsed.and_then(Parsed::into_node) {
            Some(NodeEnum::CreateTableAsStmt(statement)) => statement,
            // It has no tables whose columns names might be.
            Some(query @ NodeEnum::SelectStmt(_)) => {
                let places = names_in(&query, text);
                return Ok(self.with_parameters(text, places));
            }
            _ => return plain(),
        };
        // Which names are columns is known when the tables are there.
        let columns_first = self.at.variables.conflict == Conflict::Column;
        if statement.objtype() != ObjectType::ObjectTable || columns_first {
            return plain();
        }
        let Some(query @ NodeEnum::SelectStmt(select)) = statement.query.as_deref().and_then(inner)
        else {
            return plain();
        };
        let places = names_in(query, text);
        if places.is_empty() {
            return plain();
        }
        // A name that is a variable and a column is refused, as far as the tables are there.
        let planner = Planner::inside(self.at.context, text, &self.at.variables);
        if let Err(error) = plan_query(&planner, select, None)
            && error.state == SqlState::AMBIGUOUS_COLUMN
        {
            return Err(error);
        }
        Ok(self.with_parameters(text, places))
    }

    /// A text with parameters in these places, as far as what stands there is a variable.
    fn with_parameters(&mut self, text: &str, places: Vec<Range<usize>>) -> (String, Vec<Expr>) {
        let mut arguments = Vec::new();
        let mut numbers: BTreeMap<&str, Option<usize>> = BTreeMap::new();
        let mut written = String::new();
        let mut done = 0;
        for place in places {
            let name = &text[place.clone()];
            let number = match numbers.get(name) {
                Some(number) => *number,
                // What is no variable is a column.
                None => match self.at.expression(name) {
                    Ok(value) => {
                        arguments.push(value);
                        Some(arguments.len())
                    }
                    Err(_) => None,
                },
            };
            numbers.insert(name, number);
            if let Some(number) = number {
                written.push_str(&text[done..place.start]);
                written.push_str(&format!("${number}"));
                done = place.end;
            }
        }
        written.push_str(&text[done..]);
        (written, arguments)
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
            fixed: sql.fixed && !sql.calls,
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
                Shape::Unassigned | Shape::Doubtful => {}
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

/// Where names stand in a query that are columns or variables, and parameters of the routine, in their order.
fn names_in(query: &NodeEnum, text: &str) -> Vec<Range<usize>> {
    let found = RefCell::new(BTreeSet::new());
    any_node(query, &|node| {
        let (location, parts) = match node {
            NodeRef::ColumnRef(column) => {
                let names = column.fields.iter().filter_map(inner);
                let names = names.filter(|name| matches!(name, NodeEnum::String(_)));
                (column.location, names.count())
            }
            NodeRef::ParamRef(param) => (param.location, 0),
            _ => return false,
        };
        if let Ok(start) = usize::try_from(location) {
            let end = start + name_length(text.get(start..).unwrap_or_default(), parts);
            found.borrow_mut().insert((start, end));
        }
        false
    });
    let found = found.into_inner().into_iter();
    found.map(|(start, end)| start..end).collect()
}

/// How long a name of so many parts is that a text begins with; of none: a parameter's number.
fn name_length(text: &str, parts: usize) -> usize {
    let is_part =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80;
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut end = 0;
    for _ in 0..parts.max(1) {
        while bytes
            .get(at)
            .is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'.')
        {
            at += 1;
        }
        if bytes.get(at) == Some(&b'"') {
            at += 1;
            // Two quotes are one of the name.
            while let Some(byte) = bytes.get(at) {
                at += 1;
                if *byte == b'"' {
                    match bytes.get(at) {
                        Some(b'"') => at += 1,
                        _ => break,
                    }
                }
            }
        } else {
            while bytes.get(at).is_some_and(|byte| is_part(*byte)) {
                at += 1;
            }
        }
        end = at;
    }
    end
}
