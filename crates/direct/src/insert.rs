//! INSERT, with ON CONFLICT.
//!
//! Relies on: `write` for keys and entries.  Promises: a row's keys are locked before they are found
//! free or taken, so what is decided still holds at commit; a row that conflicts costs no write.
//! Does not: wait in the middle: a lock that is taken stops the statement, which is run again whole.
//!
//! ```text
//!   values ─► NOT NULL, CHECK ─► lock and look: arbiter, row key, unique entries
//!                                  │ all free        │ arbiter taken      │ another taken
//!                                  ▼                 ▼                    ▼
//!                                 put        nothing, or update        23505
//! ```

use crate::context::{Env, Halt, row_bytes};
use crate::cursor::{Cursor, collect};
use crate::direct::Direct;
use crate::keys::{EntryKey, entry_key, push_row_key, row_key};
use crate::rowid::NoId;
use crate::rows::{check_row, read_row};
use crate::translate::halt;
use crate::write::{
    Change, Taken, entry_taken, lock_key, occupy, primary_taken, put_new, refuse_changed,
    taken_error, vacate,
};
use foldhash::fast::RandomState;
use quintet_base::{Bytes, SqlError, SqlState, Value};
use quintet_ir::expressions::each_of_plan;
use quintet_ir::statement::{Arbiter, ConflictAction, Insert, OnConflict};
use quintet_ir::{Expr, Plan, TableDef};
use quintet_tc::Txn;
use std::collections::HashSet;

/// What a writing statement did.
#[derive(Default)]
pub(crate) struct Written {
    pub count: u64,
    /// RETURNING.
    pub rows: Vec<Vec<Value>>,
}

impl Written {
    /// Counts a row and keeps what is returned of it.
    pub fn add(
        &mut self,
        returning: Option<&[Expr]>,
        frame: &[Value],
        env: &mut Env<'_>,
    ) -> Result<(), Halt> {
        self.count += 1;
        if let Some(exprs) = returning {
            let row = exprs
                .iter()
                .map(|expr| env.eval(expr, frame))
                .collect::<Result<Vec<_>, _>>()?;
            env.charge(row_bytes(&row))?;
            self.rows.push(row);
        }
        Ok(())
    }
}

/// Runs the whole statement once.
pub(crate) fn run(direct: &Direct, insert: &Insert, env: &mut Env<'_>) -> Result<Written, Halt> {
    let mut inserter = Inserter::new(direct, insert);
    if asks(insert) {
        return inserter.insert_together(env);
    }
    if env.txn.has_state() || reads_table(&insert.source, &insert.table) {
        // What the statement adds must not be found by its own source.
        env.txn.show_state();
        let frames = collect(&insert.source, env)?;
        env.txn.show_present();
        let mut row = Vec::new();
        for frame in frames {
            inserter.make(&frame, &mut row, env)?;
            inserter.insert_row(&row, env)?;
        }
        return Ok(inserter.written);
    }
    let mut cursor = Cursor::new(&insert.source);
    let (mut frame, mut row) = (Vec::new(), Vec::new());
    while cursor.next(&insert.source, env, &mut frame, 0)? {
        inserter.make(&frame, &mut row, env)?;
        inserter.insert_row(&row, env)?;
        let relieved = env.txn.relieve();
        relieved.map_err(|error| env.halt(error, &insert.table.name))?;
    }
    Ok(inserter.written)
}

/// Inserts one row of the table's frame.
pub(crate) fn insert_frame(
    direct: &Direct,
    insert: &Insert,
    row: &[Value],
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    check_row(&insert.table, row, env)?;
    Inserter::new(direct, insert).insert_row(row, env)
}

/// Whether a query stands in an expression of the statement.
pub(crate) fn asks(insert: &Insert) -> bool {
    let returned = insert.returning.iter().flatten();
    let mut found = insert.values.iter().chain(returned).any(Expr::has_subquery);
    each_of_plan(&insert.source, &mut |expr, _| {
        found = found || expr.has_subquery()
    });
    found
}

/// Whether the rows to insert come from the table. What a function reads is its own affair: it sees what was added
/// before, as in PostgreSQL.
fn reads_table(plan: &Plan, table: &TableDef) -> bool {
    match plan {
        Plan::Scan(access) => access.table.space == table.space,
        plan => (plan.inputs().into_iter()).any(|input| reads_table(input, table)),
    }
}

struct Inserter<'i> {
    direct: &'i Direct,
    insert: &'i Insert,
    /// What is returned of a row is computed when it is added.
    returns: bool,
    /// ON CONFLICT DO UPDATE: keys of rows that this statement has written.
    touched: HashSet<Bytes, RandomState>,
    written: Written,
}

impl<'i> Inserter<'i> {
    fn new(direct: &'i Direct, insert: &'i Insert) -> Inserter<'i> {
        Inserter {
            direct,
            insert,
            returns: true,
            touched: HashSet::default(),
            written: Written::default(),
        }
    }

    /// Inserts all rows once all of them are known, and what is returned of them: queries in expressions see nothing of
    /// what the statement adds. With ON CONFLICT what is returned comes with each row; the planner has seen to it
    /// that no query there looks at the table.
    fn insert_together(mut self, env: &mut Env<'_>) -> Result<Written, Halt> {
        let mut rows = Vec::new();
        env.txn.show_state();
        for frame in collect(&self.insert.source, env)? {
            let mut row = Vec::with_capacity(self.insert.table.frame_width());
            self.make(&frame, &mut row, env)?;
            env.charge(row_bytes(&row))?;
            rows.push(row);
        }
        let mut returned = Vec::new();
        if self.insert.conflict.is_none() {
            let mut before = Written::default();
            for row in &rows {
                before.add(self.insert.returning.as_deref(), row, env)?;
            }
            returned = before.rows;
            self.returns = false;
        }
        env.txn.show_present();
        for row in rows {
            self.insert_row(&row, env)?;
        }
        if !self.returns {
            self.written.rows = returned;
        }
        Ok(self.written)
    }

    /// The row that is made of a frame of the source, in the place of another.
    fn make(&self, source: &[Value], row: &mut Vec<Value>, env: &mut Env<'_>) -> Result<(), Halt> {
        let Insert { table, values, .. } = self.insert;
        row.clear();
        for value in values {
            row.push(env.eval(value, source)?);
        }
        if table.primary_key.is_none() {
            row.push(Value::Int8(new_row_id(self.direct, table, env)?));
        }
        check_row(table, row, env)
    }

    fn insert_row(&mut self, row: &[Value], env: &mut Env<'_>) -> Result<(), Halt> {
        let Insert {
            table,
            conflict,
            returning,
            ..
        } = self.insert;
        let returning = returning.as_deref().filter(|_| self.returns);
        let mut bytes = std::mem::take(&mut env.workspace.key);
        bytes.clear();
        push_row_key(table, row, &mut bytes);
        let key = Bytes::copy_from_slice(&bytes);
        env.workspace.key = bytes;
        let entries: Vec<EntryKey> = table
            .indexes
            .iter()
            .map(|index| entry_key(table, index, row, &key))
            .collect();

        if let Some(taken) = find_taken(table, conflict.as_ref(), &key, &entries, env)? {
            return match conflict {
                Some(conflict) if conflict.applies(taken.by) => {
                    self.conflict(&conflict.action, taken, row, env)
                }
                _ => Err(taken_error(table, &taken, row, env)),
            };
        }
        put_new(table, &key, row, entries, env)?;
        if self.insert.updates() {
            self.touch(key, env)?;
            return self.returned(row, false, env);
        }
        self.written.add(returning, row, env)
    }

    /// A row was written by ON CONFLICT DO UPDATE.
    fn returned(&mut self, row: &[Value], was_there: bool, env: &mut Env<'_>) -> Result<(), Halt> {
        let Some(returning) = &self.insert.returning else {
            return self.written.add(None, row, env);
        };
        let mut frame = row.to_vec();
        frame.push(Value::Bool(was_there));
        self.written.add(Some(returning), &frame, env)
    }

    fn touch(&mut self, key: Bytes, env: &mut Env<'_>) -> Result<(), Halt> {
        self.refuse_touched(&key)?;
        env.charge(key.len() + 48)?;
        self.touched.insert(key);
        Ok(())
    }

    /// `21000` if the statement has written the row before.
    fn refuse_touched(&self, key: &[u8]) -> Result<(), Halt> {
        if !self.touched.contains(key) {
            return Ok(());
        }
        Err(SqlError::new(
            SqlState::CARDINALITY_VIOLATION,
            "ON CONFLICT DO UPDATE command cannot affect row a second time",
        )
        .hint(
            "Ensure that no rows proposed for insertion within the same command have duplicate \
             constrained values.",
        )
        .into())
    }

    /// The arbiter's key is taken, and locked by us.
    fn conflict(
        &mut self,
        action: &ConflictAction,
        taken: Taken,
        proposed: &[Value],
        env: &mut Env<'_>,
    ) -> Result<(), Halt> {
        let table = &self.insert.table;
        let ConflictAction::Update {
            assignments,
            filter,
        } = action
        else {
            return Ok(());
        };
        if let Arbiter::Index(_) = taken.by {
            lock_key(table, table.space, &taken.row_key, env)?;
        }
        let stored = env
            .txn
            .get(table.space, &taken.row_key)
            .map_err(|e| env.halt(e, &table.name))?;
        let Some(stored) = stored else {
            let message = format!(
                "an index of table \"{}\" names a row that is not there",
                table.name
            );
            return Err(SqlError::new(SqlState::DATA_CORRUPTED, message).into());
        };
        // Whether it would be written again or not.
        self.refuse_touched(&taken.row_key)?;
        let old = read_row(table, &taken.row_key, &stored)?;
        let mut frame = old.clone();
        frame.extend_from_slice(&proposed[..table.columns.len()]);
        if let Some(filter) = filter
            && !env.holds(filter, &frame)?
        {
            return Ok(());
        }
        self.touch(taken.row_key.clone(), env)?;
        let new = assigned(table, &old, assignments, &frame, env)?;
        check_row(table, &new, env)?;
        let mut exprs = assignments.iter().map(|(_, expr)| expr).chain(filter);
        if exprs.any(Expr::calls_routine) {
            refuse_changed(table, &taken.row_key, &old, "updated", env)?;
        }
        let change = Change {
            old_key: taken.row_key,
            new_key: row_key(table, &new),
            old,
            new,
        };
        vacate(table, &change, env)?;
        occupy(table, &change, env)?;
        if change.new_key != change.old_key {
            self.touch(change.new_key, env)?;
        }
        self.returned(&change.new, true, env)
    }
}

/// A row id for a table without a primary key.
pub(crate) fn new_row_id(direct: &Direct, table: &TableDef, env: &Env<'_>) -> Result<i64, Halt> {
    row_id(direct, table, env.txn)
}

/// The same for a transaction.
pub(crate) fn row_id(direct: &Direct, table: &TableDef, txn: &Txn) -> Result<i64, Halt> {
    let shared = direct.shared();
    shared
        .row_ids
        .next(table.space, &shared.tc)
        .map_err(|no_id| match no_id {
            NoId::Unreadable(error) => halt(error, txn.level(), &table.name),
            NoId::Impossible(error) => Halt::Error(error),
        })
}

/// The old row with the assigned columns replaced.
pub(crate) fn assigned(
    table: &TableDef,
    old: &[Value],
    assignments: &[(usize, Expr)],
    frame: &[Value],
    env: &mut Env<'_>,
) -> Result<Vec<Value>, Halt> {
    let mut new = old[..table.frame_width()].to_vec();
    for (column, expr) in assignments {
        new[*column] = env.eval(expr, frame)?;
    }
    Ok(new)
}

trait Applies {
    fn applies(&self, by: Arbiter) -> bool;
}

impl Applies for OnConflict {
    fn applies(&self, by: Arbiter) -> bool {
        self.arbiter.is_none_or(|arbiter| arbiter == by)
    }
}

/// Locks all keys that must be the row's own, the arbiter's first, and says which is taken.
fn find_taken(
    table: &TableDef,
    conflict: Option<&OnConflict>,
    key: &Bytes,
    entries: &[EntryKey],
    env: &mut Env<'_>,
) -> Result<Option<Taken>, Halt> {
    let first = conflict.and_then(|conflict| conflict.arbiter);
    let others = std::iter::once(Arbiter::Primary).chain((0..entries.len()).map(Arbiter::Index));
    for arbiter in first
        .into_iter()
        .chain(others.filter(|other| Some(*other) != first))
    {
        let taken = match arbiter {
            Arbiter::Primary => primary_taken(table, key, env)?,
            Arbiter::Index(number) => entry_taken(table, number, &entries[number], env)?,
        };
        if taken.is_some() {
            return Ok(taken);
        }
    }
    Ok(None)
}
