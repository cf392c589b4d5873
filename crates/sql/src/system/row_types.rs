//! The types that the rows of tables and views have: numbers and names.
//!
//! Relies on: numbers of relations stay below 2^30.  Promises: a type and its array for each table, partition and view, those of the catalogue too, whose numbers follow from the
//! relation's; PostgreSQL draws them.  Does not: say what their values have (`composite`).

use super::array_names::array_name;
use super::layout;
use super::{OWNER, flag, oid, schema_oid, text};
use crate::catalog::Relation;
use crate::planner::Planner;
use quintet_base::types::{ROW_ARRAY, ROW_TYPE};
use quintet_base::{TableId, Value};

/// The number of the type of a relation's rows.
pub(super) fn row_type(relation: u32) -> u32 {
    relation | ROW_TYPE
}

/// The same of its array.
pub(super) fn array_type(relation: u32) -> u32 {
    relation | ROW_TYPE | ROW_ARRAY
}

/// The relation whose rows have this type, and whether it is the array of it.
pub(crate) fn relation_of(ty: u32) -> Option<(u32, bool)> {
    (ty & ROW_TYPE != 0 && ty >> 31 == 0)
        .then_some((ty & !(ROW_TYPE | ROW_ARRAY), ty & ROW_ARRAY != 0))
}

/// The number of a relation that has a type for its rows.
pub(super) fn with_rows(relation: Relation) -> Option<u32> {
    match relation {
        Relation::Table(TableId(id)) | Relation::View(TableId(id)) => Some(id),
        Relation::Partition(TableId(id)) => Some(id),
        Relation::Index(..) | Relation::PrimaryKey(_) | Relation::Sequence(_) => None,
    }
}

/// Rows of `pg_type`, in the columns of its definition, for types and their arrays.
pub(super) fn types(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let mut add = |relation: u32, schema: &str, name: &str| {
        let array = array_name(planner.catalog(), schema, name);
        let schema = schema_oid(planner, schema);
        for is_array in [false, true] {
            let either = |whole: u32, array: u32| oid(if is_array { array } else { whole });
            let words = |whole: &str, array: &str| text(if is_array { array } else { whole });
            rows.push(vec![
                either(row_type(relation), array_type(relation)),
                words(name, &array),
                oid(schema),
                oid(OWNER),
                Value::Int2(-1),
                flag(false),
                words("c", "b"),
                words("C", "A"),
                flag(false),
                flag(true),
                text(","),
                either(relation, 0),
                either(0, row_type(relation)),
                either(array_type(relation), 0),
                flag(false),
                oid(0),
                Value::Int4(-1),
                Value::Int4(0),
                oid(0),
                text("d"),
                text("x"),
                Value::Null,
            ]);
        }
    };
    for layout in layout::all().filter(|layout| matches!(layout.kind, "r" | "v")) {
        add(layout.oid, layout.schema, layout.name);
    }
    for table in &planner.catalog().tables_and_parts() {
        add(table.relation().0, &table.schema, &table.name);
    }
    for view in planner.catalog().views() {
        add(view.id.0, &view.schema, &view.name);
    }
    rows
}
