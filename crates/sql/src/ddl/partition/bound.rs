//! FOR VALUES …: the bound of a partition.
//!
//! Relies on: the table's division as it is.  Promises: PostgreSQL's checks in PostgreSQL's order and words; what comes out
//! overlaps with no other bound.  Does not: expressions that are no constants (0A000).

use super::{Divided, word};
use crate::coerce;
use crate::expr::Binder;
use crate::names::{self, inner};
use crate::partition::limits_text;
use crate::planner::Planner;
use crate::scope::Scope;
use pg_query::NodeEnum;
use pg_query::protobuf::{Node, PartitionBoundSpec};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::Expr;
use quintet_ir::partition::{Bound, Limit, Method, Part, Partitioning, order_of_limits};

/// Reads a bound for a partition of this name, and checks it against the others.
///
/// # Errors
/// `42P16` for one of another method, `42P17` if it is empty or overlaps, `42804` for values of other types.
pub(super) fn read(
    planner: &Planner,
    divided: &Divided,
    spec: &PartitionBoundSpec,
    name: &str,
) -> SqlResult<Bound> {
    let all = &divided.all;
    let invalid = |message: &str, location: i32| {
        planner.error(SqlState::INVALID_TABLE_DEFINITION, message, location)
    };
    if spec.is_default {
        if all.method == Method::Hash {
            let message = "a hash-partitioned table may not have a default partition";
            return Err(invalid(message, -1));
        }
        if let Some(other) = all.default() {
            let message = format!(
                "partition \"{name}\" conflicts with existing default partition \"{}\"",
                all.parts[other].name
            );
            let state = SqlState::INVALID_OBJECT_DEFINITION;
            return Err(planner.error(state, message, spec.location));
        }
        return Ok(Bound::Default);
    }
    let bound = match (all.method, spec.strategy.as_str()) {
        (Method::Hash, "h") => hash(spec).map_err(|message| invalid(message, -1))?,
        (Method::List, "l") => Bound::List(list(planner, divided, &spec.listdatums)?),
        (Method::Range, "r") => {
            let width = all.columns.len();
            let sides = [("FROM", &spec.lowerdatums), ("TO", &spec.upperdatums)];
            if let Some((side, _)) = sides.iter().find(|(_, given)| given.len() != width) {
                let message =
                    format!("{side} must specify exactly one value per partitioning column");
                return Err(invalid(&message, -1));
            }
            let from = limits(planner, divided, &spec.lowerdatums)?;
            let to = limits(planner, divided, &spec.upperdatums)?;
            Bound::Range(from, to)
        }
        (method, _) => {
            let word = word(method);
            let message = format!("invalid bound specification for a {word} partition");
            return Err(invalid(&message, spec.location));
        }
    };
    let first = spec.lowerdatums.first().or(spec.listdatums.first());
    let location = first.map_or(spec.location, names::location);
    if let Bound::Hash { modulus, .. } = bound {
        check_modulus(all, modulus)?;
    }
    check(all, &bound, name).map_err(planner.at(location))?;
    Ok(bound)
}

fn hash(spec: &PartitionBoundSpec) -> Result<Bound, &'static str> {
    let modulus = u32::try_from(spec.modulus).ok().filter(|m| *m > 0);
    let modulus =
        modulus.ok_or("modulus for hash partition must be an integer value greater than zero")?;
    let remainder = u32::try_from(spec.remainder).map_err(
        |_| "remainder for hash partition must be an integer value greater than or equal to zero",
    )?;
    match remainder < modulus {
        true => Ok(Bound::Hash { modulus, remainder }),
        false => Err("remainder for hash partition must be less than modulus"),
    }
}

fn list(planner: &Planner, divided: &Divided, nodes: &[Node]) -> SqlResult<Vec<Value>> {
    let mut values: Vec<Value> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let value = constant(planner, divided, 0, node)?;
        if !values.iter().any(|known| known.order(&value).is_eq()) {
            values.push(value);
        }
    }
    Ok(values)
}

fn limits(planner: &Planner, divided: &Divided, nodes: &[Node]) -> SqlResult<Vec<Limit>> {
    let mut limits: Vec<Limit> = Vec::with_capacity(nodes.len());
    for (place, node) in nodes.iter().enumerate() {
        let limit = match endless(node) {
            Some(limit) => limit,
            None => match constant(planner, divided, place, node)? {
                Value::Null => {
                    return Err(SqlError::new(
                        SqlState::INVALID_OBJECT_DEFINITION,
                        "cannot specify NULL in range bound",
                    ));
                }
                value => Limit::Value(value),
            },
        };
        let before = limits.last();
        let stays = |word| {
            let message = format!("every bound following {word} must also be {word}");
            planner.error(SqlState::DATATYPE_MISMATCH, message, names::location(node))
        };
        match (before, &limit) {
            (Some(Limit::Min), Limit::Value(_) | Limit::Max) => return Err(stays("MINVALUE")),
            (Some(Limit::Max), Limit::Value(_) | Limit::Min) => return Err(stays("MAXVALUE")),
            _ => limits.push(limit),
        }
    }
    Ok(limits)
}

/// MINVALUE and MAXVALUE, which the parser takes for columns.
fn endless(node: &Node) -> Option<Limit> {
    let NodeEnum::ColumnRef(column) = inner(node)? else {
        return None;
    };
    match names::strings(&column.fields)[..] {
        ["minvalue"] => Some(Limit::Min),
        ["maxvalue"] => Some(Limit::Max),
        _ => None,
    }
}

/// A value for a column of the key.
fn constant(planner: &Planner, divided: &Divided, place: usize, node: &Node) -> SqlResult<Value> {
    const CLAUSE: &str = "partition bound";
    let location = names::location(node);
    let here = planner.at(location);
    if let Some(NodeEnum::ColumnRef(_)) = inner(node) {
        let message = "cannot use column reference in partition bound expression";
        return Err(planner.error(SqlState::FEATURE_NOT_SUPPORTED, message, location));
    }
    let column = &divided.table.columns[divided.all.columns[place].0];
    let nothing = Scope::empty();
    let bound = Binder::new(planner, &nothing, CLAUSE).bind(node)?;
    let assigned = coerce::assign(planner, bound, column.ty, column.modifier, &column.name);
    let assigned = assigned.map_err(|error| {
        here(match error.state {
            SqlState::DATATYPE_MISMATCH => SqlError::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "specified value cannot be cast to type {} for column \"{}\"",
                    column.ty, column.name
                ),
            ),
            _ => error,
        })
    })?;
    match quintet_ir::fold::fold(assigned) {
        Expr::Const(Value::Text(text), _) if column.ty == SqlType::Bpchar => {
            Ok(Value::text(text.trim_end_matches(' ')))
        }
        Expr::Const(value, _) => Ok(value),
        _ => Err(planner.unsupported("a partition bound that is no constant", location)),
    }
}

/// Refuses a bound that is empty or overlaps with another.
fn check(all: &Partitioning, bound: &Bound, name: &str) -> SqlResult<()> {
    let wrong = |message: String| SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message);
    if let Bound::Range(from, to) = bound
        && order_of_limits(from, to).is_ge()
    {
        let message = format!("empty range bound specified for partition \"{name}\"");
        return Err(wrong(message).detail(format!(
            "Specified lower bound {} is greater than or equal to upper bound {}.",
            limits_text(from, &all.columns),
            limits_text(to, &all.columns)
        )));
    }
    // Of several ranges the first one is named.
    let overlaps = |part: &&Part| part.bound.overlaps(bound);
    match all.parts.iter().find(overlaps) {
        None => Ok(()),
        Some(other) => Err(wrong(format!(
            "partition \"{name}\" would overlap partition \"{}\"",
            other.name
        ))),
    }
}

/// Every modulus divides the next larger one, so that a class of the finer lies within one of the coarser.
fn check_modulus(all: &Partitioning, new: u32) -> SqlResult<()> {
    let modulus_of = |part: &Part| match part.bound {
        Bound::Hash { modulus, .. } => modulus,
        _ => 1,
    };
    let refuse = |detail: String| {
        let message = "every hash partition modulus must be a factor of the next larger modulus";
        Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message).detail(detail))
    };
    let parts = || all.parts.iter().map(|part| (modulus_of(part), part));
    let below = parts().filter(|(modulus, _)| *modulus <= new);
    if let Some((modulus, part)) = below.max_by_key(|(modulus, _)| *modulus)
        && !new.is_multiple_of(modulus)
    {
        return refuse(format!(
            "The new modulus {new} is not divisible by {modulus}, the modulus of existing partition \
             \"{}\".",
            part.name
        ));
    }
    let above = parts().filter(|(modulus, _)| *modulus > new);
    if let Some((modulus, part)) = above.min_by_key(|(modulus, _)| *modulus)
        && !modulus.is_multiple_of(new)
    {
        return refuse(format!(
            "The new modulus {new} is not a factor of {modulus}, the modulus of existing partition \
             \"{}\".",
            part.name
        ));
    }
    Ok(())
}
