//! Statements of a call that are planned when it comes to them: EXECUTE, and what changes more than rows.
//!
//! Relies on: `direct::Run`, which stops at such a statement and goes on with an answer; `planning` to plan it, and the call
//! anew.  Promises: it runs in the transaction of the call, as a statement of a block would; what comes behind it in the call
//! is planned with the schema, the search path and the role as it has left them; a handler that takes an error has the schema
//! and the settings as they were when its block began.  Does not: end the transaction; a call that has
//! changed more than rows is not run again when it loses.
//!
//! ```text
//!   call ── Stop::Ask ──► plan, run in a portal of its own ──► schema, path, role or a record's fields are others?
//!    ▲                                                          │ yes: plan the call anew, move it there
//!    └────────────────────────── answer ◄───────────────────────┴ no
//! ```

use super::listening::Noted;
use super::own::Changed;
use super::planning::Source;
use super::portal::Portal;
use super::{LocalSettings, Mode, Session};
use crate::settings::{Settings, Under};
use crate::step::{Flow, Pause, RowSink, Step};
use quintet_base::{RoleId, SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_direct::{Answer, Asked, AskedStatement, Run, STATEMENT_MEMORY_MAX};
use quintet_ir::dynamic::{no_cursor_over, not_volatile};
use quintet_ir::statement::{Body, OutputColumn, Procedure};
use quintet_ir::{Guise, Statement};
use quintet_sql::command::{Command, CopyFormat, DdlPlan, Planned};
use quintet_sql::{DynamicColumns, Parsed, PlanContext};
use std::collections::VecDeque;
use std::sync::Arc;

/// What a call with dynamic statements needs besides its run.
pub(super) struct Dynamic {
    /// The call is planned from this.
    origin: Origin,
    /// What it was last planned with.
    made: Made,
    /// The columns that dynamic statements have given to records.
    columns: DynamicColumns,
    /// What was before the blocks with handlers that the last one stood in.
    saved: Vec<Saved>,
    /// The statements of the text at hand.
    inner: Option<Box<Inner>>,
    /// A statement has done more than change rows.
    has_done_more: bool,
}

/// What a call is planned from.
enum Origin {
    Source(Source),
    /// It is one of a trigger, which was put off.
    Trigger(u32),
}

/// What a routine's names and plans depend on: the schema's revision, the search path's version and the role.
pub(super) type Made = (u64, u64, RoleId);

/// What is not undone with rows.
struct Saved {
    guard: u64,
    changed: Changed,
    settings: Settings,
    local: LocalSettings,
    noted: Noted,
}

/// A text that is being run, statement by statement.
struct Inner {
    asked: AskedStatement,
    rest: VecDeque<Arc<Parsed>>,
    portal: Portal,
    rows: Rows,
}

impl Inner {
    fn does_more(&self) -> bool {
        let command = &self.portal.prepared.planned.command;
        !matches!(command, Command::Run(_)) || !self.rest.is_empty()
    }
}

/// The rows of a statement.
#[derive(Default)]
struct Rows {
    rows: Vec<Vec<Value>>,
    bytes: usize,
    wanted: bool,
}

impl Dynamic {
    /// For a call that may have some.
    pub fn of(portal: &Portal) -> Option<Box<Dynamic>> {
        let prepared = &portal.prepared;
        let procedure = match &prepared.planned.command {
            Command::Run(procedure) => procedure,
            _ => return None,
        };
        let Body::Call { program, .. } = &procedure.body else {
            return None;
        };
        if !program.has_dynamic() {
            return None;
        }
        Some(Box::new(Dynamic {
            origin: Origin::Source(Source {
                declared: prepared.params.as_slice().into(),
                ..prepared.source.clone()
            }),
            made: (prepared.revision, prepared.path_version, prepared.role),
            columns: DynamicColumns::new(),
            saved: Vec::new(),
            inner: None,
            has_done_more: false,
        }))
    }

    /// For the call of a trigger that was put off, which was made with this.
    pub fn of_trigger(trigger: u32, procedure: &Procedure, made: Made) -> Option<Box<Dynamic>> {
        let Body::Call { program, .. } = &procedure.body else {
            return None;
        };
        program.has_dynamic().then(|| {
            Box::new(Dynamic {
                origin: Origin::Trigger(trigger),
                made,
                columns: DynamicColumns::new(),
                saved: Vec::new(),
                inner: None,
                has_done_more: false,
            })
        })
    }

    /// Whether nothing remains of it when its transaction begins anew.
    pub fn may_begin_anew(&self) -> bool {
        !self.has_done_more
    }

    /// The call begins anew.
    pub fn begin_again(&mut self) {
        self.saved.clear();
        self.inner = None;
    }

    /// A statement of it waits for something.
    pub fn is_busy(&self) -> bool {
        self.inner.is_some()
    }
}

impl Session {
    /// Does what a call has asked for. `Some`: wait, and call again.
    pub(super) fn answer_call(
        &mut self,
        run: &mut Run,
        dynamic: &mut Dynamic,
    ) -> SqlResult<Option<Pause>> {
        if dynamic.inner.is_none() {
            match run.asked() {
                Some(Asked::Statement(asked)) => {
                    self.save_for_guards(dynamic, &asked.guards);
                    match self.begin_inner(asked) {
                        Ok(inner) => {
                            dynamic.has_done_more |= inner.does_more();
                            dynamic.inner = Some(Box::new(inner));
                        }
                        Err(error) => run.answer(Err(error)),
                    }
                }
                Some(Asked::Undone(guard)) => {
                    self.back_to_guard(dynamic, guard);
                    self.make_anew(run, dynamic, false)?;
                }
                None => return Err(SqlError::internal("a call has asked for nothing")),
            }
        }
        let Some(inner) = &mut dynamic.inner else {
            return Ok(None);
        };
        let answer = match self.go_on_inner(inner) {
            Ok(Some(pause)) => return Ok(Some(pause)),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        let inner = dynamic.inner.take();
        let answer = match (answer, inner) {
            (Ok(()), Some(inner)) => self.answer_of(run, dynamic, *inner),
            (Err(error), Some(inner)) => Err(error.within(&inner.asked.said())),
            (_, None) => Err(SqlError::internal("a statement is gone")),
        };
        run.answer(answer);
        Ok(None)
    }

    /// The first statement of a text, ready to run.
    fn begin_inner(&mut self, asked: AskedStatement) -> SqlResult<Inner> {
        let under = self.put_on(&asked)?;
        let begun = self.begin_in_guise(asked);
        self.take_off(under);
        begun
    }

    fn begin_in_guise(&mut self, asked: AskedStatement) -> SqlResult<Inner> {
        let parsed = quintet_sql::parse(&asked.text);
        let parsed = parsed.map_err(|error| error.nowhere().within(&asked.said()))?;
        let mut rest: VecDeque<Arc<Parsed>> = parsed.into_iter().map(Arc::new).collect();
        let first = rest.pop_front();
        // A text of nothing.
        let Some(first) = first else {
            return Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                "a statement is expected in the text of EXECUTE",
            ));
        };
        let portal = self.inner_portal(first, &asked)?;
        let rows = Rows {
            wanted: asked.wants_rows && rest.is_empty(),
            ..Rows::default()
        };
        Ok(Inner {
            asked,
            rest,
            portal,
            rows,
        })
    }

    /// Plans a statement of a text.
    fn inner_portal(&mut self, parsed: Arc<Parsed>, asked: &AskedStatement) -> SqlResult<Portal> {
        let types: Vec<SqlType> = asked.arguments.iter().map(|(_, ty)| *ty).collect();
        let prepared = self.plan(Source {
            parsed,
            declared: types.clone().into(),
        });
        let prepared = prepared.map_err(|error| error.nowhere().within(&asked.said()))?;
        refuse(&prepared.planned.command, asked.fixed)?;
        if asked.opens && prepared.columns.is_empty() {
            return Err(no_cursor_over(prepared.planned.tag).within(&asked.said()));
        }
        if asked.reads_only {
            refuse_write(&prepared.planned).map_err(|error| error.within(&asked.said()))?;
        }
        if prepared.params.len() > types.len() {
            let message = format!("there is no parameter ${}", types.len() + 1);
            return Err(SqlError::new(SqlState::UNDEFINED_PARAMETER, message));
        }
        if asked.fixed && !prepared.columns.is_empty() {
            let message = "query has no destination for result data";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        let arguments = asked.arguments.iter().zip(&prepared.params);
        let params = arguments.map(|((value, from), to)| self.literal(value, *from, *to));
        let params = params.collect::<SqlResult<Vec<Value>>>()?;
        Ok(Portal::new(prepared, params))
    }

    /// Puts on the guises of the routines that a statement stands in.
    fn put_on(&mut self, asked: &AskedStatement) -> SqlResult<Option<Under>> {
        if asked.guises.is_empty() {
            return Ok(None);
        }
        let guises: Vec<&Guise> = asked.guises.iter().collect();
        let schema = Arc::clone(self.schema());
        let name = |role| schema.catalog.roles().name(role);
        self.host.settings.put_on(&guises, name).map(Some)
    }

    fn take_off(&mut self, under: Option<Under>) {
        if let Some(under) = under {
            self.host.settings.take_off(under);
        }
    }

    /// Runs the statements of a text to their end.
    fn go_on_inner(&mut self, inner: &mut Inner) -> SqlResult<Option<Pause>> {
        let under = self.put_on(&inner.asked)?;
        let done = self.go_on_in_guise(inner);
        self.take_off(under);
        done
    }

    fn go_on_in_guise(&mut self, inner: &mut Inner) -> SqlResult<Option<Pause>> {
        loop {
            // What it sets for the transaction ends with that of the call, whether others see a block or not; and it is no
            // statement of the client's.
            let before = std::mem::replace(&mut self.mode, Mode::Explicit);
            let (alone, since) = (self.host.alone, self.host.statement_time);
            let step = self.run_portal(&mut inner.portal, 0, &mut inner.rows);
            self.mode = before;
            (self.host.alone, self.host.statement_time) = (alone, since);
            match step? {
                Step::Wait(pause) => return Ok(Some(pause)),
                Step::Yielded => {}
                Step::Done(tag) => {
                    let Some(next) = inner.rest.pop_front() else {
                        inner.portal.rows = changed(tag.as_deref());
                        return Ok(None);
                    };
                    inner.portal = self.inner_portal(next, &inner.asked)?;
                    inner.rows = Rows {
                        wanted: inner.asked.wants_rows && inner.rest.is_empty(),
                        ..Rows::default()
                    };
                }
                Step::Suspended | Step::CopyIn { .. } => {
                    return Err(SqlError::internal("a statement of a call stands still"));
                }
            }
        }
    }

    /// The answer to what was asked; the call is made anew first if it must be.
    fn answer_of(
        &mut self,
        run: &mut Run,
        dynamic: &mut Dynamic,
        inner: Inner,
    ) -> SqlResult<Answer> {
        let Inner {
            asked,
            portal,
            rows,
            ..
        } = inner;
        let columns = &self.columns_of(&portal.prepared)?;
        if asked.wants_rows && columns.is_empty() {
            let message = "INTO used with a command that cannot return data";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        let mut others = false;
        if asked.wants_names {
            let known = dynamic.columns.get(&asked.number);
            others = !known.is_some_and(|known| are_alike(known, columns));
            if others {
                dynamic.columns.insert(asked.number, columns.clone());
            }
        }
        self.make_anew(run, dynamic, others)?;
        Ok(Answer {
            rows: rows.rows,
            types: columns.iter().map(|column| column.ty).collect(),
            names: columns.iter().map(|column| column.name.clone()).collect(),
            count: portal.rows,
        })
    }

    /// Plans the call anew, if it would be another now, and has it go on where it is.
    fn make_anew(&mut self, run: &mut Run, dynamic: &mut Dynamic, others: bool) -> SqlResult<()> {
        let schema = Arc::clone(self.schema());
        let now = (
            schema.revision,
            self.host.settings.path_version,
            self.host.role(),
        );
        if now == dynamic.made && !others {
            return Ok(());
        }
        let context = PlanContext {
            dynamic: &dynamic.columns,
            ..self.host.plan_context(&schema.catalog)
        };
        let other = || SqlError::internal("a call has become something else");
        let procedure: Arc<Procedure> = match &dynamic.origin {
            Origin::Source(source) => {
                let planned = self
                    .host
                    .watched(|| quintet_sql::plan(&source.parsed, &context, &source.declared))?;
                match planned.command {
                    Command::Run(procedure) if procedure.is_call() => procedure,
                    _ => return Err(other()),
                }
            }
            Origin::Trigger(trigger) => {
                Arc::new(quintet_sql::plan_put_off(*trigger, &context)?.ok_or_else(other)?)
            }
        };
        run.make_anew(procedure)?;
        dynamic.made = now;
        Ok(())
    }

    /// Keeps what is there for the blocks with handlers that have begun since the last statement.
    fn save_for_guards(&mut self, dynamic: &mut Dynamic, guards: &[u64]) {
        let saved = &mut dynamic.saved;
        let pairs = saved.iter().zip(guards);
        let same = pairs.take_while(|(saved, guard)| saved.guard == **guard);
        let same = same.count();
        saved.truncate(same);
        for guard in &guards[same..] {
            let noted = self.noted();
            dynamic.saved.push(Saved {
                guard: *guard,
                changed: self.changed.clone(),
                settings: self.host.settings.save(),
                local: self.local_settings.clone(),
                noted,
            });
        }
    }

    /// An error was taken by a handler of this block.
    fn back_to_guard(&mut self, dynamic: &mut Dynamic, guard: u64) {
        let Some(place) = dynamic.saved.iter().position(|saved| saved.guard == guard) else {
            return;
        };
        dynamic.saved.truncate(place + 1);
        let Some(saved) = dynamic.saved.pop() else {
            return;
        };
        self.changed = saved.changed;
        self.show_own();
        self.host.settings.restore(saved.settings);
        self.local_settings = saved.local;
        self.back_to(saved.noted);
    }
}

/// What a routine cannot do.
fn refuse(command: &Command, fixed: bool) -> SqlResult<()> {
    let message = match command {
        Command::Begin(_)
        | Command::Commit { .. }
        | Command::Rollback { .. }
        | Command::PrepareTransaction
        | Command::Savepoint(_)
        | Command::RollbackTo(_)
        | Command::Release(_) => match fixed {
            true => "unsupported transaction command in PL/pgSQL",
            false => "EXECUTE of transaction commands is not implemented",
        },
        Command::CopyFrom(_) | Command::CopyTo(_) => "cannot COPY to/from client in PL/pgSQL",
        Command::Ddl(DdlPlan {
            database: Some(change),
            ..
        }) => {
            let message = format!("{} cannot be executed from a function", change.tag());
            return Err(SqlError::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        _ => return Ok(()),
    };
    Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message))
}

/// What changes anything is refused in a routine that has promised not to.
fn refuse_write(planned: &Planned) -> SqlResult<()> {
    let changes = match &planned.command {
        Command::Run(procedure) => procedure.statement().is_some_and(Statement::is_write),
        Command::Ddl(_) => true,
        _ => false,
    };
    match changes {
        true => Err(not_volatile(planned.tag)),
        false => Ok(()),
    }
}

/// How many rows a command says that it has given or changed.
fn changed(tag: Option<&str>) -> u64 {
    let last = tag.and_then(|tag| tag.rsplit(' ').next());
    last.and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn are_alike(known: &[OutputColumn], now: &[OutputColumn]) -> bool {
    let field = |column: &OutputColumn| (column.name.clone(), column.ty, column.modifier);
    known.iter().map(field).eq(now.iter().map(field))
}

impl RowSink for Rows {
    fn columns(&mut self, _: &[OutputColumn]) {}

    fn row(&mut self, values: &[Value]) -> Result<Flow, SqlError> {
        if !self.wanted {
            return Ok(Flow::Continue);
        }
        let texts = values
            .iter()
            .map(|value| value.as_str().map_or(0, str::len));
        self.bytes += size_of_val(values) + texts.sum::<usize>();
        if self.bytes > STATEMENT_MEMORY_MAX {
            let message = "the rows of a statement of a routine take too much memory";
            return Err(SqlError::new(SqlState::OUT_OF_MEMORY, message));
        }
        self.rows.push(values.to_vec());
        Ok(Flow::Continue)
    }

    fn copy_begin(&mut self, _: usize, _: &CopyFormat) {}

    fn copy_data(&mut self, _: &[u8]) -> Flow {
        Flow::Continue
    }
}
