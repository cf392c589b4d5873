//! Calls that the parser takes for SQL/JSON and MERGE of later versions: `json('…')`, `json_value(a, b)`, `merge_action()`.
//!
//! Relies on: nothing.  Promises: what is written like a call of a function is one again, since PostgreSQL 15 has no such words: of the type
//! `json`, of a function that somebody has made, or of none (`42883`).  Does not: know clauses (PASSING, RETURNING, FORMAT JSON), which are
//! refused where expressions are bound.

use crate::tree::string;
use pg_query::NodeEnum;
use pg_query::protobuf::{FuncCall, JsonExprOp, JsonFormatType, JsonValueExpr, Node};

/// The call that an expression of such words is.
pub(crate) fn plain_call_of(expr: &NodeEnum) -> Option<FuncCall> {
    let (name, args, location) = match expr {
        NodeEnum::JsonParseExpr(parse) if parse.output.is_none() && !parse.unique_keys => {
            ("json", vec![plain(parse.expr.as_deref())?], parse.location)
        }
        NodeEnum::JsonScalarExpr(scalar) if scalar.output.is_none() => {
            let arg = scalar.expr.as_deref()?.clone();
            ("json_scalar", vec![arg], scalar.location)
        }
        NodeEnum::JsonSerializeExpr(serialize) if serialize.output.is_none() => {
            let arg = plain(serialize.expr.as_deref())?;
            ("json_serialize", vec![arg], serialize.location)
        }
        NodeEnum::JsonArrayConstructor(array) if array.output.is_none() => {
            let args = array.exprs.iter().map(|arg| match arg.node.as_ref() {
                Some(NodeEnum::JsonValueExpr(value)) => plain(Some(value)),
                _ => Some(arg.clone()),
            });
            ("json_array", args.collect::<Option<_>>()?, array.location)
        }
        NodeEnum::JsonFuncExpr(call) => {
            let bare = call.passing.is_empty()
                && call.output.is_none()
                && call.on_empty.is_none()
                && call.on_error.is_none();
            let name = match call.op() {
                JsonExprOp::JsonExistsOp => "json_exists",
                JsonExprOp::JsonQueryOp => "json_query",
                JsonExprOp::JsonValueOp => "json_value",
                _ => return None,
            };
            let path = call.pathspec.as_deref().filter(|_| bare)?.clone();
            let args = vec![plain(call.context_item.as_deref())?, path];
            (name, args, call.location)
        }
        NodeEnum::MergeSupportFunc(call) => ("merge_action", Vec::new(), call.location),
        _ => return None,
    };
    Some(FuncCall {
        funcname: vec![string(name)],
        args,
        location,
        ..Default::default()
    })
}

/// What stands there if no FORMAT is written.
fn plain(value: Option<&JsonValueExpr>) -> Option<Node> {
    let value = value?;
    let format = value.format.as_ref();
    let bare = format.is_none_or(|format| format.format_type() == JsonFormatType::JsFormatDefault);
    value.raw_expr.as_deref().filter(|_| bare).cloned()
}
