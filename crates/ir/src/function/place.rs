//! Between where a row is, `ctid`, and the number that finds it.
//!
//! Relies on: `base::place`: a place is that number.  Promises: the order of the one is that of the other, so that
//! comparing places is comparing numbers.  Does not: have names that PostgreSQL knows; the binder calls them.

use super::{Function, builtin as new, wrong_type};
use crate::eval::Host;
use quintet_base::SqlType::{Int8, Int8Array, Tid, TidArray};
use quintet_base::value::Array;
use quintet_base::{SqlResult, Value};

/// A row's number as its place.
pub const OF_ROW: &str = "ctid_of_row";
/// The number of a place.
pub const ROW: &str = "row_of_ctid";
/// The same of an array.
pub const ROWS: &str = "rows_of_ctids";

fn same(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(args[0].clone())
}

fn rows(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    match args[0] {
        Value::Array(array) => Ok(Value::Array(Box::new(Array {
            element: Int8,
            ..(**array).clone()
        }))),
        other => wrong_type(other),
    }
}

pub(super) const FUNCTIONS: &[Function] = &[
    new(OF_ROW, &[Int8], Tid, same),
    new(ROW, &[Tid], Int8, same),
    new(ROWS, &[TidArray], Int8Array, rows),
];
