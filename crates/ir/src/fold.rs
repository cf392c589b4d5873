//! Constant folding: what needs neither row nor session is computed once.
//!
//! Relies on: `eval`, and the volatility of functions and casts.  Promises: a folded expression has
//! the same type, and gives the same result wherever the original gives one; what would fail stays
//! as it is, so that an error is reported only if it is reached.  Does not: reorder anything.

use crate::cast;
use crate::eval::{Host, eval};
use crate::expr::Expr;
use crate::function::Volatility;
use quintet_base::datetime::{self, DateOrder};
use quintet_base::text_format::FormatContext;
use quintet_base::types::TypeFamily;
use quintet_base::{SequenceId, SqlError, SqlResult, SqlType, Value};

/// A host without a session: for conversions of literals while planning. Its clock stands at
/// 2000-01-01, its names are empty, it has no settings, and it refuses sequences.
#[derive(Clone, Debug, Default)]
pub struct DetachedHost {
    /// Zone and float digits for text conversions.
    pub format: FormatContext,
}

fn no_session<T>() -> SqlResult<T> {
    Err(SqlError::internal("a sequence was used outside a session"))
}

impl Host for DetachedHost {
    fn transaction_time(&self) -> i64 {
        0
    }
    fn statement_time(&self) -> i64 {
        0
    }
    fn clock_time(&self) -> i64 {
        0
    }
    fn format(&self) -> &FormatContext {
        &self.format
    }
    fn setting(&self, _: &str) -> Option<String> {
        None
    }
    fn user(&self) -> &str {
        ""
    }
    fn database(&self) -> &str {
        ""
    }
    fn schema(&self) -> &str {
        ""
    }
    fn random(&self) -> u64 {
        0
    }
    fn nextval(&self, _: SequenceId) -> SqlResult<i64> {
        no_session()
    }
    fn currval(&self, _: SequenceId) -> SqlResult<i64> {
        no_session()
    }
    fn lastval(&self) -> SqlResult<i64> {
        no_session()
    }
    fn setval(&self, _: SequenceId, _: i64, _: bool) -> SqlResult<i64> {
        no_session()
    }
    fn process_id(&self) -> i32 {
        0
    }
}

/// Computes the constant parts of an expression.
pub fn fold(mut expr: Expr) -> Expr {
    fold_in_place(&mut expr, &DetachedHost::default());
    expr
}

fn fold_in_place(expr: &mut Expr, host: &DetachedHost) {
    expr.for_each_part_mut(&mut |part| fold_in_place(part, host));
    match expr {
        Expr::And(args) => drop_neutral(args, false),
        Expr::Or(args) => drop_neutral(args, true),
        Expr::Case {
            branches,
            otherwise,
            ..
        } => drop_branches(branches, otherwise),
        Expr::Coalesce { args, .. } => drop_nulls(args),
        _ => {}
    }
    if let Some(only) = only_part(expr) {
        *expr = only;
    }
    if is_null_of_null(expr) {
        *expr = Expr::null(expr.ty());
    }
    if depends_on_parts_only(expr)
        && parts_are_constant(expr)
        && let Ok(value) = eval(expr, &[], &[], host)
    {
        *expr = Expr::Const(value, expr.ty());
    }
}

fn as_bool(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Const(value, _) => value.as_bool(),
        _ => None,
    }
}

/// AND without its TRUEs and everything behind a FALSE; OR the other way round.
fn drop_neutral(args: &mut Vec<Expr>, decisive: bool) {
    if args.iter().any(|arg| as_bool(arg) == Some(decisive)) {
        *args = vec![Expr::Const(Value::Bool(decisive), SqlType::Bool)];
    }
    if args.iter().all(|arg| as_bool(arg) == Some(!decisive)) {
        args.truncate(1);
    } else {
        args.retain(|arg| as_bool(arg) != Some(!decisive));
    }
}

/// CASE without the branches that are never taken.
fn drop_branches(branches: &mut Vec<(Expr, Expr)>, otherwise: &mut Option<Box<Expr>>) {
    let never = |condition: &Expr| matches!(condition, Expr::Const(value, _) if value.as_bool() != Some(true));
    branches.retain(|(condition, _)| !never(condition));
    let always = branches
        .iter()
        .position(|(condition, _)| as_bool(condition) == Some(true));
    if let Some(at) = always {
        let (_, result) = branches.swap_remove(at);
        branches.truncate(at);
        *otherwise = Some(Box::new(result));
    }
}

/// COALESCE without the NULLs among its arguments and everything behind a constant.
fn drop_nulls(args: &mut Vec<Expr>) {
    let is_null = |arg: &Expr| matches!(arg, Expr::Const(value, _) if value.is_null());
    if args.iter().all(is_null) {
        args.truncate(1);
        return;
    }
    args.retain(|arg| !is_null(arg));
    if let Some(at) = args.iter().position(|arg| matches!(arg, Expr::Const(..))) {
        args.truncate(at + 1);
    }
}

/// What is left of a form that has only one part left.
fn only_part(expr: &mut Expr) -> Option<Expr> {
    match expr {
        Expr::And(args) | Expr::Or(args) | Expr::Coalesce { args, .. } if args.len() == 1 => {
            args.pop()
        }
        Expr::Case {
            branches,
            otherwise,
            ty,
        } if branches.is_empty() => Some(match otherwise.take() {
            Some(result) => *result,
            None => Expr::null(*ty),
        }),
        _ => None,
    }
}

/// A comparison with NULL, or a strict function of it: NULL, whatever the other operands are.
fn is_null_of_null(expr: &Expr) -> bool {
    let is_null = |part: &Expr| matches!(part, Expr::Const(value, _) if value.is_null());
    match expr {
        Expr::Compare { left, right, .. } => is_null(left) || is_null(right),
        Expr::Call { function, args, .. } => function.strict && args.iter().any(is_null),
        _ => false,
    }
}

fn parts_are_constant(expr: &Expr) -> bool {
    let mut constant = true;
    expr.for_each_part(&mut |part| constant &= matches!(part, Expr::Const(..)));
    constant
}

/// Labels of enums are called what the session's catalogue says.
fn is_label(part: &Expr) -> bool {
    match part {
        Expr::Const(Value::Enum(_), _) => true,
        Expr::Const(Value::Array(array), _) => array.element.is_enum(),
        _ => false,
    }
}

/// True if the node is no leaf and asks nothing of the session.
fn depends_on_parts_only(expr: &Expr) -> bool {
    match expr {
        Expr::Const(..)
        | Expr::Param(..)
        | Expr::Column(..)
        | Expr::Outer(..)
        | Expr::Subquery(_)
        | Expr::NextVal(_)
        | Expr::CurrVal(_)
        | Expr::SetVal { .. }
        | Expr::Routine { .. } => false,
        Expr::Call { function, args, .. } => {
            function.volatility == Volatility::Immutable && !args.iter().any(is_label)
        }
        Expr::Cast { input, to, .. } => {
            // 'now' and 'today' as dates ask for the clock, and 01/02/2024 for the order.
            let element = to.element();
            let may_ask = element.unwrap_or(*to).family() == TypeFamily::DateTime;
            let asks = match input.as_ref() {
                Expr::Const(Value::Text(text), _) if may_ask => {
                    let between = |c| element.is_some() && "{},\"".contains(c);
                    let mut parts = text.split(between);
                    parts.any(|part| datetime::asks_for_clock(part) || DateOrder::matters(part))
                }
                _ => false,
            };
            cast::is_immutable(input.ty(), *to) && !asks
        }
        _ => true,
    }
}
