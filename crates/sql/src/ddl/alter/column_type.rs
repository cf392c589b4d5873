//! ALTER TABLE: columns of another type.
//!
//! Relies on: `coerce` for the values, which are written again with the rows.  Promises: what refers to a column, or is made of
//! it, means the same afterwards, or the change is refused; an index's expression is read anew, and may be of another type then.
//! Does not: change what a generated column or a view names (0A000, as PostgreSQL).

use super::Change;
use crate::ddl::constraint::scope_of;
use crate::ddl::table::{collation, default_text};
use crate::ddl::user_type::may_use;
use crate::ddl::{generated, hidden, partition, policy, trigger, view};
use crate::expr::Binder;
use crate::names::{self, inner, required};
use crate::parse::parse_expression;
use crate::{coerce, types};
use pg_query::NodeEnum;
use pg_query::protobuf::AlterTableCmd;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::Expr;
use quintet_ir::references::are_comparable;

impl Change<'_, '_, '_> {
    pub(super) fn alter_type(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        let number = self.column(&command.name)?;
        partition::refuse_key_column(&self.table, number, "alter")?;
        let Some(NodeEnum::ColumnDef(definition)) = command.def.as_deref().and_then(inner) else {
            return Err(SqlError::internal("ALTER COLUMN TYPE of nothing"));
        };
        let type_name = required(definition.type_name.as_ref())?;
        let (ty, modifier, domain) = types::resolve_any(self.planner(), type_name)?;
        may_use(self.planner(), type_name)?;
        let domain = domain.map(|domain| domain.id);
        let collation = collation(self.planner(), definition, ty)?;
        let column = &self.record.columns[number];
        if (column.ty, column.modifier) == (ty, modifier)
            && definition.raw_default.is_none()
            && domain == self.record.domain(number)
        {
            self.record.set_collation(number, collation);
            return Ok(());
        }
        let old = column.clone();
        let made_of = generated::made_of(&self.table, number);
        let of_indexes = hidden::among(&self.record, &made_of);
        let mut shown = made_of.iter().filter(|made| !of_indexes.contains(made));
        if let Some(&made) = shown.next() {
            return Err(SqlError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cannot alter type of a column used by a generated column",
            )
            .detail(format!(
                "Column \"{}\" is used by generated column \"{}\".",
                command.name, self.record.columns[made].name
            )));
        }
        if self.is_generated(number) {
            return Err(SqlError::unsupported(
                "changing the type of a generated column",
            ));
        }
        view::refuse_change_of_type(self.planner(), self.record.id, number, &command.name)?;
        policy::refuse_change_of_type(self.draft, self.record.id, number, &command.name)?;
        // A column that this statement adds has none.
        if number < self.table.columns.len() {
            trigger::refuse_change_of_type(self.draft, &self.table, number)?;
        }
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
        self.remade.extend(of_indexes);
        self.rewrite = true;
        let domains = &mut self.record.more.domains;
        domains.retain(|(other, _)| *other != number);
        domains.extend(domain.map(|domain| (number, domain)));
        self.domains |= domain.is_some();
        let column = &mut self.record.columns[number];
        column.ty = ty;
        column.modifier = modifier;
        column.missing = None;
        self.record.set_collation(number, collation);
        let column = &self.record.columns[number];
        if let Some(text) = column.default.clone() {
            let node = parse_expression(&text)?;
            let column = column.clone();
            default_text(self.planner(), &node, (None, &column, None)).map_err(|_| {
                let message = format!(
                    "default for column \"{}\" cannot be cast automatically to type {ty}",
                    command.name
                );
                SqlError::new(SqlState::DATATYPE_MISMATCH, message)
            })?;
        }
        Ok(())
    }

    /// A column with another type must still be comparable with what it refers to, or what refers to it; and what it
    /// refers to must still be there.
    fn recheck_references(&mut self, number: usize, ty: SqlType) -> SqlResult<()> {
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
}
