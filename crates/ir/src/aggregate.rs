//! Aggregates: which there are, and what they compute.
//!
//! Relies on: `function::choose` for overloads, `accumulator` for the arithmetic.  Promises:
//! PostgreSQL's result types; NULLs are ignored except by count(*) and array_agg; an empty group
//! gives NULL, and 0 for the counts.  Does not: evaluate arguments, or apply FILTER, DISTINCT and
//! ORDER BY; the caller does, and then feeds an [`Accumulator`].
//!
//! | aggregate | of | gives | kept |
//! |---|---|---|---|
//! | sum | int2, int4 / int8 | bigint / numeric | 128 bits |
//! | sum | float4, float8, numeric | the same | the sum |
//! | avg | integers, numeric / floats | numeric / float8 | sum and count |
//! | min, max | every ordered type but bool, bytea, uuid | the same | the extreme |
//! | bool_and (every), bool_or | bool | bool | the value so far |
//! | string_agg | text or bytea, twice | the same | what is joined |
//! | array_agg | any with an array type | its array | the values |
//! | bit_and, bit_or, bit_xor | integer types | the same | the value so far |
//! | range_agg | ranges, multiranges | multirange | the ranges |
//! | range_intersect_agg | ranges, multiranges | the same | what all have so far |
//! | stddev…, var…, corr, covar…, regr… | numbers | numeric or float8 | `spread` |
//! | json_agg, jsonb_object_agg … | documents, which the binder makes | json, jsonb | `documents` |

mod accumulator;
mod documents;
mod spread;

use crate::cast::{Category, category, is_implicit};
use crate::expr::Expr;
use crate::function::choose::{Choice, Signature, choose};
use crate::function::{does_not_exist, is_not_unique};
use crate::plan::SortKey;
pub use accumulator::Accumulator;
use quintet_base::{SqlResult, SqlType};

/// Which aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum AggregateFunction {
    /// count(*): rows.
    CountRows,
    /// count(x): rows where x is not NULL.
    Count,
    Sum,
    Avg,
    Min,
    Max,
    BoolAnd,
    BoolOr,
    StringAgg,
    ArrayAgg,
    BitAnd,
    BitOr,
    BitXor,
    StddevSamp,
    StddevPop,
    VarSamp,
    VarPop,
    Corr,
    CovarPop,
    CovarSamp,
    RegrCount,
    RegrSxx,
    RegrSyy,
    RegrSxy,
    RegrAvgx,
    RegrAvgy,
    RegrR2,
    RegrSlope,
    RegrIntercept,
    JsonAgg,
    JsonbAgg,
    JsonObjectAgg,
    JsonbObjectAgg,
    RangeAgg,
    RangeIntersectAgg,
}

/// One aggregate in a plan.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// Which.
    pub function: AggregateFunction,
    /// Arguments over the input frame (none for count(*), two for string_agg).
    pub args: Vec<Expr>,
    /// DISTINCT.
    pub distinct: bool,
    /// FILTER (WHERE …).
    pub filter: Option<Expr>,
    /// ORDER BY inside the call.
    pub order: Vec<SortKey>,
    /// Type of the result.
    pub ty: SqlType,
}

impl AggregateCall {
    /// Every expression in it.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let order = self.order.iter().map(|key| &key.expr);
        self.args.iter().chain(&self.filter).chain(order)
    }
}

impl AggregateFunction {
    /// The name that SQL gives it.
    pub fn name(self) -> &'static str {
        match self {
            AggregateFunction::CountRows | AggregateFunction::Count => "count",
            AggregateFunction::Sum => "sum",
            AggregateFunction::Avg => "avg",
            AggregateFunction::Min => "min",
            AggregateFunction::Max => "max",
            AggregateFunction::BoolAnd => "bool_and",
            AggregateFunction::BoolOr => "bool_or",
            AggregateFunction::StringAgg => "string_agg",
            AggregateFunction::ArrayAgg => "array_agg",
            AggregateFunction::BitAnd => "bit_and",
            AggregateFunction::BitOr => "bit_or",
            AggregateFunction::BitXor => "bit_xor",
            AggregateFunction::StddevSamp => "stddev_samp",
            AggregateFunction::StddevPop => "stddev_pop",
            AggregateFunction::VarSamp => "var_samp",
            AggregateFunction::VarPop => "var_pop",
            AggregateFunction::Corr => "corr",
            AggregateFunction::CovarPop => "covar_pop",
            AggregateFunction::CovarSamp => "covar_samp",
            AggregateFunction::RegrCount => "regr_count",
            AggregateFunction::RegrSxx => "regr_sxx",
            AggregateFunction::RegrSyy => "regr_syy",
            AggregateFunction::RegrSxy => "regr_sxy",
            AggregateFunction::RegrAvgx => "regr_avgx",
            AggregateFunction::RegrAvgy => "regr_avgy",
            AggregateFunction::RegrR2 => "regr_r2",
            AggregateFunction::RegrSlope => "regr_slope",
            AggregateFunction::RegrIntercept => "regr_intercept",
            AggregateFunction::JsonAgg => "json_agg",
            AggregateFunction::JsonbAgg => "jsonb_agg",
            AggregateFunction::JsonObjectAgg => "json_object_agg",
            AggregateFunction::JsonbObjectAgg => "jsonb_object_agg",
            AggregateFunction::RangeAgg => "range_agg",
            AggregateFunction::RangeIntersectAgg => "range_intersect_agg",
        }
    }

    /// The aggregate of a name, whatever its arguments.
    pub fn from_name(name: &str) -> Option<AggregateFunction> {
        Some(match name {
            "count" => AggregateFunction::Count,
            "sum" => AggregateFunction::Sum,
            "avg" => AggregateFunction::Avg,
            "min" => AggregateFunction::Min,
            "max" => AggregateFunction::Max,
            "bool_and" | "every" => AggregateFunction::BoolAnd,
            "bool_or" => AggregateFunction::BoolOr,
            "string_agg" => AggregateFunction::StringAgg,
            "array_agg" => AggregateFunction::ArrayAgg,
            "bit_and" => AggregateFunction::BitAnd,
            "bit_or" => AggregateFunction::BitOr,
            "bit_xor" => AggregateFunction::BitXor,
            "stddev" | "stddev_samp" => AggregateFunction::StddevSamp,
            "stddev_pop" => AggregateFunction::StddevPop,
            "variance" | "var_samp" => AggregateFunction::VarSamp,
            "var_pop" => AggregateFunction::VarPop,
            "corr" => AggregateFunction::Corr,
            "covar_pop" => AggregateFunction::CovarPop,
            "covar_samp" => AggregateFunction::CovarSamp,
            "regr_count" => AggregateFunction::RegrCount,
            "regr_sxx" => AggregateFunction::RegrSxx,
            "regr_syy" => AggregateFunction::RegrSyy,
            "regr_sxy" => AggregateFunction::RegrSxy,
            "regr_avgx" => AggregateFunction::RegrAvgx,
            "regr_avgy" => AggregateFunction::RegrAvgy,
            "regr_r2" => AggregateFunction::RegrR2,
            "regr_slope" => AggregateFunction::RegrSlope,
            "regr_intercept" => AggregateFunction::RegrIntercept,
            "json_agg" => AggregateFunction::JsonAgg,
            "jsonb_agg" => AggregateFunction::JsonbAgg,
            "json_object_agg" => AggregateFunction::JsonObjectAgg,
            "jsonb_object_agg" => AggregateFunction::JsonbObjectAgg,
            "range_agg" => AggregateFunction::RangeAgg,
            "range_intersect_agg" => AggregateFunction::RangeIntersectAgg,
            _ => return None,
        })
    }

    /// How many arguments it has.
    pub fn arguments(self) -> usize {
        match self {
            AggregateFunction::CountRows => 0,
            AggregateFunction::StringAgg
            | AggregateFunction::Corr
            | AggregateFunction::CovarPop
            | AggregateFunction::CovarSamp
            | AggregateFunction::RegrCount
            | AggregateFunction::RegrSxx
            | AggregateFunction::RegrSyy
            | AggregateFunction::RegrSxy
            | AggregateFunction::RegrAvgx
            | AggregateFunction::RegrAvgy
            | AggregateFunction::RegrR2
            | AggregateFunction::RegrSlope
            | AggregateFunction::RegrIntercept
            | AggregateFunction::JsonObjectAgg
            | AggregateFunction::JsonbObjectAgg => 2,
            _ => 1,
        }
    }

    /// Argument types and result type of each overload.
    fn overloads(self) -> &'static [(&'static [SqlType], SqlType)] {
        use SqlType::*;
        match self {
            AggregateFunction::Sum => &[
                (&[Int2], Int8),
                (&[Int4], Int8),
                (&[Int8], Numeric),
                (&[Float4], Float4),
                (&[Float8], Float8),
                (&[Numeric], Numeric),
                (&[Interval], Interval),
                (&[Money], Money),
            ],
            AggregateFunction::Avg => &[
                (&[Int2], Numeric),
                (&[Int4], Numeric),
                (&[Int8], Numeric),
                (&[Float4], Float8),
                (&[Float8], Float8),
                (&[Numeric], Numeric),
                (&[Interval], Interval),
            ],
            AggregateFunction::Min | AggregateFunction::Max => &[
                (&[Int2], Int2),
                (&[Int4], Int4),
                (&[Int8], Int8),
                (&[Float4], Float4),
                (&[Float8], Float8),
                (&[Numeric], Numeric),
                (&[Oid], Oid),
                (&[Tid], Tid),
                (&[Text], Text),
                (&[Bpchar], Bpchar),
                (&[Citext], Citext),
                (&[Date], Date),
                (&[Timestamp], Timestamp),
                (&[TimestampTz], TimestampTz),
                (&[Interval], Interval),
                (&[Time], Time),
                (&[TimeTz], TimeTz),
                (&[Inet], Inet),
                (&[Money], Money),
            ],
            AggregateFunction::BoolAnd | AggregateFunction::BoolOr => &[(&[Bool], Bool)],
            AggregateFunction::StringAgg => &[(&[Text, Text], Text), (&[Bytea, Bytea], Bytea)],
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => &[
                (&[Int2], Int2),
                (&[Int4], Int4),
                (&[Int8], Int8),
                (&[Bit], Bit),
            ],
            AggregateFunction::StddevSamp
            | AggregateFunction::StddevPop
            | AggregateFunction::VarSamp
            | AggregateFunction::VarPop => &[
                (&[Int2], Numeric),
                (&[Int4], Numeric),
                (&[Int8], Numeric),
                (&[Float4], Float8),
                (&[Float8], Float8),
                (&[Numeric], Numeric),
            ],
            AggregateFunction::Corr
            | AggregateFunction::CovarPop
            | AggregateFunction::CovarSamp
            | AggregateFunction::RegrSxx
            | AggregateFunction::RegrSyy
            | AggregateFunction::RegrSxy
            | AggregateFunction::RegrAvgx
            | AggregateFunction::RegrAvgy
            | AggregateFunction::RegrR2
            | AggregateFunction::RegrSlope
            | AggregateFunction::RegrIntercept => &[(&[Float8, Float8], Float8)],
            AggregateFunction::RegrCount => &[(&[Float8, Float8], Int8)],
            AggregateFunction::JsonAgg => &[(&[Json], Json)],
            AggregateFunction::JsonbAgg => &[(&[Jsonb], Jsonb)],
            AggregateFunction::JsonObjectAgg => &[(&[Text, Json], Json)],
            AggregateFunction::JsonbObjectAgg => &[(&[Text, Jsonb], Jsonb)],
            AggregateFunction::CountRows
            | AggregateFunction::Count
            | AggregateFunction::ArrayAgg
            | AggregateFunction::RangeAgg
            | AggregateFunction::RangeIntersectAgg => &[],
        }
    }
}

/// True if the name is an aggregate's.
pub fn is_aggregate_name(name: &str) -> bool {
    AggregateFunction::from_name(name).is_some()
}

/// The aggregate with this name for these argument types, the types to convert the arguments to,
/// and the type of the result; `None` if the name is no aggregate. `count` without arguments is
/// count(*).
///
/// # Errors
/// `42883` if the name is an aggregate but not for these types, `42725` if the types leave it open.
pub fn resolve_aggregate(
    name: &str,
    args: &[SqlType],
) -> Option<SqlResult<(AggregateFunction, Vec<SqlType>, SqlType)>> {
    AggregateFunction::from_name(name).map(|function| resolve(function, name, args))
}

fn resolve(
    function: AggregateFunction,
    name: &str,
    args: &[SqlType],
) -> SqlResult<(AggregateFunction, Vec<SqlType>, SqlType)> {
    let known = |ty: SqlType| match ty {
        SqlType::Unknown => SqlType::Text,
        ty => ty,
    };
    let extreme = matches!(function, AggregateFunction::Min | AggregateFunction::Max);
    match (function, args) {
        (AggregateFunction::Count, []) => {
            return Ok((AggregateFunction::CountRows, vec![], SqlType::Int8));
        }
        (AggregateFunction::Count, [ty]) => return Ok((function, vec![known(*ty)], SqlType::Int8)),
        (AggregateFunction::ArrayAgg, [ty]) => {
            let array = match ty.element() {
                // One dimension more, which is no other type.
                Some(_) if !ty.is_vector() => Some(*ty),
                _ => known(*ty).array_of(),
            };
            return array
                .map(|array| (function, vec![known(*ty)], array))
                .ok_or_else(|| does_not_exist(name, args));
        }
        (AggregateFunction::RangeAgg | AggregateFunction::RangeIntersectAgg, [ty]) => {
            let Some(kind) = ty.range_kind() else {
                return Err(does_not_exist(name, args));
            };
            let result = match function {
                AggregateFunction::RangeAgg => SqlType::Multirange(kind),
                _ => *ty,
            };
            return Ok((function, vec![*ty], result));
        }
        // PostgreSQL hesitates between float8 and interval here.
        (AggregateFunction::Sum | AggregateFunction::Avg, [SqlType::Unknown]) => {
            return Err(is_not_unique(name, args));
        }
        (_, [ty]) if extreme && (category(*ty) == Category::Array || ty.is_enum()) => {
            return Ok((function, vec![*ty], *ty));
        }
        _ => {}
    }
    let overloads: Vec<_> = function
        .overloads()
        .iter()
        .filter(|(types, _)| types.len() == args.len())
        .collect();
    let signatures: Vec<_> = overloads
        .iter()
        .map(|(args, _)| Signature {
            args,
            variadic: false,
        })
        .collect();
    match choose(&signatures, args, false) {
        Choice::One(number) => {
            let (types, result) = overloads[number];
            debug_assert!(args.iter().zip(*types).all(|(a, t)| is_implicit(*a, *t)));
            Ok((function, types.to_vec(), *result))
        }
        Choice::None => Err(does_not_exist(name, args)),
        Choice::Several => Err(is_not_unique(name, args)),
    }
}
