//! What must hold at the end.

use super::clients::{Made, State};
use super::server::Key;
use super::world::World;
use quintet_front::{Guarantee, Outcome, Policy};
use std::collections::{BTreeMap, BTreeSet};

type Lists = BTreeMap<u64, Vec<u64>>;

fn require(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    match holds {
        true => Ok(()),
        false => Err(what()),
    }
}

impl World {
    pub fn judge(&mut self) -> Result<(), String> {
        let lists = self.replicas_are_equal()?;
        self.every_effect_is_there_once(&lists)?;
        self.real_time_is_kept(&lists)?;
        self.reads_are_snapshots(&lists)?;
        self.reads_are_recent(&lists)?;
        self.causes_come_before_effects()?;
        if self.settings.guarantee == Guarantee::Total {
            self.reads_see_one_order()?;
        }
        self.nothing_is_kept()?;
        let counts = self.seen.counts;
        // Keys that leave out nothing leave nothing to certification, or to the servers.
        let lost = counts.conflicts + counts.refused + counts.killed + counts.alone;
        let sound = self.settings.policy == Policy::Chains;
        require(!sound || lost == 0, || {
            format!("chains lost conflicts: {counts:?}")
        })?;
        let made = self.made.iter();
        self.seen.acknowledged += made.clone().filter(|of| of.is_acknowledged()).count() as u64;
        self.seen.unknown += made.clone().filter(|of| of.state == State::Unknown).count() as u64;
        let repeated = State::Answered(Outcome::Repeated);
        self.seen.repeated += made.filter(|of| of.state == repeated).count() as u64;
        Ok(())
    }

    fn replicas_are_equal(&self) -> Result<Lists, String> {
        let rows = |at: usize| -> Lists {
            let all = self.servers[at].all().into_iter();
            let rows = all.filter_map(|(key, value)| match key {
                Key::Row(row) => Some((row, value.list().to_vec())),
                _ => None,
            });
            rows.collect()
        };
        let first = rows(0);
        for at in 1..self.servers.len() {
            let other = rows(at);
            require(other == first, || {
                format!("replica 0 has {first:?}\nand replica {at} has {other:?}")
            })?;
        }
        Ok(first)
    }

    fn every_effect_is_there_once(&self, lists: &Lists) -> Result<(), String> {
        for (number, made) in self.made.iter().enumerate() {
            if !made.writes || made.rows.is_empty() {
                continue;
            }
            let times: BTreeSet<usize> = made
                .rows
                .iter()
                .map(|row| {
                    let list = lists.get(row).map_or(&[][..], Vec::as_slice);
                    list.iter().filter(|other| **other == number as u64).count()
                })
                .collect();
            let expected: &[usize] = match (made.is_acknowledged(), made.is_refused()) {
                (true, _) => &[1],
                (_, true) => &[0],
                // Nobody knows; but all or nothing, and not twice.
                _ => &[0, 1],
            };
            let fits = times.len() == 1 && times.iter().all(|times| expected.contains(times));
            require(fits, || {
                format!("call {number} took effect {times:?} times, not {expected:?}: {made:?}")
            })?;
        }
        let foreign: usize = lists.range(900..).map(|(_, list)| list.len()).sum();
        require(foreign as u64 == self.foreigners, || {
            format!(
                "{} foreign transactions, {foreign} effects",
                self.foreigners
            )
        })
    }

    /// A call that was acknowledged before another one was made comes first where they meet.
    fn real_time_is_kept(&self, lists: &Lists) -> Result<(), String> {
        for (row, list) in lists.range(..900) {
            for (at, later) in list.iter().enumerate() {
                for earlier in &list[..at] {
                    let (earlier, later) =
                        (&self.made[*earlier as usize], &self.made[*later as usize]);
                    let inverted = later.is_acknowledged() && later.answered_at < earlier.made_at;
                    require(!inverted, || {
                        format!("row {row} has {list:?}, against time")
                    })?;
                }
            }
        }
        Ok(())
    }

    fn reads(&self) -> impl Iterator<Item = (usize, &Made, &Lists)> {
        let made = self.made.iter().enumerate();
        made.filter_map(|(number, made)| Some((number, made, made.read.as_ref()?)))
    }

    /// A read sees a call on all its rows or on none; what it sees is what every replica has in the end.
    fn reads_are_snapshots(&self, lists: &Lists) -> Result<(), String> {
        for (number, _, read) in self.reads() {
            for (row, list) in read {
                if self.settings.guarantee == Guarantee::Causal {
                    let end = lists.get(row).map_or(&[][..], Vec::as_slice);
                    require(end.starts_with(list), || {
                        format!("read {number} saw {list:?} of row {row}, which has {end:?}")
                    })?;
                }
                for seen in list {
                    for other in &self.made[*seen as usize].rows {
                        let there = read.get(other).is_none_or(|list| list.contains(seen));
                        require(there, || {
                            format!("read {number} saw call {seen} in part: {read:?}")
                        })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A session sees what it wrote; under SNAPSHOT it sees what anybody was told of.
    fn reads_are_recent(&self, _lists: &Lists) -> Result<(), String> {
        for (number, of, read) in self.reads() {
            for (other, made) in self.made.iter().enumerate() {
                let total = self.settings.guarantee == Guarantee::Total;
                let matters = made.client == of.client || total;
                if !matters || !made.is_acknowledged() || made.answered_at >= of.made_at {
                    continue;
                }
                for row in &made.rows {
                    let list = read.get(row);
                    let seen = list.is_none_or(|list| list.contains(&(other as u64)));
                    require(seen, || {
                        format!("read {number} did not see call {other} at row {row}: {list:?}")
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Who sees a call sees what that call had seen.
    fn causes_come_before_effects(&self) -> Result<(), String> {
        for (number, _, read) in self.reads() {
            let seen: BTreeSet<u64> = read.values().flatten().copied().collect();
            for call in &seen {
                let Some(attempt) = self.committed.get(&(*call as usize)) else {
                    continue;
                };
                for (row, before) in &self.saw[attempt] {
                    let Some(list) = read.get(row) else {
                        continue;
                    };
                    let missing = before.iter().find(|before| !list.contains(before));
                    require(missing.is_none(), || {
                        format!("read {number} saw call {call} and not {missing:?} before it")
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Of two reads one has seen all that the other has, as far as both looked.
    fn reads_see_one_order(&self) -> Result<(), String> {
        let reads: Vec<(usize, &Made, &Lists)> = self.reads().collect();
        for (at, (number, _, read)) in reads.iter().enumerate() {
            for (other_number, _, other) in &reads[..at] {
                let seen = |of: &Lists, by: &Lists| -> BTreeSet<u64> {
                    let seen = of.values().flatten().copied();
                    seen.filter(|call| {
                        let committed = self.committed.contains_key(&(*call as usize));
                        let mut rows = self.made[*call as usize].rows.iter();
                        committed && rows.any(|row| by.contains_key(row))
                    })
                    .collect()
                };
                // Calls that both could have seen.
                let (a, b) = (seen(read, other), seen(other, read));
                let one_order = a.is_subset(&b) || b.is_subset(&a);
                require(one_order, || {
                    format!("read {number} saw {read:?}, read {other_number} saw {other:?}")
                })?;
            }
        }
        Ok(())
    }

    /// When all is over, nobody keeps anything.
    fn nothing_is_kept(&self) -> Result<(), String> {
        let contents: Vec<_> = self.contents.keys().collect();
        require(contents.is_empty(), || {
            format!("bytes are kept: {contents:?}")
        })?;
        let certified = self.front.as_ref().map(|front| front.certified());
        require(certified == Some((0, 0)), || {
            format!("positions are kept: {certified:?}")
        })?;
        for server in &self.servers {
            require(server.prepared.is_empty(), || {
                format!(
                    "at {:?} are prepared {:?}",
                    server.id,
                    server.prepared.keys()
                )
            })?;
            let all = server.all();
            let marks: Vec<_> = all
                .keys()
                .filter(|key| matches!(key, Key::Mark(_)))
                .collect();
            require(marks.is_empty(), || {
                format!("at {:?} are {marks:?}", server.id)
            })?;
        }
        Ok(())
    }
}
