//! `information_schema._pg_expandarray`: the elements of an array with their places, as drivers ask for keys' columns.
//!
//! Relies on: `unnest … WITH ORDINALITY`, which it is rewritten to before anything is bound.  Promises: `(f(a)).x` and `(f(a)).n` in
//! a select list, `f(a)` in the select list of a subselect whose field `(s.name).x` is asked for outside.
//! Rows of the catalogue that `_pg_truetypid` and `_pg_truetypmod` take are CASE over their fields.
//! `unnest(a)` beside `generate_subscripts(a, d)` is the same question in other words.
//! Does not: make a row a value; other uses are refused where they are bound.
//!
//! ```text
//! SELECT (f(k)).n FROM t          =>  SELECT e.n FROM t, LATERAL unnest(k) WITH ORDINALITY AS e(x, n)
//! SELECT unnest(k), generate_subscripts(k, d)     =>  SELECT e.x, CASE WHEN e.n <= array_length(k, d) THEN e.n - 1 + array_lower(k, d) END
//! SELECT (s.c).x FROM (SELECT f(k) AS c …) AS s   =>  SELECT s."c.x" FROM (SELECT e.x AS "c.x", e.n AS "c.n" …) AS s
//! ```

use crate::names::{self, inner};
use crate::parse::{expression_text, parse_expression};
use crate::tree::{node, string};
use pg_query::NodeEnum;
use pg_query::protobuf::{
    AConst, AExpr, AExprKind, AIndirection, Alias, CaseExpr, CaseWhen, ColumnRef, FuncCall,
    Integer, Node, RangeFunction, ResTarget, SelectStmt, TypeCast, TypeName,
    a_const::{self, Val},
};
use quintet_base::SqlResult;
use quintet_ir::function::information::{INDEX_POSITION, TRUE_MODIFIER, TRUE_TYPE};

/// What the elements are called among the sources; no name that somebody would write.
const ALIAS: &str = "?expanded?";

/// The SELECT without calls of the function; `None` if it has none.
pub(crate) fn without_expanded(select: &SelectStmt) -> Option<SelectStmt> {
    if !may_have(select) {
        return None;
    }
    let mut rewritten = select.clone();
    let fields = fields_below(&mut rewritten);
    let mut changed = !fields.is_empty();
    if changed {
        let targets = rewritten.target_list.iter_mut();
        targets.for_each(|node| name_fields(node, &fields));
        let items = rewritten.from_clause.iter_mut();
        items.for_each(|item| name_fields(item, &fields));
        if let Some(condition) = rewritten.where_clause.as_deref_mut() {
            name_fields(condition, &fields);
        }
    }
    let mut array = side_by_side(&mut rewritten);
    for item in &mut rewritten.target_list {
        let Some(NodeEnum::ResTarget(target)) = item.node.as_mut() else {
            continue;
        };
        let Some(value) = target.val.as_deref_mut() else {
            continue;
        };
        if let Some((of, field)) = field_of_call(value) {
            *value = column(vec![ALIAS.to_string(), field.clone()]);
            if field == "n" {
                *value = as_integer(value.clone());
            }
            if target.name.is_empty() {
                target.name = field;
            }
            array = Some(of);
        }
    }
    if let Some(of) = array {
        changed = true;
        rewritten.from_clause.push(source(of));
    }
    changed.then_some(rewritten)
}

/// Whether to look closer: most queries have neither a field of an expression nor such a subselect.
fn may_have(select: &SelectStmt) -> bool {
    let of_call = |node: &Node| match inner(node) {
        Some(NodeEnum::ResTarget(target)) => target
            .val
            .as_deref()
            .is_some_and(|value| field_of_call(value).is_some()),
        _ => false,
    };
    subscripted(select).is_some()
        || select.target_list.iter().any(of_call)
        || select.from_clause.iter().any(item_may_have)
}

/// The call of `name` that an item of a select list is, with so many arguments.
fn call_in<'n>(item: &'n Node, name: &str, arguments: usize) -> Option<&'n FuncCall> {
    let NodeEnum::ResTarget(target) = inner(item)? else {
        return None;
    };
    match inner(target.val.as_deref()?)? {
        NodeEnum::FuncCall(call)
            if names::built_in(&call.funcname) == Some(name) && call.args.len() == arguments =>
        {
            Some(&**call)
        }
        _ => None,
    }
}

/// The array that stands once under `unnest` and once under `generate_subscripts` in a select list.
fn subscripted(select: &SelectStmt) -> Option<Node> {
    let mut items = select.target_list.iter();
    let unnested = items.find_map(|item| call_in(item, "unnest", 1))?;
    let mut items = select.target_list.iter();
    let counted = items.find_map(|item| call_in(item, "generate_subscripts", 2))?;
    let name = |node: &Node| match inner(node) {
        Some(NodeEnum::ColumnRef(column)) => Some(names::strings(&column.fields).join(".")),
        _ => None,
    };
    let array = unnested.args.first()?;
    (name(array).is_some() && name(array) == name(counted.args.first()?)).then(|| array.clone())
}

/// Takes both calls out of the select list; the array.
fn side_by_side(select: &mut SelectStmt) -> Option<Node> {
    let array = subscripted(select)?;
    for item in &mut select.target_list {
        let counted = call_in(item, "generate_subscripts", 2).map(|call| call.args.clone());
        let is_unnest = call_in(item, "unnest", 1).is_some();
        let Some(NodeEnum::ResTarget(target)) = item.node.as_mut() else {
            continue;
        };
        let value = match counted {
            Some(arguments) => in_dimension(&array, &arguments[1]),
            None if is_unnest => column_of(ALIAS, "x"),
            None => continue,
        };
        if target.name.is_empty() {
            target.name = if is_unnest {
                "unnest"
            } else {
                "generate_subscripts"
            }
            .to_string();
        }
        target.val = Some(Box::new(value));
    }
    Some(array)
}

/// `CASE WHEN n <= array_length(array, dimension) THEN n - 1 + array_lower(array, dimension) END`: there are as many rows as elements.
fn in_dimension(array: &Node, dimension: &Node) -> Node {
    let of_dimension = |name: &str| {
        node(NodeEnum::FuncCall(Box::new(FuncCall {
            funcname: vec![string(name.to_string())],
            args: vec![array.clone(), dimension.clone()],
            location: -1,
            ..Default::default()
        })))
    };
    let number = as_integer(column_of(ALIAS, "n"));
    let before = operator("-", number.clone(), one());
    let place = operator("+", before, of_dimension("array_lower"));
    let is_inside = operator("<=", number, of_dimension("array_length"));
    let when = CaseWhen {
        expr: Some(Box::new(is_inside)),
        result: Some(Box::new(place)),
        location: -1,
        ..Default::default()
    };
    node(NodeEnum::CaseExpr(Box::new(CaseExpr {
        args: vec![node(NodeEnum::CaseWhen(Box::new(when)))],
        location: -1,
        ..Default::default()
    })))
}

fn one() -> Node {
    node(NodeEnum::AConst(AConst {
        val: Some(a_const::Val::Ival(Integer { ival: 1 })),
        location: -1,
        ..Default::default()
    }))
}

fn operator(name: &str, left: Node, right: Node) -> Node {
    node(NodeEnum::AExpr(Box::new(AExpr {
        kind: AExprKind::AexprOp as i32,
        name: vec![string(name.to_string())],
        lexpr: Some(Box::new(left)),
        rexpr: Some(Box::new(right)),
        location: -1,
        ..Default::default()
    })))
}

fn item_may_have(item: &Node) -> bool {
    match inner(item) {
        Some(NodeEnum::JoinExpr(join)) => {
            let sides = [join.larg.as_deref(), join.rarg.as_deref()];
            sides.into_iter().flatten().any(item_may_have)
        }
        Some(NodeEnum::RangeSubselect(below)) => match below.subquery.as_deref().and_then(inner) {
            Some(NodeEnum::SelectStmt(query)) => {
                let mut targets = query.target_list.iter();
                targets.any(|target| bare_call(target).is_some())
            }
            _ => false,
        },
        _ => false,
    }
}

/// Bare calls in subselects of FROM become two columns; where: alias of the subselect and name of the column.
fn fields_below(select: &mut SelectStmt) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let items = select.from_clause.iter_mut();
    items.for_each(|item| fields_of_item(item, &mut found));
    found
}

fn fields_of_item(item: &mut Node, found: &mut Vec<(String, String)>) {
    let below = match item.node.as_mut() {
        Some(NodeEnum::JoinExpr(join)) => {
            let sides = [join.larg.as_deref_mut(), join.rarg.as_deref_mut()];
            let sides = sides.into_iter().flatten();
            return sides.for_each(|side| fields_of_item(side, found));
        }
        Some(NodeEnum::RangeSubselect(below)) => below,
        _ => return,
    };
    let alias = below.alias.as_ref().map(|alias| alias.aliasname.clone());
    let query = below.subquery.as_deref_mut().and_then(|q| q.node.as_mut());
    let (Some(alias), Some(NodeEnum::SelectStmt(query))) = (alias, query) else {
        return;
    };
    let mut targets = Vec::with_capacity(query.target_list.len() + 1);
    for node in std::mem::take(&mut query.target_list) {
        match bare_call(&node) {
            Some((name, call)) => {
                for field in ["x", "n"] {
                    targets.push(field_target(&call, field, field_name(&name, field)));
                }
                found.push((alias.clone(), name));
            }
            None => targets.push(node),
        }
    }
    query.target_list = targets;
}

fn field_name(column: &str, field: &str) -> String {
    format!("{column}.{field}")
}

fn is_it(call: &FuncCall) -> bool {
    matches!(
        names::strings(&call.funcname)[..],
        ["information_schema", "_pg_expandarray"]
    ) && call.args.len() == 1
}

/// A select list's item that is the call alone, under a name.
fn bare_call(node: &Node) -> Option<(String, FuncCall)> {
    let NodeEnum::ResTarget(target) = inner(node)? else {
        return None;
    };
    match inner(target.val.as_deref()?)? {
        NodeEnum::FuncCall(call) if is_it(call) => Some((target.name.clone(), (**call).clone())),
        _ => None,
    }
}

/// `(call).field AS name`.
fn field_target(call: &FuncCall, field: &str, name: String) -> Node {
    let indirection = pg_query::protobuf::AIndirection {
        arg: Some(Box::new(node(NodeEnum::FuncCall(Box::new(call.clone()))))),
        indirection: vec![string(field.to_string())],
    };
    node(NodeEnum::ResTarget(Box::new(ResTarget {
        name,
        val: Some(Box::new(node(NodeEnum::AIndirection(Box::new(
            indirection,
        ))))),
        location: -1,
        ..Default::default()
    })))
}

/// The array and the field of `(call).field`.
fn field_of_call(value: &Node) -> Option<(Node, String)> {
    let NodeEnum::AIndirection(of) = inner(value)? else {
        return None;
    };
    let [field] = of.indirection.as_slice() else {
        return None;
    };
    match inner(of.arg.as_deref()?)? {
        NodeEnum::FuncCall(call) if is_it(call) => Some((
            call.args.first()?.clone(),
            names::string(field)?.to_string(),
        )),
        _ => None,
    }
}

/// Fields of the columns that have become two.
fn name_fields(within: &mut Node, fields: &[(String, String)]) {
    let replaced = match within.node.as_ref() {
        Some(NodeEnum::AIndirection(of)) => {
            let column = of.arg.as_deref().and_then(inner);
            let field = of.indirection.first().and_then(names::string);
            match (column, field) {
                (Some(NodeEnum::ColumnRef(reference)), Some(field)) => {
                    let parts = names::strings(&reference.fields);
                    let known = fields.iter().find(|(alias, name)| {
                        matches!(parts[..], [a, n] if a == alias && n == name)
                            || matches!(parts[..], [n] if n == name)
                    });
                    known.map(|(alias, name)| column_of(alias, &field_name(name, field)))
                }
                _ => None,
            }
        }
        _ => None,
    };
    if let Some(replaced) = replaced {
        *within = replaced;
        return;
    }
    match within.node.as_mut() {
        Some(NodeEnum::ResTarget(target)) => {
            if let Some(value) = target.val.as_deref_mut() {
                name_fields(value, fields);
            }
        }
        Some(NodeEnum::AExpr(expr)) => {
            let sides = [expr.lexpr.as_deref_mut(), expr.rexpr.as_deref_mut()];
            let sides = sides.into_iter().flatten();
            sides.for_each(|side| name_fields(side, fields));
        }
        Some(NodeEnum::JoinExpr(join)) => {
            let parts = [
                join.larg.as_deref_mut(),
                join.rarg.as_deref_mut(),
                join.quals.as_deref_mut(),
            ];
            let parts = parts.into_iter().flatten();
            parts.for_each(|part| name_fields(part, fields));
        }
        Some(NodeEnum::BoolExpr(expr)) => {
            expr.args
                .iter_mut()
                .for_each(|arg| name_fields(arg, fields));
        }
        _ => {}
    }
}

/// Places count in integers.
fn as_integer(value: Node) -> Node {
    let name = TypeName {
        names: vec![string("pg_catalog".to_string()), string("int4".to_string())],
        typemod: -1,
        location: -1,
        ..Default::default()
    };
    node(NodeEnum::TypeCast(Box::new(TypeCast {
        arg: Some(Box::new(value)),
        type_name: Some(name),
        location: -1,
    })))
}

fn column_of(table: &str, name: &str) -> Node {
    column(vec![table.to_string(), name.to_string()])
}

fn column(parts: Vec<String>) -> Node {
    node(NodeEnum::ColumnRef(ColumnRef {
        fields: parts.into_iter().map(string).collect(),
        location: -1,
    }))
}

/// `LATERAL unnest(array) WITH ORDINALITY AS …(x, n)`.
fn source(array: Node) -> Node {
    let call = FuncCall {
        funcname: vec![string("unnest".to_string())],
        args: vec![array],
        location: -1,
        ..Default::default()
    };
    node(NodeEnum::RangeFunction(RangeFunction {
        lateral: true,
        ordinality: true,
        functions: vec![node(NodeEnum::FuncCall(Box::new(call)))],
        alias: Some(Alias {
            aliasname: ALIAS.to_string(),
            colnames: vec![string("x".to_string()), string("n".to_string())],
        }),
        ..Default::default()
    }))
}

/// `_pg_truetypid(a, t)` and `_pg_truetypmod(a, t)` of rows of `pg_attribute` and `pg_type`: what a domain is over, or the column's own.
pub(crate) fn true_type(name: &str, arguments: &[Node]) -> Option<Node> {
    let (of_domain, own) = match name {
        TRUE_TYPE => ("typbasetype", "atttypid"),
        TRUE_MODIFIER => ("typtypmod", "atttypmod"),
        _ => return None,
    };
    let [attribute, ty] = arguments else {
        return None;
    };
    let word = AConst {
        val: Some(Val::Sval(pg_query::protobuf::String {
            sval: "d".to_string(),
        })),
        ..Default::default()
    };
    let is_domain = AExpr {
        kind: AExprKind::AexprOp.into(),
        name: vec![string("=".to_string())],
        lexpr: Some(Box::new(field_of_row(ty, "typtype"))),
        rexpr: Some(Box::new(node(NodeEnum::AConst(word)))),
        location: -1,
        ..Default::default()
    };
    let when = CaseWhen {
        expr: Some(Box::new(node(NodeEnum::AExpr(Box::new(is_domain))))),
        result: Some(Box::new(field_of_row(ty, of_domain))),
        location: -1,
        ..Default::default()
    };
    Some(node(NodeEnum::CaseExpr(Box::new(CaseExpr {
        args: vec![node(NodeEnum::CaseWhen(Box::new(when)))],
        defresult: Some(Box::new(field_of_row(attribute, own))),
        location: -1,
        ..Default::default()
    }))))
}

/// `_pg_index_position(index, column)`: where a column, by its number, stands in an index. A query of the catalogue, whose names are none that an
/// argument could mean.
///
/// # Errors
/// What reading the arguments says.
pub(crate) fn index_position(name: &str, arguments: &[Node]) -> SqlResult<Option<Node>> {
    let [index, column] = arguments else {
        return Ok(None);
    };
    if name != INDEX_POSITION {
        return Ok(None);
    }
    let (index, column) = (expression_text(index)?, expression_text(column)?);
    let query = format!(
        "(SELECT \"{ALIAS} n\"::pg_catalog.int4 FROM (SELECT i.indexrelid, u.x, u.n FROM pg_catalog.pg_index i, \
         LATERAL pg_catalog.unnest(i.indkey) WITH ORDINALITY AS u (x, n)) \"{ALIAS}\" (\"{ALIAS} i\", \"{ALIAS} x\", \"{ALIAS} n\") \
         WHERE \"{ALIAS} i\" = ({index})::pg_catalog.oid AND \"{ALIAS} x\" = ({column})::pg_catalog.int2)"
    );
    parse_expression(&query).map(Some)
}

/// A field of a row that is written `t.*`, `t` or as an expression.
fn field_of_row(row: &Node, field: &str) -> Node {
    if let Some(NodeEnum::ColumnRef(column)) = inner(row)
        && let [_, .., last] = column.fields.as_slice()
        && matches!(inner(last), Some(NodeEnum::AStar(_)))
    {
        let mut parts = column.fields.clone();
        parts.pop();
        parts.push(string(field.to_string()));
        return node(NodeEnum::ColumnRef(ColumnRef {
            fields: parts,
            location: column.location,
        }));
    }
    node(NodeEnum::AIndirection(Box::new(AIndirection {
        arg: Some(Box::new(row.clone())),
        indirection: vec![string(field.to_string())],
    })))
}
