//! Node processes: the state machines of `quintet_nodes` on TCP and on a database's log, and the load for them.
//!
//! Relies on: `nodes`, `embed`, threads and sockets of the system.  Promises: what `nodes` asks of a driver
//! (`quintet_nodes::node`).  Does not: encrypt or authenticate; nodes of one cluster trust their network.
//!
//! | file | what it holds |
//! |---|---|
//! | `frame` | bytes on a connection |
//! | `store` | a node's partition: key-value transactions of a database |
//! | `host` | a node's process: threads, connections, events |
//! | `load` | clients that keep so many calls under way |
//! | `cluster` | processes of this program on loopback, measured |

mod cluster;
mod frame;
mod host;
mod load;
mod store;

pub use cluster::{ClusterReport, ClusterRun};
pub use host::{HostConfig, host};
pub use store::DatabaseStore;

use quintet_nodes::workload::{Tpcc, TpccConfig, Transfers, Workload, Ycsb, YcsbConfig};
use std::io;

/// What is asked of the nodes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum NodesWorkload {
    /// Operations on single records.
    Ycsb(YcsbConfig),
    /// NewOrder and Payment.
    Tpcc(TpccConfig),
    /// Transfers that leave marks: nodes, and accounts of each.
    Transfers(u16, u64),
}

impl NodesWorkload {
    /// A stream of calls, and the records they need.
    pub fn build(&self) -> Box<dyn Workload> {
        match self {
            NodesWorkload::Ycsb(config) => Box::new(Ycsb::new(*config)),
            NodesWorkload::Tpcc(config) => Box::new(Tpcc::new(*config)),
            NodesWorkload::Transfers(nodes, accounts) => Box::new(Transfers {
                nodes: *nodes,
                accounts: *accounts,
            }),
        }
    }

    /// As the command line has it.
    pub fn name(&self) -> &'static str {
        match self {
            NodesWorkload::Ycsb(_) => "ycsb",
            NodesWorkload::Tpcc(_) => "tpcc",
            NodesWorkload::Transfers(..) => "transfers",
        }
    }
}

/// Why nodes could not be run.
#[derive(Debug, thiserror::Error)]
pub enum NodesError {
    /// The database of a node.
    #[error("the node's database failed")]
    Database(#[from] quintet_embed::Error),
    /// An operation on it.
    #[error("the node's database refused a commit")]
    Commit(#[from] quintet_embed::CommitError),
    /// A socket, or a process.
    #[error("{doing}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A node is gone, or did not begin.
    #[error("node {node} ended: {status}")]
    Ended {
        /// Which.
        node: usize,
        /// How.
        status: String,
    },
}

impl NodesError {
    fn system(doing: &'static str) -> impl FnOnce(io::Error) -> NodesError {
        move |source| NodesError::System { doing, source }
    }
}
