//! `ctid`, the place of a row: of what it is made, and how it finds the row.
//!
//! Relies on: `ir::function::place`.  Promises: a place is the row id of a table without a primary key, and the key of one whose
//! key is a single integer; a comparison with it is one of that column, so that it finds rows as a key does.
//! Does not: give places where the key is anything else.

use quintet_base::value::Array;
use quintet_base::{SqlType, TypeMod, Value};
use quintet_ir::function::place::{OF_ROW, ROW, ROWS};
use quintet_ir::function::resolve;
use quintet_ir::schema::TableDef;
use quintet_ir::{CompareOp, Expr};

/// What the column is called.
pub(crate) const CTID: &str = "ctid";

/// The place of a row of this table, whose frame begins at `offset`; `None` if its key is no number.
pub(crate) fn of_table(table: &TableDef, offset: usize) -> Option<Expr> {
    let [place] = table.key_columns()[..] else {
        return None;
    };
    let ty = table.frame_type(place);
    let column = Expr::Column(offset + place, ty);
    let number = match ty {
        SqlType::Int8 => column,
        SqlType::Int2 | SqlType::Int4 => Expr::Cast {
            input: Box::new(column),
            to: SqlType::Int8,
            modifier: TypeMod::NONE,
            explicit: false,
        },
        _ => return None,
    };
    call(OF_ROW, number)
}

fn call(name: &str, arg: Expr) -> Option<Expr> {
    let resolved = resolve(name, &[arg.ty()]).ok()?;
    Some(Expr::Call {
        function: resolved.function,
        args: vec![arg],
        ty: resolved.result,
    })
}

/// The number of which an expression is the place.
fn number_within(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Call { function, args, .. } if function.name == OF_ROW => args.first(),
        _ => None,
    }
}

/// The number of any place.
fn number_of(expr: Expr) -> Expr {
    if let Some(number) = number_within(&expr) {
        return number.clone();
    }
    match expr {
        Expr::Const(value, SqlType::Tid) => Expr::Const(value, SqlType::Int8),
        other => call(ROW, other.clone()).unwrap_or(other),
    }
}

/// Two places to be compared; as their numbers if one of them is a row's. Of two rows' only to find equal ones: what stands
/// beside `a.ctid < b.ctid` joins better than a half of the table for each row.
pub(crate) fn compared(op: CompareOp, left: Expr, right: Expr) -> (Expr, Expr) {
    let is_row = |expr| number_within(expr).is_some();
    if op != CompareOp::Eq && is_row(&left) && is_row(&right) {
        return (left, right);
    }
    if left.ty() == SqlType::Tid && right.ty() == SqlType::Tid && (is_row(&left) || is_row(&right))
    {
        return (number_of(left), number_of(right));
    }
    (left, right)
}

/// The same of IN.
pub(crate) fn among(input: Expr, list: Vec<Expr>) -> (Expr, Vec<Expr>) {
    match number_within(&input) {
        Some(number) => (number.clone(), list.into_iter().map(number_of).collect()),
        None => (input, list),
    }
}

/// The same of ANY and ALL.
pub(crate) fn beside_array(input: Expr, array: Expr) -> (Expr, Expr) {
    let Some(number) = number_within(&input) else {
        return (input, array);
    };
    let numbers = match &array {
        Expr::Const(Value::Array(places), _) => {
            let places = Array {
                element: SqlType::Int8,
                ..(**places).clone()
            };
            let places = Value::Array(Box::new(places));
            Some(Expr::Const(places, SqlType::Int8Array))
        }
        Expr::Const(Value::Null, _) => Some(Expr::Const(Value::Null, SqlType::Int8Array)),
        other => call(ROWS, other.clone()),
    };
    match numbers {
        Some(numbers) => (number.clone(), numbers),
        None => (input, array),
    }
}
