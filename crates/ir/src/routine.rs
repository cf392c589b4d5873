//! Routines: what stored procedures and functions are made of.
//!
//! Relies on: `statement`, `expr`.  Promises: every name is a slot, every type is decided, every query has
//! its plan; a routine is a tree of steps, as readable as its source.  Does not: say
//! how it is run; `code` is the same without the tree.
//!
//! ```text
//!   Program ──► Routine 0, where a call begins ──► steps ──► expressions and statements over the slots
//!               Routine 1 … those it calls           └─ $n is slot n
//! ```
//!
//! **Slots.** The arguments come first, the variables behind them, those of inner blocks and of hidden
//! use (a CASE's subject, FOUND) too. A statement inside sees them as its parameters: `$1` is slot 0.
//!
//! **Leaving.** EXIT and CONTINUE count outwards: 0 is the innermost loop or labelled block around.

use crate::ahead::Ahead;
use crate::code::Code;
use crate::dynamic::{Dynamic, Landmark};
use crate::expr::Expr;
use crate::expressions::{asks_whose_rows, each_of_operation};
use crate::guise::Guise;
use crate::privilege::Needs;
use crate::statement::Statement;
use quintet_base::{RoutineId, SqlError, SqlState, SqlType, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A routine with those it calls.
#[derive(Debug, Default)]
pub struct Program {
    /// The first is the one that is called.
    pub routines: Vec<Routine>,
    /// Which of them is which of the catalogue's.
    pub numbers: BTreeMap<RoutineId, usize>,
    /// Made at the first call.
    code: OnceLock<Vec<Code>>,
    /// Made at the first call, by who can.
    ahead: OnceLock<Ahead>,
    /// Made at the first call.
    whose: OnceLock<bool>,
}

/// The routine that an expression or a source of rows calls.
#[derive(Clone)]
pub struct Callee {
    /// In the catalogue.
    pub id: RoutineId,
    /// For messages and EXPLAIN.
    pub name: String,
    /// Its program; `None` in the statements of a routine, whose own program has it: routines may call
    /// one another in circles. `None`, too, in what belongs to a table (defaults, checks, generated columns); a statement outside of
    /// routines asks its session then ([`crate::Host::program`]).
    pub program: Option<Arc<Program>>,
    /// What it gives if it gives nothing: a function that returns void.
    pub nothing: Value,
}

/// One procedure or function.
#[derive(Clone, Debug)]
pub struct Routine {
    /// For messages and EXPLAIN.
    pub name: String,
    /// Arguments, then variables.
    pub slots: Vec<Slot>,
    /// How many of the slots are arguments.
    pub arguments: usize,
    /// A function that is not called with a NULL: its result is NULL, or no row.
    pub strict: bool,
    /// What it has of its own, if it does not run as its caller does.
    pub guise: Option<Box<Guise>>,
    /// Where it is kept whether the last statement found a row, if anybody asks.
    pub found: Option<usize>,
    /// What it does, in order. At the end of a routine that gives one row there is always a return or an
    /// error.
    pub body: Vec<Step>,
    /// What it gives.
    pub output: Output,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Its name; hidden ones have none.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
    /// NULL is refused (`22004`).
    pub not_null: bool,
}

/// What a routine gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// Nothing: a procedure without OUT parameters, a function that returns void.
    Nothing,
    /// One row.
    Row,
    /// Rows that were given by RETURN NEXT and RETURN QUERY.
    Rows,
}

/// A step with its line in the routine's body.
#[derive(Clone)]
pub struct Step {
    /// From 1; 0 = none.
    pub line: u32,
    /// What to do.
    pub action: Action,
    /// What the user must be allowed to do before it (`42501`); nothing that the text form or an analysis shows.
    pub needs: Option<Needs>,
}

/// As the text form has it, which leaves out what is needed.
impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step")
            .field("line", &self.line)
            .field("action", &self.action)
            .finish()
    }
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Action {
    /// `slot := value`, of the slot's type already.
    Assign {
        /// Where to.
        slot: usize,
        /// What.
        value: Expr,
    },
    /// `slot[index] := value`. An array grows as far as it must, with NULLs.
    AssignElement {
        /// An array; NULL counts as empty.
        slot: usize,
        /// integer.
        index: Expr,
        /// Of the element type.
        value: Expr,
    },
    /// A statement of SQL.
    Run {
        /// It.
        statement: Statement,
        /// What becomes of its rows.
        into: Into,
    },
    /// Another routine of the program.
    Call {
        /// Its number.
        routine: usize,
        /// One per argument.
        arguments: Vec<Expr>,
        /// What becomes of its row.
        into: Into,
    },
    /// The first branch whose condition is TRUE.
    If {
        /// Conditions with their steps.
        branches: Vec<(Expr, Vec<Step>)>,
        /// ELSE.
        otherwise: Vec<Step>,
    },
    /// Again and again, until something leaves it.
    Loop {
        /// What.
        body: Vec<Step>,
    },
    /// `FOR slot IN [REVERSE] lower .. upper BY step`.
    ForInteger {
        /// integer.
        slot: usize,
        /// integer; NULL is refused, as of the others.
        lower: Expr,
        /// integer.
        upper: Expr,
        /// integer, above 0.
        step: Expr,
        /// Downwards, from `lower` to `upper`.
        reverse: bool,
        /// What.
        body: Vec<Step>,
    },
    /// `FOR row IN query`. The query is over before the first turn.
    ForRow {
        /// The query, or a statement with RETURNING.
        statement: Statement,
        /// Slots with their values, over the row.
        into: Vec<(usize, Expr)>,
        /// What.
        body: Vec<Step>,
    },
    /// `FOREACH slot IN ARRAY array`.
    ForElement {
        /// Of the element type.
        slot: usize,
        /// NULL is refused.
        array: Expr,
        /// What.
        body: Vec<Step>,
    },
    /// A labelled block that EXIT may leave.
    Block {
        /// What.
        body: Vec<Step>,
    },
    /// The parts of one statement: each of them sees the state in which the body began, and changes no row that a part
    /// before it has changed. Keys that must be their own see everything, and so does what a part calls. Only `Assign`,
    /// `AssignElement`, `Run`, `If`, `ForRow`, `RowCount`, `ReturnQuery` and `Fail` stand in it.
    OneState {
        /// The parts.
        body: Vec<Step>,
    },
    /// Goes on behind an enclosing loop or labelled block.
    Exit {
        /// Which; see the module.
        depth: usize,
        /// Only if this is TRUE.
        when: Option<Expr>,
    },
    /// Goes on with the next turn of an enclosing loop.
    Continue {
        /// Which; see the module.
        depth: usize,
        /// Only if this is TRUE.
        when: Option<Expr>,
    },
    /// BEGIN … EXCEPTION: an error in the body undoes what the body did and runs the first handler that
    /// takes it.
    Guard {
        /// What may fail.
        body: Vec<Step>,
        /// In order.
        handlers: Vec<Handler>,
        /// Where the error's SQLSTATE and message go: SQLSTATE, SQLERRM.
        slots: [usize; 2],
    },
    /// Fails, or says something.
    Raise(Box<Raise>),
    /// The error that is being handled once more.
    Reraise,
    /// Commits what the client's call has done so far; what follows is another transaction. `2D000` where the call is
    /// not one of its own, or a block with handlers stands around.
    Commit,
    /// Undoes what the client's call has done since it began, or since its last COMMIT; `2D000` as there.
    Rollback,
    /// Fails: what stood here in the source cannot be run as the schema is.
    Fail(Box<SqlError>),
    /// Ends the routine; with its row, if it gives one.
    Return(Vec<Expr>),
    /// One more row of the result.
    ReturnNext(Vec<Expr>),
    /// All rows of a query.
    ReturnQuery(Statement),
    /// A statement that is planned when it is reached.
    Dynamic(Box<Dynamic>),
    /// Nothing: a handler of a routine with dynamic statements begins.
    Landmark(Box<Landmark>),
    /// GET DIAGNOSTICS slot = ROW_COUNT, bigint.
    RowCount {
        /// Where to.
        slot: usize,
    },
    /// GET STACKED DIAGNOSTICS.
    Diagnose {
        /// Where to, text.
        slot: usize,
        /// What.
        item: Diagnostic,
    },
}

/// What becomes of a statement's rows.
#[derive(Clone, Debug, Default)]
pub struct Into {
    /// Slots with their values, over the row; none: rows are counted and forgotten. Without a row they
    /// become NULL.
    pub targets: Vec<(usize, Expr)>,
    /// STRICT: exactly one row, or `P0002`, `P0003`.
    pub strict: bool,
    /// Part of an expression: neither FOUND nor ROW_COUNT hear of it.
    pub silent: bool,
}

/// WHEN … THEN.
#[derive(Clone, Debug)]
pub struct Handler {
    /// Which errors it takes: any of these.
    pub conditions: Vec<Condition>,
    /// What it does.
    pub body: Vec<Step>,
}

/// A kind of error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// This one.
    State(SqlState),
    /// All whose first two characters are these.
    Class([u8; 2]),
    /// OTHERS: all but a cancelled query and a failed assertion. And, unlike PostgreSQL, a lost
    /// conflict: what was read before will not become true by trying again.
    Others,
}

/// RAISE.
#[derive(Clone, Debug)]
pub struct Raise {
    /// EXCEPTION, or only a message.
    pub severity: Severity,
    /// SQLSTATE.
    pub state: RaiseState,
    /// Pieces of the message, with the arguments between them.
    pub format: Vec<String>,
    /// One fewer than the pieces; shown as text.
    pub arguments: Vec<Expr>,
    /// USING.
    pub options: Vec<(RaiseOption, Expr)>,
}

/// Where a message's SQLSTATE comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RaiseState {
    /// The level's own: `P0001` for exceptions.
    Default,
    /// A condition's name or SQLSTATE.
    Given(SqlState),
}

/// How loud RAISE is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Severity {
    Debug,
    Log,
    Info,
    Notice,
    Warning,
    Exception,
}

/// What USING gives, as text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum RaiseOption {
    Message,
    Detail,
    Hint,
    /// A condition's name or SQLSTATE.
    ErrorCode,
    Column,
    Constraint,
    DataType,
    Table,
    Schema,
}

/// What GET STACKED DIAGNOSTICS gives, as text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Diagnostic {
    State,
    Message,
    Detail,
    Hint,
    Column,
    Constraint,
    DataType,
    Table,
    Schema,
    Context,
}

impl RaiseOption {
    /// The word for it, in capitals.
    pub fn word(self) -> &'static str {
        match self {
            RaiseOption::Message => "MESSAGE",
            RaiseOption::Detail => "DETAIL",
            RaiseOption::Hint => "HINT",
            RaiseOption::ErrorCode => "ERRCODE",
            RaiseOption::Column => "COLUMN",
            RaiseOption::Constraint => "CONSTRAINT",
            RaiseOption::DataType => "DATATYPE",
            RaiseOption::Table => "TABLE",
            RaiseOption::Schema => "SCHEMA",
        }
    }
}

impl Program {
    /// True if it is no routine of the catalogue, but the steps of one statement.
    pub fn is_nameless(&self) -> bool {
        let first = self.routines.first();
        first.is_some_and(|routine| routine.name.is_empty())
    }

    /// Whether any routine has statements that are planned when they are reached: what it touches nobody knows before it is run.
    pub fn has_dynamic(&self) -> bool {
        self.code().iter().any(|code| code.is_dynamic)
    }

    /// Whether any of them runs in a guise of its own.
    pub fn has_guises(&self) -> bool {
        self.routines.iter().any(|routine| routine.guise.is_some())
    }

    /// Whether only the session can run it: no batch and no line.
    pub fn needs_session(&self) -> bool {
        self.has_dynamic() || self.has_guises() || self.asks_whose_rows()
    }

    /// Whether it touches a table with row security: which rows it meets depends on who calls it.
    pub fn asks_whose_rows(&self) -> bool {
        *self.whose.get_or_init(|| {
            let mut asks = false;
            for operation in self.code().iter().flat_map(|code| &code.operations) {
                each_of_operation(operation, &mut |expr| asks = asks || asks_whose_rows(expr));
            }
            asks
        })
    }

    /// A program whose calls begin at the first routine.
    pub fn new(routines: Vec<Routine>) -> Program {
        Program::of_catalog(routines, BTreeMap::new())
    }

    /// The same, some of whose routines are called by their names in the catalogue.
    pub fn of_catalog(routines: Vec<Routine>, numbers: BTreeMap<RoutineId, usize>) -> Program {
        Program {
            routines,
            numbers,
            code: OnceLock::new(),
            ahead: OnceLock::new(),
            whose: OnceLock::new(),
        }
    }

    /// The routines as flat code.
    pub fn code(&self) -> &[Code] {
        self.code
            .get_or_init(|| self.routines.iter().map(flattened).collect())
    }

    /// What a call of the first routine may look up before it begins; `make` says it once.
    pub fn ahead(&self, make: impl FnOnce(&Program) -> Ahead) -> &Ahead {
        self.ahead.get_or_init(|| make(self))
    }

    /// True if a call is over soon: no loop whose end only its own steps decide. Ranges that a routine
    /// scans are taken for short: who writes one down means a few rows of many.
    pub fn is_short(&self) -> bool {
        let mut short = true;
        for routine in &self.routines {
            each_step(&routine.body, &mut |step| {
                short &= !matches!(step.action, Action::Loop { .. });
            });
        }
        short
    }

    /// True if some step may write, or lock rows.
    pub fn is_write(&self) -> bool {
        let mut writes = false;
        for routine in &self.routines {
            each_step(&routine.body, &mut |step| {
                writes |= match &step.action {
                    Action::Run { statement, .. }
                    | Action::ForRow { statement, .. }
                    | Action::ReturnQuery(statement) => statement.is_write(),
                    _ => false,
                };
            });
        }
        writes
    }
}

fn flattened(routine: &Routine) -> Code {
    let code = Code::new(routine);
    if cfg!(debug_assertions)
        && let Err(fault) = crate::validate::code(&code, routine)
    {
        panic!("a routine was flattened wrongly: {fault}");
    }
    code
}

/// Which routine, not what it does: expressions are compared by their printed form.
impl fmt::Debug for Callee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.name, self.id.0)
    }
}

/// Calls `see` for every step of a tree, those inside others too.
pub fn each_step<'s>(steps: &'s [Step], see: &mut impl FnMut(&'s Step)) {
    for step in steps {
        see(step);
        match &step.action {
            Action::If {
                branches,
                otherwise,
            } => {
                for (_, body) in branches {
                    each_step(body, see);
                }
                each_step(otherwise, see);
            }
            Action::Loop { body }
            | Action::ForInteger { body, .. }
            | Action::ForRow { body, .. }
            | Action::ForElement { body, .. }
            | Action::Block { body }
            | Action::OneState { body } => each_step(body, see),
            Action::Dynamic(dynamic) => each_step(dynamic.turns.as_deref().unwrap_or(&[]), see),
            Action::Guard { body, handlers, .. } => {
                each_step(body, see);
                for handler in handlers {
                    each_step(&handler.body, see);
                }
            }
            Action::Assign { .. }
            | Action::AssignElement { .. }
            | Action::Run { .. }
            | Action::Call { .. }
            | Action::Exit { .. }
            | Action::Continue { .. }
            | Action::Raise(_)
            | Action::Reraise
            | Action::Commit
            | Action::Rollback
            | Action::Fail(_)
            | Action::Return(_)
            | Action::ReturnNext(_)
            | Action::ReturnQuery(_)
            | Action::Landmark(_)
            | Action::RowCount { .. }
            | Action::Diagnose { .. } => {}
        }
    }
}

impl Action {
    /// The statement of SQL that a step runs itself.
    pub fn statement(&self) -> Option<&Statement> {
        match self {
            Action::Run { statement, .. }
            | Action::ForRow { statement, .. }
            | Action::ReturnQuery(statement) => Some(statement),
            _ => None,
        }
    }
}

impl Condition {
    /// Whether it takes an error.
    pub fn takes(self, state: SqlState) -> bool {
        match self {
            Condition::State(wanted) => wanted == state,
            Condition::Class(class) => state.0[..2] == class,
            Condition::Others => ![
                SqlState::QUERY_CANCELED,
                SqlState::ASSERT_FAILURE,
                SqlState::SERIALIZATION_FAILURE,
                SqlState::DEADLOCK_DETECTED,
                SqlState::STATEMENT_COMPLETION_UNKNOWN,
            ]
            .contains(&state),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::State(state) => write!(f, "{state}"),
            Condition::Class(class) => write!(f, "{}***", String::from_utf8_lossy(class)),
            Condition::Others => f.write_str("others"),
        }
    }
}

impl Slot {
    /// A slot for hidden use.
    pub fn hidden(ty: SqlType) -> Slot {
        Slot {
            name: String::new(),
            ty,
            not_null: false,
        }
    }
}

pub use crate::function::set_element;
