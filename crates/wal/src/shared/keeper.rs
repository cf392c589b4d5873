//! The segments of the log: made before they are needed, given up when they are not.
//!
//! Relies on: `space` for the files.  Promises: the ring's limit follows the space on the disk; a
//! record for which no segment can be made is refused whole.  Does not: write records.
//!
//! ```text
//!   Enough ──last segment half full──► Wanted ──keeper makes one──► Enough
//!     ▲                                  └──────it cannot──► Failed
//!     └──────a reservation makes one, or truncation gives space back─┘
//! ```

use super::{Control, Shared};
use crate::config::WalConfig;
use crate::error::Error;
use crate::segment::SEGMENT_HEADER_BYTES;
use crate::space::Space;
use crate::sync::atomic::Ordering;
use quintet_base::Lsn;

/// The next segment, made before it is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ahead {
    /// Enough space for now.
    Enough,
    /// The keeper has been asked.
    Wanted,
    /// The keeper could not; the next append without space finds out why.
    Failed,
}

impl Shared {
    /// Tells the keeper that the last segment is half full, once.
    #[cold]
    pub(super) fn ask_for_segment(&self) {
        let mut control = self.control.lock();
        let low = self.end() > ask_at(&self.config, self.ring.allocated());
        if low && control.ahead == Ahead::Enough {
            self.set_ahead(&mut control, Ahead::Wanted);
            self.wanted.notify_one();
        }
    }

    fn set_ahead(&self, control: &mut Control, ahead: Ahead) {
        control.ahead = ahead;
        let ask_at = match ahead {
            Ahead::Enough => ask_at(&self.config, self.ring.allocated()),
            Ahead::Wanted | Ahead::Failed => u64::MAX,
        };
        self.ask_at.store(ask_at, Ordering::Relaxed);
    }

    /// Makes segments until a record of `bytes` fits, all of them or none.
    #[cold]
    pub(super) fn make_space(&self, bytes: u64) -> Result<(), Error> {
        let mut space = self.space.lock();
        let (end, allocated) = (self.end(), self.ring.allocated());
        // Another reservation, or the keeper, may have been faster.
        if end + bytes <= allocated {
            return Ok(());
        }
        self.counters.segment_waits.fetch_add(1, Ordering::Relaxed);
        self.extend(&mut space, allocated, end + bytes)
    }

    fn extend(&self, space: &mut Space, from: u64, to: u64) -> Result<(), Error> {
        let made = space.make(from, to)?;
        let mut stream = self.stream.write();
        made.into_iter().for_each(|segment| stream.push(segment));
        let allocated = stream.end();
        drop(stream);
        self.ring.set_allocated(allocated);
        self.set_ahead(&mut self.control.lock(), Ahead::Enough);
        Ok(())
    }

    /// The segment keeper: makes the next segment when it is asked to, until the log closes.
    pub fn keep_segments(&self) {
        loop {
            {
                let mut control = self.control.lock();
                while control.ahead != Ahead::Wanted && !control.closing {
                    self.wanted.wait(&mut control);
                }
                if control.closing {
                    return;
                }
            }
            self.make_wanted_segment();
        }
    }

    /// Makes the next segment if it is wanted; says whether it was.
    pub fn make_wanted_segment(&self) -> bool {
        let mut space = self.space.lock();
        if self.control.lock().ahead != Ahead::Wanted {
            return false;
        }
        let allocated = self.ring.allocated();
        if self.extend(&mut space, allocated, allocated + 1).is_err() {
            // Nobody is hurt yet: a reservation that needs the space tries again and is told.
            self.set_ahead(&mut self.control.lock(), Ahead::Failed);
        }
        true
    }

    pub fn truncate(&self, redo_start: Lsn) -> Result<(), Error> {
        assert!(
            redo_start.0 <= self.end(),
            "redo start {redo_start} is past the end of the log {}",
            self.end()
        );
        if self.synced() < redo_start.0 {
            // The log would begin behind its own end if the machine stopped now.
            self.flush()?;
        }
        let _turn = self.retiring.lock();
        self.space.lock().begin_truncation()?;
        loop {
            let Some(start) = self.stream.read().first_below(redo_start.0) else {
                break;
            };
            // Without the lock of `space`: a copy takes its time, and the next segment must be made meanwhile.
            if let Some(archive) = &self.archive {
                let now = self.clock.now_micros();
                if archive.keep(&self.config.directory, start, now).is_err() {
                    // The log only gets longer; the next truncation tries again.
                    self.counters.keep_failures.fetch_add(1, Ordering::Relaxed);
                    break;
                }
            }
            let mut space = self.space.lock();
            let popped = self.stream.write().pop_below(redo_start.0);
            let Some(segment) = popped else { break };
            assert_eq!(segment.start, start, "one truncation at a time");
            let bytes = segment.file_bytes();
            // Closed before its name goes, so that removing it gives its space back.
            drop(segment);
            space.retire(start, bytes)?;
        }
        self.note_space_given_back();
        Ok(())
    }

    /// Removes segments that are kept to be reused.
    pub fn give_spares_back(&self) -> Result<(), Error> {
        self.space.lock().give_spares_back()?;
        self.note_space_given_back();
        Ok(())
    }

    /// What could not be made may be made now.
    fn note_space_given_back(&self) {
        let mut control = self.control.lock();
        if control.ahead == Ahead::Failed {
            self.set_ahead(&mut control, Ahead::Enough);
        }
    }
}

/// The end of the log behind which the next segment is to be made: half of one before there is none.
pub(super) fn ask_at(config: &WalConfig, allocated: u64) -> u64 {
    let segment = config.segment_file_bytes() - SEGMENT_HEADER_BYTES;
    allocated.saturating_sub(segment / 2)
}
