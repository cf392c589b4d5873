//! Parse, Bind, Describe, Close: what happens to a statement before it runs.
//!
//! Relies on: `base` reads values.  Promises: a parameter is read by its declared or inferred type,
//! or refused with its own state.  Does not: run anything.

use crate::protocol::backend::{self, BIND_COMPLETE, CLOSE_COMPLETE, PARSE_COMPLETE};
use crate::protocol::frontend::{Bind, Format, Message, Target, TypeOids};
use crate::protocol::violation;
use crate::rows::{Formats, PortalFormats};
use quintet_base::text_format::FormatContext;
use quintet_base::{SqlError, SqlResult, SqlType, Value, binary_format, text_format};
use quintet_embed::Session;

/// Carries out one of the four, and says so.
pub(super) fn prepare(
    session: &mut Session,
    formats: &mut PortalFormats,
    out: &mut Vec<u8>,
    message: Message<'_>,
) -> SqlResult<()> {
    match message {
        Message::Parse { name, sql, types } => {
            let types = declared(session, types)?;
            session.parse(name, sql, &types)?;
            out.extend_from_slice(PARSE_COMPLETE);
        }
        Message::Bind(bind) => {
            formats.set(bind.portal, bind_portal(session, &bind)?);
            out.extend_from_slice(BIND_COMPLETE);
        }
        Message::Describe(Target::Statement, name) => {
            let statement = session.statement(name)?;
            backend::parameters(out, &statement.params);
            let columns = session.statement_columns(&statement);
            backend::columns(out, &columns, |_| Format::Text);
        }
        Message::Describe(Target::Portal, name) => {
            let columns = session.portal_columns(name)?;
            let formats = formats.get(name);
            backend::columns(out, &columns, |i| formats.of(i));
        }
        Message::Close(Target::Statement, name) => {
            session.close_statement(name);
            out.extend_from_slice(CLOSE_COMPLETE);
        }
        Message::Close(Target::Portal, name) => {
            session.close_portal(name);
            formats.close(name);
            out.extend_from_slice(CLOSE_COMPLETE);
        }
        _ => unreachable!("the caller sends only these four here"),
    }
    Ok(())
}

/// Parameter types as the client declares them.
fn declared(session: &Session, types: TypeOids<'_>) -> SqlResult<Vec<SqlType>> {
    let ty = |oid| match oid {
        // Not told, and PostgreSQL's own way to say so.
        0 | 705 => Ok(SqlType::Unknown),
        _ => session.type_of_oid(oid).ok_or_else(|| {
            SqlError::unsupported(format!("a parameter of the type with OID {oid}"))
        }),
    };
    types.iter().map(ty).collect()
}

fn bind_portal(session: &mut Session, bind: &Bind<'_>) -> SqlResult<Formats> {
    let statement = session.statement(bind.statement)?;
    let columns = statement.columns.len();
    let asked = bind.result_formats.len();
    // The columns of EXECUTE and FETCH are another statement's; there is nothing to compare with.
    if asked > 1 && columns > 0 && asked != columns {
        return Err(violation(format!(
            "bind message has {asked} result formats but query has {columns} columns"
        )));
    }
    let params = if bind.count() == statement.params.len() {
        let values = bind.values().zip(&statement.params).enumerate();
        let context = session.format();
        values
            .map(|(i, (bytes, ty))| read(bytes, *ty, bind.formats.of(i), context))
            .collect::<SqlResult<Vec<Value>>>()?
    } else {
        // The session refuses the number, in its own words.
        vec![Value::Null; bind.count()]
    };
    session.bind(bind.portal, bind.statement, params)?;
    Ok(Formats::from(bind.result_formats))
}

pub(super) fn read(
    bytes: Option<&[u8]>,
    ty: SqlType,
    format: Format,
    context: &FormatContext,
) -> SqlResult<Value> {
    match (bytes, format) {
        (None, _) => Ok(Value::Null),
        (Some(bytes), Format::Binary) => binary_format::read_told(ty, bytes, context),
        (Some(bytes), Format::Text) => text_format::read(ty, binary_format::utf8(bytes)?, context),
    }
}
