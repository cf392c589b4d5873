//! Carrying out a portal's command.
//!
//! Relies on: `transaction`, `change`, `copy`, `setting`, … for their commands; `direct::Run` for IR.
//! Promises: a portal can be called again at any point where a step came out of it.
//! Does not: plan anything.

use super::change::Changed;
use super::cursors::Split;
use super::extended::no_statement;
use super::locking::Steady;
use super::portal::{Portal, PortalState, no_portal};
use super::{Mode, Session};
use crate::channels::Listening;
use crate::step::{Flow, Pause, Reason, RowSink, Step};
use quintet_base::{SqlError, SqlResult, SqlState, Timestamp, Value};
use quintet_direct::{Context, Run, Stop};
use quintet_ir::expressions::each_node_of_statement;
use quintet_ir::statement::Procedure;
use quintet_ir::{Host, Plan, Statement};
use quintet_sql::command::{Command, Declare, Planned};
use quintet_tc::Txn;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What `pull` came back with.
pub(super) enum Pulled {
    /// The run is at its end.
    End,
    /// As many rows as asked for.
    Enough,
    /// The sink wants a break.
    Break,
    /// Wait.
    Wait(Pause),
    /// A call wants to go on in another transaction.
    Commit,
    /// A call has come to a statement that is to be planned.
    Ask,
}

impl Session {
    pub(super) fn run_portal(
        &mut self,
        portal: &mut Portal,
        max_rows: usize,
        sink: &mut dyn RowSink,
    ) -> SqlResult<Step> {
        let Some(mut keyed) = portal.keyed.take() else {
            return self.run_whole(portal, max_rows, sink);
        };
        let mut split = Split {
            keyed: &mut keyed,
            sink,
        };
        let done = self.run_whole(portal, max_rows, &mut split);
        portal.keyed = Some(keyed);
        done
    }

    /// The same of a portal with all that its rows have.
    fn run_whole(
        &mut self,
        portal: &mut Portal,
        max_rows: usize,
        sink: &mut dyn RowSink,
    ) -> SqlResult<Step> {
        if let PortalState::Committing(tag) = &mut portal.state {
            let tag = tag.take();
            return self.finish(portal, tag);
        }
        if portal.prepared.put_off {
            self.refuse_if_failed(&portal.prepared.source)?;
            portal.prepared = self.plan(portal.prepared.source.clone())?;
        }
        let prepared = Arc::clone(&portal.prepared);
        self.refuse_if_failed(&prepared.source)?;
        if matches!(portal.state, PortalState::Ready) {
            if !std::mem::replace(&mut portal.begun, true) {
                self.cancel.store(false, Ordering::Release);
            }
            if let Some(step) = self.start(portal, &prepared.planned, sink)? {
                return Ok(step);
            }
        }
        if std::mem::take(&mut portal.announce) {
            let columns = self.columns_of(&portal.prepared)?;
            if !columns.is_empty() || is_query(&portal.prepared.planned) {
                sink.columns(&columns);
            }
        }
        self.go_on(portal, max_rows, sink)
    }

    /// Carries out commands that are done at once; IR and results made whole go on in `go_on`.
    fn start(
        &mut self,
        portal: &mut Portal,
        planned: &Planned,
        sink: &mut dyn RowSink,
    ) -> SqlResult<Option<Step>> {
        for notice in &planned.notices {
            self.host.tell(notice.clone());
        }
        let tag = Some(planned.tag.to_string());
        // A cursor outside of a transaction is refused for that.
        let refused = matches!(
            planned.command,
            Command::Declare(Declare { hold: false, .. })
        ) && self.mode != Mode::Explicit;
        if !planned.needs.is_empty() && !refused {
            self.schema();
            self.host.allow(&planned.needs)?;
        }
        if self.host.settings.as_of.is_some() && reads_tables(&planned.command) {
            self.enter_past()?;
            if self.past.is_some() && portal.prepared.revision != self.schema().revision {
                portal.prepared = self.current(Arc::clone(&portal.prepared), None)?;
                return self.start_anew(portal, sink);
            }
        }
        match &planned.command {
            Command::Empty => return self.finish(portal, None).map(Some),
            Command::Run(procedure) => {
                if !procedure.is_call() {
                    self.note_if_alone(portal);
                }
                self.enter_statement();
                self.refuse_write_if_read_only(procedure, planned.tag)?;
                match self.keep_schema(portal, procedure.spaces_written())? {
                    Steady::Yes => {}
                    Steady::Wait(pause) => return Ok(Some(Step::Wait(pause))),
                    Steady::Changed => return self.start_anew(portal, sink),
                }
                if procedure.is_call() {
                    if !self.take_seat(portal, procedure)? {
                        self.enter_call(portal, procedure)?;
                    }
                    return Ok(None);
                }
                self.ensure_schema(portal)?;
                self.choose_what_goes_ahead(procedure);
                let run = Run::new(&self.host.direct, Arc::clone(procedure));
                portal.state = PortalState::Running(Box::new(run));
                return Ok(None);
            }
            Command::Ddl(plan) => {
                self.enter_statement();
                if let Some(pause) = self.fire_before_truncate(portal, &plan.fires)? {
                    return Ok(Some(Step::Wait(pause)));
                }
                if portal
                    .truncating
                    .as_ref()
                    .is_some_and(|firing| firing.is_done())
                {
                    if let Some(pause) = self.fire_behind_truncate(portal, &plan.fires)? {
                        return Ok(Some(Step::Wait(pause)));
                    }
                    return self.finish(portal, tag).map(Some);
                }
                return match self.change_schema(&portal.prepared)? {
                    Changed::Blocked(pause) => Ok(Some(Step::Wait(pause))),
                    Changed::Done(None) => {
                        if let Some(pause) = self.fire_behind_truncate(portal, &plan.fires)? {
                            return Ok(Some(Step::Wait(pause)));
                        }
                        self.finish(portal, tag).map(Some)
                    }
                    Changed::Done(Some(filling)) => {
                        // Sequences it draws from may be new.
                        self.schema();
                        self.choose_what_goes_ahead(&filling);
                        let run = Run::new(&self.host.direct, filling);
                        portal.state = PortalState::Running(Box::new(run));
                        Ok(None)
                    }
                };
            }
            Command::Begin(modes) => self.begin(*modes)?,
            Command::Commit { chain } => {
                return self.end_block(portal, *chain).map(Some);
            }
            Command::Rollback { chain } => self.undo_block(*chain)?,
            Command::LockTable { tables, waits } => {
                if let Some(pause) = self.lock_tables(portal, tables, *waits)? {
                    return Ok(Some(Step::Wait(pause)));
                }
            }
            Command::PrepareTransaction => {
                self.rollback();
                return Err(SqlError::new(
                    SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "prepared transactions are disabled",
                )
                .hint("Quintet has no two-phase commit."));
            }
            Command::Savepoint(name) => self.savepoint(name.clone())?,
            Command::RollbackTo(name) => self.rollback_to(name)?,
            Command::Release(name) => self.release(name)?,
            Command::Set { local, name, value } => self.set(*local, name, value.as_deref())?,
            Command::SetConfig { local, name, value } => {
                self.set(*local, name, Some(value))?;
                let shown = self.host.settings.get(name).unwrap_or(value);
                let row = vec![Value::text(shown)];
                portal.state = PortalState::Rows(VecDeque::from([row]));
                return Ok(None);
            }
            Command::Listen(channel) => self.listen(Listening::To(channel.clone())),
            Command::Unlisten(Some(channel)) => self.listen(Listening::NotTo(channel.clone())),
            Command::Unlisten(None) => self.listen(Listening::ToNothing),
            Command::Notify { channel, payload } => self.notify(channel, payload)?,
            Command::Advisory { source, .. } => {
                self.enter_statement();
                if source.is_some() {
                    self.ensure_schema(portal)?;
                }
                self.begin_advising(portal, source.as_ref());
                return Ok(None);
            }
            Command::ResetAll => {
                self.remember_settings();
                self.host.settings.reset_all();
            }
            Command::SetConstraints { keys, deferred } => {
                self.enter_statement();
                if let Some(pause) = self.set_constraints(keys.as_deref(), *deferred)? {
                    return Ok(Some(Step::Wait(pause)));
                }
            }
            Command::SetTransaction(modes) => {
                if matches!(self.mode, Mode::Idle | Mode::Implicit) {
                    self.warn(
                        SqlState::NO_ACTIVE_SQL_TRANSACTION,
                        "SET TRANSACTION can only be used in transaction blocks",
                    );
                } else {
                    self.set_modes(*modes)?;
                }
            }
            Command::SetSessionTransaction(modes) => self.set_default_modes(*modes)?,
            Command::Show(name) => {
                let value = self.show(name)?;
                portal.state = PortalState::Rows(VecDeque::from([vec![Value::text(value)]]));
                return Ok(None);
            }
            Command::ShowAll => {
                portal.state = PortalState::Rows(self.show_all());
                return Ok(None);
            }
            Command::DiscardTemp => {
                self.enter_statement();
                if let Some(pause) = self.discard_temporary()? {
                    return Ok(Some(Step::Wait(pause)));
                }
            }
            Command::DiscardSequences => self.host.given.borrow_mut().clear(),
            Command::DiscardAll => {
                if let Some(pause) = self.discard_all()? {
                    return Ok(Some(Step::Wait(pause)));
                }
            }
            Command::Prepare { name, types, text } => {
                self.prepare(name, text, types, portal.prepared.text())?;
            }
            Command::Execute { name, arguments } => {
                self.executed(name)?;
                self.bind_execute(portal, name, arguments)?;
                let inner = Arc::clone(&portal.prepared);
                return self.start_announced(portal, &inner.planned, sink);
            }
            Command::Deallocate(Some(name)) => {
                if self.statements.remove(name).is_none() {
                    return Err(no_statement(name));
                }
                self.prepared.remove(name);
            }
            Command::Deallocate(None) => {
                self.statements.retain(|name, _| name.is_empty());
                self.prepared.clear();
            }
            Command::Declare(cursor) => {
                if let Some(pause) = self.declare(portal, cursor)? {
                    return Ok(Some(Step::Wait(pause)));
                }
            }
            Command::Fetch { name, way, discard } => {
                return self.fetch(portal, (name, *way, *discard), sink);
            }
            Command::Close(Some(name)) => {
                if !self.host.cursors.get_mut().close(name) && !self.portals.close(name) {
                    return Err(no_portal(name));
                }
            }
            Command::Close(None) => {
                self.host.cursors.get_mut().close_all();
                self.portals.clear();
            }
            Command::CopyFrom(copy) => {
                self.enter_statement();
                self.refuse_if_read_only("COPY FROM")?;
                match self.keep_schema(portal, copy.writes().spaces_written())? {
                    Steady::Yes => {}
                    Steady::Wait(pause) => return Ok(Some(Step::Wait(pause))),
                    Steady::Changed => return self.start_anew(portal, sink),
                }
                self.ensure_schema(portal)?;
                portal.state = PortalState::Done(None);
                return self
                    .begin_copy_in(copy, &portal.prepared, portal.commits)
                    .map(Some);
            }
            Command::CopyTo(copy) => {
                self.enter_statement();
                let tag = match copy.query.statement() {
                    Some(Statement::Insert(_)) => "INSERT",
                    Some(Statement::Update(_)) => "UPDATE",
                    Some(Statement::Delete(_)) => "DELETE",
                    _ => "COPY",
                };
                self.refuse_write_if_read_only(&copy.query, tag)?;
                match self.keep_schema(portal, copy.query.spaces_written())? {
                    Steady::Yes => {}
                    Steady::Wait(pause) => return Ok(Some(Step::Wait(pause))),
                    Steady::Changed => return self.start_anew(portal, sink),
                }
                self.ensure_schema(portal)?;
                let copy = Arc::new(copy.clone());
                let run = Run::new(&self.host.direct, Arc::clone(&copy.query));
                self.begin_copy_out(&copy, sink);
                portal.announce = false;
                portal.state = PortalState::CopyOut(Box::new(run), copy);
                return Ok(None);
            }
            Command::Explain {
                analyze,
                format,
                inner,
            } => {
                let pause = self.explain((*analyze, *format), inner, portal)?;
                return Ok(pause.map(Step::Wait));
            }
            Command::ExplainRoutine(program) => {
                self.explain_routine(program, portal);
                return Ok(None);
            }
            Command::Feed(feed, arguments) => {
                portal.state =
                    PortalState::Feeding(self.begin_feed(*feed, arguments, &portal.params)?);
                return Ok(None);
            }
            Command::Nothing { checkpoint: false } => {}
            Command::Alone(what) => self.must_be_alone(what)?,
            Command::Nothing { checkpoint: true } => {
                self.db.tc.compact().map_err(|failure| {
                    let state = match failure.is_disk_full {
                        true => SqlState::DISK_FULL,
                        false => SqlState::IO_ERROR,
                    };
                    SqlError::new(state, "checkpoint failed").detail(failure.reason)
                })?;
            }
        }
        self.finish(portal, tag).map(Some)
    }

    /// Begins once more, since the portal was planned anew.
    fn start_anew(
        &mut self,
        portal: &mut Portal,
        sink: &mut dyn RowSink,
    ) -> SqlResult<Option<Step>> {
        let again = Arc::clone(&portal.prepared);
        self.start(portal, &again.planned, sink)
    }

    fn start_announced(
        &mut self,
        portal: &mut Portal,
        planned: &Planned,
        sink: &mut dyn RowSink,
    ) -> SqlResult<Option<Step>> {
        self.refuse_if_failed(&Arc::clone(&portal.prepared).source)?;
        self.start(portal, planned, sink)
    }

    fn go_on(
        &mut self,
        portal: &mut Portal,
        max_rows: usize,
        sink: &mut dyn RowSink,
    ) -> SqlResult<Step> {
        if portal.prepared.typed {
            sink.typed(&portal.prepared.columns);
        }
        if let Some(pause) = self.leave_line(portal)? {
            return Ok(Step::Wait(pause));
        }
        if let Some(pause) = self.leave_batch(portal)? {
            return Ok(Step::Wait(pause));
        }
        if let Some(pause) = self.renew_and_run(portal)? {
            return Ok(Step::Wait(pause));
        }
        if let Some(step) = self.commit_before_rows(portal)? {
            return Ok(step);
        }
        if matches!(portal.state, PortalState::Advising(_))
            && let Some(pause) = self.advise(portal)?
        {
            return Ok(Step::Wait(pause));
        }
        let verb = portal.prepared.planned.tag;
        // A tag counts the rows that were given since the portal was last suspended.
        let told = portal.told;
        if matches!(portal.state, PortalState::Calling(_)) && self.host.moment.is_some() {
            // It was brief as it was planned before a trigger was made, say; its steps cannot begin anew.
            self.host.moment_is_over.set(true);
            return Ok(Step::Yielded);
        }
        if let PortalState::Calling(calling) = &mut portal.state {
            match self.advance_call(calling, &portal.params) {
                Ok(None) => {}
                Ok(Some(pause)) => return Ok(Step::Wait(pause)),
                Err(error) => {
                    calling.let_go();
                    return match calling.outdated {
                        true => self.call_anew(portal, error),
                        false => Err(error),
                    };
                }
            }
            let mut rows = std::mem::take(&mut calling.rows);
            // A change behind WITH queries that change rows, too, gives how many rows it changed.
            if portal.prepared.columns.is_empty()
                && let Some(Value::Int8(changed)) =
                    rows.pop_front().and_then(|row| row.into_iter().next())
            {
                portal.rows = changed.unsigned_abs();
            }
            portal.state = PortalState::Rows(rows);
        }
        let (tag, pulled) = match &mut portal.state {
            // It could not be begun again, and is not brief.
            PortalState::Running(_)
                if self.host.moment.is_some() && self.txn.as_ref().is_some_and(Txn::goes_ahead) =>
            {
                self.host.moment_is_over.set(true);
                return Ok(Step::Yielded);
            }
            PortalState::Running(run) => {
                let pulled = self.pull(
                    run,
                    &portal.params,
                    max_rows,
                    &mut portal.rows,
                    &mut |row| sink.row(row),
                );
                if pulled.is_err() && self.host.moment_is_over.get() {
                    // Told to `execute_briefly` so.
                    run.begin_again();
                    (portal.rows, portal.told) = (0, 0);
                    if let Command::Run(procedure) = &portal.prepared.planned.command {
                        self.choose_what_goes_ahead(procedure);
                    }
                    return Ok(Step::Yielded);
                }
                if let Err(error) = &pulled
                    && self.may_renew(portal, error)
                {
                    portal.state = PortalState::Renewing(Box::new(error.clone()));
                    return self.go_on(portal, max_rows, sink);
                }
                let pulled = match pulled {
                    Ok(pulled) => pulled,
                    Err(error) => return self.run_again(portal, error),
                };
                let PortalState::Running(run) = &portal.state else {
                    return Err(SqlError::internal("a run is gone"));
                };
                self.host.moment_is_over.set(false);
                (run_tag(verb, run, portal.rows, told), pulled)
            }
            PortalState::CopyOut(run, copy) => {
                let copy = Arc::clone(copy);
                let format = self.host.settings.format.clone();
                let mut line = Vec::new();
                let pulled = self.pull(run, &portal.params, 0, &mut portal.rows, &mut |row| {
                    line.clear();
                    super::copy::write_row(row, &copy, &format, &mut line);
                    Ok(sink.copy_data(&line))
                })?;
                if matches!(pulled, Pulled::End) {
                    super::copy::write_end(&copy, sink);
                }
                (format!("COPY {}", portal.rows), pulled)
            }
            PortalState::Feeding(rows) => {
                let pulled = self.pull_feed(rows, max_rows, &mut portal.rows, sink)?;
                (format!("{verb} {}", portal.rows - told), pulled)
            }
            PortalState::Rows(rows) => {
                let mut given = 0;
                let mut pulled = Pulled::End;
                while let Some(row) = rows.front_mut() {
                    if max_rows > 0 && given == max_rows {
                        pulled = Pulled::Enough;
                        break;
                    }
                    let flow = sink.spare_row(row)?;
                    rows.pop_front();
                    given += 1;
                    portal.rows += 1;
                    if flow == Flow::Break && !rows.is_empty() {
                        pulled = Pulled::Break;
                        break;
                    }
                }
                let rows_told = portal.rows - told;
                (
                    match verb {
                        "SELECT" | "FETCH" | "UPDATE" | "DELETE" | "MERGE" => {
                            format!("{verb} {rows_told}")
                        }
                        "INSERT" => format!("INSERT 0 {rows_told}"),
                        _ => verb.to_string(),
                    },
                    pulled,
                )
            }
            PortalState::Scroll(scroll) => {
                // Who runs it by its name reads on from where it stands.
                portal.state = PortalState::Rows(scroll.rest());
                return self.go_on(portal, max_rows, sink);
            }
            PortalState::Done(tag) => {
                let again = tag.clone().map(|tag| match verb {
                    "SELECT" | "FETCH" => format!("{verb} 0"),
                    _ => tag,
                });
                return Ok(Step::Done(again));
            }
            PortalState::Ready
            | PortalState::Renewing(_)
            | PortalState::Giving(_)
            | PortalState::Queued(_)
            | PortalState::Batched(_)
            | PortalState::Calling(_)
            | PortalState::Advising(_)
            | PortalState::Committing(_) => {
                return Err(SqlError::internal("a portal went on without having begun"));
            }
        };
        match pulled {
            Pulled::End => self.finish(portal, Some(tag)),
            Pulled::Enough => {
                portal.told = portal.rows;
                Ok(Step::Suspended)
            }
            Pulled::Break => Ok(Step::Yielded),
            Pulled::Wait(pause) => Ok(Step::Wait(pause)),
            Pulled::Commit | Pulled::Ask => Err(only_calls_commit()),
        }
    }

    /// The command is done. The last statement of a simple query commits before it says so.
    pub(super) fn finish(&mut self, portal: &mut Portal, tag: Option<String>) -> SqlResult<Step> {
        self.set_what_was_wanted()?;
        let committing = self.pending.is_some() || (portal.commits && self.mode == Mode::Implicit);
        if committing {
            let committed = match portal.alone {
                Some(_) => self.commit_or_keep(),
                None => self.commit(),
            };
            match committed {
                Ok(None) => {}
                Ok(Some(pause)) => {
                    portal.state = PortalState::Committing(tag);
                    return Ok(Step::Wait(pause));
                }
                Err(error) => return self.run_again(portal, error),
            }
        }
        portal.state = PortalState::Done(tag.clone());
        Ok(Step::Done(tag))
    }

    /// What the statement has asked to be set.
    pub(super) fn set_what_was_wanted(&mut self) -> SqlResult<()> {
        let wanted = self.host.to_set.take();
        (wanted.into_iter())
            .try_for_each(|(name, value, local)| self.set(local, &name, Some(&value)))
    }

    /// What a run is carried out in.
    fn running<'a>(&'a mut self, params: &'a [Value]) -> SqlResult<Context<'a>> {
        let txn = self.txn.as_mut().ok_or_else(transaction_has_ended)?;
        Ok(Context {
            txn,
            host: &self.host,
            params,
            cancel: &self.cancel,
        })
    }

    /// Pulls rows out of a run until its end, `max_rows`, a break or a wait.
    pub(super) fn pull(
        &mut self,
        run: &mut Run,
        params: &[Value],
        max_rows: usize,
        rows: &mut u64,
        give: &mut dyn FnMut(&[Value]) -> SqlResult<Flow>,
    ) -> SqlResult<Pulled> {
        let mut context = self.running(params)?;
        let mut given = 0;
        loop {
            match run.next(&mut context) {
                Ok(Some(row)) => {
                    *rows += 1;
                    given += 1;
                    let flow = give(row)?;
                    if max_rows > 0 && given == max_rows {
                        return Ok(Pulled::Enough);
                    }
                    if flow == Flow::Break {
                        return Ok(Pulled::Break);
                    }
                }
                Ok(None) => return Ok(Pulled::End),
                Err(stop) => return stopped(stop, &context),
            }
        }
    }

    /// Runs a call to its end; then its result is in `rows`.
    pub(super) fn pull_call(
        &mut self,
        run: &mut Run,
        params: &[Value],
        rows: &mut VecDeque<Vec<Value>>,
    ) -> SqlResult<Pulled> {
        let mut context = self.running(params)?;
        match run.call(&mut context) {
            Ok(result) => {
                *rows = result.into();
                Ok(Pulled::End)
            }
            Err(stop) => stopped(stop, &context),
        }
    }

    /// Opens the transaction for a plan. A schema that has moved since it was planned does no harm while what it reads and writes
    /// is not fenced, which `tc` looks after. A schema of this transaction's own raises its fences later, and one of the session's own none: there it does.
    pub(super) fn ensure_schema(&mut self, portal: &mut Portal) -> SqlResult<()> {
        self.db.wait_for_schema();
        let schema = self.schema();
        let (revision, newest) = (schema.revision, schema.timestamp);
        let planned = &portal.prepared;
        let timestamp = if planned.revision == revision {
            newest
        } else if newest < Timestamp::MAX
            && planned.schema_timestamp < Timestamp::MAX
            && planned.own_version == self.own_version()
        {
            planned.schema_timestamp
        } else {
            return Err(SqlError::new(
                SqlState::SERIALIZATION_FAILURE,
                "the table definition changed while the statement was being started",
            )
            .hint("The transaction might succeed if retried."));
        };
        self.ensure_txn(timestamp);
        Ok(())
    }

    /// A routine is asked statement by statement, when it comes to one that writes.
    pub(super) fn refuse_write_if_read_only(
        &self,
        procedure: &Procedure,
        tag: &str,
    ) -> SqlResult<()> {
        let Some(statement) = procedure.statement().filter(|_| self.host.read_only) else {
            return Ok(());
        };
        if statement.is_write() {
            return self.refuse_if_read_only(tag);
        }
        let mut locks = false;
        each_node_of_statement(statement, &mut |plan| {
            locks = locks || matches!(plan, Plan::Lock { .. });
        });
        match locks {
            true => self.refuse_if_read_only("SELECT FOR UPDATE"),
            false => Ok(()),
        }
    }

    pub(super) fn refuse_if_read_only(&self, tag: &str) -> SqlResult<()> {
        if self.host.read_only {
            return Err(SqlError::new(
                SqlState::READ_ONLY_SQL_TRANSACTION,
                format!("cannot execute {tag} in a read-only transaction"),
            ));
        }
        Ok(())
    }
}

/// True for a query, whose rows need not have columns.
fn is_query(planned: &Planned) -> bool {
    match &planned.command {
        Command::Run(procedure) => matches!(procedure.statement(), Some(Statement::Query(_))),
        _ => false,
    }
}

/// What a run that has stopped comes out as.
fn stopped(stop: Stop, context: &Context<'_>) -> SqlResult<Pulled> {
    match stop {
        // Interrupted while it waited: the place in the queue goes with the transaction.
        Stop::Blocked(_) if context.cancel.swap(false, Ordering::AcqRel) => Err(canceled()),
        Stop::Blocked(_) if context.host.has_given_up() => Err(SqlError::lock_timeout()),
        Stop::Blocked(wait) => Ok(Pulled::Wait(Pause(Reason::OfRun(wait)))),
        Stop::Error(error) => Err(error),
        Stop::Commit => Ok(Pulled::Commit),
        Stop::Ask => Ok(Pulled::Ask),
    }
}

fn transaction_has_ended() -> SqlError {
    SqlError::new(
        SqlState::INVALID_CURSOR_STATE,
        "the portal's transaction has ended",
    )
}

/// Whether a command begins a transaction that looks at tables, or changes them.
fn reads_tables(command: &Command) -> bool {
    matches!(
        command,
        Command::Run(_)
            | Command::Ddl(_)
            | Command::CopyFrom(_)
            | Command::CopyTo(_)
            | Command::Declare(_)
            | Command::Explain { .. }
            | Command::LockTable { .. }
    )
}

fn run_tag(verb: &str, run: &Run, rows: u64, told: u64) -> String {
    match verb {
        // CREATE TABLE AS: nothing is given, everything is inserted.
        "SELECT" if rows == 0 => format!("{verb} {}", run.affected()),
        "SELECT" | "FETCH" => format!("{verb} {}", rows - told),
        "INSERT" => format!("INSERT 0 {}", run.affected()),
        "UPDATE" | "DELETE" => format!("{verb} {}", run.affected()),
        _ => verb.to_string(),
    }
}

pub(super) fn only_calls_commit() -> SqlError {
    SqlError::internal("something that is no call of its own wanted to commit")
}

pub(super) fn canceled() -> SqlError {
    SqlError::new(
        SqlState::QUERY_CANCELED,
        "canceling statement due to user request",
    )
}
