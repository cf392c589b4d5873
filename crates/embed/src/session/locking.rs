//! LOCK TABLE.
//!
//! Relies on: `tc` closes spaces.  Promises: from the lock on nobody else commits to the table until this transaction ends, so what it
//! reads there stays so; who has written to it before waits with its commit, and is told (40P01) if this transaction waits for
//! it in turn.  Does not: keep readers out, or know modes: PostgreSQL's SHARE and stronger are one here.

use super::Session;
use super::execute::canceled;
use super::portal::Portal;
use crate::step::{Pause, Reason};
use quintet_base::{SqlError, SqlResult, SqlState};
use quintet_direct::translate;
use quintet_ir::schema::TableRef;
use quintet_tc::Error;
use std::sync::atomic::Ordering;

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
        let Some(txn) = self.txn.as_mut() else {
            return Err(SqlError::internal("LOCK TABLE without a transaction"));
        };
        for table in tables {
            match txn.close_space(table.space) {
                Ok(()) => {}
                Err(Error::Blocked(_)) if !waits => {
                    let message = format!("could not obtain lock on relation \"{}\"", table.name);
                    return Err(SqlError::new(SqlState::LOCK_NOT_AVAILABLE, message));
                }
                Err(Error::Blocked(_)) if self.cancel.swap(false, Ordering::AcqRel) => {
                    return Err(canceled());
                }
                Err(Error::Blocked(wait)) => return Ok(Some(Pause(Reason::Row(wait)))),
                Err(error) => {
                    let names = self.host.schema.catalog_names();
                    return Err(translate(error, self.level, &names));
                }
            }
        }
        Ok(None)
    }
}
