//! Messages of the server, appended to an output buffer.
//!
//! Relies on: `base` writes values.  Promises: a message is appended whole or not at all.
//! Does not: send.
//!
//! ```text
//! R Authentication    u32 0 ok, 10 SASL, 11 SASL continue, 12 SASL final; then bytes
//! S ParameterStatus   text name, text value         K BackendKeyData  i32 process id, 4 bytes secret
//! v NegotiateVersion  i32 minor, i32 n, n × text    Z ReadyForQuery   u8 I, T or E
//! T RowDescription    u16 n, n × (text name, u32 table, u16 column, u32 type, i16 width,
//!                                 i32 modifier, u16 format)
//! D DataRow           u16 n, n × (i32 length or -1, bytes)
//! t ParameterDescription  u16 n, n × u32 type       C CommandComplete text tag
//! E Error, N Notice   (u8 field, text)*, 0          G H CopyIn/OutResponse  u8 format, u16 n, n × u16
//! 1 ParseComplete  2 BindComplete  3 CloseComplete  n NoData  s PortalSuspended
//! I EmptyQuery     d CopyData bytes                 c CopyDone
//! A Notification   i32 process id, text channel, text payload
//! ```
//!
//! Hot path: DataRow, CommandComplete and ReadyForQuery go straight into the buffer; there is no
//! message type in between and nothing is allocated. Keep it that way.

use super::frontend::Format;
use quintet_base::error::ErrorObject;
use quintet_base::text_format::{self, FormatContext};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value, binary_format};
use quintet_embed::{Notification, TransactionStatus};
use quintet_ir::statement::OutputColumn;
use quintet_sql::command::{CopyFormat, CopyKind, Notice};

/// ParseComplete.
pub const PARSE_COMPLETE: &[u8] = b"1\0\0\0\x04";
/// BindComplete.
pub const BIND_COMPLETE: &[u8] = b"2\0\0\0\x04";
/// CloseComplete.
pub const CLOSE_COMPLETE: &[u8] = b"3\0\0\0\x04";
/// NoData.
pub const NO_DATA: &[u8] = b"n\0\0\0\x04";
/// PortalSuspended.
pub const PORTAL_SUSPENDED: &[u8] = b"s\0\0\0\x04";
/// EmptyQueryResponse.
pub const EMPTY_QUERY: &[u8] = b"I\0\0\0\x04";
/// CopyDone.
pub const COPY_DONE: &[u8] = b"c\0\0\0\x04";
/// AuthenticationOk.
pub const AUTHENTICATION_OK: &[u8] = b"R\0\0\0\x08\0\0\0\0";

/// What AuthenticationSASL and its kin say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sasl<'a> {
    /// The mechanism offered.
    Mechanism(&'a str),
    /// The server's challenge.
    Continue(&'a str),
    /// The server's proof.
    Final(&'a str),
}

/// How severe an error or notice is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The statement failed.
    Error,
    /// The connection ends.
    Fatal,
}

fn begin(out: &mut Vec<u8>, kind: u8) -> usize {
    out.extend_from_slice(&[kind, 0, 0, 0, 0]);
    out.len() - 4
}

/// Writes the length of the message whose length field is at `at`. Only DataRow and CopyData can grow
/// large, and they are checked.
fn end(out: &mut [u8], at: usize) {
    let length = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// How many bytes of an output buffer are whole messages. What a panic left half written is behind
/// them: its length is still zero.
pub fn whole(out: &[u8]) -> usize {
    let mut at = 0;
    while let Some(header) = out[at..].first_chunk::<5>() {
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        if length < 4 || out.len() - at <= length {
            break;
        }
        at += 1 + length;
    }
    at
}

fn text(out: &mut Vec<u8>, text: &str) {
    // A zero byte would end the text early and shift everything after it.
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.push(0);
}

/// AuthenticationSASL, -Continue or -Final.
pub fn sasl(out: &mut Vec<u8>, sasl: Sasl<'_>) {
    let at = begin(out, b'R');
    let (code, data) = match sasl {
        Sasl::Mechanism(name) => (10u32, name),
        Sasl::Continue(data) => (11, data),
        Sasl::Final(data) => (12, data),
    };
    out.extend_from_slice(&code.to_be_bytes());
    out.extend_from_slice(data.as_bytes());
    if code == 10 {
        // The name's end, and the end of the list of names.
        out.extend_from_slice(&[0, 0]);
    }
    end(out, at);
}

/// NegotiateProtocolVersion: the newest minor version, and the options that are not known.
pub fn negotiate_version(out: &mut Vec<u8>, minor: u16, unknown: &[String]) {
    let at = begin(out, b'v');
    out.extend_from_slice(&u32::from(minor).to_be_bytes());
    out.extend_from_slice(&(unknown.len() as u32).to_be_bytes());
    for name in unknown {
        text(out, name);
    }
    end(out, at);
}

/// BackendKeyData.
pub fn key_data(out: &mut Vec<u8>, process_id: i32, secret: [u8; 4]) {
    let at = begin(out, b'K');
    out.extend_from_slice(&process_id.to_be_bytes());
    out.extend_from_slice(&secret);
    end(out, at);
}

/// NotificationResponse.
pub fn notification(out: &mut Vec<u8>, notification: &Notification) {
    let at = begin(out, b'A');
    out.extend_from_slice(&notification.process_id.to_be_bytes());
    text(out, &notification.channel);
    text(out, &notification.payload);
    end(out, at);
}

/// ParameterStatus.
pub fn parameter_status(out: &mut Vec<u8>, name: &str, value: &str) {
    let at = begin(out, b'S');
    text(out, name);
    text(out, value);
    end(out, at);
}

/// ReadyForQuery.
pub fn ready(out: &mut Vec<u8>, status: TransactionStatus) {
    let status = match status {
        TransactionStatus::Idle => b'I',
        TransactionStatus::Open => b'T',
        TransactionStatus::Failed => b'E',
    };
    out.extend_from_slice(&[b'Z', 0, 0, 0, 5, status]);
}

/// CommandComplete.
pub fn complete(out: &mut Vec<u8>, tag: &str) {
    let at = begin(out, b'C');
    text(out, tag);
    end(out, at);
}

/// ParameterDescription.
pub fn parameters(out: &mut Vec<u8>, types: &[SqlType]) {
    let at = begin(out, b't');
    out.extend_from_slice(&(types.len() as u16).to_be_bytes());
    for ty in types {
        out.extend_from_slice(&ty.oid().to_be_bytes());
    }
    end(out, at);
}

/// RowDescription, or NoData if there are no columns. `format` says how column i will be written.
pub fn columns(out: &mut Vec<u8>, columns: &[OutputColumn], format: impl Fn(usize) -> Format) {
    match columns.is_empty() {
        true => out.extend_from_slice(NO_DATA),
        false => description(out, columns, format),
    }
}

/// RowDescription, of a row without columns, too.
pub fn description(out: &mut Vec<u8>, columns: &[OutputColumn], format: impl Fn(usize) -> Format) {
    let at = begin(out, b'T');
    out.extend_from_slice(&(columns.len() as u16).to_be_bytes());
    for (i, column) in columns.iter().enumerate() {
        // A literal that no context gave a type is text to those who receive it.
        let ty = if column.ty == SqlType::Unknown {
            SqlType::Text
        } else {
            column.ty
        };
        let (table, number) = column
            .origin
            .map_or((0, 0), |(table, number)| (table.0, number));
        text(out, &column.name);
        out.extend_from_slice(&table.to_be_bytes());
        out.extend_from_slice(&number.to_be_bytes());
        out.extend_from_slice(&ty.oid().to_be_bytes());
        out.extend_from_slice(&ty.type_len().to_be_bytes());
        out.extend_from_slice(&column.modifier.0.to_be_bytes());
        out.extend_from_slice(&(format(i) as u16).to_be_bytes());
    }
    end(out, at);
}

/// DataRow.
///
/// # Errors
/// `54000` if the row is longer than a message can be; nothing is appended then.
pub fn row(
    out: &mut Vec<u8>,
    values: &[Value],
    format: impl Fn(usize) -> Format,
    context: &FormatContext,
) -> SqlResult<()> {
    typed_row(
        out,
        values,
        format,
        |_, value| value.natural_type(),
        context,
    )
}

/// DataRow of values whose types say more than they do themselves.
///
/// # Errors
/// As [`row`].
pub fn typed_row(
    out: &mut Vec<u8>,
    values: &[Value],
    format: impl Fn(usize) -> Format,
    ty: impl Fn(usize, &Value) -> SqlType,
    context: &FormatContext,
) -> SqlResult<()> {
    let at = begin(out, b'D');
    out.extend_from_slice(&(values.len() as u16).to_be_bytes());
    for (i, value) in values.iter().enumerate() {
        if value.is_null() {
            out.extend_from_slice(&(-1i32).to_be_bytes());
            continue;
        }
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        match format(i) {
            Format::Text => text_format::write(value, ty(i, value), context, out),
            Format::Binary => binary_format::write_typed(value, ty(i, value), context, out),
        }
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }
    let length = out.len() - at;
    if length > ROW_MESSAGE_BYTES_MAX {
        out.truncate(at - 1);
        return Err(SqlError::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            format!("a row of {length} bytes exceeds the maximum of {ROW_MESSAGE_BYTES_MAX}"),
        ));
    }
    end(out, at);
    Ok(())
}

/// Makes the DataRow of one value that begins here a FunctionCallResponse, which differs in its kind and has no count.
pub fn row_is_result(out: &mut Vec<u8>, start: usize) {
    out[start] = b'V';
    out.drain(start + 5..start + 7);
    end(out, start + 1);
}

/// Longest DataRow: what clients allocate for one message at most (1 GiB in libpq and PostgreSQL).
const ROW_MESSAGE_BYTES_MAX: usize = (1 << 30) - 1;

/// CopyInResponse (`G`) or CopyOutResponse (`H`).
fn copy_response(out: &mut Vec<u8>, kind: u8, columns: usize, format: &CopyFormat) {
    let binary = u8::from(format.kind == CopyKind::Binary);
    let at = begin(out, kind);
    out.push(binary);
    out.extend_from_slice(&(columns as u16).to_be_bytes());
    for _ in 0..columns {
        out.extend_from_slice(&[0, binary]);
    }
    end(out, at);
}

/// CopyInResponse.
pub fn copy_in(out: &mut Vec<u8>, columns: usize, format: &CopyFormat) {
    copy_response(out, b'G', columns, format);
}

/// CopyOutResponse.
pub fn copy_out(out: &mut Vec<u8>, columns: usize, format: &CopyFormat) {
    copy_response(out, b'H', columns, format);
}

/// CopyData.
pub fn copy_data(out: &mut Vec<u8>, data: &[u8]) {
    let at = begin(out, b'd');
    out.extend_from_slice(data);
    end(out, at);
}

/// ErrorResponse.
pub fn error(out: &mut Vec<u8>, severity: Severity, error: &SqlError) {
    let severity = match severity {
        Severity::Error => "ERROR",
        Severity::Fatal => "FATAL",
    };
    report(out, b'E', severity, error);
}

/// NoticeResponse.
pub fn notice(out: &mut Vec<u8>, notice: &Notice) {
    report(out, b'N', notice.severity, &notice.message);
}

fn report(out: &mut Vec<u8>, kind: u8, severity: &str, error: &SqlError) {
    let at = begin(out, kind);
    let mut field = |kind: u8, value: &str| {
        out.push(kind);
        text(out, value);
    };
    field(b'S', severity);
    field(b'V', severity);
    field(b'C', error.state.as_str());
    field(b'M', &error.message);
    if let Some(detail) = &error.detail {
        field(b'D', detail);
    }
    if let Some(hint) = &error.hint {
        field(b'H', hint);
    }
    if let Some(position) = error.position {
        field(b'P', &position.to_string());
    }
    if let Some(context) = &error.context {
        field(b'W', context);
    }
    if let Some(object) = &error.object {
        let ErrorObject {
            schema,
            table,
            column,
            constraint,
            data_type,
        } = &**object;
        let named = [
            (b's', schema),
            (b't', table),
            (b'c', column),
            (b'n', constraint),
            (b'd', data_type),
        ];
        for (kind, name) in named {
            if let Some(name) = name {
                field(kind, name);
            }
        }
    }
    if let Some(routine) = routine(error) {
        field(b'R', routine);
    }
    out.push(0);
    end(out, at);
}

/// The function of PostgreSQL's that reports such an error, where clients look at its name.
fn routine(error: &SqlError) -> Option<&'static str> {
    match error.state {
        SqlState::UNIQUE_VIOLATION => Some("_bt_check_unique"),
        SqlState::FEATURE_NOT_SUPPORTED
            if error.message == "cached plan must not change result type" =>
        {
            Some("RevalidateCachedQuery")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_base::{TableId, TypeMod};

    fn check(write: impl FnOnce(&mut Vec<u8>), expected: &[u8]) {
        let mut out = b"before".to_vec();
        write(&mut out);
        let got = &out[6..];
        assert_eq!(
            got,
            expected,
            "{} / {}",
            got.escape_ascii(),
            expected.escape_ascii()
        );
    }

    #[test]
    fn small_messages_have_their_golden_bytes() {
        check(|out| ready(out, TransactionStatus::Failed), b"Z\0\0\0\x05E");
        check(|out| complete(out, "SELECT 1"), b"C\0\0\0\x0dSELECT 1\0");
        check(
            |out| key_data(out, 7, *b"abcd"),
            b"K\0\0\0\x0c\0\0\0\x07abcd",
        );
        check(|out| parameter_status(out, "a", "b"), b"S\0\0\0\x08a\0b\0");
        check(
            |out| sasl(out, Sasl::Mechanism("SCRAM")),
            b"R\0\0\0\x0f\0\0\0\x0aSCRAM\0\0",
        );
        check(
            |out| sasl(out, Sasl::Final("v=x")),
            b"R\0\0\0\x0b\0\0\0\x0cv=x",
        );
        check(
            |out| parameters(out, &[SqlType::Int4]),
            b"t\0\0\0\x0a\0\x01\0\0\0\x17",
        );
        check(|out| copy_data(out, b"1\t2\n"), b"d\0\0\0\x081\t2\n");
        let unknown = ["_pq_.x".to_string()];
        let expected = b"v\0\0\0\x13\0\0\0\0\0\0\0\x01_pq_.x\0";
        check(|out| negotiate_version(out, 0, &unknown), expected);
        check(|out| complete(out, "a\0b"), b"C\0\0\0\x07ab\0");
    }

    #[test]
    fn rows_and_their_description_have_their_golden_bytes() {
        let column = OutputColumn {
            name: "a".into(),
            ty: SqlType::Varchar,
            modifier: TypeMod::length(5),
            origin: Some((TableId(258), 3)),
        };
        let expected =
            b"T\0\0\0\x1a\0\x01a\0\0\0\x01\x02\0\x03\0\0\x04\x13\xff\xff\0\0\0\x09\0\x01";
        check(
            |out| columns(out, std::slice::from_ref(&column), |_| Format::Binary),
            expected,
        );
        check(|out| columns(out, &[], |_| Format::Text), NO_DATA);
        let mixed = |i| if i == 2 { Format::Binary } else { Format::Text };
        let values = [
            Value::Int4(-12),
            Value::Null,
            Value::Int2(3),
            Value::text(""),
        ];
        let expected = b"D\0\0\0\x1b\0\x04\0\0\0\x03-12\xff\xff\xff\xff\0\0\0\x02\0\x03\0\0\0\0";
        check(
            |out| row(out, &values, mixed, &FormatContext::default()).unwrap(),
            expected,
        );
    }

    #[test]
    fn a_half_written_message_does_not_count() {
        let mut out = Vec::new();
        complete(&mut out, "SELECT 1");
        ready(&mut out, TransactionStatus::Idle);
        let length = out.len();
        assert_eq!(whole(&out), length);
        begin(&mut out, b'D');
        out.extend_from_slice(&[0, 1, 0, 0]);
        assert_eq!(whole(&out), length);
        assert_eq!(whole(&[]), 0);
    }

    #[test]
    fn errors_carry_every_field_they_have_and_no_other() {
        let plain = SqlError::new(SqlState::SYNTAX_ERROR, "no");
        let expected = b"E\0\0\0\x1eSFATAL\0VFATAL\0C42601\0Mno\0\0";
        check(|out| error(out, Severity::Fatal, &plain), expected);
        let full = plain.detail("d").hint("h").at(12).about(ErrorObject {
            schema: Some("s".into()),
            table: Some("t".into()),
            column: Some("c".into()),
            constraint: Some("n".into()),
            data_type: Some("y".into()),
        });
        let expected =
            b"E\0\0\0\x37SERROR\0VERROR\0C42601\0Mno\0Dd\0Hh\0P12\0ss\0tt\0cc\0nn\0dy\0\0";
        check(|out| error(out, Severity::Error, &full), expected);
        let stale = SqlError::unsupported("x").message("cached plan must not change result type");
        let mut out = Vec::new();
        error(&mut out, Severity::Error, &stale);
        assert!(out.ends_with(b"\0RRevalidateCachedQuery\0\0"));
        let look = Notice {
            severity: "NOTICE",
            message: SqlError::new(SqlState::WARNING, "m"),
        };
        check(
            |out| notice(out, &look),
            b"N\0\0\0\x1fSNOTICE\0VNOTICE\0C01000\0Mm\0\0",
        );
    }
}
