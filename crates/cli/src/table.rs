//! Rows as an aligned table.
//!
//! Relies on: `base::text_format` for the values.  Promises: columns as wide as their widest cell
//! among the first rows; memory bounded by those rows, whatever the length of the result.
//! Does not: wrap or cut cells; a later, wider one sticks out.
//!
//! ```text
//!  id | name
//! ----+------
//!   1 | ann
//! (1 row)
//! ```

use quintet_base::text_format::{self, FormatContext};
use quintet_base::{SqlType, Value};
use quintet_embed::Flow;
use std::io::{self, Write};

/// Rows that are looked at before the widths are decided.
const LOOK_AHEAD_ROWS: usize = 1000;

/// Writes one result as it comes.
pub struct Table {
    names: Vec<String>,
    types: Vec<SqlType>,
    format: FormatContext,
    /// Rows not written yet; empty once the widths are decided.
    waiting: Vec<Vec<String>>,
    widths: Option<Vec<usize>>,
    rows: u64,
    /// The first error in writing; nothing is written after it.
    failed: Option<io::Error>,
}

impl Table {
    /// A table of these columns.
    pub fn new(
        columns: impl IntoIterator<Item = (String, SqlType)>,
        format: FormatContext,
    ) -> Table {
        let (names, types) = columns.into_iter().unzip();
        Table {
            names,
            types,
            format,
            waiting: Vec::new(),
            widths: None,
            rows: 0,
            failed: None,
        }
    }

    /// Adds a row; `Break` once nobody reads the output any more.
    pub fn row(&mut self, out: &mut dyn Write, values: &[Value]) -> Flow {
        let cell = |(value, ty): (&Value, &SqlType)| match value {
            Value::Null => String::new(),
            value => text_format::to_string(value, *ty, &self.format).replace('\n', "\\n"),
        };
        let cells: Vec<String> = values.iter().zip(&self.types).map(cell).collect();
        self.rows += 1;
        self.waiting.push(cells);
        if self.widths.is_some() || self.waiting.len() >= LOOK_AHEAD_ROWS {
            let result = self.write_waiting(out);
            self.note(result);
        }
        if self.failed.is_some() {
            Flow::Break
        } else {
            Flow::Continue
        }
    }

    /// True once writing has failed.
    pub fn is_broken(&self) -> bool {
        self.failed.is_some()
    }

    /// Writes what is left and the count of rows.
    ///
    /// # Errors
    /// The first error in writing any part.
    pub fn finish(mut self, out: &mut dyn Write) -> io::Result<()> {
        let result = self.write_waiting(out);
        self.note(result);
        if let Some(error) = self.failed {
            return Err(error);
        }
        writeln!(
            out,
            "({} row{})",
            self.rows,
            if self.rows == 1 { "" } else { "s" }
        )
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
    }

    fn write_waiting(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.failed.is_some() {
            self.waiting.clear();
            return Ok(());
        }
        let widths = match self.widths.take() {
            Some(widths) => widths,
            None => self.write_head(out)?,
        };
        for cells in self.waiting.drain(..) {
            let mut line = String::new();
            for (i, cell) in cells.iter().enumerate() {
                let fill = " ".repeat(widths[i].saturating_sub(cell.chars().count()));
                let last = i + 1 == cells.len();
                match (is_number(self.types[i]), last) {
                    (true, _) => line.extend([" ", &fill, cell]),
                    (false, true) => line.extend([" ", cell.as_str()]),
                    (false, false) => line.extend([" ", cell, &fill]),
                }
                if !last {
                    line.push_str(" |");
                }
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        self.widths = Some(widths);
        Ok(())
    }

    fn write_head(&self, out: &mut dyn Write) -> io::Result<Vec<usize>> {
        let width = |i: usize, name: &String| {
            let cells = self.waiting.iter().map(|cells| cells[i].chars().count());
            cells.max().unwrap_or(0).max(name.chars().count())
        };
        let widths: Vec<usize> = self
            .names
            .iter()
            .enumerate()
            .map(|(i, name)| width(i, name))
            .collect();
        let named = self.names.iter().zip(&widths);
        let names: Vec<String> = named
            .map(|(name, width)| format!(" {name:<width$} "))
            .collect();
        let rules: Vec<String> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
        writeln!(out, "{}", names.join("|").trim_end())?;
        writeln!(out, "{}", rules.join("+"))?;
        Ok(widths)
    }
}

fn is_number(ty: SqlType) -> bool {
    use SqlType::{Float4, Float8, Int2, Int4, Int8, Numeric};
    matches!(ty, Int2 | Int4 | Int8 | Float4 | Float8 | Numeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(columns: &[(&str, SqlType)], rows: &[Vec<Value>]) -> String {
        let mut out = Vec::new();
        let columns = columns.iter().map(|(name, ty)| (name.to_string(), *ty));
        let mut table = Table::new(columns, FormatContext::default());
        for row in rows {
            assert_eq!(table.row(&mut out, row), Flow::Continue);
        }
        table.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_go_right_text_goes_left_null_is_empty() {
        let rows = [
            vec![Value::Int4(1), Value::text("ann"), Value::text("x")],
            vec![Value::Int4(-20), Value::Null, Value::text("a\nb")],
        ];
        let columns = [
            ("id", SqlType::Int4),
            ("name", SqlType::Text),
            ("note", SqlType::Text),
        ];
        assert_eq!(
            print(&columns, &rows),
            " id  | name | note\n-----+------+------\n   1 | ann  | x\n -20 |      | a\\nb\n(2 rows)\n"
        );
        assert_eq!(print(&columns[..1], &[]), " id\n----\n(0 rows)\n");
    }

    #[test]
    fn a_long_result_keeps_the_widths_of_its_beginning() {
        let rows: Vec<_> = (0..2500).map(|i| vec![Value::Int4(i)]).collect();
        let text = print(&[("n", SqlType::Int4)], &rows);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            (lines[2], lines[1001], lines[2501], lines[2502]),
            ("   0", " 999", " 2499", "(2500 rows)")
        );
    }

    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_stops_the_rows() {
        let mut closed = Closed;
        let mut table = Table::new([("n".to_string(), SqlType::Int4)], FormatContext::default());
        let flows: Vec<Flow> = (0..1001)
            .map(|i| table.row(&mut closed, &[Value::Int4(i)]))
            .collect();
        assert_eq!((flows[0], flows[1000]), (Flow::Continue, Flow::Break));
        assert_eq!(
            table.finish(&mut closed).unwrap_err().kind(),
            io::ErrorKind::BrokenPipe
        );
    }
}
