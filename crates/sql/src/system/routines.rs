//! Relations about procedures and functions, and what describes one in words.
//!
//! Relies on: the catalogue, `functions` for what is built in.  Promises: one row per routine of the users', one per
//! language.  Does not: list a routine whose types have gone until they are back.

use super::array_names::array_name;
use super::functions::{self, BuiltIn};
use super::print::quoted;
use super::row_types::row_type;
use super::{Definition, OWNER, flag, oid, schema_oid, short, text, type_name};
use crate::names::inner;
use crate::parse;
use crate::planner::{Planner, names_of_path};
use crate::plpgsql::{Header, ParameterMode, Returns, Volatility};
use crate::routine::{Own, Parameter, Signature, StoredRoutine};
use crate::utility::shown_setting;
use pg_query::NodeEnum;
use pg_query::protobuf::Node;
use quintet_base::types::format_type;
use quintet_base::value::Array;
use quintet_base::{SqlType, TypeMod, Value};
use quintet_ir::routine::Output;
use quintet_ir::schema::TableRef;
use std::fmt::Write;
use std::sync::Arc;

/// PostgreSQL's number of the pseudotype `record`.
const RECORD: u32 = 2249;
/// The same of `trigger`.
const TRIGGER: u32 = 2279;

/// Languages with their numbers.
pub(super) const LANGUAGES: [(&str, u32); 2] = [("sql", 14), ("plpgsql", 13_545)];
/// Those of what is built in: users cannot write in them.
pub(super) const OTHER_LANGUAGES: [(&str, u32); 2] = [("internal", 12), ("c", 13)];

/// The number of a language, 0 if there is none.
pub(super) fn language_number(name: &str) -> u32 {
    let mut all = LANGUAGES.iter().chain(&OTHER_LANGUAGES);
    all.find(|known| known.0 == name).map_or(0, |known| known.1)
}

pub(super) const RELATIONS: &[Definition] = &[
    Definition {
        name: "pg_proc",
        columns: &[
            "oid",
            "proname",
            "pronamespace",
            "proowner",
            "prolang",
            "procost",
            "prorows",
            "provariadic",
            "prokind",
            "prosecdef",
            "proleakproof",
            "proisstrict",
            "proretset",
            "provolatile",
            "proparallel",
            "pronargs",
            "pronargdefaults",
            "prorettype",
            "proargtypes",
            "proargnames",
            "proallargtypes",
            "proargmodes",
            "prosrc",
            "proconfig",
            "proacl",
        ],
        rows: procedures,
    },
    Definition {
        name: "pg_language",
        columns: &["oid", "lanname", "lanowner", "lanispl", "lanpltrusted"],
        rows: |_| {
            let row = |&(name, number): &(&str, u32)| {
                vec![
                    oid(number),
                    text(name),
                    oid(OWNER),
                    flag(name == "plpgsql"),
                    flag(matches!(name, "sql" | "plpgsql")),
                ]
            };
            OTHER_LANGUAGES.iter().chain(&LANGUAGES).map(row).collect()
        },
    },
];

pub(super) const INFORMATION: &[Definition] = &[
    Definition {
        name: "routines",
        columns: &[
            "specific_catalog",
            "specific_schema",
            "specific_name",
            "routine_catalog",
            "routine_schema",
            "routine_name",
            "routine_type",
            "data_type",
            "type_udt_catalog",
            "type_udt_schema",
            "type_udt_name",
            "routine_body",
            "routine_definition",
            "external_language",
            "is_deterministic",
            "is_null_call",
            "schema_level_routine",
            "max_dynamic_result_sets",
            "security_type",
        ],
        rows: listed,
    },
    Definition {
        name: "parameters",
        columns: &[
            "specific_catalog",
            "specific_schema",
            "specific_name",
            "ordinal_position",
            "parameter_mode",
            "is_result",
            "as_locator",
            "parameter_name",
            "data_type",
            "udt_catalog",
            "udt_schema",
            "udt_name",
            "dtd_identifier",
            "parameter_default",
        ],
        rows: parameters,
    },
];

/// A routine with what describes it.
struct Described<'c> {
    stored: &'c StoredRoutine,
    signature: Arc<Signature>,
    header: Header,
    language: String,
    body: String,
    own: Own,
    /// What the parameters that are rows are called to the reader, and the result if it is one.
    row_names: (Vec<Option<String>>, Option<String>),
}

fn described<'c>(planner: &Planner<'c>) -> Vec<Described<'c>> {
    let one = |stored: &'c Arc<StoredRoutine>| {
        let signature = Arc::clone(stored.signature(planner.catalog()).ok()?);
        let (header, language, body) = stored.source().ok()?;
        let row_name = |table: &TableRef| planner.shown_row(table);
        let parameters = signature.parameters.iter();
        let parameters = parameters.map(|parameter| parameter.row.as_ref().map(row_name));
        let row_names = (parameters.collect(), signature.row.as_ref().map(row_name));
        Some(Described {
            row_names,
            stored,
            signature,
            header,
            language,
            body,
            own: stored.own().ok()?,
        })
    };
    planner.catalog().all_routines().filter_map(one).collect()
}

fn procedures(planner: &Planner) -> Vec<Vec<Value>> {
    let row = |routine: Described| {
        let Described {
            stored,
            signature,
            header,
            language,
            body,
            own,
            ..
        } = routine;
        let inputs = || signature.parameters.iter().filter(|p| p.is_input());
        let volatility = match header.volatility {
            Volatility::Immutable => "i",
            Volatility::Stable => "s",
            Volatility::Volatile => "v",
        };
        let set = signature.output == Output::Rows;
        let language = language_number(&language);
        let type_of = |p: &Parameter| oid(parameter_number(planner, p));
        let types = inputs().map(type_of);
        // As in PostgreSQL, nothing where all of them are given.
        let all = || {
            let all = signature.parameters.iter();
            let given = signature
                .parameters
                .iter()
                .all(|p| p.mode == ParameterMode::In);
            (!given).then_some(all)
        };
        let modes = all().map(|all| {
            let letter = |p: &Parameter| match p.mode {
                ParameterMode::In => "i",
                ParameterMode::Out => "o",
                ParameterMode::InOut => "b",
                ParameterMode::Variadic => "v",
                ParameterMode::Table => "t",
            };
            all.map(|p| text(letter(p))).collect()
        });
        let names = signature.parameters.iter();
        let names = names.map(|p| text(p.name.as_deref().unwrap_or_default()));
        let named = signature.parameters.iter().any(|p| p.name.is_some());
        let array = |element, values| {
            Value::Array(Box::new(Array {
                shape: None,
                element,
                values,
            }))
        };
        let result = result_number(planner, &header, &signature);
        let variadic = signature.parameters.iter().find_map(Parameter::taken);
        vec![
            oid(stored.record.id.0),
            text(&stored.record.name),
            oid(schema_oid(planner, &stored.record.schema)),
            oid(OWNER),
            oid(language),
            Value::Float4(100.0),
            Value::Float4(if set { 1000.0 } else { 0.0 }),
            oid(variadic.map_or(0, SqlType::oid)),
            text(if signature.procedure { "p" } else { "f" }),
            flag(own.definer),
            flag(false),
            flag(signature.strict),
            flag(set),
            text(volatility),
            text("u"),
            short(inputs().count()),
            short(inputs().filter(|p| p.default.is_some()).count()),
            oid(result),
            array(SqlType::Oid, types.collect()),
            match named {
                true => array(SqlType::Text, names.collect()),
                false => Value::Null,
            },
            all().map_or(Value::Null, |all| {
                array(SqlType::Oid, all.map(type_of).collect())
            }),
            modes.map_or(Value::Null, |modes| array(SqlType::InternalChar, modes)),
            text(&body),
            super::config(&own.settings),
            Value::Null,
        ]
    };
    let there = |function: &&BuiltIn| {
        let ty = function.type_of_extension();
        ty.is_none_or(|ty| planner.catalog().user_type(ty).is_some())
    };
    let built_in = functions::all().iter().filter(there).map(BuiltIn::row);
    built_in
        .chain(described(planner).into_iter().map(row))
        .collect()
}

/// The number of the type that a routine gives.
fn result_number(planner: &Planner, header: &Header, signature: &Signature) -> u32 {
    if matches!(header.returns, Returns::Trigger) {
        return TRIGGER;
    }
    match (&signature.columns[..], signature.is_row || signature.record) {
        (_, true) => match &signature.row {
            Some(row) => number_of_row(planner, row),
            None => RECORD,
        },
        ([], _) => SqlType::Void.oid(),
        ([_], false) if signature.procedure => RECORD,
        ([column, ..], false) => signature.result_domain.unwrap_or(column.ty.oid()),
    }
}

/// The number of a parameter's type.
fn parameter_number(planner: &Planner, parameter: &Parameter) -> u32 {
    let row = parameter.row.as_ref();
    let own = row.map_or(parameter.ty.oid(), |row| number_of_row(planner, row));
    parameter.domain.unwrap_or(own)
}

/// Schema and name in `pg_type` of what a routine gives, and what the standard calls it.
fn result_place(planner: &Planner, routine: &Described) -> [Value; 3] {
    let Described {
        header, signature, ..
    } = routine;
    place_of_type(
        planner,
        result_number(planner, header, signature),
        signature.row.as_ref(),
    )
}

/// Of a type with this number, the one of a table's rows if that is known.
fn place_of_type(planner: &Planner, number: u32, row: Option<&TableRef>) -> [Value; 3] {
    let place = |schema: &str, name: &str, word: &str| [text(schema), text(name), text(word)];
    if number == TRIGGER {
        return place("pg_catalog", "trigger", "trigger");
    }
    if let Some(ty) = SqlType::built_in_with_oid(number) {
        return place("pg_catalog", &type_name(ty), &super::schema::data_type(ty));
    }
    const OTHER: &str = "USER-DEFINED";
    let catalog = planner.catalog();
    match (catalog.type_with(number), row) {
        (Some(record), _) if record.id == number => place(&record.schema, &record.name, OTHER),
        (Some(record), _) => {
            let name = array_name(catalog, &record.schema, &record.name);
            place(&record.schema, &name, "ARRAY")
        }
        (None, Some(row)) => place(&row.schema, &row.name, OTHER),
        (None, None) => [Value::Null, Value::Null, Value::Null],
    }
}

/// Types that users made, and rows of tables, with the routines that are declared with them.
pub(super) fn types_of_routines(planner: &Planner) -> Vec<(u32, u32)> {
    let catalog = planner.catalog();
    let mut all = Vec::new();
    for routine in described(planner) {
        let number = routine.stored.record.id.0;
        let signature = &routine.signature;
        let values = signature.parameters.iter().map(|p| p.ty);
        let values = values.chain(signature.columns.iter().map(|column| column.ty));
        let values = values.filter_map(|ty| catalog.type_with(ty.oid()).map(|record| record.id));
        let rows = signature.parameters.iter().filter_map(|p| p.row.as_ref());
        let rows = rows.chain(&signature.row);
        let rows = rows.map(|row| number_of_row(planner, row));
        let domains = signature.parameters.iter().filter_map(|p| p.domain);
        let domains = domains.chain(signature.result_domain);
        all.extend(values.chain(rows).chain(domains).map(|ty| (number, ty)));
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// The number of the type of a table's rows, or of a composite type.
fn number_of_row(planner: &Planner, table: &TableRef) -> u32 {
    match planner.catalog().user_type(table.id.0) {
        Some(record) => record.id,
        None => row_type(table.id.0),
    }
}

fn listed(planner: &Planner) -> Vec<Vec<Value>> {
    let row = |routine: Described| {
        let [udt_schema, udt_name, data_type] = match routine.signature.procedure {
            true => [Value::Null, Value::Null, Value::Null],
            false => result_place(planner, &routine),
        };
        let Described {
            stored,
            signature,
            header,
            language,
            body,
            own,
            ..
        } = routine;
        let name = || text(&stored.record.name);
        let schema = || text(&stored.record.schema);
        let kind = if signature.procedure {
            "PROCEDURE"
        } else {
            "FUNCTION"
        };
        let deterministic = header.volatility == Volatility::Immutable;
        vec![
            text(planner.context.database),
            schema(),
            text(&format!("{}_{}", stored.record.name, stored.record.id.0)),
            text(planner.context.database),
            schema(),
            name(),
            text(kind),
            data_type,
            match &udt_name {
                Value::Null => Value::Null,
                _ => text(planner.context.database),
            },
            udt_schema,
            udt_name,
            text(if language == "sql" { "SQL" } else { "EXTERNAL" }),
            text(&body),
            text(&language.to_ascii_uppercase()),
            text(if deterministic { "YES" } else { "NO" }),
            match (signature.procedure, signature.strict) {
                (true, _) => Value::Null,
                (false, true) => text("YES"),
                (false, false) => text("NO"),
            },
            text("YES"),
            Value::Int4(0),
            text(if own.definer { "DEFINER" } else { "INVOKER" }),
        ]
    };
    described(planner).into_iter().map(row).collect()
}

fn parameters(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for routine in described(planner) {
        let record = &routine.stored.record;
        for (parameter, position) in routine.signature.parameters.iter().zip(1..) {
            let mode = match parameter.mode {
                ParameterMode::In | ParameterMode::Variadic => "IN",
                ParameterMode::InOut => "INOUT",
                ParameterMode::Out | ParameterMode::Table => "OUT",
            };
            let number = parameter_number(planner, parameter);
            let [schema, name, data_type] = place_of_type(planner, number, parameter.row.as_ref());
            let default = parameter.default.as_ref();
            rows.push(vec![
                text(planner.context.database),
                text(&record.schema),
                text(&format!("{}_{}", record.name, record.id.0)),
                Value::Int4(position),
                text(mode),
                text("NO"),
                text("NO"),
                parameter.name.as_deref().map_or(Value::Null, text),
                data_type,
                text(planner.context.database),
                schema,
                name,
                text(&position.to_string()),
                default.map_or(Value::Null, |node| text(&default_text(parameter, node))),
            ]);
        }
    }
    rows
}

/// Functions that describe a routine by its number: what each of the routines is described by. `None` for other
/// names.
pub(crate) fn descriptions(planner: &Planner, function: &str) -> Option<Vec<(u32, String)>> {
    let describe: fn(&Described) -> Option<String> = match function {
        "pg_get_function_arguments" => |routine| Some(arguments_text(routine, true)),
        "pg_get_function_identity_arguments" => |routine| Some(arguments_text(routine, false)),
        "pg_get_function_result" => result_text,
        // Bodies are kept as they were written, in prosrc.
        "pg_get_function_sqlbody" => |_| None,
        "pg_get_functiondef" => |routine| Some(definition(routine)),
        _ => return None,
    };
    let routines = described(planner);
    let pairs = routines.iter().filter_map(|routine| {
        let text = describe(routine)?;
        Some((routine.stored.record.id.0, text))
    });
    Some(pairs.collect())
}

/// CREATE OR REPLACE of a routine, in PostgreSQL's layout; a body without quotes (BEGIN ATOMIC) as it was written.
fn definition(routine: &Described) -> String {
    let record = &routine.stored.record;
    if has_unquoted_body(&record.text) {
        return record.text.clone();
    }
    let (kind, mut tag) = match routine.signature.procedure {
        true => ("PROCEDURE", "$procedure$".to_string()),
        false => ("FUNCTION", "$function$".to_string()),
    };
    let result =
        result_text(routine).map_or(String::new(), |result| format!(" RETURNS {result}\n"));
    let mut options = String::new();
    options.push_str(match routine.header.volatility {
        Volatility::Immutable => " IMMUTABLE",
        Volatility::Stable => " STABLE",
        Volatility::Volatile => "",
    });
    if routine.signature.strict {
        options.push_str(" STRICT");
    }
    if routine.own.definer {
        options.push_str(" SECURITY DEFINER");
    }
    if !options.is_empty() {
        options.push('\n');
    }
    for (name, value) in &routine.own.settings {
        let (shown, value) = (shown_setting(name), value_for_set(name, value));
        let _ = writeln!(options, " SET {} TO {value}", quoted(shown));
    }
    while routine.body.contains(&tag) {
        tag.insert(tag.len() - 1, 'x');
    }
    format!(
        "CREATE OR REPLACE {kind} {}.{}({})\n{result} LANGUAGE {}\n{options}AS {tag}{}{tag}\n",
        quoted(&record.schema),
        quoted(&record.name),
        arguments_text(routine, true),
        routine.language,
        routine.body,
    )
}

/// The value as SET takes it again.
fn value_for_set(name: &str, value: &str) -> String {
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    match name == "search_path" {
        true => {
            let names = names_of_path(value).map(|it| literal(&it));
            names.collect::<Vec<_>>().join(", ")
        }
        false => literal(value),
    }
}

fn has_unquoted_body(text: &str) -> bool {
    let parsed = parse::parse(text).unwrap_or_default();
    let mut nodes = parsed.into_iter().filter_map(parse::Parsed::into_node);
    nodes.any(|node| matches!(node, NodeEnum::CreateFunctionStmt(made) if made.sql_body.is_some()))
}

/// `a integer, INOUT b text DEFAULT 'x'::text`.
fn arguments_text(routine: &Described, with_defaults: bool) -> String {
    let signature = &routine.signature;
    let (rows, _) = &routine.row_names;
    let all = signature.parameters.iter().zip(rows);
    let shown = all.filter(|(parameter, _)| parameter.mode != ParameterMode::Table);
    let texts = shown.map(|(parameter, row)| {
        let mut parts: Vec<String> = Vec::new();
        match parameter.mode {
            ParameterMode::In | ParameterMode::Table if !signature.procedure => {}
            ParameterMode::In | ParameterMode::Table => parts.push("IN".into()),
            ParameterMode::Out => parts.push("OUT".into()),
            ParameterMode::InOut => parts.push("INOUT".into()),
            ParameterMode::Variadic => parts.push("VARIADIC".into()),
        }
        parts.extend(parameter.name.as_deref().map(quoted));
        parts.push(row.clone().unwrap_or_else(|| parameter.type_text()));
        if let Some(node) = parameter.default.as_ref().filter(|_| with_defaults) {
            parts.push(format!("DEFAULT {}", default_text(parameter, node)));
        }
        parts.join(" ")
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// A parameter's DEFAULT.
fn default_text(parameter: &Parameter, node: &Node) -> String {
    let text = parse::expression_text(node).unwrap_or_else(|_| "…".into());
    // PostgreSQL shows the type of a literal that has none of its own.
    let plain = matches!(inner(node), Some(NodeEnum::AConst(_)));
    match plain && (text.starts_with('\'') || text == "NULL") {
        true => format!("{text}::{}", parameter.type_text()),
        false => text,
    }
}

/// What a function gives, in words; none for a procedure.
fn result_text(routine: &Described) -> Option<String> {
    let Described {
        header, signature, ..
    } = routine;
    if signature.procedure {
        return None;
    }
    let name = |ty| format_type(ty, TypeMod::NONE);
    let tables = signature
        .parameters
        .iter()
        .filter(|p| p.mode == ParameterMode::Table);
    let tables: Vec<String> = tables
        .map(|p| {
            format!(
                "{} {}",
                quoted(p.name.as_deref().unwrap_or_default()),
                p.type_text()
            )
        })
        .collect();
    if !tables.is_empty() {
        return Some(format!("TABLE({})", tables.join(", ")));
    }
    let one = match (&header.returns, &signature.columns[..]) {
        (Returns::Nothing, _) => "void".to_string(),
        (Returns::Trigger, _) => "trigger".to_string(),
        (Returns::Value(ty) | Returns::SetOf(ty), _) if signature.is_row || signature.record => {
            let (_, row) = &routine.row_names;
            row.clone().unwrap_or_else(|| ty.to_string())
        }
        (_, [column]) => match signature.result_domain {
            Some(domain) => quintet_base::objects::mark(domain),
            None => name(column.ty),
        },
        _ => "record".to_string(),
    };
    Some(match signature.output {
        Output::Rows => format!("SETOF {one}"),
        _ => one,
    })
}
