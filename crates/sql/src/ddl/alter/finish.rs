//! ALTER TABLE: what the commands of a statement come to, together.
//!
//! Relies on: what the commands have noted in [`Change`].  Promises: the order of work that `alter` draws.  Does not: carry it out.

use super::Change;
use crate::command::Command;
use crate::ddl::{constraint, exclusion, generated, hidden, index};
use crate::draft::spaces_of;
use crate::insert::default_of;
use crate::parse;
use crate::planner::{PlanContext, Planner};
use crate::rewrite::transform;
use crate::row_security::unasked;
use crate::update::plan_update;
use pg_query::NodeEnum;
use pg_query::protobuf::{RangeVar, ResTarget, SetToDefault, UpdateStmt};
use quintet_base::{SqlError, SqlResult};
use quintet_ir::ddl::Work;
use quintet_ir::schema::{CheckKind, TableRef};
use quintet_ir::statement::{Body, Statement};
use quintet_ir::{ColumnDef, Expr};
use std::mem::take;
use std::sync::Arc;

impl Change<'_, '_, '_> {
    pub(super) fn finish(mut self) -> SqlResult<()> {
        generated::check(self.draft.planner, &mut self.record)?;
        self.remade
            .retain(|number| !self.record.columns[*number].dropped);
        for &number in &self.remade {
            hidden::read_anew(self.draft.planner, &self.table, &mut self.record, number)?;
        }
        index::check_inverted(self.draft.planner, &self.record)?;
        exclusion::check(&self.record)?;
        let added = constraint::apply(self.draft, &mut self.record, &self.constraints)?;
        if !self.fill.is_empty() && (added.primary_key || !added.indexes.is_empty()) {
            // They would be built before the column has its values; rows that are written anew have them.
            let generated = &self.record.more.generated;
            if (self.fill.iter()).any(|column| generated.iter().any(|(other, _)| other == column)) {
                return Err(
                    SqlError::unsupported("adding a generated column together with a key")
                        .hint("Add the column first, then the key."),
                );
            }
            self.fill.clear();
            self.rewrite = true;
        }
        self.rewrite |=
            added.primary_key || hidden::calls_anew(self.draft.planner, &self.table, &self.record)?;
        self.dropped_spaces.extend(&added.dropped);
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
        let checks = &self.record.checks;
        let is_there = |name: &String| checks.iter().any(|check| check.name == *name);
        self.record.more.unvalidated.retain(is_there);
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
                fresh: true,
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
        for name in take(&mut self.checks_to_verify) {
            checks.extend(to.own_checks().position(|check| check.name == name));
        }
        if self.domains {
            let numbered = to.checks.iter().enumerate();
            let of_domain = numbered.filter(|(_, check)| check.kind == CheckKind::OfDomain);
            checks.extend(of_domain.map(|(number, _)| number));
        }
        if !self.not_null.is_empty() || !checks.is_empty() {
            self.draft.work(Work::Verify {
                table: to,
                not_null: take(&mut self.not_null),
                checks,
            });
        }
        self.to_verify.extend(added.foreign_keys);
        self.verify_references()?;
        let gone = if rewrite {
            old_spaces
        } else {
            take(&mut self.dropped_spaces)
        };
        if !gone.is_empty() {
            self.draft.work(Work::DropSpaces(gone));
        }
        self.fill_in()
    }

    /// The columns of a rewritten row over the old row's frame.
    fn row_values(&self, to: &TableRef) -> Vec<Expr> {
        let plain = |(number, column): (usize, &ColumnDef)| {
            if column.dropped {
                return Expr::null(column.ty);
            }
            if let Some((_, value)) = self.values.iter().rev().find(|(n, _)| *n == number) {
                return value.clone();
            }
            match self.table.columns.get(number) {
                Some(old) => Expr::Column(number, old.ty),
                None => default_of(column),
            }
        };
        let value = |(number, column): (usize, &ColumnDef)| match &column.generated {
            Some(made)
                if self.remade.contains(&number)
                    || column.hidden && number >= self.table.columns.len() =>
            {
                transform(made, &mut |part| match part {
                    Expr::Column(of, _) => Some(plain((*of, to.columns.get(*of)?))),
                    _ => None,
                })
            }
            _ => plain((number, column)),
        };
        to.columns.iter().enumerate().map(value).collect()
    }

    /// Looks whether what rows refer to is there.
    fn verify_references(&mut self) -> SqlResult<()> {
        let own = self.record.id;
        let mut keys: Vec<_> = take(&mut self.to_verify_of_others);
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

    /// Has new columns filled by an UPDATE that runs when the change is done.
    fn fill_in(&mut self) -> SqlResult<()> {
        if self.fill.is_empty() {
            return Ok(());
        }
        let catalog = self.draft.catalog_to_be()?;
        // All rows are filled, whatever policies say.
        let context = PlanContext {
            catalog: &catalog,
            ..unasked(self.planner().context)
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
        if let Command::Run(mut procedure) = planned.command {
            // A CHECK that is NOT VALID says nothing of rows that are there.
            if let Body::Statement(Statement::Update(update)) =
                &mut Arc::make_mut(&mut procedure).body
                && update.table.checks.iter().any(|check| !check.validated)
            {
                let table = Arc::make_mut(&mut update.table);
                table.checks.retain(|check| check.validated);
            }
            self.draft.then(procedure);
        }
        Ok(())
    }
}
