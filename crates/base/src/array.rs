//! Arrays: elements, and where they lie in one to six dimensions.
//!
//! Relies on: `Value`.  Promises: an array of one dimension that begins at 1, which is nearly every one, has no shape and costs
//! what its elements cost; an array without elements has no dimensions; equal arrays are equal in elements and shape.
//! Does not: check that elements are of the element type.

use crate::error::{SqlError, SqlResult, SqlState};
use crate::types::SqlType;
use crate::value::Value;
use std::cmp::Ordering;
use std::ops::Deref;

/// As many dimensions as an array may have.
pub const DIMENSIONS_MAX: usize = 6;

/// The most elements that PostgreSQL names in its messages.
pub const SIZE_MAX: i64 = 134_217_727;

/// One dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dimension {
    /// The first subscript.
    pub lower: i32,
    /// How many there are.
    pub length: i32,
}

impl Dimension {
    /// The last subscript.
    pub fn upper(self) -> i32 {
        self.lower.wrapping_add(self.length).wrapping_sub(1)
    }

    /// How far behind the first a subscript is, if it is inside.
    #[inline]
    pub fn place(self, index: i64) -> Option<usize> {
        let place = index - i64::from(self.lower);
        (0..i64::from(self.length))
            .contains(&place)
            .then_some(place as usize)
    }
}

/// The dimensions of an array, outermost first; none if it has no elements.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dimensions {
    all: [Dimension; DIMENSIONS_MAX],
    count: usize,
}

impl Dimensions {
    /// The same with one more inside; `54000` if it had as many as there may be.
    pub fn push(&mut self, dimension: Dimension) -> SqlResult<()> {
        if self.count == DIMENSIONS_MAX {
            return Err(too_many_dimensions(DIMENSIONS_MAX + 1));
        }
        self.all[self.count] = dimension;
        self.count += 1;
        Ok(())
    }

    /// These ones.
    ///
    /// # Errors
    /// `54000` for more than there may be.
    pub fn of(given: &[Dimension]) -> SqlResult<Dimensions> {
        if given.len() > DIMENSIONS_MAX {
            return Err(too_many_dimensions(given.len()));
        }
        let mut new = Dimensions::default();
        given.iter().try_for_each(|one| new.push(*one))?;
        Ok(new)
    }

    /// How many elements they have.
    ///
    /// # Errors
    /// `54000` for more than an array may have, or for subscripts beyond what an integer has.
    pub fn elements(&self) -> SqlResult<usize> {
        let mut count = 1_i64;
        for dimension in self.iter() {
            count *= i64::from(dimension.length);
            if dimension.length < 0 || count > SIZE_MAX {
                return Err(too_large(SIZE_MAX));
            }
        }
        for dimension in self.iter() {
            if dimension.lower.checked_add(dimension.length).is_none() {
                let message = format!("array lower bound is too large: {}", dimension.lower);
                return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
            }
        }
        Ok(if self.count == 0 { 0 } else { count as usize })
    }

    /// Where the element with these subscripts is; `None` if there is none.
    pub fn place(&self, indices: &[i64]) -> Option<usize> {
        if indices.len() != self.count || indices.is_empty() {
            return None;
        }
        let mut at = 0;
        for (dimension, index) in self.iter().zip(indices) {
            at = at * dimension.length as usize + dimension.place(*index)?;
        }
        Some(at)
    }
}

impl Deref for Dimensions {
    type Target = [Dimension];

    fn deref(&self) -> &[Dimension] {
        &self.all[..self.count]
    }
}

/// `54000`
pub fn too_many_dimensions(count: usize) -> SqlError {
    let message = format!(
        "number of array dimensions ({count}) exceeds the maximum allowed ({DIMENSIONS_MAX})"
    );
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

/// `54000`
pub fn too_large(most: i64) -> SqlError {
    let message = format!("array size exceeds the maximum allowed ({most})");
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

/// An array.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Type of the elements.
    pub element: SqlType,
    /// The elements; NULL allowed. Of several dimensions the last subscript changes first.
    pub values: Vec<Value>,
    /// The dimensions, unless it has none, or one that begins at 1.
    pub shape: Option<Box<[Dimension]>>,
}

impl Array {
    /// An array of one dimension that begins at 1.
    #[inline]
    pub fn new(element: SqlType, values: Vec<Value>) -> Array {
        Array {
            element,
            values,
            shape: None,
        }
    }

    /// An array of these dimensions, which have room for as many elements.
    pub fn shaped(element: SqlType, values: Vec<Value>, dimensions: &[Dimension]) -> Array {
        debug_assert_eq!(
            values.len() as i64,
            match dimensions {
                [] => 0,
                all => all.iter().map(|one| i64::from(one.length)).product(),
            }
        );
        let plain = values.is_empty() || matches!(dimensions, [one] if one.lower == 1);
        let shape = (!plain).then(|| dimensions.into());
        Array {
            element,
            values,
            shape,
        }
    }

    /// As [`Array::shaped`]; `None` if the dimensions have room for another number of elements.
    pub fn checked(element: SqlType, values: Vec<Value>, given: &[Dimension]) -> Option<Array> {
        let room = Dimensions::of(given).ok()?.elements().ok()?;
        (room == values.len()).then(|| Array::shaped(element, values, given))
    }

    /// Other elements in the same places.
    pub fn with(&self, element: SqlType, values: Vec<Value>) -> Array {
        debug_assert_eq!(values.len(), self.values.len());
        Array {
            element,
            values,
            shape: self.shape.clone(),
        }
    }

    /// The dimensions.
    pub fn dimensions(&self) -> Dimensions {
        let mut dimensions = Dimensions::default();
        match &self.shape {
            Some(shape) => {
                dimensions.all[..shape.len()].copy_from_slice(shape);
                dimensions.count = shape.len();
            }
            None if self.values.is_empty() => {}
            None => {
                dimensions.all[0] = Dimension {
                    lower: 1,
                    length: self.values.len() as i32,
                };
                dimensions.count = 1;
            }
        }
        dimensions
    }

    /// True if it has more than one dimension.
    pub fn is_nested(&self) -> bool {
        self.shape.as_ref().is_some_and(|shape| shape.len() > 1)
    }

    /// The element with this one subscript.
    #[inline]
    pub fn at(&self, index: i64) -> Option<&Value> {
        let at = match self.shape.as_deref() {
            None => usize::try_from(index.wrapping_sub(1)).ok()?,
            Some([only]) => only.place(index)?,
            Some(_) => return None,
        };
        self.values.get(at)
    }

    /// As ORDER BY sees them: by the elements, their number, then the dimensions.
    pub fn order(&self, other: &Array) -> Ordering {
        let pairs = self.values.iter().zip(&other.values);
        pairs
            .map(|(x, y)| x.order(y))
            .find(|order| order.is_ne())
            .unwrap_or_else(|| self.values.len().cmp(&other.values.len()))
            .then_with(|| match (&self.shape, &other.shape) {
                (None, None) => Ordering::Equal,
                _ => shape_order(&self.dimensions(), &other.dimensions()),
            })
    }
}

fn shape_order(one: &[Dimension], other: &[Dimension]) -> Ordering {
    let lengths = |all: &[Dimension]| all.iter().map(|d| d.length).collect::<Vec<_>>();
    let lowers = |all: &[Dimension]| all.iter().map(|d| d.lower).collect::<Vec<_>>();
    (one.len().cmp(&other.len()))
        .then_with(|| lengths(one).cmp(&lengths(other)))
        .then_with(|| lowers(one).cmp(&lowers(other)))
}

/// Arrays as the parts of one that has a dimension more.
///
/// # Errors
/// As `array_agg` has them: `22004` for NULL, `2202E` for arrays without elements or of other dimensions than the first.
pub fn stacked(element: SqlType, parts: Vec<Value>) -> SqlResult<Array> {
    let wrong = |message: &str| Err(SqlError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
    let mut inner: Option<Dimensions> = None;
    let (length, mut values) = (parts.len() as i32, Vec::new());
    for part in parts {
        let Value::Array(part) = part else {
            let message = "cannot accumulate null arrays";
            return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
        };
        let own = part.dimensions();
        match &inner {
            None if own.is_empty() => return wrong("cannot accumulate empty arrays"),
            None if own.len() == DIMENSIONS_MAX => return Err(too_many_dimensions(own.len() + 1)),
            None => inner = Some(own),
            Some(inner) if **inner != *own => {
                return wrong("cannot accumulate arrays of different dimensionality");
            }
            Some(_) => {}
        }
        values.extend(part.values);
    }
    let mut all = Dimensions::default();
    all.push(Dimension { lower: 1, length })?;
    for one in inner.unwrap_or_default().iter() {
        all.push(*one)?;
    }
    all.elements()?;
    Ok(Array::shaped(element, values, &all))
}
