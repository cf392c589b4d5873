//! EXPLAIN's text for small plans.
#![allow(clippy::unwrap_used)] // also in the functions that tests share

use quintet_base::row::RowLayout;
use quintet_base::{IndexId, SpaceId, SqlType, TableId, TypeMod, Value};
use quintet_ir::aggregate::{AggregateCall, AggregateFunction};
use quintet_ir::explain::{explain, expr_text};
use quintet_ir::function::resolve;
use quintet_ir::plan::{JoinKind, KeyBound, LockStrength, LockTarget, LockWait, SortKey};
use quintet_ir::schema::{PrimaryKey, TableRef};
use quintet_ir::statement::{
    Arbiter, ConflictAction, Delete, Insert, OnConflict, Statement, Update,
};
use quintet_ir::{Access, ColumnDef, CompareOp, Expr, IndexDef, KeyRange, Path, Plan, TableDef};
use std::sync::Arc;

fn column(name: &str) -> ColumnDef {
    ColumnDef {
        name: name.to_string(),
        ty: SqlType::Int4,
        modifier: TypeMod::NONE,
        not_null: false,
        default: None,
        missing: None,
        identity: None,
        generated: None,
        dropped: false,
        hidden: false,
    }
}

/// `name (id PRIMARY KEY, a, b)` with an index on (a, b).
fn table(name: &str) -> TableRef {
    Arc::new(TableDef {
        id: TableId(1),
        revision: 1,
        schema: "public".to_string(),
        name: name.to_string(),
        space: SpaceId(10),
        columns: ["id", "a", "b"].map(column).into(),
        primary_key: Some(PrimaryKey {
            name: format!("{name}_pkey"),
            columns: vec![0],
        }),
        indexes: vec![IndexDef {
            id: IndexId(1),
            name: format!("{name}_a_b_idx"),
            space: SpaceId(11),
            columns: vec![1, 2],
            unique: false,
            late: None,
            constraint: false,
            partial: false,
            nulls_equal: false,
            inverted: Vec::new(),
            excludes: None,
        }],
        checks: vec![],
        layout: RowLayout::new(vec![SqlType::Int4; 3]),
        references: None,
        partitions: None,
    })
}

fn scan(table: &TableRef, path: Path, filter: Option<Expr>, offset: usize) -> Plan {
    Plan::Scan(Access {
        table: table.clone(),
        path,
        filter,
        reverse: false,
        offset,
        needed: None,
        kept_after: None,
    })
}

fn at(column: usize) -> Expr {
    Expr::Column(column, SqlType::Int4)
}

fn int(value: i32) -> Expr {
    Expr::Const(Value::Int4(value), SqlType::Int4)
}

fn compare(left: Expr, op: CompareOp, right: Expr) -> Expr {
    Expr::Compare {
        op,
        left: Box::new(left),
        right: Box::new(right),
    }
}

fn key(expr: Expr) -> KeyRange {
    KeyRange {
        equal: vec![expr],
        ..KeyRange::default()
    }
}

fn check(statement: Statement, expected: &str) {
    let expected: Vec<&str> = expected.trim_matches('\n').lines().collect();
    assert_eq!(explain(&statement), expected);
}

#[test]
fn scans_show_their_index_and_conditions() {
    let t = table("t");
    let filter = compare(at(2), CompareOp::Gt, int(5));
    check(
        Statement::Query(scan(&t, Path::Full, Some(filter.clone()), 0)),
        "\
Seq Scan on t
  Filter: (b > 5)",
    );
    let by_key = Path::Primary(vec![key(Expr::Param(0, SqlType::Int4))]);
    check(
        Statement::Query(scan(&t, by_key, Some(filter), 0)),
        "\
Index Scan using t_pkey on t
  Index Cond: (id = $1)
  Filter: (b > 5)",
    );
    let range = KeyRange {
        equal: vec![int(1)],
        lower: Some(KeyBound {
            value: int(2),
            inclusive: true,
        }),
        upper: Some(KeyBound {
            value: int(9),
            inclusive: false,
        }),
    };
    check(
        Statement::Query(scan(&t, Path::Index(0, vec![range]), None, 0)),
        "\
Index Scan using t_a_b_idx on t
  Index Cond: ((a = 1) AND (b >= 2) AND (b < 9))",
    );
    let either = Path::Primary(vec![key(int(1)), key(int(-1))]);
    check(
        Statement::Query(scan(&t, either, None, 0)),
        "\
Index Scan using t_pkey on t
  Index Cond: ((id = 1) OR (id = '-1'::integer))",
    );
    // In key order, without a condition.
    let ordered = Path::Primary(vec![KeyRange::default()]);
    check(
        Statement::Query(scan(&t, ordered, None, 0)),
        "Index Scan using t_pkey on t",
    );
}

#[test]
fn nodes_nest_and_expressions_follow_frames() {
    let (t, u) = (table("t"), table("u"));
    let inner = scan(&u, Path::Primary(vec![key(at(1))]), None, 3);
    let join = Plan::Join {
        outer: Box::new(scan(&t, Path::Full, None, 0)),
        inner: Box::new(inner),
        outer_width: 3,
        inner_width: 3,
        kind: JoinKind::Left,
        on: Some(compare(at(2), CompareOp::Lt, at(5))),
    };
    let groups = Plan::Aggregate {
        input: Box::new(join),
        keys: vec![at(4)],
        calls: vec![AggregateCall {
            function: AggregateFunction::Sum,
            args: vec![at(2)],
            distinct: true,
            filter: None,
            order: vec![],
            ty: SqlType::Int8,
        }],
        sets: vec![],
    };
    let having = Plan::Filter {
        input: Box::new(groups),
        predicate: compare(
            Expr::Column(1, SqlType::Int8),
            CompareOp::Gt,
            Expr::Const(Value::Int8(7), SqlType::Int8),
        ),
    };
    let sort = Plan::Sort {
        input: Box::new(having),
        keys: vec![
            SortKey {
                expr: Expr::Column(1, SqlType::Int8),
                descending: true,
                nulls_first: true,
            },
            SortKey {
                expr: at(0),
                descending: false,
                nulls_first: true,
            },
        ],
        top: None,
    };
    let limit = Plan::Limit {
        input: Box::new(sort),
        limit: Some(int(3)),
        offset: None,
        ties: vec![],
    };
    check(
        Statement::Query(limit),
        "\
Limit
  ->  Sort
        Sort Key: sum(DISTINCT t.b) DESC, u.a NULLS FIRST
        ->  HashAggregate
              Group Key: u.a
              Filter: (sum(DISTINCT t.b) > '7'::bigint)
              ->  Nested Loop Left Join
                    Join Filter: (t.b < u.b)
                    ->  Seq Scan on t
                    ->  Index Scan using u_pkey on u
                          Index Cond: (u.id = t.a)",
    );
}

#[test]
fn writes_stand_on_their_sources() {
    let t = table("t");
    let row = Plan::Values {
        rows: vec![vec![int(1), int(2), int(3)]],
        types: vec![SqlType::Int4; 3],
    };
    let conflict = OnConflict {
        arbiter: Some(Arbiter::Primary),
        action: ConflictAction::Update {
            assignments: vec![(1, at(4))],
            filter: Some(compare(at(1), CompareOp::Ne, at(4))),
        },
    };
    check(
        Statement::Insert(Insert {
            table: t.clone(),
            source: row,
            values: vec![at(0), at(1), at(2)],
            conflict: Some(conflict),
            returning: None,
        }),
        "\
Insert on t
  Conflict Resolution: UPDATE
  Conflict Arbiter Indexes: t_pkey
  Conflict Filter: (t.a <> excluded.a)
  ->  Result",
    );
    let one = scan(&t, Path::Primary(vec![key(int(7))]), None, 0);
    check(
        Statement::Update(Update {
            table: t.clone(),
            source: one.clone(),
            assignments: vec![(1, int(0))],
            returning: None,
        }),
        "\
Update on t
  ->  Index Scan using t_pkey on t
        Index Cond: (id = 7)",
    );
    let locked = Plan::Lock {
        input: Box::new(one),
        targets: vec![LockTarget {
            table: t.clone(),
            offset: 0,
            strength: LockStrength::Update,
            wait: LockWait::Block,
        }],
    };
    check(
        Statement::Delete(Delete {
            table: t,
            source: locked,
            returning: None,
        }),
        "\
Delete on t
  ->  LockRows
        ->  Index Scan using t_pkey on t
              Index Cond: (id = 7)",
    );
}

#[test]
fn expressions_print_as_postgresql_prints_them() {
    let names = ["a".to_string(), "b".to_string()];
    let check = |expr: Expr, expected: &str| assert_eq!(expr_text(&expr, &names), expected);
    let call = |name: &str, args: Vec<Expr>| {
        let types: Vec<_> = args.iter().map(Expr::ty).collect();
        let resolved = resolve(name, &types).unwrap();
        Expr::Call {
            function: resolved.function,
            args,
            ty: resolved.result,
        }
    };
    let text = |text: &str| Expr::Const(Value::text(text), SqlType::Text);
    check(call("+", vec![at(0), int(1)]), "(a + 1)");
    check(call("-", vec![at(0)]), "(- a)");
    check(call("lower", vec![text("it's")]), "lower('it''s'::text)");
    check(
        call("~~", vec![text("x"), text("%")]),
        "('x'::text ~~ '%'::text)",
    );
    check(Expr::null(SqlType::Date), "NULL::date");
    check(
        Expr::Const(Value::text("x"), SqlType::Bpchar),
        "'x'::bpchar",
    );
    check(
        Expr::Cast {
            input: Box::new(at(1)),
            to: SqlType::Varchar,
            modifier: TypeMod::length(5),
            explicit: true,
        },
        "(b)::character varying(5)",
    );
    check(
        Expr::Case {
            branches: vec![(
                Expr::IsNull {
                    input: Box::new(at(0)),
                    negated: true,
                },
                int(1),
            )],
            otherwise: Some(Box::new(int(2))),
            ty: SqlType::Int4,
        },
        "CASE WHEN (a IS NOT NULL) THEN 1 ELSE 2 END",
    );
    check(
        Expr::And(vec![
            Expr::InList {
                input: Box::new(at(0)),
                list: vec![int(1), int(2)],
                negated: true,
            },
            Expr::Not(Box::new(Expr::Const(Value::Bool(true), SqlType::Bool))),
        ]),
        "((a NOT IN (1, 2)) AND (NOT true))",
    );
}
