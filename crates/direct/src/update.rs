//! UPDATE and DELETE.
//!
//! Relies on: the source's frame begins with the table's own, whole (`Env::whole_rows`).
//! Promises: each row is changed once, as it was when the statement began; a row is locked, and
//! unchanged since the snapshot, before it is changed.  Does not: skip a row that somebody else
//! changed meanwhile: at READ COMMITTED the statement is run again.
//!
//! A statement must not meet its own changes. It changes rows as it finds them where they stay at
//! their place in what is scanned, and otherwise gathers them first:
//!
//! ```text
//!   lone scan, keys stay,     find ─► lock ─► change ─► find …
//!   no query in expressions
//!   anything else             find ─► lock ─► keep … then vacate all, then occupy all
//! ```
//! Rows that a function changed which the statement calls are refused, as in PostgreSQL: the entries to be
//! taken away are not those that the row was found by.

use crate::context::{Env, Halt, row_bytes};
use crate::cursor::Cursor;
use crate::insert::{Written, assigned};
use crate::keys::row_key;
use crate::lock::lone_scan;
use crate::rows::{check_row, encode_row};
use crate::write::{Change, lock_key, occupy, refuse_changed, remove, vacate};
use foldhash::fast::RandomState;
use quintet_base::{Bytes, Value};
use quintet_ir::expressions::each_of_plan;
use quintet_ir::statement::{Delete, Update};
use quintet_ir::{Expr, Path, Plan, TableDef};
use std::collections::HashSet;

/// Pulls the rows to change out of the source: each once, locked.
struct Source<'s> {
    plan: &'s Plan,
    table: &'s TableDef,
    cursor: Cursor,
    frame: Vec<Value>,
    /// Keys that came already; `None` where a row can not come twice.
    seen: Option<HashSet<Bytes, RandomState>>,
}

impl<'s> Source<'s> {
    fn new(plan: &'s Plan, table: &'s TableDef) -> Source<'s> {
        let seen = lone_scan(plan).is_none().then(HashSet::default);
        Source {
            plan,
            table,
            cursor: Cursor::new(plan),
            frame: Vec::new(),
            seen,
        }
    }

    /// Key of the next row; its frame is in `frame`.
    fn next(&mut self, env: &mut Env<'_>) -> Result<Option<Bytes>, Halt> {
        while self.cursor.next(self.plan, env, &mut self.frame, 0)? {
            let key = row_key(self.table, &self.frame);
            if let Some(seen) = &mut self.seen {
                if seen.contains(&key) {
                    continue;
                }
                env.charge(key.len() + 48)?;
                seen.insert(key.clone());
            }
            if env.txn.is_ahead(self.table.space, &key) {
                continue;
            }
            lock_key(self.table, self.table.space, &key, env)?;
            return Ok(Some(key));
        }
        Ok(None)
    }
}

/// Runs the whole UPDATE once.
pub(crate) fn update(update: &Update, env: &mut Env<'_>) -> Result<Written, Halt> {
    env.whole_rows = true;
    let table = &*update.table;
    let width = table.frame_width();
    let asks = has_subquery(&update.source, update.returning.as_deref())
        || (update.assignments.iter()).any(|(_, value)| value.has_subquery());
    let at_once = !asks && stays_in_place(update) && !env.txn.has_state();
    if at_once && keeps_entries(update) {
        return patch(update, env);
    }
    let mut source = Source::new(&update.source, table);
    let mut kept: Vec<(Change, Vec<Value>)> = Vec::new();
    let mut written = Written::default();
    env.txn.show_state();
    while let Some(old_key) = source.next(env)? {
        let frame = &source.frame;
        let new = assigned(table, &frame[..width], &update.assignments, frame, env)?;
        check_row(table, &new, env)?;
        let new_key = row_key(table, &new);
        let change = Change {
            old_key,
            old: frame[..width].to_vec(),
            new_key,
            new,
        };
        if at_once {
            vacate(table, &change, env)?;
            finish(update, change, &frame[width..], &mut written, env)?;
        } else {
            let joined = match update.returning {
                Some(_) => frame[width..].to_vec(),
                None => Vec::new(),
            };
            env.charge(row_bytes(&change.old) + row_bytes(&change.new) + row_bytes(&joined))?;
            if asks {
                // A query in RETURNING sees what the others see: nothing of what the statement writes.
                let after = [&change.new[..], &joined[..]].concat();
                written.add(update.returning.as_deref(), &after, env)?;
            }
            kept.push((change, joined));
        }
    }
    env.txn.show_present();
    if calls_functions(&update.source) {
        for (change, _) in &kept {
            refuse_changed(table, &change.old_key, &change.old, "updated", env)?;
        }
    }
    for (change, _) in &kept {
        vacate(table, change, env)?;
    }
    for (change, joined) in kept {
        match asks {
            true => occupy(table, &change, env)?,
            false => finish(update, change, &joined, &mut written, env)?,
        }
    }
    Ok(written)
}

/// An UPDATE after which no key and no index entry is another: rows are changed where they lie, and what
/// was not assigned is neither copied nor checked again.
fn patch(update: &Update, env: &mut Env<'_>) -> Result<Written, Halt> {
    let table = &*update.table;
    let mut source = Source::new(&update.source, table);
    let mut written = Written::default();
    let mut values = Vec::with_capacity(update.assignments.len());
    let mut assigned = update.assignments.iter().map(|(column, _)| *column);
    let leaves = (table.partitions.as_ref()).is_some_and(|parts| parts.heeds(&mut assigned));
    while let Some(key) = source.next(env)? {
        // All of them see the row as it was.
        for (column, expr) in &update.assignments {
            values.push((*column, env.eval(expr, &source.frame)?));
        }
        let frame = &mut source.frame;
        let mut is_null = false;
        for (column, value) in values.drain(..) {
            is_null |= value.is_null();
            frame[column] = value;
        }
        if is_null || leaves || !table.checks.is_empty() {
            check_row(table, &frame[..table.frame_width()], env)?;
        }
        let row = encode_row(table, frame)?;
        let put = env.txn.put(table.space, key, row);
        put.map_err(|error| env.halt(error, &table.name))?;
        written.add(update.returning.as_deref(), &source.frame, env)?;
    }
    Ok(written)
}

/// True if no column of an index is assigned, and none that a foreign key is about. With `stays_in_place`: nor of the key.
fn keeps_entries(update: &Update) -> bool {
    let mut indexed = update.table.indexes.iter().flat_map(|index| &index.columns);
    let mut assigned = update.assignments.iter().map(|(column, _)| *column);
    if let Some(references) = &update.table.references
        && references.heeds(&mut assigned)
    {
        return false;
    }
    !indexed.any(|column| {
        let assigned = update.assignments.iter();
        assigned
            .map(|(assigned, _)| assigned)
            .any(|assigned| assigned == column)
    })
}

/// Puts the new row and returns what is asked for.
fn finish(
    update: &Update,
    change: Change,
    joined: &[Value],
    written: &mut Written,
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    occupy(&update.table, &change, env)?;
    let mut frame = change.new;
    if update.returning.is_some() {
        frame.extend_from_slice(joined);
    }
    written.add(update.returning.as_deref(), &frame, env)
}

/// True if a changed row can not be met again by the scan that found it, and frees no key that
/// another row of the statement may want.
fn stays_in_place(update: &Update) -> bool {
    let table = &update.table;
    let assigns = |column: &usize| {
        update
            .assignments
            .iter()
            .any(|(assigned, _)| assigned == column)
    };
    let Some(access) = lone_scan(&update.source) else {
        return false;
    };
    let key_stays = table
        .primary_key
        .as_ref()
        .is_none_or(|primary| !primary.columns.iter().any(assigns));
    let scanned = match &access.path {
        Path::Index(number, _) | Path::Elements(number, _) => Some(*number),
        Path::Full | Path::Primary(_) => None,
    };
    key_stays
        && table.indexes.iter().enumerate().all(|(number, index)| {
            !(index.unique || scanned == Some(number)) || !index.columns.iter().any(assigns)
        })
}

/// Runs the whole DELETE once.
pub(crate) fn delete(delete: &Delete, env: &mut Env<'_>) -> Result<Written, Halt> {
    env.whole_rows = true;
    let table = &*delete.table;
    let mut source = Source::new(&delete.source, table);
    let asks = has_subquery(&delete.source, delete.returning.as_deref());
    let at_once = !asks && source.seen.is_none() && !env.txn.has_state();
    let mut kept: Vec<(Bytes, Vec<Value>)> = Vec::new();
    let mut written = Written::default();
    env.txn.show_state();
    while let Some(key) = source.next(env)? {
        if at_once {
            remove(table, &key, &source.frame, env)?;
        } else {
            let row = source.frame[..table.frame_width()].to_vec();
            env.charge(key.len() + row_bytes(&row))?;
            kept.push((key, row));
        }
        written.add(delete.returning.as_deref(), &source.frame, env)?;
    }
    env.txn.show_present();
    let calls = calls_functions(&delete.source);
    for (key, row) in kept {
        if calls {
            refuse_changed(table, &key, &row, "deleted", env)?;
        }
        remove(table, &key, &row, env)?;
    }
    Ok(written)
}

/// Whether a query stands in an expression: it must not meet what the statement has changed.
fn has_subquery(source: &Plan, returning: Option<&[Expr]>) -> bool {
    let mut found = returning.is_some_and(|exprs| exprs.iter().any(Expr::has_subquery));
    each_of_plan(source, &mut |expr, _| found = found || expr.has_subquery());
    found
}

/// Whether functions are called above the source or in it: their rows are held then.
fn calls_functions(source: &Plan) -> bool {
    match source {
        Plan::Hold { .. } | Plan::Call { .. } => true,
        plan => plan.inputs().into_iter().any(calls_functions),
    }
}
