//! The physical part of schema changes.
//!
//! Relies on: the caller's transaction holds the turn to change the schema; `tc` closes and fences
//! spaces.  Promises: an index or a rewritten table holds what the table held at the commit of the
//! change, or the change is refused; what goes to spaces that are new may be larger than what a transaction can
//! buffer (`Txn::commit_ahead`), unless the transaction has read at REPEATABLE READ or SERIALIZABLE before.
//! Does not: change the catalogue.
//!
//! ```text
//!   writers of the table   ──commit──┤ wait ………………………… ├─ planned before: refused
//!   this transaction          close ─┴─ read, build ─ commit (fence)
//!                                          └ and commit ahead, where nobody can look yet
//! ```

use crate::context::{Env, Halt};
use crate::cursor::Cursor;
use crate::direct::Direct;
use crate::insert::new_row_id;
use crate::inverted;
use crate::keys::{check_length, entry_key, primary_name, row_key};
use crate::late_key::check_all;
use crate::rows::{about, check_old_row, duplicate_rows, encode_row};
use crate::update::{delete, update};
use crate::write::{is_there, lock_key, remove};
use quintet_base::{Bytes, SpaceId, SqlError, SqlState, Value};
use quintet_ir::ddl::Work;
use quintet_ir::schema::TableRef;
use quintet_ir::{Access, Expr, Path, Plan, Statement, TableDef};
use quintet_tc::Mark;
use std::collections::BTreeSet;

/// Where it is told of spaces with rows that were committed ahead ([`quintet_tc::ahead_from`]).
pub const AHEAD_SPACE: SpaceId = SpaceId(6);

/// Does all of it, in order.
pub(crate) fn run(direct: &Direct, env: &mut Env<'_>, work: &[Work]) -> Result<(), Halt> {
    // All before anything is read or written: closing may have to wait, and may move the snapshot. What is made here needs no
    // closing, and what goes ahead into it would wait for it.
    let made: BTreeSet<SpaceId> = work.iter().filter_map(made_by).collect();
    let read = work.iter().flat_map(tables_read);
    let read = read.filter(|table| !made.contains(&table.space) && !table.space.is_temporary());
    for table in read {
        let closed = env.txn.close_space(table.space);
        closed.map_err(|error| env.halt(error, &table.name))?;
    }
    let mut fenced = BTreeSet::new();
    for item in work {
        let read = tables_read(item).into_iter().map(|table| table.space);
        let named: &[SpaceId] = match item {
            Work::Fence(spaces) => spaces,
            _ => &[],
        };
        for space in named.iter().copied().chain(read) {
            // What is temporary nobody else has planned for, and its own session knows.
            if !space.is_temporary() && fenced.insert(space) {
                env.txn.fence(space);
            }
        }
        match item {
            Work::Empty(table) => empty(table, env)?,
            Work::BuildIndex { table, index } => {
                let fresh = vec![table.indexes[*index].space];
                Ahead::build(fresh, env, |ahead, env| {
                    build_index(table, *index, ahead, env)
                })?;
            }
            Work::Rewrite {
                from,
                to,
                columns,
                rows,
                fresh,
            } => {
                let from = (from, rows.as_ref());
                let indexes = to.indexes.iter().map(|index| index.space);
                let fresh: Vec<SpaceId> = match fresh {
                    true => indexes.chain([to.space]).collect(),
                    false => Vec::new(),
                };
                Ahead::build(fresh, env, |ahead, env| {
                    rewrite(direct, from, to, columns, ahead, env)
                })?;
            }
            Work::Remove { table, rows } => remove_rows(table, rows, env)?,
            Work::Refuse { table, rows, error } => {
                for_each_row(table, Some(rows), env, |_, _| Err(error.clone().into()))?;
            }
            Work::Run(statement) => run_statement(statement, env)?,
            Work::Verify {
                table,
                not_null,
                checks,
            } => verify(table, not_null, checks, env)?,
            Work::VerifyReferences { table, key } => verify_references(table, *key, env)?,
            Work::Fence(_) => {}
            Work::DropSpaces(spaces) => spaces.iter().for_each(|space| env.txn.drop_space(*space)),
            Work::StartSequence { sequence, next } => {
                let shared = direct.shared();
                shared.sequences.start(sequence, *next, &shared.tc)?;
            }
            Work::DropSequence(id) => {
                let dropped = direct.shared().sequences.drop_in(*id, env.txn);
                dropped.map_err(|error| env.halt(error, "sequence"))?;
            }
        }
    }
    Ok(())
}

/// A statement whose rows are of no interest.
fn run_statement(statement: &Statement, env: &mut Env<'_>) -> Result<(), Halt> {
    match statement {
        Statement::Update(changed) => update(changed, env).map(|_| ()),
        Statement::Delete(removed) => delete(removed, env).map(|_| ()),
        Statement::Query(plan) => {
            let mut cursor = Cursor::new(plan);
            let mut frame = Vec::new();
            while cursor.next(plan, env, &mut frame, 0)? {}
            Ok(())
        }
        Statement::Insert(_) => Err(SqlError::internal("an INSERT within a schema change").into()),
    }
}

/// The spaces that are closed or fenced, none of which is temporary: who has written to them when this is committed, by a plan that knows nothing of it, is
/// refused.
pub fn spaces_changed(work: &[Work]) -> Vec<SpaceId> {
    let fenced = work.iter().flat_map(|item| match item {
        Work::Fence(spaces) => &spaces[..],
        _ => &[],
    });
    let read = work.iter().flat_map(tables_read).map(|table| table.space);
    let all = fenced.copied().chain(read);
    all.filter(|space| !space.is_temporary()).collect()
}

/// The tables whose rows an item reads. A writer whose plan does not know of the change must not
/// commit to it from then on.
fn tables_read(item: &Work) -> Vec<&TableRef> {
    match item {
        Work::BuildIndex { table, .. }
        | Work::Verify { table, .. }
        | Work::Remove { table, .. }
        | Work::Refuse { table, .. } => vec![table],
        Work::Rewrite { from, .. } => vec![from],
        Work::VerifyReferences { table, key } => {
            let references = table.references.as_ref();
            let parent = references.map(|all| &all.tables[all.keys[*key].parent]);
            [table].into_iter().chain(parent).collect()
        }
        _ => Vec::new(),
    }
}

/// The space that an item makes, which nobody else can name.
fn made_by(item: &Work) -> Option<SpaceId> {
    match item {
        Work::Rewrite {
            to, fresh: true, ..
        } => Some(to.space),
        _ => None,
    }
}

/// Calls `each` for every row of a table, or those of a plan, with the row's whole frame.
fn for_each_row(
    table: &TableRef,
    rows: Option<&Plan>,
    env: &mut Env<'_>,
    mut each: impl FnMut(&[Value], &mut Env<'_>) -> Result<(), Halt>,
) -> Result<(), Halt> {
    let all = Plan::Scan(Access {
        table: TableRef::clone(table),
        path: Path::Full,
        filter: None,
        reverse: false,
        offset: 0,
        needed: None,
        kept_after: None,
    });
    let plan = rows.unwrap_or(&all);
    let mut cursor = Cursor::new(plan);
    let mut frame = Vec::new();
    while cursor.next(plan, env, &mut frame, 0)? {
        each(&frame, env)?;
    }
    Ok(())
}

fn empty(table: &TableRef, env: &mut Env<'_>) -> Result<(), Halt> {
    let mut rows = Vec::new();
    for_each_row(table, None, env, |row, _| {
        rows.push(row.to_vec());
        Ok(())
    })?;
    let mut each = rows.iter();
    each.try_for_each(|row| remove(table, &row_key(table, row), row, env))
}

/// What is written to spaces that nobody else can name, of which what is much is committed ahead.
struct Ahead {
    /// None as soon as that cannot be.
    fresh: Vec<SpaceId>,
    since: Mark,
}

impl Ahead {
    /// Does what reads closed spaces and new ones only: nothing of it needs to be validated, so the snapshot may move.
    fn build(
        fresh: Vec<SpaceId>,
        env: &mut Env<'_>,
        work: impl FnOnce(&mut Ahead, &mut Env<'_>) -> Result<(), Halt>,
    ) -> Result<(), Halt> {
        let since = env.txn.mark();
        env.txn.forget();
        env.txn.begin_to_fill(&fresh);
        let done = work(&mut Ahead { fresh, since }, env);
        env.txn.remember();
        done
    }

    /// Commits what was built so far, if that is much and can be.
    fn relieve(&mut self, table: &TableDef, env: &mut Env<'_>) -> Result<(), Halt> {
        if self.fresh.is_empty() || !env.txn.is_heavy() {
            return Ok(());
        }
        let gone = env.txn.commit_ahead(&self.fresh, self.since, AHEAD_SPACE);
        if !gone.map_err(|error| env.halt(error, &table.name))? {
            self.fresh.clear();
        }
        Ok(())
    }
}

/// From here on all that went ahead can be read.
fn catch_up(table: &TableDef, env: &mut Env<'_>) -> Result<(), Halt> {
    let caught_up = env.txn.catch_up();
    caught_up.map_err(|error| env.halt(error, &table.name))
}

fn build_index(
    table: &TableRef,
    number: usize,
    ahead: &mut Ahead,
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    for_each_row(table, None, env, |row, env| {
        let key = row_key(table, row);
        put_entry(table, number, row, &key, env)?;
        ahead.relieve(table, env)
    })?;
    catch_up(table, env)?;
    check_all(table, number, env)
}

/// Adds an entry to an index that nobody else can see yet.
fn put_entry(
    table: &TableDef,
    number: usize,
    row: &[Value],
    row_key: &Bytes,
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    let index = &table.indexes[number];
    if index.is_inverted() {
        let entries = inverted::entries(index, row, row_key);
        return inverted::put(table, index, &entries, row_key, env);
    }
    let entry = entry_key(table, index, row, row_key);
    if entry.absent {
        return Ok(());
    }
    check_length(&entry.key, &index.name)?;
    if entry.exclusive && is_there(table, index.space, &entry.key, env)?.is_some() {
        return Err(duplicate_rows(table, &index.name, index.asked(), row, env.host).into());
    }
    let put = env.txn.put(index.space, entry.key, row_key.clone());
    put.map_err(|error| env.halt(error, &table.name))
}

fn rewrite(
    direct: &Direct,
    (from, rows): (&TableRef, Option<&Plan>),
    to: &TableDef,
    columns: &[Expr],
    ahead: &mut Ahead,
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    for_each_row(from, rows, env, |old, env| {
        let mut row = Vec::with_capacity(to.frame_width());
        for column in columns {
            row.push(env.eval(column, old)?);
        }
        if to.primary_key.is_none() {
            let id = new_row_id(direct, to, env)?;
            row.push(Value::Int8(id));
        }
        check_old_row(to, &row, env)?;
        let key = row_key(to, &row);
        if let Some(primary) = &to.primary_key {
            check_length(&key, primary_name(to))?;
            if is_there(to, to.space, &key, env)?.is_some() {
                let error = duplicate_rows(to, &primary.name, &primary.columns, &row, env.host);
                return Err(error.into());
            }
        }
        let put = env.txn.put(to.space, key.clone(), encode_row(to, &row)?);
        put.map_err(|error| env.halt(error, &to.name))?;
        (0..to.indexes.len()).try_for_each(|number| put_entry(to, number, &row, &key, env))?;
        ahead.relieve(to, env)
    })?;
    catch_up(to, env)?;
    (0..to.indexes.len()).try_for_each(|number| check_all(to, number, env))
}

/// The space is closed: nobody else changes the rows meanwhile.
fn remove_rows(table: &TableRef, rows: &Plan, env: &mut Env<'_>) -> Result<(), Halt> {
    let alone = TableDef {
        references: None,
        ..(**table).clone()
    };
    for_each_row(table, Some(rows), env, |row, env| {
        let key = row_key(&alone, row);
        lock_key(&alone, alone.space, &key, env)?;
        remove(&alone, &key, row, env)
    })
}

/// Whether what the rows refer to is there. The table that is referred to is closed, too, so nothing there goes meanwhile.
fn verify_references(table: &TableRef, key: usize, env: &mut Env<'_>) -> Result<(), Halt> {
    for_each_row(table, None, env, |row, env| {
        crate::references::verify(table, key, row, env)
    })
}

fn verify(
    table: &TableRef,
    not_null: &[usize],
    checks: &[usize],
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    for_each_row(table, None, env, |row, env| {
        for &column in not_null {
            if row[column].is_null() {
                let name = &table.columns[column].name;
                let message = format!(
                    "column \"{name}\" of relation \"{}\" contains null values",
                    table.name
                );
                let error = SqlError::new(SqlState::NOT_NULL_VIOLATION, message);
                return Err(error.about(about(table, Some(name), None)).into());
            }
        }
        for &check in checks {
            let check = &table.checks[check];
            if env.eval(&check.condition, row)?.as_bool() == Some(false) {
                let message = format!(
                    "check constraint \"{}\" of relation \"{}\" is violated by some row",
                    check.name, table.name
                );
                let error = SqlError::new(SqlState::CHECK_VIOLATION, message);
                return Err(error.about(about(table, None, Some(&check.name))).into());
            }
        }
        Ok(())
    })
}
