//! SQL text to IR.
//!
//! Relies on: `pg_query` for the grammar, `ir` for what statements become.  Promises: a planned
//! statement needs neither its text nor the catalogue to run; errors have PostgreSQL's SQLSTATE,
//! text and position; what Quintet lacks is refused by name (0A000), nothing is silently ignored
//! (what is accepted without effect is listed in `docs/sql.md`).  Does not: run anything, do I/O,
//! read a clock.
//!
//! ```text
//! text --parse--> Parsed --plan(catalogue, parameter types)--> Planned { Command, columns, … }
//!   \--normalize--> text without literals, as a key for plans that are known already
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `parse`, `kind` | the door to the parser; what kind of statement, by its words |
//! | `tree` | pieces of the parser's tree, for statements that become others |
//! | `normalize` | texts without their literals |
//! | `command` | what a statement becomes |
//! | `planner`, `statement` | the state of planning; who plans which kind |
//! | `catalog`, `records`, `stored` | names to definitions; what is stored |
//! | `databases` | several catalogues, what they share, and copies of one |
//! | `partition`, `references`, `generated`, `temporary` | partitions, foreign keys, generated columns and temporary schemas of the catalogue |
//! | `system` | pg_catalog and information_schema |
//! | `dump`, `script` | the catalogue as statements; a catalogue from statements, without a database |
//! | `secrets` | texts of statements without passwords |
//! | `scope`, `names`, `types`, `coerce` | names, types and conversions |
//! | `user_type`, `domain` | types that users made; values that become a domain's |
//! | `composite`, `parts` | rows that become values of a type; fields of columns as targets |
//! | `comparable` | which types have an order, and which equality |
//! | `ctid`, `current` | the places of rows; the row that a cursor stands on |
//! | `expr`, `operator`, `once`, `call`, `subquery`, `subquery_rows`, `row_value`, `document` | scalar expressions; rows in them; JSON of any values |
//! | `from`, `join_clause`, `function_source`, `sample`, `set_source`, `unnest`, `with`, `recursion`, `search` | sources of rows as they are written |
//! | `pulled`, `never` | subselects that are parts of the query around them; what has no rows |
//! | `semi_join` | EXISTS of many rows, as joins |
//! | `join`, `sizes`, `access`, `condition`, `implied`, `array_key`, `rewrite` | their order and their access paths |
//! | `select`, `output`, `values`, `set_operation`, `limit`, `locking` | queries |
//! | `group`, `grouping_sets`, `within_group`, `distinct`, `window` | what queries make of several rows |
//! | `insert`, `update`, `delete`, `copy` | statements that change rows |
//! | `sets`, `expanded` | sets in select lists |
//! | `view`, `updatable` | views, where they are used; where rows are changed through them |
//! | `ddl`, `draft` | schema changes |
//! | `role` | roles, owners and privileges |
//! | `row_security` | which rows of a table a statement meets, and may leave behind |
//! | `plpgsql` | bodies of stored procedures, as a tree |
//! | `routine`, `variables` | procedures and functions: created, called, lowered to steps |
//! | `utility`, `advisory`, `set_config`, `feed` | statements for the session, and of the database itself |
//! | `watch` | whether planning is still wanted |
//! | `kept_settings` | settings that clients set and that steer nothing |

mod access;
mod advisory;
mod array_key;
mod call;
pub mod catalog;
mod coerce;
pub mod command;
mod comparable;
mod composite;
mod condition;
pub mod copy;
mod ctid;
mod current;
mod databases;
mod ddl;
mod delete;
mod distinct;
mod document;
mod domain;
mod draft;
mod dump;
mod expanded;
mod expr;
mod feed;
mod from;
mod function_source;
mod generated;
mod group;
mod grouping_sets;
mod implied;
mod insert;
mod join;
mod join_clause;
mod kept_settings;
mod kind;
mod large_object;
mod later_words;
mod limit;
mod locking;
mod names;
mod never;
pub mod normalize;
mod once;
mod operator;
mod output;
pub mod parse;
mod partition;
mod parts;
mod planner;
mod plpgsql;
mod pulled;
mod records;
mod recursion;
mod references;
mod rewrite;
pub mod role;
mod routine;
mod row_security;
mod row_value;
mod sample;
mod scope;
mod script;
mod search;
mod secrets;
mod select;
mod semi_join;
mod set_config;
mod set_operation;
mod set_source;
mod sets;
mod sizes;
mod statement;
mod stored;
mod subquery;
mod subquery_rows;
mod system;
mod temporary;
mod text_call;
mod tree;
mod types;
mod unnest;
mod updatable;
mod update;
mod user_type;
mod utility;
mod values;
mod variables;
mod view;
mod watch;
mod window;
mod with;
mod within_group;

pub use catalog::{Catalog, CatalogChange};
pub use command::{Command, Planned};
pub use databases::{DatabaseChange, DatabaseRecord, DatabaseStand, FIRST_NAME};
pub use ddl::{plan_commit, plan_discard, renew};
pub use dump::DumpLine;
pub use feed::Feed;
pub use kept_settings::{KEPT_SETTINGS, KeptSetting, kept_setting};
pub use kind::Kind;
pub use normalize::{Normalized, normalize};
pub use parse::{Parsed, parse};
pub use planner::{DynamicColumns, NOTHING_DYNAMIC, PlanContext, Who, plan, plan_sized};
pub use routine::{plan_on_truncate, plan_put_off, program};
pub use row_security::RowSecurity;
pub use secrets::without_passwords;
pub use sizes::Sizes;
pub use system::Known;
pub use temporary::{TemporaryRecords, TemporaryWork, temporary_numbers};
pub use watch::{Look, watched};
