//! What the system's relations say of types and domains that users made.
//!
//! Relies on: the catalogue.  Promises: PostgreSQL's numbers of what is built in beside the users' own, names as they
//! are kept, without quotes.  Does not: list the types of tables' rows (`row_types` does).

use super::array_names::array_name;
use super::type_layout::{alignment_of, collation_of, storage_of};
use super::{Definition, OWNER, flag, oid, print, schema_oid, text, type_name};
use crate::domain::scope_of_value;
use crate::planner::Planner;
use crate::records::{DomainRecord, TypeKind, TypeRecord};
use quintet_base::{SqlType, TypeMod, Value};
use quintet_ir::Expr;

pub(super) const RELATIONS: &[Definition] = &[Definition {
    name: "pg_enum",
    columns: &["oid", "enumtypid", "enumsortorder", "enumlabel"],
    rows: |planner| {
        let mut rows = Vec::new();
        for record in planner.catalog().user_types() {
            for label in record.labels().unwrap_or_default() {
                rows.push(vec![
                    oid(label.id),
                    oid(record.id),
                    Value::Float4(label.sort),
                    text(&label.label),
                ]);
            }
        }
        rows
    },
}];

pub(super) const INFORMATION: &[Definition] = &[
    Definition {
        name: "domains",
        columns: &[
            "domain_catalog",
            "domain_schema",
            "domain_name",
            "data_type",
            "character_maximum_length",
            "character_octet_length",
            "numeric_precision",
            "numeric_precision_radix",
            "numeric_scale",
            "datetime_precision",
            "domain_default",
            "udt_catalog",
            "udt_schema",
            "udt_name",
            "dtd_identifier",
        ],
        rows: domains,
    },
    Definition {
        name: "domain_constraints",
        columns: &[
            "constraint_catalog",
            "constraint_schema",
            "constraint_name",
            "domain_catalog",
            "domain_schema",
            "domain_name",
            "is_deferrable",
            "initially_deferred",
        ],
        rows: |planner| {
            let mut rows = Vec::new();
            for (record, domain) in all_domains(planner) {
                for check in &domain.checks {
                    let mut row = place(planner, &record.schema, &check.name);
                    row.extend(place(planner, &record.schema, &record.name));
                    row.extend([text("NO"), text("NO")]);
                    rows.push(row);
                }
            }
            rows
        },
    },
    Definition {
        name: "column_domain_usage",
        columns: &[
            "domain_catalog",
            "domain_schema",
            "domain_name",
            "table_catalog",
            "table_schema",
            "table_name",
            "column_name",
        ],
        rows: |planner| {
            let mut rows = Vec::new();
            for table in planner.catalog().tables() {
                for (number, column) in table.visible_columns() {
                    let Some(domain) = domain_of(planner, table.id, number) else {
                        continue;
                    };
                    let mut row = place(planner, &domain.schema, &domain.name);
                    row.extend(place(planner, &table.schema, &table.name));
                    row.push(text(&column.name));
                    rows.push(row);
                }
            }
            rows
        },
    },
    Definition {
        name: "attributes",
        columns: &[
            "udt_catalog",
            "udt_schema",
            "udt_name",
            "attribute_name",
            "ordinal_position",
            "is_nullable",
            "data_type",
            "character_maximum_length",
            "character_octet_length",
            "numeric_precision",
            "numeric_precision_radix",
            "numeric_scale",
            "datetime_precision",
            "attribute_udt_catalog",
            "attribute_udt_schema",
            "attribute_udt_name",
            "dtd_identifier",
            "is_derived_reference_attribute",
        ],
        rows: attributes,
    },
    Definition {
        name: "user_defined_types",
        columns: &[
            "user_defined_type_catalog",
            "user_defined_type_schema",
            "user_defined_type_name",
            "user_defined_type_category",
            "is_instantiable",
        ],
        rows: |planner| {
            let types = planner.catalog().user_types();
            let composite = types.filter(|record| record.fields().is_some());
            let row = |record: &std::sync::Arc<TypeRecord>| {
                let mut row = place(planner, &record.schema, &record.name);
                row.extend([text("STRUCTURED"), text("YES")]);
                row
            };
            composite.map(row).collect()
        },
    },
];

fn place(planner: &Planner, schema: &str, name: &str) -> Vec<Value> {
    vec![text(planner.context.database), text(schema), text(name)]
}

fn all_domains<'a>(
    planner: &Planner<'a>,
) -> impl Iterator<Item = (&'a TypeRecord, &'a DomainRecord)> {
    let types = planner.catalog().user_types();
    types.filter_map(|record| Some((&**record, record.domain()?)))
}

/// The domain that a column of a table is of.
pub(super) fn domain_of<'a>(
    planner: &Planner<'a>,
    table: quintet_base::TableId,
    column: usize,
) -> Option<&'a TypeRecord> {
    let number = planner.catalog().record(table)?.domain(column)?;
    planner.catalog().user_type(number).map(|record| &**record)
}

/// Schema and name of a type, as the catalogue has them.
pub(super) fn place_of(planner: &Planner, ty: SqlType) -> (String, String) {
    if let SqlType::Composite(number) | SqlType::CompositeArray(number) = ty
        && let Some((schema, name)) = planner.catalog().name_of_composite(number)
    {
        return match ty {
            SqlType::Composite(_) => (schema, name),
            _ => {
                let name = array_name(planner.catalog(), &schema, &name);
                (schema, name)
            }
        };
    }
    let made = match ty {
        SqlType::Enum(number) | SqlType::EnumArray(number) => planner.catalog().user_type(number),
        ty if ty.is_of_extension() => {
            let own = ty.element().unwrap_or(ty);
            planner.catalog().user_type(own.oid())
        }
        _ => None,
    };
    match (made, ty) {
        (Some(record), ty) if ty.element().is_some() => {
            let name = array_name(planner.catalog(), &record.schema, &record.name);
            (record.schema.clone(), name)
        }
        (Some(record), _) => (record.schema.clone(), record.name.clone()),
        (None, ty) => ("pg_catalog".to_string(), type_name(ty)),
    }
}

/// A domain's default as PostgreSQL prints it.
fn default_of(planner: &Planner, record: &TypeRecord, domain: &DomainRecord) -> Value {
    let Some(source) = &domain.default else {
        return Value::Null;
    };
    let column = domain.as_column(&record.name);
    text(&print::default(planner, &record.schema, &column, source))
}

/// A check of a domain as PostgreSQL prints it.
pub(super) fn printed_check(
    planner: &Planner,
    home: &str,
    domain: &DomainRecord,
    source: &str,
    pretty: bool,
) -> String {
    let scope = scope_of_value(Expr::Column(0, domain.base), domain.modifier);
    // VALUE is a word of the grammar there, and no name.
    print::within(planner, home, |planner| {
        print::source_of_value(planner, &scope, source, pretty)
    })
}

fn domains(planner: &Planner) -> Vec<Vec<Value>> {
    let row = |(record, domain): (&TypeRecord, &DomainRecord)| {
        let (schema, name) = place_of(planner, domain.base);
        let mut row = place(planner, &record.schema, &record.name);
        row.push(text(&super::schema::data_type(domain.base)));
        row.extend(super::views::measures(domain.base, domain.modifier));
        row.extend([
            default_of(planner, record, domain),
            text(planner.context.database),
            text(&schema),
            text(&name),
            text("1"),
        ]);
        row
    };
    all_domains(planner).map(row).collect()
}

fn attributes(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for record in planner.catalog().user_types() {
        for (field, position) in record.fields().unwrap_or_default().iter().zip(1..) {
            let (schema, name) = place_of(planner, field.ty);
            let mut row = place(planner, &record.schema, &record.name);
            row.extend([
                text(&field.name),
                Value::Int4(position),
                text("YES"),
                text(&super::schema::data_type(field.ty)),
            ]);
            row.extend(super::views::measures(field.ty, field.modifier));
            row.extend([
                text(planner.context.database),
                text(&schema),
                text(&name),
                text(&position.to_string()),
                text("NO"),
            ]);
            rows.push(row);
        }
    }
    rows
}

/// Rows of `pg_type`, in the columns of its definition, for types and their arrays.
pub(super) fn types(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for record in planner.catalog().user_types() {
        let (kind, category, like) = match &record.kind {
            TypeKind::Enum(_) => ("e", "E", SqlType::Enum(record.id)),
            TypeKind::Domain(domain) => ("d", super::fixed::category(domain.base).0, domain.base),
            TypeKind::Composite(_) => ("c", "C", SqlType::Record),
            TypeKind::Base(ty) => ("b", super::fixed::category(*ty).0, *ty),
        };
        let whole = record.fields().is_some();
        let domain = record.domain();
        rows.push(vec![
            oid(record.id),
            text(&record.name),
            oid(schema_oid(planner, &record.schema)),
            oid(OWNER),
            Value::Int2(like.type_len()),
            flag(like.is_by_value()),
            text(kind),
            text(category),
            flag(false),
            flag(true),
            text(","),
            oid(if whole { record.class_number() } else { 0 }),
            // Elements are told of the base type alone.
            oid(0),
            oid(record.array_number()),
            flag(domain.is_some_and(|domain| domain.not_null)),
            oid(domain.map_or(0, |domain| domain.over.unwrap_or(domain.base.oid()))),
            Value::Int4(match domain {
                Some(domain) if domain.over.is_none() => domain.modifier.0,
                _ => TypeMod::NONE.0,
            }),
            Value::Int4(0),
            oid(collation_of(like)),
            text(match whole {
                true => "d",
                false => alignment_of(like),
            }),
            text(storage_of(like)),
            domain.map_or(Value::Null, |domain| default_of(planner, record, domain)),
        ]);
        rows.push(vec![
            oid(record.array_number()),
            text(&array_name(planner.catalog(), &record.schema, &record.name)),
            oid(schema_oid(planner, &record.schema)),
            oid(OWNER),
            Value::Int2(-1),
            flag(false),
            text("b"),
            text("A"),
            flag(false),
            flag(true),
            text(","),
            oid(0),
            oid(record.id),
            oid(0),
            flag(false),
            oid(0),
            Value::Int4(-1),
            Value::Int4(0),
            oid(collation_of(like)),
            text(match whole {
                true => "d",
                false => alignment_of(like),
            }),
            text("x"),
            Value::Null,
        ]);
    }
    rows
}
