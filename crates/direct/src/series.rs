//! Rows made of nothing: `generate_series` and `unnest`.
//!
//! Relies on: the binder has made the three bounds of one type.  Promises: a series ends where its
//! type ends.  Does not: know series of timestamps or numerics.

use crate::context::{Env, Halt};
use quintet_base::{SqlError, SqlState, SqlType, Value};
use quintet_ir::Expr;

/// Where a series has come to.
#[derive(Default)]
pub(crate) struct SeriesCursor {
    state: Option<Series>,
}

struct Series {
    next: Option<i64>,
    stop: i64,
    step: i64,
}

impl SeriesCursor {
    pub fn next(
        &mut self,
        bounds: [&Expr; 3],
        ty: SqlType,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
    ) -> Result<bool, Halt> {
        let series = match &mut self.state {
            Some(series) => series,
            None => self.state.insert(open(bounds, env, frame)?),
        };
        let Some(value) = series.next else {
            return Ok(false);
        };
        let past = if series.step > 0 {
            value > series.stop
        } else {
            value < series.stop
        };
        let value = match ty {
            _ if past => None,
            SqlType::Int4 => i32::try_from(value).ok().map(Value::Int4),
            _ => Some(Value::Int8(value)),
        };
        series.next = value
            .as_ref()
            .and_then(Value::as_i64)
            .and_then(|v| v.checked_add(series.step));
        let given = value.is_some();
        frame.extend(value);
        Ok(given)
    }
}

fn open(bounds: [&Expr; 3], env: &mut Env<'_>, outer: &[Value]) -> Result<Series, Halt> {
    let mut values = [None; 3];
    for (value, expr) in values.iter_mut().zip(bounds) {
        *value = env.eval(expr, outer)?.as_i64();
    }
    match values {
        [_, _, Some(0)] => {
            let message = "step size cannot equal zero";
            Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message).into())
        }
        [Some(start), Some(stop), Some(step)] => Ok(Series {
            next: Some(start),
            stop,
            step,
        }),
        _ => Ok(Series {
            next: None,
            stop: 0,
            step: 1,
        }),
    }
}

/// Where an unnested array has come to.
#[derive(Default)]
pub(crate) struct UnnestCursor {
    elements: Option<std::vec::IntoIter<Value>>,
}

impl UnnestCursor {
    pub fn next(
        &mut self,
        array: &Expr,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
    ) -> Result<bool, Halt> {
        let elements = match &mut self.elements {
            Some(elements) => elements,
            None => {
                let values = match env.eval(array, frame)? {
                    Value::Array(array) => array.values,
                    _ => Vec::new(),
                };
                self.elements.insert(values.into_iter())
            }
        };
        let element = elements.next();
        let given = element.is_some();
        frame.extend(element);
        Ok(given)
    }
}
