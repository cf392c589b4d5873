//! [`Writer`]: a backup into a directory.
//!
//! Relies on: frames in the order in which they were made.  Promises: under its name the directory is whole and
//! durable, or not there; every frame is checked before it is written.  Does not: fetch frames.
//!
//! ```text
//!   DIR.part/records-0000 … ─► all synced ─► DIR.part/MANIFEST ─► renamed to DIR ─► its parent synced
//! ```

use super::frame::{self, Body, HEAD_BYTES};
use super::manifest::{File, Manifest};
use super::{Error, Header, Totals};
use crate::database::make_directory;
use bytes::Bytes;
use quintet_base::SpaceId;
use quintet_rt::disk::replace_file;
use quintet_rt::{Disk, DiskFile, OpenMode};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the file that makes a directory a backup.
pub(crate) const MANIFEST: &str = "MANIFEST";
/// What the names of the other files begin with.
const RECORDS: &str = "records-";

/// From so many bytes on the next frame goes into another file: small enough to be moved about.
const FILE_BYTES: u64 = 256 << 20;

/// A backup being written.
pub struct Writer {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    beside: PathBuf,
    header: Header,
    files: Vec<File>,
    open: Option<Arc<dyn DiskFile>>,
    totals: Totals,
    /// Frames ascend by space.
    space: Option<SpaceId>,
}

impl Writer {
    /// Begins a backup that will be in `directory`. What an attempt that did not come to its end has left
    /// beside it is removed.
    ///
    /// # Errors
    /// [`Error::NotEmpty`] if the directory is there; [`Error::Disk`].
    pub fn begin(
        disk: Arc<dyn Disk>,
        directory: impl Into<PathBuf>,
        header: Header,
    ) -> Result<Writer, Error> {
        let directory: PathBuf = directory.into();
        if disk.exists(&directory)? {
            return Err(Error::NotEmpty(directory));
        }
        let mut beside = directory.file_name().unwrap_or_default().to_owned();
        beside.push(".part");
        let beside = directory.with_file_name(beside);
        make_directory(&*disk, &beside).map_err(|error| match error {
            crate::Error::Disk(error) => Error::Disk(error),
            other => Error::Stream(other.to_string()),
        })?;
        for name in disk.list(&beside)? {
            if name != MANIFEST && !name.starts_with(RECORDS) && !name.ends_with(".new") {
                return Err(Error::NotEmpty(beside));
            }
            disk.remove(&beside.join(name))?;
        }
        Ok(Writer {
            disk,
            directory,
            beside,
            header,
            files: Vec::new(),
            open: None,
            totals: Totals::default(),
            space: None,
        })
    }

    /// What has been written.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Adds the next frame.
    ///
    /// # Errors
    /// [`Error::Stream`] if it is not one, or not the next; [`Error::Disk`].
    pub fn frame(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let body = bytes.first_chunk::<HEAD_BYTES>();
        let body = body
            .and_then(|head| frame::head(*head))
            .filter(|(length, _)| HEAD_BYTES + length == bytes.len())
            .and_then(|(_, crc)| Body::parse(Bytes::copy_from_slice(&bytes[HEAD_BYTES..]), crc))
            .ok_or_else(|| Error::Stream(format!("frame {} is damaged", self.totals.frames)))?;
        if self.space.is_some_and(|space| space > body.space) {
            let what = format!("frame {} is out of order", self.totals.frames);
            return Err(Error::Stream(what));
        }
        self.space = Some(body.space);
        if self
            .files
            .last()
            .is_none_or(|file| file.bytes >= FILE_BYTES)
        {
            self.next_file()?;
        }
        let (Some(open), Some(file)) = (&self.open, self.files.last_mut()) else {
            return Err(Error::Stream("there is no file to write to".into()));
        };
        open.write_at(bytes, file.bytes)?;
        file.bytes += bytes.len() as u64;
        file.crc = crc32c::crc32c_append(file.crc, bytes);
        self.totals.frames += 1;
        self.totals.records += u64::from(body.count);
        self.totals.bytes += bytes.len() as u64;
        Ok(())
    }

    fn next_file(&mut self) -> Result<(), Error> {
        if let Some(full) = self.open.take() {
            full.sync_data()?;
        }
        let name = format!("{RECORDS}{:04}", self.files.len());
        let path = self.beside.join(&name);
        self.open = Some(self.disk.open(&path, OpenMode::Create)?);
        self.files.push(File {
            name,
            bytes: 0,
            crc: 0,
        });
        Ok(())
    }

    /// All frames have come: the backup gets its name.
    ///
    /// # Errors
    /// [`Error::Stream`] if the totals are not those that its source tells; [`Error::Disk`].
    pub fn finish(mut self, totals: Totals) -> Result<(), Error> {
        if totals != self.totals {
            let what = format!("{totals:?} were announced, {:?} came", self.totals);
            return Err(Error::Stream(what));
        }
        if let Some(last) = self.open.take() {
            last.sync_data()?;
        }
        let manifest = Manifest {
            header: self.header,
            totals,
            files: std::mem::take(&mut self.files),
        };
        let text = manifest.to_text();
        replace_file(&*self.disk, &self.beside.join(MANIFEST), text.as_bytes())?;
        self.disk.rename(&self.beside, &self.directory)?;
        let above = self.directory.parent();
        let above = above.filter(|above| !above.as_os_str().is_empty());
        self.disk.sync_dir(above.unwrap_or(Path::new(".")))?;
        Ok(())
    }
}
