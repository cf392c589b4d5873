//! Configurations, dictionaries and parsers of text search, as the catalogue lists them.
//!
//! Relies on: `quintet_textsearch` for which there are.  Promises: PostgreSQL's names and numbers; a configuration that is not listed
//! is none.  Does not: know any that a user made.

use super::{Definition, OWNER, PG_CATALOG, oid, text};
use crate::planner::Planner;
use quintet_base::Value;
use quintet_base::lexemes::textsearch::dictionary::{CONFIGS, SIMPLE};
use quintet_base::lexemes::textsearch::token::Kind;
use quintet_ir::function::unaccent::DICTIONARY as UNACCENT;

const PARSER: u32 = 3722;
const SIMPLE_TEMPLATE: u32 = 3727;
const SNOWBALL_TEMPLATE: u32 = 13150;
const UNACCENT_TEMPLATE: u32 = 15_906;

/// Numbers of the relations that list dictionaries and their templates.
const PG_TS_DICT: u32 = 3600;
const PG_TS_TEMPLATE: u32 = 3764;

/// What is listed here and made with an extension: the relation's number, and its own.
pub(super) fn members(extension: &str) -> &'static [(u32, u32)] {
    match extension {
        "unaccent" => &[
            (PG_TS_DICT, UNACCENT.0),
            (PG_TS_TEMPLATE, UNACCENT_TEMPLATE),
        ],
        _ => &[],
    }
}

/// The schema of the extension that brings the dictionary, once it was made.
fn schema_of_unaccent(planner: &Planner) -> Option<u32> {
    let mut made = planner.catalog().extensions();
    let (_, made) = made.find(|(_, made)| made.name == UNACCENT.1)?;
    let schemas = super::schemas(planner.catalog());
    let found = schemas.iter().find(|(_, name)| *name == made.schema);
    found.map(|(number, _)| *number)
}

pub(super) const RELATIONS: &[Definition] = &[
    Definition {
        name: "pg_ts_config",
        columns: &["oid", "cfgname", "cfgnamespace", "cfgowner", "cfgparser"],
        rows: |_| {
            let rows = CONFIGS.iter().map(|config| {
                let (number, name) = (oid(config.number), text(config.name));
                vec![number, name, oid(PG_CATALOG), oid(OWNER), oid(PARSER)]
            });
            rows.collect()
        },
    },
    Definition {
        name: "pg_ts_config_map",
        columns: &["mapcfg", "maptokentype", "mapseqno", "mapdict"],
        rows: |_| {
            let of_config = CONFIGS.iter().flat_map(|config| {
                Kind::ALL.iter().filter_map(move |(kind, ..)| {
                    let dictionary = config.dictionary(*kind)?.dictionary;
                    let kind = Value::Int4(kind.number());
                    Some(vec![
                        oid(config.number),
                        kind,
                        Value::Int4(1),
                        oid(dictionary),
                    ])
                })
            });
            of_config.collect()
        },
    },
    Definition {
        name: "pg_ts_dict",
        columns: &[
            "oid",
            "dictname",
            "dictnamespace",
            "dictowner",
            "dicttemplate",
            "dictinitoption",
        ],
        rows: |planner| {
            let unaccent = schema_of_unaccent(planner).map(|schema| {
                vec![
                    oid(UNACCENT.0),
                    text(UNACCENT.1),
                    oid(schema),
                    oid(OWNER),
                    oid(UNACCENT_TEMPLATE),
                    text("rules = 'unaccent'"),
                ]
            });
            let rows = CONFIGS.iter().map(|config| {
                let is_simple = *config == SIMPLE;
                vec![
                    oid(config.dictionary),
                    text(&config.dictionary_name()),
                    oid(PG_CATALOG),
                    oid(OWNER),
                    oid(if is_simple {
                        SIMPLE_TEMPLATE
                    } else {
                        SNOWBALL_TEMPLATE
                    }),
                    match (is_simple, config.has_stop_words()) {
                        (true, _) => Value::Null,
                        (false, false) => text(&format!("language = '{}'", config.name)),
                        (false, true) => {
                            text(&format!("language = '{0}', stopwords = '{0}'", config.name))
                        }
                    },
                ]
            });
            rows.chain(unaccent).collect()
        },
    },
    Definition {
        name: "pg_ts_parser",
        columns: &["oid", "prsname", "prsnamespace"],
        rows: |_| vec![vec![oid(PARSER), text("default"), oid(PG_CATALOG)]],
    },
    Definition {
        name: "pg_ts_template",
        columns: &["oid", "tmplname", "tmplnamespace"],
        rows: |planner| {
            let row = |(number, name, schema)| vec![oid(number), text(name), oid(schema)];
            let all = [
                (SIMPLE_TEMPLATE, "simple", PG_CATALOG),
                (SNOWBALL_TEMPLATE, "snowball", PG_CATALOG),
            ];
            let unaccent = schema_of_unaccent(planner);
            let unaccent = unaccent.map(|schema| (UNACCENT_TEMPLATE, UNACCENT.1, schema));
            all.into_iter().chain(unaccent).map(row).collect()
        },
    },
];
