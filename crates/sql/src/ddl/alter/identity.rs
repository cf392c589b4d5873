//! Identity columns that a table has: SET GENERATED and the options of their sequence, RESTART, DROP IDENTITY.
//!
//! Relies on: `ddl::sequence`.  Promises: an identity column has one sequence of its own, which goes with the identity.
//! Does not: make one of a column (`ddl::alter::column`).

use super::Change;
use crate::ddl::sequence;
use crate::names::{self, inner};
use pg_query::NodeEnum;
use pg_query::protobuf::{AlterTableCmd, DefElem, Node};
use quintet_base::{SqlError, SqlResult, SqlState};

/// What the parser writes for ALWAYS.
const ALWAYS: i64 = b'a' as i64;

impl Change<'_, '_, '_> {
    /// SET GENERATED, SET of the sequence's options, RESTART.
    pub(super) fn set_identity(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        let number = self.column(&command.name)?;
        if self.record.columns[number].identity.is_none() {
            return Err(self.no_identity(&command.name));
        }
        let options = command.def.as_deref().and_then(names::list);
        let mut of_sequence = Vec::new();
        let mut always = None;
        for node in options.unwrap_or_default() {
            let Some(option) = generated(node) else {
                of_sequence.push(node.clone());
                continue;
            };
            let kind = option.arg.as_deref().and_then(names::bigint);
            if always.replace(kind == Some(ALWAYS)).is_some() {
                return Err(SqlError::new(
                    SqlState::SYNTAX_ERROR,
                    "conflicting or redundant options",
                ));
            }
        }
        if !of_sequence.is_empty() {
            let own = self.draft.sequence_of(self.record.id, number)?;
            let own = own.ok_or_else(|| SqlError::internal("an identity without a sequence"))?;
            sequence::redefine(self.draft, own, &of_sequence)?;
        }
        if always.is_some() {
            self.record.columns[number].identity = always;
        }
        Ok(())
    }

    /// DROP IDENTITY: the column stays, and has no default.
    pub(super) fn drop_identity(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        let number = self.column(&command.name)?;
        if self.record.columns[number].identity.is_none() {
            let error = self.no_identity(&command.name);
            return self.skip_if(command.missing_ok, error);
        }
        if let Some(own) = self.draft.sequence_of(self.record.id, number)? {
            self.draft.drop_sequence(own.id);
        }
        let column = &mut self.record.columns[number];
        column.identity = None;
        column.default = None;
        Ok(())
    }

    fn no_identity(&self, column: &str) -> SqlError {
        let table = &self.record.name;
        let message =
            format!("column \"{column}\" of relation \"{table}\" is not an identity column");
        SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
    }
}

fn generated(node: &Node) -> Option<&DefElem> {
    match inner(node)? {
        NodeEnum::DefElem(option) if option.defname == "generated" => Some(option),
        _ => None,
    }
}
