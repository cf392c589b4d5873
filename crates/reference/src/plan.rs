//! Sources of rows.
//!
//! Relies on: `scan` for tables.  Promises: frames in the plan's order, made only as far as somebody wants
//! them, so that an expression which nobody asks for cannot fail.  Does not: look at hints (`needed`,
//! `top`), or lock anything: there is nobody else.
//!
//! A plan is walked by showing its frames one by one to `see`, which says whether it wants more. What is
//! shown is the frame that expressions look at: the outer frame, then the plan's own.

use crate::database::{Database, as_compared};
use crate::interpreter::Interpreter;
use crate::subquery::Asking;
use crate::trace::Deed;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::aggregate::{Accumulator, AggregateCall};
use quintet_ir::plan::{JoinKind, LockTarget, SortKey, Turns};
use quintet_ir::{Expr, Plan, eval, eval_predicate};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A statement that is running.
pub(crate) struct Run<'r> {
    pub interpreter: Interpreter<'r>,
    pub params: &'r [Value],
    /// The tables as it found them.
    pub before: Database,
    /// They are older than the statement, which is a part of another one.
    pub is_part: bool,
    /// What WITH keeps, by number.
    pub given: RefCell<BTreeMap<usize, Vec<Vec<Value>>>>,
    /// What is handed to the query in an expression, or the lateral plan, at hand.
    pub handed: Vec<Value>,
}

/// Whether more frames are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    More,
    Enough,
}

/// Who is shown frames.
pub(crate) type See<'s> = &'s mut dyn FnMut(&[Value]) -> SqlResult<Wish>;

impl Run<'_> {
    /// Shows the frames of a plan, each behind the outer frame.
    pub fn frames(&self, plan: &Plan, outer: &[Value], see: See<'_>) -> SqlResult<Wish> {
        match plan {
            Plan::Values { rows, .. } => {
                self.each(rows, |row| see(&behind(outer, self.values(row, outer)?)))
            }
            Plan::Scan(access) => self.scan(access, outer, see),
            Plan::Series {
                start,
                stop,
                step,
                ty,
            } => {
                let bounds = [start, stop, step].map(|bound| self.eval(bound, outer));
                let [start, stop, step] = bounds;
                let values = series(&start?, &stop?, &step?, *ty)?;
                self.each(values, |value| see(&behind(outer, [value])))
            }
            Plan::Unnest { array } => match self.eval(array, outer)? {
                Value::Array(array) => {
                    self.each(array.values, |value| see(&behind(outer, [value])))
                }
                _ => Ok(Wish::More),
            },
            Plan::Call {
                callee,
                arguments,
                types,
            } => {
                let arguments = self.values(arguments, outer)?;
                let rows = self.interpreter.call_named(callee, arguments)?;
                self.each(rows, |mut row| {
                    // Strict, and called with a NULL: a row of NULLs.
                    row.resize(types.len(), Value::Null);
                    see(&behind(outer, row))
                })
            }
            Plan::Lateral {
                input,
                outer: handed,
            } => {
                let inside = self.handing(self.values(handed, outer)?);
                inside.frames(input, &[], &mut |own| see(&behind(outer, own.to_vec())))
            }
            Plan::Lookup {
                input,
                keys,
                values,
            } => {
                let wanted = self.values(values, outer)?;
                if wanted.iter().any(Value::is_null) {
                    return Ok(Wish::More);
                }
                self.frames(input, &[], &mut |own| {
                    let found = self.values(keys, own)?;
                    let mut pairs = found.iter().zip(&wanted).zip(keys);
                    let equal = pairs.all(|((a, b), key)| {
                        let (a, b) = (a.clone(), b.clone());
                        let ty = key.ty();
                        !a.is_null() && as_compared(a, ty).order(&as_compared(b, ty)).is_eq()
                    });
                    match equal {
                        true => see(&behind(outer, own.to_vec())),
                        false => Ok(Wish::More),
                    }
                })
            }
            Plan::Hold { input } => {
                let frames = self.all(input, outer)?;
                self.each(frames, |frame| see(&frame))
            }
            Plan::Join {
                outer: left,
                inner,
                outer_width,
                inner_width,
                kind: JoinKind::Full,
                on,
            } => {
                // Looked at from nothing: the inner side sees no outer row.
                let nothing = behind(outer, vec![Value::Null; *outer_width]);
                let rows = self.all(inner, &nothing)?;
                let mut matched = vec![false; rows.len()];
                let wish = self.frames(left, outer, &mut |left| {
                    let mut alone = true;
                    for (row, matched) in rows.iter().zip(&mut matched) {
                        let joined = behind(left, row[nothing.len()..].to_vec());
                        if !self.passes(on.as_ref(), &joined)? {
                            continue;
                        }
                        (alone, *matched) = (false, true);
                        if see(&joined)? == Wish::Enough {
                            return Ok(Wish::Enough);
                        }
                    }
                    match alone {
                        true => see(&behind(left, vec![Value::Null; *inner_width])),
                        false => Ok(Wish::More),
                    }
                })?;
                if wish == Wish::Enough {
                    return Ok(wish);
                }
                let alone = rows
                    .into_iter()
                    .zip(matched)
                    .filter(|(_, matched)| !matched);
                self.each(alone, |(row, _)| see(&row))
            }
            Plan::Join {
                outer: left,
                inner,
                inner_width,
                kind,
                on,
                ..
            } => self.frames(left, outer, &mut |left| {
                let mut matched = false;
                let wish = self.frames(inner, left, &mut |joined| {
                    if !self.passes(on.as_ref(), joined)? {
                        return Ok(Wish::More);
                    }
                    matched = true;
                    see(joined)
                })?;
                if *kind == JoinKind::Left && !matched {
                    return see(&behind(left, vec![Value::Null; *inner_width]));
                }
                Ok(wish)
            }),
            Plan::Filter { input, predicate } => self.frames(input, outer, &mut |frame| match self
                .passes(
                Some(predicate),
                frame,
            )? {
                true => see(frame),
                false => Ok(Wish::More),
            }),
            Plan::Project { input, exprs } => self.frames(input, outer, &mut |frame| {
                see(&behind(outer, self.values(exprs, frame)?))
            }),
            Plan::Aggregate {
                input,
                keys,
                calls,
                sets,
            } => {
                let groups = match sets.is_empty() {
                    true => self.groups(input, outer, keys, calls)?,
                    false => self.groups_by_sets(input, outer, (keys, calls), sets)?,
                };
                self.each(groups, |group| see(&behind(outer, group)))
            }
            Plan::Window {
                input,
                partition,
                order,
                calls,
            } => {
                let frames = self.all(input, outer)?;
                let frames = self.windowed(frames, outer, (partition, order, calls))?;
                self.each(frames, |frame| see(&frame))
            }
            Plan::Sort { input, keys, .. } => {
                let mut frames = Vec::new();
                for frame in self.all(input, outer)? {
                    frames.push((self.sort_values(keys, &frame)?, frame));
                }
                frames.sort_by(|(a, _), (b, _)| sort_order(a, b, keys));
                self.each(frames, |(_, frame)| see(&frame))
            }
            Plan::Unique { input } => {
                let types = input.frame_types();
                let mut seen: Vec<Vec<Value>> = Vec::new();
                self.frames(input, outer, &mut |frame| {
                    let own = as_grouped(frame[outer.len()..].to_vec(), &types);
                    if seen.iter().any(|other| same(other, &own)) {
                        return Ok(Wish::More);
                    }
                    seen.push(own);
                    see(frame)
                })
            }
            Plan::Limit {
                input,
                limit,
                offset,
                ties,
            } => {
                use SqlState as State;
                let limit =
                    self.bound(limit.as_ref(), "LIMIT", State::INVALID_ROW_COUNT_IN_LIMIT)?;
                let offset = self.bound(
                    offset.as_ref(),
                    "OFFSET",
                    State::INVALID_ROW_COUNT_IN_OFFSET,
                )?;
                let first = offset.unwrap_or(0);
                let end = limit.map_or(u64::MAX, |limit| first.saturating_add(limit));
                if !ties.is_empty() && limit.is_none() {
                    return Err(SqlError::new(
                        State::INVALID_ROW_COUNT_IN_LIMIT,
                        "row count cannot be null in FETCH FIRST ... WITH TIES clause",
                    ));
                }
                if limit == Some(0) {
                    return Ok(Wish::More);
                }
                let mut place = 0;
                let mut wish = Wish::More;
                let mut last: Option<Vec<Value>> = None;
                self.frames(input, outer, &mut |frame| {
                    place += 1;
                    if !ties.is_empty() && place >= end {
                        let values = self.sort_values(ties, frame)?;
                        match &last {
                            Some(last) if sort_order(last, &values, ties).is_ne() => {
                                return Ok(Wish::Enough);
                            }
                            _ => last = Some(values),
                        }
                    }
                    if place > first {
                        wish = see(frame)?;
                    }
                    let is_last = place == end && ties.is_empty();
                    Ok(if is_last { Wish::Enough } else { wish })
                })?;
                Ok(wish)
            }
            Plan::Lock { input, targets } => self.frames(input, outer, &mut |frame| {
                if let Some(trace) = self.interpreter.trace {
                    for LockTarget { table, offset, .. } in targets {
                        // Behind a left join there may be no row.
                        let row = &frame[*offset..];
                        if table
                            .key_columns()
                            .iter()
                            .any(|column| !row[*column].is_null())
                        {
                            trace.row(table, Deed::Lock, row);
                        }
                    }
                }
                see(frame)
            }),
            Plan::With {
                number,
                first,
                then,
                turns,
            } => self.with(*number, (first, then), *turns, outer, see),
            Plan::Given { number, .. } => {
                let rows = self.given.borrow().get(number).cloned();
                self.each(rows.unwrap_or_default(), |row| see(&behind(outer, row)))
            }
            Plan::Append { inputs } => {
                self.each(inputs, |input| self.frames(input, outer, &mut *see))
            }
        }
    }

    /// A query whose rows are kept, and what is made of them: once, or turn by turn.
    fn with(
        &self,
        number: usize,
        (first, then): (&Plan, &Plan),
        turns: Turns,
        outer: &[Value],
        see: See<'_>,
    ) -> SqlResult<Wish> {
        let own = |frame: &[Value]| frame[outer.len()..].to_vec();
        if turns == Turns::Once {
            let kept = self.all(first, outer)?;
            let kept = kept.iter().map(|frame| own(frame)).collect();
            self.given.borrow_mut().insert(number, kept);
            return self.frames(then, outer, see);
        }
        let types = first.frame_types();
        let mut seen: Vec<Vec<Value>> = Vec::new();
        let mut turn = first;
        loop {
            let mut given: Vec<Vec<Value>> = Vec::new();
            let wish = self.frames(turn, outer, &mut |frame| {
                let row = as_grouped(own(frame), &types);
                if turns == Turns::UntilNothingNew {
                    if seen.iter().any(|other| same(other, &row)) {
                        return Ok(Wish::More);
                    }
                    seen.push(row);
                }
                given.push(own(frame));
                see(frame)
            })?;
            if wish == Wish::Enough || given.is_empty() {
                return Ok(wish);
            }
            self.given.borrow_mut().insert(number, given);
            turn = then;
        }
    }

    /// All frames of a plan.
    pub fn all(&self, plan: &Plan, outer: &[Value]) -> SqlResult<Vec<Vec<Value>>> {
        let mut frames = Vec::new();
        self.frames(plan, outer, &mut |frame| {
            frames.push(frame.to_vec());
            Ok(Wish::More)
        })?;
        Ok(frames)
    }

    /// Items one by one, as long as more are wanted.
    fn each<T>(
        &self,
        items: impl IntoIterator<Item = T>,
        mut see: impl FnMut(T) -> SqlResult<Wish>,
    ) -> SqlResult<Wish> {
        for item in items {
            if see(item)? == Wish::Enough {
                return Ok(Wish::Enough);
            }
        }
        Ok(Wish::More)
    }

    /// Groups in the order of their first frames: the keys, then what the calls give.
    fn groups(
        &self,
        input: &Plan,
        outer: &[Value],
        keys: &[Expr],
        calls: &[AggregateCall],
    ) -> SqlResult<Vec<Vec<Value>>> {
        let types: Vec<SqlType> = keys.iter().map(Expr::ty).collect();
        let mut groups: Vec<Group> = Vec::new();
        if keys.is_empty() {
            groups.push(Group::new(Vec::new(), calls));
        }
        self.frames(input, outer, &mut |frame| {
            let values = self.values(keys, frame)?;
            let key = as_grouped(values.clone(), &types);
            let found = groups.iter().position(|group| {
                let other = as_grouped(group.keys.clone(), &types);
                same(&other, &key)
            });
            let place = found.unwrap_or_else(|| {
                groups.push(Group::new(values, calls));
                groups.len() - 1
            });
            for (call, running) in calls.iter().zip(&mut groups[place].calls) {
                self.add(call, running, frame)?;
            }
            Ok(Wish::More)
        })?;
        groups
            .into_iter()
            .map(|group| group.finish(calls))
            .collect()
    }

    /// The groups of one set of keys after those of another; the set's number comes last.
    fn groups_by_sets(
        &self,
        input: &Plan,
        outer: &[Value],
        (keys, calls): (&[Expr], &[AggregateCall]),
        sets: &[Vec<usize>],
    ) -> SqlResult<Vec<Vec<Value>>> {
        let mut all = Vec::new();
        for (number, set) in sets.iter().enumerate() {
            let own: Vec<Expr> = set.iter().map(|place| keys[*place].clone()).collect();
            for group in self.groups(input, outer, &own, calls)? {
                let mut row = vec![Value::Null; keys.len()];
                for (place, value) in set.iter().zip(&group) {
                    row[*place] = value.clone();
                }
                row.extend_from_slice(&group[set.len()..]);
                row.push(Value::Int4(number as i32));
                all.push(row);
            }
        }
        Ok(all)
    }

    /// One frame more for a call of an aggregate.
    fn add(&self, call: &AggregateCall, running: &mut Running, frame: &[Value]) -> SqlResult<()> {
        if !self.passes(call.filter.as_ref(), frame)? {
            return Ok(());
        }
        let arguments = self.values(&call.args, frame)?;
        if call.distinct {
            let types: Vec<SqlType> = call.args.iter().map(Expr::ty).collect();
            let compared = as_grouped(arguments.clone(), &types);
            if running.seen.iter().any(|other| same(other, &compared)) {
                return Ok(());
            }
            running.seen.push(compared);
        }
        if call.order.is_empty() {
            return running.accumulator.add(&arguments);
        }
        let keys = self.sort_values(&call.order, frame)?;
        running.waiting.push((keys, arguments));
        Ok(())
    }

    pub fn sort_values(&self, keys: &[SortKey], frame: &[Value]) -> SqlResult<Vec<Value>> {
        let value = |key: &SortKey| {
            let value = self.eval(&key.expr, frame)?;
            Ok(as_compared(value, key.expr.ty()))
        };
        keys.iter().map(value).collect()
    }

    /// A LIMIT or OFFSET; `None`: no bound.
    fn bound(&self, expr: Option<&Expr>, what: &str, state: SqlState) -> SqlResult<Option<u64>> {
        let value = expr.map_or(Ok(Value::Null), |expr| self.eval(expr, &[]))?;
        let negative = |_| SqlError::new(state, format!("{what} must not be negative"));
        value
            .as_i64()
            .map(|count| u64::try_from(count).map_err(negative))
            .transpose()
    }

    pub fn eval(&self, expr: &Expr, frame: &[Value]) -> SqlResult<Value> {
        eval(expr, frame, self.params, &Asking(self))
    }

    /// The same run, with something handed to it.
    pub fn handing(&self, handed: Vec<Value>) -> Run<'_> {
        Run {
            interpreter: self.interpreter,
            params: self.params,
            before: self.before.clone(),
            is_part: self.is_part,
            given: self.given.clone(),
            handed,
        }
    }

    pub fn values(&self, exprs: &[Expr], frame: &[Value]) -> SqlResult<Vec<Value>> {
        exprs.iter().map(|expr| self.eval(expr, frame)).collect()
    }

    /// Whether a condition is TRUE, or there is none.
    pub fn passes(&self, condition: Option<&Expr>, frame: &[Value]) -> SqlResult<bool> {
        condition.map_or(Ok(true), |condition| {
            eval_predicate(condition, frame, self.params, &Asking(self))
        })
    }
}

/// A group that is being gathered.
struct Group {
    keys: Vec<Value>,
    calls: Vec<Running>,
}

/// One call over one group.
struct Running {
    accumulator: Accumulator,
    /// DISTINCT: the arguments so far.
    seen: Vec<Vec<Value>>,
    /// ORDER BY: what to order by, and the arguments.
    waiting: Vec<(Vec<Value>, Vec<Value>)>,
}

impl Group {
    fn new(keys: Vec<Value>, calls: &[AggregateCall]) -> Group {
        let running = |call| Running {
            accumulator: Accumulator::new(call),
            seen: Vec::new(),
            waiting: Vec::new(),
        };
        Group {
            keys,
            calls: calls.iter().map(running).collect(),
        }
    }

    fn finish(self, calls: &[AggregateCall]) -> SqlResult<Vec<Value>> {
        let mut row = self.keys;
        for (call, mut running) in calls.iter().zip(self.calls) {
            running
                .waiting
                .sort_by(|(a, _), (b, _)| sort_order(a, b, &call.order));
            for (_, arguments) in running.waiting {
                running.accumulator.add(&arguments)?;
            }
            row.push(running.accumulator.finish()?);
        }
        Ok(row)
    }
}

/// The outer frame with a plan's own behind it.
pub(crate) fn behind(outer: &[Value], own: impl IntoIterator<Item = Value>) -> Vec<Value> {
    outer.iter().cloned().chain(own).collect()
}

pub(crate) fn as_grouped(values: Vec<Value>, types: &[SqlType]) -> Vec<Value> {
    let pairs = values.into_iter().zip(types);
    pairs.map(|(value, ty)| as_compared(value, *ty)).collect()
}

/// Equal as groups are: NULL equals NULL.
pub(crate) fn same(a: &[Value], b: &[Value]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.order(b).is_eq())
}

pub(crate) fn sort_order(a: &[Value], b: &[Value], keys: &[SortKey]) -> Ordering {
    let column = |((a, b), key): ((&Value, &Value), &SortKey)| match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) if key.nulls_first => Ordering::Less,
        (true, false) => Ordering::Greater,
        (false, true) if key.nulls_first => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) if key.descending => b.order(a),
        (false, false) => a.order(b),
    };
    let mut columns = a.iter().zip(b).zip(keys).map(column);
    columns
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// `generate_series`: it ends where its type ends.
fn series(start: &Value, stop: &Value, step: &Value, ty: SqlType) -> SqlResult<Vec<Value>> {
    let step = step.as_i64();
    if step == Some(0) {
        return Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "step size cannot equal zero",
        ));
    }
    let (Some(start), Some(stop), Some(step)) = (start.as_i64(), stop.as_i64(), step) else {
        return Ok(Vec::new());
    };
    let mut values = Vec::new();
    let mut next = Some(start);
    while let Some(value) = next
        && (if step > 0 {
            value <= stop
        } else {
            value >= stop
        })
    {
        values.push(match ty {
            SqlType::Int4 => match i32::try_from(value) {
                Ok(value) => Value::Int4(value),
                Err(_) => break,
            },
            _ => Value::Int8(value),
        });
        next = value.checked_add(step);
    }
    Ok(values)
}
