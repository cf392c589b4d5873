//! Locks of whole tables: those of LOCK TABLE, and those that keep a table as it is for who writes to it.
//!
//! Relies on: `tc` closes spaces, and has whole ones locked like rows.  Promises: from LOCK TABLE on nobody else commits to the table
//! until this transaction ends, so what it reads there stays so; who has written to it in a block before is waited for, and who
//! comes later waits. A transaction of several statements that has begun to write to a table is not refused because
//! somebody has changed the table's schema: that waits for it, or it for that. Does not: keep readers out, or know
//! modes: PostgreSQL's SHARE and stronger are one here.

use super::planning::are_alike;
use super::portal::Portal;
use super::{Mode, Session};
use crate::step::Pause;
use quintet_base::{SpaceId, SqlError, SqlResult, SqlState, Timestamp};
use quintet_ir::schema::TableRef;
use quintet_tc::Error;
use std::sync::Arc;

impl Session {
    /// Locks the tables in the order given. `Some`: wait, and call again.
    pub(super) fn lock_tables(
        &mut self,
        portal: &mut Portal,
        tables: &[TableRef],
        waits: bool,
    ) -> SqlResult<Option<Pause>> {
        self.only_in_block("LOCK TABLE")?;
        self.enter_statement();
        self.ensure_schema(portal)?;
        for table in tables {
            let Some(txn) = self.txn.as_mut() else {
                return Err(SqlError::internal("LOCK TABLE without a transaction"));
            };
            let closed = txn.close_space(table.space);
            if !waits && matches!(closed, Err(Error::Blocked(_))) {
                let message = format!("could not obtain lock on relation \"{}\"", table.name);
                return Err(SqlError::new(SqlState::LOCK_NOT_AVAILABLE, message));
            }
            if let Some(pause) = self.is_through(closed)? {
                return Ok(Some(pause));
            }
        }
        Ok(None)
    }

    /// A statement is about to write to these spaces. In a transaction that has others, too, their schema is kept as it is until its
    /// end; a statement that is one of its own is simply run again if it has changed ([`super::again`]).
    pub(super) fn keep_schema(
        &mut self,
        portal: &mut Portal,
        spaces: impl Iterator<Item = SpaceId>,
    ) -> SqlResult<Steady> {
        let is_one_of_several =
            self.mode == Mode::Explicit || !portal.commits || self.txn.is_some();
        if !is_one_of_several || portal.alone.is_some() || self.past.is_some() {
            return Ok(Steady::Yes);
        }
        let mut spaces = spaces.peekable();
        if spaces.peek().is_none() {
            return Ok(Steady::Yes);
        }
        let mut is_news = false;
        for space in spaces {
            let txn = self.ensure_txn_at(self.level, Timestamp::MAX);
            let locked = txn.lock_for_writing(space);
            let locked = locked.map(|is_new| is_news |= is_new);
            if let Some(pause) = self.is_through(locked)? {
                return Ok(Steady::Wait(pause));
            }
        }
        if !is_news {
            return Ok(Steady::Yes);
        }
        self.db.wait_for_schema();
        if portal.prepared.revision == self.schema().revision {
            return Ok(Steady::Yes);
        }
        let again = self.current(Arc::clone(&portal.prepared), None)?;
        if Arc::ptr_eq(&again, &portal.prepared) {
            return Ok(Steady::Yes);
        }
        // Unless the client will only now be told of them.
        if !portal.announce && !are_alike(&again.columns, &portal.prepared.columns) {
            return Err(SqlError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cached plan must not change result type",
            ));
        }
        portal.prepared = again;
        Ok(Steady::Changed)
    }
}

/// Whether the tables that a statement is about to write to will stay as they are.
pub(super) enum Steady {
    Yes,
    /// Somebody is changing one: wait, and ask again.
    Wait(Pause),
    /// One has changed since the statement was planned; it is planned anew.
    Changed,
}
