//! Groups and their aggregates.
//!
//! Relies on: `ir::aggregate` for what each aggregate computes.  Promises: groups in the order of
//! their first row; without keys there is one group, also of no rows; DISTINCT, FILTER and ORDER BY
//! of a call are applied here; groups beyond the statement's memory are made one part after the other.  Does not: put
//! what a single group keeps, or the groups of GROUPING SETS, anywhere but in memory.
//!
//! ```text
//!   row ─► group in memory?  yes ─► added
//!            │ no, and no room for another
//!            └─► waits in one of 16 files, by the hash of its keys ─► input is over: a file after the other, the same way
//!   groups of each part, in the order of their first rows ─► runs ─► merged
//! ```
//!
//! Hot path: once for each row. Where keys and arguments have formulas, they are computed over the rows where they
//! lie (`gather`), and what has no answer over a frame of values.

use crate::context::{Env, Halt, row_bytes};
use crate::cursor::{Cursor, encode_group};
use crate::gather::Gather;
use crate::groups::{GROUP_BYTES, Groups};
use crate::packed::{Packed, Shape};
use crate::partitions::{Partitions, Waiting};
use crate::rank;
use crate::row_file::read_bytes;
use crate::rows::push_row;
use crate::runs::{Merge, Runs};
use crate::scan::{Seen, Shown};
use crate::sort::sort_values;
use foldhash::fast::RandomState;
use quintet_base::{SqlError, SqlType, Value};
use quintet_ir::aggregate::{Accumulator, AggregateCall};
use quintet_ir::formula::Scope;
use quintet_ir::plan::SortKey;
use quintet_ir::{Expr, Plan};
use std::collections::{HashMap, HashSet};

/// Where an aggregation has come to.
pub(crate) struct AggregateCursor {
    input: Cursor,
    /// Finished groups; `None` until the input has been read.
    groups: Option<Finished>,
    making: Making,
}

/// Groups are being made, and this has been charged for them.
#[derive(Default)]
pub(crate) struct Making {
    bytes: usize,
    /// Of the keys of a row, to be used again.
    values: Vec<Value>,
}

enum Finished {
    Memory(std::vec::IntoIter<Vec<Value>>),
    Files(Box<Merge>),
}

/// Rows after which it pays to look for formulas.
const ROWS_BEFORE_GATHER: usize = 8;

struct Group {
    keys: Vec<Value>,
    calls: Vec<Running>,
}

/// One call over one group.
pub(crate) struct Running {
    pub accumulator: Accumulator,
    kept: Option<Box<KeptArguments>>,
}

/// What DISTINCT and ORDER BY inside a call keep.
#[derive(Default)]
struct KeptArguments {
    /// Images of the arguments seen.
    seen: HashSet<Vec<u8>, RandomState>,
    /// Sort values and arguments, fed to the accumulator at the end.
    waiting: Vec<(Vec<Value>, Vec<Value>)>,
}

impl AggregateCursor {
    pub fn new(input: &Plan) -> AggregateCursor {
        AggregateCursor {
            input: Cursor::new(input),
            groups: None,
            making: Making::default(),
        }
    }

    pub fn rewind(&mut self, input: &Plan, env: &mut Env<'_>) {
        if let Some(Finished::Files(merge)) = self.groups.take() {
            merge.release(env);
        }
        self.making.release(env);
        self.input.rewind(input, env);
    }

    /// See [`Cursor::next`].
    pub fn next(
        &mut self,
        plan: &Plan,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        let Plan::Aggregate {
            input,
            keys,
            calls,
            sets,
        } = plan
        else {
            return Err(SqlError::internal("an aggregation was run with another plan").into());
        };
        if self.groups.is_none() {
            self.groups = Some(match sets.is_empty() {
                true => self.group(input, keys, calls, env, frame, base)?,
                false => {
                    let sets = (&keys[..], &calls[..], &sets[..]);
                    let groups = self.group_by_sets(input, sets, env, frame, base)?;
                    Finished::Memory(groups.into_iter())
                }
            });
        }
        frame.truncate(base);
        match &mut self.groups {
            Some(Finished::Memory(groups)) => {
                let group = groups.next();
                Ok(group.map(|group| frame.extend(group)).is_some())
            }
            Some(Finished::Files(merge)) => Ok(merge.next(env, frame)?),
            None => Ok(false),
        }
    }

    fn group(
        &mut self,
        input: &Plan,
        keys: &[Expr],
        calls: &[AggregateCall],
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<Finished, Halt> {
        let mut groups = Groups::new(keys.len(), calls);
        let mut waiting: Option<Partitions> = None;
        let (mut gather, mut rows, mut waited) = (None, 0, 0);
        loop {
            if !self.making.charge_groups(&mut groups, env)? && waiting.is_none() {
                // What has a group can no longer be told without the values of its keys.
                gather = None;
                let types: Vec<SqlType> = keys.iter().map(Expr::ty).collect();
                waiting = Some(Waiting::new(&types, &input.frame_types()).partitions());
            }
            if rows == ROWS_BEFORE_GATHER && waiting.is_none() {
                gather = Gather::new(input, keys, calls, env);
            }
            rows += 1;
            if let (Some(over), Plan::Scan(access), Cursor::Scan(scan)) =
                (&mut gather, input, &mut self.input)
                && over.is_over_rows()
            {
                let mut failed = None;
                let shown = scan.show(access, env, &frame[..base], &mut |scope| {
                    match over.add(scope, calls, &mut groups) {
                        Ok(true) => return Seen::Done,
                        Ok(false) => {}
                        Err(error) => failed = Some(error),
                    }
                    Seen::Hard
                })?;
                if let Some(error) = failed {
                    return Err(error.into());
                }
                match shown {
                    Some(Shown::End) => break,
                    Some(Shown::More) => continue,
                    Some(Shown::Hard { key, row, passed }) => {
                        frame.truncate(base);
                        push_row(&access.table, access.needed.as_deref(), &key, &row, frame)?;
                        let filter = access.filter.as_ref().filter(|_| !passed);
                        if filter.map_or(Ok(true), |filter| env.holds_plain(filter, frame))? {
                            self.making.add(&mut groups, keys, calls, env, frame)?;
                        }
                        if !over.pays() {
                            gather = None;
                        }
                        continue;
                    }
                    None => {}
                }
            }
            if !self.input.next(input, env, frame, base)? {
                break;
            }
            let added = match &mut gather {
                Some(gather) if !gather.is_over_rows() && gather.pays() => {
                    let scope = Scope {
                        row: None,
                        slots: frame,
                        host: env.host,
                    };
                    gather.add(&scope, calls, &mut groups)?
                }
                _ => false,
            };
            match &mut waiting {
                None if added => {}
                None => self.making.add(&mut groups, keys, calls, env, frame)?,
                Some(waiting) => {
                    let values = groups.look(keys, env, frame)?;
                    match groups.find() {
                        Some(place) => {
                            (self.making).add_to(&mut groups, place, calls, env, frame)?;
                        }
                        None => {
                            // Above those of the groups in memory, of which there are no more from now on.
                            let number = (groups.len() + waited) as i64;
                            let row = (number, &values[..], &frame[base..]);
                            waiting.push(groups.image(), row, env)?;
                            waited += 1;
                        }
                    }
                }
            }
        }
        if let Some(waiting) = waiting {
            let made = &mut self.making;
            let merge = made.group_parts(groups, waiting, (keys, calls), env, frame, base)?;
            return Ok(Finished::Files(Box::new(merge)));
        }
        let finished = finished(groups, calls).collect::<Result<Vec<_>, _>>()?;
        Ok(Finished::Memory(finished.into_iter()))
    }

    /// GROUPING SETS: each frame belongs to a group of each set.
    fn group_by_sets(
        &mut self,
        input: &Plan,
        (keys, calls, sets): (&[Expr], &[AggregateCall], &[Vec<usize>]),
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<Vec<Vec<Value>>, Halt> {
        let types: Vec<SqlType> = keys.iter().map(Expr::ty).collect();
        let mut groups: Vec<Vec<Group>> = sets.iter().map(|_| Vec::new()).collect();
        let mut places: Vec<HashMap<Vec<u8>, usize, RandomState>> =
            sets.iter().map(|_| HashMap::default()).collect();
        for ((set, groups), places) in sets.iter().zip(&mut groups).zip(&mut places) {
            // All rows are one group, also if there are none.
            if set.is_empty() {
                let nothing = vec![Value::Null; keys.len()];
                places.insert(encode_group(&nothing, &types), 0);
                groups.push(Group::new(nothing, calls));
            }
        }
        while self.input.next(input, env, frame, base)? {
            env.tick()?;
            let values = keys.iter().map(|key| env.eval(key, frame));
            let values = values.collect::<Result<Vec<Value>, _>>()?;
            for (number, set) in sets.iter().enumerate() {
                let shown = |(place, value): (usize, &Value)| match set.contains(&place) {
                    true => value.clone(),
                    false => Value::Null,
                };
                let shown: Vec<Value> = values.iter().enumerate().map(shown).collect();
                let image = encode_group(&shown, &types);
                let place = match places[number].get(&image) {
                    Some(place) => *place,
                    None => {
                        let bytes =
                            image.len() + row_bytes(&shown) + GROUP_BYTES * (1 + calls.len());
                        self.making.charge(bytes, env)?;
                        places[number].insert(image, groups[number].len());
                        groups[number].push(Group::new(shown, calls));
                        groups[number].len() - 1
                    }
                };
                for (running, call) in groups[number][place].calls.iter_mut().zip(calls) {
                    let kept = running.add(call, env, frame)?;
                    self.making.charge(kept, env)?;
                }
            }
        }
        let mut finished = Vec::new();
        for (number, groups) in groups.into_iter().enumerate() {
            for group in groups {
                let mut row = group.finish(calls)?;
                row.push(Value::Int4(number as i32));
                finished.push(row);
            }
        }
        Ok(finished)
    }
}

impl Making {
    /// The rest of the groups, when those of memory have all of their rows.
    ///
    /// # Errors
    /// As `Spill` says; those of the calls; `53200` where one group is too large.
    pub fn group_parts(
        &mut self,
        groups: Groups,
        waiting: Partitions,
        (keys, calls): (&[Expr], &[AggregateCall]),
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<Merge, Halt> {
        let types = keys.iter().map(Expr::ty);
        let types: Vec<SqlType> = types.chain(calls.iter().map(|call| call.ty)).collect();
        let shape = Shape::apart(&[by_number()], &types);
        let mut runs = Runs::new(shape.clone());
        let numbers: Vec<i64> = (0..groups.len() as i64).collect();
        self.put_away((groups, &numbers), calls, &shape, &mut runs, env)?;
        let mut parts = waiting.finish()?;
        while let Some(part) = parts.pop() {
            let (mut groups, mut numbers) = (Groups::new(keys.len(), calls), Vec::new());
            let mut deeper = part.deeper();
            let mut is_full = false;
            let (mut rows, form) = part.read(read_bytes(env));
            while let Some(row) = form.next(&mut rows)? {
                env.tick()?;
                frame.truncate(base);
                frame.extend(row.row);
                groups.look_at(keys, &row.keys);
                let place = match (groups.find(), &mut deeper) {
                    (Some(place), _) => place,
                    (None, Some(deeper)) if is_full => {
                        let row = (row.number, &row.keys[..], &frame[base..]);
                        deeper.push(groups.image(), row, env)?;
                        continue;
                    }
                    (None, _) => {
                        numbers.push(row.number);
                        groups.place(row.keys.into_iter(), calls)
                    }
                };
                self.add_to(&mut groups, place, calls, env, frame)?;
                is_full |= !self.charge_groups(&mut groups, env)?;
            }
            self.put_away((groups, &numbers), calls, &shape, &mut runs, env)?;
            parts.extend(deeper.map_or(Ok(Vec::new()), Partitions::finish)?);
        }
        Ok(runs.merge(env)?)
    }

    /// Groups that are complete, in the order of their numbers.
    fn put_away(
        &mut self,
        (groups, numbers): (Groups, &[i64]),
        calls: &[AggregateCall],
        shape: &Shape,
        runs: &mut Runs,
        env: &mut Env<'_>,
    ) -> Result<(), Halt> {
        let mut packed = Packed::default();
        for (row, number) in finished(groups, calls).zip(numbers) {
            packed.push(&shape.draft_apart([Value::Int8(*number)], &row?));
        }
        self.release(env);
        runs.add(packed.rows(), env)?;
        Ok(())
    }

    /// Adds a frame to its group.
    fn add(
        &mut self,
        groups: &mut Groups,
        keys: &[Expr],
        calls: &[AggregateCall],
        env: &mut Env<'_>,
        frame: &[Value],
    ) -> Result<(), Halt> {
        let mut values = std::mem::take(&mut self.values);
        values.clear();
        groups.image().clear();
        for key in keys {
            let value = env.eval(key, frame)?;
            crate::keys::push(&value, key.ty(), groups.image());
            values.push(value);
        }
        let place = groups.place(values.drain(..), calls);
        self.values = values;
        self.add_to(groups, place, calls, env, frame)
    }

    fn add_to(
        &mut self,
        groups: &mut Groups,
        place: usize,
        calls: &[AggregateCall],
        env: &mut Env<'_>,
        frame: &[Value],
    ) -> Result<(), Halt> {
        for (running, call) in groups.running(place).iter_mut().zip(calls) {
            let kept = running.add(call, env, frame)?;
            self.charge(kept, env)?;
        }
        Ok(())
    }

    /// Charges what new groups take; false if there is no room for more of them.
    fn charge_groups(&mut self, groups: &mut Groups, env: &mut Env<'_>) -> Result<bool, Halt> {
        let bytes = groups.take_uncharged();
        if bytes == 0 {
            return Ok(true);
        }
        let fits = env.may_charge_rows(bytes);
        if !fits {
            env.charge(bytes)?;
        }
        self.bytes += bytes;
        Ok(fits)
    }

    fn charge(&mut self, bytes: usize, env: &mut Env<'_>) -> Result<(), Halt> {
        if bytes > 0 {
            env.charge(bytes)?;
            self.bytes += bytes;
        }
        Ok(())
    }

    /// Gives back what was charged.
    pub fn release(&mut self, env: &mut Env<'_>) {
        env.release(std::mem::take(&mut self.bytes));
    }
}

/// The rows of groups that have all of theirs.
fn finished(
    groups: Groups,
    calls: &[AggregateCall],
) -> impl Iterator<Item = Result<Vec<Value>, Halt>> {
    let groups = groups.into_groups();
    groups.map(move |(keys, running)| {
        let group = Group {
            keys,
            calls: running,
        };
        group.finish(calls)
    })
}

/// Groups are in the order of their first rows.
fn by_number() -> SortKey {
    SortKey {
        expr: Expr::Column(0, SqlType::Int8),
        descending: false,
        nulls_first: false,
    }
}

impl Group {
    fn new(keys: Vec<Value>, calls: &[AggregateCall]) -> Group {
        Group {
            keys,
            calls: calls.iter().map(Running::new).collect(),
        }
    }

    fn finish(self, calls: &[AggregateCall]) -> Result<Vec<Value>, Halt> {
        let mut row = self.keys;
        for (mut running, call) in self.calls.into_iter().zip(calls) {
            if let Some(kept) = &mut running.kept {
                rank::sort(&mut kept.waiting, &call.order, |(values, _)| values);
                for (_, args) in kept.waiting.drain(..) {
                    running.accumulator.add(&args)?;
                }
            }
            row.push(running.accumulator.finish()?);
        }
        Ok(row)
    }
}

impl Running {
    pub fn new(call: &AggregateCall) -> Running {
        Running {
            accumulator: Accumulator::new(call),
            kept: None,
        }
    }

    /// Adds a row; returns the bytes that are kept of it.
    fn add(
        &mut self,
        call: &AggregateCall,
        env: &mut Env<'_>,
        frame: &[Value],
    ) -> Result<usize, Halt> {
        if let Some(filter) = &call.filter
            && !env.holds(filter, frame)?
        {
            return Ok(0);
        }
        if !call.distinct && call.order.is_empty() && call.args.len() <= 1 {
            let added = match call.args.first() {
                None => self.accumulator.add(&[]),
                Some(arg) => match quintet_ir::leaf(arg, frame, env.params) {
                    Some(value) => self.accumulator.add(std::slice::from_ref(value)),
                    None => self.accumulator.add(&[env.eval(arg, frame)?]),
                },
            };
            added?;
            return Ok(0);
        }
        let args = call
            .args
            .iter()
            .map(|arg| env.eval(arg, frame))
            .collect::<Result<Vec<_>, _>>()?;
        let mut kept = 0;
        if call.distinct {
            let types: Vec<SqlType> = call.args.iter().map(Expr::ty).collect();
            let image = encode_group(&args, &types);
            let bytes = image.len() + 48;
            if !self.kept.get_or_insert_default().seen.insert(image) {
                return Ok(0);
            }
            kept += bytes;
        }
        if call.order.is_empty() {
            self.accumulator.add(&args)?;
        } else {
            let keys = sort_values(&call.order, env, frame)?;
            kept += row_bytes(&keys) + row_bytes(&args);
            self.kept.get_or_insert_default().waiting.push((keys, args));
        }
        Ok(kept)
    }
}
