//! A record as the tree holds it.
//!
//! Relies on: nothing.  Promises: reading copies nothing.  Does not: compress or checksum; the
//! tree's blocks are.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | position, little-endian |
//! | 8 | all others | value |

use bytes::Bytes;
use lsm_tree::Slice;
use quintet_base::Lsn;
use quintet_dc::Record;

const POSITION_BYTES: usize = 8;

/// How many bytes [`encode`] takes.
pub(crate) fn encoded_len(value: &[u8]) -> usize {
    POSITION_BYTES + value.len()
}

/// Puts a record behind what is there.
pub(crate) fn encode(into: &mut Vec<u8>, position: Lsn, value: &[u8]) {
    into.extend_from_slice(&position.0.to_le_bytes());
    into.extend_from_slice(value);
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
        for value in [&b""[..], b"v", &[0xFF; 300]] {
            let mut encoded = Vec::new();
            encode(&mut encoded, Lsn(0x0102_0304_0506_0708), value);
            assert_eq!(encoded.len(), encoded_len(value));
            let record = decode(encoded.into()).unwrap();
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
