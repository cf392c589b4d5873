//! Merges and compactions of one space that overlap while a writing of a version fails.
//!
//! The failure that counts comes after the version was named, and no directory put in its way makes it there.
//! So the file of the next version is a directory, which fails earlier, and at that moment the test leaves
//! what the later failure would have left: a file of that number, and its name in place.

use super::Versions;
use crate::LsmConfig;
use crate::space::Space;
use lsm_tree::AbstractTree;
use parking_lot::Mutex;
use quintet_base::Lsn;
use quintet_dc::{Error, Operation};
use quintet_rt::{RealDisk, disk};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

type Moment = Box<dyn FnOnce(&AtomicBool) + Send>;

/// Where a test acts in the midst of something, once.
#[derive(Default)]
pub(crate) struct Moments {
    /// A compaction is at a record; the argument says whether a merge wants to write.
    record: Mutex<Option<Moment>>,
    /// A writing has failed, and whoever failed still has the turn.
    failure: Mutex<Option<Moment>>,
}

impl Moments {
    pub(super) fn at_record(&self, wanted: &AtomicBool) {
        let moment = self.record.lock().take();
        moment.into_iter().for_each(|moment| moment(wanted));
    }

    pub(crate) fn at_failure(&self) {
        let moment = self.failure.lock().take();
        let nothing = AtomicBool::new(false);
        moment.into_iter().for_each(|moment| moment(&nothing));
    }
}

/// What the file of the version holds that has failed at its end.
const NAMED: &[u8] = b"a version that is named on disk and not known to memory";

struct Rig {
    space: Arc<Space>,
    _directory: tempfile::TempDir,
}

impl Rig {
    /// A space with so many overlapping runs, and nobody who compacts them.
    fn new(runs: u64) -> Rig {
        let directory = tempfile::tempdir().unwrap();
        let rig = Rig {
            space: Space::alone(&LsmConfig {
                quiet: Duration::ZERO,
                ..LsmConfig::new(directory.path())
            }),
            _directory: directory,
        };
        for position in 1..=runs {
            rig.merge(position).unwrap();
        }
        rig
    }

    fn merge(&self, position: u64) -> Result<(), Error> {
        self.merge_slowly(position, |_| {})
    }

    /// `at` is called before each record is handed out.
    fn merge_slowly(&self, position: u64, at: impl Fn(u32)) -> Result<(), Error> {
        let mut run = (0..100u32).map(|key| {
            at(key);
            let value = position.to_string();
            Operation::put(key.to_be_bytes().to_vec(), Lsn(position), value)
        });
        self.space.merge(&mut run, &|_| Ok(())).map(|_| ())
    }

    fn versions(&self) -> &Versions {
        self.space.versions()
    }

    fn next_version(&self) -> PathBuf {
        let number = self.space.tree().current_version().id() + 1;
        self.space.folder().join(format!("v{number}"))
    }

    /// Lets the next writing of a version fail; `left` is then put in place of the obstacle.
    fn fail_next(&self, left: impl FnOnce() + Send + 'static) {
        let path = self.next_version();
        std::fs::create_dir(&path).unwrap();
        *self.versions().moments.failure.lock() = Some(Box::new(move |_| {
            std::fs::remove_dir(&path).unwrap();
            left();
        }));
    }

    /// The next writing of a version fails at its very end. Answers where its file is.
    fn fail_next_at_its_end(&self, then: impl FnOnce() + Send + 'static) -> PathBuf {
        let path = self.next_version();
        let file = path.clone();
        let current = self.space.folder().join("current");
        let number = self.space.tree().current_version().id() + 1;
        self.fail_next(move || {
            disk::replace_file(&RealDisk, &file, NAMED).unwrap();
            let name = [&number.to_le_bytes()[..], &[0; 17]].concat();
            disk::replace_file(&RealDisk, &current, &name).unwrap();
            then();
        });
        path
    }

    fn check_refused(&self) {
        let error = self.merge(90).unwrap_err();
        let Error::Io { source, .. } = &error else {
            panic!("{error:?}");
        };
        let why = source.to_string();
        assert!(why.contains("restart"), "{why}");
        assert!(why.contains("irectory"), "the first cause is named: {why}");
        assert!(!self.space.compact().unwrap(), "nothing is compacted");
    }
}

/// The story: a merge's version failed at its end while a compaction was under way; the compaction then wrote
/// its version into the file that was named on disk, and a crash meanwhile would have left none.
#[test]
fn a_compaction_turns_back_when_a_merge_leaves_the_version_in_doubt() {
    let rig = Rig::new(4);
    let (started, starts) = channel();
    *rig.versions().moments.record.lock() = Some(Box::new(move |wanted| {
        started.send(()).unwrap();
        while !wanted.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    }));
    std::thread::scope(|scope| {
        let compaction = scope.spawn(|| rig.space.compact());
        starts.recv().unwrap();
        let named = rig.fail_next_at_its_end(|| {});
        rig.merge(5).unwrap_err();
        let outcome = compaction.join().unwrap();
        assert!(outcome.is_err(), "it went on: {outcome:?}");
        assert_eq!(disk::read_file(&RealDisk, &named).unwrap(), NAMED);
        rig.check_refused();
        assert_eq!(disk::read_file(&RealDisk, &named).unwrap(), NAMED);
    });
}

/// The story: as above, the other way round; the merge had looked for a doubt before it took its run.
#[test]
fn a_merge_is_refused_when_a_compaction_leaves_the_version_in_doubt() {
    let rig = Rig::new(4);
    let (in_midst, is_in_midst) = channel();
    let (failed, has_failed) = channel();
    std::thread::scope(|scope| {
        let merge = scope.spawn(|| {
            let has_failed = has_failed;
            rig.merge_slowly(5, |key| {
                if key == 50 {
                    in_midst.send(()).unwrap();
                    has_failed.recv().unwrap();
                }
            })
        });
        is_in_midst.recv().unwrap();
        let named = rig.fail_next_at_its_end(move || failed.send(()).unwrap());
        rig.space.compact().unwrap_err();
        let outcome = merge.join().unwrap();
        assert!(outcome.is_err(), "it was taken");
        assert_eq!(disk::read_file(&RealDisk, &named).unwrap(), NAMED);
        rig.check_refused();
        assert_eq!(disk::read_file(&RealDisk, &named).unwrap(), NAMED);
    });
}

/// A name whose sync has failed may be lost although a later sync of its directory succeeds. The file goes, so
/// that the next version has a new name.
#[test]
fn the_file_of_a_version_that_was_not_named_goes() {
    let rig = Rig::new(1);
    let unfinished = rig.next_version();
    let path = unfinished.clone();
    rig.fail_next(move || disk::replace_file(&RealDisk, &path, b"part").unwrap());
    rig.merge(2).unwrap_err();
    assert!(!unfinished.exists());
    rig.merge(2).unwrap();
    assert!(unfinished.exists(), "it has the same number");
}

#[test]
fn a_merge_writes_while_a_compaction_is_held_and_both_are_there_afterwards() {
    let rig = Rig::new(4);
    let (started, starts) = channel();
    *rig.versions().moments.record.lock() = Some(Box::new(move |wanted| {
        started.send(()).unwrap();
        while !wanted.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    }));
    std::thread::scope(|scope| {
        let compaction = scope.spawn(|| rig.space.compact());
        starts.recv().unwrap();
        rig.merge(5).unwrap();
        assert!(compaction.join().unwrap().unwrap());
    });
    assert_eq!(rig.space.overlapping_runs(), 1, "the merge's");
    let pin = rig.space.pin();
    let record = pin.read(&7u32.to_be_bytes()).unwrap().unwrap();
    assert_eq!(record.position, Lsn(5));
}

#[test]
fn a_doubt_that_arises_in_one_turn_is_known_in_the_next() {
    let versions = Versions::default();
    let compaction = versions.turn_to_compact().unwrap();
    versions.set_doubt("the first reason");
    versions.set_doubt("another");
    drop(compaction);
    let refused = versions.turn_to_merge().map(|_| ()).unwrap_err();
    assert_eq!(&*refused, "the first reason");
    assert!(versions.turn_to_compact().is_none(), "and does not hang");
}
