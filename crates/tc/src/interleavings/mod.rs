//! Entries, seats, the gate and commits over them under many orders of few threads:
//! `tests/interleavings`.
//!
//! Each test states what must hold and is run with mistakes planted that break it, each of which it
//! must find. A commit here is `commit::commit` without what waits for others for longer (room, the log's writer, the
//! queue for a row), a pass of the compactor is `compact` without STORE.
#![allow(unsafe_code, reason = "the tests own the entries")]

mod commit;
mod entry;
mod log;
mod removed;
mod rows;
mod seats;
