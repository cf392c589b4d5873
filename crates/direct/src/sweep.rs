//! Statements about a range of rows, over the rows where they lie.
//!
//! Relies on: `ir::sweep`; `tc::Txn::show_range`, which gives what is in memory without a copy.  Promises: what the
//! statement itself would do; where memory has not all rows, a formula has no answer, a row is of an older form or a
//! NULL is refused, it has done nothing and says so.
//! Does not: lock rows: where they are locked before they are written, it declines.
//!
//! ```text
//!   range ─► each row, where it lies ─► first │ totals │ new bytes, kept until the range is through ─► put
//!                     └─► key of another table's row, kept until then ─► announced and read ─► totals
//! ```

use crate::context::{Context, Halt, Stop, Workspace};
use crate::lean::{give, push, push_key};
use crate::point::{Done, refused};
use crate::run::stop_outside_a_run;
use quintet_base::datum::{self, Datum};
use quintet_base::{SpaceId, Value, key};
use quintet_ir::TableDef;
use quintet_ir::formula::{Computed, Formula, Scope};
use quintet_ir::sweep::{Deed, Edge, Inner, Kind, Sweep, Total};
use quintet_tc::{Between, Txn, Wants};
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::atomic;

/// Rows between two looks at the cancel flag.
const ROWS_PER_CHECK: usize = 1024;
/// What is kept of a range until it is through. Beyond, the statement is run as any other, which counts its memory.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// Rows that are looked for side by side.
const TOGETHER: usize = 16;
/// Columns that are changed where they lie.
const CHANGES_MAX: usize = 8;

/// What one statement after the other writes into.
#[derive(Default)]
pub(crate) struct Buffers {
    lower: Vec<u8>,
    upper: Vec<u8>,
    /// Keys of other rows, or keys and new rows, one behind the other; where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    row: Vec<u8>,
    values: Vec<Value>,
    sums: Vec<Sum>,
}

/// An aggregate on its way.
enum Sum {
    Count(i64),
    Distinct(Vec<i64>),
    Integer(Option<i64>),
    Decimal(Option<(i64, u16)>),
    Best(Value),
}

/// Who is shown a row that is meant, with its key; `None`: there is no answer.
type See<'s> = dyn FnMut(&[u8], &Scope<'_>, &[u8]) -> Option<Wants> + 's;

/// Runs the statement and leaves its row, if it gives one, in the first places of `out`. `None`: nothing has happened,
/// the statement is to be run as any other.
pub(crate) fn run(
    sweep: &Sweep,
    context: &mut Context<'_>,
    workspace: &mut Workspace,
    out: &mut Vec<Value>,
) -> Result<Option<Done>, Stop> {
    let changes = matches!(sweep.deed, Deed::Change(_));
    if changes && (context.host.is_read_only() || !context.txn.is_optimistic()) {
        return Ok(None);
    }
    context.txn.begin_point();
    match swept(sweep, context, &mut workspace.sweep, out) {
        Ok(done) => Ok(done),
        Err(Halt::Stale) => Ok(None),
        Err(halt) => Err(stop_outside_a_run(halt)),
    }
}

fn swept(
    sweep: &Sweep,
    context: &mut Context<'_>,
    buffers: &mut Buffers,
    out: &mut Vec<Value>,
) -> Result<Option<Done>, Halt> {
    let (params, host) = (context.params, context.host);
    let scope = Scope {
        row: None,
        slots: params,
        host,
    };
    match bounds(sweep, &scope, &mut buffers.lower, &mut buffers.upper) {
        Some(true) => {}
        // Rows, though none: totals of nothing.
        Some(false) | None => return Ok(None),
    }
    match &sweep.deed {
        Deed::First { offset, output } => {
            let skipped = match offset {
                None => Some(0),
                Some(offset) => match offset.eval(&scope) {
                    Some(Datum::Null) => Some(0),
                    Some(value) => value.as_i64().and_then(|value| u64::try_from(value).ok()),
                    None => None,
                },
            };
            let Some(skipped) = skipped else {
                return Ok(None);
            };
            first(sweep, (skipped, output), &scope, context, buffers, out)
        }
        Deed::Total { inner, totals } => total(
            (sweep, inner.as_ref()),
            totals,
            &scope,
            context,
            buffers,
            out,
        ),
        Deed::Change(changes) => change(sweep, changes, &scope, context, buffers),
    }
}

/// The ends of the range; `Some(false)`: a NULL in them, so there are no rows; `None`: a formula has no answer.
fn bounds(
    sweep: &Sweep,
    scope: &Scope<'_>,
    lower: &mut Vec<u8>,
    upper: &mut Vec<u8>,
) -> Option<bool> {
    lower.clear();
    if !push_key(&sweep.equal, scope, lower)? {
        return Some(false);
    }
    upper.clear();
    upper.extend_from_slice(lower);
    let add = |edge: &Edge, out: &mut Vec<u8>| match edge.value.eval(scope)? {
        Datum::Null => Some(false),
        value => {
            push(value, edge.ty, out);
            Some(true)
        }
    };
    if let Some(end) = &sweep.lower {
        if !add(end, lower)? {
            return Some(false);
        }
        if !end.inclusive {
            step_behind(lower);
        }
    }
    match &sweep.upper {
        Some(end) => {
            if !add(end, upper)? {
                return Some(false);
            }
            if end.inclusive {
                step_behind(upper);
            }
        }
        None if sweep.lower.is_some() => {
            // A comparison is never true for NULL, and NULL sorts last.
            key::encode_datum(Datum::Null, upper);
        }
        None => step_behind(upper),
    }
    Some(true)
}

/// Makes a prefix the lowest key above all that begin with it. There always is one: a column's encoding begins with a
/// tag below FF.
fn step_behind(prefix: &mut Vec<u8>) {
    while let Some(last) = prefix.pop() {
        if last < 0xFF {
            prefix.push(last + 1);
            return;
        }
    }
}

/// Shows the rows of the range that are meant, in order, with their keys. False: memory alone cannot say, or `see` has
/// no answer.
fn each(
    sweep: &Sweep,
    (lower, upper): (&[u8], &[u8]),
    scope: &Scope<'_>,
    context: &Context<'_>,
    passed: &mut u64,
    see: &mut See<'_>,
) -> Result<bool, Halt> {
    let table = &*sweep.table;
    let txn: &Txn = context.txn;
    let mut fits = true;
    let mut failed = None;
    let mut rows = 0usize;
    let mut look = |key: &[u8], row: &[u8]| {
        let scope = Scope {
            row: Some(table.layout.open(row).ok()?),
            ..*scope
        };
        if let Some(filter) = &sweep.filter
            && !filter.holds(&scope)?
        {
            return Some(Wants::More);
        }
        if *passed > 0 {
            *passed -= 1;
            return Some(Wants::More);
        }
        see(key, &scope, row)
    };
    let mut show = |key: &[u8], row: &[u8]| {
        rows += 1;
        let cancelled =
            rows.is_multiple_of(ROWS_PER_CHECK) && context.cancel.load(atomic::Ordering::Acquire);
        if cancelled {
            // Who runs it as any other says so.
            return None;
        }
        look(key, row)
    };
    let between = Between {
        lower: Bound::Included(lower),
        upper: Bound::Excluded(upper),
        backward: sweep.backward,
        leads_to: sweep.index.map(|_| table.space),
    };
    let answer = |wants: Option<Wants>, fits: &mut bool| {
        wants.unwrap_or_else(|| {
            *fits = false;
            Wants::NoMore
        })
    };
    let shown = match sweep.index {
        None => txn.show_range(table.space, between, &mut |key, row| {
            answer(show(key, row), &mut fits)
        }),
        Some(number) => {
            let space = table.indexes[number].space;
            txn.show_range(space, between, &mut |_, row_key| {
                let found = txn.read(table.space, row_key, |row| {
                    row.and_then(|row| show(row_key, row))
                });
                match found {
                    Ok(wants) => answer(wants, &mut fits),
                    Err(error) => {
                        failed = Some(error);
                        Wants::NoMore
                    }
                }
            })
        }
    };
    if let Some(error) = failed {
        return Err(refused(error, context, table));
    }
    Ok(shown.map_err(|error| refused(error, context, table))? && fits)
}

fn first(
    sweep: &Sweep,
    (skipped, output): (u64, &[Formula]),
    scope: &Scope<'_>,
    context: &Context<'_>,
    buffers: &mut Buffers,
    out: &mut Vec<Value>,
) -> Result<Option<Done>, Halt> {
    let mut passed = skipped;
    let mut found = false;
    let range = (&buffers.lower[..], &buffers.upper[..]);
    let fits = each(
        sweep,
        range,
        scope,
        context,
        &mut passed,
        &mut |_, scope, _| {
            give(output, scope, (&mut *out, 0))?;
            found = true;
            Some(Wants::NoMore)
        },
    )?;
    Ok(fits.then_some(match found {
        true => Done::one(0, output.len()),
        false => Done::NOTHING,
    }))
}

impl Sum {
    fn new(total: &Total) -> Sum {
        match total.what {
            Kind::CountRows | Kind::Count => Sum::Count(0),
            Kind::CountDistinct => Sum::Distinct(Vec::new()),
            Kind::SumInteger => Sum::Integer(None),
            Kind::SumDecimal => Sum::Decimal(None),
            Kind::Min | Kind::Max => Sum::Best(Value::Null),
        }
    }

    /// One more row; `None`: no answer.
    fn add(&mut self, total: &Total, scope: &Scope<'_>) -> Option<()> {
        let value = match &total.of {
            Some(formula) => match formula.eval(scope)? {
                Datum::Null => return Some(()),
                value => value,
            },
            None => Datum::Null,
        };
        match (self, value) {
            (Sum::Count(count), _) => *count += 1,
            (Sum::Distinct(seen), value) => {
                if seen.len() >= KEPT_BYTES_MAX / size_of::<i64>() {
                    return None;
                }
                seen.push(value.as_i64()?);
            }
            (Sum::Integer(sum), value) => {
                *sum = Some(sum.unwrap_or(0).checked_add(value.as_i64()?)?);
            }
            (Sum::Decimal(sum), Datum::Decimal(mantissa, scale)) => {
                let before = sum.unwrap_or((0, 0));
                *sum = Some(datum::add(before, (mantissa, scale))?);
            }
            (Sum::Best(best), value) => {
                let wanted = match total.what {
                    Kind::Min => Ordering::Less,
                    _ => Ordering::Greater,
                };
                let better = match Datum::of(best) {
                    Datum::Null => true,
                    known => value.order(&known, total.ty)? == wanted,
                };
                if better {
                    value.put_into(best);
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn finish(&mut self) -> Value {
        match self {
            Sum::Count(count) => Value::Int8(*count),
            Sum::Distinct(seen) => {
                seen.sort_unstable();
                seen.dedup();
                Value::Int8(seen.len() as i64)
            }
            Sum::Integer(sum) => sum.map_or(Value::Null, Value::Int8),
            Sum::Decimal(sum) => sum.map_or(Value::Null, |(mantissa, scale)| {
                Datum::Decimal(mantissa, scale).to_value()
            }),
            Sum::Best(best) => std::mem::take(best),
        }
    }
}

fn total(
    (sweep, inner): (&Sweep, Option<&Inner>),
    totals: &[Total],
    scope: &Scope<'_>,
    context: &Context<'_>,
    buffers: &mut Buffers,
    out: &mut Vec<Value>,
) -> Result<Option<Done>, Halt> {
    let Buffers {
        lower,
        upper,
        bytes,
        ends,
        sums,
        ..
    } = buffers;
    sums.clear();
    sums.extend(totals.iter().map(Sum::new));
    let mut add = |scope: &Scope<'_>| {
        let mut all = sums.iter_mut().zip(totals);
        all.try_for_each(|(sum, total)| sum.add(total, scope))
    };
    let range = (&lower[..], &upper[..]);
    let fits = match inner {
        None => each(sweep, range, scope, context, &mut 0, &mut |_, scope, _| {
            add(scope).map(|()| Wants::More)
        })?,
        Some(inner) => {
            bytes.clear();
            ends.clear();
            let fits = each(sweep, range, scope, context, &mut 0, &mut |_, scope, _| {
                let from = bytes.len();
                match push_key(&inner.key, scope, bytes)? {
                    true => ends.push(bytes.len()),
                    false => bytes.truncate(from),
                }
                (bytes.len() <= KEPT_BYTES_MAX).then_some(Wants::More)
            })?;
            fits && read_inner(inner, (&bytes[..], &ends[..]), scope, context, &mut add)?
        }
    };
    if !fits {
        return Ok(None);
    }
    if out.len() < totals.len() {
        out.resize(totals.len(), Value::Null);
    }
    for (sum, place) in sums.iter_mut().zip(out) {
        *place = sum.finish();
    }
    Ok(Some(Done::one(0, totals.len())))
}

/// Shows the rows at these keys that are meant; false: there is no answer.
fn read_inner(
    inner: &Inner,
    (bytes, ends): (&[u8], &[usize]),
    scope: &Scope<'_>,
    context: &Context<'_>,
    add: &mut dyn FnMut(&Scope<'_>) -> Option<()>,
) -> Result<bool, Halt> {
    let table = &*inner.table;
    let announces = crate::ahead::is_on(context.host);
    let mut from = 0;
    for ends in ends.chunks(TOGETHER) {
        let mut keys: [(SpaceId, &[u8]); TOGETHER] = [(table.space, &[]); TOGETHER];
        for ((_, key), end) in keys.iter_mut().zip(ends) {
            *key = &bytes[from..*end];
            from = *end;
        }
        let keys = &keys[..ends.len()];
        if keys.len() > 1 && announces {
            context.txn.announce(keys);
        }
        for place in keys {
            let found = context.txn.read_columns(*place, &inner.glance, |stored| {
                let Some(stored) = stored else {
                    return Some(());
                };
                let scope = Scope {
                    row: Some(table.layout.open(stored).ok()?),
                    ..*scope
                };
                match &inner.filter {
                    Some(filter) if !filter.holds(&scope)? => Some(()),
                    _ => add(&scope),
                }
            });
            if found
                .map_err(|error| refused(error, context, table))?
                .is_none()
            {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn change(
    sweep: &Sweep,
    changes: &[(usize, Computed)],
    scope: &Scope<'_>,
    context: &mut Context<'_>,
    buffers: &mut Buffers,
) -> Result<Option<Done>, Halt> {
    let table = &*sweep.table;
    let Buffers {
        lower,
        upper,
        bytes,
        ends,
        row: new_row,
        values,
        ..
    } = buffers;
    if changes.len() > CHANGES_MAX {
        return Ok(None);
    }
    values.clear();
    // Without columns, they are the same for every row.
    for (_, value) in changes {
        if value.formula.is_none() {
            match quintet_ir::eval(&value.expr, &[], scope.slots, scope.host) {
                Ok(value) => values.push(value),
                Err(_) => return Ok(None),
            }
        }
    }
    bytes.clear();
    ends.clear();
    let range = (&lower[..], &upper[..]);
    let see = &mut |key: &[u8], scope: &Scope<'_>, row: &[u8]| {
        changed(table, changes, values, scope, (row, &mut *new_row))?;
        bytes.extend_from_slice(key);
        ends.push(bytes.len());
        bytes.extend_from_slice(new_row);
        ends.push(bytes.len());
        (bytes.len() <= KEPT_BYTES_MAX).then_some(Wants::More)
    };
    if !each(sweep, range, scope, context, &mut 0, see)? {
        return Ok(None);
    }
    let mut from = 0;
    for pair in ends.chunks_exact(2) {
        let (key, row) = (&bytes[from..pair[0]], &bytes[pair[0]..pair[1]]);
        let put = context.txn.put(table.space, key, row);
        put.map_err(|error| refused(error, context, table))?;
        from = pair[1];
    }
    Ok(Some(Done {
        found: ends.len() as u64 / 2,
        from: 0,
        width: 0,
    }))
}

/// Writes the row that another becomes; `None`: there is no answer.
fn changed(
    table: &TableDef,
    changes: &[(usize, Computed)],
    values: &[Value],
    scope: &Scope<'_>,
    (row, out): (&[u8], &mut Vec<u8>),
) -> Option<()> {
    // All of them see the row as it was.
    let mut new = [(0, Datum::Null); CHANGES_MAX];
    let mut computed = values.iter();
    for (place, (column, value)) in new.iter_mut().zip(changes) {
        let value = match &value.formula {
            Some(formula) => formula.eval(scope)?,
            None => Datum::of(computed.next()?),
        };
        if value.is_null() && table.columns[*column].not_null {
            return None;
        }
        *place = (*column, value);
    }
    let patched = table.layout.patch(row, &new[..changes.len()], out).ok()?;
    patched.then_some(())
}
