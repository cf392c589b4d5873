//! The matrix of casts and the common types against PostgreSQL's.
//!
//! Method: `casts.txt` is its `pg_cast`; every pair of scalar types is asked about.

use quintet_base::SqlType::{self, *};
use quintet_ir::cast::CastContext::{self, Assignment, Explicit, Implicit};
use quintet_ir::cast::{cast_context, common_type};

const SCALARS: [SqlType; 18] = [
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    Numeric,
    Text,
    Varchar,
    Bpchar,
    Name,
    InternalChar,
    Bytea,
    Date,
    Timestamp,
    TimestampTz,
    Uuid,
    Oid,
];

fn listed(from: SqlType, to: SqlType) -> Option<CastContext> {
    let table = include_str!("casts.txt");
    table
        .lines()
        .filter(|l| !l.starts_with('#'))
        .find_map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let [source, target, context] = words[..] else {
                panic!("a line of three words: {line}");
            };
            let here =
                SqlType::from_name(source) == Some(from) && SqlType::from_name(target) == Some(to);
            here.then_some(match context {
                "i" => Implicit,
                "a" => Assignment,
                _ => Explicit,
            })
        })
}

/// `"char"` is not of the string category since PostgreSQL 15.
fn is_string(ty: SqlType) -> bool {
    matches!(ty, Text | Varchar | Bpchar | Name)
}

#[test]
fn casts_exist_in_the_contexts_of_postgresql() {
    for from in SCALARS {
        for to in SCALARS {
            let through_text = match (is_string(from), is_string(to)) {
                (_, true) => Some(Assignment),
                (true, false) => Some(Explicit),
                _ => None,
            };
            let expected = match from == to {
                true => Some(Implicit),
                false => listed(from, to).or(through_text),
            };
            assert_eq!(cast_context(from, to), expected, "{from} to {to}");
        }
    }
}

#[test]
fn arrays_convert_as_their_elements() {
    assert_eq!(cast_context(Int4Array, Int8Array), Some(Implicit));
    assert_eq!(cast_context(Int8Array, Int4Array), Some(Assignment));
    assert_eq!(cast_context(TextArray, Int4Array), Some(Explicit));
    assert_eq!(cast_context(Int4Array, Text), Some(Assignment));
    assert_eq!(cast_context(Text, Int4Array), Some(Explicit));
    assert_eq!(cast_context(Int4, Int4Array), None);
    assert_eq!(cast_context(UuidArray, Int4Array), None);
}

#[test]
fn common_types_name_the_construct_when_there_is_none() {
    let check = |types: &[SqlType], expected: Result<SqlType, &str>| {
        let got = common_type(types, "UNION").map_err(|e| format!("{} {}", e.state, e.message));
        assert_eq!(got, expected.map_err(str::to_string), "{types:?}");
    };
    check(&[Unknown, Unknown], Ok(Text));
    check(&[Unknown, Int2, Int8, Int4], Ok(Int8));
    check(&[Int4, Numeric, Float4], Ok(Float4));
    check(&[Varchar, Text], Ok(Varchar));
    check(&[Date, Timestamp, TimestampTz], Ok(TimestampTz));
    check(
        &[Int4, Text],
        Err("42804 UNION types integer and text cannot be matched"),
    );
    check(
        &[Bool, Date],
        Err("42804 UNION types boolean and date cannot be matched"),
    );
    check(
        &[Oid, Numeric],
        Err("42846 UNION could not convert type numeric to oid"),
    );
}
