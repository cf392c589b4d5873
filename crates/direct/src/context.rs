//! What a statement runs in: transaction, session, parameters; memory and cancellation.
//!
//! Relies on: the caller owns all of it for the time of a call.  Promises: a statement's sorts,
//! groups and buffered rows stay below [`Host::statement_memory`]; a cancel request is noticed within
//! [`ROWS_PER_CHECK`] rows.  Does not: count what the transaction itself buffers (`tc` bounds that).

use crate::direct::Direct;
use crate::late_key::LateKey;
use crate::nested::{Calling, Inside};
use crate::point::Scratch;
use crate::references::Event;
use crate::subquery::Memory;
use crate::translate::halt;
use crate::with::Given;
use quintet_base::{SqlError, SqlResult, SqlState, Value};
use quintet_ir::routine::Callee;
use quintet_ir::{Expr, Host, Program, out_of_memory};
use quintet_tc::Txn;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use quintet_base::limits::STATEMENT_MEMORY_DEFAULT as STATEMENT_MEMORY_MAX;

/// Rows between two looks at the cancel flag and the clock: some ten microseconds, unless they come from disk.
const ROWS_PER_CHECK: u32 = 64;

/// Why a statement gave no answer: blocked (nothing of it remains; wait, then call again) or failed.
pub type Stop = quintet_engine::Stop<quintet_tc::Wait>;

/// What a caller lends to a statement for one call.
pub struct Context<'a> {
    /// The transaction to run in.
    pub txn: &'a mut Txn,
    /// The session: time, settings, sequences.
    pub host: &'a dyn Host,
    /// Values of `$1 …`, of the types the procedure declares.
    pub params: &'a [Value],
    /// Set by anybody to interrupt; cleared when the statement ends with 57014.
    pub cancel: &'a AtomicBool,
}

/// Why a step inside a statement came to nothing.
pub(crate) enum Halt {
    /// Another transaction is in the way.
    Blocked(quintet_tc::Wait),
    /// READ COMMITTED: a row changed since the snapshot; run the statement again on a new one.
    Stale,
    /// The statement fails.
    Error(SqlError),
}

impl From<SqlError> for Halt {
    fn from(error: SqlError) -> Halt {
        Halt::Error(error)
    }
}

/// What a statement carries from call to call.
#[derive(Default)]
pub(crate) struct Workspace {
    rows: u32,
    memory: usize,
    /// The bounds on the memory, and on that for rows which a file can take, once they have been asked for.
    bounds: Option<(usize, usize)>,
    /// Of the memory, what belongs to the statements around this one.
    floor: usize,
    /// How many statements are around this one.
    pub nesting: usize,
    /// Where on the stack the outermost call of a function began; 0: there is none.
    pub stack: usize,
    /// Bytes of rows that the loops and results of the routine around the statement keep.
    pub kept: usize,
    /// For keys of point reads: no allocation per row.
    pub key: Vec<u8>,
    /// For the bytes of a row that is written.
    pub row: Vec<u8>,
    /// For images of keys that are hashed.
    pub image: Vec<u8>,
    /// For statements about one row.
    pub point: Scratch,
    /// For statements about a range.
    pub sweep: crate::sweep::Buffers,
    /// What stopped a function that an expression calls, or a query in it, but for errors: the expression has
    /// failed with one that nobody sees.
    pub halted: Option<Halt>,
    /// Answers and rows that queries in expressions keep.
    pub subqueries: Memory,
    /// What WITH keeps, by number.
    pub given: BTreeMap<usize, Given>,
    /// Rows that the statement has written and others may refer to, or that refer to others.
    pub events: Vec<Event>,
    /// Keys that must be one row's alone when all is done.
    pub owed: Vec<LateKey>,
}

impl Workspace {
    /// For a statement of a function that is called in the midst of this one.
    pub fn inside(&self, stack: usize) -> Workspace {
        // What the routine keeps has the floor in it, as has the memory.
        let memory = self.memory + self.kept.saturating_sub(self.floor);
        Workspace {
            memory,
            floor: memory,
            nesting: self.nesting + 1,
            stack,
            ..Workspace::default()
        }
    }

    /// Bytes that belong to others.
    pub fn floor(&self) -> usize {
        self.floor
    }
}

/// What a statement that calls functions needs of where it runs.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    pub direct: &'a Direct,
    /// The program whose routine the statement stands in.
    pub program: Option<&'a Arc<Program>>,
}

/// What every operator is given: the context, and the statement's workspace.
pub(crate) struct Env<'e> {
    pub txn: &'e mut Txn,
    pub host: &'e dyn Host,
    pub params: &'e [Value],
    cancel: &'e AtomicBool,
    pub workspace: &'e mut Workspace,
    /// Scans give every column, whoever looks at it: the row will be written back or locked.
    pub whole_rows: bool,
    /// Set where functions may be called: in a statement that is run whole.
    pub around: Option<Around<'e>>,
}

impl<'e> Env<'e> {
    pub fn new<'a: 'e>(context: &'e mut Context<'a>, workspace: &'e mut Workspace) -> Env<'e> {
        Env {
            txn: context.txn,
            host: context.host,
            params: context.params,
            cancel: context.cancel,
            workspace,
            whole_rows: false,
            around: None,
        }
    }

    /// What an expression's query runs in.
    pub fn inside(
        inside: Inside<'e>,
        (host, params): (&'e dyn Host, &'e [Value]),
        around: Option<Around<'e>>,
    ) -> Env<'e> {
        Env {
            txn: inside.txn,
            host,
            params,
            cancel: inside.cancel,
            workspace: inside.workspace,
            whole_rows: false,
            around,
        }
    }

    /// Evaluates an expression over a frame.
    pub fn eval(&mut self, expr: &Expr, frame: &[Value]) -> SqlResult<Value> {
        let params = self.params;
        quintet_ir::eval(expr, frame, params, &self.calling())
    }

    /// True only if the predicate is TRUE.
    pub fn holds(&mut self, predicate: &Expr, frame: &[Value]) -> SqlResult<bool> {
        let params = self.params;
        quintet_ir::eval_predicate(predicate, frame, params, &self.calling())
    }

    /// Evaluates an expression that calls no function of the catalogue and has no query in it: a key,
    /// the filter of a scan.
    pub fn eval_plain(&self, expr: &Expr, frame: &[Value]) -> SqlResult<Value> {
        quintet_ir::eval(expr, frame, self.params, self.host)
    }

    /// As [`Env::eval_plain`], for predicates.
    pub fn holds_plain(&self, predicate: &Expr, frame: &[Value]) -> SqlResult<bool> {
        quintet_ir::eval_predicate(predicate, frame, self.params, self.host)
    }

    /// The session, for expressions that may call functions or have queries in them.
    fn calling(&mut self) -> Calling<'_> {
        Calling::new(
            self.around,
            (self.host, self.params),
            Inside {
                txn: self.txn,
                cancel: self.cancel,
                workspace: self.workspace,
            },
        )
    }

    /// Rows of a function in FROM.
    pub fn call_routine(
        &mut self,
        callee: &Callee,
        arguments: Vec<Value>,
    ) -> Result<Vec<Vec<Value>>, Halt> {
        let Some(around) = self.around else {
            return Err(SqlError::internal("a function was called outside a whole run").into());
        };
        let inside = Inside {
            txn: self.txn,
            cancel: self.cancel,
            workspace: self.workspace,
        };
        inside.call(around, self.host, callee, arguments)
    }

    /// The same for a query inside an expression, or a lateral plan, where `host` has what is handed to it.
    pub fn within<'w>(&'w mut self, host: &'w dyn Host) -> Env<'w> {
        Env {
            txn: self.txn,
            host,
            params: self.params,
            cancel: self.cancel,
            workspace: self.workspace,
            whole_rows: false,
            around: self.around,
        }
    }

    /// One more row was looked at.
    pub fn tick(&mut self) -> SqlResult<()> {
        self.workspace.rows = self.workspace.rows.wrapping_add(1);
        if self.workspace.rows.is_multiple_of(ROWS_PER_CHECK) {
            self.check_cancel()?;
        }
        Ok(())
    }

    /// `57014` if somebody asked for it, or its time is over. Acquire pairs with the Release of whoever sets the flag.
    pub fn check_cancel(&self) -> SqlResult<()> {
        if self.cancel.load(Ordering::Acquire) && self.cancel.swap(false, Ordering::AcqRel) {
            return Err(SqlError::new(
                SqlState::QUERY_CANCELED,
                "canceling statement due to user request",
            ));
        }
        if self.host.is_overdue() {
            return Err(SqlError::new(
                SqlState::QUERY_CANCELED,
                "canceling statement due to statement timeout",
            ));
        }
        Ok(())
    }

    /// The statement is going to keep so many bytes more.
    pub fn charge(&mut self, bytes: usize) -> SqlResult<()> {
        match self.may_charge(bytes) {
            true => Ok(()),
            false => Err(out_of_memory(self.memory_bounds().0)),
        }
    }

    /// As `charge`, for what can be done without.
    pub fn may_charge(&mut self, bytes: usize) -> bool {
        let (bound, _) = self.memory_bounds();
        self.charge_below(bound, bytes)
    }

    /// As `may_charge`, for rows that can be kept in a file as well.
    pub fn may_charge_rows(&mut self, bytes: usize) -> bool {
        let (_, bound) = self.memory_bounds();
        self.charge_below(bound, bytes)
    }

    fn charge_below(&mut self, bound: usize, bytes: usize) -> bool {
        let fits = self.workspace.memory.saturating_add(bytes) <= bound;
        if fits {
            self.workspace.memory += bytes;
        }
        fits
    }

    fn memory_bounds(&mut self) -> (usize, usize) {
        let host = self.host;
        let ask = || (host.statement_memory(), host.kept_memory());
        *self.workspace.bounds.get_or_insert_with(ask)
    }

    /// Gives back what was charged.
    pub fn release(&mut self, bytes: usize) {
        self.workspace.memory = self.workspace.memory.saturating_sub(bytes);
    }

    /// As `charge`, for what the statement's queries in expressions keep until it ends.
    pub fn charge_kept(&mut self, bytes: usize) -> SqlResult<()> {
        self.charge(bytes)?;
        self.workspace.subqueries.bytes += bytes;
        Ok(())
    }

    /// Forgets what queries in expressions keep: what they read is not what it was.
    pub fn forget_kept(&mut self) {
        self.release(self.workspace.subqueries.bytes);
        self.workspace.subqueries = Memory::default();
    }

    /// How much is charged but for what is kept so.
    pub fn memory_mark(&self) -> usize {
        self.workspace
            .memory
            .saturating_sub(self.workspace.subqueries.bytes)
    }

    /// Gives back what was charged since the mark and is not kept.
    pub fn memory_back(&mut self, mark: usize) {
        self.workspace.memory = mark + self.workspace.subqueries.bytes;
    }

    /// The statement starts over.
    pub fn release_all(&mut self) {
        self.workspace.memory = self.workspace.floor;
        self.workspace.subqueries = Memory::default();
        self.workspace.events.clear();
        self.workspace.owed.clear();
        self.workspace.given.clear();
    }

    /// What stopped the statement in the midst of an expression stands for the error that it failed with.
    pub fn halted(&mut self, halt: Halt) -> Halt {
        self.workspace.halted.take().unwrap_or(halt)
    }

    /// What an error of the transaction, met at this relation, means for the statement.
    pub fn halt(&self, error: quintet_tc::Error, relation: &str) -> Halt {
        halt(error, self.txn.level(), relation)
    }
}

/// What a kept row takes, roughly.
pub fn row_bytes(row: &[Value]) -> usize {
    size_of::<Vec<Value>>() + row.iter().map(value_bytes).sum::<usize>()
}

/// The same of one value.
pub(crate) fn value_bytes(value: &Value) -> usize {
    let beyond = match value {
        Value::Text(text) if text.is_heap_allocated() => text.len(),
        Value::Bytea(bytes) => bytes.len() + 16,
        Value::Bits(bits) => bits.bytes().len() + 17,
        Value::Numeric(_) => 48,
        Value::Range(range) => range.bytes(),
        Value::Multirange(set) => set.bytes(),
        Value::Record(record) => 48 + record.values.iter().map(value_bytes).sum::<usize>(),
        Value::Array(array) => 48 + array.values.iter().map(value_bytes).sum::<usize>(),
        _ => 0,
    };
    size_of::<Value>() + beyond
}
