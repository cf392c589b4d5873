//! Policies of a table where its rows are found.
//!
//! Relies on: `access` for keys.  Promises: a condition of the user's that could tell what row it was asked about, by an error or
//! because it is a function of his, is asked of no row that a policy hides, one whose policy is NULL included; keys that
//! policies or the user's conditions give are used all the same.  Does not: know which policies there are.
//!
//! ```text
//!   Scan(key; policies without queries and users' functions, AND what never fails or, if that is all, what the user asks)
//!     [Filter(other policies AND what else the user asks)]
//! ```

use super::filter;
use super::push::never_fails;
use crate::expr::and;
use crate::from::Leaf;
use crate::rewrite::is_volatile;
use quintet_ir::Expr;
use quintet_ir::expr::Truth;
use quintet_ir::plan::{Access, Plan};

/// The policies of a leaf that its path does not make true; they came behind `known` conditions where that was chosen.
pub(super) fn left(leaf: &Leaf, known: usize, taken: &[usize]) -> Vec<Expr> {
    let policies = leaf.security.iter().enumerate();
    let left = policies.filter(|(number, _)| !taken.contains(&(known + number)));
    left.map(|(_, policy)| policy.clone()).collect()
}

/// The rows of a scan that policies show and of which these conditions are true. All of them look at nothing but its table.
pub(super) fn asked(scan: Access, policies: Vec<Expr>, mut conditions: Vec<Expr>) -> Plan {
    let is_plain = |policy: &Expr| !is_volatile(policy) && !policy.has_subquery();
    let (plain, others): (Vec<Expr>, Vec<Expr>) = policies.into_iter().partition(is_plain);
    let mut behind = Vec::new();
    if !others.is_empty() {
        (conditions, behind) = conditions.into_iter().partition(never_fails);
    }
    let mut inside: Vec<Expr> = Vec::new();
    inside.extend(truth(plain));
    inside.extend(conditions);
    let scan = Plan::Scan(Access {
        filter: (!inside.is_empty()).then(|| and(inside)),
        ..scan
    });
    match truth(others) {
        None => scan,
        Some(others) => {
            let all = std::iter::once(others).chain(behind);
            filter(scan, and(all.collect()))
        }
    }
}

/// True, false, and never NULL: what stands behind it is not asked of what it does not let through.
fn truth(policies: Vec<Expr>) -> Option<Expr> {
    (!policies.is_empty()).then(|| Expr::IsTruth {
        input: Box::new(and(policies)),
        truth: Truth::True,
        negated: false,
    })
}
