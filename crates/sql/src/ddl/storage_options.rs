//! WITH (…) of tables, and ALTER TABLE … SET and RESET (…).
//!
//! Relies on: the record keeps them as they were written.  Promises: names and values are PostgreSQL's, or refused as it does;
//! they are shown, kept and dumped.  Does not: heed them: they steer a storage, and a way to clean it, that are not here.
//! What is said for the table of large values (`toast.…`) is checked by its name and forgotten, as there is none.

use crate::names::{inner, option_text};
use crate::records::truth;
use pg_query::NodeEnum;
use pg_query::protobuf::{DefElem, Node};
use quintet_base::{SqlError, SqlResult, SqlState};

/// What an option says.
enum Kind {
    Whole(i32, i32),
    Fraction(f64, f64),
    Flag,
    /// `on`, `off` or `auto`.
    Choice,
}

/// The names, in the order of PostgreSQL's documentation.
const OPTIONS: &[(&str, Kind)] = &[
    ("fillfactor", Kind::Whole(10, 100)),
    ("toast_tuple_target", Kind::Whole(128, 8160)),
    ("parallel_workers", Kind::Whole(0, 1024)),
    ("autovacuum_enabled", Kind::Flag),
    ("vacuum_index_cleanup", Kind::Choice),
    ("vacuum_truncate", Kind::Flag),
    ("autovacuum_vacuum_threshold", Kind::Whole(0, i32::MAX)),
    ("autovacuum_vacuum_scale_factor", Kind::Fraction(0.0, 100.0)),
    (
        "autovacuum_vacuum_insert_threshold",
        Kind::Whole(-1, i32::MAX),
    ),
    (
        "autovacuum_vacuum_insert_scale_factor",
        Kind::Fraction(0.0, 100.0),
    ),
    ("autovacuum_analyze_threshold", Kind::Whole(0, i32::MAX)),
    (
        "autovacuum_analyze_scale_factor",
        Kind::Fraction(0.0, 100.0),
    ),
    ("autovacuum_vacuum_cost_delay", Kind::Fraction(0.0, 100.0)),
    ("autovacuum_vacuum_cost_limit", Kind::Whole(1, 10_000)),
    ("autovacuum_freeze_min_age", Kind::Whole(0, 1_000_000_000)),
    (
        "autovacuum_freeze_max_age",
        Kind::Whole(100_000, 2_000_000_000),
    ),
    ("autovacuum_freeze_table_age", Kind::Whole(0, 2_000_000_000)),
    (
        "autovacuum_multixact_freeze_min_age",
        Kind::Whole(0, 1_000_000_000),
    ),
    (
        "autovacuum_multixact_freeze_max_age",
        Kind::Whole(10_000, 2_000_000_000),
    ),
    (
        "autovacuum_multixact_freeze_table_age",
        Kind::Whole(0, 2_000_000_000),
    ),
    ("log_autovacuum_min_duration", Kind::Whole(-1, i32::MAX)),
    ("user_catalog_table", Kind::Flag),
];

fn refuse<T>(message: String) -> SqlResult<T> {
    Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message))
}

/// The options of a list, of which some may be for other tables.
fn read(nodes: &[Node]) -> SqlResult<Vec<&DefElem>> {
    let mut read = Vec::with_capacity(nodes.len());
    for node in nodes {
        let Some(NodeEnum::DefElem(option)) = inner(node) else {
            return Err(SqlError::internal("an option of no name"));
        };
        match option.defnamespace.as_str() {
            "" => read.push(&**option),
            "toast" => {}
            other => return refuse(format!("unrecognized parameter namespace \"{other}\"")),
        }
    }
    Ok(read)
}

fn out_of_bounds(name: &str, said: &str, bounds: [String; 2]) -> SqlError {
    let message = format!("value {said} out of bounds for option \"{name}\"");
    let [least, most] = bounds;
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message).detail(format!(
        "Valid values are between \"{least}\" and \"{most}\"."
    ))
}

fn check(name: &str, said: &str, divided: bool) -> SqlResult<()> {
    let known = OPTIONS.iter().find(|(known, _)| *known == name);
    // A table that is divided has no rows of its own.
    let Some((_, kind)) = known.filter(|_| !divided) else {
        return refuse(format!("unrecognized parameter \"{name}\""));
    };
    check_value(name, said, kind)
}

fn check_value(name: &str, said: &str, kind: &Kind) -> SqlResult<()> {
    let number = || said.trim().parse::<f64>().ok().filter(|n| !n.is_nan());
    match *kind {
        Kind::Whole(least, most) => match number().map(f64::round) {
            None => refuse(format!(
                "invalid value for integer option \"{name}\": {said}"
            )),
            Some(n) if n < f64::from(i32::MIN) || n > f64::from(i32::MAX) => refuse(format!(
                "invalid value for integer option \"{name}\": {said}"
            )),
            Some(n) if n < f64::from(least) || n > f64::from(most) => {
                let bounds = [least.to_string(), most.to_string()];
                Err(out_of_bounds(name, said, bounds))
            }
            Some(_) => Ok(()),
        },
        Kind::Fraction(least, most) => match number() {
            None => refuse(format!(
                "invalid value for floating point option \"{name}\": {said}"
            )),
            Some(n) if n < least || n > most => {
                let bounds = [format!("{least:.6}"), format!("{most:.6}")];
                Err(out_of_bounds(name, said, bounds))
            }
            Some(_) => Ok(()),
        },
        Kind::Flag => match truth(said) {
            Some(_) => Ok(()),
            None => refuse(format!(
                "invalid value for boolean option \"{name}\": {said}"
            )),
        },
        Kind::Choice => match said.eq_ignore_ascii_case("auto") || truth(said).is_some() {
            true => Ok(()),
            false => {
                let message = format!("invalid value for enum option \"{name}\": {said}");
                let error = SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message);
                Err(error.detail("Valid values are \"on\", \"off\", and \"auto\"."))
            }
        },
    }
}

/// The options of indexes, of all methods.
const OF_INDEXES: &[(&str, Kind)] = &[
    ("fillfactor", Kind::Whole(10, 100)),
    ("deduplicate_items", Kind::Flag),
    ("buffering", Kind::Choice),
    ("fastupdate", Kind::Flag),
    ("gin_pending_list_limit", Kind::Whole(64, i32::MAX)),
    ("pages_per_range", Kind::Whole(1, 131_072)),
    ("autosummarize", Kind::Flag),
];

/// SET (…) of an index, which is checked and forgotten.
///
/// # Errors
/// `22023` as PostgreSQL says it.
pub(super) fn check_of_index(option: &DefElem) -> SqlResult<()> {
    let name = &option.defname;
    let known = OF_INDEXES.iter().find(|(known, _)| known == name);
    let Some((_, kind)) = known else {
        return refuse(format!("unrecognized parameter \"{name}\""));
    };
    let said = option.arg.as_deref().and_then(option_text);
    check_value(name, said.as_deref().unwrap_or("true"), kind)
}

/// SET: they come behind those that stay.
///
/// # Errors
/// `22023` as PostgreSQL says it.
pub(super) fn set(
    options: &mut Vec<(String, String)>,
    nodes: &[Node],
    divided: bool,
) -> SqlResult<()> {
    let said = read(nodes)?;
    for (at, option) in said.iter().enumerate() {
        let name = &option.defname;
        if said[..at].iter().any(|other| other.defname == *name) {
            return refuse(format!("parameter \"{name}\" specified more than once"));
        }
    }
    for option in &said {
        let name = option.defname.clone();
        let value = option.arg.as_deref().and_then(option_text);
        let value = value.unwrap_or_else(|| "true".to_string());
        check(&name, &value, divided)?;
        options.retain(|(known, _)| *known != name);
        options.push((name, value));
    }
    Ok(())
}

/// RESET: those that nobody has set, or knows, are none.
///
/// # Errors
/// `42601` for one with a value.
pub(super) fn reset(options: &mut Vec<(String, String)>, nodes: &[Node]) -> SqlResult<()> {
    for option in read(nodes)? {
        if option.arg.is_some() {
            let message = "RESET must not include values for parameters";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        options.retain(|(known, _)| *known != option.defname);
    }
    Ok(())
}

/// WITH (…) of CREATE TABLE.
///
/// # Errors
/// As [`set`]; `0A000` for `oids`.
pub(super) fn of_new(nodes: &[Node], divided: bool) -> SqlResult<Vec<(String, String)>> {
    let mut others = Vec::with_capacity(nodes.len());
    for node in nodes {
        match inner(node) {
            Some(NodeEnum::DefElem(option))
                if option.defname == "oids" && option.defnamespace.is_empty() =>
            {
                let said = option.arg.as_deref().and_then(option_text);
                if said.is_none_or(|said| truth(&said) != Some(false)) {
                    let message = "tables declared WITH OIDS are not supported";
                    return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
            }
            _ => others.push(node.clone()),
        }
    }
    let mut options = Vec::new();
    set(&mut options, &others, divided)?;
    Ok(options)
}
