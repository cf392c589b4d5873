//! A record as the tree holds it.
//!
//! Relies on: nothing.  Promises: reading copies nothing.  Does not: compress or checksum; the
//! tree's blocks are.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | position, little-endian |
//! | 8 | all others | value |

use bytes::{Bytes, BytesMut};
use lsm_tree::Slice;
use quintet_base::Lsn;
use quintet_dc::Record;

const POSITION_BYTES: usize = 8;

/// How many bytes [`encode`] takes.
pub(crate) fn encoded_len(value: &[u8]) -> usize {
    POSITION_BYTES + value.len()
}

/// A record in a part of `within`, which shares its memory with what was there.
pub(crate) fn encode(within: &mut BytesMut, position: Lsn, value: &[u8]) -> Slice {
    within.extend_from_slice(&position.0.to_le_bytes());
    within.extend_from_slice(value);
    within.split().freeze().into()
}

/// `None` if it is too short to be a record.
pub(crate) fn decode(stored: Slice) -> Option<Record> {
    let mut value = Bytes::from(stored);
    let position = *value.first_chunk::<POSITION_BYTES>()?;
    let value = value.split_off(POSITION_BYTES);
    Some(Record {
        position: Lsn(u64::from_le_bytes(position)),
        value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_the_way_through_bytes() {
        let mut within = BytesMut::new();
        for value in [&b""[..], b"v", &[0xFF; 300]] {
            let record = decode(encode(&mut within, Lsn(0x0102_0304_0506_0708), value)).unwrap();
            assert_eq!(
                record,
                Record {
                    position: Lsn(0x0102_0304_0506_0708),
                    value: value.to_vec().into()
                }
            );
        }
        assert_eq!(decode(Slice::from(&[1u8, 2, 3, 4, 5, 6, 7][..])), None);
    }
}
