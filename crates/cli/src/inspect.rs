//! `quintet inspect`: what a data directory holds, without changing it.
//!
//! Relies on: `wal::inspect` for the log, `dc-lsm` for STORE's manifest.
//! Promises: opens files for reading only, unless asked for the tables, which takes a recovery.
//! Does not: look into a directory that is in use: half-written files would read as damage.

use crate::arguments::InspectArguments;
use crate::database::{close, open};
use crate::exit::{Code, Exit};
use crate::quantity::approximate;
use quintet_base::Lsn;
use quintet_base::error::with_causes;
use quintet_dc_lsm::Manifest;
use quintet_embed::DatabaseConfig;
use quintet_rt::{Disk, OpenMode, RealDisk};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// Longest manifest that is read: far more spaces than a catalogue can hold.
const MANIFEST_BYTES_MAX: u64 = 256 << 20;

/// `quintet inspect`.
///
/// # Errors
/// With code 3 if the directory is in use, 4 if it cannot be read or is damaged.
pub fn inspect(arguments: &InspectArguments) -> Result<(), Exit> {
    let mut text = {
        let disk = RealDisk;
        let lock = lock(&disk, &arguments.data)?;
        let text = describe(&disk, &arguments.data)?;
        drop(lock);
        text
    };
    if arguments.tables {
        let (database, report) = open(DatabaseConfig::new(&arguments.data))?;
        let tables = database.tables();
        let _ = writeln!(text, "recovery     {}", crate::database::describe(&report));
        let _ = writeln!(text, "tables       {}", tables.len());
        for table in tables {
            let _ = writeln!(text, "             {table}");
        }
        close(&database)?;
    }
    write!(std::io::stdout(), "{text}")
        .map_err(|error| Exit::from_error(Code::Failed, "writing", &error))
}

fn unreadable(path: &Path) -> impl Fn(quintet_rt::Error) -> Exit + '_ {
    move |error| {
        Exit::from_error(
            Code::Data,
            &format!("cannot read {}", path.display()),
            &error,
        )
    }
}

fn no_database(data: &Path) -> Exit {
    Exit::new(Code::Data, format!("{} holds no database", data.display()))
}

/// Keeps others out while the files are read. A directory without a lock file was never opened.
fn lock(disk: &RealDisk, data: &Path) -> Result<std::sync::Arc<dyn quintet_rt::DiskFile>, Exit> {
    let file = disk
        .open(&data.join("LOCK"), OpenMode::Read)
        .map_err(|error| {
            if error.is_not_found() {
                no_database(data)
            } else {
                unreadable(data)(error)
            }
        })?;
    if file.try_lock().map_err(unreadable(data))? {
        return Ok(file);
    }
    Err(Exit::new(
        Code::InUse,
        format!("{} is in use by another process", data.display()),
    )
    .hint("Stop the server first, or ask it: its /metrics show sizes."))
}

fn describe(disk: &RealDisk, data: &Path) -> Result<String, Exit> {
    let mut text = String::new();
    let Some(format) = read(disk, &data.join("FORMAT"), 64)? else {
        return Err(no_database(data));
    };
    let format = String::from_utf8_lossy(&format).trim().to_string();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "directory    {}", data.display());
    let _ = writeln!(text, "format       {format}");
    let path = data.join("store/manifest");
    let manifest = match read(disk, &path, MANIFEST_BYTES_MAX)? {
        Some(bytes) => {
            let manifest = Manifest::decode(&bytes, &path);
            Some(manifest.map_err(|e| Exit::new(Code::Data, with_causes(&e)))?)
        }
        None => None,
    };
    let redo_start = manifest.as_ref().map(|manifest| manifest.redo_start);
    log(disk, data, redo_start, &mut text)?;
    if let Some(manifest) = manifest {
        let (files, bytes) = size(disk, &data.join("store"))?;
        let (buckets, tables): (Vec<u32>, Vec<u32>) = manifest
            .spaces
            .keys()
            .map(|space| space.0)
            .partition(|space| *space >= 0x8000_0000);
        let _ = writeln!(text, "store        {} in {files} files", approximate(bytes));
        let _ = writeln!(
            text,
            "spaces       {} of tables, indexes and the catalogue, {} of key-value buckets",
            tables.len(),
            buckets.len()
        );
    } else {
        let _ = writeln!(text, "store        nothing yet");
    }
    Ok(text)
}

fn log(
    disk: &RealDisk,
    data: &Path,
    redo_start: Option<Lsn>,
    text: &mut String,
) -> Result<(), Exit> {
    let directory = data.join("log");
    if !disk.exists(&directory).map_err(unreadable(&directory))? {
        let _ = writeln!(text, "log          nothing yet");
        return Ok(());
    }
    let found = quintet_wal::inspect(disk, &directory, redo_start)
        .map_err(|error| Exit::from_error(Code::Data, "the log cannot be read", &error))?;
    let Some((report, _)) = found else {
        let _ = writeln!(text, "log          nothing yet");
        return Ok(());
    };
    let _ = writeln!(
        text,
        "log          {} in {} segments",
        approximate(report.bytes),
        report.segments
    );
    let _ = writeln!(
        text,
        "to replay    {} records, {}, from {} to {}",
        report.records,
        approximate(report.end.0 - report.begin.0),
        report.begin,
        report.end
    );
    if report.cut_bytes > 0 {
        let _ = writeln!(
            text,
            "unfinished   {} bytes behind the end, to be cut off when it is opened",
            report.cut_bytes
        );
    }
    Ok(())
}

/// A whole file; `None` if it is not there.
fn read(disk: &RealDisk, path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, Exit> {
    let file = match disk.open(path, OpenMode::Read) {
        Ok(file) => file,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(unreadable(path)(error)),
    };
    let length = file.len().map_err(unreadable(path))?.min(bytes_max);
    let mut bytes = vec![0; length as usize];
    let read = file.read_at(&mut bytes, 0).map_err(unreadable(path))?;
    bytes.truncate(read);
    Ok(Some(bytes))
}

/// Files and bytes below a directory.
fn size(disk: &RealDisk, directory: &Path) -> Result<(u64, u64), Exit> {
    let (mut files, mut bytes) = (0, 0);
    for name in disk.list(directory).map_err(unreadable(directory))? {
        let path = directory.join(name);
        // What cannot be listed is a file.
        if let Ok(inside) = disk.list(&path).map(|_| size(disk, &path)) {
            let (more_files, more_bytes) = inside?;
            files += more_files;
            bytes += more_bytes;
        } else {
            let file = disk
                .open(&path, OpenMode::Read)
                .map_err(unreadable(&path))?;
            files += 1;
            bytes += file.len().map_err(unreadable(&path))?;
        }
    }
    Ok((files, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_embed::{Database, Level};

    // Goal: looking changes nothing.
    #[test]
    fn a_real_directory_is_described_and_left_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let (database, _) = Database::open(DatabaseConfig::new(directory.path())).unwrap();
        let bucket = database.bucket("things").unwrap();
        let put = |key: &[u8]| {
            let mut txn = database.begin(Level::Snapshot);
            txn.put(&bucket, key, b"value").unwrap();
            txn.commit().unwrap();
        };
        put(b"a");
        database.compact().unwrap();
        put(b"b");
        let data = directory.path();
        let arguments = InspectArguments {
            data: data.into(),
            tables: false,
        };
        assert_eq!(inspect(&arguments).unwrap_err().code, Code::InUse);
        database.close().unwrap();
        drop(database);
        let disk = RealDisk;
        let before = size(&disk, data).unwrap();
        let text = describe(&disk, data).unwrap();
        assert!(text.contains("format       quintet 1"), "{text}");
        assert!(text.contains("1 of key-value buckets"), "{text}");
        assert!(text.contains("to replay    1 records"), "{text}");
        assert_eq!(size(&disk, data).unwrap(), before);
        let empty = InspectArguments {
            data: data.join("nothing"),
            tables: false,
        };
        assert_eq!(inspect(&empty).unwrap_err().code, Code::Data);
    }
}
