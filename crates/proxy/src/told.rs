//! What a client is told when something fails: an error of ours, or that of a replica as it came.
//!
//! Relies on: nothing.  Promises: a replica's error reaches the client with every field it had.
//! Does not: decide what failed.

use bytes::Bytes;
use quintet_base::{SqlError, SqlState};
use quintet_server::protocol::backend::{self, Severity};

/// See the module.
#[derive(Clone, PartialEq, Debug)]
pub enum Told {
    /// Ours.
    Ours(SqlError),
    /// A replica's: the body of its ErrorResponse.
    Theirs {
        /// Its SQLSTATE.
        state: SqlState,
        /// As it came, without kind and length.
        body: Bytes,
    },
}

impl Told {
    /// Its SQLSTATE.
    pub fn state(&self) -> SqlState {
        match self {
            Told::Ours(error) => error.state,
            Told::Theirs { state, .. } => *state,
        }
    }

    /// Appends the ErrorResponse.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Told::Ours(error) => backend::error(out, Severity::Error, error),
            Told::Theirs { body, .. } => {
                out.push(b'E');
                out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
                out.extend_from_slice(body);
            }
        }
    }
}

impl From<SqlError> for Told {
    fn from(error: SqlError) -> Told {
        Told::Ours(error)
    }
}
