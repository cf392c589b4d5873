//! What kind of statement a statement is, by its words alone.
//!
//! Relies on: `parse`.  Promises: what is called [`Kind::Query`] changes rows only by functions that it calls.
//! Does not: look at names or types; a statement that Quintet cannot plan has a kind, too. For those who send
//! statements on to a server that can (`proxy`).

use crate::parse::Parsed;
use pg_query::NodeEnum;
use pg_query::protobuf::{SelectStmt, WithClause};

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Nothing.
    Empty,
    /// CALL.
    Call,
    /// SELECT, VALUES, TABLE, EXPLAIN, COPY … TO STDOUT.
    Query,
    /// INSERT, UPDATE, DELETE, MERGE, SELECT … FOR UPDATE, EXPLAIN ANALYZE of these, DO, and queries that
    /// contain one.
    Change,
    /// COPY … FROM STDIN.
    CopyIn,
    /// BEGIN, COMMIT, SAVEPOINT and their kin, SET TRANSACTION.
    Transaction,
    /// SET, RESET, DISCARD: what a session keeps for itself.
    Setting,
    /// SHOW.
    Show,
    /// PREPARE, EXECUTE, DEALLOCATE, cursors, LISTEN and whatever else leaves something in a session.
    Session,
    /// CREATE, ALTER, DROP, GRANT, VACUUM: what is done to a server, not to rows.
    Server,
}

impl Parsed {
    /// See [`Kind`].
    pub fn kind(&self) -> Kind {
        match self.node() {
            None if self.is_empty() => Kind::Empty,
            None => Kind::Query,
            Some(node) => kind(node),
        }
    }

    /// True of what PostgreSQL keeps as it is written until it is carried out, without a look at what it names: CREATE and
    /// its like, and COPY; not of a query that a table is made of.
    pub fn is_looked_at_late(&self) -> bool {
        match self.node() {
            Some(NodeEnum::CreateTableAsStmt(_)) | None => false,
            Some(NodeEnum::CopyStmt(_)) => true,
            Some(node) => kind(node) == Kind::Server,
        }
    }
}

fn kind(node: &NodeEnum) -> Kind {
    match node {
        NodeEnum::CallStmt(_) => Kind::Call,
        NodeEnum::SelectStmt(select) if changes(select) => Kind::Change,
        NodeEnum::SelectStmt(_) => Kind::Query,
        NodeEnum::InsertStmt(_)
        | NodeEnum::UpdateStmt(_)
        | NodeEnum::DeleteStmt(_)
        | NodeEnum::MergeStmt(_)
        | NodeEnum::DoStmt(_) => Kind::Change,
        NodeEnum::ExplainStmt(explain) => {
            let inner = explain.query.as_ref().and_then(|query| query.node.as_ref());
            match inner.map(kind) {
                Some(Kind::Query) | None => Kind::Query,
                Some(_) if explain.options.is_empty() => Kind::Query,
                Some(_) => Kind::Change,
            }
        }
        NodeEnum::CopyStmt(copy) if copy.filename.is_empty() && !copy.is_program => {
            match copy.is_from {
                true => Kind::CopyIn,
                false => Kind::Query,
            }
        }
        NodeEnum::TransactionStmt(_) => Kind::Transaction,
        // SET TRANSACTION says something of the transaction; SET SESSION CHARACTERISTICS of the session.
        NodeEnum::VariableSetStmt(set) if set.name == "TRANSACTION" => Kind::Transaction,
        NodeEnum::VariableSetStmt(_) | NodeEnum::DiscardStmt(_) => Kind::Setting,
        NodeEnum::VariableShowStmt(_) => Kind::Show,
        NodeEnum::PrepareStmt(_)
        | NodeEnum::ExecuteStmt(_)
        | NodeEnum::DeallocateStmt(_)
        | NodeEnum::DeclareCursorStmt(_)
        | NodeEnum::FetchStmt(_)
        | NodeEnum::ClosePortalStmt(_)
        | NodeEnum::ListenStmt(_)
        | NodeEnum::UnlistenStmt(_)
        | NodeEnum::NotifyStmt(_)
        | NodeEnum::LockStmt(_) => Kind::Session,
        _ => Kind::Server,
    }
}

/// True for a query that locks rows, makes a table, or has a change among its parts.
fn changes(select: &SelectStmt) -> bool {
    let sides = [&select.larg, &select.rarg];
    !select.locking_clause.is_empty()
        || select.into_clause.is_some()
        || select.with_clause.as_ref().is_some_and(with_changes)
        || sides.into_iter().flatten().any(|side| changes(side))
        || below(select)
}

/// WITH at the top is where PostgreSQL allows changes.
fn with_changes(with: &WithClause) -> bool {
    with.ctes.iter().any(|cte| match &cte.node {
        Some(NodeEnum::CommonTableExpr(cte)) => {
            let query = cte.ctequery.as_ref().and_then(|query| query.node.as_ref());
            query.is_some_and(|query| kind(query) == Kind::Change)
        }
        _ => false,
    })
}

/// Subqueries in FROM may lock rows.
fn below(select: &SelectStmt) -> bool {
    select
        .from_clause
        .iter()
        .any(|item| locks(item.node.as_ref()))
}

fn locks(item: Option<&NodeEnum>) -> bool {
    match item {
        Some(NodeEnum::RangeSubselect(sub)) => {
            let query = sub.subquery.as_ref().and_then(|query| query.node.as_ref());
            query.is_some_and(|query| kind(query) == Kind::Change)
        }
        Some(NodeEnum::JoinExpr(join)) => [&join.larg, &join.rarg]
            .into_iter()
            .flatten()
            .any(|side| locks(side.node.as_ref())),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn a_statement_has_the_kind_that_its_words_say() {
        let cases = [
            ("call p(1)", Kind::Call),
            ("select 1", Kind::Query),
            ("values (1)", Kind::Query),
            ("table t", Kind::Query),
            ("select 1 union all select a from t", Kind::Query),
            ("select a from t for update", Kind::Change),
            ("select * from (select a from t for share) x", Kind::Change),
            (
                "select * from a join (select a from t for share) x on true",
                Kind::Change,
            ),
            (
                "select 1 union all (select a from t for update)",
                Kind::Change,
            ),
            ("select a into n from t", Kind::Change),
            (
                "with x as (delete from t returning *) select * from x",
                Kind::Change,
            ),
            ("with x as (select 1) select * from x", Kind::Query),
            ("insert into t values (1)", Kind::Change),
            ("update t set a = 1", Kind::Change),
            ("delete from t", Kind::Change),
            (
                "merge into t using s on a = b when matched then delete",
                Kind::Change,
            ),
            ("do $$begin null; end$$", Kind::Change),
            ("explain select 1", Kind::Query),
            ("explain delete from t", Kind::Query),
            ("explain (analyze) delete from t", Kind::Change),
            ("explain analyze select 1", Kind::Query),
            ("copy t from stdin", Kind::CopyIn),
            ("copy t to stdout", Kind::Query),
            ("copy t to '/tmp/x'", Kind::Server),
            ("begin", Kind::Transaction),
            ("savepoint a", Kind::Transaction),
            (
                "set transaction isolation level serializable",
                Kind::Transaction,
            ),
            (
                "set session characteristics as transaction read only",
                Kind::Setting,
            ),
            ("set a.b = 1", Kind::Setting),
            ("discard all", Kind::Setting),
            ("show all", Kind::Show),
            ("prepare x as select 1", Kind::Session),
            ("listen x", Kind::Session),
            ("lock table t", Kind::Session),
            ("create table t (a int)", Kind::Server),
            ("vacuum", Kind::Server),
        ];
        for (text, expected) in cases {
            let parsed = parse(text).unwrap();
            assert_eq!(parsed[0].kind(), expected, "{text}");
        }
    }
}
