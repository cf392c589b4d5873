//! The session, the server and the catalogue's own functions; random numbers.
//!
//! Relies on: the [`Host`].  Promises: nothing here reads a clock or a generator of its own.
//! Does not: look into the catalogue; what needs it is planned as a query.

use super::{Function, builtin as new, fail, int, str};
use crate::eval::Host;
use quintet_base::SqlType::{Bool, Float8, Int4, Name, NameArray, Oid, Text, Uuid};
use quintet_base::value::Array;
use quintet_base::{SqlResult, SqlState, SqlType, TypeMod, Value, types};

/// What clients are told that they talk to: PostgreSQL's version first, since drivers parse it.
const VERSION: &str = concat!("PostgreSQL 15.0 (Quintet ", env!("CARGO_PKG_VERSION"), ")");

/// PostgreSQL's number for the encoding UTF8, the only one here.
const ENCODING_UTF8: i64 = 6;
/// The role that owns everything.
const OWNER_OID: i64 = 10;

fn random(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    /// A double holds 53 bits exactly.
    const BITS: u32 = 53;
    let bits = host.random() >> (64 - BITS);
    Ok(Value::Float8(bits as f64 / (1u64 << BITS) as f64))
}

fn random_uuid(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&host.random().to_be_bytes());
    bytes[8..].copy_from_slice(&host.random().to_be_bytes());
    // Version 4, variant 1 (RFC 9562, section 5.4).
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(Value::Uuid(bytes))
}

fn version(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text(VERSION))
}

fn user(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text(host.user()))
}

fn database(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text(host.database()))
}

fn schema(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text(host.schema()))
}

fn schemas(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let own = Value::text(host.schema());
    let values = match args[0].as_bool() {
        Some(true) => vec![Value::text("pg_catalog"), own],
        _ => vec![own],
    };
    Ok(Value::Array(Box::new(Array {
        element: Name,
        values,
    })))
}

fn setting(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let name = str(args[0]);
    let missing_ok = args.get(1).copied().and_then(Value::as_bool) == Some(true);
    match host.setting(&name.to_ascii_lowercase()) {
        Some(value) => Ok(Value::text(value)),
        None if missing_ok => Ok(Value::Null),
        None => fail(
            SqlState::UNDEFINED_OBJECT,
            format!("unrecognized configuration parameter \"{name}\""),
        ),
    }
}

fn process_id(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Int4(host.process_id()))
}

fn no(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bool(false))
}

fn yes(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bool(true))
}

fn format_type(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let Value::Oid(oid) = *args[0] else {
        return Ok(Value::Null);
    };
    let modifier = args[1]
        .as_i64()
        .map_or(TypeMod::NONE, |m| TypeMod(m as i32));
    Ok(match (SqlType::from_oid(oid), oid) {
        (Some(ty), _) => Value::text(types::format_type(ty, modifier)),
        (None, 0) => Value::text("-"),
        (None, _) => Value::text("???"),
    })
}

fn user_by_id(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(match int(args[0]) {
        OWNER_OID => Value::text(host.user()),
        other => Value::text(format!("unknown (OID={other})")),
    })
}

fn encoding_name(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text(match int(args[0]) {
        ENCODING_UTF8 => "UTF8",
        _ => "",
    }))
}

fn client_encoding(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text("UTF8"))
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("random", &[], Float8, random).volatile(),
    new("gen_random_uuid", &[], Uuid, random_uuid).volatile(),
    new("version", &[], Text, version).stable(),
    new("current_user", &[], Name, user).stable(),
    new("session_user", &[], Name, user).stable(),
    new("current_role", &[], Name, user).stable(),
    new("user", &[], Name, user).stable(),
    new("current_database", &[], Name, database).stable(),
    new("current_catalog", &[], Name, database).stable(),
    new("current_schema", &[], Name, schema).stable(),
    new("current_schemas", &[Bool], NameArray, schemas).stable(),
    new("current_setting", &[Text], Text, setting).stable(),
    new("current_setting", &[Text, Bool], Text, setting).stable(),
    new("pg_backend_pid", &[], Int4, process_id).stable(),
    new("pg_is_in_recovery", &[], Bool, no).volatile(),
    new("pg_table_is_visible", &[Oid], Bool, yes).stable(),
    new("pg_type_is_visible", &[Oid], Bool, yes).stable(),
    new("pg_function_is_visible", &[Oid], Bool, yes).stable(),
    new("format_type", &[Oid, Int4], Text, format_type)
        .stable()
        .lenient(),
    new("pg_get_userbyid", &[Oid], Name, user_by_id).stable(),
    new("pg_encoding_to_char", &[Int4], Name, encoding_name).stable(),
    new("pg_client_encoding", &[], Name, client_encoding).stable(),
];
