//! What a node's processor is charged.
//!
//! Relies on: nothing.  Promises: nanoseconds; where each number comes from is in `docs/nodes.md`.  Does not: change
//! with load.

use crate::node::Work;

/// Nanoseconds of a processor.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// An operation put into a queue or a part.
    pub plan: u64,
    /// An operation run on a record at hand.
    pub execute: u64,
    /// A record looked up, several at once.
    pub fetch: u64,
    /// A lock asked for and given back.
    pub lock: u64,
    /// A part of a call set up and ended.
    pub run: u64,
    /// A record of the log: a transaction of the store.
    pub record: u64,
    /// A key written by it.
    pub write: u64,
    /// A frame sent, or taken: the system's part.
    pub frame: u64,
    /// A message in it.
    pub message: u64,
    /// Ten bytes of a frame, made or read.
    pub ten_bytes: u64,
    /// A call taken from a client, and answered.
    pub call: u64,
}

impl Default for Costs {
    fn default() -> Costs {
        Costs {
            plan: 100,
            execute: 250,
            fetch: 400,
            lock: 100,
            run: 300,
            record: 2_000,
            write: 700,
            frame: 6_000,
            message: 200,
            ten_bytes: 15,
            call: 1_500,
        }
    }
}

impl Costs {
    /// What this took.
    pub fn of(&self, work: &Work) -> u64 {
        work.planned * self.plan
            + work.executed * self.execute
            + work.fetched * self.fetch
            + work.locks * self.lock
            + work.runs * self.run
            + work.records * self.record
            + work.written * self.write
    }

    /// Sending, or taking, a frame.
    pub fn of_frame(&self, messages: u64, bytes: u64) -> u64 {
        self.frame + messages * self.message + bytes * self.ten_bytes / 10
    }
}
