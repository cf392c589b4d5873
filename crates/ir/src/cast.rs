//! Conversions between types: which exist, which happen by themselves, and the common type of many.
//!
//! Relies on: `convert`, which turns one value into another type.  Promises: the matrix is
//! PostgreSQL's `pg_cast` plus its conversions through text, for the types that Quintet has.
//! Does not: decide where a conversion goes; the binder does.
//!
//! | from → to | context |
//! |---|---|
//! | narrow number → wider, integers → oid, text kinds among each other, date → timestamps | implicit |
//! | wide number → narrower, timestamps → date, anything → text kinds | assignment |
//! | text kinds → anything, bool ↔ integer, jsonb → boolean and numbers | explicit |
//! | time → timetz and interval | implicit |
//! | oid ↔ regclass and its kin, integers → these, text → regclass | implicit |
//! | citext → text, varchar | implicit; back, char, boolean and inet → citext: assignment |
//! | hstore → json, jsonb; text[] → hstore | explicit |
//! | integer, bigint and numeric → money, money → numeric | assignment |
//! | point → box, box and path → polygon, polygon → path | assignment; others among figures: explicit |
//! | cidr → inet | implicit; the other way: assignment |
//! | range → its multirange | explicit |
//! | bit ↔ bit varying | implicit; bit ↔ integer: explicit |
//! | json ↔ jsonb, what shows a time of day → time | assignment |
//! | arrays | as their elements |

mod convert;

use crate::eval::Host;
use quintet_base::types::TypeFamily;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value, text_format};

/// When a conversion happens by itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CastContext {
    /// Anywhere.
    Implicit,
    /// When storing into a column.
    Assignment,
    /// Only when written.
    Explicit,
}

/// PostgreSQL's type categories, which steer the choice among overloaded functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Category {
    Array,
    Bits,
    Boolean,
    Composite,
    DateTime,
    Geometric,
    Internal,
    Network,
    Numeric,
    Pseudo,
    Range,
    String,
    Timespan,
    Unknown,
    User,
}

/// The category of a type.
pub(crate) fn category(ty: SqlType) -> Category {
    match ty.family() {
        TypeFamily::Boolean => Category::Boolean,
        TypeFamily::Integer | TypeFamily::Float | TypeFamily::Exact | TypeFamily::Money => {
            Category::Numeric
        }
        TypeFamily::Text if ty == SqlType::InternalChar => Category::Internal,
        TypeFamily::Text | TypeFamily::Caseless => Category::String,
        TypeFamily::DateTime => Category::DateTime,
        TypeFamily::Array => Category::Array,
        TypeFamily::Unknown => Category::Unknown,
        TypeFamily::Timespan => Category::Timespan,
        TypeFamily::Geometry => Category::Geometric,
        TypeFamily::Network => Category::Network,
        TypeFamily::Bits => Category::Bits,
        TypeFamily::Range | TypeFamily::Multirange => Category::Range,
        TypeFamily::Record if ty == SqlType::Record => Category::Pseudo,
        TypeFamily::Record => Category::Composite,
        TypeFamily::Binary
        | TypeFamily::Uuid
        | TypeFamily::Card
        | TypeFamily::Search
        | TypeFamily::Pairs
        | TypeFamily::Place
        | TypeFamily::Transaction
        | TypeFamily::Json
        | TypeFamily::Void
        | TypeFamily::Enum => Category::User,
    }
}

/// True for the types that a category prefers over its others.
pub(crate) fn is_preferred(ty: SqlType) -> bool {
    use SqlType::*;
    matches!(
        ty,
        Bool | Float8 | Oid | Text | TimestampTz | Interval | Inet | VarBit
    )
}

/// The weakest context in which `from` converts to `to`; `None`: never.
pub fn cast_context(from: SqlType, to: SqlType) -> Option<CastContext> {
    use CastContext::*;
    use SqlType::*;
    if from == to || from == Unknown {
        return Some(Implicit);
    }
    if matches!((from, to), (Composite(_), Record)) {
        return Some(Implicit);
    }
    if from == Cstring {
        return (category(to) == Category::String).then_some(Assignment);
    }
    if to == Cstring {
        return (category(from) == Category::String).then_some(Explicit);
    }
    if matches!(from, Record | Void) && category(to) == Category::String {
        return Some(Assignment);
    }
    if to == Unknown || matches!(from, Void | Record) || matches!(to, Void | Record) {
        return None;
    }
    if matches!((from, to), (Composite(_), Composite(_))) {
        return None;
    }
    if let (Some(a), Some(b)) = (from.element(), to.element()) {
        return cast_context(a, b);
    }
    Some(match (from, to) {
        (Int2, Int4 | Int8 | Float4 | Float8 | Numeric | Oid) => Implicit,
        (Int4, Int8 | Float4 | Float8 | Numeric | Oid) => Implicit,
        (Int8, Float4 | Float8 | Numeric | Oid) => Implicit,
        (Numeric, Float4 | Float8) | (Float4, Float8) => Implicit,
        // The kinds of oid are one another's aliases, as far as numbers go.
        (Int2 | Int4 | Int8 | Oid, to) if to.is_named_oid() => Implicit,
        (from, Oid) if from.is_named_oid() => Implicit,
        (RegProc, RegProcedure) | (RegProcedure, RegProc) => Implicit,
        (from, Int4 | Int8) if from.is_named_oid() => Assignment,
        (Text | Varchar, RegClass) => Implicit,
        (Int4, Int2) | (Int8, Int2 | Int4) | (Oid, Int4 | Int8) => Assignment,
        (Numeric | Float4 | Float8, Int2 | Int4 | Int8) => Assignment,
        (Float4 | Float8, Numeric) | (Float8, Float4) => Assignment,
        (Int4, Bool) | (Bool, Int4) | (Int4, InternalChar) | (InternalChar, Int4) => Explicit,
        (Text | Varchar | Bpchar, Text | Varchar | Bpchar | Name) => Implicit,
        (Name | InternalChar, Text) => Implicit,
        (Text | Varchar | Bpchar, InternalChar) => Assignment,
        (Citext, Text | Varchar) => Implicit,
        (Hstore, Json | Jsonb) | (TextArray, Hstore) => Explicit,
        (Date, Timestamp | TimestampTz) | (Timestamp, TimestampTz) => Implicit,
        (Timestamp | TimestampTz, Date) | (TimestampTz, Timestamp) => Assignment,
        (Time, TimeTz | Interval) => Implicit,
        (TimeTz | Timestamp | TimestampTz | Interval, Time) | (TimestampTz, TimeTz) => Assignment,
        (Int4 | Int8 | Numeric, Money) | (Money, Numeric) => Assignment,
        (Point, Box) | (Box | Path, Polygon) | (Polygon, Path) => Assignment,
        (Lseg | Box | Polygon | Circle, Point) | (Box, Lseg | Circle) => Explicit,
        (Polygon, Box | Circle) | (Circle, Box | Polygon) => Explicit,
        (Cidr, Inet) => Implicit,
        (Inet, Cidr) => Assignment,
        (Range(a), Multirange(b)) if a == b => Explicit,
        (Bit, VarBit) | (VarBit, Bit) => Implicit,
        (Int4 | Int8, Bit) | (Bit, Int4 | Int8) => Explicit,
        (Json, Jsonb) | (Jsonb, Json) => Assignment,
        (Jsonb, Bool | Int2 | Int4 | Int8 | Float4 | Float8 | Numeric) => Explicit,
        // Everything else goes through text, or not at all.
        (_, to) if category(to) == Category::String => Assignment,
        (from, _) if category(from) == Category::String => Explicit,
        _ => return None,
    })
}

/// True if the conversion happens by itself anywhere.
pub(crate) fn is_implicit(from: SqlType, to: SqlType) -> bool {
    cast_context(from, to) == Some(CastContext::Implicit)
}

/// True if the result depends on nothing but the input: not on the session's zone or on how many
/// digits of a float it wants to see.
pub fn is_immutable(from: SqlType, to: SqlType) -> bool {
    use SqlType::*;
    let (from, to) = (from.element().unwrap_or(from), to.element().unwrap_or(to));
    if from == to {
        return true;
    }
    let is_text = |ty: SqlType| {
        use TypeFamily::{Caseless, Text, Unknown};
        matches!(ty.family(), Text | Caseless | Unknown)
    };
    let of_floats = matches!(from, Float4 | Float8) || from.family() == TypeFamily::Geometry;
    let prints_by_setting = (of_floats || from == Interval) && is_text(to);
    // Of ranges PostgreSQL says so as well, whatever is in them.
    let named = |ty: SqlType| {
        ty.is_named_oid() || ty.is_enum() || ty.is_record() || ty.range_kind().is_some()
    };
    let names = (named(from) && is_text(to)) || (is_text(from) && named(to));
    let by_zone = |ty: SqlType| matches!(ty, TimestampTz | TimeTz);
    !prints_by_setting && !names && !by_zone(from) && !by_zone(to)
}

/// The type that all of these convert to implicitly, by PostgreSQL's rules for UNION, CASE, IN,
/// COALESCE; `what` names the construct for the message. All unknown gives `Text`.
///
/// # Errors
/// `42804` if they belong to different categories, `42846` if one of them does not convert.
pub fn common_type(types: &[SqlType], what: &str) -> SqlResult<SqlType> {
    let known = |ty: &&SqlType| **ty != SqlType::Unknown;
    let Some(&first) = types.iter().find(known) else {
        return Ok(SqlType::Text);
    };
    let mut chosen = first;
    for &ty in types.iter().filter(known) {
        if ty == chosen {
            continue;
        }
        if category(ty) != category(chosen) {
            return Err(SqlError::new(
                SqlState::DATATYPE_MISMATCH,
                format!("{what} types {chosen} and {ty} cannot be matched"),
            ));
        }
        if !is_preferred(chosen) && is_implicit(chosen, ty) && !is_implicit(ty, chosen) {
            chosen = ty;
        }
    }
    match types.iter().find(|&&ty| !is_implicit(ty, chosen)) {
        Some(ty) => Err(SqlError::new(
            SqlState::CANNOT_COERCE,
            format!("{what} could not convert type {ty} to {chosen}"),
        )),
        None => Ok(chosen),
    }
}

/// True if a conversion, of integers into bits, has to know how long its result is to be.
pub fn takes_length(from: SqlType, to: SqlType) -> bool {
    let [from, to] = [from, to].map(|ty| ty.element().unwrap_or(ty));
    to == SqlType::Bit && from.family() == TypeFamily::Integer
}

/// Converts a value, then applies the modifier.
///
/// # Errors
/// What the target type says about bad input: `22P02`, `22003`, `22001`, `22007` …; `42846`.
pub fn cast(
    value: Value,
    from: SqlType,
    to: SqlType,
    modifier: TypeMod,
    explicit: bool,
    host: &dyn Host,
) -> SqlResult<Value> {
    let converted = if from == to || value.is_null() {
        value
    } else if takes_length(from, to) {
        // The length says which of the number's bits are wanted, so none is left to apply.
        return convert::to_bits(value, modifier);
    } else {
        convert::convert(value, from, to, host)?
    };
    if modifier == TypeMod::NONE || converted.is_null() {
        return Ok(converted);
    }
    text_format::coerce_length(converted, to, modifier, explicit)
}
