//! pg_class: what can be selected from, and indexes.
//!
//! Relies on: the catalogue, and `layout` for the system's own relations.  Promises: one row per relation, numbered as other relations
//! mean it.  Does not: count rows or pages.

use super::attributes::numbered;
use super::indexes::{all_indexes, part_indexes, shape_of};
use super::row_types::row_type;
use super::sequences::SEQUENCE_COLUMNS;
use super::{
    Definition, OWNER, flag, layout, oid, partitions, schema_oid, short, text, texts_or_null,
};
use crate::planner::Planner;
use crate::temporary::is_temporary;
use quintet_base::Value;

pub(super) const RELATIONS: &[Definition] = &[Definition {
    name: "pg_class",
    columns: &[
        "oid",
        "relname",
        "relnamespace",
        "reltype",
        "reloftype",
        "relowner",
        "relam",
        "relfilenode",
        "reltablespace",
        "relpages",
        "reltuples",
        "relallvisible",
        "reltoastrelid",
        "relhasindex",
        "relisshared",
        "relpersistence",
        "relkind",
        "relnatts",
        "relchecks",
        "relhasrules",
        "relhastriggers",
        "relhassubclass",
        "relrowsecurity",
        "relforcerowsecurity",
        "relispopulated",
        "relreplident",
        "relispartition",
        "relrewrite",
        "relacl",
        "reloptions",
        "relpartbound",
    ],
    rows: classes,
}];

/// What differs between the kinds of relations.
struct Class<'a> {
    oid: u32,
    name: &'a str,
    schema: &'a str,
    kind: &'a str,
    access_method: u32,
    columns: usize,
    checks: usize,
    indexed: bool,
    /// Has foreign keys or triggers, or is referred to.
    referring: bool,
    /// It has partitions, or is an index of what has.
    divided: bool,
    /// Of a partition.
    bound: Option<&'a str>,
    /// No materialized view that has never been filled.
    populated: bool,
}

fn class(planner: &Planner, class: &Class) -> Vec<Value> {
    vec![
        oid(class.oid),
        text(class.name),
        oid(schema_oid(planner, class.schema)),
        oid(match class.kind {
            "r" | "p" | "v" | "m" => row_type(class.oid),
            _ => 0,
        }),
        oid(0),
        oid(OWNER),
        oid(class.access_method),
        oid(class.oid),
        oid(0),
        Value::Int4(i32::from(matches!(class.kind, "S" | "i"))),
        // As in PostgreSQL before the first ANALYZE: not known.
        Value::Float4(match class.kind {
            "i" => 0.0,
            "S" => 1.0,
            _ => -1.0,
        }),
        Value::Int4(0),
        oid(0),
        flag(class.indexed),
        flag(false),
        text(match is_temporary(class.schema) {
            true => "t",
            false => "p",
        }),
        text(class.kind),
        short(class.columns),
        short(class.checks),
        flag(matches!(class.kind, "v" | "m")),
        flag(class.referring),
        flag(class.divided),
        flag(false),
        flag(false),
        flag(class.populated),
        text(if matches!(class.kind, "r" | "p" | "m") {
            "d"
        } else {
            "n"
        }),
        flag(class.bound.is_some()),
        oid(0),
        Value::Null,
        Value::Null,
        class.bound.map_or(Value::Null, text),
    ]
}

/// The place of `reltype` in a row of `pg_class`.
const CLASS_TYPE: usize = 3;
/// That of `reloptions`.
const CLASS_OPTIONS: usize = 29;
/// Those of `relrowsecurity` and `relforcerowsecurity`.
const CLASS_SECURITY: [usize; 2] = [22, 23];
/// That of `relispartition`.
const CLASS_IS_PARTITION: usize = 26;

/// What `reloptions` shows.
fn options(said: &[(String, String)], more: Option<(&str, &str)>) -> Value {
    let said = said.iter();
    let said = said.map(|(name, value)| text(&format!("{name}={value}")));
    let more = more.map(|(name, value)| text(&format!("{name}={value}")));
    texts_or_null(said.chain(more).collect())
}

fn classes(planner: &Planner) -> Vec<Vec<Value>> {
    const HEAP: u32 = 2;
    let plain = Class {
        oid: 0,
        name: "",
        schema: "",
        kind: "r",
        access_method: HEAP,
        columns: 0,
        checks: 0,
        indexed: false,
        referring: false,
        divided: false,
        bound: None,
        populated: true,
    };
    let mut rows = Vec::new();
    for layout in layout::all() {
        rows.push(class(
            planner,
            &Class {
                oid: layout.oid,
                name: layout.name,
                schema: layout.schema,
                kind: layout.kind,
                access_method: if layout.kind == "r" { HEAP } else { 0 },
                columns: layout.columns.len(),
                ..plain
            },
        ));
    }
    for table in &planner.catalog().tables_and_parts() {
        let bound = partitions::bound_of(table);
        let division = table.partitions.as_ref().and_then(|all| all.division());
        let divided = division.is_some();
        let parts = division.map_or(0, |division| division.parts.len());
        // Those of a partition come by themselves.
        let indexes = match bound {
            None => all_indexes(table),
            Some(_) => Vec::new(),
        };
        let mut row = class(
            planner,
            &Class {
                oid: table.relation().0,
                name: &table.name,
                schema: &table.schema,
                kind: match planner.catalog().matview(table.id) {
                    _ if divided => "p",
                    Some(_) => "m",
                    None => "r",
                },
                populated: (planner.catalog().matview(table.id)).is_none_or(|own| own.populated),
                access_method: if divided { 0 } else { HEAP },
                columns: numbered(table),
                checks: table.own_checks().count(),
                indexed: !all_indexes(table).is_empty(),
                referring: (bound.is_none() && table.references.is_some())
                    || planner.catalog().has_triggers(table.relation()),
                divided: divided && parts > 0,
                bound: bound.as_deref(),
            },
        );
        if bound.is_none()
            && let Some(record) = planner.catalog().record(table.id)
        {
            row[CLASS_OPTIONS] = options(&record.more.options, None);
        }
        if let Some(security) = planner.catalog().security(table.relation()) {
            let [enabled, forced] = CLASS_SECURITY;
            row[enabled] = flag(security.enabled);
            row[forced] = flag(security.forced);
        }
        rows.push(row);
        for (number, name, columns, ..) in indexes {
            let shape = shape_of(planner.catalog(), table, number, columns);
            rows.push(class(
                planner,
                &Class {
                    oid: number,
                    name,
                    schema: &table.schema,
                    kind: if divided { "I" } else { "i" },
                    access_method: shape.method,
                    columns: shape.width(),
                    divided: divided && parts > 0,
                    ..plain
                },
            ));
        }
    }
    for own in part_indexes(planner.catalog()) {
        let shape = shape_of(planner.catalog(), own.table, own.of_table, own.columns);
        let mut row = class(
            planner,
            &Class {
                oid: own.number,
                name: &own.name,
                schema: &own.part.schema,
                kind: if own.inner.is_some() { "I" } else { "i" },
                access_method: shape.method,
                columns: shape.width(),
                divided: own.inner.is_some_and(|parts| parts > 0),
                ..plain
            },
        );
        row[CLASS_IS_PARTITION] = flag(true);
        rows.push(row);
    }
    for view in planner.catalog().views() {
        let mut row = class(
            planner,
            &Class {
                oid: view.id.0,
                name: &view.name,
                schema: &view.schema,
                kind: "v",
                access_method: 0,
                columns: view.columns.len(),
                referring: planner.catalog().has_triggers(view.id),
                ..plain
            },
        );
        let check = view.check.word();
        let check = check.map(|word| ("check_option", word));
        row[CLASS_OPTIONS] = options(&view.options.said, check);
        rows.push(row);
    }
    for made in planner.catalog().user_types() {
        let Some(fields) = made.fields() else {
            continue;
        };
        let mut row = class(
            planner,
            &Class {
                oid: made.class_number(),
                name: &made.name,
                schema: &made.schema,
                kind: "c",
                access_method: 0,
                columns: fields.len(),
                ..plain
            },
        );
        row[CLASS_TYPE] = oid(made.id);
        rows.push(row);
    }
    for sequence in planner.catalog().sequences() {
        rows.push(class(
            planner,
            &Class {
                oid: sequence.id.0,
                name: &sequence.name,
                schema: &sequence.schema,
                kind: "S",
                access_method: 0,
                columns: SEQUENCE_COLUMNS.len(),
                ..plain
            },
        ));
    }
    rows
}
