//! A statement as a client sent it, and what the protocol says around it.
//!
//! Relies on: nothing.  Promises: what is passed on is what came, byte for byte.  Does not: know what it means.

use crate::told::Told;
use bytes::Bytes;
use quintet_base::text_format::FormatContext;
use quintet_base::{SqlType, TypeMod, Value};
use quintet_ir::OutputColumn;
use quintet_replica::{Answer, CallText, Frame, ServerError};
use quintet_server::protocol::backend;
use quintet_server::protocol::frontend::Format;
use quintet_server::protocol::frontend::{Bind, FormatCodes};

/// A prepared statement with what a Bind gives it.
pub fn bound(sql: &str, types: &[u32], bind: &Bind<'_>) -> CallText {
    let codes = |codes: &FormatCodes<'_>| (0..codes.len()).map(|i| codes.of(i) as i16).collect();
    let values = bind.values().map(|value| value.map(Bytes::copy_from_slice));
    CallText::Extended {
        sql: sql.to_owned(),
        types: types.to_vec(),
        formats: codes(&bind.formats),
        values: values.collect(),
        result_formats: codes(&bind.result_formats),
    }
}

/// What a statement takes and gives, as a server described it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Description {
    /// Types of the parameters.
    pub params: Vec<u32>,
    /// RowDescription with every format text, or NoData: the whole message.
    pub columns: Bytes,
}

/// NoData.
const NO_DATA: &[u8] = b"n\0\0\0\x04";

impl Description {
    /// Reads what a replica answered to Parse and Describe of a statement.
    pub fn read(frames: &[Frame]) -> Result<Description, Told> {
        let mut description = Description::nothing();
        for frame in frames {
            let body = frame.body();
            match frame.kind() {
                b't' => {
                    let oids = body.get(2..).unwrap_or_default().as_chunks::<4>().0;
                    description.params = oids.iter().map(|oid| u32::from_be_bytes(*oid)).collect();
                }
                b'T' | b'n' => description.columns = frame.raw().clone(),
                b'E' => {
                    return Err(Told::Theirs {
                        state: ServerError::read(body.clone()).state,
                        body,
                    });
                }
                _ => {}
            }
        }
        Ok(description)
    }

    /// Appends the ParameterDescription.
    pub fn write_params(&self, out: &mut Vec<u8>) {
        out.push(b't');
        out.extend_from_slice(&(6 + 4 * self.params.len() as u32).to_be_bytes());
        out.extend_from_slice(&(self.params.len() as u16).to_be_bytes());
        for oid in &self.params {
            out.extend_from_slice(&oid.to_be_bytes());
        }
    }

    /// Of a statement without parameters and rows.
    pub fn nothing() -> Description {
        Description {
            params: Vec::new(),
            columns: Bytes::from_static(NO_DATA),
        }
    }

    /// The description of the columns in these formats: none for text, one for all, or one each. A message that is
    /// no RowDescription is given as it is.
    pub fn columns_in(&self, formats: &[i16]) -> Vec<u8> {
        let mut message = self.columns.to_vec();
        if message.first() == Some(&b'T') && !formats.is_empty() {
            set_formats(&mut message, formats);
        }
        message
    }
}

/// Kind, length, number of columns.
const HEADER: usize = 7;

/// Table, column, type, width and modifier, before the format, of each column behind its name.
const BEFORE_FORMAT: usize = 16;

fn set_formats(message: &mut [u8], formats: &[i16]) {
    let mut at = HEADER;
    let mut column = 0;
    while let Some(name) = message[at..].iter().position(|byte| *byte == 0) {
        at += name + 1 + BEFORE_FORMAT;
        let format = match formats {
            [all] => *all,
            each => each.get(column).copied().unwrap_or(0),
        };
        let Some(place) = message.get_mut(at..at + 2) else {
            return;
        };
        place.copy_from_slice(&format.to_be_bytes());
        at += 2;
        column += 1;
        if at >= message.len() {
            return;
        }
    }
}

/// Splits an answer after so many rows: what is given now, and what is left. None is left if all rows fit.
pub fn split_rows(answer: &Bytes, rows: usize) -> (Bytes, Option<Bytes>) {
    let (mut at, mut seen) = (0, 0);
    while let Some(header) = answer[at..].first_chunk::<5>() {
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        if header[0] == b'D' {
            if seen == rows {
                return (answer.slice(..at), Some(answer.slice(at..)));
            }
            seen += 1;
        }
        at += 1 + length;
    }
    (answer.clone(), None)
}

/// An answer of one row with one text.
pub fn one_text(name: &str, value: &str, tag: &str) -> Answer {
    let column = OutputColumn {
        name: name.into(),
        ty: SqlType::Text,
        modifier: TypeMod::NONE,
        origin: None,
    };
    let (mut description, mut rows) = (Vec::new(), Vec::new());
    backend::columns(&mut description, &[column], |_| Format::Text);
    let context = FormatContext::default();
    // One short value is no row that is too long.
    let _ = backend::row(&mut rows, &[Value::text(value)], |_| Format::Text, &context);
    backend::complete(&mut rows, tag);
    Answer {
        description: description.into(),
        rows: rows.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, format: u16) -> Vec<u8> {
        let mut bytes = name.as_bytes().to_vec();
        bytes.push(0);
        bytes.extend_from_slice(&[
            0, 0, 1, 2, 0, 3, 0, 0, 0, 0x17, 0, 4, 0xff, 0xff, 0xff, 0xff,
        ]);
        bytes.extend_from_slice(&format.to_be_bytes());
        bytes
    }

    fn rows(formats: [u16; 2]) -> Vec<u8> {
        let columns = [column("a", formats[0]), column("", formats[1])].concat();
        let mut message = vec![b'T'];
        message.extend_from_slice(&(columns.len() as u32 + 6).to_be_bytes());
        message.extend_from_slice(&[0, 2]);
        message.extend_from_slice(&columns);
        message
    }

    #[test]
    fn formats_are_set_where_they_stand() {
        let description = Description {
            params: Vec::new(),
            columns: rows([0, 0]).into(),
        };
        assert_eq!(description.columns_in(&[]), rows([0, 0]));
        assert_eq!(description.columns_in(&[1]), rows([1, 1]));
        assert_eq!(description.columns_in(&[0, 1]), rows([0, 1]));
        assert_eq!(Description::nothing().columns_in(&[1]), NO_DATA);
    }

    #[test]
    fn an_answer_is_split_between_rows() {
        let answer = Bytes::from_static(b"D\0\0\0\x06\0\0D\0\0\0\x06\0\0C\0\0\0\x0dSELECT 2\0");
        let (now, rest) = split_rows(&answer, 1);
        assert_eq!(now.len(), 7);
        let (now, rest) = split_rows(&rest.unwrap(), 1);
        assert_eq!((now.len(), rest), (7 + 14, None));
        assert_eq!(split_rows(&answer, 2).1, None);
    }
}
