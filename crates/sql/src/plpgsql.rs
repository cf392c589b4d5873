//! The front end of stored procedures: from `CREATE FUNCTION … LANGUAGE plpgsql` to a typed tree.
//!
//! Relies on: `parse`, whose grammar of PL/pgSQL decides what is accepted and which variable an
//! assignment goes to.  Promises: what the tree says is what PostgreSQL's parser understood, down
//! to shadowed names; every statement and every piece of SQL knows the line and byte of the body
//! that it begins at; what PL/pgSQL has and Quintet lacks is 0A000 with its line; a text that the
//! parser and this module read differently is an error, never a guess.  Does not: look at SQL,
//! expressions or the catalogue, but to ask which types are enums and domains: texts stay texts, types stay names.
//!
//! ```text
//! CREATE FUNCTION --header--> Header, text of the body
//!                                     |
//!             tokens, declarations of its DECLARE sections
//!                                     |  types made int or record, as the parser has no catalogue
//!                                     v
//!             parser --> JSON: statements, texts and numbers of variables, but neither blocks'
//!                                     |  declarations nor places, NULL statements or `RETURN v`
//!                   JSON and tokens walked together (read) --> Body
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `tree`, `print` | the tree; its text for tests and for people |
//! | `header` | name, parameters, result and options |
//! | `tokens` | the words of a body and their places |
//! | `declare` | DECLARE sections, and what the parser is told instead |
//! | `check` | running the parser; where its errors are |
//! | `inline` | bodies that are SQL themselves |
//! | `json` | the parser's answer |
//! | `walk` | the cursor that goes through answer and words together |
//! | `read`, `cursors` | statements |
//! | `raise` | RAISE, GET DIAGNOSTICS and conditions in handlers |
//! | `portals` | which cursors are the routine's own affair |
//! | `scope` | which variable a name is, at any place |

mod check;
mod cursors;
mod declare;
mod header;
mod inline;
mod json;
mod portals;
mod print;
mod raise;
mod read;
pub(crate) mod scope;
#[cfg(test)]
mod tests;
mod tokens;
mod tree;
mod walk;

pub(crate) use header::TRIGGER_VARIABLES;
pub(crate) use tokens::Single;
pub(crate) use tree::*;

use pg_query::protobuf::CreateFunctionStmt;
use quintet_base::{SqlError, SqlResult};

/// The tree of a routine. `text` is what the statement was parsed from: errors have their
/// position in it if the body stands there as it is. `single`: which names are those of enums and domains.
///
/// # Errors
/// `0A000` for what Quintet lacks, `42601` and its relatives for what is no PL/pgSQL, `54001` for
/// too deep a nesting.
pub(crate) fn read(
    statement: &CreateFunctionStmt,
    text: &str,
    single: Single,
) -> SqlResult<Routine> {
    let (header, source) = header::read(statement, text)?;
    let body = body(&header, &source, single).map_err(|failure| failure.in_text(&source, text))?;
    Ok(Routine {
        header,
        source,
        body,
    })
}

/// The header of a routine in any language, and the text of its body.
///
/// # Errors
/// `0A000`, `42P13`.
pub(crate) fn header(statement: &CreateFunctionStmt, text: &str) -> SqlResult<(Header, String)> {
    header::read(statement, text)
}

/// The language that a routine is written in.
pub(crate) fn language(statement: &CreateFunctionStmt) -> Option<String> {
    header::language(statement)
}

/// A type as the parser gives it.
///
/// # Errors
/// `0A000`.
pub(crate) fn data_type(name: &pg_query::protobuf::TypeName) -> SqlResult<DataType> {
    header::of_name(name)
}

fn body(header: &Header, source: &str, single: Single) -> Result<Body, Failure> {
    let tokens = tokens::Tokens::of(source, single)?;
    let sections = declare::sections(&tokens)?;
    let answer = check::check(header, &tokens, &sections)?;
    read::body(header, &tokens, sections, &answer)
}

/// An error and the byte of the body that it is about.
#[derive(Debug)]
pub(crate) struct Failure {
    error: SqlError,
    offset: Option<usize>,
}

impl Failure {
    fn at(error: SqlError, offset: usize) -> Failure {
        Failure {
            error,
            offset: Some(offset),
        }
    }

    /// 0A000 for something at a byte of the body.
    fn unsupported(what: &str, offset: usize) -> Failure {
        Failure::at(SqlError::unsupported(what), offset)
    }

    /// The error with its line, and with its position if the body stands in the text once, as it
    /// is; in another kind of quotes than dollars it may not.
    fn in_text(self, body: &str, text: &str) -> SqlError {
        let Some(offset) = self.offset else {
            return self.error;
        };
        let line = tokens::line(body, offset);
        let error = match &self.error.detail {
            Some(_) => self.error,
            None => self.error.detail(format!("At line {line} of the body.")),
        };
        let mut places = text.match_indices(body);
        match (places.next(), places.next()) {
            (Some((start, _)), None) => error.at(crate::parse::position(text, start + offset)),
            _ => error,
        }
    }
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Failure {
        Failure {
            error,
            offset: None,
        }
    }
}
