//! A workload whose calls say beforehand just what they will write.
//!
//! Relies on: [`Plan::writes`].  Promises: keys without false positives: what a perfect classifier would give, if
//! it could see the data.  Does not: exist; it shows what the keys of a real one cost.

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
