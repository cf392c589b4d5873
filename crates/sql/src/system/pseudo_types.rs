//! Types that only declarations of functions have: their numbers, names and rows of `pg_type`.
//!
//! Relies on: nothing.  Promises: PostgreSQL's numbers.  Does not: let a column or an expression be of one (42704, 0A000).

use super::print::quoted;
use super::{OWNER, PG_CATALOG, flag, oid, text};
use quintet_base::Value;

/// Number, name, width in bytes. `_cstring` is an array, but of these.
const ALL: [(u32, &str, i16); 16] = [
    (1263, "_cstring", -1),
    (2275, "cstring", -2),
    (2276, "any", 4),
    (2277, "anyarray", -1),
    (2279, "trigger", 4),
    (2281, "internal", 8),
    (2283, "anyelement", 4),
    (2776, "anynonarray", 4),
    (3500, "anyenum", 4),
    (3831, "anyrange", -1),
    (4537, "anymultirange", -1),
    (4538, "anycompatiblemultirange", -1),
    (5077, "anycompatible", 4),
    (5078, "anycompatiblearray", -1),
    (5079, "anycompatiblenonarray", 4),
    (5080, "anycompatiblerange", -1),
];
const CSTRING: u32 = 2275;
const CSTRINGS: u32 = 1263;

/// What the type with this number is called, as `format_type` prints it.
pub(super) fn shown(number: u32) -> Option<String> {
    let found = ALL.iter().find(|known| known.0 == number)?;
    Some(match number {
        CSTRINGS => "cstring[]".to_string(),
        _ => quoted(found.1),
    })
}

/// The number of the type with this name.
pub(super) fn number(name: &str) -> Option<u32> {
    let found = ALL.iter().find(|known| known.1 == name)?;
    Some(found.0)
}

/// Rows of `pg_type`, in the columns of its definition.
pub(super) fn types() -> impl Iterator<Item = Vec<Value>> {
    let row = |&(number, name, width): &(u32, &str, i16)| {
        let is_array = number == CSTRINGS;
        vec![
            oid(number),
            text(name),
            oid(PG_CATALOG),
            oid(OWNER),
            Value::Int2(width),
            flag(width > 0),
            text(if is_array { "b" } else { "p" }),
            text(if is_array { "A" } else { "P" }),
            flag(false),
            flag(true),
            text(","),
            oid(0),
            oid(if is_array { CSTRING } else { 0 }),
            oid(if number == CSTRING { CSTRINGS } else { 0 }),
            flag(false),
            oid(0),
            Value::Int4(-1),
            Value::Int4(0),
            oid(0),
            text(match width {
                8 | -1 if !is_array => "d",
                -2 => "c",
                _ => "i",
            }),
            text(match width {
                -1 => "x",
                _ => "p",
            }),
            Value::Null,
        ]
    };
    ALL.iter().map(row)
}
