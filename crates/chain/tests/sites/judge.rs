//! What must hold in the end, whatever happened.

use crate::world::World;
use quintet_chain::CallId;
use std::collections::BTreeSet;

impl World {
    /// Every call is over once at every site that is left, and answered, and calls that meet are in one order.
    pub fn judge(&self) -> Result<(), String> {
        let all: BTreeSet<CallId> = (1..=self.calls.len() as u64).map(CallId).collect();
        let left = |at: &usize| !self.lost[*at];
        for at in (0..self.over.len()).filter(left) {
            let over = &self.over[at];
            let set: BTreeSet<CallId> = over.iter().copied().collect();
            if set != all || over.len() != all.len() {
                return Err(format!("site {at} has {over:?} of {} calls", all.len()));
            }
            if self.sites[at].pending() > 0 {
                return Err(format!("site {at} has places left"));
            }
        }
        // What a lost site has applied or committed, and counts, is told apart from what does not count only by
        // the others' orders; these are compared.
        let orders = (0..self.over.len()).filter(left).map(|at| {
            let over = &self.over[at];
            let pairs = (0..over.len()).flat_map(|i| (i + 1..over.len()).map(move |j| (i, j)));
            let pairs = pairs.map(|(i, j)| (over[i], over[j]));
            pairs
                .filter(|(a, b)| self.meet(*a, *b))
                .collect::<BTreeSet<_>>()
        });
        let orders: Vec<BTreeSet<(CallId, CallId)>> = orders.collect();
        if !orders.windows(2).all(|two| two[0] == two[1]) {
            return Err(format!("sites differ: {:?}", self.over));
        }
        let mut homes = self.calls.iter().enumerate();
        let unanswered = homes.find(|(number, (home, _))| {
            let call = CallId(*number as u64 + 1);
            !self.lost[*home as usize] && !self.answered.contains(&call)
        });
        match (unanswered, self.reads.is_empty()) {
            (Some((number, _)), _) => Err(format!("t{} is not answered", number + 1)),
            (_, false) => Err("a read waits for ever".into()),
            _ => Ok(()),
        }
    }
}
