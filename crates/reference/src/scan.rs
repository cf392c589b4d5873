//! Rows of one table by an access path.
//!
//! Relies on: `Value::order`.  Promises: the rows that the path's ranges name, each once, in the order of
//! the ranges and inside a range in the order of the key or index; NULL is in no bounded range.  Does not:
//! use an index: it looks at every row and sorts what fits.

use crate::database::{Key, as_compared};
use crate::plan::{Run, See, Wish, behind};
use crate::trace::Deed;
use quintet_base::{SqlResult, Value};
use quintet_ir::{Access, Expr, KeyRange, Path};
use std::cmp::Ordering;

/// A range with its bounds known.
struct Bounds {
    equal: Vec<Value>,
    lower: Option<(Value, bool)>,
    upper: Option<(Value, bool)>,
}

impl Run<'_> {
    /// Shows the rows of an access path that pass its filter, each behind the outer frame.
    pub fn scan(&self, access: &Access, outer: &[Value], see: See<'_>) -> SqlResult<Wish> {
        let rows = self.rows_of_path(access, outer)?;
        if let Some(trace) = self.interpreter.trace {
            rows.iter()
                .for_each(|row| trace.row(&access.table, Deed::Read, row));
        }
        for row in rows {
            let frame = behind(outer, row);
            if self.passes(access.filter.as_ref(), &frame)? && see(&frame)? == Wish::Enough {
                return Ok(Wish::Enough);
            }
        }
        Ok(Wish::More)
    }

    fn rows_of_path(&self, access: &Access, outer: &[Value]) -> SqlResult<Vec<Vec<Value>>> {
        let table = &*access.table;
        let row_key = table.key_columns();
        let whole = [KeyRange::default()];
        let (columns, ranges) = match &access.path {
            // More rows than are sought may come: the filter asks them again.
            Path::Full | Path::Elements(..) => (row_key.clone(), &whole[..]),
            Path::Primary(ranges) => (row_key.clone(), &ranges[..]),
            Path::Index(number, ranges) => (table.indexes[*number].columns.clone(), &ranges[..]),
        };
        // Rows that an index holds equal come in the order of their own keys.
        let order: Vec<usize> = columns.iter().chain(&row_key).copied().collect();
        let mut ordered: Vec<&Vec<Value>> = self.before.rows(table).collect();
        ordered.sort_by_key(|row| Key::of(table, &order, row));
        if access.reverse {
            ordered.reverse();
        }
        let mut given = vec![false; ordered.len()];
        let mut rows = Vec::new();
        for bounds in self.bounds(ranges, access, &columns, outer)? {
            for (row, given) in ordered.iter().zip(&mut given) {
                if !*given && bounds.hold(&Key::of(table, &columns, row)) {
                    *given = true;
                    rows.push(Vec::clone(row));
                }
            }
        }
        Ok(rows)
    }

    /// The ranges, without those that have a NULL in them: nothing equals it, or is above or below.
    fn bounds(
        &self,
        ranges: &[KeyRange],
        access: &Access,
        columns: &[usize],
        outer: &[Value],
    ) -> SqlResult<Vec<Bounds>> {
        let mut found = Vec::new();
        for range in ranges {
            // What stands behind a NULL is not looked at.
            let value = |place: usize, expr: &Expr| -> SqlResult<Option<Value>> {
                let ty = access.table.frame_type(columns[place]);
                let value = as_compared(self.eval(expr, outer)?, ty);
                Ok((!value.is_null()).then_some(value))
            };
            let mut equal = Vec::new();
            for (place, expr) in range.equal.iter().enumerate() {
                match value(place, expr)? {
                    Some(value) => equal.push(value),
                    None => break,
                }
            }
            if equal.len() < range.equal.len() {
                continue;
            }
            let mut bounds = Bounds {
                equal,
                lower: None,
                upper: None,
            };
            let next = range.equal.len();
            if let Some(bound) = &range.lower {
                match value(next, &bound.value)? {
                    Some(value) => bounds.lower = Some((value, bound.inclusive)),
                    None => continue,
                }
            }
            if let Some(bound) = &range.upper {
                match value(next, &bound.value)? {
                    Some(value) => bounds.upper = Some((value, bound.inclusive)),
                    None => continue,
                }
            }
            found.push(bounds);
        }
        Ok(found)
    }
}

impl Bounds {
    fn hold(&self, key: &Key) -> bool {
        let (equal, rest) = key.0.split_at(self.equal.len());
        let equals = |(a, b): (&Value, &Value)| a.order(b).is_eq();
        if !equal.iter().zip(&self.equal).all(equals) {
            return false;
        }
        if self.lower.is_none() && self.upper.is_none() {
            return true;
        }
        let value = &rest[0];
        let beyond = |bound: &Option<(Value, bool)>, wanted: Ordering| match bound {
            None => true,
            Some((bound, inclusive)) => match value.order(bound) {
                Ordering::Equal => *inclusive,
                order => order == wanted,
            },
        };
        !value.is_null()
            && beyond(&self.lower, Ordering::Greater)
            && beyond(&self.upper, Ordering::Less)
    }
}
