//! ALTER TABLE.
//!
//! Relies on: `draft`, `constraint`.  Promises: all commands of one statement take effect together:
//! rows are rewritten at most once, checks are verified on the rows as they will be.  Accepts and
//! ignores: storage parameters, STATISTICS, STORAGE, LOGGED, CLUSTER (docs/sql.md).
//! Does not: triggers, rules, inheritance, row security (0A000).
//!
//! ```text
//! commands -> record' + { rewrite? | new indexes | verify }
//! rewrite:     Fence(old), Rewrite(old -> fresh spaces), Verify, DropSpaces(old)
//! no rewrite:  Fence(old), BuildIndex …, Verify, DropSpaces(of dropped indexes)
//! ```

use super::constraint::{self, Constraints, scope_of};
use super::foreign_key::{self, Going};
use super::generated;
use super::hidden;
use super::partition;
use super::record_of;
use super::sequence;
use super::table::{add_column, default_text};
use super::view;
use crate::coerce;
use crate::command::{Command, Planned};
use crate::draft::{Draft, owned_sequences, spaces_of};
use crate::expr::Binder;
use crate::from::target_table;
use crate::insert::column_number;
use crate::names::{self, inner, required};
use crate::parse;
use crate::planner::{PlanContext, Planner};
use crate::records::{ForeignKeyRecord, TableRecord};
use crate::role::change_owner;
use crate::types;
use crate::update::plan_update;
use pg_query::NodeEnum;
use pg_query::protobuf::{
    AlterTableCmd, AlterTableStmt, AlterTableType, DropBehavior, ObjectType, RangeVar, ResTarget,
    SetToDefault, UpdateStmt,
};
use quintet_base::{ConstraintId, SpaceId, SqlError, SqlResult, SqlState, TableId};
use quintet_ir::Expr;
use quintet_ir::ddl::Work;
use quintet_ir::references::are_comparable;
use quintet_ir::schema::TableRef;
use std::sync::Arc;

/// What the commands so far ask for.
struct Change<'d, 'p, 'a> {
    draft: &'d mut Draft<'p, 'a>,
    table: TableRef,
    record: TableRecord,
    /// Values of columns that are not just copied, when rows are rewritten.
    values: Vec<(usize, Expr)>,
    rewrite: bool,
    /// Columns that an UPDATE gives their defaults when the change is done: SERIAL, identity, generated.
    fill: Vec<usize>,
    constraints: Constraints,
    /// A column has become one of a domain: rows are looked at.
    domains: bool,
    not_null: Vec<usize>,
    dropped_spaces: Vec<SpaceId>,
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
        _ => return Err(SqlError::unsupported("ALTER of this kind of object")),
    };
    let commands: Vec<&AlterTableCmd> = statement
        .cmds
        .iter()
        .filter_map(|node| match inner(node) {
            Some(NodeEnum::AlterTableCmd(command)) => Some(&**command),
            _ => None,
        })
        .collect();
    if let Some(planned) = change_owner(planner, statement, relation, tag)? {
        return Ok(planned);
    }
    if commands.iter().all(|command| is_ignored(command.subtype())) {
        return Ok(planner.command(Command::Nothing { checkpoint: false }, tag));
    }
    if tag == "ALTER INDEX"
        && let Some(planned) = partition::index::attach(planner, relation, &commands)?
    {
        return Ok(planned);
    }
    if tag != "ALTER TABLE" {
        return Err(planner.unsupported(format!("this form of {tag}"), relation.location));
    }
    if let Some(planned) = partition::alter(planner, relation, &commands)? {
        return Ok(planned);
    }
    if let Some(planned) = partition::index::add_keys(planner, relation, &commands)? {
        return Ok(planned);
    }
    let table = match target_table(planner, relation) {
        Err(error) if statement.missing_ok && error.state == SqlState::UNDEFINED_TABLE => {
            planner.notice(format!("{}, skipping", error.message));
            return Ok(planner.command(Command::Nothing { checkpoint: false }, tag));
        }
        other => other?,
    };
    planner.must_own_table(table.id)?;
    let mut draft = Draft::new(planner);
    let record = record_of(planner, &table)?;
    let mut change = Change::of(&mut draft, table, record);
    for command in commands {
        change.command(command)?;
    }
    change.finish()?;
    draft.finish(tag)
}

/// Drops columns of what goes with CASCADE.
pub(super) fn drop_columns(draft: &mut Draft, table: TableId, names: &[String]) -> SqlResult<()> {
    let planner = draft.planner;
    let Some(table) = planner.catalog().table_by_id(table).cloned() else {
        return Ok(());
    };
    let record = record_of(planner, &table)?;
    let mut change = Change::of(draft, table, record);
    for name in names {
        // One that is made of another has gone with it.
        let mut columns = change.record.columns.iter();
        if !columns.any(|column| !column.dropped && column.name == *name) {
            continue;
        }
        change.drop_column(&AlterTableCmd {
            name: name.clone(),
            behavior: DropBehavior::DropCascade as i32,
            missing_ok: true,
            ..Default::default()
        })?;
    }
    change.finish()
}

/// Commands that are accepted and change nothing here.
fn is_ignored(kind: AlterTableType) -> bool {
    use AlterTableType::*;
    matches!(
        kind,
        AtSetStatistics
            | AtSetStorage
            | AtSetCompression
            | AtSetLogged
            | AtSetUnLogged
            | AtSetRelOptions
            | AtResetRelOptions
            | AtSetOptions
            | AtResetOptions
            | AtClusterOn
            | AtDropCluster
            | AtReplicaIdentity
    )
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
            fill: Vec::new(),
            constraints: Constraints::default(),
            domains: false,
            not_null: Vec::new(),
            dropped_spaces: Vec::new(),
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
            None => column_number(self.planner(), &self.table, name, -1).and(Err(SqlError::new(
                SqlState::UNDEFINED_COLUMN,
                format!(
                    "column \"{name}\" of relation \"{}\" does not exist",
                    self.record.name
                ),
            ))),
        }
    }

    fn command(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        use AlterTableType::*;
        match command.subtype() {
            kind if is_ignored(kind) => Ok(()),
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
            AtValidateConstraint => self.validate_constraint(command),
            AtAlterConstraint => self.alter_constraint(command),
            other => Err(SqlError::unsupported(format!(
                "ALTER TABLE … {}",
                describe(other)
            ))),
        }
    }

    fn add_column(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        let Some(NodeEnum::ColumnDef(column)) = command.def.as_deref().and_then(inner) else {
            return Err(SqlError::internal("ADD COLUMN of nothing"));
        };
        if self.record.column(&column.colname).is_some() {
            let message = format!(
                "column \"{}\" of relation \"{}\" already exists",
                column.colname, self.record.name
            );
            if command.missing_ok {
                self.planner().notice(format!("{message}, skipping"));
                return Ok(());
            }
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        let number = self.record.columns.len();
        let sequences = self.draft.new_sequences();
        add_column(self.draft, &mut self.record, &mut self.constraints, column)?;
        let generated = self.record.more.generated.iter();
        let is_generated = generated.into_iter().any(|(other, _)| *other == number);
        if self.draft.new_sequences() > sequences || is_generated {
            self.fill.push(number);
            return Ok(());
        }
        let added = &self.record.columns[number];
        let mut unproven = added.not_null;
        let domain = self.record.domain(number);
        self.domains |= domain.is_some();
        let domain = domain.and_then(|domain| self.planner().catalog().user_type(domain));
        let of_domain = domain.and_then(|record| record.domain()?.default.clone());
        match added.default.clone().or(of_domain) {
            None => {}
            Some(text) => {
                let added = added.clone();
                match self.constant(&text, number)? {
                    // Rows written before read it from the definition; none needs to be touched.
                    Some(value) => {
                        let text = match &value {
                            quintet_base::Value::Null => None,
                            value => Some(self.planner().write_value(value, added.ty)),
                        };
                        unproven &= text.is_none();
                        self.record.columns[number].missing = text;
                    }
                    None => self.rewrite = true,
                }
            }
        }
        if unproven {
            self.not_null.push(number);
        }
        Ok(())
    }

    fn add_identity(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        let Some(NodeEnum::Constraint(identity)) = command.def.as_deref().and_then(inner) else {
            return Err(SqlError::internal("ADD GENERATED of nothing"));
        };
        let number = self.column(&command.name)?;
        let column = &self.record.columns[number];
        let refused = if !column.not_null {
            Some("must be declared NOT NULL before identity can be added")
        } else if column.identity.is_some() {
            Some("is already an identity column")
        } else if column.default.is_some() {
            Some("already has a default value")
        } else {
            None
        };
        if let Some(why) = refused {
            let (name, table) = (&column.name, &self.record.name);
            let message = format!("column \"{name}\" of relation \"{table}\" {why}");
            return Err(SqlError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                message,
            ));
        }
        let (name, ty) = (column.name.clone(), column.ty);
        let options = &identity.options;
        let default = sequence::for_column(self.draft, &self.record, number, &name, ty, options)?;
        let column = &mut self.record.columns[number];
        column.identity = Some(identity.generated_when == "a");
        column.default = Some(default);
        Ok(())
    }

    /// A default's value, if it is the same for every row and every time.
    fn constant(&mut self, text: &str, number: usize) -> SqlResult<Option<quintet_base::Value>> {
        let column = &self.record.columns[number];
        let node = crate::parse::parse_expression(text)?;
        let nothing = crate::scope::Scope::empty();
        let planner = self.planner();
        let bound = Binder::new(planner, &nothing, "DEFAULT expressions").bind(&node)?;
        let bound = coerce::assign(planner, bound, column.ty, column.modifier, &column.name)?;
        Ok(match quintet_ir::fold::fold(bound) {
            Expr::Const(value, _) => Some(value),
            _ => None,
        })
    }

    fn drop_column(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        let name = &command.name;
        let Some(number) = self.record.column(name) else {
            let message = format!(
                "column \"{name}\" of relation \"{}\" does not exist",
                self.record.name
            );
            if command.missing_ok {
                self.planner().notice(format!("{message}, skipping"));
                return Ok(());
            }
            return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, message));
        };
        partition::refuse_key_column(&self.table, number, "drop")?;
        let cascade = command.behavior() == DropBehavior::DropCascade;
        let going = Going::Column(number, name);
        foreign_key::release(self.draft, &self.record, &going, cascade, &[])?;
        let what = format!("column {name} of table {}", self.record.name);
        view::release(
            self.draft,
            &what,
            self.record.id,
            Some(number),
            cascade,
            &[],
        )?;
        let own: Vec<ConstraintId> = (self.planner().catalog().foreign_keys_of(self.record.id))
            .filter(|key| key.columns.contains(&number))
            .map(|key| key.id)
            .collect();
        own.into_iter()
            .for_each(|key| self.draft.drop_foreign_key(key));
        let key = self
            .record
            .primary_key
            .take_if(|key| key.columns.contains(&number));
        if let Some(key) = key {
            self.draft.free_name(&key.name);
            self.rewrite = true;
        }
        let scope_checks: Vec<_> = self.table.own_checks().cloned().collect();
        self.record.checks.retain(|check| {
            let old = scope_checks.iter().find(|other| other.name == check.name);
            let mut used = Vec::new();
            if let Some(old) = old {
                old.condition.collect_columns(&mut used);
            }
            !used.contains(&number)
        });
        let made_of = generated::made_of(&self.table, number);
        let mut over = hidden::among(&self.record, &made_of);
        over.push(number);
        let (gone, kept) = self
            .record
            .indexes
            .drain(..)
            .partition(|index| index.columns.iter().any(|column| over.contains(column)));
        self.record.indexes = kept;
        let gone: Vec<crate::records::IndexRecord> = gone;
        for index in gone {
            hidden::forget(&mut self.record, &index);
            self.draft.free_name(&index.name);
            self.dropped_spaces.push(index.space);
        }
        for sequence in owned_sequences(self.planner().catalog(), self.record.id, Some(number)) {
            super::release_sequence(self.draft, sequence, cascade, Some(self.record.id))?;
            self.draft.drop_sequence(sequence);
        }
        for made in made_of {
            if self.record.is_hidden(made) {
                continue;
            }
            let made_name = self.record.columns[made].name.clone();
            if !cascade {
                return Err(SqlError::new(
                    SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                    format!(
                        "cannot drop column {name} of table {} because other objects depend on it",
                        self.record.name
                    ),
                )
                .detail(format!(
                    "column {made_name} of table {0} depends on column {name} of table {0}",
                    self.record.name
                ))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
            }
            self.drop_column(&AlterTableCmd {
                name: made_name,
                ..command.clone()
            })?;
        }
        self.record
            .more
            .generated
            .retain(|(other, _)| *other != number);
        self.record
            .more
            .domains
            .retain(|(other, _)| *other != number);
        let column = &mut self.record.columns[number];
        column.dropped = true;
        column.missing = None;
        column.not_null = false;
        column.default = None;
        column.identity = None;
        self.not_null.retain(|&other| other != number);
        Ok(())
    }

    fn set_default(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        let number = self.column(&command.name)?;
        if self
            .table
            .columns
            .get(number)
            .is_some_and(|c| c.generated.is_some())
        {
            let message = format!(
                "column \"{}\" of relation \"{}\" is a generated column",
                command.name, self.record.name
            );
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        if self.record.columns[number].identity.is_some() {
            return Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                format!(
                    "column \"{}\" of relation \"{}\" is an identity column",
                    command.name, self.record.name
                ),
            ));
        }
        let default = match command.def.as_deref() {
            Some(node) => default_text(self.planner(), node, &self.record.columns[number])?,
            None => None,
        };
        self.record.columns[number].default = default;
        Ok(())
    }

    fn drop_not_null(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        let number = self.column(&command.name)?;
        let column = &mut self.record.columns[number];
        if self
            .record
            .primary_key
            .as_ref()
            .is_some_and(|key| key.columns.contains(&number))
        {
            return Err(SqlError::new(
                SqlState::INVALID_TABLE_DEFINITION,
                format!("column \"{}\" is in a primary key", command.name),
            ));
        }
        if column.identity.is_some() {
            return Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                format!(
                    "column \"{}\" of relation \"{}\" is an identity column",
                    command.name, self.record.name
                ),
            ));
        }
        column.not_null = false;
        self.not_null.retain(|&other| other != number);
        Ok(())
    }

    fn drop_constraint(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        let name = &command.name;
        let cascade = command.behavior() == DropBehavior::DropCascade;
        if let Some(key) = self.foreign_key(name) {
            self.draft.drop_foreign_key(key.id);
            return Ok(());
        }
        if let Some(check) = self
            .record
            .checks
            .iter()
            .position(|check| check.name == *name)
        {
            self.record.checks.remove(check);
            return Ok(());
        }
        if let Some(index) = self
            .record
            .indexes
            .iter()
            .position(|i| i.constraint && i.name == *name)
        {
            let going = Going::Key(Some(self.record.indexes[index].id), "constraint", name);
            foreign_key::release(self.draft, &self.record, &going, cascade, &[])?;
            let index = self.record.indexes.remove(index);
            self.draft.free_name(&index.name);
            self.dropped_spaces.push(index.space);
            return Ok(());
        }
        if self
            .record
            .primary_key
            .as_ref()
            .is_some_and(|key| key.name == *name)
        {
            let going = Going::Key(None, "constraint", name);
            foreign_key::release(self.draft, &self.record, &going, cascade, &[])?;
            self.record.primary_key = None;
            self.draft.free_name(name);
            self.rewrite = true;
            return Ok(());
        }
        let message = format!(
            "constraint \"{name}\" of relation \"{}\" does not exist",
            self.record.name
        );
        if command.missing_ok {
            self.planner().notice(format!("{message}, skipping"));
            return Ok(());
        }
        Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message))
    }

    /// The foreign key with this name.
    fn foreign_key(&self, name: &str) -> Option<Arc<ForeignKeyRecord>> {
        let mut keys = self.planner().catalog().foreign_keys_of(self.record.id);
        keys.find(|key| key.name == name).cloned()
    }

    /// Only foreign keys can be there without having been looked at.
    fn validate_constraint(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        let Some(key) = self.foreign_key(&command.name) else {
            return match self.draft.has_constraint(&self.record, &command.name) {
                true => Ok(()),
                false => Err(self.no_constraint(&command.name)),
            };
        };
        if !key.validated {
            self.draft.put_foreign_key(&ForeignKeyRecord {
                validated: true,
                ..(*key).clone()
            })?;
            self.to_verify.push(key.id);
        }
        Ok(())
    }

    fn no_constraint(&self, name: &str) -> SqlError {
        let message = format!(
            "constraint \"{name}\" of relation \"{}\" does not exist",
            self.record.name
        );
        SqlError::new(SqlState::UNDEFINED_OBJECT, message)
    }

    /// ALTER CONSTRAINT … [NOT] DEFERRABLE.
    fn alter_constraint(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        let Some(NodeEnum::AtalterConstraint(change)) = command.def.as_deref().and_then(inner)
        else {
            return Err(SqlError::unsupported("ALTER TABLE … ALTER CONSTRAINT"));
        };
        let Some(key) = self.foreign_key(&change.conname) else {
            if !self.draft.has_constraint(&self.record, &change.conname) {
                return Err(self.no_constraint(&change.conname));
            }
            return Err(SqlError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!(
                    "constraint \"{}\" of relation \"{}\" is not a foreign key constraint",
                    change.conname, self.record.name
                ),
            ));
        };
        self.draft.put_foreign_key(&ForeignKeyRecord {
            deferrable: change.deferrable,
            deferred: change.initdeferred,
            ..(*key).clone()
        })
    }

    fn alter_type(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        let number = self.column(&command.name)?;
        partition::refuse_key_column(&self.table, number, "alter")?;
        let Some(NodeEnum::ColumnDef(definition)) = command.def.as_deref().and_then(inner) else {
            return Err(SqlError::internal("ALTER COLUMN TYPE of nothing"));
        };
        let type_name = required(definition.type_name.as_ref())?;
        let (ty, modifier, domain) = types::resolve_any(self.planner(), type_name)?;
        let domain = domain.map(|domain| domain.id);
        let column = &self.record.columns[number];
        if (column.ty, column.modifier) == (ty, modifier)
            && definition.raw_default.is_none()
            && domain == self.record.domain(number)
        {
            return Ok(());
        }
        let old = column.clone();
        let made_of = generated::made_of(&self.table, number);
        if !hidden::among(&self.record, &made_of).is_empty() {
            return Err(SqlError::unsupported(
                "changing the type of a column that an index's expression or predicate names",
            )
            .hint("Drop the index first, and make it again."));
        }
        if let Some(&made) = made_of.first() {
            return Err(SqlError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cannot alter type of a column used by a generated column",
            )
            .detail(format!(
                "Column \"{}\" is used by generated column \"{}\".",
                command.name, self.record.columns[made].name
            )));
        }
        if self
            .table
            .columns
            .get(number)
            .is_some_and(|c| c.generated.is_some())
        {
            return Err(SqlError::unsupported(
                "changing the type of a generated column",
            ));
        }
        view::refuse_change_of_type(self.planner(), self.record.id, number, &command.name)?;
        self.recheck_references(number, ty)?;
        let value = match definition.raw_default.as_deref() {
            // USING.
            Some(node) => {
                let scope = scope_of(&self.record);
                let bound =
                    Binder::new(self.planner(), &scope, "transform expressions").bind(node)?;
                coerce::assign(self.planner(), bound, ty, modifier, &command.name)
                    .map_err(self.planner().at(names::location(node)))?
            }
            None => {
                let whole = Expr::Column(number, old.ty);
                coerce::assign(self.planner(), whole, ty, modifier, &command.name).map_err(
                    |error| {
                        let message = format!(
                            "column \"{}\" cannot be cast automatically to type {ty}",
                            command.name
                        );
                        match error.state {
                            SqlState::DATATYPE_MISMATCH => SqlError::new(
                                SqlState::DATATYPE_MISMATCH,
                                message,
                            )
                            .hint(
                                "You might need to specify a USING clause with an explicit cast.",
                            ),
                            _ => error,
                        }
                    },
                )?
            }
        };
        self.values.push((number, value));
        self.rewrite = true;
        let domains = &mut self.record.more.domains;
        domains.retain(|(other, _)| *other != number);
        domains.extend(domain.map(|domain| (number, domain)));
        self.domains |= domain.is_some();
        let column = &mut self.record.columns[number];
        column.ty = ty;
        column.modifier = modifier;
        column.missing = None;
        if let Some(text) = column.default.clone() {
            let node = crate::parse::parse_expression(&text)?;
            let column = column.clone();
            default_text(self.planner(), &node, &column).map_err(|_| {
                let message = format!(
                    "default for column \"{}\" cannot be cast automatically to type {ty}",
                    command.name
                );
                SqlError::new(SqlState::DATATYPE_MISMATCH, message)
            })?;
        }
        Ok(())
    }

    fn finish(mut self) -> SqlResult<()> {
        generated::check(self.planner(), &self.record)?;
        let added = constraint::apply(self.draft, &mut self.record, &self.constraints)?;
        if !self.fill.is_empty() && (added.primary_key || !added.indexes.is_empty()) {
            // They would be built before the column has its values.
            return Err(SqlError::unsupported(
                "adding a SERIAL, identity or generated column together with a key",
            )
            .hint("Add the column first, then the key."));
        }
        self.rewrite |= added.primary_key;
        self.not_null.extend(&added.not_null);
        let old_spaces = spaces_of(&self.table);
        let rewrite = self.rewrite;
        if rewrite {
            self.draft.renew_spaces(&mut self.record);
            // Every row is written with all of its columns.
            self.record
                .columns
                .iter_mut()
                .for_each(|column| column.missing = None);
        }
        self.record.revision += 1;
        self.draft.put_table(&self.record)?;
        let to = self.draft.table_to_be(self.record.id)?;
        self.draft.work(Work::Fence(old_spaces.clone()));
        if rewrite {
            let columns = self.row_values(&to);
            self.draft.work(Work::Rewrite {
                from: self.table.clone(),
                to: to.clone(),
                columns,
                rows: None,
            });
        } else {
            for &index in &added.indexes {
                self.draft.work(Work::BuildIndex {
                    table: to.clone(),
                    index,
                });
            }
        }
        let mut checks = added.checks;
        if self.domains {
            let numbered = to.checks.iter().enumerate();
            let of_domain = numbered.filter(|(_, check)| check.of_domain);
            checks.extend(of_domain.map(|(number, _)| number));
        }
        if !self.not_null.is_empty() || !checks.is_empty() {
            self.draft.work(Work::Verify {
                table: to,
                not_null: std::mem::take(&mut self.not_null),
                checks,
            });
        }
        self.to_verify.extend(added.foreign_keys);
        self.verify_references()?;
        let gone = if rewrite {
            old_spaces
        } else {
            std::mem::take(&mut self.dropped_spaces)
        };
        if !gone.is_empty() {
            self.draft.work(Work::DropSpaces(gone));
        }
        self.fill_in()
    }

    /// Has new columns filled by an UPDATE that runs when the change is done.
    fn fill_in(&mut self) -> SqlResult<()> {
        if self.fill.is_empty() {
            return Ok(());
        }
        let catalog = self.draft.catalog_to_be()?;
        let context = PlanContext {
            catalog: &catalog,
            ..*self.planner().context
        };
        let target = |number: &usize| {
            let value = SetToDefault {
                location: -1,
                ..Default::default()
            };
            let value = parse::wrap(NodeEnum::SetToDefault(Box::new(value)));
            parse::wrap(NodeEnum::ResTarget(Box::new(ResTarget {
                name: self.record.columns[*number].name.clone(),
                val: Some(Box::new(value)),
                location: -1,
                ..Default::default()
            })))
        };
        let update = UpdateStmt {
            relation: Some(RangeVar {
                schemaname: self.record.schema.clone(),
                relname: self.record.name.clone(),
                inh: true,
                location: -1,
                ..Default::default()
            }),
            target_list: self.fill.iter().map(target).collect(),
            ..Default::default()
        };
        let filling = Planner::new(&context, "", &[]);
        let planned = plan_update(&filling, &update)?;
        if let Command::Run(procedure) = planned.command {
            self.draft.then(procedure);
        }
        Ok(())
    }

    /// A column with another type must still be comparable with what it refers to, or what refers to it; and what it
    /// refers to must still be there.
    fn recheck_references(&mut self, number: usize, ty: quintet_base::SqlType) -> SqlResult<()> {
        let catalog = self.draft.planner.catalog();
        let mut keys = Vec::new();
        for key in catalog.foreign_keys() {
            let pairs = || key.columns.iter().zip(&key.parent_columns);
            let (own, other) = if key.child == self.record.id
                && let Some((_, other)) = pairs().find(|(own, _)| **own == number)
            {
                (true, (key.parent, *other))
            } else if key.parent == self.record.id
                && let Some((other, _)) = pairs().find(|(_, own)| **own == number)
            {
                (false, (key.child, *other))
            } else {
                continue;
            };
            let itself = other.0 == self.record.id;
            let other_type = match catalog.table_by_id(other.0) {
                Some(table) if !itself => table.columns[other.1].ty,
                _ => self.record.columns[other.1].ty,
            };
            let (child, parent) = match own {
                true => (ty, other_type),
                false => (other_type, ty),
            };
            if !are_comparable(child, parent) {
                return Err(SqlError::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!(
                        "foreign key constraint \"{}\" cannot be implemented",
                        key.name
                    ),
                ));
            }
            match own {
                true => keys.push(key.id),
                // The other table's rows may have lost what they refer to.
                false => self.to_verify_of_others.push((key.child, key.id)),
            }
        }
        self.to_verify.extend(keys);
        Ok(())
    }

    /// Looks whether what rows refer to is there.
    fn verify_references(&mut self) -> SqlResult<()> {
        let own = self.record.id;
        let mut keys: Vec<_> = std::mem::take(&mut self.to_verify_of_others);
        keys.extend(self.to_verify.drain(..).map(|key| (own, key)));
        for (child, id) in keys {
            let table = self.draft.table_to_be(child)?;
            let number = (table.references.iter())
                .find_map(|references| references.keys.iter().position(|key| key.id == id));
            if let Some(key) = number {
                self.draft.work(Work::VerifyReferences { table, key });
            }
        }
        Ok(())
    }

    /// The columns of a rewritten row over the old row's frame.
    fn row_values(&self, to: &TableRef) -> Vec<Expr> {
        let value = |(number, column): (usize, &quintet_ir::ColumnDef)| {
            if column.dropped {
                return Expr::null(column.ty);
            }
            if let Some((_, value)) = self.values.iter().rev().find(|(n, _)| *n == number) {
                return value.clone();
            }
            match self.table.columns.get(number) {
                Some(old) => Expr::Column(number, old.ty),
                None => crate::insert::default_of(column),
            }
        };
        to.columns.iter().enumerate().map(value).collect()
    }
}

fn describe(kind: AlterTableType) -> &'static str {
    use AlterTableType::*;
    match kind {
        AtAddIdentity => "ADD GENERATED AS IDENTITY",
        AtSetIdentity => "SET GENERATED",
        AtDropIdentity => "DROP IDENTITY",
        AtDropExpression | AtSetExpression => "SET or DROP EXPRESSION",
        AtSetAccessMethod => "SET ACCESS METHOD",
        AtSetTableSpace => "SET TABLESPACE",
        AtEnableTrig | AtEnableAlwaysTrig | AtEnableReplicaTrig | AtDisableTrig
        | AtEnableTrigAll | AtDisableTrigAll | AtEnableTrigUser | AtDisableTrigUser => {
            "ENABLE or DISABLE TRIGGER"
        }
        AtEnableRule | AtEnableAlwaysRule | AtEnableReplicaRule | AtDisableRule => {
            "ENABLE or DISABLE RULE"
        }
        AtAddInherit | AtDropInherit => "INHERIT",
        AtAttachPartition | AtDetachPartition | AtDetachPartitionFinalize => {
            "ATTACH or DETACH PARTITION"
        }
        AtEnableRowSecurity | AtDisableRowSecurity | AtForceRowSecurity | AtNoForceRowSecurity => {
            "ROW LEVEL SECURITY"
        }
        _ => "this",
    }
}
