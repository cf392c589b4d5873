//! [`Opening`]: a log on its way to being open, whose records can be replayed while its end is found.
//!
//! Relies on: `recover` for the end and the repair.  Promises: every record between the redo start and
//! the end is read once, whoever takes it; nothing is changed before [`Opening::finish`], but names
//! and pages that the process before left unsynced.  Does not: keep what it has handed out.
//!
//! ```text
//!   begin ──► next_block … next_block ──► finish: torn tail or damage? ─► repair ─► open for appends
//! ```
//! What is replayed before `finish` may turn out to belong to a damaged log, and what no record
//! witnesses is not durable before it. So it may be kept in memory, but must not leave it.

use crate::archive::Archive;
use crate::config::{BLOCK_BYTES, WalConfig};
use crate::driven::Driver;
use crate::error::Error;
use crate::reader::Block;
use crate::record;
use crate::recover::{self, Extent, Found, Scan, WalReport};
use crate::shared::Shared;
use crate::space::Space;
use crate::stream::Stream;
use crate::wal::Wal;
use quintet_base::Lsn;
use quintet_rt::{Clock, Disk, OpenMode, Rand, RealClock};
use std::sync::Arc;

/// A log that is being opened.
#[derive(Debug)]
pub struct Opening {
    disk: Arc<dyn Disk>,
    config: WalConfig,
    /// `None`: there is no log yet.
    found: Option<(Found, Scan)>,
}

/// A log that has been found or made, and repaired.
pub(crate) struct Settled {
    pub stream: Stream,
    pub log_id: u64,
    pub space: Space,
    pub extent: Extent,
    pub archive: Option<Archive>,
}

impl Opening {
    /// Looks into a directory, which is made if need be. `redo_start` is where the first block begins:
    /// everything below it is neither checked nor kept. `None` keeps and checks everything there is.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the log does not hold the redo start; [`Error::Io`].
    pub fn begin(
        disk: Arc<dyn Disk>,
        config: WalConfig,
        redo_start: Option<Lsn>,
    ) -> Result<Opening, Error> {
        let directory = &config.directory;
        disk.create_dir_all(directory)?;
        let found = recover::find_segments(&*disk, directory, redo_start, OpenMode::ReadWrite)?;
        let found = match found {
            Some(found) => {
                // The process before this one may have been killed between naming a segment and
                // making the name durable; what is written there next must not lose its name.
                disk.sync_dir(directory)?;
                recover::settle(&found.stream, &config)?;
                let scan = Scan::begin(&found.stream, redo_start, found.log_id)?;
                Some((found, scan))
            }
            None => None,
        };
        Ok(Opening {
            disk,
            config,
            found,
        })
    }

    /// The next records, whole and in order; `None` where the log ends.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Io`].
    pub fn next_block(&mut self) -> Result<Option<Block>, Error> {
        match &mut self.found {
            Some((_, scan)) => scan.next_block(),
            None => Ok(None),
        }
    }

    /// Where the next block begins: the end of the log, if there is none.
    pub fn position(&self) -> Lsn {
        self.found
            .as_ref()
            .map_or(Lsn::ZERO, |(_, scan)| Lsn(scan.position()))
    }

    /// About where the log will turn out to end: a guess, to tell how far the reading is.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn guess_end(&self) -> Result<Lsn, Error> {
        match &self.found {
            Some((_, scan)) => scan.guess_end().map(Lsn),
            None => Ok(Lsn::ZERO),
        }
    }

    /// Capacity of the memory that the log will have; see [`Wal::ring_bytes`].
    pub fn ring_bytes(&self) -> u64 {
        self.config.ring_size()
    }

    /// Reads what has not been read, cuts a torn tail, and starts the writer.
    ///
    /// # Errors
    /// [`Error::Damaged`] if something that was acknowledged is not there as it was written, with
    /// its position and nothing changed; [`Error::DiskFull`], [`Error::Io`].
    pub fn finish(self) -> Result<(Arc<Wal>, WalReport), Error> {
        let (shared, report) = self.settle(Arc::new(RealClock), Rand::from_os())?;
        Ok((Wal::started(shared), report))
    }

    /// As [`Opening::finish`], for simulation; see [`Wal::open_driven`].
    ///
    /// # Errors
    /// As [`Opening::finish`].
    pub fn finish_driven(
        self,
        clock: Arc<dyn Clock>,
        rand: Rand,
    ) -> Result<(Arc<Wal>, Arc<Driver>, WalReport), Error> {
        let (shared, report) = self.settle(clock, rand)?;
        let (wal, driver) = Wal::driven(shared);
        Ok((wal, driver, report))
    }

    pub(crate) fn settle(
        self,
        clock: Arc<dyn Clock>,
        mut rand: Rand,
    ) -> Result<(Shared, WalReport), Error> {
        let Opening {
            disk,
            config,
            found,
        } = self;
        let settled = match found {
            Some((found, scan)) => repaired(disk, &config, found, scan, clock.now_micros())?,
            None => made(disk, &config, rand.next_u64(), Lsn::ZERO)?,
        };
        Ok(Shared::new(config, settled, clock, &mut rand))
    }
}

/// Makes an empty log whose first record will begin at `begin`, for a store that has everything before.
/// The directory must have no log. What is there when this returns is durable.
///
/// # Errors
/// [`Error::Damaged`] if there is a log; [`Error::DiskFull`], [`Error::Io`].
pub fn create(disk: Arc<dyn Disk>, config: &WalConfig, begin: Lsn) -> Result<(), Error> {
    assert!(
        begin.0.is_multiple_of(record::ALIGNMENT),
        "no record can begin at {begin}"
    );
    let directory = &config.directory;
    disk.create_dir_all(directory)?;
    if recover::find_segments(&*disk, directory, None, OpenMode::Read)?.is_some() {
        return Err(Error::Damaged {
            lsn: begin,
            path: directory.clone(),
            offset: 0,
            reason: "there is a log where one was to be made",
        });
    }
    made(disk, config, Rand::from_os().next_u64(), begin)?;
    Ok(())
}

fn repaired(
    disk: Arc<dyn Disk>,
    config: &WalConfig,
    found: Found,
    scan: Scan,
    now_micros: i64,
) -> Result<Settled, Error> {
    let Found {
        stream,
        log_id,
        obsolete,
    } = found;
    let extent = scan.verdict()?;
    let archive = open_archive(&disk, config, log_id)?;
    let mut space = Space::open(disk, config, log_id)?;
    recover::repair(&stream, &extent, config)?;
    for start in obsolete {
        if let Some(archive) = &archive {
            archive.keep(&config.directory, start, now_micros)?;
        }
        space.remove(start)?;
    }
    Ok(Settled {
        stream,
        log_id,
        space,
        extent,
        archive,
    })
}

fn open_archive(
    disk: &Arc<dyn Disk>,
    config: &WalConfig,
    log_id: u64,
) -> Result<Option<Archive>, Error> {
    let config = config.archive.clone();
    let open = |config| Archive::open(Arc::clone(disk), config, log_id);
    config.map(open).transpose()
}

fn made(
    disk: Arc<dyn Disk>,
    config: &WalConfig,
    log_id: u64,
    begin: Lsn,
) -> Result<Settled, Error> {
    // The directory of a bare name is the current one, which somebody else has made.
    let parent = config.directory.parent();
    if let Some(parent) = parent.filter(|parent| !parent.as_os_str().is_empty()) {
        disk.sync_dir(parent)?;
    }
    let archive = open_archive(&disk, config, log_id)?;
    let mut space = Space::open(disk, config, log_id)?;
    let mut stream = Stream::default();
    // At a block, so that the stream keeps the alignment of its files.
    let start = begin.0 / BLOCK_BYTES as u64 * BLOCK_BYTES as u64;
    let made = space.make(start, begin.0 + 1)?;
    made.into_iter().for_each(|segment| stream.push(segment));
    let extent = Scan::begin(&stream, Some(begin), log_id)?.verdict()?;
    Ok(Settled {
        stream,
        log_id,
        space,
        extent,
        archive,
    })
}
