//! The extended protocol: statements and portals by name; "" names the unnamed one of each.
//!
//! Relies on: `planning` for plans, `execute` for running them.  Promises: PostgreSQL's rules for what a name may mean, and for
//! how long; a text that was planned before is not parsed again.  Does not: decode values, or end a transaction (`sync` does).

use super::Session;
use super::planning::{PLANS_MAX, Prepared, Source};
use super::portal::{Portal, PortalState, no_portal, portal_is_there};
use crate::activity::State;
use crate::step::{RowSink, Step};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value, stack};
use quintet_ir::statement::OutputColumn;
use quintet_sql::Parsed;
use quintet_sql::command::Command;
use std::sync::Arc;

/// Rows that take some ten milliseconds to read.
const ROWS_HEAVY: u64 = 50_000;

/// How many EXECUTEs may stand behind each other: each is a call within a call.
const EXECUTES_MAX: usize = 8;

/// How long a statement may keep a thread that others wait for before it has to begin anew elsewhere: about what a call of
/// a routine takes there (TPC-C's Delivery), and ten times what going elsewhere and back does.
const MOMENT_NS: u64 = 500_000;

impl Session {
    /// Plans a statement and keeps it under a name.
    ///
    /// # Errors
    /// `42P05` if the name is taken, `42601` for several statements in one, and whatever planning says.
    pub fn parse(&mut self, name: &str, sql: &str, types: &[SqlType]) -> SqlResult<()> {
        stack::for_running(|| self.parse_with_room(name, sql, types))
    }

    fn parse_with_room(&mut self, name: &str, sql: &str, types: &[SqlType]) -> SqlResult<()> {
        if !name.is_empty() && self.statements.contains_key(name) {
            return Err(SqlError::new(
                SqlState::DUPLICATE_PREPARED_STATEMENT,
                format!("prepared statement \"{name}\" already exists"),
            ));
        }
        let known = self.texts.get(sql);
        let known = known.filter(|known| *known.source.declared == *types);
        let prepared = match known.map(Arc::clone) {
            Some(known) => {
                self.refuse_if_failed(&known.source)?;
                match self.is_current(&known) {
                    true => known,
                    // Types that were not declared are found out anew, as for a text that was never seen.
                    false => self.plan_text(sql, known.source.clone())?,
                }
            }
            None => {
                let mut parsed = quintet_sql::parse(sql)?;
                if parsed.len() > 1 {
                    return Err(SqlError::new(
                        SqlState::SYNTAX_ERROR,
                        "cannot insert multiple commands into a prepared statement",
                    ));
                }
                let source = Source {
                    parsed: Arc::new(parsed.pop().unwrap_or_else(Parsed::empty)),
                    declared: types.into(),
                };
                self.refuse_if_failed(&source)?;
                self.plan_text(sql, source)?
            }
        };
        self.note_prepared(name, sql, &prepared.params);
        self.statements.insert(name.to_string(), prepared);
        Ok(())
    }

    /// Plans a text, and keeps the plan for the next time that it is sent.
    fn plan_text(&mut self, sql: &str, source: Source) -> SqlResult<Arc<Prepared>> {
        let prepared = self.plan_ahead(source)?;
        if matches!(prepared.planned.command, Command::Run(_)) {
            if self.texts.len() >= PLANS_MAX {
                self.texts.clear();
            }
            self.texts.insert(sql.to_string(), Arc::clone(&prepared));
        }
        Ok(prepared)
    }

    fn note_prepared(&self, name: &str, sql: &str, params: &[SqlType]) {
        // A name that no client can say is not shown either.
        if !name.is_empty() && !name.starts_with('\0') {
            let now = (self.host.clock.now_micros(), false);
            self.prepared.add(name, sql, params, now);
        }
    }

    /// The text of a call of the function with this number, and the types of its parameters.
    ///
    /// # Errors
    /// `42883` if there is none; `0A000` for what can not be called so.
    pub fn function_call(&mut self, function: u32) -> SqlResult<(String, Vec<SqlType>)> {
        self.refuse_if_failed(&Source {
            parsed: Arc::new(Parsed::empty()),
            declared: [].into(),
        })?;
        self.schema().catalog.function_call(function)
    }

    /// A statement by name.
    ///
    /// # Errors
    /// `26000`.
    pub fn statement(&self, name: &str) -> SqlResult<Arc<Prepared>> {
        self.statements
            .get(name)
            .cloned()
            .ok_or_else(|| no_statement(name))
    }

    /// Binds values, already of the parameters' types, to a statement.
    ///
    /// # Errors
    /// `26000`, `42P03`, `08P01` for a wrong number of values; planning again may fail.
    pub fn bind(&mut self, portal: &str, statement: &str, params: Vec<Value>) -> SqlResult<()> {
        stack::for_running(|| self.put_portal(portal, statement, params))
    }

    fn put_portal(&mut self, portal: &str, statement: &str, params: Vec<Value>) -> SqlResult<()> {
        let prepared = self.statement(statement)?;
        self.refuse_if_failed(&prepared.source)?;
        let prepared = match prepared.put_off {
            true => prepared,
            false => self.current(prepared, Some(statement))?,
        };
        if params.len() != prepared.params.len() {
            return Err(SqlError::new(
                SqlState::PROTOCOL_VIOLATION,
                format!(
                    "bind message supplies {} parameters, but prepared statement \"{statement}\" requires {}",
                    params.len(),
                    prepared.params.len()
                ),
            ));
        }
        if !portal.is_empty() && self.portals.contains(portal) {
            return Err(portal_is_there(portal));
        }
        self.portals.put(portal, Portal::new(prepared, params));
        Ok(())
    }

    /// What follows the portal's execution is the end of the implicit transaction: a call, or a statement that changes something, may
    /// commit at once, and be run again if it loses.
    pub fn ends_with(&mut self, portal: &str) {
        if let Some(portal) = self.portals.get_mut(portal)
            && let Command::Run(procedure) = &portal.prepared.planned.command
            && (procedure.is_call() || procedure.is_write())
        {
            portal.commits = true;
        }
    }

    /// What a portal returns.
    ///
    /// # Errors
    /// `34000`; `26000` for EXECUTE of a statement that is not there.
    pub fn portal_columns(&self, portal: &str) -> SqlResult<Vec<OutputColumn>> {
        let portal = self.portals.get(portal).ok_or_else(|| no_portal(portal))?;
        self.columns_of(&portal.prepared)
    }

    /// What a statement will return, as far as that is known: of an EXECUTE or FETCH of what is not there, nothing.
    pub fn statement_columns(&self, prepared: &Prepared) -> Vec<OutputColumn> {
        self.columns_of(prepared).unwrap_or_default()
    }

    /// The text of a portal's statement, as it was planned.
    pub fn portal_text(&self, portal: &str) -> Option<&str> {
        let portal = self.portals.get(portal)?;
        Some(portal.prepared.source.parsed.text())
    }

    /// True if running the portal touches a handful of rows by key. Otherwise it should not run on a
    /// thread that others wait for.
    pub fn is_short(&self, portal: &str) -> bool {
        self.portals
            .get(portal)
            .is_none_or(|portal| self.what_runs(portal).short)
    }

    /// What a portal is about to run, looking through EXECUTE.
    fn what_runs<'a>(&'a self, portal: &'a Portal) -> &'a Prepared {
        let known = match &portal.prepared.planned.command {
            Command::Execute { name, .. } => self.statements.get(name),
            _ => None,
        };
        known.unwrap_or(&portal.prepared)
    }

    /// True if running the portal reads large tables from one end to the other, and others wait for nothing that the
    /// session holds: it may well let short statements go first.
    pub fn is_heavy(&self, portal: &str) -> bool {
        let Some(portal) = self.portals.get(portal) else {
            return false;
        };
        let scans = self.what_runs(portal).scans.iter();
        let rows: u64 = scans.map(|space| self.db.tc.records(*space)).sum();
        let holds_nothing = || {
            self.txn
                .as_ref()
                .is_none_or(|txn| !txn.has_writes() && !txn.has_locks())
        };
        rows >= ROWS_HEAVY && holds_nothing()
    }

    /// True if the portal, which is not short, is worth a try with [`Session::execute_briefly`].
    pub fn may_be_brief(&self, portal: &str) -> bool {
        let Some(portal) = self.portals.get(portal) else {
            return false;
        };
        let brief = self.what_runs(portal).brief.as_ref();
        matches!(portal.state, PortalState::Ready)
            && brief.is_some_and(|patience| patience.lock().has())
    }

    /// As [`Session::execute`], on a thread that others wait for. `None`: it takes longer than a moment, and is as it was before it
    /// began, but for locks; the rows that it gave are void. Only of a portal that [may be brief](Session::may_be_brief), until
    /// it has said `Yielded` or `Suspended`.
    ///
    /// # Errors
    /// As [`Session::execute`].
    pub fn execute_briefly(
        &mut self,
        portal: &str,
        max_rows: usize,
        sink: &mut dyn RowSink,
    ) -> SqlResult<Option<Step>> {
        let announce = self
            .portals
            .get(portal)
            .is_some_and(|portal| portal.announce);
        let end = self.host.clock.monotonic_nanos() + MOMENT_NS;
        self.host.moment = Some(end);
        let result = self.execute(portal, max_rows, sink);
        self.host.moment = None;
        let over = self.host.moment_is_over.take() && matches!(result, Ok(Step::Yielded));
        if let Some(portal) = self.portals.get_mut(portal) {
            if over {
                portal.announce |= announce;
            }
            if let Some(patience) = &portal.prepared.brief
                && !matches!(result, Ok(Step::Wait(_)))
            {
                patience.lock().learn(!over);
            }
        }
        match over {
            true => Ok(None),
            false => result.map(Some),
        }
    }

    /// Runs a portal; `max_rows` 0 means all. Call it again after `Wait` and `Yielded`, and when more
    /// rows are wanted after `Suspended`.
    ///
    /// # Errors
    /// Whatever the statement says; tell [`Session::fail`] afterwards.
    pub fn execute(
        &mut self,
        portal: &str,
        max_rows: usize,
        sink: &mut dyn RowSink,
    ) -> SqlResult<Step> {
        stack::for_running(|| self.execute_with_room(portal, max_rows, sink))
    }

    fn execute_with_room(
        &mut self,
        portal: &str,
        max_rows: usize,
        sink: &mut dyn RowSink,
    ) -> SqlResult<Step> {
        let Some((name, mut taken)) = self.portals.take(portal) else {
            return Err(no_portal(portal));
        };
        if !taken.begun || self.shown != State::Active {
            self.show_active(&taken);
        }
        self.show_running();
        let ends = self.ends;
        let result = self.run_portal(&mut taken, max_rows, sink);
        self.show_step(&result);
        if let Err(error) = &result {
            self.note_error(error);
        }
        let over = matches!(result, Ok(Step::Done(_)) | Err(_)) && self.ends != ends;
        match over {
            true => self.portals.forget(&name),
            false => self.portals.put_back(name, taken),
        }
        result
    }

    /// Forgets a statement; an unknown name is fine.
    pub fn close_statement(&mut self, name: &str) {
        self.statements.remove(name);
        self.prepared.remove(name);
    }

    /// Forgets a portal; an unknown name is fine.
    pub fn close_portal(&mut self, name: &str) {
        self.portals.close(name);
    }

    /// What EXECUTE of a name comes to. A statement that a client has prepared by message may itself be an EXECUTE, even of its own name.
    ///
    /// # Errors
    /// `26000`; `54001` if there is no end.
    pub(super) fn executed(&self, name: &str) -> SqlResult<Arc<Prepared>> {
        let mut found = self.statement(name)?;
        for _ in 0..EXECUTES_MAX {
            let Command::Execute { name, .. } = &found.planned.command else {
                return Ok(found);
            };
            found = self.statement(name)?;
        }
        Err(SqlError::new(
            SqlState(*b"54001"),
            "stack depth limit exceeded",
        ))
    }

    /// What a statement returns, looking through EXECUTE and FETCH.
    pub(super) fn columns_of(&self, prepared: &Prepared) -> SqlResult<Vec<OutputColumn>> {
        match &prepared.planned.command {
            Command::Execute { name, .. } => {
                let inner = self.executed(name)?;
                self.columns_of(&inner)
            }
            Command::Fetch {
                name,
                discard: false,
                ..
            } => {
                if let Some(cursor) = self.host.cursors.borrow().get(name) {
                    return Ok(cursor.opening.columns.clone());
                }
                let inner = self.portals.get(name).ok_or_else(|| no_portal(name))?;
                Ok(inner.prepared.columns.clone())
            }
            _ => Ok(prepared.columns.clone()),
        }
    }
}

pub(super) fn no_statement(name: &str) -> SqlError {
    let message = if name.is_empty() {
        "unnamed prepared statement does not exist".to_string()
    } else {
        format!("prepared statement \"{name}\" does not exist")
    };
    SqlError::new(SqlState::INVALID_SQL_STATEMENT_NAME, message)
}
