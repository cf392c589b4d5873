//! Full text search: texts as vectors of words, queries over them, how well one answers the other.
//!
//! Relies on: `rust-stemmers` for the stems of words.  Promises: what PostgreSQL 15 says, with its built-in parser, its dictionary
//! `simple` and its stemmers; no panic, no deep recursion, and no time out of proportion whatever the text.  Does not: do I/O, know
//! values of SQL, or read a clock.
//!
//! | file | what it holds |
//! |---|---|
//! | `token`, `kind`, `letters` | a text as tokens |
//! | `dictionary` | configurations; what a token stands for |
//! | `vector`, `query` | the two types: as values, as text, as bytes that compare |
//! | `words`, `read` | reading them |
//! | `make` | texts as vectors and queries |
//! | `run` | whether a text has what a query asks |
//! | `rank` | how well |
//! | `headline`, `options` | what of the text shows it |
//! | `trigram` | texts by three characters each, and how alike they are: no part of the above |

pub mod dictionary;
pub mod error;
pub mod headline;
pub mod kind;
pub mod letters;
pub mod make;
pub mod options;
pub mod query;
pub mod rank;
pub mod read;
pub mod run;
pub mod token;
pub mod trigram;
pub mod vector;
pub mod words;

pub use dictionary::Config;
pub use error::{Error, Result};
pub use query::Query;
pub use vector::Vector;

#[cfg(test)]
mod tests;
