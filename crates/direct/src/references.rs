//! Foreign keys: what a statement owes to other tables when it has done all it does itself.
//!
//! Relies on: `ir::references`; every write goes through `write`, which notes it here.  Promises: at every
//! level, what a row refers to is there when its transaction commits, and stays as long as the row does; the row that is
//! referred to is neither written nor locked, only its presence held (`tc::presence`), so rows that many refer to
//! stay free for updates of their other columns.  What is deferred is attached to the transaction and checked by
//! [`crate::Direct::check_deferred`], which whoever commits calls before.  Does not: put off what follows from a change.
//!
//! ```text
//!   rows written ─► events ─┬─► of rows that refer: rows that go or change with it ─► more events
//!                           └─► what must hold in the end ─► hold the presence ─► look at now
//! ```
//! `now` is newer than the snapshot. READ COMMITTED goes by it. The stronger levels fail with 40001 where their snapshot
//! says otherwise, unless the row was not there when they began and is there now, which for them is not there (as in
//! PostgreSQL). Looking aside is not validated by a serializable commit: the presence that is held keeps it true.

use crate::context::{Env, Halt, row_bytes};
use crate::cursor::Cursor;
use crate::keys::{push, row_key};
use crate::late_key::LateKey;
use crate::rows::{about, check_row, key_text, read_row};
use crate::write::{Change, lock_key, occupy, remove, vacate};
use parking_lot::Mutex;
use quintet_base::{
    Bytes, ConstraintId, Level, SpaceId, SqlError, SqlResult, SqlState, TableId, Value,
};
use quintet_ir::expr::CompareOp;
use quintet_ir::plan::{Access, KeyRange, Path, Plan};
use quintet_ir::references::{Turn, converted};
use quintet_ir::schema::{self, TableRef};
use quintet_ir::statement::{Arbiter, Statement};
use quintet_ir::{Expr, ForeignKey, References, ReferentialAction, TableDef};
use quintet_tc::{Attached, Strength, Txn};
use std::collections::VecDeque;
use std::sync::Arc;

/// A row that was written, as far as others may be concerned.
#[derive(Clone)]
pub(crate) struct Event {
    references: Arc<References>,
    /// Number of its table there.
    table: usize,
    old: Option<Vec<Value>>,
    new: Option<Vec<Value>>,
    /// What follows from it, and what must hold, is another's matter.
    by_replica: bool,
}

/// Of a statement that is made of steps: attached to a transaction, so that what a savepoint undoes is not done in the end.
enum Steps {
    Begin,
    /// A row that a step has written, until what it brings about is done.
    Row(Mutex<Option<Event>>),
    /// Those that began at this place of what is attached are over.
    End(usize),
}

/// Attached to a transaction.
struct Late {
    /// Must hold at its end.
    check: Option<Check>,
    /// What SET CONSTRAINTS has said so far.
    modes: Arc<Vec<Mode>>,
    /// All that was put off before it has been checked, and held.
    settled: bool,
}

/// SET CONSTRAINTS: of these keys, or of all.
#[derive(Clone)]
struct Mode {
    keys: Option<Vec<ConstraintId>>,
    deferred: bool,
}

/// What must hold when all is done.
#[derive(Clone)]
enum Check {
    /// What this row of the child refers to is there.
    Parent {
        references: Arc<References>,
        key: usize,
        row: Vec<Value>,
    },
    /// Nobody refers to this row of the parent any more, unless its key is there again.
    NoChild {
        references: Arc<References>,
        key: usize,
        row: Vec<Value>,
        /// Steps of the statement see to those who refer: they come behind it.
        in_steps: bool,
    },
    /// A key is one row's alone.
    Alone(LateKey),
}

/// Notes that a row was added (`old` is `None`), changed, or removed. What a replica writes has been checked elsewhere, and
/// what follows from it comes as well; others who refer to a row that goes are held off all the same.
pub(crate) fn note(
    table: &TableDef,
    old: Option<&[Value]>,
    new: Option<&[Value]>,
    env: &mut Env<'_>,
) -> SqlResult<()> {
    let Some(references) = &table.references else {
        return Ok(());
    };
    let matters = match (old, new) {
        (None, _) => references.from(0).next().is_some(),
        (_, None) => references.to(0).next().is_some(),
        (Some(old), Some(new)) => references.heeds(differences(old, new)),
    };
    let by_replica = env.host.is_replica();
    if !matters || by_replica && old.is_none() {
        return Ok(());
    }
    let event = Event {
        references: Arc::clone(references),
        table: 0,
        old: old.map(<[Value]>::to_vec),
        new: new.map(<[Value]>::to_vec),
        by_replica,
    };
    event.charge(env)?;
    match references.turn {
        Turn::Kept => env
            .txn
            .attach(Arc::new(Steps::Row(Mutex::new(Some(event))))),
        _ => env.workspace.events.push(event),
    }
    Ok(())
}

fn differences<'v>(old: &'v [Value], new: &'v [Value]) -> impl Iterator<Item = usize> + 'v {
    let pairs = old.iter().zip(new).enumerate();
    pairs
        .filter(|(_, (old, new))| !is_same(old, new))
        .map(|(column, _)| column)
}

fn is_same(old: &Value, new: &Value) -> bool {
    old.order(new).is_eq()
}

impl Event {
    fn charge(&self, env: &mut Env<'_>) -> SqlResult<()> {
        let rows = self.old.iter().chain(&self.new);
        env.charge(rows.map(|row| row_bytes(row)).sum::<usize>() + size_of::<Event>())
    }

    /// Whether the row has other values in these columns than before.
    fn changes(&self, columns: &[usize]) -> bool {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => columns
                .iter()
                .any(|column| !is_same(&old[*column], &new[*column])),
            _ => true,
        }
    }
}

/// Does what follows from a statement, or from the steps that it ends.
pub(crate) fn settle_after(statement: &Statement, env: &mut Env<'_>) -> Result<(), Halt> {
    let table = statement.target();
    let references = table.and_then(|table| table.references.as_ref());
    match references.map(|references| references.turn) {
        Some(Turn::Begin) => {
            env.txn.attach(Arc::new(Steps::Begin));
            Ok(())
        }
        Some(Turn::End) => end_steps(env),
        Some(Turn::AtOnce | Turn::Kept) | None => settle(env),
    }
}

/// Does what follows from the rows of all steps since the last ones began that are not over.
fn end_steps(env: &mut Env<'_>) -> Result<(), Halt> {
    let mut rows = Vec::new();
    let mut at = env.txn.attached().len();
    while at > 0 {
        at -= 1;
        let item = &env.txn.attached()[at];
        match item.downcast_ref::<Steps>() {
            None => {}
            Some(Steps::Row(_)) => rows.push(Attached::clone(item)),
            Some(Steps::Begin) => break,
            Some(Steps::End(begin)) => at = *begin,
        }
    }
    rows.reverse();
    let row = |item: &Attached| match item.downcast_ref::<Steps>() {
        Some(Steps::Row(event)) => event.lock().clone(),
        _ => None,
    };
    env.workspace.events.extend(rows.iter().filter_map(row));
    settle(env)?;
    for item in &rows {
        if let Some(Steps::Row(event)) = item.downcast_ref::<Steps>() {
            *event.lock() = None;
        }
    }
    env.txn.attach(Arc::new(Steps::End(at)));
    Ok(())
}

/// Does what follows from the rows that the statement has written, and checks what must hold.
pub(crate) fn settle(env: &mut Env<'_>) -> Result<(), Halt> {
    if env.workspace.events.is_empty() && env.workspace.owed.is_empty() {
        return Ok(());
    }
    let mut events: VecDeque<Event> = std::mem::take(&mut env.workspace.events).into();
    let mut checks = Vec::new();
    while let Some(event) = events.pop_front() {
        env.tick()?;
        let references = Arc::clone(&event.references);
        for (number, key) in references.keys.iter().enumerate() {
            if key.child == event.table
                && !event.by_replica
                && let Some(new) = &event.new
                && event.changes(&key.columns)
            {
                checks.push(Check::Parent {
                    references: Arc::clone(&references),
                    key: number,
                    row: new.clone(),
                });
            }
            if key.parent == event.table
                && let Some(old) = &event.old
                && event.changes(&key.parent_columns)
                && !key.parent_columns.iter().any(|c| old[*c].is_null())
            {
                bring_about(&references, number, &event, &mut events, &mut checks, env)?;
            }
        }
    }
    let owed = std::mem::take(&mut env.workspace.owed);
    for check in checks.into_iter().chain(owed.into_iter().map(Check::Alone)) {
        match check.is_deferred(env.txn) {
            true => {
                let modes = modes(env.txn);
                env.txn.attach(Arc::new(Late {
                    check: Some(check),
                    modes,
                    settled: false,
                }));
            }
            false => check.run(env)?,
        }
    }
    Ok(())
}

/// Checks what was put off and has not been checked. What is written later brings checks of its own; if something is undone
/// that this relied on, so is the note that it was done.
pub(crate) fn settle_deferred(env: &mut Env<'_>) -> Result<(), Halt> {
    let is_open = |item: &&Attached| !item.downcast_ref::<Late>().is_some_and(|late| late.settled);
    let late = env.txn.attached().iter().rev();
    let late: Vec<Attached> = late.take_while(is_open).cloned().collect();
    let late = late.iter().rev();
    let late = late.filter_map(|item| item.downcast_ref::<Late>());
    let checks = late.filter_map(|late| late.check.as_ref());
    checks.clone().try_for_each(|check| check.run(env))?;
    if checks.count() > 0 {
        let modes = modes(env.txn);
        env.txn.attach(Arc::new(Late {
            check: None,
            modes,
            settled: true,
        }));
    }
    Ok(())
}

/// Whether what a constraint demands is to be looked at when the transaction commits. `deferred`: unless something else was said.
fn is_deferred(id: ConstraintId, deferred: bool, txn: &Txn) -> bool {
    let modes = modes(txn);
    let concerns = |mode: &&Mode| mode.keys.as_ref().is_none_or(|keys| keys.contains(&id));
    let said = modes.iter().rev().find(concerns);
    said.map_or(deferred, |mode| mode.deferred)
}

/// What SET CONSTRAINTS has said: whatever was attached last knows.
fn modes(txn: &Txn) -> Arc<Vec<Mode>> {
    let last = txn.attached().iter().rev();
    let last = last.filter_map(|item| item.downcast_ref::<Late>()).next();
    last.map(|late| Arc::clone(&late.modes)).unwrap_or_default()
}

/// The tables of the keys that are to be looked at when the transaction commits.
#[derive(Default)]
pub struct DeferredTables {
    /// Those whose rows were changed.
    pub changed: Vec<TableId>,
    /// These, and those at the other end of the keys.
    pub all: Vec<TableId>,
}

/// See [`DeferredTables`].
pub fn deferred_tables(txn: &Txn) -> DeferredTables {
    let late = txn.attached().iter().rev();
    let late = late.filter_map(|item| item.downcast_ref::<Late>());
    let late = late.take_while(|late| !late.settled);
    let mut tables = DeferredTables::default();
    for check in late.filter_map(|late| late.check.as_ref()) {
        let ends = |references: &References, key: usize| {
            let key = &references.keys[key];
            let of = |table: usize| references.tables[table].id;
            (of(key.child), of(key.parent))
        };
        let (changed, other) = match check {
            Check::Alone(key) => (key.table, key.table),
            Check::Parent {
                references, key, ..
            } => ends(references, *key),
            Check::NoChild {
                references, key, ..
            } => {
                let (child, parent) = ends(references, *key);
                (parent, child)
            }
        };
        note_once(&mut tables.changed, changed);
        note_once(&mut tables.all, changed);
        note_once(&mut tables.all, other);
    }
    tables
}

fn note_once(tables: &mut Vec<TableId>, id: TableId) {
    if !tables.contains(&id) {
        tables.push(id);
    }
}

/// SET CONSTRAINTS, until the transaction ends.
pub fn set_constraints(txn: &mut Txn, keys: Option<Vec<ConstraintId>>, deferred: bool) {
    let mut said = (*modes(txn)).clone();
    // What is said anew takes the place of what was said before: no more is kept than there are keys.
    match &keys {
        None => said.clear(),
        Some(keys) => {
            let named = said.iter_mut().filter_map(|mode| mode.keys.as_mut());
            named.for_each(|named| named.retain(|key| !keys.contains(key)));
            said.retain(|mode| mode.keys.as_ref().is_none_or(|named| !named.is_empty()));
        }
    }
    said.push(Mode { keys, deferred });
    let modes = Arc::new(said);
    txn.attach(Arc::new(Late {
        check: None,
        modes,
        settled: false,
    }));
}

impl Check {
    fn is_deferred(&self, txn: &Txn) -> bool {
        match self {
            Check::NoChild { in_steps: true, .. } => true,
            Check::Parent {
                references, key, ..
            }
            | Check::NoChild {
                references, key, ..
            } => {
                let key = &references.keys[*key];
                key.deferrable && is_deferred(key.id, key.deferred, txn)
            }
            Check::Alone(key) => is_deferred(key.id, key.late == schema::Late::Commit, txn),
        }
    }

    fn run(&self, env: &mut Env<'_>) -> Result<(), Halt> {
        env.tick()?;
        match self {
            Check::Alone(key) => key.check(env),
            Check::Parent {
                references,
                key,
                row,
            } => parent_is_there(references, &references.keys[*key], row, env),
            Check::NoChild {
                references,
                key,
                row,
                ..
            } => {
                let key = &references.keys[*key];
                let parent = &references.tables[key.parent];
                let (space, at) = place(key, parent, &key_values(key, row));
                // Somebody else may have the key by now, or the row itself.
                match presence(parent, space, &at, env)?.now {
                    true => Ok(()),
                    false => nobody_refers(references, key, row, env),
                }
            }
        }
    }
}

/// A row that others may refer to is gone, or has another key.
fn bring_about(
    references: &Arc<References>,
    number: usize,
    event: &Event,
    events: &mut VecDeque<Event>,
    checks: &mut Vec<Check>,
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    let key = &references.keys[number];
    let old = event.old.as_deref().unwrap_or_default();
    let parent = &references.tables[key.parent];
    let (space, at) = place(key, parent, &key_values(key, old));
    let held = env.txn.hold_presence(space, &at, Strength::Exclusive);
    held.map_err(|error| env.halt(error, &parent.name))?;
    if event.by_replica {
        return Ok(());
    }
    let action = match event.new {
        Some(_) => key.on_update,
        None => key.on_delete,
    };
    let no_child = |in_steps| Check::NoChild {
        references: Arc::clone(references),
        key: number,
        row: old.to_vec(),
        in_steps,
    };
    match action {
        ReferentialAction::NoAction | ReferentialAction::InSteps => {
            checks.push(no_child(action == ReferentialAction::InSteps));
            return Ok(());
        }
        ReferentialAction::Restrict => return nobody_refers(references, key, old, env),
        ReferentialAction::Cascade | ReferentialAction::SetNull | ReferentialAction::SetDefault => {
        }
    }
    if action == ReferentialAction::SetDefault {
        // A row whose columns have their defaults already does not change, and still refers to what is gone.
        checks.push(no_child(false));
    }
    let child = &references.tables[key.child];
    for (row_key, row) in children(references, key, old, usize::MAX, env)? {
        lock_key(child, child.space, &row_key, env)?;
        let new = match (action, &event.new) {
            (ReferentialAction::Cascade, None) => {
                remove(child, &row_key, &row, env)?;
                None
            }
            (_, parent_row) => {
                let new = changed(key, child, &row, parent_row.as_deref(), env)?;
                check_row(child, &new, env)?;
                let change = Change {
                    old_key: row_key,
                    new_key: crate::keys::row_key(child, &new),
                    old: row.clone(),
                    new: new.clone(),
                };
                vacate(child, &change, env)?;
                occupy(child, &change, env)?;
                Some(new)
            }
        };
        let event = Event {
            references: Arc::clone(references),
            table: key.child,
            old: Some(row),
            new,
            by_replica: false,
        };
        event.charge(env)?;
        events.push_back(event);
    }
    Ok(())
}

/// A child's row as the action leaves it.
fn changed(
    key: &ForeignKey,
    child: &TableDef,
    row: &[Value],
    parent: Option<&[Value]>,
    env: &mut Env<'_>,
) -> Result<Vec<Value>, Halt> {
    let mut default = |column: usize| match &child.columns[column].default {
        Some(default) => env.eval_plain(default, &[]),
        None => Ok(Value::Null),
    };
    let assigned = key.assigned(child, parent, &mut default)?;
    let mut new = row.to_vec();
    let columns: Vec<usize> = assigned.iter().map(|(column, _)| *column).collect();
    for (column, value) in assigned {
        new[column] = value;
    }
    for column in child.generated_from(&columns) {
        if let Some(expr) = &child.columns[column].generated {
            new[column] = env.eval_plain(expr, &new)?;
        }
    }
    Ok(new)
}

/// The parent's values in the columns that are referred to, in the order of the child's columns.
fn key_values(key: &ForeignKey, parent_row: &[Value]) -> Vec<Value> {
    let columns = key.parent_columns.iter();
    columns.map(|column| parent_row[*column].clone()).collect()
}

/// Where the parent's key lies that has these values.
fn place(key: &ForeignKey, parent: &TableDef, values: &[Value]) -> (SpaceId, Vec<u8>) {
    let space = match key.target {
        Arbiter::Primary => parent.space,
        Arbiter::Index(number) => parent.indexes[number].space,
    };
    let mut out = Vec::with_capacity(32);
    for place in key.key_places(parent) {
        let ty = parent.columns[key.parent_columns[place]].ty;
        push(&values[place], ty, &mut out);
    }
    (space, out)
}

fn presence(
    parent: &TableDef,
    space: SpaceId,
    at: &[u8],
    env: &Env<'_>,
) -> Result<quintet_tc::Presence, Halt> {
    let found = env.txn.presence(space, at);
    found.map_err(|error| env.halt(error, &parent.name))
}

/// What a new row of the child refers to must be there.
fn parent_is_there(
    references: &References,
    key: &ForeignKey,
    row: &[Value],
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    let (child, parent) = (
        &references.tables[key.child],
        &references.tables[key.parent],
    );
    if key.is_half_null(row) {
        return match still_refers(child, key, row, env)? {
            true => Err(half_null(child, &key.name).into()),
            false => Ok(()),
        };
    }
    let Some(sought) = key.sought(parent, row) else {
        return Ok(());
    };
    if let Some(values) = sought {
        let (space, at) = place(key, parent, &values);
        let held = env.txn.hold_presence(space, &at, Strength::Shared);
        held.map_err(|error| env.halt(error, &parent.name))?;
        let found = presence(parent, space, &at, env)?;
        let by_now = env.txn.level() == Level::ReadCommitted;
        match (found.now, found.seen) {
            (true, seen) if seen || by_now => return Ok(()),
            (false, true) if !by_now => {
                return Err(env.halt(env.txn.lost_to_newer(space, &at), &parent.name));
            }
            _ => env.txn.note_read(space, &at),
        }
    }
    // What follows from the statement may have taken the row away, or changed it again.
    if !still_refers(child, key, row, env)? {
        return Ok(());
    }
    Err(not_present(child, parent, key, row, env).into())
}

/// Whether what a row refers to is there, in the eyes of a transaction to whom the other table is closed.
pub(crate) fn verify(
    table: &TableRef,
    number: usize,
    row: &[Value],
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    let Some(references) = &table.references else {
        return Ok(());
    };
    let key = &references.keys[number];
    let parent = &references.tables[key.parent];
    if key.is_half_null(row) {
        return Err(half_null(table, &key.name).into());
    }
    let Some(sought) = key.sought(parent, row) else {
        return Ok(());
    };
    if let Some(values) = sought {
        let (space, at) = place(key, parent, &values);
        let found = env.txn.get(space, &at);
        if found
            .map_err(|error| env.halt(error, &parent.name))?
            .is_some()
        {
            return Ok(());
        }
    }
    Err(not_present(table, parent, key, row, env).into())
}

fn half_null(child: &TableDef, name: &str) -> SqlError {
    violation(child, name)
        .detail("MATCH FULL does not allow mixing of null and nonnull key values.")
}

fn not_present(
    child: &TableDef,
    parent: &TableDef,
    key: &ForeignKey,
    row: &[Value],
    env: &Env<'_>,
) -> SqlError {
    let values = key_text(child, &key.columns, row, env.host);
    violation(child, &key.name).detail(format!(
        "Key{} is not present in table \"{}\".",
        values.map_or(String::new(), |values| format!(" {values}")),
        parent.name
    ))
}

/// Whether a row that was written is still there with these values. Its own key may have changed since, which no check was
/// noted for: then any row that this transaction has written counts.
fn still_refers(
    child: &TableRef,
    key: &ForeignKey,
    row: &[Value],
    env: &mut Env<'_>,
) -> Result<bool, Halt> {
    let at = row_key(child, row);
    let stored = env.txn.get(child.space, &at);
    let stored = stored.map_err(|error| env.halt(error, &child.name))?;
    let is_such = |now: &[Value]| key.columns.iter().all(|c| is_same(&now[*c], &row[*c]));
    if let Some(stored) = stored
        && is_such(&read_row(child, &at, &stored)?)
    {
        return Ok(true);
    }
    // A NULL equals nothing: it is looked for in what the others find.
    let columns = key.columns.iter().filter(|c| !row[**c].is_null());
    let sought: Vec<(usize, Value)> = columns.map(|c| (*c, row[*c].clone())).collect();
    let mut found = rows_now(child, &sought, usize::MAX, env)?;
    found.retain(|(_, now)| is_such(now));
    let mut keys = found.iter().map(|(row_key, _)| row_key);
    Ok(keys.any(|row_key| env.txn.has_written(child.space, row_key)))
}

fn violation(child: &TableDef, name: &str) -> SqlError {
    let message = format!(
        "insert or update on table \"{}\" violates foreign key constraint \"{name}\"",
        child.name
    );
    SqlError::new(SqlState::FOREIGN_KEY_VIOLATION, message).about(about(child, None, Some(name)))
}

/// No row of the child may refer to a parent that is gone.
fn nobody_refers(
    references: &References,
    key: &ForeignKey,
    parent_row: &[Value],
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    let (child, parent) = (
        &references.tables[key.child],
        &references.tables[key.parent],
    );
    // Somebody may be about to remove a row that is in the way, or to have it refer to another: it is looked at when it is ours.
    let mut locked = None;
    let row_key = loop {
        let found = children(references, key, parent_row, 1, env)?;
        let Some((row_key, _)) = found.into_iter().next() else {
            return Ok(());
        };
        if env.txn.level() != Level::ReadCommitted || locked.as_ref() == Some(&row_key) {
            break row_key;
        }
        match lock_key(child, child.space, &row_key, env) {
            // Newer than the statement's snapshot, which does not matter: it is looked at as it is now.
            Ok(()) | Err(Halt::Stale) => locked = Some(row_key),
            Err(halt) => return Err(halt),
        }
    };
    let row_key = &row_key;
    if env.txn.level() != Level::ReadCommitted {
        let seen = env.txn.get(child.space, row_key);
        if seen
            .map_err(|error| env.halt(error, &child.name))?
            .is_none()
        {
            let error = env.txn.lost_to_newer(child.space, row_key);
            return Err(env.halt(error, &child.name));
        }
    }
    let message = format!(
        "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
        parent.name, key.name, child.name
    );
    let values = key_text(parent, &key.parent_columns, parent_row, env.host);
    let error = SqlError::new(SqlState::FOREIGN_KEY_VIOLATION, message)
        .detail(format!(
            "Key{} is still referenced from table \"{}\".",
            values.map_or(String::new(), |values| format!(" {values}")),
            child.name
        ))
        .about(about(child, None, Some(&key.name)));
    Err(error.into())
}

/// Rows of the child that refer to a parent's row as it was, as they are now, with their keys; at most so many.
fn children(
    references: &References,
    key: &ForeignKey,
    parent_row: &[Value],
    most: usize,
    env: &mut Env<'_>,
) -> Result<Vec<(Bytes, Vec<Value>)>, Halt> {
    let child = &references.tables[key.child];
    let pairs = key.columns.iter().zip(&key.parent_columns);
    let sought: Option<Vec<(usize, Value)>> = pairs
        .map(|(column, from)| {
            let value = converted(&parent_row[*from], child.columns[*column].ty)?;
            Some((*column, value))
        })
        .collect();
    let Some(sought) = sought else {
        return Ok(Vec::new());
    };
    rows_now(child, &sought, most, env)
}

/// Rows of a table that have these values now, with their keys; at most so many.
fn rows_now(
    child: &TableRef,
    sought: &[(usize, Value)],
    most: usize,
    env: &mut Env<'_>,
) -> Result<Vec<(Bytes, Vec<Value>)>, Halt> {
    let plan = Plan::Scan(equal_rows(child, sought));
    let kept = env.txn.look_aside();
    let found = collected(child, &plan, most, env);
    env.txn.look_back(kept);
    found
}

fn collected(
    child: &TableDef,
    plan: &Plan,
    most: usize,
    env: &mut Env<'_>,
) -> Result<Vec<(Bytes, Vec<Value>)>, Halt> {
    let whole_rows = std::mem::replace(&mut env.whole_rows, true);
    let mut cursor = Cursor::new(plan);
    let (mut frame, mut found) = (Vec::new(), Vec::new());
    let mut end = Ok(());
    while found.len() < most {
        match cursor.next(plan, env, &mut frame, 0) {
            Ok(true) => {}
            Ok(false) => break,
            Err(halt) => {
                end = Err(halt);
                break;
            }
        }
        if let Err(error) = env.charge(row_bytes(&frame)) {
            end = Err(error.into());
            break;
        }
        found.push((row_key(child, &frame), frame.clone()));
    }
    env.whole_rows = whole_rows;
    end.map(|()| found)
}

/// Rows of a table that have these values, by the key that most of them are the beginning of.
pub(crate) fn equal_rows(table: &TableRef, sought: &[(usize, Value)]) -> Access {
    let constant = |column: usize| {
        let found = sought.iter().find(|(other, _)| *other == column);
        found.map(|(_, value)| Expr::Const(value.clone(), table.columns[column].ty))
    };
    let beginning =
        |columns: &[usize]| -> Vec<Expr> { columns.iter().map_while(|c| constant(*c)).collect() };
    let mut path = Path::Full;
    let mut best = 0;
    let mut consider = |equal: Vec<Expr>, make: &dyn Fn(Vec<KeyRange>) -> Path| {
        if equal.len() > best {
            best = equal.len();
            path = make(vec![KeyRange {
                equal,
                ..KeyRange::default()
            }]);
        }
    };
    if let Some(primary) = &table.primary_key {
        consider(beginning(&primary.columns), &Path::Primary);
    }
    let indexes = table.indexes.iter().enumerate();
    for (number, index) in indexes.filter(|(_, index)| !index.is_inverted()) {
        consider(beginning(&index.columns), &|ranges| {
            Path::Index(number, ranges)
        });
    }
    let conditions = sought.iter().map(|(column, value)| {
        let ty = table.columns[*column].ty;
        Expr::Compare {
            op: CompareOp::Eq,
            left: Box::new(Expr::Column(*column, ty)),
            right: Box::new(Expr::Const(value.clone(), ty)),
        }
    });
    Access {
        table: TableRef::clone(table),
        path,
        filter: Some(Expr::And(conditions.collect())),
        reverse: false,
        offset: 0,
        needed: None,
        kept_after: None,
    }
}
