//! An engine on simulated media, tables by hand, and statements as short as can be.

#![allow(dead_code, unused_imports)] // each test binary uses a part

use quintet_base::row::RowLayout;
use quintet_base::text_format::FormatContext;
use quintet_base::{
    Durability, IndexId, Level, SequenceId, SpaceId, SqlError, SqlResult, SqlType, TableId,
    TypeMod, Value,
};
use quintet_dc::{DataComponent, MemoryMedium, MemoryStore};
use quintet_direct::{Context, Direct, Run, STATEMENT_MEMORY_MAX, Stop};
use quintet_ir::fold::DetachedHost;
use quintet_ir::plan::{JoinKind, KeyBound, LockStrength, LockTarget, LockWait, SortKey};
use quintet_ir::schema::{CheckDef, CheckKind, PrimaryKey, TableRef};
use quintet_ir::statement::{Body, Delete, Insert, Update};
use quintet_ir::{
    Access, ColumnDef, CompareOp, Expr, Host, IndexDef, KeyRange, Path, Plan, Procedure,
    SequenceDef, Spill, Statement, TableDef,
};
use quintet_rt::{Disk, SimDisk};
use quintet_tc::{Tc, TcConfig, Txn, Wait};
use quintet_wal::{Wal, WalConfig};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub use Value::{Int4, Null};

/// What outlives the process.
pub struct Media {
    pub disk: SimDisk,
    pub medium: MemoryMedium,
}

impl Media {
    pub fn new() -> Media {
        Media {
            disk: SimDisk::new(1),
            medium: MemoryMedium::default(),
        }
    }

    pub fn open(&self) -> Direct {
        self.open_over(Arc::new(self.store()))
    }

    pub fn store(&self) -> MemoryStore {
        MemoryStore::open(&self.medium)
    }

    /// An engine over what stands before the store.
    pub fn open_over(&self, store: Arc<dyn DataComponent>) -> Direct {
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        let mut config = WalConfig::new("/log");
        config.durability = Durability::Sync;
        config.segment_bytes = 1 << 20;
        config.keep_in_memory = true;
        let (log, _) = Wal::open(disk, config, Some(store.redo_start())).expect("the log opens");
        let (tc, _) = Tc::open(log, store, TcConfig::for_memory(256 << 20)).expect("it opens");
        Direct::new(tc)
    }
}

pub fn engine() -> Direct {
    Media::new().open()
}

// ---- tables

/// A table in space `number`; columns are `(name, type)`.
pub fn table(number: u32, name: &str, columns: &[(&str, SqlType)]) -> TableDef {
    let types = columns.iter().map(|(_, ty)| *ty).collect();
    TableDef {
        id: TableId(number),
        revision: 1,
        schema: "public".into(),
        name: name.into(),
        space: SpaceId(number),
        columns: columns
            .iter()
            .map(|(name, ty)| ColumnDef {
                name: (*name).into(),
                ty: *ty,
                modifier: TypeMod::NONE,
                not_null: false,
                default: None,
                missing: None,
                identity: None,
                generated: None,
                dropped: false,
                hidden: false,
            })
            .collect(),
        primary_key: None,
        indexes: vec![],
        checks: vec![],
        layout: RowLayout::new(types),
        references: None,
        partitions: None,
    }
}

pub trait TableExt: Sized {
    fn key(self, columns: &[usize]) -> Self;
    fn index(self, name: &str, columns: &[usize], unique: bool) -> Self;
    fn check(self, name: &str, condition: Expr) -> Self;
    fn done(self) -> TableRef;
}

impl TableExt for TableDef {
    fn key(mut self, columns: &[usize]) -> TableDef {
        let name = format!("{}_pkey", self.name);
        for column in columns {
            self.columns[*column].not_null = true;
        }
        self.primary_key = Some(PrimaryKey {
            name,
            columns: columns.to_vec(),
        });
        self
    }

    fn index(mut self, name: &str, columns: &[usize], unique: bool) -> TableDef {
        let number = self.indexes.len() as u32;
        self.indexes.push(IndexDef {
            id: IndexId(self.id.0 * 100 + number),
            name: name.into(),
            space: SpaceId(self.id.0 * 100 + number),
            columns: columns.to_vec(),
            unique,
            late: None,
            constraint: unique,
            partial: false,
            nulls_equal: false,
            inverted: Vec::new(),
            excludes: None,
        });
        self
    }

    fn check(mut self, name: &str, condition: Expr) -> TableDef {
        self.checks.push(CheckDef {
            name: name.into(),
            condition,
            text: String::new(),
            validated: true,
            kind: CheckKind::Own,
        });
        self
    }

    fn done(self) -> TableRef {
        Arc::new(self)
    }
}

/// `(id int primary key, v int)` in space 100.
pub fn pairs() -> TableRef {
    table(100, "t", &[("id", SqlType::Int4), ("v", SqlType::Int4)])
        .key(&[0])
        .done()
}

pub fn sequence(number: u32) -> SequenceDef {
    SequenceDef {
        id: SequenceId(number),
        counter: SequenceId(number),
        schema: "public".into(),
        name: "s".into(),
        ty: SqlType::Int8,
        start: 1,
        increment: 1,
        min: 1,
        max: i64::MAX,
        cycle: false,
        cache: 1,
        owned_by: None,
    }
}

// ---- expressions

pub fn constant(value: Value) -> Expr {
    let ty = value.natural_type();
    Expr::Const(value, ty)
}

pub fn int(value: i32) -> Expr {
    constant(Int4(value))
}

pub fn col(column: usize) -> Expr {
    Expr::Column(column, SqlType::Int4)
}

pub fn param(number: usize) -> Expr {
    Expr::Param(number, SqlType::Int4)
}

pub fn compare(op: CompareOp, left: Expr, right: Expr) -> Expr {
    Expr::Compare {
        op,
        left: Box::new(left),
        right: Box::new(right),
    }
}

pub fn eq(left: Expr, right: Expr) -> Expr {
    compare(CompareOp::Eq, left, right)
}

pub fn add(left: Expr, right: Expr) -> Expr {
    let resolved =
        quintet_ir::function::resolve("+", &[left.ty(), right.ty()]).expect("addition exists");
    Expr::Call {
        function: resolved.function,
        args: vec![left, right],
        ty: resolved.result,
    }
}

// ---- plans

pub fn scan(table: &TableRef, path: Path) -> Plan {
    Plan::Scan(access(table, path))
}

pub fn access(table: &TableRef, path: Path) -> Access {
    let table = Arc::clone(table);
    Access {
        table,
        path,
        filter: None,
        reverse: false,
        offset: 0,
        needed: None,
        kept_after: None,
    }
}

pub fn full(table: &TableRef) -> Plan {
    scan(table, Path::Full)
}

pub fn equal(exprs: Vec<Expr>) -> KeyRange {
    KeyRange {
        equal: exprs,
        lower: None,
        upper: None,
    }
}

/// The row with this key.
pub fn point(table: &TableRef, key: Expr) -> Plan {
    scan(table, Path::Primary(vec![equal(vec![key])]))
}

pub fn filter(input: Plan, predicate: Expr) -> Plan {
    Plan::Filter {
        input: Box::new(input),
        predicate,
    }
}

pub fn project(input: Plan, exprs: Vec<Expr>) -> Plan {
    Plan::Project {
        input: Box::new(input),
        exprs,
    }
}

pub fn limit(input: Plan, count: i64) -> Plan {
    Plan::Limit {
        input: Box::new(input),
        limit: Some(constant(Value::Int8(count))),
        offset: None,
        ties: vec![],
    }
}

pub fn for_update(input: Plan, table: &TableRef, wait: LockWait) -> Plan {
    let target = LockTarget {
        table: Arc::clone(table),
        offset: 0,
        strength: LockStrength::Update,
        wait,
    };
    Plan::Lock {
        input: Box::new(input),
        targets: vec![target],
    }
}

pub fn values(rows: Vec<Vec<Value>>) -> Plan {
    let types = rows
        .first()
        .map(|r| r.iter().map(Value::natural_type).collect());
    let rows = rows
        .into_iter()
        .map(|row| row.into_iter().map(constant).collect())
        .collect();
    Plan::Values {
        rows,
        types: types.unwrap_or_default(),
    }
}

// ---- statements

/// INSERT of constant rows.
pub fn insert(table: &TableRef, rows: Vec<Vec<Value>>) -> Insert {
    let values_of = table.columns.iter().enumerate();
    Insert {
        table: Arc::clone(table),
        source: values(rows),
        values: values_of
            .map(|(i, column)| Expr::Column(i, column.ty))
            .collect(),
        conflict: None,
        returning: None,
    }
}

pub fn update(table: &TableRef, source: Plan, assignments: Vec<(usize, Expr)>) -> Update {
    Update {
        table: Arc::clone(table),
        source,
        assignments,
        returning: None,
    }
}

pub fn delete(table: &TableRef, source: Plan) -> Delete {
    Delete {
        table: Arc::clone(table),
        source,
        returning: None,
    }
}

pub fn procedure(statement: Statement) -> Arc<Procedure> {
    Arc::new(Procedure {
        params: vec![],
        body: Body::Statement(statement),
        result: vec![],
    })
}

// ---- running

/// A session with the settings that a test gives it, whose sequence shows how often an expression was evaluated.
#[derive(Default)]
pub struct TestHost {
    detached: DetachedHost,
    pub evaluations: Cell<i64>,
    /// Names and values.
    pub settings: Vec<(&'static str, &'static str)>,
    /// Bytes for all that a statement keeps.
    pub memory: Option<usize>,
    /// Bytes for rows that a file can take as well.
    pub kept_memory: Option<usize>,
    /// There are none.
    pub no_files: bool,
    pub files: Arc<Files>,
    /// Its time is over when it was asked so often.
    pub looks_left: Cell<Option<u32>>,
}

/// Files of statements: how many were made, and how many are there.
#[derive(Default, Debug)]
pub struct Files {
    pub made: AtomicUsize,
    pub there: AtomicUsize,
}

struct MemoryFile(Vec<u8>, Arc<Files>);

impl Spill for MemoryFile {
    fn append(&mut self, bytes: &[u8]) -> SqlResult<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> SqlResult<()> {
        let offset = offset as usize;
        into.copy_from_slice(&self.0[offset..offset + into.len()]);
        Ok(())
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        self.1.there.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Host for TestHost {
    fn is_overdue(&self) -> bool {
        let left = self.looks_left.get();
        self.looks_left.set(left.map(|left| left.saturating_sub(1)));
        left == Some(0)
    }
    fn transaction_time(&self) -> i64 {
        0
    }
    fn statement_time(&self) -> i64 {
        0
    }
    fn clock_time(&self) -> i64 {
        0
    }
    fn format(&self) -> &FormatContext {
        &self.detached.format
    }
    fn setting(&self, name: &str) -> Option<String> {
        let found = self.settings.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.to_string())
    }
    fn user(&self) -> &str {
        "tester"
    }
    fn database(&self) -> &str {
        "test"
    }
    fn schema(&self) -> &str {
        "public"
    }
    fn random(&self) -> u64 {
        4
    }
    fn nextval(&self, _: SequenceId) -> SqlResult<i64> {
        self.evaluations.set(self.evaluations.get() + 1);
        Ok(self.evaluations.get())
    }
    fn currval(&self, _: SequenceId) -> SqlResult<i64> {
        Ok(self.evaluations.get())
    }
    fn lastval(&self) -> SqlResult<i64> {
        Ok(self.evaluations.get())
    }
    fn setval(&self, _: SequenceId, value: i64, _: bool) -> SqlResult<i64> {
        self.evaluations.set(value);
        Ok(value)
    }
    fn process_id(&self) -> i32 {
        1
    }
    fn statement_memory(&self) -> usize {
        self.memory.unwrap_or(STATEMENT_MEMORY_MAX)
    }
    fn kept_memory(&self) -> usize {
        let all = self.statement_memory();
        self.kept_memory.unwrap_or(all - all / 4)
    }
    fn spill(&self) -> SqlResult<Box<dyn Spill>> {
        if self.no_files {
            return Err(quintet_ir::out_of_memory(self.statement_memory()));
        }
        self.files.made.fetch_add(1, Ordering::Relaxed);
        self.files.there.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(MemoryFile(vec![], Arc::clone(&self.files))))
    }
}

/// One execution, to be called until it is not blocked.
pub struct Call {
    run: Run,
    pub params: Vec<Value>,
    pub host: TestHost,
    pub cancel: AtomicBool,
}

/// What a call came to.
#[derive(Debug)]
pub enum Answer {
    /// Rows and the count of affected ones.
    Done(Vec<Vec<Value>>, u64),
    Blocked(Wait),
    Failed(SqlError),
}

impl Call {
    pub fn new(direct: &Direct, statement: Statement) -> Call {
        Call {
            run: Run::new(direct, procedure(statement)),
            params: vec![],
            host: TestHost::default(),
            cancel: AtomicBool::new(false),
        }
    }

    pub fn go(&mut self, txn: &mut Txn) -> Answer {
        let Call {
            run,
            params,
            host,
            cancel,
        } = self;
        let (host, params, cancel) = (&*host, &*params, &*cancel);
        let mut context = Context {
            txn,
            host,
            params,
            cancel,
        };
        let mut rows = vec![];
        loop {
            match run.next(&mut context) {
                Ok(Some(row)) => rows.push(row.to_vec()),
                Ok(None) => return Answer::Done(rows, run.affected()),
                Err(Stop::Blocked(wait)) => return Answer::Blocked(wait),
                Err(Stop::Error(error)) => return Answer::Failed(error),
                Err(Stop::Commit | Stop::Ask) => panic!("only sessions commit within a call"),
            }
        }
    }
}

impl Answer {
    pub fn rows(self) -> Vec<Vec<Value>> {
        match self {
            Answer::Done(rows, _) => rows,
            other => panic!("no rows but {other:?}"),
        }
    }

    pub fn count(self) -> u64 {
        match self {
            Answer::Done(_, count) => count,
            other => panic!("no count but {other:?}"),
        }
    }

    pub fn error(self) -> SqlError {
        match self {
            Answer::Failed(error) => error,
            other => panic!("no error but {other:?}"),
        }
    }

    /// SQLSTATE and message in one line, with the detail if there is one.
    pub fn message(self) -> String {
        let error = self.error();
        match &error.detail {
            Some(detail) => format!("{} {} | {detail}", error.state, error.message),
            None => format!("{} {}", error.state, error.message),
        }
    }

    pub fn wait(self) -> Wait {
        match self {
            Answer::Blocked(wait) => wait,
            other => panic!("not blocked but {other:?}"),
        }
    }
}

/// Runs a statement once in a transaction.
pub fn run(direct: &Direct, txn: &mut Txn, statement: Statement) -> Answer {
    Call::new(direct, statement).go(txn)
}

pub fn query(direct: &Direct, txn: &mut Txn, plan: Plan) -> Vec<Vec<Value>> {
    run(direct, txn, Statement::Query(plan)).rows()
}

/// Commits, waiting for whatever is in the way; the error is what a client is told.
pub fn commit(mut txn: Txn) -> Result<(), SqlError> {
    let level = txn.level();
    loop {
        match txn.commit(Durability::Async) {
            Ok(_) => return Ok(()),
            Err(quintet_tc::Error::Blocked(wait)) => wait.wait(),
            Err(error) => return Err(quintet_direct::translate(error, level, &|_| None)),
        }
    }
}

/// Runs a statement in a transaction of its own.
pub fn exec(direct: &Direct, statement: Statement) -> Answer {
    let mut txn = direct.begin(Level::ReadCommitted);
    let answer = run(direct, &mut txn, statement);
    commit(txn).expect("nothing conflicts");
    answer
}

/// All rows of a table, as a new transaction sees them.
pub fn contents(direct: &Direct, table: &TableRef) -> Vec<Vec<Value>> {
    exec(direct, Statement::Query(full(table))).rows()
}

/// Rows of integers.
pub fn ints(rows: &[&[i32]]) -> Vec<Vec<Value>> {
    rows.iter()
        .map(|row| row.iter().map(|v| Int4(*v)).collect())
        .collect()
}

pub fn sort_key(column: usize) -> SortKey {
    SortKey {
        expr: col(column),
        descending: false,
        nulls_first: false,
    }
}

pub fn bound(value: Expr, inclusive: bool) -> Option<KeyBound> {
    Some(KeyBound { value, inclusive })
}

pub fn join(
    outer: Plan,
    inner: Plan,
    widths: (usize, usize),
    kind: JoinKind,
    on: Option<Expr>,
) -> Plan {
    Plan::Join {
        outer: Box::new(outer),
        inner: Box::new(inner),
        outer_width: widths.0,
        inner_width: widths.1,
        kind,
        on,
    }
}
