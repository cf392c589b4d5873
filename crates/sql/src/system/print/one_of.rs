//! `IN (…)` as PostgreSQL prints it, which makes it into something else when it reads it.
//!
//! Relies on: `print`.  Promises: an array where several items name no column, comparisons for all others, and for a single item.
//! Does not: print rows (`(a, b) IN (…)`).

use super::{Bond, Printer};
use crate::names::inner;
use crate::routine::any_node;
use pg_query::NodeRef;
use pg_query::protobuf::Node;
use quintet_base::SqlType;
use quintet_ir::CompareOp;
use quintet_ir::function;

fn names_column(node: &Node) -> bool {
    inner(node).is_some_and(|node| any_node(node, &|node| matches!(node, NodeRef::ColumnRef(_))))
}

impl Printer<'_, '_, '_> {
    /// `left IN (…)`: those that name no column as one array, the others, and a single one, compared one by one.
    pub(super) fn one_of(
        &self,
        symbol: &str,
        left: &Node,
        items: &[Node],
    ) -> Option<(String, Bond)> {
        let (named, plain): (Vec<&Node>, Vec<&Node>) =
            items.iter().partition(|item| names_column(item));
        let mut single = items.iter().collect();
        let mut all = None;
        if plain.len() > 1 {
            let plain: Vec<Node> = plain.into_iter().cloned().collect();
            all = Some(self.among(symbol, left, &plain)?);
            single = named;
        }
        let (comparison, word, bond) = match symbol {
            "<>" => ("<>", "AND", Bond::And),
            _ => ("=", "OR", Bond::Or),
        };
        for item in single {
            let one = self.binary(comparison, left, item)?;
            all = Some(match all {
                Some((text, _)) => self.wrapped(format!("{text} {word} {}", one.0), bond),
                None => one,
            });
        }
        all
    }

    /// `left = ANY (ARRAY[…])`.
    fn among(&self, symbol: &str, left: &Node, items: &[Node]) -> Option<(String, Bond)> {
        let ty = self.ty(left)?;
        let kinds = items.iter().filter_map(|item| self.ty(item));
        let ty = kinds.fold(ty, |ty, other| match other {
            SqlType::Unknown => ty,
            other => function::compare_type(CompareOp::Eq, ty, other).unwrap_or(ty),
        });
        let operand = match ty {
            SqlType::Varchar => SqlType::Text,
            ty => ty,
        };
        let shown = self.converted(left, operand, Bond::Atom)?;
        let elements = self.list(items, Some(ty))?;
        let array = match ty {
            SqlType::Varchar if self.pretty => format!("ARRAY[{elements}]::text[]"),
            SqlType::Varchar => format!("(ARRAY[{elements}])::text[]"),
            _ => format!("ARRAY[{elements}]"),
        };
        let (comparison, which) = match symbol {
            "<>" => ("<>", "ALL"),
            _ => ("=", "ANY"),
        };
        let comparison = self.operator_of(comparison, &[ty]);
        let text = format!("{shown} {comparison} {which} ({array})");
        Some(self.wrapped(text, Bond::Operator))
    }
}
