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

use crate::contention::Label;
use crate::session::Prepared;
use parking_lot::{Mutex, RwLock};
use quintet_base::{RoleId, Timestamp, TxnId};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering};
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
    /// Another transaction that writes to a table whose schema is to be changed, or changes it.
    Table,
    /// Calls before it in line.
    Line,
    /// An answer from its batch.
    Batch,
    /// An advisory lock.
    Advisory,
    /// The time that it has said.
    Sleep,
    /// The log to be durable.
    Disk,
}

impl Event {
    const ALL: [Event; 8] = [
        Event::None,
        Event::Row,
        Event::Table,
        Event::Line,
        Event::Batch,
        Event::Advisory,
        Event::Sleep,
        Event::Disk,
    ];

    /// Kind and name, as pg_stat_activity has them.
    pub fn names(self) -> Option<(&'static str, &'static str)> {
        match self {
            Event::None => None,
            Event::Row => Some(("Lock", "tuple")),
            Event::Table => Some(("Lock", "relation")),
            Event::Line => Some(("Lock", "Line")),
            Event::Batch => Some(("Lock", "Batch")),
            Event::Advisory => Some(("Lock", "advisory")),
            Event::Sleep => Some(("Timeout", "PgSleep")),
            Event::Disk => Some(("IO", "WALSync")),
        }
    }
}

/// Where a session stands in a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stand {
    /// In none.
    Nowhere,
    /// Its call is in the line of chains, waiting or under way.
    Line { line: usize, call: u64 },
    /// Its call is to be in a batch of this line.
    Batch { line: usize },
    /// It runs a batch of this line, waits for rows that one needs, or runs a call that was put out; others wait for it.
    Leads { line: usize },
}

impl Stand {
    /// As a number: kind, line, call.
    fn packed(self) -> u64 {
        match self {
            Stand::Nowhere => 0,
            Stand::Line { line, call } => call << 3 | (line as u64) << 2 | 1,
            Stand::Batch { line } => (line as u64) << 2 | 2,
            Stand::Leads { line } => (line as u64) << 2 | 3,
        }
    }

    fn unpacked(packed: u64) -> Stand {
        let line = (packed >> 2 & 1) as usize;
        match packed & 3 {
            1 => Stand::Line {
                line,
                call: packed >> 3,
            },
            2 => Stand::Batch { line },
            3 => Stand::Leads { line },
            _ => Stand::Nowhere,
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
    /// The number of that database. Lines, batches and owners of advisory locks have numbers of their own in each.
    pub place: u32,
    pub client: Option<SocketAddr>,
    pub opened: i64,
    pub shown: Mutex<Shown>,
    /// An [`Event`], and since when. Written by the session, read by who looks; nothing hangs on their order.
    event: AtomicU8,
    since: AtomicI64,
    /// Number of its transaction, 0 for none; the same.
    txn: AtomicU64,
    /// A [`Stand`]; the same.
    stand: AtomicU64,
    /// The [`Label`] of what it runs; the same.
    label: AtomicU32,
    /// Its last commit, and whose that was; the same: who looks asks for a commit that has just been.
    committed: AtomicU64,
    committed_label: AtomicU32,
    /// Its number among the owners of advisory locks. Set by the session, once.
    pub owner: OnceLock<u64>,
    pub cancel: Arc<AtomicBool>,
    /// Set by the door, once.
    pub interrupted: OnceLock<Interrupted>,
}

impl Slot {
    /// It waits, or does not any more.
    pub fn waits(&self, event: Event, since: i64) {
        self.since.store(since, Ordering::Relaxed);
        self.event.store(event as u8, Ordering::Relaxed);
    }

    /// What it waits for.
    pub fn event(&self) -> Event {
        Event::ALL[usize::from(self.event.load(Ordering::Relaxed))]
    }

    /// Since when it waits.
    pub fn since(&self) -> i64 {
        self.since.load(Ordering::Relaxed)
    }

    /// It stands here from now on.
    pub fn stands(&self, stand: Stand) {
        self.stand.store(stand.packed(), Ordering::Relaxed);
    }

    /// Where it stands.
    pub fn stand(&self) -> Stand {
        Stand::unpacked(self.stand.load(Ordering::Relaxed))
    }

    /// It runs something of this name from now on.
    pub fn is_labelled(&self, label: Label) {
        self.label.store(label.0, Ordering::Relaxed);
    }

    /// What it runs, or has run in the transaction that is open.
    pub fn label(&self) -> Label {
        Label(self.label.load(Ordering::Relaxed))
    }

    /// It has committed.
    pub fn has_committed(&self, timestamp: Timestamp, label: Label) {
        self.committed_label.store(label.0, Ordering::Relaxed);
        self.committed.store(timestamp.0, Ordering::Relaxed);
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
    pub place: u32,
    pub client: Option<SocketAddr>,
    pub application_name: String,
}

/// All sessions of all databases of a directory.
#[derive(Default)]
pub(crate) struct Activity {
    slots: RwLock<BTreeMap<i32, Arc<Slot>>>,
    /// Sessions that ever were.
    opened: AtomicU64,
}

/// A session's slot; given back when dropped.
pub(crate) struct Present {
    activity: Arc<Activity>,
    pub slot: Arc<Slot>,
}

impl Activity {
    /// How many sessions there have been.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// A session begins. `number`: how it is to be called; 0, or one that is taken: it gets another.
    pub fn enter(
        self: &Arc<Activity>,
        number: i32,
        who: Who,
        cancel: &Arc<AtomicBool>,
        now: i64,
    ) -> Present {
        self.opened.fetch_add(1, Ordering::Relaxed);
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
            place: who.place,
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
            since: AtomicI64::new(0),
            txn: AtomicU64::new(0),
            stand: AtomicU64::new(0),
            label: AtomicU32::new(0),
            committed: AtomicU64::new(0),
            committed_label: AtomicU32::new(0),
            owner: OnceLock::new(),
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

    /// What the session runs that has this transaction, if one has.
    pub fn label_of_txn(&self, txn: TxnId) -> Label {
        let slots = self.slots.read();
        let mut slots = slots.values();
        let found = slots.find(|slot| slot.txn() == Some(txn));
        found.map_or(Label::default(), |slot| slot.label())
    }

    /// Whose commit this was, if the session has not committed another since.
    pub fn label_of_commit(&self, timestamp: Timestamp) -> Label {
        let slots = self.slots.read();
        let mut slots = slots.values();
        let is_it = |slot: &&Arc<Slot>| slot.committed.load(Ordering::Relaxed) == timestamp.0;
        let label = slots
            .find(is_it)
            .map(|slot| slot.committed_label.load(Ordering::Relaxed));
        Label(label.unwrap_or(0))
    }

    /// What the first session of a database runs whose call in a line is one of these.
    pub fn label_in_line(&self, place: u32, line: usize, is_it: impl Fn(u64) -> bool) -> Label {
        let slots = self.slots.read();
        let mut slots = slots.values().filter(|slot| slot.place == place);
        let found = slots.find(|slot| match slot.stand() {
            Stand::Line { line: its, call } => its == line && is_it(call),
            _ => false,
        });
        found.map_or(Label::default(), |slot| slot.label())
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
            place: 0,
            client: None,
            application_name: String::new(),
        };
        activity.enter(number, who, &Arc::default(), 0)
    }

    #[test]
    fn a_stand_is_read_as_it_was_written() {
        let stands = [
            Stand::Nowhere,
            Stand::Line { line: 1, call: 77 },
            Stand::Line {
                line: 0,
                call: 1 << 60,
            },
            Stand::Batch { line: 1 },
            Stand::Leads { line: 0 },
        ];
        for stand in stands {
            assert_eq!(Stand::unpacked(stand.packed()), stand);
        }
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
