//! What the contract's suite can not ask for: locks, damage, failed writes, space given back.
#![allow(clippy::unwrap_used)]

use quintet_base::{Lsn, SpaceId};
use quintet_dc::{DataComponent, Error, Operation};
use quintet_dc_lsm::{LsmConfig, LsmStore};
use quintet_rt::{Clock, Disk, RealClock, RealDisk};
use std::path::{Path, PathBuf};
use std::time::Duration;

const SPACE: SpaceId = SpaceId(4);
/// Folder 0 belongs to the first space of a store.
const FOLDER: &str = "spaces/0";

/// Compactions come as soon as there is something to compact.
fn config(directory: &Path) -> LsmConfig {
    LsmConfig {
        quiet: Duration::ZERO,
        ..LsmConfig::new(directory)
    }
}

fn open(directory: &Path) -> LsmStore {
    LsmStore::open(&config(directory)).unwrap()
}

fn refused(directory: &Path) -> Error {
    match LsmStore::open(&config(directory)) {
        Ok(_) => panic!("opened"),
        Err(error) => error,
    }
}

/// Puts for all keys from 0 on, each with the position as its value.
fn fill(store: &LsmStore, keys: u32, position: u64) -> Result<(), Error> {
    let put = |key: u32| {
        Operation::put(
            key.to_be_bytes().to_vec(),
            Lsn(position),
            position.to_string(),
        )
    };
    store.merge(SPACE, &mut (0..keys).map(put)).map(|_| ())
}

fn value(store: &LsmStore, key: u32) -> Option<String> {
    let record = store.generation().get(SPACE, &key.to_be_bytes()).unwrap()?;
    Some(String::from_utf8(record.value.to_vec()).unwrap())
}

fn tablet_files(directory: &Path) -> u64 {
    std::fs::read_dir(directory.join(FOLDER).join("tables"))
        .unwrap()
        .count() as u64
}

/// Waits for the background thread, which rests while the machine is busy; a condition that stays false for a minute fails the test.
fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if condition() {
            return;
        }
        RealClock.sleep(Duration::from_millis(5));
    }
    panic!("never came true: {what}");
}

/// The newest version file of the tree: `v` and a number.
fn version(directory: &Path) -> u64 {
    std::fs::read_dir(directory.join(FOLDER))
        .unwrap()
        .filter_map(|entry| {
            entry
                .unwrap()
                .file_name()
                .to_str()?
                .strip_prefix('v')?
                .parse()
                .ok()
        })
        .max()
        .unwrap()
}

/// A directory where the tree wants to write a version file: the write fails after the tablets have
/// been written, as it may when the disk fills up.
struct Obstacle(PathBuf);

impl Obstacle {
    fn new(directory: &Path, version: u64) -> Obstacle {
        let path = directory.join(FOLDER).join(format!("v{version}"));
        std::fs::create_dir(&path).unwrap();
        Obstacle(path)
    }
}

impl Drop for Obstacle {
    fn drop(&mut self) {
        std::fs::remove_dir(&self.0).unwrap();
    }
}

#[test]
fn a_directory_has_one_store_and_waits_for_its_readers() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    fill(&store, 10, 1).unwrap();
    assert!(matches!(refused(directory.path()), Error::InUse { .. }));
    let generation = store.generation();
    drop(store);
    assert!(matches!(refused(directory.path()), Error::InUse { .. }));
    assert!(generation.get(SPACE, &[0, 0, 0, 1]).unwrap().is_some());
    drop(generation);
    open(directory.path());
}

#[test]
fn a_damaged_or_incomplete_directory_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let store = open(path);
    fill(&store, 10, 1).unwrap();
    store.checkpoint(Lsn(1)).unwrap();
    drop(store);
    let hide = |name: &str| {
        let (there, away) = (path.join(name), path.join("away"));
        assert!(there.exists(), "{name}");
        RealDisk.rename(&there, &away).unwrap();
        let error = refused(path);
        assert!(matches!(error, Error::Damaged { .. }), "{name}: {error:?}");
        RealDisk.rename(&away, &there).unwrap();
    };
    hide("manifest");
    hide(FOLDER);
    hide("spaces/0/current");
    let tablet = std::fs::read_dir(path.join("spaces/0/tables"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    hide(&format!("spaces/0/tables/{}", tablet.file_name().display()));
    assert_eq!(value(&open(path), 9).as_deref(), Some("1"));
}

#[test]
fn positions_merged_after_the_last_checkpoint_are_known_after_a_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    fill(&store, 10, 1).unwrap();
    store.checkpoint(Lsn(1)).unwrap();
    // Above the ceiling that the checkpoint wrote.
    let far = u64::MAX / 2;
    fill(&store, 5, far).unwrap();
    drop(store);
    let store = open(directory.path());
    assert_eq!(store.redo_start(), Lsn(1));
    let older = far / 2; // above that ceiling, too
    fill(&store, 10, older).unwrap();
    assert_eq!(
        value(&store, 4),
        Some(far.to_string()),
        "an older run changed a newer record"
    );
    assert_eq!(value(&store, 5), Some(older.to_string()));
}

/// Each reopening would else let more of the log be compared record by record.
#[test]
fn the_ceiling_does_not_creep_up_by_reopening() {
    let directory = tempfile::tempdir().unwrap();
    // See the table in `manifest.rs`.
    let ceiling = || {
        let path = directory.path().join("manifest");
        let bytes = quintet_rt::disk::read_file(&RealDisk, &path).unwrap();
        u64::from_le_bytes(bytes[20..28].try_into().unwrap())
    };
    let store = open(directory.path());
    fill(&store, 10, 1000).unwrap();
    store.checkpoint(Lsn(1000)).unwrap();
    drop(store);
    let first = ceiling();
    assert!(first > 1000);
    for _ in 0..3 {
        open(directory.path()).checkpoint(Lsn(1000)).unwrap();
    }
    assert_eq!(ceiling(), first);
}

#[test]
fn a_failed_merge_leaves_no_files_and_can_be_sent_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let store = open(path);
    fill(&store, 100, 1).unwrap();
    // The first tablets are moved down at once; after that there is nothing to compact.
    wait_until("the first run is moved", || store.stats().compactions == 1);
    let obstacle = Obstacle::new(path, version(path) + 1);
    for _ in 0..3 {
        let error = fill(&store, 50, 2).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error:?}");
        assert_eq!(tablet_files(path), 1);
        assert_eq!(value(&store, 7).as_deref(), Some("1"));
    }
    drop(obstacle);
    fill(&store, 50, 2).unwrap();
    assert_eq!(value(&store, 7).as_deref(), Some("2"));
    store.checkpoint(Lsn(2)).unwrap();
    drop(store);
    let store = open(path);
    assert_eq!(value(&store, 49).as_deref(), Some("2"));
    assert_eq!(value(&store, 50).as_deref(), Some("1"));
}

#[test]
fn a_failed_compaction_leaves_no_files_and_is_done_later() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let store = open(path);
    fill(&store, 100, 1).unwrap();
    wait_until("the first run is moved", || store.stats().compactions == 1);
    // Three overlapping runs stay as they are, the fourth starts a compaction: version 5.
    let obstacle = Obstacle::new(path, version(path) + 5);
    for position in 2..=5 {
        fill(&store, 100, position).unwrap();
    }
    wait_until("the compaction fails", || {
        store.stats().compactions_failed > 0
    });
    wait_until("its files are removed", || tablet_files(path) == 5);
    assert_eq!(store.stats().tablets, 5);
    assert_eq!(value(&store, 99).as_deref(), Some("5"));
    drop(obstacle);
    fill(&store, 100, 6).unwrap();
    wait_until("all is compacted into one tablet", || {
        store.stats().tablets == 1
    });
    wait_until("the files of the others go", || tablet_files(path) == 1);
    assert_eq!(value(&store, 99).as_deref(), Some("6"));
}

#[test]
fn compaction_spares_what_a_generation_reads_and_then_gives_the_space_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let store = open(path);
    fill(&store, 2000, 1).unwrap();
    let old = store.generation();
    for position in 2..=30 {
        fill(&store, 2000, position).unwrap();
    }
    wait_until("the runs are compacted", || store.stats().tablets <= 4);
    for key in 0..2000u32 {
        let record = old.get(SPACE, &key.to_be_bytes()).unwrap().unwrap();
        assert_eq!(record.position, Lsn(1));
    }
    assert!(
        tablet_files(path) > store.stats().tablets,
        "the old generation's tablet is kept"
    );
    drop(old);
    wait_until("nothing else is left", || {
        tablet_files(path) == store.stats().tablets
    });
    assert_eq!(value(&store, 1999).as_deref(), Some("30"));
}

#[test]
fn the_folder_of_a_dropped_space_goes_with_its_last_reader() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join(FOLDER);
    let store = open(directory.path());
    fill(&store, 100, 1).unwrap();
    store.checkpoint(Lsn(1)).unwrap();
    let old = store.generation();
    store.drop_space(SPACE).unwrap();
    assert_eq!(store.stats().spaces_leaving, 1);
    assert!(old.get(SPACE, &[0, 0, 0, 1]).unwrap().is_some());
    assert!(folder.exists());
    drop(old);
    wait_until("the folder is gone", || !folder.exists());
    wait_until("it is counted", || store.stats().spaces_leaving == 0);
    // Dropped and never made durable again: nothing comes back.
    drop(store);
    assert!(open(directory.path()).spaces().is_empty());
}
