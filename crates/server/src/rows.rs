//! Rows of a running statement, written as messages.
//!
//! Relies on: `protocol::backend`.  Promises: asks for a break when the output buffer is full, so
//! that a result of any size passes through a bounded buffer.  Does not: send.

use crate::protocol::backend;
use crate::protocol::frontend::{Format, FormatCodes};
use quintet_base::text_format::FormatContext;
use quintet_base::{SqlResult, SqlType, Value};
use quintet_embed::{Flow, RowSink};
use quintet_ir::statement::OutputColumn;
use quintet_sql::command::CopyFormat;
use std::collections::HashMap;

/// Output that is sent before more is made. Large enough that a system call is nothing beside making
/// it, small enough to stay in the processor's cache.
pub(crate) const OUTPUT_BYTES: usize = 64 * 1024;

/// How the columns of a result are to be written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Formats {
    #[default]
    Text,
    Binary,
    /// One for each column.
    Mixed(Box<[Format]>),
}

impl Formats {
    pub fn of(&self, column: usize) -> Format {
        match self {
            Formats::Text => Format::Text,
            Formats::Binary => Format::Binary,
            Formats::Mixed(formats) => formats.get(column).copied().unwrap_or(Format::Text),
        }
    }
}

impl From<FormatCodes<'_>> for Formats {
    fn from(codes: FormatCodes<'_>) -> Formats {
        let mut formats = (0..codes.len()).map(|i| codes.of(i));
        match codes.len() {
            0 => Formats::Text,
            _ if formats.clone().all(|format| format == Format::Text) => Formats::Text,
            _ if formats.all(|format| format == Format::Binary) => Formats::Binary,
            count => Formats::Mixed((0..count).map(|i| codes.of(i)).collect()),
        }
    }
}

/// Formats of the portals that were bound. The unnamed one is in nearly all messages.
#[derive(Debug, Default)]
pub(crate) struct PortalFormats {
    unnamed: Formats,
    named: HashMap<String, Formats>,
}

impl PortalFormats {
    pub fn set(&mut self, portal: &str, formats: Formats) {
        if portal.is_empty() {
            self.unnamed = formats;
        } else {
            self.named.insert(portal.to_string(), formats);
        }
    }

    /// Text for a portal that was not bound by a message (DECLARE).
    pub fn get(&self, portal: &str) -> &Formats {
        const TEXT: &Formats = &Formats::Text;
        if portal.is_empty() {
            &self.unnamed
        } else {
            self.named.get(portal).unwrap_or(TEXT)
        }
    }

    pub fn close(&mut self, portal: &str) {
        self.named.remove(portal);
    }

    /// Forgets portals that are gone.
    pub fn retain(&mut self, lives: impl Fn(&str) -> bool) {
        if !self.named.is_empty() {
            self.named.retain(|name, _| lives(name));
        }
    }
}

/// Who tells the client the columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Announce {
    /// The sink, before the first row (simple protocol).
    Columns,
    /// Describe has (extended protocol).
    Nothing,
    /// Nobody: the value of the one row is the result of a function that was called by its number.
    Result,
}

/// Takes a statement's rows.
pub(crate) struct Rows<'a> {
    pub out: &'a mut Vec<u8>,
    pub formats: &'a Formats,
    pub context: &'a FormatContext,
    pub announce: Announce,
    /// Columns whose values are written by their types alone.
    pub typed: Vec<(usize, SqlType)>,
    /// Rows so far.
    pub given: &'a mut usize,
    /// Set when COPY TO STDOUT begins; it must be ended then.
    pub copying: &'a mut bool,
}

impl Rows<'_> {
    fn flow(&self) -> Flow {
        if self.out.len() < OUTPUT_BYTES {
            Flow::Continue
        } else {
            Flow::Break
        }
    }
}

impl RowSink for Rows<'_> {
    fn columns(&mut self, columns: &[OutputColumn]) {
        if self.announce == Announce::Columns {
            backend::description(self.out, columns, |i| self.formats.of(i));
        }
    }

    fn typed(&mut self, columns: &[OutputColumn]) {
        let places = columns.iter().map(|column| column.ty).enumerate();
        self.typed = places.filter(|(_, ty)| ty.is_told_by_type()).collect();
    }

    fn row(&mut self, values: &[Value]) -> SqlResult<Flow> {
        let start = self.out.len();
        if self.typed.is_empty() {
            match self.formats {
                // Known once for all columns, so that the choice is out of the loop.
                Formats::Text => backend::row(self.out, values, |_| Format::Text, self.context)?,
                Formats::Binary => {
                    backend::row(self.out, values, |_| Format::Binary, self.context)?;
                }
                mixed => backend::row(self.out, values, |i| mixed.of(i), self.context)?,
            }
        } else {
            let ty = |i: usize, value: &Value| {
                let found = self.typed.iter().find(|(place, _)| *place == i);
                found.map_or_else(|| value.natural_type(), |(_, ty)| *ty)
            };
            backend::typed_row(self.out, values, |i| self.formats.of(i), ty, self.context)?;
        }
        if self.announce == Announce::Result {
            backend::row_is_result(self.out, start);
        }
        *self.given += 1;
        Ok(self.flow())
    }

    fn copy_begin(&mut self, columns: usize, format: &CopyFormat) {
        *self.copying = true;
        backend::copy_out(self.out, columns, format);
    }

    fn copy_data(&mut self, data: &[u8]) -> Flow {
        backend::copy_data(self.out, data);
        self.flow()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_buffer_asks_for_a_break() {
        let mut out = Vec::new();
        let context = FormatContext::default();
        let (mut given, mut copying) = (0, false);
        let mut rows = Rows {
            out: &mut out,
            formats: &Formats::Text,
            context: &context,
            announce: Announce::Nothing,
            typed: Vec::new(),
            given: &mut given,
            copying: &mut copying,
        };
        let row = [Value::text("x".repeat(1000))];
        while rows.row(&row).unwrap() == Flow::Continue {}
        // 1000 bytes and 11 around them: message header, column count, value length.
        assert_eq!(given, OUTPUT_BYTES.div_ceil(1011));
    }

    #[test]
    fn portals_keep_their_formats_until_they_are_gone() {
        let mut formats = PortalFormats::default();
        formats.set("a", Formats::Binary);
        formats.set(
            "b",
            Formats::Mixed(Box::new([Format::Binary, Format::Text])),
        );
        formats.set("", Formats::Binary);
        assert_eq!(formats.get("b").of(0), Format::Binary);
        assert_eq!(formats.get("b").of(1), Format::Text);
        formats.retain(|name| name == "b");
        assert_eq!(
            (formats.get("a"), formats.get("")),
            (&Formats::Text, &Formats::Binary)
        );
        formats.close("b");
        assert_eq!(formats.get("b"), &Formats::Text);
    }
}
