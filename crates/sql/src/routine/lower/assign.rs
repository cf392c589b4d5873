//! Where values go: assignments, INTO, results.
//!
//! Relies on: `lower`.  Promises: a value is converted to its variable's type; a row is taken apart field by
//! field.  Does not: let a record change its fields where the order of the text does not tell which it has.

use super::super::call::names_any;
use super::super::embed::Planned;
use super::{Lowering, row_of_parameters};
use crate::expr::{and, pairs_have_one_subscript};
use crate::plpgsql::{self, Diagnostic, RowTarget, SqlText, Target};
use crate::row_value;
use crate::update::{with_element, with_slice};
use crate::variables::{Shape, doubtful, field};
use quintet_base::array::{DIMENSIONS_MAX, too_many_dimensions};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::function::geometry;
use quintet_ir::plan::Plan;
use quintet_ir::routine::{self, Action, Into, Output};
use quintet_ir::statement::OutputColumn;
use quintet_ir::{Expr, Statement};

fn is_null(text: &SqlText) -> bool {
    text.text.trim().eq_ignore_ascii_case("null")
}

/// Neither a variable nor ROW(…).
fn is_computed(text: &str) -> bool {
    let word = text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .next();
    let word = word.unwrap_or_default();
    !(text.starts_with('(') || word.eq_ignore_ascii_case("row") || word == text)
}

impl Lowering<'_, '_, '_> {
    /// `target := value`.
    pub(super) fn assign(&mut self, target: &Target, value: &SqlText) -> SqlResult<()> {
        if target.field.is_none() && target.subscripts.is_empty() {
            match self.at.variables.shape(target.variable.0) {
                Shape::Scalar(_) => {}
                _ => return self.assign_row(target, value),
            }
        }
        let slot = self.slot(target)?;
        self.assigned[target.variable.0] = true;
        let (ty, modifier) = self.slot_type(slot);
        if target.subscripts.is_empty() {
            let value = self.at.typed(&value.text, ty, modifier)?;
            self.at.add(Action::Assign { slot, value });
            return Ok(());
        }
        let is_slice = target.subscripts.iter().any(|part| part.is_slice);
        if ty == SqlType::Jsonb {
            if is_slice {
                return Err(SqlError::new(
                    SqlState::DATATYPE_MISMATCH,
                    "jsonb subscript does not support slices",
                ));
            }
            let steps = target
                .subscripts
                .iter()
                .filter_map(|part| part.upper.as_ref());
            let steps: Vec<&str> = steps.map(|step| step.text.as_str()).collect();
            let name = &self.tree.body.variables[target.variable.0].name;
            let value = self.at.json_part(slot, &steps, &value.text, name)?;
            self.at.add(Action::Assign { slot, value });
            return Ok(());
        }
        if ty == SqlType::Hstore {
            let one = match target.subscripts.as_slice() {
                [only] if !is_slice => only.upper.as_ref(),
                _ => None,
            };
            let key = one.ok_or_else(pairs_have_one_subscript)?;
            let key = self.at.typed(&key.text, SqlType::Text, TypeMod::NONE)?;
            let text = self.at.typed(&value.text, SqlType::Text, TypeMod::NONE)?;
            let whole = Expr::Param(slot, ty);
            let value = self.at.apply("[hstore]:=", vec![whole, key, text])?;
            self.at.add(Action::Assign { slot, value });
            return Ok(());
        }
        if let Some(part) = ty.part() {
            let one = match target.subscripts.as_slice() {
                [only] if !is_slice => only.upper.as_ref(),
                _ => None,
            };
            let place = one.ok_or_else(|| {
                SqlError::unsupported("assigning to more than one part of a figure")
            })?;
            let place = self.at.typed(&place.text, SqlType::Int4, TypeMod::NONE)?;
            let value = self.at.typed(&value.text, part, TypeMod::NONE)?;
            let whole = Expr::Param(slot, ty);
            let changed = vec![whole.clone(), place, value];
            let changed = self.at.apply(geometry::WITH_PART, changed)?;
            let value = Expr::Coalesce {
                args: vec![changed, whole],
                ty,
            };
            self.at.add(Action::Assign { slot, value });
            return Ok(());
        }
        let Some(element) = ty.element() else {
            return Err(SqlError::new(
                SqlState::DATATYPE_MISMATCH,
                format!("cannot subscript type {ty} because it does not support subscripting"),
            ));
        };
        if target.subscripts.len() > DIMENSIONS_MAX {
            return Err(too_many_dimensions(target.subscripts.len()));
        }
        let mut parts = Vec::with_capacity(target.subscripts.len());
        for part in &target.subscripts {
            let mut bound = |text: &Option<SqlText>| {
                let text = text.as_ref();
                text.map(|text| self.at.typed(&text.text, SqlType::Int4, TypeMod::NONE))
                    .transpose()
            };
            let (lower, upper) = (bound(&part.lower)?, bound(&part.upper)?);
            // Beside a slice an index is a slice from 1.
            let one = || Expr::Const(Value::Int4(1), SqlType::Int4);
            let lower = lower.or_else(|| (!part.is_slice).then(one));
            parts.push((lower, upper));
        }
        let of = if is_slice { ty } else { element };
        let value = self.at.typed(&value.text, of, modifier)?;
        if let ([(_, Some(_))], false) = (parts.as_slice(), is_slice)
            && let Some((_, Some(index))) = parts.pop()
        {
            self.at.add(Action::AssignElement { slot, index, value });
            return Ok(());
        }
        let whole = Expr::Param(slot, ty);
        let (name, arguments) = match is_slice {
            true => with_slice(whole, parts, value),
            false => with_element(whole, parts, value, element),
        };
        let name = if is_slice { name } else { "[,]:=" };
        let value = self.at.apply(name, arguments)?;
        self.at.add(Action::Assign { slot, value });
        Ok(())
    }

    /// `row := row`: field by field, in the order of the fields; a declared row's that gets none is NULL.
    pub(super) fn assign_row(&mut self, target: &Target, value: &SqlText) -> SqlResult<()> {
        let fields = match self.at.row(&value.text)? {
            Some(fields) => fields,
            None if is_null(value) => Vec::new(),
            None => return Err(SqlError::unsupported("this value for a row variable")),
        };
        let (columns, values): (Vec<OutputColumn>, Vec<Expr>) = fields.into_iter().unzip();
        if columns.is_empty() && self.is_record(target.variable.0) {
            self.forget_row(target.variable.0);
            return Ok(());
        }
        let to = self.row_slots(target.variable.0, &columns)?;
        // A row of NULLs is shown as NULL then.
        self.assigned[target.variable.0] = !columns.is_empty();
        let of_trigger = ["new", "old"].iter().any(|name| {
            let variables = &self.at.variables;
            variables.absence(name).is_some() && variables.number(name) == Some(target.variable.0)
        });
        if of_trigger && (columns.is_empty() || !self.at.variables.emptied.is_empty()) {
            self.empty(target.variable.0, columns.is_empty());
        }
        let overwritten = |value: &Expr| values.len() > 1 && names_any(value, &to);
        if values.iter().any(overwritten) {
            return self.assign_at_once(to, values);
        }
        let mut values = values.into_iter();
        for slot in to {
            let (ty, modifier) = self.slot_type(slot);
            let value = values.next().unwrap_or(Expr::Const(Value::Null, ty));
            let value = self.at.converted(value, ty, modifier)?;
            self.at.add(Action::Assign { slot, value });
        }
        Ok(())
    }

    /// A record is NULL from here on. It has no fields then; where it may be another statement that is reached next, those that
    /// it had are NULL.
    fn forget_row(&mut self, number: usize) {
        self.assigned[number] = false;
        if let Shape::Row(fields) = self.at.variables.shape(number).clone() {
            for (_, slot) in fields {
                let value = Expr::null(self.slot_type(slot).0);
                self.at.add(Action::Assign { slot, value });
            }
        }
        if self.regions.len() == 1 {
            self.at.variables.reshape(number, Shape::Unassigned);
        }
    }

    /// Notes that NEW or OLD is NULL from here on, or a row again.
    fn empty(&mut self, number: usize, is_empty: bool) {
        let known = self.at.variables.emptied.get(&number).copied();
        let slot = known.unwrap_or_else(|| self.at.variables.hidden(SqlType::Bool));
        self.at.variables.emptied.insert(number, slot);
        self.at.add(Action::Assign {
            slot,
            value: Expr::Const(Value::Bool(is_empty), SqlType::Bool),
        });
    }

    /// Values of which some are made of what they are assigned to.
    fn assign_at_once(&mut self, to: Vec<usize>, values: Vec<Expr>) -> SqlResult<()> {
        let types: Vec<SqlType> = values.iter().map(Expr::ty).collect();
        let mut targets = Vec::with_capacity(to.len());
        for (number, slot) in to.into_iter().enumerate() {
            let (ty, modifier) = self.slot_type(slot);
            let value = match types.get(number) {
                Some(from) => Expr::Column(number, *from),
                None => Expr::Const(Value::Null, ty),
            };
            targets.push((slot, self.at.converted(value, ty, modifier)?));
        }
        self.at.add(Action::Run {
            statement: Statement::Query(Plan::Values {
                rows: vec![values],
                types,
            }),
            into: Into {
                targets,
                strict: false,
                silent: true,
            },
        });
        Ok(())
    }

    /// Whether a variable is a record, whose fields are those of what it was last assigned.
    pub(super) fn is_record(&self, number: usize) -> bool {
        matches!(
            &self.tree.body.variables[number].kind,
            plpgsql::VariableKind::Declared(plpgsql::DataType::Record)
        )
    }

    /// The slot of a variable or a field.
    pub(super) fn slot(&self, target: &Target) -> SqlResult<usize> {
        let variable = &self.tree.body.variables[target.variable.0];
        let shape = self.at.variables.shape(target.variable.0);
        match (&target.field, shape) {
            (None, Shape::Scalar(slot)) => Ok(*slot),
            (None, _) => Err(SqlError::unsupported("a row variable as one value")),
            (Some(name), shape) => field(shape, &variable.name, name),
        }
    }

    pub(super) fn slot_type(&self, slot: usize) -> (SqlType, TypeMod) {
        let variables = &self.at.variables;
        (variables.slots[slot].ty, variables.modifiers[slot])
    }

    /// The slots of a row variable that takes a row of these columns. A record has these fields from here
    /// on.
    pub(super) fn row_slots(
        &mut self,
        number: usize,
        columns: &[OutputColumn],
    ) -> SqlResult<Vec<usize>> {
        self.assigned[number] = true;
        let variable = &self.tree.body.variables[number];
        let is_record = self.is_record(number);
        if let Shape::Row(fields) = self.at.variables.shape(number) {
            let same = fields.len() == columns.len()
                && fields.iter().zip(columns).all(|((name, slot), column)| {
                    *name == column.name && self.at.variables.slots[*slot].ty == column.ty
                });
            if same || !is_record {
                return Ok(fields.iter().map(|(_, slot)| *slot).collect());
            }
        }
        let name = variable.name.clone();
        self.doubt_behind(number)?;
        let fields = self.fields(&name, columns);
        let slots = fields.iter().map(|(_, slot)| *slot).collect();
        self.at.variables.reshape(number, Shape::Row(fields));
        let region = self.regions.last().copied().unwrap_or_default();
        let before = self.shaped_in[number].replace(region);
        // What it got beside this branch it may still have when the branch is over.
        let beside = |before: &usize| *before < region && !self.regions.contains(before);
        if before.as_ref().is_some_and(beside) {
            self.doubtful_behind.insert((region, number));
        }
        Ok(slots)
    }

    /// A record gets other fields than it has here: behind the branches and loops that have begun since it got those it may have either,
    /// and in the loops from their beginning on.
    fn doubt_behind(&mut self, number: usize) -> SqlResult<()> {
        let is_known = match self.at.variables.shape(number) {
            Shape::Row(_) => true,
            Shape::Doubtful => false,
            Shape::Unassigned | Shape::Scalar(_) => return Ok(()),
        };
        let since = self.shaped_in[number].unwrap_or_default();
        let entered = self
            .regions
            .iter()
            .copied()
            .filter(|region| *region > since);
        let entered: Vec<usize> = entered.collect();
        if is_known && let Some(turning) = entered.iter().find(|it| self.loops.contains(it)) {
            self.new_doubt = Some((*turning, number));
            let name = &self.tree.body.variables[number].name;
            return Err(doubtful(name));
        }
        self.doubtful_behind
            .extend(entered.into_iter().map(|region| (region, number)));
        Ok(())
    }

    /// Slots with their values over a row of these columns.
    pub(super) fn row_targets(
        &mut self,
        target: &RowTarget,
        columns: &[OutputColumn],
    ) -> SqlResult<Vec<(usize, Expr)>> {
        let slots = match target {
            RowTarget::Record(number) => match self.at.variables.shape(number.0) {
                Shape::Scalar(slot) => vec![*slot],
                _ => self.row_slots(number.0, columns)?,
            },
            RowTarget::List(targets) => {
                let slots = targets.iter().map(|target| self.slot(target));
                slots.collect::<SqlResult<Vec<usize>>>()?
            }
        };
        let mut into = Vec::with_capacity(slots.len());
        for (number, slot) in slots.into_iter().enumerate() {
            let (ty, modifier) = self.slot_type(slot);
            let value = match columns.get(number) {
                Some(column) => Expr::Column(number, column.ty),
                None => Expr::Const(Value::Null, ty),
            };
            into.push((slot, self.at.converted(value, ty, modifier)?));
        }
        Ok(into)
    }

    /// A statement of SQL.
    pub(super) fn sql(
        &mut self,
        text: &SqlText,
        into: Option<&plpgsql::IntoClause>,
    ) -> SqlResult<()> {
        let Planned {
            statement, columns, ..
        } = self.statement_at(&text.text)?;
        let into = match into {
            Some(into) => {
                if columns.is_empty() {
                    let message = "INTO used with a command that cannot return data";
                    return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
                }
                Into {
                    targets: self.row_targets(&into.target, &columns)?,
                    strict: into.strict,
                    silent: false,
                }
            }
            None if !columns.is_empty() => {
                let error = SqlError::new(
                    SqlState::SYNTAX_ERROR,
                    "query has no destination for result data",
                );
                let hint = "If you want to discard the results of a SELECT, use PERFORM instead.";
                let error = match statement.is_write() {
                    true => error,
                    false => error.hint(hint),
                };
                // It is run, and refused when there is a result: who never comes here is not refused.
                self.at.add(Action::Run {
                    statement,
                    into: Into::default(),
                });
                self.at.add(Action::Fail(Box::new(error)));
                return Ok(());
            }
            None => Into::default(),
        };
        self.at.add(Action::Run { statement, into });
        Ok(())
    }

    /// PERFORM.
    pub(super) fn perform(&mut self, query: &SqlText) -> SqlResult<()> {
        let Planned { statement, .. } = self.at.statement(&query.text)?;
        self.at.add(Action::Run {
            statement,
            into: Into::default(),
        });
        Ok(())
    }

    /// GET DIAGNOSTICS.
    pub(super) fn diagnostics(
        &mut self,
        stacked: bool,
        items: &[(Target, Diagnostic)],
    ) -> SqlResult<()> {
        for (target, item) in items {
            let slot = self.slot(target)?;
            let (ty, modifier) = self.slot_type(slot);
            let item = match item {
                Diagnostic::RowCount => None,
                Diagnostic::ReturnedSqlState => Some(routine::Diagnostic::State),
                Diagnostic::MessageText => Some(routine::Diagnostic::Message),
                Diagnostic::ExceptionDetail => Some(routine::Diagnostic::Detail),
                Diagnostic::ExceptionHint => Some(routine::Diagnostic::Hint),
                Diagnostic::ExceptionContext => Some(routine::Diagnostic::Context),
                Diagnostic::ColumnName => Some(routine::Diagnostic::Column),
                Diagnostic::ConstraintName => Some(routine::Diagnostic::Constraint),
                Diagnostic::DataTypeName => Some(routine::Diagnostic::DataType),
                Diagnostic::TableName => Some(routine::Diagnostic::Table),
                Diagnostic::SchemaName => Some(routine::Diagnostic::Schema),
                Diagnostic::Context if stacked => Some(routine::Diagnostic::Context),
                Diagnostic::Context => {
                    return Err(SqlError::unsupported("GET DIAGNOSTICS … PG_CONTEXT"));
                }
            };
            let from = match item {
                None => SqlType::Int8,
                Some(_) => SqlType::Text,
            };
            let action = |slot| match item {
                None => Action::RowCount { slot },
                Some(item) => Action::Diagnose { slot, item },
            };
            if ty == from {
                self.at.add(action(slot));
                continue;
            }
            let between = self.at.variables.hidden(from);
            self.at.add(action(between));
            let value = Expr::Param(between, from);
            let value = self.at.converted(value, ty, modifier)?;
            self.at.add(Action::Assign { slot, value });
        }
        Ok(())
    }

    /// What RAISE shows of a row, if a text is one: of a variable NULL until something was assigned to it.
    pub(super) fn row_as_text(&mut self, text: &str) -> SqlResult<Option<Expr>> {
        let of_trigger = text.trim().to_ascii_lowercase();
        if self.at.variables.absence(&of_trigger).is_some() {
            let shown = format!("{of_trigger}::text");
            return self
                .at
                .typed(&shown, SqlType::Text, TypeMod::NONE)
                .map(Some);
        }
        let Some(number) = self.at.variables.number(text.trim()) else {
            let Some(row) = self.at.row(text)? else {
                return Ok(None);
            };
            let fields = row.into_iter().map(|(_, value)| value);
            return self.at.apply("()", fields.collect()).map(Some);
        };
        let slots = match self.at.variables.shape(number) {
            Shape::Scalar(_) => return Ok(None),
            Shape::Unassigned => return Ok(Some(Expr::Const(Value::Null, SqlType::Text))),
            Shape::Doubtful => return Err(doubtful(text.trim())),
            Shape::Row(fields) => fields.iter().map(|(_, slot)| *slot),
        };
        let fields = slots.map(|slot| Expr::Param(slot, self.slot_type(slot).0));
        let name = match self.assigned[number] {
            true => "()",
            false => "()?",
        };
        self.at.apply(name, fields.collect()).map(Some)
    }

    /// A row as the result's.
    fn returned(&mut self, fields: Vec<(OutputColumn, Expr)>) -> SqlResult<Vec<Expr>> {
        let signature = self.signature;
        let mismatch = |detail: String| {
            let message = "returned record type does not match expected record type";
            SqlError::new(SqlState::DATATYPE_MISMATCH, message).detail(detail)
        };
        if signature.is_open() {
            // Nobody has said yet which columns he wants.
            return Ok(fields.into_iter().map(|(_, value)| value).collect());
        }
        if fields.len() != signature.columns.len() {
            return Err(mismatch(format!(
                "Number of returned columns ({}) does not match expected column count ({}).",
                fields.len(),
                signature.columns.len()
            )));
        }
        let mut row = Vec::with_capacity(fields.len());
        for (number, ((from, value), to)) in fields.into_iter().zip(&signature.columns).enumerate()
        {
            if signature.record && from.ty != to.ty {
                return Err(mismatch(format!(
                    "Returned type {} does not match expected type {} in column {}.",
                    from.ty,
                    to.ty,
                    number + 1
                )));
            }
            row.push(self.at.converted(value, to.ty, to.modifier)?);
        }
        Ok(row)
    }

    /// RETURN.
    pub(super) fn returns(&mut self, value: Option<&SqlText>) -> SqlResult<()> {
        let signature = self.signature;
        if signature.trigger {
            return self.returns_of_trigger(value);
        }
        let row = match (signature.output, value) {
            (Output::Nothing, None) | (Output::Rows, None) => Vec::new(),
            // A void function may return what a void function returns.
            (Output::Nothing, Some(value)) if !signature.procedure => {
                let text = value.text.trim();
                if !text.eq_ignore_ascii_case("null") {
                    let value = self.at.expression(text)?;
                    let slot = self.at.variables.hidden(value.ty());
                    self.at.add(Action::Assign { slot, value });
                }
                Vec::new()
            }
            (Output::Row, None) if signature.of_parameters => {
                row_of_parameters(signature, self.at.context.catalog)?
            }
            (Output::Row, None) => {
                let message = "missing expression at or near \";\"";
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
            }
            (Output::Row, value) if !signature.of_parameters => self.result_row(value, "RETURN")?,
            (_, Some(_)) => {
                let message = match (signature.procedure, signature.output) {
                    (true, _) => "RETURN cannot have a parameter in a procedure",
                    (_, Output::Rows) => "RETURN cannot have a parameter in function returning set",
                    _ => "RETURN cannot have a parameter in function with OUT parameters",
                };
                return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
            }
        };
        self.close_around()?;
        let types = row.iter().map(Expr::ty).collect();
        self.give(types, Action::Return(row));
        Ok(())
    }

    /// RETURN of a trigger's function: whether there is a row, and the row.
    fn returns_of_trigger(&mut self, value: Option<&SqlText>) -> SqlResult<()> {
        let Some(value) = value else {
            let message = "missing expression at or near \";\"";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        };
        let text = value.text.trim();
        let columns = &self.signature.columns[1..];
        let mut row = Vec::with_capacity(columns.len() + 1);
        if is_null(value) {
            row.push(Expr::Const(Value::Bool(false), SqlType::Bool));
            row.extend(columns.iter().map(|column| Expr::null(column.ty)));
            self.at.add(Action::Return(row));
            return Ok(());
        }
        let Some(fields) = self.at.row(&value.text)? else {
            let message =
                "cannot return non-composite value from function returning composite type";
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
        };
        if fields.len() != columns.len() {
            let message =
                "returned row structure does not match the structure of the triggering table";
            return Err(
                SqlError::new(SqlState::DATATYPE_MISMATCH, message).detail(format!(
                    "Number of returned columns ({}) does not match expected column count ({}).",
                    fields.len(),
                    columns.len()
                )),
            );
        }
        // There is no new row where one is removed, and no old one where one is added.
        let is_there = |number: usize| {
            let slot = self.at.variables.emptied.get(&number)?;
            Some(Expr::Distinct {
                left: Box::new(Expr::Param(*slot, SqlType::Bool)),
                right: Box::new(Expr::Const(Value::Bool(true), SqlType::Bool)),
                negated: false,
            })
        };
        let (new, old) = (is_there(0), is_there(1));
        row.push(
            if let (true, Some(there)) = (text.eq_ignore_ascii_case("new"), &new) {
                there.clone()
            } else if let (true, Some(there)) = (text.eq_ignore_ascii_case("old"), &old) {
                there.clone()
            } else if text.eq_ignore_ascii_case("new") {
                self.at
                    .expression("TG_LEVEL = 'ROW' AND TG_OP <> 'DELETE'")?
            } else if text.eq_ignore_ascii_case("old") {
                self.at
                    .expression("TG_LEVEL = 'ROW' AND TG_OP <> 'INSERT'")?
            } else if is_computed(text) {
                // It may be NULL, and then there is none.
                let nulls = fields.iter().map(|(_, value)| row_value::is_null(value));
                Expr::Not(Box::new(and(nulls.collect())))
            } else {
                Expr::Const(Value::Bool(true), SqlType::Bool)
            },
        );
        for ((_, value), column) in fields.into_iter().zip(columns) {
            row.push(self.at.converted(value, column.ty, column.modifier)?);
        }
        self.at.add(Action::Return(row));
        Ok(())
    }

    /// The row of the result that RETURN or RETURN NEXT gives.
    pub(super) fn result_row(
        &mut self,
        value: Option<&SqlText>,
        what: &str,
    ) -> SqlResult<Vec<Expr>> {
        let signature = self.signature;
        if what == "RETURN NEXT" && signature.output != Output::Rows {
            let message = "cannot use RETURN NEXT in a non-SETOF function";
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
        }
        let Some(text) = value else {
            if signature.of_parameters {
                return row_of_parameters(signature, self.at.context.catalog);
            }
            let message = format!("{what} must have a parameter");
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        };
        if signature.of_parameters {
            let message = format!("{what} cannot have a parameter in function with OUT parameters");
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
        }
        if let Some(fields) = self.at.row(&text.text)? {
            return self.returned(fields);
        }
        if signature.is_row && is_null(text) {
            let columns = signature.columns.iter();
            return Ok(columns
                .map(|column| Expr::Const(Value::Null, column.ty))
                .collect());
        }
        let [column] = signature.columns.as_slice() else {
            return Err(SqlError::unsupported(format!("{what} of this as a row")));
        };
        let value = self.at.typed(&text.text, column.ty, column.modifier)?;
        Ok(vec![value])
    }
}
