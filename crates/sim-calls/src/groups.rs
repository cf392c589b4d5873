//! Groups of calls whose working sets fit into a worker's memory together, as Tashkent+ makes them, and the
//! workers that each group has.
//!
//! Relies on: `plan::Kind::tables`.  Promises: every kind is in one group; groups are as few as best fit
//! decreasing makes them, tables that calls share counted once; a worker that is idle goes from the
//! least loaded group to the one that waits, at once and for nothing, as the thesis grants it.
//! Does not: look at disks or processors: a group's load is its busy workers by all it has.
//!
//! Source: the thesis's 5.1.3, after Elnikety, Dropsho and Zwaenepoel (Tashkent+, EuroSys 2007).

use crate::plan::{Kind, Table};
use std::collections::VecDeque;

/// Memory of a worker, in megabytes: a NewOrder's working set at ten warehouses does not fit, every other does.
pub(crate) const MEMORY: f64 = 512.0;

/// Calls of some kinds, and their workers.
#[derive(Debug, Default)]
struct Group {
    workers: u32,
    busy: u32,
    waiting: VecDeque<u64>,
}

/// All groups.
#[derive(Debug)]
pub(crate) struct Groups {
    /// By kind.
    group_of: Vec<usize>,
    groups: Vec<Group>,
}

/// Which group each kind is in.
pub(crate) fn packed(kinds: &[Kind], memory: f64) -> Vec<usize> {
    let size = |tables: &[Table]| tables.iter().map(|table| table.megabytes).sum::<f64>();
    let mut order: Vec<usize> = (0..kinds.len()).collect();
    order.sort_by(|a, b| size(kinds[*b].tables).total_cmp(&size(kinds[*a].tables)));
    let mut groups: Vec<Vec<Table>> = Vec::new();
    let mut group_of = vec![0; kinds.len()];
    for kind in order {
        let joined = |group: &Vec<Table>| {
            let mut tables = group.clone();
            let new = kinds[kind].tables.iter();
            tables.extend(new.filter(|table| !group.contains(table)));
            tables
        };
        // The one that it fills best.
        let fits = groups.iter().enumerate().map(|(at, group)| {
            let tables = joined(group);
            (at, size(&tables), tables)
        });
        let best = fits
            .filter(|(_, size, _)| *size <= memory)
            .max_by(|a, b| a.1.total_cmp(&b.1));
        group_of[kind] = match best {
            Some((at, _, tables)) => {
                groups[at] = tables;
                at
            }
            None => {
                groups.push(kinds[kind].tables.to_vec());
                groups.len() - 1
            }
        };
    }
    group_of
}

impl Groups {
    /// Workers are dealt evenly at first.
    pub(crate) fn new(kinds: &[Kind], workers: u32) -> Groups {
        let group_of = packed(kinds, MEMORY);
        let count = group_of.iter().max().map_or(0, |last| last + 1);
        let mut groups: Vec<Group> = (0..count).map(|_| Group::default()).collect();
        for worker in 0..workers {
            groups[worker as usize % count].workers += 1;
        }
        Groups { group_of, groups }
    }

    /// A call comes.
    pub(crate) fn add(&mut self, call: u64, kind: usize) {
        self.groups[self.group_of[kind]].waiting.push_back(call);
    }

    /// A call of this kind gives its worker back.
    pub(crate) fn give_back(&mut self, kind: usize) {
        self.groups[self.group_of[kind]].busy -= 1;
    }

    /// A call that now has a worker, if one waits and a worker is idle.
    pub(crate) fn start(&mut self) -> Option<u64> {
        loop {
            let ready = self
                .groups
                .iter_mut()
                .find(|group| group.busy < group.workers && !group.waiting.is_empty());
            if let Some(group) = ready {
                group.busy += 1;
                return group.waiting.pop_front();
            }
            self.move_worker()?;
        }
    }

    /// Moves an idle worker of the least loaded group to the one where most wait per worker.
    fn move_worker(&mut self) -> Option<()> {
        let load = |group: &Group| f64::from(group.busy) / f64::from(group.workers.max(1));
        let pressed =
            |group: &Group| group.waiting.len() as f64 / f64::from(group.workers).max(0.5);
        let groups = || self.groups.iter().enumerate();
        let (to, _) = groups()
            .filter(|(_, group)| !group.waiting.is_empty())
            .max_by(|a, b| pressed(a.1).total_cmp(&pressed(b.1)))?;
        let (from, _) = groups()
            .filter(|(at, group)| *at != to && group.busy < group.workers)
            .min_by(|a, b| load(a.1).total_cmp(&load(b.1)))?;
        self.groups[from].workers -= 1;
        self.groups[to].workers += 1;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Source;
    use crate::tpcc::TpccCalls;

    #[test]
    fn tpcc_packs_into_three_groups() {
        let calls = TpccCalls::new(1, 1);
        // NewOrder alone; StockLevel; Payment, OrderStatus and Delivery around the customers.
        assert_eq!(packed(calls.kinds(), MEMORY), [0, 2, 2, 2, 1]);
        assert_eq!(packed(calls.kinds(), 1000.0), [0, 0, 0, 0, 0]);
    }

    #[test]
    fn no_worker_is_idle_while_a_call_waits() {
        let calls = TpccCalls::new(1, 1);
        let mut groups = Groups::new(calls.kinds(), 7);
        (0..20).for_each(|call| groups.add(call, 1));
        let started: Vec<u64> = std::iter::from_fn(|| groups.start()).collect();
        assert_eq!(started, (0..7).collect::<Vec<_>>());
        groups.give_back(1);
        groups.add(99, 0);
        assert!(groups.start().is_some() && groups.start().is_none());
    }
}
