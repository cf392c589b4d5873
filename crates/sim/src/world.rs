//! Everything that is simulated, and who acts next.
//!
//! Relies on: one thread.  Promises: one seed is one run; every choice comes from the seed's generator.
//! Does not: compare with the model; `statement`, `commit` and `lives` do.
//!
//! ```text
//!   step ──► a client's statement or commit ──┐
//!     │ ├──► the log's writer, its keeper     │ at a point inside: `inside` lets others step
//!     │ ├──► a pass, a range to be warmed ────┘ (not whom the interrupted one would wait for)
//!     │ └──► time, faults to come, a full disk
//!     └────► the end of a life, and the next one
//! ```

use crate::client::Client;
use crate::inside::Interrupted;
use crate::machine::{End, Life, Machine};
use crate::model::{Key, Model};
use crate::profile::Profile;
use crate::spaces::Spaces;
use crate::store::Fault;
use crate::trace::Trace;
use crate::{Mistake, Seen};
use quintet_base::{Bytes, Level};
use quintet_rt::{Disk, Rand};
use quintet_tc::{Wait, WarmStep};
use quintet_wal::Durable;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A commit whose answer waits for the disk.
pub(crate) struct Unanswered {
    pub client: u64,
    pub wait: Durable,
}

/// See the file's header.
pub(crate) struct World {
    pub profile: Profile,
    pub mistake: Option<Mistake>,
    pub rand: RefCell<Rand>,
    pub trace: RefCell<Trace>,
    pub model: RefCell<Model>,
    pub spaces: RefCell<Spaces>,
    pub seen: RefCell<Seen>,
    pub machine: RefCell<Machine>,
    pub life: RefCell<Option<Rc<Life>>>,
    pub clients: RefCell<Vec<Option<Client>>>,
    pub unanswered: RefCell<Vec<Unanswered>>,
    pub interrupted: RefCell<Vec<Interrupted>>,
    /// Keys of the commits that have been called and have not returned, the innermost last.
    pub committing: RefCell<Vec<Rc<BTreeSet<Key>>>>,
    /// Where the last life began; under durability `none` a power loss keeps no more for certain.
    pub opened_at: Cell<u64>,
    /// The next life must begin at or above, and at or below.
    pub floor: Cell<u64>,
    pub last_end: Cell<u64>,
    /// What the next life keeps also if the power fails before it has begun.
    pub synced: Cell<u64>,
    /// Nobody acts inside of others any more.
    pub quiet: Cell<bool>,
    /// Something was planned to go wrong in this life.
    pub faulted: Cell<bool>,
    failure: RefCell<Option<String>>,
    number: Cell<u64>,
}

/// Asks a future that wakes nobody.
pub(crate) fn poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    match Pin::new(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Notes an event.
macro_rules! note {
    ($world:expr, $($event:tt)*) => {
        $world.trace.borrow_mut().note(format_args!($($event)*))
    };
}
pub(crate) use note;

impl World {
    pub fn new(seed: u64, mistake: Option<Mistake>, keep_lines: usize) -> World {
        let mut rand = Rand::seeded(seed);
        let profile = Profile::drawn(&mut rand);
        let world = World {
            clients: RefCell::new((0..profile.clients).map(|_| None).collect()),
            machine: RefCell::new(Machine::new(&mut rand)),
            spaces: RefCell::new(Spaces::new(profile.spaces)),
            profile,
            mistake,
            rand: RefCell::new(rand),
            trace: RefCell::new(Trace::new(keep_lines)),
            model: RefCell::default(),
            seen: RefCell::default(),
            life: RefCell::default(),
            unanswered: RefCell::default(),
            interrupted: RefCell::default(),
            committing: RefCell::default(),
            opened_at: Cell::new(0),
            floor: Cell::new(0),
            last_end: Cell::new(0),
            synced: Cell::new(0),
            quiet: Cell::new(false),
            faulted: Cell::new(false),
            failure: RefCell::default(),
            number: Cell::new(0),
        };
        note!(world, "seed {seed}: {:?}", world.profile);
        world
    }

    /// The whole run.
    pub fn run(&self) -> Result<(), String> {
        self.open();
        for _ in 0..self.profile.steps {
            if self.has_failed() {
                break;
            }
            if self.one_in(self.profile.crash_every) || self.is_poisoned() && self.one_in(10) {
                self.crash();
            } else {
                self.step();
            }
        }
        if !self.has_failed() {
            self.settle();
        }
        let failure = self.failure.take();
        failure.map_or(Ok(()), Err)
    }

    /// One step of somebody, at the top or inside of another's.
    pub fn step(&self) {
        let Some(life) = self.life() else { return };
        if self.one_in(self.profile.pass_every) {
            return self.pass(&life);
        }
        if self.one_in(self.profile.write_every) {
            return self.write(&life);
        }
        if self.one_in(self.profile.fault_every) {
            return self.plan_fault(&life);
        }
        match self.below(60) {
            0 => life.clock.advance(Duration::from_micros(self.below(4000))),
            1 | 2 => {
                let made = life.driver.make_segment();
                note!(self, "keeper: {made}");
            }
            3 => self.look_at_everything(&life),
            4 if self.one_in(3) => self.replace_space(&life),
            5..9 => self.warm(&life),
            _ => self.client(&life),
        }
        self.answer();
    }

    fn pass(&self, life: &Life) {
        if self.pass_would_wait() {
            return;
        }
        let before = life.tc.stats();
        let forced = self.one_in(4);
        let done = if forced {
            note!(self, "pass begins");
            let result = life.tc.compact();
            if let Err(reason) = &result {
                self.seen.borrow_mut().failed_passes += 1;
                if !self.faulted.get() {
                    self.fail(format!("a pass failed without a reason: {reason}"));
                }
            }
            true
        } else {
            life.tc.compact_if_wanted()
        };
        if done {
            let after = life.tc.stats();
            let mut seen = self.seen.borrow_mut();
            seen.passes += 1;
            seen.posts += u64::from(after.compactions > before.compactions);
            seen.reclaims += u64::from(after.buffer_bytes < before.buffer_bytes);
            seen.evictions += u64::from(after.records < before.records);
            seen.generations_kept += u64::from(after.generations > 1);
            drop(seen);
            let (records, bytes) = (after.records, after.record_bytes);
            let (dirty, buffers) = (after.dirty_bytes, after.buffer_bytes);
            note!(
                self,
                "pass ends: {records} records, {bytes} bytes, {dirty} dirty, {buffers} in buffers"
            );
        }
    }

    /// A range of what STORE has comes into memory.
    fn warm(&self, life: &Life) {
        if self.warming_would_wait() {
            return;
        }
        note!(self, "warming begins");
        let step = life.tc.warm_some();
        note!(self, "warming: {step:?}");
        if let WarmStep::Done(warmed) = step {
            let mut seen = self.seen.borrow_mut();
            seen.warmed += warmed.records;
            seen.made_whole += warmed.spaces as u64;
        }
    }

    fn write(&self, life: &Life) {
        if self.writer_would_wait() {
            return;
        }
        let well = life.driver.write();
        note!(self, "writer: {well}, durable {}", life.log.durable());
        self.answer();
    }

    /// Something will go wrong soon.
    fn plan_fault(&self, life: &Life) {
        let at = 1 + self.below(20);
        let which = self.below(8);
        if life.disk.exists(Path::new("/")).is_err() {
            return; // The power is off, and planning anew would turn it on again.
        }
        note!(self, "fault {which} at {at}");
        self.faulted.set(true);
        match which {
            0 | 1 => life.disk.power_off_at_change(at),
            2 => life.disk.fail_write(at),
            3 => life.disk.fail_sync(at),
            4 => {
                let more = self.below(64 << 10);
                life.disk.set_capacity(Some(life.disk.used_bytes() + more));
            }
            5 => life.store.plan(Fault::Merge(at - 1)),
            6 => life.store.plan(Fault::CheckpointBefore),
            _ => life.store.plan(Fault::CheckpointAfter),
        }
        if which != 4 && self.one_in(2) {
            life.disk.set_capacity(None);
        }
    }

    /// Tells clients whose commits have become durable.
    pub fn answer(&self) {
        let mut waiting = std::mem::take(&mut *self.unanswered.borrow_mut());
        waiting.retain_mut(|commit| match poll(&mut commit.wait) {
            None => true,
            Some(outcome) => {
                let lsn = commit.wait.lsn();
                note!(
                    self,
                    "{}: answered {lsn}: {}",
                    commit.client,
                    outcome.is_ok()
                );
                self.seen.borrow_mut().answered += u64::from(outcome.is_ok());
                false
            }
        });
        self.unanswered.borrow_mut().extend(waiting);
    }

    /// A client acts, or comes.
    fn client(&self, life: &Rc<Life>) {
        let slot = self.below(self.profile.clients as u64) as usize;
        if self.interrupted.borrow().len() > 2 {
            return;
        }
        // Taken out while it acts: nobody else can use it from inside.
        let client = self.clients.borrow_mut()[slot].take();
        let client = match client {
            Some(client) => self.act(life, client),
            // Inside of others rather whoever is there.
            None if !self.interrupted.borrow().is_empty() && self.one_in(2) => None,
            None => {
                let level = self.profile.level;
                let level = level.unwrap_or_else(|| Level::ALL[self.below(3) as usize]);
                let mut client = Client::new(self.next_number(), level, life.tc.begin(level));
                self.learn_schema(&mut client);
                note!(
                    self,
                    "{}: begin {level} at {}",
                    client.number,
                    client.snapshot
                );
                self.check_new_snapshot(client.snapshot);
                Some(client)
            }
        };
        if let Some(client) = client {
            // Somebody may have come to the place meanwhile.
            let mut clients = self.clients.borrow_mut();
            match clients.iter_mut().find(|place| place.is_none()) {
                Some(place) => *place = Some(client),
                None => note!(self, "{}: leaves", client.number),
            }
        }
    }

    /// Whoever has been answered is seen by everybody who comes afterwards.
    pub fn check_new_snapshot(&self, snapshot: u64) {
        let newest = self.model.borrow().newest();
        if snapshot < newest {
            self.fail(format!(
                "a snapshot at {snapshot} misses the commit {newest}"
            ));
        }
    }

    fn crash(&self) {
        let end = match self.below(8) {
            0..5 => End::Power,
            5 | 6 => End::Kill,
            _ => End::Shutdown,
        };
        self.end_life(end);
        if !self.has_failed() {
            self.open();
        }
    }

    // ---- small things --------------------------------------------------------------------------

    pub fn life(&self) -> Option<Rc<Life>> {
        self.life.borrow().clone()
    }

    pub fn is_poisoned(&self) -> bool {
        self.life().is_some_and(|life| life.log.is_poisoned())
    }

    /// Ends the run; the first reason counts.
    pub fn fail(&self, reason: String) {
        note!(self, "FAILED: {reason}");
        self.failure.borrow_mut().get_or_insert(reason);
    }

    pub fn has_failed(&self) -> bool {
        self.failure.borrow().is_some()
    }

    pub fn below(&self, n: u64) -> u64 {
        self.rand.borrow_mut().below(n)
    }

    pub fn one_in(&self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn next_number(&self) -> u64 {
        self.number.set(self.number.get() + 1);
        self.number.get()
    }

    pub fn some_key(&self) -> Bytes {
        format!("key {:03}", self.below(self.profile.keys)).into()
    }

    pub fn some_value(&self) -> Bytes {
        let len = self.below(self.profile.value_bytes_max) as usize;
        if self.one_in(20) {
            return Bytes::new();
        }
        let mut value = format!("{} ", self.next_number()).into_bytes();
        value.resize(len.max(value.len()), b'.');
        value.into()
    }

    /// True when the wait is over.
    pub fn is_over(wait: &mut Wait) -> bool {
        poll(wait).is_some()
    }
}
