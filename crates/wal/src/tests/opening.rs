//! Reading a log by the block, on the way to its end or afterwards.

use super::{DIRECTORY, Rig, config, new_disk};
use crate::config::WalConfig;
use crate::{Block, Opening};
use quintet_base::Lsn;
use quintet_rt::{Rand, RealClock, SimDisk};
use std::sync::Arc;

type Records = Vec<(Lsn, Vec<u8>)>;

/// Longer than a window, and many of them in one.
fn a_payload(rand: &mut Rand) -> Vec<u8> {
    let len = match rand.below(20) {
        0 => 200_000 + rand.below(500_000),
        1 => 0,
        2..6 => rand.below(40_000),
        _ => rand.below(300),
    };
    let byte = rand.below(256) as u8;
    vec![byte; len as usize]
}

fn large() -> WalConfig {
    WalConfig {
        segment_bytes: 1 << 20,
        ..config()
    }
}

fn written(seed: u64) -> (SimDisk, Records) {
    let mut rand = Rand::seeded(seed);
    let disk = new_disk(seed);
    let mut rig = Rig::open(&disk, large(), None).unwrap();
    let mut records = Records::new();
    for _ in 0..20 + rand.below(150) {
        let payload = a_payload(&mut rand);
        let lsn = rig.put(&payload);
        records.push((lsn, payload));
    }
    (disk, records)
}

fn begin(disk: &SimDisk, from: Lsn) -> Opening {
    Opening::begin(Arc::new(disk.clone()), large(), Some(from)).unwrap()
}

fn records_of(block: &Block) -> Records {
    block
        .records()
        .iter()
        .map(|(lsn, payload)| (*lsn, block.bytes()[payload.clone()].to_vec()))
        .collect()
}

/// Goal: blocks hold every record once, whole and in order, whoever reads them: on the way to the end,
/// in part, and afterwards. Method: random lengths, from nothing to more than a window.
#[test]
fn blocks_are_the_records_and_reading_them_changes_nothing_about_the_end() {
    for seed in 0..30 {
        println!("seed {seed}");
        let mut rand = Rand::seeded(seed);
        let (disk, records) = written(seed);
        let skipped = rand.below(records.len() as u64) as usize;
        let from = match skipped {
            0 => Lsn::ZERO,
            n => records[n - 1].0,
        };
        let expected = &records[skipped..];
        let (last, _) = *records.last().as_ref().unwrap();
        // As many blocks as it likes; the kept ones stay what they were.
        let blocks_max = if rand.one_in(2) { 1000 } else { rand.below(4) };
        let mut opening = begin(&disk, from);
        let mut kept = Vec::new();
        while (kept.len() as u64) < blocks_max
            && let Some(block) = opening.next_block().unwrap()
        {
            assert!(!block.is_empty());
            kept.push(block);
            let (end, _) = kept.last().unwrap().records().last().unwrap();
            assert_eq!(opening.position(), *end);
        }
        let read: Records = kept.iter().flat_map(records_of).collect();
        assert_eq!(read, expected[..read.len()]);
        assert!(blocks_max < 1000 || read.len() == expected.len());
        let (shared, report) = opening
            .settle(Arc::new(RealClock), Rand::seeded(seed))
            .unwrap();
        assert_eq!((report.end, report.records), (*last, expected.len() as u64));
        let mut reader = crate::LogReader::new(shared.stream(), from.0, last.0, shared.log_id);
        let mut again = Records::new();
        loop {
            // By turns.
            if rand.one_in(3) {
                let Some(record) = reader.next() else { break };
                let (lsn, payload) = record.unwrap();
                again.push((lsn, payload.to_vec()));
            } else {
                let Some(block) = reader.next_block().unwrap() else {
                    break;
                };
                again.extend(records_of(&block));
            }
        }
        assert_eq!(again, expected);
    }
}

#[test]
fn a_guess_of_the_end_is_near_it() {
    for seed in 0..10 {
        let (disk, records) = written(seed);
        let end = records.last().unwrap().0.0;
        let guess = begin(&disk, Lsn::ZERO).guess_end().unwrap().0;
        assert!(
            guess.abs_diff(end) <= 1 << 20,
            "seed {seed}: {guess} for {end}"
        );
    }
}

#[test]
fn a_directory_without_a_log_has_no_blocks_and_is_made_a_log() {
    let disk = new_disk(1);
    let mut opening = begin(&disk, Lsn::ZERO);
    assert!(opening.next_block().unwrap().is_none());
    assert_eq!(opening.position(), Lsn::ZERO);
    let names = quintet_rt::Disk::list(&disk, std::path::Path::new(DIRECTORY)).unwrap();
    assert!(names.is_empty(), "{names:?}");
    let (_, report) = opening
        .settle(Arc::new(RealClock), Rand::seeded(1))
        .unwrap();
    assert_eq!((report.end, report.segments), (Lsn::ZERO, 1));
}
