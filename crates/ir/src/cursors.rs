//! Cursors that routines open: rows by a name, and where each stands; beside them the descriptors of large objects, which come and go
//! with the same moments.
//!
//! Relies on: nothing.  Promises: a cursor has all its rows from the moment that it is opened, so it goes either way and sees no
//! later change; what was there at a moment can be put back.  Does not: run queries, or know the portals of clients.
//!
//! ```text
//!   place   0 before the first row   1 … n on a row   n + 1 behind the last
//! ```

use crate::large_objects::{Descriptor, Descriptors, Moment, State};
use crate::statement::OutputColumn;
use quintet_base::limits::HELD_BYTES_MAX;
use quintet_base::{SqlError, SqlResult, SqlState, TableId, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Which rows FETCH and MOVE take, from where the cursor stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// The next ones, so many; `None` = all. 0: the one it stands on.
    Forward(Option<u64>),
    /// Those before, in reverse.
    Backward(Option<u64>),
    /// The one with this number; counted from the end if it is negative.
    Absolute(i64),
    /// The one so many places on.
    Relative(i64),
}

impl Way {
    /// Whether it goes back from a place, or looks at it once more.
    fn goes_back(self, place: usize) -> bool {
        match self {
            Way::Forward(count) => count == Some(0) && place > 0,
            Way::Backward(count) => count != Some(0) || place > 0,
            Way::Absolute(to) => to < 0 || (place > 0 && to <= place as i64),
            Way::Relative(by) => by < 0 || (by == 0 && place > 0),
        }
    }
}

/// From a place among `rows` rows, numbered from 1: the rows that are met, and the place afterwards.
pub fn steps(at: usize, rows: usize, way: Way) -> (Vec<usize>, usize) {
    let end = rows + 1;
    let alone = |at: usize| {
        let is_row = (1..end).contains(&at);
        (is_row.then_some(at).into_iter().collect(), at)
    };
    let count =
        |count: Option<u64>| count.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    match way {
        Way::Forward(Some(0)) | Way::Backward(Some(0)) => alone(at),
        Way::Forward(most) => {
            let to = at
                .saturating_add(count(most).unwrap_or(usize::MAX))
                .min(end);
            ((at + 1..=to.min(rows)).collect(), to)
        }
        Way::Backward(most) => {
            let to = at.saturating_sub(count(most).unwrap_or(usize::MAX));
            ((to.max(1)..at).rev().collect(), to)
        }
        Way::Absolute(place) => {
            let from = if place < 0 { end } else { 0 };
            alone(moved(from, place, end))
        }
        Way::Relative(by) => alone(moved(at, by, end)),
    }
}

fn moved(at: usize, by: i64, end: usize) -> usize {
    let distance = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
    match by < 0 {
        true => at.saturating_sub(distance),
        false => at.saturating_add(distance).min(end),
    }
}

/// The cursors of a session by name. Copied as a whole where a moment is to come back; the rows are shared.
#[derive(Clone, Default, Debug)]
pub struct Cursors {
    named: BTreeMap<String, Cursor>,
    /// How many have been opened, descriptors of large objects among them: each has a number.
    opened: u64,
    /// Of large objects.
    descriptors: Descriptors,
    /// What the next statement of a routine reads.
    pub moment: Moment,
    /// What one has read that was to keep it.
    pub kept: Option<State>,
    /// How many names have been made.
    unnamed: u64,
}

/// What is known of a cursor when it is opened.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Its query, as `pg_cursors` shows it.
    pub text: String,
    /// What its rows are made of.
    pub columns: Vec<OutputColumn>,
    /// Behind the columns each row has the key of the row of this table that it was made of.
    pub of: Option<TableId>,
    /// It may go back.
    pub back: bool,
    /// A loop goes through it, and COMMIT leaves it alone.
    pub pinned: bool,
    /// When its transaction began.
    pub at: i64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Cursor {
    number: u64,
    /// As it was opened.
    pub opening: Opening,
    rows: Arc<Vec<Vec<Value>>>,
    bytes: usize,
    place: usize,
}

impl Cursors {
    /// One of this name.
    pub fn get(&self, name: &str) -> Option<&Cursor> {
        self.named.get(name)
    }

    /// The same, to be moved.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Cursor> {
        self.named.get_mut(name)
    }

    /// All of them by name.
    pub fn all(&self) -> impl Iterator<Item = (&String, &Cursor)> {
        self.named.iter()
    }

    /// A name that none has; `is_taken` says of others that do.
    pub fn new_name(&mut self, is_taken: impl Fn(&str) -> bool) -> String {
        loop {
            self.unnamed += 1;
            let name = format!("<unnamed portal {}>", self.unnamed);
            if !self.named.contains_key(&name) && !is_taken(&name) {
                return name;
            }
        }
    }

    /// Opens one without rows.
    ///
    /// # Errors
    /// `42P03` if there is one of the name.
    pub fn open(&mut self, name: &str, opening: Opening) -> SqlResult<()> {
        if self.named.contains_key(name) {
            return Err(in_use(name));
        }
        self.opened += 1;
        let cursor = Cursor {
            number: self.opened,
            opening,
            rows: Arc::default(),
            bytes: 0,
            place: 0,
        };
        self.named.insert(name.to_string(), cursor);
        Ok(())
    }

    /// One more row at the end of one.
    ///
    /// # Errors
    /// `34000`; `53200` if the rows of all take too much memory.
    pub fn keep(&mut self, name: &str, row: Vec<Value>, bytes: usize) -> SqlResult<()> {
        let kept: usize = self.named.values().map(|cursor| cursor.bytes).sum();
        let cursor = self.named.get_mut(name).ok_or_else(|| no_cursor(name))?;
        if kept + bytes > HELD_BYTES_MAX {
            return Err(too_much());
        }
        cursor.bytes += bytes;
        Arc::make_mut(&mut cursor.rows).push(row);
        Ok(())
    }

    /// The columns and the rows of one at once.
    ///
    /// # Errors
    /// As [`Cursors::keep`].
    pub fn fill(
        &mut self,
        name: &str,
        columns: Vec<OutputColumn>,
        rows: Vec<Vec<Value>>,
        bytes: usize,
    ) -> SqlResult<()> {
        let kept: usize = self.named.values().map(|cursor| cursor.bytes).sum();
        let cursor = self.named.get_mut(name).ok_or_else(|| no_cursor(name))?;
        if kept + bytes > HELD_BYTES_MAX {
            return Err(too_much());
        }
        cursor.bytes = bytes;
        cursor.opening.columns = columns;
        cursor.rows = Arc::new(rows);
        Ok(())
    }

    /// Forgets one; false if there is none.
    pub fn close(&mut self, name: &str) -> bool {
        self.named.remove(name).is_some()
    }

    /// Forgets every one.
    pub fn close_all(&mut self) {
        self.named.clear();
    }

    /// Opens a large object: the descriptor's number.
    ///
    /// # Errors
    /// `53000` for too many.
    pub fn open_object(&mut self, object: u32, writes: bool) -> SqlResult<i32> {
        self.opened += 1;
        self.descriptors.open(Descriptor {
            number: self.opened,
            object,
            place: 0,
            writes,
            reads: self.kept.take().filter(|_| !writes),
        })
    }

    /// Descriptors of large objects.
    pub fn descriptors(&mut self) -> &mut Descriptors {
        &mut self.descriptors
    }

    /// A transaction ends: descriptors are closed, and cursors that no loop goes through; with `all`, every one.
    pub fn end_transaction(&mut self, all: bool) {
        self.named.retain(|_, cursor| !all && cursor.opening.pinned);
        self.descriptors.clear();
        self.moment = Moment::Newest;
        self.kept = None;
    }

    /// What has been opened until now, for [`Cursors::back_to`].
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Those opened since then were never there.
    pub fn back_to(&mut self, opened: u64) {
        self.named.retain(|_, cursor| cursor.number <= opened);
        self.descriptors.back_to(opened);
    }
}

impl Cursor {
    /// Goes a way; the rows that it meets, without keys.
    ///
    /// # Errors
    /// `55000` if it goes forward only.
    pub fn go(&mut self, way: Way) -> SqlResult<Vec<Vec<Value>>> {
        if !self.opening.back && way.goes_back(self.place) {
            return Err(only_forward());
        }
        let (met, place) = steps(self.place, self.rows.len(), way);
        self.place = place;
        let width = self.opening.columns.len();
        let row = |number: usize| {
            let row = &self.rows[number - 1];
            row[..width.min(row.len())].to_vec()
        };
        Ok(met.into_iter().map(row).collect())
    }

    /// The key of the row of a table that it stands on.
    ///
    /// # Errors
    /// `24000` if it stands on none, or its rows are of none.
    pub fn key(&self, name: &str, table: TableId, called: &str) -> SqlResult<Vec<Value>> {
        let refused = |message| Err(SqlError::new(SqlState::INVALID_CURSOR_STATE, message));
        if self.opening.of != Some(table) {
            return refused(format!(
                "cursor \"{name}\" is not a simply updatable scan of table \"{called}\""
            ));
        }
        let row = self.place.checked_sub(1).and_then(|at| self.rows.get(at));
        match row {
            Some(row) => Ok(row[self.opening.columns.len()..].to_vec()),
            None => refused(format!("cursor \"{name}\" is not positioned on a row")),
        }
    }
}

fn too_much() -> SqlError {
    let message = "the rows of open cursors take too much memory";
    SqlError::new(SqlState::OUT_OF_MEMORY, message)
}

/// `42P03`.
pub fn in_use(name: &str) -> SqlError {
    let message = format!("cursor \"{name}\" already in use");
    SqlError::new(SqlState::DUPLICATE_CURSOR, message)
}

/// `34000`.
pub fn no_cursor(name: &str) -> SqlError {
    let message = format!("cursor \"{name}\" does not exist");
    SqlError::new(SqlState::INVALID_CURSOR_NAME, message)
}

/// `55000`.
pub fn only_forward() -> SqlError {
    SqlError::new(
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        "cursor can only scan forward",
    )
    .hint("Declare it with SCROLL option to enable backward scan.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_goes_as_postgresql_s_does() {
        // (way, rows met, place afterwards), one after the other, over three rows.
        let script: [(Way, &[usize], usize); 17] = [
            (Way::Backward(Some(1)), &[], 0),
            (Way::Forward(Some(2)), &[1, 2], 2),
            (Way::Forward(Some(0)), &[2], 2),
            (Way::Backward(Some(1)), &[1], 1),
            (Way::Forward(Some(2)), &[2, 3], 3),
            (Way::Forward(Some(1)), &[], 4),
            (Way::Relative(0), &[], 4),
            (Way::Backward(Some(2)), &[3, 2], 2),
            (Way::Absolute(-1), &[3], 3),
            (Way::Absolute(-4), &[], 0),
            (Way::Absolute(3), &[3], 3),
            (Way::Relative(-2), &[1], 1),
            (Way::Absolute(9), &[], 4),
            (Way::Backward(None), &[3, 2, 1], 0),
            (Way::Forward(None), &[1, 2, 3], 4),
            (Way::Relative(i64::MIN), &[], 0),
            (Way::Absolute(i64::MAX), &[], 4),
        ];
        let mut at = 0;
        for (number, (way, rows, place)) in script.into_iter().enumerate() {
            let found = steps(at, 3, way);
            assert_eq!(found, (rows.to_vec(), place), "step {number}");
            at = found.1;
        }
        assert_eq!(steps(1, 0, Way::Backward(None)), (vec![], 0));
    }

    /// Goal: what is undone takes the cursors along that were opened in it, and no others.
    #[test]
    fn cursors_opened_since_a_moment_go_with_it() {
        let opening = |pinned| Opening {
            text: String::new(),
            columns: Vec::new(),
            of: None,
            back: true,
            pinned,
            at: 0,
        };
        let mut cursors = Cursors::default();
        cursors.open("a", opening(true)).expect("it is new");
        let moment = cursors.opened();
        cursors.open("b", opening(false)).expect("it is new");
        assert_eq!(
            cursors.open("b", opening(false)).map_err(|e| e.state),
            Err(SqlState::DUPLICATE_CURSOR)
        );
        cursors.back_to(moment);
        assert!(cursors.get("a").is_some() && cursors.get("b").is_none());
        cursors.open("c", opening(false)).expect("it is new");
        cursors.end_transaction(false);
        assert!(cursors.get("a").is_some() && cursors.get("c").is_none());
        cursors.end_transaction(true);
        assert!(cursors.all().next().is_none());
    }
}
