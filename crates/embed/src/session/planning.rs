//! What a statement is planned into, and when it is planned again.
//!
//! Relies on: `sql` for plans, `tc` for how many rows tables have.  Promises: a statement that is bound was planned with the
//! schema, the search path and the role of that moment, and for tables of about their size; a client that was told
//! a statement's columns meets no others.  Does not: keep plans by name or by text (`extended`, `simple`), or run them.

use super::Session;
use crate::contention::Label;
use crate::database::Schema;
use parking_lot::Mutex;
use quintet_base::{Patience, RoleId, SpaceId, SqlError, SqlResult, SqlState, SqlType, Timestamp};
use quintet_ir::expressions::{each_node_of_statement, may_begin_anew};
use quintet_ir::routine::Program;
use quintet_ir::statement::{Body, OutputColumn};
use quintet_ir::{Path, Plan, Statement};
use quintet_sql::command::{Command, Planned};
use quintet_sql::{Parsed, Sizes};
use std::sync::Arc;

/// Plans kept per session and protocol by their text; beyond it all are forgotten, since a client that
/// sends so many different texts gains nothing from any of them.
pub(super) const PLANS_MAX: usize = 512;

/// A plan is made again when a table has so many times the rows that it was made for, or that share of them;
/// orders of joins hardly change within this.
const SIZE_FACTOR: u64 = 4;

/// Tables of fewer rows are as good as one another.
const ROWS_FEW: u64 = 5_000;

/// A planned statement.
pub struct Prepared {
    /// Types of the parameters.
    pub params: Vec<SqlType>,
    /// Columns of the result; empty if it returns no rows.
    pub columns: Vec<OutputColumn>,
    pub(super) source: Source,
    pub(super) planned: Planned,
    /// Of the schema it was planned with; planned again when that moves.
    pub(super) revision: u64,
    /// When that schema was committed; [`Timestamp::MAX`] if it was this transaction's own.
    pub(super) schema_timestamp: Timestamp,
    /// Of the session's own records it was planned with.
    pub(super) own_version: u64,
    /// Of the search path it was planned with; planned again when that moves.
    pub(super) path_version: u64,
    /// Some column's values are written by its type alone; see [`crate::step::RowSink::typed`].
    pub(super) typed: bool,
    /// Whose statement it was when it was planned.
    pub(super) role: RoleId,
    pub(super) short: bool,
    /// Of a statement that may be tried where others wait, and begun anew elsewhere: what came of that.
    pub(super) brief: Option<Mutex<Patience>>,
    /// What its conflicts are counted by.
    pub(super) label: Label,
    /// How many rows the tables had that the plan was made for; planned again when they have many more, or fewer.
    pub(super) sizes: Vec<(SpaceId, u64)>,
    /// Tables that a query reads from one end to the other; empty for what locks or writes.
    pub(super) scans: Vec<SpaceId>,
    /// Literals must stay in its text; see [`wants_constants`].
    pub(super) constants: bool,
    /// It is not planned before it is run, since what it names may come to be until then.
    pub(super) put_off: bool,
}

impl Prepared {
    /// The statement, as it was planned.
    pub(crate) fn text(&self) -> &str {
        self.source.parsed.text()
    }
}

/// What a plan can be made from again.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) parsed: Arc<Parsed>,
    /// As the client declared them, `Unknown` where it did not.
    pub(super) declared: Arc<[SqlType]>,
}

impl Session {
    pub(super) fn plan(&mut self, source: Source) -> SqlResult<Arc<Prepared>> {
        let schema = Arc::clone(self.schema());
        let context = self.host.plan_context(&schema.catalog);
        let count = |space| self.db.tc.records(space);
        let sizes = Sizes::new(&count);
        let planned = self.host.watched(|| {
            quintet_sql::plan_sized(&source.parsed, &context, &source.declared, &sizes)
        })?;
        let scans = match &planned.command {
            Command::Run(procedure) => procedure.statement().map_or_else(Vec::new, scanned),
            _ => Vec::new(),
        };
        let constants = match &planned.command {
            Command::Run(procedure) => procedure.statement().is_some_and(wants_constants),
            _ => false,
        };
        let short = match &planned.command {
            // What is run once has no reason to be quick.
            Command::Run(procedure) => procedure.is_short() && planned.tag != "DO",
            Command::Ddl(_)
            | Command::CopyFrom(_)
            | Command::CopyTo(_)
            | Command::Explain { .. }
            | Command::ExplainRoutine(_)
            | Command::Feed(..) => false,
            Command::Execute { .. } | Command::Fetch { .. } | Command::Nothing { .. } => false,
            // Its query is run to the end there and then.
            Command::Declare(cursor) if cursor.hold || cursor.scroll => false,
            _ => true,
        };
        let brief = match &planned.command {
            Command::Run(procedure) if !short => procedure.statement().is_some_and(may_begin_anew),
            _ => false,
        };
        let label = self.label_of(&planned);
        Ok(Arc::new(Prepared {
            label,
            params: planned.params.clone(),
            typed: are_typed(&planned.columns),
            columns: planned.columns.clone(),
            source,
            planned,
            revision: schema.revision,
            schema_timestamp: schema.timestamp,
            own_version: self.own_version(),
            path_version: self.host.settings.path_version,
            role: self.host.role(),
            short,
            brief: brief.then(Mutex::default),
            sizes: sizes.asked(),
            scans,
            constants,
            put_off: false,
        }))
    }

    /// As [`Session::plan`], for a statement that is sent before it is run: PostgreSQL does not look at what CREATE and its
    /// like name until they are carried out. What cannot be planned now is planned then.
    pub(super) fn plan_ahead(&mut self, source: Source) -> SqlResult<Arc<Prepared>> {
        let error = match self.plan(source.clone()) {
            Err(error)
                if source.parsed.is_looked_at_late() && error.state != SqlState::QUERY_CANCELED =>
            {
                error
            }
            planned => return planned,
        };
        let nothing = Source {
            parsed: Arc::new(Parsed::empty()),
            declared: Arc::clone(&source.declared),
        };
        let empty = Arc::into_inner(self.plan(nothing)?).ok_or(error)?;
        Ok(Arc::new(Prepared {
            source,
            short: false,
            put_off: true,
            ..empty
        }))
    }

    /// What conflicts of a statement are counted by: a routine's name, or the kind of statement. None of what
    /// touches no row.
    fn label_of(&self, planned: &Planned) -> Label {
        let contention = &self.db.contention;
        match &planned.command {
            Command::Run(procedure) => match &procedure.body {
                // A statement that was made into steps.
                Body::Call { program, .. } if program.is_nameless() => {
                    contention.label(planned.tag, false)
                }
                Body::Call { program, .. } => contention.label(name_of(program), true),
                Body::Statement(_) => contention.label(planned.tag, false),
            },
            Command::Ddl(_) | Command::CopyFrom(_) => contention.label(planned.tag, false),
            _ => Label::default(),
        }
    }

    /// The statement planned with the present schema; planned again if that has moved, for parameters of the same types: a client
    /// may have been told them.
    pub(super) fn current(
        &mut self,
        prepared: Arc<Prepared>,
        name: Option<&str>,
    ) -> SqlResult<Arc<Prepared>> {
        if self.is_current(&prepared) {
            return Ok(prepared);
        }
        let declared: Arc<[SqlType]> = prepared.params.as_slice().into();
        let again = self.plan(Source {
            declared,
            ..prepared.source.clone()
        })?;
        // A client that was told the columns must not meet others; the simple protocol tells them
        // each time.
        if name.is_some() && !are_alike(&again.columns, &prepared.columns) {
            return Err(SqlError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cached plan must not change result type",
            ));
        }
        if let Some(name) = name {
            self.statements.insert(name.to_string(), Arc::clone(&again));
        }
        Ok(again)
    }

    /// Whether a statement was planned with what it would be planned with now.
    pub(super) fn is_current(&mut self, prepared: &Prepared) -> bool {
        !prepared.put_off
            && prepared.revision == self.schema().revision
            && prepared.path_version == self.host.settings.path_version
            && prepared.role == self.host.role()
            && self.is_sized(prepared)
    }

    /// Whether tables have about as many rows as the plan was made for.
    fn is_sized(&self, prepared: &Prepared) -> bool {
        prepared.sizes.iter().all(|&(space, then)| {
            let now = self.db.tc.records(space);
            let (less, more) = (then.min(now), then.max(now));
            more < ROWS_FEW || more / SIZE_FACTOR <= less
        })
    }

    /// The schema statements are planned with: this transaction's own, that of the moment it reads, else the
    /// newest committed; with the session's temporary schema, which is not of the past.
    pub(super) fn schema(&mut self) -> &Arc<Schema> {
        // A statement is planned before its transaction begins.
        let ahead = match self.host.settings.as_of {
            Some(as_of) if self.txn.is_none() => {
                let now = self.host.clock.now_micros();
                let moment = self.db.history.at(as_of, now);
                moment.ok().map(|moment| moment.schema)
            }
            _ => None,
        };
        let before = Arc::as_ptr(&self.host.schema);
        let other = self.past.as_ref().or(ahead.as_ref());
        if self.own.is_used() && other.is_none() {
            self.see();
        } else {
            let known = &mut self.host.schema;
            match self.changed.schema.as_ref().or(other) {
                Some(changed) if Arc::ptr_eq(changed, known) => {}
                Some(changed) => *known = Arc::clone(changed),
                None => self.db.refresh(known),
            }
        }
        let moved = Arc::as_ptr(&self.host.schema) != before;
        let settings = &self.host.settings;
        // A role that was taken goes back with its transaction.
        let role = settings.identity.current();
        if moved || self.known_path != settings.path_version || self.known_role != role {
            self.know_objects();
        }
        &self.host.schema
    }
}

/// What the routine that a program begins with is called, without its arguments.
pub(super) fn name_of(program: &Program) -> &str {
    let name = program.routines.first().map_or("", |routine| &routine.name);
    name.split('(').next().unwrap_or_default()
}

/// The tables that a query reads from one end to the other.
fn scanned(statement: &Statement) -> Vec<SpaceId> {
    let mut found = Vec::new();
    let mut locks = !matches!(statement, Statement::Query(_));
    each_node_of_statement(statement, &mut |plan| match plan {
        Plan::Scan(access) if matches!(access.path, Path::Full) => found.push(access.table.space),
        Plan::Lock { .. } | Plan::Call { .. } => locks = true,
        _ => {}
    });
    if locks { Vec::new() } else { found }
}

/// True if the plan might be another with parameters' values in it as constants.
fn wants_constants(statement: &Statement) -> bool {
    let mut found = false;
    each_node_of_statement(statement, &mut |plan| {
        if let Plan::Scan(access) = plan {
            found = found || access.table.is_found_by_constants();
        }
    });
    found
}

/// True if a client sees no difference but where the columns come from.
pub(super) fn are_alike(now: &[OutputColumn], before: &[OutputColumn]) -> bool {
    let told = |column: &OutputColumn| (column.name.clone(), column.ty, column.modifier);
    now.iter().map(told).eq(before.iter().map(told))
}

/// See [`Prepared::typed`].
pub(super) fn are_typed(columns: &[OutputColumn]) -> bool {
    columns.iter().any(|column| column.ty.is_told_by_type())
}
