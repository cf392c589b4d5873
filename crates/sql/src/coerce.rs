//! Conversions: where the binder puts casts, and how literals and parameters get their types.
//!
//! Relies on: `ir::cast` for which conversions exist.  Promises: an untyped literal is read as the
//! type its context asks for when the statement is planned, an untyped parameter takes that type;
//! a constant of one type becomes a constant of the other where nothing but its value decides.
//! Does not: decide which type a context asks for.

use crate::composite;
use crate::planner::Planner;
use crate::system::Known;
use quintet_base::datetime;
use quintet_base::interval;
use quintet_base::jsonpath::JsonPath;
use quintet_base::objects::ObjectNames;
use quintet_base::text_format;
use quintet_base::types::TypeFamily;
use quintet_base::{Numeric, SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::Expr;
use quintet_ir::cast::{CastContext, cast_context, takes_length};
use quintet_ir::fold::fold;
use quintet_ir::function::check_patterns;

/// `expr` as `ty` without a modifier, if the context allows the conversion.
///
/// # Errors
/// `42846` if there is no such conversion, `22P02` and the like for a literal that is no `ty`.
pub(crate) fn convert(
    planner: &Planner,
    expr: Expr,
    ty: SqlType,
    context: CastContext,
) -> SqlResult<Expr> {
    let from = expr.ty();
    if from == ty {
        return Ok(expr);
    }
    match expr {
        Expr::Const(value, SqlType::Unknown) => literal(planner, value, ty),
        Expr::Param(place, SqlType::Unknown) => {
            let decided = planner.decide_param(place, ty);
            let expr = Expr::Param(place, decided);
            if decided == ty {
                return Ok(expr);
            }
            convert(planner, expr, ty, context)
        }
        expr if let SqlType::Composite(number) = ty
            && let Some(converted) = composite::convert(planner, &expr, number, context) =>
        {
            converted
        }
        expr => match cast_context(from, ty) {
            Some(needed) if needed <= context => Ok(cast(expr, ty, context)),
            _ => Err(SqlError::new(
                SqlState::CANNOT_COERCE,
                format!("cannot cast type {from} to {ty}"),
            )),
        },
    }
}

/// Reads an untyped literal.
fn literal(planner: &Planner, value: Value, ty: SqlType) -> SqlResult<Expr> {
    let value = match &value {
        Value::Text(text) if ty.is_named_oid() => {
            let number = text == "-" || text.bytes().all(|byte| byte.is_ascii_digit());
            Value::Oid(match number {
                true => ObjectNames::default().number(ty, text)?,
                // Also where a routine or a default is read, which has no session's names.
                false => Known::new(planner.context).number(ty, text)?,
            })
        }
        // 'now' is when the statement runs.
        Value::Text(text)
            if ty.family() == TypeFamily::DateTime && datetime::asks_for_clock(text) =>
        {
            return Ok(Expr::Cast {
                input: Box::new(Expr::Const(value, SqlType::Text)),
                to: ty,
                modifier: TypeMod::NONE,
                explicit: true,
            });
        }
        Value::Text(text) if ty == SqlType::JsonPath => {
            // What reads a path does not compile its patterns.
            let read = planner.read_value(ty, text)?;
            check_patterns(&JsonPath::parse(text)?)?;
            read
        }
        Value::Text(text) if ty != SqlType::Unknown => planner.read_value(ty, text)?,
        _ => value,
    };
    Ok(Expr::Const(value, ty))
}

fn cast(expr: Expr, ty: SqlType, context: CastContext) -> Expr {
    if let Expr::Const(value, from) = &expr
        && let Some(value) = convert_constant(value, *from, ty)
    {
        return Expr::Const(value, ty);
    }
    let is_constant = matches!(expr, Expr::Const(..));
    let cast = Expr::Cast {
        input: Box::new(expr),
        to: ty,
        modifier: TypeMod::NONE,
        explicit: context == CastContext::Explicit,
    };
    if is_constant { fold(cast) } else { cast }
}

/// A constant of another type, for the conversions that literals need most; the others stay casts.
pub(crate) fn convert_constant(value: &Value, from: SqlType, to: SqlType) -> Option<Value> {
    if value.is_null() {
        return Some(Value::Null);
    }
    let plain_text = |ty| matches!(ty, SqlType::Text | SqlType::Varchar);
    if plain_text(from) && (plain_text(to) || to == SqlType::Bpchar) {
        return Some(value.clone());
    }
    let integer = match from {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => value.as_i64()?,
        _ => return None,
    };
    Some(match to {
        SqlType::Int2 => Value::Int2(i16::try_from(integer).ok()?),
        SqlType::Int4 => Value::Int4(i32::try_from(integer).ok()?),
        SqlType::Int8 => Value::Int8(integer),
        SqlType::Numeric => Value::numeric(Numeric::from_i64(integer)),
        SqlType::Float8 => Value::Float8(integer as f64),
        SqlType::Oid => Value::Oid(u32::try_from(integer).ok()?),
        _ => return None,
    })
}

/// `expr` as an operator's or function's parameter.
pub(crate) fn implicit(planner: &Planner, expr: Expr, ty: SqlType) -> SqlResult<Expr> {
    convert(planner, expr, ty, CastContext::Implicit)
}

/// `CAST(expr AS ty(modifier))`.
pub(crate) fn explicit(
    planner: &Planner,
    expr: Expr,
    ty: SqlType,
    modifier: TypeMod,
) -> SqlResult<Expr> {
    // `INTERVAL '1' DAY`: the modifier says what the number counts.
    if let (Expr::Const(Value::Text(text), SqlType::Unknown), SqlType::Interval) = (&expr, ty) {
        let read = interval::parse_interval_in(text, modifier)?;
        let known = Expr::Const(Value::Interval(read), ty);
        return Ok(apply_modifier(known, ty, modifier, true));
    }
    if takes_length(expr.ty(), ty) && cast_context(expr.ty(), ty).is_some() {
        return Ok(match fold(relabel(expr, ty, modifier)) {
            known @ Expr::Const(..) => apply_modifier(known, ty, modifier, true),
            cast => cast,
        });
    }
    let converted = convert(planner, expr, ty, CastContext::Explicit)?;
    Ok(apply_modifier(converted, ty, modifier, true))
}

/// `expr` as a column's value.
///
/// # Errors
/// `42804` naming the column if the conversion needs a cast that was not written.
pub(crate) fn assign(
    planner: &Planner,
    expr: Expr,
    ty: SqlType,
    modifier: TypeMod,
    column: &str,
) -> SqlResult<Expr> {
    let from = expr.ty();
    let converted = convert(planner, expr, ty, CastContext::Assignment).map_err(|error| {
        if error.state != SqlState::CANNOT_COERCE || error.detail.is_some() {
            return error;
        }
        SqlError::new(
            SqlState::DATATYPE_MISMATCH,
            format!("column \"{column}\" is of type {ty} but expression is of type {from}"),
        )
        .hint("You will need to rewrite or cast the expression.")
    })?;
    Ok(apply_modifier(converted, ty, modifier, false))
}

/// `expr` as a variable of this modifier takes it: too long a text is an error.
pub(crate) fn with_length(expr: Expr, ty: SqlType, modifier: TypeMod) -> Expr {
    apply_modifier(expr, ty, modifier, false)
}

pub(crate) fn apply_modifier(expr: Expr, ty: SqlType, modifier: TypeMod, explicit: bool) -> Expr {
    if modifier == TypeMod::NONE || matches!(expr, Expr::Const(Value::Null, _)) {
        return expr;
    }
    if let Expr::Const(value, _) = &expr
        && let Ok(value) = text_format::coerce_length(value.clone(), ty, modifier, explicit)
    {
        // The cast stays around it: it is what says the modifier to a client.
        let known = Expr::Const(value, ty);
        return if explicit {
            relabel(known, ty, modifier)
        } else {
            known
        };
    }
    Expr::Cast {
        input: Box::new(expr),
        to: ty,
        modifier,
        explicit,
    }
}

fn relabel(expr: Expr, ty: SqlType, modifier: TypeMod) -> Expr {
    Expr::Cast {
        input: Box::new(expr),
        to: ty,
        modifier,
        explicit: true,
    }
}

/// `expr` as a truth value in `clause`.
///
/// # Errors
/// `42804` if it is none.
pub(crate) fn boolean(planner: &Planner, expr: Expr, clause: &str) -> SqlResult<Expr> {
    let from = expr.ty();
    if from == SqlType::Bool || from == SqlType::Unknown {
        return implicit(planner, expr, SqlType::Bool);
    }
    Err(SqlError::new(
        SqlState::DATATYPE_MISMATCH,
        format!("argument of {clause} must be type boolean, not type {from}"),
    ))
}

/// An output column's expression: what is still untyped is text.
pub(crate) fn settle(planner: &Planner, expr: Expr) -> SqlResult<Expr> {
    if expr.ty() == SqlType::Unknown {
        return convert(planner, expr, SqlType::Text, CastContext::Implicit);
    }
    Ok(expr)
}

/// The expression without conversions that leave a text value's bytes as they are, and do not
/// change how it compares.
pub(crate) fn strip_relabel(expr: &Expr) -> &Expr {
    let is_plain = |ty: SqlType| {
        ty.family() == TypeFamily::Text && ty != SqlType::Bpchar && ty != SqlType::InternalChar
    };
    match expr {
        Expr::Cast {
            input,
            to,
            modifier: TypeMod::NONE,
            ..
        } if is_plain(*to) && *to != SqlType::Name && is_plain(input.ty()) => strip_relabel(input),
        _ => expr,
    }
}
