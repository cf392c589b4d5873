//! Which relations the system has, and their columns.
//!
//! Relies on: `columns.txt`, whose head says how it is written.  Promises: every relation that a client of
//! PostgreSQL 15 may ask for is there, with its columns in their order.  Does not: know rows.

use quintet_base::value::Array;
use quintet_base::{SqlType, TypeMod, Value};
use std::sync::LazyLock;

/// A relation.
pub(super) struct Layout {
    pub schema: &'static str,
    pub name: &'static str,
    pub oid: u32,
    /// As `pg_class.relkind`.
    pub kind: &'static str,
    pub columns: Vec<Column>,
}

/// A column.
pub(super) struct Column {
    pub name: &'static str,
    pub ty: SqlType,
    pub modifier: TypeMod,
    pub not_null: bool,
}

impl Column {
    /// What it holds where nothing is known.
    pub fn absent(&self) -> Value {
        if !self.not_null {
            return Value::Null;
        }
        match self.ty {
            SqlType::Bool => Value::Bool(false),
            SqlType::Int2 => Value::Int2(0),
            SqlType::Int4 => Value::Int4(0),
            SqlType::Int8 => Value::Int8(0),
            SqlType::Float4 => Value::Float4(0.0),
            SqlType::Float8 => Value::Float8(0.0),
            ty if ty == SqlType::Oid || ty.is_named_oid() => Value::Oid(0),
            ty => match ty.element() {
                Some(element) => Value::Array(Box::new(Array {
                    shape: None,
                    element,
                    values: Vec::new(),
                })),
                None => Value::text(""),
            },
        }
    }
}

static LAYOUTS: LazyLock<Vec<Layout>> = LazyLock::new(|| read(include_str!("columns.txt")));

/// The relation with this name.
pub(super) fn find(schema: &str, name: &str) -> Option<&'static Layout> {
    all().find(|layout| layout.name == name && layout.schema == schema)
}

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static Layout> {
    LAYOUTS.iter()
}

fn read(text: &'static str) -> Vec<Layout> {
    let mut layouts: Vec<Layout> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words = line.split_ascii_whitespace();
        if line.starts_with(' ') {
            let last = layouts.last_mut().expect("columns follow a relation");
            last.columns.extend(words.map(column));
            continue;
        }
        if let [schema, name, oid, kind] = words.collect::<Vec<_>>()[..] {
            layouts.push(Layout {
                schema,
                name,
                oid: oid.parse().expect("a number"),
                kind,
                columns: Vec::new(),
            });
        }
    }
    layouts
}

fn column(word: &'static str) -> Column {
    let (name, ty) = word.split_once(':').expect("a name and a type");
    let not_null = ty.ends_with('!');
    let ty = ty.trim_end_matches('!');
    // `varchar(3)`: four bytes of length count.
    let (ty, modifier) = match ty.trim_end_matches(')').split_once('(') {
        Some((ty, width)) => (ty, TypeMod(width.parse::<i32>().expect("a width") + 4)),
        None => (ty, TypeMod::NONE),
    };
    let found = match ty.strip_prefix('_') {
        Some(element) => SqlType::from_name(element).and_then(SqlType::array_of),
        None => SqlType::from_name(ty),
    };
    Column {
        name,
        ty: found.unwrap_or_else(|| panic!("the type of {word} is known")),
        modifier,
        not_null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read_and_numbers_are_unique() {
        let mut numbers: Vec<u32> = all().map(|layout| layout.oid).collect();
        assert!(numbers.len() > 190, "{}", numbers.len());
        assert!(all().all(|layout| !layout.columns.is_empty()));
        let all_numbers = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), all_numbers);
        let class = find("pg_catalog", "pg_class").unwrap();
        assert_eq!((class.oid, class.kind), (1259, "r"));
        assert_eq!(class.columns[0].ty, SqlType::Oid);
        assert_eq!(class.columns.len(), 33);
    }
}
