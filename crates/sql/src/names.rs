//! Small things read off the parser's nodes: names, numbers, lists.
//!
//! Relies on: the parser's tree.  Promises: a node of another shape gives `None`, never a guess.
//! Does not: resolve anything.

use pg_query::NodeEnum;
use pg_query::protobuf::{self, Node, a_const};
use quintet_base::{SqlError, SqlResult};
use quintet_ir::function::extension::is_of_extension;
use quintet_ir::function::information::of_information_schema;

/// The node inside.
pub(crate) fn inner(node: &Node) -> Option<&NodeEnum> {
    node.node.as_ref()
}

/// The text of a name node.
pub(crate) fn string(node: &Node) -> Option<&str> {
    match inner(node)? {
        NodeEnum::String(string) => Some(&string.sval),
        _ => None,
    }
}

/// The texts of a dotted name; other parts are left out.
pub(crate) fn strings(nodes: &[Node]) -> Vec<&str> {
    nodes.iter().filter_map(string).collect()
}

/// A name without its `pg_catalog`; `None` for other schemas, but for the functions of extensions, which are in any, and those of
/// `information_schema`, whose names have their schema.
pub(crate) fn built_in(nodes: &[Node]) -> Option<&str> {
    match strings(nodes).as_slice() {
        [name] | ["pg_catalog", name] => Some(name),
        ["information_schema", name] => of_information_schema(name),
        // Dumps name the schema of the extension.
        [_, name] if is_of_extension(name) => Some(name),
        _ => None,
    }
}

/// An integer, bare or as a constant.
pub(crate) fn integer(node: &Node) -> Option<i32> {
    match inner(node)? {
        NodeEnum::Integer(integer) => Some(integer.ival),
        NodeEnum::AConst(constant) => match &constant.val {
            Some(a_const::Val::Ival(integer)) => Some(integer.ival),
            _ => None,
        },
        _ => None,
    }
}

/// A bigint: integers, and numbers that do not fit one.
pub(crate) fn bigint(node: &Node) -> Option<i64> {
    match inner(node)? {
        NodeEnum::Float(float) => float.fval.parse().ok(),
        NodeEnum::AConst(constant) => match &constant.val {
            Some(a_const::Val::Fval(float)) => float.fval.parse().ok(),
            _ => integer(node).map(i64::from),
        },
        _ => integer(node).map(i64::from),
    }
}

/// The items of a list node.
pub(crate) fn list(node: &Node) -> Option<&[Node]> {
    match inner(node)? {
        NodeEnum::List(list) => Some(&list.items),
        _ => None,
    }
}

/// An option's value as text: strings, numbers, booleans, words.
pub(crate) fn option_text(node: &Node) -> Option<String> {
    match inner(node)? {
        NodeEnum::String(string) => Some(string.sval.clone()),
        NodeEnum::Integer(integer) => Some(integer.ival.to_string()),
        NodeEnum::Float(float) => Some(float.fval.clone()),
        NodeEnum::Boolean(boolean) => Some(boolean.boolval.to_string()),
        NodeEnum::TypeName(name) => strings(&name.names).last().map(|s| (*s).to_string()),
        NodeEnum::AConst(constant) => match constant.val.as_ref()? {
            a_const::Val::Sval(string) => Some(string.sval.clone()),
            a_const::Val::Ival(integer) => Some(integer.ival.to_string()),
            a_const::Val::Fval(float) => Some(float.fval.clone()),
            a_const::Val::Boolval(boolean) => Some(boolean.boolval.to_string()),
            a_const::Val::Bsval(_) => None,
        },
        NodeEnum::TypeCast(cast) => option_text(cast.arg.as_deref()?),
        _ => None,
    }
}

/// A part that the grammar always gives.
pub(crate) fn required<T>(part: Option<T>) -> SqlResult<T> {
    part.ok_or_else(|| SqlError::internal("the parser left out a part of the statement"))
}

/// The location of an expression, for messages; -1 if it has none.
pub(crate) fn location(node: &Node) -> i32 {
    match inner(node) {
        Some(NodeEnum::ColumnRef(n)) => n.location,
        Some(NodeEnum::ParamRef(n)) => n.location,
        Some(NodeEnum::AConst(n)) => n.location,
        Some(NodeEnum::AExpr(n)) => match n.lexpr.as_deref().map(location) {
            Some(left) if left >= 0 => left.min(n.location),
            _ => n.location,
        },
        Some(NodeEnum::BoolExpr(n)) => match n.args.first().map(location) {
            Some(left) if left >= 0 && n.boolop() != protobuf::BoolExprType::NotExpr => left,
            _ => n.location,
        },
        Some(NodeEnum::FuncCall(n)) => n.location,
        Some(NodeEnum::TypeCast(n)) => match n.arg.as_deref().map(location) {
            Some(inner) if inner >= 0 => inner.min(n.location.max(0)),
            _ => n.location,
        },
        Some(NodeEnum::CaseExpr(n)) => n.location,
        Some(NodeEnum::CoalesceExpr(n)) => n.location,
        Some(NodeEnum::MinMaxExpr(n)) => n.location,
        Some(NodeEnum::NullTest(n)) => n.location,
        Some(NodeEnum::BooleanTest(n)) => n.location,
        Some(NodeEnum::SubLink(n)) => n.location,
        Some(NodeEnum::AArrayExpr(n)) => n.location,
        Some(NodeEnum::RowExpr(n)) => n.location,
        Some(NodeEnum::SqlvalueFunction(n)) => n.location,
        Some(NodeEnum::SetToDefault(n)) => n.location,
        Some(NodeEnum::CollateClause(n)) => n.location,
        Some(NodeEnum::ResTarget(n)) => n.location,
        Some(NodeEnum::RangeVar(n)) => n.location,
        _ => -1,
    }
}
