//! What tells one state of a row from another: `xmin` (decision 104).
//!
//! Relies on: `hash`, rows as they are stored.  Promises: the same number for the same values of the same types, whoever asks and
//! when; of two states of a row that differ in any stored byte, another number but for one case in 2^32.
//! Does not: know when a row was changed, or by whom.

use super::{Function, builtin as new, hash};
use crate::eval::Host;
use quintet_base::SqlType::{Int4, Unknown, Xid};
use quintet_base::row::RowLayout;
use quintet_base::{SqlResult, Value};

/// The number of a row, whose values are the arguments.
pub const OF_ROW: &str = "xmin_of_row";
/// An integer as the number that it is compared with.
pub const OF_INTEGER: &str = "xid_of_integer";

/// Lower ones have a meaning in PostgreSQL.
const FIRST: u32 = 3;

fn of_row(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let types = args.iter().map(|value| value.natural_type()).collect();
    let mut bytes = Vec::new();
    RowLayout::new(types).encode_into(args, &mut bytes)?;
    Ok(Value::Oid(hash::of_bytes(&bytes).max(FIRST)))
}

fn of_integer(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Oid(super::int(args[0]) as u32))
}

pub(super) const FUNCTIONS: &[Function] = &[
    new(OF_ROW, &[Unknown], Xid, of_row).variadic().lenient(),
    new(OF_INTEGER, &[Int4], Xid, of_integer),
];
