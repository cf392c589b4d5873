//! Who is connected and what they do: a slot for each session, which others read.
//!
//! Relies on: each session writes its own slot, and takes it back when it ends.  Promises: a statement costs its
//! session two locks that nobody else wants, and two references; nothing is copied until somebody looks.
//! Does not: decide who may see what (`session::activity` does); a row may be a moment old when it is read.
//!
//! ```text
//!            execute                  wait                 go on               sync
//!   Idle ──────────────► Active ─────────────► waits ─────────────► Active ──────────► Idle,
//!    ▲                                                                          InTransaction, Aborted
//!    └── the slot is made with the session, and goes with it
//! ```
//!
//! Lock order: the map of slots, then a slot; both are leaves otherwise.

use crate::session::Prepared;
use parking_lot::{Mutex, RwLock};
use quintet_base::{RoleId, TxnId};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Sessions that come with no number of their own get them from here up, far from those of connections.
const FIRST_OWN_NUMBER: i32 = 1 << 30;

/// What a session does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Nothing, outside of a transaction.
    Idle,
    /// A statement.
    Active,
    /// Nothing, in a transaction.
    InTransaction,
    /// Nothing, in a transaction that has failed.
    Aborted,
}

impl State {
    /// As pg_stat_activity has it.
    pub fn name(self) -> &'static str {
        match self {
            State::Idle => "idle",
            State::Active => "active",
            State::InTransaction => "idle in transaction",
            State::Aborted => "idle in transaction (aborted)",
        }
    }
}

/// What an active session waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// Nothing.
    None,
    /// Another transaction's row lock.
    Row,
    /// Calls before it in line.
    Line,
    /// An answer from its batch.
    Batch,
    /// An advisory lock.
    Advisory,
    /// The log to be durable.
    Disk,
}

impl Event {
    const ALL: [Event; 6] = [
        Event::None,
        Event::Row,
        Event::Line,
        Event::Batch,
        Event::Advisory,
        Event::Disk,
    ];

    /// Kind and name, as pg_stat_activity has them.
    pub fn names(self) -> Option<(&'static str, &'static str)> {
        match self {
            Event::None => None,
            Event::Row => Some(("Lock", "tuple")),
            Event::Line => Some(("Lock", "Line")),
            Event::Batch => Some(("Lock", "Batch")),
            Event::Advisory => Some(("Lock", "advisory")),
            Event::Disk => Some(("IO", "WALSync")),
        }
    }
}

/// What others want of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interrupt {
    /// Its statement ends with 57014.
    Cancel,
    /// It ends.
    Terminate,
}

/// How a session is told; false: it cannot be.
pub(crate) type Interrupted = Box<dyn Fn(Interrupt) -> bool + Send + Sync>;

/// What a session says of itself.
pub(crate) struct Shown {
    pub state: State,
    /// Since when, in microseconds as all times here.
    pub changed: i64,
    /// When its transaction began, if there is one.
    pub transaction: Option<i64>,
    /// When its last statement began.
    pub query_began: Option<i64>,
    /// Its last statement.
    pub prepared: Option<Arc<Prepared>>,
    /// As it was sent, if it was planned without its literals.
    pub text: Option<Arc<str>>,
    pub application_name: String,
}

/// A session as others see it.
pub(crate) struct Slot {
    pub number: i32,
    /// Who has logged in.
    pub user: String,
    pub role: RoleId,
    pub database: String,
    pub client: Option<SocketAddr>,
    pub opened: i64,
    pub shown: Mutex<Shown>,
    /// An [`Event`]. Written by the session, read by who looks; nothing hangs on their order.
    event: AtomicU8,
    /// Number of its transaction, 0 for none; the same.
    txn: AtomicU64,
    pub cancel: Arc<AtomicBool>,
    /// Set by the door, once.
    pub interrupted: OnceLock<Interrupted>,
}

impl Slot {
    /// It waits, or does not any more.
    pub fn waits(&self, event: Event) {
        self.event.store(event as u8, Ordering::Relaxed);
    }

    /// What it waits for.
    pub fn event(&self) -> Event {
        Event::ALL[usize::from(self.event.load(Ordering::Relaxed))]
    }

    /// It has this transaction from now on.
    pub fn runs(&self, txn: Option<TxnId>) {
        let number = txn.map_or(0, |txn| txn.0);
        self.txn.store(number, Ordering::Relaxed);
    }

    /// Its transaction, which may have ended a moment ago.
    pub fn txn(&self) -> Option<TxnId> {
        match self.txn.load(Ordering::Relaxed) {
            0 => None,
            number => Some(TxnId(number)),
        }
    }

    /// Tells the session; false: it cannot be told.
    pub fn interrupt(&self, interrupt: Interrupt) -> bool {
        match (self.interrupted.get(), interrupt) {
            (Some(tell), interrupt) => tell(interrupt),
            (None, Interrupt::Cancel) => {
                self.cancel.store(true, Ordering::Release);
                true
            }
            (None, Interrupt::Terminate) => false,
        }
    }
}

/// Who opens a session, as it is shown.
pub(crate) struct Who {
    pub user: String,
    pub role: RoleId,
    pub database: String,
    pub client: Option<SocketAddr>,
    pub application_name: String,
}

/// All sessions of a database.
#[derive(Default)]
pub(crate) struct Activity {
    slots: RwLock<BTreeMap<i32, Arc<Slot>>>,
}

/// A session's slot; given back when dropped.
pub(crate) struct Present {
    activity: Arc<Activity>,
    pub slot: Arc<Slot>,
}

impl Activity {
    /// A session begins. `number`: how it is to be called; 0, or one that is taken: it gets another.
    pub fn enter(
        self: &Arc<Activity>,
        number: i32,
        who: Who,
        cancel: &Arc<AtomicBool>,
        now: i64,
    ) -> Present {
        let mut slots = self.slots.write();
        let number = match number {
            wanted if wanted != 0 && !slots.contains_key(&wanted) => wanted,
            _ => {
                let last = slots.range(FIRST_OWN_NUMBER..).next_back();
                let after = last.map_or(FIRST_OWN_NUMBER, |(last, _)| last.wrapping_add(1));
                let mut free = (after.max(FIRST_OWN_NUMBER)..=i32::MAX)
                    .chain(FIRST_OWN_NUMBER..after.max(FIRST_OWN_NUMBER));
                let free = free.find(|number| !slots.contains_key(number));
                free.expect("there are fewer sessions than numbers")
            }
        };
        let slot = Arc::new(Slot {
            number,
            user: who.user,
            role: who.role,
            database: who.database,
            client: who.client,
            opened: now,
            shown: Mutex::new(Shown {
                state: State::Idle,
                changed: now,
                transaction: None,
                query_began: None,
                prepared: None,
                text: None,
                application_name: who.application_name,
            }),
            event: AtomicU8::new(Event::None as u8),
            txn: AtomicU64::new(0),
            cancel: Arc::clone(cancel),
            interrupted: OnceLock::new(),
        });
        slots.insert(number, Arc::clone(&slot));
        Present {
            activity: Arc::clone(self),
            slot,
        }
    }

    /// All sessions, by their numbers.
    pub fn slots(&self) -> Vec<Arc<Slot>> {
        self.slots.read().values().cloned().collect()
    }

    /// The session of this number.
    pub fn slot(&self, number: i32) -> Option<Arc<Slot>> {
        self.slots.read().get(&number).cloned()
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.activity.slots.write().remove(&self.slot.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(activity: &Arc<Activity>, number: i32) -> Present {
        let who = Who {
            user: "u".into(),
            role: RoleId::BOOTSTRAP,
            database: "d".into(),
            client: None,
            application_name: String::new(),
        };
        activity.enter(number, who, &Arc::default(), 0)
    }

    #[test]
    fn numbers_are_never_those_of_two_sessions() {
        let activity = Arc::new(Activity::default());
        let first = enter(&activity, 7);
        let same = enter(&activity, 7);
        let own = enter(&activity, 0);
        assert_eq!(first.slot.number, 7);
        assert_eq!(same.slot.number, FIRST_OWN_NUMBER);
        assert_eq!(own.slot.number, FIRST_OWN_NUMBER + 1);
        drop(first);
        assert!(activity.slot(7).is_none(), "it has ended");
        let last = enter(&activity, i32::MAX);
        let beyond = enter(&activity, 0);
        assert_eq!(beyond.slot.number, FIRST_OWN_NUMBER + 2, "from the start");
        drop((same, own, last, beyond));
        assert!(activity.slots().is_empty());
    }
}
