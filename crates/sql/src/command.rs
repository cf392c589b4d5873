//! What a statement asks for, after names and types are resolved.
//!
//! Relies on: `ir`.  Promises: a command needs neither text nor catalogue to be carried out; those
//! of the transactional path hold IR, the rest are for the session.  Does not: carry anything out.

use crate::catalog::{Catalog, CatalogChange};
use crate::databases::DatabaseChange;
use crate::records::{self, Counters, ForeignKeyRecord, RecordKey};
use quintet_base::{Level, SqlError, SqlResult, SqlType, TableId};
use quintet_ir::Expr;
use quintet_ir::Needs;
use quintet_ir::Program;
use quintet_ir::cursors::Way;
use quintet_ir::ddl::Work;
use quintet_ir::explain::Format;
use quintet_ir::plan::Plan;
use quintet_ir::schema::TableRef;
use quintet_ir::statement::{OutputColumn, Procedure};
use std::sync::Arc;

/// A planned statement.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What to do.
    pub command: Command,
    /// Types of `$1 …`, as declared or inferred.
    pub params: Vec<SqlType>,
    /// Columns of the result; empty if it returns no rows.
    pub columns: Vec<OutputColumn>,
    /// The command tag, without counts: `SELECT`, `INSERT`, `BEGIN`, `CREATE TABLE` …
    pub tag: &'static str,
    /// What whoever carries it out must be allowed to do.
    pub needs: Needs,
    /// Notices to send when it is carried out (`relation "x" does not exist, skipping`).
    pub notices: Vec<Notice>,
}

/// A message beside the result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    /// NOTICE, WARNING …
    pub severity: &'static str,
    /// What it says.
    pub message: SqlError,
}

/// What to do.
#[derive(Clone, Debug)]
pub enum Command {
    /// Nothing: an empty statement.
    Empty,
    /// Run IR.
    Run(Arc<Procedure>),
    /// Change the schema. Planned against one catalogue: the session takes the schema lock, plans
    /// again if the catalogue has moved, does the work and writes the changes.
    Ddl(DdlPlan),
    /// BEGIN, START TRANSACTION.
    Begin(TransactionModes),
    /// COMMIT, END.
    Commit {
        /// AND CHAIN.
        chain: bool,
    },
    /// SET CONSTRAINTS.
    SetConstraints {
        /// Which; `None`: all.
        keys: Option<Vec<quintet_base::ConstraintId>>,
        /// Checked when the transaction commits, or at the end of each statement.
        deferred: bool,
    },
    /// ROLLBACK, ABORT.
    Rollback {
        /// AND CHAIN.
        chain: bool,
    },
    /// PREPARE TRANSACTION, for which there are no places, as PostgreSQL has none unless it is told to.
    PrepareTransaction,
    /// SAVEPOINT name.
    Savepoint(String),
    /// ROLLBACK TO name.
    RollbackTo(String),
    /// RELEASE name.
    Release(String),
    /// SET name = value; `None` = DEFAULT, and RESET.
    Set {
        /// SET LOCAL.
        local: bool,
        /// Lower-case name.
        name: String,
        /// Values joined with ", " as PostgreSQL does.
        value: Option<String>,
    },
    /// SELECT set_config(name, value, local): as SET, and a row with the value.
    SetConfig {
        /// For the transaction.
        local: bool,
        /// Lower-case name.
        name: String,
        /// What it is from now on.
        value: String,
    },
    /// LISTEN channel.
    Listen(String),
    /// UNLISTEN channel; `None` = all.
    Unlisten(Option<String>),
    /// NOTIFY.
    Notify {
        /// Where.
        channel: String,
        /// What.
        payload: String,
    },
    /// A SELECT of functions of advisory locks, and of `pg_sleep`.
    Advisory {
        /// The rows for each of which they are called; none: once, over nothing.
        source: Option<Arc<Procedure>>,
        /// In this order.
        calls: Vec<AdvisoryCall>,
        /// The row of the result, over the row of the source and behind it what the calls gave.
        row: Vec<quintet_ir::Expr>,
    },
    /// LOCK TABLE.
    LockTable {
        /// Nobody else commits to these until the transaction ends. None: a mode that keeps nobody out.
        tables: Vec<TableRef>,
        /// NOWAIT was not said.
        waits: bool,
    },
    /// RESET ALL.
    ResetAll,
    /// SET TRANSACTION.
    SetTransaction(TransactionModes),
    /// SET SESSION CHARACTERISTICS AS TRANSACTION.
    SetSessionTransaction(TransactionModes),
    /// SHOW name.
    Show(String),
    /// SHOW ALL.
    ShowAll,
    /// DISCARD ALL (plans keep nothing here: they arrive as `Nothing`).
    DiscardAll,
    /// DISCARD SEQUENCES.
    DiscardSequences,
    /// DISCARD TEMP.
    DiscardTemp,
    /// PREPARE name (types) AS statement: the text of the statement.
    Prepare {
        /// Its name.
        name: String,
        /// Declared types, `Unknown` where not.
        types: Vec<SqlType>,
        /// The statement's own text.
        text: String,
    },
    /// EXECUTE name (values): constant expressions.
    Execute {
        /// Which.
        name: String,
        /// Arguments as a one-row plan of texts to read with the parameter types; NULL allowed.
        arguments: Vec<quintet_ir::Expr>,
    },
    /// DEALLOCATE name; `None` = ALL.
    Deallocate(Option<String>),
    /// DECLARE name CURSOR FOR query.
    Declare(Declare),
    /// FETCH or MOVE.
    Fetch {
        /// Portal name.
        name: String,
        /// Which rows.
        way: Way,
        /// MOVE: do not return them.
        discard: bool,
    },
    /// CLOSE name; `None` = ALL.
    Close(Option<String>),
    /// COPY table FROM STDIN.
    CopyFrom(CopyFrom),
    /// COPY … TO STDOUT.
    CopyTo(CopyTo),
    /// EXPLAIN.
    Explain {
        /// Run it, too.
        analyze: bool,
        /// In which form.
        format: Format,
        /// What is explained: only `Run` for now.
        inner: Box<Planned>,
    },
    /// `SELECT * FROM quintet_…(…)`: what the database tells of itself, and the arguments.
    Feed(crate::feed::Feed, Vec<quintet_ir::Expr>),
    /// EXPLAIN PROCEDURE and FUNCTION: the routine with those it calls.
    ExplainRoutine(Arc<Program>),
    /// VACUUM: nothing to do, but not inside a block.
    Alone(&'static str),
    /// ANALYZE, CHECKPOINT, LOCK TABLE in a weak mode and the like: accepted, nothing to do
    /// (CHECKPOINT asks for a compaction).
    Nothing {
        /// CHECKPOINT.
        checkpoint: bool,
    },
}

/// A cursor to be.
#[derive(Clone, Debug)]
pub struct Declare {
    /// Portal name.
    pub name: String,
    /// WITH HOLD.
    pub hold: bool,
    /// SCROLL: it may go back.
    pub scroll: bool,
    /// The query.
    pub query: Arc<Procedure>,
    /// The table that its rows are those of.
    pub over: Option<CursorTable>,
    /// FOR UPDATE and its kin.
    pub locks: bool,
}

/// The table of a cursor each of whose rows is one of the table's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CursorTable {
    /// Which.
    pub table: TableId,
    /// So many values of the table's key are behind the cursor's own columns.
    pub key: usize,
}

/// Modes in BEGIN and SET TRANSACTION.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransactionModes {
    /// ISOLATION LEVEL.
    pub level: Option<Level>,
    /// It was READ UNCOMMITTED.
    pub uncommitted: bool,
    /// READ ONLY / READ WRITE.
    pub read_only: Option<bool>,
    /// DEFERRABLE.
    pub deferrable: Option<bool>,
}

/// A schema change.
#[derive(Clone, Debug)]
pub struct DdlPlan {
    /// Catalogue records to write and remove.
    pub changes: Vec<CatalogChange>,
    /// Physical work, in order, before the records are written.
    pub work: Vec<Work>,
    /// What is run when the change is done, by the schema as it is then: CREATE TABLE AS puts its rows in.
    pub then: Option<Arc<Procedure>>,
    /// Triggers that it fires, by their numbers: before it, and behind it.
    pub fires: [Vec<u32>; 2],
    /// Names and values that are kept for later: the session knows whether it would take them.
    pub settings: Vec<(String, String)>,
    /// What becomes of a database as a whole: outside of transaction blocks, and nobody else may be there who is in the way.
    pub database: Option<DatabaseChange>,
}

impl DdlPlan {
    /// Whether a database goes.
    pub fn drops_database(&self) -> bool {
        matches!(self.database, Some(DatabaseChange::Drop { .. }))
    }

    /// Whether it concerns nothing but the session's temporary schema.
    pub fn is_temporary(&self) -> bool {
        self.database.is_none()
            && self.settings.is_empty()
            && !self.changes.is_empty()
            && self.changes.iter().all(CatalogChange::is_temporary)
    }

    /// The next number to give to an object when it is done, if it gives any out.
    ///
    /// # Errors
    /// `XX001`: that cannot be read.
    pub fn next_id(&self) -> SqlResult<Option<u32>> {
        let mut next = None;
        for change in &self.changes {
            if let (Ok(RecordKey::Counters), Some(value)) =
                (RecordKey::decode(&change.key), &change.value)
            {
                next = Some(records::read::<Counters>(value)?.next_id);
            }
        }
        Ok(next)
    }

    /// Whether numbers for something temporary were drawn for it.
    pub fn counts_temporary(&self) -> bool {
        self.changes.iter().any(CatalogChange::counts_temporary)
    }

    /// Whether it may change one of these tables, or what refers to what; a key that is new does so for the table that has it.
    pub fn touches(&self, tables: &[TableId], catalog: &Catalog) -> bool {
        let touches = |change: &CatalogChange| match RecordKey::decode(&change.key) {
            Ok(RecordKey::Table(id)) => tables.contains(&id),
            Ok(RecordKey::ForeignKey(_)) => {
                added_key(change, catalog).is_none_or(|key| tables.contains(&key.child))
            }
            Ok(RecordKey::Partitioning(_)) | Err(_) => true,
            Ok(_) => false,
        };
        !tables.is_empty() && self.changes.iter().any(touches)
    }

    /// The first of these tables that it changes itself, or gives a foreign key.
    pub fn first_changed(&self, tables: &[TableId], catalog: &Catalog) -> Option<TableId> {
        let changed = |change: &CatalogChange| match RecordKey::decode(&change.key) {
            Ok(RecordKey::Table(id)) => Some(id),
            Ok(RecordKey::ForeignKey(_)) => added_key(change, catalog).map(|key| key.child),
            _ => None,
        };
        let changed: Vec<TableId> = self.changes.iter().filter_map(changed).collect();
        tables.iter().find(|id| changed.contains(id)).copied()
    }

    /// Whether it changes this table, or this trigger.
    pub fn changes_fired(&self, table: TableId, trigger: u32) -> bool {
        self.changes
            .iter()
            .any(|change| match RecordKey::decode(&change.key) {
                Ok(RecordKey::Table(id)) => id == table,
                Ok(RecordKey::Trigger(number)) => number == trigger,
                _ => false,
            })
    }
}

/// The foreign key that a change adds; `None` for one that is there already.
fn added_key(change: &CatalogChange, catalog: &Catalog) -> Option<ForeignKeyRecord> {
    let key = records::read_foreign_key(change.value.as_ref()?).ok()?;
    let is_new = catalog.foreign_keys().all(|other| other.id != key.id);
    is_new.then_some(key)
}

/// A call of a function of advisory locks, or of `pg_sleep`.
#[derive(Clone, Debug)]
pub struct AdvisoryCall {
    /// What it does.
    pub what: Advisory,
    /// With others who share.
    pub shared: bool,
    /// Until the transaction ends.
    pub transaction: bool,
    /// One bigint or two integers, seconds as a float8, over the parameters and the row of the source.
    pub arguments: Vec<quintet_ir::Expr>,
}

/// What is done with an advisory lock; `Sleep` has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advisory {
    /// Waits for it.
    Lock,
    /// Takes it if it is free.
    Try,
    /// Gives it back.
    Unlock,
    /// Gives all of the session back.
    UnlockAll,
    /// Lets so many seconds pass.
    Sleep,
}

/// COPY table (columns) FROM STDIN.
#[derive(Clone, Debug)]
pub struct CopyFrom {
    /// The table.
    pub table: TableRef,
    /// Column number of each field of the input.
    pub columns: Vec<usize>,
    /// An INSERT whose parameters are the fields, already of the columns' types.
    pub insert: Arc<Procedure>,
    /// Of a table whose INSERT fires triggers: the INSERT of all rows, whose parameters are the columns as arrays.
    pub fired: Option<Arc<Procedure>>,
    /// Over the fields, as parameters: true for the rows that are taken.
    pub filter: Option<Arc<Expr>>,
    /// Places of the fields that are never NULL, but what stands for NULL.
    pub never_null: Vec<usize>,
    /// Places of the fields that are NULL also when what stands for it is quoted.
    pub also_null: Vec<usize>,
    /// The format.
    pub format: CopyFormat,
}

impl CopyFrom {
    /// What is run.
    pub fn writes(&self) -> &Procedure {
        self.fired.as_ref().unwrap_or(&self.insert)
    }
}

/// COPY … TO STDOUT.
#[derive(Clone, Debug)]
pub struct CopyTo {
    /// Where rows come from: one query, or a statement with RETURNING.
    pub query: Arc<Procedure>,
    /// Its columns.
    pub columns: Vec<OutputColumn>,
    /// The format.
    pub format: CopyFormat,
    /// Columns whose values CSV quotes, whatever they are.
    pub quoted: Vec<usize>,
}

/// A first line with the columns' names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyHeader {
    /// There is none.
    None,
    /// It is written, and passed over.
    Line,
    /// It is read, and has to have the names in their order.
    Match,
}

/// How COPY writes rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopyFormat {
    /// Text, CSV or binary.
    pub kind: CopyKind,
    /// Between fields.
    pub delimiter: u8,
    /// What stands for NULL.
    pub null: String,
    /// A first line with names.
    pub header: CopyHeader,
    /// CSV quote.
    pub quote: u8,
    /// CSV escape.
    pub escape: u8,
}

/// Kinds of COPY data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum CopyKind {
    Text,
    Csv,
    Binary,
}

impl Planned {
    /// The plan of a single query, if that is what the command runs.
    pub fn as_query(&self) -> Option<&Plan> {
        match &self.command {
            Command::Run(procedure) => match procedure.statement() {
                Some(quintet_ir::Statement::Query(plan)) => Some(plan),
                _ => None,
            },
            _ => None,
        }
    }
}
