//! What nobody looks at is left out: columns of scans, expressions and aggregates of subselects and views.
//!
//! Relies on: places in frames that are counted from the beginning of the whole frame.  Promises: whoever looks at a place that is
//! said to be used finds what would be there anyway; what leaves traces is computed all the same.
//! Does not: narrow frames: NULL stands in what is left out; look below locks, DISTINCT, windows and WITH queries that are kept.

use super::columns_of;
use quintet_base::{SqlType, Value};
use quintet_ir::Expr;
use quintet_ir::aggregate::{AggregateCall, AggregateFunction};
use quintet_ir::expressions::{each_of_plan, leaves_no_trace};
use quintet_ir::plan::Plan;
use std::collections::BTreeSet;

/// Leaves out of a join tree what nobody looks at: neither at these places, nor by its own conditions. Tables whose rows are
/// locked keep all of their columns.
pub(crate) fn mark_needed(plan: &mut Plan, used: &BTreeSet<usize>) {
    mark_behind(plan, 0, used);
}

/// The same of a plan whose frame begins at `base`.
fn mark_behind(plan: &mut Plan, base: usize, used: &BTreeSet<usize>) {
    let and = |exprs: &mut dyn Iterator<Item = &Expr>| -> BTreeSet<usize> {
        let mut all = used.clone();
        all.extend(exprs.flat_map(columns_of));
        all
    };
    match plan {
        Plan::Scan(access) => {
            let used = and(&mut access.filter.iter());
            let width = access.table.frame_width();
            let needed: Vec<bool> = (0..width)
                .map(|c| used.contains(&(access.offset + c)))
                .collect();
            let all = (0..access.table.columns.len())
                .all(|c| needed[c] || access.table.columns[c].dropped);
            access.needed = (!all).then_some(needed);
        }
        Plan::Join {
            outer,
            inner,
            outer_width,
            on,
            ..
        } => {
            let middle = base + *outer_width;
            let mut all = and(&mut on.iter());
            mark_behind(inner, middle, &all);
            // What finds the inner rows may look at the outer ones.
            each_of_plan(inner, &mut |expr, _| {
                all.extend(columns_of(expr).into_iter().filter(|place| *place < middle));
            });
            mark_behind(outer, base, &all);
        }
        Plan::Filter { input, predicate } => {
            let all = and(&mut std::iter::once(&*predicate));
            mark_behind(input, base, &all);
        }
        Plan::Sort { input, keys, .. }
        | Plan::Limit {
            input, ties: keys, ..
        } => {
            let all = and(&mut keys.iter().map(|key| &key.expr));
            mark_behind(input, base, &all);
        }
        Plan::Append { inputs } => {
            for input in inputs {
                mark_behind(input, base, used);
            }
        }
        Plan::Project { input, exprs } => {
            let mut left_out = false;
            for (number, expr) in exprs.iter_mut().enumerate() {
                let is_constant = matches!(expr, Expr::Const(..));
                if !used.contains(&(base + number)) && !is_constant && leaves_no_trace(expr) {
                    *expr = Expr::Const(Value::Null, expr.ty());
                    left_out = true;
                }
            }
            if left_out {
                let used = exprs.iter().flat_map(columns_of).collect();
                mark_behind(input, base, &used);
            }
        }
        Plan::Aggregate {
            input, keys, calls, ..
        } => {
            let mut left_out = false;
            for (number, call) in calls.iter_mut().enumerate() {
                let is_used = used.contains(&(base + keys.len() + number));
                if !is_used && call.exprs().all(leaves_no_trace) {
                    left_out = true;
                    *call = AggregateCall {
                        function: AggregateFunction::CountRows,
                        args: Vec::new(),
                        distinct: false,
                        filter: None,
                        order: Vec::new(),
                        ty: SqlType::Int8,
                    };
                }
            }
            if left_out {
                let calls = calls.iter().flat_map(AggregateCall::exprs);
                let used = keys.iter().chain(calls).flat_map(columns_of).collect();
                mark_behind(input, base, &used);
            }
        }
        Plan::Lookup { input, keys, .. } => {
            // Its frame is its own: it begins at 0.
            let width = input.frame_types().len();
            let own = used.range(base..base + width);
            let mut own: BTreeSet<usize> = own.map(|place| place - base).collect();
            own.extend(keys.iter().flat_map(columns_of));
            mark_behind(input, 0, &own);
        }
        _ => {}
    }
}
