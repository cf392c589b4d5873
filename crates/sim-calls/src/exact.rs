//! A workload whose calls say beforehand just what they will write; and one whose calls are compared by no more than they
//! say.
//!
//! Relies on: [`Plan`].  Promises: under [`Exact`] keys without false positives: what a perfect classifier would give, if
//! it could see the data; under [`Coarse`] certification with the false positives of the keys: what a simulator gives that
//! has no data.  Does not: exist; both show what the keys of a real classifier cost, and whom.

use crate::plan::{Kind, Plan, Source};
use quintet_base::conflict::Modes;

/// The calls of another source, with their rows for keys.
pub struct Exact(pub Box<dyn Source>);

impl Source for Exact {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn kinds(&self) -> &[Kind] {
        self.0.kinds()
    }

    fn modes(&self) -> Modes {
        self.0.row_modes()
    }

    fn next_plan(&mut self) -> Plan {
        let plan = self.0.next_plan();
        Plan {
            keys: plan.writes.clone(),
            looked_up: false,
            ..plan
        }
    }
}

/// The calls of another source, with their keys for rows.
pub struct Coarse(pub Box<dyn Source>);

impl Source for Coarse {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn kinds(&self) -> &[Kind] {
        self.0.kinds()
    }

    fn modes(&self) -> Modes {
        self.0.modes()
    }

    fn next_plan(&mut self) -> Plan {
        let plan = self.0.next_plan();
        Plan {
            writes: plan.keys.clone(),
            ..plan
        }
    }
}
