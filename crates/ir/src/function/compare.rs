//! The type in which two types compare, and comparisons as functions.
//!
//! Relies on: `choose`.  Promises: `compare_type` finds what PostgreSQL's comparison operators
//! would do for the same two types.  Does not: evaluate comparisons on the usual path; a binder
//! makes an `Expr::Compare` of the common type, and the functions here are for callers that want
//! any operator as a function.

use super::choose::{Choice, Signature, choose};
use super::{Function, Resolved, builtin as new, does_not_exist, is_not_unique};
use crate::eval::{Host, order};
use crate::expr::CompareOp;
use quintet_base::SqlType::{self, *};
use quintet_base::types::TypeFamily;
use quintet_base::{SqlResult, Value};

/// (left, right, the type both become): one row per operator that PostgreSQL has for `=`, in any
/// order. Arrays are apart.
const OPERATORS: &[(&[SqlType], SqlType)] = &[
    (&[Bool, Bool], Bool),
    (&[Int2, Int2], Int2),
    (&[Int2, Int4], Int4),
    (&[Int2, Int8], Int8),
    (&[Int4, Int2], Int4),
    (&[Int4, Int4], Int4),
    (&[Int4, Int8], Int8),
    (&[Int8, Int2], Int8),
    (&[Int8, Int4], Int8),
    (&[Int8, Int8], Int8),
    (&[Float4, Float4], Float4),
    (&[Float4, Float8], Float8),
    (&[Float8, Float4], Float8),
    (&[Float8, Float8], Float8),
    (&[Numeric, Numeric], Numeric),
    (&[Text, Text], Text),
    (&[Bpchar, Bpchar], Bpchar),
    (&[Citext, Citext], Citext),
    (&[Hstore, Hstore], Hstore),
    (&[Name, Name], Name),
    (&[Name, Text], Text),
    (&[Text, Name], Text),
    (&[InternalChar, InternalChar], InternalChar),
    (&[Bytea, Bytea], Bytea),
    (&[Uuid, Uuid], Uuid),
    (&[Oid, Oid], Oid),
    (&[Tid, Tid], Tid),
    (&[Xid, Xid], Xid),
    (&[Date, Date], Date),
    (&[Date, Timestamp], Timestamp),
    (&[Date, TimestampTz], TimestampTz),
    (&[Timestamp, Date], Timestamp),
    (&[Timestamp, Timestamp], Timestamp),
    (&[Timestamp, TimestampTz], TimestampTz),
    (&[TimestampTz, Date], TimestampTz),
    (&[TimestampTz, Timestamp], TimestampTz),
    (&[TimestampTz, TimestampTz], TimestampTz),
    (&[Interval, Interval], Interval),
    (&[Time, Time], Time),
    (&[TimeTz, TimeTz], TimeTz),
    (&[Jsonb, Jsonb], Jsonb),
    (&[Inet, Inet], Inet),
    (&[MacAddr, MacAddr], MacAddr),
    (&[Money, Money], Money),
    (&[Bit, Bit], Bit),
    (&[VarBit, VarBit], VarBit),
    (&[TsVector, TsVector], TsVector),
    (&[TsQuery, TsQuery], TsQuery),
];

/// The operator as SQL writes it.
pub fn operator_symbol(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "=",
        CompareOp::Ne => "<>",
        CompareOp::Lt => "<",
        CompareOp::Le => "<=",
        CompareOp::Gt => ">",
        CompareOp::Ge => ">=",
    }
}

/// The comparison that a symbol stands for, `!=` included.
fn operator(symbol: &str) -> Option<CompareOp> {
    Some(match symbol {
        "=" => CompareOp::Eq,
        "<>" | "!=" => CompareOp::Ne,
        "<" => CompareOp::Lt,
        "<=" => CompareOp::Le,
        ">" => CompareOp::Gt,
        ">=" => CompareOp::Ge,
        _ => return None,
    })
}

/// The type to which both sides of a comparison are converted; `Text` for two untyped literals.
///
/// # Errors
/// `42883` if the two types do not compare, `42725` if it cannot be told how.
pub fn compare_type(op: CompareOp, left: SqlType, right: SqlType) -> SqlResult<SqlType> {
    let same = if left == Unknown { right } else { left };
    if left.is_record() && right.is_record() {
        return Ok(match left == right {
            true => left,
            false => Record,
        });
    }
    if same.is_record() && (left == Unknown || right == Unknown) {
        return Ok(Record);
    }
    let own = same.element().is_some() || same.is_enum() || same.range_kind().is_some();
    if own && (right == same || right == Unknown) {
        return Ok(same);
    }
    let args = [left, right];
    // An hstore has an order, but symbols of its own for it; an xid has none.
    let has = |ty| !matches!(ty, Hstore | Xid) || matches!(op, CompareOp::Eq | CompareOp::Ne);
    let operators: Vec<_> = OPERATORS.iter().filter(|(_, ty)| has(*ty)).collect();
    let signature = |(args, _): &&'static (&'static [SqlType], SqlType)| Signature {
        args,
        variadic: false,
    };
    let signatures: Vec<Signature> = operators.iter().map(signature).collect();
    match choose(&signatures, &args, true) {
        Choice::One(number) => Ok(operators[number].1),
        Choice::None => Err(does_not_exist(operator_symbol(op), &args)),
        Choice::Several => Err(is_not_unique(operator_symbol(op), &args)),
    }
}

macro_rules! comparisons {
    ($($op:ident $plain:ident $padded:ident $symbol:literal;)*) => {
        $(
            static $plain: Function = new($symbol, &[Unknown, Unknown], Bool, |args, _: &dyn Host| {
                Ok(Value::Bool(CompareOp::$op.accepts(args[0].order(args[1]))))
            });
            static $padded: Function = new($symbol, &[Bpchar, Bpchar], Bool, |args, _: &dyn Host| {
                Ok(Value::Bool(CompareOp::$op.accepts(order(args[0], args[1], Bpchar))))
            });
        )*

        fn function(op: CompareOp, ty: SqlType) -> &'static Function {
            match (op, ty) {
                $((CompareOp::$op, Bpchar) => &$padded, (CompareOp::$op, _) => &$plain,)*
            }
        }
    };
}

comparisons! {
    Eq EQ EQ_PADDED "=";
    Ne NE NE_PADDED "<>";
    Lt LT LT_PADDED "<";
    Le LE LE_PADDED "<=";
    Gt GT GT_PADDED ">";
    Ge GE GE_PADDED ">=";
}

/// A comparison as a function; `None` if the name is no comparison of two sides.
pub(super) fn resolve(name: &str, args: &[SqlType]) -> Option<SqlResult<Resolved>> {
    let &[left, right] = args else {
        return None;
    };
    let op = operator(name)?;
    // Figures have functions for it, each what is compared of its kind.
    if left.family() == TypeFamily::Geometry || right.family() == TypeFamily::Geometry {
        return None;
    }
    Some(compare_type(op, left, right).map(|ty| Resolved {
        function: function(op, ty),
        args: vec![ty, ty],
        result: Bool,
    }))
}
