//! Torn tail or damage, byte by byte; reused segments; segments with anything in them.

use super::{DIRECTORY, Rig, config, new_disk};
use crate::error::Error;
use crate::record::{Header, Payload};
use crate::segment::FileKind;
use crate::{SEGMENT_HEADER_BYTES, WalConfig, inspect};
use quintet_base::Lsn;
use quintet_rt::{Disk, OpenMode, Rand, SimDisk, disk::read_file};
use std::path::Path;

/// The first segment of a log.
fn segment(start: u64) -> std::path::PathBuf {
    FileKind::Log.path(Path::new(DIRECTORY), start)
}

fn overwrite(disk: &SimDisk, start: u64, offset: u64, bytes: &[u8]) {
    let file = disk.open(&segment(start), OpenMode::ReadWrite).unwrap();
    file.write_at(bytes, offset).unwrap();
    file.sync_data().unwrap();
}

/// Five records, each synced before the next: all but the last are witnessed.
fn five() -> (SimDisk, Vec<Lsn>) {
    let disk = new_disk(1);
    let mut rig = Rig::open(&disk, config(), None).unwrap();
    let lsns = (0..5u8).map(|n| rig.put(&[n; 100])).collect();
    (disk, lsns)
}

/// Any byte of any record but the last: the log refuses, names the record, and repairs nothing.
#[test]
fn damage_inside_is_refused_with_its_position() {
    let (_, lsns) = five();
    let starts = [0, lsns[0].0, lsns[1].0, lsns[2].0];
    for (record, start) in starts.into_iter().enumerate() {
        // Header and payload; a flipped padding byte harms nobody.
        for byte in 0..32 + 100 {
            let (disk, _) = five();
            let offset = SEGMENT_HEADER_BYTES + start + byte;
            let before = read_file(&disk, &segment(0)).unwrap();
            overwrite(&disk, 0, offset, &[before[offset as usize] ^ 0x10]);
            let damaged = read_file(&disk, &segment(0)).unwrap();
            match Rig::open(&disk, config(), None).map(|_| ()) {
                Err(Error::Damaged {
                    lsn, path, offset, ..
                }) => {
                    assert_eq!(lsn.0, start, "record {record} byte {byte}");
                    assert_eq!((path, offset), (segment(0), SEGMENT_HEADER_BYTES + start));
                }
                other => panic!("record {record} byte {byte}: {other:?}"),
            }
            let after = read_file(&disk, &segment(0)).unwrap();
            assert!(after == damaged, "nothing is repaired");
            // From a redo start behind the damage the log opens.
            Rig::open(&disk, config(), Some(lsns[record])).unwrap();
        }
    }
}

/// The last record has no witness: whatever happens to its bytes, it is whole or it is cut.
#[test]
fn a_torn_last_record_is_cut() {
    let (disk, lsns) = five();
    let whole = read_file(&disk, &segment(0)).unwrap();
    let (start, end) = (lsns[3].0, lsns[3].0 + 32 + 100);
    for cut in start..end {
        for fill in [0x00, 0xFF] {
            let disk = disk.crash(&mut Rand::seeded(cut));
            let from = (SEGMENT_HEADER_BYTES + cut) as usize;
            let to = (SEGMENT_HEADER_BYTES + end) as usize;
            overwrite(&disk, 0, from as u64, &vec![fill; to - from]);
            if whole[from..to].iter().all(|b| *b == fill) {
                continue;
            }
            let mut rig = Rig::open(&disk, config(), None).unwrap();
            assert_eq!(rig.report.end, lsns[3], "cut at {cut}");
            assert_eq!(rig.report.records, 4);
            // What goes on there reads back, with nothing behind it.
            rig.put(b"next");
            drop(rig);
            let rig = Rig::open(&disk, config(), None).unwrap();
            let records = rig.read_from(Lsn::ZERO).unwrap();
            assert_eq!(records.len(), 5);
            assert_eq!(records[4].1, b"next");
        }
    }
}

/// A group of three of which the first is torn: the two whole ones behind it are cut with it, and
/// stay away when the log grows over exactly the first.
#[test]
fn whole_records_behind_a_torn_one_do_not_come_back() {
    let disk = new_disk(1);
    let mut rig = Rig::open(&disk, config(), None).unwrap();
    let first = rig.put(&[0; 100]);
    for n in 1..4u8 {
        rig.append(&[n; 100]).unwrap();
    }
    rig.turn();
    let end = rig.durable();
    drop(rig);
    overwrite(&disk, 0, SEGMENT_HEADER_BYTES + first.0 + 50, b"torn");
    let mut rig = Rig::open(&disk, config(), None).unwrap();
    assert_eq!(rig.report.end, first);
    assert_eq!(rig.report.cut_bytes, end.0 - first.0);
    rig.put(&[9; 100]);
    drop(rig);
    let rig = Rig::open(&disk, config(), None).unwrap();
    assert_eq!(rig.report.records, 2);
    assert_eq!(rig.report.cut_bytes, 0);
}

#[test]
fn a_missing_cut_or_foreign_segment_is_damage() {
    let build = |seed| {
        let disk = new_disk(seed);
        let mut rig = Rig::open(&disk, config(), None).unwrap();
        for n in 0..20u8 {
            rig.put(&[n; 1000]);
        }
        disk
    };
    let refused = |disk: &SimDisk, redo_start: u64, at: u64, why: &str| {
        let opened = Rig::open(disk, config(), Some(Lsn(redo_start))).map(|_| ());
        match opened {
            Err(Error::Damaged { lsn, reason, .. }) => {
                assert_eq!((lsn.0, reason.contains(why)), (at, true), "{reason}");
            }
            other => panic!("{why}: {other:?}"),
        }
    };
    let (second, third) = (4096, 8192);
    let disk = build(1);
    disk.remove(&segment(second)).unwrap();
    refused(&disk, 0, second, "missing");

    let disk = build(1);
    disk.remove(&segment(0)).unwrap();
    refused(&disk, 0, 0, "redo start");

    let disk = build(1);
    let names = disk.list(Path::new(DIRECTORY)).unwrap();
    let last = names.last().unwrap();
    disk.remove(&Path::new(DIRECTORY).join(last)).unwrap();
    let (_, last_start) = FileKind::of(last).unwrap();
    refused(&disk, 0, last_start, "missing");

    let disk = build(1);
    let file = disk.open(&segment(second), OpenMode::ReadWrite).unwrap();
    file.set_len(5000).unwrap();
    refused(&disk, 0, second, "cut short");

    let disk = build(1);
    overwrite(&disk, second, 20, b"!");
    refused(&disk, 0, second, "checksum");

    let disk = build(1);
    disk.rename(&segment(second), &segment(third)).unwrap();
    refused(&disk, 0, third, "another name");

    let (disk, other) = (build(1), build(1));
    let foreign = read_file(&other, &segment(second)).unwrap();
    overwrite(&disk, second, 0, &foreign);
    refused(&disk, 0, second, "another log");

    let disk = build(1);
    refused(&disk, 1 << 30, 1 << 30, "redo start");
    refused(&disk, 9, 9, "no record can begin");
    let empty = new_disk(1);
    refused(&empty, 64, 64, "redo start");
}

/// A log that goes round through the same files many times: an old record never shows, whatever
/// the length of the records, also when the tail is torn in each round.
#[test]
fn reused_segments_never_resurrect_old_records() {
    for seed in 0..40 {
        println!("seed {seed}");
        let mut rand = Rand::seeded(seed);
        let mut disk = new_disk(seed);
        let mut redo_start = Lsn::ZERO;
        let mut reused = false;
        for round in 0..12u64 {
            let mut rig = Rig::open(&disk, config(), Some(redo_start)).unwrap();
            for (_, bytes) in rig.read_from(redo_start).unwrap() {
                let wrote = u64::from_le_bytes(*bytes.first_chunk().unwrap());
                assert_eq!(wrote + 1, round, "an old record shows");
            }
            redo_start = rig.report.end;
            rig.shared.truncate(redo_start).unwrap();
            let before = disk.list(Path::new(DIRECTORY)).unwrap();
            reused |= before.iter().any(|name| name.ends_with(".spare"));
            let len = 8 + 8 * rand.below(60) as usize;
            for _ in 0..rand.below(60) {
                let mut bytes = round.to_le_bytes().to_vec();
                bytes.resize(len, 0);
                rig.append(&bytes).unwrap();
                if rand.one_in(4) {
                    rig.turn();
                }
            }
            disk.power_off_at_change(1 + rand.below(3));
            rig.turn();
            drop(rig);
            disk = disk.crash(&mut rand);
        }
        assert!(reused);
    }
}

/// What one truncation gives up is what is written before the next: no file is made once there are enough, also by a log that was
/// opened again; a log that is written less keeps fewer; and whoever needs the space gets all of it.
#[test]
fn as_many_segments_are_kept_to_be_reused_as_are_used() {
    let disk = new_disk(1);
    let names = |kind: &str| -> Vec<String> {
        let all = disk.list(Path::new(DIRECTORY)).unwrap();
        all.into_iter()
            .filter(|name| name.ends_with(kind))
            .collect()
    };
    let fill = |rig: &mut Rig, segments: usize| {
        let upto = names(".log").len() + segments;
        while names(".log").len() < upto {
            rig.put(&[7; 200]);
        }
        rig.report.end = Lsn(rig.shared.synced());
    };
    let mut rig = Rig::open(&disk, config(), None).unwrap();
    fill(&mut rig, 12);
    rig.shared.truncate(rig.report.end).unwrap();
    assert_eq!(names(".spare").len(), 12);
    fill(&mut rig, 12);
    assert_eq!(names(".spare").len(), 0);
    rig.shared.truncate(rig.report.end).unwrap();
    let redo_start = rig.report.end;
    drop(rig);
    let mut rig = Rig::open(&disk, config(), Some(redo_start)).unwrap();
    assert_eq!(names(".spare").len(), 12);
    for _ in 0..20 {
        fill(&mut rig, 1);
        rig.shared.truncate(rig.report.end).unwrap();
    }
    assert_eq!(names(".spare").len(), 2);
    fill(&mut rig, 9);
    rig.shared.truncate(rig.report.end).unwrap();
    assert_eq!(names(".spare").len(), 9);
    rig.shared.give_spares_back().unwrap();
    assert_eq!(names(".spare").len(), 0);
    let from = rig.report.end;
    fill(&mut rig, 3);
    let records = rig.read_from(from).unwrap();
    assert!(records.iter().all(|(_, payload)| payload == &[7; 200]) && records.len() > 3);
}

#[test]
fn a_payload_that_looks_like_records_is_not_taken_for_one() {
    let disk = new_disk(1);
    let mut rig = Rig::open(&disk, config(), None).unwrap();
    let first = rig.put(b"first");
    // Headers of this very log, for every place, but written at other places; and of another log
    // for the right places.
    let mut bytes = Vec::new();
    for n in 0..40 {
        let claimed = Header::of(&Payload::new("x".into()), 1, 64 * n, 64 * n);
        bytes.extend_from_slice(&claimed.encode(rig.shared.log_id));
        let here = first.0 + 32 + bytes.len() as u64;
        let foreign = Header::of(&Payload::new("x".into()), 1, here, here);
        bytes.extend_from_slice(&foreign.encode(rig.shared.log_id ^ 1));
    }
    // None of the first kind may stand where it claims to be.
    let stands = |n: u64| first.0 + 32 + 64 * n == 64 * n;
    assert!((0..40).all(|n| !stands(n)));
    rig.append(&bytes).unwrap();
    rig.append(b"last").unwrap();
    rig.turn();
    drop(rig);
    overwrite(&disk, 0, SEGMENT_HEADER_BYTES + first.0, b"torn");
    let rig = Rig::open(&disk, config(), None).unwrap();
    assert_eq!(rig.report.end, first);
}

/// A segment with anything in it is read or refused, never a panic and never a record that was
/// not written; the same entry is what the fuzzer drives.
#[test]
fn mutated_segments_are_read_or_refused() {
    let disk = new_disk(1);
    let mut rig = Rig::open(
        &disk,
        WalConfig {
            segment_bytes: 16_384,
            ..config()
        },
        None,
    )
    .unwrap();
    let mut rand = Rand::seeded(1);
    for n in 0..30u8 {
        let mut bytes = vec![n; 1 + rand.below(300) as usize];
        bytes[0] = n;
        rig.append(&bytes).unwrap();
        if rand.one_in(3) {
            rig.turn();
        }
    }
    rig.turn();
    drop(rig);
    let image = read_file(&disk, &segment(0)).unwrap();
    let (mut whole, mut shorter, mut refused) = (0, 0, 0);
    for seed in 0..4_000 {
        let mut rand = Rand::seeded(seed);
        let mut bytes = image.clone();
        for _ in 0..=rand.below(4) {
            let at = match rand.below(8) {
                0 => rand.below(64) as usize,
                _ => rand.below(bytes.len() as u64) as usize,
            };
            let at = at.min(bytes.len() - 1);
            match rand.below(5) {
                0 => bytes.truncate(at),
                1 => bytes[at] ^= 1 << rand.below(8),
                2 => {
                    let to = bytes.len().min(at + rand.below(2_000) as usize);
                    bytes[at..to].fill(rand.next_u64() as u8);
                }
                3 => {
                    let to = bytes.len().min(at + rand.below(2_000) as usize);
                    rand.fill(&mut bytes[at..to]);
                }
                _ => {
                    let len = (bytes.len() - at).min(rand.below(2_000) as usize);
                    let from = rand.below((bytes.len() - len) as u64 + 1) as usize;
                    bytes.copy_within(from..from + len, at);
                }
            }
            if bytes.is_empty() {
                break;
            }
        }
        match crate::read_segment_image(&bytes) {
            Ok(records) => {
                let right = |(n, record): (usize, &bytes::Bytes)| {
                    record.iter().all(|b| usize::from(*b) == n)
                };
                assert!(records.iter().enumerate().all(right), "seed {seed}");
                match records.len() {
                    30 => whole += 1,
                    _ => shorter += 1,
                }
            }
            Err(Error::Damaged { .. }) => refused += 1,
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    assert!(
        whole > 100 && shorter > 100 && refused > 100,
        "{whole} {shorter} {refused}"
    );
}

#[test]
fn inspect_changes_nothing_and_agrees_with_open() {
    let (disk, lsns) = five();
    overwrite(&disk, 0, SEGMENT_HEADER_BYTES + lsns[4].0 - 40, b"torn");
    let changes = disk.changes();
    let (report, records) = inspect(&disk, Path::new(DIRECTORY), None).unwrap().unwrap();
    let read: Vec<Lsn> = records.map(|record| record.unwrap().0).collect();
    assert_eq!(read, lsns[..4]);
    assert_eq!(disk.changes(), changes);
    let rig = Rig::open(&disk, config(), None).unwrap();
    assert_eq!(rig.report, report);
    let empty = new_disk(1);
    empty.create_dir_all(Path::new(DIRECTORY)).unwrap();
    assert!(
        inspect(&empty, Path::new(DIRECTORY), None)
            .unwrap()
            .is_none()
    );
}
