//! What an expression means.
//!
//! Relies on: the binder, which has made the types of all parts fit.  Promises: PostgreSQL's
//! three-valued logic; AND, OR, CASE and COALESCE evaluate from left to right and stop as soon as
//! the result is known; a strict function is not called with a NULL.  Does not: convert types on its
//! own, or keep anything between two calls.
//!
//! Hot path: run once per row and expression. Columns, constants and parameters are compared in
//! place; a call with up to four arguments keeps them on the stack.

use crate::cast::cast;
use crate::expr::{CompareOp, Expr, Truth};
use crate::function::Function;
use quintet_base::text_format::FormatContext;
use quintet_base::value::Array;
use quintet_base::{SequenceId, SqlError, SqlResult, SqlState, SqlType, Value};
use std::borrow::Cow;
use std::cmp::Ordering;

/// What expressions may ask of the session that runs them.
pub trait Host {
    /// now(): when the transaction began, microseconds since 2000-01-01 UTC.
    fn transaction_time(&self) -> i64;
    /// statement_timestamp().
    fn statement_time(&self) -> i64;
    /// clock_timestamp().
    fn clock_time(&self) -> i64;
    /// Zone and float digits for text conversions.
    fn format(&self) -> &FormatContext;
    /// current_setting(name).
    fn setting(&self, name: &str) -> Option<String>;
    /// current_user.
    fn user(&self) -> &str;
    /// current_database().
    fn database(&self) -> &str;
    /// current_schema().
    fn schema(&self) -> &str;
    /// 64 random bits.
    fn random(&self) -> u64;
    /// nextval.
    fn nextval(&self, sequence: SequenceId) -> SqlResult<i64>;
    /// currval: what nextval gave this session last; `55000` if it never did.
    fn currval(&self, sequence: SequenceId) -> SqlResult<i64>;
    /// setval.
    fn setval(&self, sequence: SequenceId, value: i64, is_called: bool) -> SqlResult<i64>;
    /// pg_backend_pid().
    fn process_id(&self) -> i32;
}

/// Evaluates an expression over a frame and the parameters.
///
/// # Errors
/// Whatever the functions in it say: `22012`, `22003`, `22P02` …
pub fn eval(expr: &Expr, frame: &[Value], params: &[Value], host: &dyn Host) -> SqlResult<Value> {
    let scope = Scope {
        frame,
        params,
        host,
    };
    scope.eval(expr)
}

/// Evaluates a predicate: true only if it is TRUE (not NULL).
///
/// # Errors
/// As [`eval`].
pub fn eval_predicate(
    expr: &Expr,
    frame: &[Value],
    params: &[Value],
    host: &dyn Host,
) -> SqlResult<bool> {
    Ok(eval(expr, frame, params, host)?.as_bool() == Some(true))
}

/// Order of two values of a type, as its comparison operators see it: [`Value::order`], but
/// char(n) without its trailing blanks. For sorting, grouping and extremes as well.
#[inline]
pub fn order(left: &Value, right: &Value, ty: SqlType) -> Ordering {
    match (left, right) {
        (Value::Int4(a), Value::Int4(b)) => a.cmp(b),
        (Value::Int8(a), Value::Int8(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) if ty == SqlType::Bpchar => {
            let trim = |text: &str| text.trim_end_matches(' ').len();
            a.as_bytes()[..trim(a)].cmp(&b.as_bytes()[..trim(b)])
        }
        _ => left.order(right),
    }
}

/// TRUE, FALSE or NULL as a value.
fn truth_value(truth: Option<bool>) -> Value {
    truth.map_or(Value::Null, Value::Bool)
}

/// What the leaves of an expression refer to.
struct Scope<'a> {
    frame: &'a [Value],
    params: &'a [Value],
    host: &'a dyn Host,
}

impl<'a> Scope<'a> {
    fn param(&self, number: usize) -> SqlResult<&'a Value> {
        self.params.get(number).ok_or_else(|| {
            SqlError::new(
                SqlState::UNDEFINED_PARAMETER,
                format!("there is no parameter ${}", number + 1),
            )
        })
    }

    /// The value of an expression, borrowed where it lies somewhere already.
    fn operand(&self, expr: &'a Expr) -> SqlResult<Cow<'a, Value>> {
        Ok(match expr {
            Expr::Const(value, _) => Cow::Borrowed(value),
            Expr::Param(number, _) => Cow::Borrowed(self.param(*number)?),
            Expr::Column(column, _) => Cow::Borrowed(&self.frame[*column]),
            other => Cow::Owned(self.eval(other)?),
        })
    }

    fn eval(&self, expr: &'a Expr) -> SqlResult<Value> {
        match expr {
            Expr::Const(value, _) => Ok(value.clone()),
            Expr::Param(number, _) => Ok(self.param(*number)?.clone()),
            Expr::Column(column, _) => Ok(self.frame[*column].clone()),
            Expr::Call { function, args, .. } => match args.len() {
                0..=2 => self.call::<2>(function, args),
                3..=4 => self.call::<4>(function, args),
                _ => self.call_long(function, args),
            },
            Expr::Compare { op, left, right } => self.compare(*op, left, right),
            Expr::Distinct {
                left,
                right,
                negated,
            } => {
                let (a, b) = (self.operand(left)?, self.operand(right)?);
                // NULL equals NULL in the order, and nothing else.
                let differ = order(&a, &b, left.ty()).is_ne();
                Ok(Value::Bool(differ != *negated))
            }
            Expr::And(args) => self.connect(args, false),
            Expr::Or(args) => self.connect(args, true),
            Expr::Not(input) => Ok(truth_value(self.eval(input)?.as_bool().map(|b| !b))),
            Expr::IsNull { input, negated } => {
                Ok(Value::Bool(self.operand(input)?.is_null() != *negated))
            }
            Expr::IsTruth {
                input,
                truth,
                negated,
            } => {
                let wanted = match truth {
                    Truth::True => Some(true),
                    Truth::False => Some(false),
                    Truth::Unknown => None,
                };
                let is = self.eval(input)?.as_bool() == wanted;
                Ok(Value::Bool(is != *negated))
            }
            Expr::Case {
                branches,
                otherwise,
                ..
            } => {
                for (condition, result) in branches {
                    if self.eval(condition)?.as_bool() == Some(true) {
                        return self.eval(result);
                    }
                }
                otherwise
                    .as_ref()
                    .map_or(Ok(Value::Null), |result| self.eval(result))
            }
            Expr::Coalesce { args, .. } => {
                for arg in args {
                    let value = self.eval(arg)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Value::Null)
            }
            Expr::Extreme { greatest, args, ty } => self.extreme(*greatest, args, *ty),
            Expr::InList {
                input,
                list,
                negated,
            } => self.in_list(input, list, *negated),
            Expr::Quantified {
                input,
                op,
                array,
                all,
            } => self.quantified(input, *op, array, *all),
            Expr::Array { elements, element } => {
                let values = elements.iter().map(|e| self.eval(e));
                Ok(Value::Array(Box::new(Array {
                    element: *element,
                    values: values.collect::<SqlResult<_>>()?,
                })))
            }
            Expr::Cast {
                input,
                to,
                modifier,
                explicit,
            } => {
                let value = self.eval(input)?;
                cast(value, input.ty(), *to, *modifier, *explicit, self.host)
            }
            Expr::NextVal(sequence) => self.host.nextval(*sequence).map(Value::Int8),
            Expr::CurrVal(sequence) => self.host.currval(*sequence).map(Value::Int8),
            Expr::SetVal {
                sequence,
                value,
                is_called,
            } => {
                let (value, is_called) = (self.eval(value)?, self.eval(is_called)?);
                match (value.as_i64(), is_called.as_bool()) {
                    (Some(value), Some(is_called)) => self
                        .host
                        .setval(*sequence, value, is_called)
                        .map(Value::Int8),
                    _ => Ok(Value::Null),
                }
            }
        }
    }

    /// Calls a function with at most `N` arguments, kept on the stack. All of them are evaluated
    /// before a strict function gives NULL, so that an error in a later one is not lost.
    fn call<const N: usize>(&self, function: &Function, args: &'a [Expr]) -> SqlResult<Value> {
        let mut values = [const { Value::Null }; N];
        let mut has_null = false;
        for (slot, arg) in values.iter_mut().zip(args) {
            *slot = self.eval(arg)?;
            has_null |= slot.is_null();
        }
        if has_null && function.strict {
            return Ok(Value::Null);
        }
        (function.eval)(&values[..args.len()], self.host)
    }

    fn call_long(&self, function: &Function, args: &'a [Expr]) -> SqlResult<Value> {
        let values = args
            .iter()
            .map(|arg| self.eval(arg))
            .collect::<SqlResult<Vec<_>>>()?;
        if function.strict && values.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        (function.eval)(&values, self.host)
    }

    fn compare(&self, op: CompareOp, left: &'a Expr, right: &'a Expr) -> SqlResult<Value> {
        let (a, b) = (self.operand(left)?, self.operand(right)?);
        if a.is_null() || b.is_null() {
            return Ok(Value::Null);
        }
        Ok(Value::Bool(op.accepts(order(&a, &b, left.ty()))))
    }

    /// AND (`decisive` is false) or OR (true): the decisive value wins, then NULL.
    fn connect(&self, args: &'a [Expr], decisive: bool) -> SqlResult<Value> {
        let mut unknown = false;
        for arg in args {
            match self.eval(arg)?.as_bool() {
                Some(value) if value == decisive => return Ok(Value::Bool(decisive)),
                Some(_) => {}
                None => unknown = true,
            }
        }
        Ok(truth_value((!unknown).then_some(!decisive)))
    }

    fn extreme(&self, greatest: bool, args: &'a [Expr], ty: SqlType) -> SqlResult<Value> {
        let wanted = match greatest {
            true => Ordering::Greater,
            false => Ordering::Less,
        };
        let mut best = Value::Null;
        for arg in args {
            let value = self.eval(arg)?;
            if !value.is_null() && (best.is_null() || order(&value, &best, ty) == wanted) {
                best = value;
            }
        }
        Ok(best)
    }

    fn in_list(&self, input: &'a Expr, list: &'a [Expr], negated: bool) -> SqlResult<Value> {
        let value = self.operand(input)?;
        let mut unknown = value.is_null();
        for item in list {
            let item = self.operand(item)?;
            if item.is_null() || value.is_null() {
                unknown = true;
            } else if order(&value, &item, input.ty()).is_eq() {
                return Ok(Value::Bool(!negated));
            }
        }
        Ok(truth_value((!unknown).then_some(negated)))
    }

    fn quantified(
        &self,
        input: &'a Expr,
        op: CompareOp,
        array: &'a Expr,
        all: bool,
    ) -> SqlResult<Value> {
        let (value, array) = (self.operand(input)?, self.operand(array)?);
        let Value::Array(array) = array.as_ref() else {
            return Ok(Value::Null);
        };
        if array.values.is_empty() {
            return Ok(Value::Bool(all));
        }
        if value.is_null() {
            return Ok(Value::Null);
        }
        let mut unknown = false;
        for item in &array.values {
            if item.is_null() {
                unknown = true;
            } else if op.accepts(order(&value, item, input.ty())) != all {
                return Ok(Value::Bool(!all));
            }
        }
        Ok(truth_value((!unknown).then_some(all)))
    }
}
