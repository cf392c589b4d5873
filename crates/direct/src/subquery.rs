//! Queries inside expressions.
//!
//! Relies on: `nested`, which lends the statement to whoever evaluates an expression.  Promises: one that
//! needs nothing of the row around it is run once in a statement, when it is first asked for; the
//! answers of others are kept by what they were handed, as far as that pays and memory allows.  Does not:
//! choose how the rows are found: that is in the plan.
//!
//! ```text
//!   handed over ── image ──► kept answers ──found──► value
//!                               │ not there
//!                               ▼
//!                            a cursor over the plan: first row, first two rows, or all ──► answer ──► value
//! ```
//! What a run of the plan has charged goes back when it is over; what is kept stays charged.

use crate::asked_often::{kept_input, turned};
use crate::context::{Env, Halt, row_bytes};
use crate::cursor::Cursor;
use crate::kept::has_room;
use crate::lookup::Kept;
use foldhash::fast::RandomState;
use quintet_base::array::{Array, stacked};
use quintet_base::limits::CALL_STACK_BYTES_MAX;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value, key, stack};
use quintet_ir::eval::order;
use quintet_ir::expressions::{each_node, each_of_node};
use quintet_ir::function::Volatility;
use quintet_ir::{CompareOp, Expr, Plan, Subquery, SubqueryForm};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Answers that are asked for before it is judged whether keeping them pays.
const ANSWERS_TRIED: u64 = 1_000;

/// What a statement's queries in expressions keep until it ends or starts over.
#[derive(Default)]
pub(crate) struct Memory {
    /// By where their plans lie: the statement's plan outlives its run.
    answers: HashMap<usize, Answers, RandomState>,
    /// Rows that lookups keep, by where their inputs lie.
    pub lookups: HashMap<usize, Kept, RandomState>,
    /// What all of it takes.
    pub bytes: usize,
}

/// The answers of one query.
struct Answers {
    /// Whether the same answer may be given twice.
    lasting: bool,
    /// By the image of what was handed over.
    known: HashMap<Vec<u8>, Answer, RandomState>,
    asked: u64,
    found: u64,
    /// After so many questions its first table is kept.
    turns_after: Option<u64>,
    /// The plan from then on.
    turned: Option<Arc<Plan>>,
}

/// What a run has come to.
#[derive(Clone)]
enum Answer {
    /// Whether there is a row, the array, the truth of a comparison.
    Value(Value),
    /// The only row; `None`: there is none.
    Row(Option<Arc<Vec<Value>>>),
    /// All rows, to compare with.
    Set(Arc<Set>),
}

/// Rows to compare with.
struct Set {
    types: Vec<SqlType>,
    rows: Vec<Vec<Value>>,
    /// Of rows without a NULL, if equality is asked for.
    images: HashSet<Vec<u8>, RandomState>,
    /// Which rows have a NULL.
    with_null: Vec<usize>,
}

/// The value of a query in an expression. What is handed to it is in the host.
pub(crate) fn run(subquery: &Subquery, tested: &[Value], env: &mut Env<'_>) -> Result<Value, Halt> {
    let around = env.workspace.stack;
    env.workspace.stack = deeper(around)?;
    let value = answered(subquery, tested, env);
    env.workspace.stack = around;
    value
}

/// Where the stack of the outermost query or function begins, unless it has come too far from there.
fn deeper(begin: usize) -> SqlResult<usize> {
    // An address says how far the stack has grown; nothing is read or written through it.
    let place = 0_u8;
    let here = std::ptr::from_ref(&place).addr();
    match begin {
        0 => Ok(here),
        begin if stack::is_deep() || begin.abs_diff(here) < CALL_STACK_BYTES_MAX => Ok(begin),
        _ => Err(SqlError::new(
            SqlState::STATEMENT_TOO_COMPLEX,
            "stack depth limit exceeded",
        )),
    }
}

fn answered(subquery: &Subquery, tested: &[Value], env: &mut Env<'_>) -> Result<Value, Halt> {
    let turned = turned_plan(subquery, env);
    let plan = turned.as_deref().unwrap_or(&subquery.plan);
    match subquery.form {
        SubqueryForm::Value(column) => {
            let answer = kept(subquery, &[], env, |env| {
                Ok(Answer::Row(only_row(plan, env)?.map(Arc::new)))
            })?;
            Ok(match answer {
                Answer::Row(Some(row)) => row[column].clone(),
                _ => Value::Null,
            })
        }
        SubqueryForm::Exists => {
            let answer = kept(subquery, &[], env, |env| {
                let found = Cursor::new(plan).next(plan, env, &mut Vec::new(), 0)?;
                Ok(Answer::Value(Value::Bool(found)))
            })?;
            Ok(answer.value())
        }
        SubqueryForm::Array => {
            let answer = kept(subquery, &[], env, |env| {
                let mut values = Vec::new();
                each_row(plan, env, &mut |row, env| {
                    env.charge(row_bytes(row))?;
                    values.push(row[0].clone());
                    Ok(true)
                })?;
                let element = subquery.ty.element().unwrap_or(SqlType::Unknown);
                let is_nested = plan.frame_types().first() == Some(&subquery.ty);
                let array = match is_nested && !values.is_empty() {
                    true => Box::new(stacked(element, values)?),
                    false => Box::new(Array::new(element, values)),
                };
                Ok(Answer::Value(Value::Array(array)))
            })?;
            Ok(answer.value())
        }
        SubqueryForm::Compare { op, all } if subquery.outer.is_empty() => {
            let answer = kept(subquery, &[], env, |env| {
                Set::read(plan, op, all, env).map(|set| Answer::Set(Arc::new(set)))
            })?;
            let Answer::Set(set) = answer else {
                return Err(SqlError::internal("a comparison without rows").into());
            };
            Ok(truth_value(set.compare(tested, op, all, env)?))
        }
        SubqueryForm::Compare { op, all } => {
            let answer = kept(subquery, tested, env, |env| {
                let types = plan.frame_types();
                let mut so_far = Some(all);
                each_row(plan, env, &mut |row, _| {
                    so_far = combine(so_far, compare_rows(tested, row, &types, op), all);
                    Ok(so_far != Some(!all))
                })?;
                Ok(Answer::Value(truth_value(so_far)))
            })?;
            Ok(answer.value())
        }
    }
}

/// What is asked in the place of the subquery's own plan, once many rows have asked that.
fn turned_plan(subquery: &Subquery, env: &mut Env<'_>) -> Option<Arc<Plan>> {
    let place = Arc::as_ptr(&subquery.plan).addr();
    let answers = env.workspace.subqueries.answers.get_mut(&place)?;
    if answers.turns_after != Some(answers.asked - answers.found) {
        return answers.turned.clone();
    }
    // Not tried again.
    answers.turns_after = None;
    let asked = subquery.plan.asked_by_key();
    if !asked.is_some_and(|access| has_room(access, env)) {
        return None;
    }
    let plan = Arc::new(turned(&subquery.plan)?);
    let memory = &mut env.workspace.subqueries;
    // It is kept at once: many have asked.
    if let Some(input) = kept_input(&plan) {
        let input = std::ptr::from_ref(input).addr();
        memory.lookups.insert(input, Kept::Seen);
    }
    let answers = memory.answers.get_mut(&place)?;
    answers.turned = Some(Arc::clone(&plan));
    Some(plan)
}

/// A kept answer, or one that `ask` finds and that may be kept.
fn kept(
    subquery: &Subquery,
    tested: &[Value],
    env: &mut Env<'_>,
    ask: impl FnOnce(&mut Env<'_>) -> Result<Answer, Halt>,
) -> Result<Answer, Halt> {
    let place = Arc::as_ptr(&subquery.plan).addr();
    let image = image_of(subquery, env.host.outer(), tested);
    let known = &mut env.workspace.subqueries.answers;
    let answers = known.entry(place).or_insert_with(|| Answers {
        // One that is handed nothing is run once, whatever is in it.
        lasting: subquery.outer.is_empty() && tested.is_empty() || is_lasting(&subquery.plan),
        known: HashMap::default(),
        asked: 0,
        found: 0,
        turns_after: (subquery.plan.asked_by_key())
            .and_then(|access| access.kept_after)
            .map(|after| after.asked),
        turned: None,
    });
    answers.asked += 1;
    if let Some(image) = &image
        && let Some(answer) = answers.known.get(image)
    {
        answers.found += 1;
        return Ok(answer.clone());
    }
    let pays = answers.asked < ANSWERS_TRIED || answers.found * 4 > answers.asked;
    let image = image.filter(|_| answers.lasting && pays);
    let mark = env.memory_mark();
    let answer = ask(env)?;
    env.memory_back(mark);
    if let Some(image) = image {
        // A set is looked at again and again; the others can be found again.
        let bytes = image.len() + 64 + answer.bytes();
        let charged = env.charge_kept(bytes);
        let fits = charged.is_ok();
        if let Answer::Set(_) = answer {
            charged?;
        }
        if fits && let Some(answers) = env.workspace.subqueries.answers.get_mut(&place) {
            answers.known.insert(image, answer.clone());
        }
    }
    Ok(answer)
}

/// What was handed over as one key; `None`: values that are equal need not look the same.
fn image_of(subquery: &Subquery, outer: &[Value], tested: &[Value]) -> Option<Vec<u8>> {
    let exprs = match tested.is_empty() {
        true => subquery.outer.iter().chain([].iter()),
        false => subquery.outer.iter().chain(subquery.tested.iter()),
    };
    let mut image = Vec::with_capacity(16);
    for (expr, value) in exprs.zip(outer.iter().chain(tested)) {
        if !looks_alike(expr.ty()) {
            return None;
        }
        key::encode(value, &mut image);
    }
    Some(image)
}

/// Types whose values look the same if they are equal.
fn looks_alike(ty: SqlType) -> bool {
    use SqlType::{
        Bool, Bpchar, Date, Int2, Int4, Int8, Name, Oid, Text, Tid, Timestamp, TimestampTz, Uuid,
        Varchar, Xid,
    };
    matches!(
        ty,
        Bool | Bpchar
            | Date
            | Int2
            | Int4
            | Int8
            | Name
            | Oid
            | Text
            | Tid
            | Timestamp
            | TimestampTz
            | Uuid
            | Varchar
            | Xid
    )
}

/// True if the plan gives the same rows again in the same statement, and its running leaves no trace.
fn is_lasting(plan: &Plan) -> bool {
    fn is_lasting_expr(expr: &Expr) -> bool {
        let mut lasting = match expr {
            Expr::NextVal(_) | Expr::CurrVal(_) | Expr::SetVal { .. } | Expr::Routine { .. } => {
                false
            }
            Expr::Call { function, .. } => function.volatility != Volatility::Volatile,
            _ => true,
        };
        expr.for_each_part(&mut |part| lasting = lasting && is_lasting_expr(part));
        lasting
    }
    let mut lasting = true;
    each_node(plan, &mut |node| {
        lasting = lasting && !matches!(node, Plan::Lock { .. } | Plan::Call { .. });
        each_of_node(node, &mut |expr, _| {
            lasting = lasting && is_lasting_expr(expr)
        });
    });
    lasting
}

/// Who is shown rows, and says whether more are wanted.
type See<'s> = &'s mut dyn FnMut(&[Value], &mut Env<'_>) -> Result<bool, Halt>;

/// Shows a plan's rows as long as `see` wants more.
fn each_row(plan: &Plan, env: &mut Env<'_>, see: See<'_>) -> Result<(), Halt> {
    let mut cursor = Cursor::new(plan);
    let mut frame = Vec::new();
    while cursor.next(plan, env, &mut frame, 0)? {
        if !see(&frame, env)? {
            break;
        }
    }
    Ok(())
}

fn only_row(plan: &Plan, env: &mut Env<'_>) -> Result<Option<Vec<Value>>, Halt> {
    let mut cursor = Cursor::new(plan);
    let mut frame = Vec::new();
    if !cursor.next(plan, env, &mut frame, 0)? {
        return Ok(None);
    }
    let row = frame.clone();
    if cursor.next(plan, env, &mut frame, 0)? {
        let message = "more than one row returned by a subquery used as an expression";
        return Err(SqlError::new(SqlState::CARDINALITY_VIOLATION, message).into());
    }
    Ok(Some(row))
}

fn truth_value(truth: Option<bool>) -> Value {
    truth.map_or(Value::Null, Value::Bool)
}

/// ANY is an OR over the rows, ALL an AND.
fn combine(a: Option<bool>, b: Option<bool>, all: bool) -> Option<bool> {
    match (a, b) {
        (Some(a), _) if a != all => Some(a),
        (_, Some(b)) if b != all => Some(b),
        (None, _) | (_, None) => None,
        _ => Some(all),
    }
}

/// `tested op row`; of several columns `=`, or `<>`.
fn compare_rows(tested: &[Value], row: &[Value], types: &[SqlType], op: CompareOp) -> Option<bool> {
    let one = |op: CompareOp, a: &Value, b: &Value, ty: SqlType| match a.is_null() || b.is_null() {
        true => None,
        false => Some(op.accepts(order(a, b, ty))),
    };
    if let ([a], [b], [ty]) = (tested, row, types) {
        return one(op, a, b, *ty);
    }
    let pairs = tested.iter().zip(row).zip(types);
    let mut equal = Some(true);
    for ((a, b), ty) in pairs {
        equal = combine(equal, one(CompareOp::Eq, a, b, *ty), true);
    }
    match op {
        CompareOp::Ne => equal.map(|equal| !equal),
        _ => equal,
    }
}

impl Answer {
    fn value(self) -> Value {
        match self {
            Answer::Value(value) => value,
            Answer::Row(_) | Answer::Set(_) => Value::Null,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Answer::Value(value) => row_bytes(std::slice::from_ref(value)),
            Answer::Row(row) => row.as_ref().map_or(0, |row| row_bytes(row)),
            Answer::Set(set) => {
                let rows: usize = set.rows.iter().map(|row| row_bytes(row)).sum();
                rows + set
                    .images
                    .iter()
                    .map(|image| image.len() + 48)
                    .sum::<usize>()
            }
        }
    }
}

impl Set {
    fn read(plan: &Plan, op: CompareOp, all: bool, env: &mut Env<'_>) -> Result<Set, Halt> {
        let mut set = Set {
            types: plan.frame_types(),
            rows: Vec::new(),
            images: HashSet::default(),
            with_null: Vec::new(),
        };
        let by_image = is_membership(op, all);
        each_row(plan, env, &mut |row, env| {
            env.charge(row_bytes(row))?;
            if by_image && !row.iter().any(Value::is_null) {
                let image = set.image(row);
                env.charge(image.len() + 48)?;
                set.images.insert(image);
                // Of what is found by its image, one row says that there are rows.
                if !set.rows.is_empty() && row.len() == 1 {
                    return Ok(true);
                }
            }
            if row.iter().any(Value::is_null) {
                set.with_null.push(set.rows.len());
            }
            set.rows.push(row.to_vec());
            Ok(true)
        })?;
        Ok(set)
    }

    fn image(&self, row: &[Value]) -> Vec<u8> {
        let mut image = Vec::with_capacity(16);
        for (value, ty) in row.iter().zip(&self.types) {
            crate::keys::push(value, *ty, &mut image);
        }
        image
    }

    fn compare(
        &self,
        tested: &[Value],
        op: CompareOp,
        all: bool,
        env: &mut Env<'_>,
    ) -> Result<Option<bool>, Halt> {
        if !is_membership(op, all) {
            return self.compare_each(tested, 0..self.rows.len(), op, all, env);
        }
        if !tested.iter().any(Value::is_null) {
            if self.images.contains(&self.image(tested)) {
                return Ok(Some(!all));
            }
            // Only a row with a NULL can still be unlike and not different.
            return self.compare_each(tested, self.with_null.iter().copied(), op, all, env);
        }
        self.compare_each(tested, 0..self.rows.len(), op, all, env)
    }

    fn compare_each(
        &self,
        tested: &[Value],
        places: impl Iterator<Item = usize>,
        op: CompareOp,
        all: bool,
        env: &mut Env<'_>,
    ) -> Result<Option<bool>, Halt> {
        let mut so_far = Some(all);
        for place in places {
            env.tick()?;
            so_far = combine(
                so_far,
                compare_rows(tested, &self.rows[place], &self.types, op),
                all,
            );
            if so_far == Some(!all)
                || so_far.is_none() && tested.len() == 1 && is_membership(op, all)
            {
                // Decided; or nothing that follows can be known better.
                break;
            }
        }
        Ok(so_far)
    }
}

/// `= ANY`, `<> ALL`.
fn is_membership(op: CompareOp, all: bool) -> bool {
    matches!((op, all), (CompareOp::Eq, false) | (CompareOp::Ne, true))
}
