//! Row security: which rows of a table a statement meets, and which it may leave behind.
//!
//! Relies on: policies as the catalogue keeps them, as text.  Promises: a table's policies are conditions of each place that reads
//! its rows or writes some; conditions of the user's own that could tell what they were asked about are asked behind them (`join`);
//! a plan that is one role's has that role's policies and no others, and one that is for whoever runs it (a routine's) asks
//! who that is.  Does not: concern foreign keys, TRUNCATE and what the schema's own changes do to rows.
//!
//! ```text
//!   SELECT         USING of r, *; with FOR UPDATE of w, too      conditions on the table's rows
//!   UPDATE         USING of w, *; if it reads the row of r, too  conditions; WITH CHECK of w: the new row, and what of r
//!   DELETE         USING of d, *; if it reads the row of r, too  conditions
//!   INSERT         WITH CHECK of a, *; if it reads of r, too     the new row
//!   ON CONFLICT    as INSERT; USING of w, r: the row in the way; WITH CHECK of w, and of r: what becomes of it
//!   MERGE          USING of r: conditions; of w, d: errors; new rows as above
//! ```
//! Of the permissive policies one must hold, of the restrictive ones all; without a permissive one nothing does. In a plan for
//! whoever runs it a condition is `NOT hides_rows(table) OR …`, and a policy for some roles says `is_one_of(roles) AND …`;
//! what its condition needs is asked for there, by `is_allowed(needs)`, since it need not concern who runs the plan.
//!
//! | file | what it holds |
//! |---|---|
//! | here | whose policies concern a statement, and what they say |
//! | `row_security/written` | new rows that are looked at before they are written |

mod written;

pub(crate) use written::{Check, RowChecks};

use crate::catalog::Catalog;
use crate::expr::{Binder, and};
use crate::parse::parse_expression;
use crate::planner::{PlanContext, Planner, Who};
use crate::records::{PolicyRecord, PolicyText, SecurityRecord};
use crate::rewrite::{move_columns, same};
use crate::scope::Scope;
use crate::variables::Variables;
use quintet_base::value::Array;
use quintet_base::{RoleId, SqlError, SqlResult, SqlState, SqlType, TableId, Value};
use quintet_ir::function::{HIDES_ROWS, IS_ALLOWED, IS_ONE_OF, resolve};
use quintet_ir::schema::{TableDef, TableRef};
use quintet_ir::{Expr, Need, Object, ObjectKind, fold};

/// Whether a plan is one role's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowSecurity {
    /// The role's that plans it.
    On,
    /// The same; a statement that policies concern is refused (`row_security`).
    Off,
    /// Whoever runs it is asked for.
    Asked,
    /// It is nobody's: what the database does by itself.
    Exempt,
}

/// What a statement is a part of, as far as policies tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum PartOf {
    #[default]
    Nothing,
    /// A clause of a MERGE: a row that it may not change is an error.
    Merge,
    /// Steps that another statement was made into, which has asked for its rows.
    Steps,
}

/// What is done with rows, as far as policies tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Command {
    Select,
    Insert,
    Update,
    Delete,
}

impl Command {
    fn letter(self) -> char {
        match self {
            Command::Select => 'r',
            Command::Insert => 'a',
            Command::Update => 'w',
            Command::Delete => 'd',
        }
    }
}

/// Whom a table's policies concern.
struct Subject<'c> {
    security: &'c SecurityRecord,
    /// `None`: whoever runs the plan.
    role: Option<RoleId>,
    /// The plan asks whether they concern him.
    asked: bool,
}

/// Policies of a table for a command.
struct InForce<'c> {
    permissive: Vec<&'c PolicyRecord>,
    /// By name.
    restrictive: Vec<&'c PolicyRecord>,
}

impl Catalog {
    /// Whether policies of a table concern a role.
    ///
    /// # Errors
    /// `42501` if they do, and rows are not to be left out (`shown`).
    pub fn hides_rows(&self, table: TableId, role: RoleId, shown: bool) -> SqlResult<bool> {
        let Some(security) = self.security(table).filter(|security| security.enabled) else {
            return Ok(false);
        };
        let roles = self.roles();
        let object = Object {
            kind: ObjectKind::Table,
            number: table.0,
        };
        let owns = || roles.owns(role, object);
        if roles.bypasses_policies(role) || !security.forced && owns() {
            return Ok(false);
        }
        if shown {
            return Ok(true);
        }
        let named = self.rows_of(table);
        let name = named.as_ref().map_or("", |table| &table.name);
        let message =
            format!("query would be affected by row-level security policy for table \"{name}\"");
        let error = SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message);
        Err(match owns() {
            true => error.hint(
                "To disable the policy for the table's owner, use ALTER TABLE NO FORCE ROW LEVEL SECURITY.",
            ),
            false => error,
        })
    }
}

impl Planner<'_> {
    /// Whom policies of a table concern here, if anybody. A partition that is named itself has its own and not its table's.
    fn subject(&self, table: &TableDef) -> SqlResult<Option<Subject<'_>>> {
        let catalog = self.catalog();
        let security = catalog.security(table.relation());
        let Some(security) = security.filter(|security| security.enabled) else {
            return Ok(None);
        };
        if self.part_of.get() == PartOf::Steps {
            return Ok(None);
        }
        let asked = match self.context.user.rows {
            RowSecurity::Exempt => return Ok(None),
            RowSecurity::Asked => true,
            // In a routine's statements it is not for the planner to say who runs them.
            RowSecurity::On | RowSecurity::Off => self.variables.is_some(),
        };
        let shown = asked || self.context.user.rows == RowSecurity::On;
        let role = match self.acts_as.get() {
            None if asked => None,
            acting => Some(acting.unwrap_or(self.context.user.role)),
        };
        let concerned = match role {
            None => true,
            Some(role) => catalog.hides_rows(table.relation(), role, shown)?,
        };
        Ok(concerned.then_some(Subject {
            security,
            role,
            asked,
        }))
    }

    /// Whether row security is in force here for rows of a table; not for a routine's statements.
    ///
    /// # Errors
    /// `42501`.
    pub fn is_secured(&self, table: &TableDef) -> SqlResult<bool> {
        Ok(self.subject(table)?.is_some())
    }

    /// What the rows of a table fulfil that a command meets, over the table's frame; each by itself.
    ///
    /// # Errors
    /// `42501`, `42P17` for policies in a ring.
    pub fn met(&self, table: &TableRef, command: Command) -> SqlResult<Vec<Expr>> {
        let Some(subject) = self.subject(table)? else {
            return Ok(Vec::new());
        };
        let policies = self.in_force(&subject, command);
        let using = |policy: &PolicyRecord| policy.using.clone();
        let Some(one) = self.one_of(table, &policies.permissive, &subject, &using)? else {
            return Ok(vec![self.asked(&subject, table, no())]);
        };
        let mut all = Vec::new();
        for policy in policies.restrictive {
            all.extend(self.restriction(table, policy, &subject, &using)?);
        }
        all.push(one);
        // One who is not concerned is asked nothing more.
        Ok(match subject.asked {
            true => vec![self.asked(&subject, table, and(all))],
            false => all,
        })
    }

    /// What a row of a table must fulfil that a command writes, or has in its way (`using`: by USING, whether there is a WITH
    /// CHECK or not), and what is said of one that does not.
    ///
    /// # Errors
    /// As [`Planner::met`].
    pub fn checks(
        &self,
        table: &TableRef,
        command: Command,
        using: bool,
        words: Words,
    ) -> SqlResult<Vec<Check>> {
        let Some(subject) = self.subject(table)? else {
            return Ok(Vec::new());
        };
        let policies = self.in_force(&subject, command);
        let text = |policy: &PolicyRecord| match (&policy.check, using) {
            (Some(check), false) => Some(check.clone()),
            _ => policy.using.clone(),
        };
        let check = |condition, name: Option<&str>| Check {
            condition: self.asked(&subject, table, condition),
            message: words.of(&table.name, name),
        };
        let one = self.one_of(table, &policies.permissive, &subject, &text)?;
        let Some(one) = one else {
            return Ok(vec![check(no(), None)]);
        };
        let mut all = vec![check(one, None)];
        for policy in policies.restrictive {
            if let Some(condition) = self.restriction(table, policy, &subject, &text)? {
                all.push(check(condition, Some(&policy.name)));
            }
        }
        Ok(all)
    }

    fn in_force<'s>(&self, subject: &Subject<'s>, command: Command) -> InForce<'s> {
        let roles = self.catalog().roles();
        let concerns = |policy: &&PolicyRecord| {
            let is_his = subject
                .role
                .is_none_or(|role| roles.is_one_of(role, &policy.roles));
            is_his && (policy.command == '*' || policy.command == command.letter())
        };
        let all = subject.security.policies.iter().filter(concerns);
        let (permissive, mut restrictive): (Vec<_>, Vec<_>) =
            all.partition(|policy| policy.permissive);
        restrictive.sort_by(|one, other| one.name.cmp(&other.name));
        InForce {
            permissive,
            restrictive,
        }
    }

    /// What one of the permissive policies says; `None` if none says anything.
    fn one_of(
        &self,
        table: &TableRef,
        policies: &[&PolicyRecord],
        subject: &Subject<'_>,
        text: &dyn Fn(&PolicyRecord) -> Option<PolicyText>,
    ) -> SqlResult<Option<Expr>> {
        let mut alternatives = Vec::new();
        for policy in policies {
            let Some(text) = text(policy) else {
                continue;
            };
            let mut parts: Vec<Expr> = Vec::new();
            parts.extend(is_for(policy, subject));
            parts.extend(self.condition_of(table, &text, subject)?);
            alternatives.push(and(parts));
        }
        Ok(match alternatives.len() {
            0 => None,
            1 => alternatives.pop(),
            _ => Some(Expr::Or(alternatives)),
        })
    }

    /// What a restrictive policy says.
    fn restriction(
        &self,
        table: &TableRef,
        policy: &PolicyRecord,
        subject: &Subject<'_>,
        text: &dyn Fn(&PolicyRecord) -> Option<PolicyText>,
    ) -> SqlResult<Option<Expr>> {
        let Some(text) = text(policy) else {
            return Ok(None);
        };
        let condition = and(self.condition_of(table, &text, subject)?);
        Ok(Some(match is_for(policy, subject) {
            None => condition,
            Some(his) => Expr::Or(vec![Expr::Not(Box::new(his)), condition]),
        }))
    }

    /// A condition for those whom policies concern, for everybody.
    fn asked(&self, subject: &Subject<'_>, table: &TableDef, condition: Expr) -> Expr {
        if !subject.asked {
            return condition;
        }
        let role = subject.role.unwrap_or(RoleId::PUBLIC);
        let number = |number| Expr::Const(Value::Oid(number), SqlType::Oid);
        let hides = call(HIDES_ROWS, vec![number(table.relation().0), number(role.0)]);
        Expr::Or(vec![Expr::Not(Box::new(hides)), condition])
    }

    /// A condition of a policy, over its table's frame. Whom the policy concerns needs what the condition does; if that is not known
    /// yet the condition comes behind another one that looks.
    fn condition_of(
        &self,
        table: &TableRef,
        text: &PolicyText,
        subject: &Subject<'_>,
    ) -> SqlResult<Vec<Expr>> {
        if self.guarded.borrow().contains(&table.relation()) {
            let message = format!(
                "infinite recursion detected in policy for relation \"{}\"",
                table.name
            );
            return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        }
        let context = PlanContext {
            schema: &text.path,
            user: Who {
                temporary: match table.is_temporary() {
                    true => self.context.user.temporary,
                    false => 0,
                },
                ..self.context.user
            },
            ..*self.context
        };
        let nothing = Variables::default();
        let inside = match self.variables {
            Some(_) => Planner::inside(&context, "", &nothing),
            None => Planner::new(&context, "", &[]),
        };
        inside.as_deep_as(self);
        inside.number_behind(self);
        inside.calls.allow();
        inside.acts_as.set(self.acts_as.get());
        let mut guarded = self.guarded.borrow().clone();
        guarded.push(table.relation());
        inside.guarded.replace(guarded);
        let scope = Scope::of_table(table);
        let node = parse_expression(&text.text)?;
        let bound = self.deeper(|| Binder::new(&inside, &scope, "POLICY").condition(&node));
        let bound = bound.map_err(SqlError::nowhere)?;
        self.number_behind(&inside);
        self.calls.take_over(&inside.calls);
        let role = self.acts_as.get();
        let of = |need: Need| Need {
            role: need.role.or(role),
            ..need
        };
        let needs: Vec<Need> = inside.needs_of_definition().into_iter().map(of).collect();
        self.reads_as(&inside);
        let mut conditions = Vec::new();
        match subject.asked {
            true if needs.is_empty() => {}
            true => {
                let numbers = oids(Need::numbers(&needs));
                conditions.push(call(IS_ALLOWED, vec![numbers]));
            }
            false => self.need_all(needs),
        }
        conditions.push(fold(bound));
        Ok(conditions)
    }
}

/// The same context for what is looked at and not run: no policy is asked.
pub(crate) fn unasked<'a>(context: &PlanContext<'a>) -> PlanContext<'a> {
    PlanContext {
        user: Who {
            rows: RowSecurity::Exempt,
            ..context.user
        },
        ..*context
    }
}

/// Conditions without those that stand before: a policy for all commands is met several times.
pub(crate) fn each_once(conditions: Vec<Expr>) -> Vec<Expr> {
    let mut all: Vec<Expr> = Vec::with_capacity(conditions.len());
    for condition in conditions {
        if !all.iter().any(|other| same(other, &condition)) {
            all.push(condition);
        }
    }
    all
}

/// Adds checks that are not there yet.
pub(crate) fn add(all: &mut Vec<Check>, more: Vec<Check>) {
    for check in more {
        let is_there = |other: &Check| {
            other.message == check.message && same(&other.condition, &check.condition)
        };
        if !all.iter().any(is_there) {
            all.push(check);
        }
    }
}

/// Conditions over a table's frame that begins at `offset`.
pub(crate) fn moved(conditions: Vec<Expr>, offset: usize) -> Vec<Expr> {
    let moved = |condition: Expr| move_columns(&condition, &|place| place + offset);
    conditions.into_iter().map(moved).collect()
}

/// What is said of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Words {
    /// That would be written.
    New,
    /// That is in the way of an INSERT.
    InTheWay,
    /// That a MERGE would change.
    Target,
}

impl Words {
    fn of(self, table: &str, policy: Option<&str>) -> String {
        let (row, which) = match self {
            Words::New => ("new row", ""),
            Words::InTheWay => ("new row", " (USING expression)"),
            Words::Target => ("target row", " (USING expression)"),
        };
        let policy = policy.map_or(String::new(), |name| format!(" \"{name}\""));
        format!("{row} violates row-level security policy{policy}{which} for table \"{table}\"")
    }
}

fn no() -> Expr {
    Expr::Const(Value::Bool(false), SqlType::Bool)
}

/// A call of a function that SQL has no name for. All of them are there; in the place of one that is not NULL lets nothing through.
fn call(name: &str, args: Vec<Expr>) -> Expr {
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    match resolve(name, &types) {
        Ok(found) => Expr::Call {
            function: found.function,
            args,
            ty: found.result,
        },
        Err(_) => Expr::null(SqlType::Bool),
    }
}

/// That the user is one of those whom a policy is for; `None` if that is settled.
fn is_for(policy: &PolicyRecord, subject: &Subject<'_>) -> Option<Expr> {
    if subject.role.is_some() || policy.roles.contains(&RoleId::PUBLIC) {
        return None;
    }
    let roles = policy.roles.iter().map(|role| role.0);
    Some(call(IS_ONE_OF, vec![oids(roles.collect())]))
}

fn oids(numbers: Vec<u32>) -> Expr {
    let array = Array {
        shape: None,
        element: SqlType::Oid,
        values: numbers.into_iter().map(Value::Oid).collect(),
    };
    Expr::Const(Value::Array(Box::new(array)), SqlType::OidArray)
}
