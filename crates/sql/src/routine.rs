//! Procedures and functions: from their text to the IR, and from a call to its routine.
//!
//! Relies on: `plpgsql` for the tree of a body, the binder and the planner for the SQL in it.  Promises:
//! every name, type and plan is decided when a routine is created, and again when the schema has changed;
//! what Quintet lacks is refused then, with its line.  Does not: run anything.
//!
//! ```text
//! CREATE … ──► record (its text) ──► signature ──► who calls is matched against it
//!                                └─► program: the routine and those it calls, as steps
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `signature` | parameters and result, by types |
//! | `create` | CREATE and DROP |
//! | `block` | DO |
//! | `built_in` | trigger functions that are built in |
//! | `guise` | SECURITY DEFINER and SET; ALTER FUNCTION |
//! | `explain` | EXPLAIN PROCEDURE and FUNCTION |
//! | `matching` | which routine a call means, and its arguments |
//! | `polymorphic` | functions of anyelement and its kin, by the types of a call |
//! | `call` | CALL, SELECT f(…), SELECT * FROM f(…) by a client |
//! | `hold` | statements whose expressions call functions |
//! | `changes` | WITH queries that change rows |
//! | `merge` | MERGE |
//! | `fire`, `fire/rows`, `fire/kept`, `fire/upsert`, `fire/instead`, `fire/late` | changes of tables and views that have triggers |
//! | `link` | a routine with those it calls, as one program |
//! | `embed` | texts of SQL inside a routine to expressions and statements |
//! | `lower` | bodies in PL/pgSQL to steps; `lower/declare` variables, `lower/assign` targets, `lower/raise` messages, `lower/cursor`, `lower/portal` and `lower/current` cursors |
//! | `query` | bodies in SQL to steps |

mod block;
mod built_in;
mod call;
mod changes;
mod create;
mod domain;
mod embed;
mod explain;
mod fire;
mod guise;
mod hold;
mod link;
mod lower;
mod matching;
mod merge;
mod polymorphic;
mod query;
mod signature;

use crate::catalog::Catalog;
use crate::large_object;
use crate::parse;
use crate::planner::{DynamicColumns, NOTHING_DYNAMIC, PlanContext, Planner, Who};
use crate::plpgsql::{self, Header};
use crate::records::RoutineRecord;
use crate::system::print::quoted;
use crate::watch;
use pg_query::NodeEnum;
use pg_query::protobuf::CreateFunctionStmt;
use quintet_base::text_format::FormatContext;
use quintet_base::{RoutineId, SqlError, SqlResult, SqlState};
use quintet_ir::Program;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub(crate) use block::plan_do;
pub(crate) use built_in::{built_in, built_in_named};
pub use call::program;
pub(crate) use call::{
    Calls, any_node, callee, callee_of_record, has_subquery, plan_call, plan_select_of_routine,
};
pub(crate) use changes::{has_changes, plan_changes};
pub(crate) use create::{as_written, find, plan_create, plan_drop};
pub(crate) use explain::{Explained, plan_explain, readable};
pub(crate) use fire::fires;
pub use fire::{plan_on_truncate, plan_put_off};
pub(crate) use guise::{Own, plan_alter};
pub(crate) use hold::hold;
pub(crate) use matching::{Matched, check_schema, is_routine, matched, named};
pub(crate) use merge::column;
pub(crate) use polymorphic::{Variants, is_polymorphic};
pub(crate) use signature::{Parameter, Signature, any_of, describe};

/// Which names are those of types with a single value, though no type of PostgreSQL's has them: enums and domains.
fn single_types(context: &PlanContext) -> impl Fn(&[&str]) -> bool {
    let planner = Planner::new(context, "", &[]);
    move |name| {
        let found = planner.type_of_name(name);
        found.is_ok_and(|record| record.fields().is_none())
    }
}

/// A routine in the catalogue. What it becomes is made when somebody asks.
#[derive(Debug)]
pub(crate) struct StoredRoutine {
    pub record: Arc<RoutineRecord>,
    /// The record's, or that of a form that was made for the types of a call.
    id: RoutineId,
    signature: OnceLock<SqlResult<Arc<Signature>>>,
    program: OnceLock<SqlResult<Arc<Program>>>,
    /// For callers whose search path is another than `public`.
    elsewhere: Mutex<BTreeMap<Vec<String>, SqlResult<Arc<Program>>>>,
    /// It may ask how deep in triggers it is.
    pub counts_triggers: bool,
}

/// Whether a text may call `pg_trigger_depth`.
pub(crate) fn counts_triggers(text: &str) -> bool {
    text.to_ascii_lowercase().contains("trigger_depth")
}

/// Programs of one routine are kept for so many search paths.
const PATHS_MAX: usize = 64;

impl StoredRoutine {
    pub fn new(record: RoutineRecord) -> StoredRoutine {
        StoredRoutine::of(Arc::new(record))
    }

    fn of(record: Arc<RoutineRecord>) -> StoredRoutine {
        StoredRoutine {
            id: record.id,
            counts_triggers: counts_triggers(&record.text),
            record,
            signature: OnceLock::new(),
            program: OnceLock::new(),
            elsewhere: Mutex::default(),
        }
    }

    /// A form of it for the types of a call.
    fn variant(&self, id: RoutineId, signature: Signature) -> StoredRoutine {
        StoredRoutine {
            id,
            signature: OnceLock::from(Ok(Arc::new(signature))),
            ..StoredRoutine::of(Arc::clone(&self.record))
        }
    }

    /// The same, to be made again.
    pub fn again(&self) -> StoredRoutine {
        StoredRoutine::of(Arc::clone(&self.record))
    }

    /// Its parameters and its result.
    ///
    /// # Errors
    /// `42704`, `42P01` if a type or table that it names has gone.
    pub fn signature(&self, catalog: &Catalog) -> SqlResult<&Arc<Signature>> {
        watch::kept(&self.signature, || {
            let statement = statement(&self.record)?;
            // Types without a schema are the routine's own schema's, or everybody's: others were given theirs when it was made.
            let path = format!("{}, public", quoted(&self.record.schema));
            with_context(catalog, &path, &NOTHING_DYNAMIC, |context| {
                Signature::of(self.record.id, &statement, &self.record.text, context).map(Arc::new)
            })
        })
    }

    /// What its text says: its header, its language and its body.
    ///
    /// # Errors
    /// `XX001` if the text is damaged.
    pub fn source(&self) -> SqlResult<(Header, String, String)> {
        let statement = statement(&self.record)?;
        let (header, body) = plpgsql::header(&statement, &self.record.text)?;
        let language = plpgsql::language(&statement).unwrap_or_default();
        Ok((header, language, body))
    }

    /// What it has of its own while it runs.
    ///
    /// # Errors
    /// `XX001` if the text is damaged.
    pub fn own(&self) -> SqlResult<Own> {
        Own::of(&*statement(&self.record)?)
    }

    /// It and those it calls.
    ///
    /// # Errors
    /// What its body says, against the schema as it is.
    pub fn program(&self, catalog: &Catalog) -> SqlResult<&Arc<Program>> {
        watch::kept(&self.program, || {
            with_context(catalog, "public", &NOTHING_DYNAMIC, |context| {
                link::program(self.id, context).map(Arc::new)
            })
        })
    }

    /// The same where bare names in its body are looked for in these schemas: a body means what its caller's search path
    /// says, and where that does not know all of them, what it means in its own schema and `public`.
    ///
    /// # Errors
    /// As [`StoredRoutine::program`].
    pub fn program_within(
        &self,
        catalog: &Catalog,
        path: &[String],
        dynamic: &DynamicColumns,
    ) -> SqlResult<Arc<Program>> {
        if !dynamic.is_empty() {
            return self.made_within(catalog, path, dynamic);
        }
        if path == ["public"] || large_object::is_routine(&self.record) {
            return self.program(catalog).map(Arc::clone);
        }
        let mut known = self
            .elsewhere
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = known.get(path) {
            return made.clone();
        }
        let made = self.made_within(catalog, path, dynamic);
        if known.len() < PATHS_MAX && !watch::is_over() {
            known.insert(path.to_vec(), made.clone());
        }
        made
    }
}

impl StoredRoutine {
    fn made_within(
        &self,
        catalog: &Catalog,
        path: &[String],
        dynamic: &DynamicColumns,
    ) -> SqlResult<Arc<Program>> {
        let schemas: Vec<String> = path.iter().map(|schema| quoted(schema)).collect();
        let make = |path: &str| {
            with_context(catalog, path, dynamic, |context| {
                link::program(self.id, context).map(Arc::new)
            })
        };
        let made = make(&schemas.join(", "));
        // A view keeps the path that it was made with, which may have none of the names in the bodies that it calls.
        let own = format!("{}, public", quoted(&self.record.schema));
        made.or_else(|error| make(&own).map_err(|_| error))
    }
}

/// Stored text means the same whatever the session's settings, but for the schemas that bare names are looked for in, of which
/// one may be a session's temporary one.
fn with_context<T>(
    catalog: &Catalog,
    path: &str,
    dynamic: &DynamicColumns,
    make: impl FnOnce(&PlanContext) -> T,
) -> T {
    let format = FormatContext::default();
    make(&PlanContext {
        catalog,
        schema: path,
        user: Who::along(path),
        database: "",
        format: &format,
        dynamic,
    })
}

/// The statement that created a routine, with the options that it has now.
fn statement(record: &RoutineRecord) -> SqlResult<Box<CreateFunctionStmt>> {
    let mut parsed = parse::parse(&record.text)?;
    let mut created = match parsed.pop().and_then(parse::Parsed::into_node) {
        Some(NodeEnum::CreateFunctionStmt(statement)) => statement,
        _ => return Err(damaged()),
    };
    for altered in &record.altered {
        created.options.extend(guise::options_of(altered)?);
    }
    Ok(created)
}

fn damaged() -> SqlError {
    SqlError::new(SqlState::DATA_CORRUPTED, "stored routine is damaged")
}
