//! What the routines of large objects are made of that is not SQL.
//!
//! Relies on: `large_objects` for pages and descriptors, the session's cursors for keeping the latter.  Promises: PostgreSQL's errors, in
//! its order.  Does not: have names that PostgreSQL knows; the binder finds them for the routines of `quintet_sql::large_object` alone,
//! since some of them open what nobody was asked about.
//!
//! A list of privileges is NULL, or three numbers for each grant: to whom, by whom, and what ([`SELECT`], [`UPDATE`], and the same times
//! [`GRANTABLE`] for what may be granted on).

use super::{Function, builtin as new, fail, quoted_identifier, str};
use crate::cursors::Cursors;
use crate::eval::Host;
use crate::large_objects::{self, Moment, PAGE_BYTES, READ_BYTES_MAX};
use quintet_base::SqlType::{
    Bool, Bytea, ByteaArray, Int4, Int4Array, Int8, Oid, OidArray, Text, TextArray,
};
use quintet_base::value::Array;
use quintet_base::{RoleId, SqlError, SqlResult, SqlState, SqlType, Value};
use std::cell::RefMut;
use std::sync::Arc;

/// Their names begin so.
pub const PREFIX: &str = "large_object_";

/// As in a stored list of privileges.
pub const SELECT: u32 = 1;
/// See [`SELECT`].
pub const UPDATE: u32 = 2;
/// See the header.
pub const GRANTABLE: u32 = 1 << 8;

fn cursors(host: &dyn Host) -> SqlResult<RefMut<'_, Cursors>> {
    let cursors = host.cursors();
    let cursors = cursors.ok_or_else(|| SqlError::unsupported("large objects here"))?;
    Ok(cursors.borrow_mut())
}

/// A number; the routines give no NULL where one is wanted.
fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

fn small(value: &Value) -> i32 {
    i32::try_from(int(value)).unwrap_or(0)
}

fn object(value: &Value) -> u32 {
    match value {
        Value::Oid(number) => *number,
        other => u32::try_from(int(other)).unwrap_or(0),
    }
}

fn bytes(value: &Value) -> &[u8] {
    match value {
        Value::Bytea(bytes) => bytes,
        _ => &[],
    }
}

fn bytea(bytes: Vec<u8>) -> Value {
    Value::Bytea(bytes.into())
}

fn none_such(number: u32) -> SqlError {
    let message = format!("large object {number} does not exist");
    SqlError::new(SqlState::UNDEFINED_OBJECT, message)
}

/// Whether the user has what is wanted of an object by its owner and its list.
fn has(host: &dyn Host, owner: u32, list: &Value, wanted: u32) -> bool {
    let Value::Array(list) = list else {
        return host.is_one_of(&[RoleId(owner)]);
    };
    let numbers: Vec<u32> = list.values.iter().map(object).collect();
    numbers.chunks_exact(3).any(|item| {
        item[2] & wanted != 0 && (item[0] == RoleId::PUBLIC.0 || host.is_one_of(&[RoleId(item[0])]))
    })
}

/// Refuses who may not do with an object what it is opened for; whether that is writing.
fn allow(args: &[&Value], host: &dyn Host) -> SqlResult<bool> {
    let (number, flags, owner) = (object(args[0]), small(args[1]), args[2]);
    let writes = large_objects::mode(flags)?;
    if owner.is_null() {
        return Err(none_such(number));
    }
    let wanted: &[u32] = if writes {
        &[SELECT, UPDATE][..]
    } else {
        &[SELECT]
    };
    let lacks = |wanted: &u32| !has(host, object(owner), args[3], *wanted);
    if host.is_restricted() && wanted.iter().any(lacks) {
        return fail(
            SqlState::INSUFFICIENT_PRIVILEGE,
            format!("permission denied for large object {number}"),
        );
    }
    Ok(writes)
}

fn allowed(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    allow(args, host).map(Value::Bool)
}

fn opened(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let writes = allow(args, host)?;
    let number = cursors(host)?.open_object(object(args[0]), writes)?;
    Ok(Value::Int4(number))
}

fn owned(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let number = object(args[0]);
    if args[1].is_null() {
        return Err(none_such(number));
    }
    if host.is_restricted() && !host.is_one_of(&[RoleId(object(args[1]))]) {
        return fail(
            SqlState::INSUFFICIENT_PRIVILEGE,
            format!("must be owner of large object {number}"),
        );
    }
    Ok(Value::Bool(true))
}

fn writable(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    match host.is_read_only() {
        true => fail(
            SqlState::READ_ONLY_SQL_TRANSACTION,
            format!("cannot execute {} in a read-only transaction", str(args[0])),
        ),
        false => Ok(Value::Bool(true)),
    }
}

fn writes(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    large_objects::mode(small(args[0])).map(Value::Bool)
}

/// The object of a descriptor; the second argument says whether it is to be written.
fn of(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let number = small(args[0]);
    let mut cursors = cursors(host)?;
    let descriptor = cursors.descriptors().get(number)?;
    if args[1].as_bool() == Some(true) && !descriptor.writes {
        return fail(
            SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("large object descriptor {number} was not opened for writing"),
        );
    }
    Ok(Value::Oid(descriptor.object))
}

fn place(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let mut cursors = cursors(host)?;
    let descriptor = cursors.descriptors().get(small(args[0]))?;
    Ok(Value::Int8(descriptor.place))
}

fn moved(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let mut cursors = cursors(host)?;
    let descriptor = cursors.descriptors().get(small(args[0]))?;
    descriptor.place = int(args[1]);
    Ok(Value::Int8(descriptor.place))
}

/// Moves a descriptor: by so much, from the beginning, from where it is, or from the end, which is the last argument.
fn sought(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let mut cursors = cursors(host)?;
    let descriptor = cursors.descriptors().get(small(args[0]))?;
    let from = match int(args[2]) {
        0 => 0,
        1 => descriptor.place,
        2 => int(args[3]),
        other => {
            return fail(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("invalid whence setting: {other}"),
            );
        }
    };
    descriptor.place = large_objects::sought(from, int(args[1]))?;
    Ok(Value::Int8(descriptor.place))
}

/// A place that lo_get and lo_put begin at.
fn begin(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    large_objects::sought(0, int(args[0])).map(Value::Int8)
}

fn narrow(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    match i32::try_from(int(args[0])) {
        Ok(narrow) => Ok(Value::Int4(narrow)),
        Err(_) => fail(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            format!(
                "{} result out of range for large-object descriptor {}",
                str(args[1]),
                int(args[2])
            ),
        ),
    }
}

/// The next statement's state is kept for a descriptor that is about to be opened.
fn keep(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    cursors(host)?.moment = Moment::Kept;
    Ok(Value::Bool(true))
}

/// The next statement reads what a descriptor does.
fn reads(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let mut cursors = cursors(host)?;
    let descriptor = cursors.descriptors().get(small(args[0]))?;
    let moment = match &descriptor.reads {
        Some(state) => Moment::Past(Arc::clone(state)),
        None => Moment::Newest,
    };
    cursors.moment = moment;
    Ok(Value::Bool(true))
}

fn closed(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    cursors(host)?.descriptors().close(small(args[0]))?;
    Ok(Value::Int4(0))
}

fn gone(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    cursors(host)?.descriptors().close_object(object(args[0]));
    Ok(Value::Bool(true))
}

fn next(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    host.large_object_number().map(Value::Oid)
}

fn user(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Oid(host.role().0))
}

/// From a place, so many at most, of an object of this size; then the pages' numbers, and their bytes.
fn read(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (from, most) = (int(args[0]), int(args[1]));
    let size = if args[2].is_null() { 0 } else { int(args[2]) };
    let pages: Vec<(i64, &[u8])> = match (args[3], args[4]) {
        (Value::Array(numbers), Value::Array(data)) => {
            let numbers = numbers.values.iter().map(int);
            numbers.zip(data.values.iter().map(bytes)).collect()
        }
        _ => Vec::new(),
    };
    large_objects::read(from, most, size, &pages).map(bytea)
}

/// How many bytes lo_get gives that is asked for so many from a place on; refused if they are too many.
fn part(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (from, asked) = (int(args[0]), int(args[1]));
    let size = if args[2].is_null() { 0 } else { int(args[2]) };
    let left = size.wrapping_sub(from).max(0);
    let count = if asked < 0 { left } else { left.min(asked) };
    match count > READ_BYTES_MAX {
        true => Err(large_objects::too_large()),
        false => Ok(Value::Int8(count)),
    }
}

fn asked(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    match int(args[0]) < 0 {
        true => fail(
            SqlState::INVALID_PARAMETER_VALUE,
            "requested length cannot be negative",
        ),
        false => Ok(Value::Bool(true)),
    }
}

/// A page as it was, or NULL; its number, and what is written from a place of the object on.
fn page(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (number, at) = (int(args[1]), int(args[2]));
    let page = large_objects::written(bytes(args[0]), number, at, bytes(args[3]));
    Ok(bytea(page))
}

fn cut(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(bytea(large_objects::cut(bytes(args[0]), int(args[1]))))
}

/// Refuses to write so many bytes at a place where they would end beyond all objects.
fn fits(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (at, count) = (int(args[0]), int(args[1]));
    match at.saturating_add(count) > large_objects::BYTES_MAX {
        true => fail(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("invalid large object write request size: {count}"),
        ),
        false => Ok(Value::Bool(true)),
    }
}

fn target(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let length = int(args[0]);
    match (0..=large_objects::BYTES_MAX).contains(&length) {
        true => Ok(Value::Int8(length)),
        false => fail(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("invalid large object truncation target: {length}"),
        ),
    }
}

/// The number of the page that a place is on.
fn number(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let number = int(args[0]) / PAGE_BYTES;
    Ok(Value::Int4(i32::try_from(number).unwrap_or(i32::MAX)))
}

/// The list of an object after a grant or a revoke by its owner: the object, its owner and list, to whom, what, whether it is a
/// grant, and whether it is about granting on.
fn granted(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let (number, owner) = (object(args[0]), args[1]);
    if owner.is_null() {
        return Err(none_such(number));
    }
    let owner = object(owner);
    let grant = args[5].as_bool() == Some(true);
    if host.is_restricted() && !host.is_one_of(&[RoleId(owner)]) {
        return not_by_its_owner(number, args[2], grant, host);
    }
    let mut list: Vec<u32> = match args[2] {
        Value::Array(list) => list.values.iter().map(object).collect(),
        _ => vec![owner, owner, SELECT | UPDATE],
    };
    // Other bits stand for nothing.
    let bits = u32::try_from(int(args[4])).unwrap_or(0) & (SELECT | UPDATE);
    let option = args[6].as_bool() == Some(true);
    let grantees: Vec<u32> = match args[3] {
        Value::Array(grantees) => grantees.values.iter().map(object).collect(),
        _ => Vec::new(),
    };
    for grantee in grantees {
        let known = list.chunks_exact(3).position(|item| item[0] == grantee);
        let place = known.map_or(list.len(), |place| 3 * place);
        if grant && known.is_none() {
            list.extend([grantee, owner, 0]);
        }
        if let Some(item) = list.get_mut(place + 2) {
            match (grant, option) {
                (true, false) => *item |= bits,
                (true, true) => *item |= bits | (bits * GRANTABLE),
                (false, false) => *item &= !(bits | (bits * GRANTABLE)),
                (false, true) => *item &= !(bits * GRANTABLE),
            }
        }
    }
    Ok(numbers(
        list.chunks_exact(3)
            .filter(|item| item[2] != 0)
            .flatten()
            .copied(),
    ))
}

/// Who does not own an object grants nothing on it.
fn not_by_its_owner(number: u32, list: &Value, grant: bool, host: &dyn Host) -> SqlResult<Value> {
    let may = |bits| has(host, RoleId::BOOTSTRAP.0, list, bits);
    if may((SELECT | UPDATE) * GRANTABLE) {
        let what = "GRANT and REVOKE on a large object by others than its owner";
        return Err(SqlError::unsupported(what));
    }
    if !may(SELECT | UPDATE) {
        return fail(
            SqlState::INSUFFICIENT_PRIVILEGE,
            format!("permission denied for large object {number}"),
        );
    }
    let (state, what) = match grant {
        true => (*b"01007", "were granted"),
        false => (*b"01006", "could be revoked"),
    };
    let message = format!("no privileges {what} for \"{number}\"");
    host.notice("WARNING", SqlError::new(SqlState(state), message));
    Ok(list.clone())
}

/// A list after its object has got another owner: what the old one has, and has granted, is the new one's.
fn given(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let Value::Array(list) = args[0] else {
        return Ok(Value::Null);
    };
    let (old, new) = (object(args[1]), object(args[2]));
    let mut items: Vec<[u32; 3]> = Vec::new();
    let list: Vec<u32> = list.values.iter().map(object).collect();
    for item in list.chunks_exact(3) {
        let [to, by] = [item[0], item[1]].map(|role| if role == old { new } else { role });
        match items.iter_mut().find(|known| known[0] == to) {
            Some(known) => known[2] |= item[2],
            None => items.push([to, by, item[2]]),
        }
    }
    Ok(numbers(items.into_iter().flatten()))
}

/// A list without what some roles were granted.
fn without(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (Value::Array(list), Value::Array(roles)) = (args[0], args[1]) else {
        return Ok(Value::Null);
    };
    let roles: Vec<u32> = roles.values.iter().map(object).collect();
    let list: Vec<u32> = list.values.iter().map(object).collect();
    let kept = list
        .chunks_exact(3)
        .filter(|item| !roles.contains(&item[0]));
    Ok(numbers(kept.flatten().copied()))
}

/// Refuses to drop a role of this name for what is said of it, and for objects that it owns, or has been granted something on.
fn needed(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let items = |value: &Value| match value {
        Value::Array(array) => {
            let known = array.values.iter().filter(|item| !item.is_null());
            known.cloned().collect()
        }
        _ => Vec::new(),
    };
    let mut lines: Vec<String> = items(args[1])
        .iter()
        .map(|line| str(line).to_string())
        .collect();
    for (what, numbers) in [("owner of", args[2]), ("privileges for", args[3])] {
        let said = items(numbers);
        let said = said.iter().map(object);
        lines.extend(said.map(|number| format!("{what} large object {number}")));
    }
    match lines.is_empty() {
        true => Ok(Value::Bool(true)),
        false => Err(SqlError::new(
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            format!(
                "role \"{}\" cannot be dropped because some objects depend on it",
                str(args[0])
            ),
        )
        .detail(lines.join("\n"))),
    }
}

fn numbers(numbers: impl Iterator<Item = u32>) -> Value {
    array(Oid, numbers.map(Value::Oid).collect())
}

fn array(element: SqlType, values: Vec<Value>) -> Value {
    Value::Array(Box::new(Array {
        shape: None,
        element,
        values,
    }))
}

/// An owner and a list as the items that others see.
fn shown(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let Value::Array(list) = args[1] else {
        return Ok(Value::Null);
    };
    let name = |role: u32| match role {
        0 => String::new(),
        role => quoted_identifier(&host.role_name(RoleId(role))),
    };
    let list: Vec<u32> = list.values.iter().map(object).collect();
    let item = |item: &[u32]| {
        let mut letters = String::new();
        for (bit, letter) in [(SELECT, "r"), (UPDATE, "w")] {
            if item[2] & bit != 0 {
                letters.push_str(letter);
            }
            if item[2] & (bit * GRANTABLE) != 0 {
                letters.push('*');
            }
        }
        Value::text(format!("{}={letters}/{}", name(item[0]), name(item[1])))
    };
    Ok(array(Text, list.chunks_exact(3).map(item).collect()))
}

fn refuse(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let what = format!("{}() of files of the server", str(args[0]));
    let hint = "Anyone can use the client-side functions of that name that libpq provides.";
    Err(SqlError::unsupported(what).hint(hint))
}

pub(super) const FUNCTIONS: &[Function] = &[
    new(
        "large_object_allowed",
        &[Oid, Int4, Oid, OidArray],
        Bool,
        allowed,
    )
    .volatile()
    .lenient(),
    new(
        "large_object_opened",
        &[Oid, Int4, Oid, OidArray],
        Int4,
        opened,
    )
    .volatile()
    .lenient(),
    new("large_object_owned", &[Oid, Oid], Bool, owned)
        .volatile()
        .lenient(),
    new("large_object_writable", &[Text], Bool, writable).volatile(),
    new("large_object_writes", &[Int4], Bool, writes),
    new("large_object_of", &[Int4, Bool], Oid, of).volatile(),
    new("large_object_place", &[Int4], Int8, place).volatile(),
    new("large_object_moved", &[Int4, Int8], Int8, moved).volatile(),
    new(
        "large_object_sought",
        &[Int4, Int8, Int4, Int8],
        Int8,
        sought,
    )
    .volatile(),
    new("large_object_begin", &[Int8], Int8, begin),
    new("large_object_narrow", &[Int8, Text, Int4], Int4, narrow),
    new("large_object_keep", &[], Bool, keep).volatile(),
    new("large_object_reads", &[Int4], Bool, reads).volatile(),
    new("large_object_closed", &[Int4], Int4, closed).volatile(),
    new("large_object_gone", &[Oid], Bool, gone).volatile(),
    new("large_object_next", &[], Oid, next).volatile(),
    new("large_object_user", &[], Oid, user).volatile(),
    new(
        "large_object_read",
        &[Int8, Int8, Int8, Int4Array, ByteaArray],
        Bytea,
        read,
    )
    .lenient(),
    new("large_object_part", &[Int8, Int8, Int8], Int8, part).lenient(),
    new("large_object_asked", &[Int4], Bool, asked),
    new(
        "large_object_page",
        &[Bytea, Int4, Int8, Bytea],
        Bytea,
        page,
    )
    .lenient(),
    new("large_object_cut", &[Bytea, Int8], Bytea, cut).lenient(),
    new("large_object_fits", &[Int8, Int4], Bool, fits),
    new("large_object_target", &[Int8], Int8, target),
    new("large_object_number", &[Int8], Int4, number),
    new("large_object_refuse", &[Text], Bool, refuse).volatile(),
    new(
        "large_object_granted",
        &[Oid, Oid, OidArray, OidArray, Int4, Bool, Bool],
        OidArray,
        granted,
    )
    .volatile()
    .lenient(),
    new("large_object_given", &[OidArray, Oid, Oid], OidArray, given),
    new(
        "large_object_without",
        &[OidArray, OidArray],
        OidArray,
        without,
    ),
    new(
        "large_object_needed",
        &[Text, TextArray, OidArray, OidArray],
        Bool,
        needed,
    )
    .volatile()
    .lenient(),
    new("large_object_list", &[Oid, OidArray], TextArray, shown).stable(),
];
