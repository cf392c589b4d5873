//! Messages of the protocol as they lie in a buffer.
//!
//! Relies on: nothing.  Promises: a length that cannot be is found before anything is allocated for it.
//! Does not: look into a body.
//!
//! ```text
//!   u8 kind    i32 length of what follows, itself included    body
//! ```

use bytes::{Bytes, BytesMut};
use quintet_base::limits::MESSAGE_BYTES_MAX;

/// Kind and length of a message.
pub(crate) const HEADER_BYTES: usize = 5;

/// A message of the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    raw: Bytes,
}

impl Frame {
    /// What kind of message, as the protocol names it.
    pub fn kind(&self) -> u8 {
        self.raw[0]
    }

    /// Without kind and length.
    pub fn body(&self) -> Bytes {
        self.raw.slice(HEADER_BYTES..)
    }

    /// As it came, to be passed on.
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }
}

/// Takes the message at the front, if it is there as a whole.
///
/// # Errors
/// A length that no message has.
pub(crate) fn take(buffer: &mut BytesMut) -> Result<Option<Frame>, String> {
    let Some([kind, length @ ..]) = buffer.first_chunk::<HEADER_BYTES>() else {
        return Ok(None);
    };
    let length = i32::from_be_bytes(*length);
    let end = match usize::try_from(length) {
        Ok(length) if (4..MESSAGE_BYTES_MAX).contains(&length) => length + 1,
        _ => return Err(format!("a message {kind:#04x} of length {length}")),
    };
    if buffer.len() < end {
        // Once, rather than by doubling again and again while a long message arrives.
        buffer.reserve(end - buffer.len());
        return Ok(None);
    }
    Ok(Some(Frame {
        raw: buffer.split_to(end).freeze(),
    }))
}

/// The rows of text that a DataRow is.
///
/// # Errors
/// If it is none.
pub(crate) fn data_row(body: &[u8]) -> Result<Vec<Option<String>>, String> {
    let mut reader = Reader::new(body);
    let columns = reader.u16()?;
    let mut row = Vec::with_capacity(usize::from(columns));
    for _ in 0..columns {
        let length = reader.i32()?;
        row.push(match usize::try_from(length) {
            Err(_) => None,
            Ok(length) => Some(
                String::from_utf8(reader.bytes(length)?.to_vec())
                    .map_err(|_| "a value that is no UTF-8".to_owned())?,
            ),
        });
    }
    Ok(row)
}

/// Reads numbers and strings from the front of a body.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (front, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or_else(|| "a message ends too soon".to_owned())?;
        self.rest = rest;
        Ok(front)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    pub fn u8(&mut self) -> Result<u8, String> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u16(&mut self) -> Result<u16, String> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub fn i32(&mut self) -> Result<i32, String> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Result<u64, String> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// Up to a zero byte.
    pub fn text(&mut self) -> Result<&'a str, String> {
        let end = self
            .rest
            .iter()
            .position(|byte| *byte == 0)
            .ok_or_else(|| "a string does not end".to_owned())?;
        let text = std::str::from_utf8(&self.rest[..end])
            .map_err(|_| "a string is no UTF-8".to_owned())?;
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_one_by_one_however_they_arrive() {
        let stream = b"Z\0\0\0\x05IC\0\0\0\x09OK 1\0";
        for cut in 0..=stream.len() {
            let mut buffer = BytesMut::from(&stream[..cut]);
            let mut found = Vec::new();
            while let Some(frame) = take(&mut buffer).unwrap() {
                found.push((frame.kind(), frame.body().to_vec()));
            }
            buffer.extend_from_slice(&stream[cut..]);
            while let Some(frame) = take(&mut buffer).unwrap() {
                found.push((frame.kind(), frame.body().to_vec()));
            }
            assert_eq!(found, [(b'Z', b"I".to_vec()), (b'C', b"OK 1\0".to_vec())]);
            assert!(buffer.is_empty());
        }
    }

    #[test]
    fn an_impossible_length_is_refused() {
        for length in [i32::MIN, -1, 0, 3, i32::MAX] {
            let mut buffer = BytesMut::from(&b"D"[..]);
            buffer.extend_from_slice(&length.to_be_bytes());
            assert!(take(&mut buffer).is_err(), "{length}");
        }
    }

    #[test]
    fn a_row_of_text_has_nulls() {
        let body = b"\0\x03\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\0";
        let row = data_row(body).unwrap();
        assert_eq!(row, [Some("ab".to_owned()), None, Some(String::new())]);
        assert!(data_row(&body[..body.len() - 1]).is_err());
    }
}
