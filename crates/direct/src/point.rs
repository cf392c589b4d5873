//! Statements of a routine about one row that its primary key names.
//!
//! Relies on: `ir::point`.  Promises: what the statement itself would do, row, error and all; what it does,
//! it does with its last step, so there is nothing to undo.  Does not: stand for every such statement: where
//! something is out of the ordinary (a NULL that is refused, a row of an older form, a row that changed
//! under READ COMMITTED), it has done nothing and says that the statement is to be run as any other.
//!
//! ```text
//!   key ─► row, where it lies ─► columns that are looked at ─► new values ─► bytes, the rest copied ─► put
//! ```
//! Hot path: nothing is allocated but what values need; a stored row is read in place, and never whole.

use crate::context::{Context, Env, Halt, Stop, Workspace};
use crate::direct::Direct;
use crate::insert::new_row_id;
use crate::keys::{check_length, entry_key, push, push_row_key};
use crate::lean;
use crate::rows::{check_row, unstored};
use crate::run::stop_outside_a_run;
use crate::translate::halt;
use crate::write::{Taken, entry_taken, remove, taken_error};
use quintet_base::limits::KEY_BYTES_MAX;
use quintet_base::{Bytes, SqlResult, Value};
use quintet_ir::code::Flat;
use quintet_ir::point::{Point, PointRow};
use quintet_ir::schema::TableRef;
use quintet_ir::statement::Arbiter;
use quintet_ir::{Expr, TableDef};
use quintet_tc::{Strength, WaitPolicy};

/// What one statement after the other writes into.
#[derive(Default)]
pub(crate) struct Scratch {
    key: Vec<u8>,
    frame: Vec<Value>,
    changes: Vec<(usize, Value)>,
    row: Vec<u8>,
    lean: lean::Buffers,
}

/// What was done.
#[derive(Clone, Copy)]
pub(crate) struct Done {
    /// Rows found or changed.
    pub found: u64,
    /// Where the values that have come out are.
    pub from: usize,
    /// How many there are.
    pub width: usize,
}

impl Done {
    /// No row was found.
    pub const NOTHING: Done = Done {
        found: 0,
        from: 0,
        width: 0,
    };

    /// One was, and so many values came out of it, to a place and those behind it.
    pub fn one(from: usize, width: usize) -> Done {
        Done {
            found: 1,
            // Nobody has made room for nothing.
            from: if width > 0 { from } else { 0 },
            width,
        }
    }
}

/// Columns of a row that is encoded from where its values lie.
const COLUMNS_IN_PLACE: usize = 32;

/// What was found where the key leads to.
enum Found {
    /// No row, or one that is not meant.
    Nothing,
    /// The row; its frame is there.
    Row,
    /// One that this is no code for.
    Unusual,
}

/// Runs the statement and leaves its row, if it gives one, in `out`. `None`: nothing has happened,
/// the statement is to be run as any other.
pub(crate) fn run(
    Flat {
        point,
        joined,
        place,
        ..
    }: &Flat,
    direct: &Direct,
    context: &mut Context<'_>,
    workspace: &mut Workspace,
    out: &mut Vec<Value>,
) -> Result<Option<Done>, Stop> {
    if context.host.is_read_only() && !matches!(point, Point::Read(_)) {
        return Ok(None);
    }
    context.txn.begin_point();
    match lean::run(
        (point, direct),
        context,
        &mut workspace.point.lean,
        (out, *place),
    ) {
        Ok(Some(done)) => return Ok(Some(done)),
        Ok(None) if !*joined => {}
        Ok(None) | Err(Halt::Stale) => return Ok(None),
        Err(halt) => return Err(stop_outside_a_run(halt)),
    }
    let mut scratch = std::mem::take(&mut workspace.point);
    scratch.frame.clear();
    let result = match point {
        Point::Read(row) => scratch.read(row, context, out),
        Point::Update { row, changes, .. } => scratch.update(row, changes, context, out),
        Point::Delete(row) => scratch.delete(row, context, workspace, out),
        Point::Insert {
            table,
            values,
            output,
            free,
            ..
        } => {
            let in_place = match *free && output.is_empty() {
                true => scratch.insert_in_place(table, values, context),
                false => Ok(None),
            };
            match in_place {
                Ok(None) => {
                    scratch.frame.clear();
                    scratch.insert((direct, table, values, output), context, workspace, out)
                }
                done => done,
            }
        }
    };
    workspace.point = scratch;
    match result {
        Ok(found) => Ok(found.map(|found| Done {
            found,
            from: 0,
            width: out.len(),
        })),
        Err(Halt::Stale) => Ok(None),
        Err(halt) => Err(stop_outside_a_run(halt)),
    }
}

impl Scratch {
    /// The memory of a call before; see [`lean::Buffers::borrow`].
    pub fn borrow(&mut self, out: &mut Vec<Value>) {
        self.lean.borrow(out);
    }

    /// Keeps the memory for the next call.
    pub fn give_back(&mut self, out: &mut Vec<Value>) {
        self.lean.give_back(out);
    }

    /// The row's key; false if a NULL in it means that there is no such row.
    fn key(&mut self, row: &PointRow, context: &Context<'_>) -> SqlResult<bool> {
        self.key.clear();
        for (expr, ty) in &row.key {
            let value = match quintet_ir::leaf(expr, &[], context.params) {
                Some(value) => value,
                None => &quintet_ir::eval(expr, &[], context.params, context.host)?,
            };
            if value.is_null() {
                return Ok(false);
            }
            push(value, *ty, &mut self.key);
        }
        Ok(true)
    }

    fn read(
        &mut self,
        row: &PointRow,
        context: &mut Context<'_>,
        out: &mut Vec<Value>,
    ) -> Result<Option<u64>, Halt> {
        if !self.key(row, context)? {
            return Ok(Some(0));
        }
        if context.txn.locks_reads() {
            let key = Bytes::copy_from_slice(&self.key);
            let txn = &mut *context.txn;
            let locked = txn.lock(row.table.space, &key, Strength::Shared, WaitPolicy::Queue);
            locked.map_err(|error| refused(error, context, &row.table))?;
        }
        let (params, host) = (context.params, context.host);
        let frame = &mut self.frame;
        let place = (row.table.space, &self.key[..]);
        let found = context.txn.read_columns(place, &row.glance, |stored| {
            if !decode(row, stored, frame)? {
                return Ok(false);
            }
            let filter = row.filter.as_ref();
            filter.map_or(Ok(true), |filter| {
                quintet_ir::eval_predicate(filter, frame, params, host)
            })
        });
        let found: SqlResult<bool> = found.map_err(|error| refused(error, context, &row.table))?;
        if !found? {
            return Ok(Some(0));
        }
        self.give(row, context, out)?;
        Ok(Some(1))
    }

    fn update(
        &mut self,
        row: &PointRow,
        changes: &[(usize, Expr, Option<usize>)],
        context: &mut Context<'_>,
        out: &mut Vec<Value>,
    ) -> Result<Option<u64>, Halt> {
        if !self.key(row, context)? {
            return Ok(Some(0));
        }
        let table = &*row.table;
        let (params, host) = (context.params, context.host);
        let Scratch {
            key,
            frame,
            changes: new,
            row: bytes,
            ..
        } = self;
        let found = context.txn.read_claimed(table.space, key, |stored| {
            let Some(stored) = stored else {
                return Ok(Found::Nothing);
            };
            decode(row, Some(stored), frame)?;
            if let Some(filter) = &row.filter
                && !quintet_ir::eval_predicate(filter, frame, params, host)?
            {
                return Ok(Found::Nothing);
            }
            new.clear();
            // All of them see the row as it was.
            for (column, value, _) in changes {
                let value = quintet_ir::eval(value, frame, params, host)?;
                if value.is_null() && table.columns[*column].not_null {
                    return Ok(Found::Unusual);
                }
                new.push((*column, value));
            }
            Ok(match table.layout.patch(stored, new, bytes)? {
                true => Found::Row,
                false => Found::Unusual,
            })
        });
        let found: SqlResult<Found> = found.map_err(|error| refused(error, context, table))?;
        match found? {
            Found::Row => {}
            Found::Nothing => {
                context.txn.leave_alone(table.space, &self.key);
                context.txn.note_read(table.space, &self.key);
                return Ok(Some(0));
            }
            Found::Unusual => return Ok(None),
        }
        for ((_, _, place), (_, value)) in changes.iter().zip(self.changes.drain(..)) {
            if let Some(place) = place {
                self.frame[*place] = value;
            }
        }
        self.give(row, context, out)?;
        let put = context.txn.put(table.space, &self.key, &self.row);
        put.map_err(|error| refused(error, context, table))?;
        Ok(Some(1))
    }

    fn delete(
        &mut self,
        row: &PointRow,
        context: &mut Context<'_>,
        workspace: &mut Workspace,
        out: &mut Vec<Value>,
    ) -> Result<Option<u64>, Halt> {
        if !self.key(row, context)? {
            return Ok(Some(0));
        }
        let table = &*row.table;
        let (params, host) = (context.params, context.host);
        let frame = &mut self.frame;
        let found = context.txn.read_claimed(table.space, &self.key, |stored| {
            if !decode(row, stored, frame)? {
                return Ok(false);
            }
            let filter = row.filter.as_ref();
            filter.map_or(Ok(true), |filter| {
                quintet_ir::eval_predicate(filter, frame, params, host)
            })
        });
        let found: SqlResult<bool> = found.map_err(|error| refused(error, context, table))?;
        if !found? {
            context.txn.leave_alone(table.space, &self.key);
            context.txn.note_read(table.space, &self.key);
            return Ok(Some(0));
        }
        out.clear();
        for expr in &row.output {
            out.push(quintet_ir::eval(expr, &self.frame, params, host)?);
        }
        let mut env = Env::new(context, workspace);
        remove(
            table,
            &Bytes::copy_from_slice(&self.key),
            &self.frame,
            &mut env,
        )?;
        Ok(Some(1))
    }

    fn insert(
        &mut self,
        (direct, table, values, output): (&Direct, &TableRef, &[Expr], &[Expr]),
        context: &mut Context<'_>,
        workspace: &mut Workspace,
        out: &mut Vec<Value>,
    ) -> Result<Option<u64>, Halt> {
        let (params, host) = (context.params, context.host);
        let mut missing = false;
        for (value, column) in values.iter().zip(&table.columns) {
            let value = quintet_ir::eval(value, &[], params, host)?;
            missing |= value.is_null() && column.not_null;
            self.frame.push(value);
        }
        let mut env = Env::new(context, workspace);
        if table.primary_key.is_none() {
            let id = new_row_id(direct, table, &env)?;
            self.frame.push(Value::Int8(id));
        }
        if missing || table.partitions.is_some() {
            check_row(table, &self.frame, &mut env)?;
        }
        self.key.clear();
        push_row_key(table, &self.frame, &mut self.key);
        if let Some(primary) = &table.primary_key {
            check_length(&self.key, &primary.name)?;
            let taken = env
                .txn
                .read_claimed(table.space, &self.key, |row| row.is_some());
            if taken.map_err(|error| env.halt(error, &table.name))? {
                env.txn.note_read(table.space, &self.key);
                let taken = Taken {
                    by: Arbiter::Primary,
                    row_key: Bytes::copy_from_slice(&self.key),
                };
                return Err(taken_error(table, &taken, &self.frame, &mut env));
            }
        }
        if table.indexes.is_empty() {
            table
                .layout
                .encode_into(&self.frame[..table.columns.len()], &mut self.row)?;
            let put = env.txn.put(table.space, &self.key, &self.row);
            put.map_err(|error| env.halt(error, &table.name))?;
        } else {
            self.put_with_entries(table, &mut env)?;
        }
        out.clear();
        for expr in output {
            out.push(quintet_ir::eval(expr, &self.frame, params, host)?);
        }
        Ok(Some(1))
    }

    /// The most frequent row: it has a key, which is free, and no index. Its values are encoded from where they
    /// lie, and may be evaluated again. `None`: it is another one, and nothing has been done.
    fn insert_in_place(
        &mut self,
        table: &TableDef,
        values: &[Expr],
        context: &mut Context<'_>,
    ) -> Result<Option<u64>, Halt> {
        if values.len() > COLUMNS_IN_PLACE
            || table.primary_key.is_none()
            || !table.indexes.is_empty()
            || table.partitions.is_some()
        {
            return Ok(None);
        }
        let (params, host) = (context.params, context.host);
        let mut lying = [None; COLUMNS_IN_PLACE];
        for (place, value) in lying.iter_mut().zip(values) {
            *place = quintet_ir::leaf(value, &[], params);
            if place.is_none() {
                self.frame.push(quintet_ir::eval(value, &[], params, host)?);
            }
        }
        let mut row = [&Value::Null; COLUMNS_IN_PLACE];
        let mut computed = self.frame.iter();
        for ((value, place), column) in row.iter_mut().zip(lying).zip(&table.columns) {
            *value = match place.or_else(|| computed.next()) {
                Some(Value::Null) | None if column.not_null => return Ok(None),
                Some(value) => value,
                None => return Ok(None),
            };
        }
        let row = &row[..values.len()];
        self.key.clear();
        push_row_key(table, row, &mut self.key);
        if self.key.len() > KEY_BYTES_MAX {
            return Ok(None);
        }
        let taken = context
            .txn
            .read_claimed(table.space, &self.key, |row| row.is_some());
        if taken.map_err(|error| refused(error, context, table))? {
            return Ok(None);
        }
        table.layout.encode_into(row, &mut self.row)?;
        let put = context.txn.put(table.space, &self.key, &self.row);
        put.map_err(|error| refused(error, context, table))?;
        Ok(Some(1))
    }

    /// Puts the new row, whose key is free, and its entries, if theirs are.
    fn put_with_entries(&mut self, table: &TableDef, env: &mut Env<'_>) -> Result<(), Halt> {
        let entries = table.indexes.iter();
        let entries: Vec<_> = entries
            .map(|index| entry_key(table, index, &self.frame, &self.key))
            .collect();
        for (number, entry) in entries.iter().enumerate() {
            if let Some(taken) = entry_taken(table, number, entry, env)? {
                return Err(taken_error(table, &taken, &self.frame, env));
            }
        }
        let key = Bytes::copy_from_slice(&self.key);
        crate::write::put_new(table, &key, &self.frame, entries, env)
    }

    /// What comes out of the frame.
    fn give(
        &mut self,
        row: &PointRow,
        context: &Context<'_>,
        out: &mut Vec<Value>,
    ) -> SqlResult<()> {
        if row.is_frame {
            std::mem::swap(out, &mut self.frame);
            return Ok(());
        }
        out.clear();
        for expr in &row.output {
            out.push(quintet_ir::eval(
                expr,
                &self.frame,
                context.params,
                context.host,
            )?);
        }
        Ok(())
    }
}

/// The columns of a stored row that make up the frame; false if there is no row.
fn decode(row: &PointRow, stored: Option<&[u8]>, frame: &mut Vec<Value>) -> SqlResult<bool> {
    let Some(stored) = stored else {
        return Ok(false);
    };
    let table = &*row.table;
    let reader = table.layout.open(stored)?;
    frame.clear();
    for &number in &row.columns {
        let column = &table.columns[number];
        frame.push(if column.dropped {
            Value::Null
        } else if number < reader.stored_columns() {
            reader.get(number)?
        } else {
            unstored(table, number, &reader)?
        });
    }
    Ok(true)
}

pub(crate) fn refused(error: quintet_tc::Error, context: &Context<'_>, table: &TableDef) -> Halt {
    halt(error, context.txn.level(), &table.name)
}
