//! Type names as the parser gives them.
//!
//! Relies on: `base::types`.  Promises: a type that PostgreSQL has and Quintet lacks is 0A000, one
//! that nobody has is 42704.  Does not: know `serial`, which is no type (`ddl`).

use crate::names;
use crate::planner::Planner;
use crate::records::{TypeKind, TypeRecord};
use crate::system::array_names::array_name;
use crate::system::type_name;
use crate::tree::{node, string};
use pg_query::NodeEnum;
use pg_query::protobuf::{Integer, TypeName};
use quintet_base::bits::BITS_MAX;
use quintet_base::{SqlResult, SqlState, SqlType, TypeMod, interval};
use std::sync::Arc;

/// Types that PostgreSQL has and Quintet does not.
const FOREIGN: &[&str] = &["macaddr8", "txid_snapshot", "xid8", "cid", "xml"];

/// True for types that PostgreSQL has and Quintet does not.
pub(crate) fn is_foreign(name: &str) -> bool {
    FOREIGN.contains(&name)
}

/// The type and modifier that a name stands for, where a domain is none.
///
/// # Errors
/// `0A000`, `42704`, `22023` for an impossible modifier.
pub(crate) fn resolve(planner: &Planner, name: &TypeName) -> SqlResult<(SqlType, TypeMod)> {
    match resolve_any(planner, name)? {
        (ty, modifier, None) => Ok((ty, modifier)),
        (_, _, Some(domain)) => {
            let what = format!("domain {} here", domain.name);
            Err(planner.unsupported(what, name.location))
        }
    }
}

/// A base type, its modifier, and the domain that a name stands for.
type Resolved<'a> = (SqlType, TypeMod, Option<&'a Arc<TypeRecord>>);

/// The same, where it may be a domain.
///
/// # Errors
/// As [`resolve`].
pub(crate) fn resolve_any<'a>(planner: &Planner<'a>, name: &TypeName) -> SqlResult<Resolved<'a>> {
    let location = name.location;
    if name.setof || name.pct_type {
        return Err(planner.unsupported("SETOF or %TYPE as a type", location));
    }
    let text = plain_name(planner, name);
    let built_in = text.as_deref().ok().and_then(SqlType::from_name);
    let Some(base) = built_in else {
        if let Some(record) = planner.user_type_of(name) {
            return made_by_user(planner, name, record);
        }
        if let Some(row) = row_of_relation(planner, name)? {
            return Ok((row, TypeMod::NONE, None));
        }
        if let Some(array) = array_by_name(planner, name) {
            return resolve_any(planner, &array);
        }
        let text = text?;
        if is_foreign(&text) {
            return Err(planner.unsupported(format!("type {text}"), location));
        }
        let message = format!("type \"{text}\" does not exist");
        return Err(planner.error(SqlState::UNDEFINED_OBJECT, message, location));
    };
    let modifier = modifier(planner, name, base)?;
    match name.array_bounds.as_slice() {
        [] => Ok((base, modifier, None)),
        // An array of arrays is of the same type.
        _ => match base.array_of() {
            // An array's modifier is its elements'.
            Some(array) => Ok((array, modifier, None)),
            None => Err(planner.unsupported(format!("type {base}[]"), location)),
        },
    }
}

/// The type of the rows of a relation, or of arrays of them.
fn row_of_relation(planner: &Planner, name: &TypeName) -> SqlResult<Option<SqlType>> {
    let names = names::strings(&name.names);
    let row = match planner.local(&names, 2)? {
        [name] => planner.type_of_relation(None, name),
        [schema, name] => planner.type_of_relation(Some(schema), name),
        _ => None,
    };
    match (row, name.array_bounds.len()) {
        (row, 0) => Ok(row),
        (None, _) => Ok(None),
        (Some(SqlType::Composite(number)), _) => Ok(Some(SqlType::CompositeArray(number))),
        (Some(_), _) => Err(planner.unsupported("an array of this type", name.location)),
    }
}

/// What a name that nothing else has means as the catalogue's name of an array type: `_int4` for `int4[]`.
pub(crate) fn array_by_name(planner: &Planner, name: &TypeName) -> Option<TypeName> {
    let (last, before) = name.names.split_last()?;
    let called = names::string(last)?;
    let element = called.strip_prefix('_')?;
    let of = |element: &str| {
        let mut array = name.clone();
        array.names = before.to_vec();
        array.names.push(string(element.to_string()));
        array
    };
    // A type may have the name that its array would have, which then has more underscores.
    let mut shorter = Some(element);
    let mut made = std::iter::from_fn(|| {
        let element = shorter?;
        shorter = element.strip_prefix('_');
        Some(of(element))
    });
    let made = made.find(|array| {
        let own = planner.user_type_of(array);
        own.is_some_and(|own| array_name(planner.catalog(), &own.schema, &own.name) == called)
    });
    let is_made = made.is_some();
    let mut array = made.unwrap_or_else(|| of(element));
    // The words of SQL are no names of the catalogue.
    let built_in = || {
        let ty = SqlType::from_name(element)?;
        (type_name(ty) == element).then_some(())?;
        plain_name(planner, &array).ok()
    };
    if !is_made {
        built_in()?;
    }
    // An array of arrays is of the same type.
    if array.array_bounds.is_empty() {
        array
            .array_bounds
            .push(node(NodeEnum::Integer(Integer { ival: -1 })));
    }
    Some(array)
}

fn made_by_user<'a>(
    planner: &Planner<'a>,
    name: &TypeName,
    record: &'a Arc<TypeRecord>,
) -> SqlResult<Resolved<'a>> {
    let location = name.location;
    if !name.typmods.is_empty() {
        return Err(planner.error(
            SqlState::SYNTAX_ERROR,
            format!("type modifier is not allowed for type \"{}\"", record.name),
            location,
        ));
    }
    match (&record.kind, name.array_bounds.len()) {
        (TypeKind::Enum(_), 0) => Ok((SqlType::Enum(record.id), TypeMod::NONE, None)),
        (TypeKind::Enum(_), _) => Ok((SqlType::EnumArray(record.id), TypeMod::NONE, None)),
        (TypeKind::Domain(domain), 0) => Ok((domain.base, domain.modifier, Some(record))),
        (TypeKind::Domain(_), _) => Err(planner.unsupported("an array of a domain", location)),
        (TypeKind::Base(ty), 0) => Ok((*ty, TypeMod::NONE, None)),
        (TypeKind::Base(ty), _) => match ty.array_of() {
            Some(array) => Ok((array, TypeMod::NONE, None)),
            None => Err(planner.unsupported(format!("type {ty}[]"), location)),
        },
        (TypeKind::Composite(_), 0) => Ok((SqlType::Composite(record.id), TypeMod::NONE, None)),
        (TypeKind::Composite(_), _) => {
            Ok((SqlType::CompositeArray(record.id), TypeMod::NONE, None))
        }
    }
}

/// The name without `pg_catalog`.
pub(crate) fn plain_name(planner: &Planner, name: &TypeName) -> SqlResult<String> {
    match planner.local(&names::strings(&name.names), 2)? {
        [name] | ["pg_catalog", name] => Ok((*name).to_string()),
        names => {
            let message = format!("type \"{}\" does not exist", names.join("."));
            Err(planner.error(SqlState::UNDEFINED_OBJECT, message, name.location))
        }
    }
}

/// Digits behind the point, or before it, of a numeric's modifier.
const SCALE_MAX: i32 = 1000;

fn modifier(planner: &Planner, name: &TypeName, ty: SqlType) -> SqlResult<TypeMod> {
    let location = name.location;
    let mut numbers = Vec::new();
    for node in &name.typmods {
        match names::integer(node) {
            Some(number) => numbers.push(number),
            None => return Err(planner.unsupported("a type modifier that is no number", location)),
        }
    }
    let wrong =
        |message: String| planner.error(SqlState::INVALID_PARAMETER_VALUE, message, location);
    let short = if ty == SqlType::Bpchar {
        "char"
    } else {
        "varchar"
    };
    match (ty, numbers.as_slice()) {
        (_, []) => Ok(TypeMod::NONE),
        (SqlType::Varchar | SqlType::Bpchar, &[length]) => match length {
            ..=0 => Err(wrong(format!("length for type {short} must be at least 1"))),
            1..=10_485_760 => Ok(TypeMod::length(length as u32)),
            _ => Err(wrong(format!(
                "length for type {short} cannot exceed 10485760"
            ))),
        },
        (SqlType::Numeric, &[precision, ref scale @ ..]) if scale.len() < 2 => {
            let scale = scale.first().copied().unwrap_or(0);
            if !(1..=1000).contains(&precision) {
                return Err(wrong(format!(
                    "NUMERIC precision {precision} must be between 1 and 1000"
                )));
            }
            if !(-SCALE_MAX..=SCALE_MAX).contains(&scale) {
                return Err(wrong(format!(
                    "NUMERIC scale {scale} must be between -{SCALE_MAX} and {SCALE_MAX}"
                )));
            }
            Ok(TypeMod::precision_scale(precision as u16, scale as i16))
        }
        (SqlType::Bit | SqlType::VarBit, &[length]) => {
            let word = crate::system::type_name(ty);
            match usize::try_from(length) {
                Err(_) | Ok(0) => Err(wrong(format!("length for type {word} must be at least 1"))),
                Ok(1..=BITS_MAX) => Ok(TypeMod(length)),
                Ok(_) => Err(wrong(format!(
                    "length for type {word} cannot exceed {BITS_MAX}"
                ))),
            }
        }
        (
            SqlType::Timestamp | SqlType::TimestampTz | SqlType::Time | SqlType::TimeTz,
            &[digits],
        ) => digits_of_second(planner, ty, digits, location).map(TypeMod),
        (SqlType::Interval, &[parts]) => Ok(interval::modifier(parts, None)),
        (SqlType::Interval, &[parts, digits]) => {
            let digits = digits_of_second(planner, ty, digits, location)?;
            Ok(interval::modifier(parts, Some(digits)))
        }
        _ => Err(planner.error(
            SqlState::SYNTAX_ERROR,
            format!("type modifier is not allowed for type \"{ty}\""),
            location,
        )),
    }
}

/// The digits of a second that a type keeps: with a warning as many as there are, if more are asked for.
fn digits_of_second(planner: &Planner, ty: SqlType, digits: i32, location: i32) -> SqlResult<i32> {
    const DIGITS_MAX: i32 = 6;
    let (word, zone) = match ty {
        SqlType::Timestamp => ("TIMESTAMP", ""),
        SqlType::TimestampTz => ("TIMESTAMP", " WITH TIME ZONE"),
        SqlType::Time => ("TIME", ""),
        SqlType::TimeTz => ("TIME", " WITH TIME ZONE"),
        _ => ("INTERVAL", ""),
    };
    let what = format!("{word}({digits}){zone} precision");
    if digits < 0 {
        let message = format!("{what} must not be negative");
        return Err(planner.error(SqlState::INVALID_PARAMETER_VALUE, message, location));
    }
    if digits > DIGITS_MAX {
        let message = format!("{what} reduced to maximum allowed, {DIGITS_MAX}");
        planner.warning(SqlState::INVALID_PARAMETER_VALUE, message);
    }
    Ok(digits.min(DIGITS_MAX))
}
