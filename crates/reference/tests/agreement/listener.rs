//! A session that keeps what it is told.

use quintet_base::text_format::FormatContext;
use quintet_base::{SequenceId, SqlError, SqlResult};
use quintet_ir::cursors::Cursors;
use quintet_ir::fold::DetachedHost;
use quintet_ir::{Host, Spill};
use std::cell::{Cell, RefCell};

/// See the module.
#[derive(Default)]
pub struct Listener {
    detached: DetachedHost,
    sequence: Cell<i64>,
    pub told: RefCell<Vec<(&'static str, SqlError)>>,
    pub cursors: RefCell<Cursors>,
    /// Rows that a file can take are kept in one.
    pub keeps_in_files: bool,
}

/// A file of one statement's rows.
struct MemoryFile(Vec<u8>);

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

impl Host for Listener {
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
    fn setting(&self, _: &str) -> Option<String> {
        None
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
        self.sequence.set(self.sequence.get() + 1);
        Ok(self.sequence.get())
    }
    fn currval(&self, _: SequenceId) -> SqlResult<i64> {
        Ok(self.sequence.get())
    }
    fn lastval(&self) -> SqlResult<i64> {
        Ok(self.sequence.get())
    }
    fn setval(&self, _: SequenceId, value: i64, _: bool) -> SqlResult<i64> {
        self.sequence.set(value);
        Ok(value)
    }
    fn process_id(&self) -> i32 {
        1
    }
    fn cursors(&self) -> Option<&RefCell<Cursors>> {
        Some(&self.cursors)
    }
    fn is_alone(&self) -> bool {
        true
    }
    fn notice(&self, severity: &'static str, message: SqlError) {
        self.told.borrow_mut().push((severity, message));
    }
    fn kept_memory(&self) -> usize {
        let all = self.statement_memory();
        if self.keeps_in_files { 0 } else { all }
    }
    fn spill(&self) -> SqlResult<Box<dyn Spill>> {
        Ok(Box::new(MemoryFile(Vec::new())))
    }
    fn notices(&self) -> usize {
        self.told.borrow().len()
    }
    fn forget_notices(&self, from: usize) {
        self.told.borrow_mut().truncate(from);
    }
}
