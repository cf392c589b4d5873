//! What ran when, and whether that was allowed.
//!
//! Relies on: `base::conflict`.  Promises: [`check_chains`], [`check_serial`] and [`check_certified`] look at every pair of
//! runs that could conflict, by what the calls really were and not by what a policy was told.
//! Does not: cost anything in a run that is not traced.

use crate::plan::Plan;
use crate::time::Nanos;
use quintet_base::conflict::{ConflictKey, Modes};

/// One run of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// Which call; numbers are in the order of arrival.
    pub call: u64,
    /// What it was.
    pub plan: Plan,
    /// It began.
    pub began: Nanos,
    /// Its effects were seen from then on, or it lost.
    pub ended: Nanos,
    /// It had effects.
    pub committed: bool,
    /// Commits that it had seen when it began, under certification.
    pub snapshot: u64,
    /// Its place among commits, under certification; 0 without.
    pub position: u64,
}

/// Two runs, and why that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The earlier call.
    pub first: u64,
    /// The later call.
    pub second: u64,
    /// What is wrong.
    pub what: &'static str,
}

/// Each call committed once, or not at all if it was not answered.
///
/// # Errors
/// The first call that committed twice, or never.
pub fn check_once(runs: &[Ran], calls: u64) -> Result<(), Violation> {
    let mut times = vec![0u32; calls as usize];
    for run in runs.iter().filter(|run| run.committed) {
        times[run.call as usize] += 1;
    }
    match times.iter().position(|times| *times != 1) {
        None => Ok(()),
        Some(call) => Err(Violation {
            first: call as u64,
            second: call as u64,
            what: "did not run just once",
        }),
    }
}

fn meet(a: &[ConflictKey], b: &[ConflictKey], modes: &Modes) -> bool {
    a.iter().any(|x| b.iter().any(|y| x.meets(y, modes)))
}

/// Calls whose keys meet ran one after another, in the order in which they came.
///
/// # Errors
/// The first pair that did not.
pub fn check_chains(runs: &[Ran], modes: &Modes) -> Result<(), Violation> {
    let mut runs: Vec<&Ran> = runs.iter().collect();
    runs.sort_by_key(|run| run.call);
    for (at, second) in runs.iter().enumerate() {
        for first in &runs[..at] {
            if first.ended > second.began && meet(&first.plan.keys, &second.plan.keys, modes) {
                return Err(Violation {
                    first: first.call,
                    second: second.call,
                    what: "conflict, and the second began before the first had ended",
                });
            }
        }
    }
    Ok(())
}

/// Calls whose keys meet ran one after another, in whichever order: that of several sites.
///
/// # Errors
/// The first pair that ran side by side.
pub fn check_serial(runs: &[Ran], modes: &Modes) -> Result<(), Violation> {
    let mut runs: Vec<&Ran> = runs.iter().filter(|run| run.committed).collect();
    runs.sort_by_key(|run| (run.began, run.call));
    for (at, second) in runs.iter().enumerate() {
        for first in &runs[..at] {
            if first.ended > second.began && meet(&first.plan.keys, &second.plan.keys, modes) {
                return Err(Violation {
                    first: first.call,
                    second: second.call,
                    what: "conflict, and ran side by side",
                });
            }
        }
    }
    Ok(())
}

/// Of committed calls that wrote the same rows each had seen those before it: first committer wins.
///
/// # Errors
/// The first pair of which both won.
pub fn check_certified(runs: &[Ran], modes: &Modes) -> Result<(), Violation> {
    let mut runs: Vec<&Ran> = runs.iter().filter(|run| run.position > 0).collect();
    runs.sort_by_key(|run| run.position);
    for (at, second) in runs.iter().enumerate() {
        for first in &runs[..at] {
            let unseen = first.position > second.snapshot;
            if unseen && meet(&first.plan.writes, &second.plan.writes, modes) {
                return Err(Violation {
                    first: first.call,
                    second: second.call,
                    what: "wrote one row, and the second had not seen the first",
                });
            }
        }
    }
    Ok(())
}
