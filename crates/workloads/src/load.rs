//! What a workload's tables hold at first, in pieces.
//!
//! Relies on: nothing.  Promises: a piece can be made by itself, in any order and on any thread; rows
//! of a table come in the order of its primary key; the same numbers give the same rows on every
//! database.  Does not: send them anywhere.
//!
//! ```text
//!   a piece's text   field TAB field TAB … NEWLINE      as COPY reads it; NULL is \N
//! ```
//! No field holds a tab, a line break or a backslash, so that nothing needs escaping.

use crate::call::Cents;
use std::fmt::Write;

/// A table to be filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns, separated by commas, in the order of the fields.
    pub columns: &'static str,
}

impl Table {
    /// The COPY that takes pieces of this table.
    pub fn copy(&self) -> String {
        format!("COPY {} ({}) FROM STDIN", self.name, self.columns)
    }
}

/// Some rows of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Which table.
    pub table: Table,
    /// How many rows.
    pub rows: u64,
    /// The rows as COPY's text.
    pub text: String,
}

impl Piece {
    /// The rows as INSERTs of at most so many rows each.
    pub fn inserts(&self, rows_max: usize) -> Vec<String> {
        let lines: Vec<&str> = self.text.lines().collect();
        let insert = |lines: &[&str]| {
            let Table { name, columns } = self.table;
            let mut sql = format!("INSERT INTO {name} ({columns}) VALUES ");
            for (i, line) in lines.iter().enumerate() {
                sql.push_str(if i > 0 { ", (" } else { "(" });
                for (j, field) in line.split('\t').enumerate() {
                    sql.push_str(if j > 0 { ", " } else { "" });
                    write_field(&mut sql, field);
                }
                sql.push(')');
            }
            sql
        };
        lines.chunks(rows_max).map(insert).collect()
    }
}

/// As a literal without a type: the column says what it is.
fn write_field(sql: &mut String, field: &str) {
    if field == "\\N" {
        sql.push_str("NULL");
    } else {
        sql.push('\'');
        sql.push_str(&field.replace('\'', "''"));
        sql.push('\'');
    }
}

/// Writes the text of a piece, field by field.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    text: String,
    rows: u64,
    /// The row has a field already.
    begun: bool,
}

impl Lines {
    /// Where the next field's text goes.
    pub fn field(&mut self) -> &mut String {
        if self.begun {
            self.text.push('\t');
        }
        self.begun = true;
        &mut self.text
    }

    pub fn text(&mut self, text: &str) {
        debug_assert!(!text.contains(['\t', '\n', '\\']), "{text:?} needs escapes");
        self.field().push_str(text);
    }

    pub fn number(&mut self, number: impl Into<i64>) {
        let number: i64 = number.into();
        let _ = write!(self.field(), "{number}");
    }

    pub fn cents(&mut self, cents: i64) {
        let _ = write!(self.field(), "{}", Cents(cents));
    }

    pub fn null(&mut self) {
        self.field().push_str("\\N");
    }

    pub fn end_row(&mut self) {
        self.text.push('\n');
        self.begun = false;
        self.rows += 1;
    }

    pub fn into_piece(self, table: Table) -> Piece {
        debug_assert!(!self.begun, "a row is not ended");
        Piece {
            table,
            rows: self.rows,
            text: self.text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_the_same_as_copy_and_as_inserts() {
        let mut lines = Lines::default();
        for i in 0..3 {
            lines.number(i);
            lines.text("it's");
            lines.null();
            lines.cents(-150);
            lines.end_row();
        }
        let table = Table {
            name: "t",
            columns: "a, b, c, d",
        };
        let piece = lines.into_piece(table);
        assert_eq!(piece.rows, 3);
        assert_eq!(piece.text.lines().next(), Some("0\tit's\t\\N\t-1.50"));
        let inserts = piece.inserts(2);
        assert_eq!(inserts.len(), 2);
        assert_eq!(
            inserts[1],
            "INSERT INTO t (a, b, c, d) VALUES ('2', 'it''s', NULL, '-1.50')"
        );
    }
}
