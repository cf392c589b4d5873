//! The suite that every implementation of the contract runs.
//!
//! Relies on: nothing but the contract.  Promises: one named check for each promise in
//! `contract`; an implementation that passes may replace any other.  Does not: test speed, or
//! crashes in the middle of a call (an implementation with files has a test of its own for that).
//!
//! A check is handed an [`Opener`] over a fresh medium: each call opens the store that the medium
//! holds. Everything of the store before is dropped first, so a store may lock its medium.
//!
//! ```ignore
//! quintet_dc::conformance_suite!(|| {
//!     let medium = MemoryMedium::default();
//!     Box::new(move || Arc::new(MemoryStore::open(&medium)) as Arc<dyn DataComponent>)
//! });
//! ```
#![allow(clippy::unwrap_used)] // Test code, though it is compiled into the library.

mod life;
mod model;
mod reads;
mod runs;

pub use life::*;
pub use model::*;
pub use reads::*;
pub use runs::*;

use crate::contract::{DataComponent, Direction, Generation, KeyRange, Operation, Record};
use bytes::Bytes;
use quintet_base::{Lsn, SpaceId};
use std::sync::Arc;

/// Opens the store on one medium; see the file's header.
pub type Opener = Box<dyn Fn() -> Arc<dyn DataComponent>>;

/// Makes a test of each check. Takes a closure that makes a fresh medium and returns its
/// [`Opener`].
#[macro_export]
macro_rules! conformance_suite {
    ($fresh:expr) => {
        $crate::conformance_suite!(@tests $fresh;
            an_empty_store_holds_nothing
            ranges_are_read_in_both_directions_with_every_kind_of_bound
            removed_records_are_seen_by_no_read
            announced_keys_read_as_others
            a_scan_goes_on_when_all_else_is_dropped
            values_may_be_empty_and_both_keys_and_values_long
            a_run_sent_again_changes_nothing
            an_older_run_sent_again_changes_no_record
            removals_sent_again_after_older_puts_win
            what_is_too_long_is_refused_and_the_store_goes_on
            empty_runs_make_no_space
            generations_never_change
            a_checkpoint_keeps_its_redo_start_and_all_merges_before
            lost_merges_can_be_sent_again
            a_reopened_store_takes_further_work
            spaces_are_apart
            a_dropped_space_is_gone_but_for_older_generations
            a_dropped_space_can_be_made_anew
            readers_beside_a_merge_see_a_prefix_of_it
            figures_are_plausible
            random_work_agrees_with_a_model
        );
    };
    (@tests $fresh:expr; $($name:ident)*) => {
        $(#[test]
        fn $name() {
            let fresh: &dyn Fn() -> $crate::conformance::Opener = &$fresh;
            $crate::conformance::$name(&fresh());
        })*
    };
}

/// The space most checks use.
const SPACE: SpaceId = SpaceId(7);

/// A key whose order is the order of the numbers.
fn key(number: u32) -> Bytes {
    format!("key-{number:06}").into()
}

fn put(number: u32, position: u64, value: &str) -> Operation<'static> {
    Operation::put(key(number), Lsn(position), value.to_owned())
}

fn remove(number: u32, position: u64) -> Operation<'static> {
    Operation::remove(key(number), Lsn(position))
}

/// Puts for a range of keys at one position, each with the same value.
fn puts(numbers: std::ops::Range<u32>, position: u64, value: &str) -> Vec<Operation<'static>> {
    numbers.map(|number| put(number, position, value)).collect()
}

fn merge(store: &Arc<dyn DataComponent>, space: SpaceId, run: &[Operation<'_>]) {
    let report = store.merge(space, &mut run.iter().cloned()).unwrap();
    assert_eq!(
        report.applied + report.skipped,
        run.len() as u64,
        "{report:?}"
    );
}

/// Everything a scan yields.
fn read(
    generation: &Arc<dyn Generation>,
    space: SpaceId,
    range: &KeyRange,
    direction: Direction,
) -> Vec<(Bytes, Record)> {
    let mut scan = generation.scan(space, range, direction).unwrap();
    let mut all = Vec::new();
    while let Some(entry) = scan.next().unwrap() {
        all.push(entry);
    }
    assert_eq!(scan.next().unwrap(), None, "a finished scan went on");
    all
}

/// All records of a space as `(key, position, value)` in text, which failures print well.
fn listing(generation: &Arc<dyn Generation>, space: SpaceId) -> Vec<String> {
    read(generation, space, &KeyRange::all(), Direction::Forward)
        .into_iter()
        .map(|(key, record)| {
            let (key, value) = (key.escape_ascii(), record.value.escape_ascii());
            format!("{key} @{} {value}", record.position)
        })
        .collect()
}

fn value_of(generation: &Arc<dyn Generation>, number: u32) -> Option<String> {
    let record = generation.get(SPACE, &key(number)).unwrap()?;
    Some(String::from_utf8(record.value.to_vec()).unwrap())
}
