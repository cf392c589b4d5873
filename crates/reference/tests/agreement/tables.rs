//! Random tables, and the rows that they begin with.
//!
//! Promises: every case has tables in spaces of its own; now and then one without a primary key, one with
//! a column that was dropped and one with a column that older rows lack.

use crate::dice::Dice;
use crate::exprs::{Exprs, assigned};
use quintet_base::row::RowLayout;
use quintet_base::{IndexId, SpaceId, SqlType, TableId, TypeMod};
use quintet_ir::schema::{CheckDef, CheckKind, PrimaryKey, TableRef};
use quintet_ir::statement::{Insert, Statement};
use quintet_ir::{ColumnDef, Elements, Expr, IndexDef, Plan, TableDef};
use std::sync::Arc;

/// A table, and what it was when its first rows were written.
pub struct Made {
    pub table: TableRef,
    pub before: TableRef,
}

/// Numbers of spaces that a case may use.
pub const SPACES: u32 = 64;

pub fn tables(dice: &mut Dice, first_space: u32) -> Vec<Made> {
    let count = dice.between(1, 3) as u32;
    (0..count)
        .map(|number| table(dice, &format!("t{number}"), first_space + number * 8))
        .collect()
}

fn table(dice: &mut Dice, name: &str, space: u32) -> Made {
    let keyed = !dice.one_in(10);
    let key_width = if keyed { dice.between(1, 2) } else { 0 };
    let width = key_width + dice.between(1, 5);
    let mut columns: Vec<ColumnDef> = (0..width)
        .map(|number| {
            let ty = match number < key_width {
                true => key_type(dice),
                false => dice.ty(),
            };
            column(dice, &format!("c{number}"), ty)
        })
        .collect();
    let mut key: Vec<usize> = (0..width).collect();
    while key.len() > key_width {
        key.remove(dice.below(key.len()));
    }
    if key.len() == 2 && dice.one_in(2) {
        key.reverse();
    }
    for &number in &key {
        columns[number].not_null = true;
    }
    let mut table = TableDef {
        id: TableId(space),
        revision: 1,
        schema: "public".into(),
        name: name.into(),
        space: SpaceId(space),
        layout: RowLayout::new(Vec::new()),
        primary_key: keyed.then(|| PrimaryKey {
            name: format!("{name}_pkey"),
            columns: key.clone(),
        }),
        columns,
        indexes: Vec::new(),
        checks: Vec::new(),
        references: None,
        partitions: None,
    };
    indexes(dice, &mut table);
    if dice.one_in(5) {
        check(dice, &mut table);
    }
    let before = finished(table.clone());
    let free: Vec<usize> = (0..width)
        .filter(|number| {
            let indexed = table
                .indexes
                .iter()
                .any(|index| index.columns.contains(number));
            // A constant that does not fit its column must fail before and after.
            let fits = table.columns[*number].ty != SqlType::Numeric;
            !key.contains(number) && !indexed && fits && table.checks.is_empty()
        })
        .collect();
    if !free.is_empty() && dice.one_in(5) {
        let dropped = &mut table.columns[*dice.pick(&free)];
        dropped.dropped = true;
        dropped.not_null = false;
    }
    if dice.one_in(5) {
        let ty = dice.ty();
        let mut added = column(dice, "added", ty);
        added.modifier = TypeMod::NONE;
        added.missing = Some(dice.value(ty));
        table.columns.push(added);
    }
    Made {
        table: finished(table),
        before,
    }
}

fn finished(mut table: TableDef) -> TableRef {
    table.layout = RowLayout::new(table.columns.iter().map(|column| column.ty).collect());
    Arc::new(table)
}

fn key_type(dice: &mut Dice) -> SqlType {
    match dice.below(8) {
        0..=4 => SqlType::Int4,
        5 => SqlType::Bpchar,
        _ => dice.ty(),
    }
}

fn column(dice: &mut Dice, name: &str, ty: SqlType) -> ColumnDef {
    ColumnDef {
        name: name.into(),
        ty,
        modifier: dice.modifier(ty),
        not_null: dice.one_in(3),
        default: None,
        missing: None,
        identity: None,
        generated: None,
        dropped: false,
        hidden: false,
    }
}

fn indexes(dice: &mut Dice, table: &mut TableDef) {
    for number in 0..[0, 0, 0, 1, 2][dice.below(5)] {
        let mut columns = vec![dice.below(table.columns.len())];
        if dice.one_in(3) {
            let second = dice.below(table.columns.len());
            if second != columns[0] {
                columns.push(second);
            }
        }
        let is_array = table.columns[columns[0]].ty.element().is_some();
        let mut inverted = Vec::new();
        if is_array && dice.one_in(2) {
            columns.truncate(1);
            inverted.push(Elements::OfArray);
        }
        let unique = inverted.is_empty() && dice.one_in(2);
        table.indexes.push(IndexDef {
            id: IndexId(table.id.0 + 1 + number),
            name: format!("{}_i{number}", table.name),
            space: SpaceId(table.space.0 + 1 + number),
            columns,
            unique,
            late: None,
            constraint: unique,
            partial: false,
            nulls_equal: unique && dice.one_in(3),
            inverted,
            excludes: None,
        });
    }
}

fn check(dice: &mut Dice, table: &mut TableDef) {
    let types: Vec<SqlType> = table.columns.iter().map(|column| column.ty).collect();
    let mut exprs = Exprs::new(dice, &[], &types).total();
    let condition = Expr::Or(vec![exprs.comparison(1), exprs.comparison(0)]);
    table.checks.push(CheckDef {
        name: format!("{}_check", table.name),
        condition,
        text: String::new(),
        validated: true,
        kind: CheckKind::Own,
    });
}

/// INSERT of one row of constants.
pub fn insert_constants(dice: &mut Dice, table: &TableRef) -> Statement {
    let values = table
        .columns
        .iter()
        .map(|column| {
            let value = match column.not_null {
                true => dice.value(column.ty),
                false => dice.value_or_null(column.ty),
            };
            assigned(Expr::Const(value, column.ty), column, true)
        })
        .collect();
    Statement::Insert(Insert {
        table: Arc::clone(table),
        source: one_row(),
        values,
        conflict: None,
        returning: None,
    })
}

/// One row without columns.
pub fn one_row() -> Plan {
    Plan::Values {
        rows: vec![vec![]],
        types: vec![],
    }
}

/// An INSERT into a table that has got and lost columns since.
pub fn as_of_now(made: &Made, insert: &Statement) -> Statement {
    let Statement::Insert(insert) = insert else {
        unreachable!("rows are inserted");
    };
    let mut values = insert.values.clone();
    let checked = insert.values.len();
    for (number, column) in made.table.columns.iter().enumerate() {
        if number >= checked {
            let missing = column.missing.clone().unwrap_or_default();
            values.push(Expr::Const(missing, column.ty));
        } else if column.dropped {
            values[number] = Expr::null(column.ty);
        }
    }
    Statement::Insert(Insert {
        table: Arc::clone(&made.table),
        values,
        ..insert.clone()
    })
}
