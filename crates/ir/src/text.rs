//! Programs as text that people read and [`read`] reads back.
//!
//! Relies on: `text_format` for constants; whoever reads knows the tables.  Promises: what is written reads
//! back as an equal value; the same value always gives the same text; whoever reads is told the line and
//! column of what is wrong.  Does not: contain definitions of tables: they are named; check that what it
//! reads makes sense (`validate` does).
//!
//! ```text
//! (program
//!   (routine 'transfer' nothing (found $3)
//!     (arguments ('from' int4) ('amount' int8))
//!     (variables ('' bool))
//!     @4 (run
//!       (update public accounts
//!         (scan public accounts (primary (range (equal $1:int4))))
//!         (set #1 (call - #1:int8 $2:int8))))
//!     @5 (if (when (not $3:bool) @6 (raise exception (format 'no account')))))))
//! ```
//! A *form* is a word, a text in quotes, or a list in parentheses. `$1` is a slot or parameter, counted from 1
//! as SQL does; `#0` a place in the frame, counted from 0; `'text':type` and `5:type` are constants; `@4`
//! before a step is its line.
//!
//! | file | what it holds |
//! |---|---|
//! | `form` | words, texts and lists: printing with indentation, reading with places |
//! | `types` | types with their modifiers |
//! | `write`, `write_plan` | the IR as forms |
//! | `read`, `read_plan` | forms as the IR |
//! | `dynamic` | dynamic statements, both ways |

mod dynamic;
mod form;
mod read;
mod read_plan;
mod types;
mod write;
mod write_plan;

use crate::routine::{Program, Routine};
use crate::schema::TableRef;
use form::Form;
use std::fmt;

/// What is wrong with a text, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextError {
    /// Line, from 1.
    pub line: u32,
    /// Character in the line, from 1.
    pub column: u32,
    /// What was expected there, or is not known.
    pub message: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}, column {}: {}",
            self.line, self.column, self.message
        )
    }
}

impl std::error::Error for TextError {}

/// Finds a table by its schema's name and its own.
pub type Tables<'t> = &'t dyn Fn(&str, &str) -> Option<TableRef>;

/// A program as text.
pub fn write(program: &Program) -> String {
    write::program(program).to_string()
}

/// A routine as text.
pub fn write_routine(routine: &Routine) -> String {
    write::routine(routine).to_string()
}

/// Reads what [`write()`] wrote.
///
/// # Errors
/// The first thing that is no program.
pub fn read(text: &str, tables: Tables<'_>) -> Result<Program, TextError> {
    read::Reader { tables }.program(&Form::read(text)?)
}

/// Reads what [`write_routine`] wrote.
///
/// # Errors
/// The first thing that is no routine.
pub fn read_routine(text: &str, tables: Tables<'_>) -> Result<Routine, TextError> {
    read::Reader { tables }.routine(&Form::read(text)?)
}
