//! Statements about one row, over the row where it lies.
//!
//! Relies on: `ir::formula`.  Promises: what the statement itself would do; where a formula has no answer, where a row
//! is of an older form, a NULL is refused or a key is taken, it has done nothing and says so.
//! Does not: stand for statements whose expressions need a frame of values.
//!
//! ```text
//!   key ─► row, where it lies ─► the columns that are looked at ─► bytes, the rest copied ─► put
//! ```
//! Hot path: no value is made but those that variables are filled with, and these in the memory that they had.

use crate::context::{Context, Halt};
use crate::direct::Direct;
use crate::insert::row_id;
use crate::point::{Done, refused};
use quintet_base::datum::Datum;
use quintet_base::limits::KEY_BYTES_MAX;
use quintet_base::row::RowReader;
use quintet_base::{Bytes, SqlResult, SqlType, Value, key};
use quintet_ir::formula::{Computed, Formula, Scope};
use quintet_ir::point::{LeanInsert, LeanRow, Point, PointRow};
use quintet_ir::{IndexDef, TableDef};
use quintet_tc::{Place, Strength, WaitPolicy};
use std::cell::Cell;

thread_local! {
    /// Memory of the last call of this thread, for the next one.
    static SPARE: Cell<Option<Spare>> = const { Cell::new(None) };
}

/// What one statement after the other writes into.
#[derive(Default)]
pub(crate) struct Buffers {
    key: Vec<u8>,
    entry: Vec<u8>,
    row: Vec<u8>,
    /// Values that no formula gives.
    values: Vec<Value>,
}

/// Memory without content: of the key, of an entry of an index, of the row, and for values that come out.
type Spare = ([Vec<u8>; 3], Vec<Value>);

/// The next call of a thread takes over the memory of one that has needed no more.
const KEPT_BYTES_MAX: usize = 1 << 14;
/// See there.
const KEPT_VALUES_MAX: usize = 256;

impl Buffers {
    /// Gives the memory of a call before, if this one has none yet.
    pub fn borrow(&mut self, out: &mut Vec<Value>) {
        if self.key.capacity() == 0
            && out.capacity() == 0
            && let Some((bytes, values)) = SPARE.take()
        {
            [self.key, self.entry, self.row] = bytes;
            *out = values;
        }
    }

    /// Keeps the memory for the next call.
    pub fn give_back(&mut self, out: &mut Vec<Value>) {
        let small = self.row.capacity() <= KEPT_BYTES_MAX && out.capacity() <= KEPT_VALUES_MAX;
        if small && self.key.capacity() > 0 {
            out.clear();
            let bytes = [&mut self.key, &mut self.entry, &mut self.row].map(std::mem::take);
            // A thread that is ending keeps nothing.
            let _ = SPARE.try_with(|place| place.set(Some((bytes, std::mem::take(out)))));
        }
    }
}

/// Columns that are changed where they lie.
const CHANGES_MAX: usize = 8;

/// What was found where the key leads to.
enum Found {
    /// No row, or one that is not meant.
    Nothing,
    /// The row.
    Row,
    /// One that this is no code for.
    Unusual,
}

/// Appends a value as a column of this type has it in keys.
#[inline]
pub(crate) fn push(value: Datum<'_>, ty: SqlType, out: &mut Vec<u8>) {
    match value {
        Datum::Int4(value) => key::encode_int4(value, out),
        Datum::Text(text) if ty == SqlType::Bpchar => {
            key::encode_datum(Datum::Text(text.trim_end_matches(' ')), out);
        }
        value => key::encode_datum(value, out),
    }
}

/// Appends a key; `Some(false)`: a NULL in it, so there is no such row; `None`: a formula has no answer.
#[inline]
pub(crate) fn push_key(
    parts: &[(Formula, SqlType)],
    scope: &Scope<'_>,
    out: &mut Vec<u8>,
) -> Option<bool> {
    for (part, ty) in parts {
        if *ty == SqlType::Int4
            && let Some(value) = part.int4(scope)
        {
            match value {
                Some(value) => key::encode_int4(value, out),
                None => return Some(false),
            }
            continue;
        }
        match part.eval(scope)? {
            Datum::Null => return Some(false),
            value => push(value, *ty, out),
        }
    }
    Some(true)
}

/// Puts what comes out of a row into a place of `out` and those behind it; `None`: a formula has no answer.
#[inline]
pub(crate) fn give(
    output: &[Formula],
    scope: &Scope<'_>,
    (out, from): (&mut Vec<Value>, usize),
) -> Option<()> {
    let to = from + output.len();
    if out.len() < to {
        out.resize_with(to, Value::default);
    }
    let places = &mut out[from..to];
    for (number, formula) in output.iter().enumerate() {
        formula.eval(scope)?.put_into(&mut places[number]);
    }
    Some(())
}

/// Runs the statement, if all of it can be computed so. `None`: nothing has happened.
#[inline]
pub(crate) fn run(
    (point, direct): (&Point, &Direct),
    context: &mut Context<'_>,
    buffers: &mut Buffers,
    (out, from): (&mut Vec<Value>, usize),
) -> Result<Option<Done>, Halt> {
    match point {
        Point::Read(row) => match &row.lean {
            Some(lean) => read(row, lean, context, buffers, (out, from)),
            None => Ok(None),
        },
        Point::Update {
            row,
            lean: Some(changes),
            ..
        } => match &row.lean {
            Some(lean) if changes.len() <= CHANGES_MAX => {
                update((row, lean), changes, context, buffers, (out, from))
            }
            _ => Ok(None),
        },
        Point::Delete(row) if row.table.indexes.is_empty() && row.output.is_empty() => {
            match &row.lean {
                Some(lean) => delete(row, lean, context, buffers),
                None => Ok(None),
            }
        }
        Point::Insert {
            table,
            lean: Some(lean),
            ..
        } => insert((table, direct), lean, context, buffers),
        _ => Ok(None),
    }
}

fn read(
    row: &PointRow,
    lean: &LeanRow,
    context: &mut Context<'_>,
    buffers: &mut Buffers,
    (out, from): (&mut Vec<Value>, usize),
) -> Result<Option<Done>, Halt> {
    let scope = Scope {
        row: None,
        slots: context.params,
        host: context.host,
    };
    buffers.key.clear();
    match push_key(&lean.key, &scope, &mut buffers.key) {
        Some(true) => {}
        Some(false) => return Ok(Some(Done::NOTHING)),
        None => return Ok(None),
    }
    if context.txn.locks_reads() {
        let key = Bytes::copy_from_slice(&buffers.key);
        let txn = &mut *context.txn;
        let locked = txn.lock(row.table.space, &key, Strength::Shared, WaitPolicy::Queue);
        locked.map_err(|error| refused(error, context, &row.table))?;
    }
    let place = (row.table.space, &buffers.key[..]);
    let found = context.txn.read_columns(place, &row.glance, |stored| {
        let Some(stored) = stored else {
            return Some(Done::NOTHING);
        };
        let reader = row.table.layout.open(stored).ok()?;
        let scope = Scope {
            row: Some(reader),
            ..scope
        };
        if let Some(filter) = &lean.filter
            && !filter.holds(&scope)?
        {
            return Some(Done::NOTHING);
        }
        give(&lean.output, &scope, (out, from))?;
        Some(Done::one(from, lean.output.len()))
    });
    found.map_err(|error| refused(error, context, &row.table))
}

fn update(
    (row, lean): (&PointRow, &LeanRow),
    changes: &[(usize, Computed)],
    context: &mut Context<'_>,
    buffers: &mut Buffers,
    (out, from): (&mut Vec<Value>, usize),
) -> Result<Option<Done>, Halt> {
    let table = &*row.table;
    let (params, host) = (context.params, context.host);
    let scope = Scope {
        row: None,
        slots: params,
        host,
    };
    let Buffers {
        key,
        row: bytes,
        values,
        ..
    } = buffers;
    key.clear();
    match push_key(&lean.key, &scope, key) {
        Some(true) => {}
        Some(false) => return Ok(Some(Done::NOTHING)),
        None => return Ok(None),
    }
    values.clear();
    // Without columns, they are the same for every row.
    for (_, value) in changes {
        if value.formula.is_none() {
            match quintet_ir::eval(&value.expr, &[], params, host) {
                Ok(value) => values.push(value),
                Err(_) => return Ok(None),
            }
        }
    }
    let see = |stored: Option<&[u8]>| {
        let Some(stored) = stored else {
            return Found::Nothing;
        };
        let changed = (|| {
            let reader = table.layout.open(stored).ok()?;
            let scope = Scope {
                row: Some(reader),
                ..scope
            };
            if let Some(filter) = &lean.filter
                && !filter.holds(&scope)?
            {
                return Some(Found::Nothing);
            }
            // All of them see the row as it was.
            let mut new = [(0, Datum::Null); CHANGES_MAX];
            let new = &mut new[..changes.len()];
            let mut computed = values.iter();
            for (number, (column, value)) in changes.iter().enumerate() {
                let value = match &value.formula {
                    Some(formula) => formula.eval(&scope)?,
                    None => Datum::of(computed.next()?),
                };
                if value.is_null() && table.columns[*column].not_null {
                    return None;
                }
                new[number] = (*column, value);
            }
            // What is out of the ordinary with it is said by the long way.
            let patched = table.layout.patch_opened(&reader, new, bytes).ok()?;
            patched.then_some(Found::Row)
        })();
        changed.unwrap_or(Found::Unusual)
    };
    let place = Place::new(table.space, key);
    let found = context.txn.read_claimed_at(place, see);
    match found.map_err(|error| refused(error, context, table))? {
        Found::Row => {}
        Found::Nothing => {
            context.txn.leave_alone(table.space, key);
            context.txn.note_read(table.space, key);
            return Ok(Some(Done::NOTHING));
        }
        Found::Unusual => return Ok(None),
    }
    if !lean.output.is_empty() {
        let Ok(reader) = table.layout.open(bytes) else {
            return Ok(None);
        };
        let scope = Scope {
            row: Some(reader),
            ..scope
        };
        if give(&lean.output, &scope, (out, from)).is_none() {
            return Ok(None);
        }
    }
    let put = context.txn.put_at(place, bytes);
    put.map_err(|error| refused(error, context, table))?;
    Ok(Some(Done::one(from, lean.output.len())))
}

fn delete(
    row: &PointRow,
    lean: &LeanRow,
    context: &mut Context<'_>,
    buffers: &mut Buffers,
) -> Result<Option<Done>, Halt> {
    let table = &*row.table;
    let scope = Scope {
        row: None,
        slots: context.params,
        host: context.host,
    };
    let key = &mut buffers.key;
    key.clear();
    match push_key(&lean.key, &scope, key) {
        Some(true) => {}
        Some(false) => return Ok(Some(Done::NOTHING)),
        None => return Ok(None),
    }
    let place = Place::new(table.space, key);
    let found = context.txn.read_claimed_at(place, |stored| {
        let Some(stored) = stored else {
            return Found::Nothing;
        };
        let Some(filter) = &lean.filter else {
            return Found::Row;
        };
        let scope = Scope {
            row: table.layout.open(stored).ok(),
            ..scope
        };
        match filter.holds(&scope) {
            Some(true) => Found::Row,
            Some(false) => Found::Nothing,
            None => Found::Unusual,
        }
    });
    match found.map_err(|error| refused(error, context, table))? {
        Found::Row => {}
        Found::Nothing => {
            context.txn.leave_alone(table.space, key);
            context.txn.note_read(table.space, key);
            return Ok(Some(Done::NOTHING));
        }
        Found::Unusual => return Ok(None),
    }
    let deleted = context.txn.delete_at(place);
    deleted.map_err(|error| refused(error, context, table))?;
    Ok(Some(Done::one(0, 0)))
}

/// A row whose indexes take any number of the same.
fn insert(
    (table, direct): (&TableDef, &Direct),
    lean: &LeanInsert,
    context: &mut Context<'_>,
    buffers: &mut Buffers,
) -> Result<Option<Done>, Halt> {
    let (params, host) = (context.params, context.host);
    let scope = Scope {
        row: None,
        slots: params,
        host,
    };
    let Buffers {
        key,
        entry,
        row: bytes,
        values,
    } = buffers;
    values.clear();
    for value in &lean.values {
        if value.formula.is_none() {
            match quintet_ir::eval(&value.expr, &[], params, host) {
                Ok(value) => values.push(value),
                Err(_) => return Ok(None),
            }
        }
    }
    key.clear();
    let expected = match &lean.key {
        Some(parts) => {
            // A NULL in it is refused, which is said by the long way.
            if push_key(parts, &scope, key) != Some(true) || key.len() > KEY_BYTES_MAX {
                return Ok(None);
            }
            // What is there is on its way while the row is written.
            let place = Place::new(table.space, key);
            context.txn.expect(place);
            Some(place)
        }
        None => None,
    };
    let mut computed = values.iter();
    let types = table.layout.columns();
    assert_eq!(lean.values.len(), types.len(), "one value per column");
    let mut row = table.layout.begin(bytes);
    for (number, (value, ty)) in lean.values.iter().zip(types).enumerate() {
        if *ty == SqlType::Int4
            && let Some(formula) = &value.formula
            && let Some(Some(value)) = formula.int4(&scope)
        {
            row.put_int4(number, value);
            continue;
        }
        let value = match &value.formula {
            Some(formula) => formula.eval(&scope),
            None => computed.next().map(Datum::of),
        };
        match value {
            Some(Datum::Null) if table.columns[number].not_null => return Ok(None),
            Some(value) => row.put(number, value),
            None => return Ok(None),
        }
    }
    // What is out of the ordinary with it is said by the long way.
    if row.finish().is_err() {
        return Ok(None);
    }
    let row = table.layout.open(bytes)?;
    let place = match (expected, &table.primary_key) {
        (Some(place), _) => place,
        (None, Some(primary)) => {
            push_columns(&row, types, &primary.columns, key)?;
            if key.len() > KEY_BYTES_MAX {
                return Ok(None);
            }
            Place::new(table.space, key)
        }
        (None, None) => {
            let id = row_id(direct, table, context.txn)?;
            key::encode_datum(Datum::Int8(id), key);
            Place::new(table.space, key)
        }
    };
    let key = &key[..];
    if table.primary_key.is_some() {
        let taken = context.txn.read_claimed_at(place, |row| row.is_some());
        if taken.map_err(|error| refused(error, context, table))? {
            return Ok(None);
        }
    }
    // The entries fit, or nothing is put.
    for index in &table.indexes {
        push_entry(&row, types, &index.columns, key, entry)?;
        if entry.len() > KEY_BYTES_MAX {
            return Ok(None);
        }
    }
    let put = context.txn.put_at(place, bytes);
    put.map_err(|error| refused(error, context, table))?;
    let is_in = |index: &&IndexDef| !index.partial || !row.is_null(index.columns[0]);
    for index in table.indexes.iter().filter(is_in) {
        push_entry(&row, types, &index.columns, key, entry)?;
        let put = context.txn.put(index.space, &entry, key);
        put.map_err(|error| refused(error, context, table))?;
    }
    Ok(Some(Done::one(0, 0)))
}

/// Appends columns of a row as keys have them.
#[inline]
fn push_columns(
    row: &RowReader<'_>,
    types: &[SqlType],
    columns: &[usize],
    out: &mut Vec<u8>,
) -> SqlResult<()> {
    for &column in columns {
        if let Some(Some(value)) = row.int4(column) {
            key::encode_int4(value, out);
            continue;
        }
        match row.datum(column) {
            Some(value) => push(value, types[column], out),
            None => push(Datum::of(&row.get(column)?), types[column], out),
        }
    }
    Ok(())
}

fn push_entry(
    row: &RowReader<'_>,
    types: &[SqlType],
    columns: &[usize],
    key: &[u8],
    entry: &mut Vec<u8>,
) -> SqlResult<()> {
    entry.clear();
    push_columns(row, types, columns, entry)?;
    entry.extend_from_slice(key);
    Ok(())
}
