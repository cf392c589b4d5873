//! Which row a key in a space is, in words: `stock`, `(s_w_id, s_i_id) = (1, 77)`.
//!
//! Relies on: the newest catalogue.  Promises: names and values as a person would write them; of a key that is cut, or
//! known only as far as its beginning, the rest is `*`.  Does not: know what a space was that is not used any more.

use quintet_base::text_format::{self, FormatContext};
use quintet_base::{SpaceId, SqlType, Value, key};
use quintet_ir::TableDef;
use quintet_sql::Catalog;

/// A relation, and a row of it.
pub(crate) struct Whereabouts {
    /// Of the table, or of the index.
    pub number: u32,
    /// What it is called.
    pub name: String,
    /// `None`: the relation as a whole.
    pub row: Option<String>,
}

/// Where a key is; `None`: in nothing that the catalogue has.
pub(crate) fn whereabouts(catalog: &Catalog, space: SpaceId, key: &[u8]) -> Option<Whereabouts> {
    for table in catalog.tables() {
        if table.space == space {
            let columns = table.primary_key.as_ref();
            let row = match columns {
                Some(primary) => columns_of(catalog, table, &primary.columns, key),
                None => row_number(key),
            };
            return Some(Whereabouts {
                number: table.id.0,
                name: table.name.clone(),
                row,
            });
        }
        if let Some(index) = table.indexes.iter().find(|index| index.space == space) {
            return Some(Whereabouts {
                number: index.id.0,
                name: index.name.clone(),
                row: columns_of(catalog, table, &index.columns, key),
            });
        }
    }
    None
}

/// Rows without a primary key have numbers.
fn row_number(mut key: &[u8]) -> Option<String> {
    let number = key::decode(SqlType::Int8, &mut key).ok()?;
    number.as_i64().map(|number| format!("row {number}"))
}

fn columns_of(
    catalog: &Catalog,
    table: &TableDef,
    columns: &[usize],
    mut key: &[u8],
) -> Option<String> {
    if key.is_empty() {
        return None;
    }
    let names = columns.iter().map(|column| &*table.columns[*column].name);
    let names: Vec<&str> = names.collect();
    let values = columns.iter().map(|column| {
        let ty = table.columns[*column].ty;
        let known = key::decode(ty, &mut key);
        if known.is_err() {
            key = &[];
        }
        known.map_or("*".to_string(), |value| written(catalog, &value, ty))
    });
    let values: Vec<String> = values.collect();
    Some(match (names.as_slice(), values.as_slice()) {
        ([name], [value]) => format!("{name} = {value}"),
        _ => format!("({}) = ({})", names.join(", "), values.join(", ")),
    })
}

fn written(catalog: &Catalog, value: &Value, ty: SqlType) -> String {
    if value.is_null() {
        return "NULL".to_string();
    }
    let text = match value {
        Value::Enum(value) => {
            let label = catalog.label(value.ty, value.place);
            label.unwrap_or_default().to_string()
        }
        value => text_format::to_string(value, ty, &FormatContext::default()),
    };
    match value.as_i64().is_some() || matches!(value, Value::Numeric(_) | Value::Bool(_)) {
        true => text,
        false => format!("'{}'", text.replace('\'', "''")),
    }
}
