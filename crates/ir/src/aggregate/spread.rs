//! Variances, deviations, covariances, correlations and what describes a line through points.
//!
//! Relies on: `Numeric`.  Promises: exact numbers are summed exactly and divided once; floats are
//! summed after Youngs and Cramer, as PostgreSQL does, so that the last digits agree.
//! Does not: say how good a line is beyond regr_r2.

use super::AggregateFunction;
use crate::function::float;
use quintet_base::{Numeric, SqlResult, Value};

/// What has been summed up.
#[derive(Clone, Debug)]
pub(super) enum Spread {
    /// Numbers and their squares.
    Exact {
        count: i64,
        sum: Numeric,
        squares: Numeric,
    },
    /// One variable, or two.
    Float {
        count: f64,
        x: f64,
        xx: f64,
        y: f64,
        yy: f64,
        xy: f64,
    },
}

impl Spread {
    pub(super) fn new(is_float: bool) -> Spread {
        match is_float {
            true => Spread::Float {
                count: 0.0,
                x: 0.0,
                xx: 0.0,
                y: 0.0,
                yy: 0.0,
                xy: 0.0,
            },
            false => Spread::Exact {
                count: 0,
                sum: Numeric::ZERO,
                squares: Numeric::ZERO,
            },
        }
    }

    /// Adds a row's arguments, none of them NULL.
    ///
    /// # Errors
    /// `22003` beyond the range.
    pub(super) fn add(&mut self, args: &[Value]) -> SqlResult<()> {
        match self {
            Spread::Exact {
                count,
                sum,
                squares,
            } => {
                let value = match &args[0] {
                    Value::Numeric(value) => value.clone(),
                    other => Numeric::from_i64(other.as_i64().unwrap_or(0)),
                };
                *count += 1;
                *sum = sum.add(&value)?;
                *squares = squares.add(&value.mul(&value)?)?;
            }
            Spread::Float {
                count,
                x,
                xx,
                y,
                yy,
                xy,
            } => {
                let float = |value: &Value| match value {
                    Value::Float4(v) => f64::from(*v),
                    Value::Float8(v) => *v,
                    _ => 0.0,
                };
                // The dependent variable comes first.
                let (new_x, new_y) = match args {
                    [second, first] => (float(first), float(second)),
                    args => (float(&args[0]), 0.0),
                };
                *count += 1.0;
                *x += new_x;
                *y += new_y;
                if *count > 1.0 {
                    let scale = 1.0 / (*count * (*count - 1.0));
                    let (off_x, off_y) = (new_x * *count - *x, new_y * *count - *y);
                    *xx += off_x * off_x * scale;
                    *yy += off_y * off_y * scale;
                    *xy += off_x * off_y * scale;
                    if xx.is_infinite() && x.is_finite() {
                        float::checked(*xx, &[new_x])?;
                    }
                } else if !new_x.is_finite() || !new_y.is_finite() {
                    (*xx, *yy, *xy) = (f64::NAN, f64::NAN, f64::NAN);
                }
            }
        }
        Ok(())
    }

    /// Counts a pair without looking at it: regr_count has no range to leave.
    pub(super) fn count(&mut self) {
        match self {
            Spread::Exact { count, .. } => *count += 1,
            Spread::Float { count, .. } => *count += 1.0,
        }
    }

    /// # Errors
    /// `22003` beyond the range.
    pub(super) fn finish(self, function: AggregateFunction) -> SqlResult<Value> {
        use AggregateFunction::*;
        let sample = matches!(function, StddevSamp | VarSamp | CovarSamp);
        let root = matches!(function, StddevSamp | StddevPop);
        match self {
            Spread::Exact { count, .. } if count == 0 || sample && count == 1 => Ok(Value::Null),
            Spread::Exact {
                count,
                sum,
                squares,
            } => {
                if sum.is_nan() || !sum.is_finite() {
                    return Ok(Value::numeric(Numeric::NAN));
                }
                let rows = Numeric::from_i64(count);
                let off = rows.mul(&squares)?.sub(&sum.mul(&sum)?)?;
                if off.is_negative() || off.is_zero() {
                    return Ok(Value::numeric(Numeric::ZERO));
                }
                let divisor = match sample {
                    true => rows.mul(&Numeric::from_i64(count - 1))?,
                    false => rows.mul(&rows)?,
                };
                let variance = off.div(&divisor)?;
                let scale = i32::from(variance.scale());
                Ok(Value::numeric(match root {
                    true => variance.sqrt()?.round(scale)?,
                    false => variance,
                }))
            }
            Spread::Float { count, .. } if function == RegrCount => Ok(Value::Int8(count as i64)),
            Spread::Float {
                count,
                x,
                xx,
                y,
                yy,
                xy,
            } => {
                if count == 0.0 || sample && count == 1.0 {
                    return Ok(Value::Null);
                }
                let divisor = if sample { count - 1.0 } else { count };
                Ok(match function {
                    Corr if xx == 0.0 || yy == 0.0 => Value::Null,
                    Corr => Value::Float8(xy / (xx * yy).sqrt()),
                    CovarPop | CovarSamp => Value::Float8(xy / divisor),
                    RegrSxx => Value::Float8(xx),
                    RegrSyy => Value::Float8(yy),
                    RegrSxy => Value::Float8(xy),
                    RegrAvgx => Value::Float8(x / count),
                    RegrAvgy => Value::Float8(y / count),
                    // A line that stands upright has no slope.
                    RegrR2 | RegrSlope | RegrIntercept if xx == 0.0 => Value::Null,
                    // All points of a level line are on it.
                    RegrR2 if yy == 0.0 => Value::Float8(1.0),
                    RegrR2 => Value::Float8((xy * xy) / (xx * yy)),
                    RegrSlope => Value::Float8(xy / xx),
                    RegrIntercept => Value::Float8((y - x * xy / xx) / count),
                    StddevSamp | StddevPop => Value::Float8((xx / divisor).sqrt()),
                    _ => Value::Float8(xx / divisor),
                })
            }
        }
    }
}
