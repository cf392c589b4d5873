//! Functions about the objects of the catalogue, for tools that look at a database.
//!
//! Relies on: `base::objects`, behind which the session's catalogue is.  Promises: what PostgreSQL's functions of
//! these names say, as far as there are such objects here.  Does not: know a catalogue itself.

use super::{Function, builtin as new, fail, int, str};
use crate::eval::Host;
use quintet_base::SqlType::{
    Bool, Int2, Int4, Int4Array, Int8, InternalChar, Name, Numeric as Decimal, Oid, OidVector,
    RegClass, RegNamespace, RegProc, RegProcedure, RegRole, RegType, Text, TextArray, Unknown,
};
use quintet_base::value::Array;
use quintet_base::{Numeric, SqlError, SqlResult, SqlState, SqlType, Value};

fn yes(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bool(true))
}

fn nothing(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Null)
}

fn first(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(args[0].clone())
}

fn empty(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text(""))
}

fn encoding(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let name = str(args[0]).to_ascii_lowercase().replace('-', "");
    Ok(Value::Int4(match name.as_str() {
        "utf8" | "unicode" => 6,
        _ => -1,
    }))
}

fn database_encoding(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text("UTF8"))
}

/// The number of what a text names, or NULL where a cast would be an error.
fn look_up(kind: SqlType, args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    const NOT_THERE: [SqlState; 5] = [
        SqlState::UNDEFINED_TABLE,
        SqlState::UNDEFINED_OBJECT,
        SqlState::UNDEFINED_FUNCTION,
        SqlState::INVALID_SCHEMA_NAME,
        SqlState::AMBIGUOUS_FUNCTION,
    ];
    match host.format().objects.number(kind, str(args[0])) {
        Ok(number) => Ok(Value::Oid(number)),
        Err(error) if NOT_THERE.contains(&error.state) => Ok(Value::Null),
        Err(error) => Err(error),
    }
}

/// `12 kB`: rounded half up at each step, as long as there are more than ten thousand of a unit.
fn size_pretty(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    const LIMIT: u64 = 10 * 1024;
    let mut size = match args[0] {
        Value::Numeric(number) => match number.to_i64() {
            Some(size) => size,
            None => return fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range"),
        },
        other => int(other),
    };
    let mut unit = 0;
    // Twice the size of the unit, so that a half can be told.
    let mut doubled = false;
    loop {
        let last = unit + 1 == UNITS.len();
        let limit = if doubled { 2 * LIMIT - 1 } else { LIMIT };
        if last || size.unsigned_abs() < limit {
            if doubled {
                size = half_rounded(size);
            }
            return Ok(Value::text(format!("{size} {}", UNITS[unit])));
        }
        let bits = if doubled { 10 } else { 9 };
        size /= 1 << bits;
        doubled = true;
        unit += 1;
    }
}

/// Half of it, away from zero where there is a rest.
fn half_rounded(size: i64) -> i64 {
    (size + size.signum()) / 2
}

fn numeric_size(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    match args[0] {
        Value::Numeric(number) if number.scale() > 0 => {
            let whole = Numeric::from_i64(number.to_i64().unwrap_or(0));
            size_pretty(&[&Value::numeric(whole)], host)
        }
        _ => size_pretty(args, host),
    }
}

/// Functions that the catalogue answers, by their names.
macro_rules! asked {
    ($($name:literal ($($arg:ident),*) $result:ident;)*) => {
        pub(super) static ASKED: &[Function] = &[$(
            new($name, &[$($arg),*], $result, |args, host| {
                host.format().objects.describe($name, args)
            })
            .stable(),
        )*];
    };
}

asked! {
    "pg_get_constraintdef"(Oid) Text;
    "pg_get_constraintdef"(Oid, Bool) Text;
    "pg_get_indexdef"(Oid) Text;
    "pg_get_indexdef"(Oid, Int4, Bool) Text;
    "pg_get_expr"(Text, Oid, Bool) Text;
    "pg_get_viewdef"(Oid) Text;
    "pg_get_viewdef"(Oid, Bool) Text;
    "pg_get_viewdef"(Oid, Int4) Text;
    "pg_get_viewdef"(Text) Text;
    "pg_get_viewdef"(Text, Bool) Text;
    "pg_get_triggerdef"(Oid) Text;
    "pg_get_triggerdef"(Oid, Bool) Text;
    "pg_get_serial_sequence"(Text, Text) Text;
    "pg_get_function_arguments"(Oid) Text;
    "pg_get_function_identity_arguments"(Oid) Text;
    "pg_get_function_result"(Oid) Text;
    "obj_description"(Oid) Text;
    "obj_description"(Oid, Name) Text;
    "col_description"(Oid, Int4) Text;
    "pg_table_is_visible"(Oid) Bool;
    "acldefault"(InternalChar, Oid) TextArray;
    "pg_my_temp_schema"() Oid;
    "pg_is_other_temp_schema"(Oid) Bool;
    "pg_type_is_visible"(Oid) Bool;
    "pg_function_is_visible"(Oid) Bool;
    "pg_relation_size"(RegClass) Int8;
    "pg_relation_size"(RegClass, Text) Int8;
    "pg_table_size"(RegClass) Int8;
    "pg_indexes_size"(RegClass) Int8;
    "pg_total_relation_size"(RegClass) Int8;
    "pg_index_column_has_property"(RegClass, Int4, Text) Bool;
    "pg_index_has_property"(RegClass, Text) Bool;
    "pg_indexam_has_property"(Oid, Text) Bool;
    "pg_database_size"(Oid) Int8;
    "pg_database_size"(Name) Int8;
    "oidvectortypes"(OidVector) Text;
    "pg_relation_is_publishable"(RegClass) Bool;
    "pg_relation_is_updatable"(RegClass, Bool) Int4;
    "pg_column_is_updatable"(RegClass, Int2, Bool) Bool;
    "row_security_active"(Oid) Bool;
    "row_security_active"(Text) Bool;
    "pg_get_partkeydef"(Oid) Text;
    "pg_get_partition_constraintdef"(Oid) Text;
    "pg_partition_root"(RegClass) RegClass;
}

macro_rules! named {
    ($($name:literal $kind:ident;)*) => {
        pub(super) static NAMED: &[Function] = &[$(
            new($name, &[Text], $kind, |args, host| look_up($kind, args, host)).stable(),
        )*];
    };
}

named! {
    "to_regclass" RegClass;
    "to_regtype" RegType;
    "to_regproc" RegProc;
    "to_regprocedure" RegProcedure;
    "to_regnamespace" RegNamespace;
    "to_regrole" RegRole;
}

/// A privilege of the session's role, or of another.
macro_rules! privileges {
    ($($name:literal $($with_column:ident)?;)*) => {
        pub(super) static PRIVILEGES: &[Function] = &[$(
            new($name, &[Unknown, Unknown $(, $with_column)?], Bool, |args, host| {
                host.format().objects.describe($name, args)
            })
            .stable(),
            new($name, &[Unknown, Unknown, Unknown $(, $with_column)?], Bool, |args, host| {
                host.format().objects.describe($name, args)
            })
            .stable(),
        )*];
    };
}

privileges! {
    "has_table_privilege";
    "has_any_column_privilege";
    "has_column_privilege" Unknown;
    "has_sequence_privilege";
    "has_schema_privilege";
    "has_database_privilege";
    "has_function_privilege";
    "has_language_privilege";
    "has_type_privilege";
    "has_tablespace_privilege";
    "has_server_privilege";
    "has_foreign_data_wrapper_privilege";
    "pg_has_role";
}

fn no_sessions(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Array(Box::new(Array {
        shape: None,
        element: Int4,
        values: Vec::new(),
    })))
}

/// A function that tells of the moment.
macro_rules! now {
    ($name:literal ($($arg:ident),*) $result:ident) => {
        new($name, &[$($arg),*], $result, |args, host| {
            host.format().objects.describe($name, args)
        })
        .volatile()
    };
}

/// Asks a session to stop; who asks for one that is not there is warned.
fn signal(name: &str, args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let told = host.format().objects.describe(name, args)?;
    if told.as_bool() != Some(true) {
        let message = format!("PID {} is not a PostgreSQL server process", int(args[0]));
        host.notice("WARNING", SqlError::new(SqlState::WARNING, message));
    }
    Ok(Value::Bool(told.as_bool() == Some(true)))
}

fn cancel(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    signal("pg_cancel_backend", args, host)
}

fn terminate(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    signal("pg_terminate_backend", args, host)
}

pub(super) static FUNCTIONS: &[Function] = &[
    now!("pg_blocking_pids"(Int4) Int4Array),
    now!("pg_isolation_test_session_is_blocked"(Int4, Int4Array) Bool),
    new(
        "pg_safe_snapshot_blocking_pids",
        &[Int4],
        Int4Array,
        no_sessions,
    )
    .volatile(),
    now!("quintet_contention_reset"() Text),
    new("pg_cancel_backend", &[Int4], Bool, cancel).volatile(),
    new("pg_terminate_backend", &[Int4], Bool, terminate).volatile(),
    new("pg_get_expr", &[Text, Oid], Text, first).stable(),
    new("shobj_description", &[Oid, Name], Text, nothing).stable(),
    new("pg_get_ruledef", &[Oid], Text, nothing).stable(),
    new("pg_get_ruledef", &[Oid, Bool], Text, nothing).stable(),
    new("pg_get_statisticsobjdef", &[Oid], Text, nothing).stable(),
    new("pg_get_statisticsobjdef_columns", &[Oid], Text, nothing).stable(),
    new("pg_operator_is_visible", &[Oid], Bool, nothing).stable(),
    new("pg_opclass_is_visible", &[Oid], Bool, yes).stable(),
    new("pg_opfamily_is_visible", &[Oid], Bool, nothing).stable(),
    new("pg_collation_is_visible", &[Oid], Bool, yes).stable(),
    new("pg_conversion_is_visible", &[Oid], Bool, nothing).stable(),
    new("pg_statistics_obj_is_visible", &[Oid], Bool, nothing).stable(),
    new("pg_ts_config_is_visible", &[Oid], Bool, yes).stable(),
    new("pg_ts_dict_is_visible", &[Oid], Bool, yes).stable(),
    new("pg_ts_parser_is_visible", &[Oid], Bool, yes).stable(),
    new("pg_ts_template_is_visible", &[Oid], Bool, yes).stable(),
    new("pg_tablespace_location", &[Oid], Text, empty).stable(),
    new("pg_char_to_encoding", &[Name], Int4, encoding).stable(),
    new("getdatabaseencoding", &[], Name, database_encoding).stable(),
    new("pg_size_pretty", &[Int8], Text, size_pretty),
    new("pg_size_pretty", &[Decimal], Text, numeric_size),
];
