//! What can go wrong with a replica.
//!
//! Relies on: nothing.  Promises: who asks can tell a server that cannot be reached, of which nothing is known,
//! from one that answered with an error.  Does not: decide what follows from it.

use crate::position::WalPosition;
use bytes::Bytes;
use quintet_base::SqlState;
use std::fmt;
use std::time::Duration;

/// A replica did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is no address of a server.
    #[error("\"{url}\" is no address of a PostgreSQL server: {problem}")]
    Address {
        /// Without the password.
        url: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// The text is no name for a front end.
    #[error(
        "\"{0}\" is no name of a front end: it takes 1 to 30 lower-case letters, digits and underscores"
    )]
    Name(String),
    /// The connection could not be made, or broke. Whether what was asked took place is not known.
    #[error("lost {server}: {during}")]
    Lost {
        /// Which.
        server: String,
        /// What was being done.
        during: &'static str,
        /// What the operating system says; nothing if the server closed.
        source: Option<std::io::Error>,
    },
    /// No answer in time. The same as [`Error::Lost`] to whoever asked.
    #[error("{server} did not answer within {after:?}: {during}")]
    TimedOut {
        /// Which.
        server: String,
        /// What was being done.
        during: &'static str,
        /// The time given.
        after: Duration,
    },
    /// The server answered with an error.
    #[error("{0}")]
    Server(Box<ServerError>),
    /// The server says what this program does not understand; the connection is of no use any more.
    #[error("{server} breaks the protocol: {problem}")]
    Protocol {
        /// Which.
        server: String,
        /// What it said.
        problem: String,
    },
    /// The server wants to be logged in to in a way that is not offered here.
    #[error(
        "{server} asks for authentication by {method}; offered are trust, password, md5 and scram-sha-256"
    )]
    Authentication {
        /// Which.
        server: String,
        /// What it wants.
        method: String,
    },
    /// A younger start of the front end has taken the replica over.
    #[error("this start of the front end has epoch {ours}, the replica belongs to epoch {found}")]
    Fenced {
        /// Of this start.
        ours: u64,
        /// What the replica says; 0 if it knows no front end of this name.
        found: u64,
    },
    /// The server is not configured as a replica has to be.
    #[error("the server is not configured for it: {}", list(.0))]
    Configuration(Vec<Problem>),
    /// A slot would be made while transactions are prepared, which waits for their end.
    #[error("the replication slot is missing and cannot be made while transactions are prepared: {}", .0.join(", "))]
    PreparedBeforeSlot(Vec<String>),
    /// An answer, or a message, is longer than this program keeps.
    #[error("{what} of {bytes} bytes is over the limit of {limit}")]
    TooLong {
        /// What it is.
        what: &'static str,
        /// How long, as far as is known.
        bytes: usize,
        /// The bound.
        limit: usize,
    },
    /// The stream says something in an order that makes no sense.
    #[error("the stream at {position}: {problem}")]
    Stream {
        /// Where.
        position: WalPosition,
        /// What.
        problem: String,
    },
}

impl Error {
    /// A server that gave no sign of life.
    pub fn stalled(server: &crate::server::Server, after: Duration) -> Error {
        Error::TimedOut {
            server: server.to_string(),
            during: "looking whether it is there",
            after,
        }
    }

    /// True if the server could not be asked or did not answer, so that what was asked may have taken place or not. A server that says
    /// that it ends the session, or is about to start or to stop (57P01 and its like), counts as one of those.
    pub fn is_lost(&self) -> bool {
        match self {
            Error::Lost { .. } | Error::TimedOut { .. } | Error::Protocol { .. } => true,
            Error::Server(error) => error.state.0.starts_with(b"57P"),
            _ => false,
        }
    }

    /// The server's error, if it is one.
    pub fn server(&self) -> Option<&ServerError> {
        match self {
            Error::Server(error) => Some(error),
            _ => None,
        }
    }

    /// The server's SQLSTATE, if it is its error.
    pub fn state(&self) -> Option<SqlState> {
        self.server().map(|error| error.state)
    }
}

/// Something about a server that has to be changed, or is better known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The setting, or what else it is about.
    pub subject: String,
    /// How it is.
    pub found: String,
    /// How it has to be.
    pub needed: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is {}, needed is {}",
            self.subject, self.found, self.needed
        )
    }
}

fn list(problems: &[Problem]) -> String {
    let texts: Vec<String> = problems.iter().map(Problem::to_string).collect();
    texts.join("; ")
}

/// An ErrorResponse, or a NoticeResponse.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerError {
    /// ERROR, FATAL, WARNING …, not translated.
    pub severity: String,
    /// Its SQLSTATE.
    pub state: SqlState,
    /// The line.
    pub message: String,
    /// More of it.
    pub detail: Option<String>,
    /// What may be done.
    pub hint: Option<String>,
    /// Schema of the table that it is about.
    pub schema: Option<String>,
    /// Table that it is about.
    pub table: Option<String>,
    /// Constraint that it is about.
    pub constraint: Option<String>,
    /// The message's body as it came, to be passed on.
    pub raw: Bytes,
}

impl ServerError {
    /// An error of our own that looks like one of the server.
    pub(crate) fn made(state: SqlState, message: &str) -> ServerError {
        let mut body = b"SERROR\0VERROR\0C".to_vec();
        body.extend_from_slice(&state.0);
        body.extend_from_slice(b"\0M");
        body.extend_from_slice(message.as_bytes());
        body.extend_from_slice(b"\0\0");
        ServerError::read(body.into())
    }

    /// Reads the body of the message. What is missing or cannot be read is left empty: an error about an error
    /// helps nobody.
    pub fn read(body: Bytes) -> ServerError {
        let mut error = ServerError {
            severity: String::new(),
            state: SqlState(*b"XX000"),
            message: String::new(),
            detail: None,
            hint: None,
            schema: None,
            table: None,
            constraint: None,
            raw: body.clone(),
        };
        for field in body.split(|byte| *byte == 0) {
            let Some((kind, text)) = field.split_first() else {
                continue;
            };
            let text = || String::from_utf8_lossy(text).into_owned();
            match kind {
                b'S' if error.severity.is_empty() => error.severity = text(),
                b'V' => error.severity = text(),
                b'C' => {
                    if let Ok(state) = field[1..].try_into() {
                        error.state = SqlState(state);
                    }
                }
                b'M' => error.message = text(),
                b'D' => error.detail = Some(text()),
                b'H' => error.hint = Some(text()),
                b's' => error.schema = Some(text()),
                b't' => error.table = Some(text()),
                b'n' => error.constraint = Some(text()),
                _ => {}
            }
        }
        error
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = String::from_utf8_lossy(&self.state.0);
        write!(f, "{} ({state})", self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_an_error_are_found_and_the_body_is_kept() {
        let body = Bytes::from_static(
            b"SFEHLER\0VERROR\0C23505\0Mduplicate key\0DKey (a)=(1)\0squintet\0tapplied\0napplied_pkey\0\0",
        );
        let error = ServerError::read(body.clone());
        assert_eq!(error.severity, "ERROR");
        assert_eq!(error.state, SqlState(*b"23505"));
        assert_eq!(error.table.as_deref(), Some("applied"));
        assert_eq!(error.hint, None);
        assert_eq!(error.raw, body);
        assert_eq!(error.to_string(), "duplicate key (23505)");
    }

    #[test]
    fn a_server_that_ends_the_session_is_lost() {
        let said =
            |state: &[u8; 5]| Error::Server(Box::new(ServerError::made(SqlState(*state), "")));
        assert!(said(b"57P01").is_lost());
        assert!(said(b"57P03").is_lost());
        assert!(
            !said(b"57014").is_lost(),
            "a statement that was cancelled is over, and the session is not"
        );
        assert!(!said(b"40001").is_lost());
    }

    #[test]
    fn a_mutilated_error_is_still_an_error() {
        let error = ServerError::read(Bytes::from_static(b"C1\0M\xff"));
        assert_eq!(error.state, SqlState(*b"XX000"));
        assert_eq!(error.message, "\u{fffd}");
    }
}
