//! What to ask of the nodes: YCSB, TPC-C's NewOrder and Payment, and transfers that can be checked.
//!
//! Relies on: `workloads::Keys`.  Promises: the same seed gives the same calls; a node's records are made by it alone.
//! Does not: run anything.

mod tpcc;
mod transfers;
mod ycsb;

pub use tpcc::{Tpcc, TpccConfig};
pub use transfers::{BALANCE, Transfers};
pub use ycsb::{Ycsb, YcsbConfig};

use crate::call::{Call, Key, NodeId, Record};
use quintet_rt::Rand;

/// Calls, and the records that they need.
pub trait Workload: Send {
    /// Shows each record of a node.
    fn load(&self, node: NodeId, see: &mut dyn FnMut(Key, Record));
    /// The next call of a client at this node.
    fn next(&mut self, home: NodeId, rand: &mut Rand) -> Call;
}

/// Bytes that are as good as any, the same for the same record.
fn filler(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    Rand::seeded(seed).fill(&mut bytes);
    for byte in &mut bytes {
        *byte = b'a' + *byte % 26;
    }
    bytes
}
