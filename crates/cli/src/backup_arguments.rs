//! The command lines of `quintet backup`, `restore`, `changes` and `dump`.
//!
//! Relies on: clap.  Promises: help that teaches.  Does not: do anything.

use clap::{ArgGroup, Args, ValueEnum};
use std::path::PathBuf;

/// See `quintet backup --help`.
pub const BACKUP_EXAMPLES: &str = "\
Examples:
  quintet backup --target postgres://me@127.0.0.1:5433/quintet --out /backups/monday
  quintet backup --data ./data --out /backups/monday

The backup is the state at one position of the log, with every commit that was answered before the backup was asked
for. Clients go on working meanwhile and are not held up. It comes over the connection and is written where this
command runs: into DIR.part at first, which is synced and gets its name when it is whole.
With --data the directory must not be served at the same time.";

/// See `quintet restore --help`.
pub const RESTORE_EXAMPLES: &str = "\
Examples:
  quintet restore --from /backups/monday --data ./data
  quintet restore --from /backups/monday --data ./data --log /archive --log ./old-data/log
  quintet restore --from /backups/monday --data ./data --log /archive --until '2026-03-01 12:00:00+00'
  quintet restore --from /backups/monday --data ./data --log /archive --until-position 8421376

Log that a server has kept (`quintet serve --log-archive`), and what is left of its own, is replayed onto the backup: all of
it, or up to a moment. Both may be named; the log's own directory has what has not gone to the archive yet.
Every byte of the backup is checked on the way. The directory must not be there, or be empty; it can be opened only when
it is whole. If the command fails, remove what it has made and run it again.";

/// `quintet backup`.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("source").args(["target", "data"]).required(true)))]
pub struct BackupArguments {
    /// Server to back up, postgres://user:password@host:port/quintet
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// Directory to back up that nobody serves
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Directory that the backup will be; must not be there
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// `quintet restore`.
#[derive(Args, Debug)]
pub struct RestoreArguments {
    /// Directory of a backup
    #[arg(long, value_name = "DIR")]
    pub from: PathBuf,
    /// Directory that will hold the database; must not be there, or be empty
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Archive of a log, or a log's own directory, to be replayed onto the backup; again for each
    #[arg(long, value_name = "DIR")]
    pub log: Vec<PathBuf>,
    /// Replay up to this moment, and no commit after it, e.g. '2026-03-01 12:00:00+00'; without an offset UTC
    #[arg(
        long,
        value_name = "TIMESTAMP",
        requires = "log",
        conflicts_with = "until_position"
    )]
    pub until: Option<String>,
    /// Replay up to this position of the log, and no commit after it
    #[arg(long, value_name = "N", requires = "log")]
    pub until_position: Option<u64>,
}

/// See `quintet changes --help`.
pub const CHANGES_EXAMPLES: &str = "\
Examples:
  quintet changes --target postgres://me@127.0.0.1:5433/quintet --follow
  quintet changes --target postgres://me@127.0.0.1:5433/quintet --from 8421376 --format sql | psql -h elsewhere

Each committed transaction is written whole, in the order of commits, after it is durable. Positions are those that this
command writes, and that of a backup: what is restored there and followed from there is complete. Begun again at the last
position of a commit that was written, it misses nothing and writes nothing twice. How far back the log goes: `quintet
serve --log-archive`.

json: one line for each change, with the key and the row as it is from then on, and one for each commit.
sql: statements for PostgreSQL, with its tables made there before. A table without a primary key needs a column more there,
quintet_row bigint PRIMARY KEY. The user must be allowed to set session_replication_role.";

/// `quintet changes`.
#[derive(Args, Debug)]
pub struct ChangesArguments {
    /// Server to ask, postgres://user:password@host:port/quintet
    #[arg(long, value_name = "URL")]
    pub target: String,
    /// Position after which to begin [default: the end of the log]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub from: Option<u64>,
    /// Go on when all has been written
    #[arg(long)]
    pub follow: bool,
    /// How to write them
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    pub format: ChangeFormat,
}

/// How changes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ChangeFormat {
    /// A line of JSON for each.
    Json,
    /// A statement for each.
    Sql,
}

/// See `quintet dump --help`.
pub const DUMP_EXAMPLES: &str = "\
Examples:
  quintet dump --target postgres://me@127.0.0.1:5433/quintet --out database.sql
  psql -h 127.0.0.1 -p 5433 -U me quintet -v ON_ERROR_STOP=1 -f database.sql
  pg_dump old | psql -h 127.0.0.1 -p 5433 -U me quintet -v ON_ERROR_STOP=1

Tables, sequences, routines, rows, indexes and constraints as SQL, in an order in which it can be run, for Quintet and for
PostgreSQL 15. All rows are of one snapshot. What ends without the line '-- The end.' is not whole.
What pg_dump 15 writes in its plain format can be read by Quintet, as far as Quintet has what is in it.";

/// `quintet dump`.
#[derive(Args, Debug)]
pub struct DumpArguments {
    /// Server to ask, postgres://user:password@host:port/quintet
    #[arg(long, value_name = "URL")]
    pub target: String,
    /// File to write; must not be there [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// No rows, and sequences as they were made
    #[arg(long)]
    pub schema_only: bool,
}
