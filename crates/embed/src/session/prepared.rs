//! PREPARE and EXECUTE; and what a session has prepared, as it sees it itself: `pg_prepared_statements`.
//!
//! Relies on: `extended` for statements by name; whoever adds or takes away a named one says so here.  Promises: the texts as
//! they were sent.  Does not: hold plans; the unnamed statement is not listed, as in PostgreSQL.

use super::Session;
use super::portal::Portal;
use parking_lot::Mutex;
use quintet_base::value::Array;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::Expr;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One of them.
struct Shown {
    text: String,
    /// When it was prepared.
    at: i64,
    params: Vec<SqlType>,
    /// By PREPARE, not by the protocol.
    by_sql: bool,
}

/// See the module. Shared with what names the session's objects.
#[derive(Clone, Default)]
pub(super) struct PreparedNames(Arc<Mutex<BTreeMap<String, Shown>>>);

impl PreparedNames {
    /// A client's Parse (`by_sql`: PREPARE, whose own text is shown) has made a statement.
    pub fn add(&self, name: &str, text: &str, params: &[SqlType], (at, by_sql): (i64, bool)) {
        if name.is_empty() {
            return;
        }
        let shown = Shown {
            text: text.to_string(),
            at,
            params: params.to_vec(),
            by_sql,
        };
        self.0.lock().insert(name.to_string(), shown);
    }

    /// One is gone.
    pub fn remove(&self, name: &str) {
        if !name.is_empty() {
            self.0.lock().remove(name);
        }
    }

    /// All of them are.
    pub fn clear(&self) {
        self.0.lock().clear();
    }

    /// In the order of the relation's columns.
    pub fn rows(&self) -> Vec<Vec<Value>> {
        let all = self.0.lock();
        let row = |(name, shown): (&String, &Shown)| {
            let types = shown.params.iter().map(|ty| Value::Oid(ty.oid()));
            vec![
                Value::text(name),
                Value::text(&shown.text),
                Value::TimestampTz(shown.at),
                Value::Array(Box::new(Array {
                    shape: None,
                    element: SqlType::RegType,
                    values: types.collect(),
                })),
                Value::Bool(shown.by_sql),
                Value::Int8(0),
                Value::Int8(0),
            ]
        };
        all.iter().map(row).collect()
    }
}

impl Session {
    /// PREPARE, by a statement that was sent as `sent`.
    pub(super) fn prepare(
        &mut self,
        name: &str,
        text: &str,
        types: &[SqlType],
        sent: &str,
    ) -> SqlResult<()> {
        self.parse(name, text, types)?;
        let params = self.statement(name)?.params.clone();
        let now = (self.host.transaction_time, true);
        self.prepared.add(name, sent, &params, now);
        Ok(())
    }

    /// EXECUTE: the portal becomes one of the statement named.
    pub(super) fn bind_execute(
        &mut self,
        portal: &mut Portal,
        name: &str,
        arguments: &[Expr],
    ) -> SqlResult<()> {
        let inner = self.statement(name)?;
        let inner = self.current(inner, Some(name))?;
        if arguments.len() != inner.params.len() {
            return Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                format!("wrong number of parameters for prepared statement \"{name}\""),
            )
            .detail(format!(
                "Expected {} parameters but got {}.",
                inner.params.len(),
                arguments.len()
            )));
        }
        let mut params = Vec::with_capacity(arguments.len());
        for (argument, to) in arguments.iter().zip(&inner.params) {
            let value = quintet_ir::eval(argument, &[], &[], &self.host)?;
            params.push(self.literal(&value, argument.ty(), *to)?);
        }
        portal.prepared = inner;
        portal.params = params;
        Ok(())
    }
}
