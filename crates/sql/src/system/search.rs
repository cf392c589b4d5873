//! Configurations, dictionaries and parsers of text search, as the catalogue lists them.
//!
//! Relies on: `quintet_textsearch` for which there are.  Promises: PostgreSQL's names and numbers; a configuration that is not listed
//! is none.  Does not: know any that a user made.

use super::{Definition, OWNER, PG_CATALOG, oid, text};
use quintet_base::Value;
use quintet_base::lexemes::textsearch::dictionary::{CONFIGS, SIMPLE};
use quintet_base::lexemes::textsearch::token::Kind;
use quintet_ir::function::unaccent::DICTIONARY as UNACCENT;

const PARSER: u32 = 3722;
const SIMPLE_TEMPLATE: u32 = 3727;
const SNOWBALL_TEMPLATE: u32 = 13150;
const UNACCENT_TEMPLATE: u32 = 15_906;

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
            // Made with its extension.
            let schemas = super::schemas(planner.catalog());
            let mut made = planner.catalog().extensions();
            let unaccent = made.find(|(_, made)| made.name == UNACCENT.1);
            let schema = unaccent.and_then(|(_, made)| {
                let found = schemas.iter().find(|(_, name)| *name == made.schema);
                found.map(|(number, _)| *number)
            });
            let unaccent = schema.map(|schema| {
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
        rows: |_| {
            let row = |(number, name)| vec![oid(number), text(name), oid(PG_CATALOG)];
            let all = [(SIMPLE_TEMPLATE, "simple"), (SNOWBALL_TEMPLATE, "snowball")];
            all.map(row).to_vec()
        },
    },
];
