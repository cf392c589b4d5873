//! PostgreSQL 15 servers for tests: started, killed, started again, and gone at the end.
//!
//! Relies on: `/usr/lib/postgresql/15/bin`, as the tests on the binary do; `setpriv` if run by root.  Promises: a server listens on a port that was
//! free; its data are in a directory of their own.  Does not: sync to disk, unless asked to.

// Each test file uses its part.
#![allow(dead_code)]

use quintet_base::{Durability, Level};
use quintet_replica::{
    Applied, Applier, Attempt, CallText, Connection, Front, Item, Ran, Report, Runner, Server,
    Settings, Stream, Tag, WalPosition, WriteSet, set_up,
};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::TempDir;

const BIN: &str = "/usr/lib/postgresql/15/bin";

/// Longest wait for anything that should come soon, on a machine that has other things to do.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// For connections.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// A session with patience.
pub fn settings() -> Settings {
    let mut settings = Settings::new("test");
    settings.connect_timeout = TIMEOUT;
    settings
}

/// What every server is started with unless a test says otherwise.
const SETTINGS: [&str; 10] = [
    "listen_addresses=127.0.0.1",
    "shared_buffers=32MB",
    "wal_level=logical",
    "max_prepared_transactions=50",
    "max_replication_slots=4",
    "max_wal_senders=4",
    "max_connections=60",
    "fsync=off",
    // A test does not listen to its streams all the time, and may have to wait for a processor.
    "wal_sender_timeout=10min",
    // What a killed server leaves is removed with its directory.
    "dynamic_shared_memory_type=mmap",
];

/// A server.
pub struct Postgres {
    directory: TempDir,
    pub port: u16,
    settings: Vec<String>,
    child: Option<Child>,
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout == b"0\n"
}

/// A command of the user that a server may be run by.
fn command(program: &str) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command.args([
            "--reuid=postgres",
            "--regid=postgres",
            "--clear-groups",
            program,
        ]);
        command
    } else {
        Command::new(program)
    };
    command.current_dir("/").stdin(Stdio::null());
    command
}

fn must(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn directory() -> TempDir {
    let directory = tempfile::Builder::new()
        .prefix("quintet-replica-")
        .tempdir()
        .unwrap();
    if is_root() {
        must(
            Command::new("chown")
                .arg("postgres:postgres")
                .arg(directory.path()),
        );
    }
    directory
}

/// Where the build leaves what tests make; examples are not told of it.
fn built() -> std::path::PathBuf {
    match option_env!("CARGO_TARGET_TMPDIR") {
        Some(path) => path.into(),
        None => std::env::temp_dir(),
    }
}

/// A fresh cluster that each server gets a copy of: `initdb` takes seconds, a copy much less. It stays in the
/// build's directory for the next time.
fn template() -> &'static std::path::Path {
    static TEMPLATE: OnceLock<std::path::PathBuf> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let path = built().join("postgres-15");
        if !path.exists() {
            let directory = directory();
            let made = directory.path().join("postgres-15");
            must(
                command(&format!("{BIN}/initdb"))
                    .args([
                        "-U",
                        "quintet",
                        "-A",
                        "trust",
                        "--no-sync",
                        "-E",
                        "UTF8",
                        "--locale=C.UTF-8",
                        "-D",
                    ])
                    .arg(&made),
            );
            // Tests of another file may be doing the same: whoever comes second finds it there.
            let moved = Command::new("mv")
                .arg("-T")
                .arg(&made)
                .arg(&path)
                .status()
                .unwrap();
            assert!(moved.success() || path.exists());
        }
        path
    })
}

impl Postgres {
    pub async fn start() -> Postgres {
        Postgres::start_with(&[]).await
    }

    /// With other settings, which win over the usual ones.
    pub async fn start_with(settings: &[&str]) -> Postgres {
        let directory = directory();
        must(
            command("cp")
                .arg("-a")
                .arg(template())
                .arg(directory.path().join("data")),
        );
        let port = {
            let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            socket.local_addr().unwrap().port()
        };
        let mut postgres = Postgres {
            directory,
            port,
            settings: SETTINGS
                .iter()
                .chain(settings)
                .map(|setting| (*setting).to_owned())
                .collect(),
            child: None,
        };
        postgres.resume().await;
        postgres
    }

    /// Starts it, again or for the first time, and waits until it answers.
    pub async fn resume(&mut self) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            self.spawn();
            loop {
                if let Ok(mut connection) = self.try_connect().await
                    && connection.simple("SELECT 1").await.is_ok()
                {
                    return;
                }
                assert!(
                    tokio::time::Instant::now() < deadline,
                    "no answer: {}",
                    self.log()
                );
                tokio::time::sleep(Duration::from_millis(20)).await;
                // Killed servers leave children that hold the shared memory for a moment.
                if self.child.as_mut().unwrap().try_wait().unwrap().is_some() {
                    break;
                }
            }
        }
    }

    /// Starts it if it was killed.
    pub async fn resume_if_gone(&mut self) {
        if self.child.is_none() {
            self.resume().await;
        }
    }

    fn spawn(&mut self) {
        let log = self.directory.path().join("log");
        let mut command = command("sh");
        command
            .args(["-c", "log=$1; shift; exec \"$@\" >>\"$log\" 2>&1", "sh"])
            .arg(log)
            .arg(format!("{BIN}/postgres"))
            .arg("-D")
            .arg(self.directory.path().join("data"))
            .args(["-p", &self.port.to_string(), "-k"])
            .arg(self.directory.path());
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        self.child = Some(command.spawn().unwrap());
    }

    fn log(&self) -> String {
        let output = Command::new("tail")
            .arg(self.directory.path().join("log"))
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// As `kill -9` of the server and all its processes.
    pub fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        let main = child.id().to_string();
        let output = Command::new("ps")
            .args(["-o", "pid=", "--ppid", &main])
            .output()
            .unwrap();
        let children = String::from_utf8(output.stdout).unwrap();
        let mut command = Command::new("kill");
        command
            .arg("-9")
            .arg(&main)
            .args(children.split_whitespace());
        // One of them may have ended by itself meanwhile.
        let _ = command.stderr(Stdio::null()).status();
        child.wait().unwrap();
    }

    /// Stops its main process from running, or lets it go on: SIGSTOP and SIGCONT for it and all its children.
    pub fn signal_all(&self, signal: &str) {
        let main = self.child.as_ref().unwrap().id().to_string();
        let output = Command::new("ps")
            .args(["-o", "pid=", "--ppid", &main])
            .output()
            .unwrap();
        let children = String::from_utf8(output.stdout).unwrap();
        let mut command = Command::new("kill");
        command
            .arg(signal)
            .arg(&main)
            .args(children.split_whitespace());
        let _ = command.stderr(Stdio::null()).status();
    }

    /// The directory that its socket is in.
    pub fn socket_directory(&self) -> String {
        self.directory.path().to_str().unwrap().to_owned()
    }

    pub fn server(&self) -> Server {
        let url = format!("postgres://quintet@127.0.0.1:{}/postgres", self.port);
        Server::parse(&url).unwrap()
    }

    async fn try_connect(&self) -> Result<Connection, quintet_replica::Error> {
        self.server().connect(&settings()).await
    }

    /// An ordinary session, as somebody past the front end would have.
    pub async fn connect(&self) -> Connection {
        self.try_connect().await.unwrap()
    }

    pub async fn simple(&self, sql: &str) -> Vec<quintet_replica::Row> {
        self.connect().await.simple(sql).await.unwrap()
    }

    /// The one value that a query brings.
    pub async fn value(&self, sql: &str) -> String {
        let rows = self.simple(sql).await;
        assert_eq!(rows.len(), 1, "{sql}");
        rows[0][0].clone().unwrap_or_else(|| "NULL".to_owned())
    }
}

impl Drop for Postgres {
    /// At once, but so that it gives back what it has of the system: a killed one leaves shared memory.
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let main = child.id().to_string();
            let _ = Command::new("kill").args(["-QUIT", &main]).status();
            let _ = child.wait();
        }
    }
}

/// A server, taken over by a front end, with the sessions that a test needs.
pub struct Replica {
    pub postgres: Postgres,
    pub front: Front,
    pub report: Report,
    numbers: u64,
}

impl Replica {
    /// A fresh server with these tables and procedures.
    pub async fn start(schema: &str) -> Replica {
        let postgres = Postgres::start().await;
        postgres.simple(schema).await;
        Replica::take_over(postgres).await
    }

    pub async fn take_over(postgres: Postgres) -> Replica {
        let report = set_up(&postgres.server(), "shop", TIMEOUT).await.unwrap();
        Replica {
            postgres,
            front: report.front.clone(),
            report,
            numbers: 0,
        }
    }

    /// The front end starts anew.
    pub async fn restart_front(&mut self) {
        self.report = set_up(&self.postgres.server(), "shop", TIMEOUT)
            .await
            .unwrap();
        self.front = self.report.front.clone();
    }

    pub async fn runner(&self) -> Runner {
        let settings = settings();
        Runner::connect(&self.postgres.server(), &self.front, &settings)
            .await
            .unwrap()
    }

    pub async fn applier(&self) -> Applier {
        let settings = settings();
        Applier::connect(&self.postgres.server(), &self.front, &settings)
            .await
            .unwrap()
    }

    pub async fn stream(&self) -> Told {
        let settings = settings();
        Told {
            stream: Stream::open(&self.postgres.server(), &self.front, &settings)
                .await
                .unwrap(),
        }
    }

    /// A tag that was not there before.
    pub fn tag(&mut self) -> Tag {
        self.numbers += 1;
        Tag {
            gid: self.front.gid(self.numbers),
            place: self.numbers,
            client: None,
        }
    }

    pub fn attempt(&mut self, sql: &str) -> Attempt {
        Attempt {
            tag: self.tag(),
            text: CallText::Simple(sql.to_owned()),
            level: Level::Snapshot,
            service: Duration::ZERO,
        }
    }
}

/// A stream whose items are waited for with patience.
pub struct Told {
    pub stream: Stream,
}

impl Told {
    /// The next item that is no keep-alive.
    pub async fn next(&mut self) -> Item {
        loop {
            let item = tokio::time::timeout(PATIENCE, self.stream.next()).await;
            match item.expect("something should have come").unwrap() {
                Item::KeepAlive { .. } => {}
                item => return item,
            }
        }
    }

    /// The next item, which has to be a prepared transaction.
    pub async fn prepared(&mut self) -> (Tag, WalPosition, Arc<WriteSet>) {
        match self.next().await {
            Item::Prepared {
                gid,
                tag,
                position,
                write_set,
            } => {
                let tag = tag.expect("an attempt says what it is");
                assert_eq!(tag.gid, gid);
                (tag, position, write_set.unwrap())
            }
            other => panic!("{other:?}"),
        }
    }

    /// The next item in a line without positions: what it is, whose, and the number of changes.
    pub async fn line(&mut self) -> String {
        line(&self.next().await)
    }

    /// All that was there before now, but keep-alives.
    pub async fn all(&mut self, postgres: &Postgres) -> Vec<Item> {
        let end = postgres
            .value("SELECT pg_logical_emit_message(true, 'test', 'end')")
            .await;
        let end = WalPosition::parse(&end).unwrap();
        let mut items = Vec::new();
        loop {
            self.stream.probe();
            let item = tokio::time::timeout(PATIENCE, self.stream.next()).await;
            let item = item.expect("something should have come").unwrap();
            if item.position() > end {
                return items;
            }
            if !matches!(item, Item::KeepAlive { .. }) {
                items.push(item);
            }
        }
    }

    pub async fn all_lines(&mut self, postgres: &Postgres) -> Vec<String> {
        self.all(postgres).await.iter().map(line).collect()
    }
}

/// An item without its positions; gids by their last number.
pub fn line(item: &Item) -> String {
    let number = |gid: &quintet_replica::Gid| match gid.parts() {
        Some((_, epoch, number)) => format!("{epoch}.{number}"),
        None => gid.to_string(),
    };
    let changes = |write_set: &quintet_replica::Captured| match write_set {
        Ok(write_set) => format!("{} changes", write_set.changes().len()),
        Err(error) => error.to_string(),
    };
    match item {
        Item::Prepared {
            gid,
            tag,
            write_set,
            ..
        } => {
            let place = tag
                .as_ref()
                .map_or("none".to_owned(), |tag| tag.place.to_string());
            format!(
                "prepared {} place {place}, {}",
                number(gid),
                changes(write_set)
            )
        }
        Item::CommitPrepared { gid, .. } => format!("committed {}", number(gid)),
        Item::RollbackPrepared { gid, .. } => format!("rolled back {}", number(gid)),
        Item::Committed { tag, write_set, .. } => {
            let tag = tag
                .as_ref()
                .map_or("nobody".to_owned(), |tag| number(&tag.gid));
            format!("written by {tag}, {}", changes(write_set))
        }
        Item::Applied { gid, .. } => format!("applied {}", number(gid)),
        Item::KeepAlive { .. } => "keep-alive".to_owned(),
    }
}

/// The rows of an answer as text.
pub fn rows(answer: &quintet_replica::Answer) -> Vec<Vec<String>> {
    let mut rest = &answer.rows[..];
    let mut rows = Vec::new();
    while let Some((kind, after)) = rest.split_first() {
        let length = u32::from_be_bytes(*after.first_chunk().unwrap()) as usize;
        let mut body = &after[4..length];
        if *kind == b'D' {
            let count = u16::from_be_bytes(*body.first_chunk().unwrap());
            body = &body[2..];
            let mut row = Vec::new();
            for _ in 0..count {
                let length = i32::from_be_bytes(*body.first_chunk().unwrap());
                body = &body[4..];
                row.push(match usize::try_from(length) {
                    Err(_) => "NULL".to_owned(),
                    Ok(length) => {
                        let (value, after) = body.split_at(length);
                        body = after;
                        String::from_utf8(value.to_vec()).unwrap()
                    }
                });
            }
            rows.push(row);
        }
        rest = &after[length..];
    }
    rows
}

/// The answer of an attempt that has to end prepared.
pub fn must_prepare(ran: Ran) -> quintet_replica::Answer {
    match ran {
        Ran::Prepared { answer } => answer,
        other => panic!("{other:?}"),
    }
}

/// Applies durably, which has to find all rows.
pub async fn must_apply(applier: &mut Applier, gid: &quintet_replica::Gid, write_set: &WriteSet) {
    let applied = applier
        .apply(gid, write_set, Durability::Sync, Duration::ZERO)
        .await
        .unwrap();
    let expected = Applied::Now {
        missing: 0,
        first_missing: None,
    };
    assert_eq!(applied, expected);
}
