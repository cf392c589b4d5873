//! What kind of work and trouble a seed means.

use super::rng::Rng;
use quintet_front::{Guarantee, Policy};

/// A mistake made on purpose, which the simulation must find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// Clients are answered when the commit is sent.
    AnswersEarly,
    /// Applies and commits do not wait for those they come after.
    IgnoresOrder,
    /// Applies leave no mark.
    LeavesNoMarks,
    /// What is to be rolled back stays prepared.
    RollsNothingBack,
    /// Rows are told wrongly to the certifier.
    HidesRows,
    /// Marks are removed and the horizon is not recorded.
    ForgetsHorizons,
    /// Sessions of before are left alive when a replica reports.
    FencesNobody,
    /// Nobody asks whether a repeated call took place.
    AsksNobody,
    /// Reads go to any replica.
    ReadsAnywhere,
    /// A report leaves out what is prepared.
    HidesPrepared,
    /// Keys of calls leave out rows, and nothing is certified.
    KeysTooSmall,
    /// A write set is applied twice, the second time late.
    AppliesAgain,
    /// Applied write sets are called durable and are not.
    FeignsDurability,
    /// A restarted front end does not wait for one of the replicas.
    RecoversWithoutOne,
    /// Deadlocks between replicas are not told.
    HidesBlocks,
}

pub const MISTAKES: [Mistake; 15] = [
    Mistake::AnswersEarly,
    Mistake::IgnoresOrder,
    Mistake::LeavesNoMarks,
    Mistake::RollsNothingBack,
    Mistake::HidesRows,
    Mistake::ForgetsHorizons,
    Mistake::FencesNobody,
    Mistake::AsksNobody,
    Mistake::ReadsAnywhere,
    Mistake::HidesPrepared,
    Mistake::KeysTooSmall,
    Mistake::AppliesAgain,
    Mistake::FeignsDurability,
    Mistake::RecoversWithoutOne,
    Mistake::HidesBlocks,
];

/// How the world is.
#[derive(Clone, Debug)]
pub struct Settings {
    pub policy: Policy,
    pub guarantee: Guarantee,
    pub replicas: usize,
    pub clients: usize,
    pub calls: usize,
    pub rows: u64,
    /// Among the rows, so many are hot.
    pub hot: u64,
    /// The driver applies several write sets side by side.
    pub parallel: bool,
    pub durable_applies: bool,
    pub interactive: bool,
    pub foreign: bool,
    /// Every so manieth step something fails; 0: nothing does.
    pub faults: usize,
    pub front_faults: bool,
    /// Nothing but the front end fails.
    pub front_only: bool,
    /// Calls that a replica runs side by side.
    pub slots: u32,
    /// A replica that does little.
    pub slow: Option<usize>,
    pub kept_max: usize,
    pub alone_after: u32,
    pub certified_max: usize,
    pub mistake: Option<Mistake>,
}

impl Settings {
    pub fn of(rng: &mut Rng) -> Settings {
        let policies = [
            Policy::Chains,
            Policy::Chains,
            Policy::ChainsCertified,
            Policy::RoundRobin,
            Policy::CentralisedWrites,
        ];
        Settings {
            policy: policies[rng.below(policies.len())],
            guarantee: match rng.one_in(2) {
                true => Guarantee::Total,
                false => Guarantee::Causal,
            },
            replicas: 1 + rng.below(4),
            clients: 2 + rng.below(8),
            calls: 10 + rng.below(40),
            rows: 2 + rng.below(16) as u64,
            hot: 1 + rng.below(3) as u64,
            parallel: rng.one_in(2),
            durable_applies: rng.one_in(3),
            interactive: rng.one_in(2),
            foreign: rng.one_in(4),
            faults: match rng.below(4) {
                0 => 0,
                1 => 400,
                2 => 150,
                _ => 60,
            },
            front_faults: rng.one_in(2),
            front_only: rng.one_in(4),
            slots: 1 + rng.below(4) as u32,
            slow: rng.one_in(2).then(|| rng.below(4)),
            kept_max: if rng.one_in(2) { 2 } else { 1_000 },
            alone_after: 1 + rng.below(6) as u32,
            certified_max: if rng.one_in(4) { 2 } else { 1_000 },
            mistake: None,
        }
    }

    /// Makes a mistake, and the work such that it may matter.
    pub fn make(&mut self, mistake: Mistake) {
        self.mistake = Some(mistake);
        if mistake == Mistake::HidesBlocks {
            self.policy = Policy::RoundRobin;
            self.guarantee = Guarantee::Total;
            self.replicas = self.replicas.max(2);
            self.clients = 9;
            self.calls = 50;
            self.rows = 5;
            self.faults = 0;
        }
    }
}
