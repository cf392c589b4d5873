//! pg_depend and pg_rewrite: what sequences, defaults, views, types, routines and partitions go with.
//!
//! Relies on: the catalogue.  Promises: whoever makes the objects anew in an order that heeds these rows, as pg_dump does, finds
//! what each needs.  Does not: list what else depends on what, such as constraints on their tables.

use super::attributes::default_number;
use super::fixed::PG_EXTENSION;
use super::indexes::part_indexes;
use super::operator_classes::classes_of;
use super::routines::types_of_routines;
use super::row_types::row_type;
use super::search;
use super::{Definition, PG_CLASS, PG_CONSTRAINT, PG_PROC, PG_TYPE, flag, oid, text};
use crate::planner::Planner;
use crate::records::ViewRecord;
use crate::stored;
use quintet_base::{SequenceId, SqlType, TableId, Value};
use quintet_ir::{Expr, SequenceDef};
use std::sync::Arc;

/// Number of the relation that lists defaults.
const PG_ATTRDEF: u32 = 2604;
/// Number of the relation that lists rules.
const PG_REWRITE: u32 = 2618;
/// Number of the relation that lists operator classes.
const PG_OPCLASS: u32 = 2616;

pub(super) const RELATIONS: &[Definition] = &[
    Definition {
        name: "pg_rewrite",
        columns: &[
            "oid",
            "rulename",
            "ev_class",
            "ev_type",
            "ev_enabled",
            "is_instead",
            "ev_qual",
            "ev_action",
        ],
        rows: rules,
    },
    Definition {
        name: "pg_depend",
        columns: &[
            "classid",
            "objid",
            "objsubid",
            "refclassid",
            "refobjid",
            "refobjsubid",
            "deptype",
        ],
        rows: dependencies,
    },
];

/// The number of the rule that is a view's query.
fn rule_number(view: TableId) -> u32 {
    0xA000_0000 | view.0
}

/// The queries of views, as the rules that they are in PostgreSQL.
fn rules(planner: &Planner) -> Vec<Vec<Value>> {
    let row = |view: &ViewRecord| {
        vec![
            oid(rule_number(view.id)),
            text("_RETURN"),
            oid(view.id.0),
            text("1"),
            text("O"),
            flag(true),
            text("<>"),
            text(&view.text),
        ]
    };
    planner.catalog().all_views().map(row).collect()
}

/// Extensions and what is listed of what they bring; sequences and the columns that own them; defaults, the columns they are of and the sequences they ask; views and what they name.
fn dependencies(planner: &Planner) -> Vec<Vec<Value>> {
    let row = |sequence: &Arc<SequenceDef>| {
        let (table, column) = sequence.owned_by?;
        let owner = planner.catalog().table_by_id(table)?;
        let identity = owner.columns.get(column)?.identity.is_some();
        Some(vec![
            oid(PG_CLASS),
            oid(sequence.id.0),
            Value::Int4(0),
            oid(PG_CLASS),
            oid(table.0),
            Value::Int4(column as i32 + 1),
            text(if identity { "i" } else { "a" }),
        ])
    };
    let mut rows: Vec<Vec<Value>> = planner.catalog().sequences().filter_map(row).collect();
    for part in planner.catalog().divisions().parts() {
        rows.push(vec![
            oid(PG_CLASS),
            oid(part.id.0),
            Value::Int4(0),
            oid(PG_CLASS),
            oid(part.parent.0),
            Value::Int4(0),
            text("a"),
        ]);
    }
    for (extension, record) in planner.catalog().extensions() {
        let row = |(class, number): (u32, u32)| {
            let [class, number, of, extension] = [class, number, PG_EXTENSION, extension].map(oid);
            let none = Value::Int4(0);
            vec![class, number, none.clone(), of, extension, none, text("e")]
        };
        let classes = classes_of(&record.name).map(|number| (PG_OPCLASS, number));
        let of_search = search::members(&record.name).iter().copied();
        rows.extend(classes.chain(of_search).map(row));
    }
    for own in part_indexes(planner.catalog()) {
        let own_class = match own.constraint {
            true => PG_CONSTRAINT,
            false => PG_CLASS,
        };
        let depends = |class: u32, number: u32, kind: &str| {
            let [class, number] = [class, number].map(oid);
            let none = Value::Int4(0);
            vec![
                oid(own_class),
                oid(own.number),
                none.clone(),
                class,
                number,
                none,
                text(kind),
            ]
        };
        rows.push(depends(own_class, own.parent, "P"));
        rows.push(depends(PG_CLASS, own.part.id.0, "S"));
    }
    for view in planner.catalog().all_views() {
        let depends = |relation: TableId, column: i32, kind: &str| {
            vec![
                oid(PG_REWRITE),
                oid(rule_number(view.id)),
                Value::Int4(0),
                oid(PG_CLASS),
                oid(relation.0),
                Value::Int4(column),
                text(kind),
            ]
        };
        rows.push(depends(view.id, 0, "i"));
        for (relation, columns) in &view.uses {
            rows.push(depends(*relation, 0, "n"));
            let columns = columns.iter().map(|place| *place as i32 + 1);
            rows.extend(columns.map(|column| depends(*relation, column, "n")));
        }
    }
    rows.extend(of_types(planner));
    for table in &planner.catalog().tables_and_parts() {
        for (number, column) in table.columns.iter().enumerate() {
            let Some(default) = &column.default else {
                continue;
            };
            if column.identity.is_some() || column.dropped || column.hidden {
                continue;
            }
            rows.extend(of_default(table.relation().0, number, default));
        }
    }
    for view in planner.catalog().views() {
        let bound = stored::defaults_of_view(planner.catalog(), view);
        for (number, default) in bound.unwrap_or_default() {
            rows.extend(of_default(view.id.0, number, &default));
        }
    }
    rows
}

/// The column that a default is of, and the sequences that it asks.
fn of_default(relation: u32, number: usize, default: &Expr) -> Vec<Vec<Value>> {
    let depends = |on: u32, column: i32, kind: &str| {
        vec![
            oid(PG_ATTRDEF),
            oid(default_number(relation, number)),
            Value::Int4(0),
            oid(PG_CLASS),
            oid(on),
            Value::Int4(column),
            text(kind),
        ]
    };
    let mut rows = vec![depends(relation, number as i32 + 1, "a")];
    let mut asked = Vec::new();
    sequences_in(default, &mut asked);
    rows.extend(asked.into_iter().map(|id| depends(id.0, 0, "n")));
    rows
}

/// What types are made of, and what routines are declared with.
fn of_types(planner: &Planner) -> Vec<Vec<Value>> {
    let depends = |[class, number]: [u32; 2], [of, on]: [u32; 2], kind: &str| {
        let none = Value::Int4(0);
        vec![
            oid(class),
            oid(number),
            none.clone(),
            oid(of),
            oid(on),
            none,
            text(kind),
        ]
    };
    let catalog = planner.catalog();
    let made_by_users = |ty: SqlType| catalog.type_with(ty.oid()).map(|record| record.id);
    let mut rows = Vec::new();
    for (number, extension) in catalog.extensions() {
        for ty in SqlType::of_extension(&extension.name) {
            rows.push(depends([PG_TYPE, ty.oid()], [PG_EXTENSION, number], "e"));
        }
    }
    for record in catalog.user_types() {
        for field in record.fields().unwrap_or_default() {
            let class = [PG_CLASS, record.class_number()];
            rows.extend(made_by_users(field.ty).map(|ty| depends(class, [PG_TYPE, ty], "n")));
        }
        if record.fields().is_some() {
            let class = [PG_CLASS, record.class_number()];
            rows.push(depends(class, [PG_TYPE, record.id], "i"));
        }
        if let Some(domain) = record.domain() {
            let own = [PG_TYPE, record.id];
            match domain.over {
                Some(over) => rows.push(depends(own, [PG_TYPE, over], "n")),
                None => {
                    let base = made_by_users(domain.base);
                    rows.extend(base.map(|ty| depends(own, [PG_TYPE, ty], "n")));
                }
            }
        }
    }
    for table in catalog.tables() {
        rows.push(depends(
            [PG_TYPE, row_type(table.id.0)],
            [PG_CLASS, table.id.0],
            "i",
        ));
    }
    for (routine, ty) in types_of_routines(planner) {
        rows.push(depends([PG_PROC, routine], [PG_TYPE, ty], "n"));
    }
    rows
}

fn sequences_in(expr: &Expr, into: &mut Vec<SequenceId>) {
    match expr {
        Expr::NextVal(id) | Expr::CurrVal(id) => into.push(*id),
        Expr::SetVal { sequence, .. } => into.push(*sequence),
        _ => {}
    }
    expr.for_each_part(&mut |part| sequences_in(part, into));
}
