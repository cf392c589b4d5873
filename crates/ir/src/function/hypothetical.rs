//! Hypothetical-set aggregates: where a row would stand that is not there.
//!
//! Relies on: the planner (`sql::within_group`), which makes such calls only.  Promises: PostgreSQL 15's results of `rank`, `dense_rank`,
//! `percent_rank` and `cume_dist` … WITHIN GROUP; no array is one without rows.  Does not: sort the rows.
//!
//! ```text
//!   [order](all values of a key, the one asked about, how it is sorted)   a number for each row: 0 where it is equal to the
//!                                                                         one asked about, less where it stands before it;
//!                                                                         equal values have equal numbers, without gaps
//!   [then](numbers by the first keys, by the next one)                    the same of both
//!   [rank](numbers) …                                                     the result
//! ```

use super::array::array;
use crate::eval::Host;
use quintet_base::value::Array;
use quintet_base::{SqlError, SqlResult, SqlType, Value};
use std::cmp::Ordering;

/// How the planner says that a key is sorted.
pub const DESCENDING: char = 'd';
/// See [`DESCENDING`].
pub const NULLS_FIRST: char = 'n';

fn items(value: &Value) -> &[Value] {
    match value.is_null() {
        true => &[],
        false => &array(value).values,
    }
}

fn numbers(value: &Value) -> Vec<i64> {
    let numbers = items(value).iter();
    numbers.map(|n| n.as_i64().unwrap_or(0)).collect()
}

/// Gives each item the number of its place, from that of `asked`, which is 0.
fn placed<T>(all: &[T], asked: &T, order: impl Fn(&T, &T) -> Ordering) -> SqlResult<Value> {
    let mut sorted: Vec<usize> = (0..all.len()).collect();
    sorted.sort_by(|a, b| order(&all[*a], &all[*b]));
    let mut places = vec![0_i32; all.len()];
    let too_many = || SqlError::internal("more rows than there are numbers for");
    let mut behind = 0_i32;
    let mut last: Option<usize> = None;
    let new = |last: Option<usize>, row: usize| {
        last.is_none_or(|last| order(&all[last], &all[row]).is_ne())
    };
    for &row in sorted
        .iter()
        .filter(|row| order(&all[**row], asked).is_gt())
    {
        if new(last, row) {
            behind = behind.checked_add(1).ok_or_else(too_many)?;
        }
        last = Some(row);
        places[row] = behind;
    }
    let mut before = 0_i32;
    last = None;
    for &row in sorted
        .iter()
        .rev()
        .filter(|row| order(&all[**row], asked).is_lt())
    {
        if new(last, row) {
            before = before.checked_sub(1).ok_or_else(too_many)?;
        }
        last = Some(row);
        places[row] = before;
    }
    Ok(Value::Array(Box::new(Array {
        shape: None,
        element: SqlType::Int4,
        values: places.into_iter().map(Value::Int4).collect(),
    })))
}

/// `[order]`.
pub(super) fn by_key(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let how = match args[2] {
        Value::Text(text) => text.to_string(),
        _ => String::new(),
    };
    let (descending, nulls_first) = (how.contains(DESCENDING), how.contains(NULLS_FIRST));
    placed(items(args[0]), args[1], |a, b| {
        match (a.is_null(), b.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) if nulls_first => Ordering::Less,
            (false, true) if !nulls_first => Ordering::Less,
            (true, false) | (false, true) => Ordering::Greater,
            (false, false) if descending => b.order(a),
            (false, false) => a.order(b),
        }
    })
}

/// `[then]`.
pub(super) fn then(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let both = numbers(args[0]).into_iter().zip(numbers(args[1]));
    let both: Vec<(i64, i64)> = both.collect();
    placed(&both, &(0, 0), Ord::cmp)
}

fn before(places: &[i64]) -> i64 {
    places.iter().filter(|place| **place < 0).count() as i64
}

/// `[rank]`.
pub(super) fn rank(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Int8(1 + before(&numbers(args[0]))))
}

/// `[dense_rank]`.
pub(super) fn dense_rank(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let first = numbers(args[0]).into_iter().min().unwrap_or(0);
    Ok(Value::Int8(1 - first.min(0)))
}

/// `[percent_rank]`.
pub(super) fn percent_rank(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let places = numbers(args[0]);
    Ok(Value::Float8(match places.len() {
        0 => 0.0,
        count => before(&places) as f64 / count as f64,
    }))
}

/// `[cume_dist]`.
pub(super) fn cume_dist(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let places = numbers(args[0]);
    let there = places.iter().filter(|place| **place <= 0).count();
    Ok(Value::Float8(
        (there + 1) as f64 / (places.len() + 1) as f64,
    ))
}
