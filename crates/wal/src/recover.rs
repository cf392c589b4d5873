//! Finding the end of the log: where the last crash tore it, or that it is damaged.
//!
//! Relies on: `record` headers that say where they stand and what was synced when they were
//! written.  Promises: nothing that had been acknowledged is cut away without an error; after
//! [`repair`] everything up to the end is durable and nothing behind it can ever be read as a
//! record.  Does not: look below the redo start.
//!
//! ```text
//!  redo start                 witness            end (first position without a whole record)
//!  ──┬──────────┬───────┬────────┬──────┬─────────┬───────────────┬─────────────────
//!    │ record   │record │ record │record│ record  │ torn remains  │ zeros, or records of a reused
//!  ──┴──────────┴───────┴────────┴──────┴─────────┴───────────────┴ segment with other positions
//!     witnessed as synced ───────┘ written again  │ made zeros    │ left alone
//!                                  and synced ────┘
//! ```
//!
//! * A whole header *behind* the end that was written knowing "synced up to S", S beyond the end,
//!   is a witness that the bytes at the end had been acknowledged: damage, refused with its
//!   position. Without a witness it is a torn tail, which nobody had been promised.
//! * A failed sync may have left pages that can be read but that no later sync will write: records,
//!   or the zeros of an earlier repair. So the log is read from the disk and not from the
//!   system's memory ([`settle`]); and because dropping that memory is no more than advice on some
//!   systems, what no record witnesses is written again before it counts as durable.
//! * Whole headers behind the end are made zeros. What is not whole now stays so: see the run in
//!   `record`.

use crate::config::{Planted, WalConfig};
use crate::error::Error;
use crate::reader::{Block, Cursor};
use crate::record::{self, Header, RECORD_HEADER_BYTES};
use crate::segment::{self, FileKind, Segment};
use crate::stream::{Stream, Unsynced, Window};
use quintet_base::Lsn;
use quintet_rt::{Disk, OpenMode};
use std::path::Path;

/// How much is searched, zeroed or rewritten at once.
const CHUNK_BYTES: usize = 64 * 1024;
static ZEROS: [u8; CHUNK_BYTES] = [0; CHUNK_BYTES];

/// How far off a guess of the log's end may be.
const GUESS_BYTES: u64 = 1 << 20;

/// How far a guess looks for a record. One that is longer may mislead it.
const PROBE_BYTES: u64 = 4 << 20;

/// What opening the log found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WalReport {
    /// Where reading began: the redo start, or the first record that is there.
    pub begin: Lsn,
    /// Where the log ends and appending goes on.
    pub end: Lsn,
    /// Records between them.
    pub records: u64,
    /// Bytes behind the end that were cut away: remains of records that were never acknowledged.
    pub cut_bytes: u64,
    /// Bytes before the end that were written again because nothing witnessed their sync.
    pub rewritten_bytes: u64,
    /// Segment files.
    pub segments: usize,
    /// Bytes that they take.
    pub bytes: u64,
}

/// The segments of a directory.
#[derive(Debug)]
pub(crate) struct Found {
    pub stream: Stream,
    pub log_id: u64,
    /// Segments that end below the redo start; they were not looked into.
    pub obsolete: Vec<u64>,
}

/// Opens the segments from the redo start on; `None` if there are none.
pub(crate) fn find_segments(
    disk: &dyn Disk,
    directory: &Path,
    redo_start: Option<Lsn>,
    mode: OpenMode,
) -> Result<Option<Found>, Error> {
    let mut starts: Vec<u64> = disk
        .list(directory)?
        .iter()
        .filter_map(|name| match FileKind::of(name) {
            Some((FileKind::Log, start)) => Some(start),
            _ => None,
        })
        .collect();
    starts.sort_unstable();
    let needed_from = redo_start.map_or(0, |lsn| lsn.0);
    // A segment is below the redo start if the next one begins at or below it.
    let below = starts
        .windows(2)
        .take_while(|pair| pair[1] <= needed_from)
        .count();
    let obsolete: Vec<u64> = starts.drain(..below).collect();
    let damaged = |position, reason| Error::Damaged {
        lsn: Lsn(position),
        path: directory.to_path_buf(),
        offset: 0,
        reason,
    };
    let mut found: Option<Found> = None;
    for start in starts {
        let (segment, header) = segment::open(disk, directory, start, mode)?;
        let found = found.get_or_insert_with(|| Found {
            stream: Stream::default(),
            log_id: header.log_id,
            obsolete: obsolete.clone(),
        });
        if header.log_id != found.log_id {
            return Err(segment.damaged(start, "the segment belongs to another log"));
        }
        let expected = found.stream.end();
        if !found.stream.segments().is_empty() && start != expected {
            return Err(damaged(
                expected,
                "a segment is missing or overlaps another",
            ));
        }
        found.stream.push(segment);
    }
    let covered = match &found {
        Some(found) => found.stream.start()..=found.stream.end(),
        None => 0..=0,
    };
    match redo_start {
        Some(lsn) if !covered.contains(&lsn.0) => {
            Err(damaged(lsn.0, "no segment holds the redo start"))
        }
        Some(lsn) if !lsn.0.is_multiple_of(record::ALIGNMENT) => {
            Err(damaged(lsn.0, "no record can begin at the redo start"))
        }
        _ => Ok(found),
    }
}

/// Where the log begins and ends, and what is to be repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    pub begin: u64,
    pub end: u64,
    pub records: u64,
    /// Everything below is known to have been synced.
    pub witnessed: u64,
    /// End of the last thing behind `end` that looks like a record.
    pub remains_end: u64,
}

/// Makes what can be read and what is on the disk the same thing.
pub(crate) fn settle(stream: &Stream, config: &WalConfig) -> Result<(), Error> {
    if config.plants(Planted::TrustUnsynced) {
        return Ok(());
    }
    for segment in stream.segments() {
        segment.file.sync_data()?;
        segment.file.drop_cached()?;
    }
    Ok(())
}

/// The one reading of the log between the redo start and its end. Whoever replays it takes the blocks
/// as they come; what nobody takes is read all the same before the verdict.
#[derive(Debug)]
pub(crate) struct Scan {
    cursor: Cursor,
    begin: u64,
    records: u64,
    witnessed: u64,
    /// Why there is no record where the cursor stands.
    ended: Option<&'static str>,
}

impl Scan {
    pub fn begin(stream: &Stream, redo_start: Option<Lsn>, log_id: u64) -> Result<Scan, Error> {
        let mut window = Window::new(stream.clone(), stream.end());
        let begin = match redo_start {
            Some(lsn) => lsn.0,
            // The first segment may begin inside a record whose head has been truncated away.
            None if stream.start() > 0 => {
                let mut first = None;
                each_header(&mut window, stream.start(), log_id, |header| {
                    first = Some(header.position);
                    Search::Stop
                })?;
                first.unwrap_or(stream.start())
            }
            None => 0,
        };
        Ok(Scan {
            cursor: Cursor::new(window, begin, log_id),
            begin,
            records: 0,
            witnessed: begin,
            ended: None,
        })
    }

    /// Of segments that are kept, which may end anywhere.
    pub fn of_kept(stream: &Stream, from: Lsn, log_id: u64) -> Result<Scan, Error> {
        let scan = Scan::begin(stream, Some(from), log_id)?;
        Ok(Scan {
            cursor: scan.cursor.open_ended(),
            ..scan
        })
    }

    /// The next records, whole and checked; `None` at the end of the log.
    pub fn next_block(&mut self) -> Result<Option<Block>, Error> {
        if self.ended.is_some() {
            return Ok(None);
        }
        let (block, ended) = self.cursor.block()?;
        self.ended = ended;
        self.records += block.len() as u64;
        self.witnessed = self.witnessed.max(block.synced());
        Ok((!block.is_empty()).then_some(block))
    }

    /// Where the next block begins.
    pub fn position(&self) -> u64 {
        self.cursor.position()
    }

    /// Reads what is left and decides between torn tail and damage.
    pub fn verdict(mut self) -> Result<Extent, Error> {
        while self.next_block()?.is_some() {}
        let reason = self.ended.expect("blocks end for a reason");
        let (end, log_id) = (self.cursor.position(), self.cursor.log_id());
        let window = self.cursor.window();
        let limit = window.limit();
        let (mut remains_end, mut contradicted) = (end, false);
        each_header(window, end, log_id, |header| {
            contradicted |= header.synced > end;
            remains_end = remains_end.max(header.end().min(limit));
            if contradicted {
                Search::Stop
            } else {
                Search::GoOn
            }
        })?;
        if contradicted {
            return Err(window.stream().damaged(end, reason));
        }
        Ok(Extent {
            begin: self.begin,
            end,
            records: self.records,
            witnessed: self.witnessed,
            remains_end,
        })
    }

    /// About where the log will turn out to end, from a look at a few places behind the last block: for
    /// those who want to know how long it will take, and for nothing else.
    pub fn guess_end(&self) -> Result<u64, Error> {
        let (stream, log_id) = (self.cursor.stream(), self.cursor.log_id());
        let (mut low, mut high) = (self.position(), stream.end());
        while high - low > GUESS_BYTES {
            let middle = low + (high - low) / 2;
            let to = (middle + PROBE_BYTES).min(stream.end());
            let mut window = Window::new(stream.clone(), to);
            let mut written = false;
            each_header(&mut window, middle, log_id, |_| {
                written = true;
                Search::Stop
            })?;
            if written {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(high)
    }
}

#[derive(PartialEq, Eq)]
enum Search {
    GoOn,
    Stop,
}

/// Shows every whole header at or behind `from`, wherever it stands.
fn each_header(
    window: &mut Window,
    from: u64,
    log_id: u64,
    mut show: impl FnMut(Header) -> Search,
) -> Result<(), Error> {
    let mut position = from.next_multiple_of(record::ALIGNMENT);
    while window.limit().saturating_sub(position) >= RECORD_HEADER_BYTES as u64 {
        let len = CHUNK_BYTES.min((window.limit() - position) as usize);
        let chunk = window.get(position, len)?.expect("inside the limit");
        // Places in this chunk where a header fits whole; the next chunk goes on behind them.
        let places = (len - RECORD_HEADER_BYTES) / record::ALIGNMENT as usize + 1;
        // Most of what is searched was never written to; comparing it is many times faster.
        if chunk != &ZEROS[..len] {
            for place in 0..places {
                let at = place * record::ALIGNMENT as usize;
                let there = position + at as u64;
                if let Some(header) = Header::parse(&chunk[at..], there, log_id)
                    && show(header) == Search::Stop
                {
                    return Ok(());
                }
            }
        }
        position += places as u64 * record::ALIGNMENT;
    }
    Ok(())
}

impl Extent {
    pub fn report(&self, stream: &Stream) -> WalReport {
        WalReport {
            begin: Lsn(self.begin),
            end: Lsn(self.end),
            records: self.records,
            cut_bytes: self.remains_end - self.end,
            rewritten_bytes: self.end - self.witnessed,
            segments: stream.segments().len(),
            bytes: stream.segments().iter().map(Segment::file_bytes).sum(),
        }
    }
}

/// Makes everything up to the end durable and what looks like a record behind it zeros.
pub(crate) fn repair(stream: &Stream, extent: &Extent, config: &WalConfig) -> Result<(), Error> {
    let mut unsynced = Unsynced::default();
    if !config.plants(Planted::KeepRemains) {
        for (position, len) in chunks(extent.end, extent.remains_end) {
            stream.write(position, &ZEROS[..len], &mut unsynced, None)?;
        }
    }
    if !config.plants(Planted::TrustUnsynced) {
        let mut copy = vec![0; CHUNK_BYTES];
        for (position, len) in chunks(extent.witnessed, extent.end) {
            stream.read(position, &mut copy[..len])?;
            stream.write(position, &copy[..len], &mut unsynced, None)?;
        }
    }
    unsynced.sync()?;
    Ok(())
}

fn chunks(from: u64, to: u64) -> impl Iterator<Item = (u64, usize)> {
    (from..to)
        .step_by(CHUNK_BYTES)
        .map(move |at| (at, CHUNK_BYTES.min((to - at) as usize)))
}
