//! What an expression means.
//!
//! Relies on: the binder, which has made the types of all parts fit.  Promises: PostgreSQL's
//! three-valued logic; AND, OR, CASE and COALESCE evaluate from left to right and stop as soon as
//! the result is known; a strict function is not called with a NULL.  Does not: convert types on its
//! own, or keep anything between two calls.
//!
//! Hot path: run once per row and expression. Columns, constants and parameters are compared in
//! place, conditions are computed without making values, and a call with up to four arguments keeps
//! them on the stack.

use crate::cast::cast;
use crate::cursors::{Cursors, no_cursor};
use crate::dynamic::Planned;
use crate::expr::{CompareOp, Expr, Truth};
use crate::function::{Function, element};
use crate::guise::Guise;
use crate::privilege::Need;
use crate::routine::{Callee, Program};
use crate::subquery::Subquery;
use quintet_base::limits::STATEMENT_MEMORY_DEFAULT;
use quintet_base::text_format::{FormatContext, fits_length};
use quintet_base::value::Array;
use quintet_base::{
    RoleId, RoutineId, SequenceId, SqlError, SqlResult, SqlState, SqlType, TableId, Value,
};
use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::sync::Arc;

/// Where a sequence stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequenceState {
    /// What was given last, or will be first.
    pub last: i64,
    /// It has been given.
    pub is_called: bool,
    /// How many more may be given before the next record.
    pub reserved: i64,
}

/// How much a transaction has put off until its end; see [`Host::put_off`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PutOffSoFar {
    /// Calls, and notes that some were made.
    pub calls: usize,
    /// What SET CONSTRAINTS has said.
    pub modes: usize,
}

/// What expressions may ask of the session that runs them.
pub trait Host {
    /// now(): when the transaction began, microseconds since 2000-01-01 UTC.
    fn transaction_time(&self) -> i64;
    /// statement_timestamp().
    fn statement_time(&self) -> i64;
    /// clock_timestamp().
    fn clock_time(&self) -> i64;
    /// Zone and float digits for text conversions.
    fn format(&self) -> &FormatContext;
    /// current_setting(name).
    fn setting(&self, name: &str) -> Option<String>;
    /// current_user.
    fn user(&self) -> &str;
    /// session_user.
    fn session_user(&self) -> &str {
        self.user()
    }
    /// What a role is called.
    fn role_name(&self, role: RoleId) -> String {
        match role {
            RoleId::BOOTSTRAP => self.user().to_string(),
            other => format!("unknown (OID={other})"),
        }
    }
    /// Whether there is anything that the user may not do.
    fn is_restricted(&self) -> bool {
        false
    }
    /// Whether the session writes what triggers and foreign keys have had their effect on elsewhere.
    fn is_replica(&self) -> bool {
        false
    }
    /// Whether row security hides rows of a table from a role, or from the user.
    ///
    /// # Errors
    /// `42501` if it does and `row_security` is off.
    fn hides_rows(&self, table: TableId, role: Option<RoleId>) -> SqlResult<bool> {
        let _ = (table, role);
        Ok(false)
    }
    /// Whether the user has the privileges of one of these roles.
    fn is_one_of(&self, roles: &[RoleId]) -> bool {
        let _ = roles;
        true
    }
    /// Whether the time that the statement may take is over.
    fn is_overdue(&self) -> bool {
        false
    }
    /// Whether what a statement has to wait for was waited for as long as a lock may be; said once.
    fn has_given_up(&self) -> bool {
        false
    }
    /// Whether the user may do what a statement needs.
    ///
    /// # Errors
    /// `42501` if not.
    fn allow(&self, needs: &[Need]) -> SqlResult<()> {
        let _ = needs;
        Ok(())
    }
    /// The same session in the guise of routines that are run, the innermost last.
    ///
    /// # Errors
    /// `0A000` where nobody has another guise; what a setting's value is refused with.
    fn guised<'h>(&'h self, guises: &[&Guise]) -> SqlResult<Box<dyn Host + 'h>> {
        let _ = guises;
        Err(SqlError::unsupported(
            "SECURITY DEFINER, and SET for a function, here",
        ))
    }
    /// The program of a function that an expression of a table calls.
    ///
    /// # Errors
    /// What its body says; `0A000` where nobody knows functions.
    fn program(&self, routine: RoutineId) -> SqlResult<Arc<Program>> {
        let _ = routine;
        Err(SqlError::unsupported(
            "a table whose expressions call functions, here",
        ))
    }
    /// Plans a statement with parameters of these types, for a routine that runs it itself.
    ///
    /// # Errors
    /// What planning it says; `0A000` if it is more than a query or a change of rows.
    fn plan(&self, text: &str, types: &[SqlType]) -> SqlResult<Planned> {
        let _ = (text, types);
        Err(SqlError::unsupported("EXECUTE here"))
    }
    /// current_database().
    fn database(&self) -> &str;
    /// current_schema().
    fn schema(&self) -> &str;
    /// set_config(name, value, is_local): the value as it is from the end of the statement on.
    fn set_setting(&self, name: &str, value: &str, local: bool) -> SqlResult<String> {
        let _ = (value, local);
        Err(SqlError::unsupported(format!("set_config of {name} here")))
    }
    /// pg_notify(channel, payload): said when the transaction commits.
    ///
    /// # Errors
    /// `22023`, `54000`; `0A000` where nobody listens.
    fn notify(&self, channel: &str, payload: &str) -> SqlResult<()> {
        let _ = payload;
        Err(SqlError::unsupported(format!(
            "pg_notify to {channel} here"
        )))
    }
    /// How much the transaction wants to notify so far.
    fn notified(&self) -> usize {
        0
    }
    /// What it wanted to notify since then was undone.
    fn notify_no_more(&self, notified: usize) {
        let _ = notified;
    }
    /// Keeps the call of a deferrable trigger until the transaction commits; false: it is to be made now. `deferred`: what was
    /// said when it was made, which SET CONSTRAINTS may have changed.
    ///
    /// # Errors
    /// `53200` for too many; `0A000` where no session keeps them.
    fn put_off(&self, trigger: u32, deferred: bool, arguments: &[&Value]) -> SqlResult<bool> {
        let _ = (deferred, arguments);
        let what = format!("trigger {trigger}, which may be deferred, here");
        Err(SqlError::unsupported(what))
    }
    /// How much was put off so far, and said of when.
    fn put_off_so_far(&self) -> PutOffSoFar {
        PutOffSoFar::default()
    }
    /// What was put off since then was undone.
    fn put_off_no_more(&self, so_far: PutOffSoFar) {
        let _ = so_far;
    }
    /// The cursors that the session's routines have opened; none where there is no session.
    fn cursors(&self) -> Option<&RefCell<Cursors>> {
        None
    }
    /// Whether a client's cursor or portal has this name.
    fn is_portal(&self, name: &str) -> bool {
        let _ = name;
        false
    }
    /// The key of the row of a table that a cursor stands on. `called`: the table's name, for messages.
    ///
    /// # Errors
    /// `34000` if there is no such cursor, `24000` if it stands on no row of the table.
    fn current_of(&self, cursor: &str, table: TableId, called: &str) -> SqlResult<Vec<Value>> {
        let _ = (table, called);
        Err(no_cursor(cursor))
    }
    /// How many triggers the statement stands in.
    fn trigger_depth(&self) -> usize {
        0
    }
    /// setseed: what [`Host::random`] gives from now on follows from these bits.
    ///
    /// # Errors
    /// `0A000` where there is no session.
    fn set_seed(&self, bits: u64) -> SqlResult<()> {
        let _ = bits;
        Err(SqlError::unsupported("setseed here"))
    }
    /// 64 random bits.
    fn random(&self) -> u64;
    /// 16 random bytes that nobody can foretell who knows others; where secrets do not matter, from [`Host::random`].
    fn secret(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.random().to_be_bytes());
        bytes[8..].copy_from_slice(&self.random().to_be_bytes());
        bytes
    }
    /// A number for a new large object, which may be another's already.
    ///
    /// # Errors
    /// `0A000` where nobody keeps any.
    fn large_object_number(&self) -> SqlResult<u32> {
        Err(SqlError::unsupported("large objects here"))
    }
    /// Whose privileges count.
    fn role(&self) -> RoleId {
        RoleId::BOOTSTRAP
    }
    /// nextval.
    fn nextval(&self, sequence: SequenceId) -> SqlResult<i64>;
    /// currval: what nextval gave this session last; `55000` if it never did.
    fn currval(&self, sequence: SequenceId) -> SqlResult<i64>;
    /// lastval: what currval would say of the sequence that nextval was called of last; `55000` if there is none.
    fn lastval(&self) -> SqlResult<i64>;
    /// What SELECT from a sequence says.
    ///
    /// # Errors
    /// `0A000` where there is nobody to ask.
    fn sequence_state(&self, _sequence: SequenceId) -> SqlResult<SequenceState> {
        Err(SqlError::unsupported("the state of a sequence here"))
    }
    /// setval.
    fn setval(&self, sequence: SequenceId, value: i64, is_called: bool) -> SqlResult<i64>;
    /// pg_backend_pid().
    fn process_id(&self) -> i32;
    /// txid_current(): a number that no other transaction has, greater than those given before.
    ///
    /// # Errors
    /// `0A000` where there is nobody to ask.
    fn transaction_number(&self) -> SqlResult<i64> {
        Err(SqlError::unsupported("the number of a transaction here"))
    }
    /// Whether the session wants reads announced that can be known ahead: unless it says `off`.
    fn reads_ahead(&self) -> bool {
        let value = self.setting("quintet.group_reads");
        value.is_none_or(|value| value == "on")
    }
    /// Whether the client's call at hand is a transaction of its own, which it may end.
    fn is_alone(&self) -> bool {
        false
    }
    /// Whether the transaction may write nothing.
    fn is_read_only(&self) -> bool {
        false
    }
    /// RAISE NOTICE and the like: a message for the client, by its severity.
    fn notice(&self, severity: &'static str, message: SqlError) {
        let _ = (severity, message);
    }
    /// How many messages have not been told to the client yet.
    fn notices(&self) -> usize {
        0
    }
    /// Takes back the messages from this one on: what raised them is undone, and will be run again.
    fn forget_notices(&self, from: usize) {
        let _ = from;
    }
    /// Bytes that one statement may hold in memory.
    fn statement_memory(&self) -> usize {
        STATEMENT_MEMORY_DEFAULT
    }
    /// Of these, bytes for rows that a file can take as well: a quarter is left to what cannot go there.
    fn kept_memory(&self) -> usize {
        let all = self.statement_memory();
        all - all / 4
    }
    /// A file for rows that a statement's memory has no room for. It is gone when it is dropped.
    ///
    /// # Errors
    /// `53200` if there is none to be had, `53400` if statements have too many bytes in such files already.
    fn spill(&self) -> SqlResult<Box<dyn Spill>> {
        Err(out_of_memory(self.statement_memory()))
    }
    /// Calls a function of the catalogue. Only an engine that runs a statement can; its expressions
    /// come with a host that asks it.
    fn call(&self, callee: &Callee, arguments: Vec<Value>) -> SqlResult<Value> {
        let _ = arguments;
        Err(SqlError::internal(format!(
            "function {} was called where none can be",
            callee.name
        )))
    }
    /// What the expression around a subquery handed to it: [`Expr::Outer`] by its number.
    fn outer(&self) -> &[Value] {
        &[]
    }
    /// Runs a subquery. Only who runs a statement can, as with [`Host::call`]. `outer` and `tested` are the
    /// values of its expressions of these names.
    fn subquery(
        &self,
        subquery: &Subquery,
        outer: Vec<Value>,
        tested: Vec<Value>,
    ) -> SqlResult<Value> {
        let _ = (subquery, outer, tested);
        Err(SqlError::internal(
            "a subquery stands where none can be run",
        ))
    }
}

/// A file of one statement's rows. Bytes are appended, and read by where they begin.
pub trait Spill: Send + Sync {
    /// Appends.
    ///
    /// # Errors
    /// `53400` beyond the bound on such files, `53100` and `58030` as the disk says.
    fn append(&mut self, bytes: &[u8]) -> SqlResult<()>;

    /// Fills `into` with what was appended at `offset`.
    ///
    /// # Errors
    /// As the disk says.
    fn read(&self, offset: u64, into: &mut [u8]) -> SqlResult<()>;
}

/// A statement needs more memory than one may have.
pub fn out_of_memory(bytes: usize) -> SqlError {
    SqlError::new(
        SqlState::OUT_OF_MEMORY,
        "statement needs more memory than one may have",
    )
    .detail(format!(
        "Its sorts, groups and kept rows exceed {bytes} bytes."
    ))
    .hint("Restrict the rows with WHERE or LIMIT, add an index that gives the order, or raise work_mem.")
}

/// Evaluates an expression over a frame and the parameters.
///
/// # Errors
/// Whatever the functions in it say: `22012`, `22003`, `22P02` …
pub fn eval(expr: &Expr, frame: &[Value], params: &[Value], host: &dyn Host) -> SqlResult<Value> {
    let scope = Scope {
        frame,
        params,
        host,
    };
    scope.eval(expr)
}

/// The value of an expression that lies somewhere already: a constant, a parameter, a column, an element of
/// an array, or what a conversion would leave as it is. `None`: it has to be evaluated.
#[inline]
pub fn leaf<'a>(expr: &'a Expr, frame: &'a [Value], params: &'a [Value]) -> Option<&'a Value> {
    match expr {
        Expr::Const(value, _) => Some(value),
        Expr::Param(number, _) => params.get(*number),
        Expr::Column(column, _) => frame.get(*column),
        Expr::Call { function, args, .. } if function.subscript => {
            let array = leaf(&args[0], frame, params)?;
            Some(element(array, leaf(&args[1], frame, params)?))
        }
        Expr::Cast {
            input,
            to,
            modifier,
            ..
        } if is_kept_alike(input.ty(), *to) => {
            leaf(input, frame, params).filter(|value| fits_length(value, *to, *modifier))
        }
        _ => None,
    }
}

/// True for types whose values are the same, so that converting from one to the other does nothing.
fn is_kept_alike(from: SqlType, to: SqlType) -> bool {
    use SqlType::{Text, Varchar};
    from == to || matches!((from, to), (Varchar, Text) | (Text, Varchar))
}

/// Evaluates a predicate: true only if it is TRUE (not NULL).
///
/// # Errors
/// As [`eval`].
pub fn eval_predicate(
    expr: &Expr,
    frame: &[Value],
    params: &[Value],
    host: &dyn Host,
) -> SqlResult<bool> {
    let scope = Scope {
        frame,
        params,
        host,
    };
    Ok(scope.truth(expr)? == Some(true))
}

/// Order of two values of a type, as its comparison operators see it: [`Value::order`], but
/// char(n) without its trailing blanks. For sorting, grouping and extremes as well.
#[inline]
pub fn order(left: &Value, right: &Value, ty: SqlType) -> Ordering {
    match (left, right) {
        (Value::Int4(a), Value::Int4(b)) => a.cmp(b),
        (Value::Int8(a), Value::Int8(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) if ty == SqlType::Bpchar => {
            let trim = |text: &str| text.trim_end_matches(' ').len();
            a.as_bytes()[..trim(a)].cmp(&b.as_bytes()[..trim(b)])
        }
        _ => left.order(right),
    }
}

/// TRUE, FALSE or NULL as a value.
fn truth_value(truth: Option<bool>) -> Value {
    truth.map_or(Value::Null, Value::Bool)
}

/// `left op right`, unknown if either is NULL.
#[inline]
fn compare(op: CompareOp, left: &Value, right: &Value, ty: SqlType) -> Option<bool> {
    match left.is_null() || right.is_null() {
        true => None,
        false => Some(op.accepts(order(left, right, ty))),
    }
}

/// What the leaves of an expression refer to.
struct Scope<'a> {
    frame: &'a [Value],
    params: &'a [Value],
    host: &'a dyn Host,
}

impl<'a> Scope<'a> {
    fn param(&self, number: usize) -> SqlResult<&'a Value> {
        self.params.get(number).ok_or_else(|| {
            SqlError::new(
                SqlState::UNDEFINED_PARAMETER,
                format!("there is no parameter ${}", number + 1),
            )
        })
    }

    /// See [`leaf`].
    #[inline]
    fn leaf(&self, expr: &'a Expr) -> Option<&'a Value> {
        if let Expr::Outer(number, _) = expr {
            return self.host.outer().get(*number);
        }
        leaf(expr, self.frame, self.params)
    }

    /// The value of an expression, borrowed where it lies somewhere already.
    fn operand(&self, expr: &'a Expr) -> SqlResult<Cow<'a, Value>> {
        match self.leaf(expr) {
            Some(value) => Ok(Cow::Borrowed(value)),
            None => self.eval(expr).map(Cow::Owned),
        }
    }

    fn eval(&self, expr: &'a Expr) -> SqlResult<Value> {
        match expr {
            Expr::Const(value, _) => Ok(value.clone()),
            Expr::Param(number, _) => Ok(self.param(*number)?.clone()),
            Expr::Column(column, _) => Ok(self.frame[*column].clone()),
            Expr::Outer(number, _) => self.outer(*number).cloned(),
            Expr::Subquery(subquery) => self.subquery(subquery),
            Expr::Call { function, args, .. } if function.subscript => {
                let (array, index) = (self.operand(&args[0])?, self.operand(&args[1])?);
                Ok(element(&array, &index).clone())
            }
            Expr::Call { function, args, ty } => {
                let mut value = match args.as_slice() {
                    [only] => self.call_with_one(function, only),
                    [left, right] => self.call_with_two(function, left, right),
                    [] | [_, _, _] | [_, _, _, _] => self.call::<4>(function, args),
                    _ => self.call_long(function, args),
                }?;
                // Where all arguments were NULL, only the node knows the element type.
                if let Value::Array(array) = &mut value
                    && let Some(element) = ty.element()
                {
                    array.element = element;
                }
                Ok(value)
            }
            Expr::Compare { .. }
            | Expr::Distinct { .. }
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::Not(_)
            | Expr::IsNull { .. }
            | Expr::IsTruth { .. }
            | Expr::InList { .. }
            | Expr::Quantified { .. } => self.truth(expr).map(truth_value),
            Expr::Case {
                branches,
                otherwise,
                ..
            } => {
                for (condition, result) in branches {
                    if self.truth(condition)? == Some(true) {
                        return self.eval(result);
                    }
                }
                otherwise
                    .as_ref()
                    .map_or(Ok(Value::Null), |result| self.eval(result))
            }
            Expr::Coalesce { args, .. } => {
                for arg in args {
                    let value = self.eval(arg)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Value::Null)
            }
            Expr::Extreme { greatest, args, ty } => self.extreme(*greatest, args, *ty),
            Expr::Array { elements, element } => {
                let values = elements.iter().map(|e| self.eval(e));
                Ok(Value::Array(Box::new(Array {
                    shape: None,
                    element: *element,
                    values: values.collect::<SqlResult<_>>()?,
                })))
            }
            Expr::Cast {
                input,
                to,
                modifier,
                explicit,
            } => {
                let value = self.eval(input)?;
                cast(value, input.ty(), *to, *modifier, *explicit, self.host)
            }
            Expr::Routine { callee, args, .. } => {
                let arguments: SqlResult<Vec<Value>> =
                    args.iter().map(|arg| self.eval(arg)).collect();
                self.host.call(callee, arguments?)
            }
            Expr::NextVal(sequence) => self.host.nextval(*sequence).map(Value::Int8),
            Expr::CurrVal(sequence) => self.host.currval(*sequence).map(Value::Int8),
            Expr::SetVal {
                sequence,
                value,
                is_called,
            } => {
                let (value, is_called) = (self.eval(value)?, self.eval(is_called)?);
                match (value.as_i64(), is_called.as_bool()) {
                    (Some(value), Some(is_called)) => self
                        .host
                        .setval(*sequence, value, is_called)
                        .map(Value::Int8),
                    _ => Ok(Value::Null),
                }
            }
        }
    }

    fn outer(&self, number: usize) -> SqlResult<&'a Value> {
        let value = self.host.outer().get(number);
        value.ok_or_else(|| {
            SqlError::internal(format!(
                "nothing was handed to a subquery as number {number}"
            ))
        })
    }

    fn subquery(&self, subquery: &'a Subquery) -> SqlResult<Value> {
        let values = |exprs: &'a [Expr]| -> SqlResult<Vec<Value>> {
            exprs.iter().map(|expr| self.eval(expr)).collect()
        };
        let (outer, tested) = (values(&subquery.outer)?, values(&subquery.tested)?);
        self.host.subquery(subquery, outer, tested)
    }

    fn call_with_one(&self, function: &Function, only: &'a Expr) -> SqlResult<Value> {
        let computed;
        let value = match self.leaf(only) {
            Some(value) => value,
            None => {
                computed = self.eval(only)?;
                &computed
            }
        };
        match function.strict && value.is_null() {
            true => Ok(Value::Null),
            false => (function.eval)(&[value], self.host),
        }
    }

    fn call_with_two(
        &self,
        function: &Function,
        left: &'a Expr,
        right: &'a Expr,
    ) -> SqlResult<Value> {
        let (first, second);
        let left = match self.leaf(left) {
            Some(value) => value,
            None => {
                first = self.eval(left)?;
                &first
            }
        };
        let right = match self.leaf(right) {
            Some(value) => value,
            None => {
                second = self.eval(right)?;
                &second
            }
        };
        match function.strict && (left.is_null() || right.is_null()) {
            true => Ok(Value::Null),
            false => (function.eval)(&[left, right], self.host),
        }
    }

    /// Calls a function with at most `N` arguments. What lies somewhere is shown to it where it lies; what has
    /// to be computed is kept on the stack. All of them are evaluated before a strict function gives NULL, so
    /// that an error in a later one is not lost.
    fn call<const N: usize>(&self, function: &Function, args: &'a [Expr]) -> SqlResult<Value> {
        let mut computed = [const { Value::Null }; N];
        let mut lying: [Option<&Value>; N] = [None; N];
        for ((value, place), arg) in computed.iter_mut().zip(&mut lying).zip(args) {
            *place = self.leaf(arg);
            if place.is_none() {
                *value = self.eval(arg)?;
            }
        }
        let mut values = [&Value::Null; N];
        let mut has_null = false;
        for ((value, place), computed) in values.iter_mut().zip(lying).zip(&computed[..args.len()])
        {
            *value = place.unwrap_or(computed);
            has_null |= value.is_null();
        }
        if has_null && function.strict {
            return Ok(Value::Null);
        }
        (function.eval)(&values[..args.len()], self.host)
    }

    fn call_long(&self, function: &Function, args: &'a [Expr]) -> SqlResult<Value> {
        let values = args
            .iter()
            .map(|arg| self.operand(arg))
            .collect::<SqlResult<Vec<_>>>()?;
        let values: Vec<&Value> = values.iter().map(|value| &**value).collect();
        if function.strict && values.iter().any(|value| value.is_null()) {
            return Ok(Value::Null);
        }
        (function.eval)(&values, self.host)
    }

    fn extreme(&self, greatest: bool, args: &'a [Expr], ty: SqlType) -> SqlResult<Value> {
        let wanted = match greatest {
            true => Ordering::Greater,
            false => Ordering::Less,
        };
        let mut best = Value::Null;
        for arg in args {
            let value = self.eval(arg)?;
            if !value.is_null() && (best.is_null() || order(&value, &best, ty) == wanted) {
                best = value;
            }
        }
        Ok(best)
    }

    /// The truth value of a boolean expression.
    fn truth(&self, expr: &'a Expr) -> SqlResult<Option<bool>> {
        Ok(match expr {
            Expr::Compare { op, left, right } => match (self.leaf(left), self.leaf(right)) {
                (Some(a), Some(b)) => compare(*op, a, b, left.ty()),
                _ => {
                    let (a, b) = (self.operand(left)?, self.operand(right)?);
                    compare(*op, &a, &b, left.ty())
                }
            },
            Expr::Distinct {
                left,
                right,
                negated,
            } => {
                let (a, b) = (self.operand(left)?, self.operand(right)?);
                // NULL equals NULL in the order, and nothing else.
                Some(order(&a, &b, left.ty()).is_ne() != *negated)
            }
            Expr::And(args) => self.connect(args, false)?,
            Expr::Or(args) => self.connect(args, true)?,
            Expr::Not(input) => self.truth(input)?.map(|truth| !truth),
            Expr::IsNull { input, negated } => Some(self.operand(input)?.is_null() != *negated),
            Expr::IsTruth {
                input,
                truth,
                negated,
            } => {
                let wanted = match truth {
                    Truth::True => Some(true),
                    Truth::False => Some(false),
                    Truth::Unknown => None,
                };
                Some((self.truth(input)? == wanted) != *negated)
            }
            Expr::InList {
                input,
                list,
                negated,
            } => self.in_list(input, list)?.map(|found| found != *negated),
            Expr::Quantified {
                input,
                op,
                array,
                all,
            } => self.quantified(input, *op, array, *all)?,
            other => match self.leaf(other) {
                Some(value) => value.as_bool(),
                None => self.eval(other)?.as_bool(),
            },
        })
    }

    /// AND (`decisive` is false) or OR (true): the decisive value wins, then NULL.
    fn connect(&self, args: &'a [Expr], decisive: bool) -> SqlResult<Option<bool>> {
        let mut unknown = false;
        for arg in args {
            match self.truth(arg)? {
                Some(value) if value == decisive => return Ok(Some(decisive)),
                Some(_) => {}
                None => unknown = true,
            }
        }
        Ok((!unknown).then_some(!decisive))
    }

    fn in_list(&self, input: &'a Expr, list: &'a [Expr]) -> SqlResult<Option<bool>> {
        let (value, ty) = (self.operand(input)?, input.ty());
        let mut unknown = false;
        for item in list {
            match compare(CompareOp::Eq, &value, &*self.operand(item)?, ty) {
                Some(true) => return Ok(Some(true)),
                Some(false) => {}
                None => unknown = true,
            }
        }
        Ok((!unknown).then_some(false))
    }

    fn quantified(
        &self,
        input: &'a Expr,
        op: CompareOp,
        array: &'a Expr,
        all: bool,
    ) -> SqlResult<Option<bool>> {
        let (value, array) = (self.operand(input)?, self.operand(array)?);
        let Value::Array(array) = array.as_ref() else {
            return Ok(None);
        };
        let mut unknown = false;
        for item in &array.values {
            match compare(op, &value, item, input.ty()) {
                Some(holds) if holds != all => return Ok(Some(!all)),
                Some(_) => {}
                None => unknown = true,
            }
        }
        // Over no elements at all, ALL holds and ANY does not, even for a NULL.
        Ok((!unknown).then_some(all))
    }
}
