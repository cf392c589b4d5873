//! A session that applies write sets.
//!
//! Relies on: `quintet.applied` and `session_replication_role`.  Promises: a write set is applied once, as one transaction, in one round
//! trip; rows that were not found are counted.  Does not: order write sets, or wait for others: who applies two that touch
//! one row side by side gets them in any order.
//!
//! ```text
//!   mark and row of quintet.applied · [sleep] · changes, table by table · Sync     (one transaction, committed by Sync)
//! ```
//!
//! Changes of different tables are brought together: without triggers and foreign keys they know nothing of one another, and
//! consecutive inserts become one statement.

use crate::apply_sql::{Apply, Fixed};
use crate::connection::Connection;
use crate::connection::Status;
use crate::error::Error;
use crate::front::{APPLIED, Front, Gid, PREFIX};
use crate::pipeline::{Keep, Pipeline};
use crate::runner::sleep;
use crate::server::{Server, Settings};
use crate::session;
use crate::statements::Statements;
use crate::write_set::{Change, Relation, Tuple, WriteSet};
use quintet_base::{Durability, SqlState};
use std::sync::Arc;
use std::time::Duration;

/// Later than a runner (`runner::DEADLOCK_TIMEOUT`), which is the one to give up.
const DEADLOCK_TIMEOUT: &str = "10s";

/// The mark comes first: it is what lets the reader of this server's log pass the rows over. A function in FROM is
/// called before the row is made.
const MARK: &str = "INSERT INTO quintet.applied (gid) SELECT $1::text \
     FROM set_config('synchronous_commit', $3::text, true), \
     pg_logical_emit_message(true, 'quintet', $2::text)";

/// Rows of one INSERT: few enough that there are few different statements to keep prepared.
const ROWS_MAX: usize = 16;

/// What became of a write set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Applied {
    /// It is there now.
    Now {
        /// Rows that were to be changed or removed and were not there: this replica is not what it should be.
        missing: u64,
        /// The table of the first of them.
        first_missing: Option<String>,
    },
    /// It was there before.
    Already,
}

/// A session that applies write sets at one replica.
#[derive(Debug)]
pub struct Applier {
    connection: Connection,
    statements: Statements,
    /// Asked for when an update was refused because of one.
    fixed: Fixed,
}

impl Applier {
    /// Opens a session of the front end. `settings` may bound what it waits for (`lock_timeout`).
    ///
    /// # Errors
    /// Those of the connection, and [`Error::Fenced`].
    pub async fn connect(
        server: &Server,
        front: &Front,
        settings: &Settings,
    ) -> Result<Applier, Error> {
        let settings = session::exact(settings.clone())
            .with("session_replication_role", "replica")
            .with("deadlock_timeout", DEADLOCK_TIMEOUT);
        Ok(Applier {
            connection: session::open(server, front, settings).await?,
            statements: Statements::default(),
            fixed: Fixed::default(),
        })
    }

    /// For what else is done with such a session.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// False if it has to be opened anew.
    pub fn is_usable(&self) -> bool {
        self.connection.is_usable() && self.connection.status() == Status::Idle
    }

    /// Applies what an attempt wrote elsewhere. With [`Durability::Sync`] it is durable when this returns. `service` is slept inside
    /// of the transaction, for measurements.
    ///
    /// # Errors
    /// The server's error: nothing was applied. That it is lost: it is applied or not, which asking again finds out.
    pub async fn apply(
        &mut self,
        gid: &Gid,
        write_set: &WriteSet,
        durability: Durability,
        service: Duration,
    ) -> Result<Applied, Error> {
        match self.attempt(gid, write_set, durability, service).await {
            Err(Error::Server(error)) if is_stale(&error.state, &error.message) => {
                self.statements.clear();
                self.connection.simple("DEALLOCATE ALL").await?;
            }
            Err(Error::Server(error)) if error.state == SqlState(*b"428C9") => {
                self.fixed = Fixed::of(self.connection.simple(Fixed::QUERY).await?);
            }
            outcome => return outcome,
        }
        self.attempt(gid, write_set, durability, service).await
    }

    async fn attempt(
        &mut self,
        gid: &Gid,
        write_set: &WriteSet,
        durability: Durability,
        service: Duration,
    ) -> Result<Applied, Error> {
        let mark = format!("{APPLIED}{gid}");
        let sync = match durability {
            Durability::Sync => "on",
            Durability::Async | Durability::None => "off",
        };
        let mut pipeline = Pipeline::new(&mut self.connection, &mut self.statements)?;
        let values = [gid.as_str(), &mark, sync].map(|value| Some(value.as_bytes()));
        pipeline.bound(MARK, values.into_iter())?;
        let mut steps: Vec<Option<&Arc<Relation>>> = vec![None];
        if !service.is_zero() {
            sleep(&mut pipeline, service)?;
            steps.push(None);
        }
        for (relation, apply) in statements(write_set, &self.fixed) {
            let keep = if relation.is_some() {
                Keep::Prepared
            } else {
                Keep::Once
            };
            pipeline.values(&apply.sql, keep, &apply.values)?;
            steps.push(relation);
        }
        let outcome = pipeline.run().await?;
        if let Some(error) = outcome.error {
            let ours = error.schema.as_deref() == Some(PREFIX)
                && error.table.as_deref() == Some("applied");
            if ours && error.state == SqlState(*b"23505") {
                return Ok(Applied::Already);
            }
            return Err(Error::Server(Box::new(error)));
        }
        let mut missing = 0;
        let mut first_missing = None;
        for (tag, relation) in outcome.tags.iter().zip(steps) {
            if let Some(relation) = relation.filter(|_| touched(tag) == Some(0)) {
                missing += 1;
                first_missing
                    .get_or_insert_with(|| format!("{}.{}", relation.schema, relation.name));
            }
        }
        Ok(Applied::Now {
            missing,
            first_missing,
        })
    }

    /// Forgets that these were applied: they are everywhere, and nobody will ask again.
    ///
    /// # Errors
    /// The server's, or that it is lost.
    pub async fn prune(&mut self, gids: &[Gid]) -> Result<(), Error> {
        for gids in gids.chunks(PRUNE_MAX) {
            let texts: Vec<String> = gids
                .iter()
                .map(|gid| crate::runner::literal(gid.as_str()))
                .collect();
            let list = texts.join(",");
            self.connection
                .simple(&format!(
                    "DELETE FROM quintet.applied WHERE gid IN ({list})"
                ))
                .await?;
        }
        Ok(())
    }

    /// Says goodbye.
    pub async fn close(self) {
        self.connection.close().await;
    }
}

/// Rows forgotten by one statement.
const PRUNE_MAX: usize = 1_000;

/// Statements for all changes. Those of one table stay in their order. The relation is missing where the number of rows says nothing.
fn statements<'a>(
    write_set: &'a WriteSet,
    fixed: &Fixed,
) -> Vec<(Option<&'a Arc<Relation>>, Apply<'a>)> {
    let mut applies = Vec::with_capacity(write_set.changes().len());
    for changes in by_table(write_set.changes()) {
        let mut inserts = Inserts::default();
        for change in changes {
            match change {
                Change::Insert { relation, new } if is_calls(relation) => {
                    applies.push((Some(relation), Apply::upsert(relation, new)));
                }
                Change::Insert { relation, new } => inserts.push(relation, new, &mut applies),
                Change::Update { relation, old, new } => {
                    inserts.end(&mut applies);
                    let whole = !new
                        .fields()
                        .any(|field| field == crate::write_set::Field::Unchanged);
                    let apply = if is_calls(relation) && whole {
                        Apply::upsert(relation, new)
                    } else {
                        Apply::update(relation, old.as_ref(), new, fixed)
                    };
                    applies.push((Some(relation), apply));
                }
                Change::Delete { relation, old } => {
                    inserts.end(&mut applies);
                    applies.push((Some(relation), Apply::delete(relation, old)));
                }
                Change::Truncate {
                    relations,
                    cascade,
                    restart,
                } => {
                    inserts.end(&mut applies);
                    let relations = relations.iter().map(|relation| &**relation);
                    applies.push((None, Apply::truncate(relations, *cascade, *restart)));
                }
            }
        }
        inserts.end(&mut applies);
    }
    applies
}

/// Consecutive inserts into one table.
#[derive(Default)]
struct Inserts<'a> {
    relation: Option<&'a Arc<Relation>>,
    rows: Vec<&'a Tuple>,
}

impl<'a> Inserts<'a> {
    fn push(
        &mut self,
        relation: &'a Arc<Relation>,
        row: &'a Tuple,
        applies: &mut Vec<(Option<&'a Arc<Relation>>, Apply<'a>)>,
    ) {
        if self.relation != Some(relation) || self.rows.len() == ROWS_MAX {
            self.end(applies);
        }
        self.relation = Some(relation);
        self.rows.push(row);
    }

    fn end(&mut self, applies: &mut Vec<(Option<&'a Arc<Relation>>, Apply<'a>)>) {
        if let Some(relation) = self.relation.take() {
            applies.push((Some(relation), Apply::insert(relation, &self.rows)));
            self.rows.clear();
        }
    }
}

/// Changes table by table, in the order of each table's first; all in their order if tables were emptied, which may concern others.
fn by_table(changes: &[Change]) -> Vec<Vec<&Change>> {
    let mut tables: Vec<(&Relation, Vec<&Change>)> = Vec::new();
    for change in changes {
        let relation = match change {
            Change::Insert { relation, .. }
            | Change::Update { relation, .. }
            | Change::Delete { relation, .. } => relation,
            Change::Truncate { .. } => return vec![changes.iter().collect()],
        };
        let name =
            |known: &Relation| known.name == relation.name && known.schema == relation.schema;
        // A transaction writes to few tables, and often to the one it wrote to last.
        match tables
            .iter_mut()
            .find(|(known, _)| std::ptr::eq(*known, &**relation) || name(known))
        {
            Some((_, changes)) => changes.push(change),
            None => tables.push((relation, vec![change])),
        }
    }
    tables.into_iter().map(|(_, changes)| changes).collect()
}

fn is_calls(relation: &Relation) -> bool {
    relation.schema == PREFIX && relation.name == "calls"
}

/// The rows that a command says it touched.
fn touched(tag: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(tag.strip_suffix(b"\0")?).ok()?;
    text.rsplit_once(' ')?.1.parse().ok()
}

fn is_stale(state: &SqlState, message: &str) -> bool {
    match &state.0 {
        b"26000" => true,
        b"0A000" => message.starts_with("cached plan must not change"),
        _ => false,
    }
}
