//! [`restore`]: a directory that can be opened, made of a backup.
//!
//! Relies on: `reader` checks every byte.  Promises: the directory gets its format file last, so that what is
//! not whole is not opened; it holds what the backup's position says, and a log of its own that begins there.
//! Does not: write into a directory that has anything in it, or repair a damaged backup.
//!
//! ```text
//!   records ─► STORE, space by space ─► kept log, if any ─► checkpoint at the position ─► log that begins there ─► FORMAT
//! ```

use super::manifest::Manifest;
use super::reader::{self, Frames};
use super::replay::{Replay, Replayed, replay};
use super::{Error, Header, Totals};
use crate::database::{FORMAT, log_config, make_directory};
use quintet_base::{Lsn, SpaceId};
use quintet_dc::{DataComponent, Operation};
use quintet_dc_lsm::{LsmConfig, LsmStore};
use quintet_rt::disk::replace_file;
use quintet_rt::{Disk, OpenMode, RealDisk};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Names that an empty directory may have: a lock of a process before, and what some file systems make.
const AS_GOOD_AS_EMPTY: [&str; 2] = ["LOCK", "lost+found"];

/// What is to be restored, and where.
#[derive(Clone, Debug)]
pub struct RestoreConfig {
    /// The backup's directory.
    pub from: PathBuf,
    /// The directory that is to be made: not there, or empty.
    pub data: PathBuf,
    /// What is to be replayed onto it.
    pub replay: Option<Replay>,
}

/// What has been restored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Restored {
    /// What the backup said of itself.
    pub backup: Header,
    /// What came from the backup.
    pub totals: Totals,
    /// Every commit at or below is there, and none above.
    pub position: Lsn,
    /// What came from the log.
    pub replayed: Replayed,
}

/// Restores a backup; tells `progress` of bytes done and bytes in all.
///
/// # Errors
/// [`Error::NotEmpty`], [`Error::Format`] and [`Error::Damaged`] before anything, or anything that can be
/// opened, has been made; what the disk says.
pub fn restore(
    config: &RestoreConfig,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Restored, Error> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let manifest = reader::manifest(&*disk, &config.from)?;
    refuse_files(&*disk, &config.data)?;
    make_directory(&*disk, &config.data).map_err(|error| match error {
        crate::Error::Disk(error) => Error::Disk(error),
        other => Error::Stream(other.to_string()),
    })?;
    let lock = disk.open(&config.data.join("LOCK"), OpenMode::Create)?;
    if !lock.try_lock()? {
        return Err(Error::InUse(config.data.clone()));
    }
    let store = LsmStore::open(&LsmConfig::new(config.data.join("store")))?;
    load(&*disk, &config.from, &manifest, &store, progress)?;
    let (position, replayed) = match &config.replay {
        Some(kept) => replay(&*disk, &store, kept, &manifest.header)?,
        None => (manifest.header.position, Replayed::default()),
    };
    store.checkpoint(position)?;
    drop(store);
    quintet_wal::create(Arc::clone(&disk), &log_config(&config.data), position)?;
    disk.sync_dir(&config.data)?;
    replace_file(&*disk, &config.data.join("FORMAT"), FORMAT.as_bytes())?;
    Ok(Restored {
        backup: manifest.header,
        totals: manifest.totals,
        position,
        replayed,
    })
}

fn refuse_files(disk: &dyn Disk, data: &Path) -> Result<(), Error> {
    let names = match disk.exists(data)? {
        true => disk.list(data)?,
        false => Vec::new(),
    };
    let known = |name: &String| AS_GOOD_AS_EMPTY.contains(&name.as_str());
    match names.iter().all(known) {
        true => Ok(()),
        false => Err(Error::NotEmpty(data.to_path_buf())),
    }
}

/// Brings all records into STORE.
fn load(
    disk: &dyn Disk,
    from: &Path,
    manifest: &Manifest,
    store: &LsmStore,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), Error> {
    let mut frames = Frames::new(disk, from, manifest);
    while let Some(space) = frames.next_space()? {
        let mut run = Run {
            space,
            position: manifest.header.position,
            frames: &mut frames,
            bytes: manifest.totals.bytes,
            progress,
            failed: None,
        };
        let merged = store.merge(space, &mut operations(&mut run));
        match run.failed.take() {
            Some(error) => return Err(error),
            None => merged?,
        };
    }
    Ok(())
}

/// The records of one space, as STORE takes them.
struct Run<'a, 'b> {
    space: SpaceId,
    position: Lsn,
    frames: &'a mut Frames<'b>,
    bytes: u64,
    progress: &'a mut dyn FnMut(u64, u64),
    /// Why it ended before its end.
    failed: Option<Error>,
}

fn operations<'r>(run: &'r mut Run<'_, '_>) -> impl Iterator<Item = Operation<'static>> + 'r {
    let mut body: Option<super::frame::Body> = None;
    let mut before: Option<bytes::Bytes> = None;
    std::iter::from_fn(move || {
        loop {
            if let Some((key, record)) = body.as_mut().and_then(super::frame::Body::next) {
                let ascends = !key.is_empty() && before.as_ref().is_none_or(|before| *before < key);
                if !ascends || record.position > run.position {
                    // The checksums fit, so nobody has damaged it since.
                    let what = format!("records of space {} are out of order", run.space);
                    run.failed = Some(Error::Stream(what));
                    return None;
                }
                before = Some(key.clone());
                return Some(Operation::put(key, record.position, record.value));
            }
            match run.frames.next_space() {
                Ok(Some(space)) if space == run.space => body = run.frames.take(),
                Ok(_) => return None,
                Err(error) => {
                    run.failed = Some(error);
                    return None;
                }
            }
            (run.progress)(run.frames.bytes(), run.bytes);
        }
    })
}
