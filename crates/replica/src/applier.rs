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
//! What the statements are: `batches`.

use crate::apply_sql::Fixed;
use crate::batches::batches;
use crate::connection::Connection;
use crate::connection::Status;
use crate::error::Error;
use crate::front::{APPLIED, Front, Gid, PREFIX};
use crate::pipeline::{Keep, Pipeline};
use crate::runner::sleep;
use crate::server::{Server, Settings};
use crate::session;
use crate::statements::Statements;
use crate::write_set::{Relation, WriteSet};
use quintet_base::{Durability, SqlState};
use std::sync::Arc;
use std::time::Duration;

/// Later than a runner (`runner::DEADLOCK_TIMEOUT`), which is the one to give up.
const DEADLOCK_TIMEOUT: &str = "10s";

/// All statements go by the key, for any values, and whatever the server thinks of the size of a table that it has not looked
/// at since it was loaded. What has no key still gets a scan of the table.
const BY_KEY: [(&str, &str); 5] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("jit", "off"),
];

/// The mark comes first: it is what lets the reader of this server's log pass the rows over. A function in FROM is
/// called before the row is made.
const MARK: &str = "INSERT INTO quintet.applied (gid) SELECT $1::text \
     FROM set_config('synchronous_commit', $3::text, true), \
     pg_logical_emit_message(true, 'quintet', $2::text)";

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

/// What becomes of the transaction when all is done in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// It is committed.
    Commit,
    /// It stays open.
    Open,
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
        let settings = BY_KEY.iter().fold(settings, |settings, (name, value)| {
            settings.with(name, value)
        });
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
        self.apply_as(gid, write_set, durability, service, End::Commit)
            .await
    }

    /// The same, and the transaction stays open until [`Applier::commit`]: rows are locked, and nobody sees them. After
    /// [`Applied::Already`] and after an error none is open.
    ///
    /// # Errors
    /// As [`Applier::apply`].
    pub async fn apply_open(
        &mut self,
        gid: &Gid,
        write_set: &WriteSet,
        durability: Durability,
        service: Duration,
    ) -> Result<Applied, Error> {
        let applied = self
            .apply_as(gid, write_set, durability, service, End::Open)
            .await;
        let stays = matches!(applied, Ok(Applied::Now { .. }));
        let lost = matches!(&applied, Err(error) if error.is_lost());
        if !stays && !lost {
            self.roll_back().await?;
        }
        applied
    }

    async fn roll_back(&mut self) -> Result<(), Error> {
        match self.connection.status() {
            Status::Idle => Ok(()),
            _ => self.connection.simple("ROLLBACK").await.map(drop),
        }
    }

    /// Commits what [`Applier::apply_open`] has left open.
    ///
    /// # Errors
    /// Those of the connection and the server.
    pub async fn commit(&mut self) -> Result<(), Error> {
        self.connection.simple("COMMIT").await.map(drop)
    }

    async fn apply_as(
        &mut self,
        gid: &Gid,
        write_set: &WriteSet,
        durability: Durability,
        service: Duration,
        end: End,
    ) -> Result<Applied, Error> {
        match self.attempt(gid, write_set, durability, service, end).await {
            Err(Error::Server(error)) if is_stale(&error.state, &error.message) => {
                self.roll_back().await?;
                self.statements.clear();
                self.connection.simple("DEALLOCATE ALL").await?;
            }
            Err(Error::Server(error)) if error.state == SqlState(*b"428C9") => {
                self.roll_back().await?;
                self.fixed = Fixed::of(self.connection.simple(Fixed::QUERY).await?);
            }
            outcome => return outcome,
        }
        self.attempt(gid, write_set, durability, service, end).await
    }

    async fn attempt(
        &mut self,
        gid: &Gid,
        write_set: &WriteSet,
        durability: Durability,
        service: Duration,
        end: End,
    ) -> Result<Applied, Error> {
        let mark = format!("{APPLIED}{gid}");
        let sync = match durability {
            Durability::Sync => "on",
            Durability::Async | Durability::None => "off",
        };
        let mut pipeline = Pipeline::new(&mut self.connection, &mut self.statements)?;
        let mut steps: Vec<Option<(&Arc<Relation>, u64)>> = vec![None];
        if end == End::Open {
            pipeline.plain("BEGIN", Keep::Prepared)?;
            steps.push(None);
        }
        let values = [gid.as_str(), &mark, sync].map(|value| Some(value.as_bytes()));
        pipeline.bound(MARK, values.into_iter())?;
        if !service.is_zero() {
            sleep(&mut pipeline, service)?;
            steps.push(None);
        }
        for batch in batches(write_set, &self.fixed) {
            let keep = if batch.rows.is_some() {
                Keep::Prepared
            } else {
                Keep::Once
            };
            let apply = &batch.apply;
            pipeline.values(&apply.sql, keep, &apply.types, &apply.values)?;
            steps.push(batch.rows);
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
        for (tag, step) in outcome.tags.iter().zip(steps) {
            let Some((relation, rows)) = step else {
                continue;
            };
            let lacking = rows.saturating_sub(touched(tag).unwrap_or(rows));
            if lacking > 0 {
                missing += lacking;
                first_missing
                    .get_or_insert_with(|| format!("{}.{}", relation.schema, relation.name));
            }
        }
        Ok(Applied::Now {
            missing,
            first_missing,
        })
    }

    /// Says goodbye.
    pub async fn close(self) {
        self.connection.close().await;
    }
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
