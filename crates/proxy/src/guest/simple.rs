//! The simple protocol: a text with any number of statements.
//!
//! Relies on: `run`.  Promises: statements of one text that write are one transaction, as in PostgreSQL, unless the
//! text itself says where transactions begin and end.  Does not: prepare anything.

use super::transaction::Transaction;
use super::{Close, Guest, Told};
use quintet_replica::CallText;
use quintet_server::protocol::backend;
use quintet_sql::{Kind, Parsed, parse};

impl Guest {
    /// A Query message, with its ReadyForQuery.
    pub(super) async fn query(&mut self, text: &str) -> Result<(), Close> {
        if let Err(told) = self.statements(text).await {
            self.tell(&told);
        }
        self.ready();
        Ok(())
    }

    async fn statements(&mut self, text: &str) -> Result<(), Told> {
        let statements = parse(text)?;
        if statements.is_empty() {
            self.admitted.out.extend_from_slice(backend::EMPTY_QUERY);
            return Ok(());
        }
        if !self.is_block(&statements) {
            for statement in &statements {
                self.simple(statement).await?;
            }
            return Ok(());
        }
        self.transaction = Transaction::Begun {
            read_only: self.settings.read_only,
        };
        for statement in &statements {
            if let Err(told) = self.simple(statement).await {
                self.tell(&told);
                let written = self.admitted.out.len();
                let ended = self.end(false).await;
                self.admitted.out.truncate(written);
                return ended;
            }
        }
        let written = self.admitted.out.len();
        let ended = self.end(true).await;
        self.admitted.out.truncate(written);
        ended
    }

    /// True if the statements are one transaction although nobody said so.
    fn is_block(&self, statements: &[Parsed]) -> bool {
        let kinds = || statements.iter().map(Parsed::kind);
        !self.transaction.is_open()
            && statements.len() > 1
            && kinds().any(|kind| matches!(kind, Kind::Call | Kind::Change))
            && kinds()
                .all(|kind| matches!(kind, Kind::Call | Kind::Change | Kind::Query | Kind::Show))
    }

    async fn simple(&mut self, statement: &Parsed) -> Result<(), Told> {
        let call = self.switchboard.knowledge().call(statement, &[]);
        let text = CallText::Simple(statement.text().to_owned());
        let answer = self.statement(statement, call.as_ref(), &text).await?;
        let out = &mut self.admitted.out;
        if answer.description.first() == Some(&b'T') {
            out.extend_from_slice(&answer.description);
        }
        out.extend_from_slice(&answer.rows);
        Ok(())
    }
}
