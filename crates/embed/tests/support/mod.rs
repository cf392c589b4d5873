//! A database in a directory of its own, and what a client is answered, as text.
//!
//! Relies on: nothing of `quintet_embed` but its public face.  Promises: a statement that should not have failed is named by the
//! panic.  Does not: know any schema; each test file has its own.

// Each test file uses its part; a statement that cannot go on is a failed test.
#![allow(dead_code, clippy::unwrap_used)]

pub mod twins;

use quintet_base::{SqlError, SqlState};
use quintet_embed::{Answer, Client, Database, DatabaseConfig, Engine, Pause, Progress};
use tempfile::TempDir;

/// A new database; its directory goes with the test.
pub fn open() -> (TempDir, Database) {
    let dir = tempfile::tempdir().unwrap();
    let db = reopen(&dir);
    (dir, db)
}

/// One in which `sql` has been run.
pub fn open_with(sql: &str) -> (TempDir, Database) {
    let (dir, db) = open();
    db.client().unwrap().query(sql).unwrap();
    (dir, db)
}

/// The same, with an engine for its calls.
pub fn open_by(engine: Engine, sql: &str) -> (TempDir, Database) {
    let dir = tempfile::tempdir().unwrap();
    let config = DatabaseConfig {
        engine,
        ..DatabaseConfig::new(dir.path())
    };
    let (db, _) = Database::open(config).unwrap();
    db.client().unwrap().query(sql).unwrap();
    (dir, db)
}

/// The database of a directory, once nobody has it open any more.
pub fn reopen(dir: &TempDir) -> Database {
    let (db, _) = Database::open(DatabaseConfig::new(dir.path())).unwrap();
    db
}

/// A client whose statements are serializable.
pub fn serializable(db: &Database) -> Client {
    let mut client = db.client().unwrap();
    let sql = "set default_transaction_isolation to 'serializable'";
    client.query(sql).unwrap();
    client
}

/// An answer's rows, fields joined by `|`, NULL as `-`.
pub fn lines(answer: &Answer) -> Vec<String> {
    let line = |row: Vec<Option<String>>| {
        let fields = row.into_iter().map(|field| field.unwrap_or("-".into()));
        fields.collect::<Vec<_>>().join("|")
    };
    answer.text_rows().into_iter().map(line).collect()
}

/// What the last statement of a text answers.
fn last(client: &mut Client, sql: &str) -> Result<Answer, SqlError> {
    let mut answers = client.query(sql)?;
    let last = answers.pop();
    Ok(last.unwrap_or_else(|| panic!("{sql} holds no statement")))
}

fn last_of_all(client: &mut Client, sql: &str) -> Answer {
    last(client, sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"))
}

/// Rows of the last statement, fields joined by `|`, NULL as `-`.
pub fn rows(client: &mut Client, sql: &str) -> Vec<String> {
    lines(&last_of_all(client, sql))
}

/// The number that the last statement's one row has.
pub fn number(client: &mut Client, sql: &str) -> i64 {
    let number = last_of_all(client, sql).rows[0][0].as_i64();
    number.unwrap_or_else(|| panic!("{sql} gives no number"))
}

/// The tag of the last statement.
pub fn tag(client: &mut Client, sql: &str) -> String {
    last_of_all(client, sql).tag
}

/// The last statement's rows as `a|b, c|d`, or its tag if there are none.
///
/// # Errors
/// That of whichever statement fails.
pub fn answer(client: &mut Client, sql: &str) -> Result<String, SqlError> {
    let last = last(client, sql)?;
    let rows = lines(&last);
    Ok(match rows.is_empty() {
        true => last.tag,
        false => rows.join(", "),
    })
}

/// Why a statement that must fail does.
pub fn error(client: &mut Client, sql: &str) -> SqlError {
    match client.query(sql) {
        Ok(_) => panic!("{sql} must fail"),
        Err(error) => error,
    }
}

/// The code of that.
pub fn state(client: &mut Client, sql: &str) -> SqlState {
    error(client, sql).state
}

/// Begins a statement, until it waits for others; `None`: it is done.
pub fn until_it_waits(client: &mut Client, sql: &str) -> Option<Pause> {
    let mut progress = client.start(sql).unwrap();
    loop {
        match progress {
            Progress::Waiting(pause) if pause.is_interruptible() => return Some(pause),
            Progress::Waiting(pause) => pause.wait(),
            Progress::Done(_) => return None,
        }
        progress = client.resume().unwrap();
    }
}

/// Begins a statement that has to wait for others.
pub fn waits(client: &mut Client, sql: &str) -> Pause {
    until_it_waits(client, sql).unwrap_or_else(|| panic!("{sql} did not wait"))
}

/// Goes on with it to its end.
pub fn ends(client: &mut Client, pause: Pause) -> Vec<Answer> {
    pause.wait();
    finish(client)
}

/// Goes on after a wait, to the end.
pub fn finish(client: &mut Client) -> Vec<Answer> {
    loop {
        match client.resume().unwrap() {
            Progress::Done(answers) => return answers,
            Progress::Waiting(pause) => pause.wait(),
        }
    }
}
