//! What an operator decides about a front end.
//!
//! Relies on: bounds of `base::limits`.  Promises: plain data.  Does not: change while the front end lives.

use crate::ids::ReplicaId;
use quintet_base::conflict::Modes;
use quintet_base::limits::{CALL_RETRIES_MAX, PENDING_CALLS_MAX};
use quintet_chain::Guarantee;

/// How calls that write are kept from hurting one another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Policy {
    /// Calls whose keys meet run one after another. Nothing is certified: keys must not leave out anything.
    Chains,
    /// The same, and certified, for keys that may leave out something.
    ChainsCertified,
    /// Replicas take turns, whatever the keys say; what has run is certified against what was committed
    /// meanwhile (Gargamel, 6.3.1).
    RoundRobin,
    /// All that write run at the primary, under the server's own concurrency control; the others apply and
    /// answer reads.
    CentralisedWrites,
}

impl Policy {
    /// True if a write set is compared with those that were committed while it came about.
    pub fn certifies(self) -> bool {
        matches!(self, Policy::ChainsCertified | Policy::RoundRobin)
    }

    pub(crate) fn uses_keys(self) -> bool {
        matches!(self, Policy::Chains | Policy::ChainsCertified)
    }
}

/// A replica, and what it runs side by side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplicaConfig {
    /// Its number.
    pub id: ReplicaId,
    /// Calls that write.
    pub slots: u32,
    /// Transactions driven by clients. They have places of their own, because one may last as long as its
    /// client likes.
    pub interactive_slots: u32,
    /// Calls, statements and transactions that only read.
    pub read_slots: u32,
}

/// How a front end is set up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrontConfig {
    /// Greater than at any start before.
    pub epoch: u32,
    /// How conflicts are met.
    pub policy: Policy,
    /// When effects are seen and answered: `Total` is SNAPSHOT, `Causal` is PSI.
    pub guarantee: Guarantee,
    /// Which modes of the spaces of keys conflict.
    pub modes: Modes,
    /// All replicas that there are; not empty.
    pub replicas: Vec<ReplicaConfig>,
    /// Where pinned calls run while it is there; if it goes, another one takes its place and keeps it.
    pub primary: ReplicaId,
    /// Calls that may be pending; one more is refused. Reads are counted apart, with the same bound.
    pub pending_max: usize,
    /// How often a call is run again after it lost a conflict, before its client is told 40001.
    pub retries_max: u32,
    /// After so many lost conflicts a call runs alone: others start when it is decided.
    pub alone_after: u32,
    /// Applied write sets are made durable one by one. Otherwise together, before anybody relies on it.
    pub durable_applies: bool,
    /// Write sets whose bytes the driver keeps for a replica that is not there. Beyond it the oldest are
    /// forgotten, and read again from their origin when it returns.
    pub kept_max: usize,
    /// Write sets that are remembered for a replica that is not there. Beyond it the replica is expelled: it
    /// needs a new copy of the data.
    pub remembered_max: usize,
    /// Write sets that are kept for certification only. Beyond it the attempts that need the oldest are
    /// refused.
    pub certified_max: usize,
}

impl FrontConfig {
    /// Chains, SNAPSHOT, the usual bounds; the first replica is the primary.
    ///
    /// # Panics
    /// If there are no replicas.
    pub fn new(epoch: u32, replicas: Vec<ReplicaConfig>) -> FrontConfig {
        let primary = replicas.first().expect("a front end has replicas").id;
        FrontConfig {
            epoch,
            policy: Policy::Chains,
            guarantee: Guarantee::Total,
            modes: Modes::new(),
            replicas,
            primary,
            pending_max: PENDING_CALLS_MAX,
            retries_max: CALL_RETRIES_MAX as u32,
            // Most conflicts are over after one or two; half of the retries are left for when they are not.
            alone_after: CALL_RETRIES_MAX as u32 / 2,
            durable_applies: false,
            kept_max: 10_000,
            remembered_max: 1_000_000,
            certified_max: 100_000,
        }
    }
}
