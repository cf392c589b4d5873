//! `quintet backup` and `quintet restore`, in words.
//!
//! Relies on: `embed::backup` for what they do; a server tells a backup as rows of `quintet_backup()`.
//! Promises: a backup that came over a connection is checked as one from a directory is.
//! Does not: hold more than a frame in memory.

use crate::arguments::{BackupArguments, RestoreArguments};
use crate::database;
use crate::exit::{Code, Exit};
use crate::progress::RunProgress;
use crate::quantity::approximate;
use crate::server_link;
use futures_util::TryStreamExt;
use quintet_base::text_format::{self, FormatContext};
use quintet_base::{Lsn, SqlType, Value};
use quintet_embed::DatabaseConfig;
use quintet_embed::backup::{self, Header, Replay, RestoreConfig, Totals, Until, Writer};
use quintet_rt::{Disk, RealDisk};
use std::io::{Write, stdout};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

/// How many records are told at a time.
const FRAMES_BETWEEN_WORDS: u64 = 32;

/// `quintet backup`.
///
/// # Errors
/// With code 1 if what came was not whole, 4 if it could not be written, 5 without a server.
pub fn backup(arguments: &BackupArguments) -> Result<(), Exit> {
    let (header, totals) = match (&arguments.target, &arguments.data) {
        (Some(url), _) => from_server(url, &arguments.out)?,
        (None, Some(data)) => from_directory(data, &arguments.out)?,
        (None, None) => return Err(Exit::new(Code::Usage, "name --target or --data")),
    };
    // With standard output gone there is nobody left to tell.
    let _ = writeln!(
        stdout(),
        "backup of position {} in {}: {} records, {}",
        header.position,
        arguments.out.display(),
        totals.records,
        approximate(totals.bytes)
    );
    Ok(())
}

fn from_directory(data: &Path, out: &Path) -> Result<(Header, Totals), Exit> {
    // Opening would make one.
    let is_there = RealDisk.exists(&data.join("FORMAT"));
    let is_there = is_there.map_err(|error| failed(backup::Error::Disk(error)))?;
    if !is_there {
        let text = format!("there is no database in {}", data.display());
        return Err(Exit::new(Code::Data, text));
    }
    let (database, _) = database::open(DatabaseConfig::new(data))?;
    let mut backup = database.backup().map_err(failed)?;
    let header = backup.header();
    let mut writer = Writer::begin(Arc::new(RealDisk), out, header).map_err(failed)?;
    let mut progress = RunProgress::new(String::new());
    while let Some(frame) = backup.next_frame().map_err(failed)? {
        take(&mut writer, &frame, &mut progress)?;
    }
    let totals = backup.totals();
    writer.finish(totals).map_err(failed)?;
    drop((progress, backup));
    database::close(&database)?;
    Ok((header, totals))
}

fn take(writer: &mut Writer, frame: &[u8], progress: &mut RunProgress) -> Result<(), Exit> {
    writer.frame(frame).map_err(failed)?;
    let totals = writer.totals();
    if totals.frames.is_multiple_of(FRAMES_BETWEEN_WORDS) {
        progress.count("records", totals.records);
    }
    Ok(())
}

fn from_server(url: &str, out: &Path) -> Result<(Header, Totals), Exit> {
    server_link::run(url, async |client| {
        let none: [&str; 0] = [];
        let rows = client
            .query_raw("SELECT * FROM quintet_backup()", none)
            .await;
        let mut rows = pin!(rows.map_err(server_link::refused)?);
        let mut begun: Option<(Header, Writer)> = None;
        let mut progress = RunProgress::new(String::new());
        while let Some(row) = rows.try_next().await.map_err(server_link::refused)? {
            let wrong = |error| Exit::from_error(Code::Failed, "the server's answer", &error);
            let kind: &str = row.try_get(0).map_err(wrong)?;
            let body: &[u8] = row.try_get(1).map_err(wrong)?;
            let text = || String::from_utf8_lossy(body);
            match (kind, &mut begun) {
                ("begin", None) => {
                    let header = Header::parse(&text()).map_err(not_whole)?;
                    let writer = Writer::begin(Arc::new(RealDisk), out, header);
                    begun = Some((header, writer.map_err(failed)?));
                }
                ("records", Some((_, writer))) => take(writer, body, &mut progress)?,
                ("end", Some(_)) => {
                    let totals = Totals::parse(&text()).map_err(not_whole)?;
                    let Some((header, writer)) = begun.take() else {
                        break;
                    };
                    writer.finish(totals).map_err(failed)?;
                    return Ok((header, totals));
                }
                _ => break,
            }
        }
        Err(not_whole("it ended before its end"))
    })
}

fn not_whole(what: impl std::fmt::Display) -> Exit {
    Exit::new(
        Code::Failed,
        format!("the backup that came is not whole: {what}"),
    )
}

/// `quintet restore`.
///
/// # Errors
/// With code 4 if the backup cannot be read or the directory not be written.
pub fn restore(arguments: &RestoreArguments) -> Result<(), Exit> {
    let config = RestoreConfig {
        from: arguments.from.clone(),
        data: arguments.data.clone(),
        replay: replay(arguments)?,
    };
    let mut progress = RunProgress::new(String::new());
    let restored = backup::restore(&config, &mut |done, of| {
        progress.part("restored", done >> 20, (of >> 20).max(1));
    });
    drop(progress);
    let restored = restored.map_err(failed)?;
    let mut text = format!(
        "restored to position {} in {}: {} records from the backup",
        restored.position,
        arguments.data.display(),
        restored.totals.records
    );
    if config.replay.is_some() {
        text += &format!(", {} commits from the log", restored.replayed.commits);
    }
    if let Some(micros) = restored.replayed.newest_micros {
        text += &format!(", the last at {}", moment(micros));
    }
    let _ = writeln!(stdout(), "{text}");
    Ok(())
}

fn replay(arguments: &RestoreArguments) -> Result<Option<Replay>, Exit> {
    let until = match (&arguments.until, arguments.until_position) {
        (Some(text), _) => Until::Time(parse_moment(text)?),
        (None, Some(position)) => Until::Position(Lsn(position)),
        (None, None) => Until::Newest,
    };
    let logs = arguments.log.clone();
    Ok((!logs.is_empty()).then_some(Replay { logs, until }))
}

/// A moment as text, in UTC.
fn moment(micros: i64) -> String {
    let value = Value::TimestampTz(micros);
    text_format::to_string(&value, SqlType::TimestampTz, &FormatContext::default())
}

fn parse_moment(text: &str) -> Result<i64, Exit> {
    let read = text_format::read(SqlType::TimestampTz, text, &FormatContext::default());
    match read {
        Ok(Value::TimestampTz(micros)) => Ok(micros),
        Ok(_) => Err(Exit::new(Code::Usage, format!("no moment: {text}"))),
        Err(error) => Err(Exit::new(Code::Usage, error.message.clone())),
    }
}

fn failed(error: backup::Error) -> Exit {
    use backup::Error;
    let code = match &error {
        Error::InUse(_) => Code::InUse,
        Error::NotEmpty(_) => Code::Usage,
        Error::Stream(_) => Code::Failed,
        _ => Code::Data,
    };
    let exit = Exit::from_error(code, "not done", &error);
    match &error {
        Error::NotEmpty(_) => exit.hint("Name a directory that is not there yet."),
        Error::Damaged { .. } => exit.hint(
            "Take another backup, or restore an older one; what was made of this one does not open.",
        ),
        Error::Before { .. } => exit.hint("Restore an older backup."),
        Error::Short { .. } => exit.hint(
            "Name all archives of the log with --log, and the log's own directory if it is left.",
        ),
        _ => exit,
    }
}
