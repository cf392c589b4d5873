//! The tests of `tests/` once more, on nodes of a few keys: so trees are deep, and what is rare in
//! nodes of 60 happens all the time. Under Miri those tests run on such nodes anyway.

#![allow(
    clippy::duplicate_mod,
    reason = "each of the two files brings its items along, as it does in `tests/`"
)]

#[path = "../../tests/ordered.rs"]
mod one_thread;
#[path = "../../tests/ordered_threads.rs"]
mod threads;
