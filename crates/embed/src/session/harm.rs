//! What the session tells of waits and lost conflicts: see `contention`.
//!
//! Relies on: a wait is told when it begins, and when the session goes on; a transaction that has lost still knows by
//! which row.  Promises: where a session neither waits nor loses, nothing here runs; a wait counts for the row, or
//! the key, that was waited for first.  Does not: count waits for batches, which are short, for the disk,
//! or for advisory locks, which belong to no row.

use super::Session;
use crate::activity::{Event, Stand};
use crate::contention::{Incident, Kind, Label};
use quintet_base::{SqlError, SqlState};

impl Session {
    /// A wait begins.
    pub(super) fn note_waiting(&mut self, event: Event, since: i64) {
        if self.waited.is_some() {
            return;
        }
        let incident = match event {
            Event::Row | Event::Table => self.row_incident(),
            Event::Line => self.line_incident(),
            Event::None | Event::Batch | Event::Advisory | Event::Sleep | Event::Disk => None,
        };
        self.waited = incident.map(|incident| (incident, since));
    }

    fn row_incident(&self) -> Option<Incident> {
        let txn = self.txn.as_ref()?;
        let (space, key) = txn.awaited()?;
        // None: it is not this lock that is waited for, but room in memory; or it has been granted meanwhile.
        let blockers = self.db.tc.lock_of(space, key)?.blockers(txn.id());
        let blocker = *blockers.first()?;
        Some(Incident {
            kind: Kind::Wait,
            space,
            key: key.clone(),
            label: self.label,
            other: self.db.activity.label_of_txn(blocker),
            lost_micros: 0,
        })
    }

    fn line_incident(&self) -> Option<Incident> {
        let Stand::Line { line, call } = self.present.slot.stand() else {
            return None;
        };
        let met = self.db.chains.met(line, call)?;
        let schema = &self.host.schema;
        if schema.revision != met.revision {
            return None;
        }
        let classes = schema.classes.at(self.level, &schema.catalog);
        let (space, key) = classes.place_of(&met.key)?;
        let other = self
            .db
            .activity
            .label_in_line(self.db.place.number, line, |call| met.before.has(call));
        Some(Incident {
            kind: Kind::Line,
            space,
            key: key.into(),
            label: self.label,
            other,
            lost_micros: 0,
        })
    }

    /// A wait is over.
    pub(super) fn note_waited(&mut self) {
        if let Some((incident, since)) = self.waited.take() {
            let now = self.host.clock.now_micros();
            let lost_micros = u64::try_from(now - since).unwrap_or(0);
            let incident = Incident {
                lost_micros,
                ..incident
            };
            self.db.contention.note(incident, now);
        }
    }

    /// What was done since then is done for nothing.
    pub(super) fn note_lost(&self, kind: Kind, since: i64) -> i64 {
        let now = self.host.clock.now_micros();
        if let Some(lost) = self.txn.as_ref().and_then(|txn| txn.take_lost()) {
            let (kind, other) = match lost.winner {
                Some(winner) => (kind, self.db.activity.label_of_commit(winner)),
                None => (Kind::Deadlock, Label::default()),
            };
            let incident = Incident {
                kind,
                space: lost.space,
                key: lost.key,
                label: self.label,
                other,
                lost_micros: u64::try_from(now - since).unwrap_or(0),
            };
            self.db.contention.note(incident, now);
        }
        now
    }

    /// The client is told of an error.
    pub(super) fn note_error(&self, error: &SqlError) {
        let of_others = [SqlState::SERIALIZATION_FAILURE, SqlState::DEADLOCK_DETECTED];
        if of_others.contains(&error.state) {
            self.note_lost(Kind::Refused, self.host.transaction_time);
        }
    }
}
