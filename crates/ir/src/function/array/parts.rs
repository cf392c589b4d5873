//! Parts of arrays: elements and slices by their subscripts, and arrays with other ones.
//!
//! Relies on: `base::array`.  Promises: what is outside is NULL, or nothing; an array of one dimension grows to where it is
//! assigned to, others do not.  Does not: read subscripts from arguments.

use super::super::fail;
use quintet_base::array::{Array, Dimension, Dimensions, too_large};
use quintet_base::limits::ARRAY_ELEMENTS_MAX;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};

/// The bounds of a slice in one dimension; `None` where none is written.
pub(crate) type Bounds = (Option<i64>, Option<i64>);

fn wrong<T>(message: &str) -> SqlResult<T> {
    fail(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
}

fn integer(index: i64) -> SqlResult<i32> {
    i32::try_from(index).map_err(|_| {
        let message = "integer out of range";
        SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
    })
}

/// Visits the places of those elements that are in a range of each dimension.
fn visit(shape: &[Dimension], ranges: &[(usize, usize)], before: usize, to: &mut dyn FnMut(usize)) {
    let ([outer, shape @ ..], [(from, behind), ranges @ ..]) = (shape, ranges) else {
        to(before);
        return;
    };
    for at in *from..*behind {
        visit(shape, ranges, before * outer.length as usize + at, to);
    }
}

/// The elements within the bounds; dimensions that none are given for are taken whole.
pub(crate) fn slice(whole: &Array, bounds: &[Bounds]) -> Array {
    let shape = whole.dimensions();
    let nothing = || Array::new(whole.element, Vec::new());
    if shape.is_empty() || bounds.len() > shape.len() {
        return nothing();
    }
    let mut ranges = Vec::with_capacity(shape.len());
    let mut lengths = Dimensions::default();
    for (at, one) in shape.iter().enumerate() {
        let (low, high) = bounds.get(at).copied().unwrap_or_default();
        let (first, last) = (i64::from(one.lower), i64::from(one.upper()));
        let low = low.map_or(first, |low| low.max(first));
        let high = high.map_or(last, |high| high.min(last));
        if low > high {
            return nothing();
        }
        ranges.push(((low - first) as usize, (high - first + 1) as usize));
        let length = (high - low + 1) as i32;
        let pushed = lengths.push(Dimension { lower: 1, length });
        debug_assert!(pushed.is_ok(), "it has as many as the array");
    }
    if let [(from, behind)] = ranges.as_slice() {
        return Array::new(whole.element, whole.values[*from..*behind].to_vec());
    }
    let mut values = Vec::new();
    visit(&shape, &ranges, 0, &mut |at| {
        values.push(whole.values[at].clone());
    });
    Array::shaped(whole.element, values, &lengths)
}

/// The parts of an array that have so many of its last dimensions.
pub(crate) fn slices(whole: &Array, dimensions: i32) -> SqlResult<Vec<Value>> {
    let shape = whole.dimensions();
    let Some(outer) = usize::try_from(dimensions)
        .ok()
        .and_then(|wanted| shape.len().checked_sub(wanted))
    else {
        let message = format!(
            "slice dimension ({dimensions}) is out of the valid range 0..{}",
            shape.len()
        );
        return fail(SqlState::ARRAY_SUBSCRIPT_ERROR, message);
    };
    let inner = &shape[outer..];
    // Without any dimension a part is an element.
    if inner.is_empty() {
        return Ok(whole.values.to_vec());
    }
    let size: usize = inner.iter().map(|one| one.length as usize).product();
    let parts = whole.values.chunks(size.max(1));
    Ok(parts
        .map(|part| {
            let part = Array::shaped(whole.element, part.to_vec(), inner);
            Value::Array(Box::new(part))
        })
        .collect())
}

/// Makes an array of one dimension reach from one subscript to another.
fn widen(array: &mut Array, one: Dimension, low: i64, high: i64) -> SqlResult<Dimension> {
    let (first, last) = (i64::from(one.lower), i64::from(one.upper()));
    let (lower, upper) = (low.min(first), high.max(last));
    let length = upper - lower + 1;
    if length > ARRAY_ELEMENTS_MAX as i64 {
        return Err(too_large(ARRAY_ELEMENTS_MAX as i64));
    }
    if lower < first {
        let before = std::iter::repeat_n(Value::Null, (first - lower) as usize);
        array.values.splice(0..0, before);
    }
    array.values.resize(length as usize, Value::Null);
    let one = Dimension {
        lower: integer(lower)?,
        length: length as i32,
    };
    array.shape = match one.lower {
        1 => None,
        _ => Some(Box::new([one])),
    };
    Ok(one)
}

/// Changes one element of an array; NULL is one without elements.
///
/// # Errors
/// `2202E` for an element that cannot be, `54000` for too many.
pub fn set_element(
    array: &mut Value,
    element: SqlType,
    indices: &[i64],
    value: Value,
) -> SqlResult<()> {
    if !matches!(array, Value::Array(_)) {
        *array = Value::Array(Box::new(Array::new(element, Vec::new())));
    }
    let Value::Array(array) = array else {
        unreachable!("it has just been made one");
    };
    // Nearly always.
    if let (None, [index]) = (&array.shape, indices)
        && let Some(place) = usize::try_from(index - 1).ok()
        && let Some(place) = array.values.get_mut(place)
    {
        *place = value;
        return Ok(());
    }
    let mut shape = array.dimensions();
    if shape.is_empty() {
        for index in indices {
            let lower = integer(*index)?;
            shape.push(Dimension { lower, length: 1 })?;
        }
        shape.elements()?;
        **array = Array::shaped(array.element, vec![value], &shape);
        return Ok(());
    }
    if shape.len() != indices.len() {
        return wrong("wrong number of array subscripts");
    }
    let place = match (&*shape, indices) {
        ([one], [index]) => {
            let one = widen(array, *one, *index, *index)?;
            one.place(*index)
        }
        _ => shape.place(indices),
    };
    match place {
        Some(place) => {
            array.values[place] = value;
            Ok(())
        }
        None => wrong("array subscript out of range"),
    }
}

/// Changes the elements within the bounds to those of another array, in their order.
///
/// # Errors
/// `2202E` where there is no room, or not enough to put there; `54000` for too many.
pub(crate) fn set_slice(whole: &mut Array, bounds: &[Bounds], from: &Array) -> SqlResult<()> {
    let shape = whole.dimensions();
    let too_small = || wrong("source array too small");
    if shape.is_empty() {
        let mut new = Dimensions::default();
        for bound in bounds {
            let (Some(low), Some(high)) = *bound else {
                return Err(SqlError::new(
                    SqlState::ARRAY_SUBSCRIPT_ERROR,
                    "array slice subscript must provide both boundaries",
                )
                .detail("When assigning to a slice of an empty array value, slice boundaries must be fully specified."));
            };
            new.push(Dimension {
                lower: integer(low)?,
                length: i32::try_from(high - low + 1).unwrap_or(i32::MAX),
            })?;
        }
        let count = new.elements()?;
        let Some(values) = from.values.get(..count) else {
            return too_small();
        };
        *whole = Array::shaped(whole.element, values.to_vec(), &new);
        return Ok(());
    }
    if shape.len() < bounds.len() {
        return wrong("wrong number of array subscripts");
    }
    let mut wanted = Vec::with_capacity(shape.len());
    for (at, one) in shape.iter().enumerate() {
        let (low, high) = bounds.get(at).copied().unwrap_or_default();
        let (first, last) = (i64::from(one.lower), i64::from(one.upper()));
        let (low, high) = (low.unwrap_or(first), high.unwrap_or(last));
        if low > high {
            return wrong("upper bound cannot be less than lower bound");
        }
        if shape.len() > 1 && (low < first || high > last) {
            return wrong("array subscript out of range");
        }
        wanted.push((low, high));
    }
    let count: i64 = wanted.iter().map(|(low, high)| high - low + 1).product();
    if count > ARRAY_ELEMENTS_MAX as i64 {
        return Err(too_large(ARRAY_ELEMENTS_MAX as i64));
    }
    let Some(new) = from.values.get(..count as usize) else {
        return too_small();
    };
    let shape = match (&*shape, wanted.as_slice()) {
        ([one], [(low, high)]) => Dimensions::of(&[widen(whole, *one, *low, *high)?])?,
        _ => shape,
    };
    let ranges = wanted.iter().zip(shape.iter()).map(|((low, high), one)| {
        let first = i64::from(one.lower);
        ((low - first) as usize, (high - first + 1) as usize)
    });
    let ranges: Vec<(usize, usize)> = ranges.collect();
    let mut new = new.iter();
    let values = &mut whole.values;
    visit(&shape, &ranges, 0, &mut |at| {
        values[at] = new.next().cloned().unwrap_or_default();
    });
    Ok(())
}
