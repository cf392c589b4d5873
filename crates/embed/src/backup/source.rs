//! [`Backup`]: a database's records, frame by frame.
//!
//! Relies on: a generation of STORE that holds exactly the commits up to its position.  Promises: the same frames
//! whatever is committed meanwhile; no more than a frame and a record in memory; nothing is held back but the
//! files that the generation is in, on the disk.  Does not: write files.

use super::frame::Frame;
use super::{Error, Header, Totals};
use crate::database::{Database, Inner};
use bytes::Bytes;
use quintet_base::{Lsn, SpaceId};
use quintet_dc::{Direction, Generation, KeyRange, Record, RecordScan};
use std::collections::VecDeque;
use std::sync::Arc;

/// A backup being taken.
pub struct Backup {
    header: Header,
    generation: Arc<dyn Generation>,
    /// Spaces that have not been begun.
    spaces: VecDeque<SpaceId>,
    /// The space at hand.
    scan: Option<(SpaceId, Box<dyn RecordScan>)>,
    /// Read, and too long for the frame before.
    held: Option<(Bytes, Record)>,
    totals: Totals,
}

impl Database {
    /// Begins a backup of everything committed so far. Blocks until STORE has it; commits go on meanwhile.
    ///
    /// # Errors
    /// [`Error::Unsettled`].
    pub fn backup(&self) -> Result<Backup, Error> {
        Backup::begin(&self.inner)
    }
}

impl Backup {
    pub(crate) fn begin(db: &Inner) -> Result<Backup, Error> {
        let settled = db.tc.settled()?;
        // Afterwards: no commit in it is later.
        let taken_micros = db.clock.now_micros();
        Ok(Backup {
            header: Header {
                position: Lsn(settled.position.0),
                taken_micros,
                log_id: db.log.id(),
            },
            spaces: settled.generation.spaces().into(),
            generation: settled.generation,
            scan: None,
            held: None,
            totals: Totals::default(),
        })
    }

    /// What it is a backup of.
    pub fn header(&self) -> Header {
        self.header
    }

    /// What has been told so far; after the last frame, all.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// The next records; `None` when all have been told.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn next_frame(&mut self) -> Result<Option<Vec<u8>>, Error> {
        loop {
            let Some((space, scan)) = &mut self.scan else {
                let Some(space) = self.spaces.pop_front() else {
                    return Ok(None);
                };
                let all = KeyRange::all();
                let scan = self.generation.scan(space, &all, Direction::Forward)?;
                self.scan = Some((space, scan));
                continue;
            };
            let mut frame = Frame::new(*space);
            if let Some((key, record)) = self.held.take() {
                frame.push(&key, &record);
            }
            loop {
                match scan.next()? {
                    Some((key, record)) if frame.is_full(&key, &record) => {
                        self.held = Some((key, record));
                        break;
                    }
                    Some((key, record)) => frame.push(&key, &record),
                    None => {
                        self.scan = None;
                        break;
                    }
                }
            }
            if frame.count() > 0 {
                self.totals.records += u64::from(frame.count());
                let bytes = frame.finish();
                self.totals.frames += 1;
                self.totals.bytes += bytes.len() as u64;
                return Ok(Some(bytes));
            }
        }
    }
}
