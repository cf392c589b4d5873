//! Where a message ends.
//!
//! Relies on: nothing.  Promises: a length that cannot be is refused as soon as it is there, before
//! anything is allocated for it.  Does not: look into a body.
//!
//! ```text
//! message   u8 kind    i32 length of what follows, itself included    body
//! packet               i32 length, itself included                    body      (before the log-in)
//! ```

use super::violation;
use quintet_base::SqlResult;
use quintet_base::limits::{MESSAGE_BYTES_MAX, STARTUP_BYTES_MAX};

/// Kind and length of a message.
pub const HEADER_BYTES: usize = 5;

/// A whole message at the front of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// What kind of message.
    pub kind: u8,
    /// Where it ends; its body begins at [`HEADER_BYTES`].
    pub end: usize,
}

/// What the front of a buffer holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Front {
    /// A whole message.
    Whole(Frame),
    /// The beginning of one that will be this long, as far as is known.
    Part {
        /// Bytes from the buffer's front to the message's end.
        end: usize,
    },
}

/// Looks at the front of what was read.
///
/// # Errors
/// `08P01` for a length that no message has; the stream cannot be followed any further.
pub fn front(buffer: &[u8]) -> SqlResult<Front> {
    let Some(header) = buffer.first_chunk::<HEADER_BYTES>() else {
        return Ok(Front::Part { end: HEADER_BYTES });
    };
    let [kind, length @ ..] = *header;
    let length = i32::from_be_bytes(length);
    let end = usize::try_from(length)
        .ok()
        .filter(|length| *length >= 4)
        .map(|length| length + 1);
    match end {
        Some(end) if end <= MESSAGE_BYTES_MAX => Ok(if buffer.len() < end {
            Front::Part { end }
        } else {
            Front::Whole(Frame { kind, end })
        }),
        _ => Err(violation(format!(
            "invalid message length {length} of message type {kind:#04x}"
        ))),
    }
}

/// The bytes that follow a packet's length.
///
/// # Errors
/// `08P01` for a length that no packet has.
pub fn packet_body(length: [u8; 4]) -> SqlResult<usize> {
    let length = i32::from_be_bytes(length);
    match usize::try_from(length) {
        // The shortest is a length and a code.
        Ok(length) if (8..=STARTUP_BYTES_MAX).contains(&length) => Ok(length - 4),
        _ => Err(violation("invalid length of startup packet")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_whole_only_with_its_last_byte() {
        let message = b"Q\0\0\0\x08abc\0";
        for cut in 0..HEADER_BYTES {
            assert_eq!(
                front(&message[..cut]).unwrap(),
                Front::Part { end: HEADER_BYTES }
            );
        }
        for cut in HEADER_BYTES..message.len() {
            assert_eq!(front(&message[..cut]).unwrap(), Front::Part { end: 9 });
        }
        let whole = Front::Whole(Frame { kind: b'Q', end: 9 });
        assert_eq!(front(message).unwrap(), whole);
        assert_eq!(
            front(b"Q\0\0\0\x08abc\0S\0").unwrap(),
            whole,
            "what follows does not matter"
        );
    }

    #[test]
    fn impossible_lengths_are_refused_from_the_header_alone() {
        for length in [-1, 0, 3, i32::MIN, i32::MAX, MESSAGE_BYTES_MAX as i32] {
            let mut header = vec![b'Q'];
            header.extend_from_slice(&length.to_be_bytes());
            assert_eq!(
                front(&header).unwrap_err().state.as_str(),
                "08P01",
                "{length}"
            );
        }
        let largest = (MESSAGE_BYTES_MAX as i32 - 1).to_be_bytes();
        let header = [b'Q', largest[0], largest[1], largest[2], largest[3]];
        assert_eq!(
            front(&header).unwrap(),
            Front::Part {
                end: MESSAGE_BYTES_MAX
            }
        );
        for length in [
            -1,
            0,
            7,
            STARTUP_BYTES_MAX as i32 + 1,
            i32::from_be_bytes(*b"GET "),
        ] {
            assert!(packet_body(length.to_be_bytes()).is_err(), "{length}");
        }
        assert_eq!(packet_body(8i32.to_be_bytes()).unwrap(), 4);
    }
}
