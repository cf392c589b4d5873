//! Functions of `information_schema`, which tools that read the catalogue themselves call: lengths and digits of types.
//!
//! Relies on: `base::types` for what a type with its modifier is called.  Promises: what PostgreSQL's functions of these names say. They are
//! found with their schema only, which is part of the name here.  Does not: see rows of the catalogue; `_pg_truetypid` and
//! `_pg_truetypmod`, which take such rows, are made into CASE (`sql::call`).

use super::{Function, builtin as new, str};
use crate::eval::Host;
use quintet_base::SqlType::{Int4, Name, Oid, Text};
use quintet_base::limits::IDENTIFIER_BYTES_MAX;
use quintet_base::{SqlResult, SqlType, TypeMod, Value, types};

/// The type of a column, or that which its domain is over; takes rows of `pg_attribute` and `pg_type`.
pub const TRUE_TYPE: &str = "information_schema._pg_truetypid";

/// And its modifier.
pub const TRUE_MODIFIER: &str = "information_schema._pg_truetypmod";

/// Where a column stands in an index: a query.
pub const INDEX_POSITION: &str = "information_schema._pg_index_position";

/// A modifier of lengths counts these bytes, too.
const HEADER: i32 = 4;

/// The function of `information_schema` that is called so there.
pub fn of_information_schema(name: &str) -> Option<&'static str> {
    let functions = FUNCTIONS.iter().map(|function| function.name);
    let all = functions.chain([TRUE_TYPE, TRUE_MODIFIER, INDEX_POSITION]);
    let bare = |full: &'static str| full.split_once('.').map(|(_, name)| name);
    all.into_iter().find(|full| bare(full) == Some(name))
}

/// Type and modifier; `None` for a type that somebody has made.
fn of(args: &[&Value]) -> (Option<SqlType>, Option<i32>) {
    let ty = match args[0] {
        Value::Oid(number) => SqlType::built_in_with_oid(*number),
        _ => None,
    };
    let modifier = args[1]
        .as_i64()
        .and_then(|number| i32::try_from(number).ok());
    (ty, modifier)
}

fn number(number: Option<i32>) -> SqlResult<Value> {
    Ok(number.map_or(Value::Null, Value::Int4))
}

fn length(ty: Option<SqlType>, modifier: Option<i32>) -> Option<i32> {
    let modifier = modifier.filter(|modifier| *modifier != TypeMod::NONE.0)?;
    match ty? {
        SqlType::Bpchar | SqlType::Varchar => Some(modifier.wrapping_sub(HEADER)),
        SqlType::Bit | SqlType::VarBit => Some(modifier),
        _ => None,
    }
}

fn characters(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (ty, modifier) = of(args);
    number(length(ty, modifier))
}

fn octets(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    /// The longest text, as PostgreSQL says it.
    const LONGEST: i32 = 1 << 30;
    /// Of one character in UTF-8.
    const PER_CHARACTER: i32 = 4;
    let (ty, modifier) = of(args);
    number(match ty {
        Some(SqlType::Text | SqlType::Bpchar | SqlType::Varchar) => match modifier {
            Some(modifier) if modifier == TypeMod::NONE.0 => Some(LONGEST),
            modifier => length(ty, modifier).map(|length| length.wrapping_mul(PER_CHARACTER)),
        },
        _ => None,
    })
}

/// The two halves of a numeric's modifier.
fn digits(modifier: Option<i32>, shift: u32) -> Option<i32> {
    let modifier = modifier.filter(|modifier| *modifier != TypeMod::NONE.0)?;
    Some((modifier.wrapping_sub(HEADER) >> shift) & 0xffff)
}

fn precision(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (ty, modifier) = of(args);
    number(match ty {
        Some(SqlType::Int2) => Some(16),
        Some(SqlType::Int4) => Some(32),
        Some(SqlType::Int8) => Some(64),
        Some(SqlType::Float4) => Some(24),
        Some(SqlType::Float8) => Some(53),
        Some(SqlType::Numeric) => digits(modifier, 16),
        _ => None,
    })
}

fn radix(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    use SqlType::{Float4, Float8, Int2, Int4, Int8};
    number(match of(args).0 {
        Some(Int2 | Int4 | Int8 | Float4 | Float8) => Some(2),
        Some(SqlType::Numeric) => Some(10),
        _ => None,
    })
}

fn scale(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (ty, modifier) = of(args);
    number(match ty {
        Some(SqlType::Int2 | SqlType::Int4 | SqlType::Int8) => Some(0),
        Some(SqlType::Numeric) => digits(modifier, 0),
        _ => None,
    })
}

fn seconds(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    /// Digits of a second where none are written.
    const USUAL: i32 = 6;
    const HALF: i32 = 0xffff;
    let (ty, modifier) = of(args);
    number(match ty {
        Some(SqlType::Date) => Some(0),
        Some(SqlType::Time | SqlType::TimeTz | SqlType::Timestamp | SqlType::TimestampTz) => {
            modifier.map(|modifier| if modifier < 0 { USUAL } else { modifier })
        }
        Some(SqlType::Interval) => modifier.map(|modifier| match modifier & HALF {
            _ if modifier < 0 => USUAL,
            HALF => USUAL,
            digits => digits,
        }),
        _ => None,
    })
}

/// `DAY TO SECOND(3)`: the fields of an interval, if some are written.
fn fields(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (ty, modifier) = of(args);
    let Some(ty @ SqlType::Interval) = ty else {
        return Ok(Value::Null);
    };
    let name = types::format_type(ty, TypeMod(modifier.unwrap_or(TypeMod::NONE.0)));
    Ok(match name.split_once(' ') {
        Some((_, fields)) => Value::text(fields.to_uppercase()),
        None => Value::Null,
    })
}

/// A routine's `specific_name`: its name, cut where both would be too long, and its number.
fn name_and_number(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let behind = match args[1] {
        Value::Oid(number) => format!("_{number}"),
        _ => String::new(),
    };
    let name = str(args[0]);
    let mut end = name.len().min(IDENTIFIER_BYTES_MAX - behind.len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    Ok(Value::text(format!("{}{behind}", &name[..end])))
}

const OF_TYPE: &[SqlType] = &[Oid, Int4];

pub(super) static FUNCTIONS: &[Function] = &[
    new(
        "information_schema._pg_char_max_length",
        OF_TYPE,
        Int4,
        characters,
    ),
    new(
        "information_schema._pg_char_octet_length",
        OF_TYPE,
        Int4,
        octets,
    ),
    new(
        "information_schema._pg_numeric_precision",
        OF_TYPE,
        Int4,
        precision,
    ),
    new(
        "information_schema._pg_numeric_precision_radix",
        OF_TYPE,
        Int4,
        radix,
    ),
    new("information_schema._pg_numeric_scale", OF_TYPE, Int4, scale),
    new(
        "information_schema._pg_datetime_precision",
        OF_TYPE,
        Int4,
        seconds,
    ),
    new(
        "information_schema._pg_interval_type",
        OF_TYPE,
        Text,
        fields,
    ),
];

/// Those that the views call and that are of `pg_catalog`.
pub(super) static NAMES: &[Function] = &[new("nameconcatoid", &[Name, Oid], Name, name_and_number)];
