//! The end of a transaction, judged: may it commit, may it be refused, may it be answered?
//!
//! Relies on: the model has every commit that has returned; one that is interrupted has not, and is
//! known by its timestamp.  Promises: the rules of each level, in terms of the model.
//! Does not: demand that a commit succeeds, but where nothing is in its way.
//!
//! | level | what must hold for a commit at T of a transaction that reads at S |
//! |---|---|
//! | all | rows it has locked did not change between the lock and T |
//! | SNAPSHOT and above | nobody committed to what it writes between S and T |
//! | SERIALIZABLE | nobody committed to what it has read between S and T |

use crate::client::{Again, Client};
use crate::machine::Life;
use crate::model::Key;
use crate::statement::name_of;
use crate::world::{Unanswered, World, note};
use quintet_base::{Durability, Level, Timestamp};
use quintet_tc::{Committed, ConflictKind, Error};
use std::collections::BTreeSet;
use std::rc::Rc;

impl World {
    pub fn some_durability(&self) -> Durability {
        match self.below(3) {
            0 => Durability::None,
            1 => Durability::Async,
            _ => Durability::Sync,
        }
    }

    pub fn commit(
        &self,
        life: &Rc<Life>,
        mut client: Client,
        durability: Durability,
    ) -> Option<Client> {
        if self.commit_would_wait(life, &client.writes) {
            return Some(client);
        }
        client.cursor = None;
        let number = client.number;
        note!(self, "{number}: commit {durability}");
        let keys: BTreeSet<Key> = client.writes.keys().cloned().collect();
        self.committing.borrow_mut().push(Rc::new(keys));
        let outcome = client.txn.commit(durability);
        self.committing.borrow_mut().pop();
        note!(self, "{number}: {}", name_of(&outcome));
        match outcome {
            Ok(committed) => {
                if client.writes.is_empty() {
                    self.judge_reader(life, &client, &committed, durability);
                } else {
                    self.judge_commit(life, &client, &committed, durability);
                }
                if let Some(lsn) = committed.durable_at {
                    let wait = life.log.when_durable(lsn);
                    let client = number;
                    self.unanswered
                        .borrow_mut()
                        .push(Unanswered { client, wait });
                }
                None
            }
            Err(Error::Blocked(wait)) => {
                self.seen.borrow_mut().blocked += 1;
                client.waiting = Some((wait, Again::Commit(durability)));
                Some(client)
            }
            Err(error) => {
                self.judge_refusal(&client, &error);
                None
            }
        }
    }

    fn judge_commit(
        &self,
        life: &Life,
        client: &Client,
        committed: &Committed,
        durability: Durability,
    ) {
        let (snapshot, timestamp) = (client.snapshot, committed.timestamp.0);
        let who = format!(
            "{} ({}) at {snapshot} commits at {timestamp}",
            client.number, client.level
        );
        note!(self, "{who}");
        if timestamp <= snapshot || timestamp > life.log.end().0 {
            self.fail(format!("{who}, outside of the log's new part"));
        }
        let waits = committed.durable_at.map(|lsn| lsn.0);
        if waits != (durability == Durability::Sync).then_some(timestamp) {
            self.fail(format!("{who}, and waits for {waits:?} under {durability}"));
        }
        for (space, _) in client.writes.keys() {
            self.check_open(client, *space, self.closed_by(client, *space));
        }
        let mut model = self.model.borrow_mut();
        for (key, seen_at) in &client.locks {
            if let Some(winner) = model.changed(key, *seen_at, timestamp) {
                self.fail(format!(
                    "{who}, but {key:?}, locked since {seen_at}, changed at {winner}"
                ));
            }
        }
        if client.level != Level::ReadCommitted {
            for key in client.writes.keys() {
                if let Some(winner) = model.changed(key, snapshot, timestamp) {
                    self.fail(format!("{who}, but {winner} was first to write {key:?}"));
                }
            }
        }
        if client.level == Level::Serializable {
            for key in &client.reads {
                if let Some(winner) = model.changed(key, snapshot, timestamp) {
                    self.fail(format!(
                        "{who}, but {winner} has changed {key:?}, which it read"
                    ));
                }
            }
            for range in &client.ranges {
                if let Some((key, winner)) = model.changed_in(range, snapshot, timestamp) {
                    self.fail(format!("{who}, but {winner} wrote {key:?} into {range:?}"));
                }
            }
            for space in client.spaces_read() {
                let replaced = self.spaces.borrow().replaced_at(space);
                if let Some(at) = replaced.filter(|at| (snapshot..timestamp).contains(at)) {
                    self.fail(format!("{who}, but {space:?}, where it read, went at {at}"));
                }
            }
        }
        if let Err(reason) = model.commit(timestamp, &client.writes) {
            self.fail(format!("{who}: {reason}"));
        }
        self.seen.borrow_mut().commits += 1;
    }

    /// Who only reads is told what it saw only when no crash can take it back.
    fn judge_reader(
        &self,
        life: &Life,
        client: &Client,
        committed: &Committed,
        durability: Durability,
    ) {
        if committed.timestamp != Timestamp(client.snapshot) {
            self.fail(format!(
                "reader {} moved to {}",
                client.number, committed.timestamp
            ));
        }
        let safe = committed
            .durable_at
            .unwrap_or_default()
            .max(life.log.durable());
        if durability == Durability::Sync && client.newest_read > safe.0 {
            self.fail(format!(
                "reader {} has seen {} and is answered at {safe}",
                client.number, client.newest_read
            ));
        }
        self.seen.borrow_mut().readers += 1;
    }

    /// A refusal must name somebody who is to blame.
    pub fn judge_refusal(&self, client: &Client, error: &Error) {
        let number = client.number;
        let mut seen = self.seen.borrow_mut();
        match error {
            Error::Conflict {
                kind,
                space,
                key: Some(key),
                winner,
            } => {
                let name = (*space, key.clone());
                let known =
                    self.is_pending(winner.0) || self.model.borrow().has_version(&name, winner.0);
                if !known || winner.0 <= client.snapshot {
                    self.fail(format!("{number} lost {name:?} to nobody: {error:?}"));
                }
                let ours = match kind {
                    ConflictKind::WriteWrite => client.level != Level::ReadCommitted,
                    ConflictKind::ReadWrite | ConflictKind::Phantom => {
                        client.level == Level::Serializable
                    }
                    ConflictKind::Schema => false,
                };
                let read = client.reads.contains(&name) || client.asked.contains(&name);
                if !ours || (*kind == ConflictKind::ReadWrite && !read) {
                    self.fail(format!("{number} is refused at its level: {error:?}"));
                }
                match kind {
                    ConflictKind::WriteWrite => seen.write_conflicts += 1,
                    ConflictKind::ReadWrite => seen.read_conflicts += 1,
                    _ => seen.phantoms += 1,
                }
            }
            Error::Conflict {
                kind: ConflictKind::Schema,
                space,
                winner,
                ..
            } => {
                // Written with an older schema than that of the present snapshot, perhaps.
                let at = self.spaces.borrow().replaced_at(*space);
                let wrote = client.writes.keys().any(|key| key.0 == *space);
                let read = client.level == Level::Serializable
                    && client.spaces_read().any(|read| read == *space);
                if at != Some(winner.0) || !wrote && !read {
                    self.fail(format!(
                        "{number} is refused for no schema change: {error:?}"
                    ));
                }
                seen.schema_conflicts += 1;
            }
            Error::SnapshotTooOld => seen.too_old += 1,
            Error::Deadlock => seen.deadlocks += 1,
            Error::TooLarge { .. } => seen.too_large += 1,
            Error::NoRoom { .. } | Error::PostFailed { .. } => seen.no_room += 1,
            Error::Log(why) => {
                seen.log_refusals += 1;
                note!(self, "{why:?}");
                note!(self, "files: {:?}", self.machine.borrow().files());
            }
            _ => self.fail(format!("{number} is refused: {error:?}")),
        }
    }
}
