//! Depth 1 of 3: the store alone. Records by key, in ordered spaces; no transactions, no log, no SQL.
//!
//! For programs that have their own log, or data they can make again: runs of records go in sorted and
//! whole, generations are read at leisure while more comes in. Depend on `quintet-dc` and `quintet-dc-lsm`.
//!
//! `cargo run -p quintet-embed --example depth_1_records`

use quintet_base::{Lsn, SpaceId};
use quintet_dc::{DataComponent, Direction, KeyRange, Operation};
use quintet_dc_lsm::{LsmConfig, LsmStore};

/// Spaces are numbers; what they mean is the program's business.
const CITIES: SpaceId = SpaceId(1);

/// Runs the example in a temporary directory.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let store = LsmStore::open(&LsmConfig::new(directory.path()))?;

    // A run: ascending keys, each change with its position in the program's own order of changes.
    let run = [
        Operation::put("berlin", Lsn(1), "3.7 million"),
        Operation::put("oslo", Lsn(2), "0.7 million"),
        Operation::put("rome", Lsn(3), "2.8 million"),
    ];
    store.merge(CITIES, &mut run.into_iter())?;
    // From here on a crash loses nothing up to position 3; on reopening the store says so.
    store.checkpoint(Lsn(3))?;

    // A generation is a fixed view: what is merged later does not show in it.
    let then = store.generation();
    let run = [
        Operation::remove("oslo", Lsn(4)),
        Operation::put("paris", Lsn(5), "2.1 million"),
    ];
    store.merge(CITIES, &mut run.into_iter())?;
    let now = store.generation();
    assert!(then.get(CITIES, b"oslo")?.is_some());
    assert!(now.get(CITIES, b"oslo")?.is_none());

    let mut names = Vec::new();
    let mut scan = now.scan(CITIES, &KeyRange::from("c"), Direction::Backward)?;
    while let Some((key, record)) = scan.next()? {
        println!(
            "{}: {}",
            String::from_utf8_lossy(&key),
            String::from_utf8_lossy(&record.value)
        );
        names.push(key);
    }
    assert_eq!(names, ["rome", "paris"]);

    // Only one handle at a time: generations and scans hold the store, too.
    drop((scan, then, now, store));
    let store = LsmStore::open(&LsmConfig::new(directory.path()))?;
    // Merges after the checkpoint may or may not have survived; the program sends again what its own
    // log holds after this position. Doing so twice changes nothing.
    assert_eq!(store.redo_start(), Lsn(3));
    Ok(())
}
