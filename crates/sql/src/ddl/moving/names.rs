//! Names of relations, routines and types in a statement, and where they stand in its text.
//!
//! Relies on: the parser's tree.  Promises: a name of a WITH query is none of a relation.  Does not: know what a name means.

use crate::call::split_name;
use crate::names::{inner, strings};
use crate::routine::any_node;
use crate::system::print::quoted;
use pg_query::protobuf::{ColumnRef, CreateFunctionStmt, FuncCall, Node, TypeName};
use pg_query::{NodeEnum, NodeRef};
use quintet_base::SqlType;
use quintet_base::types::Any;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// What a name is one of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Class {
    Relation,
    Routine,
    /// Also a relation whose rows are the type.
    Type,
}

/// How a name is written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Spelling {
    /// As a name: that many words are before it, the schema among them.
    Words(usize),
    /// In a string.
    Literal,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Name {
    /// Where it begins.
    place: usize,
    spelling: Spelling,
    pub class: Class,
    pub schema: Option<String>,
    pub name: String,
}

impl Name {
    /// What stands where instead, if this schema does: from, to, and the text. `words`: of the text.
    pub fn with_schema(
        &self,
        text: &str,
        words: &[(usize, usize)],
        schema: &str,
    ) -> Option<(usize, usize, String)> {
        let first = words.iter().position(|(from, _)| *from == self.place)?;
        match self.spelling {
            Spelling::Literal => {
                let (from, to) = words[first];
                let whole = format!("{}.{}", quoted(schema), quoted(&self.name));
                Some((from, to, format!("'{}'", whole.replace('\'', "''"))))
            }
            Spelling::Words(0) => Some((self.place, self.place, format!("{}.", quoted(schema)))),
            // Each word before the name has a dot behind it.
            Spelling::Words(before) => {
                let (from, to) = *words.get(first + 2 * (before - 1))?;
                let is_dot = |(from, to): &(usize, usize)| &text[*from..*to] == ".";
                (words.get(first + 2 * before - 1).is_some_and(is_dot))
                    .then(|| (from, to, quoted(schema)))
            }
        }
    }

    /// The same if it is another name, with this schema before it if none is there.
    pub fn with_name(
        &self,
        words: &[(usize, usize)],
        schema: Option<&str>,
        name: &str,
    ) -> Option<(usize, usize, String)> {
        let first = words.iter().position(|(from, _)| *from == self.place)?;
        let schema = schema.map_or(String::new(), |schema| format!("{}.", quoted(schema)));
        match self.spelling {
            Spelling::Literal => {
                let (from, to) = words[first];
                let whole = format!("{schema}{}", quoted(name));
                Some((from, to, format!("'{}'", whole.replace('\'', "''"))))
            }
            Spelling::Words(before) => {
                let (from, to) = *words.get(first + 2 * before)?;
                let schema = if before == 0 { schema } else { String::new() };
                Some((from, to, format!("{schema}{}", quoted(name))))
            }
        }
    }

    /// Whether it stands in a string, as that of a value.
    pub fn is_literal(&self) -> bool {
        self.spelling == Spelling::Literal
    }

    /// Whether it is that of a type that is looked for in no schema.
    pub fn is_built_in(&self) -> bool {
        let name = &*self.name;
        self.class == Class::Type
            && self.schema.is_none()
            && (SqlType::from_name(name).is_some()
                || Any::from_name(name).is_some()
                || matches!(name, "record" | "trigger"))
    }

    fn of_words(place: i32, class: Class, words: &[&str]) -> Option<Name> {
        let place = usize::try_from(place).ok()?;
        let (name, before) = words.split_last()?;
        if before.last() == Some(&"pg_catalog") {
            return None;
        }
        Some(Name {
            place,
            spelling: Spelling::Words(before.len()),
            class,
            schema: before.last().map(|schema| (*schema).to_string()),
            name: (*name).to_string(),
        })
    }

    /// In a string constant, if the node is one.
    fn of_literal(node: &Node, class: Class) -> Option<Name> {
        use pg_query::protobuf::a_const::Val;
        let Some(NodeEnum::AConst(constant)) = inner(node) else {
            return None;
        };
        let Some(Val::Sval(text)) = &constant.val else {
            return None;
        };
        if text.sval.contains('(') {
            return None;
        }
        let (schema, name) = split_name(&text.sval);
        Some(Name {
            place: usize::try_from(constant.location).ok()?,
            spelling: Spelling::Literal,
            class,
            schema,
            name,
        })
    }
}

/// The names in a statement.
pub(super) fn names_in(node: &NodeEnum) -> Vec<Name> {
    let found = RefCell::new(BTreeSet::new());
    let queries = RefCell::new(BTreeSet::new());
    let add = |name: Option<Name>| found.borrow_mut().extend(name);
    let look = |node: &NodeRef| {
        match node {
            NodeRef::CommonTableExpr(query) => {
                queries.borrow_mut().insert(query.ctename.clone());
            }
            NodeRef::RangeVar(relation) => {
                let words = [
                    &*relation.catalogname,
                    &*relation.schemaname,
                    &*relation.relname,
                ];
                let empty = words.iter().take_while(|word| word.is_empty()).count();
                add(Name::of_words(
                    relation.location,
                    Class::Relation,
                    &words[empty..],
                ));
            }
            NodeRef::FuncCall(call) => {
                of_call(call).into_iter().for_each(|name| add(Some(name)));
            }
            NodeRef::ColumnRef(column) => add(of_column(column)),
            NodeRef::TypeName(name) => add(of_type(name)),
            NodeRef::TypeCast(cast) => {
                if let Some(name) = &cast.type_name {
                    add(of_type(name));
                    let class = class_of_numbers(name);
                    let value = cast.arg.as_deref();
                    add(class.and_then(|class| Name::of_literal(value?, class)));
                }
            }
            NodeRef::ColumnDef(column) => add(column.type_name.as_ref().and_then(of_type)),
            NodeRef::FunctionParameter(parameter) => {
                add(parameter.arg_type.as_ref().and_then(of_type));
            }
            _ => {}
        }
        false
    };
    any_node(node, &look);
    if let NodeEnum::CreateFunctionStmt(made) = node {
        for part in parts_of_routine(made) {
            any_node(part, &look);
        }
        add(made.return_type.as_ref().and_then(of_type));
    }
    let queries = queries.into_inner();
    let is_query = |name: &Name| {
        name.class == Class::Relation && name.schema.is_none() && queries.contains(&name.name)
    };
    let all = found.into_inner().into_iter();
    all.filter(|name| !is_query(name)).collect()
}

/// What the parser's own walk does not go into.
fn parts_of_routine(made: &CreateFunctionStmt) -> Vec<&NodeEnum> {
    let mut parts = Vec::new();
    for parameter in made.parameters.iter().filter_map(inner) {
        parts.push(parameter);
        if let NodeEnum::FunctionParameter(parameter) = parameter {
            parts.extend(parameter.defexpr.as_deref().and_then(inner));
        }
    }
    let mut open: Vec<&NodeEnum> = made
        .sql_body
        .as_deref()
        .and_then(inner)
        .into_iter()
        .collect();
    while let Some(node) = open.pop() {
        match node {
            NodeEnum::List(list) => open.extend(list.items.iter().filter_map(inner)),
            NodeEnum::ReturnStmt(result) => {
                parts.extend(result.returnval.as_deref().and_then(inner));
            }
            node => parts.push(node),
        }
    }
    parts
}

/// The function's name, and that of a sequence which it is given.
fn of_call(call: &FuncCall) -> Vec<Name> {
    let words = strings(&call.funcname);
    let mut all: Vec<Name> = Name::of_words(call.location, Class::Routine, &words)
        .into_iter()
        .collect();
    let takes_sequence = matches!(words.last(), Some(&("nextval" | "currval" | "setval")));
    if takes_sequence && let Some(first) = call.args.first() {
        all.extend(Name::of_literal(first, Class::Relation));
    }
    all
}

/// A table's name with its schema, before a column.
fn of_column(column: &ColumnRef) -> Option<Name> {
    let words = strings(&column.fields);
    let is_star = matches!(
        column.fields.last().and_then(inner),
        Some(NodeEnum::AStar(_))
    );
    // The star is no string.
    let table = match is_star {
        true => &words[..],
        false => &words[..words.len().saturating_sub(1)],
    };
    match table.len() {
        2.. => Name::of_words(column.location, Class::Relation, table),
        _ => None,
    }
}

fn of_type(name: &TypeName) -> Option<Name> {
    let words = strings(&name.names);
    match (name.pct_type, words.as_slice()) {
        (true, [table @ .., _]) => Name::of_words(name.location, Class::Relation, table),
        (_, words) => Name::of_words(name.location, Class::Type, words),
    }
}

/// What a type whose values are numbers of objects is of.
fn class_of_numbers(name: &TypeName) -> Option<Class> {
    match *strings(&name.names).last()? {
        "regclass" => Some(Class::Relation),
        "regtype" => Some(Class::Type),
        "regproc" => Some(Class::Routine),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn shown(text: &str) -> Vec<String> {
        let node = parse::parse(text).unwrap().remove(0).into_node().unwrap();
        let names = names_in(&node).into_iter();
        names
            .map(|name| {
                let schema = name.schema.map_or(String::new(), |schema| schema + ".");
                format!("{:?} {schema}{} at {}", name.class, name.name, name.place)
            })
            .collect()
    }

    #[test]
    fn names_are_found_wherever_they_stand() {
        let text = "WITH q AS (SELECT 1) SELECT s.t.a, f('x'::mood), nextval('s.q') FROM s.t, q, \
                    LATERAL (SELECT u.* FROM u ORDER BY g(u.a)) x WHERE EXISTS (SELECT FROM w)";
        assert_eq!(
            shown(text),
            [
                "Relation s.t at 28",
                "Routine f at 35",
                "Type mood at 42",
                "Routine nextval at 49",
                "Relation s.q at 57",
                "Relation s.t at 69",
                "Relation u at 102",
                "Routine g at 113",
                "Relation w at 149",
            ]
        );
    }

    #[test]
    fn routines_name_types_of_parameters_and_what_their_statements_do() {
        let text = "CREATE FUNCTION f(a mood, b s.t.c%TYPE DEFAULT g()) RETURNS SETOF s.t \
                    LANGUAGE sql BEGIN ATOMIC SELECT * FROM t; END";
        assert_eq!(
            shown(text),
            [
                "Type mood at 20",
                "Relation s.t at 28",
                "Routine g at 47",
                "Type s.t at 66",
                "Relation t at 110",
            ]
        );
    }
}
