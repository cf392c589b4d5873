//! Programs that do nothing but write rows that their arguments name.
//!
//! Promises: two calls with other first arguments are often apart, and both write.  A random program reads a lot,
//! fails often, and writes rows that nothing is known of: of two such calls that are apart both wrote
//! in one pair of forty.

use crate::dice::Dice;
use crate::exprs::assigned;
use crate::plans::access;
use crate::tables::{Made, as_of_now, insert_constants};
use quintet_base::{SqlType, Value};
use quintet_ir::plan::{KeyRange, Path, Plan};
use quintet_ir::routine::{Action, Into, Output, Routine, Slot, Step};
use quintet_ir::schema::TableRef;
use quintet_ir::statement::{Delete, Statement, Update};
use quintet_ir::{Expr, TableDef};
use std::sync::Arc;

/// A routine with two arguments, the first of which names rows.
pub fn writer(dice: &mut Dice, tables: &[Made]) -> Vec<Routine> {
    // Keys that begin with something else are constants, which both calls have.
    let fits = |made: &&Made| {
        let table = &made.table;
        let first = table.key_columns().first().copied();
        let keyed = table.primary_key.is_some();
        keyed && first.is_some_and(|first| table.columns[first].ty == SqlType::Int4)
    };
    let fitting: Vec<&Made> = tables.iter().filter(fits).collect();
    let tables = match fitting.is_empty() {
        true => tables.iter().collect(),
        false => fitting,
    };
    let steps = (0..dice.between(1, 2)).map(|_| {
        let made = tables[dice.below(tables.len())];
        Step {
            line: 0,
            needs: None,
            action: Action::Run {
                statement: statement(dice, made),
                into: Into::default(),
            },
        }
    });
    let body = steps.collect();
    vec![Routine {
        name: "writer".to_string(),
        slots: vec![Slot::hidden(SqlType::Int4), Slot::hidden(SqlType::Int4)],
        arguments: 2,
        strict: false,
        guise: None,
        found: None,
        body,
        output: Output::Nothing,
    }]
}

/// Arguments of one of two calls, the first of which the other does not have.
pub fn arguments(dice: &mut Dice, number: usize) -> Vec<Value> {
    let numbers = [6 * number + dice.below(6), dice.below(12)];
    numbers.map(|number| Value::Int4(number as i32)).into()
}

fn statement(dice: &mut Dice, made: &Made) -> Statement {
    let table = &made.table;
    let free: Vec<usize> = (0..table.columns.len())
        .filter(|column| !table.columns[*column].dropped && !fixed(table).contains(column))
        .collect();
    // Few rows have the two columns of a key that is drawn.
    let narrow = table.key_columns().len() == 1 || dice.one_in(4);
    match dice.below(4) {
        0 | 1 if narrow && !free.is_empty() => {
            let column = *dice.pick(&free);
            let definition = &table.columns[column];
            let value = Expr::Const(dice.value(definition.ty), definition.ty);
            Statement::Update(Update {
                table: Arc::clone(table),
                source: by_key(dice, table),
                assignments: vec![(column, assigned(value, definition, true))],
                returning: None,
            })
        }
        2 if narrow => Statement::Delete(Delete {
            table: Arc::clone(table),
            source: by_key(dice, table),
            returning: None,
        }),
        _ => {
            let mut insert = as_of_now(made, &insert_constants(dice, &made.before));
            if let Statement::Insert(insert) = &mut insert {
                for (number, column) in fixed(table).into_iter().enumerate() {
                    insert.values[column] = key(dice, number, table.frame_type(column));
                }
            }
            insert
        }
    }
}

fn by_key(dice: &mut Dice, table: &TableRef) -> Plan {
    if table.primary_key.is_none() {
        return Plan::Scan(access(table, Path::Full, 0));
    }
    let columns = table.key_columns().into_iter().enumerate();
    let equal = columns.map(|(number, column)| key(dice, number, table.frame_type(column)));
    let range = KeyRange {
        equal: equal.collect(),
        ..KeyRange::default()
    };
    Plan::Scan(access(table, Path::Primary(vec![range]), 0))
}

/// The first column of a key is the argument in which calls differ.
fn key(dice: &mut Dice, number: usize, ty: SqlType) -> Expr {
    match (ty, number) {
        (SqlType::Int4, 0) => Expr::Param(0, ty),
        (SqlType::Int4, _) => Expr::Param(dice.below(2), ty),
        _ => Expr::Const(dice.value(ty), ty),
    }
}

/// Columns of the primary key, and of indexes.
fn fixed(table: &TableDef) -> Vec<usize> {
    let keys = table.primary_key.iter().flat_map(|key| &key.columns);
    let indexes = table.indexes.iter().flat_map(|index| &index.columns);
    keys.chain(indexes).copied().collect()
}
