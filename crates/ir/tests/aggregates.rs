//! Aggregates: overloads, and results over groups with NULLs, against PostgreSQL 15's.
#![allow(clippy::unwrap_used)] // helpers of tests

use quintet_base::SqlType::{self, *};
use quintet_base::{TypeMod, Value};
use quintet_ir::aggregate::{Accumulator, AggregateCall, resolve_aggregate};
use quintet_ir::cast::cast;
use quintet_ir::{DetachedHost, Expr};

/// The values' texts, NULL as `-`, blank-separated; one column per argument, `/` between them.
fn run(name: &str, types: &[SqlType], rows: &str) -> String {
    let host = DetachedHost::default();
    let read = |text: &str, ty: SqlType| match text {
        "-" => Value::Null,
        text => cast(Value::text(text), Unknown, ty, TypeMod::NONE, true, &host).unwrap(),
    };
    let (function, args, ty) = match resolve_aggregate(name, types).unwrap() {
        Ok(resolved) => resolved,
        Err(error) => return format!("! {} {}", error.state, error.message),
    };
    let call = AggregateCall {
        function,
        args: args
            .iter()
            .enumerate()
            .map(|(i, ty)| Expr::Column(i, *ty))
            .collect(),
        distinct: false,
        filter: None,
        order: vec![],
        ty,
    };
    let mut group = Accumulator::new(&call);
    for row in rows.split_whitespace() {
        let values: Vec<Value> = row
            .split('/')
            .zip(&args)
            .map(|(t, ty)| read(t, *ty))
            .collect();
        if let Err(error) = group.add(&values) {
            return format!("! {} {}", error.state, error.message);
        }
    }
    match group.finish() {
        Ok(Value::Null) => format!("{ty} NULL"),
        Ok(value) => {
            let text = cast(value, ty, Text, TypeMod::NONE, true, &host).unwrap();
            format!("{ty} {}", text.as_str().unwrap())
        }
        Err(error) => format!("! {} {}", error.state, error.message),
    }
}

fn check(name: &str, types: &[SqlType], rows: &str, expected: &str) {
    assert_eq!(
        run(name, types, rows),
        expected,
        "{name} of {types:?} over {rows}"
    );
}

#[test]
fn sums_widen_and_averages_take_postgresql_scale() {
    check("sum", &[Int2], "3 - 4 4", "bigint 11");
    check("sum", &[Int4], "10 - 7 7", "bigint 24");
    check(
        "sum",
        &[Int8],
        "9223372036854775807 - 9223372036854775807 1",
        "numeric 18446744073709551615",
    );
    check("sum", &[Float4], "0.1 - 0.2 0.3", "real 0.6");
    check(
        "sum",
        &[Float8],
        "0.1 - 0.2 0.3",
        "double precision 0.6000000000000001",
    );
    check("sum", &[Numeric], "1.10 - 2.205 3", "numeric 6.305");
    check("avg", &[Int2], "3 - 4 4", "numeric 3.6666666666666667");
    check("avg", &[Int4], "10 - 7 7", "numeric 8.0000000000000000");
    check(
        "avg",
        &[Int4],
        "2147483647 2147483647 1",
        "numeric 1431655765.00000000",
    );
    check(
        "avg",
        &[Int8],
        "9223372036854775807 - 9223372036854775807 1",
        "numeric 6148914691236517205",
    );
    check(
        "avg",
        &[Float4],
        "0.1 - 0.2 0.3",
        "double precision 0.2000000054637591",
    );
    check(
        "avg",
        &[Float8],
        "0.1 - 0.2 0.3",
        "double precision 0.20000000000000004",
    );
    check(
        "avg",
        &[Numeric],
        "1.10 - 2.205 3",
        "numeric 2.1016666666666667",
    );
    check(
        "sum",
        &[Float8],
        "1e308 1e308",
        "! 22003 value out of range: overflow",
    );
    check("sum", &[Float8], "Infinity 1", "double precision Infinity");
}

#[test]
fn extremes_follow_the_order_of_the_type() {
    check("min", &[Text], "b - a B", "text B");
    check("max", &[Text], "b - a B", "text b");
    check("max", &[Varchar], "b a", "text b");
    check("min", &[Name], "b a", "text a");
    check("max", &[Numeric], "1.10 NaN 3", "numeric NaN");
    check("min", &[Date], "2024-01-02 2024-01-01", "date 2024-01-01");
    check("max", &[Int4Array], "{1,2} - {1,3} {}", "integer[] {1,3}");
    check("min", &[Oid], "5 7", "oid 5");
    check("max", &[Float8], "1 NaN Infinity", "double precision NaN");
    check(
        "max",
        &[Bool],
        "",
        "! 42883 function max(boolean) does not exist",
    );
    check(
        "max",
        &[Uuid],
        "",
        "! 42883 function max(uuid) does not exist",
    );
}

#[test]
fn others_skip_nulls_but_array_agg_and_count_of_rows() {
    check("count", &[], "- -", "bigint 2");
    check("count", &[Int4], "1 - 2", "bigint 2");
    check("bool_and", &[Bool], "t - f t", "boolean false");
    check("every", &[Bool], "t -", "boolean true");
    check("bool_or", &[Bool], "f - t f", "boolean true");
    check("string_agg", &[Text, Text], "b/, -/; a/, B/-", "text b,aB");
    check(
        "string_agg",
        &[Bytea, Bytea],
        r"\x01/\xff \x02/\xff",
        r"bytea \x01ff02",
    );
    check("array_agg", &[Int4], "10 - 7", "integer[] {10,NULL,7}");
    check("array_agg", &[Varchar], "x", "character varying[] {x}");
}

#[test]
fn an_empty_group_is_null_but_counts_are_zero() {
    for (name, types, expected) in [
        ("sum", vec![Int4], "bigint NULL"),
        ("avg", vec![Float4], "double precision NULL"),
        ("min", vec![Text], "text NULL"),
        ("bool_and", vec![Bool], "boolean NULL"),
        ("string_agg", vec![Text, Text], "text NULL"),
        ("array_agg", vec![Int4], "integer[] NULL"),
        ("count", vec![Int4], "bigint 0"),
        ("count", vec![], "bigint 0"),
    ] {
        check(name, &types, "", expected);
    }
    check("sum", &[Int4], "- -", "bigint NULL");
}

#[test]
fn overloads_are_chosen_or_refused_as_postgresql_does() {
    check(
        "sum",
        &[Text],
        "",
        "! 42883 function sum(text) does not exist",
    );
    check(
        "sum",
        &[Unknown],
        "",
        "! 42725 function sum(unknown) is not unique",
    );
    check(
        "avg",
        &[Unknown],
        "",
        "! 42725 function avg(unknown) is not unique",
    );
    check("min", &[Unknown], "1", "text 1");
    check(
        "sum",
        &[Date],
        "",
        "! 42883 function sum(date) does not exist",
    );
    check(
        "sum",
        &[Int4, Int4],
        "",
        "! 42883 function sum(integer, integer) does not exist",
    );
    check(
        "string_agg",
        &[Int4, Unknown],
        "",
        "! 42883 function string_agg(integer, unknown) does not exist",
    );
    check("string_agg", &[Varchar, Unknown], "a/,", "text a");
    assert!(resolve_aggregate("lower", &[Text]).is_none());
}
