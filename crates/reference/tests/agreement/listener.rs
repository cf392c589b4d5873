//! A session that keeps what it is told.

use quintet_base::text_format::FormatContext;
use quintet_base::{SequenceId, SqlError, SqlResult};
use quintet_ir::Host;
use quintet_ir::fold::DetachedHost;
use std::cell::{Cell, RefCell};

/// See the module.
#[derive(Default)]
pub struct Listener {
    detached: DetachedHost,
    sequence: Cell<i64>,
    pub told: RefCell<Vec<(&'static str, SqlError)>>,
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
    fn setval(&self, _: SequenceId, value: i64, _: bool) -> SqlResult<i64> {
        self.sequence.set(value);
        Ok(value)
    }
    fn process_id(&self) -> i32 {
        1
    }
    fn notice(&self, severity: &'static str, message: SqlError) {
        self.told.borrow_mut().push((severity, message));
    }
    fn notices(&self) -> usize {
        self.told.borrow().len()
    }
    fn forget_notices(&self, from: usize) {
        self.told.borrow_mut().truncate(from);
    }
}
