//! Who waits for whom: pg_locks, pg_blocking_pids, quintet_waits; and what is in the way: quintet_contention.
//!
//! Relies on: the slots of sessions, the lock table, the lines and batches, each looked at by itself.  Promises: a wait
//! that stands still while it is looked at is told with those that keep it waiting, in all engines.  Does not:
//! tell keys, which are data, to whom pg_read_all_stats is not given; nor one moment of all.
//!
//! | wait | for whom |
//! |---|---|
//! | of a row | who has its lock, and who is before it in the lock's queue, where they cannot share |
//! | in line | the calls that it comes directly after, or those of an older catalogue |
//! | of an advisory lock | who has it, and who is before it in its line, where they cannot share |
//! | of a batch | who runs a batch of its line, or a call that waits for rows or was put out of one |

use super::activity::Asker;
use crate::activity::{Event, Slot, Stand};
use crate::advice::report;
use crate::advisory::{Key, KeyView};
use crate::contention::Told;
use crate::database::Inner;
use crate::whereabouts::{Whereabouts, whereabouts};
use quintet_base::value::Array;
use quintet_base::{Bytes, SpaceId, SqlError, SqlResult, SqlState, SqlType, TxnId, Value};
use quintet_sql::role::READ_ALL_STATS;
use quintet_tc::{LockView, Strength};
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

/// A session that waits.
struct Waiting {
    slot: Arc<Slot>,
    kind: &'static str,
    /// Of a row's lock.
    row: Option<(SpaceId, Bytes)>,
    /// Of an advisory lock.
    advisory: Option<Key>,
    strength: Strength,
    /// Numbers of sessions; 0: somebody who is no session.
    blockers: Vec<i32>,
}

/// Since when a session waits, and for whom.
struct Wait {
    since: i64,
    blockers: Vec<i32>,
}

/// Sessions of which each waits for the next, and the last for the first, which is `from`.
fn ring_through(waits: &HashMap<i32, Wait>, from: i32) -> Option<Vec<i32>> {
    let mut came_from: HashMap<i32, i32> = HashMap::new();
    let mut seen = vec![from];
    let mut at = 0;
    while let Some(&one) = seen.get(at) {
        at += 1;
        for &next in waits.get(&one).into_iter().flat_map(|wait| &wait.blockers) {
            if next == from {
                let back = std::iter::successors(Some(one), |one| came_from.get(one).copied());
                let mut ring: Vec<i32> = back.collect();
                ring.reverse();
                return Some(ring);
            }
            if !seen.contains(&next) {
                seen.push(next);
                came_from.insert(next, one);
            }
        }
    }
    None
}

impl Asker<'_> {
    /// Sessions that wait, with those they wait for.
    fn waiting(&self) -> Vec<Waiting> {
        let slots = self.db.activity.slots();
        let locks = self.db.tc.locks();
        let numbers = numbers_of(&slots);
        let mut waiting = Vec::new();
        for slot in &slots {
            let found = match slot.event() {
                Event::None | Event::Sleep | Event::Disk => None,
                Event::Row | Event::Table => row_wait(slot, &locks, &numbers),
                Event::Line => self.line_wait(slot, &slots),
                Event::Batch => batch_wait(slot, &slots),
                Event::Advisory => self.advisory_wait(slot, &slots),
            };
            waiting.extend(found);
        }
        waiting
    }

    /// The database that a session is in, if it is still there.
    fn database(&self, place: u32) -> Option<Arc<Inner>> {
        let all = self.db.house.all();
        all.into_iter().find(|db| db.place.number == place)
    }

    fn advisory_wait(&self, slot: &Arc<Slot>, slots: &[Arc<Slot>]) -> Option<Waiting> {
        advisory_wait(slot, &self.database(slot.place)?.advisory.views(), slots)
    }

    /// Whether the session, which stands in line for an advisory lock, waits for itself, by waits of any kind.
    ///
    /// The locks are looked at one after another, so what is seen once may never have been. A ring that is seen again, of waits
    /// that have gone on all the time, is one: who waits lets nothing go.
    pub(super) fn is_in_a_ring(&self, slot: &Arc<Slot>) -> bool {
        let first = self.who_waits(slot);
        let Some(ring) = ring_through(&first, slot.number) else {
            return false;
        };
        let again = self.who_waits(slot);
        ring.iter()
            .zip(ring.iter().cycle().skip(1))
            .all(|(one, next)| {
                let (before, now) = (first.get(one), again.get(one));
                let still =
                    now.filter(|now| before.is_some_and(|before| before.since == now.since));
                still.is_some_and(|now| now.blockers.contains(next))
            })
    }

    fn who_waits(&self, slot: &Arc<Slot>) -> HashMap<i32, Wait> {
        let mut waiting = self.waiting();
        // It is awake, to look.
        waiting.retain(|other| other.slot.number != slot.number);
        let slots = self.db.activity.slots();
        waiting.extend(self.advisory_wait(slot, &slots));
        let wait = |waiting: Waiting| {
            let own = waiting.slot.number == slot.number;
            let since = if own { 0 } else { waiting.slot.since() };
            let blockers = waiting.blockers;
            (waiting.slot.number, Wait { since, blockers })
        };
        waiting.into_iter().map(wait).collect()
    }

    fn line_wait(&self, slot: &Arc<Slot>, slots: &[Arc<Slot>]) -> Option<Waiting> {
        let Stand::Line { line, call } = slot.stand() else {
            return None;
        };
        let before = self.database(slot.place)?.chains.before(line, call)?;
        let is_before = |other: &&Arc<Slot>| match other.stand() {
            Stand::Line { line: its, call } if its == line && other.place == slot.place => {
                before.has(call)
            }
            _ => false,
        };
        Some(Waiting {
            kind: "line",
            row: None,
            advisory: None,
            strength: Strength::Exclusive,
            blockers: slots.iter().filter(is_before).map(|s| s.number).collect(),
            slot: Arc::clone(slot),
        })
    }

    /// In the order of pg_locks' columns.
    pub(super) fn locks(&self) -> Vec<Vec<Value>> {
        let slots = self.db.activity.slots();
        let whose = slots.iter().filter_map(|slot| Some((slot.txn()?, slot)));
        let whose: HashMap<TxnId, &Arc<Slot>> = whose.collect();
        let mut rows = Vec::new();
        for lock in self.db.tc.locks() {
            let held = lock.holders.iter().map(|held| (held, true));
            let queued = lock.queue.iter().map(|queued| (queued, false));
            for ((txn, strength), granted) in held.chain(queued) {
                rows.push(self.lock_row(
                    &lock,
                    (*txn, whose.get(txn).copied()),
                    *strength,
                    granted,
                ));
            }
        }
        for db in self.db.house.all() {
            let slot = |owner: u64| owner_of(&slots, db.place.number, owner);
            for view in db.advisory.views() {
                for (owner, shared) in &view.holders {
                    rows.push(self.advisory_row(view.key, slot(*owner), *shared, true));
                }
                for waiter in &view.line {
                    rows.push(self.advisory_row(
                        view.key,
                        slot(waiter.owner),
                        waiter.shared,
                        false,
                    ));
                }
            }
        }
        rows
    }

    fn lock_row(
        &self,
        lock: &LockView,
        (txn, slot): (TxnId, Option<&Arc<Slot>>),
        strength: Strength,
        granted: bool,
    ) -> Vec<Value> {
        let number = slot.map(|slot| slot.number);
        let waits = |slot: &&Arc<Slot>| matches!(slot.event(), Event::Row | Event::Table);
        let since = slot
            .filter(|_| !granted)
            .filter(waits)
            .map(|slot| slot.since());
        let place = whereabouts(&self.schema.catalog, lock.space, &lock.key);
        let whole = lock.key.is_empty();
        // Not where the row is, but the same for the same row, so that who holds it can be joined to who waits.
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one((lock.space, &lock.key));
        let mode = match (whole, strength) {
            (true, Strength::Exclusive) => "AccessExclusiveLock",
            (true, Strength::Shared) => "RowExclusiveLock",
            (false, Strength::Exclusive) => "ExclusiveLock",
            (false, Strength::Shared) => "RowShareLock",
        };
        let unless_whole = |value: Value| if whole { Value::Null } else { value };
        vec![
            Value::text(if whole { "relation" } else { "tuple" }),
            Value::Oid(self.database_there(slot)),
            place.map_or(Value::Null, |place| Value::Oid(place.number)),
            unless_whole(Value::Int4((hash >> 33) as i32)),
            unless_whole(Value::Int2((hash & 0x7fff) as i16)),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::text(format!("{}/{}", number.unwrap_or(0), txn.0)),
            number.map_or(Value::Null, Value::Int4),
            Value::text(mode),
            Value::Bool(granted),
            Value::Bool(false),
            since.map_or(Value::Null, Value::TimestampTz),
        ]
    }

    /// In the order of pg_locks' columns, with the parts of the key where PostgreSQL has them.
    fn advisory_row(
        &self,
        key: Key,
        slot: Option<&Arc<Slot>>,
        shared: bool,
        granted: bool,
    ) -> Vec<Value> {
        let number = slot.map(|slot| slot.number);
        let since = slot.filter(|_| !granted).map(|slot| slot.since());
        let (class, object, kind) = match key {
            Key::One(number) => ((number >> 32) as u32, number as u32, 1),
            Key::Two(a, b) => (a as u32, b as u32, 2),
        };
        vec![
            Value::text("advisory"),
            Value::Oid(self.database_there(slot)),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Oid(class),
            Value::Oid(object),
            Value::Int2(kind),
            Value::text(format!("{}/0", number.unwrap_or(0))),
            number.map_or(Value::Null, Value::Int4),
            Value::text(if shared { "ShareLock" } else { "ExclusiveLock" }),
            Value::Bool(granted),
            Value::Bool(false),
            since.map_or(Value::Null, Value::TimestampTz),
        ]
    }

    /// In the order of quintet_waits' columns.
    pub(super) fn waits(&self) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        for waiting in self.waiting() {
            let row = waiting.row.as_ref();
            let place = row
                .and_then(|(space, key)| whereabouts(&self.schema.catalog, *space, key.as_ref()));
            let is_lock = row.is_some() || waiting.advisory.is_some();
            let mode = is_lock.then_some(match waiting.strength {
                Strength::Exclusive => "exclusive",
                Strength::Shared => "shared",
            });
            let blockers: Vec<Option<i32>> = match waiting.blockers.is_empty() {
                true => vec![None],
                false => waiting.blockers.iter().copied().map(Some).collect(),
            };
            for blocker in blockers {
                let blocker = blocker.filter(|number| *number != 0);
                let mut cells = vec![
                    Value::Int4(waiting.slot.number),
                    blocker.map_or(Value::Null, Value::Int4),
                    Value::text(waiting.kind),
                ];
                cells.extend(match waiting.advisory.filter(|_| self.sees_keys()) {
                    Some(Key::One(number)) => [Value::Null, Value::text(number.to_string())],
                    Some(Key::Two(a, b)) => [Value::Null, Value::text(format!("({a}, {b})"))],
                    None => self.place_cells(place.as_ref()),
                });
                cells.push(mode.map_or(Value::Null, Value::text));
                cells.push(Value::TimestampTz(waiting.slot.since()));
                rows.push(cells);
            }
        }
        rows
    }

    /// Relation and key.
    fn place_cells(&self, place: Option<&Whereabouts>) -> [Value; 2] {
        let relation = place.map_or(Value::Null, |place| Value::Oid(place.number));
        let row = place.and_then(|place| place.row.as_deref());
        let key = row.filter(|_| self.sees_keys());
        [relation, key.map_or(Value::Null, Value::text)]
    }

    fn sees_keys(&self) -> bool {
        let roles = self.schema.catalog.roles();
        roles.has_privileges_of(self.role, READ_ALL_STATS)
    }

    /// Whom a session waits for.
    fn blockers(&self, number: i32) -> Vec<i32> {
        let waiting = self.waiting();
        let found = waiting
            .into_iter()
            .find(|waiting| waiting.slot.number == number);
        found.map_or(Vec::new(), |waiting| waiting.blockers)
    }

    /// In the order of quintet_contention's columns.
    pub(super) fn contention(&self) -> Vec<Vec<Value>> {
        let milliseconds = |micros: u64| Value::Float8(micros as f64 / 1e3);
        let row = |told: Told| {
            let place = whereabouts(&self.schema.catalog, told.space, &told.key);
            let [relation, key] = self.place_cells(place.as_ref());
            let other = told.other.map(|other| Value::text(&*other.text));
            vec![
                Value::text(told.kind.name()),
                relation,
                key,
                Value::text(&*told.procedure.text),
                other.unwrap_or(Value::Null),
                Value::Int8(i64::try_from(told.events).unwrap_or(i64::MAX)),
                milliseconds(told.lost_micros),
                milliseconds(told.excess_micros),
                Value::TimestampTz(told.last),
            ]
        };
        self.db.contention.told().into_iter().map(row).collect()
    }

    fn report(&self) -> Vec<String> {
        let sees = self.sees_keys();
        let place = |told: &Told| {
            let place = whereabouts(&self.schema.catalog, told.space, &told.key);
            match place {
                None => "a relation that is gone".to_string(),
                Some(Whereabouts { name, row, .. }) => match row.filter(|_| sees) {
                    Some(row) => format!("{name} {row}"),
                    None => name,
                },
            }
        };
        report(&self.db.contention.told(), place)
    }

    /// What a function about waits says; `None`: it is no such function.
    ///
    /// # Errors
    /// `42501` for who may not forget.
    pub(super) fn wait_function(
        &self,
        name: &str,
        arguments: &[&Value],
    ) -> SqlResult<Option<Value>> {
        let number = arguments.first().and_then(|value| value.as_i64());
        let number = number.and_then(|number| i32::try_from(number).ok());
        Ok(Some(match name {
            "pg_blocking_pids" => {
                let mut blockers = self.blockers(number.unwrap_or(0));
                blockers.sort_unstable();
                blockers.dedup();
                integers(blockers)
            }
            "pg_isolation_test_session_is_blocked" => {
                let blockers = self.blockers(number.unwrap_or(0));
                let asked = match arguments.get(1) {
                    Some(Value::Array(array)) => array.values.as_slice(),
                    _ => &[],
                };
                let mut asked = asked.iter().filter_map(|value| value.as_i64());
                Value::Bool(asked.any(|asked| blockers.iter().any(|b| i64::from(*b) == asked)))
            }
            "quintet_contention_reset" => {
                if !self.schema.catalog.roles().is_superuser(self.role) {
                    return Err(SqlError::new(
                        SqlState::INSUFFICIENT_PRIVILEGE,
                        "permission denied for function quintet_contention_reset",
                    ));
                }
                self.db.contention.reset();
                Value::Text("".into())
            }
            "quintet_contention_report" => Value::Array(Box::new(Array {
                shape: None,
                element: SqlType::Text,
                values: self.report().iter().map(Value::text).collect(),
            })),
            _ => return Ok(None),
        }))
    }
}

/// Sessions by the transactions that they have.
fn numbers_of(slots: &[Arc<Slot>]) -> HashMap<TxnId, i32> {
    let of = |slot: &Arc<Slot>| Some((slot.txn()?, slot.number));
    slots.iter().filter_map(of).collect()
}

fn row_wait(
    slot: &Arc<Slot>,
    locks: &[LockView],
    numbers: &HashMap<TxnId, i32>,
) -> Option<Waiting> {
    let txn = slot.txn()?;
    let is_in = |lock: &&LockView| lock.queue.iter().any(|(waiter, _)| *waiter == txn);
    // None: it has been granted, and goes on.
    let lock = locks.iter().find(is_in)?;
    let own = lock.queue.iter().find(|(waiter, _)| *waiter == txn)?;
    let blockers = lock.blockers(txn).into_iter();
    Some(Waiting {
        slot: Arc::clone(slot),
        kind: "row",
        row: Some((lock.space, lock.key.clone())),
        advisory: None,
        strength: own.1,
        blockers: blockers
            .map(|txn| numbers.get(&txn).copied().unwrap_or(0))
            .collect(),
    })
}

fn batch_wait(slot: &Arc<Slot>, slots: &[Arc<Slot>]) -> Option<Waiting> {
    let Stand::Batch { line } = slot.stand() else {
        return None;
    };
    let runs =
        |other: &&Arc<Slot>| other.place == slot.place && other.stand() == Stand::Leads { line };
    Some(Waiting {
        slot: Arc::clone(slot),
        kind: "batch",
        row: None,
        advisory: None,
        strength: Strength::Exclusive,
        blockers: slots.iter().filter(runs).map(|s| s.number).collect(),
    })
}

/// The session that has this number among the owners of advisory locks of its database.
fn owner_of(slots: &[Arc<Slot>], place: u32, owner: u64) -> Option<&Arc<Slot>> {
    let mut there = slots.iter().filter(|slot| slot.place == place);
    there.find(|slot| slot.owner.get() == Some(&owner))
}

fn advisory_wait(slot: &Arc<Slot>, views: &[KeyView], slots: &[Arc<Slot>]) -> Option<Waiting> {
    let owner = *slot.owner.get()?;
    let mut lines = views
        .iter()
        .flat_map(|view| view.line.iter().map(|waiter| (view.key, waiter)));
    // None: it has been granted, and goes on.
    let (key, waiter) = lines.find(|(_, waiter)| waiter.owner == owner)?;
    let before = waiter.before.iter();
    let blockers = before.filter_map(|owner| Some(owner_of(slots, slot.place, *owner)?.number));
    Some(Waiting {
        slot: Arc::clone(slot),
        kind: "advisory",
        row: None,
        advisory: Some(key),
        strength: match waiter.shared {
            true => Strength::Shared,
            false => Strength::Exclusive,
        },
        blockers: blockers.collect(),
    })
}

fn integers(values: Vec<i32>) -> Value {
    Value::Array(Box::new(Array {
        shape: None,
        element: SqlType::Int4,
        values: values.into_iter().map(Value::Int4).collect(),
    }))
}
