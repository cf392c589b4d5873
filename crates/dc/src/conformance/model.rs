//! Random work against a sorted map.
//!
//! Relies on: `conformance`.  Promises: the same seed gives the same work; the seed is printed
//! first and `QUINTET_SEED` sets it.  Does not: stop in the middle of a call.
//!
//! The model keeps what the caller of a real store keeps: a log of runs and drops. After a
//! reopening, everything since the redo start is sent again.

use super::{Opener, merge, read};
use crate::contract::{Change, Direction, Generation, KeyRange, Operation, Record};
use bytes::Bytes;
use quintet_base::{Lsn, SpaceId};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

const SPACES: u64 = 3;
const KEYS: u64 = 150;
const STEPS: u64 = 160;

type Spaces = BTreeMap<SpaceId, BTreeMap<Bytes, Record>>;

/// What the caller's log holds.
enum Logged {
    Run(SpaceId, Vec<Operation<'static>>),
    Drop(SpaceId),
}

/// Merges, drops, checkpoints, generations and reopenings in random order.
pub fn random_work_agrees_with_a_model(open: &Opener) {
    let seed = std::env::var("QUINTET_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(42);
    eprintln!("QUINTET_SEED={seed}");
    let mut random = Random(seed);
    let mut store = open();
    let mut spaces = Spaces::new();
    let mut log: Vec<(u64, Logged)> = Vec::new(); // since the redo start, with positions
    let mut redo_start = 0;
    let mut position = 0;
    let mut kept: Vec<(Arc<dyn Generation>, Spaces)> = Vec::new();
    for step in 0..STEPS {
        position += 1 + random.below(5);
        let space = SpaceId(random.below(SPACES) as u32);
        match random.below(100) {
            0..50 => {
                let run = random.run(position);
                merge(&store, space, &run);
                apply(&mut spaces, space, &run);
                log.push((position, Logged::Run(space, run)));
            }
            50..60 => {
                // The newest run again, as after a failure.
                if let Some((_, Logged::Run(space, run))) = log.last() {
                    merge(&store, *space, run);
                }
            }
            60..65 => {
                store.drop_space(space).unwrap();
                spaces.remove(&space);
                log.push((position, Logged::Drop(space)));
            }
            65..75 => {
                store.checkpoint(Lsn(position)).unwrap();
                redo_start = position;
                log.clear();
            }
            75..85 => {
                kept.push((store.generation(), spaces.clone()));
                if kept.len() > 4 {
                    let index = random.below(kept.len() as u64) as usize;
                    kept.swap_remove(index);
                }
            }
            85..90 => {
                kept.clear();
                drop(store);
                store = open();
                assert_eq!(store.redo_start(), Lsn(redo_start), "step {step}");
                for (_, logged) in &log {
                    match logged {
                        Logged::Run(space, run) => merge(&store, *space, run),
                        Logged::Drop(space) => store.drop_space(*space).unwrap(),
                    }
                }
            }
            _ => {
                if let Some((generation, expected)) = kept.last() {
                    compare(generation, expected, &mut random, step);
                }
            }
        }
        compare(&store.generation(), &spaces, &mut random, step);
    }
    for (generation, expected) in &kept {
        compare(generation, expected, &mut random, STEPS);
    }
    let live: Vec<_> = spaces.keys().copied().collect();
    assert_eq!(store.spaces(), live);
}

fn apply(spaces: &mut Spaces, space: SpaceId, run: &[Operation<'_>]) {
    if run.is_empty() {
        return;
    }
    let records = spaces.entry(space).or_default();
    for operation in run {
        match &operation.change {
            Change::Put(value) => {
                let record = Record {
                    position: operation.position,
                    value: value.clone().into_bytes(),
                };
                records.insert(operation.key.clone().into_bytes(), record);
            }
            Change::Remove => {
                records.remove(&*operation.key);
            }
        }
    }
}

/// All spaces in full one way, one range of each the other way, and one key.
fn compare(generation: &Arc<dyn Generation>, expected: &Spaces, random: &mut Random, step: u64) {
    let none = BTreeMap::new();
    let listed = generation.spaces();
    assert!(listed.is_sorted(), "step {step}: {listed:?}");
    for (space, records) in expected {
        let named = records.is_empty() || listed.contains(space);
        assert!(named, "step {step}: space {space} is not in {listed:?}");
    }
    for space in (0..SPACES).map(|number| SpaceId(number as u32)) {
        let expected = expected.get(&space).unwrap_or(&none);
        let all = read(generation, space, &KeyRange::all(), Direction::Forward);
        assert!(
            all.iter().map(|(key, record)| (key, record)).eq(expected),
            "step {step} space {space}: {} records found, {} expected",
            all.len(),
            expected.len()
        );
        let range = random.range();
        let found = read(generation, space, &range, Direction::Backward);
        let in_range = expected.iter().rev().filter(|(key, _)| range.contains(key));
        assert!(
            found.iter().map(|(key, record)| (key, record)).eq(in_range),
            "step {step} space {space} {range:?}"
        );
        let key = random.key();
        assert_eq!(
            generation.get(space, &key).unwrap().as_ref(),
            expected.get(&key)
        );
    }
}

/// Splitmix64: small, and good enough to pick test work.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Keys of different lengths, some of them prefixes of others.
    fn key(&mut self) -> Bytes {
        let number = self.below(KEYS);
        let length = 1 + (number % 3) as usize;
        let mut key = vec![(number / 3) as u8; length];
        if number.is_multiple_of(5) {
            key.push(0xFF);
        }
        key.into()
    }

    fn range(&mut self) -> KeyRange {
        let mut bound = || match self.below(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(self.key()),
            _ => Bound::Excluded(self.key()),
        };
        KeyRange {
            lower: bound(),
            upper: bound(),
        }
    }

    fn run(&mut self, position: u64) -> Vec<Operation<'static>> {
        let length = self.below(60);
        let mut run = BTreeMap::new();
        for _ in 0..length {
            let key = self.key();
            let change = if self.below(3) == 0 {
                Change::Remove
            } else {
                let bytes = self.below(200) as usize;
                Change::Put(vec![self.next() as u8; bytes].into())
            };
            run.insert(key, change);
        }
        let operation = |(key, change): (Bytes, _)| Operation {
            key: key.into(),
            position: Lsn(position),
            change,
        };
        run.into_iter().map(operation).collect()
    }
}
