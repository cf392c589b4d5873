//! Distances in a window's order: what RANGE … PRECEDING and FOLLOWING measure.
//!
//! Relies on: the arithmetic of the types.  Promises: answers as PostgreSQL's `in_range` functions do,
//! where a sum that leaves its type lies beyond everything.  Does not: know NULLs, which have no distance.

use crate::eval::Host;
use crate::function;
use quintet_base::datetime::MICROS_PER_DAY;
use quintet_base::value::float_order;
use quintet_base::{Interval, Numeric, SqlError, SqlResult, SqlState, SqlType, Value};
use std::cmp::Ordering;

/// The type of an offset over a column of this type; `None` if there are no distances in it.
pub fn offset_type(column: SqlType) -> Option<SqlType> {
    Some(match column {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => SqlType::Int8,
        SqlType::Float4 | SqlType::Float8 => SqlType::Float8,
        SqlType::Numeric => SqlType::Numeric,
        SqlType::Date
        | SqlType::Timestamp
        | SqlType::TimestampTz
        | SqlType::Time
        | SqlType::Interval => SqlType::Interval,
        _ => return None,
    })
}

/// Whether `value` is at most (`at_most`), or else at least, what is `offset` behind `current`, or before it
/// (`before`). None of them is NULL.
///
/// # Errors
/// `22013` for a negative offset; `22008` for a moment that there is not.
pub fn within(
    value: &Value,
    current: &Value,
    offset: &Value,
    before: bool,
    at_most: bool,
    host: &dyn Host,
) -> SqlResult<bool> {
    let order = match (value, current, offset) {
        (Value::Float4(_) | Value::Float8(_), _, Value::Float8(offset)) => {
            return float_within(float(value), float(current), *offset, before, at_most);
        }
        (Value::Numeric(value), Value::Numeric(current), Value::Numeric(offset)) => {
            return numeric_within(value, current, offset, before, at_most);
        }
        (Value::Time(value), Value::Time(current), Value::Interval(offset)) => {
            check(offset.micros < 0)?;
            let bound = shifted((*current).into(), offset.micros.into(), before);
            i128::from(*value).cmp(&bound)
        }
        (Value::Interval(value), Value::Interval(current), Value::Interval(offset)) => {
            check_span(*offset)?;
            let bound = match before {
                true => current.sub(*offset)?,
                false => current.add(*offset)?,
            };
            value.order(bound)
        }
        (_, _, Value::Interval(offset)) => {
            check_span(*offset)?;
            moment(value).order(&moved(&moment(current), offset, before, host)?)
        }
        _ => match (value.as_i64(), current.as_i64(), offset.as_i64()) {
            (Some(value), Some(current), Some(offset)) => {
                check(offset < 0)?;
                i128::from(value).cmp(&shifted(current.into(), offset.into(), before))
            }
            _ => {
                return Err(SqlError::internal(format!(
                    "{offset:?} is no distance between {current:?} and {value:?}"
                )));
            }
        },
    };
    Ok(holds(order, at_most))
}

fn holds(order: Ordering, at_most: bool) -> bool {
    match at_most {
        true => order.is_le(),
        false => order.is_ge(),
    }
}

fn check(negative: bool) -> SqlResult<()> {
    match negative {
        true => Err(SqlError::new(
            SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE,
            "invalid preceding or following size in window function",
        )),
        false => Ok(()),
    }
}

fn check_span(offset: Interval) -> SqlResult<()> {
    check(offset.order(Interval::default()).is_lt())
}

fn shifted(current: i128, offset: i128, before: bool) -> i128 {
    match before {
        true => current - offset,
        false => current + offset,
    }
}

fn float(value: &Value) -> f64 {
    match value {
        Value::Float4(value) => f64::from(*value),
        Value::Float8(value) => *value,
        _ => f64::NAN,
    }
}

fn float_within(
    value: f64,
    current: f64,
    offset: f64,
    before: bool,
    at_most: bool,
) -> SqlResult<bool> {
    check(offset.is_nan() || offset < 0.0)?;
    // NaN is behind all others and next to itself only.
    if value.is_nan() || current.is_nan() {
        return Ok(match (value.is_nan(), current.is_nan()) {
            (true, true) => true,
            (true, false) => !at_most,
            _ => at_most,
        });
    }
    // From one infinity infinitely far towards the other: everything is on the way.
    let towards = if before { current > 0.0 } else { current < 0.0 };
    if offset.is_infinite() && current.is_infinite() && towards {
        return Ok(true);
    }
    let bound = if before {
        current - offset
    } else {
        current + offset
    };
    Ok(holds(float_order(value, bound), at_most))
}

fn numeric_within(
    value: &Numeric,
    current: &Numeric,
    offset: &Numeric,
    before: bool,
    at_most: bool,
) -> SqlResult<bool> {
    check(offset.is_nan() || offset.is_negative())?;
    if value.is_nan() || current.is_nan() {
        return Ok(match (value.is_nan(), current.is_nan()) {
            (true, true) => true,
            (true, false) => !at_most,
            _ => at_most,
        });
    }
    let infinite = |number: &Numeric| !number.is_finite();
    let towards = current.is_negative() != before;
    if infinite(offset) && infinite(current) && towards {
        return Ok(true);
    }
    let bound = match before {
        true => current.sub(offset)?,
        false => current.add(offset)?,
    };
    Ok(holds(value.cmp(&bound), at_most))
}

/// A date as the moment when it begins.
fn moment(value: &Value) -> Value {
    match value {
        Value::Date(i32::MAX) => Value::Timestamp(i64::MAX),
        Value::Date(i32::MIN) => Value::Timestamp(i64::MIN),
        Value::Date(days) => Value::Timestamp(i64::from(*days).saturating_mul(MICROS_PER_DAY)),
        value => value.clone(),
    }
}

fn moved(current: &Value, offset: &Interval, before: bool, host: &dyn Host) -> SqlResult<Value> {
    let symbol = if before { "-" } else { "+" };
    let types = [current.natural_type(), SqlType::Interval];
    let shift = function::resolve(symbol, &types)?;
    (shift.function.eval)(&[current, &Value::Interval(*offset)], host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::DetachedHost;

    fn is_within(
        value: &Value,
        current: &Value,
        offset: Value,
        before: bool,
        at_most: bool,
    ) -> bool {
        within(
            value,
            current,
            &offset,
            before,
            at_most,
            &DetachedHost::default(),
        )
        .expect("a distance")
    }

    #[test]
    fn a_sum_beyond_the_type_is_beyond_all() {
        let (least, most) = (Value::Int4(i32::MIN), Value::Int4(i32::MAX));
        assert!(is_within(
            &least,
            &least,
            Value::Int8(i64::MAX),
            true,
            false
        ));
        assert!(is_within(&most, &most, Value::Int8(i64::MAX), false, true));
        assert!(!is_within(&most, &least, Value::Int8(1), false, true));
    }

    #[test]
    fn nan_is_near_itself_only() {
        let nan = Value::Float8(f64::NAN);
        let one = Value::Float8(1.0);
        assert!(is_within(&nan, &nan, Value::Float8(1.0), true, false));
        assert!(!is_within(&nan, &one, Value::Float8(1.0), false, true));
        assert!(is_within(&one, &nan, Value::Float8(1.0), false, true));
    }

    #[test]
    fn months_are_as_long_as_they_are() {
        let day = |days| Value::Date(days);
        let month = || {
            Value::Interval(Interval {
                months: 1,
                days: 0,
                micros: 0,
            })
        };
        // 2000-01-31 and a month is 2000-02-29.
        assert!(is_within(&day(59), &day(30), month(), false, true));
        assert!(!is_within(&day(60), &day(30), month(), false, true));
    }

    #[test]
    fn what_is_negative_is_no_distance() {
        let error = within(
            &Value::Int8(1),
            &Value::Int8(1),
            &Value::Int8(-1),
            true,
            true,
            &DetachedHost::default(),
        );
        assert_eq!(error.unwrap_err().state.as_str(), "22013");
    }
}
