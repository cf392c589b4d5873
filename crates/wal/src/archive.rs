//! Segments that are kept when the log itself needs them no more.
//!
//! Relies on: a segment below the redo start is full, synced, and never written again.  Promises: a file under
//! a kept segment's name is whole and durable; the log gives a segment up only when it is kept; what is kept of
//! one log follows on without a gap, but for what a bound has taken from its old end.
//! Does not: keep what is still in the log; a failure costs space in the log's directory and nothing else.
//!
//! | name in the archive's directory | what it is |
//! |---|---|
//! | `<log's id, 16 hex digits>/` | one log's segments |
//! | `…/<start position, 16 hex digits>-<when kept, 16 hex digits>.log` | a segment, as `segment` describes it; microseconds since 2000 |
//! | `….part` | a copy in the making; left over after a crash, removed |

use crate::error::Error;
use crate::segment::FileKind;
use crate::sync::Mutex;
use quintet_rt::{Disk, OpenMode};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How much is copied at once.
const COPY_BYTES: usize = 1 << 20;

/// Where segments are kept, and how long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArchiveConfig {
    /// Made if it is not there. Several logs may share it.
    pub directory: PathBuf,
    /// Beyond it the oldest segments of this log go; 0 is no bound.
    pub bytes_max: u64,
    /// Segments that were kept longer ago go when another one is kept; 0 is no bound.
    pub age_max_ms: u64,
}

/// A segment that is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Kept {
    pub start: u64,
    pub path: PathBuf,
    at_micros: u64,
    bytes: u64,
}

/// What is kept of one log.
#[derive(Debug)]
pub(crate) struct Archive {
    disk: Arc<dyn Disk>,
    config: ArchiveConfig,
    folder: PathBuf,
    /// Oldest first.
    kept: Mutex<VecDeque<Kept>>,
}

/// The folder of a log in an archive's directory.
pub(crate) fn folder_of(directory: &Path, log_id: u64) -> PathBuf {
    directory.join(format!("{log_id:016x}"))
}

/// Start of the segment and when it was kept, by the name; `None` for what is not ours.
pub(crate) fn parse(name: &str) -> Option<(u64, u64)> {
    let (start, at) = name.strip_suffix(".log")?.split_once('-')?;
    let number = |digits: &str| {
        let plain = digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        plain
            .then(|| u64::from_str_radix(digits, 16).ok())
            .flatten()
    };
    Some((number(start)?, number(at)?))
}

impl Archive {
    /// Opens what is kept of a log.
    pub fn open(disk: Arc<dyn Disk>, config: ArchiveConfig, log_id: u64) -> Result<Archive, Error> {
        let folder = folder_of(&config.directory, log_id);
        disk.create_dir_all(&folder)?;
        disk.sync_dir(&config.directory)?;
        let mut kept = Vec::new();
        for name in disk.list(&folder)? {
            let path = folder.join(&name);
            if name.ends_with(".part") {
                disk.remove(&path)?;
            } else if let Some((start, at_micros)) = parse(&name) {
                let bytes = disk.open(&path, OpenMode::Read)?.len()?;
                kept.push(Kept {
                    start,
                    path,
                    at_micros,
                    bytes,
                });
            }
        }
        kept.sort_unstable_by_key(|kept| kept.start);
        Ok(Archive {
            disk,
            config,
            folder,
            kept: Mutex::new(kept.into()),
        })
    }

    /// Where it is.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// What is kept, oldest first.
    pub fn kept(&self) -> Vec<Kept> {
        self.kept.lock().iter().cloned().collect()
    }

    /// How many segments are kept, and their bytes.
    pub fn size(&self) -> (u64, u64) {
        let kept = self.kept.lock();
        let bytes = kept.iter().map(|kept| kept.bytes).sum();
        (kept.len() as u64, bytes)
    }

    /// Copies a segment out of the log's directory. One at a time, oldest first.
    pub fn keep(&self, log: &Path, start: u64, now_micros: i64) -> Result<(), Error> {
        // Kept by a process that ended before it gave the segment up.
        let is_kept = self.kept.lock().iter().any(|kept| kept.start == start);
        if is_kept {
            return Ok(());
        }
        let at_micros = u64::try_from(now_micros).unwrap_or(0);
        let name = format!("{start:016x}-{at_micros:016x}");
        let part = self.folder.join(format!("{name}.part"));
        let path = self.folder.join(format!("{name}.log"));
        let copied = self.copy(&FileKind::Log.path(log, start), &part);
        let bytes = copied.inspect_err(|_| {
            // Gives the space back; if even that fails, the next opening does.
            let _ = self.disk.remove(&part);
        })?;
        self.disk.rename(&part, &path)?;
        self.disk.sync_dir(&self.folder)?;
        self.kept.lock().push_back(Kept {
            start,
            path,
            at_micros,
            bytes,
        });
        self.trim(at_micros)
    }

    fn copy(&self, from: &Path, to: &Path) -> Result<u64, Error> {
        let from = self.disk.open(from, OpenMode::Read)?;
        let to = self.disk.open(to, OpenMode::Create)?;
        to.set_len(0)?;
        let bytes = from.len()?;
        let mut buffer = vec![0; COPY_BYTES];
        let mut at = 0;
        while at < bytes {
            let got = from.read_at(&mut buffer, at)?;
            if got == 0 {
                break;
            }
            to.write_at(&buffer[..got], at)?;
            at += got as u64;
        }
        to.sync_data()?;
        Ok(at)
    }

    /// Takes away what the bounds do not allow, but never the newest.
    fn trim(&self, now_micros: u64) -> Result<(), Error> {
        let mut kept = self.kept.lock();
        let mut bytes: u64 = kept.iter().map(|kept| kept.bytes).sum();
        let ArchiveConfig {
            bytes_max,
            age_max_ms,
            ..
        } = self.config;
        while kept.len() > 1 {
            let Some(oldest) = kept.front() else { break };
            let age = now_micros.saturating_sub(oldest.at_micros) / 1000;
            let too_many = bytes_max > 0 && bytes > bytes_max;
            let too_old = age_max_ms > 0 && age > age_max_ms;
            if !too_many && !too_old {
                break;
            }
            self.disk.remove(&oldest.path)?;
            bytes -= oldest.bytes;
            kept.pop_front();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_rt::SimDisk;

    #[test]
    fn names_read_back_and_foreign_ones_do_not() {
        let name = "00000000000010f0-0000000000000007.log";
        assert_eq!(parse(name), Some((0x10f0, 7)));
        for name in [
            "00000000000010f0.log",
            "10f0-7.log",
            "00000000000010f0-0000000000000007.part",
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
    }

    #[test]
    fn bounds_take_the_oldest_and_leave_the_newest() {
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
        let log = Path::new("/log");
        disk.create_dir_all(log).unwrap();
        disk.create_dir_all(Path::new("/kept")).unwrap();
        for start in 0..6u64 {
            let path = FileKind::Log.path(log, start * 100);
            let file = disk.open(&path, OpenMode::Create).unwrap();
            file.write_at(&[start as u8; 100], 0).unwrap();
        }
        let open = |bytes_max, age_max_ms| {
            let config = ArchiveConfig {
                directory: "/kept".into(),
                bytes_max,
                age_max_ms,
            };
            Archive::open(Arc::clone(&disk), config, 9).unwrap()
        };
        let starts = |archive: &Archive| -> Vec<u64> {
            archive.kept().iter().map(|kept| kept.start).collect()
        };
        let archive = open(250, 0);
        for (start, at) in [(0, 0), (100, 1000), (200, 2000)] {
            archive.keep(log, start, at).unwrap();
        }
        assert_eq!(starts(&archive), [100, 200]);
        // Once more after a crash that came before the log gave it up.
        archive.keep(log, 200, 3000).unwrap();
        assert_eq!(starts(&archive), [100, 200]);
        let archive = open(0, 2);
        assert_eq!(archive.size(), (2, 200));
        archive.keep(log, 300, 5100).unwrap();
        assert_eq!(starts(&archive), [300]);
        let archive = open(1, 1);
        archive.keep(log, 400, 1_000_000).unwrap();
        assert_eq!(starts(&archive), [400]);
    }
}
