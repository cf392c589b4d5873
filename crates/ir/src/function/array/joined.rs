//! Arrays put together: `ARRAY[…]` of arrays, `||`, `array_fill`.
//!
//! Relies on: `base::array`.  Promises: PostgreSQL's dimensions and messages.  Does not: ask which types fit.

use super::super::{Function, builtin as new, fail, int};
use super::{ELEMENTS_MAX, FILL_MAX, array, element_type, make, values};
use crate::eval::Host;
use quintet_base::array::{Array, Dimension, Dimensions, too_large, too_many_dimensions};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};

/// An array of arrays, which are its parts. Its type is the node's.
pub static NESTED: Function = new("array[]", &[SqlType::Unknown], SqlType::Unknown, nested)
    .variadic()
    .lenient()
    .stable();

fn nested(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let wrong = || {
        let message =
            "multidimensional arrays must have array expressions with matching dimensions";
        fail(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
    };
    let parts = || {
        args.iter().filter_map(|arg| match arg {
            Value::Array(part) if !part.values.is_empty() => Some(&**part),
            _ => None,
        })
    };
    let Some(first) = parts().next() else {
        return Ok(make(SqlType::Unknown, Vec::new()));
    };
    let inner = first.dimensions();
    if parts().count() != args.len() || parts().any(|part| *part.dimensions() != *inner) {
        return wrong();
    }
    let mut shape = Dimensions::default();
    shape.push(Dimension {
        lower: 1,
        length: args.len() as i32,
    })?;
    inner.iter().try_for_each(|one| shape.push(*one))?;
    let all: Vec<&[Value]> = parts().map(|part| part.values.as_slice()).collect();
    let array = Array::shaped(first.element, joined(&all)?, &shape);
    Ok(Value::Array(Box::new(array)))
}

/// Values behind each other, as many as one array may have.
fn joined(parts: &[&[Value]]) -> SqlResult<Vec<Value>> {
    let count: usize = parts.iter().map(|part| part.len()).sum();
    if count > ELEMENTS_MAX {
        return Err(too_large(ELEMENTS_MAX as i64));
    }
    Ok(parts.concat())
}

/// The same array one longer, with a value at an end. It begins where it began.
fn longer(whole: &Value, value: &Value, is_last: bool) -> SqlResult<Value> {
    let element = element_type(whole, value);
    let (own, one) = (values(whole), std::slice::from_ref(value));
    let all = match is_last {
        true => [own, one],
        false => [one, own],
    };
    let Value::Array(given) = whole else {
        return Ok(make(element, joined(&all)?));
    };
    let Some(shape) = &given.shape else {
        return Ok(make(element, joined(&all)?));
    };
    let [one] = &**shape else {
        let message = "argument must be empty or one-dimensional array";
        return fail(SqlState::DATA_EXCEPTION, message);
    };
    let at = match is_last {
        true => i64::from(one.lower) + i64::from(one.length),
        false => i64::from(one.lower) - 1,
    };
    if i32::try_from(at).is_err() {
        return fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range");
    }
    let shape = Dimensions::of(&[Dimension {
        lower: one.lower,
        length: one.length + 1,
    }])?;
    shape.elements()?;
    let array = Array::shaped(element, joined(&all)?, &shape);
    Ok(Value::Array(Box::new(array)))
}

pub(super) fn append(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    longer(args[0], args[1], true)
}

pub(super) fn prepend(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    longer(args[1], args[0], false)
}

pub(super) fn concatenate(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (left, right) = match (args[0], args[1]) {
        (Value::Null, only) | (only, Value::Null) => return Ok(only.clone()),
        (left, right) => (array(left), array(right)),
    };
    if left.values.is_empty() {
        return Ok(args[1].clone());
    }
    if right.values.is_empty() {
        return Ok(args[0].clone());
    }
    let all = || joined(&[&left.values, &right.values]);
    if left.shape.is_none() && right.shape.is_none() {
        return Ok(make(left.element, all()?));
    }
    let wrong = |detail: String| {
        let message = "cannot concatenate incompatible arrays";
        Err(SqlError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message).detail(detail))
    };
    let (one, other) = (left.dimensions(), right.dimensions());
    let (mut shape, fits, what) = match one.len() as i32 - other.len() as i32 {
        0 => (one.to_vec(), one[1..] == other[1..], "element dimensions"),
        1 => (one.to_vec(), one[1..] == *other, "dimensions"),
        -1 => (other.to_vec(), *one == other[1..], "dimensions"),
        _ => {
            return wrong(format!(
                "Arrays of {} and {} dimensions are not compatible for concatenation.",
                one.len(),
                other.len()
            ));
        }
    };
    if !fits {
        return wrong(format!(
            "Arrays with differing {what} are not compatible for concatenation."
        ));
    }
    shape[0].length += match one.len() == other.len() {
        true => other[0].length,
        false => 1,
    };
    let shape = Dimensions::of(&shape)?;
    shape.elements()?;
    let array = Array::shaped(left.element, all()?, &shape);
    Ok(Value::Array(Box::new(array)))
}

/// The numbers of an array of one dimension.
fn numbers(value: &Value) -> SqlResult<Vec<i32>> {
    let null = |message: &str| fail(SqlState::NULL_VALUE_NOT_ALLOWED, message);
    if value.is_null() {
        return null("dimension array or low bound array cannot be null");
    }
    let given = array(value);
    if given.is_nested() {
        return Err(wrong_count("Dimension array must be one dimensional."));
    }
    if given.values.iter().any(Value::is_null) {
        return null("dimension values cannot be null");
    }
    Ok(given.values.iter().map(|one| int(one) as i32).collect())
}

fn wrong_count(detail: &str) -> SqlError {
    let message = "wrong number of array subscripts";
    SqlError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message).detail(detail)
}

/// As many copies of a value as dimensions have room for.
pub(super) fn fill(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    if args[1..].iter().any(|arg| arg.is_null()) {
        numbers(&Value::Null)?;
    }
    let lengths = numbers(args[1])?;
    let lowers = args.get(2).map(|lowers| numbers(lowers)).transpose()?;
    if lengths.len() > quintet_base::array::DIMENSIONS_MAX {
        return Err(too_many_dimensions(lengths.len()));
    }
    if lowers
        .as_ref()
        .is_some_and(|lowers| lowers.len() != lengths.len())
    {
        return Err(wrong_count(
            "Low bound array has different size than dimensions array.",
        ));
    }
    let mut shape = Dimensions::default();
    for (at, length) in lengths.into_iter().enumerate() {
        let lower = lowers.as_ref().map_or(1, |lowers| lowers[at]);
        shape.push(Dimension { lower, length })?;
    }
    let wanted = shape.elements()?;
    if wanted > FILL_MAX {
        return Err(too_large(FILL_MAX as i64));
    }
    let element = element_type(&Value::Null, args[0]);
    let values = vec![args[0].clone(); wanted];
    Ok(Value::Array(Box::new(Array::shaped(
        element, values, &shape,
    ))))
}
