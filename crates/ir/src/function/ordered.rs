//! Ordered-set aggregates, as functions of the array that an ordered `array_agg` without NULLs gives.
//!
//! Relies on: the planner (`sql::within_group`), which makes such calls only.  Promises: PostgreSQL 15's results of `mode`,
//! `percentile_disc` and `percentile_cont` (of intervals and double precision); NULL of an empty array, and of a fraction that is NULL.  Does not: sort.

use super::array::{array, make};
use super::fail;
use super::float::float;
use crate::eval::Host;
use quintet_base::{SqlResult, SqlState, SqlType, Value};

/// The most frequent one; of several the first.
pub(super) fn mode(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let values = &array(args[0]).values;
    let runs = values.chunk_by(|a, b| a.order(b).is_eq());
    let longest = runs.reduce(|best, run| if run.len() > best.len() { run } else { best });
    Ok(longest.map_or(Value::Null, |run| run[0].clone()))
}

/// One fraction's result, or those of an array of them, of this type.
fn of_each(
    fractions: &Value,
    ty: SqlType,
    one: impl Fn(f64) -> SqlResult<Value>,
) -> SqlResult<Value> {
    let checked = |fraction: &Value| {
        if fraction.is_null() {
            return Ok(Value::Null);
        }
        let fraction = float(fraction);
        if !(0.0..=1.0).contains(&fraction) {
            return fail(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                format!("percentile value {fraction} is not between 0 and 1"),
            );
        }
        one(fraction)
    };
    match fractions {
        Value::Array(fractions) => {
            let results: SqlResult<Vec<Value>> = fractions.values.iter().map(checked).collect();
            Ok(make(ty, results?))
        }
        fraction => checked(fraction),
    }
}

/// The first one that so large a share of all is not behind.
pub(super) fn discrete(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let all = array(args[0]);
    if all.values.is_empty() {
        return Ok(Value::Null);
    }
    of_each(args[1], all.element, |fraction| {
        let row = (fraction * all.values.len() as f64).ceil() as usize;
        Ok(all.values[row.max(1) - 1].clone())
    })
}

/// What is at so large a share of the way from the first to the last, between two of them in a straight line.
pub(super) fn continuous(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let all = array(args[0]);
    let Some(last) = all.values.len().checked_sub(1) else {
        return Ok(Value::Null);
    };
    of_each(args[1], all.element, |fraction| {
        let place = fraction * last as f64;
        let (low, high) = (place.floor(), place.ceil());
        let share = place - low;
        let (from, to) = (&all.values[low as usize], &all.values[high as usize]);
        if low == high {
            return Ok(from.clone());
        }
        Ok(match (from, to) {
            (Value::Interval(from), Value::Interval(to)) => {
                Value::Interval(from.add(to.sub(*from)?.mul(share)?)?)
            }
            (Value::Float8(from), Value::Float8(to)) => Value::Float8(from + share * (to - from)),
            // The planner asks for nothing else.
            _ => Value::Null,
        })
    })
}
