//! Where values become a domain's.
//!
//! Relies on: `ir::function` for the errors.  Promises: an expression that is made a domain's has the base type, and is
//! refused at run time with PostgreSQL's message where NOT NULL or a CHECK is broken.  Does not: keep domains apart at
//! run time: behind the check a value is of the base type, as everything that is computed from it.
//!
//! A check names the value as often as it likes, so the expression is written out as often; one that may not be run twice
//! is refused.

use crate::coerce;
use crate::expr::Binder;
use crate::parse::parse_expression;
use crate::planner::Planner;
use crate::records::TypeRecord;
use crate::scope::{Scope, ScopeColumn, ScopeTable};
use quintet_base::{SqlError, SqlResult, SqlType, TypeMod, Value};
use quintet_ir::Expr;
use quintet_ir::cast::CastContext;
use quintet_ir::function::{self, DOMAIN_HOLDS, Volatility};

/// What VALUE stands for in a domain's checks.
pub(crate) fn scope_of_value(value: Expr, modifier: TypeMod) -> Scope {
    let mut scope = Scope::empty();
    scope.add(ScopeTable {
        is_optional: false,
        name: String::new(),
        schema: None,
        columns: vec![ScopeColumn {
            name: "value".to_string(),
            expr: value,
            modifier,
            origin: None,
        }],
        table_oid: None,
        row: None,
    });
    scope
}

/// A condition of a domain over a value.
///
/// # Errors
/// As the binder's.
pub(crate) fn condition(
    planner: &Planner,
    text: &str,
    value: Expr,
    modifier: TypeMod,
) -> SqlResult<Expr> {
    let node = parse_expression(text)?;
    let scope = scope_of_value(value, modifier);
    let expr = planner
        .calls
        .refusing(|| Binder::new(planner, &scope, "check constraints").bind(&node))?;
    coerce::convert(planner, expr, SqlType::Bool, CastContext::Assignment)
}

/// What must hold of a value: each is true or raises its error, NOT NULL first, then by the names of the checks.
///
/// # Errors
/// As the binder's.
pub(crate) fn conditions(
    planner: &Planner,
    record: &TypeRecord,
    value: &Expr,
) -> SqlResult<Vec<(String, Expr)>> {
    let Some(domain) = record.domain() else {
        return Ok(Vec::new());
    };
    let raising = |condition: Expr, constraint: &str| {
        let words = [&*record.schema, &*record.name, constraint];
        let words = words.map(|word| Expr::Const(Value::text(word), SqlType::Text));
        let args: Vec<Expr> = std::iter::once(condition).chain(words).collect();
        let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
        let function = function::resolve(DOMAIN_HOLDS, &types)?.function;
        Ok(Expr::Call {
            function,
            args,
            ty: SqlType::Bool,
        })
    };
    let mut all = Vec::with_capacity(domain.checks.len() + 1);
    if domain.not_null {
        let is_there = Expr::IsNull {
            input: Box::new(value.clone()),
            negated: true,
        };
        all.push((String::new(), raising(is_there, "")?));
    }
    let mut checks: Vec<_> = domain.checks.iter().collect();
    checks.sort_by(|a, b| a.name.cmp(&b.name));
    // What a domain's text names is found where the domain is.
    let format = quintet_base::text_format::FormatContext::default();
    let path = format!("\"{}\", public", record.schema.replace('"', "\"\""));
    let context = crate::planner::PlanContext {
        schema: &path,
        format: &format,
        ..*planner.context
    };
    let inside = Planner::new(&context, "", &[]);
    for check in checks {
        let condition = condition(&inside, &check.text, value.clone(), domain.modifier)?;
        all.push((check.name.clone(), raising(condition, &check.name)?));
    }
    Ok(all)
}

/// An expression of the base type as one of the domain.
///
/// # Errors
/// `0A000` if it may not be run more than once.
pub(crate) fn checked(planner: &Planner, record: &TypeRecord, value: Expr) -> SqlResult<Expr> {
    let held = conditions(planner, record, &value)?;
    if held.is_empty() {
        return Ok(value);
    }
    if !may_repeat(&value) {
        return Err(SqlError::unsupported(
            "a domain's check of what may be another value the next time",
        ));
    }
    let ty = value.ty();
    let mut held: Vec<Expr> = held.into_iter().map(|(_, condition)| condition).collect();
    let all = match held.len() {
        1 => held.remove(0),
        _ => Expr::And(held),
    };
    Ok(Expr::Case {
        branches: vec![(all, value)],
        otherwise: None,
        ty,
    })
}

/// Whether an expression gives the same value when it is run again, and does nothing else.
fn may_repeat(expr: &Expr) -> bool {
    let mut may = match expr {
        Expr::Subquery(_)
        | Expr::Routine { .. }
        | Expr::NextVal(_)
        | Expr::CurrVal(_)
        | Expr::SetVal { .. } => false,
        Expr::Call { function, .. } => function.volatility != Volatility::Volatile,
        _ => true,
    };
    expr.for_each_part(&mut |part| may = may && may_repeat(part));
    may
}
