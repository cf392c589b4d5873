//! The session, the server and the catalogue's own functions; random numbers.
//!
//! Relies on: the [`Host`].  Promises: nothing here reads a clock or a generator of its own.
//! Does not: look into the catalogue; see `catalog`.

use super::{Function, builtin as new, fail, int, str};
use crate::eval::Host;
use crate::privilege::Need;
use quintet_base::SqlType::{
    Bool, Float4, Float8, Int4, Int8, Name, NameArray, Oid, OidArray, RegClass, Text, Unknown,
    Uuid, Void,
};
use quintet_base::value::Array;
use quintet_base::{
    RoleId, SequenceId, SqlError, SqlResult, SqlState, SqlType, TableId, TypeMod, Value, types,
};

/// What clients are told that they talk to: PostgreSQL's version first, since drivers parse it.
const VERSION: &str = concat!("PostgreSQL 15.0 (Quintet ", env!("CARGO_PKG_VERSION"), ")");

/// PostgreSQL's number for the encoding UTF8, the only one here.
const ENCODING_UTF8: i64 = 6;

/// The name of the function that says whether the session is a replica's ([`Host::is_replica`]).
pub const IS_REPLICA: &str = "is_replica()";

/// The name of the function that says whether row security hides rows of a table from a role ([`Host::hides_rows`]); 0: from the user.
pub const HIDES_ROWS: &str = "hides_rows()";

/// The name of the function that says whether the user has the privileges of one of some roles ([`Host::is_one_of`]).
pub const IS_ONE_OF: &str = "is_one_of()";

/// The name of the function that says whether somebody may do what he needs to ([`Host::allow`]): true, or an error. The needs are numbers, as
/// [`Need::numbers`] has them.
pub const IS_ALLOWED: &str = "is_allowed()";

/// The name of the function that keeps the call of a trigger until the transaction commits ([`Host::put_off`]): of its number, whether
/// it is deferred unless SET CONSTRAINTS says otherwise, and what it is to be called with.
pub const PUT_OFF: &str = "put_off()";

/// The name of the function that refuses a row that a policy does not let through, with this message.
pub const REFUSE_ROW: &str = "refuse_row()";

/// The name of the function that says whether a row is in a sample of so many percent, by a seed and the row's key.
pub const SAMPLED: &str = "sampled()";

/// The name of the function that gives a part of the key of the row that a cursor stands on, of a table with this number and name.
pub const CURRENT_OF: &str = "current_of()";

fn random(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    /// A double holds 53 bits exactly.
    const BITS: u32 = 53;
    let bits = host.random() >> (64 - BITS);
    Ok(Value::Float8(bits as f64 / (1u64 << BITS) as f64))
}

pub(super) fn random_uuid(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let mut bytes = host.secret();
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

fn session_user(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text(host.session_user()))
}

fn database(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text(host.database()))
}

fn schema(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    match host.format().objects.is_known() {
        true => host.format().objects.describe("current_schema", args),
        false => Ok(Value::text(host.schema())),
    }
}

fn schemas(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    if host.format().objects.is_known() {
        return host.format().objects.describe("current_schemas", args);
    }
    let own = Value::text(host.schema());
    let values = match args[0].as_bool() {
        Some(true) => vec![Value::text("pg_catalog"), own],
        _ => vec![own],
    };
    Ok(Value::Array(Box::new(Array {
        shape: None,
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

fn set_config(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let local = args[2].as_bool() == Some(true);
    let value = args[1].as_str().unwrap_or_default();
    match args[0].as_str() {
        Some(name) => host.set_setting(name, value, local).map(Value::text),
        None => fail(
            SqlState::NULL_VALUE_NOT_ALLOWED,
            "SET requires parameter name",
        ),
    }
}

fn notify(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let [channel, payload] = [args[0], args[1]].map(|text| text.as_str().unwrap_or_default());
    host.notify(channel, payload)?;
    Ok(Value::text(""))
}

/// A setting in the unit that it is counted in: kilobytes or milliseconds.
fn setting_number(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    const UNITS: [(&str, i64); 7] = [
        ("s", 1000),
        ("min", 60_000),
        ("h", 3_600_000),
        ("d", 86_400_000),
        ("MB", 1 << 10),
        ("GB", 1 << 20),
        ("TB", 1 << 30),
    ];
    let Some(shown) = host.setting(str(args[0])) else {
        return Ok(Value::Null);
    };
    let end = shown.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = shown.split_at(end.unwrap_or(shown.len()));
    let factor = UNITS.iter().find(|(known, _)| *known == unit);
    let factor = factor.map_or(1, |(_, factor)| *factor);
    Ok(match number.parse::<i64>() {
        Ok(number) => Value::text((number * factor).to_string()),
        Err(_) => Value::text(&shown),
    })
}

fn last_value(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    host.lastval().map(Value::Int8)
}

/// The sequence of a `regclass`; who is asked for it says whether it is one.
fn sequence_of(arg: &Value) -> SequenceId {
    match arg {
        Value::Oid(number) => SequenceId(*number),
        _ => SequenceId(0),
    }
}

fn next_value(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    host.nextval(sequence_of(args[0])).map(Value::Int8)
}

fn current_value(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    host.currval(sequence_of(args[0])).map(Value::Int8)
}

fn set_value(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let is_called = args.get(2).and_then(|called| called.as_bool());
    host.setval(
        sequence_of(args[0]),
        int(args[1]),
        is_called.unwrap_or(true),
    )
    .map(Value::Int8)
}

fn sequence_last_value(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let Value::Oid(number) = args[0] else {
        return Ok(Value::Null);
    };
    let state = host.sequence_state(SequenceId(*number))?;
    Ok(match state.is_called {
        true => Value::Int8(state.last),
        false => Value::Null,
    })
}

fn process_id(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Int4(host.process_id()))
}

fn transaction_number(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Int8(host.transaction_number()?))
}

fn replica(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bool(host.is_replica()))
}

/// Rows with the same key are in the same samples with a seed.
fn sampled(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let wrong = |state: &[u8; 5], message: &str| Err(SqlError::new(SqlState(*state), message));
    let [percent, seed, key @ ..] = args else {
        return Err(SqlError::internal("a sample of nothing"));
    };
    let (Value::Float4(percent), Value::Float8(seed)) = (percent, seed) else {
        return match percent.is_null() {
            true => wrong(b"2202H", "TABLESAMPLE parameter cannot be null"),
            false => wrong(b"2202G", "TABLESAMPLE REPEATABLE parameter cannot be null"),
        };
    };
    let percent = f64::from(*percent);
    if !(0.0..=100.0).contains(&percent) {
        return wrong(b"2202H", "sample percentage must be between 0 and 100");
    }
    let mut hash = mixed(seed.to_bits());
    for value in key {
        match (value.as_i64(), value.as_str()) {
            (Some(number), _) => hash = mixed(hash ^ number as u64),
            (None, Some(text)) => {
                hash = text
                    .bytes()
                    .fold(hash, |h, byte| mixed(h ^ u64::from(byte)))
            }
            (None, None) => {
                let shown = format!("{value:?}");
                hash = shown
                    .bytes()
                    .fold(hash, |h, byte| mixed(h ^ u64::from(byte)));
            }
        }
    }
    // Of 32 bits: 100 percent are all of them.
    let bound = (percent / 100.0 * f64::from(u32::MAX) + percent / 100.0).round();
    Ok(Value::Bool(((hash >> 32) as f64) < bound))
}

/// A number whose bits hang together with none of another's (the last step of SplitMix64).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn put_off(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let [Value::Oid(trigger), Value::Bool(deferred), arguments @ ..] = args else {
        return Err(SqlError::internal("nothing is put off"));
    };
    host.put_off(*trigger, *deferred, arguments)
        .map(Value::Bool)
}

fn hides_rows(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let number = |value: &Value| u32::try_from(int(value)).unwrap_or(0);
    let role = Some(RoleId(number(args[1]))).filter(|role| *role != RoleId::PUBLIC);
    let hides = host.hides_rows(TableId(number(args[0])), role)?;
    Ok(Value::Bool(hides))
}

fn numbers_in(array: &Value) -> impl Iterator<Item = u32> {
    let values = match array {
        Value::Array(array) => array.values.as_slice(),
        _ => &[],
    };
    let numbers = values.iter().filter_map(Value::as_i64);
    numbers.filter_map(|number| u32::try_from(number).ok())
}

fn is_one_of(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let roles: Vec<RoleId> = numbers_in(args[0]).map(RoleId).collect();
    Ok(Value::Bool(host.is_one_of(&roles)))
}

fn is_allowed(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let numbers: Vec<u32> = numbers_in(args[0]).collect();
    if host.is_restricted() {
        host.allow(&Need::of_numbers(&numbers))?;
    }
    Ok(Value::Bool(true))
}

fn refuse_row(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    fail(SqlState::INSUFFICIENT_PRIVILEGE, str(args[0]))
}

fn current_of(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let Value::Oid(table) = args[1] else {
        return Err(SqlError::internal("a cursor's table has no number"));
    };
    let key = host.current_of(str(args[0]), TableId(*table), str(args[2]))?;
    let part = usize::try_from(int(args[3])).ok();
    let part = part.and_then(|part| key.into_iter().nth(part));
    part.ok_or_else(|| SqlError::internal("a key is too short"))
}

fn trigger_depth(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let depth = i32::try_from(host.trigger_depth()).unwrap_or(i32::MAX);
    Ok(Value::Int4(depth))
}

fn set_seed(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let seed = match args[0] {
        Value::Float8(seed) => *seed,
        _ => f64::NAN,
    };
    if !(-1.0..=1.0).contains(&seed) {
        return Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("setseed parameter {seed} is out of allowed range [-1,1]"),
        ));
    }
    host.set_seed(seed.to_bits())?;
    Ok(Value::text(""))
}

fn no(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bool(false))
}

fn format_type(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let Value::Oid(oid) = *args[0] else {
        return Ok(Value::Null);
    };
    let modifier = args[1].as_i64().map(|modifier| TypeMod(modifier as i32));
    Ok(match (SqlType::built_in_with_oid(oid), oid) {
        (Some(ty), _) => Value::text(match modifier {
            Some(modifier) => types::format_declared(ty, modifier),
            None => types::format_type(ty, TypeMod::NONE),
        }),
        (None, 0) => Value::text("-"),
        (None, oid) => {
            let name = host.format().objects.name(SqlType::RegType, oid);
            // What nobody knows has its number for a name.
            Value::text(if name == oid.to_string() {
                "???"
            } else {
                &name
            })
        }
    })
}

fn user_by_id(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let role = u32::try_from(int(args[0])).unwrap_or(0);
    Ok(Value::text(host.role_name(RoleId(role))))
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
    new("setseed", &[Float8], Void, set_seed).volatile(),
    new("pg_trigger_depth", &[], Int4, trigger_depth).stable(),
    new(CURRENT_OF, &[Text, Oid, Text, Int4], Unknown, current_of).stable(),
    new("gen_random_uuid", &[], Uuid, random_uuid).volatile(),
    new("version", &[], Text, version).stable(),
    new("current_user", &[], Name, user).stable(),
    new("session_user", &[], Name, session_user).stable(),
    new("current_role", &[], Name, user).stable(),
    new("user", &[], Name, user).stable(),
    new("current_database", &[], Name, database).stable(),
    new("current_catalog", &[], Name, database).stable(),
    new("current_schema", &[], Name, schema).stable(),
    new("current_schemas", &[Bool], NameArray, schemas).stable(),
    new("current_setting", &[Text], Text, setting).stable(),
    new("current_setting", &[Text, Bool], Text, setting).stable(),
    new("[setting]", &[Text], Text, setting_number).stable(),
    new("set_config", &[Text, Text, Bool], Text, set_config)
        .volatile()
        .lenient(),
    new("pg_notify", &[Text, Text], Void, notify)
        .volatile()
        .lenient(),
    new(PUT_OFF, &[Oid, Bool, Unknown], Bool, put_off)
        .variadic()
        .volatile()
        .lenient(),
    new(SAMPLED, &[Float4, Float8, Unknown], Bool, sampled)
        .variadic()
        .lenient(),
    new(IS_REPLICA, &[], Bool, replica).stable(),
    new(HIDES_ROWS, &[Oid, Oid], Bool, hides_rows).stable(),
    new(IS_ONE_OF, &[OidArray], Bool, is_one_of).stable(),
    new(IS_ALLOWED, &[OidArray], Bool, is_allowed).stable(),
    new(REFUSE_ROW, &[Text], Bool, refuse_row).volatile(),
    new("pg_backend_pid", &[], Int4, process_id).stable(),
    new("txid_current", &[], Int8, transaction_number).stable(),
    new("lastval", &[], Int8, last_value).volatile(),
    new("nextval", &[RegClass], Int8, next_value).volatile(),
    new("currval", &[RegClass], Int8, current_value).volatile(),
    new("setval", &[RegClass, Int8], Int8, set_value).volatile(),
    new("setval", &[RegClass, Int8, Bool], Int8, set_value).volatile(),
    new(
        "pg_sequence_last_value",
        &[RegClass],
        Int8,
        sequence_last_value,
    )
    .volatile(),
    new("pg_is_in_recovery", &[], Bool, no).volatile(),
    new("format_type", &[Oid, Int4], Text, format_type)
        .stable()
        .lenient(),
    new("pg_get_userbyid", &[Oid], Name, user_by_id).stable(),
    new("pg_encoding_to_char", &[Int4], Name, encoding_name).stable(),
    new("pg_client_encoding", &[], Name, client_encoding).stable(),
];
