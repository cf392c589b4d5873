//! The bytes of a frame: records of one space, in key order.
//!
//! Relies on: CRC-32C.  Promises: a frame that parses is as it was made.  Does not: say which backup it is of.
//!
//! ```text
//! offset 0   u32 LE  bytes of the body, n
//!        4   u32 LE  CRC-32C of the body
//!        8   n bytes body:
//!              0   u32 LE  space
//!              4   u32 LE  number of records
//!              8   records, each:
//!                    u64 LE  log position of the commit that wrote it
//!                    u32 LE  key length, k
//!                    u32 LE  value length, v
//!                    k bytes key, v bytes value
//! ```

use bytes::Bytes;
use quintet_base::{Lsn, SpaceId};
use quintet_dc::Record;

/// Bytes before the body.
pub(crate) const HEAD_BYTES: usize = 8;

/// A frame is closed when its body has so many bytes: few enough to be a row of a result, many enough that
/// checksums and calls cost nothing. One record may be longer.
pub(crate) const BODY_BYTES: usize = 512 * 1024;

/// No body is longer: a length beyond is damage, whatever the checksum would say.
pub(crate) const BODY_BYTES_MAX: usize = 1 << 30;

const BODY_HEAD_BYTES: usize = 8;
const RECORD_HEAD_BYTES: usize = 16;

/// A frame in the making.
pub(crate) struct Frame {
    bytes: Vec<u8>,
    count: u32,
}

impl Frame {
    /// Of a space.
    pub fn new(space: SpaceId) -> Frame {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + BODY_BYTES);
        bytes.resize(HEAD_BYTES, 0);
        bytes.extend_from_slice(&space.0.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        Frame { bytes, count: 0 }
    }

    /// Adds the next record.
    pub fn push(&mut self, key: &[u8], record: &Record) {
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("STORE takes no longer one");
        self.bytes
            .extend_from_slice(&record.position.0.to_le_bytes());
        self.bytes.extend_from_slice(&length(key).to_le_bytes());
        self.bytes
            .extend_from_slice(&length(&record.value).to_le_bytes());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(&record.value);
        self.count += 1;
    }

    /// Whether another record of so many bytes is for the next frame.
    pub fn is_full(&self, key: &[u8], record: &Record) -> bool {
        let more = RECORD_HEAD_BYTES + key.len() + record.value.len();
        self.count > 0 && self.bytes.len() + more > HEAD_BYTES + BODY_BYTES
    }

    /// How many records it has.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes[HEAD_BYTES + 4..][..4].copy_from_slice(&self.count.to_le_bytes());
        let body = &self.bytes[HEAD_BYTES..];
        let (bytes, crc) = (body.len() as u32, crc32c::crc32c(body));
        self.bytes[..4].copy_from_slice(&bytes.to_le_bytes());
        self.bytes[4..8].copy_from_slice(&crc.to_le_bytes());
        self.bytes
    }
}

/// Length of the body and its checksum, from the head; `None` if no frame begins so.
pub(crate) fn head(bytes: [u8; HEAD_BYTES]) -> Option<(usize, u32)> {
    let [a, b, c, d, rest @ ..] = bytes;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    let fits = (BODY_HEAD_BYTES..=BODY_BYTES_MAX).contains(&length);
    fits.then(|| (length, u32::from_le_bytes(rest)))
}

/// A frame that was read: the records that are left.
#[derive(Debug)]
pub(crate) struct Body {
    pub space: SpaceId,
    pub count: u32,
    rest: Bytes,
    left: u32,
}

impl Body {
    /// Looks at every length in it; `None` if it is not whole.
    pub fn parse(body: Bytes, crc: u32) -> Option<Body> {
        if crc32c::crc32c(&body) != crc {
            return None;
        }
        let count = u32_at(&body, 4)?;
        let parsed = Body {
            space: SpaceId(u32_at(&body, 0)?),
            count,
            rest: body.slice(BODY_HEAD_BYTES..),
            left: count,
        };
        let mut at = 0usize;
        for _ in 0..count {
            let key = u32_at(&parsed.rest, at + 8)? as usize;
            let value = u32_at(&parsed.rest, at + 12)? as usize;
            at += RECORD_HEAD_BYTES + key + value;
        }
        (count > 0 && at == parsed.rest.len()).then_some(parsed)
    }

    /// Bytes of it, before anything is taken.
    pub fn bytes(&self) -> u64 {
        (BODY_HEAD_BYTES + self.rest.len()) as u64
    }

    /// The next record. Its bytes share the frame's memory.
    pub fn next(&mut self) -> Option<(Bytes, Record)> {
        self.left = self.left.checked_sub(1)?;
        let position = u64::from_le_bytes(*self.rest.first_chunk()?);
        let key = u32_at(&self.rest, 8)? as usize;
        let value = u32_at(&self.rest, 12)? as usize;
        let mut record = self.rest.split_to(RECORD_HEAD_BYTES + key + value);
        let value = record.split_off(RECORD_HEAD_BYTES + key);
        let key = record.split_off(RECORD_HEAD_BYTES);
        let position = Lsn(position);
        Some((key, Record { position, value }))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(position: u64, value: &'static [u8]) -> Record {
        Record {
            position: Lsn(position),
            value: Bytes::from_static(value),
        }
    }

    fn example() -> Vec<u8> {
        let mut frame = Frame::new(SpaceId(7));
        frame.push(b"a", &record(8, b"one"));
        frame.push(b"bb", &record(16, b""));
        assert_eq!(frame.count(), 2);
        frame.finish()
    }

    fn parse(bytes: &[u8]) -> Option<Body> {
        let (length, crc) = head(*bytes.first_chunk()?)?;
        let body = bytes.get(HEAD_BYTES..HEAD_BYTES + length)?;
        Body::parse(Bytes::copy_from_slice(body), crc)
    }

    #[test]
    fn records_survive_the_way_through_a_frame() {
        let mut body = parse(&example()).unwrap();
        assert_eq!((body.space, body.count), (SpaceId(7), 2));
        assert_eq!(body.next().unwrap(), (b"a"[..].into(), record(8, b"one")));
        assert_eq!(body.next().unwrap(), (b"bb"[..].into(), record(16, b"")));
        assert!(body.next().is_none() && body.next().is_none());
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let good = example();
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(parse(&bad).is_none(), "bit {bit}");
        }
        for length in 0..good.len() {
            assert!(parse(&good[..length]).is_none(), "length {length}");
        }
    }

    #[test]
    fn a_frame_is_full_before_it_is_too_long_and_takes_one_record_of_any_length() {
        let long = Record {
            position: Lsn(8),
            value: vec![1; BODY_BYTES].into(),
        };
        let mut frame = Frame::new(SpaceId(1));
        assert!(!frame.is_full(b"k", &long));
        frame.push(b"k", &long);
        assert!(frame.is_full(b"l", &record(8, b"")));
    }
}
