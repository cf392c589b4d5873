//! How far a FOR loop has come.
//!
//! Relies on: the bounds, rows or elements that it was made with.  Promises: the last turn's value never
//! runs over; what is given is given once.  Does not: run anything.

use quintet_base::{SqlError, SqlResult, SqlState, Value};

/// See the module.
pub(crate) struct Turns {
    turned: bool,
    rest: Rest,
}

enum Rest {
    /// The next value; `None` behind the last.
    Integers {
        next: Option<i32>,
        last: i32,
        step: i32,
        reverse: bool,
    },
    Rows(std::vec::IntoIter<Vec<Value>>),
    Elements(std::vec::IntoIter<Value>),
}

impl Turns {
    /// FOR i IN lower .. upper BY step.
    pub fn integers(lower: &Value, upper: &Value, step: &Value, reverse: bool) -> SqlResult<Turns> {
        let bound = |value: &Value, what: &str| match value {
            Value::Int4(value) => Ok(*value),
            _ => Err(SqlError::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                format!("{what} of FOR loop cannot be null"),
            )),
        };
        let (lower, upper) = (bound(lower, "lower bound")?, bound(upper, "upper bound")?);
        let step = bound(step, "BY value")?;
        if step <= 0 {
            return Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "BY value of FOR loop must be greater than zero",
            ));
        }
        let any = match reverse {
            false => lower <= upper,
            true => lower >= upper,
        };
        Ok(Turns::new(Rest::Integers {
            next: any.then_some(lower),
            last: upper,
            step,
            reverse,
        }))
    }

    /// FOR row IN query.
    pub fn rows(rows: Vec<Vec<Value>>) -> Turns {
        Turns::new(Rest::Rows(rows.into_iter()))
    }

    /// FOREACH element IN ARRAY.
    pub fn elements(array: Value) -> SqlResult<Turns> {
        match array {
            Value::Array(array) => Ok(Turns::new(Rest::Elements(array.values.into_iter()))),
            _ => Err(SqlError::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                "FOREACH expression must not be null",
            )),
        }
    }

    fn new(rest: Rest) -> Turns {
        Turns {
            turned: false,
            rest,
        }
    }

    /// The next integer or element.
    pub fn next_value(&mut self) -> Option<Value> {
        let value = match &mut self.rest {
            Rest::Integers {
                next,
                last,
                step,
                reverse,
            } => {
                let value = (*next)?;
                let following = match reverse {
                    false => value.checked_add(*step).filter(|next| next <= last),
                    true => value.checked_sub(*step).filter(|next| next >= last),
                };
                *next = following;
                Value::Int4(value)
            }
            Rest::Elements(elements) => elements.next()?,
            Rest::Rows(_) => unreachable!("a loop over rows"),
        };
        self.turned = true;
        Some(value)
    }

    /// The next row.
    pub fn next_row(&mut self) -> Option<Vec<Value>> {
        let Rest::Rows(rows) = &mut self.rest else {
            unreachable!("no loop over rows");
        };
        let row = rows.next()?;
        self.turned = true;
        Some(row)
    }

    /// Whether there was a turn.
    pub fn has_turned(&self) -> bool {
        self.turned
    }
}
