//! Our reading and writing of messages beside an implementation that others wrote.
//!
//! Relies on: pgwire's message types, which the server itself does not use.  Property: what one side
//! writes the other reads back the same.

use bytes::{Bytes, BytesMut};
use pgwire::messages::extendedquery::{Bind, Parse};
use pgwire::messages::{DecodeContext, Message as _, PgWireBackendMessage, ProtocolVersion};
use proptest::prelude::*;
use quintet_base::text_format::FormatContext;
use quintet_base::{SqlError, SqlState, Value};
use quintet_server::protocol::backend::{self, Severity};
use quintet_server::protocol::frame::{self, Front, HEADER_BYTES};
use quintet_server::protocol::frontend::{self, Format, Message};

/// Text as messages carry it: no zero byte.
fn text() -> impl Strategy<Value = String> {
    "[^\0]{0,20}"
}

fn value() -> impl Strategy<Value = Option<Vec<u8>>> {
    proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40))
}

/// Kind and body of the one message in `bytes`.
fn only_message(bytes: &[u8]) -> (u8, &[u8]) {
    match frame::front(bytes) {
        Ok(Front::Whole(found)) if found.end == bytes.len() => (found.kind, &bytes[HEADER_BYTES..]),
        other => panic!("{other:?}"),
    }
}

fn context() -> DecodeContext {
    let mut context = DecodeContext::new(ProtocolVersion::PROTOCOL3_0);
    context.awaiting_frontend_ssl = false;
    context.awaiting_frontend_startup = false;
    context
}

proptest! {
    #[test]
    fn a_bind_reads_as_it_was_written(
        portal in text(),
        statement in text(),
        binary in any::<bool>(),
        values in proptest::collection::vec(value(), 0..20),
        results in proptest::collection::vec(0i16..2, 0..5),
    ) {
        let written = Bind::new(
            Some(portal.clone()).filter(|name| !name.is_empty()),
            Some(statement.clone()).filter(|name| !name.is_empty()),
            vec![i16::from(binary)],
            values.iter().map(|value| value.clone().map(Bytes::from)).collect(),
            results.clone(),
        );
        let mut bytes = BytesMut::new();
        written.encode(&mut bytes).expect("it can be written");
        let (kind, body) = only_message(&bytes);
        let Ok(Some(Message::Bind(read))) = frontend::parse(kind, body) else {
            panic!("{:?}", frontend::parse(kind, body));
        };
        prop_assert_eq!((read.portal, read.statement), (portal.as_str(), statement.as_str()));
        let got: Vec<Option<Vec<u8>>> = read.values().map(|value| value.map(<[u8]>::to_vec)).collect();
        prop_assert_eq!(got, values);
        prop_assert_eq!(read.formats.of(3) == Format::Binary, binary);
        let codes: Vec<bool> = (0..results.len()).map(|i| read.result_formats.of(i) == Format::Binary).collect();
        prop_assert_eq!(codes, results.iter().map(|code| *code == 1).collect::<Vec<_>>());
    }

    #[test]
    fn a_parse_reads_as_it_was_written(
        name in text(),
        sql in text(),
        types in proptest::collection::vec(any::<u32>(), 0..20),
    ) {
        let some_name = Some(name.clone()).filter(|name| !name.is_empty());
        let mut bytes = BytesMut::new();
        Parse::new(some_name, sql.clone(), types.clone()).encode(&mut bytes).expect("it can be written");
        let (kind, body) = only_message(&bytes);
        match frontend::parse(kind, body) {
            Ok(Some(Message::Parse { name: got_name, sql: got_sql, types: got_types })) => {
                prop_assert_eq!((got_name, got_sql), (name.as_str(), sql.as_str()));
                prop_assert_eq!(got_types.iter().collect::<Vec<_>>(), types);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_row_is_read_as_we_wrote_it(values in proptest::collection::vec(value(), 0..20)) {
        let row: Vec<Value> = values
            .iter()
            .map(|value| value.clone().map_or(Value::Null, |bytes| Value::Bytea(bytes.into())))
            .collect();
        let mut out = Vec::new();
        backend::row(&mut out, &row, |_| Format::Binary, &FormatContext::default()).expect("a small row");
        let mut bytes = BytesMut::from(&out[..]);
        let Ok(Some(PgWireBackendMessage::DataRow(read))) = PgWireBackendMessage::decode(&mut bytes, &context()) else {
            panic!("no row in {out:?}");
        };
        prop_assert!(bytes.is_empty());
        prop_assert_eq!(usize::from(read.field_count as u16), values.len());
        let mut expected = Vec::new();
        for value in &values {
            let length = value.as_ref().map_or(-1, |bytes| bytes.len() as i32);
            expected.extend_from_slice(&length.to_be_bytes());
            expected.extend_from_slice(value.as_deref().unwrap_or_default());
        }
        prop_assert_eq!(&read.data[..], &expected[..]);
    }

    #[test]
    fn an_error_is_read_as_we_wrote_it(message in "[^\0]{1,40}", hint in proptest::option::of("[^\0]{1,40}")) {
        let mut error = SqlError::new(SqlState::UNIQUE_VIOLATION, message.clone());
        error.hint = hint.clone().map(String::into_boxed_str);
        let mut out = Vec::new();
        backend::error(&mut out, Severity::Error, &error);
        let mut bytes = BytesMut::from(&out[..]);
        let Ok(Some(PgWireBackendMessage::ErrorResponse(read))) = PgWireBackendMessage::decode(&mut bytes, &context()) else {
            panic!("no error in {out:?}");
        };
        prop_assert!(bytes.is_empty());
        let mut expected = vec![(b'S', "ERROR".to_string()), (b'V', "ERROR".into()), (b'C', "23505".into()), (b'M', message)];
        expected.extend(hint.map(|hint| (b'H', hint)));
        expected.push((b'R', "_bt_check_unique".into()));
        prop_assert_eq!(read.fields, expected);
    }

    /// Whatever arrives is parsed or refused, and what is parsed can be walked to its end.
    #[test]
    fn any_bytes_are_parsed_or_refused(kind in any::<u8>(), body in proptest::collection::vec(any::<u8>(), 0..200)) {
        match frontend::parse(kind, &body) {
            Ok(Some(Message::Bind(bind))) => prop_assert_eq!(bind.values().count(), bind.count()),
            Ok(Some(Message::Parse { types, .. })) => prop_assert!(types.iter().len() < 100),
            _ => {}
        }
        let _ = quintet_server::protocol::startup::parse(&body);
        let _ = frame::front(&body);
    }
}
