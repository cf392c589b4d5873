//! ALTER TABLE.
//!
//! Relies on: `draft`, `constraint`.  Promises: all commands of one statement take effect together:
//! rows are rewritten at most once, checks are verified on the rows as they will be.  Accepts and
//! ignores: STATISTICS, STORAGE, LOGGED, CLUSTER (docs/sql.md).
//! Does not: rules, inheritance, row security (0A000).
//!
//! | file | what it holds |
//! |---|---|
//! | `column` | columns that come and go, their defaults and NOT NULL |
//! | `column_type` | columns of another type |
//! | `constraint` | constraints that go or change; those that come are the statement's `constraints` |
//! | `finish` | what the commands come to, together |
//! | `ignored` | forms that change nothing, and what they are of |
//!
//! ```text
//! commands -> record' + { rewrite? | new indexes | verify }
//! rewrite:     Fence(old), Rewrite(old -> fresh spaces), Verify, DropSpaces(old)
//! no rewrite:  Fence(old), BuildIndex …, Verify, DropSpaces(of dropped indexes)
//! ```

mod column;
mod column_type;
mod constraint;
mod finish;
mod identity;
mod ignored;

use super::constraint::Constraints;
use super::{attribute, partition, policy, record_of, storage_options, trigger, using_index};
use crate::command::Planned;
use crate::draft::Draft;
use crate::from::target_table;
use crate::insert::column_number;
use crate::names::{self, inner, required};
use crate::planner::Planner;
use crate::records::TableRecord;
use crate::role::change_owner;
use ignored::is_ignored;
use pg_query::NodeEnum;
use pg_query::protobuf::{AlterTableCmd, AlterTableStmt, AlterTableType, DropBehavior, ObjectType};
use quintet_base::{ConstraintId, IndexId, SpaceId, SqlError, SqlResult, SqlState, TableId};
use quintet_ir::Expr;
use quintet_ir::schema::TableRef;
use std::collections::BTreeSet;

/// What the commands so far ask for.
struct Change<'d, 'p, 'a> {
    draft: &'d mut Draft<'p, 'a>,
    table: TableRef,
    record: TableRecord,
    /// Values of columns that are not just copied, when rows are rewritten.
    values: Vec<(usize, Expr)>,
    rewrite: bool,
    /// Hidden columns of indexes that are made of columns with another type.
    remade: BTreeSet<usize>,
    /// Columns that an UPDATE gives their defaults when the change is done: SERIAL, identity, generated.
    fill: Vec<usize>,
    constraints: Constraints,
    /// A column has become one of a domain: rows are looked at.
    domains: bool,
    not_null: Vec<usize>,
    dropped_spaces: Vec<SpaceId>,
    /// Names of checks that rows are to be looked at for.
    checks_to_verify: Vec<String>,
    /// Foreign keys of the table whose rows are to be looked at.
    to_verify: Vec<ConstraintId>,
    /// The same of other tables, with the table.
    to_verify_of_others: Vec<(TableId, ConstraintId)>,
}

pub(super) fn alter(planner: &Planner, statement: &AlterTableStmt) -> SqlResult<Planned> {
    let relation = required(statement.relation.as_ref())?;
    let tag = match statement.objtype() {
        ObjectType::ObjectTable => "ALTER TABLE",
        // Of indexes and sequences only the owner and storage can be changed here.
        ObjectType::ObjectIndex => "ALTER INDEX",
        ObjectType::ObjectSequence => "ALTER SEQUENCE",
        ObjectType::ObjectView => "ALTER VIEW",
        ObjectType::ObjectType => "ALTER TYPE",
        ObjectType::ObjectMatview => "ALTER MATERIALIZED VIEW",
        _ => return Err(SqlError::unsupported("ALTER of this kind of object")),
    };
    let mut commands: Vec<&AlterTableCmd> = statement
        .cmds
        .iter()
        .filter_map(|node| match inner(node) {
            Some(NodeEnum::AlterTableCmd(command)) => Some(&**command),
            _ => None,
        })
        .collect();
    if statement.objtype() == ObjectType::ObjectType {
        return attribute::alter(planner, relation, &commands);
    }
    if let Some(planned) = change_owner(planner, statement, relation, tag)? {
        return Ok(planned);
    }
    let of_default =
        |command: &&AlterTableCmd| command.subtype() == AlterTableType::AtColumnDefault;
    if (tag == "ALTER VIEW" || tag == "ALTER TABLE" && commands.iter().all(of_default))
        && let Some(planned) = super::view::alter(planner, relation, &commands)?
    {
        return Ok(planned);
    }
    if commands
        .iter()
        .all(|command| is_ignored(command.subtype(), tag))
    {
        ignored::check(planner, statement, relation, &commands, tag)?;
        return Ok(planner.nothing(tag));
    }
    if tag == "ALTER INDEX"
        && let Some(planned) = partition::index::attach(planner, relation, &commands)?
    {
        return Ok(planned);
    }
    if tag == "ALTER VIEW" {
        return super::view::no_view(planner, relation, statement.missing_ok);
    }
    if tag != "ALTER TABLE" {
        return Err(planner.unsupported(format!("this form of {tag}"), relation.location));
    }
    if let Some(planned) = policy::switch_part(planner, relation, &commands)? {
        return Ok(planned);
    }
    if let Some(planned) = trigger::switch_part(planner, relation, &commands)? {
        return Ok(planned);
    }
    using_index::refuse_divided(planner, relation, &commands)?;
    if let Some(planned) = partition::alter(planner, relation, &commands)? {
        return Ok(planned);
    }
    if let Some(planned) = partition::index::add_keys(planner, relation, &commands)? {
        return Ok(planned);
    }
    partition::refuse_inherited(planner, relation, &commands)?;
    let table = match target_table(planner, relation) {
        Err(error) if statement.missing_ok && error.state == SqlState::UNDEFINED_TABLE => {
            planner.notice(format!("{}, skipping", error.message));
            return Ok(planner.nothing(tag));
        }
        other => other?,
    };
    planner.must_own_table(table.id)?;
    if planner.catalog().matview(table.id).is_some() {
        let message = format!("\"{}\" is a materialized view", table.name);
        return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message)
            .detail("This operation is not supported for materialized views."));
    }
    let mut draft = Draft::new(planner);
    draft.make_in(&table.schema);
    let record = record_of(planner, &table)?;
    let mut change = Change::of(&mut draft, table, record);
    commands.sort_by_key(|command| turn(command));
    let steers_nothing = commands.iter().all(|command| {
        let kind = command.subtype();
        is_ignored(kind, "")
    });
    for command in commands {
        change.command(command)?;
    }
    match steers_nothing {
        // No plan knows of it: whoever writes to the table goes on.
        true => {
            let record = change.record;
            draft.put_table(&record)?;
        }
        false => change.finish()?,
    }
    draft.finish(tag)
}

/// Drops columns of what goes with CASCADE.
pub(super) fn drop_columns(draft: &mut Draft, table: TableId, names: &[String]) -> SqlResult<()> {
    let columns = names.to_vec();
    drop_parts(
        draft,
        table,
        &Parts {
            columns,
            ..Parts::default()
        },
    )
}

/// Parts of a table that go with CASCADE.
#[derive(Default)]
pub(super) struct Parts {
    /// Columns that have no default any more.
    pub defaults: BTreeSet<usize>,
    pub columns: Vec<String>,
    pub constraints: Vec<String>,
    pub indexes: Vec<IndexId>,
}

/// Drops them together. One that has gone with another is passed over.
pub(super) fn drop_parts(draft: &mut Draft, table: TableId, parts: &Parts) -> SqlResult<()> {
    let planner = draft.planner;
    let Some(table) = planner.catalog().table_by_id(table).cloned() else {
        return Ok(());
    };
    let record = match draft.changed_table(table.id)? {
        Some(record) => record,
        None => record_of(planner, &table)?,
    };
    let mut change = Change::of(draft, table, record);
    let going = |name: &String| AlterTableCmd {
        name: name.clone(),
        behavior: DropBehavior::DropCascade as i32,
        missing_ok: true,
        ..Default::default()
    };
    for column in &parts.defaults {
        change.record.columns[*column].default = None;
    }
    for name in &parts.constraints {
        if change.draft.has_constraint(&change.record, name) {
            change.drop_constraint(&going(name))?;
        }
    }
    for index in &parts.indexes {
        change.drop_index(*index)?;
    }
    for name in &parts.columns {
        // One that is made of another has gone with it.
        let mut columns = change.record.columns.iter();
        if columns.any(|column| !column.dropped && column.name == *name) {
            change.drop_column(&going(name))?;
        }
    }
    change.finish()
}

/// Commands of one statement are done by what they do, as PostgreSQL does them, and in their order only besides: what goes before what
/// changes its type, before what comes, before what is said of columns.
fn turn(command: &AlterTableCmd) -> u8 {
    use AlterTableType::*;
    match command.subtype() {
        AtDropColumn | AtDropConstraint | AtDropNotNull | AtDropIdentity | AtDropExpression => 0,
        AtColumnDefault if command.def.is_none() => 0,
        AtAlterColumnType => 1,
        AtAddColumn => 2,
        AtSetNotNull | AtSetIdentity => 3,
        AtAddConstraint | AtColumnDefault | AtAddIdentity => 4,
        _ => 5,
    }
}

impl<'d, 'p, 'a> Change<'d, 'p, 'a> {
    /// Nothing is changed yet.
    fn of(draft: &'d mut Draft<'p, 'a>, table: TableRef, record: TableRecord) -> Self {
        Change {
            draft,
            table,
            record,
            values: Vec::new(),
            rewrite: false,
            remade: BTreeSet::new(),
            fill: Vec::new(),
            constraints: Constraints::default(),
            domains: false,
            not_null: Vec::new(),
            dropped_spaces: Vec::new(),
            checks_to_verify: Vec::new(),
            to_verify: Vec::new(),
            to_verify_of_others: Vec::new(),
        }
    }

    fn planner(&self) -> &Planner<'_> {
        self.draft.planner
    }

    fn column(&self, name: &str) -> SqlResult<usize> {
        match self.record.column(name) {
            Some(number) => Ok(number),
            None => {
                column_number(self.planner(), &self.table, name, -1).and(Err(self.no_column(name)))
            }
        }
    }

    fn no_column(&self, name: &str) -> SqlError {
        let table = &self.record.name;
        let message = format!("column \"{name}\" of relation \"{table}\" does not exist");
        SqlError::new(SqlState::UNDEFINED_COLUMN, message)
    }

    /// IF [NOT] EXISTS makes a notice of an error.
    fn skip_if(&self, asked: bool, error: SqlError) -> SqlResult<()> {
        if !asked {
            return Err(error);
        }
        self.planner()
            .notice(format!("{}, skipping", error.message));
        Ok(())
    }

    /// It was so before this statement.
    fn is_generated(&self, number: usize) -> bool {
        let column = self.table.columns.get(number);
        column.is_some_and(|column| column.generated.is_some())
    }

    fn command(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        use AlterTableType::*;
        match command.subtype() {
            AtSetRelOptions | AtResetRelOptions => {
                let options = command.def.as_deref().and_then(names::list);
                let options = options.unwrap_or_default();
                let set = &mut self.record.more.options;
                match command.subtype() {
                    AtSetRelOptions => {
                        let divided = self.table.partitions.is_some();
                        storage_options::set(set, options, divided)
                    }
                    _ => storage_options::reset(set, options),
                }
            }
            kind if is_ignored(kind, "") => Ok(()),
            AtAddColumn => self.add_column(command),
            AtDropColumn => self.drop_column(command),
            AtColumnDefault => self.set_default(command),
            AtSetNotNull => {
                let number = self.column(&command.name)?;
                if !self.record.columns[number].not_null {
                    self.record.columns[number].not_null = true;
                    self.not_null.push(number);
                }
                Ok(())
            }
            AtDropNotNull => self.drop_not_null(command),
            AtAddConstraint => match command.def.as_deref().and_then(inner) {
                Some(NodeEnum::Constraint(constraint)) => {
                    self.constraints.add(None, constraint);
                    Ok(())
                }
                _ => Err(SqlError::internal("ADD CONSTRAINT of nothing")),
            },
            AtDropConstraint => self.drop_constraint(command),
            AtAlterColumnType => self.alter_type(command),
            AtAddIdentity => self.add_identity(command),
            AtSetIdentity => self.set_identity(command),
            AtDropIdentity => self.drop_identity(command),
            AtValidateConstraint => self.validate_constraint(command),
            AtAlterConstraint => self.alter_constraint(command),
            other if policy::switch(self.draft, &self.table, other)? => Ok(()),
            other if trigger::switch(self.draft, &self.table, other, &command.name)? => Ok(()),
            other => Err(SqlError::unsupported(format!(
                "ALTER TABLE … {}",
                describe(other)
            ))),
        }
    }
}

fn describe(kind: AlterTableType) -> &'static str {
    use AlterTableType::*;
    match kind {
        AtAddIdentity => "ADD GENERATED AS IDENTITY",
        AtDropExpression | AtSetExpression => "SET or DROP EXPRESSION",
        AtSetAccessMethod => "SET ACCESS METHOD",
        AtSetTableSpace => "SET TABLESPACE",
        AtEnableRule | AtEnableAlwaysRule | AtEnableReplicaRule | AtDisableRule => {
            "ENABLE or DISABLE RULE"
        }
        AtAddInherit | AtDropInherit => "INHERIT",
        AtAttachPartition | AtDetachPartition | AtDetachPartitionFinalize => {
            "ATTACH or DETACH PARTITION"
        }
        _ => "this",
    }
}
