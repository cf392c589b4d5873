//! Queries inside expressions.
//!
//! Relies on: `plan`.  Promises: a query is run each time that its expression is evaluated, as far as its form
//! wants rows.  Does not: keep an answer.

use crate::plan::{Run, Wish};
use quintet_base::array::{Array, stacked};
use quintet_base::text_format::FormatContext;
use quintet_base::{RoleId, SequenceId, SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::eval::order;
use quintet_ir::routine::Callee;
use quintet_ir::{CompareOp, Host, Need, Subquery, SubqueryForm};

/// A running statement as its expressions see it.
pub(crate) struct Asking<'a>(pub &'a Run<'a>);

impl Asking<'_> {
    fn rows(
        &self,
        subquery: &Subquery,
        outer: Vec<Value>,
        wanted: usize,
    ) -> SqlResult<Vec<Vec<Value>>> {
        let inside = self.0.handing(outer);
        let mut rows = Vec::new();
        inside.frames(&subquery.plan, &[], &mut |row| {
            rows.push(row.to_vec());
            Ok(if rows.len() == wanted {
                Wish::Enough
            } else {
                Wish::More
            })
        })?;
        Ok(rows)
    }
}

/// `tested op row`; of several columns `=`, or `<>`: NULL where a column of it makes it unknown.
fn compare(op: CompareOp, tested: &[Value], row: &[Value], types: &[SqlType]) -> Option<bool> {
    let one = |op: CompareOp, place: usize| {
        let (a, b) = (&tested[place], &row[place]);
        (!a.is_null() && !b.is_null()).then(|| op.accepts(order(a, b, types[place])))
    };
    if let [_] = tested {
        return one(op, 0);
    }
    let columns: Vec<Option<bool>> = (0..tested.len())
        .map(|place| one(CompareOp::Eq, place))
        .collect();
    let equal = match () {
        () if columns.contains(&Some(false)) => Some(false),
        () if columns.contains(&None) => None,
        () => Some(true),
    };
    equal.map(|equal| equal == (op == CompareOp::Eq))
}

impl Host for Asking<'_> {
    fn outer(&self) -> &[Value] {
        &self.0.handed
    }

    fn subquery(
        &self,
        subquery: &Subquery,
        outer: Vec<Value>,
        tested: Vec<Value>,
    ) -> SqlResult<Value> {
        match subquery.form {
            SubqueryForm::Value(column) => {
                let mut rows = self.rows(subquery, outer, 2)?;
                if rows.len() > 1 {
                    let message = "more than one row returned by a subquery used as an expression";
                    return Err(SqlError::new(SqlState::CARDINALITY_VIOLATION, message));
                }
                Ok(rows.pop().map_or(Value::Null, |row| row[column].clone()))
            }
            SubqueryForm::Exists => {
                let rows = self.rows(subquery, outer, 1)?;
                Ok(Value::Bool(!rows.is_empty()))
            }
            SubqueryForm::Array => {
                let rows = self.rows(subquery, outer, usize::MAX)?;
                let values: Vec<Value> = rows.into_iter().map(|row| row[0].clone()).collect();
                let element = subquery.ty.element().unwrap_or(SqlType::Unknown);
                let is_nested = subquery.plan.frame_types().first() == Some(&subquery.ty);
                Ok(Value::Array(Box::new(
                    match is_nested && !values.is_empty() {
                        true => stacked(element, values)?,
                        false => Array::new(element, values),
                    },
                )))
            }
            SubqueryForm::Compare { op, all } => {
                let types = subquery.plan.frame_types();
                let rows = self.rows(subquery, outer, usize::MAX)?;
                let rows = rows.iter();
                let truths: Vec<Option<bool>> =
                    rows.map(|row| compare(op, &tested, row, &types)).collect();
                let truth = match () {
                    () if truths.contains(&Some(!all)) => Some(!all),
                    () if truths.contains(&None) => None,
                    () => Some(all),
                };
                Ok(truth.map_or(Value::Null, Value::Bool))
            }
        }
    }

    fn call(&self, callee: &Callee, arguments: Vec<Value>) -> SqlResult<Value> {
        Host::call(&self.0.interpreter, callee, arguments)
    }

    fn transaction_time(&self) -> i64 {
        self.0.interpreter.transaction_time()
    }

    fn statement_time(&self) -> i64 {
        self.0.interpreter.statement_time()
    }

    fn clock_time(&self) -> i64 {
        self.0.interpreter.clock_time()
    }

    fn format(&self) -> &FormatContext {
        self.0.interpreter.format()
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.0.interpreter.setting(name)
    }

    fn put_off(&self, trigger: u32, deferred: bool, arguments: &[&Value]) -> SqlResult<bool> {
        self.0.interpreter.put_off(trigger, deferred, arguments)
    }

    fn notify(&self, channel: &str, payload: &str) -> SqlResult<()> {
        self.0.interpreter.notify(channel, payload)
    }

    fn set_setting(&self, name: &str, value: &str, local: bool) -> SqlResult<String> {
        self.0.interpreter.set_setting(name, value, local)
    }

    fn user(&self) -> &str {
        self.0.interpreter.user()
    }

    fn session_user(&self) -> &str {
        self.0.interpreter.session_user()
    }

    fn role_name(&self, role: RoleId) -> String {
        self.0.interpreter.role_name(role)
    }

    fn is_restricted(&self) -> bool {
        self.0.interpreter.is_restricted()
    }

    fn allow(&self, needs: &[Need]) -> SqlResult<()> {
        self.0.interpreter.allow(needs)
    }

    fn database(&self) -> &str {
        Host::database(&self.0.interpreter)
    }

    fn schema(&self) -> &str {
        self.0.interpreter.schema()
    }

    fn random(&self) -> u64 {
        self.0.interpreter.random()
    }

    fn secret(&self) -> [u8; 16] {
        self.0.interpreter.secret()
    }

    fn nextval(&self, sequence: SequenceId) -> SqlResult<i64> {
        self.0.interpreter.nextval(sequence)
    }

    fn currval(&self, sequence: SequenceId) -> SqlResult<i64> {
        self.0.interpreter.currval(sequence)
    }

    fn lastval(&self) -> SqlResult<i64> {
        self.0.interpreter.lastval()
    }

    fn setval(&self, sequence: SequenceId, value: i64, is_called: bool) -> SqlResult<i64> {
        self.0.interpreter.setval(sequence, value, is_called)
    }

    fn process_id(&self) -> i32 {
        self.0.interpreter.process_id()
    }

    fn is_read_only(&self) -> bool {
        self.0.interpreter.is_read_only()
    }

    fn notice(&self, severity: &'static str, message: SqlError) {
        self.0.interpreter.notice(severity, message);
    }

    fn notices(&self) -> usize {
        self.0.interpreter.notices()
    }

    fn forget_notices(&self, from: usize) {
        self.0.interpreter.forget_notices(from);
    }
}
