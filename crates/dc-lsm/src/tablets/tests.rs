//! Point reads beside the tree's own, at many pins, through all levels.

use crate::LsmConfig;
use crate::generation::Pinned;
use crate::space::Space;
use lsm_tree::AbstractTree;
use quintet_base::Lsn;
use quintet_dc::{Error, Operation};
use quintet_rt::{Disk, Rand, RealDisk, disk};
use std::sync::Arc;
use std::time::Duration;

const MERGES: u64 = 60;
const KEYS: u64 = 20_000;
/// Changed by each merge, and so long that its versions fill blocks.
const LONG_KEY: &[u8] = b"long";
const LONG_BYTES: usize = 1500;
const PINS_MAX: usize = 12;

fn key(number: u64) -> Vec<u8> {
    format!("key{number:08}").into_bytes()
}

/// A space whose levels are full soon.
fn small_space(directory: &tempfile::TempDir) -> Arc<Space> {
    Space::alone(&LsmConfig {
        tablet_bytes: 32 << 10,
        cache_bytes: 128 << 10,
        open_files_max: 8,
        quiet: Duration::ZERO,
        ..LsmConfig::new(directory.path())
    })
}

fn merge(space: &Space, position: u64, random: &mut Rand) {
    let mut numbers: Vec<u64> = (0..1500).map(|_| random.below(KEYS)).collect();
    numbers.sort();
    numbers.dedup();
    let operations = numbers.into_iter().map(|number| {
        if random.below(8) == 0 {
            Operation::remove(key(number), Lsn(position))
        } else {
            let value = vec![position as u8; random.below(150) as usize];
            Operation::put(key(number), Lsn(position), value)
        }
    });
    let long = Operation::put(LONG_KEY, Lsn(position), vec![position as u8; LONG_BYTES]);
    let mut run = operations.chain([long]);
    space.merge(&mut run, &|_| Ok(())).unwrap();
}

fn compare(pin: &Pinned, key: &[u8]) {
    let tree = pin.space.tree().get(key, pin.at).unwrap();
    assert_eq!(
        pin.tablets.get(key, pin.at).unwrap(),
        tree,
        "{key:?} {}",
        pin.at
    );
}

#[test]
fn reads_answer_as_the_tree_does_at_every_pin() {
    let seed = Rand::from_os().next_u64();
    eprintln!("seed {seed}");
    let mut random = Rand::seeded(seed);
    let directory = tempfile::tempdir().unwrap();
    let space = small_space(&directory);
    let mut pins: Vec<Arc<Pinned>> = Vec::new();
    for position in 1..=MERGES {
        merge(&space, position, &mut random);
        while random.below(3) > 0 && space.compact().unwrap() {}
        space.tidy().unwrap();
        pins.push(space.pin());
        if pins.len() > PINS_MAX {
            pins.swap_remove(random.below(PINS_MAX as u64) as usize);
        }
        for pin in &pins {
            compare(pin, LONG_KEY);
            for _ in 0..50 {
                // Also some that are not there, below, between and above all.
                compare(pin, &key(random.below(KEYS + 100)));
                compare(pin, &key(random.below(KEYS))[..10]);
            }
            compare(pin, b"a");
            compare(pin, b"z");
        }
    }
    // In order, as nobody should notice but the disk.
    let pin = space.pin();
    (0..KEYS).for_each(|number| compare(&pin, &key(number)));
    let levels: Vec<(bool, usize)> = pin
        .tablets
        .runs
        .iter()
        .map(|run| (run.is_deepest, run.tablets.len()))
        .collect();
    let deepest = levels.iter().filter(|(is_deepest, _)| *is_deepest);
    assert!(
        deepest.clone().any(|(_, tablets)| *tablets > 8),
        "{levels:?}"
    );
    assert!(levels.len() > deepest.count(), "{levels:?}");
}

#[test]
fn a_damaged_tablet_gives_errors_and_no_other_answers() {
    let mut random = Rand::seeded(5);
    let directory = tempfile::tempdir().unwrap();
    let space = small_space(&directory);
    (1..=10).for_each(|position| merge(&space, position, &mut random));
    let numbers = || (0..KEYS).step_by(7);
    let right: Vec<_> = numbers()
        .map(|number| space.tree().get(key(number), u64::MAX).unwrap())
        .collect();
    let tablets = space.folder().join("tables");
    for name in RealDisk.list(&tablets).unwrap() {
        let path = tablets.join(name);
        let mut bytes = disk::read_file(&RealDisk, &path).unwrap();
        // In the blocks of records, which come first; the tree has read the end when it took the file in.
        let until = bytes.len() / 2;
        (0..until).step_by(20_000).for_each(|at| bytes[at] ^= 1);
        disk::replace_file(&RealDisk, &path, &bytes).unwrap();
    }
    let pin = space.pin();
    let mut damaged = 0;
    for (number, right) in numbers().zip(right) {
        match pin.tablets.get(&key(number), pin.at) {
            Ok(found) => assert_eq!(found, right, "{number}"),
            Err(Error::Damaged { .. }) => damaged += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(damaged > 0);
}
