//! WHERE CURRENT OF: the row of a table that a cursor stands on.
//!
//! Relies on: the key of the row, which stands behind the columns of a cursor's rows if its query is one over one table.
//! Promises: such a statement is one about the row with this key.  Does not: follow a row whose key has been changed since the cursor
//! was opened.

use super::super::embed::Planned;
use super::super::merge::{all, equals};
use super::Lowering;
use super::cursor::Keeps;
use crate::current::{self, called, key_of};
use crate::from::row_target;
use crate::names::inner;
use crate::parse;
use crate::planner::Planner;
use crate::plpgsql::VariableNumber;
use crate::variables::Shape;
use pg_query::NodeEnum;
use pg_query::protobuf::Node;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::Expr;
use quintet_ir::dynamic::{CursorAction, CursorStep, Dynamic, DynamicRows, Landmark};
use quintet_ir::routine::Action;
use quintet_ir::schema::TableRef;

/// Where the key of a cursor's row is.
pub(super) struct Current {
    table: TableRef,
    /// One for each column of the key, with its type.
    key: Vec<(usize, SqlType)>,
}

impl Current {
    /// One slot for each column, with its type.
    pub fn key(&self) -> &[(usize, SqlType)] {
        &self.key
    }

    pub fn slots(&self) -> impl Iterator<Item = usize> {
        self.key.iter().map(|(slot, _)| *slot)
    }

    /// The slots with their values, over a row with the key behind so many columns.
    pub fn targets(&self, behind: usize) -> impl Iterator<Item = (usize, Expr)> {
        let value = move |(n, (slot, ty)): (usize, &(usize, SqlType))| {
            (*slot, Expr::Column(behind + n, *ty))
        };
        self.key.iter().enumerate().map(value)
    }

    pub fn table(&self) -> &TableRef {
        &self.table
    }
}

impl Lowering<'_, '_, '_> {
    /// Whether any statement says CURRENT OF.
    pub(super) fn names_current(&self) -> bool {
        let source = self.tree.source.to_ascii_lowercase();
        let mut words = source.split_ascii_whitespace();
        words.any(|word| word == "current") && source.contains(" of ")
    }

    /// Room for the key of a row of this table.
    pub(super) fn current(&mut self, table: TableRef) -> Current {
        let numbers = table.key_columns();
        let key = numbers.into_iter().map(|number| {
            let ty = table.frame_type(number);
            (self.at.variables.hidden(ty), ty)
        });
        let key = key.collect();
        Current { table, key }
    }

    /// A query over one table with the table's key behind its columns; `None` if it is another one.
    pub(super) fn keyed(&mut self, text: &str) -> SqlResult<Option<(NodeEnum, TableRef)>> {
        let mut parsed = parse::parse(text)?;
        let node = parsed.pop().and_then(parse::Parsed::into_node);
        let (Some(NodeEnum::SelectStmt(select)), 0) = (node, parsed.len()) else {
            return Ok(None);
        };
        let planner = Planner::inside(self.at.context, text, &self.at.variables);
        let keyed = current::keyed(&planner, &select);
        Ok(keyed.map(|(select, table)| (NodeEnum::SelectStmt(Box::new(select)), table)))
    }

    /// A statement that may say WHERE CURRENT OF.
    pub(super) fn statement_at(&mut self, text: &str) -> SqlResult<Planned> {
        if !self.names_current() {
            return self.at.statement(text);
        }
        let mut parsed = parse::parse(text)?;
        let statement = parsed.pop().and_then(parse::Parsed::into_node);
        let (Some(mut statement), 0) = (statement, parsed.len()) else {
            return self.at.statement(text);
        };
        let parts = match &mut statement {
            NodeEnum::UpdateStmt(update) => (&mut update.where_clause, update.relation.as_ref()),
            NodeEnum::DeleteStmt(delete) => (&mut delete.where_clause, delete.relation.as_ref()),
            _ => return self.at.statement(text),
        };
        let (Some(condition), Some(relation)) = parts else {
            return self.at.statement(text);
        };
        let Some(NodeEnum::CurrentOfExpr(current)) = inner(condition) else {
            return self.at.statement(text);
        };
        let planner = Planner::inside(self.at.context, text, &self.at.variables);
        let table = row_target(&planner, relation)?;
        let slots = self.current_key(&current.cursor_name, &table)?;
        let known = self.at.variables.numbered.len();
        let conditions = key_of(&table, called(relation))
            .zip(slots)
            .map(|(key, slot)| {
                self.at.variables.numbered.push(Some(slot));
                Some(equals(key, self.at.variables.numbered.len() as i32))
            });
        let conditions: Vec<Option<Node>> = conditions.collect();
        **condition = all(conditions);
        let planned = self.at.plan(text, &statement);
        self.at.variables.numbered.truncate(known);
        planned
    }

    /// The slots of the key of the row that a cursor stands on, filled.
    fn current_key(&mut self, name: &str, table: &TableRef) -> SqlResult<Vec<usize>> {
        let number = self.at.variables.number(name).map(VariableNumber);
        if let Some(number) = number
            && let Some(cursor) = self.cursors.get(&number)
            && matches!(cursor.keeps, Keeps::Rows(_))
        {
            let known = cursor.current.as_ref();
            if known.is_none_or(|current| current.table.id != table.id) {
                let message = format!(
                    "cursor \"{name}\" is not a simply updatable scan of table \"{}\"",
                    table.name
                );
                return Err(SqlError::new(SqlState::INVALID_CURSOR_STATE, message));
            }
            return self.check_current(number);
        }
        let numbers = table.key_columns().into_iter();
        let slots = numbers.map(|number| self.at.variables.hidden(table.frame_type(number)));
        let slots: Vec<usize> = slots.collect();
        let text = match number.map(|number| self.at.variables.shape(number.0)) {
            Some(Shape::Scalar(slot)) => self.name_in(*slot)?,
            _ => Expr::Const(Value::text(name), SqlType::Text),
        };
        let into = slots.iter().map(|slot| (*slot, TypeMod::NONE));
        self.at.add(Action::Dynamic(Box::new(Dynamic {
            at: Landmark {
                number: usize::MAX,
                ..Landmark::default()
            },
            text,
            arguments: Vec::new(),
            fixed: false,
            rows: DynamicRows::Into {
                slots: into.collect(),
                strict: false,
            },
            is_record: false,
            reads_only: false,
            turns: None,
            cursor: Some(CursorStep {
                variable: name.to_string(),
                what: CursorAction::Current {
                    table: table.id,
                    called: table.name.clone(),
                },
            }),
        })));
        Ok(slots)
    }
}

/// `0A000` where a cursor must be one.
pub(super) fn no_cursor_variable(name: &str) -> SqlError {
    SqlError::unsupported(format!("variable \"{name}\" as a cursor"))
}
