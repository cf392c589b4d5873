//! The bytes of a record.
//!
//! Relies on: CRC-32C.  Promises: a header that parses was written by this log for exactly this
//! position, and a payload that matches it is whole.  Does not: know what a payload means.
//!
//! Little-endian, at a position of the stream that is a multiple of 8. A record may run over the
//! end of one segment file into the next at any byte.
//!
//! ```text
//! offset  0   u32    run: random and not 0, another one for each opening of the log
//! offset  4   u32    n, bytes of the payload
//! offset  8   u64    position of this record's first byte in the stream
//! offset 16   u64    position up to which the log had been synced when the record was written
//! offset 24   u32    CRC-32C of the payload
//! offset 28   u32    CRC-32C of the log's id and of bytes 0..28
//! offset 32   bytes  payload
//! then        zeros  up to a multiple of 8; the record's `Lsn` is the position after them
//! ```
//!
//! * The position inside the checksum is why a reused segment cannot bring back an old record, and
//!   the log's id is why a file of another log cannot.
//! * The synced position is why a torn tail can be told from damage: a record that was written
//!   knowing "synced up to S" is a witness that everything below S had been acknowledged.
//! * The run is why the front of a torn header and the back of one that an earlier run left at the
//!   same place do not make a whole one. The two may well agree in length and positions. A tear is
//!   at a sector's end and so at a multiple of 8: the run is on the front side of every tear, the
//!   checksum on the back side.

use bytes::Bytes;

/// Bytes before the payload.
pub const RECORD_HEADER_BYTES: usize = 32;

/// Longest payload. A commit may carry many rows of up to 16 MiB; the bound keeps a length in 32
/// bits and one record within what can be held in memory while it is read back.
pub const RECORD_BYTES_MAX: usize = 1 << 30;

/// Where the fields are that are read or changed without the others.
pub(crate) const PAYLOAD_BYTES_AT: usize = 4;
pub(crate) const POSITION_AT: usize = 8;
pub(crate) const SYNCED_AT: usize = 16;
pub(crate) const HEADER_CRC_AT: usize = 28;

/// Records begin at multiples of this, so that a search for one has few places to look at.
pub(crate) const ALIGNMENT: u64 = 8;

const _: () = assert!(RECORD_BYTES_MAX < u32::MAX as usize);
const _: () = assert!((RECORD_HEADER_BYTES as u64).is_multiple_of(ALIGNMENT));
const _: () = assert!(quintet_base::limits::ROW_BYTES_MAX < RECORD_BYTES_MAX);

/// Bytes to be logged with their checksum, made outside of any critical section.
#[derive(Clone, Debug)]
pub struct Payload {
    bytes: Bytes,
    crc: u32,
}

impl Payload {
    /// Takes the bytes and computes their checksum.
    pub fn new(bytes: Bytes) -> Payload {
        let crc = crc32c::crc32c(&bytes);
        Payload { bytes, crc }
    }

    pub(crate) fn crc(&self) -> u32 {
        self.crc
    }

    /// The bytes; they share the memory that was given.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

/// What the stream takes for a payload of this length.
pub(crate) fn record_bytes(payload: usize) -> u64 {
    ((RECORD_HEADER_BYTES + payload) as u64).next_multiple_of(ALIGNMENT)
}

/// Checksum of the log's id, with which every header's checksum begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HeaderSeed(u32);

pub(crate) fn header_seed(log_id: u64) -> HeaderSeed {
    HeaderSeed(crc32c::crc32c(&log_id.to_le_bytes()))
}

/// A header that has been checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub run: u32,
    pub payload_bytes: usize,
    pub position: u64,
    pub synced: u64,
    pub payload_crc: u32,
}

impl Header {
    #[cfg(test)]
    pub fn of(payload: &Payload, run: u32, position: u64, synced: u64) -> Header {
        Header {
            run,
            payload_bytes: payload.bytes.len(),
            position,
            synced,
            payload_crc: payload.crc,
        }
    }

    /// Position after the record.
    pub fn end(&self) -> u64 {
        self.position + record_bytes(self.payload_bytes)
    }

    #[cfg(test)]
    pub fn encode(&self, log_id: u64) -> [u8; RECORD_HEADER_BYTES] {
        let mut out = [0; RECORD_HEADER_BYTES];
        self.write(&mut out, header_seed(log_id));
        out
    }

    /// Puts the header where it is to stand. Word by word, since the checksum reads words: to read
    /// what was stored in smaller parts, it would have to wait for the memory.
    pub fn write(&self, out: &mut [u8; RECORD_HEADER_BYTES], seed: HeaderSeed) {
        let (synced, position) = (self.synced, self.position);
        assert!(synced <= position, "synced {synced} past {position}");
        let lengths = u64::from(self.run) | (self.payload_bytes as u64) << 32;
        out[0..8].copy_from_slice(&lengths.to_le_bytes());
        out[8..16].copy_from_slice(&position.to_le_bytes());
        out[16..24].copy_from_slice(&synced.to_le_bytes());
        out[24..28].copy_from_slice(&self.payload_crc.to_le_bytes());
        let crc = header_crc(seed, out);
        out[28..32].copy_from_slice(&crc.to_le_bytes());
    }

    /// Reads the header that stands at `position`, if there is one.
    pub fn parse(bytes: &[u8], position: u64, log_id: u64) -> Option<Header> {
        let bytes: &[u8; RECORD_HEADER_BYTES] = bytes.first_chunk()?;
        // First, because a search looks at many places and almost none passes this.
        if bytes[8..16] != position.to_le_bytes() {
            return None;
        }
        let u32_at = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().expect("inside"));
        let u64_at = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("inside"));
        let header = Header {
            run: u32_at(0),
            payload_bytes: u32_at(4) as usize,
            position,
            synced: u64_at(16),
            payload_crc: u32_at(24),
        };
        let genuine = u32_at(28) == header_crc(header_seed(log_id), bytes)
            && header.run != 0
            && header.synced <= position
            && header.payload_bytes <= RECORD_BYTES_MAX;
        genuine.then_some(header)
    }

    pub fn fits(&self, payload: &[u8]) -> bool {
        payload.len() == self.payload_bytes && crc32c::crc32c(payload) == self.payload_crc
    }
}

fn header_crc(seed: HeaderSeed, header: &[u8; RECORD_HEADER_BYTES]) -> u32 {
    crc32c::crc32c_append(seed.0, &header[..HEADER_CRC_AT])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header::of(
            &Payload::new(Bytes::from_static(b"hello")),
            0xBEEF,
            4096,
            1024,
        )
    }

    #[test]
    fn a_header_reads_back_at_its_own_position_of_its_own_log_only() {
        let bytes = header().encode(7);
        assert_eq!(Header::parse(&bytes, 4096, 7), Some(header()));
        assert_eq!(Header::parse(&bytes, 4104, 7), None);
        assert_eq!(Header::parse(&bytes, 4096, 8), None);
        assert_eq!(Header::parse(&bytes[..31], 4096, 7), None);
        assert_eq!(header().end(), 4096 + 40);
        assert!(header().fits(b"hello"));
        assert!(!header().fits(b"hellp") && !header().fits(b"hell"));
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_noticed() {
        let good = header().encode(7);
        for bit in 0..RECORD_HEADER_BYTES * 8 {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::parse(&bad, 4096, 7), None, "bit {bit}");
        }
    }

    /// Two runs write records of one length at one place. Front of the one and back of the other,
    /// torn at any multiple of 8, are no header.
    #[test]
    fn parts_of_two_runs_make_no_header() {
        let one = header().encode(7);
        let mut other = header();
        (other.run, other.payload_crc) = (0xCAFE, 1);
        let other = other.encode(7);
        for tear in [8, 16, 24] {
            let mixed = [&one[..tear], &other[tear..]].concat();
            assert_eq!(Header::parse(&mixed, 4096, 7), None, "torn at {tear}");
        }
    }

    #[test]
    fn zeros_are_no_header_anywhere() {
        for log_id in 0..1000 {
            assert_eq!(Header::parse(&[0; 32], 0, log_id), None);
        }
    }

    #[test]
    fn the_layout_on_disk_does_not_change() {
        let bytes = header().encode(7);
        assert_eq!(&bytes[..8], b"\xEF\xBE\0\0\x05\0\0\0");
        assert_eq!(&bytes[8..16], &4096u64.to_le_bytes());
        assert_eq!(&bytes[16..24], &1024u64.to_le_bytes());
        // CRC-32C of "hello" by any other implementation.
        assert_eq!(&bytes[24..28], &0x9A71_BB4C_u32.to_le_bytes());
        assert_eq!(record_bytes(0), 32);
        assert_eq!(record_bytes(1), 40);
        assert_eq!(record_bytes(8), 40);
    }
}
