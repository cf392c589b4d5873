//! Branches and loops.
//!
//! Relies on: `lower`.  Promises: what a condition needs is made where the condition is evaluated, no
//! earlier.  Does not: unroll, or drop what cannot be reached.

use super::super::call::arguments_first;
use super::super::embed::Planned;
use super::super::matching::matched;
use super::{Leavable, Lowering};
use crate::composite;
use crate::expr::{Binder, or};
use crate::names::{inner, required};
use crate::parse;
use crate::planner::Planner;
use crate::plpgsql::{Branch, RowTarget, SqlText, Statement, StatementKind, Target};
use crate::scope::Scope;
use crate::variables::Shape;
use pg_query::NodeEnum;
use pg_query::protobuf::FuncCall;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::routine::{Action, Into, Raise, RaiseOption, RaiseState, Severity, Slot, Step};
use quintet_ir::statement::OutputColumn;
use quintet_ir::{CompareOp, Expr};
use std::collections::BTreeSet;

/// What records were where branches begin, and which of them may have other fields behind them.
struct Fork {
    before: Vec<(usize, Shape)>,
    doubtful: BTreeSet<usize>,
}

impl Lowering<'_, '_, '_> {
    /// IF, ELSIF, ELSE.
    pub(super) fn branches(
        &mut self,
        branches: &[Branch],
        otherwise: &[Statement],
    ) -> SqlResult<()> {
        self.chain(branches, otherwise, &mut |this, branch| {
            this.at.condition(&branch.condition.text)
        })
    }

    /// Branches in order; what the condition of a later one needs stands behind the earlier ones.
    fn chain(
        &mut self,
        branches: &[Branch],
        otherwise: &[Statement],
        condition: &mut dyn FnMut(&mut Self, &Branch) -> SqlResult<Expr>,
    ) -> SqlResult<()> {
        let mut made = Vec::new();
        let mut rest = branches;
        let mut fork = self.fork();
        while let Some((first, later)) = rest.split_first() {
            let line = self.at.line;
            let before = std::mem::take(&mut self.at.steps);
            let bound = condition(self, first).or_else(|error| {
                self.instead(0, error)?;
                Ok(Expr::Const(Value::Bool(false), SqlType::Bool))
            });
            let needed = std::mem::replace(&mut self.at.steps, before);
            let bound = bound?;
            if !needed.is_empty() && !made.is_empty() {
                // It stands in the ELSE of those before it.
                let before = std::mem::replace(&mut self.at.steps, needed);
                let body = self.branch(&mut fork, &first.statements)?;
                let nested = self.chain_from(bound, body, later, otherwise, condition);
                let otherwise = std::mem::replace(&mut self.at.steps, before);
                nested?;
                self.join(fork);
                self.at.line = line;
                self.at.add(Action::If {
                    branches: made,
                    otherwise,
                });
                return Ok(());
            }
            self.at.steps.extend(needed);
            let body = self.branch(&mut fork, &first.statements)?;
            made.push((bound, body));
            rest = later;
        }
        let otherwise = self.branch(&mut fork, otherwise)?;
        self.join(fork);
        self.at.add(Action::If {
            branches: made,
            otherwise,
        });
        Ok(())
    }

    /// Branches of which one is taken begin.
    fn fork(&self) -> Fork {
        let records = (0..self.shaped_in.len()).filter(|number| self.is_record(*number));
        let known = |number| (number, self.at.variables.shape(number).clone());
        Fork {
            before: records.map(known).collect(),
            doubtful: BTreeSet::new(),
        }
    }

    /// One of them. It begins with what records were before all of them, if those before it have given them other fields.
    fn branch(&mut self, fork: &mut Fork, statements: &[Statement]) -> SqlResult<Vec<Step>> {
        let shaped_in = self.shaped_in.clone();
        let steps = self.apart(statements)?;
        for (number, before) in &fork.before {
            if *self.at.variables.shape(*number) == Shape::Doubtful && *before != Shape::Doubtful {
                fork.doubtful.insert(*number);
                self.at.variables.reshape(*number, before.clone());
                self.shaped_in[*number] = shaped_in[*number];
            }
        }
        Ok(steps)
    }

    /// They are over.
    fn join(&mut self, fork: Fork) {
        for number in fork.doubtful {
            self.at.variables.reshape(number, Shape::Doubtful);
            self.shaped_in[number] = self.regions.last().copied();
        }
    }

    /// An IF whose first branch is made already.
    fn chain_from(
        &mut self,
        bound: Expr,
        body: Vec<Step>,
        later: &[Branch],
        otherwise: &[Statement],
        condition: &mut dyn FnMut(&mut Self, &Branch) -> SqlResult<Expr>,
    ) -> SqlResult<()> {
        let before = std::mem::take(&mut self.at.steps);
        let rest = match later {
            [] => {
                let mut fork = self.fork();
                let made = self.branch(&mut fork, otherwise);
                self.join(fork);
                made.map(|steps| self.at.steps = steps)
            }
            _ => self.chain(later, otherwise, condition),
        };
        let otherwise = std::mem::replace(&mut self.at.steps, before);
        rest?;
        self.at.add(Action::If {
            branches: vec![(bound, body)],
            otherwise,
        });
        Ok(())
    }

    /// CASE.
    pub(super) fn case(
        &mut self,
        subject: Option<&SqlText>,
        arms: &[Branch],
        otherwise: Option<&[Statement]>,
    ) -> SqlResult<()> {
        let subject = match subject {
            None => None,
            Some(text) => {
                let value = self.at.expression(&text.text)?;
                let ty = match value.ty() {
                    SqlType::Unknown => SqlType::Text,
                    ty => ty,
                };
                let value = self.at.converted(value, ty, TypeMod::NONE)?;
                let slot = self.at.variables.hidden(ty);
                self.at.add(Action::Assign { slot, value });
                Some(Expr::Param(slot, ty))
            }
        };
        let before = std::mem::take(&mut self.at.steps);
        let made = self.chain(arms, otherwise.unwrap_or(&[]), &mut |this, arm| {
            let Some(subject) = &subject else {
                return this.at.condition(&arm.condition.text);
            };
            let values = this.at.list(&arm.condition.text)?;
            let planner = Planner::inside(this.at.context, "", &this.at.variables);
            let scope = Scope::empty();
            let binder = Binder::new(&planner, &scope, "CASE");
            let equal = values
                .into_iter()
                .map(|value| binder.compare(CompareOp::Eq, subject.clone(), value));
            Ok(or(equal.collect::<SqlResult<Vec<Expr>>>()?))
        });
        let mut steps = std::mem::replace(&mut self.at.steps, before);
        made?;
        if otherwise.is_none() {
            let line = self.at.line;
            let before = std::mem::take(&mut self.at.steps);
            self.case_not_found();
            let failing = std::mem::replace(&mut self.at.steps, before);
            in_last_else(&mut steps, failing);
            self.at.line = line;
        }
        self.at.steps.extend(steps);
        Ok(())
    }

    fn case_not_found(&mut self) {
        let hint = Expr::Const(
            Value::text("CASE statement is missing ELSE part."),
            SqlType::Text,
        );
        self.at.add(Action::Raise(Box::new(Raise {
            severity: Severity::Exception,
            state: RaiseState::Given(SqlState::CASE_NOT_FOUND),
            format: vec!["case not found".to_string()],
            arguments: Vec::new(),
            options: vec![(RaiseOption::Hint, hint)],
        })));
    }

    /// The body of a loop, in sight of EXIT and CONTINUE.
    pub(super) fn turns(
        &mut self,
        label: Option<&str>,
        body: &[Statement],
    ) -> SqlResult<Vec<Step>> {
        self.around.push(Leavable {
            label: label.map(str::to_string),
            is_loop: true,
        });
        self.loops.insert(self.numbered_regions + 1);
        let steps = self.apart(body);
        self.around.pop();
        steps
    }

    /// LOOP and WHILE.
    pub(super) fn repeat(
        &mut self,
        label: Option<&str>,
        condition: Option<&SqlText>,
        body: &[Statement],
    ) -> SqlResult<()> {
        let mut steps = Vec::new();
        if let Some(condition) = condition {
            // It is asked again behind the body.
            self.doubt_in(self.numbered_regions + 1);
            let line = self.at.line;
            let (goes_on, needed) = self.at.apart(|at| at.condition(&condition.text))?;
            steps = needed;
            let exit = Step {
                line,
                needs: None,
                action: Action::Exit {
                    depth: 0,
                    when: None,
                },
            };
            steps.push(Step {
                line,
                needs: None,
                action: Action::If {
                    branches: vec![(goes_on, Vec::new())],
                    otherwise: vec![exit],
                },
            });
        }
        steps.extend(self.turns(label, body)?);
        self.at.add(Action::Loop { body: steps });
        Ok(())
    }

    /// FOR over integers.
    pub(super) fn for_integer(&mut self, kind: &StatementKind) -> SqlResult<()> {
        let StatementKind::ForInteger {
            label,
            variable,
            reverse,
            lower,
            upper,
            step,
            body,
        } = kind
        else {
            return Err(SqlError::internal("no loop over integers"));
        };
        let integer = |text: &SqlText, this: &mut Self| {
            this.at.typed(&text.text, SqlType::Int4, TypeMod::NONE)
        };
        let lower = integer(lower, self)?;
        let upper = integer(upper, self)?;
        let step = match step {
            Some(step) => integer(step, self)?,
            None => Expr::Const(Value::Int4(1), SqlType::Int4),
        };
        let name = self.tree.body.variables[variable.0].name.clone();
        let slot = self.at.variables.add_slot(
            Slot {
                name: name.clone(),
                ty: SqlType::Int4,
                not_null: false,
            },
            TypeMod::NONE,
        );
        self.at.variables.enter(label.as_deref());
        self.at.variables.reshape(variable.0, Shape::Scalar(slot));
        self.at.variables.declare(&name, variable.0);
        let body = self.turns(label.as_deref(), body);
        self.at.variables.leave();
        let body = body?;
        self.at.add(Action::ForInteger {
            slot,
            lower,
            upper,
            step,
            reverse: *reverse,
            body,
        });
        Ok(())
    }

    /// FOR over rows.
    pub(super) fn for_query(
        &mut self,
        label: Option<&str>,
        target: &RowTarget,
        query: &SqlText,
        body: &[Statement],
    ) -> SqlResult<()> {
        let Planned {
            statement, columns, ..
        } = self.statement_at(&query.text)?;
        let into = self.row_targets(target, &columns)?;
        let body = self.turns_over(label, &columns, body)?;
        self.at.add(Action::ForRow {
            statement,
            into,
            body,
        });
        Ok(())
    }

    /// FOREACH.
    pub(super) fn for_each(
        &mut self,
        label: Option<&str>,
        (target, slice): (&Target, usize),
        array: &SqlText,
        body: &[Statement],
    ) -> SqlResult<()> {
        let array = self.at.expression(&array.text)?;
        let whole = array.ty();
        let Some(element) = whole.element() else {
            let message = format!(
                "FOREACH expression must yield an array, not type {}",
                array.ty()
            );
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
        };
        let shape = self.at.variables.shape(target.variable.0);
        if target.field.is_none() && slice == 0 && !matches!(shape, Shape::Scalar(_)) {
            return self.for_each_row(label, target, (array, element), body);
        }
        let slot = self.slot(target)?;
        let (ty, modifier) = self.slot_type(slot);
        let wrong = match (slice, ty.element().is_some()) {
            (0, true) => Some("FOREACH loop variable must not be of an array type"),
            (1.., false) => Some("FOREACH ... SLICE loop variable must be of an array type"),
            _ => None,
        };
        if let Some(message) = wrong {
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
        }
        let (array, element) = match slice {
            0 => (array, element),
            slice => {
                let slice = Expr::Const(Value::Int4(slice as i32), SqlType::Int4);
                (self.at.apply("[slices]", vec![array, slice])?, whole)
            }
        };
        let between = match ty == element {
            true => slot,
            false => self.at.variables.hidden(element),
        };
        let mut steps = Vec::new();
        if between != slot {
            let value = Expr::Param(between, element);
            let value = self.at.converted(value, ty, modifier)?;
            steps.push(Step {
                line: self.at.line,
                needs: None,
                action: Action::Assign { slot, value },
            });
        }
        steps.extend(self.turns(label, body)?);
        self.at.add(Action::ForElement {
            slot: between,
            array,
            body: steps,
        });
        Ok(())
    }

    /// FOREACH over rows.
    fn for_each_row(
        &mut self,
        label: Option<&str>,
        target: &Target,
        (array, element): (Expr, SqlType),
        body: &[Statement],
    ) -> SqlResult<()> {
        let between = self.at.variables.hidden(element);
        let row = Expr::Param(between, element);
        let shape = Planner::inside(self.at.context, "", &self.at.variables).shape_of(&row);
        let Some(shape) = shape else {
            return Err(SqlError::unsupported("a row variable as one value"));
        };
        let fields = shape.fields.iter().map(|field| OutputColumn {
            name: field.name.to_string(),
            ty: field.ty,
            modifier: field.modifier,
            origin: None,
        });
        let columns: Vec<OutputColumn> = fields.collect();
        let slots = self.row_slots(target.variable.0, &columns)?;
        let mut steps = Vec::new();
        for (place, slot) in slots.into_iter().enumerate() {
            let (ty, modifier) = self.slot_type(slot);
            let value = match columns.get(place) {
                Some(column) => composite::field(&row, place, column.ty)?,
                None => Expr::Const(Value::Null, ty),
            };
            let value = self.at.converted(value, ty, modifier)?;
            steps.push(Step {
                line: self.at.line,
                needs: None,
                action: Action::Assign { slot, value },
            });
        }
        steps.extend(self.turns(label, body)?);
        self.at.add(Action::ForElement {
            slot: between,
            array,
            body: steps,
        });
        Ok(())
    }

    /// EXIT and CONTINUE.
    pub(super) fn leave(
        &mut self,
        label: Option<&str>,
        condition: Option<&SqlText>,
        exit: bool,
    ) -> SqlResult<()> {
        let fits = |around: &Leavable| match label {
            None => around.is_loop,
            Some(label) => around.label.as_deref() == Some(label) && (exit || around.is_loop),
        };
        let Some(depth) = self.around.iter().rev().position(fits) else {
            let what = if exit { "EXIT" } else { "CONTINUE" };
            let message = format!("{what} cannot be used here");
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        };
        let when = match condition {
            Some(condition) => Some(self.at.condition(&condition.text)?),
            None => None,
        };
        self.at.add(match exit {
            true => Action::Exit { depth, when },
            false => Action::Continue { depth, when },
        });
        Ok(())
    }

    /// CALL: OUT and INOUT arguments are variables, which take what comes back.
    pub(super) fn call(&mut self, text: &SqlText) -> SqlResult<()> {
        let mut parsed = parse::parse(&text.text)?;
        let Some(NodeEnum::CallStmt(statement)) = parsed.pop().and_then(parse::Parsed::into_node)
        else {
            return Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                "a CALL is expected here",
            ));
        };
        let call = required(statement.funccall.as_deref())?;
        let found = {
            let planner = Planner::inside(self.at.context, &text.text, &self.at.variables);
            let scope = Scope::empty();
            planner.calls.allow();
            let found = matched(&Binder::new(&planner, &scope, "CALL arguments"), call, true)?;
            planner.calls.link(self.at.linker);
            let needs = planner.take_needs();
            self.at.keep_needs(needs);
            found
        };
        let signature = &found.signature;
        let mut targets = Vec::new();
        for (number, parameter) in signature.parameters.iter().enumerate() {
            if !parameter.mode.is_result() {
                continue;
            }
            let column = targets.len();
            let slot = self.out_target(call, number, parameter.name.as_deref())?;
            let (ty, modifier) = self.slot_type(slot);
            let value = Expr::Column(column, parameter.ty);
            targets.push((slot, self.at.converted(value, ty, modifier)?));
        }
        self.at.refuse_write("CALL");
        let routine = self.at.linker.number(signature.id);
        let mut arguments = found.arguments;
        if arguments.iter().any(Expr::calls_routine) {
            let variables = &mut self.at.variables;
            let (step, given) = arguments_first(arguments, &mut |ty| variables.hidden(ty));
            self.at.add(step);
            arguments = given;
        }
        self.at.add(Action::Call {
            routine,
            arguments,
            into: Into {
                targets,
                strict: false,
                silent: false,
            },
        });
        Ok(())
    }

    /// The variable that stands for an OUT argument.
    fn out_target(&self, call: &FuncCall, number: usize, name: Option<&str>) -> SqlResult<usize> {
        let named = call.args.iter().find_map(|node| match inner(node) {
            Some(NodeEnum::NamedArgExpr(named)) if Some(named.name.as_str()) == name => {
                named.arg.as_deref()
            }
            _ => None,
        });
        let node = named.or_else(|| call.args.get(number));
        if let Some(NodeEnum::ColumnRef(column)) = node.and_then(inner) {
            let parts = crate::names::strings(&column.fields);
            if let Some(slot) = self.at.variables.resolve(&parts)? {
                return Ok(slot);
            }
        }
        Err(SqlError::new(
            SqlState::SYNTAX_ERROR,
            format!(
                "procedure parameter \"{}\" is an output parameter but corresponding argument is not writable",
                name.unwrap_or_default()
            ),
        ))
    }
}

/// Puts steps into the innermost ELSE, which is empty.
fn in_last_else(steps: &mut [Step], failing: Vec<Step>) {
    let Some(Step {
        action: Action::If { otherwise, .. },
        ..
    }) = steps.last_mut()
    else {
        return;
    };
    match otherwise.is_empty() {
        true => *otherwise = failing,
        false => in_last_else(otherwise, failing),
    }
}
