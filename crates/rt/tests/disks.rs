//! What every disk promises, asked of the real and the simulated one alike; then what only the
//! simulated one can show: power loss, failing syncs, a full disk.

#![allow(clippy::unwrap_used)] // A test may; the lint's own exception misses helper functions.

use quintet_rt::disk::{read_file, replace_file};
use quintet_rt::{Disk, DiskFile, OpenMode, Rand, RealDisk, SECTOR_BYTES, SimDisk};
use std::path::Path;
use std::sync::Arc;

fn on_every_disk(check: impl Fn(&dyn Disk, &Path)) {
    let scratch = tempfile::tempdir().unwrap();
    check(&RealDisk, scratch.path());
    let disk = SimDisk::new(1);
    disk.create_dir_all(Path::new("/data")).unwrap();
    check(&disk, Path::new("/data"));
}

fn read_all(file: &dyn DiskFile) -> Vec<u8> {
    let mut bytes = vec![0; file.len().unwrap() as usize];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
    bytes
}

#[test]
fn what_is_written_is_read_back() {
    on_every_disk(|disk, at| {
        let file = disk.open(&at.join("a"), OpenMode::Create).unwrap();
        assert!(file.is_empty().unwrap());
        file.write_at(b"hello", 3).unwrap();
        assert_eq!(read_all(&*file), b"\0\0\0hello");
        let many: Vec<&[u8]> = (0..3_000).map(|_| &b"xy"[..]).collect();
        file.write_all_vectored_at(&many, 8).unwrap();
        file.write_all_vectored_at(&[b"", b"HE", b"", b"L"], 3)
            .unwrap();
        file.write_all_vectored_at(&[], 0).unwrap();
        let expected = [&b"\0\0\0HELlo"[..], &b"xy".repeat(3_000)].concat();
        assert_eq!(read_all(&*file), expected);
        file.set_len(4).unwrap();
        file.allocate(6).unwrap();
        file.allocate(2).unwrap();
        assert_eq!(read_all(&*file), b"\0\0\0H\0\0");
        let mut part = [9; 4];
        assert_eq!(file.read_at(&mut part, 3).unwrap(), 3);
        assert_eq!(part, [b'H', 0, 0, 9]);
        assert_eq!(file.read_at(&mut part, 100).unwrap(), 0);
        file.sync_data().unwrap();
        file.drop_cached().unwrap();
        assert_eq!(read_all(&*file), b"\0\0\0H\0\0");
    });
}

/// Longer than one piece, whole blocks or not, beside what is there, and under another name than the file was opened by
/// while something else has that one.
#[test]
fn zeros_are_put_behind_what_is_there() {
    const LONG: u64 = 700_000;
    on_every_disk(|disk, at| {
        for (case, (old, new)) in [(0, 1 << 20), (4096, LONG), (4097, 1 << 19), (10, LONG)]
            .into_iter()
            .enumerate()
        {
            let path = at.join(format!("grows {case}"));
            let file = disk.open(&path, OpenMode::Create).unwrap();
            file.write_at(&vec![7; old], 0).unwrap();
            if case == 3 {
                disk.rename(&path, &at.join("renamed")).unwrap();
                let other = disk.open(&path, OpenMode::Create).unwrap();
                other.write_at(b"somebody else's", 0).unwrap();
            }
            file.allocate(new).unwrap();
            let mut expected = vec![7; old];
            expected.resize(new as usize, 0);
            assert!(read_all(&*file) == expected, "{old} bytes, then {new}");
        }
        let other = disk.open(&at.join("grows 3"), OpenMode::Read).unwrap();
        assert_eq!(read_all(&*other), b"somebody else's");
    });
}

#[test]
fn names_are_made_changed_and_removed() {
    on_every_disk(|disk, at| {
        let deep = at.join("x/y");
        disk.create_dir_all(&deep).unwrap();
        disk.create_dir_all(&deep).unwrap();
        assert!(disk.exists(&deep).unwrap());
        let (b, a) = (deep.join("b"), deep.join("a"));
        assert!(
            disk.open(&b, OpenMode::ReadWrite)
                .unwrap_err()
                .is_not_found()
        );
        assert!(disk.open(&at.join("no/b"), OpenMode::Create).is_err());
        disk.open(&b, OpenMode::Create).unwrap();
        disk.open(&a, OpenMode::Create)
            .unwrap()
            .write_at(b"a", 0)
            .unwrap();
        assert_eq!(disk.list(&deep).unwrap(), ["a", "b"]);
        disk.rename(&a, &b).unwrap();
        assert_eq!(disk.list(&deep).unwrap(), ["b"]);
        assert_eq!(read_file(disk, &b).unwrap(), b"a");
        disk.remove(&b).unwrap();
        assert!(disk.remove(&b).unwrap_err().is_not_found());
        assert!(!disk.exists(&b).unwrap());
        assert!(disk.list(&at.join("none")).unwrap_err().is_not_found());
        disk.sync_dir(&deep).unwrap();
        assert!(disk.free_bytes(at).unwrap() > 0);
    });
}

#[test]
fn a_lock_keeps_others_out_until_its_handle_goes() {
    on_every_disk(|disk, at| {
        let path = at.join("lock");
        let first = disk.open(&path, OpenMode::Create).unwrap();
        let second = disk.open(&path, OpenMode::Create).unwrap();
        assert!(first.try_lock().unwrap());
        assert!(!second.try_lock().unwrap());
        drop(first);
        assert!(second.try_lock().unwrap());
    });
}

#[test]
fn a_file_open_for_reading_cannot_be_written() {
    on_every_disk(|disk, at| {
        let path = at.join("a");
        disk.open(&path, OpenMode::Create).unwrap();
        let file = disk.open(&path, OpenMode::Read).unwrap();
        assert!(file.write_at(b"x", 0).is_err());
    });
}

fn synced(disk: &SimDisk, bytes: &[u8]) -> Arc<dyn DiskFile> {
    disk.create_dir_all(Path::new("/d")).unwrap();
    let file = disk.open(Path::new("/d/f"), OpenMode::Create).unwrap();
    file.write_at(bytes, 0).unwrap();
    file.sync_data().unwrap();
    disk.sync_dir(Path::new("/d")).unwrap();
    file
}

/// Four sectors of 1 synced, overwritten by 2 and then by 3: after power loss each sector holds
/// one of the three whole, and over many seeds every one of them is seen.
#[test]
fn power_loss_keeps_whole_sectors_of_some_moment() {
    let mut seen = [0; 4];
    let mut mixed = 0;
    for seed in 0..500 {
        let disk = SimDisk::new(seed);
        let file = synced(&disk, &[1; 4 * SECTOR_BYTES]);
        file.write_at(&[2; 4 * SECTOR_BYTES], 0).unwrap();
        file.write_at(&[3; 4 * SECTOR_BYTES], 0).unwrap();
        let after = disk.crash(&mut Rand::seeded(seed));
        let bytes = read_file(&after, Path::new("/d/f")).unwrap();
        assert_eq!(bytes.len(), 4 * SECTOR_BYTES, "seed {seed}");
        let sectors: Vec<u8> = bytes
            .chunks(SECTOR_BYTES)
            .map(|sector| {
                assert!(sector.iter().all(|b| *b == sector[0]), "seed {seed}");
                seen[sector[0] as usize] += 1;
                sector[0]
            })
            .collect();
        mixed += u32::from(sectors.iter().any(|s| *s != sectors[0]));
        // The dying process still reads what it wrote.
        assert_eq!(read_all(&*file), [3; 4 * SECTOR_BYTES]);
    }
    assert!(
        seen[1] > 0 && seen[2] > 0 && seen[3] > 0 && seen[0] == 0,
        "{seen:?}"
    );
    assert!(mixed > 100, "torn {mixed} times of 500");
}

#[test]
fn growth_may_be_lost_and_synced_growth_may_not() {
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let disk = SimDisk::new(seed);
        let file = synced(&disk, &[1; 100]);
        file.write_at(&[2; 1000], 100).unwrap();
        file.set_len(50).unwrap();
        file.allocate(600).unwrap();
        let after = disk.crash(&mut Rand::seeded(seed));
        let bytes = read_file(&after, Path::new("/d/f")).unwrap();
        lengths.insert(bytes.len());
        file.sync_data().unwrap();
        let after = disk.crash(&mut Rand::seeded(seed));
        let bytes = read_file(&after, Path::new("/d/f")).unwrap();
        assert_eq!(bytes, [&[1; 50][..], &[0; 550]].concat(), "seed {seed}");
    }
    assert_eq!(Vec::from_iter(lengths), [50, 100, 600, 1100]);
}

#[test]
fn a_name_survives_only_after_its_directory_is_synced_and_a_rename_is_one_step() {
    let (mut old, mut new) = (0, 0);
    for seed in 0..200 {
        let disk = SimDisk::new(seed);
        synced(&disk, b"f");
        disk.rename(Path::new("/d/f"), Path::new("/d/g")).unwrap();
        let other = disk.open(Path::new("/d/h"), OpenMode::Create).unwrap();
        other.sync_data().unwrap();
        let names = disk
            .crash(&mut Rand::seeded(seed))
            .list(Path::new("/d"))
            .unwrap();
        match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["f"] => old += 1,
            ["g"] | ["g", "h"] => new += 1,
            _ => panic!("seed {seed}: {names:?}"),
        }
        disk.sync_dir(Path::new("/d")).unwrap();
        let after = disk.crash(&mut Rand::seeded(seed));
        assert_eq!(after.list(Path::new("/d")).unwrap(), ["g", "h"]);
    }
    assert!(old > 0 && new > 0);
}

/// What a failed sync dropped is still read, and a later sync that succeeds does not bring it back.
#[test]
fn a_failed_sync_drops_writes_that_are_still_read() {
    let mut lost = 0;
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        let file = synced(&disk, &[1; SECTOR_BYTES]);
        file.write_at(&[2; SECTOR_BYTES], 0).unwrap();
        disk.fail_sync(1);
        assert!(file.sync_data().is_err());
        file.sync_data().unwrap();
        assert_eq!(read_all(&*file), [2; SECTOR_BYTES]);
        let after = disk.crash(&mut Rand::seeded(seed));
        let kept = read_file(&after, Path::new("/d/f")).unwrap()[0];
        lost += u32::from(kept == 1);
        // Reading from the disk itself shows it before any power loss does.
        file.write_at(b"!", 100).unwrap();
        file.drop_cached().unwrap();
        assert_eq!((read_all(&*file)[0], read_all(&*file)[100]), (kept, b'!'));
        // Written again, it is kept.
        file.write_at(&[2; SECTOR_BYTES], 0).unwrap();
        file.sync_data().unwrap();
        let after = disk.crash(&mut Rand::seeded(seed));
        assert_eq!(read_file(&after, Path::new("/d/f")).unwrap()[0], 2);
    }
    assert!(lost > 10, "lost {lost} times of 50");
}

#[test]
fn a_full_disk_says_so_and_recovers() {
    let disk = SimDisk::new(1);
    disk.set_capacity(Some(1000));
    let file = synced(&disk, &[1; 600]);
    assert!(file.write_at(&[1; 600], 600).unwrap_err().is_disk_full());
    assert!(file.allocate(1001).unwrap_err().is_disk_full());
    assert_eq!(disk.free_bytes(Path::new("/d")).unwrap(), 400);
    file.write_at(&[2; 600], 0).unwrap();
    file.allocate(1000).unwrap();
    disk.set_capacity(None);
    file.write_at(&[1; 600], 600).unwrap();
    disk.remove(Path::new("/d/f")).unwrap();
    assert_eq!(disk.used_bytes(), 0);
}

#[test]
fn planned_faults_come_when_planned_and_power_stays_off() {
    let disk = SimDisk::new(1);
    let file = synced(&disk, b"");
    disk.fail_write(2);
    file.write_at(b"one", 0).unwrap();
    assert!(file.write_at(b"two", 0).is_err());
    file.write_at(b"three", 0).unwrap();
    disk.power_off_at_change(2);
    file.write_at(b"four", 0).unwrap();
    assert!(file.sync_data().is_err());
    assert!(file.write_at(b"five", 0).is_err());
    assert!(file.read_at(&mut [0], 0).is_err());
    assert!(disk.list(Path::new("/d")).is_err());
    let after = disk.crash(&mut Rand::seeded(1));
    assert_eq!(after.list(Path::new("/d")).unwrap(), ["f"]);
}

#[test]
fn the_same_seed_gives_the_same_disk() {
    let run = |seed| {
        let disk = SimDisk::new(seed);
        let file = synced(&disk, &[1; 5000]);
        let mut rand = Rand::seeded(seed);
        for _ in 0..20 {
            let mut bytes = vec![0; rand.below(900) as usize];
            rand.fill(&mut bytes);
            file.write_at(&bytes, rand.below(6000)).unwrap();
        }
        read_file(&disk.crash(&mut rand), Path::new("/d/f")).unwrap()
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn a_replaced_file_is_the_old_or_the_new_one_after_power_loss() {
    let (mut old, mut new) = (0, 0);
    for seed in 0..300 {
        let disk = SimDisk::new(seed);
        synced(&disk, &[1; 700]);
        disk.power_off_at_change(1 + seed % 7);
        let done = replace_file(&disk, Path::new("/d/f"), &[2; 900]).is_ok();
        let after = disk.crash(&mut Rand::seeded(seed));
        let bytes = read_file(&after, Path::new("/d/f")).unwrap();
        match &bytes[..] {
            [1, ..] if bytes == [1; 700] && !done => old += 1,
            [2, ..] if bytes == [2; 900] => new += 1,
            _ => panic!("seed {seed}: neither old nor new"),
        }
    }
    assert!(old > 0 && new > 0);
}
