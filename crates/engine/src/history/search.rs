//! Cycles in the graph.
//!
//! Relies on: `graph`.  Promises: whether a class of edges has a cycle is told exactly, in time that
//! grows with the graph; the cycle shown is a short one.  Does not: list all cycles.
//!
//! Snapshot isolation forbids cycles in which no two rw edges follow each other. These are cycles of
//! a graph with two copies of each node, one for "came by rw", which rw does not leave:
//!
//! ```text
//!   (u, any) ─ww, wr, rt─► (v, plain)       (u, plain) ─rw─► (v, rw)
//! ```

use super::graph::{Edge, Graph};
use std::collections::{HashMap, VecDeque};

/// From how many edges of a component a short cycle is looked for, before the best is taken.
const STARTS_MAX: usize = 64;

/// A cycle: nodes, each with the edge that leaves it for the next.
pub(super) type Cycle = Vec<(usize, Edge)>;

/// Which edges count.
pub(super) type Allowed = fn(&Edge) -> bool;

/// What to look for.
pub(super) struct Search<'g> {
    pub graph: &'g Graph,
    /// In which edges.
    pub allowed: Allowed,
    /// No two rw edges in a row.
    pub nonadjacent: bool,
}

/// A node, or in a nonadjacent search twice its number, plus 1 if it was reached by rw.
type State = usize;

impl Search<'_> {
    fn states(&self) -> usize {
        self.graph.edges.len() * if self.nonadjacent { 2 } else { 1 }
    }

    fn node(&self, state: State) -> usize {
        if self.nonadjacent { state / 2 } else { state }
    }

    fn next(&self, state: State) -> impl Iterator<Item = (State, Edge)> {
        let edges = self.graph.edges[self.node(state)].iter().copied();
        edges
            .filter(|edge| (self.allowed)(edge))
            .filter_map(move |edge| {
                if !self.nonadjacent {
                    return Some((edge.to, edge));
                }
                let by_rw = edge.why.is_rw();
                (!(by_rw && state % 2 == 1)).then_some((2 * edge.to + usize::from(by_rw), edge))
            })
    }

    /// One short cycle through an edge that `through` accepts from each component that has one.
    /// Several edges of a component are tried and the shortest cycle taken.
    pub fn cycles(&self, through: impl Fn(&Edge) -> bool) -> Vec<Cycle> {
        let components = self.components();
        let mut members: HashMap<usize, Vec<(State, State, Edge)>> = HashMap::new();
        for state in 0..self.states() {
            for (to, edge) in self.next(state) {
                if components[state] == components[to] && through(&edge) {
                    members
                        .entry(components[state])
                        .or_default()
                        .push((state, to, edge));
                }
            }
        }
        let mut found: Vec<Cycle> = members
            .values()
            .filter_map(|edges| {
                let step = edges.len().div_ceil(STARTS_MAX);
                let cycles = edges.iter().step_by(step).map(|(from, to, edge)| {
                    let mut cycle = vec![(self.node(*from), *edge)];
                    cycle.extend(self.shortest_path(*to, *from, &components));
                    cycle
                });
                cycles.min_by_key(Vec::len)
            })
            .collect();
        found.sort_by_key(|cycle| (cycle.len(), cycle[0].0));
        found
    }

    /// Inside one component there is a path from everywhere to everywhere.
    fn shortest_path(&self, from: State, to: State, components: &[usize]) -> Cycle {
        let mut came: HashMap<State, (State, Edge)> = HashMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(state) = queue.pop_front() {
            if state == to {
                break;
            }
            for (next, edge) in self.next(state) {
                if components[next] == components[from] && next != from && !came.contains_key(&next)
                {
                    came.insert(next, (state, edge));
                    queue.push_back(next);
                }
            }
        }
        let mut path = Vec::new();
        let mut state = to;
        while state != from {
            let (before, edge) = came[&state];
            path.push((self.node(before), edge));
            state = before;
        }
        path.reverse();
        path
    }

    /// The strongly connected component of each state (Tarjan, SIAM J. Comput. 1972), with the
    /// recursion on a stack of its own.
    fn components(&self) -> Vec<usize> {
        const NEW: usize = usize::MAX;
        let count = self.states();
        let mut component = vec![NEW; count];
        let mut index = vec![NEW; count];
        let mut low = vec![0; count];
        let mut open = Vec::new();
        let mut next_index = 0;
        for start in 0..count {
            if index[start] != NEW {
                continue;
            }
            let mut calls: Vec<(State, Vec<State>)> = Vec::new();
            let mut enter = Some(start);
            loop {
                if let Some(state) = enter.take() {
                    index[state] = next_index;
                    low[state] = next_index;
                    next_index += 1;
                    open.push(state);
                    calls.push((state, self.next(state).map(|(to, _)| to).collect()));
                }
                let Some((state, ahead)) = calls.last_mut() else {
                    break;
                };
                let state = *state;
                match ahead.pop() {
                    Some(to) if index[to] == NEW => enter = Some(to),
                    Some(to) if component[to] == NEW => low[state] = low[state].min(index[to]),
                    Some(_) => {}
                    None => {
                        if low[state] == index[state] {
                            while let Some(member) = open.pop() {
                                component[member] = state;
                                if member == state {
                                    break;
                                }
                            }
                        }
                        calls.pop();
                        if let Some((caller, _)) = calls.last() {
                            low[*caller] = low[*caller].min(low[state]);
                        }
                    }
                }
            }
        }
        component
    }
}
