//! What a client does before it commits, each answer compared with the model.
//!
//! Relies on: the model has every commit that has returned.  Promises: whatever a transaction sees is
//! the state at its snapshot under its own writes, or the run fails.  Does not: wait.

use crate::client::{Again, Client, Cursor};
use crate::machine::Life;
use crate::model::{Key, Range, Writes};
use crate::world::{World, note};
use quintet_base::{Bytes, Level};
use quintet_dc::{Direction, KeyRange};
use quintet_tc::{Error, Strength, WaitPolicy};
use std::ops::Bound;
use std::rc::Rc;

impl World {
    /// The client's next step. `None`: its transaction is over.
    pub fn act(&self, life: &Rc<Life>, mut client: Client) -> Option<Client> {
        if let Some((mut wait, again)) = client.waiting.take() {
            if !World::is_over(&mut wait) {
                if self.one_in(20) {
                    note!(self, "{}: gives up waiting", client.number);
                    return None;
                }
                client.waiting = Some((wait, again));
                return Some(client);
            }
            note!(self, "{}: wait is over", client.number);
            return match again {
                Again::Lock(key, strength) => self.lock(client, &key, strength),
                Again::Commit(durability) => self.commit(life, client, durability),
            };
        }
        let end = client.statements >= self.profile.statements || self.one_in(12);
        if end && client.cursor.is_none() {
            if self.one_in(10) {
                note!(self, "{}: abort", client.number);
                client.txn.abort();
                return None;
            }
            let durability = self.some_durability();
            return self.commit(life, client, durability);
        }
        client.statements += 1;
        if client.cursor.is_some() && !self.one_in(6) {
            self.go_on(&mut client);
            return Some(client);
        }
        client.cursor = None;
        if client.level == Level::ReadCommitted && self.one_in(2) {
            self.begin_statement(&mut client);
        }
        match self.below(20) {
            0..4 => self.get(&mut client),
            4 => self.get_many(&mut client),
            5..7 => self.open_cursor(&mut client),
            7 | 8 => {
                let key = (self.some_space(&client), self.some_key());
                let strengths = [Strength::Exclusive, Strength::Shared];
                let strength = strengths[usize::from(self.one_in(3))];
                return self.lock(client, &key, strength);
            }
            9 => self.save_or_roll_back(&mut client),
            10 => return self.update(client),
            11..14 => self.write_row(&mut client, false),
            _ => self.write_row(&mut client, true),
        }
        Some(client)
    }

    /// At READ COMMITTED: what follows reads at now.
    fn begin_statement(&self, client: &mut Client) {
        client.cursor = None;
        client.txn.begin_statement();
        client.snapshot = client.txn.snapshot().0;
        self.learn_schema(client);
        note!(self, "{}: statement at {}", client.number, client.snapshot);
    }

    /// What a read must return, with the commit that wrote it (zero for own writes).
    fn expected(&self, client: &Client, key: &Key) -> (u64, Option<Bytes>) {
        if let Some(own) = client.writes.get(key) {
            return (0, own.clone());
        }
        let model = self.model.borrow();
        let (timestamp, value) = model.at(key, client.snapshot);
        (timestamp, value.cloned())
    }

    fn get(&self, client: &mut Client) {
        let key = (self.some_space(client), self.some_key());
        if self.would_wait(client.snapshot, |k| *k == key) {
            return;
        }
        let closed = self.closed_by(client, key.0);
        let found = client.txn.get(key.0, &key.1);
        self.compare(client, &key, &found, closed);
    }

    fn compare(
        &self,
        client: &mut Client,
        key: &Key,
        found: &Result<Option<Bytes>, Error>,
        closed_by: Option<u64>,
    ) {
        match found {
            Err(error) if self.is_replaced(client.snapshot, error) => {
                self.seen.borrow_mut().schema_conflicts += 1;
                note!(self, "{}: {} is no more", client.number, key.0);
                return;
            }
            // Own writes are seen until the commit is refused.
            Ok(_) if !client.writes.contains_key(key) => self.check_open(client, key.0, closed_by),
            _ => {}
        }
        let (timestamp, expected) = self.expected(client, key);
        let (number, snapshot) = (client.number, client.snapshot);
        match found {
            Ok(found) if *found == expected => {
                let bytes = expected.map_or(-1, |value| value.len() as i64);
                note!(self, "{number}: get {} {:?}: {bytes}", key.0, key.1);
            }
            Ok(found) => self.fail(format!(
                "{number} at {snapshot} reads {} of {key:?}, not {} of {timestamp}",
                brief(found.as_ref()),
                brief(expected.as_ref()),
            )),
            Err(error) => self.fail(format!("{number} cannot read {key:?}: {error:?}")),
        }
        if !client.writes.contains_key(key) {
            client.note_read(key, timestamp);
        }
    }

    fn get_many(&self, client: &mut Client) {
        let space = self.some_space(client);
        let keys: Vec<Bytes> = (0..2 + self.below(20)).map(|_| self.some_key()).collect();
        if self.would_wait(client.snapshot, |k| keys.contains(&k.1)) {
            return;
        }
        let asked: Vec<_> = keys.iter().map(|key| (space, &key[..])).collect();
        let closed = self.closed_by(client, space);
        let mut rows: Vec<Option<Bytes>> = Vec::new();
        let outcome = client.txn.read_many(&asked, |_, row| {
            rows.push(row.map(Bytes::copy_from_slice));
        });
        if let Err(error) = outcome {
            if self.is_replaced(client.snapshot, &error) {
                return;
            }
            return self.fail(format!("{} cannot read many: {error:?}", client.number));
        }
        for (key, row) in keys.into_iter().zip(rows) {
            client.asked.insert((space, key.clone()));
            self.compare(client, &(space, key), &Ok(row), closed);
        }
    }

    fn some_range(&self, client: &Client) -> Range {
        let some_bound = || match self.below(4) {
            0 => Bound::Unbounded,
            1 => Bound::Excluded(self.some_key()),
            _ => Bound::Included(self.some_key()),
        };
        Range {
            space: self.some_space(client),
            lower: some_bound(),
            upper: some_bound(),
        }
    }

    fn open_cursor(&self, client: &mut Client) {
        let range = self.some_range(client);
        if self.would_wait(client.snapshot, |_| true) {
            return;
        }
        let directions = [Direction::Forward, Direction::Backward];
        let direction = directions[self.below(2) as usize];
        let keys = KeyRange {
            lower: range.lower.clone(),
            upper: range.upper.clone(),
        };
        let closed = self.closed_by(client, range.space);
        let scan = match client.txn.scan(range.space, &keys, direction) {
            Ok(scan) => scan,
            Err(error) if self.is_replaced(client.snapshot, &error) => return,
            Err(error) => {
                return self.fail(format!("{} cannot scan: {error:?}", client.number));
            }
        };
        self.check_open(client, range.space, closed);
        let model = self.model.borrow();
        let mut rows = model.rows(&range, client.snapshot, &client.writes);
        if direction == Direction::Backward {
            rows.reverse();
        }
        drop(model);
        let rows_count = rows.len();
        let slot = (client.level == Level::Serializable).then(|| {
            // Nothing of it has been read.
            client.ranges.push(Range {
                space: range.space,
                lower: Bound::Excluded(Bytes::new()),
                upper: Bound::Excluded(Bytes::new()),
            });
            client.ranges.len() - 1
        });
        note!(
            self,
            "{}: scan {range:?} {direction:?}: {rows_count}",
            client.number
        );
        client.newest_read = client
            .newest_read
            .max(self.newest_in(&range, client.snapshot));
        client.cursor = Some(Cursor {
            scan,
            direction,
            snapshot: client.snapshot,
            expected: rows.into(),
            range,
            slot,
        });
        self.go_on(client);
    }

    /// Newest commit among the rows of a range, so that the answer of a reader can be judged.
    fn newest_in(&self, range: &Range, snapshot: u64) -> u64 {
        let model = self.model.borrow();
        let rows = model.rows(range, snapshot, &Writes::new());
        let keys = rows.into_iter().map(|(key, _)| (range.space, key));
        keys.map(|key| model.at(&key, snapshot).0)
            .max()
            .unwrap_or(0)
    }

    /// Reads a few more rows.
    fn go_on(&self, client: &mut Client) {
        let Some(mut cursor) = client.cursor.take() else {
            return;
        };
        if self.would_wait(cursor.snapshot, |_| true) {
            client.cursor = Some(cursor);
            return;
        }
        for _ in 0..1 + self.below(30) {
            let found = match cursor.scan.next(&client.txn) {
                Ok(found) => found,
                Err(error) => {
                    return self.fail(format!("{} cannot go on: {error:?}", client.number));
                }
            };
            let expected = cursor.expected.pop_front();
            if found != expected {
                let key = |row: &Option<(Bytes, Bytes)>| row.as_ref().map(|row| row.0.clone());
                return self.fail(format!(
                    "{} at {} scans {:?} {:?} and comes to {:?} {}, not {:?} {}",
                    client.number,
                    cursor.snapshot,
                    cursor.range,
                    cursor.direction,
                    key(&found),
                    brief(found.as_ref().map(|row| &row.1)),
                    key(&expected),
                    brief(expected.as_ref().map(|row| &row.1)),
                ));
            }
            if let Some(slot) = cursor.slot {
                client.ranges[slot] = read_so_far(&cursor, found.as_ref().map(|row| &row.0));
            }
            if found.is_none() {
                note!(self, "{}: end of scan", client.number);
                return;
            }
        }
        client.cursor = Some(cursor);
    }

    fn write_row(&self, client: &mut Client, put: bool) {
        let key = (self.some_space(client), self.some_key());
        let value = put.then(|| self.some_value());
        self.write_value(client, key, value);
    }

    fn write_value(&self, client: &mut Client, key: Key, value: Option<Bytes>) {
        let (space, name) = key.clone();
        let done = match &value {
            Some(value) => client.txn.put(space, name, value.clone()),
            None => client.txn.delete(space, name),
        };
        let bytes = value.as_ref().map_or(-1, |value| value.len() as i64);
        note!(
            self,
            "{}: write {} {:?}: {bytes}",
            client.number,
            key.0,
            key.1
        );
        match done {
            Ok(()) => {
                client.writes.insert(key, value);
            }
            Err(Error::TooLarge { .. }) => self.seen.borrow_mut().too_large += 1,
            Err(error) => self.fail(format!("{} cannot write: {error:?}", client.number)),
        }
    }

    /// Reads a row, locks it and writes it, as an UPDATE does.
    fn update(&self, mut client: Client) -> Option<Client> {
        let key = (self.some_space(&client), self.some_key());
        if self.would_wait(client.snapshot, |k| *k == key) {
            return Some(client);
        }
        let closed = self.closed_by(&client, key.0);
        let found = client.txn.get(key.0, &key.1);
        self.compare(&mut client, &key, &found, closed);
        let mut client = self.lock(client, &key, Strength::Exclusive)?;
        // The row had changed, perhaps, and a new statement knows of other spaces.
        if client.waiting.is_none() && client.spaces.contains(&key.0) {
            self.write_value(&mut client, key, Some(self.some_value()));
        }
        Some(client)
    }

    fn lock(&self, mut client: Client, key: &Key, strength: Strength) -> Option<Client> {
        client.cursor = None;
        if self.lock_would_wait(key) {
            return Some(client);
        }
        let policies = [WaitPolicy::Queue, WaitPolicy::Refuse];
        let policy = policies[usize::from(self.one_in(8))];
        let outcome = client.txn.lock(key.0, &key.1, strength, policy);
        let (number, level) = (client.number, client.level);
        note!(
            self,
            "{number}: lock {key:?} {strength:?}: {}",
            name_of(&outcome)
        );
        match outcome {
            Ok(()) => client.locks.push((key.clone(), client.snapshot)),
            Err(Error::Blocked(wait)) => {
                self.seen.borrow_mut().blocked += 1;
                client.waiting = Some((wait, Again::Lock(key.clone(), strength)));
            }
            Err(Error::Stale) if level == Level::ReadCommitted => self.begin_statement(&mut client),
            Err(Error::Locked) if policy == WaitPolicy::Refuse => {}
            Err(Error::Deadlock) => {
                self.seen.borrow_mut().deadlocks += 1;
                return None;
            }
            Err(error) => {
                self.judge_refusal(&client, &error);
                return None;
            }
        }
        Some(client)
    }

    fn save_or_roll_back(&self, client: &mut Client) {
        match client.saved.take() {
            None => client.saved = Some((client.txn.mark(), client.writes.clone())),
            Some((mark, writes)) => {
                note!(self, "{}: rolls back to a savepoint", client.number);
                client.txn.rollback_to(mark);
                client.writes = writes;
            }
        }
    }
}

/// As far as a scan has come.
fn read_so_far(cursor: &Cursor, last: Option<&Bytes>) -> Range {
    let mut range = cursor.range.clone();
    match (last, cursor.direction) {
        (None, _) => {}
        (Some(key), Direction::Forward) => range.upper = Bound::Included(key.clone()),
        (Some(key), Direction::Backward) => range.lower = Bound::Included(key.clone()),
    }
    range
}

/// An error's name, without what only a person wants to know.
pub(crate) fn name_of<T>(outcome: &Result<T, Error>) -> String {
    match outcome {
        Ok(_) => "done".into(),
        Err(Error::Blocked(_)) => "blocked".into(),
        Err(error) => error.to_string(),
    }
}

/// The beginning of a value.
fn brief(value: Option<&Bytes>) -> String {
    value.map_or("nothing".into(), |value| {
        let head = String::from_utf8_lossy(&value[..value.len().min(12)]);
        format!("{head:?} ({} bytes)", value.len())
    })
}
