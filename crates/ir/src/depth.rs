//! How deep plans and expressions nest.
//!
//! Relies on: `expressions`, which leaves none out.  Promises: what is measured may be as deep as it likes; a query within an
//! expression, and a plan below a plan, count more than a part of an expression.  Does not: look into routines that are called.

use crate::code::Operation;
use crate::expr::Expr;
use crate::expressions::{each_beside_source, each_of_node, each_of_operation, source};
use crate::plan::Plan;
use crate::routine::Program;
use crate::schema::TableDef;
use crate::statement::Statement;

/// What a node of a plan counts, beside one of an expression.
const NODE: usize = 2;

/// What stands between an expression and a query in it.
const QUERY: usize = 4;

/// What is still to be looked at, and how deep it stands.
enum Part<'e> {
    Expr(&'e Expr, usize),
    Plan(&'e Plan, usize),
}

fn deepest(mut parts: Vec<Part<'_>>) -> usize {
    let mut most = 0;
    while let Some(part) = parts.pop() {
        most = most.max(look_into(part, &mut parts));
    }
    most
}

/// Adds what stands in a part; how deep that one stands.
fn look_into<'e>(part: Part<'e>, parts: &mut Vec<Part<'e>>) -> usize {
    match part {
        Part::Expr(expr, depth) => {
            if let Expr::Subquery(subquery) = expr {
                parts.push(Part::Plan(&subquery.plan, depth + QUERY));
            }
            expr.for_each_part(&mut |part| parts.push(Part::Expr(part, depth + 1)));
            depth
        }
        Part::Plan(plan, depth) => {
            let inputs = plan.inputs().into_iter();
            parts.extend(inputs.map(|input| Part::Plan(input, depth + NODE)));
            each_of_node(plan, &mut |expr, _| parts.push(Part::Expr(expr, depth + 1)));
            depth
        }
    }
}

/// Of an expression.
pub fn of_expr(expr: &Expr) -> usize {
    deepest(vec![Part::Expr(expr, 1)])
}

/// Of a plan.
pub fn of_plan(plan: &Plan) -> usize {
    deepest(vec![Part::Plan(plan, 1)])
}

/// Of a statement, without what its tables compute.
pub fn of_statement(statement: &Statement) -> usize {
    let mut parts = vec![Part::Plan(source(statement), 1)];
    each_beside_source(statement, &mut |expr| parts.push(Part::Expr(expr, 1)));
    deepest(parts)
}

/// Of what a table computes and checks.
pub fn of_table(table: &TableDef) -> usize {
    let mut parts = Vec::new();
    for column in &table.columns {
        let exprs = column.default.iter().chain(&column.generated);
        parts.extend(exprs.map(|expr| Part::Expr(expr, 1)));
    }
    let checks = table.checks.iter().map(|check| &check.condition);
    parts.extend(checks.map(|expr| Part::Expr(expr, 1)));
    deepest(parts)
}

/// Of the deepest operation of a program.
pub fn of_program(program: &Program) -> usize {
    let mut most = 0;
    let operations = program.code().iter().flat_map(|code| &code.operations);
    for operation in operations {
        if let Operation::Run { statement, .. }
        | Operation::BeginRows(statement)
        | Operation::ReturnQuery(statement) = operation
        {
            most = most.max(of_statement(statement));
        }
        each_of_operation(operation, &mut |expr| most = most.max(of_expr(expr)));
    }
    most
}

/// True if an expression has more parts than that, those of its queries included.
pub fn has_more_parts(expr: &Expr, than: usize) -> bool {
    are_more(vec![Part::Expr(expr, 0)], than)
}

/// The same of a plan.
pub fn plan_has_more_parts(plan: &Plan, than: usize) -> bool {
    are_more(vec![Part::Plan(plan, 0)], than)
}

fn are_more(mut parts: Vec<Part<'_>>, than: usize) -> bool {
    let mut seen = 0;
    while let Some(part) = parts.pop() {
        seen += 1;
        if seen + parts.len() > than {
            return true;
        }
        look_into(part, &mut parts);
    }
    false
}
