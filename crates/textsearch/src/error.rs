//! What is wrong with a text that was to be a vector or a query.
//!
//! Relies on: nothing.  Promises: PostgreSQL's words.  Does not: know states of SQL (`base` has them by kind).

use std::fmt;

/// Why something was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The text does not follow the rules.
    Syntax(String),
    /// Something is too long.
    TooLong(String),
    /// A number or a name that may not be.
    Invalid(String),
    /// Bytes of the binary protocol, or of an array, that cannot be.
    Malformed(String),
    /// A text that was to be a number.
    Number(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Error::Syntax(text)
        | Error::TooLong(text)
        | Error::Invalid(text)
        | Error::Malformed(text)
        | Error::Number(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for Error {}

/// What most functions of this crate give.
pub type Result<T> = std::result::Result<T, Error>;
