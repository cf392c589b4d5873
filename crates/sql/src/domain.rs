//! Where values become a domain's.
//!
//! Relies on: `ir::function` for the errors.  Promises: an expression that is made a domain's has the base type, and is
//! refused at run time with PostgreSQL's message where NOT NULL or a CHECK is broken.  Does not: keep domains apart at
//! run time: behind the check a value is of the base type, as everything that is computed from it.
//!
//! A check names the value as often as it likes, so the expression is written out as often; one that may not be run twice
//! is refused.

use crate::catalog::Catalog;
use crate::coerce;
use crate::expr::Binder;
use crate::parse::parse_expression;
use crate::planner::Planner;
use crate::records::{DomainRecord, TypeRecord};
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

impl Catalog {
    /// A domain, and those that it is over, the innermost last; nothing of another type.
    pub(crate) fn domains_of<'c>(
        &'c self,
        record: &'c TypeRecord,
    ) -> Vec<(&'c TypeRecord, &'c DomainRecord)> {
        let mut all = Vec::new();
        let mut next = Some(record);
        while let Some(record) = next
            && let Some(domain) = record.domain()
        {
            all.push((record, domain));
            let over = domain.over.and_then(|over| self.user_type(over));
            next = over.map(|over| &**over);
        }
        all
    }
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
    let catalog = planner.catalog();
    let all_over = catalog.domains_of(record);
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
    let mut all = Vec::new();
    if all_over.iter().any(|(_, domain)| domain.not_null) {
        let is_there = Expr::IsNull {
            input: Box::new(value.clone()),
            negated: true,
        };
        all.push((String::new(), raising(is_there, "")?));
    }
    // Those of the domain that it is over go first.
    for (own, domain) in all_over.iter().rev() {
        let mut checks: Vec<_> = domain.checks.iter().collect();
        checks.sort_by(|a, b| a.name.cmp(&b.name));
        // What a domain's text names is found where the domain is.
        let format = quintet_base::text_format::FormatContext::default();
        let path = format!("\"{}\", public", own.schema.replace('"', "\"\""));
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
