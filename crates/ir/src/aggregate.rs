//! Aggregates: which there are, and what they compute.
//!
//! Relies on: `function::choose` for overloads.  Promises: PostgreSQL's result types; NULLs are
//! ignored except by count(*) and array_agg; an empty group gives NULL, and 0 for the counts.
//! Does not: evaluate arguments, or apply FILTER, DISTINCT and ORDER BY; the caller does, and then
//! feeds an [`Accumulator`].
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

use crate::cast::category;
use crate::cast::{Category, is_implicit};
use crate::eval::order;
use crate::expr::Expr;
use crate::function::choose::{Choice, Signature, choose};
use crate::function::{arithmetic, does_not_exist, float, is_not_unique};
use crate::plan::SortKey;
use quintet_base::value::Array;
use quintet_base::{Numeric, SqlResult, SqlType, Value};
use std::cmp::Ordering;

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
        }
    }

    fn from_name(name: &str) -> Option<AggregateFunction> {
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
            _ => return None,
        })
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
            ],
            AggregateFunction::Avg => &[
                (&[Int2], Numeric),
                (&[Int4], Numeric),
                (&[Int8], Numeric),
                (&[Float4], Float8),
                (&[Float8], Float8),
                (&[Numeric], Numeric),
            ],
            AggregateFunction::Min | AggregateFunction::Max => &[
                (&[Int2], Int2),
                (&[Int4], Int4),
                (&[Int8], Int8),
                (&[Float4], Float4),
                (&[Float8], Float8),
                (&[Numeric], Numeric),
                (&[Oid], Oid),
                (&[Text], Text),
                (&[Bpchar], Bpchar),
                (&[Date], Date),
                (&[Timestamp], Timestamp),
                (&[TimestampTz], TimestampTz),
            ],
            AggregateFunction::BoolAnd | AggregateFunction::BoolOr => &[(&[Bool], Bool)],
            AggregateFunction::StringAgg => &[(&[Text, Text], Text), (&[Bytea, Bytea], Bytea)],
            AggregateFunction::CountRows
            | AggregateFunction::Count
            | AggregateFunction::ArrayAgg => &[],
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
            let array = known(*ty).array_of();
            return array
                .map(|array| (function, vec![known(*ty)], array))
                .ok_or_else(|| does_not_exist(name, args));
        }
        // PostgreSQL hesitates between float8 and interval here.
        (AggregateFunction::Sum | AggregateFunction::Avg, [SqlType::Unknown]) => {
            return Err(is_not_unique(name, args));
        }
        (_, [ty]) if extreme && category(*ty) == Category::Array => {
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

/// The running state of one call over one group. The caller evaluates arguments, applies FILTER,
/// DISTINCT and ORDER BY.
#[derive(Clone, Debug)]
pub struct Accumulator {
    state: State,
    /// Type of the result.
    ty: SqlType,
}

#[derive(Clone, Debug)]
enum State {
    /// count(*), count(x).
    Count { rows: bool, count: i64 },
    /// Integers: 128 bits hold the sum of 2^64 of them.
    Whole { sum: i128, count: i64, avg: bool },
    /// float4 sums are rounded at each step, as PostgreSQL's are.
    Float {
        sum: f64,
        count: i64,
        single: bool,
        avg: bool,
    },
    /// numeric.
    Decimal { sum: Numeric, count: i64, avg: bool },
    /// min and max: a value that stands in this order to the best so far replaces it.
    Extreme {
        best: Value,
        wanted: Ordering,
        ty: SqlType,
    },
    /// bool_and and bool_or: `decisive` settles it.
    Truth {
        result: Option<bool>,
        decisive: bool,
    },
    /// string_agg over text.
    Text { joined: Option<String> },
    /// string_agg over bytea.
    Bytes { joined: Option<Vec<u8>> },
    /// array_agg.
    Array {
        values: Option<Vec<Value>>,
        element: SqlType,
    },
}

impl Accumulator {
    /// An empty group.
    pub fn new(call: &AggregateCall) -> Accumulator {
        let ty = call.args.first().map_or(SqlType::Unknown, Expr::ty);
        let avg = call.function == AggregateFunction::Avg;
        let state = match call.function {
            AggregateFunction::CountRows => State::Count {
                rows: true,
                count: 0,
            },
            AggregateFunction::Count => State::Count {
                rows: false,
                count: 0,
            },
            AggregateFunction::Sum | AggregateFunction::Avg => State::sum_of(ty, avg),
            AggregateFunction::Min | AggregateFunction::Max => State::Extreme {
                best: Value::Null,
                wanted: match call.function {
                    AggregateFunction::Min => Ordering::Less,
                    _ => Ordering::Greater,
                },
                ty,
            },
            AggregateFunction::BoolAnd => State::Truth {
                result: None,
                decisive: false,
            },
            AggregateFunction::BoolOr => State::Truth {
                result: None,
                decisive: true,
            },
            AggregateFunction::StringAgg if ty == SqlType::Bytea => State::Bytes { joined: None },
            AggregateFunction::StringAgg => State::Text { joined: None },
            AggregateFunction::ArrayAgg => State::Array {
                values: None,
                element: ty,
            },
        };
        Accumulator { state, ty: call.ty }
    }

    /// Adds one row's arguments.
    ///
    /// # Errors
    /// `22003` when a sum leaves its type.
    pub fn add(&mut self, args: &[Value]) -> SqlResult<()> {
        match (&mut self.state, args) {
            (State::Count { rows: true, count }, _) => *count += 1,
            (State::Array { values, .. }, [value]) => {
                values.get_or_insert_default().push(value.clone());
            }
            (_, [Value::Null, ..]) => {}
            (state, args) => state.add(args)?,
        }
        Ok(())
    }

    /// The result.
    ///
    /// # Errors
    /// `22003` when the result leaves its type.
    pub fn finish(self) -> SqlResult<Value> {
        self.state.finish(self.ty)
    }
}

#[cold]
fn wrong_type(args: &[Value]) -> ! {
    panic!("{args:?} in an aggregate: the binder let a wrong type through")
}

impl State {
    fn sum_of(ty: SqlType, avg: bool) -> State {
        match ty {
            SqlType::Float4 | SqlType::Float8 => State::Float {
                sum: 0.0,
                count: 0,
                single: ty == SqlType::Float4 && !avg,
                avg,
            },
            SqlType::Numeric => State::Decimal {
                sum: Numeric::ZERO,
                count: 0,
                avg,
            },
            _ => State::Whole {
                sum: 0,
                count: 0,
                avg,
            },
        }
    }

    /// Adds arguments of which the first is not NULL.
    fn add(&mut self, args: &[Value]) -> SqlResult<()> {
        match (self, args) {
            (State::Count { count, .. }, _) => *count += 1,
            (State::Whole { sum, count, .. }, [value]) => {
                let Some(value) = value.as_i64() else {
                    wrong_type(args)
                };
                *sum += i128::from(value);
                *count += 1;
            }
            (
                State::Float {
                    sum, count, single, ..
                },
                [value],
            ) => {
                let value = match value {
                    Value::Float4(v) => f64::from(*v),
                    Value::Float8(v) => *v,
                    _ => wrong_type(args),
                };
                let total = match single {
                    true => f64::from((*sum + value) as f32),
                    false => *sum + value,
                };
                *sum = float::checked(total, &[*sum, value])?;
                *count += 1;
            }
            (State::Decimal { sum, count, .. }, [Value::Numeric(value)]) => {
                *sum = sum.add(value)?;
                *count += 1;
            }
            (State::Extreme { best, wanted, ty }, [value]) => {
                if best.is_null() || order(value, best, *ty) == *wanted {
                    *best = value.clone();
                }
            }
            (State::Truth { result, decisive }, [Value::Bool(value)]) => {
                *result = match *result {
                    Some(settled) if settled == *decisive => Some(settled),
                    _ => Some(*value),
                };
            }
            (State::Text { joined }, [Value::Text(value), separator]) => match joined {
                Some(joined) => {
                    joined.push_str(separator.as_str().unwrap_or(""));
                    joined.push_str(value);
                }
                None => *joined = Some(value.to_string()),
            },
            (State::Bytes { joined }, [Value::Bytea(value), separator]) => match joined {
                Some(joined) => {
                    if let Value::Bytea(separator) = separator {
                        joined.extend_from_slice(separator);
                    }
                    joined.extend_from_slice(value);
                }
                None => *joined = Some(value.to_vec()),
            },
            (_, args) => wrong_type(args),
        }
        Ok(())
    }

    fn finish(self, ty: SqlType) -> SqlResult<Value> {
        match self {
            State::Count { count, .. } => Ok(Value::Int8(count)),
            State::Whole { count: 0, .. }
            | State::Float { count: 0, .. }
            | State::Decimal { count: 0, .. } => Ok(Value::Null),
            State::Whole {
                sum,
                count,
                avg: true,
            } => average(&Numeric::from_i128(sum), count),
            State::Whole { sum, .. } if ty == SqlType::Numeric => {
                Ok(Value::numeric(Numeric::from_i128(sum)))
            }
            State::Whole { sum, .. } => i64::try_from(sum)
                .map(Value::Int8)
                .map_err(|_| arithmetic::out_of_range("bigint")),
            State::Float {
                sum,
                count,
                avg: true,
                ..
            } => Ok(Value::Float8(sum / count as f64)),
            State::Float { sum, single, .. } => Ok(match single {
                true => Value::Float4(sum as f32),
                false => Value::Float8(sum),
            }),
            State::Decimal {
                sum,
                count,
                avg: true,
            } => average(&sum, count),
            State::Decimal { sum, .. } => Ok(Value::numeric(sum)),
            State::Extreme { best, .. } => Ok(best),
            State::Truth { result, .. } => Ok(result.map_or(Value::Null, Value::Bool)),
            State::Text { joined } => Ok(joined.map_or(Value::Null, Value::text)),
            State::Bytes { joined } => Ok(joined.map_or(Value::Null, |b| Value::Bytea(b.into()))),
            State::Array { values, element } => Ok(values.map_or(Value::Null, |values| {
                Value::Array(Box::new(Array { element, values }))
            })),
        }
    }
}

fn average(sum: &Numeric, count: i64) -> SqlResult<Value> {
    sum.div(&Numeric::from_i64(count)).map(Value::numeric)
}
