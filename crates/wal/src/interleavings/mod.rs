//! The log in memory under many orders of few threads: `tests/interleavings`.
//!
//! Each test states what must hold and is run with mistakes planted that break it, each of which it
//! must find. Bytes are no steps of a test, so a record is filled in two halves with a step between.
#![allow(unsafe_code, reason = "the tests read records where they are")]

mod reservation;
mod ring;
mod sleep;
