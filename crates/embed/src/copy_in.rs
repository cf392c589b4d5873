//! COPY FROM STDIN: bytes in pieces to fields.
//!
//! Relies on: nothing but the format.  Promises: rows come out whole, whatever the pieces; bad input
//! is refused with the line it is on.  Does not: convert fields to values or insert anything.

use memchr::{memchr, memchr2, memchr3};
use quintet_base::limits::ROW_BYTES_MAX;
use quintet_base::{SqlError, SqlResult, SqlState};
use quintet_sql::command::{CopyFormat, CopyHeader, CopyKind};

/// The binary format's first bytes.
const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";

/// The fields of one row, in memory that serves for all rows.
#[derive(Default)]
pub(crate) struct Fields {
    bytes: Vec<u8>,
    /// Where each begins and ends; `None` is NULL.
    places: Vec<Option<(usize, usize)>>,
}

impl Fields {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// One of those that are there; the inner `None` is NULL.
    pub fn get(&self, number: usize) -> Option<Option<&[u8]>> {
        let place = self.places.get(number)?;
        Some(place.map(|(from, to)| &self.bytes[from..to]))
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    fn push_null(&mut self) {
        self.places.push(None);
    }

    fn push(&mut self, field: &[u8]) {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(field);
        self.end(from);
    }

    /// A field has been written behind the others, from there on.
    fn end(&mut self, from: usize) {
        self.places.push(Some((from, self.bytes.len())));
    }
}

/// A parser fed with pieces.
pub(crate) struct CopyReader {
    format: CopyFormat,
    /// What the columns are called, as the first line may have to say.
    names: Vec<String>,
    buffer: Vec<u8>,
    /// How much of the buffer has been consumed.
    at: usize,
    /// Lines (or binary rows) begun so far, for messages.
    pub line: u64,
    header_pending: bool,
    ended: bool,
}

fn bad(line: u64, what: impl std::fmt::Display) -> SqlError {
    SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, what.to_string())
        .detail(format!("COPY, line {line}."))
}

impl CopyReader {
    pub fn new(format: CopyFormat, names: Vec<String>) -> CopyReader {
        let header_pending = format.header != CopyHeader::None || format.kind == CopyKind::Binary;
        CopyReader {
            format,
            names,
            buffer: Vec::new(),
            at: 0,
            line: 0,
            header_pending,
            ended: false,
        }
    }

    /// Adds a piece.
    ///
    /// # Errors
    /// `22P04` if a single row grows beyond what a row may be.
    pub fn feed(&mut self, data: &[u8]) -> SqlResult<()> {
        if self.at > 0 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        if !self.ended {
            self.buffer.extend_from_slice(data);
        }
        if self.buffer.len() > 4 * ROW_BYTES_MAX + data.len() {
            return Err(bad(self.line + 1, "row is too long"));
        }
        Ok(())
    }

    /// The next whole row; `None` when more input is needed. With `end` there is no more input.
    ///
    /// # Errors
    /// `22P04`.
    pub fn next_row(&mut self, end: bool, fields: &mut Fields) -> SqlResult<bool> {
        fields.clear();
        match self.format.kind {
            CopyKind::Text => self.next_text(end, fields),
            CopyKind::Csv => self.next_csv(end, fields),
            CopyKind::Binary => self.next_binary(end, fields),
        }
    }

    fn next_text(&mut self, end: bool, fields: &mut Fields) -> SqlResult<bool> {
        loop {
            if self.ended {
                return Ok(false);
            }
            let rest = &self.buffer[self.at..];
            let Some(length) = text_line(rest, end) else {
                return Ok(false);
            };
            let line = &rest[..length];
            let next = self.at + (length + 1).min(rest.len());
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            self.line += 1;
            if line == b"\\." {
                self.ended = true;
                return Ok(false);
            }
            let number = self.line;
            if std::mem::take(&mut self.header_pending) {
                if self.format.header == CopyHeader::Match {
                    split_text(line, &self.format, fields).map_err(|what| bad(number, what))?;
                    self.match_header(fields)?;
                    fields.clear();
                }
                self.at = next;
                continue;
            }
            split_text(line, &self.format, fields).map_err(|what| bad(number, what))?;
            self.at = next;
            return Ok(true);
        }
    }

    /// HEADER MATCH: the first line has the names of the columns.
    fn match_header(&self, fields: &Fields) -> SqlResult<()> {
        let (got, expected) = (fields.len(), self.names.len());
        if got != expected {
            let what = "wrong number of fields in header line";
            return Err(bad(
                self.line,
                format!("{what}: got {got}, expected {expected}"),
            ));
        }
        for (place, name) in self.names.iter().enumerate() {
            let got = match fields.get(place).flatten() {
                Some(field) if field == name.as_bytes() => continue,
                Some(field) => format!("\"{}\"", String::from_utf8_lossy(field)),
                None => format!("null value (\"{}\")", self.format.null),
            };
            let field = place + 1;
            let what = format!("column name mismatch in header line field {field}");
            return Err(bad(
                self.line,
                format!("{what}: got {got}, expected \"{name}\""),
            ));
        }
        Ok(())
    }

    fn next_csv(&mut self, end: bool, fields: &mut Fields) -> SqlResult<bool> {
        loop {
            if self.ended || self.at >= self.buffer.len() {
                return Ok(false);
            }
            self.line += 1;
            let number = self.line;
            let rest = &self.buffer[self.at..];
            let used =
                split_csv(rest, end, &self.format, fields).map_err(|what| bad(number, what))?;
            let Some(used) = used else {
                self.line -= 1;
                return Ok(false);
            };
            if rest.starts_with(b"\\.") && fields.len() == 1 && fields.get(0) == Some(Some(b"\\."))
            {
                self.ended = true;
                return Ok(false);
            }
            self.at += used;
            if std::mem::take(&mut self.header_pending) {
                if self.format.header == CopyHeader::Match {
                    self.match_header(fields)?;
                }
                fields.clear();
                continue;
            }
            return Ok(true);
        }
    }

    fn next_binary(&mut self, end: bool, fields: &mut Fields) -> SqlResult<bool> {
        let rest = &self.buffer[self.at..];
        let number = self.line + 1;
        let short = |what: &str| {
            if end {
                Err(bad(number, what))
            } else {
                Ok(false)
            }
        };
        let be32 = |at: usize| {
            rest.get(at..at + 4)
                .map(|b| i32::from_be_bytes([b[0], b[1], b[2], b[3]]))
        };
        if self.ended {
            return Ok(false);
        }
        if self.header_pending {
            if rest.len() < 19 {
                return short("COPY file signature not recognized");
            }
            if &rest[..11] != SIGNATURE {
                return Err(bad(number, "COPY file signature not recognized"));
            }
            let extension = be32(15).unwrap_or(-1);
            if extension < 0 {
                return Err(bad(number, "invalid COPY file header (wrong length)"));
            }
            if rest.len() < 19 + extension as usize {
                return short("invalid COPY file header (missing length)");
            }
            self.header_pending = false;
            self.at += 19 + extension as usize;
            return self.next_binary(end, fields);
        }
        if rest.is_empty() && end {
            return Ok(false);
        }
        let Some(count) = rest.get(..2).map(|b| i16::from_be_bytes([b[0], b[1]])) else {
            return short("unexpected EOF in COPY data");
        };
        if count == -1 {
            self.ended = true;
            return Ok(false);
        }
        let mut at = 2;
        for _ in 0..count.max(0) {
            let Some(length) = be32(at) else {
                return short("unexpected EOF in COPY data");
            };
            at += 4;
            if length < 0 {
                fields.push_null();
                continue;
            }
            let Some(field) = rest.get(at..at + length as usize) else {
                if length as usize > ROW_BYTES_MAX {
                    return Err(bad(number, "invalid field size"));
                }
                return short("unexpected EOF in COPY data");
            };
            fields.push(field);
            at += length as usize;
        }
        self.line = number;
        self.at += at;
        Ok(true)
    }
}

/// Length of the next line without its end; a newline after a backslash does not end it.
fn text_line(rest: &[u8], end: bool) -> Option<usize> {
    let mut from = 0;
    while let Some(next) = rest
        .get(from..)
        .and_then(|rest| memchr2(b'\n', b'\\', rest))
    {
        if rest[from + next] == b'\n' {
            return Some(from + next);
        }
        from += next + 2;
    }
    (end && !rest.is_empty()).then_some(rest.len())
}

fn split_text(line: &[u8], format: &CopyFormat, fields: &mut Fields) -> Result<(), String> {
    let mut start = 0;
    let mut i = 0;
    let mut escaped = false;
    loop {
        let rest = line.get(i..).unwrap_or_default();
        i += memchr2(format.delimiter, b'\\', rest).unwrap_or(rest.len());
        if i >= line.len() || line[i] == format.delimiter {
            let raw = &line[start..i.min(line.len())];
            if raw == format.null.as_bytes() {
                fields.push_null();
            } else if escaped {
                let from = fields.bytes.len();
                unescape(raw, &mut fields.bytes)?;
                fields.end(from);
            } else {
                fields.push(raw);
            }
            escaped = false;
            if i >= line.len() {
                return Ok(());
            }
            start = i + 1;
            i = start;
        } else {
            escaped = true;
            i += 2;
        }
    }
}

/// Backslash escapes of the text format.
fn unescape(raw: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let mut bytes = raw.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            None => return Err("backslash at the end of a field".into()),
            Some(b'b') => out.push(8),
            Some(b'f') => out.push(12),
            Some(b'n') => out.push(b'\n'),
            Some(b'r') => out.push(b'\r'),
            Some(b't') => out.push(b'\t'),
            Some(b'v') => out.push(11),
            Some(b'x') => {
                let mut value = None;
                for _ in 0..2 {
                    let Some(digit) = bytes.peek().and_then(|b| (*b as char).to_digit(16)) else {
                        break;
                    };
                    value = Some(value.unwrap_or(0) * 16 + digit);
                    bytes.next();
                }
                out.push(value.map_or(b'x', |v| v as u8));
            }
            Some(first @ b'0'..=b'7') => {
                let mut value = u32::from(first - b'0');
                for _ in 0..2 {
                    let Some(digit) = bytes.peek().and_then(|b| (*b as char).to_digit(8)) else {
                        break;
                    };
                    value = value * 8 + digit;
                    bytes.next();
                }
                out.push(value as u8);
            }
            Some(other) => out.push(other),
        }
    }
    Ok(())
}

/// Splits one CSV record; `None`: it is not complete. Returns the bytes it took, line end included.
fn split_csv(
    rest: &[u8],
    end: bool,
    format: &CopyFormat,
    fields: &mut Fields,
) -> Result<Option<usize>, String> {
    fields.clear();
    let (mut from, mut quoted, mut inside) = (0, false, false);
    let mut i = 0;
    loop {
        let Some(&byte) = rest.get(i) else {
            if !end {
                return Ok(None);
            }
            if inside {
                return Err("unterminated CSV quoted field".into());
            }
            finish_csv(from, quoted, format, fields);
            return Ok(Some(i));
        };
        if inside {
            if byte == format.escape
                && rest
                    .get(i + 1)
                    .is_some_and(|b| *b == format.quote || *b == format.escape)
            {
                fields.bytes.push(rest[i + 1]);
                i += 2;
            } else if byte == format.quote {
                // A quote as the last byte so far may be the first half of an escaped one.
                if i + 1 == rest.len() && !end {
                    return Ok(None);
                }
                inside = false;
                i += 1;
            } else {
                let behind = &rest[i + 1..];
                let plain =
                    1 + memchr2(format.quote, format.escape, behind).unwrap_or(behind.len());
                fields.bytes.extend_from_slice(&rest[i..i + plain]);
                i += plain;
            }
        } else if byte == format.quote {
            inside = true;
            quoted = true;
            i += 1;
        } else if byte == format.delimiter {
            finish_csv(from, std::mem::take(&mut quoted), format, fields);
            from = fields.bytes.len();
            i += 1;
        } else if byte == b'\n' || byte == b'\r' {
            if byte == b'\r' && i + 1 == rest.len() && !end {
                return Ok(None);
            }
            let pair = byte == b'\r' && rest.get(i + 1) == Some(&b'\n');
            finish_csv(from, quoted, format, fields);
            return Ok(Some(i + 1 + usize::from(pair)));
        } else {
            let behind = &rest[i + 1..];
            let plain = memchr3(format.delimiter, format.quote, b'\n', behind);
            let plain = plain.unwrap_or(behind.len());
            let plain = 1 + memchr(b'\r', &behind[..plain]).unwrap_or(plain);
            fields.bytes.extend_from_slice(&rest[i..i + plain]);
            i += plain;
        }
    }
}

/// A field has been written from there on.
fn finish_csv(from: usize, quoted: bool, format: &CopyFormat, fields: &mut Fields) {
    match !quoted && &fields.bytes[from..] == format.null.as_bytes() {
        true => {
            fields.bytes.truncate(from);
            fields.push_null();
        }
        false => fields.end(from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(kind: CopyKind) -> CopyFormat {
        let (delimiter, null) = if kind == CopyKind::Csv {
            (b',', "")
        } else {
            (b'\t', "\\N")
        };
        CopyFormat {
            kind,
            delimiter,
            null: null.into(),
            header: CopyHeader::None,
            quote: b'"',
            escape: b'"',
        }
    }

    fn all(fields: &Fields) -> Vec<Option<Vec<u8>>> {
        let each = (0..fields.len()).filter_map(|number| fields.get(number));
        each.map(|field| field.map(<[u8]>::to_vec)).collect()
    }

    /// Feeds the input in pieces of every size; all must give the same rows.
    fn check(format: CopyFormat, input: &[u8], expected: &[&[Option<&str>]]) {
        for piece in 1..=input.len() {
            let mut reader = CopyReader::new(format.clone(), Vec::new());
            let (mut rows, mut fields) = (vec![], Fields::default());
            for part in input.chunks(piece) {
                reader.feed(part).unwrap();
                while reader.next_row(false, &mut fields).unwrap() {
                    rows.push(all(&fields));
                }
            }
            while reader.next_row(true, &mut fields).unwrap() {
                rows.push(all(&fields));
            }
            let expected: Vec<Vec<Option<Vec<u8>>>> = expected
                .iter()
                .map(|row| {
                    row.iter()
                        .map(|field| field.map(|text| text.as_bytes().to_vec()))
                        .collect()
                })
                .collect();
            assert_eq!(rows, expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn text_rows_with_escapes_nulls_and_end_mark() {
        check(
            format(CopyKind::Text),
            b"1\ta\\tb\t\\N\n2\t\\x41\\101\\\\\t\n\\.\nignored\n",
            &[
                &[Some("1"), Some("a\tb"), None],
                &[Some("2"), Some("AA\\"), Some("")],
            ],
        );
        check(
            format(CopyKind::Text),
            b"last\tline",
            &[&[Some("last"), Some("line")]],
        );
    }

    #[test]
    fn csv_rows_with_quotes_newlines_and_nulls() {
        check(
            format(CopyKind::Csv),
            b"1,\"a \"\"b\"\",\n c\",\r\n2,,\"\"\n3,x,y",
            &[
                &[Some("1"), Some("a \"b\",\n c"), None],
                &[Some("2"), None, Some("")],
                &[Some("3"), Some("x"), Some("y")],
            ],
        );
        let mut header = format(CopyKind::Csv);
        header.header = CopyHeader::Line;
        check(header, b"a,b\n1,2\n", &[&[Some("1"), Some("2")]]);
    }

    #[test]
    fn binary_rows() {
        let mut input = SIGNATURE.to_vec();
        input.extend_from_slice(&[0; 8]);
        input.extend_from_slice(&[0, 2, 0, 0, 0, 1, b'x', 0xff, 0xff, 0xff, 0xff]);
        input.extend_from_slice(&[0xff, 0xff]);
        check(format(CopyKind::Binary), &input, &[&[Some("x"), None]]);
        let mut reader = CopyReader::new(format(CopyKind::Binary), Vec::new());
        reader.feed(b"not a binary copy file").unwrap();
        assert_eq!(
            reader
                .next_row(false, &mut Fields::default())
                .unwrap_err()
                .state,
            SqlState::BAD_COPY_FILE_FORMAT
        );
    }
}
