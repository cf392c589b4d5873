//! Steps of a call that it asks others for: statements that are planned when they are run.
//!
//! Relies on: `dynamic` and `portals`, which say what is asked.  Promises: who runs the call is asked if he can be, and the step
//! goes on with his answer; in a function of an expression the step runs by itself, or is refused.  Does not: plan.

use super::{Activation, Call};
use crate::context::{Context, Stop, Workspace};
use crate::direct::Direct;
use crate::dynamic::{self, Answer, Asked, AskedStatement, Taken};
use crate::guard::Guard;
use crate::into::note_found;
use crate::portals::{self, Done};
use quintet_base::{SqlError, SqlResult};
use quintet_ir::dynamic::{CursorAction, Dynamic, DynamicRows};
use quintet_ir::{Program, Routine};
use std::sync::Arc;

impl Call {
    /// A statement that is planned now: by who runs the call, if he can be asked, else by itself.
    pub(super) fn dynamic(
        &mut self,
        statement: &Dynamic,
        loops: bool,
        (direct, routine, program): (&Direct, &Routine, &Arc<Program>),
        context: &mut Context<'_>,
        workspace: &mut Workspace,
    ) -> Result<(), Stop> {
        let answer = match self.answer.take() {
            Some(answer) => answer?,
            None if let Some(step) = &statement.cursor => {
                match portals::take(step, statement, &self.top().slots, context)? {
                    Done::Here(answer) => answer,
                    Done::Elsewhere(text) if self.can_ask(program) => {
                        let guards = self.open_guards();
                        let asked = dynamic::asked_of_cursor(statement, text, guards);
                        self.ask_for(program, asked);
                        return Err(Stop::Ask);
                    }
                    Done::Elsewhere(_) => {
                        return Err(Stop::Error(SqlError::unsupported(
                            "a cursor of others, or FETCH into a record, in a routine that a statement or another routine calls",
                        )));
                    }
                }
            }
            None if self.can_ask(program) => {
                self.ask(program, statement, context)?;
                return Err(Stop::Ask);
            }
            None => {
                let asked = dynamic::asked(statement, &self.top().slots, Vec::new(), context)?;
                let buffers = (&mut self.restarts, &mut self.frame);
                let means = (direct, &mut self.kept);
                dynamic::run_here(&asked, means, context, workspace, buffers)?
            }
        };
        let at = self.activations.last_mut().expect("a routine is running");
        // EXECUTE says nothing to FOUND, but as a part of RETURN QUERY.
        match statement.cursor.as_ref().map(|step| &step.what) {
            None => {
                at.count = answer.count;
                if let DynamicRows::Returned(_) = &statement.rows {
                    note_found(routine, &mut at.slots, answer.count > 0);
                }
            }
            Some(CursorAction::Fetch { .. }) => {
                at.count = answer.count;
                note_found(routine, &mut at.slots, answer.count > 0);
            }
            Some(_) => {}
        }
        let taken = Taken {
            routine,
            slots: &mut at.slots,
            result: &mut at.rows,
            kept: &mut self.kept,
        };
        let turns = taken.take(statement, loops, answer, context)?;
        at.turns.extend(turns);
        Ok(())
    }

    /// Asks for a statement to be planned and run.
    fn ask(
        &mut self,
        program: &Program,
        statement: &Dynamic,
        context: &Context<'_>,
    ) -> SqlResult<()> {
        let guards = self.open_guards();
        let asked = dynamic::asked(statement, &self.top().slots, guards, context)?;
        self.ask_for(program, asked);
        Ok(())
    }

    fn ask_for(&mut self, program: &Program, mut asked: AskedStatement) {
        asked.guises = self.guises(program).into_iter().cloned().collect();
        self.asked = Some(Asked::Statement(asked));
    }

    /// The blocks with handlers that it is in, from the outermost on.
    fn open_guards(&self) -> Vec<u64> {
        let guards = self.activations.iter().flat_map(|at| &at.guards);
        let open = guards.filter(|guard| guard.handled().is_none());
        open.map(Guard::number).collect()
    }

    /// What it wants of who runs it, when it has stopped for that.
    pub fn take_asked(&mut self) -> Option<Asked> {
        self.asked.take()
    }

    /// The statement that it has asked for has come to this.
    pub fn answer(&mut self, answer: SqlResult<Answer>) {
        self.answer = Some(answer);
    }

    /// Whether who runs it can be asked: it is the client's, and every routine that it is in can be found in one that is made
    /// anew, and may be, since it is not amid the parts of a statement.
    pub(super) fn can_ask(&self, program: &Program) -> bool {
        let may_be_moved = |at: &Activation| {
            let is_known = at.routine == 0 || dynamic::id_of(program, at.routine).is_some();
            is_known && !dynamic::is_in_state(&program.code()[at.routine], at.place)
        };
        self.outermost && self.activations.iter().all(may_be_moved)
    }
}
