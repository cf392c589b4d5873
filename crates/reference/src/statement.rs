//! Queries, and the three statements that write.
//!
//! Relies on: `plan` for the rows they work on.  Promises: a statement reads the tables as they were when
//! it began, and takes place whole or not at all; a row is changed once.  Does not: return more rows of a
//! query than are wanted.

use crate::constraint::{claim, holder, is_taken, unique_keys};
use crate::database::{Database, Key};
use crate::interpreter::{Answer, Interpreter};
use crate::plan::{Run, Wish};
use crate::trace::Deed;
use quintet_base::{SqlError, SqlResult, SqlState, Value};
use quintet_ir::schema::TableRef;
use quintet_ir::statement::{Arbiter, ConflictAction, Delete, Insert, Statement, Update};
use quintet_ir::{Expr, Host, Plan, TableDef};
use std::collections::{BTreeMap, BTreeSet};

impl Interpreter<'_> {
    /// Runs a statement; of a query at most so many rows. It sees the state that is given, or the present one.
    pub fn statement(
        &self,
        statement: &Statement,
        params: &[Value],
        (most, state): (u64, Option<&Database>),
    ) -> SqlResult<Answer> {
        if self.is_read_only() && statement.is_write() {
            return Err(SqlError::new(
                SqlState::READ_ONLY_SQL_TRANSACTION,
                format!(
                    "cannot execute {} in a read-only transaction",
                    statement.tag()
                ),
            ));
        }
        let before = self.database.borrow().clone();
        let run = Run {
            interpreter: *self,
            params,
            before: state.unwrap_or(&before).clone(),
            is_part: state.is_some(),
            given: Default::default(),
            handed: Vec::new(),
        };
        let answer = match statement {
            Statement::Query(plan) => run.query(plan, most),
            Statement::Insert(insert) => run.insert(insert),
            Statement::Update(update) => run.update(update),
            Statement::Delete(delete) => run.delete(delete),
        };
        if answer.is_err() {
            self.database.borrow_mut().back_to(before);
        }
        answer
    }

    pub fn values(
        &self,
        exprs: &[Expr],
        frame: &[Value],
        params: &[Value],
    ) -> SqlResult<Vec<Value>> {
        let value = |expr| quintet_ir::eval(expr, frame, params, self);
        exprs.iter().map(value).collect()
    }
}

/// A row to be changed.
struct Change {
    old: Vec<Value>,
    new: Vec<Value>,
    /// What the statement joins to it.
    joined: Vec<Value>,
}

impl Change {
    fn moves(&self, table: &TableDef) -> bool {
        Key::of_row(table, &self.old) != Key::of_row(table, &self.new)
    }

    /// Whether the row goes on with what it had of a unique key.
    fn keeps(&self, table: &TableDef, unique: Arbiter) -> bool {
        let claims = [&self.old, &self.new].map(|row| claim(table, unique, row));
        !self.moves(table) && claims[0] == claims[1]
    }
}

impl Run<'_> {
    fn query(&self, plan: &Plan, most: u64) -> SqlResult<Answer> {
        let mut answer = Answer::default();
        self.frames(plan, &[], &mut |frame| {
            answer.rows.push(frame.to_vec());
            answer.count += 1;
            Ok(match answer.count < most {
                true => Wish::More,
                false => Wish::Enough,
            })
        })?;
        Ok(answer)
    }

    /// Whether a part of the same statement has changed a row already.
    fn is_changed(&self, table: &TableDef, seen: &[Value]) -> bool {
        let database = self.interpreter.database.borrow();
        let key = Key::of_row(table, seen);
        self.is_part && !database.is_unwritten(&self.before, table, &key)
    }

    fn insert(&self, insert: &Insert) -> SqlResult<Answer> {
        let mut answer = Answer::default();
        // Rows that ON CONFLICT DO UPDATE has written: it may not come to one of them again.
        let mut touched = BTreeSet::new();
        self.frames(&insert.source, &[], &mut |frame| {
            let written = self.insert_row(insert, frame, &mut touched)?;
            if let Some((mut row, was_there)) = written {
                row.extend(insert.updates().then_some(Value::Bool(was_there)));
                self.written(&insert.returning, &row, &mut answer)?;
            }
            Ok(Wish::More)
        })?;
        Ok(answer)
    }

    /// The row as it was written, and whether it was there before; `None` if a conflict left the old one alone.
    fn insert_row(
        &self,
        insert: &Insert,
        frame: &[Value],
        touched: &mut BTreeSet<Key>,
    ) -> SqlResult<Option<(Vec<Value>, bool)>> {
        let Insert {
            table, conflict, ..
        } = insert;
        let mut row = self.values(&insert.values, frame)?;
        if table.primary_key.is_none() {
            let id = self.interpreter.database.borrow_mut().row_id(table);
            row.push(Value::Int8(id));
        }
        self.check_row(table, &row)?;
        let arbiter = conflict.as_ref().and_then(|conflict| conflict.arbiter);
        let taken = self.first_taken(table, arbiter, &row);
        if let Some(trace) = self.interpreter.trace {
            trace.added(table, &row);
        }
        match (taken, conflict) {
            (None, _) => {
                if insert.updates() {
                    touch(touched, Key::of_row(table, &row))?;
                }
                self.put(table, row.clone());
                Ok(Some((row, false)))
            }
            (Some((unique, old)), Some(conflict))
                if conflict.arbiter.is_none_or(|wanted| wanted == unique) =>
            {
                let row = self.resolve(table, &conflict.action, old, &row, touched)?;
                Ok(row.map(|row| (row, true)))
            }
            (Some((unique, _)), _) => Err(is_taken(table, unique)),
        }
    }

    /// The first unique key that a new row claims in vain, with the row that has it: the arbiter's
    /// before the others.
    fn first_taken(
        &self,
        table: &TableDef,
        arbiter: Option<Arbiter>,
        new: &[Value],
    ) -> Option<(Arbiter, Vec<Value>)> {
        let database = self.interpreter.database.borrow();
        let keys = arbiter.into_iter().chain(unique_keys(table));
        let mut taken = keys.filter_map(|unique| {
            let row = holder(&database, table, unique, new)?;
            Some((unique, row.clone()))
        });
        taken.next()
    }

    /// ON CONFLICT: the old row is in the way.
    fn resolve(
        &self,
        table: &TableRef,
        action: &ConflictAction,
        old: Vec<Value>,
        proposed: &[Value],
        touched: &mut BTreeSet<Key>,
    ) -> SqlResult<Option<Vec<Value>>> {
        let ConflictAction::Update {
            assignments,
            filter,
        } = action
        else {
            return Ok(None);
        };
        if let Some(trace) = self.interpreter.trace {
            trace.row(table, Deed::Read, &old);
        }
        let excluded = proposed[..table.columns.len()].iter().cloned();
        let frame: Vec<Value> = old.iter().cloned().chain(excluded).collect();
        let key = Key::of_row(table, &old);
        if touched.contains(&key) {
            return Err(is_touched());
        }
        if !self.passes(filter.as_ref(), &frame)? {
            return Ok(None);
        }
        touched.insert(key);
        let new = self.assigned(&old, assignments, &frame)?;
        self.check_row(table, &new)?;
        let change = Change {
            old,
            new: new.clone(),
            joined: Vec::new(),
        };
        let moves = change.moves(table);
        self.change(table, &[change])?;
        if moves {
            touch(touched, Key::of_row(table, &new))?;
        }
        Ok(Some(new))
    }

    fn update(&self, update: &Update) -> SqlResult<Answer> {
        let table = &update.table;
        let width = table.frame_width();
        let mut changes = Vec::new();
        let mut seen = BTreeSet::new();
        self.frames(&update.source, &[], &mut |frame| {
            let (old, joined) = frame.split_at(width);
            if seen.insert(Key::of_row(table, old)) && !self.is_changed(table, old) {
                let new = self.assigned(old, &update.assignments, frame)?;
                self.check_row(table, &new)?;
                changes.push(Change {
                    old: old.to_vec(),
                    new,
                    joined: joined.to_vec(),
                });
            }
            Ok(Wish::More)
        })?;
        self.change(table, &changes)?;
        let mut answer = Answer::default();
        for change in changes {
            let frame = [change.new, change.joined].concat();
            self.written(&update.returning, &frame, &mut answer)?;
        }
        Ok(answer)
    }

    fn delete(&self, delete: &Delete) -> SqlResult<Answer> {
        let table = &delete.table;
        let width = table.frame_width();
        let mut answer = Answer::default();
        let mut rows = BTreeMap::new();
        self.frames(&delete.source, &[], &mut |frame| {
            let row = frame[..width].to_vec();
            if self.is_changed(table, &row) {
                return Ok(Wish::More);
            }
            if rows.insert(Key::of_row(table, &row), row).is_none() {
                self.written(&delete.returning, frame, &mut answer)?;
            }
            Ok(Wish::More)
        })?;
        if let Some(trace) = self.interpreter.trace {
            rows.values().for_each(|row| trace.removed(table, row));
        }
        let mut database = self.interpreter.database.borrow_mut();
        for (key, row) in &rows {
            refuse_changed(&database, table, key, row, "deleted")?;
            database.remove(table, key);
        }
        Ok(answer)
    }

    /// The old row with some columns replaced; all expressions see it as it was.
    fn assigned(
        &self,
        old: &[Value],
        assignments: &[(usize, Expr)],
        frame: &[Value],
    ) -> SqlResult<Vec<Value>> {
        let mut new = old.to_vec();
        for (column, expr) in assignments {
            new[*column] = self.eval(expr, frame)?;
        }
        Ok(new)
    }

    /// All changes of one statement: first every row gives up what it claims no longer, so that rows may
    /// exchange their keys. A row whose own key changes gives up everything.
    fn change(&self, table: &TableRef, changes: &[Change]) -> SqlResult<()> {
        if let Some(trace) = self.interpreter.trace {
            changes
                .iter()
                .for_each(|change| trace.changed(table, &change.old, &change.new));
        }
        let mut database = self.interpreter.database.borrow_mut();
        for change in changes {
            let key = Key::of_row(table, &change.old);
            refuse_changed(&database, table, &key, &change.old, "updated")?;
            database.remove(table, &key);
        }
        for (number, change) in changes.iter().enumerate() {
            for unique in unique_keys(table) {
                let claimed = claim(table, unique, &change.new);
                if claimed.is_none() || change.keeps(table, unique) {
                    continue;
                }
                let mut later = changes[number + 1..].iter();
                let kept = later.any(|other| {
                    other.keeps(table, unique) && claim(table, unique, &other.new) == claimed
                });
                if kept || holder(&database, table, unique, &change.new).is_some() {
                    return Err(is_taken(table, unique));
                }
            }
            database.put(table, change.new.clone());
        }
        Ok(())
    }

    fn put(&self, table: &TableDef, row: Vec<Value>) {
        self.interpreter.database.borrow_mut().put(table, row);
    }

    /// One row more was written: RETURNING.
    fn written(
        &self,
        returning: &Option<Vec<Expr>>,
        frame: &[Value],
        answer: &mut Answer,
    ) -> SqlResult<()> {
        answer.count += 1;
        if let Some(exprs) = returning {
            answer.rows.push(self.values(exprs, frame)?);
        }
        Ok(())
    }
}

/// `27000` if a function that the statement called has changed the row since the statement began.
fn refuse_changed(
    database: &Database,
    table: &TableDef,
    key: &Key,
    found: &[Value],
    what: &str,
) -> SqlResult<()> {
    let same = |now: &Vec<Value>| now.iter().zip(found).all(|(a, b)| a.order(b).is_eq());
    if database.row(table, key).is_some_and(same) {
        return Ok(());
    }
    Err(SqlError::changed_by_statement(what))
}

/// `21000` if the statement has written the row before.
fn touch(touched: &mut BTreeSet<Key>, key: Key) -> SqlResult<()> {
    match touched.insert(key) {
        true => Ok(()),
        false => Err(is_touched()),
    }
}

fn is_touched() -> SqlError {
    SqlError::new(
        SqlState::CARDINALITY_VIOLATION,
        "ON CONFLICT DO UPDATE command cannot affect row a second time",
    )
}
