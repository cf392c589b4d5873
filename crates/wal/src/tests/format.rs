//! What the memory of the log must not change about its format on disk.

use super::{DIRECTORY, Rig, config, new_disk};
use crate::error::Error;
use crate::segment::FileKind;
use crate::{SEGMENT_HEADER_BYTES, WalConfig};
use quintet_base::{Durability, Lsn};
use quintet_rt::{Disk, OpenMode, disk::read_file};
use std::path::{Path, PathBuf};

fn first_segment() -> PathBuf {
    FileKind::Log.path(Path::new(DIRECTORY), 0)
}

/// The memory between two records holds older records; the file has zeros there.
#[test]
fn padding_is_zeros_in_every_lap() {
    let disk = new_disk(1);
    let settings = WalConfig {
        ring_bytes: 4096,
        segment_bytes: 64 << 10,
        ..config()
    };
    let mut rig = Rig::open(&disk, settings, None).unwrap();
    let mut ends = Vec::new();
    for n in 0..300usize {
        let len = n * 7 % 150;
        ends.push((rig.put(&vec![0xFF; len]).0, len));
    }
    assert!(rig.shared.end() > 5 * rig.shared.ring.bytes());
    let image = read_file(&disk, &first_segment()).unwrap();
    let stream = &image[SEGMENT_HEADER_BYTES as usize..];
    let mut start = 0;
    for (end, len) in ends {
        let record = &stream[start..end as usize];
        assert!(record[32..32 + len].iter().all(|byte| *byte == 0xFF));
        assert!(
            record[32 + len..].iter().all(|byte| *byte == 0),
            "at {start}"
        );
        start = end as usize;
    }
}

/// A record that was finished while the group before it was being synced does not know of that; the
/// writer does. Without what it adds, damage to the older record would pass for a torn tail.
#[test]
fn the_first_record_of_a_group_bears_witness_to_the_last_sync() {
    let disk = new_disk(1);
    let settings = WalConfig {
        durability: Durability::Async,
        ..config()
    };
    let mut rig = Rig::open(&disk, settings.clone(), None).unwrap();
    rig.append(&[1; 100]).unwrap();
    rig.turn();
    assert_eq!(rig.shared.synced(), 0);
    rig.append(&[2; 100]).unwrap();
    rig.writer.sync_now().unwrap();
    rig.turn();
    drop(rig);
    let file = disk.open(&first_segment(), OpenMode::ReadWrite).unwrap();
    file.write_at(b"rot", SEGMENT_HEADER_BYTES + 50).unwrap();
    let opened = Rig::open(&disk, settings, None).map(|rig| rig.report);
    assert!(
        matches!(opened, Err(Error::Damaged { lsn: Lsn::ZERO, .. })),
        "{opened:?}"
    );
}
