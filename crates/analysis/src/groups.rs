//! Groups: rounds in which a routine's reads can be issued.
//!
//! Relies on: the graph's procedure constraints.  Promises: a read is in a later group than every read that
//! its key, or the number of its turns, depends on; a read that depends on its own earlier turns, or
//! whose loop does, says so.  Does not: say whether a key can be computed before the call begins (see
//! `look_ups`), or that a group is worth its while.
//!
//! Three rules beyond following the constraints:
//!
//! * A read in a branch goes with those before the condition. It has no effect; at worst it is for nothing.
//! * A read that may meet an earlier write goes early, too; see `access`.
//! * A loop is taken apart (loop distribution) where no turn's reads depend on those of an earlier turn: the read
//!   of all turns is one member of its group.

use crate::graph::{Constraint, Graph, Why};

/// See the module.
#[derive(Clone, Debug)]
pub struct Groups {
    /// Of each operation: the group of its read, from 1.
    pub rounds: Vec<Option<usize>>,
    /// Of each operation: it waits for earlier turns of a loop around it.
    pub in_turns: Vec<bool>,
}

impl Groups {
    /// The groups of a graph.
    pub fn new(graph: &Graph<'_>) -> Groups {
        let count = graph.operations.len();
        let waits: Vec<&Constraint> = (graph.constraints.iter())
            .filter(|constraint| must_wait(graph, constraint))
            .collect();
        let circles = Circles::new(count, &waits);
        let reads = |number: usize| graph.operations[number].reads();
        let mut circle_reads = vec![false; count];
        for constraint in &waits {
            let [from, to] = [constraint.from, constraint.to].map(|n| circles.of[n]);
            if from == to && (0..count).any(|n| circles.of[n] == from && reads(n)) {
                circle_reads[from] = true;
            }
        }
        // How many rounds of reads come before an operation: first what is outside of its circle, then
        // what is before it in the same turn.
        let mut before = vec![0; count];
        let round_after = |before: &[usize], n: usize| before[n] + usize::from(reads(n));
        // Of a circle with reads: what is outside waits for all of its turns.
        let mut behind = vec![0; count];
        for members in &circles.in_order {
            let incoming = || waits.iter().filter(|c| members.contains(&c.to));
            let outside = incoming()
                .filter(|c| !members.contains(&c.from))
                .map(|c| round_after(&before, c.from).max(behind[circles.of[c.from]]));
            let base = outside.max().unwrap_or(0);
            for &member in members {
                before[member] = base;
            }
            if members.len() > 1 {
                let mut members = members.clone();
                members.sort_unstable();
                for &member in &members {
                    let earlier = incoming()
                        .filter(|c| c.to == member && c.from < member)
                        .filter(|c| !c.carried && members.contains(&c.from))
                        .map(|c| round_after(&before, c.from));
                    before[member] = base.max(earlier.max().unwrap_or(0));
                }
                let circle = circles.of[members[0]];
                if circle_reads[circle] {
                    let rounds = members.iter().map(|n| round_after(&before, *n));
                    behind[circle] = rounds.max().unwrap_or(0);
                }
            }
        }
        let turns = |number: &usize| circle_reads[circles.of[graph.loops[*number].head]];
        Groups {
            rounds: (0..count)
                .map(|n| reads(n).then_some(before[n] + 1))
                .collect(),
            in_turns: (0..count)
                .map(|n| circle_reads[circles.of[n]] || graph.operations[n].loops.iter().any(turns))
                .collect(),
        }
    }

    /// The reads of each group, in the order of the source.
    pub fn by_round(&self) -> Vec<Vec<usize>> {
        let last = self.rounds.iter().flatten().max().copied().unwrap_or(0);
        let of = |round: usize| {
            let reads = self.rounds.iter().enumerate();
            let reads = reads.filter(move |(_, found)| **found == Some(round));
            reads.map(|(number, _)| number).collect()
        };
        (1..=last).map(of).collect()
    }
}

/// Whether the one that waits cannot be issued before.
fn must_wait(graph: &Graph<'_>, constraint: &Constraint) -> bool {
    match constraint.why {
        Why::Value(_) | Why::Rows | Why::Turn | Why::Leaving | Why::Handler => true,
        Why::Branch => graph.operations[constraint.to].leaves(),
        Why::Table => false,
    }
}

/// Operations that wait for one another, in the order in which nothing waits for a later one.
struct Circles {
    /// Which an operation is in: the number of one of its members.
    of: Vec<usize>,
    in_order: Vec<Vec<usize>>,
}

impl Circles {
    /// Two walks, one along the constraints and one against them in the order in which the first has ended.
    fn new(count: usize, waits: &[&Constraint]) -> Circles {
        let mut along = vec![Vec::new(); count];
        let mut against = vec![Vec::new(); count];
        for constraint in waits {
            along[constraint.from].push(constraint.to);
            against[constraint.to].push(constraint.from);
        }
        let mut ended = Vec::new();
        let mut seen = vec![false; count];
        for begin in 0..count {
            walk(begin, &along, &mut seen, &mut ended);
        }
        let mut of = vec![0; count];
        let mut in_order = Vec::new();
        let mut seen = vec![false; count];
        for &begin in ended.iter().rev() {
            let mut members = Vec::new();
            walk(begin, &against, &mut seen, &mut members);
            for &member in &members {
                of[member] = begin;
            }
            if !members.is_empty() {
                in_order.push(members);
            }
        }
        Circles { of, in_order }
    }
}

/// Adds what can be reached and was not seen, each behind all that it reaches.
fn walk(begin: usize, next: &[Vec<usize>], seen: &mut [bool], ended: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[begin], true) {
        return;
    }
    let mut stack = vec![(begin, 0)];
    while let Some((at, place)) = stack.last_mut() {
        match next[*at].get(*place) {
            Some(&to) => {
                *place += 1;
                if !std::mem::replace(&mut seen[to], true) {
                    stack.push((to, 0));
                }
            }
            None => {
                ended.push(*at);
                stack.pop();
            }
        }
    }
}
