//! The running state of an aggregate over one group.
//!
//! Relies on: arguments of the types that `resolve_aggregate` asked for.  Promises: one pass, state
//! of constant size but for string_agg and array_agg.  Does not: sort, filter or make distinct.
//!
//! Hot path: run once per input row; integer sums and counts allocate nothing.

use super::documents::{Document, is_structured};
use super::spread::Spread;
use super::{AggregateCall, AggregateFunction};
use crate::eval::order;
use crate::expr::Expr;
use crate::function::range::shared;
use crate::function::text_edit::bounded;
use crate::function::{arithmetic, float};
use quintet_base::datum::{self, Datum};
use quintet_base::value::Array;
use quintet_base::{Bits, Interval, Multirange, Numeric, Range, SqlResult, SqlType, Value, money};
use std::cmp::Ordering;

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
    /// interval.
    Span {
        sum: Interval,
        count: i64,
        avg: bool,
    },
    /// money.
    Money { sum: Option<i64> },
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
    /// bit_and, bit_or, bit_xor.
    Bits {
        result: Option<i64>,
        function: AggregateFunction,
    },
    /// The same of strings of bits.
    BitString {
        result: Option<Bits>,
        function: AggregateFunction,
    },
    /// range_agg.
    Ranges { found: Option<Vec<Range>> },
    /// range_intersect_agg.
    Shared { all: Value },
    /// stddev, corr, regr_slope and the like.
    Spread {
        sums: Box<Spread>,
        function: AggregateFunction,
    },
    /// json_agg and the like.
    Document(Document),
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
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor
                if ty == SqlType::Bit =>
            {
                State::BitString {
                    result: None,
                    function: call.function,
                }
            }
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => {
                State::Bits {
                    result: None,
                    function: call.function,
                }
            }
            AggregateFunction::RangeAgg => State::Ranges { found: None },
            AggregateFunction::RangeIntersectAgg => State::Shared { all: Value::Null },
            AggregateFunction::StddevSamp
            | AggregateFunction::StddevPop
            | AggregateFunction::VarSamp
            | AggregateFunction::VarPop
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
            | AggregateFunction::RegrIntercept => State::Spread {
                sums: Box::new(Spread::new(call.ty != SqlType::Numeric)),
                function: call.function,
            },
            AggregateFunction::JsonAgg => State::Document(Document::List {
                out: None,
                lines: is_structured(call.args.first()),
            }),
            AggregateFunction::JsonbAgg => State::Document(Document::Values(None)),
            AggregateFunction::JsonObjectAgg => State::Document(Document::Pairs(None)),
            AggregateFunction::JsonbObjectAgg => State::Document(Document::Object(None)),
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
            (State::Array { values, element }, [value]) => {
                if value.is_null() && element.element().is_some() {
                    // PostgreSQL does not wait for the end either.
                    quintet_base::array::stacked(*element, vec![Value::Null])?;
                }
                values.get_or_insert_default().push(value.clone());
            }
            (State::Document(document), args) => document.add(args)?,
            (State::Spread { sums, function }, args) => {
                if args.iter().any(Value::is_null) {
                    // A pair counts where both are there.
                } else if *function == AggregateFunction::RegrCount {
                    sums.count();
                } else {
                    sums.add(args)?;
                }
            }
            (_, [Value::Null, ..]) => {}
            (state, args) => state.add(args)?,
        }
        Ok(())
    }

    /// As [`Accumulator::add`] of one argument, of which a datum is at hand.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn add_datum(&mut self, value: Datum<'_>) -> SqlResult<()> {
        match (&mut self.state, value) {
            (State::Count { rows: true, count }, _) => *count += 1,
            (State::Count { .. } | State::Whole { .. } | State::Decimal { .. }, Datum::Null) => {}
            (State::Count { count, .. }, _) => *count += 1,
            (State::Whole { sum, count, .. }, Datum::Int4(v)) => {
                *sum += i128::from(v);
                *count += 1;
            }
            (State::Whole { sum, count, .. }, Datum::Int8(v)) => {
                *sum += i128::from(v);
                *count += 1;
            }
            (State::Decimal { sum, count, .. }, Datum::Decimal(mantissa, scale)) => {
                let short = sum.as_short();
                match short.and_then(|short| datum::add(short, (mantissa, scale))) {
                    Some((mantissa, scale)) => *sum = Numeric::from_short(mantissa, scale),
                    None => *sum = sum.add(&Numeric::from_short(mantissa, scale))?,
                }
                *count += 1;
            }
            _ => return self.add(&[value.to_value()]),
        }
        Ok(())
    }

    /// What the rows so far give.
    ///
    /// # Errors
    /// As [`Accumulator::finish`].
    pub fn current(&self) -> SqlResult<Value> {
        self.clone().finish()
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
            SqlType::Interval => State::Span {
                sum: Interval::default(),
                count: 0,
                avg,
            },
            SqlType::Money => State::Money { sum: None },
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
            (State::Span { sum, count, .. }, [Value::Interval(value)]) => {
                *sum = sum.add(*value)?;
                *count += 1;
            }
            (State::Money { sum }, [Value::Money(value)]) => {
                *sum = Some(match *sum {
                    Some(sum) => money::add(sum, *value)?,
                    None => *value,
                });
            }
            (State::Extreme { best, wanted, ty }, [value]) => {
                // Of equal values that look different the last one stays: 7.0 after 7.
                let better =
                    |order: Ordering| order == *wanted || (order.is_eq() && *ty != SqlType::Bpchar);
                if best.is_null() || better(order(value, best, *ty)) {
                    *best = value.clone();
                }
            }
            (State::Truth { result, decisive }, [Value::Bool(value)]) => {
                *result = match *result {
                    Some(settled) if settled == *decisive => Some(settled),
                    _ => Some(*value),
                };
            }
            (State::Bits { result, function }, [value]) => {
                let Some(value) = value.as_i64() else {
                    wrong_type(args)
                };
                *result = Some(match (*result, function) {
                    (None, _) => value,
                    (Some(bits), AggregateFunction::BitAnd) => bits & value,
                    (Some(bits), AggregateFunction::BitOr) => bits | value,
                    (Some(bits), _) => bits ^ value,
                });
            }
            (State::BitString { result, function }, [Value::Bits(value)]) => {
                *result = Some(match (&*result, function) {
                    (None, _) => value.clone(),
                    (Some(bits), AggregateFunction::BitAnd) => bits.and(value)?,
                    (Some(bits), AggregateFunction::BitOr) => bits.or(value)?,
                    (Some(bits), _) => bits.xor(value)?,
                });
            }
            (State::Ranges { found }, [value]) => {
                let found = found.get_or_insert_default();
                match value {
                    Value::Range(range) => found.push(Range::clone(range)),
                    Value::Multirange(set) => found.extend_from_slice(set.ranges()),
                    _ => {}
                }
            }
            (State::Shared { all }, [value]) => {
                *all = match &*all {
                    Value::Null => value.clone(),
                    all => shared(all, value),
                };
            }
            (State::Text { joined }, [Value::Text(value), separator]) => match joined {
                Some(joined) => {
                    joined.push_str(separator.as_str().unwrap_or(""));
                    joined.push_str(value);
                    bounded(joined.len())?;
                }
                None => *joined = Some(value.to_string()),
            },
            (State::Bytes { joined }, [Value::Bytea(value), separator]) => match joined {
                Some(joined) => {
                    if let Value::Bytea(separator) = separator {
                        joined.extend_from_slice(separator);
                    }
                    joined.extend_from_slice(value);
                    bounded(joined.len())?;
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
            | State::Decimal { count: 0, .. }
            | State::Span { count: 0, .. } => Ok(Value::Null),
            State::Span {
                sum,
                count,
                avg: true,
            } => sum.div(count as f64).map(Value::Interval),
            State::Span { sum, .. } => Ok(Value::Interval(sum)),
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
            State::Money { sum } => Ok(sum.map_or(Value::Null, Value::Money)),
            State::Extreme { best, .. } => Ok(best),
            State::Truth { result, .. } => Ok(result.map_or(Value::Null, Value::Bool)),
            State::Ranges { found } => Ok(match (found, ty.range_kind()) {
                (Some(ranges), Some(kind)) => Value::multirange(Multirange::new(kind, ranges)),
                _ => Value::Null,
            }),
            State::Shared { all } => Ok(all),
            State::BitString { result, .. } => Ok(result.map_or(Value::Null, Value::Bits)),
            State::Bits { result: None, .. } => Ok(Value::Null),
            State::Bits {
                result: Some(bits), ..
            } => Ok(match ty {
                SqlType::Int2 => Value::Int2(bits as i16),
                SqlType::Int4 => Value::Int4(bits as i32),
                _ => Value::Int8(bits),
            }),
            State::Spread { sums, function } => sums.finish(function),
            State::Document(document) => Ok(document.finish()),
            State::Text { joined } => Ok(joined.map_or(Value::Null, Value::text)),
            State::Bytes { joined } => Ok(joined.map_or(Value::Null, |b| Value::Bytea(b.into()))),
            State::Array {
                values: Some(values),
                element,
            } if let Some(inner) = element.element() => {
                let array = quintet_base::array::stacked(inner, values)?;
                Ok(Value::Array(Box::new(array)))
            }
            State::Array { values, element } => Ok(values.map_or(Value::Null, |values| {
                Value::Array(Box::new(Array {
                    shape: None,
                    element,
                    values,
                }))
            })),
        }
    }
}

fn average(sum: &Numeric, count: i64) -> SqlResult<Value> {
    sum.div(&Numeric::from_i64(count)).map(Value::numeric)
}
