//! Making a server a replica, taking it over from an earlier start, and letting it go.
//!
//! Relies on: a superuser to connect as.  Promises: when [`set_up`] returns, no session of an earlier start is there or can come, so
//! what is reported of prepared and applied transactions does not change by itself.  Does not: decide what becomes of them.
//!
//! ```text
//!   check settings ─► schema, publication ─► slot ─► raise the epoch ─► end earlier sessions ─► report
//! ```
//!
//! | made | what for |
//! |---|---|
//! | schema `quintet` | |
//! | `quintet.front (name, epoch)` | which start of a front end the replica belongs to |
//! | `quintet.applied (gid)` | write sets of elsewhere that are here |
//! | `quintet.horizon (name, replica, position)` | up to where the logs of replicas are dealt with, so that marks could go |
//! | `quintet.calls (token, number, answer)` | the last call of each client that wants to ask; part of the data |
//! | publication and slot `quintet_<name>` | the log as a stream |

use crate::connection::{Connection, Row};
use crate::error::{Error, Problem};
use crate::front::{Front, Gid};
use crate::horizon;
use crate::position::WalPosition;
use crate::runner::literal;
use crate::server::{Server, Settings};
use std::time::Duration;

/// The oldest server whose stream tells prepared transactions (pgoutput's protocol version 3).
const VERSION_MIN: u32 = 150_000;

/// How long a session of an earlier start may take to end.
const FENCE_MS: u64 = 10_000;

/// How long the slot may take: it waits for the end of all transactions that are open when it is made.
const SLOT_TIMEOUT: &str = "60s";

/// A set-up waits for another one of the same server no longer than this.
const LOCK_TIMEOUT: &str = "60s";

/// "quin" as a number: the lock that set-ups of a database take.
const LOCK: u32 = 0x7175_696e;

const SCHEMA: &str = "\
    CREATE SCHEMA IF NOT EXISTS quintet; \
    CREATE TABLE IF NOT EXISTS quintet.front (name text PRIMARY KEY, epoch bigint NOT NULL); \
    CREATE TABLE IF NOT EXISTS quintet.applied (gid text PRIMARY KEY); \
    CREATE TABLE IF NOT EXISTS quintet.horizon (name text, replica bigint, position pg_lsn NOT NULL, PRIMARY KEY (name, replica)); \
    CREATE TABLE IF NOT EXISTS quintet.calls (token text PRIMARY KEY, number bigint NOT NULL, answer bytea NOT NULL)";

/// What a replica is when a start of the front end has taken it over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The front end at its new epoch here. Replicas may differ: each fences by its own.
    pub front: Front,
    /// Attempts that are prepared and not decided, of all earlier starts. Their tags come with the stream.
    pub prepared: Vec<Gid>,
    /// Prepared transactions of others. Nobody here decides them, and their locks stay.
    pub foreign: Vec<Gid>,
    /// Write sets of elsewhere that are here and were not pruned.
    pub applied: Vec<Gid>,
    /// By number of replica: up to where its log was dealt with when marks were last pruned here.
    pub horizons: Vec<(u32, WalPosition)>,
    /// The end of the log: when the stream has told all before it, it has told all that happened before the report.
    pub position: WalPosition,
    /// Equal for two addresses of one server.
    pub system_identifier: String,
    /// Such as 150018.
    pub server_version: u32,
    /// Whether the slot had to be made; then nothing that was written here before comes with the stream.
    pub slot: Slot,
    /// What works otherwise than one may think.
    pub warnings: Vec<Problem>,
}

/// Where the slot comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Slot {
    /// It was there.
    Found,
    /// It was made.
    Made,
}

/// Makes a server a replica of the front end `name`, at a new epoch, and tells what it finds.
///
/// # Errors
/// [`Error::Configuration`] with everything that has to be changed; [`Error::PreparedBeforeSlot`]; those of the connection.
pub async fn set_up(server: &Server, name: &str, timeout: Duration) -> Result<Report, Error> {
    let front = Front::new(name, 0)?;
    let mut connection = administrator(server, &front, timeout).await?;
    let server_version = check(&mut connection, &front).await?;
    connection.simple(SCHEMA).await?;
    let slot = make_slot(&mut connection, &front).await?;
    let name = front.name();
    let rows = connection
        .simple(&format!(
            "INSERT INTO quintet.front AS f (name, epoch) VALUES ('{name}', 1) \
             ON CONFLICT (name) DO UPDATE SET epoch = f.epoch + 1 RETURNING epoch"
        ))
        .await?;
    let front = front.at_epoch(number(&mut connection, &rows)?);
    fence(&mut connection, &front).await?;
    let prefix = front.gid_prefix();
    let mut prepared = Vec::new();
    let mut foreign = Vec::new();
    for gid in prepared_here(&mut connection).await? {
        if gid.as_str().starts_with(&prefix) {
            prepared.push(gid);
        } else {
            foreign.push(gid);
        }
    }
    let applied = connection.simple("SELECT gid FROM quintet.applied").await?;
    let horizons = horizon::read(&mut connection, &front).await?;
    let position = connection
        .simple("SELECT pg_current_wal_insert_lsn()")
        .await?;
    let position = text(&mut connection, &position)?;
    let position = WalPosition::parse(&position)
        .ok_or_else(|| connection.protocol(format!("a position {position}")))?;
    // Only what is flushed is streamed, and a commit that waits for its flush takes all before it along.
    connection
        .simple(&format!(
            "UPDATE quintet.front SET epoch = epoch WHERE name = '{name}'"
        ))
        .await?;
    let identifier = connection
        .simple("SELECT system_identifier FROM pg_control_system()")
        .await?;
    let report = Report {
        front,
        prepared,
        foreign,
        applied: applied.iter().filter_map(gid).collect(),
        horizons,
        position,
        system_identifier: text(&mut connection, &identifier)?,
        server_version,
        slot,
        warnings: warnings(&mut connection).await?,
    };
    connection.close().await;
    Ok(report)
}

/// Takes away what [`set_up`] made. The data stay.
///
/// # Errors
/// [`Error::Configuration`] if attempts are prepared that nobody has decided; those of the connection.
pub async fn remove(server: &Server, name: &str, timeout: Duration) -> Result<(), Error> {
    let front = Front::new(name, 0)?;
    let mut connection = administrator(server, &front, timeout).await?;
    let known = connection
        .simple("SELECT to_regclass('quintet.front') IS NOT NULL")
        .await?;
    if text(&mut connection, &known)? == "t" {
        connection
            .simple(&format!("DELETE FROM quintet.front WHERE name = '{name}'"))
            .await?;
    }
    fence(&mut connection, &front).await?;
    let prefix = front.gid_prefix();
    let mut prepared = prepared_here(&mut connection).await?;
    prepared.retain(|gid| gid.as_str().starts_with(&prefix));
    if !prepared.is_empty() {
        let texts: Vec<&str> = prepared.iter().map(Gid::as_str).collect();
        return Err(Error::Configuration(vec![Problem {
            subject: "pg_prepared_xacts".to_owned(),
            found: texts.join(", "),
            needed: "none: start the front end once more, which decides them".to_owned(),
        }]));
    }
    let slot = front.slot();
    connection
        .simple(&format!(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots \
             WHERE slot_name = '{slot}' AND database = current_database()"
        ))
        .await?;
    connection
        .simple(&format!("DROP PUBLICATION IF EXISTS {slot}"))
        .await?;
    let others = "SELECT to_regclass('quintet.front') IS NOT NULL";
    let known = connection.simple(others).await?;
    if text(&mut connection, &known)? == "t" {
        let left = connection
            .simple("SELECT count(*) FROM quintet.front")
            .await?;
        if text(&mut connection, &left)? == "0" {
            connection.simple("DROP SCHEMA quintet CASCADE").await?;
        }
    }
    connection.close().await;
    Ok(())
}

/// A session that is none of the front end's own, so that fencing does not end it.
async fn administrator(
    server: &Server,
    front: &Front,
    timeout: Duration,
) -> Result<Connection, Error> {
    let mut settings = Settings::new(&format!("quintet set-up {}", front.name()))
        .with("lock_timeout", LOCK_TIMEOUT)
        .with("client_min_messages", "error");
    settings.connect_timeout = timeout;
    let mut connection = server.connect(&settings).await?;
    // Two set-ups at once would end each other's sessions and see half of what the other makes.
    connection
        .simple(&format!("SELECT pg_advisory_lock({LOCK})"))
        .await?;
    Ok(connection)
}

/// Everything that has to be otherwise, or the server's version.
async fn check(connection: &mut Connection, front: &Front) -> Result<u32, Error> {
    let slot = front.slot();
    let rows = connection
        .simple(&format!(
            "SELECT current_setting('server_version_num'), current_setting('wal_level'), \
             current_setting('max_prepared_transactions'), current_setting('max_replication_slots'), \
             current_setting('max_wal_senders'), (SELECT rolsuper FROM pg_roles WHERE rolname = current_user), \
             pg_is_in_recovery(), (SELECT count(*) FROM pg_replication_slots WHERE slot_name <> '{slot}')"
        ))
        .await?;
    let row: Option<Vec<String>> = rows.first().and_then(|row| row.iter().cloned().collect());
    let Some(
        [
            version,
            wal_level,
            prepared,
            slots,
            senders,
            superuser,
            recovery,
            taken,
        ],
    ) = row.as_deref()
    else {
        return Err(connection.protocol("settings that are missing".to_owned()));
    };
    let count = |text: &String| text.parse::<u32>().unwrap_or(0);
    let mut problems = Vec::new();
    let mut need = |fits: bool, subject: &str, found: &str, needed: &str| {
        if !fits {
            problems.push(Problem {
                subject: subject.to_owned(),
                found: found.to_owned(),
                needed: needed.to_owned(),
            });
        }
    };
    need(
        count(version) >= VERSION_MIN,
        "server_version_num",
        version,
        "150000 or later",
    );
    need(
        recovery == "f",
        "pg_is_in_recovery()",
        "true",
        "false: a server that is no standby",
    );
    need(
        superuser == "t",
        "the user",
        "an ordinary one",
        "a superuser",
    );
    need(
        wal_level == "logical",
        "wal_level",
        wal_level,
        "logical, which takes a restart",
    );
    need(
        count(prepared) > 0,
        "max_prepared_transactions",
        prepared,
        "at least the number of calls under way, such as 100, which takes a restart",
    );
    need(
        count(slots) > count(taken),
        "max_replication_slots",
        slots,
        &format!("at least {}, which takes a restart", count(taken) + 1),
    );
    need(
        count(senders) > 0,
        "max_wal_senders",
        senders,
        "at least 1, which takes a restart",
    );
    if problems.is_empty() {
        Ok(count(version))
    } else {
        Err(Error::Configuration(problems))
    }
}

/// The publication before the slot: the stream asks for the publication as it was where the slot begins.
async fn make_slot(connection: &mut Connection, front: &Front) -> Result<Slot, Error> {
    let slot = front.slot();
    let there = connection
        .simple(&format!(
            "SELECT puballtables FROM pg_publication WHERE pubname = '{slot}'"
        ))
        .await?;
    if there.is_empty() {
        connection
            .simple(&format!("CREATE PUBLICATION {slot} FOR ALL TABLES"))
            .await?;
    }
    let rows = connection
        .simple(&format!(
            "SELECT coalesce(plugin, ''), coalesce(database, ''), two_phase, \
             coalesce(wal_status, ''), database = current_database() \
             FROM pg_replication_slots WHERE slot_name = '{slot}'"
        ))
        .await?;
    if let Some(row) = rows.first() {
        let row: Vec<&str> = row
            .iter()
            .map(|value| value.as_deref().unwrap_or(""))
            .collect();
        return match row[..] {
            ["pgoutput", _, "t", status, "t"] if status != "lost" => Ok(Slot::Found),
            _ => Err(Error::Configuration(vec![Problem {
                subject: format!("the replication slot {slot}"),
                found: format!("of {}", row.join(" ")),
                needed: "one of pgoutput with two_phase in this database that has all its log: drop it, and compare the \
                         replicas before the front end starts"
                    .to_owned(),
            }])),
        };
    }
    // In all databases: the slot waits for every transaction of the server.
    let prepared = connection
        .simple("SELECT gid FROM pg_prepared_xacts")
        .await?;
    if !prepared.is_empty() {
        let gids = prepared.into_iter().flatten().flatten().collect();
        return Err(Error::PreparedBeforeSlot(gids));
    }
    connection
        .simple(&format!("SET statement_timeout = '{SLOT_TIMEOUT}'"))
        .await?;
    connection
        .simple(&format!(
            "SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput', false, true)"
        ))
        .await?;
    connection.simple("RESET statement_timeout").await?;
    Ok(Slot::Made)
}

/// Ends all sessions of the front end, and waits until they are gone.
async fn fence(connection: &mut Connection, front: &Front) -> Result<(), Error> {
    let application = literal(&front.application());
    let sessions = format!("FROM pg_stat_activity WHERE application_name = {application}");
    connection
        .simple(&format!(
            "SELECT pg_terminate_backend(pid, {FENCE_MS}) {sessions}"
        ))
        .await?;
    let left = connection.simple(&format!("SELECT pid {sessions}")).await?;
    if left.is_empty() {
        return Ok(());
    }
    let pids: Vec<String> = left.into_iter().flatten().flatten().collect();
    Err(Error::Configuration(vec![Problem {
        subject: "sessions of an earlier start of the front end".to_owned(),
        found: format!("processes {}", pids.join(", ")),
        needed: "none: they were told to end and did not".to_owned(),
    }]))
}

async fn prepared_here(connection: &mut Connection) -> Result<Vec<Gid>, Error> {
    let rows = connection
        .simple(
            "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() ORDER BY prepared, gid",
        )
        .await?;
    Ok(rows.iter().filter_map(gid).collect())
}

/// What works otherwise than one may think.
async fn warnings(connection: &mut Connection) -> Result<Vec<Problem>, Error> {
    const NOT_OURS: &str = "n.nspname NOT IN ('pg_catalog', 'information_schema', 'quintet') \
         AND n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%'";
    const ASKED: [(&str, &str, &str); 4] = [
        (
            "without replica identity: rows can be inserted, and PostgreSQL refuses to change or remove them",
            "a primary key, or REPLICA IDENTITY USING INDEX or FULL, if that is wanted",
            "c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND (c.relreplident = 'n' OR c.relreplident = 'd' \
             AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary))",
        ),
        (
            "unlogged: what is written there stays on one replica",
            "a logged table, if it is part of the data",
            "c.relkind = 'r' AND c.relpersistence = 'u'",
        ),
        (
            "a sequence: it moves on only at the replica where nextval is called",
            "values that replicas cannot give twice, such as ranges of their own",
            "c.relkind = 'S'",
        ),
        (
            "with triggers that fire when a write set is applied, too",
            "triggers enabled as usual (ORIGIN)",
            "EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgenabled IN ('A', 'R'))",
        ),
    ];
    let mut warnings = Vec::new();
    for (found, needed, condition) in ASKED {
        let rows = connection
            .simple(&format!(
                "SELECT c.oid::regclass FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                 WHERE {NOT_OURS} AND {condition} ORDER BY 1"
            ))
            .await?;
        warnings.extend(rows.into_iter().flatten().flatten().map(|subject| Problem {
            subject,
            found: found.to_owned(),
            needed: needed.to_owned(),
        }));
    }
    Ok(warnings)
}

fn gid(row: &Row) -> Option<Gid> {
    Some(Gid::of(row.first()?.as_deref()?))
}

/// The first value of the first row.
fn text(connection: &mut Connection, rows: &[Row]) -> Result<String, Error> {
    match rows.first().and_then(|row| row.first()) {
        Some(Some(text)) => Ok(text.clone()),
        _ => Err(connection.protocol("an answer without a value".to_owned())),
    }
}

fn number(connection: &mut Connection, rows: &[Row]) -> Result<u64, Error> {
    let text = text(connection, rows)?;
    text.parse()
        .map_err(|_| connection.protocol(format!("\"{text}\" where a number belongs")))
}
