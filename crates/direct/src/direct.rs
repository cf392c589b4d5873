//! [`Direct`]: the engine as others hold it.
//!
//! Relies on: one `Direct` per [`Tc`], because it gives out row ids and sequence values.
//! Promises: clones share everything.  Does not: own a thread.

use crate::context::{Around, Context, Env, Halt, Stop, Workspace};
use crate::rowid::RowIds;
use crate::sequence::Sequences;
use crate::work;
use quintet_base::{Level, SequenceId, SpaceId, SqlResult};
use quintet_ir::ddl::Work;
use quintet_ir::{SequenceDef, SequenceState};
use quintet_tc::{KeptSnapshot, Tc, Txn};
use std::sync::Arc;

/// The direct engine. Clones share it.
#[derive(Clone)]
pub struct Direct {
    handle: Arc<Handle>,
}

/// A step between, so that sessions can count their users apart: see [`Direct::own`].
struct Handle(Arc<Shared>);

/// What clones share.
pub(crate) struct Shared {
    pub tc: Tc,
    pub row_ids: RowIds,
    pub sequences: Sequences,
}

impl Direct {
    /// An engine over a transaction component.
    pub fn new(tc: Tc) -> Direct {
        let shared = Shared {
            tc,
            row_ids: RowIds::default(),
            sequences: Sequences::default(),
        };
        Direct {
            handle: Arc::new(Handle(Arc::new(shared))),
        }
    }

    /// One whose clones are counted where no other thread counts: for a session, which clones it for
    /// each statement.
    pub fn own(&self) -> Direct {
        Direct {
            handle: Arc::new(Handle(Arc::clone(&self.handle.0))),
        }
    }

    /// The component it runs on.
    pub fn tc(&self) -> &Tc {
        &self.shared().tc
    }

    /// Begins a transaction.
    pub fn begin(&self, level: Level) -> Txn {
        self.shared().tc.begin(level)
    }

    /// Begins a transaction that reads what was kept.
    pub fn begin_at(&self, kept: &KeptSnapshot) -> Txn {
        self.shared().tc.begin_at(kept)
    }

    /// The next value of a sequence. Not part of any transaction: a value once given is never given
    /// again, whatever becomes of who asked for it, crashes included.
    ///
    /// # Errors
    /// `2200H` at the end of a sequence that does not cycle; storage errors.
    pub fn nextval(&self, sequence: &SequenceDef) -> SqlResult<i64> {
        let shared = self.shared();
        shared.sequences.next(sequence, &shared.tc)
    }

    /// Where a sequence stands: what it has given, or what a crash would have it begin behind if it has given nothing since
    /// the start.
    ///
    /// # Errors
    /// Storage errors.
    pub fn sequence_state(&self, sequence: &SequenceDef) -> SqlResult<SequenceState> {
        let shared = self.shared();
        shared.sequences.state(sequence, &shared.tc)
    }

    /// Sets a sequence: the next value is `value` if it is not `is_called`, else the one after.
    ///
    /// # Errors
    /// `22003` if the value is out of the sequence's bounds; storage errors.
    pub fn setval(&self, sequence: &SequenceDef, value: i64, is_called: bool) -> SqlResult<i64> {
        let shared = self.shared();
        let sequences = &shared.sequences;
        sequences.set(sequence, value, is_called, &shared.tc)
    }

    /// The physical part of a schema change, inside the transaction that changes the catalogue.
    /// Begins no statement: the caller has begun one, and rolls back to its mark on [`Stop`].
    ///
    /// # Errors
    /// `23505`, `23502`, `23514` when rows do not fit the change; storage errors.
    pub fn work(&self, context: &mut Context<'_>, work: &[Work]) -> Result<(), Stop> {
        let mut workspace = Workspace::default();
        let mut env = Env::new(context, &mut workspace);
        // Expressions of tables may call functions.
        env.around = Some(Around {
            direct: self,
            program: None,
        });
        work::run(self, &mut env, work).map_err(crate::run::stop_outside_a_run)
    }

    /// Nobody will ever use these temporary tables and counters of sequences again.
    pub fn forget(&self, spaces: &[SpaceId], counters: &[SequenceId]) {
        let shared = self.shared();
        spaces
            .iter()
            .for_each(|space| shared.row_ids.forget(*space));
        counters
            .iter()
            .for_each(|counter| shared.sequences.forget(*counter));
    }

    /// Removes the counters of sequences with the transaction, as when they are dropped.
    ///
    /// # Errors
    /// As [`Txn::delete`].
    pub fn drop_sequences(
        &self,
        counters: &[SequenceId],
        txn: &mut Txn,
    ) -> Result<(), quintet_tc::Error> {
        let sequences = &self.shared().sequences;
        let mut counters = counters.iter();
        counters.try_for_each(|counter| sequences.drop_in(*counter, txn))
    }

    /// The ids of the rows of one space go on in another, into which they are moved before anything else is put there.
    pub fn carry_row_ids(&self, from: SpaceId, to: SpaceId) {
        self.shared().row_ids.carry(from, to);
    }

    /// Checks the constraints that were put off until now. Before a commit, before a change of the tables that
    /// they are about, and for SET CONSTRAINTS … IMMEDIATE.
    ///
    /// # Errors
    /// `23503`, `57014`, what is to be run again; [`Stop::Blocked`]: wait, and call again.
    pub fn check_deferred(&self, context: &mut Context<'_>) -> Result<(), Stop> {
        if context.txn.attached().is_empty() {
            return Ok(());
        }
        let mut workspace = Workspace::default();
        let mut env = Env::new(context, &mut workspace);
        // Who comes back from a wait may have been told to give up.
        let checked = env.check_cancel().map_err(Halt::from);
        let checked = checked.and_then(|()| crate::references::settle_deferred(&mut env));
        checked.map_err(crate::run::stop_outside_a_run)
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.handle.0
    }
}
