//! Rows: random schemas, random values, random damage.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod values;

use proptest::prelude::*;
use quintet_base::row::RowLayout;
use quintet_base::{SqlState, SqlType, Value};

fn schema_and_row() -> impl Strategy<Value = (Vec<SqlType>, Vec<Value>)> {
    prop::collection::vec(values::any_type(), 0..20).prop_flat_map(|types| {
        let row: Vec<_> = types.iter().map(|ty| values::value_or_null(*ty)).collect();
        (Just(types), row)
    })
}

fn all_same(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| values::same(a, b))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn rows_read_back_whole_and_column_by_column((types, row) in schema_and_row()) {
        let layout = RowLayout::new(types);
        let bytes = layout.encode(&row).unwrap();
        let mut out = vec![];
        layout.decode_into(&bytes, &mut out).unwrap();
        prop_assert!(all_same(&out, &row), "{:?} came back as {:?}", row, out);
        let reader = layout.open(&bytes).unwrap();
        prop_assert_eq!(reader.stored_columns(), row.len());
        for (i, value) in row.iter().enumerate() {
            prop_assert!(values::same(&reader.get(i).unwrap(), value));
        }
    }

    #[test]
    fn rows_stay_readable_when_columns_are_added(
        (types, row) in schema_and_row(),
        added in prop::collection::vec(values::any_type(), 0..10),
    ) {
        let bytes = RowLayout::new(types.clone()).encode(&row).unwrap();
        let count = added.len();
        let wider = RowLayout::new([types, added].concat());
        let mut out = vec![];
        wider.decode_into(&bytes, &mut out).unwrap();
        let expected = [row, vec![Value::Null; count]].concat();
        prop_assert!(all_same(&out, &expected));
    }

    #[test]
    fn damaged_rows_are_read_or_refused_never_more(
        (types, row) in schema_and_row(),
        at: prop::sample::Index,
        byte: u8,
        random in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let layout = RowLayout::new(types);
        let mut damaged = layout.encode(&row).unwrap();
        let i = at.index(damaged.len());
        damaged[i] = byte;
        for bytes in [&damaged, &damaged[..i].to_vec(), &random] {
            let mut out = vec![];
            if let Err(error) = layout.decode_into(bytes, &mut out) {
                prop_assert_eq!(error.state, SqlState::DATA_CORRUPTED);
            }
        }
    }
}
