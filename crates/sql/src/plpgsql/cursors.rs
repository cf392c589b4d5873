//! Statements about cursors: OPEN, FETCH, MOVE, CLOSE, FOR.
//!
//! Relies on: `walk`.  Promises: a statement about what is no cursor with a query of its own makes the body one that needs its session;
//! what a cursor takes is in the order of its parameters, as the parser has put it.  Does not: say which cursors are portals
//! (`portals`).

use super::Failure;
use super::declare::dotted;
use super::json::Json;
use super::read::variable;
use super::tree::{
    DataType, FetchCount, OpenHow, SqlText, StatementKind, VariableKind, VariableNumber,
};
use super::walk::Walk;
use quintet_ir::dynamic::Direction;

impl Walk<'_> {
    pub(super) fn for_cursor(
        &mut self,
        node: Json,
        label: Option<String>,
    ) -> Result<StatementKind, Failure> {
        self.take("for")?;
        let (token, names) = (self.at, dotted(self.tokens, self.at).0);
        let [name] = names.as_slice() else {
            let what = "a qualified name of a loop variable";
            return Err(Failure::unsupported(what, self.offset()));
        };
        self.skip_to(&["in"])?;
        let offset = self.offset();
        let arguments = self.cursor_arguments(node);
        self.skip_to(&["loop"])?;
        self.take("loop")?;
        let cursor = self.target(node.number("curvar"))?.variable;
        let kind = VariableKind::Declared(DataType::Record);
        let mut record = variable(name, self.tokens.line(token), kind);
        record.fields = true;
        let number = self.claim(record)?;
        let body = self.repeated(label.as_deref(), Some((name, number)), node)?;
        Ok(StatementKind::ForCursor {
            label,
            variable: number,
            cursor,
            arguments,
            offset,
            body,
        })
    }

    /// What a cursor is opened with: the parser has put it into the order of its parameters.
    fn cursor_arguments(&self, node: Json) -> Option<SqlText> {
        node.expression("argquery").map(|text| SqlText {
            text: text.to_string(),
            offset: self.offset(),
            line: self.tokens.line(self.at),
        })
    }

    /// Whether a cursor was declared with its query.
    fn has_query(&self, cursor: VariableNumber) -> bool {
        matches!(self.variables[cursor.0].kind, VariableKind::Cursor(_))
    }

    pub(super) fn open(&mut self, node: Json) -> Result<StatementKind, Failure> {
        let offset = self.offset();
        self.take("open")?;
        let cursor = self.target(node.number("curvar"))?.variable;
        if self.has_query(cursor) {
            let arguments = self.cursor_arguments(node);
            self.skip_to(&[";"])?;
            return Ok(StatementKind::Open {
                cursor,
                how: OpenHow::Bound(arguments),
                offset,
            });
        }
        self.is_dynamic = true;
        let begin = self.at;
        self.skip_to(&["for"])?;
        let words = begin..self.at;
        let scrolls = words.clone().any(|at| self.tokens.is(at, "scroll"));
        let not = words
            .clone()
            .any(|at| self.tokens.is(at, "no") && self.tokens.is(at + 1, "scroll"));
        let scroll = scrolls.then_some(!not);
        self.take("for")?;
        let how = match node.node("dynquery") {
            Some(_) => {
                let sql = self.dynamic(node, "dynquery")?;
                OpenHow::Execute { sql, scroll }
            }
            None => {
                let query = self.text(node.expression("query"))?;
                OpenHow::Query { query, scroll }
            }
        };
        Ok(StatementKind::Open {
            cursor,
            how,
            offset,
        })
    }

    /// FETCH and MOVE.
    pub(super) fn fetch(&mut self, node: Json) -> Result<StatementKind, Failure> {
        let offset = self.offset();
        let moves = node.flag("is_move");
        self.take(if moves { "move" } else { "fetch" })?;
        let cursor = self.target(node.number("curvar"))?.variable;
        self.is_dynamic |= !self.has_query(cursor);
        let direction = match node.number("direction") {
            0 => Direction::Forward,
            1 => Direction::Backward,
            2 => Direction::Absolute,
            _ => Direction::Relative,
        };
        let count = match (node.expression("expr"), node.signed("how_many")) {
            (Some(text), _) => FetchCount::Value(SqlText {
                text: text.to_string(),
                offset,
                line: self.tokens.line(self.at),
            }),
            (None, i64::MAX) => FetchCount::All,
            (None, number) => FetchCount::Number(number),
        };
        let target = match moves {
            true => None,
            false => Some(self.row_target(node.node("target"))?),
        };
        self.skip_to(&[";"])?;
        Ok(StatementKind::Fetch {
            cursor,
            direction,
            count,
            target,
            offset,
        })
    }

    pub(super) fn close(&mut self, node: Json) -> Result<StatementKind, Failure> {
        let offset = self.offset();
        self.take("close")?;
        self.skip_to(&[";"])?;
        let cursor = self.target(node.number("curvar"))?.variable;
        self.is_dynamic |= !self.has_query(cursor);
        Ok(StatementKind::Close { cursor, offset })
    }
}
