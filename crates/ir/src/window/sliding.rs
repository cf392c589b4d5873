//! Aggregates that rows can be taken out of again: what a frame that slides over a partition needs.
//!
//! Relies on: arguments of the types that `resolve_aggregate` asked for.  Promises: after rows have gone, the
//! result is exactly what the rest alone would give, digits behind the point included.  Does not: know the
//! aggregates for which that cannot be said (floats, min, max …): there is none of these.

use super::{WindowCall, WindowFunction};
use crate::aggregate::AggregateFunction;
use crate::expr::Expr;
use crate::function::arithmetic;
use quintet_base::{Numeric, SqlResult, SqlType, Value};
use std::collections::BTreeMap;

/// count, sum or avg of the rows in a frame.
#[derive(Debug)]
pub struct Sliding {
    kind: Kind,
    avg: bool,
    ty: SqlType,
    /// Rows that count.
    count: i64,
}

#[derive(Debug)]
enum Kind {
    /// count(*).
    Rows,
    /// count(x).
    Known,
    Whole(i128),
    Decimal(Box<Decimal>),
}

/// A sum of numeric. What is not finite is counted apart, for nothing can be taken out of an infinity.
#[derive(Debug)]
struct Decimal {
    sum: Numeric,
    /// How many summands have so many digits behind the point.
    scales: BTreeMap<u16, u64>,
    nans: u64,
    infinities: u64,
    negative_infinities: u64,
}

impl Sliding {
    /// An empty frame; `None` if rows cannot be taken out of this aggregate.
    pub fn new(call: &WindowCall) -> Option<Sliding> {
        let WindowFunction::Aggregate(function) = call.function else {
            return None;
        };
        let kind = match (function, call.args.first().map(Expr::ty)) {
            (AggregateFunction::CountRows, _) => Kind::Rows,
            (AggregateFunction::Count, _) => Kind::Known,
            (
                AggregateFunction::Sum | AggregateFunction::Avg,
                Some(SqlType::Int2 | SqlType::Int4 | SqlType::Int8),
            ) => Kind::Whole(0),
            (AggregateFunction::Sum | AggregateFunction::Avg, Some(SqlType::Numeric)) => {
                Kind::Decimal(Box::new(Decimal {
                    sum: Numeric::ZERO,
                    scales: BTreeMap::new(),
                    nans: 0,
                    infinities: 0,
                    negative_infinities: 0,
                }))
            }
            _ => return None,
        };
        Some(Sliding {
            kind,
            avg: function == AggregateFunction::Avg,
            ty: call.ty,
            count: 0,
        })
    }

    /// A row comes in.
    ///
    /// # Errors
    /// `22003` for a sum with more digits than there may be.
    pub fn add(&mut self, args: &[Value]) -> SqlResult<()> {
        self.change(args, true)
    }

    /// A row that came in goes.
    ///
    /// # Errors
    /// As [`Sliding::add`].
    pub fn remove(&mut self, args: &[Value]) -> SqlResult<()> {
        self.change(args, false)
    }

    fn change(&mut self, args: &[Value], comes: bool) -> SqlResult<()> {
        if !matches!(self.kind, Kind::Rows) && matches!(args, [Value::Null, ..]) {
            return Ok(());
        }
        match (&mut self.kind, args) {
            (Kind::Whole(sum), [value]) => {
                let value = i128::from(value.as_i64().unwrap_or(0));
                *sum += if comes { value } else { -value };
            }
            (Kind::Decimal(decimal), [Value::Numeric(value)]) => decimal.change(value, comes)?,
            _ => {}
        }
        self.count += if comes { 1 } else { -1 };
        Ok(())
    }

    /// What the rows in the frame give.
    ///
    /// # Errors
    /// `22003` when it leaves its type.
    pub fn current(&self) -> SqlResult<Value> {
        let sum = match &self.kind {
            Kind::Rows | Kind::Known => return Ok(Value::Int8(self.count)),
            _ if self.count == 0 => return Ok(Value::Null),
            Kind::Whole(sum) if !self.avg && self.ty != SqlType::Numeric => {
                return i64::try_from(*sum)
                    .map(Value::Int8)
                    .map_err(|_| arithmetic::out_of_range("bigint"));
            }
            Kind::Whole(sum) => Numeric::from_i128(*sum),
            Kind::Decimal(decimal) => decimal.current()?,
        };
        match self.avg {
            true => sum.div(&Numeric::from_i64(self.count)).map(Value::numeric),
            false => Ok(Value::numeric(sum)),
        }
    }
}

impl Decimal {
    fn change(&mut self, value: &Numeric, comes: bool) -> SqlResult<()> {
        if value.is_finite() {
            let scale = self.scales.entry(value.scale()).or_default();
            if comes {
                *scale += 1;
                self.sum = self.sum.add(value)?;
            } else {
                *scale -= 1;
                if *scale == 0 {
                    self.scales.remove(&value.scale());
                }
                self.sum = self.sum.sub(value)?;
            }
            return Ok(());
        }
        let many = match (value.is_nan(), value.is_negative()) {
            (true, _) => &mut self.nans,
            (false, true) => &mut self.negative_infinities,
            (false, false) => &mut self.infinities,
        };
        *many = if comes { *many + 1 } else { *many - 1 };
        Ok(())
    }

    fn current(&self) -> SqlResult<Numeric> {
        if self.nans > 0 || (self.infinities > 0 && self.negative_infinities > 0) {
            return Ok(Numeric::NAN);
        }
        if self.infinities > 0 {
            return Ok(Numeric::INFINITY);
        }
        if self.negative_infinities > 0 {
            return Ok(Numeric::NEGATIVE_INFINITY);
        }
        let scale = self.scales.last_key_value().map_or(0, |(scale, _)| *scale);
        self.sum.round(i32::from(scale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::WindowFrame;

    fn sliding(function: AggregateFunction, of: SqlType, ty: SqlType) -> Sliding {
        let call = WindowCall {
            function: WindowFunction::Aggregate(function),
            args: vec![Expr::Column(0, of)],
            filter: None,
            frame: WindowFrame::usual(),
            ty,
        };
        Sliding::new(&call).expect("rows can be taken out")
    }

    fn number(text: &str) -> [Value; 1] {
        [Value::numeric(Numeric::parse(text).expect("a number"))]
    }

    #[test]
    fn digits_go_with_the_rows_that_had_them() {
        let mut sum = sliding(AggregateFunction::Sum, SqlType::Numeric, SqlType::Numeric);
        sum.add(&number("1.25")).unwrap();
        sum.add(&number("2.5")).unwrap();
        assert_eq!(
            format!("{:?}", sum.current().unwrap()),
            format!("{:?}", number("3.75")[0])
        );
        sum.remove(&number("1.25")).unwrap();
        assert_eq!(
            format!("{:?}", sum.current().unwrap()),
            format!("{:?}", number("2.5")[0])
        );
        sum.remove(&number("2.5")).unwrap();
        assert!(sum.current().unwrap().is_null());
    }

    #[test]
    fn an_infinity_that_has_gone_leaves_the_rest() {
        let mut avg = sliding(AggregateFunction::Avg, SqlType::Numeric, SqlType::Numeric);
        avg.add(&number("Infinity")).unwrap();
        avg.add(&number("4")).unwrap();
        avg.remove(&number("Infinity")).unwrap();
        let rest = avg.current().unwrap();
        assert!(rest.order(&number("4")[0]).is_eq(), "{rest:?}");
    }

    #[test]
    fn nulls_do_not_count() {
        let mut count = sliding(AggregateFunction::Count, SqlType::Int4, SqlType::Int8);
        count.add(&[Value::Null]).unwrap();
        count.add(&[Value::Int4(1)]).unwrap();
        count.remove(&[Value::Null]).unwrap();
        assert_eq!(count.current().unwrap().as_i64(), Some(1));
    }
}
