//! A record from the moment its place in the log is taken to the moment it is whole, and reading it
//! back from memory.
//!
//! Relies on: `ring` for the bytes.  Promises: what is finished is a whole record, header, checksum and
//! padding included, at an address that does not move.  Does not: wait.
//!
//! ```text
//!   Reserved ──payload()──► being filled ──finish()──► Filled ──Writer::write──► Written ...
//!      └──────────────┴─ dropped: the process aborts
//! ```

use crate::record::{self, Header, Payload, RECORD_HEADER_BYTES};
use crate::ring::{Place, Reading, Ring, Span};
use crate::shared::Shared;
use quintet_base::Lsn;
use std::ptr::NonNull;

/// A place at the end of the log, to be filled by its owner. Its lsn is final: other records are behind
/// it already.
///
/// **It must be finished.** The log is a sequence; a place in it that stays empty is a hole that no
/// later commit can pass, and nothing true can be written into it in its owner's name. So dropping
/// a reservation, by an early return or by a panic while it is held, **aborts the process**, as
/// a failed sync ends its usefulness: what was acknowledged is on the disk, everything else is unknown
/// until recovery. A panic would not do, since whoever catches it would go on with a log that stands
/// still. Whatever may fail belongs before `reserve`; between `reserve` and `finish` is copying.
/// Leaking one (`mem::forget`) cannot be noticed: everything that waits for the log waits for ever.
#[derive(Debug)]
#[must_use = "dropping a reservation aborts the process"]
pub struct Reservation<'w> {
    shared: &'w Shared,
    place: Place<'w>,
    payload_bytes: usize,
}

impl<'w> Reservation<'w> {
    pub(crate) fn new(shared: &'w Shared, place: Place<'w>, payload_bytes: usize) -> Self {
        Reservation {
            shared,
            place,
            payload_bytes,
        }
    }

    /// Position of the record's first byte.
    pub fn start(&self) -> u64 {
        self.place.start()
    }

    /// Position after the record: the commit timestamp.
    pub fn lsn(&self) -> Lsn {
        Lsn(self.place.end())
    }

    /// The payload, exactly as long as it was reserved, in one piece. It holds some older
    /// record's bytes, or zeros, until it is overwritten.
    #[inline]
    pub fn payload(&mut self) -> &mut [u8] {
        &mut self.place.bytes_mut()[RECORD_HEADER_BYTES..][..self.payload_bytes]
    }

    /// The payload is complete: adds checksum and header, and wakes the writer if it sleeps. Answers
    /// where the payload is. It stays there, unchanged, until [`crate::Wal::reclaim`] passes this
    /// record or the log goes; without [`crate::WalConfig::keep_in_memory`] that may be at once.
    /// Whoever reads it synchronises with the thread that calls this, by any means.
    pub fn finish(mut self) -> NonNull<u8> {
        let crc = crc32c::crc32c(self.payload());
        let (shared, payload) = self.finish_with(crc);
        shared.wake_writer();
        payload
    }

    /// As [`Reservation::finish`], but the writer sleeps on: for whoever asks [`crate::Wal::when_durable_for`] next, which writes the record or
    /// wakes him. Until somebody does, nobody writes it.
    pub fn finish_quietly(mut self) -> NonNull<u8> {
        let crc = crc32c::crc32c(self.payload());
        self.finish_with(crc).1
    }

    /// Fills in a payload whose checksum has been computed.
    pub(crate) fn finish_as(mut self, payload: &Payload) {
        self.payload().copy_from_slice(payload.bytes());
        self.finish_with(payload.crc()).0.wake_writer();
    }

    fn finish_with(self, payload_crc: u32) -> (&'w Shared, NonNull<u8>) {
        let Reservation {
            shared,
            mut place,
            payload_bytes,
        } = self;
        let header = Header {
            run: shared.run,
            payload_bytes,
            position: place.start(),
            // Of an earlier group, so below this record. The writer brings the first header of each
            // group up to date.
            synced: shared.synced(),
            payload_crc,
        };
        let (head, body) = place
            .bytes_mut()
            .split_first_chunk_mut()
            .expect("a record is longer than its header");
        header.write(head, shared.header_seed);
        body[payload_bytes..].fill(0);
        let payload = place.fill(RECORD_HEADER_BYTES);
        (shared, payload)
    }
}

/// Records in memory, in order: each with its lsn and its payload. See [`crate::Wal::memory`].
#[derive(Debug)]
pub struct MemoryRecords<'w> {
    reading: Reading<'w>,
    position: u64,
    to: u64,
}

impl<'w> MemoryRecords<'w> {
    pub(crate) fn new(ring: &'w Ring, from: u64, to: u64) -> Self {
        MemoryRecords {
            reading: ring.read_from(from),
            position: from,
            to,
        }
    }
}

impl<'w> Iterator for MemoryRecords<'w> {
    type Item = (Lsn, &'w [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.position >= self.to {
            return None;
        }
        let ring = self.reading.ring;
        // Only these fields of the header: the writer may just be changing others.
        let length = u32::from_le_bytes(ring.copy(self.position, record::PAYLOAD_BYTES_AT));
        let stands = u64::from_le_bytes(ring.copy(self.position, record::POSITION_AT));
        assert_eq!(
            stands, self.position,
            "no record begins at {}",
            self.position
        );
        let end = self.position + record::record_bytes(length as usize);
        assert!(end <= self.to, "no record ends at {}", self.to);
        let payload = ring.slice(Span {
            record: self.position,
            offset: RECORD_HEADER_BYTES as u64,
            bytes: u64::from(length),
        });
        self.position = end;
        Some((Lsn(end), payload))
    }
}
