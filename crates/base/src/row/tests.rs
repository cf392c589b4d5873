//! Rows written, patched, read and damaged.
//!
//! Relies on: `row`.  Promises: what its header says is tried.  Does not: know tables.

use super::*;

#[test]
fn a_row_reads_back_and_older_rows_stay_readable() {
    let old = RowLayout::new(vec![SqlType::Int4, SqlType::Text]);
    let new = RowLayout::new(vec![
        SqlType::Int4,
        SqlType::Text,
        SqlType::Int8,
        SqlType::Bytea,
    ]);
    let bytes = old.encode(&[Value::Int4(7), Value::text("seven")]).unwrap();
    let mut out = vec![];
    new.decode_into(&bytes, &mut out).unwrap();
    assert_eq!(
        out,
        vec![
            Value::Int4(7),
            Value::text("seven"),
            Value::Null,
            Value::Null
        ]
    );

    let row = vec![
        Value::Null,
        Value::text(""),
        Value::Int8(-1),
        Value::Bytea(vec![0, 255].into()),
    ];
    let bytes = new.encode(&row).unwrap();
    let mut out = vec![];
    new.decode_into(&bytes, &mut out).unwrap();
    assert_eq!(out, row);
}

#[test]
fn a_patched_row_is_the_row_written_anew() {
    let seed = std::process::id() as u64;
    println!("seed {seed}");
    let mut state = seed | 1;
    let mut below = |n: usize| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (state >> 33) as usize % n
    };
    let types = [
        SqlType::Int4,
        SqlType::Text,
        SqlType::Numeric,
        SqlType::Int8,
        SqlType::Bytea,
        SqlType::Text,
        SqlType::Bool,
        SqlType::Varchar,
        SqlType::Timestamp,
    ];
    let layout = RowLayout::new(types.to_vec());
    let mut value = |ty: SqlType| match (below(4), ty) {
        (0, _) => Value::Null,
        (_, SqlType::Int4) => Value::Int4(below(1000) as i32 - 500),
        (_, SqlType::Int8) => Value::Int8(below(1000) as i64),
        (_, SqlType::Bool) => Value::Bool(below(2) == 1),
        (_, SqlType::Timestamp) => Value::Timestamp(below(1000) as i64),
        (_, SqlType::Numeric) => {
            Value::numeric(Numeric::from_i64((below(100_000) as i64 - 50_000) * 77))
        }
        (_, SqlType::Bytea) => Value::Bytea(vec![7; below(20)].into()),
        (_, _) => Value::text("x".repeat(below(40))),
    };
    let mut out = Vec::new();
    for round in 0..2000 {
        let mut row: Vec<Value> = types.iter().map(|ty| value(*ty)).collect();
        let old = layout.encode(&row).unwrap();
        let changes: Vec<(usize, Value)> = (0..types.len())
            .filter(|column| (round >> column) & 1 == 1)
            .map(|column| (column, value(types[column])))
            .collect();
        assert!(layout.patch(&old, &changes, &mut out).unwrap());
        for (column, new) in changes {
            row[column] = new;
        }
        assert_eq!(out, layout.encode(&row).unwrap(), "round {round}");
        for cut in 0..old.len() {
            // Refused or not, no panic.
            let _ = layout.patch(&old[..cut], &[(1, Value::text("new"))], &mut out);
        }
    }
}

#[test]
fn a_glance_sees_its_columns_and_no_others() {
    let layout = RowLayout::new(vec![SqlType::Int4, SqlType::Text, SqlType::Text]);
    let row = |a, b: Option<&str>, c: &str| {
        let b = b.map_or(Value::Null, Value::text);
        layout.encode(&[Value::Int4(a), b, Value::text(c)]).unwrap()
    };
    let old = row(1, Some(""), "c");
    let same = |columns: &[usize], new: &[u8]| {
        Glance::new(layout.clone(), columns.to_vec()).is_same(&old, new)
    };
    assert!(same(&[0, 1], &row(1, Some(""), "another")));
    assert!(!same(&[0, 1], &row(2, Some(""), "c")));
    assert!(!same(&[1], &row(1, None, "c")), "NULL is no empty text");
    assert!(same(&[2], &row(7, Some("longer"), "c")));
    assert!(!same(&[2], &row(1, Some(""), "d")));
    assert!(same(&[], &row(7, None, "")));
    let shorter = RowLayout::new(vec![SqlType::Int4]);
    assert!(!same(&[0], &shorter.encode(&[Value::Int4(1)]).unwrap()));
    for cut in 0..old.len() {
        // The last columns may be cut away behind what is looked at.
        let _ = same(&[0, 1, 2], &old[..cut]);
    }
}

#[test]
fn damaged_rows_are_refused_not_read() {
    let layout = RowLayout::new(vec![SqlType::Int4, SqlType::Text, SqlType::Text]);
    let good = layout
        .encode(&[Value::Int4(1), Value::text("ab"), Value::text("cd")])
        .unwrap();
    for cut in 0..good.len() {
        let mut out = vec![];
        assert!(
            layout.decode_into(&good[..cut], &mut out).is_err(),
            "cut at {cut}"
        );
    }
    assert!(layout.open(&[9, 0, 0]).is_err());
}

/// Whichever way a column is looked at, in rows of any age, it has one value.
#[test]
fn a_column_reads_alike_every_way() {
    let types = [
        (SqlType::Bool, Value::Bool(true)),
        (SqlType::Int4, Value::Int4(-7)),
        (SqlType::Text, Value::text("text")),
        (SqlType::Int2, Value::Int2(-3)),
        (
            SqlType::Numeric,
            Value::numeric(Numeric::from_short(-110, 2)),
        ),
        (SqlType::Date, Value::Date(9)),
        (SqlType::Bpchar, Value::text("")),
        (SqlType::Int8, Value::Int8(i64::MIN)),
        (SqlType::Numeric, Value::numeric(Numeric::from_short(0, 3))),
        (SqlType::Timestamp, Value::Timestamp(1 << 40)),
        (SqlType::Int4, Value::Int4(i32::MAX)),
        (SqlType::Varchar, Value::text("more")),
    ];
    let layout = RowLayout::new(types.iter().map(|(ty, _)| *ty).collect());
    for stored in 0..=types.len() {
        let old = RowLayout::new(layout.columns()[..stored].to_vec());
        for null in 0..=types.len() {
            let value = |(i, (_, value)): (usize, &(SqlType, Value))| match i == null {
                true => Value::Null,
                false => value.clone(),
            };
            let row: Vec<Value> = types.iter().enumerate().map(value).collect();
            let bytes = old.encode(&row[..stored]).unwrap();
            let reader = layout.open(&bytes).unwrap();
            assert_eq!(reader.is_whole(), stored == types.len());
            for (i, value) in row.iter().enumerate() {
                let known = (i < stored).then(|| value.clone());
                assert_eq!(reader.get(i).unwrap(), known.clone().unwrap_or(Value::Null));
                assert_eq!(reader.datum(i).map(Datum::to_value), known, "column {i}");
                let int4 = known.filter(|_| types[i].0 == SqlType::Int4);
                let int4 = int4.map(|value| value.as_i64());
                assert_eq!(reader.int4(i).map(|value| value.map(i64::from)), int4);
            }
        }
    }
}

#[test]
fn records_come_back_with_fields_of_any_type_and_damage_is_told() {
    let record = |values: Vec<Value>| {
        Value::Array(Box::new(crate::value::Array {
            shape: None,
            element: SqlType::Record,
            values,
        }))
    };
    let label = Value::Enum(EnumValue {
        ty: 70_000,
        place: 3,
    });
    let labels = Value::Array(Box::new(crate::value::Array {
        shape: None,
        element: SqlType::Enum(70_000),
        values: vec![label.clone(), Value::Null],
    }));
    let inner = record(vec![Value::Int4(1), Value::Null, Value::text("x")]);
    let fields = vec![
        Value::Null,
        Value::text(""),
        Value::Int8(-1),
        Value::Bool(true),
        label,
        labels,
        inner.clone(),
        record(vec![inner.clone(), inner]),
    ];
    for values in [fields, Vec::new()] {
        let row = [Value::Int4(7), record(values), Value::text("behind")];
        let layout = RowLayout::new(vec![SqlType::Int4, SqlType::Record, SqlType::Text]);
        let bytes = layout.encode(&row).unwrap();
        let mut out = Vec::new();
        layout.decode_into(&bytes, &mut out).unwrap();
        assert_eq!(out, row);
        for length in 0..bytes.len() {
            assert!(
                layout
                    .decode_into(&bytes[..length], &mut Vec::new())
                    .is_err()
            );
        }
    }
}
