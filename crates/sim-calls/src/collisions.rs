//! What happened to calls that several sites ordered differently.
//!
//! Relies on: `chain::Site` for the counts.  Promises: plain numbers.  Does not: count a run that committed, however late.

use quintet_chain::SiteCounts;
use serde::Serialize;

/// Counts of a run with several sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Collisions {
    /// Pairs of conflicting calls that neither site knew of when it ordered its own, and about which sites had to agree.
    pub collisions: u64,
    /// Calls taken out of their place before they were to be run: no work was lost.
    pub cancelled: u64,
    /// Calls stopped while they ran, or were about to.
    pub killed_running: u64,
    /// Calls undone after they had run, while they waited for agreement.
    pub killed_stalled: u64,
    /// Runs that ended before sites had agreed.
    pub stalls: u64,
    /// Calls ordered behind one of several branches of which at most one would stay.
    pub bets: u64,
    /// Time of runs that were stopped or undone.
    pub killed_seconds: f64,
    /// Time that calls waited for agreement after they had run, and then committed or were undone.
    pub stalled_seconds: f64,
    /// Calls that were run at another site than they came to.
    pub ran_elsewhere: u64,
}

impl Collisions {
    /// Adds what a site says of itself.
    pub(crate) fn add(&mut self, site: &SiteCounts) {
        self.collisions += site.collisions;
        self.cancelled += site.cancels;
        self.killed_running += site.kills;
        self.killed_stalled += site.late_kills;
        self.stalls += site.stalls;
        self.bets += site.bets;
        self.ran_elsewhere += site.sent_away;
    }

    /// Of all calls that lost their place, the share that lost no work.
    pub fn cancelled_share(&self) -> Option<f64> {
        let all = self.cancelled + self.killed_running + self.killed_stalled;
        (all > 0).then(|| self.cancelled as f64 / all as f64)
    }
}
