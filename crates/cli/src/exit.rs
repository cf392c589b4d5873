//! How the program ends: what went wrong in words, and the exit code that goes with it.
//!
//! Relies on: nothing.  Promises: the codes stay what they are; scripts depend on them.
//! Does not: print more than the message, its causes and a hint.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | an SQL statement or a benchmark failed |
//! | 2 | the command line, the environment or the configuration file is wrong |
//! | 3 | another process has the data directory open |
//! | 4 | the data directory cannot be read, written or recovered |
//! | 5 | the address cannot be listened on, or the server failed |
//! | 130 | stopped at once by a second interrupt |

use std::error::Error;
use std::fmt::Write;

/// Exit codes, see the table above; also printed by `quintet --help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// An SQL statement or a benchmark failed.
    Failed = 1,
    /// Flags, environment or configuration file.
    Usage = 2,
    /// Another process has the data directory.
    InUse = 3,
    /// The data directory is unreadable or damaged.
    Data = 4,
    /// Cannot listen, or the server failed.
    Network = 5,
    /// Second interrupt.
    Interrupted = 130,
}

/// Why the program ends early.
#[derive(Debug)]
pub struct Exit {
    /// What to tell the caller's shell.
    pub code: Code,
    /// What to tell the user: the error, then a line per cause.
    pub message: String,
    /// What the user can do.
    pub hint: Option<String>,
}

impl Exit {
    /// From words.
    pub fn new(code: Code, message: impl Into<String>) -> Exit {
        Exit {
            code,
            message: message.into(),
            hint: None,
        }
    }

    /// From an error and what it was caused by.
    pub fn from_error(code: Code, doing: &str, error: &dyn Error) -> Exit {
        let mut message = format!("{doing}: {error}");
        let mut last = error.to_string();
        let mut cause = error.source();
        while let Some(source) = cause {
            let text = source.to_string();
            // Some errors pass on what their cause says as their own words.
            if text != last {
                // Writing to a string cannot fail.
                let _ = write!(message, "\n  because: {text}");
                last = text;
            }
            cause = source.source();
        }
        Exit::new(code, message)
    }

    /// Says what can be done.
    pub fn hint(mut self, hint: impl Into<String>) -> Exit {
        self.hint = Some(hint.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::ParseIntError;

    #[derive(Debug, thiserror::Error)]
    #[error("no such port")]
    struct Outer(#[source] ParseIntError);

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Same(#[source] Outer);

    #[test]
    fn causes_are_told_one_per_line() {
        let cause = "x".parse::<u16>().unwrap_err();
        let error = Same(Outer(cause));
        let exit =
            Exit::from_error(Code::Usage, "reading the address", &error).hint("use a number");
        assert_eq!(
            exit.message,
            "reading the address: no such port\n  because: invalid digit found in string"
        );
        assert_eq!(exit.code as u8, 2);
    }
}
