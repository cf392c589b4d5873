//! Openings, crashes, and what must be there after them.
//!
//! Relies on: the model.  Promises: after every opening the database is the state at one timestamp,
//! which is at or above everything that was durable; or the run fails.  Does not: say how a crash goes;
//! the disk and the store do.

use crate::machine::{End, Life};
use crate::model::{Range, Writes};
use crate::world::{World, note};
use quintet_base::{Bytes, Durability, Level};
use quintet_dc::{Direction, KeyRange};
use quintet_rt::Rand;
use std::ops::Bound;
use std::rc::Rc;

/// Openings that are cut short before one is left in peace.
const CUT_SHORT_MAX: u64 = 3;

impl World {
    /// Ends the present life and settles what may be missing from the next.
    pub fn end_life(&self, end: End) {
        self.answer();
        self.clients
            .borrow_mut()
            .iter_mut()
            .for_each(|client| *client = None);
        let Some(life) = self.life.take() else { return };
        let Ok(life) = Rc::try_unwrap(life) else {
            return self.fail("somebody still lives".into());
        };
        let (durable, last) = (life.log.durable().0, life.log.end().0);
        let synced = match self.profile.durability {
            Durability::None => self.opened_at.get(),
            Durability::Sync | Durability::Async => durable,
        };
        let well = !life.log.is_poisoned();
        note!(self, "{end:?}: durable {durable}, end {last}, well {well}");
        if end == End::Shutdown {
            // A failure now is as good as one before.
            life.log.shutdown();
        }
        let poisoned = life.log.is_poisoned();
        let all = end == End::Shutdown && !poisoned;
        let rand = &mut *self.rand.borrow_mut();
        let mut machine = self.machine.borrow_mut();
        machine.end(life, end, rand);
        note!(self, "files: {:?}", machine.files());
        self.unanswered.borrow_mut().clear();
        let floor = match end {
            _ if all => last,
            // What was written stays with the system, unless a sync has failed and dropped it.
            End::Kill | End::Shutdown if well && !poisoned => durable,
            _ => synced,
        };
        self.floor.set(floor);
        self.synced.set(if all { last } else { synced });
        self.last_end.set(last);
        let mut seen = self.seen.borrow_mut();
        match end {
            End::Power => seen.power_losses += 1,
            End::Kill => seen.kills += 1,
            End::Shutdown => seen.shutdowns += 1,
        }
    }

    /// Begins a life, after some that were cut short while they opened the log.
    pub fn open(&self) {
        for _ in 0..self.below(CUT_SHORT_MAX) {
            if !self.one_in(4) {
                continue;
            }
            let at = 1 + self.below(25);
            self.machine.borrow().disk.power_off_at_change(at);
            let rand = Rand::seeded(self.below(u64::MAX));
            let opened = self
                .machine
                .borrow_mut()
                .open(&self.profile, self.mistake, rand);
            note!(self, "opening cut short at {at}: {}", opened.is_err());
            self.seen.borrow_mut().cut_short += 1;
            self.floor.set(self.floor.get().min(self.synced.get()));
            let mut machine = self.machine.borrow_mut();
            match opened {
                Ok((life, _, _)) => machine.end(life, End::Power, &mut self.rand.borrow_mut()),
                Err(_) => machine.lose_power(&mut self.rand.borrow_mut()),
            }
            note!(self, "files: {:?}", machine.files());
        }
        let rand = Rand::seeded(self.below(u64::MAX));
        let opened = self
            .machine
            .borrow_mut()
            .open(&self.profile, self.mistake, rand);
        let (life, report, recovery) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.fail(format!("it does not open: {error}")),
        };
        let (end, start) = (report.end.0, recovery.redo_start.0);
        note!(
            self,
            "opened: {start} to {end}, {} commits",
            recovery.commits
        );
        let (floor, last) = (self.floor.get(), self.last_end.get());
        if end < floor {
            self.fail(format!(
                "the log ends at {end}; it was durable up to {floor}"
            ));
        }
        if end > last.max(start).max(floor) {
            self.fail(format!("the log ends at {end}; nothing was behind {last}"));
        }
        let replayed = self.model.borrow().commits_between(start, end);
        if recovery.commits as usize != replayed {
            let commits = recovery.commits;
            self.fail(format!("{commits} commits were replayed, not {replayed}"));
        }
        let lost = self.model.borrow_mut().recover(end);
        self.spaces.borrow_mut().recover(end);
        self.seen.borrow_mut().lost += lost as u64;
        self.floor.set(end);
        self.last_end.set(end);
        self.opened_at.set(end);
        self.faulted.set(false);
        let life = Rc::new(life);
        self.life.replace(Some(Rc::clone(&life)));
        self.look_at_everything(&life);
    }

    /// A new snapshot, all rows, both ways and one by one.
    pub fn look_at_everything(&self, life: &Life) {
        let txn = life.tc.begin(Level::Snapshot);
        let snapshot = txn.snapshot().0;
        self.check_new_snapshot(snapshot);
        if self.would_wait(snapshot, |_| true) {
            return;
        }
        let spaces = self.spaces.borrow().now();
        for space in spaces {
            let range = Range {
                space,
                lower: Bound::Unbounded,
                upper: Bound::Unbounded,
            };
            let mut expected = self.model.borrow().rows(&range, snapshot, &Writes::new());
            for direction in [Direction::Forward, Direction::Backward] {
                let mut rows: Vec<(Bytes, Bytes)> = Vec::new();
                let scanned = txn
                    .scan(space, &KeyRange::all(), direction)
                    .and_then(|mut scan| {
                        while let Some(row) = scan.next(&txn)? {
                            rows.push(row);
                        }
                        Ok(())
                    });
                if let Err(error) = scanned {
                    if self.is_replaced(snapshot, &error) {
                        return; // From inside of this look.
                    }
                    return self.fail(format!("{space} cannot be scanned: {error:?}"));
                }
                if rows != expected {
                    let keys = |rows: &[(Bytes, Bytes)]| -> Vec<(Bytes, usize)> {
                        rows.iter()
                            .map(|(key, value)| (key.clone(), value.len()))
                            .collect()
                    };
                    return self.fail(format!(
                        "space {space} at {snapshot}, {direction:?}, has {:?}, not {:?}",
                        keys(&rows),
                        keys(&expected)
                    ));
                }
                expected.reverse();
            }
            let key = self.some_key();
            let expected = self
                .model
                .borrow()
                .at(&(space, key.clone()), snapshot)
                .1
                .cloned();
            match txn.get(space, &key) {
                Ok(found) if found == expected => {}
                Err(error) if self.is_replaced(snapshot, &error) => return,
                found => self.fail(format!("{space} at {snapshot}: {key:?} is {found:?}")),
            }
        }
        note!(self, "looked at everything at {snapshot}");
    }

    /// The end of a run: without faults, everything that is open comes to its end, and stays.
    pub fn settle(&self) {
        if self.is_poisoned() {
            self.end_life(End::Power);
            self.open();
        }
        let Some(life) = self.life() else { return };
        note!(self, "settles");
        self.quiet.set(true);
        life.disk.clear_faults();
        life.disk.set_capacity(None);
        life.store.forget_plan();
        self.clients
            .borrow_mut()
            .iter_mut()
            .for_each(|client| *client = None);
        let mut synced = life.driver.write();
        self.answer();
        synced &= life.log.flush().is_ok();
        self.answer();
        // Once more: the fault may have been met just before it was forgotten.
        let passed = life.tc.compact().and_then(|()| life.tc.compact());
        if synced && passed.is_err() {
            self.fail(format!("a pass fails without a fault: {passed:?}"));
        }
        if synced && !self.unanswered.borrow().is_empty() {
            self.fail("a commit is not answered although the log is durable".into());
        }
        let stats = life.tc.stats();
        if stats.snapshots > 0 || stats.waiting > 0 {
            self.fail(format!(
                "everybody has gone and something is left: {stats:?}"
            ));
        }
        if synced && !self.has_failed() {
            self.look_at_everything(&life);
            self.check_forgotten(&life);
            if stats.dirty_bytes > 0 {
                self.fail(format!("a pass left something dirty: {stats:?}"));
            }
        }
        drop(life);
        if self.has_failed() {
            return;
        }
        self.end_life(End::Power);
        if !self.has_failed() {
            self.open();
        }
        self.end_life(End::Kill);
    }
}
