//! `column = ANY (array)` where the array is not known before the statement runs.
//!
//! Relies on: `access`.  Promises: if the column begins a key, the array's distinct elements become
//! one more leaf of the join, from whose rows the table is looked up; else the condition stays what
//! it was.  Does not: arrays that depend on a row.
//!
//! ```text
//! t WHERE id = ANY ($1)   =>   unnest($1) distinct k, t WHERE t.id = k
//! ```

use crate::access::choose;
use crate::from::{Leaf, LeafKind, Source};
use crate::rewrite::is_volatile;
use quintet_ir::plan::Plan;
use quintet_ir::{CompareOp, Expr};

/// Replaces such conditions; the leaves to add.
pub(crate) fn expand(leaves: &[Leaf], conditions: &mut [Expr], mut width: usize) -> Vec<Leaf> {
    let mut added = Vec::new();
    for number in 0..conditions.len() {
        let Some((array, equality)) = as_equality(&conditions[number], width) else {
            continue;
        };
        let before = std::mem::replace(&mut conditions[number], equality);
        if !leaves
            .iter()
            .any(|leaf| is_found_by(leaf, conditions, number, width))
        {
            conditions[number] = before;
            continue;
        }
        let ty = array.ty().element().unwrap_or(array.ty());
        let plan = Plan::Unique {
            input: Box::new(Plan::Unnest { array }),
        };
        added.push(Leaf {
            name: String::new(),
            source: Source::Keys(plan),
            offset: width,
            width: 1,
            types: vec![ty],
            kind: LeafKind::Inner,
            security: Vec::new(),
            barrier: false,
        });
        width += 1;
    }
    added
}

/// The array, and the condition as equality with place `element`.
fn as_equality(condition: &Expr, element: usize) -> Option<(Expr, Expr)> {
    let Expr::Quantified {
        input,
        op: CompareOp::Eq,
        array,
        all: false,
    } = condition
    else {
        return None;
    };
    let ty = array.ty().element()?;
    if array.uses_columns() || is_volatile(array) || !input.uses_columns() {
        return None;
    }
    let equality = Expr::Compare {
        op: CompareOp::Eq,
        left: input.clone(),
        right: Box::new(Expr::Column(element, ty)),
    };
    Some(((**array).clone(), equality))
}

/// True if the table has a key by this equality, and had none by constants.
fn is_found_by(leaf: &Leaf, conditions: &[Expr], equality: usize, element: usize) -> bool {
    let (Source::Table(table), LeafKind::Inner) = (&leaf.source, &leaf.kind) else {
        return false;
    };
    let all: Vec<&Expr> = conditions.iter().collect();
    let rank = |usable: &dyn Fn(usize) -> bool| choose(table, leaf.offset, &all, usable, None).rank;
    let own = leaf.offset..leaf.offset + leaf.width;
    let mut columns = Vec::new();
    conditions[equality].collect_columns(&mut columns);
    columns.iter().any(|column| own.contains(column))
        && rank(&|place| place == element) > rank(&|_| false)
}
