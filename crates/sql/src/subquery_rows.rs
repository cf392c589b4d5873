//! `(a, b) op ANY (SELECT …)` and operators that are no comparison: what is compared is compared row by row.
//!
//! Relies on: `subquery`, which compares TRUE with what comes out.  Promises: the same truth, NULLs included.  Does not: know whether the
//! query has as many columns as there are values; that is looked at before.
//!
//! ```text
//! (a, b) <> ANY (SELECT x, y …)   =>   TRUE = ANY (SELECT (a, b) <> (r.c1, r.c2) FROM (SELECT x, y …) AS r (c1, c2))
//! ```

use crate::tree::{node, string};
use pg_query::NodeEnum;
use pg_query::protobuf::{
    AConst, AExpr, AExprKind, Alias, Boolean, CoercionForm, ColumnRef, LimitOption, Node,
    RangeSubselect, ResTarget, RowExpr, SelectStmt, SetOperation, SubLink, a_const,
};

/// No name that anybody gives: the values are looked up among the columns, too.
const ROWS: &str = "?rows?";

/// The same question, asked of each row of the query.
pub(crate) fn row_by_row(link: &SubLink, columns: usize) -> SubLink {
    let name = |place: usize| format!("?{place}?");
    let column = |place: usize| {
        node(NodeEnum::ColumnRef(ColumnRef {
            fields: vec![string(ROWS), string(name(place))],
            location: link.location,
        }))
    };
    let right = match columns {
        1 => column(0),
        _ => node(NodeEnum::RowExpr(Box::new(RowExpr {
            args: (0..columns).map(column).collect(),
            row_format: CoercionForm::CoerceExplicitCall as i32,
            location: link.location,
            ..RowExpr::default()
        }))),
    };
    let compared = node(NodeEnum::AExpr(Box::new(AExpr {
        kind: AExprKind::AexprOp as i32,
        name: match link.oper_name.is_empty() {
            // IN names no operator.
            true => vec![string("=")],
            false => link.oper_name.clone(),
        },
        lexpr: link.testexpr.clone(),
        rexpr: Some(Box::new(right)),
        location: link.location,
        ..AExpr::default()
    })));
    let source = RangeSubselect {
        subquery: link.subselect.clone(),
        alias: Some(Alias {
            aliasname: ROWS.to_string(),
            colnames: (0..columns).map(|place| string(name(place))).collect(),
        }),
        ..RangeSubselect::default()
    };
    let target = ResTarget {
        val: Some(Box::new(compared)),
        location: link.location,
        ..ResTarget::default()
    };
    let select = SelectStmt {
        target_list: vec![node(NodeEnum::ResTarget(Box::new(target)))],
        from_clause: vec![node(NodeEnum::RangeSubselect(Box::new(source)))],
        limit_option: LimitOption::Default as i32,
        op: SetOperation::SetopNone as i32,
        ..SelectStmt::default()
    };
    SubLink {
        testexpr: Some(Box::new(truth())),
        oper_name: vec![string("=")],
        subselect: Some(Box::new(node(NodeEnum::SelectStmt(Box::new(select))))),
        ..link.clone()
    }
}

fn truth() -> Node {
    node(NodeEnum::AConst(AConst {
        isnull: false,
        location: -1,
        val: Some(a_const::Val::Boolval(Boolean { boolval: true })),
    }))
}
