//! PostgreSQL's protocol 3.0 as bytes: what clients send, what they are answered.
//!
//! Relies on: `base` for values and errors.  Promises: pure functions; input of any kind is parsed
//! or refused, never trusted with a length, never a panic.  Does not: read a socket or know a session.
//!
//! | file | what it holds |
//! |---|---|
//! | `frame` | where a message ends |
//! | `startup` | the packets before the first message |
//! | `frontend` | messages of the client |
//! | `backend` | messages of the server |

pub mod backend;
pub mod frame;
pub mod frontend;
pub mod startup;

use quintet_base::{SqlError, SqlResult, SqlState, binary_format};

pub(crate) fn violation(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::PROTOCOL_VIOLATION, message)
}

/// Takes a message's body apart from the front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn bytes(&mut self, count: usize) -> SqlResult<&'a [u8]> {
        let Some((taken, rest)) = self.0.split_at_checked(count) else {
            return Err(violation("insufficient data left in message"));
        };
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> SqlResult<[u8; N]> {
        let taken = self.bytes(N)?;
        Ok(taken.try_into().expect("as many bytes as asked for"))
    }

    pub fn u8(&mut self) -> SqlResult<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u16(&mut self) -> SqlResult<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> SqlResult<u32> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub fn i32(&mut self) -> SqlResult<i32> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// Text up to a zero byte.
    pub fn text(&mut self) -> SqlResult<&'a str> {
        let Some(length) = self.0.iter().position(|byte| *byte == 0) else {
            return Err(violation("invalid string in message"));
        };
        let taken = &self.0[..length];
        self.0 = &self.0[length + 1..];
        binary_format::utf8(taken)
    }

    pub fn end(&self) -> SqlResult<()> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(violation("invalid message format"))
        }
    }
}
