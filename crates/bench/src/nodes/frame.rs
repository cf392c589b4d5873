//! Frames: a length, and a message of postcard.
//!
//! Relies on: serde.  Promises: a length beyond the bound, or bytes that are no message, end the connection with an
//! error.  Does not: check sums; TCP and the trust in one's own network do.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 4 | length of what follows, little-endian, 1 to [`FRAME_BYTES_MAX`] |
//! | 4 | – | [`Frame`] |

use quintet_nodes::{Call, CallId, Message, NodeId, Outcome, decode, encode};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// Version of all of this; nodes of another do not talk.
pub const VERSION: u16 = 1;

/// Longest frame: a planner's part of a batch of 4,096 long calls is below 10 MB.
const FRAME_BYTES_MAX: usize = 256 << 20;

/// What a node has done; for reports.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HostStats {
    /// Messages to other nodes, by name.
    pub messages: Vec<(String, u64)>,
    /// Frames to other nodes.
    pub frames: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Records of the log.
    pub log_records: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Calls run again after a conflict.
    pub retries: u64,
    /// Operations run.
    pub executed: u64,
    /// Processor time of the process, in microseconds.
    pub cpu_micros: u64,
}

/// On a connection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Frame {
    /// First on a connection between nodes.
    Node(u16, NodeId),
    /// First on a client's connection.
    Client(u16),
    /// Between nodes.
    Messages(Vec<Message>),
    /// From a client, with the client's numbers.
    Calls(Vec<(u64, Call)>),
    /// To a client.
    Answers(Vec<(u64, Outcome)>),
    /// From a client: what have you done?
    Ask,
    /// To a client.
    Stats(HostStats),
}

/// Names a call for its node: one word for all calls of one start.
pub fn call_id(incarnation: u32, number: u64) -> CallId {
    CallId(u64::from(incarnation) << 40 | number)
}

/// Writes a frame; returns its bytes.
///
/// # Errors
/// The connection failed.
pub fn write(to: &mut impl Write, frame: &Frame) -> io::Result<u64> {
    let body = encode(frame);
    let length = u32::try_from(body.len()).map_err(|_| io::ErrorKind::InvalidData)?;
    let mut bytes = Vec::with_capacity(4 + body.len());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&body);
    to.write_all(&bytes)?;
    Ok(bytes.len() as u64)
}

/// Reads a frame.
///
/// # Errors
/// The connection failed or ended, or what came is no frame.
pub fn read(from: &mut impl Read) -> io::Result<Frame> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length == 0 || length > FRAME_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // Grown as bytes come: a length alone makes nobody take memory.
    let mut body = Vec::new();
    from.take(length as u64).read_to_end(&mut body)?;
    if body.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    decode(&body).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_were_written_and_others_refused() {
        let mut bytes = Vec::new();
        write(&mut bytes, &Frame::Node(VERSION, NodeId(3))).unwrap();
        assert!(matches!(
            read(&mut bytes.as_slice()),
            Ok(Frame::Node(VERSION, NodeId(3)))
        ));
        for end in 0..bytes.len() {
            assert!(read(&mut &bytes[..end]).is_err(), "cut at {end}");
        }
        let too_long = u32::MAX.to_le_bytes();
        assert!(read(&mut too_long.as_slice()).is_err());
        assert!(read(&mut [3, 0, 0, 0, 250, 250, 250].as_slice()).is_err());
    }
}
