//! What an operator decides about a front end over replicas.
//!
//! Relies on: nothing.  Promises: plain data.  Does not: read files or the environment; `cli` does.

use quintet_base::Level;
use quintet_front::{Guarantee, Policy};
use quintet_replica::Server;
use std::collections::BTreeMap;
use std::time::Duration;

/// Calls that write and run side by side at a replica, unless told otherwise.
pub const SLOTS_DEFAULT: u32 = 8;

/// Time after which a replica that does not answer counts as dead.
pub const STALL_AFTER_DEFAULT: Duration = Duration::from_secs(10);

/// How long a client may idle in a transaction that may write, since it holds up all others.
pub const IDLE_IN_TRANSACTION_DEFAULT: Duration = Duration::from_secs(10);

/// Modelled service times, for measurements: how long a call takes at least, by its name.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Service {
    /// Of calls that are not named.
    pub usual: Duration,
    /// Of those that are.
    pub named: BTreeMap<String, Duration>,
    /// So many times faster is a write set applied than its call run; 0: it takes no modelled time.
    pub apply_ratio: f64,
}

impl Service {
    /// Of a call; `None`: of a statement that is none.
    pub fn of(&self, name: Option<&str>) -> Duration {
        let Some(name) = name else {
            return Duration::ZERO;
        };
        let name = name.split('(').next().unwrap_or(name);
        self.named.get(name).copied().unwrap_or(self.usual)
    }

    /// Of a write set, by its call's.
    pub fn of_apply(&self, call: Duration) -> Duration {
        match self.apply_ratio > 0.0 {
            true => call.div_f64(self.apply_ratio),
            false => Duration::ZERO,
        }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct ProxyConfig {
    /// The name under which replicas know this front end.
    pub name: String,
    /// The replicas; the first is the primary.
    pub replicas: Vec<Server>,
    /// How conflicts are met.
    pub policy: Policy,
    /// When effects are seen and answered.
    pub guarantee: Guarantee,
    /// Calls that write and run side by side at a replica.
    pub slots: u32,
    /// Statements and calls that read and run side by side at a replica.
    pub read_slots: u32,
    /// Transactions of clients that are open side by side at a replica.
    pub interactive_slots: u32,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// Time after which a replica that does not answer counts as dead.
    pub stall_after: Duration,
    /// How long a client may idle in a transaction.
    pub idle_in_transaction: Option<Duration>,
    /// Modelled service times.
    pub service: Service,
    /// Definitions of tables and procedures; empty: they are read from the primary.
    pub definitions: Vec<String>,
}

impl ProxyConfig {
    /// Chains and PSI, the usual numbers.
    pub fn new(replicas: Vec<Server>) -> ProxyConfig {
        ProxyConfig {
            name: "front".to_owned(),
            replicas,
            policy: Policy::Chains,
            guarantee: Guarantee::Causal,
            slots: SLOTS_DEFAULT,
            read_slots: SLOTS_DEFAULT,
            interactive_slots: SLOTS_DEFAULT,
            connect_timeout: Duration::from_secs(5),
            stall_after: STALL_AFTER_DEFAULT,
            idle_in_transaction: Some(IDLE_IN_TRANSACTION_DEFAULT),
            service: Service::default(),
            definitions: Vec::new(),
        }
    }

    /// As the command line names it.
    pub fn policy_name(&self) -> &'static str {
        match self.policy {
            Policy::Chains => "chains",
            Policy::ChainsCertified => "chains+certify",
            Policy::RoundRobin => "round-robin",
            Policy::CentralisedWrites => "centralised-writes",
        }
    }

    /// As the command line names it.
    pub fn guarantee_name(&self) -> &'static str {
        match self.guarantee {
            Guarantee::Causal => "psi",
            Guarantee::Total => "snapshot",
        }
    }

    /// The level that keys are made for.
    pub fn level(&self) -> Level {
        Level::Snapshot
    }
}
