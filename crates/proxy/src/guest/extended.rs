//! The extended protocol: statements prepared once, bound and run many times.
//!
//! Relies on: a replica describes a statement when it is prepared; equal texts are described once.  Promises: names
//! are this client's own, at no replica.  Does not: make one transaction of what comes before a Sync: each Execute is
//! its own, unless BEGIN was said (docs/front.md).

use super::{Guest, Told};
use crate::knowledge::Call;
use crate::switchboard::Work;
use crate::text::{Description, bound, split_rows};
use bytes::Bytes;
use quintet_base::limits::PREPARED_STATEMENTS_MAX;
use quintet_base::{SqlError, SqlState, SqlType};
use quintet_front::Access;
use quintet_replica::CallText;
use quintet_server::protocol::backend::{
    BIND_COMPLETE, CLOSE_COMPLETE, EMPTY_QUERY, PARSE_COMPLETE, PORTAL_SUSPENDED,
};
use quintet_server::protocol::frontend::{Message, Target};
use quintet_sql::{Kind, Parsed, parse};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::oneshot;

/// A statement.
struct Statement {
    parsed: Parsed,
    text: String,
    types: Vec<u32>,
    call: Option<Call>,
    description: Arc<Description>,
}

/// A statement with its parameters, and what is left of its answer.
struct Portal {
    statement: Arc<Statement>,
    text: CallText,
    rest: Option<Bytes>,
    ran: bool,
}

/// What a client has prepared and bound.
#[derive(Default)]
pub(super) struct Prepared {
    statements: HashMap<String, Arc<Statement>>,
    portals: HashMap<String, Portal>,
}

impl Prepared {
    pub fn clear(&mut self) {
        self.statements.clear();
        self.portals.clear();
    }

    fn statement(&self, name: &str) -> Result<&Arc<Statement>, Told> {
        self.statements.get(name).ok_or_else(|| {
            missing(
                "26000",
                format!("prepared statement \"{name}\" does not exist"),
            )
        })
    }

    fn portal(&mut self, name: &str) -> Result<&mut Portal, Told> {
        self.portals
            .get_mut(name)
            .ok_or_else(|| missing("34000", format!("portal \"{name}\" does not exist")))
    }
}

fn missing(state: &str, message: String) -> Told {
    let mut code = [0; 5];
    code.copy_from_slice(state.as_bytes());
    SqlError::new(SqlState(code), message).into()
}

impl Guest {
    /// One message of the extended protocol, but Sync.
    pub(super) async fn extended(&mut self, message: Message<'_>) -> Result<(), Told> {
        match message {
            Message::Parse { name, sql, types } => {
                let types: Vec<u32> = types.iter().collect();
                self.parse(name, sql, types).await?;
                self.admitted.out.extend_from_slice(PARSE_COMPLETE);
            }
            Message::Bind(bind) => {
                let statement = Arc::clone(self.prepared.statement(bind.statement)?);
                let wanted = statement.description.params.len();
                if bind.count() != wanted {
                    return Err(SqlError::new(
                        SqlState::PROTOCOL_VIOLATION,
                        format!(
                            "bind message supplies {} parameters, but prepared statement \"{}\" requires {wanted}",
                            bind.count(),
                            bind.statement
                        ),
                    )
                    .into());
                }
                let portal = Portal {
                    text: bound(&statement.text, &statement.types, &bind),
                    statement,
                    rest: None,
                    ran: false,
                };
                self.prepared.portals.insert(bind.portal.to_owned(), portal);
                self.admitted.out.extend_from_slice(BIND_COMPLETE);
            }
            Message::Describe(Target::Statement, name) => {
                let description = &self.prepared.statement(name)?.description;
                description.write_params(&mut self.admitted.out);
                self.admitted.out.extend_from_slice(&description.columns);
            }
            Message::Describe(Target::Portal, name) => {
                let portal = self.prepared.portal(name)?;
                let formats = match &portal.text {
                    CallText::Extended { result_formats, .. } => result_formats.as_slice(),
                    CallText::Simple(_) => &[],
                };
                let columns = portal.statement.description.columns_in(formats);
                self.admitted.out.extend_from_slice(&columns);
            }
            Message::Execute { portal, max_rows } => self.execute(portal, max_rows).await?,
            Message::Close(target, name) => {
                match target {
                    Target::Statement => drop(self.prepared.statements.remove(name)),
                    Target::Portal => drop(self.prepared.portals.remove(name)),
                }
                self.admitted.out.extend_from_slice(CLOSE_COMPLETE);
            }
            _ => unreachable!("the caller sends only these here"),
        }
        Ok(())
    }

    async fn parse(&mut self, name: &str, sql: &str, types: Vec<u32>) -> Result<(), Told> {
        if !name.is_empty() && self.prepared.statements.contains_key(name) {
            return Err(missing(
                "42P05",
                format!("prepared statement \"{name}\" already exists"),
            ));
        }
        if self.prepared.statements.len() >= PREPARED_STATEMENTS_MAX {
            return Err(SqlError::new(
                SqlState(*b"53400"),
                format!("more than {PREPARED_STATEMENTS_MAX} prepared statements in a session"),
            )
            .into());
        }
        let mut parsed = parse(sql)?;
        let parsed = match parsed.len() {
            0 => Parsed::empty(),
            1 => parsed.remove(0),
            _ => {
                return Err(SqlError::new(
                    SqlState::SYNTAX_ERROR,
                    "cannot insert multiple commands into a prepared statement",
                )
                .into());
            }
        };
        let here = matches!(
            parsed.kind(),
            Kind::Empty | Kind::Transaction | Kind::Setting
        );
        let asks = matches!(
            parsed.kind(),
            Kind::Call | Kind::Query | Kind::Change | Kind::Show
        );
        let description = match asks && !here {
            true => self.describe(sql, &types).await?,
            false => Arc::new(Description::nothing()),
        };
        let known: Vec<SqlType> = types
            .iter()
            .map(|oid| SqlType::from_oid(*oid).unwrap_or(SqlType::Unknown))
            .collect();
        let statement = Statement {
            call: self.switchboard.knowledge().call(&parsed, &known),
            parsed,
            text: sql.to_owned(),
            types,
            description,
        };
        let statement = Arc::new(statement);
        self.prepared.statements.insert(name.to_owned(), statement);
        Ok(())
    }

    /// What a statement takes and gives. Asked of a replica once for equal texts.
    async fn describe(&mut self, sql: &str, types: &[u32]) -> Result<Arc<Description>, Told> {
        if let Some(known) = self.switchboard.described(sql, types) {
            return Ok(known);
        }
        let (tell, described) = oneshot::channel();
        let (reply, _ended) = oneshot::channel();
        let work = Work::Describe {
            sql: sql.to_owned(),
            types: types.to_vec(),
            described: tell,
        };
        let mut request = self.request(work, reply);
        request.access = Access::ReadOnly;
        let call = self.switchboard.submit(request).await?;
        let description = self.outcome(call, described).await?;
        Ok(self.switchboard.learn(sql, types, description))
    }

    async fn execute(&mut self, name: &str, max_rows: usize) -> Result<(), Told> {
        let portal = self.prepared.portal(name)?;
        let answer = if let Some(rest) = portal.rest.take() {
            rest
        } else if portal.ran {
            return Err(missing(
                "55000",
                format!("portal \"{name}\" cannot be run anymore"),
            ));
        } else {
            portal.ran = true;
            let (statement, text) = (Arc::clone(&portal.statement), portal.text.clone());
            if statement.parsed.is_empty() {
                self.admitted.out.extend_from_slice(EMPTY_QUERY);
                return Ok(());
            }
            let call = statement.call.as_ref();
            self.statement(&statement.parsed, call, &text).await?.rows
        };
        if max_rows == 0 {
            self.admitted.out.extend_from_slice(&answer);
            return Ok(());
        }
        let (now, rest) = split_rows(&answer, max_rows);
        self.admitted.out.extend_from_slice(&now);
        if rest.is_some() {
            self.admitted.out.extend_from_slice(PORTAL_SUSPENDED);
            if let Ok(portal) = self.prepared.portal(name) {
                portal.rest = rest;
            }
        }
        Ok(())
    }

    /// Sync.
    pub(super) async fn end_pipeline(&mut self) -> Result<(), Told> {
        if !self.transaction.is_open() {
            self.prepared.portals.clear();
        }
        self.ready();
        Ok(())
    }
}
