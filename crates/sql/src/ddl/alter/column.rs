//! ALTER TABLE: columns that come and go, their defaults and NOT NULL.
//!
//! Relies on: `table` for what a column's definition says, `foreign_key` and `view` for who depends on one.  Promises: a column with a
//! default that is the same for every row touches none of them.  Does not: change a type (`column_type`).

use super::Change;
use crate::coerce;
use crate::ddl::foreign_key::{self, Going};
use crate::ddl::table::{add_column, default_text};
use crate::ddl::{generated, hidden, partition, release_sequence, sequence, trigger, view};
use crate::draft::owned_sequences;
use crate::expr::Binder;
use crate::names::inner;
use crate::parse::parse_expression;
use crate::records::IndexRecord;
use crate::scope::Scope;
use pg_query::NodeEnum;
use pg_query::protobuf::{AlterTableCmd, DropBehavior};
use quintet_base::{ConstraintId, SqlError, SqlResult, SqlState, Value};
use quintet_ir::Expr;

impl Change<'_, '_, '_> {
    pub(super) fn add_column(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        let Some(NodeEnum::ColumnDef(column)) = command.def.as_deref().and_then(inner) else {
            return Err(SqlError::internal("ADD COLUMN of nothing"));
        };
        if self.record.column(&column.colname).is_some() {
            let message = format!(
                "column \"{}\" of relation \"{}\" already exists",
                column.colname, self.record.name
            );
            let error = SqlError::new(SqlState::DUPLICATE_COLUMN, message);
            return self.skip_if(command.missing_ok, error);
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
                            Value::Null => None,
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

    /// A default's value, if it is the same for every row and every time.
    fn constant(&mut self, text: &str, number: usize) -> SqlResult<Option<Value>> {
        let column = &self.record.columns[number];
        let node = parse_expression(text)?;
        let nothing = Scope::empty();
        let planner = self.planner();
        let bound = Binder::new(planner, &nothing, "DEFAULT expressions").bind(&node)?;
        let bound = coerce::assign(planner, bound, column.ty, column.modifier, &column.name)?;
        Ok(match quintet_ir::fold::fold(bound) {
            Expr::Const(value, _) => Some(value),
            _ => None,
        })
    }

    pub(super) fn add_identity(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
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

    pub(super) fn drop_column(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        let name = &command.name;
        let Some(number) = self.record.column(name) else {
            return self.skip_if(command.missing_ok, self.no_column(name));
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
        // A column that this statement adds has none.
        if number < self.table.columns.len() {
            trigger::release_column(self.draft, &self.table, number, cascade)?;
        }
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
        let all = std::mem::take(&mut self.record.indexes);
        let has = |index: &IndexRecord, column: &usize| self.record.is_indexed_by(index, *column);
        let (gone, kept): (Vec<IndexRecord>, _) =
            (all.into_iter()).partition(|index| over.iter().any(|column| has(index, column)));
        // What the column itself is in goes with it; a constraint that an expression or its predicate has it in depends on it.
        let excludes =
            |index: &&IndexRecord| self.record.excluded(index.id).is_some() && !has(index, &number);
        let excludes: Vec<String> = gone
            .iter()
            .filter(excludes)
            .map(|i| i.name.clone())
            .collect();
        let made_of = made_of.into_iter().filter(|n| !self.record.is_hidden(*n));
        let made_of: Vec<String> = made_of
            .map(|n| self.record.columns[n].name.clone())
            .collect();
        self.release_dependents(&what, &made_of, &excludes, cascade)?;
        self.record.indexes = kept;
        for index in gone {
            hidden::forget(self.draft.planner, &mut self.record, &index);
            self.draft.free_name(&index.name);
            self.dropped_spaces.push(index.space);
        }
        for sequence in owned_sequences(self.planner().catalog(), self.record.id, Some(number)) {
            release_sequence(self.draft, sequence, &what, cascade, &[self.record.id])?;
            self.draft.drop_sequence(sequence);
        }
        for name in made_of {
            self.drop_column(&AlterTableCmd {
                name,
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
        self.record.set_collation(number, None);
        let column = &mut self.record.columns[number];
        column.dropped = true;
        column.missing = None;
        column.not_null = false;
        column.default = None;
        column.identity = None;
        self.not_null.retain(|&other| other != number);
        Ok(())
    }

    /// Columns that are generated from one that goes, and constraints that exclude by it, go too with CASCADE.
    fn release_dependents(
        &self,
        what: &str,
        generated: &[String],
        excludes: &[String],
        cascade: bool,
    ) -> SqlResult<()> {
        let table = &self.record.name;
        let columns = generated.iter();
        let columns = columns.map(|name| format!("column {name} of table {table}"));
        let constraints = excludes.iter();
        let constraints = constraints.map(|name| format!("constraint {name} on table {table}"));
        let objects: Vec<String> = columns.chain(constraints).collect();
        if objects.is_empty() {
            return Ok(());
        }
        if cascade {
            self.planner().notice_cascade(&objects);
            return Ok(());
        }
        let lines = objects
            .iter()
            .map(|object| format!("{object} depends on {what}"));
        let lines: Vec<String> = lines.collect();
        Err(SqlError::new(
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop {what} because other objects depend on it"),
        )
        .detail(lines.join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too."))
    }

    pub(super) fn set_default(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        let number = self.column(&command.name)?;
        if self.is_generated(number) {
            return Err(self.wrong_kind(&command.name, "a generated column"));
        }
        if self.record.columns[number].identity.is_some() {
            return Err(self.wrong_kind(&command.name, "an identity column"));
        }
        let default = match command.def.as_deref() {
            Some(node) => {
                let column = &self.record.columns[number];
                let of = (
                    Some(&*self.record.schema),
                    column,
                    self.record.domain(number),
                );
                default_text(self.planner(), node, of)?
            }
            None => None,
        };
        self.record.columns[number].default = default;
        Ok(())
    }

    pub(super) fn drop_not_null(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
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
            return Err(self.wrong_kind(&command.name, "an identity column"));
        }
        column.not_null = false;
        self.not_null.retain(|&other| other != number);
        Ok(())
    }

    fn wrong_kind(&self, column: &str, is: &str) -> SqlError {
        let table = &self.record.name;
        let message = format!("column \"{column}\" of relation \"{table}\" is {is}");
        SqlError::new(SqlState::SYNTAX_ERROR, message)
    }
}
