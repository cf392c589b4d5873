//! Statements that make a change of a write set.
//!
//! Relies on: tables and columns of the same names at every replica.  Promises: the text depends on the relation, the kind of the
//! change and which values are told, and on nothing else, so it is prepared once.  Does not: run them.
//!
//! | change | statement | rows it must touch |
//! |---|---|---|
//! | insert | `INSERT … OVERRIDING SYSTEM VALUE VALUES …` | all of them |
//! | update, delete by key | `… WHERE key = $n` | 1 |
//! | several of those | `… FROM (VALUES …) AS v WHERE key = v.c0` | all of them |
//! | the same without key ([`Identity::Full`]) | `… WHERE ctid = (SELECT ctid … LIMIT 1)` | 1 |
//! | any change of `quintet.calls` | `INSERT … ON CONFLICT DO UPDATE` | 1 |

use crate::connection::Row;
use crate::pipeline::Value;
use crate::write_set::{Field, Identity, Relation, Tuple};
use std::fmt::Write;

/// Columns that no UPDATE may set: GENERATED ALWAYS AS IDENTITY.
#[derive(Debug, Default)]
pub(crate) struct Fixed {
    /// Schema, table, column.
    columns: Vec<[String; 3]>,
}

impl Fixed {
    /// A query for them.
    pub const QUERY: &str = "SELECT n.nspname, c.relname, a.attname FROM pg_attribute a \
         JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE a.attidentity = 'a'";

    /// From what the query brings.
    pub fn of(rows: Vec<Row>) -> Fixed {
        let columns = rows
            .into_iter()
            .filter_map(|row| {
                let row: Option<Vec<String>> = row.into_iter().collect();
                row?.try_into().ok()
            })
            .collect();
        Fixed { columns }
    }

    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    fn has(&self, relation: &Relation, column: &str) -> bool {
        self.columns.iter().any(|[schema, table, name]| {
            name == column && *table == relation.name && *schema == relation.schema
        })
    }
}

/// A statement and its values.
#[derive(Debug)]
pub(crate) struct Apply<'a> {
    pub sql: String,
    /// Types of the values; empty where the server finds them out.
    pub types: Vec<u32>,
    pub values: Vec<Value<'a>>,
}

impl<'a> Apply<'a> {
    fn untyped(sql: String, values: Vec<Value<'a>>) -> Apply<'a> {
        let types = Vec::new();
        Apply { sql, types, values }
    }

    /// All of these rows, which have all their values.
    pub fn insert(relation: &Relation, rows: &[&'a Tuple]) -> Apply<'a> {
        let columns = relation.columns.len();
        let mut values = Vec::with_capacity(columns * rows.len());
        for row in rows {
            values.extend(row.fields().map(value));
        }
        if columns == 0 {
            let sql = format!("INSERT INTO {} DEFAULT VALUES", table(relation));
            return Apply::untyped(sql, values);
        }
        let mut sql = String::with_capacity(64 + columns * (16 + 6 * rows.len()));
        let _ = write!(sql, "INSERT INTO {} (", table(relation));
        list(&mut sql, relation.columns.iter(), |sql, column| {
            push_name(sql, &column.name);
        });
        sql.push_str(") OVERRIDING SYSTEM VALUE VALUES ");
        let mut number = 0;
        list(&mut sql, rows.iter(), |sql, _| {
            sql.push('(');
            list(sql, 0..columns, |sql, _| {
                number += 1;
                let _ = write!(sql, "${number}");
            });
            sql.push(')');
        });
        Apply::untyped(sql, values)
    }

    /// A row that became another. `old` as in [`crate::Change::Update`]. A fixed column is no part of what is set; it has to
    /// be what it was, so that a row in which it has changed is not found.
    pub fn update(
        relation: &Relation,
        old: Option<&'a Tuple>,
        new: &'a Tuple,
        fixed: &Fixed,
    ) -> Apply<'a> {
        let mut values = Vec::with_capacity(relation.columns.len() + 4);
        let mut sql = format!("UPDATE {} SET ", table(relation));
        let told = |key_too: bool| {
            relation
                .columns
                .iter()
                .zip(new.fields())
                .filter(move |(column, field)| {
                    *field != Field::Unchanged
                        && (key_too || !column.key)
                        && !fixed.has(relation, &column.name)
                })
        };
        // The key is told as it was only if it has changed.
        let key_too = old.is_some() || told(false).next().is_none();
        list(&mut sql, told(key_too), |sql, (column, field)| {
            push_name(sql, &column.name);
            values.push(value(field));
            let _ = write!(sql, " = ${}", values.len());
        });
        push_where(&mut sql, relation, old.unwrap_or(new), &mut values);
        if !fixed.is_empty() {
            for (column, field) in relation.columns.iter().zip(new.fields()) {
                if !column.key && fixed.has(relation, &column.name) {
                    sql.push_str(" AND ");
                    push_name(&mut sql, &column.name);
                    values.push(value(field));
                    let _ = write!(sql, " = ${}", values.len());
                }
            }
        }
        Apply::untyped(sql, values)
    }

    /// A row that went.
    pub fn delete(relation: &Relation, old: &'a Tuple) -> Apply<'a> {
        let mut values = Vec::with_capacity(4);
        let mut sql = format!("DELETE FROM {}", table(relation));
        push_where(&mut sql, relation, old, &mut values);
        Apply::untyped(sql, values)
    }

    /// Several rows that became others, of which the same values are told, each once, without a change of their keys and of built-in types.
    pub fn update_many(relation: &Relation, rows: &[&'a Tuple]) -> Apply<'a> {
        let first = rows.first().expect("a batch has rows");
        let told: Vec<usize> = first
            .fields()
            .enumerate()
            .filter(|(_, field)| *field != Field::Unchanged)
            .map(|(number, _)| number)
            .collect();
        let mut sql = format!("UPDATE {} AS t SET ", table(relation));
        let set = told.iter().filter(|number| !relation.columns[**number].key);
        list(&mut sql, set, |sql, number| {
            push_name(sql, &relation.columns[*number].name);
            let _ = write!(sql, " = v.c{number}");
        });
        push_from(sql, " FROM", relation, &told, rows)
    }

    /// Several rows that went, each once, of a table whose key is of built-in types.
    pub fn delete_many(relation: &Relation, rows: &[&'a Tuple]) -> Apply<'a> {
        let keys: Vec<usize> = (0..relation.columns.len())
            .filter(|number| relation.columns[*number].key)
            .collect();
        let sql = format!("DELETE FROM {} AS t", table(relation));
        push_from(sql, " USING", relation, &keys, rows)
    }

    /// A row that is there or not: the last call of a client, all of it told.
    pub fn upsert(relation: &Relation, new: &'a Tuple) -> Apply<'a> {
        let mut apply = Apply::insert(relation, &[new]);
        apply.sql.push_str(" ON CONFLICT (");
        let keys = relation.columns.iter().filter(|column| column.key);
        list(&mut apply.sql, keys, |sql, column| {
            push_name(sql, &column.name)
        });
        apply.sql.push_str(") DO UPDATE SET ");
        let others = relation.columns.iter().filter(|column| !column.key);
        list(&mut apply.sql, others, |sql, column| {
            push_name(sql, &column.name);
            sql.push_str(" = excluded.");
            push_name(sql, &column.name);
        });
        apply
    }

    /// Tables that were emptied together.
    pub fn truncate<'r>(
        relations: impl Iterator<Item = &'r Relation>,
        cascade: bool,
        restart: bool,
    ) -> Apply<'a> {
        let mut sql = "TRUNCATE ".to_owned();
        list(&mut sql, relations, |sql, relation| {
            let _ = write!(sql, "ONLY {}", table(relation));
        });
        sql.push_str(if restart {
            " RESTART IDENTITY"
        } else {
            " CONTINUE IDENTITY"
        });
        sql.push_str(if cascade { " CASCADE" } else { " RESTRICT" });
        Apply::untyped(sql, Vec::new())
    }
}

/// The rows as a table `v` of these columns, joined by key.
fn push_from<'a>(
    mut sql: String,
    word: &str,
    relation: &Relation,
    columns: &[usize],
    rows: &[&'a Tuple],
) -> Apply<'a> {
    let mut values = Vec::with_capacity(columns.len() * rows.len());
    let mut types = Vec::with_capacity(columns.len() * rows.len());
    sql.push_str(word);
    sql.push_str(" (VALUES ");
    list(&mut sql, rows.iter(), |sql, row| {
        let mut fields = row.fields().enumerate();
        sql.push('(');
        list(sql, columns.iter(), |sql, number| {
            let field = fields.find(|(found, _)| found == number);
            values.push(field.and_then(|(_, field)| value(field)));
            types.push(relation.columns[*number].type_oid);
            let _ = write!(sql, "${}", values.len());
        });
        sql.push(')');
    });
    sql.push_str(") AS v (");
    list(&mut sql, columns.iter(), |sql, number| {
        let _ = write!(sql, "c{number}");
    });
    sql.push_str(") WHERE ");
    let keys = columns
        .iter()
        .filter(|number| relation.columns[**number].key);
    joined(&mut sql, " AND ", keys, |sql, number| {
        sql.push_str("t.");
        push_name(sql, &relation.columns[*number].name);
        let _ = write!(sql, " = v.c{number}");
    });
    Apply { sql, types, values }
}

/// Which row is meant.
fn push_where<'a>(
    sql: &mut String,
    relation: &Relation,
    row: &'a Tuple,
    values: &mut Vec<Value<'a>>,
) {
    if relation.identity != Identity::Full {
        sql.push_str(" WHERE ");
        let keys = relation
            .columns
            .iter()
            .zip(row.fields())
            .filter(|(column, _)| column.key);
        joined(sql, " AND ", keys, |sql, (column, field)| {
            push_name(sql, &column.name);
            values.push(value(field));
            let _ = write!(sql, " = ${}", values.len());
        });
        return;
    }
    // Without a key several rows may be equal; one of them is meant, no matter which.
    let _ = write!(
        sql,
        " WHERE ctid = (SELECT ctid FROM {} WHERE ",
        table(relation)
    );
    let all = relation.columns.iter().zip(row.fields());
    joined(sql, " AND ", all, |sql, (column, field)| {
        push_name(sql, &column.name);
        values.push(value(field));
        let number = values.len();
        // These types have no operator that says whether two values are equal.
        let _ = match column.type_oid {
            JSON | XML | 600..=604 | 628 | 718 => {
                write!(sql, "::text IS NOT DISTINCT FROM ${number}::text")
            }
            _ => write!(sql, " IS NOT DISTINCT FROM ${number}"),
        };
    });
    sql.push_str(" LIMIT 1)");
}

const JSON: u32 = 114;
const XML: u32 = 142;

fn value(field: Field<'_>) -> Value<'_> {
    match field {
        Field::Text(text) => Some(text),
        // Only an update can leave a value untold, and it is not asked for those.
        Field::Null | Field::Unchanged => None,
    }
}

fn table(relation: &Relation) -> String {
    let mut name = String::with_capacity(relation.schema.len() + relation.name.len() + 5);
    push_name(&mut name, &relation.schema);
    name.push('.');
    push_name(&mut name, &relation.name);
    name
}

/// A name in SQL, always quoted: what is a keyword changes with the server's version.
fn push_name(sql: &mut String, name: &str) {
    sql.push('"');
    for character in name.chars() {
        if character == '"' {
            sql.push('"');
        }
        sql.push(character);
    }
    sql.push('"');
}

fn list<T>(sql: &mut String, items: impl Iterator<Item = T>, push: impl FnMut(&mut String, T)) {
    joined(sql, ", ", items, push);
}

fn joined<T>(
    sql: &mut String,
    between: &str,
    items: impl Iterator<Item = T>,
    mut push: impl FnMut(&mut String, T),
) {
    for (number, item) in items.enumerate() {
        if number > 0 {
            sql.push_str(between);
        }
        push(sql, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write_set::tests::{relation, tuple};

    fn check(apply: &Apply<'_>, sql: &str, values: &[Option<&str>]) {
        assert_eq!(apply.sql, sql);
        let expected: Vec<Value<'_>> = values
            .iter()
            .map(|value| value.map(str::as_bytes))
            .collect();
        assert_eq!(apply.values, expected);
    }

    #[test]
    fn statements_name_what_is_told_and_nothing_else() {
        let table = relation(
            Identity::Default,
            &[("a", 23, true), ("we\"ird", 25, false), ("c", 25, false)],
        );
        let one = tuple(&[Some("1"), None, Some("x")]);
        let two = tuple(&[Some("2"), Some("~"), Some("y")]);
        check(
            &Apply::insert(&table, &[&one, &one]),
            r#"INSERT INTO "public"."t" ("a", "we""ird", "c") OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3), ($4, $5, $6)"#,
            &[Some("1"), None, Some("x"), Some("1"), None, Some("x")],
        );
        check(
            &Apply::update(&table, None, &two, &Fixed::default()),
            r#"UPDATE "public"."t" SET "c" = $1 WHERE "a" = $2"#,
            &[Some("y"), Some("2")],
        );
        let key = tuple(&[Some("1"), None, None]);
        check(
            &Apply::update(&table, Some(&key), &two, &Fixed::default()),
            r#"UPDATE "public"."t" SET "a" = $1, "c" = $2 WHERE "a" = $3"#,
            &[Some("2"), Some("y"), Some("1")],
        );
        check(
            &Apply::delete(&table, &key),
            r#"DELETE FROM "public"."t" WHERE "a" = $1"#,
            &[Some("1")],
        );
    }

    #[test]
    fn several_rows_are_one_statement() {
        let table = relation(
            Identity::Default,
            &[("a", 23, true), ("b", 25, false), ("c", 1043, false)],
        );
        let one = tuple(&[Some("1"), Some("~"), Some("x")]);
        let two = tuple(&[Some("2"), Some("~"), None]);
        let apply = Apply::update_many(&table, &[&one, &two]);
        check(
            &apply,
            r#"UPDATE "public"."t" AS t SET "c" = v.c2 FROM (VALUES ($1, $2), ($3, $4)) AS v (c0, c2) WHERE t."a" = v.c0"#,
            &[Some("1"), Some("x"), Some("2"), None],
        );
        assert_eq!(apply.types, [23, 1043, 23, 1043]);
        let apply = Apply::delete_many(&table, &[&one, &two]);
        check(
            &apply,
            r#"DELETE FROM "public"."t" AS t USING (VALUES ($1), ($2)) AS v (c0) WHERE t."a" = v.c0"#,
            &[Some("1"), Some("2")],
        );
    }

    #[test]
    fn a_fixed_column_is_compared_and_not_set() {
        let table = relation(
            Identity::Default,
            &[("a", 23, true), ("b", 25, false), ("n", 23, false)],
        );
        let row = tuple(&[Some("1"), Some("x"), Some("7")]);
        let names = ["public", "t", "n"].map(|name| Some(name.to_owned()));
        check(
            &Apply::update(&table, None, &row, &Fixed::of(vec![names.to_vec()])),
            r#"UPDATE "public"."t" SET "b" = $1 WHERE "a" = $2 AND "n" = $3"#,
            &[Some("x"), Some("1"), Some("7")],
        );
    }

    #[test]
    fn an_update_that_changes_nothing_still_touches_its_row() {
        let table = relation(Identity::Default, &[("a", 23, true)]);
        let row = tuple(&[Some("1")]);
        check(
            &Apply::update(&table, None, &row, &Fixed::default()),
            r#"UPDATE "public"."t" SET "a" = $1 WHERE "a" = $2"#,
            &[Some("1"), Some("1")],
        );
    }

    #[test]
    fn without_a_key_one_of_the_equal_rows_is_meant() {
        let table = relation(Identity::Full, &[("a", 23, true), ("j", 114, true)]);
        let row = tuple(&[None, Some("{}")]);
        check(
            &Apply::delete(&table, &row),
            r#"DELETE FROM "public"."t" WHERE ctid = (SELECT ctid FROM "public"."t" WHERE "a" IS NOT DISTINCT FROM $1 AND "j"::text IS NOT DISTINCT FROM $2::text LIMIT 1)"#,
            &[None, Some("{}")],
        );
    }
}
